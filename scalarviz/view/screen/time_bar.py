"""`TimeBar`: the bar as it is drawn and asked. What a touch of it means is a `Target`; it does nothing by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...run.core.frame import Curve, Frame, Past
from ..ink.axes import spaced
from ..ink.overlay import beside_pointer, pointer_label
from ..ink.places import LABEL, RAIL
from ..ink.sketch import Box, Sketch, holds, meet
from ..ink.text import loss_text, measure
from ..ink.theme import Theme
from ..ink.widgets import button, draw_sign
from ..panels.drawer import cut
from ..shown.ahead import Ahead
from .time_curve import TICK, Losses, Rail, StepScale, Target, draw_losses, losses_of, next_of, rails

Point = tuple[float, float]
Told = Callable[[str], tuple[str, str]]
"""The key of an action and what it does."""

_PAD = 12.0
_ROW, _CLOSE = 11.0, 8.0
"""From one rail to the next, with a curve above them and without."""
_RING = 4.5
_REACH = 6.0
"""How near to a mark or a ring a point is on it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What there is on the bar, and where, for one past at one place."""

    past: Past
    scale: StepScale
    rail: float
    rails: tuple[Rail, ...]
    marks: tuple[Mark, ...]
    buttons: list[Button]
    losses: Losses | None
    limits: tuple[float, float]

    @property
    def pitch(self) -> float:
        """From one rail to the next."""
        return _CLOSE if self.losses is None else _ROW


class TimeBar:
    """One bar. `place` says where, `update` what it shows.

    Attributes
    ----------
    theme : Theme
        May be set.
    running : bool
        Whether time goes on by itself: the button in the middle is a pause then.
    ahead : Ahead or None
        The steps to come: there is room for them, so that nothing moves while the run fills it.
    other : Curve or None
        The losses of something else that goes the same steps, dashed.
    names : (str, str)
        What the two are called then.
    step_loss : str
        Which loss a step has (``"before it"``), where elsewhere that of all samples after it is told: the number at the
        end of the curve is left out then, and the pointer says which it is. Empty: the one that is told elsewhere.
    """

    def __init__(self, theme: Theme, told: Told = lambda action: ("", action)) -> None:
        self.theme, self.running, self.told = theme, False, told
        self.ahead: Ahead | None = None
        self.other: Curve | None = None
        self.names = ("", "")
        self.step_loss = ""
        self.box: Box | None = None
        self._clear: tuple[Box, ...] = ()
        self._plan: _Plan | None = None
        self._known: tuple[object, ...] = ()
        self._drawn: tuple[tuple[object, ...], list[Sketch]] | None = None
        self._step = 0
        self._pointer: Point | None = None

    def place(self, box: Box | None, clear: Sequence[Box] = ()) -> None:
        """Where it stands from now on; None: nowhere. What stands beside the pointer is kept off the boxes `clear`."""
        self.box, self._plan, self._drawn = box, None, None
        self._clear = tuple(clear)

    # ---- what it looks like

    def update(self, frame: Frame, *, writes: bool = True) -> list[Sketch]:
        """The bar for a frame; without `writes` what grows while time goes on may stay as it was a moment ago."""
        past = frame.past
        if self.box is None or past is None or not _worth(past):
            self._plan = self._drawn = None
            return []
        if self._drawn is not None and self.running and not writes:
            return self._drawn[1]
        known = (*_known(past), self.ahead, id(self.other))
        if self._plan is None or known != self._known:
            self._plan = _planned(past, self.box, self.ahead, self.other)
            self._known, self._drawn = known, None
        self._step = frame.step
        over = self._over_action()
        now = (frame.step, self.running, over, self.theme.name, self.step_loss)
        if self._drawn is None or self._drawn[0] != now:
            self._drawn = now, [self._sketch(self._plan, self.box, frame.step, over), self._cursor(self._plan)]
        return self._drawn[1]

    def _sketch(self, plan: _Plan, box: Box, step: int, over: str) -> Sketch:
        sketch, theme, scale = Sketch(), self.theme, plan.scale
        sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
        draw_buttons(sketch, plan.buttons, theme, running=self.running, over=over)
        cursor, newest = scale.at(step), scale.at(plan.past.newest)
        if plan.losses is not None:
            draw_losses(sketch, plan.losses, theme, cursor)
            self._last_loss(sketch, plan.losses, plan.past)
        self._rails(sketch, plan)
        sketch.lines([(scale.left, plan.rail)], [(newest, plan.rail)], theme.flow, 4.0, round_ends=True)
        sketch.lines([(scale.left, plan.rail)], [(cursor, plan.rail)], theme.text1, 4.0, round_ends=True)
        if newest > cursor + 1:
            sketch.disc(newest, plan.rail, _RING, theme.text3)
        draw_marks(sketch, plan.marks, scale, plan.rail, theme, cursor)
        baseline = box[1] + box[3] - (5 if plan.losses is None else 7)
        draw_labels(sketch, labels(plan.marks, scale, step, plan.limits), baseline, theme)
        return sketch

    def _last_loss(self, sketch: Sketch, losses: Losses, past: Past) -> None:
        """The loss of the newest step, where the curve ends."""
        if (
            self.step_loss
            or self.other is not None
            or losses.scale is None
            or not len(losses.path)
            or losses.path[-1, 0] < losses.plot[0] + losses.plot[2] - 4
        ):
            return  # a branch goes on there
        text = loss_text(float(past.curve.loss[-1])) if len(past.curve.loss) else ""
        x, y = (float(part) for part in losses.path[-1])
        low, high = losses.plot[1] + 9, losses.plot[1] + losses.plot[3]
        sketch.text(x + 8, min(max(y + 4, low), high), text, TICK, self.theme.text2)

    def _rails(self, sketch: Sketch, plan: _Plan) -> None:
        theme, scale = self.theme, plan.scale
        upright = [scale.at(self._step), *(scale.at(mark.step) for mark in plan.marks if mark.kind == "flag")]
        for rail in plan.rails:
            start, end = scale.at(rail.leaves), scale.at(rail.newest)
            low, high = plan.rail - plan.pitch * rail.source, plan.rail - plan.pitch * rail.row
            turn = np.linspace(0.0, 1.0, 9)
            bend = min(12.0, max(end - start, 4.0))
            rise = np.stack([start + bend * turn, low + (high - low) * (3 - 2 * turn) * turn**2], axis=1)
            sketch.polyline([*rise.tolist(), (max(end, start + bend), high)], theme.flow, 2.0)
            end = max(end, start + bend)
            sketch.disc(end, high, _RING, theme.panel, stroke=theme.text3, border=1.8)
            ways = [f"{len(rail.branches)} more"] if rail.folded else _left_words(rail, self.step_loss)
            for words in ways if plan.losses is not None else ():
                until = end + 14 + measure(words, TICK)
                if until <= scale.right and not any(end < x + 12 and x < until for x in upright):
                    sketch.text(end + 9, high + 4, words, TICK, theme.text3)
                    break

    def _cursor(self, plan: _Plan) -> Sketch:
        """The disc on the rail, and the step in a flag above it."""
        sketch, theme = Sketch(), self.theme
        assert self.box is not None
        small = plan.losses is None
        x, top, high = plan.scale.at(self._step), self.box[1] + (2 if small else 5), 16 if small else 19
        text = f"{self._step:,}"
        wide = measure(text, LABEL, True) + 16
        left = min(max(x - wide / 2, plan.scale.left - 2), plan.limits[1] - wide)
        sketch.line((x, top + 10), (x, plan.rail), theme.text1, 1.6)
        sketch.disc(x, plan.rail, 6.0 if small else 7.5, theme.text1, stroke=theme.panel, border=1.5)
        sketch.rect(left, top, wide, high, radius=4, fill=theme.text1)
        sketch.text(
            left + wide / 2, top + high - (3 if small else 5), text, LABEL, theme.background, bold=True, anchor="middle"
        )
        return sketch

    # ---- hands, in logical pixels

    def covers(self, at: Point) -> bool:
        """Whether a point is on the bar."""
        return self._plan is not None and holds(self.box, at)

    def target(self, at: Point, *, held: bool = False) -> Target | None:
        """What a point stands for; while a button is `held` that went down on the rail, the step beside it."""
        plan = self._plan
        if plan is None or not (held or self.covers(at)):
            return None
        if not held:
            for button in plan.buttons:
                if holds(button.box, at):
                    return Target("action", action=button.action)
            if (rail := self._ring(plan, at)) is not None:
                return Target("branch", branch=next_of(rail, self._now(plan)))
            if at[0] < plan.limits[0] - _REACH:
                return None
        return Target("step", step=min(self._nearest(plan, at[0]), plan.past.newest))

    def _nearest(self, plan: _Plan, x: float) -> int:
        """The step at a place; a mark near it draws it there."""
        near = [mark for mark in plan.marks if abs(plan.scale.at(mark.step) - x) <= DIAMOND]
        if near:
            return plan.past.nearest(min(near, key=lambda mark: abs(plan.scale.at(mark.step) - x)).step)
        return plan.past.nearest(max(plan.scale.step(x), plan.past.first))

    def _now(self, plan: _Plan) -> int:
        return next((branch.number for branch in plan.past.branches if branch.current), 0)

    def _ring(self, plan: _Plan, at: Point) -> Rail | None:
        for rail in plan.rails:
            x, y = plan.scale.at(rail.newest), plan.rail - plan.pitch * rail.row
            if abs(at[0] - x) <= _REACH + 3 and abs(at[1] - y) <= _REACH:
                return rail
        return None

    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point (None: gone); returns whether the picture changes."""
        before = self._pointer
        self._pointer = at if at is not None and self.covers(at) else None
        return before != self._pointer

    def _over_action(self) -> str:
        found = None if self._pointer is None else self.target(self._pointer)
        return found.action if found is not None else ""

    def label(self, size: tuple[float, float]) -> list[Sketch]:
        """What stands beside the pointer, within a picture of `size`: step, loss, edits; a branch; a key."""
        plan, at = self._plan, self._pointer
        found = None if at is None else self.target(at)
        if plan is None or at is None or found is None:
            return []
        if found.kind == "action":
            button = next(b for b in plan.buttons if b.action == found.action)
            key, does = self.told(found.action)
            return [self._said(at, size, key, does, [button.words] if button.words else [])]
        if found.kind == "branch":
            branch = next(b for b in plan.past.branches if b.number == found.branch)
            rail = next(r for r in plan.rails if branch in r.branches)
            more = [f"steps {branch.first:,} to {branch.newest:,}", *([f"begun by {branch.why}"] if branch.why else [])]
            more += [f"{len(rail.branches)} branches: a click goes to the next"] if rail.folded else []
            return [self._said(at, size, "another branch", "click to go there", more)]
        line = Sketch()
        x, (_, top, _, _) = plan.scale.at(found.step), self.box or (0.0, 0.0, 0.0, 0.0)
        line.line((x, top + 26), (x, plan.rail), self.theme.text2, 1.0)  # from below the flag
        words = [text for mark in plan.marks if mark.step == found.step for text in mark.words]
        loss = loss_at(plan.past.curve, found.step)
        loss += f", {self.step_loss}" if loss and self.step_loss else ""
        if self.other is not None:
            both = zip(self.names, (plan.past.curve, self.other), strict=True)
            loss = "  ".join(f"{name}: {said}" for name, curve in both if (said := loss_at(curve, found.step)))
        return [line, self._said(at, size, f"step {found.step:,}", loss, words[-6:])]

    def _said(self, at: Point, size: tuple[float, float], name: str, value: str, more: list[str]) -> Sketch:
        """Above the bar, of which nothing is to be hidden, no further right than it; below it where a legend is above.

        Where neither has room it stands above the legend.
        """
        left, top, wide, high = self.box or (0.0, 0.0, *size)
        room = min(left + wide + 4, size[0]), size[1]
        own = beside_pointer((at[0], 0.0), room, name, value, more)
        above, below = top - 6 - own[3], top + high + 4
        covered = [box[1] for box in self._clear if meet(box, _moved(own, above))]
        tops = [above, *([below] if below + own[3] <= size[1] - 4 else []), min(covered, default=top) - 6 - own[3]]
        free = (y for y in tops if not any(meet(box, _moved(own, y)) for box in self._clear))
        return pointer_label((at[0], next(free, above) - 18), room, name, value, more, self.theme)


def _moved(box: Box, top: float) -> Box:
    return box[0], top, box[2], box[3]


def loss_at(curve: Curve, step: int) -> str:
    """``loss 0.0123`` of a step of a curve; empty where there is none."""
    place = int(np.searchsorted(curve.step, step))
    if place < len(curve.step) and curve.step[place] == step:
        return f"loss {loss_text(float(curve.loss[place]))}"
    return ""


def _left_words(rail: Rail, which: str) -> list[str]:
    """Longest first; what is left out is the loss, with the words that say which it is."""
    losses = rail.branches[0].curve.loss
    said = f"left at {rail.newest:,}"
    longest = [", ".join(filter(None, [said, f"loss {loss_text(float(losses[-1]))}", which]))] if len(losses) else []
    return [*longest, said]


def _worth(past: Past) -> bool:
    """Whether there is a past to be shown."""
    return past.newest > past.first or len(past.branches) > 1


def _known(past: Past) -> tuple[object, ...]:
    """What tells one past from another."""
    branches = tuple((b.number, b.newest, b.current) for b in past.branches)
    last = past.edits[-1].what if past.edits else ""
    return past.first, past.newest, len(past.edits), last, branches, past.flags, past.undo, past.redo


def _planned(past: Past, box: Box, ahead: Ahead | None, other: Curve | None) -> _Plan:
    x, y, wide, high = box
    small = high <= RAIL
    block = 0.0 if wide < (480 if small else 560) else WIDE + 8
    found = rails(past, 1) if small else rails(past)
    first = min([past.first, *(rail.leaves for rail in found)])
    last = max([past.newest, first + 1, *(rail.newest for rail in found), *([] if ahead is None else [ahead.last])])
    left, right = x + _PAD + block + (8 if small else 46), x + wide - (_PAD + 12 if small else 62)
    scale = StepScale(first, last, left, right)
    rail = y + (25.0 if small else high - 26.0)
    losses = None
    if not small:
        bottom = rail - 11 - _ROW * max((r.row for r in found), default=0)
        plot = left, y + 10, right - left, bottom - y - 10
        losses = losses_of(plot, scale, past.curve, found, ahead, other)
    place = (x + _PAD, y + (10 if small else 14), WIDE, high - 20)
    buttons = buttons_in(place, past) if block else []
    return _Plan(past, scale, rail, found, marks_of(past), buttons, losses, (left - 6, right + (8 if small else 46)))


# ---- What stands on and below the rail: edits with their words, named moments, ticks. Where two collide one is hidden.

NAMED = 6
"""Edits that have their words beside them at most: those nearest to the cursor."""
_WIDEST = 170.0
_AIR = 10.0
DIAMOND = 6.0


@dataclass(frozen=True, slots=True)
class Mark:
    """What was done, or what a moment is called, at one place.

    Attributes
    ----------
    kind : {"edit", "flag"}
    step : int
    words : tuple of str
        Of each edit after that step.
    """

    kind: Literal["edit", "flag"]
    step: int
    words: tuple[str, ...]

    @property
    def short(self) -> str:
        """What is written below it."""
        more = len(self.words) - 1
        return cut(self.words[-1], _WIDEST) + (f", {more} more" if more else "")


Label = tuple[float, str, bool]
"""One text of the row below the rail: its left end, and whether it is that of a mark."""


def marks_of(past: Past) -> tuple[Mark, ...]:
    """Edits, those after one step as one, and flags, by step."""
    edits: dict[int, list[str]] = {}
    for edit in past.edits:
        edits.setdefault(edit.step, []).append(edit.what)
    flags: dict[int, list[str]] = {}
    for flag in past.flags:
        flags.setdefault(flag.step, []).append(flag.name)
    found = [Mark("edit", step, tuple(words)) for step, words in edits.items()]
    found += [Mark("flag", step, tuple(words)) for step, words in flags.items()]
    return tuple(sorted(found, key=lambda mark: mark.step))


def labels(marks: Sequence[Mark], scale: StepScale, cursor: int, limits: tuple[float, float]) -> list[Label]:
    """Those that have room between two `limits`: marks before ticks, the nearest to the cursor first."""
    near = sorted(marks, key=lambda mark: abs(scale.at(mark.step) - scale.at(cursor)))
    named = [mark for mark in near if mark.kind == "flag" or mark in near[:NAMED]]
    texts = [(scale.at(mark.step), mark.short, True) for mark in named]
    ticks = scale.ticks()
    texts += [(scale.at(step), f"{step:,}", False) for step in (ticks[0], ticks[-1], *ticks[1:-1])]
    lefts = spaced(((x, measure(text, LABEL)) for x, text, _ in texts), limits, _AIR)
    return [(left, text, mark) for left, (_, text, mark) in zip(lefts, texts, strict=True) if left is not None]


def draw_marks(sketch: Sketch, marks: Sequence[Mark], scale: StepScale, rail: float, theme: Theme, past: float) -> None:
    """Diamonds on the rail and pennants above it; those left of `past` (pixels) are bright."""
    for mark in marks:
        x = scale.at(mark.step)
        colour = theme.text1 if x <= past + 0.5 else theme.text3
        if mark.kind == "edit":
            _diamond(sketch, x, rail, DIAMOND + 1.6, colour)
            _diamond(sketch, x, rail, DIAMOND - 0.8, theme.panel)
        else:
            sketch.line((x, rail), (x, rail - 17), colour, 1.6)
            sketch.polygon([(x, rail - 18), (x + 10, rail - 14), (x, rail - 10)], colour)


def _diamond(sketch: Sketch, x: float, y: float, radius: float, colour: object) -> None:
    sketch.polygon([(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)], colour)  # type: ignore[arg-type]


def draw_labels(sketch: Sketch, found: Sequence[Label], baseline: float, theme: Theme) -> None:
    """The row below the rail."""
    for left, text, mark in found:
        sketch.text(left, baseline, text, LABEL, theme.text1 if mark else theme.text3)


# ---- What stands beside the bar: five buttons, and a chip that says what undo would undo.

WIDE = 184.0
"""Of the block."""
_GAP, _HIGH = 6.0, 28.0
_NAMES = ("first", "back", "toggle_run", "step", "newest")


@dataclass(frozen=True, slots=True)
class Button:
    """One of them.

    Attributes
    ----------
    action : str
        Its name in the table of actions.
    box : Box
    words : str
        What stands on the chip; empty for a sign.
    """

    action: str
    box: Box
    words: str = ""


def buttons_in(box: Box, past: Past) -> list[Button]:
    """The buttons of a block, top left in `box`; the chip below them where there is room and something to undo."""
    x, y, _, height = box
    wide = (WIDE - 4 * _GAP) / 5
    found = [Button(name, (x + k * (wide + _GAP), y, wide, _HIGH)) for k, name in enumerate(_NAMES)]
    action, words = ("undo", past.undo) if past.undo else ("redo", past.redo)
    if words and height >= 2 * _HIGH + _GAP:
        found.append(Button(action, (x, y + _HIGH + 8, WIDE, _HIGH), words))
    return found


def draw_buttons(sketch: Sketch, buttons: list[Button], theme: Theme, *, running: bool, over: str) -> None:
    """All of them; the one under the pointer is brighter."""
    for one in buttons:
        lit = one.action == over
        button(sketch, one.box, theme, lit=lit)
        if one.words:
            _chip(sketch, one, theme)
        else:
            draw_sign(sketch, one.action, one.box, theme.text1 if lit else theme.text2, running=running)


def _chip(sketch: Sketch, one: Button, theme: Theme) -> None:
    x, y, wide, high = one.box
    way, middle = (1.0 if one.action == "undo" else -1.0), y + high / 2
    centre = x + 17
    turn = np.linspace(-np.pi / 2, np.pi / 2, 9)
    bow = np.stack([centre + way * (1 + 5 * np.cos(turn)), middle + 0.5 + 4.5 * np.sin(turn)], 1)
    sketch.polyline([(centre - 4 * way, bow[0, 1]), *bow.tolist(), (centre - 3 * way, bow[-1, 1])], theme.text1, 1.8)
    tip = centre - 8 * way, float(bow[0, 1])
    sketch.polygon([tip, (tip[0] + 6 * way, tip[1] - 4), (tip[0] + 6 * way, tip[1] + 4)], theme.text1)
    name = 30 + measure(one.action, LABEL, True)
    if name + 10 + measure(one.words, LABEL) <= wide - 9:  # else the arrow alone says which way
        sketch.text(x + 30, middle + 5, one.action, LABEL, theme.text1, bold=True)
    sketch.text(x + wide - 9, middle + 5, cut(one.words, wide - 39), LABEL, theme.text2, anchor="right")
