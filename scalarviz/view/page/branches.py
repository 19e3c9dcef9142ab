"""Branches in a page: frames of those that the run has left, and what a time bar says while it shows one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...run.core.frame import Past
from ...run.sources.played import RecordedSource

LEFT, POINTS = 8, 300
"""Branches left aside that a time bar shows, and losses of each."""
Place = tuple[int, int]
"""A branch, and the number of a frame of its way."""


@dataclass(frozen=True, slots=True)
class Line:
    """A branch that the reader of a page may choose.

    Attributes
    ----------
    number : int
    why : str
        What made it begin; empty for the first.
    places : list of int
        Its frames, from the first step of the run on: the numbers of those that the page holds.
    until : int
        The last step that it shares with the branch that the page opens with.
    edits, named, left : list
        As of :class:`~scalarviz.view.page.page.Beside`.
    """

    number: int
    why: str
    places: list[int]
    until: int
    edits: list[tuple[int, str]] = field(default_factory=list)
    named: list[tuple[int, str]] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)


def evenly(places: list[int], most: int) -> list[int]:
    """`most` of some numbers: the first, the last, and between them evenly."""
    return [places[k] for k in np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int))]


def lines_of(source: RecordedSource, shown: list[int], most: int) -> tuple[list[Place], list[Line]]:
    """What a page needs besides the frames `shown` of the branch where `source` stands, and all branches it has then.

    Parameters
    ----------
    most : int
        How many frames of other branches there is room for, shared alike.

    Returns
    -------
    places : list of (int, int)
        Of the frames of other branches, in the order in which the page holds them, after those that are shown.
    lines : list of Line
        Of all that can be chosen, by number; empty where there is only one.
    """
    record = source.record
    own, kept = record.branch, dict[int, int]()  # rows of the page by the frame's id in the file
    wanted = record.shapes(shown[-1])
    for k in shown:
        kept[int(record.entry(k, "id"))] = len(kept)
    passed = {int(record.entry(k, "id")) for k in range(len(record))}
    others = [branch.number for branch in record.branches if branch.number != own][-LEFT:]
    share, places, lines = most // max(len(others), 1), list[Place](), list[Line]()
    for number in sorted([*others, own]):
        source.switch(number)
        branch = source.record
        ids = [int(branch.entry(k, "id")) for k in range(len(branch))]
        fitting = [k for k in range(len(branch)) if (branch.shapes(k).tensors, branch.shapes(k).stages)
                   == (wanted.tensors, wanted.stages)]  # fmt: skip
        new = [k for k in fitting if ids[k] not in passed]
        if number != own and (share < 2 or not new):
            continue
        for k in evenly(new, share) if number != own else ():
            kept[ids[k]] = len(kept)
            places.append((number, k))
        passed.update(ids)
        past, why = source.past, next(one.why for one in branch.branches if one.number == number)
        until = max((int(branch.steps[k]) for k in range(len(branch)) if kept.get(ids[k], len(shown)) < len(shown)),
                    default=-1)  # fmt: skip
        lines.append(
            Line(number, why, [kept[one] for one in ids if one in kept], until, *said_of(past), left_aside(past))
        )
    source.switch(own)
    return (places, lines) if len(lines) > 1 else ([], [])


def said_of(past: Past) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Edits and named moments of a branch's way."""
    return [(edit.step, edit.what) for edit in past.edits], [(flag.step, flag.name) for flag in past.flags]


def left_aside(past: Past) -> list[dict[str, Any]]:
    """The losses of what the run has left: other branches, and the ends of those that led to where it is."""
    known = {branch.number: branch for branch in past.branches}
    after = dict.fromkeys(known, -1)  # the step from which on a branch is left
    way = next((branch for branch in past.branches if branch.current), None)
    if way is not None:
        del after[way.number]
    while way is not None and way.parent in after and after[way.parent] < 0:
        after[way.parent] = way.first
        way = known[way.parent]
    found = []
    for number in list(after)[-LEFT:]:
        curve = known[number].curve
        own = np.flatnonzero(np.isfinite(curve.loss) & (curve.step > after[number]))
        if len(own):
            kept = own[np.unique(np.linspace(0, len(own) - 1, POINTS).round().astype(int))]
            found.append({"steps": curve.step[kept].tolist(), "loss": [float(f"{x:.6g}") for x in curve.loss[kept]],
                          "why": known[number].why, "number": number,
                          "from": after[number] if after[number] >= 0 else known[number].first})  # fmt: skip
    return found
