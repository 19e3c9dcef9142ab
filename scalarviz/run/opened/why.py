"""`Why`: why a weight moves in a step, as a table that adds up; `Comparison`: which moved most between two steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, prod

import numpy as np

from ..core.gather import weight_name
from ..core.tensors import FloatArray, Tensor
from .digits import MINUS, agreeing, column, digits_of
from .network import INSIDE, StageRows
from .opened import Opened
from .passes import Terms
from .rule import SKIPPED, Update


def columns(lines: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return lines of one width: `left` columns are left-aligned, others right-aligned, empty ones left out."""
    used = [k for k in range(len(lines[0])) if any(line[k] for line in lines[1:])]
    widths = {k: max(len(line[k]) for line in lines) for k in used}
    return [
        "  ".join(line[k].ljust(widths[k]) if k < left else line[k].rjust(widths[k]) for k in used).rstrip()
        for line in lines
    ]


# ---- `Why`: why a weight moves in a step, as a table that adds up


LARGEST = 8
"""Terms that have a row of their own."""


@dataclass(frozen=True, slots=True)
class TermRow:
    """One term; `delta`, `x` and `product` belong to the sample's own loss, not yet divided by the batch size.

    `sample` is its number in the data, -1 for one from outside, or for none; `where` is the place of use, if there are
    several.
    """

    sample: int
    where: str
    delta: float
    x: float
    product: float


@dataclass(frozen=True, slots=True)
class Why:
    """The reason why a weight moves in a step; its text is a table.

    `batch` counts the samples of the step. `rows` are the largest terms by size. `more` counts the other terms,
    `others` is their sum, `total` the sum of all. The total over `divisor` (the size of the batch, or 1 for summed
    losses) is `gradient`, in float64. `engine_gradient` is None unless the engine has done this step; `engine` is its
    name and dtype. `now` is the weight as it is now, if the step is `done` and its numbers are known.
    """

    name: str
    index: int
    step: int
    batch: int
    rows: tuple[TermRow, ...]
    more: int
    others: float
    total: float
    divisor: float
    gradient: float
    engine_gradient: float | None
    engine: str
    update: Update
    now: float | None = None
    done: bool = False

    @property
    def count(self) -> int:
        """The number of all terms."""
        return len(self.rows) + self.more

    def __str__(self) -> str:
        done = "moved" if self.done else "will move"
        if self.update.why == SKIPPED:
            done = "stayed" if self.done else "will stay"
        head = f"Why {self.name} {done} in step {self.step:,}: {digits_of(self.update.before)}"
        head += "" if self.update.why == SKIPPED else f" to {digits_of(self.update.after)}"
        return "\n".join([head, "", *self._table(), "", *self._rule()])

    def _table(self) -> list[str]:
        if not self.rows:
            return ["the loss does not depend on this weight: its gradient is 0"]
        written = column([row.product for row in self.rows], self.others, self.total, more=self.more > 0)
        lines = [["sample", "where", "delta", "x", "delta · x"]]
        for row, product in zip(self.rows, written.rows, strict=True):
            sample = "its own" if row.sample < 0 else f"{row.sample:,}"
            lines.append([sample, row.where, *written.factors(row.delta, row.x, row.product), product])
        if self.more:
            lines.append([f"{self.more:,} more", "", "", "", written.rest])
        lines.append(["sum", "", "", "", written.total])
        digits = agreeing(written.whole / self.divisor, self.gradient)
        gradient = "gradient" if self.divisor == 1 else f"/ {self.divisor:,.10g} = gradient"
        lines.append([gradient, "", "", "", digits_of(self.gradient, digits)])
        return [*columns(lines, left=2), *self._engines()]

    def _engines(self) -> list[str]:
        if self.engine_gradient is None or not isfinite(self.engine_gradient):
            return []
        away = abs(self.engine_gradient - self.gradient)
        return [f"({self.engine} computed {digits_of(self.engine_gradient, 9)}; difference {digits_of(away, 2)})"]

    def _rule(self) -> list[str]:
        if not self.update.lines:
            return [f"w' = w: {self.update.why}"]
        found = []
        for line in self.update.lines:
            found += [f"{line.name} = {line.formula}", f"{'':{len(line.name)}} = {line.equation()}"]
        if self.now is not None and not _close(self.now, self.update.after):
            found.append(f"The weight changed since then: it is {digits_of(self.now)} now.")
        return found

    def __repr__(self) -> str:
        return f"Why({self.name}, step {self.step:,}, gradient {self.gradient:.6g})"


@np.errstate(invalid="ignore", over="ignore")  # of a gradient that float16 cannot hold
def why(opened: Opened, index: int) -> Why:
    """Return the table of one weight in an opened step."""
    terms, divisor = opened.terms(index, LARGEST), opened.divisor
    own = opened.own
    several = len(terms.uses) > 1 or any(len(use.rows) > 1 for use in terms.uses)
    rows = [
        TermRow(
            int(term["sample"]), _where(opened, terms, int(term["use"]), int(term["position"])) if several else "",
            float(term["delta"]) * divisor, float(term["x"]), float(term["delta"] * term["x"]) * divisor,
        )
        for term in terms.array
    ]  # fmt: skip
    rows.sort(key=lambda row: -abs(row.product) if row.product == row.product else -inf)  # NaN first
    total = terms.sum * divisor
    return Why(
        name=opened.name(index),
        index=index,
        step=opened.step,
        batch=len(opened.batch),
        rows=tuple(rows),
        more=terms.count - len(rows),
        others=total - sum(row.product for row in rows),
        total=total,
        divisor=divisor,
        gradient=float(opened.gradient[index]),
        engine_gradient=None if own is None else float(own.gradient[index]),
        engine="" if own is None else f"{own.engine}, {opened.dtype}",
        update=opened.update(index),
        now=None if own is None else float(own.values[index]),
        done=opened.done,
    )


def _where(opened: Opened, terms: Terms, use: int, position: int) -> str:
    """Return the output to which delta belongs, such as ``"0[1][3][2]"``."""
    place: StageRows = terms.delta_places[use]
    unit, name = place.units[position], place.stage or "the layer"
    if unit == INSIDE:
        return f"{name}, use {use + 1}"
    shape = next((s.shape for s in opened.stages if s.name == place.stage and prod(s.shape) == s.outputs), ())
    return name + "".join(f"[{int(i)}]" for i in (np.unravel_index(unit, shape) if shape else (unit,)))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-30) or a == b or (a != a and b != b)


def say(text: str) -> None:
    """Print a text; a terminal without its symbols gets letters for them."""
    try:
        print(text)
    except UnicodeEncodeError:  # a pipe on Windows
        plain = text.translate({ord(MINUS): "-", ord("·"): "*", ord("√"): "sqrt ", ord("²"): "^2"})
        print(plain.encode("ascii", "replace").decode("ascii"))


# ---- `Comparison`: which weights moved most between two steps


MOST = 10
"""Weights that have a row of their own."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A weight before and after, and how far it moved."""

    index: int
    name: str
    before: float
    after: float
    by: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The weights at two steps; its text is a table of those that moved most.

    `before` and `after` have shape (P,). `losses` are those of the two steps, NaN if there was none. `rows` are the
    weights that differ most; `changed` counts all that differ.
    """

    first: int
    second: int
    before: FloatArray
    after: FloatArray
    losses: tuple[float, float]
    rows: tuple[Moved, ...]
    changed: int

    @property
    def by(self) -> FloatArray:
        """The change of each weight, shape (P,)."""
        return self.after - self.before

    def __str__(self) -> str:
        count = len(self.before)
        head = f"Step {self.first:,} to step {self.second:,}: {self.changed:,} of {count:,} weights moved"
        if all(np.isfinite(self.losses)):
            head += f", loss {self.losses[0]:.4g} to {self.losses[1]:.4g}"
        if not self.rows:
            return head
        width = max(len(row.name) for row in self.rows)
        lines = [f"{'':{width}}  {'before':>12}  {'after':>12}  {'moved by':>12}"]
        for row in self.rows:
            sums = column([row.before, row.by], 0.0, row.after, more=False)  # before and move add up to after
            (before, by), after = sums.rows, sums.total
            lines.append(f"{row.name:{width}}  {before:>12}  {after:>12}  {by:>12}")
        if self.changed > len(self.rows):
            lines.append(f"{self.changed - len(self.rows):,} more moved, each by less")
        return "\n".join([head, "", *lines])

    def __repr__(self) -> str:
        return f"Comparison(steps {self.first:,} and {self.second:,}, {self.changed:,} weights moved)"


def compared(
    steps: tuple[int, int],
    values: tuple[FloatArray, FloatArray],
    losses: tuple[float, float],
    tensors: Sequence[Tensor],
    most: int = MOST,
) -> Comparison:
    """Return the comparison of flat `values` (P,) at two steps; a NaN counts as the largest move."""
    weights = sum(tensor.size for tensor in tensors if not tensor.buffer)
    values = values[0][:weights], values[1][:weights]
    before, after = (array.astype(np.float64) for array in values)
    with np.errstate(all="ignore"):
        by = after - before
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    sizes = np.where(same, -1.0, np.where(np.isnan(by), np.inf, np.abs(by)))
    changed = int((~same).sum())
    order = np.argsort(-sizes, kind="stable")[: min(most, changed)]
    rows = tuple(
        Moved(int(i), weight_name(tensors, int(i)), float(before[i]), float(after[i]), float(by[i])) for i in order
    )
    return Comparison(*steps, *values, losses, rows, changed)
