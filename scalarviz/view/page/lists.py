"""`PictureLists`: the display lists of a picture, for browsers: a live cell sends them, a page stores them.

A page has lists for a lying and a standing picture. In the lists of its frames numbers are bound: the browser writes
those of the moment, so that one list serves many frames. Equal records are stored once (`Pool`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from ...run.core.frame import Frame
from ..ink.listed import MOST_RECORDS, Listed, Record, short
from ..ink.sketch import Sketch
from ..ink.theme import DARK, Theme
from ..panels.word import WordDrawer
from ..shown.subject import Subject
from ..workbench import Workbench
from .document import layout_of

PARTS = ("still", "beside", "time", "cubes", "numbers", "over")
"""Lists of a picture, lowest first, split by what changes together; `js/picture.js` has the same."""

LONG_STEP, LONG_LOSS, LONG_RATE = 999_999, 0.00088, 0.00125
"""Step, loss and rate of a computed frame's picture, which leave room for their digits."""

BESIDE = "beside"
"""Part of a picture that does not depend on the quantity, and a record in whose place it stands."""


class PictureLists:
    """Converts the sketches of a workbench; equal sketches are converted once.

    With `films` the copy of a recorded panel becomes one record, since the page has the panel's own list. If they are
    `bound`, the browser inserts the numbers; `marks` are as in :class:`~scalarviz.view.ink.listed.Listed`.
    """

    def __init__(self, bench: Workbench, *, films: bool = False, bound: bool = False, marks: bool = False) -> None:
        self._bench, self._films, self._how = bench, films, {"bound": bound, "marks": marks}
        self._listed = Listed(bench.theme, bound=bound, marks=marks)
        self._known: dict[str, tuple[object, list[Record]]] = {}

    def parts(self) -> dict[str, list[Record]]:
        """Return the current lists by part; what is over the cubes is ordered by layer."""
        bench = self._bench
        if self._listed.theme is not bench.theme:
            self._listed, self._known = Listed(bench.theme, **self._how), {}
        found = {name: self._records(name, part) for name, part in bench.parts.items()}
        over = [self._records(f"over {k}", layer) for k, layer in enumerate(bench.overlays)]
        return {**found, "over": [record for layer in over for record in layer]}

    @property
    def whole(self) -> list[Record]:
        """The lists of all parts but the time bar, one after the other; the record ``[BESIDE]`` is for what is beside.

        Of a comparison they are those of its sections, with a record ``["section"]`` between two of them.
        """
        if self._bench.compared is None:
            parts = self.parts()
            return [*parts["still"], [BESIDE], *parts["cubes"], *parts["numbers"], *parts["over"]]
        found = list[Record]()
        for k, section in enumerate(self._bench.compared.sections):
            found += [["section"]] if k else []
            found += self._records(f"section {k}", section)
        return found

    def _records(self, name: str, sketches: Iterable[Sketch]) -> list[Record]:
        now = [*sketches]
        key = [(one, len(one.shapes), len(one.tops), len(one.texts), len(one.images)) for one in now]
        before, records = self._known.get(name, (None, []))
        if before != key:
            records = []
            for copied, some in groupby(now, lambda one: one.copied if self._films else None):
                film = [] if copied is None else [["film", *short(copied[1]), copied[0]]]
                records += film or self._listed.records([*some])
            self._known[name] = key, records
        return records


# ---- The lists of a page.

SHAPES = ((1200, 620), (390, 784))
"""Pixels of the lying and of the standing picture; a page shows one of them as large as it can."""
HALL = (1200, 580)
"""Pixels of the lying picture for a presenter: those of a slide with a line of text above and buttons below."""


def shapes_of(look: Theme) -> tuple[tuple[int, int], ...]:
    """Return the sizes of the pictures of a page in this look."""
    return (HALL, *SHAPES[1:]) if look.presenter else SHAPES


class Pool:
    """The records and layouts of a page, by number; equal ones are stored once."""

    def __init__(self) -> None:
        self._records, self._layouts = dict[str, int](), dict[str, int]()
        self._seen: dict[int, tuple[Record, int]] = {}  # numbers of records by their identity

    def spliced(self, before: list[int], records: Iterable[Record]) -> tuple[list[int], list[Any]]:
        """Return a list as numbers of records, and how it follows from the one `before`: see :func:`spliced`."""
        count = len(self._records)
        now = [self._number(record) for record in records]
        return now, spliced(before, now, count)

    def _number(self, record: Record) -> int:
        seen, number = self._seen.get(id(record), (None, 0))
        if seen is not record:
            number = number_in(self._records, record)
            if len(self._seen) < MOST_RECORDS:
                self._seen[id(record)] = record, number
        return number

    def layout(self, bench: Workbench) -> int:
        """Return the number of a picture's layout."""
        return number_in(self._layouts, layout_of(bench))

    def as_json(self) -> dict[str, Any]:
        """Return all records and layouts."""
        kept = {"records": self._records, "layouts": self._layouts}
        return {name: [json.loads(one) for one in some] for name, some in kept.items()}


def number_in(known: dict[str, int], data: object) -> int:
    """Return the number of some data among those that are known, with a new one for new data."""
    return known.setdefault(json.dumps(data, separators=(",", ":")), len(known))


def spliced(before: Sequence[int], now: Sequence[int], count: int) -> list[Any]:
    """Return how a list of record numbers follows from the one before; there were `count` records until then.

    A pair ``[skip, length]`` copies a part of the list before, after skipping some of it; 0 is the next new record, and
    k > 0 is record k - 1.
    """
    if before == now:
        return [[0, len(now)]] if now else []
    found, end = list[Any](), 0
    for kind, first, last, start, stop in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append([first - end, last - first])
            end = last
            continue
        for number in now[start:stop]:
            found.append(0 if number == count else number + 1)
            count += number == count
    return found


class FrameLists:
    """Writes the picture of each frame of a page, for every quantity, in every shape; numbers are bound.

    Panels are written once for all quantities, and for each letter of a word that one of them reads.
    """

    def __init__(self, subject: Subject, quantities: Sequence[str], pool: Pool, look: Theme = DARK) -> None:
        self._pool, self._quantities = pool, [*quantities]
        self._benches = [
            [Workbench(subject, size, look, quantity=name, timed=True) for name in quantities]
            for size in shapes_of(look)
        ]
        drawers = [[*some[0].side.drawers.values()] for some in self._benches]
        self._readers = [next((one for one in some if isinstance(one, WordDrawer)), None) for some in drawers]
        self._choices = max((len(one.state.word) + 1 for one in self._readers if one is not None), default=1)
        self._lists = {bench: PictureLists(bench, films=True, bound=True) for some in self._benches for bench in some}
        self._before: dict[object, list[int]] = {}
        self._found: list[list[Any]] = []
        self._standing: dict[str, str] = {}

    @property
    def first(self) -> Workbench:
        """The picture of the first quantity in the first shape."""
        return self._benches[0][0]

    @property
    def layout(self) -> dict[str, Any]:
        """The layout of the first shape."""
        return layout_of(self.first)

    def add_frame(self, frame: Frame, words: str = "recording") -> None:
        """Write the picture of one more frame; `words` stand in the second line of its head."""
        for benches, reader in zip(self._benches, self._readers, strict=True):
            for bench in benches:
                bench.update(frame, words)
                self._add(bench, self._lists[bench].whole)
            first = benches[0]
            for choice in range(self._choices):
                if reader is not None:
                    reader.choose(choice)
                    first.update(frame, words)
                letters = [] if reader is None else [one for one in reader.spots if one.name.startswith("letter")]
                more = [one for sketch in first.side.column.left_out_line() for one in sketch.spots]
                records = [["spot", *short(one.box), one.name, one.value, one.words] for one in (*letters, *more)]
                self._add((first, choice), [*self._lists[first].parts()[BESIDE], *records])

    def add_coming(self, frame: Frame, words: str, standing: Collection[str]) -> None:
        """Write the pictures of frames that a browser computes: a recorded one without what is true of it alone.

        The first is that of a frame with a change since its step.

        Panels that are `standing` do not follow, which their words say, also in steps that the browser opens.
        """
        self._standing = {f"{name} at step ": f"{name} recorded at step " for name in standing}
        long = replace(frame, dead={}, step=LONG_STEP, loss=LONG_LOSS, shown_loss=LONG_LOSS, lr=LONG_RATE, next_lr=None)
        for edited in (True, False):
            self.add_frame(replace(long, edited=edited), words)

    def _add(self, series: object, records: list[Record]) -> None:
        self._before[series], change = self._pool.spliced(self._before.get(series, []), records)
        self._found.append(change)

    def as_json(self) -> dict[str, Any]:
        """Return the lists as changes: by frame and shape those of each quantity, then the panels of each choice.

        The shapes are numbers of layouts.
        """
        shapes = [self._pool.layout(some[0]) for some in self._benches]
        return {"quantities": self._quantities, "choices": self._choices, "lists": self._found,
                "standing": self._standing, "shapes": shapes}  # fmt: skip
