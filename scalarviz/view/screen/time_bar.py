"""`TimeBar`: the time bar, drawn and clicked. A click means a name and a value.

The losses (`Losses`) are above its rail; a `Rail` for each earlier branch is between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Branch, Frame, Past
from ...run.core.history import Curve
from ..ink.axes import Axes, Scale, spaced, tick_text, tight
from ..ink.boxes import LABEL, RAIL
from ..ink.sketch import STEP, Bound, Box, Cached, Click, Point, Sketch, Spot, spot_at
from ..ink.text import loss_text, measure
from ..ink.theme import Theme, area_colour
from ..ink.widgets import button, draw_sign, tip
from ..panels.drawer import coming_words, cut
from ..shown.names import Names
from ..shown.subject import Forecast, Subject

Array = NDArray[np.float64]
ActionWords = Callable[[str], tuple[str, str]]
"""Returns the key of an action and what it does."""
GO, BRANCH = "go", "branch"
"""Names of spots whose value is a step, and the number of a branch."""
NAMED = 6
"""Most edits with their words beside them: those nearest to the cursor."""
PARTS = ("around", "after", "before", "marks", "words", "cursor", "flag")
"""The bar over its ground; two parts have all of curve and rail, as after and as before the cursor, to be clipped."""
DIAMOND = 6.0
ROW = 8.0
"""Logical pixels from one rail to the next: the curve above needs the rest."""
BLOCK = 184.0
"""Width of the five buttons in logical pixels."""
_ACTIONS = ("first", "back", "toggle_run", "step", "newest")
NARROW = 480
"""Width below which a bar without buttons, in a page, has no room beside its plot for the last loss."""
_PAD, _GAP, _HIGH = 12.0, 6.0, 28.0
_RING, _REACH = 4.5, 6.0  # radius of a ring, and distance within which a point is on it
_WIDEST, _AIR = 170.0, 10.0  # widest words of a mark, and least gap between two of them


@dataclass(frozen=True, slots=True)
class Mark:
    """The edits after a step, or the flags on it."""

    kind: Literal["edit", "flag"]
    step: int
    words: tuple[str, ...]

    @property
    def short(self) -> str:
        """The text below the mark; a long name is cut, not the number behind it."""
        more, (name, sign, value) = len(self.words) - 1, self.words[-1].rpartition(" = ")
        end = sign + value if sign and measure(sign + value, LABEL) < _WIDEST / 2 else ""
        name = name if end else self.words[-1]
        return cut(name, _WIDEST - measure(end, LABEL)) + end + (f", {more} more" if more else "")


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The content and layout of the bar for one past in one box."""

    past: Past
    scale: StepScale
    top: float
    rail: float
    baseline: float  # of the labels below the rail
    rails: tuple[Rail, ...]
    marks: tuple[Mark, ...]
    buttons: list[tuple[str, Box, str]]  # action, box and words; without words a sign
    losses: Losses | None
    limits: tuple[float, float]
    flag_limits: tuple[float, float]
    small: bool  # whether only the rail is drawn


class TimeBar:
    """One time bar: `place` sets its box, `update` its content."""

    def __init__(self, theme: Theme, told: ActionWords = lambda action: ("", action)) -> None:
        self.theme, self.action_words = theme, told
        self.running = False  # whether the run plays: the middle button then shows pause
        self.ahead: Forecast | None = None  # steps to come: they have room already, so that the axes stay still
        self.other: Curve | None = None  # losses of another run at the same steps, dashed ...
        self.names = ("", "")  # ... and the names of both
        self.by_weights = False  # whether each loss is drawn at the step of its weights, one earlier
        self.loss = float("nan")  # loss of the shown weights, as in the curve; NaN if unknown
        self._subject: Subject | None = None
        self.buttons = True
        self.off = 0.0  # pixels by which curves with fewer points may differ, for a smaller file
        self.samples_words = ""  # samples of the losses ("of the next sample"), if others are named elsewhere
        self.box: Box | None = None
        self._clear: tuple[Box, ...] = ()
        self._tips: dict[str, str] = {}
        self._plan: Plan | None = None
        self._planned, self._drawn = Cached[Plan](), Cached[list[Sketch]]()
        self._still, self._marks = Cached[list[Sketch]](), Cached[Sketch]()
        self._sketches: list[Sketch] = []
        self._step, self._last = 0, float("nan")
        self._past: Past | None = None
        self._pointer: Point | None = None

    def place(self, box: Box | None, clear: Sequence[Box] = ()) -> None:
        """Set the bar's box; the tooltip avoids the boxes `clear`."""
        self.box, self._plan, self._sketches, self._clear = box, None, [], tuple(clear)
        self._tips.clear()

    # ---- drawing

    def follow(self, subject: Subject, frame: Frame) -> None:
        """Take from a subject how edits are called, and which samples losses are of."""
        self.by_weights, self.samples_words = subject.source.facts is not None, coming_words(subject, frame)
        self._subject = subject
        self.loss = float("nan") if self.samples_words else subject.loss(frame)

    def plain(self, edit: str) -> str:
        """Return what somebody did to the run, in plain words."""
        return edit if self._subject is None else Names(self._subject).plain(edit)

    def update(self, frame: Frame, *, writes: bool = True) -> list[Sketch]:
        """Return the bar for a frame; without `writes` a recent drawing may be reused while the run plays."""
        past = frame.past
        if self.box is None or past is None or not (past.newest > past.first or len(past.branches) > 1):
            self._plan, self._sketches = None, []
            return []
        if self._sketches and self.running and not writes:
            return self._sketches
        box, self._step, spot = self.box, frame.step, self._hovered_spot
        if frame.step == past.newest or past is not self._past:
            self._past, self._last = past, self.loss if frame.step == past.newest else float("nan")
        known, over = (past, self._last, self.ahead, id(self.other), box), "" if spot is None else spot.name
        plan = self._plan = self._planned.get(known, lambda: _planned(self._at_known_weights(past), box, self))
        now = (known, frame.step, self.running, over, self.theme.name)
        self._sketches = self._drawn.get(now, lambda: [self._ground(plan, box, over), *self._clipped(plan, box)])
        return self._sketches

    def _clipped(self, plan: Plan, box: Box) -> list[Sketch]:
        (left, top, wide, high), x = box, plan.scale.x_of(self._step)
        boxes = {"after": (x, top, left + wide - x, high), "before": (left, top, x - left, high)}
        parts = self.parts(self._step, x).items()
        return [part.clipped(boxes[name]) if name in boxes else part for name, part in parts]

    @property
    def plan(self) -> Plan:
        """The layout after an `update`."""
        assert self._plan is not None
        return self._plan

    def parts(self, step: int, x: float | None = None) -> dict[str, Sketch]:
        """Return the `PARTS` at a step, the cursor at `x`; None: it and its flag are around 0."""
        plan, look, line = self.plan, self.theme.name, self._line
        key = plan, look, self.samples_words
        still = self._still.get(key, lambda: [self._around(plan), line(plan, lit=False), line(plan, lit=True)])
        passed = int(np.sum(plan.scale.place([mark.step for mark in plan.marks]) <= plan.scale.x_of(step) + 0.5))
        marks = self._marks.get((plan, look, passed), lambda: self._drawn_marks(plan, passed))
        found = *still, marks, self._words(plan, step), self._cursor(plan, x or 0.0), self._flag(plan, step, x)
        return dict(zip(PARTS, found, strict=True))

    def _at_known_weights(self, past: Past) -> Past:
        """Return the past with every loss at the step of its weights, as far as known."""
        if not self.by_weights:
            return past
        branches = tuple(replace(branch, curve=branch.curve.of_weights(), why=self.plain(branch.why))
                         for branch in past.branches)  # fmt: skip
        curve, undo, redo = past.curve.of_weights(past.newest, self._last), self.plain(past.undo), self.plain(past.redo)
        return replace(past, curve=curve, branches=branches, undo=undo, redo=redo)

    def _ground(self, plan: Plan, box: Box, over: str) -> Sketch:
        sketch, theme = Sketch(), self.theme
        sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
        sketch.spot(box, GO, words="time bar")
        for action, place, words in plan.buttons:
            lit = action == over
            button(sketch, place, theme, lit=lit)
            if action not in self._tips:
                self._tips[action] = ": ".join(self.action_words(action))
            sketch.spot(place, action, words=f"{action} {words}" if words else "", tip=self._tips[action])
            if words:
                _chip(sketch, action, place, words, theme)
            else:
                draw_sign(sketch, action, place, theme.text1 if lit else theme.text2, running=self.running)
        return sketch

    def _around(self, plan: Plan) -> Sketch:
        sketch = Sketch()
        if plan.losses is not None:
            draw_axis(sketch, plan.losses.axes, self.theme)
            self._last_loss(sketch, plan.losses, plan)
        self._rails(sketch, plan)
        return sketch

    def _line(self, plan: Plan, *, lit: bool) -> Sketch:
        """Draw the curve and the rail as before the cursor (`lit`), or as after it."""
        sketch, theme, scale = Sketch(), self.theme, plan.scale
        if plan.losses is not None:
            draw_losses(sketch, plan.losses, theme, lit=lit)
        newest, colour = scale.x_of(plan.past.newest), theme.text1 if lit else theme.flow
        sketch.lines([(scale.left, plan.rail)], [(newest, plan.rail)], colour, 4.0, round_ends=True)
        if not lit:
            sketch.disc(newest, plan.rail, _RING, theme.text3)
        return sketch

    def _drawn_marks(self, plan: Plan, passed: int) -> Sketch:
        """Draw the marks; `passed` ones are not after the cursor."""
        sketch, theme = Sketch(), self.theme
        for k, mark in enumerate(plan.marks):
            x, colour = plan.scale.x_of(mark.step), theme.text1 if k < passed else theme.text3
            if mark.kind == "edit":
                for radius, own in ((DIAMOND + 1.6, colour), (DIAMOND - 0.8, theme.panel)):
                    corners = ((0, -radius), (radius, 0), (0, radius), (-radius, 0))
                    sketch.polygon([(x + dx, plan.rail + dy) for dx, dy in corners], own)
            else:
                sketch.line((x, plan.rail), (x, plan.rail - 17), colour, 1.6)
                sketch.polygon([(x, plan.rail - 18), (x + 10, plan.rail - 14), (x, plan.rail - 10)], colour)
        return sketch

    def _words(self, plan: Plan, step: int) -> Sketch:
        sketch, theme = Sketch(), self.theme
        for left, text, is_mark in sorted(labels(plan.marks, plan.scale, step, plan.limits)):
            middle, colour = left + measure(text, LABEL) / 2, theme.text1 if is_mark else theme.text3
            sketch.text(middle, plan.baseline, text, LABEL, colour, anchor="middle")
        if not plan.small:
            self._rail_words(sketch, plan, step)
        return sketch

    def _last_loss(self, sketch: Sketch, losses: Losses, plan: Plan) -> None:
        """Draw the loss of the newest step at the curve's end, unless a branch continues there."""
        (left, top, wide, high), path = losses.axes.box, losses.path
        text, (x, y) = loss_at(plan.past.curve, plan.past.newest).removeprefix("loss "), path[-1].tolist()
        room = x >= left + wide - 4 and x + 8 + measure(text, LABEL) <= plan.limits[1] + _AIR
        if room and not self.samples_words and self.other is None:
            baseline = max(min(y + 4, top + high), top + 26)  # below the step's flag
            sketch.text(x + 8, baseline, text, LABEL, self.theme.text2)

    def _rails(self, sketch: Sketch, plan: Plan) -> None:
        theme, scale = self.theme, plan.scale
        now = next((branch.number for branch in plan.past.branches if branch.current), 0)
        for rail in plan.rails:
            start, end = scale.x_of(rail.leaves), scale.x_of(rail.newest)
            low, high = plan.rail - ROW * rail.source, plan.rail - ROW * rail.row
            sketch.spot((end - _REACH, high - _REACH, 2 * _REACH, 2 * _REACH), BRANCH, next_of(rail, now),
                        words=f"branches {[branch.number for branch in rail.branches]}")  # fmt: skip
            turn = np.linspace(0.0, 1.0, 9)
            bend = min(12.0, max(end - start, 4.0))
            rise = np.stack([start + bend * turn, low + (high - low) * (3 - 2 * turn) * turn**2], axis=1)
            end = max(end, start + bend)
            sketch.polyline([*rise.tolist(), (end, high)], theme.flow, 2.0)
            sketch.disc(end, high, _RING, theme.panel, stroke=theme.text3, border=1.8)

    def _rail_words(self, sketch: Sketch, plan: Plan, step: int) -> None:
        scale = plan.scale
        upright = [step, *(mark.step for mark in plan.marks if mark.kind == "flag")]
        taken = [(scale.x_of(step) - 12, scale.x_of(step)) for step in upright]
        taken += [(scale.x_of(rail.newest), scale.x_of(rail.newest) + _RING) for rail in plan.rails]
        for rail in plan.rails:
            start, end = scale.x_of(rail.leaves), scale.x_of(rail.newest)
            end = max(end, start + min(12.0, max(end - start, 4.0)))
            words = f"{len(rail.branches)} more" if rail.folded else f"left at {rail.newest:,}"
            begin, until = end + _RING + 1, end + 14 + measure(words, LABEL)
            if until <= scale.right and not any(begin < last and first < until for first, last in taken):
                sketch.text(end + 9, plan.rail - ROW * rail.row + 4, words, LABEL, self.theme.text3)
                taken.append((end, until))

    def _cursor(self, plan: Plan, x: float) -> Sketch:
        sketch, theme = Sketch(), self.theme
        sketch.line((x, plan.top + (12 if plan.small else 15)), (x, plan.rail), theme.text1, 1.6)
        sketch.disc(x, plan.rail, 6.0 if plan.small else 7.5, theme.text1, stroke=theme.panel, border=1.5)
        return sketch

    def _flag(self, plan: Plan, step: int, x: float | None) -> Sketch:
        sketch, theme, wide = Sketch(), self.theme, measure(f"{step:,}", LABEL, True) + 16
        (least, most), (top, high, baseline) = plan.flag_limits, (2, 16, 15) if plan.small else (5, 19, 19)
        middle = 0.0 if x is None else min(max(x, least + wide / 2), most - wide / 2)
        sketch.rect(middle - wide / 2, plan.top + top, wide, high, radius=4, fill=theme.text1)
        sketch.number(middle, plan.top + baseline, step, Bound(STEP, form="count"), LABEL, theme.background)
        return sketch

    # ---- pointer, in logical pixels

    @property
    def spots(self) -> Sequence[Spot]:
        """The current clickable spots."""
        return [spot for sketch in self._sketches[:2] for spot in sketch.spots]

    @property
    def _hovered_spot(self) -> Spot | None:
        return spot_at(self.spots, self._pointer)

    def covers(self, at: Point) -> bool:
        """Return whether a point is on the bar."""
        return spot_at(self.spots, at) is not None

    def target(self, at: Point, *, held: bool = False) -> Click | None:
        """Return the meaning of a point: `GO` to a step, a `BRANCH`, or an action; None for nothing.

        While a drag from the rail is `held`, it is the nearest step.
        """
        plan, spot = self._plan, spot_at(self.spots, at)
        if plan is None or (spot is None and not held):
            return None
        if spot is not None and not held:
            if spot.name != GO:
                return spot.click
            if at[0] < plan.limits[0] - _REACH:
                return None
        near = [mark for mark in plan.marks if abs(plan.scale.x_of(mark.step) - at[0]) <= DIAMOND]
        if near:  # a mark attracts clicks beside it
            step = min(near, key=lambda mark: abs(plan.scale.x_of(mark.step) - at[0])).step
        else:
            step = max(int(plan.scale.steps(at[0])), plan.past.first)
        return GO, min(plan.past.nearest(step), plan.past.newest)

    def hover(self, at: Point | None) -> bool:
        """Handle the pointer at a point (None: gone); return whether the picture changes."""
        before = self._pointer
        self._pointer = at if at is not None and self.covers(at) else None
        return before != self._pointer

    def label(self, size: tuple[float, float]) -> list[Sketch]:
        """Return the labels beside the pointer in a picture of `size`: step, loss, edits; a branch; a key."""
        plan, at, spot = self._plan, self._pointer, self._hovered_spot
        found = None if at is None else self.target(at)
        if plan is None or at is None or found is None or spot is None:
            return []
        name, value = found
        if name == BRANCH:
            return [self._tip(at, size, "another branch", "click: go there", self.branch_words(int(value)))]
        if name != GO:
            return [self._tip(at, size, *self.action_words(name), [spot.words] if spot.words else [])]
        line, step = Sketch(), int(value)
        x, (_, top, _, _) = plan.scale.x_of(step), spot.box
        line.line((x, top + 26), (x, plan.rail), self.theme.text2, 1.0)  # from below the flag
        words = [text for mark in plan.marks if mark.step == step for text in mark.words]
        loss = loss_at(plan.past.curve, step)
        loss += f", {self.samples_words}" if loss and self.samples_words else ""
        if self.other is not None:
            both = zip(self.names, (plan.past.curve, self.other), strict=True)
            loss = "  ".join(f"{name}: {said}" for name, curve in both if (said := loss_at(curve, step)))
        return [line, self._tip(at, size, f"step {step:,}", loss, words[-6:])]

    def branch_words(self, number: int) -> list[str]:
        """Return the words about a branch with a rail."""
        branch = next(b for b in self.plan.past.branches if b.number == number)
        rail = next(r for r in self.plan.rails if branch in r.branches)
        more = [f"steps {branch.first:,} to {branch.newest:,}", *[f"started by {branch.why}"] * bool(branch.why)]
        return more + [f"{len(rail.branches)} branches: click for the next"] * rail.folded

    def _tip(self, at: Point, size: tuple[float, float], name: str, value: str, more: list[str]) -> Sketch:
        """Return a tooltip above the bar and above a legend there, no further right than the bar."""
        box = self.box or (0.0, 0.0, *size)
        room = min(box[0] + box[2] + 4, size[0]), size[1]
        return tip(at, room, name, value, more, self.theme, (box, *self._clear))


def loss_at(curve: Curve, step: int) -> str:
    """Return ``loss 0.0123`` for a step of a curve; '' if it has none."""
    place = int(np.searchsorted(curve.step, step))
    there = place < len(curve.step) and curve.step[place] == step
    return f"loss {loss_text(float(curve.loss[place]))}" if there else ""


def _planned(past: Past, box: Box, bar: TimeBar) -> Plan:
    (x, y, wide, high), ahead = box, bar.ahead
    small, narrow = high <= RAIL, wide < NARROW and not bar.buttons
    block = 0.0 if not bar.buttons or wide < (NARROW if small else 560) else BLOCK + 8
    found = rails(past, 1 if small or high < _HIGH_ENOUGH else ROWS)
    first = min([past.first, *(rail.leaves for rail in found)])
    last = max([past.newest, first + 1, *(rail.newest for rail in found), *([] if ahead is None else [ahead.last])])
    left, right = x + _PAD + block + (8 if small else 46), x + wide - (_PAD + 12 if small or narrow else 62)
    scale = StepScale(first, last, left, right)
    rail, losses = y + (25.0 if small else high - 26.0), None
    if not small:
        bottom = rail - (8 + ROW * found[-1].row if found else 11)
        losses = losses_of((left, y + 10, right - left, bottom - y - 10), scale, past.curve, found, bar)
    top = y + (10 if small else 14)
    buttons = _buttons(x + _PAD, top, past, chip=not small) if block else []
    end, baseline = right + (8 if small or narrow else 46), y + high - (5 if small else 7)
    marks, limits = marks_of(past, bar.plain), ((left - 6, end), (left - 2, end))
    return Plan(past, scale, y, rail, baseline, found, marks, buttons, losses, *limits, small)


def _buttons(x: float, y: float, past: Past, *, chip: bool) -> list[tuple[str, Box, str]]:
    """Return five buttons, and a chip below them if there is something to undo or redo."""
    wide = (BLOCK - 4 * _GAP) / 5
    found = [(name, (x + k * (wide + _GAP), y, wide, _HIGH), "") for k, name in enumerate(_ACTIONS)]
    action, words = ("undo", past.undo) if past.undo else ("redo", past.redo)
    if words and chip:
        found.append((action, (x, y + _HIGH + 8, BLOCK, _HIGH), words))
    return found


def _chip(sketch: Sketch, action: str, box: Box, words: str, theme: Theme) -> None:
    """Draw a bent arrow, the action, and the words of the edit."""
    x, y, wide, high = box
    way, middle = (1.0 if action == "undo" else -1.0), y + high / 2
    centre = x + 17
    turn = np.linspace(-np.pi / 2, np.pi / 2, 9)
    bow = np.stack([centre + way * (1 + 5 * np.cos(turn)), middle + 0.5 + 4.5 * np.sin(turn)], 1)
    sketch.polyline([(centre - 4 * way, bow[0, 1]), *bow.tolist(), (centre - 3 * way, bow[-1, 1])], theme.text1, 1.8)
    tip = centre - 8 * way, float(bow[0, 1])
    sketch.polygon([tip, (tip[0] + 6 * way, tip[1] - 4), (tip[0] + 6 * way, tip[1] + 4)], theme.text1)
    sketch.text(x + 28, middle + 5, action, LABEL, theme.text1, bold=True)
    room = wide - 42 - measure(action, LABEL, True)
    sketch.text(x + wide - 7, middle + 5, cut(words, room), LABEL, theme.text2, anchor="right")


# ---- Marks and labels of the rail: edits with their words, flags, ticks. Of two that collide one is hidden.


def marks_of(past: Past, plain: Callable[[str], str] = str) -> tuple[Mark, ...]:
    """Return edits and flags by step; those of one step are joined."""
    found: dict[tuple[Literal["edit", "flag"], int], list[str]] = {}
    for edit in past.edits:
        found.setdefault(("edit", edit.step), []).append(plain(edit.what))
    for flag in past.flags:
        found.setdefault(("flag", flag.step), []).append(flag.name)
    marks = [Mark(kind, step, tuple(words)) for (kind, step), words in found.items()]
    return tuple(sorted(marks, key=lambda mark: mark.step))


def labels(
    marks: Sequence[Mark], scale: StepScale, cursor: int, limits: tuple[float, float]
) -> list[tuple[float, str, bool]]:
    """Return left end, text and whether it belongs to a mark, for labels that fit between two `limits`.

    Marks come before ticks, the nearest to the cursor first.
    """
    places = scale.place([mark.step for mark in marks])
    near = np.argsort(np.abs(places - scale.x_of(cursor)), kind="stable").tolist()
    named = [k for rank, k in enumerate(near) if marks[k].kind == "flag" or rank < NAMED]
    texts = [(float(places[k]), marks[k].short, True) for k in named]
    ticks = scale.ticks()
    texts += [(scale.x_of(step), f"{step:,}", False) for step in (ticks[0], ticks[-1], *ticks[1:-1])]
    lefts = spaced(((x, measure(text, LABEL)) for x, text, _ in texts), limits, _AIR)
    return [(left, text, mark) for left, (_, text, mark) in zip(lefts, texts, strict=True) if left is not None]


# ---- The scale of steps.

LONG = 20_000
"""Number of steps from which the bar is logarithmic: the first hundred would be one pixel."""
_HIGH_ENOUGH = 110.0
"""Least height of a bar (logical pixels) with room for more than one rail and for the curve."""
MOST = 8
"""Most curves of branches that share a rail, the latest first."""
ROWS = 2
"""Most rails beside the straight one; older ones fold into the last."""
KNEE = 10.0
"""Number of steps of equal width on a logarithmic bar."""
_PITCH = 90.0  # logical pixels between two labelled steps


@dataclass(frozen=True, slots=True)
class StepScale:
    """Maps steps `first` to `last` to x (logical pixels); a logarithmic scale counts from `first`."""

    first: int
    last: int
    left: float
    right: float

    @property
    def log(self) -> bool:
        """True if the scale is logarithmic."""
        return self.last - self.first >= LONG

    def place(self, steps: ArrayLike) -> Array:
        """Return the x of steps, clipped to both ends."""
        span = float(self.last - self.first)
        done = np.clip(np.asarray(steps, float) - self.first, 0.0, span)
        part = np.log1p(done / KNEE) / math.log1p(span / KNEE) if self.log else done / span
        x = self.left + part * (self.right - self.left)
        return np.asarray(np.clip(x, self.left, self.right))  # rounding may pass the ends

    def x_of(self, step: int) -> float:
        """Return the x of one step."""
        return float(self.place(step))

    def steps(self, x: ArrayLike) -> NDArray[np.int64]:
        """Return the steps nearest to several x."""
        part = np.clip((np.asarray(x, float) - self.left) / (self.right - self.left), 0.0, 1.0)
        span = float(self.last - self.first)
        done = KNEE * np.expm1(part * math.log1p(span / KNEE)) if self.log else part * span
        return self.first + np.minimum(np.rint(done).astype(np.int64), self.last - self.first)

    def ticks(self) -> list[int]:
        """Return the labelled steps: the ends, and round numbers between."""
        if self.log:
            inner = [self.first + 10**power for power in range(1, 19) if 10**power < self.last - self.first]
        else:
            least = max((self.last - self.first) * _PITCH / max(self.right - self.left, 1.0), 1.0)
            size = 10 ** math.floor(math.log10(least))
            every = next(size * k for k in (1, 2, 5, 10) if size * k >= least)
            inner = list(range((self.first // every + 1) * every, self.last, every))
        return [self.first, *inner, self.last]


# ---- `Rail`: the line of an earlier branch. The current branch is always the straight rail.


@dataclass(frozen=True, slots=True)
class Rail:
    """A row above the straight rail."""

    row: int  # 1 is next to the straight rail
    source: int  # the row where it begins: 0 is the straight rail
    leaves: int  # the step where it begins
    newest: int
    branches: tuple[Branch, ...]  # one branch, or all that are folded

    @property
    def folded(self) -> bool:
        """True if the rail has several branches."""
        return len(self.branches) > 1


def rails(past: Past, rows: int = ROWS) -> tuple[Rail, ...]:
    """Return the rails of earlier branches, the latest next to the straight rail; beyond `rows` the oldest fold."""
    straight = _trunk(past.branches)
    others = [b for b in past.branches if b.number not in straight or b.newest > straight[b.number]]
    others.sort(key=lambda b: -_left_order(b, straight, past.branches))
    shown = others if len(others) <= rows else others[: rows - 1]
    taken: dict[int, int] = {}
    found = []
    for row, branch in enumerate(shown, 1):
        leaves = straight.get(branch.number, branch.first)
        source = 0 if branch.parent is None else taken.get(branch.parent, 0)
        found.append(Rail(row, source if branch.number not in straight else 0, leaves, branch.newest, (branch,)))
        taken[branch.number] = row
    if folded := others[len(shown) :]:
        leaves = min(straight.get(b.number, b.first) for b in folded)
        found.append(Rail(len(shown) + 1, 0, leaves, max(b.newest for b in folded), tuple(folded)))
    return tuple(found)


def _trunk(branches: Sequence[Branch]) -> dict[int, int]:
    """Return the current branch and its ancestors by number, each with its last step on the straight rail."""
    known = {branch.number: branch for branch in branches}
    branch = next((b for b in branches if b.current), None)
    found: dict[int, int] = {}
    until = 0 if branch is None else branch.newest
    while branch is not None and branch.number not in found:
        found[branch.number] = until
        until = branch.first
        branch = None if branch.parent is None else known.get(branch.parent)
    return found


def _left_order(branch: Branch, straight: dict[int, int], branches: Sequence[Branch]) -> float:
    """Return a sort key: when a branch was left, which is the start of its successor, or else its own start."""
    child = next((b for b in branches if b.parent == branch.number and b.number in straight), None)
    return branch.number if branch.number not in straight or child is None else child.number - 0.5


def next_of(rail: Rail, now: int) -> int:
    """Return the branch for a click on a rail; of several the next after the branch `now`."""
    numbers = sorted(branch.number for branch in rail.branches)
    return next((number for number in numbers if number > now), numbers[0])


# ---- The losses: bright up to the cursor, dim after it, dashed on earlier branches.


class Losses(NamedTuple):
    """The curves for one size, without colours: of the straight rail and of earlier branches."""

    axes: Axes  # logical pixels
    path: Array
    left: tuple[Array, ...]


def losses_of(plot: Box, scale: StepScale, curve: Curve, rails: Sequence[Rail], bar: TimeBar) -> Losses | None:
    """Return the curves of the straight rail and of earlier branches; None if there is no loss yet.

    The axes include the steps to come. Another run's curve is drawn like a branch.
    """
    own = reduced(curve, scale)
    others = [reduced(_own_steps(rail, branch), scale) for rail in rails for branch in rail.branches[:MOST]]
    others += [] if bar.other is None else [reduced(bar.other, scale)]
    if not len(own[0]):
        return None
    every = np.concatenate([own[1], *(losses for _, losses in others)])
    up = tight(every if bar.ahead is None else np.append(every, (bar.ahead.low, bar.ahead.high)))
    axes = Axes(plot, Scale(plot[0], plot[0] + plot[2]), up)
    curves = (axes.points(*one, within=True) for one in (own, *others) if len(one[0]))
    path, *left = (simpler(curve, bar.off) for curve in curves)
    return Losses(axes, path, tuple(left))


def simpler(path: Array, off: float) -> Array:
    """Return the points that a path (N, 2) with rising x needs to be at most `off` higher or lower than it is."""
    if not off or len(path) < 3:
        return path
    kept, parts = {0, len(path) - 1}, [(0, len(path) - 1)]
    while parts:
        first, last = parts.pop()
        x, y = path[first : last + 1].T
        apart = np.abs(y - np.interp(x, x[[0, -1]], y[[0, -1]]))
        apart[[0, -1]] = 0.0  # also where all points have one x
        if apart.max() > off:
            middle = first + int(apart.argmax())
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return path[sorted(kept)]


def reduced(curve: Curve, scale: StepScale) -> tuple[Array, Array]:
    """Return x and mean loss, each (N,), at most one a pixel; the first point is exact."""
    steps, losses = np.asarray(curve.step), np.asarray(curve.loss, float)
    finite = np.isfinite(losses)
    if not finite.all():
        steps, losses = steps[finite], losses[finite]
    if not len(steps):
        return np.zeros(0), np.zeros(0)
    columns = max(2, int(scale.right - scale.left))
    if len(steps) > columns:
        edges = scale.steps(np.linspace(scale.left, scale.right, columns + 1)[:-1])
        begin = np.unique(np.searchsorted(steps, edges))
        begin = begin[begin < len(steps)]
        sizes = np.diff(np.append(begin, len(steps)))
        mean = np.add.reduceat(losses, begin) / sizes
        middle = np.asarray(steps[begin + sizes // 2], float)
        mean[0], middle[0], middle[-1] = losses[0], steps[0], steps[-1]
        steps, losses = middle, mean
    return scale.place(steps), losses


def _own_steps(rail: Rail, branch: Branch) -> Curve:
    """Return the steps of a branch on a rail that the straight rail does not share."""
    curve = branch.curve
    own = np.searchsorted(curve.step, max(rail.leaves, branch.first), side="right")
    return Curve(curve.step[own:], curve.loss[own:], curve.lr[own:])


def draw_axis(sketch: Sketch, axes: Axes, theme: Theme) -> None:
    """Write the losses beside the plot."""
    x, y, _, height = axes.box
    bottom = y + height
    free = bottom + LABEL
    for value in axes.up.ticks:  # from the lowest, if they fit
        _, height = axes.point(x, value)
        if height <= free - LABEL - 2:
            sketch.text(x - 8, min(height + 4, bottom), tick_text(value), LABEL, theme.text3, anchor="right")
            free = height


def draw_losses(sketch: Sketch, losses: Losses, theme: Theme, *, lit: bool) -> None:
    """Draw the curves, as before the cursor (`lit`) or as after it."""
    axes, path, others = losses
    sketch.area(path, axes.box[1] + axes.box[3], area_colour(theme, lit=lit))
    for dashed in others:
        sketch.polyline(dashed, theme.text3, 1.6, dash=(6, 4))
    sketch.polyline(path, theme.text1 if lit else theme.text3, 2.0 if lit else 1.4)
