"""`TimeBar`: the bar as it is drawn and asked. What a touch of it means is a name and a value.

Above its rail stand the losses (`Losses`), and between both a `Rail` for each branch that was left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Branch, Curve, Frame, Past
from ..ink.axes import Axes, Scale, spaced, tick_text, tight
from ..ink.boxes import LABEL, RAIL
from ..ink.sketch import Box, Cached, Click, Point, Sketch, Spot, spot_at
from ..ink.text import loss_text, measure
from ..ink.theme import Theme, mixed
from ..ink.widgets import button, draw_sign, tip
from ..panels.drawer import cut
from ..shown.subject import Forecast

Array = NDArray[np.float64]
ActionWords = Callable[[str], tuple[str, str]]
"""The key of an action and what it does."""
GO, BRANCH = "go", "branch"
"""Names of spots whose value is the step to go to, and the number of the branch."""
NAMED = 6
"""Edits that have their words beside them at most: those nearest to the cursor."""
DIAMOND = 6.0
ROW = 8.0
"""Logical pixels from one rail to the next: more would be taken from the curve above them."""
BLOCK = 184.0
"""Width of the five buttons."""
_ACTIONS = ("first", "back", "toggle_run", "step", "newest")
_PAD, _GAP, _HIGH = 12.0, 6.0, 28.0
_RING, _REACH = 4.5, 6.0  # of a ring, and how near to it a point is on it
_WIDEST, _AIR = 170.0, 10.0  # of the words of a mark, and between two of them


@dataclass(frozen=True, slots=True)
class Mark:
    """What was done after a step, or what the moment is called: the words of each."""

    kind: Literal["edit", "flag"]
    step: int
    words: tuple[str, ...]

    @property
    def short(self) -> str:
        """What is written below it."""
        more = len(self.words) - 1
        return cut(self.words[-1], _WIDEST) + (f", {more} more" if more else "")


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What there is on the bar, and where, for one past at one place."""

    past: Past
    scale: StepScale
    rail: float
    rails: tuple[Rail, ...]
    marks: tuple[Mark, ...]
    buttons: list[tuple[str, Box, str]]  # an action, its place, and the words on it; without words a sign
    losses: Losses | None
    limits: tuple[float, float]
    small: bool  # whether it is the rail alone


class TimeBar:
    """One bar. `place` says where, `update` what it shows."""

    def __init__(self, theme: Theme, told: ActionWords = lambda action: ("", action)) -> None:
        self.theme, self.action_words = theme, told
        self.running = False  # whether time goes on by itself: the button in the middle is a pause then
        self.ahead: Forecast | None = None  # steps to come: there is room for them, and nothing moves while they come
        self.other: Curve | None = None  # the losses of something else that goes the same steps, dashed ...
        self.names = ("", "")  # ... and what the two are called then
        self.by_weights = False  # whether the steps' losses stand at the weights that they are of, one step before
        self.loss = float("nan")  # that of the weights shown, as the curve has it; NaN: it has none
        self.plain: Callable[[str], str] = str  # an edit in plain words
        self.samples_words = ""  # what the pointer says of them ("of the next sample"), where others are told elsewhere
        self.box: Box | None = None
        self._clear: tuple[Box, ...] = ()
        self._tips: dict[str, str] = {}
        self._plan: _Plan | None = None
        self._planned, self._drawn = Cached[_Plan](), Cached[list[Sketch]]()
        self._sketches: list[Sketch] = []
        self._step, self._last = 0, float("nan")
        self._past: Past | None = None
        self._pointer: Point | None = None

    def place(self, box: Box | None, clear: Sequence[Box] = ()) -> None:
        """Where it stands from now on; what stands beside the pointer is kept off the boxes `clear`."""
        self.box, self._plan, self._sketches, self._clear = box, None, [], tuple(clear)
        self._tips.clear()

    # ---- what it looks like

    def update(self, frame: Frame, *, writes: bool = True) -> list[Sketch]:
        """The bar for a frame; without `writes` it may stay as it was a moment ago while time goes on."""
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
        told = self.ahead, self.other, self.plain
        plan = self._plan = self._planned.get(known, lambda: _planned(self._at_known_weights(past), box, *told))
        now = (known, frame.step, self.running, over, self.theme.name)
        self._sketches = self._drawn.get(now, lambda: [self._sketch(plan, box, over), self._cursor(plan, box[1])])
        return self._sketches

    def _at_known_weights(self, past: Past) -> Past:
        """The past with every loss at the weights that it is of, as far as they are known."""
        if not self.by_weights:
            return past
        branches = tuple(replace(branch, curve=branch.curve.of_weights(), why=self.plain(branch.why))
                         for branch in past.branches)  # fmt: skip
        curve, undo, redo = past.curve.of_weights(past.newest, self._last), self.plain(past.undo), self.plain(past.redo)
        return replace(past, curve=curve, branches=branches, undo=undo, redo=redo)

    def _sketch(self, plan: _Plan, box: Box, over: str) -> Sketch:
        sketch, theme, scale = Sketch(), self.theme, plan.scale
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
        cursor, newest = scale.x_of(self._step), scale.x_of(plan.past.newest)
        if plan.losses is not None:
            draw_losses(sketch, plan.losses, theme, cursor)
            self._last_loss(sketch, plan.losses, plan.past)
        self._rails(sketch, plan)
        sketch.lines([(scale.left, plan.rail)], [(newest, plan.rail)], theme.flow, 4.0, round_ends=True)
        sketch.lines([(scale.left, plan.rail)], [(cursor, plan.rail)], theme.text1, 4.0, round_ends=True)
        if newest > cursor + 1:
            sketch.disc(newest, plan.rail, _RING, theme.text3)
        for mark in plan.marks:
            x = scale.x_of(mark.step)
            colour = theme.text1 if x <= cursor + 0.5 else theme.text3
            if mark.kind == "edit":
                for radius, own in ((DIAMOND + 1.6, colour), (DIAMOND - 0.8, theme.panel)):
                    corners = ((0, -radius), (radius, 0), (0, radius), (-radius, 0))
                    sketch.polygon([(x + dx, plan.rail + dy) for dx, dy in corners], own)
            else:
                sketch.line((x, plan.rail), (x, plan.rail - 17), colour, 1.6)
                sketch.polygon([(x, plan.rail - 18), (x + 10, plan.rail - 14), (x, plan.rail - 10)], colour)
        baseline = box[1] + box[3] - (5 if plan.small else 7)
        for left, text, is_mark in labels(plan.marks, scale, self._step, plan.limits):
            sketch.text(left, baseline, text, LABEL, theme.text1 if is_mark else theme.text3)
        return sketch

    def _last_loss(self, sketch: Sketch, losses: Losses, past: Past) -> None:
        """The loss of the newest step, where the curve ends; not where a branch goes on there."""
        (left, top, wide, high), path = losses.axes.box, losses.path
        if self.samples_words or self.other is not None or not len(path) or path[-1, 0] < left + wide - 4:
            return
        text = loss_at(past.curve, past.newest).removeprefix("loss ")
        x, y = (float(part) for part in path[-1])
        sketch.text(x + 8, min(max(y + 4, top + 9), top + high), text, LABEL, self.theme.text2)

    def _rails(self, sketch: Sketch, plan: _Plan) -> None:
        theme, scale = self.theme, plan.scale
        upright = [self._step, *(mark.step for mark in plan.marks if mark.kind == "flag")]
        taken = [(scale.x_of(step) - 12, scale.x_of(step)) for step in upright]
        taken += [(scale.x_of(rail.newest), scale.x_of(rail.newest) + _RING) for rail in plan.rails]
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
            words = f"{len(rail.branches)} more" if rail.folded else f"left at {rail.newest:,}"
            begin, until = end + _RING + 1, end + 14 + measure(words, LABEL)
            free = until <= scale.right and not any(begin < last and first < until for first, last in taken)
            if free and not plan.small:
                sketch.text(end + 9, high + 4, words, LABEL, theme.text3)
                taken.append((end, until))

    def _cursor(self, plan: _Plan, top: float) -> Sketch:
        """The disc on the rail, and the step in a flag above it."""
        sketch, theme, small = Sketch(), self.theme, plan.small
        x, top, high = plan.scale.x_of(self._step), top + (2 if small else 5), 16 if small else 19
        text = f"{self._step:,}"
        wide = measure(text, LABEL, True) + 16
        left = min(max(x - wide / 2, plan.scale.left - 2), plan.limits[1] - wide)
        sketch.line((x, top + 10), (x, plan.rail), theme.text1, 1.6)
        sketch.disc(x, plan.rail, 6.0 if small else 7.5, theme.text1, stroke=theme.panel, border=1.5)
        sketch.rect(left, top, wide, high, radius=4, fill=theme.text1)
        baseline = top + high - (3 if small else 5)
        sketch.text(left + wide / 2, baseline, text, LABEL, theme.background, bold=True, anchor="middle")
        return sketch

    # ---- hands, in logical pixels

    @property
    def spots(self) -> Sequence[Spot]:
        """What answers to a pointer now."""
        return self._sketches[0].spots if self._sketches else ()

    @property
    def _hovered_spot(self) -> Spot | None:
        return spot_at(self.spots, self._pointer)

    def covers(self, at: Point) -> bool:
        """Whether a point is on the bar."""
        return spot_at(self.spots, at) is not None

    def target(self, at: Point, *, held: bool = False) -> Click | None:
        """What a point stands for: `GO` to a step, a `BRANCH`, or an action; None for nothing.

        While a button is `held` that went down on the rail, it is the step beside it.
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
        if near:  # a mark draws a touch beside it to its step
            step = min(near, key=lambda mark: abs(plan.scale.x_of(mark.step) - at[0])).step
        else:
            step = max(plan.scale.step(at[0]), plan.past.first)
        return GO, min(plan.past.nearest(step), plan.past.newest)

    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point (None: gone); returns whether the picture changes."""
        before = self._pointer
        self._pointer = at if at is not None and self.covers(at) else None
        return before != self._pointer

    def label(self, size: tuple[float, float]) -> list[Sketch]:
        """What stands beside the pointer, within a picture of `size`: step, loss, edits; a branch; a key."""
        plan, at, spot = self._plan, self._pointer, self._hovered_spot
        found = None if at is None else self.target(at)
        if plan is None or at is None or found is None or spot is None:
            return []
        name, value = found
        if name == BRANCH:
            branch = next(b for b in plan.past.branches if b.number == value)
            rail = next(r for r in plan.rails if branch in r.branches)
            more = [
                f"steps {branch.first:,} to {branch.newest:,}",
                *([f"started by {branch.why}"] if branch.why else []),
            ]
            more += [f"{len(rail.branches)} branches: click for the next"] if rail.folded else []
            return [self._tip(at, size, "another branch", "click: go there", more)]
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

    def _tip(self, at: Point, size: tuple[float, float], name: str, value: str, more: list[str]) -> Sketch:
        """Above the bar, of which nothing is to be hidden, no further right than it, and above a legend there."""
        box = self.box or (0.0, 0.0, *size)
        room = min(box[0] + box[2] + 4, size[0]), size[1]
        return tip(at, room, name, value, more, self.theme, (box, *self._clear))


def loss_at(curve: Curve, step: int) -> str:
    """``loss 0.0123`` of a step of a curve; empty where there is none."""
    place = int(np.searchsorted(curve.step, step))
    there = place < len(curve.step) and curve.step[place] == step
    return f"loss {loss_text(float(curve.loss[place]))}" if there else ""


def _planned(past: Past, box: Box, ahead: Forecast | None, other: Curve | None, plain: Callable[[str], str]) -> _Plan:
    x, y, wide, high = box
    small = high <= RAIL
    block = 0.0 if wide < (480 if small else 560) else BLOCK + 8
    found = rails(past, 1 if small or high < _HIGH_ENOUGH else ROWS)
    first = min([past.first, *(rail.leaves for rail in found)])
    last = max([past.newest, first + 1, *(rail.newest for rail in found), *([] if ahead is None else [ahead.last])])
    left, right = x + _PAD + block + (8 if small else 46), x + wide - (_PAD + 12 if small else 62)
    scale = StepScale(first, last, left, right)
    rail, losses = y + (25.0 if small else high - 26.0), None
    if not small:
        bottom = rail - (8 + ROW * found[-1].row if found else 11)
        losses = losses_of((left, y + 10, right - left, bottom - y - 10), scale, past.curve, found, ahead, other)
    top = y + (10 if small else 14)
    buttons = _buttons(x + _PAD, top, past, chip=not small) if block else []
    limits = left - 6, right + (8 if small else 46)
    return _Plan(past, scale, rail, found, marks_of(past, plain), buttons, losses, limits, small)


def _buttons(x: float, y: float, past: Past, *, chip: bool) -> list[tuple[str, Box, str]]:
    """Five buttons, and where there is something to undo or redo a chip below them that says what."""
    wide = (BLOCK - 4 * _GAP) / 5
    found = [(name, (x + k * (wide + _GAP), y, wide, _HIGH), "") for k, name in enumerate(_ACTIONS)]
    action, words = ("undo", past.undo) if past.undo else ("redo", past.redo)
    if words and chip:
        found.append((action, (x, y + _HIGH + 8, BLOCK, _HIGH), words))
    return found


def _chip(sketch: Sketch, action: str, box: Box, words: str, theme: Theme) -> None:
    """A bent arrow, the action, and what it undoes."""
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


# ---- What stands on and below the rail: edits with their words, named moments, ticks. Where two collide one is hidden.


def marks_of(past: Past, plain: Callable[[str], str] = str) -> tuple[Mark, ...]:
    """Edits and flags by step, those of one step as one."""
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
    """Left end, text and whether it is a mark's, of those that have room between two `limits`.

    Marks come before ticks, the nearest to the cursor first.
    """
    near = sorted(marks, key=lambda mark: abs(scale.x_of(mark.step) - scale.x_of(cursor)))
    named = [mark for mark in near if mark.kind == "flag" or mark in near[:NAMED]]
    texts = [(scale.x_of(mark.step), mark.short, True) for mark in named]
    ticks = scale.ticks()
    texts += [(scale.x_of(step), f"{step:,}", False) for step in (ticks[0], ticks[-1], *ticks[1:-1])]
    lefts = spaced(((x, measure(text, LABEL)) for x, text, _ in texts), limits, _AIR)
    return [(left, text, mark) for left, (_, text, mark) in zip(lefts, texts, strict=True) if left is not None]


# ---- Where a step stands.

LONG = 20_000
"""Steps from which on the bar is logarithmic: the first hundred would be one pixel."""
_HIGH_ENOUGH = 110.0
"""Of a bar that has room for more than one rail beside the straight one, and for the curve."""
ROWS = 2
"""Rails beside the straight one; older ones fold into the last."""
_KNEE = 10.0  # steps of a logarithmic bar that are as wide as each other
_PITCH = 90.0  # logical pixels between two steps that are written
_COLUMN = 2.0  # logical pixels of the area below a curve that are one rectangle


@dataclass(frozen=True, slots=True)
class StepScale:
    """Steps from `first` to `last` between two places (logical pixels), counted from the first where logarithmic."""

    first: int
    last: int
    left: float
    right: float

    @property
    def log(self) -> bool:
        """Whether it is logarithmic."""
        return self.last - self.first >= LONG

    def place(self, steps: ArrayLike) -> Array:
        """Logical pixels of steps; beyond the ends at them."""
        span = float(self.last - self.first)
        done = np.clip(np.asarray(steps, float) - self.first, 0.0, span)
        part = np.log1p(done / _KNEE) / math.log1p(span / _KNEE) if self.log else done / span
        x = self.left + part * (self.right - self.left)
        return np.asarray(np.clip(x, self.left, self.right))  # rounding leads beyond the ends

    def x_of(self, step: int) -> float:
        """Logical pixels of one step."""
        return float(self.place(step))

    def step(self, x: float) -> int:
        """The step nearest to a place."""
        return int(self.steps(x))

    def steps(self, x: ArrayLike) -> NDArray[np.int64]:
        """The steps nearest to places."""
        part = np.clip((np.asarray(x, float) - self.left) / (self.right - self.left), 0.0, 1.0)
        span = float(self.last - self.first)
        done = _KNEE * np.expm1(part * math.log1p(span / _KNEE)) if self.log else part * span
        return self.first + np.minimum(np.rint(done).astype(np.int64), self.last - self.first)

    def ticks(self) -> list[int]:
        """Steps that are written below the rail: the ends, and round ones between."""
        if self.log:
            inner = [self.first + 10**power for power in range(1, 19) if 10**power < self.last - self.first]
        else:
            least = max((self.last - self.first) * _PITCH / max(self.right - self.left, 1.0), 1.0)
            size = 10 ** math.floor(math.log10(least))
            every = next(size * k for k in (1, 2, 5, 10) if size * k >= least)
            inner = list(range((self.first // every + 1) * every, self.last, every))
        return [self.first, *inner, self.last]


# ---- `Rail`: a line of steps that was left. The one of now is always the straight one.


@dataclass(frozen=True, slots=True)
class Rail:
    """One row above the straight rail."""

    row: int  # 1 is next to the straight one
    source: int  # the row that it leaves: 0 is the straight one
    leaves: int  # the step at which it begins
    newest: int
    branches: tuple[Branch, ...]  # what it stands for: one, or all that are folded

    @property
    def folded(self) -> bool:
        """Whether it stands for several."""
        return len(self.branches) > 1


def rails(past: Past, rows: int = ROWS) -> tuple[Rail, ...]:
    """What was left, the latest first and next to the straight rail; if there are too few `rows`, the oldest fold."""
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
    """The branch of now and those that it came from, by number: the step up to which each is the straight rail."""
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
    """When it was left: what took its place was begun then. Of what nothing took the place of, when it was begun."""
    child = next((b for b in branches if b.parent == branch.number and b.number in straight), None)
    return branch.number if branch.number not in straight or child is None else child.number - 0.5


def next_of(rail: Rail, now: int) -> int:
    """Which branch a click on a rail means: of several each in turn, the next after the one of `now`."""
    numbers = sorted(branch.number for branch in rail.branches)
    return next((number for number in numbers if number > now), numbers[0])


# ---- The losses: bright as far as the cursor, dim after it, dashed where a branch was left.


class Losses(NamedTuple):
    """The curves at one size, before they are coloured: of the straight rail, and of the branches that are shown."""

    axes: Axes  # logical pixels across
    path: Array
    left: tuple[Array, ...]


def losses_of(
    plot: Box, scale: StepScale, curve: Curve, rails: Sequence[Rail], ahead: Forecast | None, other: Curve | None
) -> Losses | None:
    """The curves of the straight rail and of the branches that stand alone on theirs; None where there is no loss yet.

    There is room for those `ahead`, the steps to come. An `other` curve is drawn as those of branches are.
    """
    own = reduced(curve, scale)
    others = [reduced(_own_steps(rail), scale) for rail in rails if not rail.folded]
    others += [] if other is None else [reduced(other, scale)]
    every = np.concatenate([own[1], *(losses for _, losses in others)])
    if not every.size:
        return None
    up = tight(every if ahead is None else np.append(every, (ahead.low, ahead.high)))
    axes = Axes(plot, Scale(plot[0], plot[0] + plot[2]), up)
    left = tuple(axes.points(*one, within=True) for one in others if len(one[0]))
    return Losses(axes, axes.points(*own, within=True), left)


def reduced(curve: Curve, scale: StepScale) -> tuple[Array, Array]:
    """Places and mean losses (N,), one for each pixel at most; the first is that step's own."""
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


def _own_steps(rail: Rail) -> Curve:
    """The steps of a rail after those that it shares with the straight one."""
    curve = rail.branches[0].curve
    own = np.searchsorted(curve.step, rail.leaves, side="right")
    return Curve(curve.step[own:], curve.loss[own:], curve.lr[own:])


def draw_losses(sketch: Sketch, losses: Losses, theme: Theme, cursor: float) -> None:
    """Everything in the plot; `cursor` is its place in pixels."""
    axes, path, _ = losses
    x, y, _, height = axes.box
    bottom = y + height
    if not len(path):
        return
    free = bottom + LABEL
    for value in axes.up.ticks:  # from the lowest up, those that have room
        _, height = axes.point(x, value)
        if height <= free - LABEL - 2:
            sketch.text(x - 8, min(height + 4, bottom), tick_text(value), LABEL, theme.text3, anchor="right")
            free = height
    columns = np.arange(np.floor(path[0, 0]), np.ceil(path[-1, 0]), _COLUMN)
    tops = np.interp(columns + _COLUMN / 2, path[:, 0], path[:, 1])
    for part, share in ((columns >= cursor, 0.11), (columns < cursor, 0.30)):
        at, top = columns[part] + _COLUMN / 2, tops[part]
        sketch.lines(np.stack([at, top], 1), np.stack([at, np.full_like(at, bottom)], 1),
                     mixed(theme.text3, theme.panel, share), _COLUMN)  # fmt: skip
    for dashed in losses.left:
        sketch.polyline(dashed, theme.text3, 1.6, dash=(6, 4))
    before, after = _cut_at(path, cursor)
    sketch.polyline(after, theme.text3, 1.4)
    sketch.polyline(before, theme.text1, 2.0)


def _cut_at(path: Array, x: float) -> tuple[Array, Array]:
    """A path (N, 2) that goes to the right, as far as `x` and from there; both hold the point between."""
    if x <= path[0, 0]:
        return path[:0], path
    if x >= path[-1, 0]:
        return path, path[:0]
    place = int(np.searchsorted(path[:, 0], x))
    here = np.array([[x, float(np.interp(x, path[:, 0], path[:, 1]))]])
    return np.concatenate([path[:place], here]), np.concatenate([here, path[place:]])
