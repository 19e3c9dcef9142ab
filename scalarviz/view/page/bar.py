"""The time bar of a page: the window's own, as lists that the browser stretches, clips and moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...run.core.frame import Frame, Past
from ...run.core.history import Curve
from ..ink.listed import Listed, Record, changes, short
from ..ink.sketch import Sketch
from ..ink.theme import DARK
from ..screen.time_bar import BRANCH, KNEE, NARROW, TimeBar
from ..shown.subject import Subject

SIZES = ((300, 48), (300, 66), (300, 92), (660, 92), (1000, 92))
"""Sizes for which a page has lists: the browser stretches the largest that fits."""
_BESIDE = 8.0  # pixels beside a narrow bar that the page's own edge already has


def bars_of(
    subject: Subject, frame: Frame, steps: Sequence[int], past: Past | None = None, *, other: Curve | None = None
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the bar of a subject at its newest `frame`, for a page with these `steps`.

    `past` replaces that of the frame. An `other` curve is drawn like a branch. Without a second step there is no bar.
    """
    bar, own = TimeBar(DARK), past or frame.past
    bar.follow(subject, frame)
    bar.buttons, bar.off, bar.other = False, 0.05, other
    if own is None or own.newest <= steps[0]:
        return []
    own = replace(own, first=steps[0], curve=own.curve.after(steps[0] - (not bar.by_weights)))
    return [_bar(bar, replace(frame, past=own), steps, *size) for size in SIZES]


def _bar(bar: TimeBar, frame: Frame, steps: Sequence[int], wide: int, high: int) -> dict[str, Any]:
    """Return the places between which the bar stretches, its spots, and its layers: steps, and the list from each."""
    aside = _BESIDE if wide < NARROW else 0.0
    bar.place((-aside, 0.0, wide + 2 * aside, high))
    bar.update(frame)
    plan, listed, seen = bar.plan, Listed(DARK, bound=True), None
    layers: dict[str, tuple[str, list[int], list[Any]]] = {}
    last: dict[str, tuple[Sketch, list[Record] | None]] = {}
    for step in steps:
        if seen == (seen := (round(plan.scale.x_of(step)), len(f"{step:,}"))):  # many steps of one pixel look alike
            continue
        for name, sketch in bar.parts(step).items():
            drawn, before = last.get(name, (None, None))
            if drawn is not sketch:
                records = [*map(listed.shape, sketch.shapes), *map(listed.text, sketch.texts)]
                last[name] = sketch, records
                if records != before:
                    _, since, lists = layers.setdefault(name, (name, [], []))
                    since.append(step)
                    lists.append(changes(before, records))
    scale, (top, room) = plan.scale, (plan.rail, 0.0) if plan.losses is None else plan.losses.axes.box[1::2]
    up = None if plan.losses is None else plan.losses.axes.up
    return {
        "size": [wide, high], "scale": [scale.first, scale.last, scale.left, scale.right, KNEE * scale.log],
        "plot": short((top, top + room)), "flag": plan.flag_limits, "layers": [*layers.values()],
        "losses": None if up is None else [up.low, up.high, int(up.log)], "rail": [*short((plan.rail, plan.baseline))],
        "ending": bar.loss == bar.loss,
        "spots": [[*short(spot.box), spot.value, "\n".join(["another branch", *bar.branch_words(int(spot.value))])]
                  for spot in bar.spots if spot.name == BRANCH],
    }  # fmt: skip
