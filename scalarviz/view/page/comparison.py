"""`Comparison`: two recordings at the same steps, for a window, a picture or a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...checks import integer, text
from ...io.atomic import StrPath, scratch
from ...run.sources.played import RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ..comparison import MAP, DifferenceScale, both_rows
from ..cubes.scale import ActivationScale
from ..ink.boxes import check_size
from ..ink.text import loss_text
from ..ink.theme import get_theme
from ..shown.names import Names
from ..shown.subject import Subject, pair_subject
from .document import document_of, map_of
from .pack import Float32, dense_text, packed_text, squeezed
from .page import GESTURES, keys_of, loss_axis, numbers_of, shell, upright
from .pictures import chosen, still_bytes
from .recorded import Page, write_html


class Comparison(Page, RecordedPair):
    """The result of ``first.compare(second)``; see :class:`~scalarviz.run.sources.recorded_pair.RecordedPair`.

    Examples
    --------
    ``sv.show(first.compare(second))``, ``sv.render(first.compare(second), step=300)``
    """

    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        """Write both and their difference; `frames` counts the steps at which either was recorded."""
        files = [one.record.path for one in self.pair if isinstance(one, RecordedSource)]
        return write_html(path, files, partial(comparison_html, self, **asked))


def names_of(paths: Sequence[Path], called: Sequence[str] = ()) -> list[str]:
    """Return the names of two recordings: file names without ending, with the folder if they are equal.

    Temporary files get the names `called` of the recorded scenes, numbered if those are equal.
    """
    names, files = [path.stem for path in paths], {path.absolute() for path in paths}
    if called and all(path.absolute().parent.name.startswith(scratch()) for path in paths):
        alike = len(set(called)) < len(called)
        return [f"{name} {k}" if alike else name for k, name in enumerate(called, 1)]
    if len(set(names)) < len(files):
        names = [f"{path.absolute().parent.name}/{path.stem}" for path in paths]
    return names


# ---- `comparison_html`: two recordings and their difference as one HTML file, which plays like one recording.

SENTENCE = "Two recorded trainings and their difference; playing them needs a browser with JavaScript and WebGL 2"
QUANTITIES = ("weight", "gradient", "update")
COLUMNS, AROUND = 3, (47, 363)
"""Number of columns of cubes, and pixels of a page around them: across and down."""
SMALLEST, STACKED = (200, 200), (366, 160)
"""Least pixels for the cubes of each; and pixels on an upright screen, one above the other."""

Parts = dict[str, Float32]


def comparison_html(pair: RecordedPair, *, theme: str, size: tuple[int, int], title: str, frames: int | None) -> str:
    """Return the page of two recordings; arguments as for :meth:`Comparison.save_html`."""
    look, size = get_theme(theme).name, check_size(size)
    title = text(title, "the title") or " and ".join(pair.names)
    count = len(pair.steps)
    most = count if frames is None else min(integer("frames of a page", frames, 2), count)
    shown = chosen(range(count), most)
    subject, last = pair_subject(pair), pair.frame_at(count - 1)
    wide, high = (size[0] - AROUND[0]) // COLUMNS, size[1] - AROUND[1]
    document = document_of(subject, (max(wide, SMALLEST[0]), max(high, SMALLEST[1])), look, strip=False)
    other = document_of(subject, STACKED, look, strip=False)
    document["maps"][MAP] = map_of(MAP)
    head, tables = _head_and_tables(pair, shown, document)
    head |= {"ranges": _row_ranges(pair, shown, subject)} if pair.stages else {}
    shows = [{**one, "words": f"{one['words']}, {pair.of}", "map": MAP} for one in document["quantities"]]
    line = [title, *(lacks for name in QUANTITIES[1:] if (lacks := pair.lacks(name)))]
    line += [f"{len(shown):,} of {count:,} recorded steps"] if len(shown) < count else []
    keys = keys_of({name for name in QUANTITIES if not pair.lacks(name)})
    head |= {
        "document": document, "upright": upright(document, other),
        "third": {"quantities": shows, "sheet": False, "scope": "the difference", "ownRange": True},  # in its document
        "keys": [key for key in keys if key["name"] != "show_ratio"],  # a difference has no update / value
        "about": {"line": "  \N{MIDDLE DOT}  ".join(line), "parts": [],
                  "gestures": list(map(list, GESTURES))},
        "edits": [(edit.step, edit.what) for edit in pair.past.edits], "of": pair.of,
    }  # fmt: skip
    parts = {"run": dense_text(squeezed(head)), **{name: packed_text(table) for name, table in tables.items()}}
    still, call = still_bytes(subject, last, size, look), "openComparison();"
    told = [f"{name} at step {one.step:,}" + ("" if np.isnan(one.told_loss) else f", loss {loss_text(one.told_loss)}")
            for name, one in zip(NAMES, last.frames, strict=True)]  # fmt: skip
    sentence = f"{SENTENCE}: {'; '.join(told)}."
    without = [Names(subject).plain(line) for line in pair.left_out]
    left, more = [*without, ""][0], f"  \N{MIDDLE DOT}  {len(without) - 1} more" * (len(without) > 1)
    called = {f"called_{a}": name if name != a else "" for a, name in zip("ab", pair.names, strict=True)}
    words = {
        "a": pair.names[0], "b": pair.names[1], **called, "of": pair.of, "every": "; ".join(without),
        "left": f"left out: {left}{more}" if left else "",
    }  # fmt: skip
    return shell(title, look, parts, sentence, call, "comparison.js", app="comparison", still=still, words=words)


def _head_and_tables(
    pair: RecordedPair, shown: Sequence[int], document: dict[str, Any]
) -> tuple[dict[str, Any], Parts]:
    """Return the head (steps, each recording's frame at each step, frame data), and the tables by part name."""
    steps = [int(pair.steps[k]) for k in shown]
    stands = [pair.places(step) for step in steps]
    known = [name for name in QUANTITIES if not pair.lacks(name)]
    both: list[dict[str, Any]] = []
    tables, places = Parts(), []
    for k, letter in enumerate(NAMES):
        own = sorted({place[k] for place in stands})
        places.append([own.index(place[k]) for place in stands])
        frames = (pair.frame_of(k, place) for place in own)
        told, found = numbers_of(frames, document, known, lambda frame: frame.told_loss)
        both.append({"name": pair.names[k], **told})
        tables |= {f"{letter}-{name}": table for name, table in found.items()}
    count = document["parameters"]
    same = {name: _same(tables[f"a-{name}"][:, :count], tables[f"b-{name}"][:, :count], places) for name in known}
    axis = loss_axis(*(one["loss"] for one in both))
    return {"steps": steps, "places": list(zip(*places, strict=True)), "both": both, "same": same, "axis": axis}, tables


def _row_ranges(pair: RecordedPair, shown: Sequence[int], subject: Subject) -> list[list[float]]:
    """Return for each step: low and high of both recordings' rows, and the upper end of their difference."""
    theme = get_theme("dark")  # ranges are the same in both themes
    rows = ActivationScale(subject.stages, theme, sheet=subject.sample.sheet)
    apart = DifferenceScale(subject.stages, theme, pair.of)
    found = []
    for place in shown:
        frame = pair.frame_at(int(place))
        rows.update(both_rows(*frame.frames), None)
        apart.update(frame, None)
        found.append([rows.range.low, rows.range.high, apart.range.high])
    return found


def _same(a: Float32, b: Float32, places: list[list[int]]) -> list[int]:
    """Return for each step whether all finite numbers are equal, before the page rounds them."""
    finite = [np.isfinite(table) for table in (a, b)]
    return [int(not np.any((a[i] != b[j]) & finite[0][i] & finite[1][j])) for i, j in zip(*places, strict=True)]
