"""What the inspector asks of a run: the coming step, opened, as the account of one weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...engine.problem import HALF
from ...run.looking import sample
from ...scalar.emit import float16
from ..ink.text import figure
from .account import LISTED, Account, Along, RuleLine, Sign, Term, largest

if TYPE_CHECKING:
    from ...run.opened.opened import Opened
    from ...run.opened.passes import Terms
    from ...run.opened.rule import Line
    from ...run.run import Run


def account_of(run: Run, index: int, *, along: bool = True) -> Account:
    """Why the weight at flat `index` will move in the coming step; the run is left as it is."""
    opened = run.open()
    terms, update = opened.terms(index, LISTED), opened.update(index)
    names = zip(run.optimizer.state, run._problem.state, strict=True)
    return Account(
        index=index,
        step=opened.step - 1,
        edits=len(run.log),
        value=update.before,
        frozen=bool(run._store.frozen[index]),
        terms=_listed(run, terms, opened.divisor),
        count=terms.count,
        total=terms.sum * opened.divisor,
        divisor=opened.divisor,
        gradient=update.gradient,
        state=tuple((name, float(array[index])) for name, array in names),
        optimizer=type(run.optimizer).__name__,
        lines=tuple(_line(line) for line in update.lines),
        new=update.after,
        along=_along(opened, index) if along else None,
        follows=opened.follows(index),
        rounded=_rounded(update.before, update.after) if run.dtype == HALF else "",
    )


def _rounded(before: float, after: float) -> str:
    """What becomes of the float16 number of a weight whose float32 number changes."""
    old, new = float16(before), float16(after)
    if old == new and before != after:
        return f"float16: {figure(old)} stays, the update is too small"
    return f"float16: {figure(old)} becomes {figure(new)}"


def _listed(run: Run, terms: Terms, divisor: float) -> tuple[Term, ...]:
    """The largest terms with their samples and what the network makes of them."""
    array = terms.array[largest(terms.products)]
    numbers = [int(n) for n in array["sample"]]
    inputs = {n: np.asarray(sample(run, n)[0], np.float64).ravel() for n in numbers if n >= 0}
    known = list(inputs)
    made = run.predict(np.stack([inputs[n] for n in known])) if known else ()
    outputs = dict(zip(known, made, strict=True))
    return tuple(
        Term(n, float(term["delta"]) * divisor, float(term["x"]), inputs.get(n), outputs.get(n))
        for n, term in zip(numbers, array, strict=True)
    )


def _line(line: Line) -> RuleLine:
    signs = (Sign(token) if isinstance(token, str) else Sign(token.name, token.value) for token in line.tokens)
    return RuleLine(line.name, tuple(signs), line.result)


def _along(opened: Opened, index: int) -> Along:
    found = opened.loss_along(index)
    return Along(found.weights, found.losses, found.value, found.loss, found.slope)
