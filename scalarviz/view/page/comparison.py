"""`Comparison`: two recordings at the same steps, for a window, a picture, or a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, text
from ...io import check_target
from ...io.atomic import StrPath
from ...run.sources.played import RecordedSource
from ...run.sources.recorded_pair import NAMES, Compared, RecordedPair
from ...run.sources.recording.file import check_apart
from ..comparison import MAP, DifferenceScale, both_rows
from ..cubes.scale import ActivationScale
from ..ink.places import check_size
from ..ink.text import loss_text
from ..ink.theme import get_theme
from ..shown.subject import Subject, pair_subject
from .document import document_of, flags_of, texels_of
from .keys import GESTURES, keys_of
from .looks import map_of
from .pack import deflated, dense_text, packed, text_of
from .page import Beside, json_number, shell
from .recorded import still_of, write_page


class Comparison(RecordedPair):
    """What ``first.compare(second)`` makes; see :class:`~scalarviz.run.sources.recorded_pair.RecordedPair`.

    Examples
    --------
    ``sv.show(first.compare(second))``, ``sv.render(first.compare(second), step=300)``
    """

    def save_html(
        self,
        path: StrPath,
        *,
        theme: str = "dark",
        size: tuple[int, int] = (1280, 720),
        title: str = "",
        frames: int | None = None,
    ) -> Path:
        """Write both, and their difference, as one HTML file, which plays in a browser without Python and a network.

        Parameters
        ----------
        path : path
            An old file there is replaced, whole or not at all.
        theme : {"dark", "light"}
            The look that it opens with; a key changes it.
        size : (int, int)
            Pixels of the page that it is laid out for, 160 to 8192 a side; in another size it is arranged anew.
        title : str
            Default: the names of both.
        frames : int, optional
            The most steps that it shows, evenly chosen, from 2; default: all at which either was recorded.

        Returns
        -------
        Path

        Raises
        ------
        InputError, TypeMismatchError, UnknownNameError
            It cannot be written there; sizes, numbers and names as above.

        Warns
        -----
        RuntimeWarning
            It has more than 10 MB.
        """
        return write_comparison(self, path, theme=theme, size=size, title=title, frames=frames)


def names_of(paths: Sequence[Path]) -> list[str]:
    """What each is called: its file without the ending, with the folder where other files are called alike."""
    names, files = [path.stem for path in paths], {path.absolute() for path in paths}
    if len(set(names)) < len(files):
        names = [f"{path.absolute().parent.name}/{path.stem}" for path in paths]
    return names


# ---- `comparison_html`: two recordings as one HTML file, with their difference beside them; it plays like that of one.

SENTENCE = "Two recorded trainings and their difference, to be played in a browser with scripts and WebGL 2"
QUANTITIES = ("weight", "gradient", "update")
COLUMNS, AROUND = 3, (47, 363)
"""Pixels of a page of which its cubes have a third across, and of those that are around them."""
SMALLEST, STACKED = (200, 200), (366, 160)
"""Least pixels that the cubes of each have; and those in a page that is held upright, one above the other."""

Parts = dict[str, NDArray[np.float32]]


def comparison_html(
    pair: RecordedPair,
    *,
    theme: str = "dark",
    size: tuple[int, int] = (1280, 720),
    title: str = "",
    frames: int | None = None,
) -> str:
    """The page of two recordings.

    Parameters
    ----------
    pair : RecordedPair
    theme : {"dark", "light"}
        The look that it opens with; a key changes it.
    size : (int, int)
        Of the page that it is laid out for, in pixels, 160 to 8192 a side; in another size it is arranged anew.
    title : str
        What it is called; default: the names of both.
    frames : int, optional
        The most steps that it shows, evenly chosen, from 2; default: all at which either was recorded.

    Raises
    ------
    UnknownNameError, TypeMismatchError, InputError
        No such theme; a title that is no text; a size or a number that is none.
    """
    look, size = get_theme(theme).name, check_size(size)
    title = text(title, "the title") or " and ".join(pair.names)
    count = len(pair.steps)
    most = count if frames is None else min(integer("frames of a page", frames, 2), count)
    shown = np.unique(np.linspace(0, count - 1, most).round().astype(int))
    subject, last = pair_subject(pair), pair.frame_at(count - 1)
    wide, high = (size[0] - AROUND[0]) // COLUMNS, size[1] - AROUND[1]
    document = document_of(subject, (max(wide, SMALLEST[0]), max(high, SMALLEST[1])), look, title=title, strip=False)
    document["maps"][MAP] = map_of(MAP)
    head, tables = _told(pair, shown, document)
    head |= {"ranges": _row_ranges(pair, shown, subject)} if pair.stages else {}
    head |= {
        "document": document, "upright": _upright(document, subject, look, title), "third": _third(pair, document),
        "keys": _keys(pair), "about": {"line": _line(pair, title, len(shown)), "parts": [], "stepLoss": "",
                                       "gestures": list(map(list, GESTURES))},
        "edits": [(edit.step, edit.what) for edit in pair.past.edits], "leftOut": list(pair.left_out), "of": pair.of,
    }  # fmt: skip
    parts = {"run": dense_text(deflated(json.dumps(head, separators=(",", ":")).encode("ascii")))}
    parts |= {name: json.dumps(packed(table, dense=True), separators=(",", ":")) for name, table in tables.items()}
    beside = Beside(title, look, size, still=still_of(subject, last, size, look))
    return shell(beside, parts, _sentence(last), "openComparison();", "comparison.js", app="comparison")


def write_comparison(pair: RecordedPair, path: StrPath, **how: Any) -> Path:
    """Write the page, whole or not at all; the arguments as of :func:`comparison_html`.

    Raises
    ------
    InputError
        It cannot be written there, or is one of the recordings; what was there before stays.
    """
    check_target(path)
    check_apart(path, *(one.record.path for one in pair.pair if isinstance(one, RecordedSource)))
    write_page(path, comparison_html(pair, **how))
    return Path(path)


def _told(pair: RecordedPair, shown: NDArray[np.int64], document: dict[str, Any]) -> tuple[dict[str, Any], Parts]:
    """Steps, where either stands at each, and what is known of their frames; the tables by the names of their parts."""
    steps = [int(pair.steps[k]) for k in shown]
    stands = [pair.places(step) for step in steps]
    known = [name for name in QUANTITIES if not pair.lacks(name)]
    both: list[dict[str, Any]] = []
    tables, places = Parts(), []
    for k, letter in enumerate(NAMES):
        own = sorted({place[k] for place in stands})
        places.append([own.index(place[k]) for place in stands])
        told, found = _half(pair, k, own, document, known)
        both.append(told)
        tables |= {f"{letter}-{name}": table for name, table in found.items()}
    count = document["parameters"]
    same = {name: _same(tables[f"a-{name}"][:, :count], tables[f"b-{name}"][:, :count], places) for name in known}
    return {"steps": steps, "places": list(zip(*places, strict=True)), "both": both, "same": same}, tables


def _row_ranges(pair: RecordedPair, shown: NDArray[np.int64], subject: Subject) -> list[list[float]]:
    """Of each step the range of the rows of both, low and high, and where that of their difference ends."""
    theme = get_theme("dark")  # ranges are the same in both looks
    rows = ActivationScale(subject.stages, theme, sheet=subject.sample.sheet)
    apart = DifferenceScale(subject.stages, theme, pair.of)
    found = []
    for place in shown:
        frame = pair.frame_at(int(place))
        rows.update(both_rows(*frame.both), None)
        apart.update(frame, None)
        found.append([rows.range.low, rows.range.high, apart.range.high])
    return found


def _half(
    pair: RecordedPair, which: int, own: list[int], document: dict[str, Any], known: list[str]
) -> tuple[dict[str, Any], Parts]:
    """What is told of one of them at frames of its own, and its numbers: (N, texels) of values, else (N, weights)."""
    tables: dict[str, list[NDArray[np.float32]]] = {name: [] for name in known}
    steps, loss, rates, marks = [], [], [], []
    for place in own:
        frame = pair.one(which, place)
        for name, table in tables.items():
            texels = texels_of(frame, document, name)
            table.append(texels if name == "weight" else texels[: document["parameters"]])
        steps.append(int(frame.step))
        loss.append(json_number(frame.told_loss))
        rates.append(json_number(frame.lr))
        marks.append(flags_of(frame, document))
    every = np.stack(marks)
    every = every[:1] if (every == every[0]).all() else every
    flags = {"frames": len(every), "columns": every.shape[1], "data": text_of(deflated(every.tobytes()))}
    told = {"name": pair.names[which], "steps": steps, "loss": loss, "lr": rates, "flags": flags}
    return told, {name: np.stack(table) for name, table in tables.items()}


def _same(a: NDArray[np.float32], b: NDArray[np.float32], places: list[list[int]]) -> list[int]:
    """At which steps no two numbers differ, of those that are numbers: a page may have rounded them."""
    finite = [np.isfinite(table) for table in (a, b)]
    return [
        int(not np.any((a[i] != b[j]) & finite[0][i] & finite[1][j])) for i, j in zip(*places, strict=True)
    ]  # fmt: skip


def _upright(document: dict[str, Any], subject: Subject, look: str, title: str) -> dict[str, Any]:
    """What is another in the document of a page that is held upright, where the three stand one above the other."""
    other = document_of(subject, STACKED, look, title=title, strip=False)
    texels = [[plate["texel"] for plate in one["plates"]] for one in (document, other)]
    if texels[0] != texels[1]:
        return {}
    return {name: part for name, part in other.items() if part != document[name] and name != "maps"}


def _third(pair: RecordedPair, document: dict[str, Any]) -> dict[str, Any]:
    """What is another in the document of the difference."""
    shows = [{**one, "words": f"{one['words']}, {pair.of}", "map": MAP} for one in document["quantities"]]
    return {"quantities": shows, "sheet": False, "scope": "the difference", "own": True}


def _keys(pair: RecordedPair) -> list[dict[str, Any]]:
    """Of what both recordings have; a difference has no share of a value."""
    keys = keys_of({name for name in QUANTITIES if not pair.lacks(name)})
    return [key for key in keys if key["name"] != "show_ratio"]


def _line(pair: RecordedPair, title: str, shown: int) -> str:
    """What is said of the comparison, above it."""
    every = len(pair.steps)
    said = [title, *(lacks for name in QUANTITIES[1:] if (lacks := pair.lacks(name)))]
    said += [f"{shown:,} of {every:,} recorded steps"] if shown < every else []
    return "  \N{MIDDLE DOT}  ".join(said)


def _sentence(last: Compared) -> str:
    told = [f"{name} at step {one.step:,}" + ("" if np.isnan(one.told_loss) else f", loss {loss_text(one.told_loss)}")
            for name, one in zip(NAMES, last.both, strict=True)]  # fmt: skip
    return f"{SENTENCE}: {'; '.join(told)}."
