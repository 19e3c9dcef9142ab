"""Captions: one sentence that says why a number of a step is what it is.

A caption is a template with bound numbers. The data choose the template: signs choose the verbs, shares of the largest
gradient the adverbs. Each number has the fewest digits with which the sentence is true as printed, so a reader who
multiplies or subtracts the printed numbers gets the printed result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import wraps
from typing import ParamSpec

import numpy as np
from numpy.typing import NDArray

from .digits import EXACT, Printed, decimals, rounds_to, significant

Floats = NDArray[np.float64]
MOST = 120
"""Characters of a caption."""
LONGEST = 40
"""Characters of a name in a caption; a longer one loses its beginning."""
LITTLE, CLEAR, STRONG, TIE = 0.01, 0.1, 0.5, 0.999
"""Shares of a layer's largest gradient, from which on one counts "a little", plainly, "strongly", "the most"."""
LEAST = 10
"""Decimals of a weight that are too many to be read; a smaller move has an exponent."""
NEAR = 5e-7
"""Below this difference, an output and its target are alike in all decimals that can be read."""
FLAT = 0.05
"""Below this slope, the curve of an activation counts as flat."""


P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Caption:
    """A sentence: its `template`, such as ``"{out} is {y}; its target is {t}."``, and what stands in it."""

    template: str = ""
    numbers: Mapping[str, Printed] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence with its names and numbers."""
        said = self.template.format(**self.names, **{name: number.text for name, number in self.numbers.items()})
        return said[:1].upper() + said[1:]


LOST = Caption("a number of this step is infinite or no number: the run has diverged.")


def first_fitting(*ways: Caption) -> Caption:
    """Return the first caption that is short enough, else the last one, which should be the shortest."""
    return next((way for way in ways if len(way.text) <= MOST), ways[-1])


def when_finite(made: Callable[P, Caption]) -> Callable[P, Caption]:
    """Return the function, with one caption for all numbers that are lost."""

    @wraps(made)
    def caption(*args: P.args, **kwargs: P.kwargs) -> Caption:
        given = [*args, *kwargs.values(), *(n for one in args if isinstance(one, Cause) for n in (one.x, one.delta))]
        if not all(math.isfinite(one) for one in given if isinstance(one, float)):
            return LOST
        return made(*args, **kwargs)

    return caption


def named(name: str) -> str:
    """Return a name that is short enough for a caption."""
    return name if len(name) <= LONGEST else f"\N{HORIZONTAL ELLIPSIS}{name[1 - LONGEST :]}"


def percent(share: float) -> Printed:
    """Return a share in percent; only an exact 0 or 1 is printed as 0 or 100 %."""
    if 0 < share < 0.005:
        return Printed("less than 1 %", Decimal(share), Decimal(0))
    if 0.995 <= share < 1:
        return Printed("more than 99 %", Decimal(share), Decimal(0))
    shown = decimals(100 * share, 0)
    return shown._replace(text=f"{shown.text} %")


def size_of(number: Printed) -> Printed:
    """Return a printed number without its sign."""
    return number._replace(text=number.text.lstrip("+\N{MINUS SIGN}"), value=abs(number.value))


def plain(value: float, digits: int = 2) -> Printed:
    """Return a number with so many significant digits; a small whole number has no decimals."""
    if value == int(value) and abs(value) < 1000:
        return decimals(value, 0)
    return significant(value, digits)


# ---- Forward


def cleared() -> Caption:
    """Return the caption of gradients that are set to 0."""
    return Caption("Each gradient begins at 0, because the backward pass adds to it.")


@when_finite
def product(source: str, x: float, weight: float, target: str, *, mean: bool) -> Caption:
    """Return the caption of a product of a weight and its input, which is added to the sum of `target`."""
    names = {"source": source, "target": target}
    average = "on average " if mean else ""
    if x == 0 or weight == 0:
        why = f"{average}{{source}} is 0, so this weight" if x == 0 else "this weight is 0: it"
        return Caption(f"{why} adds nothing to the sum of {{target}}.", {}, names)
    made = plain(x * weight)
    digits = next((k for k in range(2, 8) if rounds_to(_times(x, weight, k), made)), 7)
    numbers = {"x": plain(x, digits), "w": plain(weight, digits), "p": made, "size": size_of(made)}
    head = f"{average}{{source}} is {{x}}. This weight, {{w}}, turns it into {{p}}"
    verb = "rises" if made.value > 0 else "falls"
    return first_fitting(
        Caption(f"{head}: the sum of {{target}} {verb} by {{size}}.", numbers, names),
        Caption(f"{head} for {{target}}.", numbers, names),
        Caption(f"{head}.", numbers, names),
    )


def _times(a: float, b: float, digits: int) -> Decimal:
    return EXACT.multiply(plain(a, digits).value, plain(b, digits).value)


@when_finite
def added(target: str, count: int, total: float, *, bias: bool, mean: bool) -> Caption:
    """Return the caption of a sum of `count` products and perhaps a bias."""
    average = "on average over the batch, " if mean else ""
    parts = "one product" if count == 1 else f"{count:,} products"
    made_of = f"{parts} and a bias add" if bias else f"{parts} add" if count > 1 else f"{parts} adds"
    said = f"{average}{made_of} up to {{sum}}: that is the sum of {{target}}."
    return Caption(said, {"sum": plain(total, 3)}, {"target": target})


@when_finite
def bent(target: str, function: str, total: float, made: float) -> Caption:
    """Return the caption of an activation of one number."""
    names, numbers = {"target": target, "f": function}, {"sum": plain(total, 3), "y": plain(made, 3)}
    if function == "ReLU":
        if total > 0:
            return Caption("the sum of {target} is above 0, so ReLU lets it through: {y}.", numbers, names)
        return Caption("the sum of {target} is {sum}, not above 0, so ReLU makes it 0.", numbers, names)
    return Caption("{target} is {y}: that is the {f} of its sum, {sum}.", numbers, names)


@when_finite
def number(target: str, value: float, *, samples: str = "", remark: str = "") -> Caption:
    """Return the caption of a number that the forward pass makes; `samples` are those of a mean."""
    average = "on average over {samples}, " if samples else ""
    names = {"target": target, "samples": samples, "remark": remark}
    numbers = {"y": plain(value, 3)}
    ways = f"{average}{{target}} is {{y}}{{remark}}.", f"{average}{{target}} is {{y}}."
    return first_fitting(*(Caption(way, numbers, names) for way in ways))


# ---- Loss


def gap_of(output: float, target: float) -> dict[str, Printed]:
    """Return output, target and the size of their difference, which is true as printed; below `NEAR` by itself."""
    if abs(output - target) < NEAR:
        found = {"y": (output, 3), "t": (target, 3), "gap": (abs(output - target), 2)}
        return {name: significant(*one) for name, one in found.items()}
    for places in range(2, 14):
        y, t, gap = decimals(output, places), decimals(target, places), decimals(abs(output - target), places)
        if gap.value and abs(y.value - t.value) == gap.value:
            break
    return {"y": y, "t": t, "gap": gap}


def ways_missed(output: str, value: float, target: float, *, farthest: bool) -> tuple[Caption, ...]:
    """Return the captions of an output beside its target, the longest first; `js/captions.js` has the same.

    `farthest`: no other output is farther away.
    """
    if not (math.isfinite(value) and math.isfinite(target)):
        return (LOST,)
    if value == target:
        return (Caption("{out} is exactly its target: no loss.", {}, {"out": output}),)
    numbers, way = gap_of(value, target), "high" if value > target else "low"
    most = ", the farthest of all outputs" if farthest else ""
    if abs(value - target) < NEAR:
        return (Caption(f"{{out}} is too {way} by only {{gap}}; its target is {{t}}.", numbers, {"out": output}),)
    return (
        Caption(f"{{out}} is {{y}}; its target is {{t}}. It is too {way} by {{gap}}{most}.", numbers, {"out": output}),
        Caption(f"{{out}} is too {way} by {{gap}}.", numbers, {"out": output}),
    )


@when_finite
def voted(output: str, share: float) -> Caption:
    """Return the caption of the right class, and of the share that it got."""
    said = "{out} is the right answer and got {p} of the votes; it should get 100 %."
    return Caption(said, {"p": percent(share)}, {"out": output})


@when_finite
def whole_loss(value: float, samples: str, joined: str) -> Caption:
    """Return the caption of a loss; `joined`: how those of the `samples` are joined, empty for one sample's."""
    how = {"mean": "on average ", "sum": "in sum "}.get(joined, "")
    of = f"{how}over {{samples}}" if joined else "of {samples}"
    said = f"the loss {of} is {{loss}}. Training makes it smaller."
    return Caption(said, {"loss": significant(value, 3)}, {"samples": samples})


# ---- Backward


@when_finite
def delta(target: str, value: float, *, summed: bool, samples: str = "", slope: float | None = None) -> Caption:
    """Return the caption of δ, the slope of the loss with respect to the sum (or number) of `target`.

    `slope` is that of the activation behind it, if there is one; `samples` are those of a mean.
    """
    what = "sum" if summed else "number"
    names = {"target": f"the sum of {target}" if summed else target, "samples": samples}
    over = "over {samples}, " if samples else ""
    if value == 0:
        return Caption(f"{over}the loss does not change with {{target}}: its δ is 0.", {}, names)
    grows, must = ("grows", "fall") if value > 0 else ("falls", "rise")
    numbers = {"d": significant(value, 2)}
    said = f"{over}the loss {grows} when {{target}} rises (δ = {{d}}), so that {what} must {must}."
    if slope is not None and abs(slope) < FLAT:
        flat = Caption(f"{said} The curve is nearly flat here.", numbers, names)
        return first_fitting(flat, Caption(said, numbers, names))
    short = f"{over}the loss {grows} when {{target}} rises (δ = {{d}})."
    return first_fitting(Caption(said, numbers, names), Caption(short, numbers, names))


# ---- Gradients


def adverb(gradient: float, others: Floats) -> str:
    """Return how strongly a gradient acts beside those of its layer: ``", strongly"``; empty for a usual one."""
    sizes = np.abs(others[np.isfinite(others)])
    largest = float(sizes.max(initial=0.0))
    if not (largest and math.isfinite(gradient)):
        return ""
    share = abs(gradient) / largest
    if share >= TIE and np.sum(sizes >= TIE * largest) == 1 and len(sizes) > 1:
        return ", the most of its layer"
    named = ((STRONG, ", strongly"), (CLEAR, ""), (LITTLE, ", a little"), (0.0, ", but hardly"))
    return next(words for least, words in named if share >= least)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a weight must move: its input, and the unit that it leads to.

    `source` is empty for a bias. `gap` is (output, target) of the unit, if it is an output with a squared error.
    """

    source: str
    x: float
    target: str
    delta: float
    gap: tuple[float, float] | None = None


@when_finite
def gradient(cause: Cause, others: Floats) -> Caption:
    """Return the caption of a gradient that is one product δ · x; `others` are all gradients of its layer."""
    value, x = cause.delta * cause.x, cause.x
    names, numbers = {"source": cause.source, "target": cause.target}, dict[str, Printed]()
    if cause.source and x == 0:
        return Caption("{source} was 0, so this weight had no part in the error: its gradient is 0.", {}, names)
    if cause.delta == 0:
        return Caption("nothing comes back to {target}: its δ is 0, and so is this gradient.", {}, names)
    must = "fall" if cause.delta > 0 else "rise"
    why, short = f"the sum of {{target}} must {must}", f"the sum must {must}"
    if cause.gap is not None and (cause.gap[0] - cause.gap[1]) * cause.delta > 0:
        numbers |= gap_of(*cause.gap)
        why = short = f"{{target}} is too {'high' if cause.delta > 0 else 'low'} by {{gap}}"
    moves, thing = "fall" if value > 0 else "rise", "weight" if cause.source else "bias"
    if not cause.source:
        how = "a bias counts in full"
    else:
        numbers["x"] = plain(x)
        how = "{source} was {x}" if x > 0 else "{source} was negative ({x})"
    turned = ", so" if x > 0 else ", so the other way round:"
    ending = f"this {thing} must {moves}{adverb(value, others)}."
    return first_fitting(*(Caption(f"{part}, and {how}{turned} {end}", numbers, names)
                           for part in (why, short) for end in (ending, f"it must {moves}.")),
                         Caption(f"this {thing} must {moves}.", {}, names))  # fmt: skip


@when_finite
def slope(value: float, others: Floats, over: str, *, bias: bool = False) -> Caption:
    """Return the caption of a gradient that joins several products; `over` says of what: ``"over 1,024 colours"``."""
    thing, names = "bias" if bias else "weight", {"over": over}
    if value == 0:
        return Caption(f"{{over}}, this {thing} makes no difference to the loss: its gradient is 0.", {}, names)
    grows, must = ("raises", "fall") if value > 0 else ("lowers", "rise")
    said = f"{{over}}, a larger {thing} {grows} the loss (g = {{g}}), so it must {must}"
    numbers = {"g": significant(value, 2)}
    return first_fitting(*(Caption(f"{said}{end}.", numbers, names) for end in (adverb(value, others), "")))


# ---- Update


@when_finite
def update(before: float, after: float, gradient: float, rate: float | None, why: str) -> Caption:
    """Return the caption of a weight's update.

    `rate` is the learning rate if the step is plain descent, w - rate · gradient; else None. `why` says why the
    optimiser leaves a weight alone.
    """
    if after == before:
        why = why or "its gradient is 0" * (gradient == 0)
        stays, names = {"a": plain(before, 3)}, {"why": f": {why}" if why else ""}
        return first_fitting(*(Caption(way, stays, names) for way in ("it stays at {a}{why}.", "it stays at {a}.")))
    numbers = _moved(before, after)
    verb = "rises" if after > before else "falls"
    to = " to {b}" if "b" in numbers else ""
    move = f"it {verb} by {{move}}, from {{a}}{to}"
    if why:
        return first_fitting(Caption(f"{move}: {{why}}.", numbers, {"why": why}), Caption(f"{move}.", numbers))
    how, factors = _descent(numbers["move"], gradient, rate)
    if (after - before) * gradient > 0:
        asks = "rise" if gradient < 0 else "fall"
        return Caption(f"{move}, although its gradient of now asks it to {asks}.", numbers)
    if gradient == 0:
        return Caption(f"{move}, although its gradient of now is 0.", numbers)
    if before * after < 0:
        return Caption(f"{move}, through zero: from now on it acts the other way.", numbers)
    return Caption(f"{move}{how}.", {**numbers, **factors})


def _descent(move: Printed, gradient: float, rate: float | None) -> tuple[str, dict[str, Printed]]:
    """Return the words for a move as learning rate times gradient, true as printed, and their numbers; else nothing."""
    if rate is None:
        return "", {}
    shown = (significant(gradient, digits) for digits in range(2, 6))
    lr = Decimal(repr(rate))
    fits = next((g for g in shown if rounds_to(EXACT.multiply(lr, abs(g.value)), move)), None)
    if fits is None:
        return "", {}
    printed = Printed(f"{rate:g}".replace("-", "\N{MINUS SIGN}"), lr, Decimal(0))
    minus = "minus " * (gradient < 0)
    return f": {minus}{{lr}} (the learning rate) times its gradient {{g}}", {"lr": printed, "g": fits}


def _moved(before: float, after: float) -> dict[str, Printed]:
    """Return a weight before and after and the size of its move, true as printed; the move has two digits or more.

    Without the weight after it, if too many decimals would tell the two apart.
    """
    move = abs(after - before)
    for places in range(2, LEAST):
        a, b, by = decimals(before, places), decimals(after, places), decimals(move, places)
        if by.value >= 10 * by.place and abs(a.value - b.value) == by.value:
            return {"a": a, "b": b, "move": by}
    return {"a": significant(before, 4), "move": significant(move, 2)}
