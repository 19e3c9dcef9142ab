"""The quantities that cubes can show, and their ranges: the one place where numbers become positions on a scale.

Cubes, numbers on cubes and legends all take their range from here; `run.questions.ranges` computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import text
from ...errors import InputError, UnknownNameError, listing, shown
from ...run.core.frame import Frame
from ...run.core.tensors import Stage, Tensor, is_chain
from ...run.opened.digits import number
from ...run.questions.ranges import Range, RangeTracker, Scale, clip_share, extent, settled, weight_extent, weight_reach
from ...run.source import Source
from ..ink.sketch import TICK, Bound
from ..ink.text import share_text, short
from ..ink.theme import Colormap, Theme, get_map
from ..space.layout import FEW
from ..space.plane import NEW_MAPS

Float = NDArray[np.floating]

GRADIENT_DECADES, SQUARE_DECADES = 4, 8
"""Decades of a magnitude's scale; a square spans twice as many."""
RATIO = Range(1e-6, 1.0, "log")
"""Fixed range of update/value: learning rates are tuned to about 1e-3, so a colour always means the same."""
_WORDS = {
    "exp_avg": "m (exp_avg)", "exp_avg_sq": "v (exp_avg_sq)", "max_exp_avg_sq": "largest v",
    "momentum_buffer": "velocity", "square_avg": "v (square_avg)", "sum": "sum of squares", "grad_avg": "mean gradient",
    "exp_inf": "u (exp_inf)", "acc_delta": "mean squared step", "prev": "last gradient", "step_size": "step size",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of each weight."""

    name: str  # its name in the code
    words: str  # its name in a picture
    numbers: Callable[[Frame], Float | None]  # its numbers in a frame, shape (P,), or None
    cmap: str
    scale: Scale  # signed: both sides of 0; magnitudes ("log"): `decades` below the end
    decades: int = 0
    state: bool = False  # whether the optimiser stores it; a frame holds it only if asked

    @property
    def signed(self) -> bool:
        """True if the quantity's numbers have signs."""
        return self.scale != "log"

    def range(self, v: float) -> Range:
        """Return the range with the end `v`."""
        if self.name == "update/value":
            return RATIO
        return Range.decades(v, self.decades) if self.decades else Range.symmetric(v, self.scale)


def _ratio(frame: Frame) -> Float:
    """Return the size of the last update relative to the value after it; 0 without an update."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.abs(frame.update) / np.abs(frame.values)
    return np.asarray(np.where(frame.update == 0, np.zeros_like(found), found))


_OWN = (
    Quantity("weight", "weight", lambda frame: frame.values, "weight", "linear"),
    Quantity("gradient", "gradient", lambda frame: frame.gradient, "gradient", "symlog"),
    Quantity("|gradient|", "|gradient|", lambda frame: np.abs(frame.gradient), "magnitude", "log", GRADIENT_DECADES),
    Quantity("update", "update", lambda frame: frame.update, "update", "symlog"),
    Quantity("update/value", "update / value", _ratio, "magnitude", "log", 6),
)
QUANTITIES = {quantity.name: quantity for quantity in _OWN}
"""Quantities of every frame."""


def _lit(name: str, words: str, cmap: str, scale: Scale) -> Quantity:
    """Return a quantity that an opened step shows on cubes; a cube with NaN is dark and shows its weight."""
    return Quantity(name, words, lambda frame: np.nan_to_num(frame.state[name]), cmap, scale, state=True)


_LIT = (
    _lit("product", "product w \N{MIDDLE DOT} x", "weight", "linear"),
    _lit("read", "weights of the rows read", "weight", "linear"),
    _lit("passed on", "w \N{MIDDLE DOT} δ, which goes on", "gradient", "symlog"),
    _lit("change", "weight and change", "update", "linear"),
)
LIT = {quantity.name: quantity for quantity in _LIT}
"""Further quantities of the frames of an opened step."""
PLAIN = frozenset(("weight", "product", "read", "change"))
"""Quantities whose numbers are written without an exponent."""


def _moment(name: str, signed: bool) -> Quantity:
    """Return the quantity of a number that the optimiser stores."""
    scale: Scale = "symlog" if signed else "log"
    cmap, decades = ("gradient", 0) if signed else ("magnitude", SQUARE_DECADES)
    return Quantity(name, _WORDS.get(name, name), lambda frame: frame.state.get(name), cmap, scale, decades, True)


def quantity_of(name: object, moments: Mapping[str, bool]) -> Quantity:
    """Return the quantity of a name; a Quantity is returned unchanged, even if the optimiser has changed since.

    `moments` maps the numbers that the optimiser stores per weight to whether they have signs.

    Raises
    ------
    TypeMismatchError, UnknownNameError
        `name` is not a text, or an unknown name.
    """
    if isinstance(name, Quantity):
        return name
    given = text(name, "the quantity")
    if given in QUANTITIES or given in LIT:
        return QUANTITIES[given] if given in QUANTITIES else LIT[given]
    if given in moments:
        return _moment(given, moments[given])
    more = "" if moments else " (this optimiser stores no others per weight)"
    raise UnknownNameError(f"quantity: got {shown(name)}; allowed: {listing([*QUANTITIES, *moments])}{more}")


def check_kept(source: Source, quantity: object) -> None:
    """Raise InputError with the reason if a recording does not hold a quantity."""
    name = quantity.name if isinstance(quantity, Quantity) else str(quantity)
    if quantity is not None and (reason := source.lacks(name)):
        raise InputError(
            f"quantity {shown(name)}: {reason}; allowed: {listing(n for n in QUANTITIES if not source.lacks(n))}"
        )


# ---- Ranges.

_BOUNDS = {"sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0)}


class Coloring:
    """The present range and colours of one quantity, given by its name or as a Quantity.

    A quantity that was shown before stays known, even if the optimiser has changed since. `moments` returns the numbers
    that the optimiser stores now: by name, whether they have signs. `drawn` (P,) holds the numbers `flat` that the
    cubes show. Buffers, which are not trained, fill the range by a range of their own; the label at their plate states
    it.
    """

    scope = "the network"  # what shares this range, in the legend's words

    def __init__(
        self,
        tensors: Sequence[Tensor],
        theme: Theme,
        quantity: str | Quantity = "weight",
        cmap: str | None = None,
        moments: Callable[[], Mapping[str, bool]] = dict,
    ) -> None:
        self._moments, self._theme = moments, theme
        self._weights_now: Float = np.zeros(0)
        self.shows = quantity_of(quantity, moments())
        self._seen = {self.shows.name: self.shows}
        self.cmap: Colormap = get_map(self.shows.cmap if cmap is None else cmap, theme)
        self.range = self.shows.range(1.0)
        self.flat: Float = np.zeros(0)
        self.drawn: Float = self.flat
        self.growing = False  # whether the range is still growing
        self.dark = False  # whether a step is open and no cube has a number yet: all show their weights
        self.untrained = False  # whether only untrained numbers are missing
        self._known: NDArray[np.bool_] = np.zeros(0, bool)  # which numbers are known (computed gradients)
        self._tensors = tuple(tensors)
        self._weights = [t for t in self._tensors if not t.buffer]
        self._buffers = [t for t in self._tensors if t.buffer]
        self._tracker, self._others = RangeTracker(), RangeTracker()
        self._ranges = dict[str, RangeTracker]()  # of quantities shown before
        self._seen_last: Float | None = None
        self._wanted, self._reach = 1.0, inf  # V of the last frame; the largest weight that has neighbours
        self.least = 0.0  # V of the weights is at least this, for a film that knows its range; can be set
        self.of = ""  # whose numbers they are, in the legend's words, if not a moment's; can be set
        self.opened = False  # whether a step is open: a cube without a number is dark and shows its weight; can be set
        self.recorded = False  # whether a recording is read: missing numbers never appear; can be set

    @property
    def quantity(self) -> str:
        """The name of the quantity."""
        return self.shows.name

    def change(self, theme: Theme, quantity: str, cmap: str | None) -> None:
        """Change the look; another quantity gets its own range at the next update.

        Raises
        ------
        UnknownNameError
            An unknown name; nothing is changed then.
        """
        wanted, self._theme = self._seen.get(quantity) or quantity_of(quantity, self._moments()), theme
        self.cmap = get_map(wanted.cmap if cmap is None else cmap, theme)
        if quantity != self.quantity:
            self._ranges[self.quantity] = self._tracker
            self.shows = self._seen[wanted.name] = wanted
            self.refit()
            self._tracker = self._ranges.get(quantity, self._tracker)  # a former range returns

    def refit(self) -> None:
        """Fit the range again at the next update."""
        self._tracker, self._others = RangeTracker(), RangeTracker()

    def update(self, frame: Frame, seconds: float | None, whole: Float | None = None) -> None:
        """Take over a frame. `seconds`: time since the last one; None fits the range again.

        `whole` (P,): numbers that set the range in place of the frame's.
        """
        numbers = self.shows.numbers(frame)
        self.flat = np.zeros_like(frame.values) if numbers is None else numbers
        missing = self.missing(frame)
        seen = self.flat if whole is None else whole
        if self._seen_last is not seen or not settled(seen):  # ten million numbers take half a second
            own = np.concatenate([seen[t.span] for t in self._weights or self._tensors])
            self._reach = weight_reach(own) if self.quantity == "weight" else inf
            lit = np.abs(own[np.isfinite(own)]) if self.opened else own
            v = float(lit.max(initial=0.0)) if self.opened else 0.0  # colours must show each lit number
            self._seen_last, self._wanted = seen, v or extent(lit, self._reach)
        self.dark, self._weights_now = self.opened and bool(missing.all()), frame.values
        known = np.isfinite(self.flat) & ~missing
        if self.opened or (known.any() and not self._known.any()):
            seconds = None  # a stage of a step has its own range; or there was none
        self._known = known
        self.untrained = not any(missing[tensor.span].any() for tensor in self._weights)
        least = self.least if self.quantity == "weight" else 0.0
        self.range = self.shows.range(*self._tracker.follow([max(self._wanted, least)], seconds))
        self.growing = self.range is not RATIO and self._tracker.growing
        self._draw(seconds)

    def _draw(self, seconds: float | None) -> None:
        """Scale buffers to the range by ranges of their own."""
        self.drawn = self.flat
        if not (self._buffers and self._weights) or not self.shows.signed:
            return
        own = self._others.follow([extent(self.flat[t.span]) for t in self._buffers], seconds)
        self.drawn = self.flat.copy()
        for tensor, v in zip(self._buffers, own, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                self.drawn[tensor.span] *= 0.0 if tensor.role == "count" else self.range.high / v

    def missing(self, frame: Frame) -> NDArray[np.bool_]:
        """Return where this quantity has no number, (P,), for example no gradient. Buffers have updates."""
        if self.shows.state and self.quantity not in frame.state:
            return np.ones(len(frame.values), bool)
        if self.quantity in LIT:
            return np.isnan(frame.state[self.quantity])
        known = frame.known(self.quantity)
        found = ~known
        if self.quantity == "update" and known.any():
            for tensor in self._buffers:
                found[tensor.span] = False
        return found

    def units(self) -> dict[str, NDArray[np.float64]]:
        """Positions of the values on the scale, by tensor: 0..1, beyond when clipped."""
        return {t.name: self.range.unit(t.of(self.drawn)) for t in self._tensors}

    def extents(self) -> Mapping[str, float]:
        """Return the largest magnitude of each plate with a known number, for the text after `bound`.

        It is not V, at which the colours clip: no cube shows a larger number than its plate says.
        """
        known = [t for t in self._tensors if self._known[t.span].any()]
        return {t.name: float(np.max(np.abs(self.flat[t.span]), initial=0.0, where=self._known[t.span])) for t in known}

    @property
    def bound(self) -> str:
        """The sign before the largest magnitude of a tensor: ``±``, or ``≤`` for magnitudes."""
        return "\N{LESS-THAN OR EQUAL TO}\N{THIN SPACE}" if not self.shows.signed else "±"

    def _ticks(self, chosen: Range) -> tuple[list[Tick], str]:
        """Return the legend's numbers, and a note on the scale."""
        v, scale = chosen.high, chosen.scale

        def tick(k: int, form: str) -> Tick:
            value = float(np.sign(k)) * v * 10.0 ** (1 - abs(k)) if k else 0.0
            bound = Bound(TICK, k, form)
            return Tick(float(chosen.unit(value)), bound.text(value), bound)

        if scale == "log":
            return [tick(k, "decade") for k in range(round(np.log10(v / chosen.low)) + 1, 0, -1)], "log"
        if scale == "symlog":  # one form for all five: tenths of a small number are smaller than `short` writes plainly
            ends = {k: "small tick" if abs(k) == 1 else "tick" for k in (-1, -2, 0, 2, 1)}
            return [tick(k, form) for k, form in ends.items()], "log both ways from 0"
        return [tick(k, "tick") for k in (-1, 0, 1)], f"range of {self.scope}"

    def legend(self) -> LegendScale:
        """Return the legend of this frame. If all cubes are dark, it is that of their weights."""
        shows, cmap, chosen, flat, known, reach = (
            self.shows, self.cmap, self.range, self.flat, self._known, self._reach,
        )  # fmt: skip
        if self.dark:
            shows, cmap, flat = QUANTITIES["weight"], get_map("weight", self._theme), np.asarray(self._weights_now)
            chosen, known, reach = Range.symmetric(weight_extent(flat)), np.isfinite(flat), weight_reach(flat)
        v, words = chosen.high, ", ".join(filter(None, (shows.words, self.of)))
        labels, scope = self._ticks(chosen)
        if self._buffers and self._weights:  # else no copy: there may be millions
            weights = np.ones(len(flat), bool)
            for tensor in self._buffers:
                weights[tensor.span] = False
            flat, known = flat[weights], known[weights]
        if not known.any():  # there is no range
            return LegendScale(words, scope, cmap, [Tick(0.5, "0")] if shows.signed else [], np.empty(0))
        marks = chosen.unit(flat[known]) if len(flat) <= FEW else np.empty(0)
        if self.opened and not self.dark:
            moved = self.quantity == "change" and len(flat) <= FEW  # then faces show the present weights
            return LegendScale(words, "number: new weight" if moved else "faint: weight", cmap, labels, marks)
        clipped = f"{share_text(clip_share(flat, v))} clipped"
        ends = float(np.fmax.reduce(flat)), float(np.fmin.reduce(flat))
        if max(map(abs, ends)) > reach:  # the distance says more than the scope
            far = flat[np.isfinite(flat) & (np.abs(flat) > reach)]
            clipped += f", up to {short(far[np.argmax(np.abs(far))])}" if len(far) else ""
            scope = "" if len(far) else scope
        return LegendScale(words, f"{scope} · {clipped}" if scope else clipped, cmap, labels, marks)


class ActivationScale:
    """One grey scale for all rows of activations: the bounds of the functions, or the largest value seen.

    `sheet`: the input is an image of paper and ink, 0 to 1. It has a range of its `own`, because maps grow far beyond 1
    and would leave it dark.
    """

    def __init__(self, stages: Sequence[Stage], theme: Theme, *, sheet: bool = False) -> None:
        self.cmap: Colormap = get_map("activation", theme)
        self.range = Range(0.0, 1.0)
        self.growing = False  # whether the range is still growing
        self._rows = rows_of(stages)
        self.rectified = "relu" in self._rows.values()  # else no unit can be dead
        self._tracker = RangeTracker()
        self.own = {"input": Range(0.0, 1.0)} if sheet else {}

    def change(self, theme: Theme) -> None:
        """Change the theme."""
        self.cmap = get_map("activation", theme)

    def refit(self) -> None:
        """Fit the range again at the next update."""
        self._tracker = RangeTracker()

    def update(self, frame: Frame, seconds: float | None) -> None:
        """Take over a frame, as in :meth:`Coloring.update`."""
        low, high, loose = 0.0, 0.0, []
        for name, kind in self._rows.items():
            row = frame.activations.get(name)
            if kind in _BOUNDS:
                low, high = min(low, _BOUNDS[kind][0]), max(high, _BOUNDS[kind][1])
            elif row is not None and name not in self.own:
                loose.append(np.asarray(row, float))
        if loose:
            (v,) = self._tracker.follow([extent(np.concatenate(loose))], seconds)
            self.growing = self._tracker.growing
            negative = any(np.nanmin(r, initial=0.0) < 0 for r in loose)
            low, high = min(low, -v if negative else 0.0), max(high, v)
        self.range = Range(low, high if high > low else low + 1.0)

    def legend(self) -> LegendScale:
        """Return the legend of the rows."""
        low, high = self.range.low, self.range.high
        labels = [Tick(0.0, _plain(low)), Tick(1.0, _plain(high, signed=low < 0))]
        if low < 0 < high:
            labels.append(Tick(float(self.range.unit(0.0)), "0"))
        return LegendScale("activation", kinds_of(self._rows), self.cmap, labels, np.empty(0))


def _plain(value: float, *, signed: bool = False) -> str:
    """Return a whole number without decimals, anything else in short form."""
    return number(value, 0, signed=signed) if value == int(value) else short(value, signed=signed)


def rows_of(stages: Sequence[Stage]) -> dict[str, str]:
    """Return the rows of activations that a layout draws: ``"input"`` and the last stage of each layer, with its kind.

    Of a convolutional chain only the maps: the outputs of its linear layers have another scale and would outshine them.
    Of a network with branches: every stage.
    """
    if not is_chain(stages):
        return {"input": "input", **{stage.name: stage.kind for stage in stages}}
    rows = {"input": "input"}
    pictures = any(s.kind == "conv2d" for s in stages)
    last = ""
    for stage in stages:
        if stage.weight is None and last in rows and last != "input" and stage.kind not in NEW_MAPS:
            del rows[last]
        if not pictures or len(stage.shape) == 3:
            rows[stage.name] = stage.kind
        last = stage.name
    return rows


LAYERS = {"linear": "layer", "conv1d": "convolution", "conv2d": "convolution"}
"""Names of stages with weights, by kind; other stages are named after their kind."""
ROWS = {
    "relu": "ReLU", "leaky_relu": "leaky ReLU", "relu6": "ReLU6", "gelu": "GELU", "silu": "SiLU", "elu": "ELU",
    "max_pool1d": "max pool", "max_pool2d": "max pool", "avg_pool1d": "mean pool", "avg_pool2d": "mean pool",
    "batch_norm1d": "batch norm", "batch_norm2d": "batch norm", **LAYERS,
}  # fmt: skip
"""Names of stages by kind; other stages have the name of their kind, in words."""


def in_words(kind: str) -> str:
    """Return a kind of stage in plain words."""
    return ROWS.get(kind, kind.replace("_", " "))


def kinds_of(rows: Mapping[str, str]) -> str:
    """Return the kinds of rows in words."""
    return ", ".join(dict.fromkeys(in_words(kind) for kind in rows.values() if kind not in ("input", "linear")))


class Tick(NamedTuple):
    """A number of a legend."""

    place: float  # fraction of the bar
    text: str
    bound: Bound | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LegendScale:
    """The content of a legend. Positions are fractions of the bar, 0 left to 1 right."""

    title: str  # the quantity
    note: str  # scope and share clipped
    cmap: Colormap
    labels: Sequence[Tick]  # numbers below the bar
    marks: NDArray[np.floating]  # places of the cubes' values; empty for none
