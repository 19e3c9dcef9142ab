"""`PictureLists`: the display lists of a picture, for browsers: a live cell sends them, a page stores them."""

from __future__ import annotations

from collections.abc import Iterable

from ..ink.listed import Listed, Record, short
from ..ink.sketch import Sketch
from ..workbench import Workbench

PARTS = ("still", "beside", "time", "cubes", "numbers", "over")
"""Lists of a picture, lowest first, split by what changes together; `js/picture.js` has the same."""


class PictureLists:
    """Converts the sketches of a workbench; equal sketches are converted once.

    With `films` the copy of a recorded panel becomes one record, since the page has the panel's own list.
    """

    def __init__(self, bench: Workbench, *, films: bool = False) -> None:
        self._bench, self._listed, self._films = bench, Listed(bench.theme), films
        self._known: dict[str, tuple[object, list[Record]]] = {}

    def parts(self) -> dict[str, list[Record]]:
        """Return the current lists by part; what is over the cubes is ordered by layer."""
        bench = self._bench
        if self._listed.theme is not bench.theme:
            self._listed, self._known = Listed(bench.theme), {}
        found = {name: self._records(name, part) for name, part in bench.parts.items()}
        over = [self._records(f"over {k}", layer) for k, layer in enumerate(bench.overlays)]
        return {**found, "over": [record for layer in over for record in layer]}

    def _records(self, name: str, sketches: Iterable[Sketch]) -> list[Record]:
        now = [*sketches]
        key = [(one, len(one.shapes), len(one.tops), len(one.texts), len(one.images)) for one in now]
        before, records = self._known.get(name, (None, []))
        if before != key:
            copied = dict.fromkeys(one.copied for one in now if one.copied is not None and self._films)
            own = [one for one in now if one.copied is None or not self._films]
            records = [["film", *short(place), title] for title, place in copied] + self._listed.records(own)
            self._known[name] = key, records
        return records
