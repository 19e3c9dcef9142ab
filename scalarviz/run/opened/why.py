"""`Why`: why a weight moves in a step, as a table that adds up."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from .adding import agreeing, column, columns
from .opened import Opened
from .places import INSIDE, Place
from .terms import Terms
from .update import Update
from .writing import MINUS, digits_of

LARGEST = 8
"""Terms that have a row of their own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One term.

    Attributes
    ----------
    sample : int
        Its number in the data; -1 for one that is not of it.
    where : str
        The place where the weight is used, if there are several.
    delta, x, product : float
        Of the sample's own loss: not yet divided by the size of the batch.
    """

    sample: int
    where: str
    delta: float
    x: float
    product: float


@dataclass(frozen=True, slots=True)
class Why:
    """Why a weight moves in a step; its text is a table.

    Attributes
    ----------
    name : str
    index, step : int
    batch : int
        Samples of the step.
    rows : tuple of Row
        The largest terms, by size.
    more : int
        How many others there are.
    others, total : float
        What the others sum up to, and all.
    divisor : float
        What the sum is divided by: the size of the batch, 1 where the losses of samples are added up.
    gradient : float
        The result, in float64.
    engine_gradient : float or None
        That of the engine, where it has done this step.
    engine : str
        Its name and dtype.
    update : Update
        The optimiser's rule with numbers.
    now : float or None
        The weight as it is now, where the step is done.
    """

    name: str
    index: int
    step: int
    batch: int
    rows: tuple[Row, ...]
    more: int
    others: float
    total: float
    divisor: float
    gradient: float
    engine_gradient: float | None
    engine: str
    update: Update
    now: float | None = None

    def __str__(self) -> str:
        done = "moved" if self.now is not None else "will move"
        head = f"Why {self.name} {done} in step {self.step:,}: {digits_of(self.update.before)}"
        head += f" to {digits_of(self.update.after)}"
        return "\n".join([head, "", *self._table(), "", *self._rule()])

    def _table(self) -> list[str]:
        if not self.rows:
            return ["nothing that the loss is made of reads it: its gradient is 0"]
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
        if self.engine_gradient is None:
            return []
        away = abs(self.engine_gradient - self.gradient)
        return [f"({self.engine}, found {digits_of(self.engine_gradient, 9)}: {digits_of(away, 2)} away)"]

    def _rule(self) -> list[str]:
        if not self.update.lines:
            return [f"w' = w: {self.update.why}"]
        found = []
        for line in self.update.lines:
            found += [f"{line.name} = {line.formula}", f"{'':{len(line.name)}} = {line.equation()}"]
        if self.now is not None and not _close(self.now, self.update.after):
            found.append(f"Since then it was changed: it is {digits_of(self.now)} now.")
        return found

    def __repr__(self) -> str:
        return f"Why({self.name}, step {self.step:,}, gradient {self.gradient:.6g})"


def why(opened: Opened, index: int) -> Why:
    """The table of one weight in an opened step."""
    own = opened.own
    terms, divisor = opened.terms(index, LARGEST), opened.divisor
    several = len(terms.uses) > 1 or any(len(use.rows) > 1 for use in terms.uses)
    rows = [
        Row(
            int(term["sample"]), _where(opened, terms, int(term["use"]), int(term["position"])) if several else "",
            float(term["delta"]) * divisor, float(term["x"]), float(term["delta"] * term["x"]) * divisor,
        )
        for term in terms.array
    ]  # fmt: skip
    rows.sort(key=lambda row: -abs(row.product))
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
    )


def _where(opened: Opened, terms: Terms, use: int, position: int) -> str:
    """``"0[1][3][2]"``: which output of which stage delta belongs to."""
    place: Place = terms.at[use]
    unit, name = place.units[position], place.stage or "the layer"
    if unit == INSIDE:
        return f"{name}, use {use + 1}"
    shape = next((s.shape for s in opened.stages if s.name == place.stage and prod(s.shape) == s.outputs), ())
    return name + "".join(f"[{int(i)}]" for i in (np.unravel_index(unit, shape) if shape else (unit,)))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-30) or a == b or (a != a and b != b)


def say(text: str) -> None:
    """Print, on a terminal of few letters with the letters that it has."""
    try:
        print(text)
    except UnicodeEncodeError:  # a pipe on Windows
        plain = text.translate({ord(MINUS): "-", ord("·"): "*", ord("√"): "sqrt ", ord("²"): "^2"})
        print(plain.encode("ascii", "replace").decode("ascii"))
