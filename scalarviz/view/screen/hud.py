"""The head-up display: two lines at the top left, the shown quantity at the right, the keys at the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ...mistakes import HARMLESS
from ...run.core.frame import Frame
from ...run.core.optimizer import loss_scale_state
from ...run.core.tensors import Tensor
from ...scalar import mistaken
from ..cubes.scale import Quantity
from ..ink.boxes import BIG, CHANNEL, LABEL, MARGIN, TITLE, TWO_LINES, Places
from ..ink.sketch import RATE, RUN_LOSS, STEP, Bound, Box, Sketch
from ..ink.text import loss_text, measure, rate_text
from ..ink.theme import Theme
from ..panels.drawer import Headline, cut, loss_words, newest_beyond, quantity_words
from ..shown.subject import Subject


@dataclass(frozen=True, slots=True)
class HudState:
    """The contents of the two lines: plain numbers, which the HUD formats."""

    step: int
    loss: float  # loss at this step; NaN before the first
    lr: float  # learning rate of the next step; NaN if unknown
    optimiser: str  # class name; empty for a hand-written loop
    batch: int  # 0 for a hand-written loop
    pace: str  # the second line
    quantity: str  # the quantity of the cubes
    about: str = ""  # samples and moment of the cubes' numbers
    of: str = ""  # samples of the loss; or its moment, if not the one shown (dimmed)
    more: Sequence[Headline] = ()  # numbers of panels, dim if of an older frame
    newest: int = 0  # the newest step, if it is not the one shown
    purpose: str = ""  # what the network is for; at the beginning of the second line
    inside: bool = False  # whether a step is open
    bound: bool = True  # whether the rate is that of the last step, which a page knows
    was: str = ""  # the rate of a schedule before its end
    half: str = ""  # in float16: loss scale and number of skipped steps

    @property
    def parts(self) -> list[str]:
        """The texts about training beside step and loss."""
        named = f" {self.batch:,} " in self.of or self.of.startswith("of this ")  # named beside the loss already
        rate = f"lr {rate_text(self.lr)}{self.was}" if self.lr == self.lr else ""
        found = (rate, self.optimiser, f"batch {self.batch:,}" if self.batch and not named else "", self.half)
        return [part for part in found if part]


def state_of(subject: Subject, frame: Frame, pace: str, quantity: Quantity, more: Sequence[Headline] = ()) -> HudState:
    """Return the contents of the lines for a frame of a subject that counts steps."""
    facts, of_then = subject.source.facts, frame.settings  # of the moment shown: the run may use other settings now
    optimiser, batch = "", 0
    if facts is not None:
        optimiser = facts.optimizer if of_then is None else of_then.optimizer
        batch = facts.batch_size if of_then is None else of_then.batch_size
    lr = frame.lr if frame.next_lr is None else frame.next_lr
    was = f" (was {rate_text(frame.lr)})" if lr == 0 and frame.lr > 0 else ""  # the schedule has ended
    return HudState(
        frame.step, subject.loss(frame), lr, optimiser, batch, pace, quantity.words,
        quantity_words(quantity.name, subject, frame), loss_words(subject, frame), more, newest_beyond(frame),
        bound=lr == frame.lr, was=was, half=half_words(frame, subject.source.tensors),
    )  # fmt: skip


def half_words(frame: Frame, tensors: Sequence[Tensor] = ()) -> str:
    """Return ``float16, loss scale 65,536, 3 steps skipped``; '' if the run is not in float16."""
    scale = loss_scale_state(frame.values, tensors if frame.forward is None else frame.forward.tensors)
    if scale is None:
        return ""
    skipped = f", {scale.skipped:,} step{'s' if scale.skipped > 1 else ''} skipped" if scale.skipped else ""
    return f"float16, loss scale {scale.scale:,}{skipped}"


def hud(box: Box, theme: Theme, state: HudState) -> Sketch:
    """Draw both lines inside `box` (logical pixels); what does not fit into the first moves to the second."""
    sketch = Sketch()
    x, y, width, _ = box
    baseline, right = y + 24, x + width
    fresh = not state.of.startswith("before")
    beyond = f"of {state.newest:,}" if state.newest else ""
    large = [("step", f"{state.step:,}", beyond, True), ("loss", loss_text(state.loss), state.of, fresh)]
    large += [(found.words, found.value, "", found.fresh) for found in state.more]
    end, limit = x, right
    if named := width >= 480:
        limit = sketch.text(right, baseline, state.quantity, TITLE, theme.text1, bold=True, anchor="right") - 8
    begin = limit - measure("cubes show", TITLE) - 16 if named else limit
    parts = state.parts
    rate = 26 + measure(parts[0], TITLE) if parts and not named else 0.0  # it has no second line and comes first
    needs = [measure(word, TITLE) + 8 + measure(value, BIG, True) + 26 for word, value, _, _ in large]
    gap, apart = None, None  # in an opened step, which a page shows with other numbers, each follows the last
    for number, (word, value, when, fresh) in enumerate(large, start=1):
        value_x = end + measure(word, TITLE) + 8
        if value_x + measure(value, BIG, True) > limit:
            break
        sketch.text(end, baseline, word, TITLE, theme.text3, gap=gap)
        gap, apart = (26.0, 8.0) if state.inside else (gap, apart)
        bound = {"step": (state.step, Bound(STEP, form="count")), "loss": (state.loss, Bound(RUN_LOSS, form="loss"))}
        ink = theme.text1 if fresh else theme.text3
        if number <= len(bound):
            sketch.number(value_x, baseline, *bound[word], BIG, ink, anchor="left", gap=apart)
        else:
            sketch.text(value_x, baseline, value, BIG, ink, bold=True)
        end = value_x + measure(value, BIG, True)
        # in an opened step all numbers must be there; else a word about one is more important than the next
        after = sum(needs[number:]) if state.inside else rate
        if when and end + 8 + measure(when, TITLE) + after <= begin:
            passing = Bound(None) if when is beyond else None
            ink = theme.text3 if passing else theme.text2
            end = sketch.text(end + 8, baseline, when, TITLE, ink, bound=passing, gap=apart)
        end += 26
    if named and end - 26 <= begin:
        sketch.text(limit, baseline, "cubes show", TITLE, theme.text3, anchor="right")
        limit = begin
    while parts and end + measure(parts[0], TITLE) <= limit:
        _part(sketch, end, baseline, state, parts[0], theme, gap)
        gap = 15.0 if state.inside else gap
        end += measure(parts.pop(0), TITLE) + 15
    if box[3] < TWO_LINES:
        return sketch
    room = width
    if state.about and width >= 480:
        passing = Bound(None) if "×" in state.about else None  # a factor of the moment
        room = sketch.text(right, y + 48, state.about, LABEL, theme.text2, anchor="right", bound=passing) - 16 - x
    if state.purpose and (own := measure(state.purpose, CHANNEL)) <= room:
        x, room = sketch.text(x, y + 48, state.purpose, CHANNEL, theme.text1) + 24, room - own - 24
    below = "  ·  ".join([*(parts if width >= 480 else ()), *filter(None, (state.pace,))])
    words = fitted(below, room)
    sketch.text(x, y + 48, words, LABEL, theme.text3, bound=_in_step(words, state.step) if state.inside else None)
    return sketch


def _in_step(words: str, step: int) -> Bound | None:
    """Return the number in the words ``inside step 12``, between the others."""
    before, inside, after = words.partition("inside step ")
    known = inside and after.startswith(f"{step:,}")
    return Bound(STEP, form="count", before=before + inside, after=after.removeprefix(f"{step:,}")) if known else None


def _part(
    sketch: Sketch, x: float, baseline: float, state: HudState, words: str, theme: Theme, gap: float | None
) -> None:
    """Draw one of the texts about training; a page inserts the rate of its moment."""
    bound = Bound(RATE, form="rate", before="lr ")
    if state.bound and words == bound.text(state.lr):
        sketch.number(x, baseline, state.lr, bound, TITLE, theme.text2, anchor="left", bold=False, gap=gap)
    else:
        sketch.text(x, baseline, words, TITLE, theme.text2, gap=gap)


def fitted(line: str, width: float, separator: str = "  ·  ") -> str:
    """Return `line` without the last parts that do not fit into `width`."""
    parts = line.split(separator)
    while len(parts) > 1 and measure(separator.join(parts), LABEL) > width:
        parts.pop()
    text = separator.join(parts)
    return text if measure(text, LABEL) <= width else ""


MOST_KEYS = 6
"""In the line of keys."""


def keys(x: float, baseline: float, width: float, theme: Theme, table: Sequence[tuple[str, str]]) -> Sketch:
    """Draw the line of keys: bold key, action. The last entry, which opens the full list, has priority."""
    sketch, end = Sketch(), x
    for key, action in _fitting(width, table):
        after = sketch.text(end, baseline, key, LABEL, theme.text2, bold=True) + 5
        end = sketch.text(after, baseline, action, LABEL, theme.text3) + 16
    return sketch


def _fitting(width: float, table: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the first entries that fit beside the last one, and the last one."""
    wide = [measure(key, LABEL, True) + 5 + measure(action, LABEL) for key, action in table]
    if not wide or sum(wide) + 16 * (len(wide) - 1) <= width:
        return list(table)
    ends = accumulate(own + 16 for own in wide[:-1])
    found = [one for one, end in zip(table, ends, strict=False) if end + wide[-1] <= width]
    return [*found, *(table[-1:] if wide[-1] <= width else ())]


# ---- Mistakes that are switched on (``sv.mistakes``), named in the picture.

BESIDE = 560
"""Logical pixels of width from which half of the legend's strip is free."""


def mistake_words(subject: Subject) -> str:
    """Return the text about mistakes in the numbers of a subject, or ''.

    The engines of a Run make only the mistakes of its start; a hand-written loop makes all that are on.
    """
    made = mistaken.words()
    if subject.source.facts is not None:
        made = tuple(name for name in made if name in HARMLESS)
    return _mistake_text(made)


def drawing_words(then: tuple[str, ...]) -> str:
    """Return the text for a drawn graph: mistakes that are on now, and mistakes that were on `then`."""
    now = mistaken.words()
    was = [name for name in then if name not in now]
    return "   ".join(filter(None, (_mistake_text(now), f"drawn with the mistake {', '.join(was)}" if was else "")))


def _mistake_text(made: tuple[str, ...]) -> str:
    return f"mistake on: {', '.join(made)}" if made else ""


def mistake_line(places: Places, theme: Theme, words: str) -> Sketch:
    """Draw the words about mistakes beside the legend, or below it in a small picture."""
    sketch = Sketch()
    width, height = places.size
    beside = places.strip is not None and width >= BESIDE
    size, room = (TITLE, width / 2 - 2 * MARGIN) if beside else (LABEL, width - 2 * MARGIN)
    if measure(words, size, True) > room:
        size = LABEL
    if measure(words, size, True) > room:
        words = f"{words.count(', ') + 1} mistakes on"
    y = places.strip[1] + 14 if beside and places.strip is not None else height - 8
    sketch.text(MARGIN, y, words, size, theme.text1, bold=True)
    return sketch


def trouble_line(places: Places, theme: Theme, words: Sequence[str]) -> Sketch:
    """Draw error messages over the line of keys, for pictures without a second line."""
    sketch, (_, height) = Sketch(over=True), places.size
    wide = places.scene[0] + places.scene[2] - 2 * MARGIN
    sketch.rect(MARGIN - 4, height - 22, wide + 4, 20, fill=theme.background, radius=4)
    line = cut("  ·  ".join(filter(None, words)), wide, bold=True)
    sketch.text(MARGIN, height - 8, line, LABEL, theme.text1, bold=True)
    return sketch
