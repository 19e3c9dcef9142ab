"""`Between`: what a network makes on the way to a layer by no module: residual sums, norms, attention."""

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
"""What is recognised between modules: its words, and a formula. The scores, q · k, come with the shares."""
SHARES, VALUES = BETWEEN["share"][1], BETWEEN["values"][1]
MERGED = (BETWEEN["norm"][1], BETWEEN["activation"][1])
"""Formulas of what comes with the layer that reads it."""
_STRAIGHT = ("exp", "log", "sqrt", "neg", "square", "abs", "float16")


class AttentionRows(NamedTuple):
    """The rows of one position's attention."""

    scores: Rows  # (heads, n), of each position that it looks at
    shares: Rows  # (heads, n)
    values: Rows  # (heads, n, d), what it is offered
    outputs: Rows  # (heads, d)
    queries: Rows  # (heads, n, e), of the position, the same for each that it looks at
    keys: Rows  # (heads, n, e)


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """How one position looks at others; or what comes back to it: the same shares, and derivatives of the loss."""

    scores: Float  # (heads, n), q · k / √d
    shares: Float  # (heads, n), what a softmax makes of them
    values: Float  # (heads, n, d), the v of each position; of what comes back the derivative by `taken`
    outputs: Float  # (heads, d), the sum of `parts`
    queries: Float  # (heads, n, e), q, the same for each position, and k: also of what comes back the numbers
    keys: Float  # (heads, n, e)
    slopes: Float  # (heads, n), the shares; of what comes back the derivative by each share
    divisor: float  # of the scores: √d

    @property
    def parts(self) -> Float:
        """(heads, n, d): each v by its share; of what comes back what of it is for each v."""
        return np.asarray(self.shares[..., None] * self.values)

    @property
    def chosen(self) -> tuple[int, int]:
        """The head with the largest share, and the largest number that it takes."""
        head = int(np.argmax(self.shares.max(axis=1)))
        return head, int(np.argmax(np.abs(self.outputs[head])))

    def which(self, formula: str, column: int) -> tuple[int, int]:
        """Head and place of one of what is taken; of a share those of the second largest, as the largest has e^0."""
        if formula != SHARES:
            return divmod(column, len(self.outputs[0]))
        head = column // len(self.shares[0])
        return head, int(np.argsort(-self.shares[head], kind="stable")[:2][-1])


class AttentionState(NamedTuple):
    """Who looks at whom in an opened step, as far as it has come."""

    attention_at: Callable[[int], Attention | None]  # what a position does, from 0; or what has come back to it
    places: int  # positions up to the last that matters
    reached: int  # 0 it waits, 1 shares come, 2 values flow, 3 done; 4 δ of shares, 5 of q, k, v come, 6 done
    reads: str  # the name of the weights that read it


class BetweenModules:
    """Looks it up by the stage of the layer that reads it."""

    def __init__(self, places: Places, rows_of: Mapping[str, Rows], constants: set[int]) -> None:
        self._places, self._rows_of, self._constants = places, rows_of, constants
        self._kinds: dict[str, dict[int, str]] = {}
        self._attention_rows: dict[str, AttentionRows | None] = {}

    def reads(self, stage: str) -> list[int]:
        """The rows that the first output of a layer is a sum of; none of another stage, or of the loss."""
        made = self._places.instruction_of(int(self._rows_of[stage][0])) if stage in self._rows_of else None
        return [] if made is None or made[0].kind not in LAYERS else made[2].tolist()

    def kinds(self, stage: str) -> dict[int, str]:
        """What each row on the way to a layer is: one of `BETWEEN`, what leads to one, or the name of an operation."""
        if stage not in self._kinds:
            what = self._kinds[stage] = dict[int, str]()
            for row in self._places.inside(stage) if self.reads(stage) else ():
                if (made := self._places.instruction_of(row)) is not None:
                    below = {what.get(k, "") for k in made[2].tolist()}
                    what[row] = _made(made[0], below, made[2], self._constants)
        return self._kinds[stage]

    def kind_of(self, row: int) -> str:
        """What a row is, as :meth:`kinds` has it; empty of one on the way to no layer."""
        return self.kinds(self._places.place_of([row]).stage).get(row, "")

    def attention_rows(self, stage: str) -> AttentionRows | None:
        """The attention that a layer reads; None where it reads none."""
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
        """The score that becomes a share: of what its exponential is."""
        row, what = share, self.kinds(stage)
        while what.get(row) in ("share", "exp", "sub", "add"):
            row = next(k for k in self._operands(row).tolist() if what.get(k) in ("exp", "sub", "add", "score"))
        return row

    def _products(self, score: int, stage: str) -> Rows:
        """Whose products a score is the sum of: (2, e)."""
        row, what = score, self.kinds(stage)
        while what.get(row) == "score":
            row = next(k for k in self._operands(row).tolist() if what.get(k) in ("score", "products"))
        return self._operands(row).reshape(2, -1)


def _made(i: Instruction, below: set[str], operands: Rows, constants: set[int]) -> str:
    """What an operation makes of what it reads."""
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
