"""`BetweenModules`: what a network computes between modules: residual sums, norms, attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scalar.ops import TABLE

if TYPE_CHECKING:
    from ...tape import Instruction
    from .network import Places

Float = NDArray[np.float64]
Rows = NDArray[np.int64]
LAYERS = ("layer", "conv", "dot")
"""Kinds of instructions that are sums of weights times rows."""
BETWEEN = {
    "sum": ("residual sum: the result is added to the numbers that came in", "a + b"),
    "norm": ("RMSNorm: each number over the root of the mean of all squares", "x · 1 / √mean"),
    "share": ("attention: scores q · k / √d become shares of 1", "e^(score − largest) · 1 / their sum"),
    "values": ("values: each v is taken by its share", "Σ share · v"),
    "activation": ("activation: each number by itself", "f(sum)"),
}
"""Words and formula of each operation between modules. The scores, q · k, come with the shares."""
SHARES, VALUES = BETWEEN["share"][1], BETWEEN["values"][1]
MERGED = (BETWEEN["norm"][1], BETWEEN["activation"][1])
"""Formulas of operations that share the micro-step of the layer that reads them."""
_STRAIGHT = ("exp", "log", "sqrt", "neg", "square", "abs", "float16")


class AttentionRows(NamedTuple):
    """The rows of one position's attention."""

    scores: Rows  # (heads, n), one for each position that it attends to
    shares: Rows  # (heads, n)
    values: Rows  # (heads, n, d), v of each position
    outputs: Rows  # (heads, d)
    queries: Rows  # (heads, n, e), q of this position, repeated n times
    keys: Rows  # (heads, n, e)


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """The attention of one position; backward, the same shares with deltas, derivatives of the loss."""

    scores: Float  # (heads, n), q · k / √d; backward, their deltas
    shares: Float  # (heads, n), the softmax of the scores
    values: Float  # (heads, n, d), v of each position; backward, the delta of `outputs`
    outputs: Float  # (heads, d), the sum of `parts`; backward, its delta
    queries: Float  # (heads, n, e), q repeated n times; the same backward
    keys: Float  # (heads, n, e); the same backward
    slopes: Float  # (heads, n), the shares; backward, their deltas
    divisor: float  # √d, which divides the scores

    @property
    def parts(self) -> Float:
        """Share times v, shape (heads, n, d); backward, the delta of each v."""
        return np.asarray(self.shares[..., None] * self.values)

    @property
    def chosen(self) -> tuple[int, int]:
        """The head with the largest share, and the index of the largest number in its output."""
        head = int(np.argmax(self.shares.max(axis=1)))
        return head, int(np.argmax(np.abs(self.outputs[head])))

    def which(self, formula: str, column: int) -> tuple[int, int]:
        """Return head and index of the number in `column`; for shares the second largest: the largest has e^0."""
        if formula != SHARES:
            return divmod(column, len(self.outputs[0]))
        head = column // len(self.shares[0])
        return head, int(np.argsort(-self.shares[head], kind="stable")[:2][-1])


class AttentionState(NamedTuple):
    """The state of attention in an opened step."""

    attention_at: Callable[[int], Attention | None]  # attention of a position (from 0), forward or backward
    places: int  # how many positions there are, up to the last that matters
    reached: int  # 0 waiting, 1 shares, 2 values, 3 done; backward 4 δ of shares, 5 δ of q, k, v, 6 done
    reads: str  # name of the weights that read the attention


class BetweenModules:
    """Finds the operations between modules by the stage of the layer that reads them."""

    def __init__(self, places: Places, rows_of: Mapping[str, Rows], constants: set[int]) -> None:
        self._places, self._rows_of, self._constants = places, rows_of, constants
        self._kinds: dict[str, dict[int, str]] = {}
        self._attention_rows: dict[str, AttentionRows | None] = {}

    def reads(self, stage: str) -> list[int]:
        """Return the rows that the first output of a layer sums; empty for other stages and the loss."""
        made = self._places.instruction_of(int(self._rows_of[stage][0])) if stage in self._rows_of else None
        return [] if made is None or made[0].kind not in LAYERS else made[2].tolist()

    def kinds(self, stage: str) -> dict[int, str]:
        """Return the kind of each row before a layer: one of `BETWEEN`, a step towards one, or an operation."""
        if stage not in self._kinds:
            what = self._kinds[stage] = dict[int, str]()
            for row in self._places.inside(stage) if self.reads(stage) else ():
                if (made := self._places.instruction_of(row)) is not None:
                    below = {what.get(k, "") for k in made[2].tolist()}
                    what[row] = _made(made[0], below, made[2], self._constants)
        return self._kinds[stage]

    def kind_of(self, row: int) -> str:
        """Return the kind of a row as in :meth:`kinds`; empty for a row before no layer."""
        return self.kinds(self._places.place_of([row]).stage).get(row, "")

    def attention_rows(self, stage: str) -> AttentionRows | None:
        """Return the rows of the attention that a layer reads, or None."""
        if stage not in self._attention_rows:
            heads: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
            for row in (row for row, kind in self.kinds(stage).items() if kind == "values"):
                shares, offered = self._operands(row).reshape(2, -1).tolist()
                heads.setdefault(tuple(shares), []).append((row, offered))
            alike = len({(len(shares), len(taken)) for shares, taken in heads.items()}) == 1
            scores = [[self._score(row, stage) for row in shares] for shares in heads]
            factors = np.array([[self._products(row, stage) for row in of] for of in scores]) if alike else None
            self._attention_rows[stage] = None if factors is None else AttentionRows(
                np.array(scores), np.array([*heads]),
                np.array([[offered for _, offered in taken] for taken in heads.values()]).swapaxes(1, 2),
                np.array([[row for row, _ in taken] for taken in heads.values()]), factors[:, :, 0], factors[:, :, 1],
            )  # fmt: skip
        return self._attention_rows[stage]

    def _operands(self, row: int) -> Rows:
        made = self._places.instruction_of(row)
        return np.zeros(0, np.int64) if made is None else made[2]

    def _score(self, share: int, stage: str) -> int:
        """Return the row of the score that becomes a share."""
        row, what = share, self.kinds(stage)
        while what.get(row) in ("share", "exp", "sub", "add"):
            row = next(k for k in self._operands(row).tolist() if what.get(k) in ("exp", "sub", "add", "score"))
        return row

    def _products(self, score: int, stage: str) -> Rows:
        """Return the rows whose products a score sums, shape (2, e)."""
        row, what = score, self.kinds(stage)
        while what.get(row) == "score":
            row = next(k for k in self._operands(row).tolist() if what.get(k) in ("score", "products"))
        return self._operands(row).reshape(2, -1)


def _made(i: Instruction, below: set[str], operands: Rows, constants: set[int]) -> str:
    """Return the kind of a row, from its operation and the kinds `below` of its operands."""
    rows, op = operands.tolist(), i.op or i.kind
    if op == "product":
        same = rows[: len(rows) // 2] == rows[len(rows) // 2 :]
        return "values" if "share" in below else "squares" if same else "products"
    if op in ("mul", "div"):
        leads = {"products": "score", "exp": "share", "scale": "norm", "squares": "squares"}
        return next((leads[one] for one in leads if one in below), op)
    if op == "add":
        return "squares" if "squares" in below else op if constants.intersection(rows) else "sum"
    if op in ("pow", "sqrt"):
        return "scale"
    return "activation" if op in TABLE and len(TABLE[op].args) == 1 and op not in _STRAIGHT else op
