"""Files that come into a picture, dropped or chosen: weights and tables for the run, pictures for a panel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ...io import CsvTable, load_picture, parse_csv, read_csv

if TYPE_CHECKING:
    from .viewer import Viewer

WEIGHTS = (".safetensors",)
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".ppm")
TABLES = (".csv", ".tsv", ".txt")
TITLE = "Open a picture or weights"


def open_files(viewer: Viewer, paths: Sequence[Path]) -> None:
    """Let a viewer take files; a notice says what came of the last one."""
    for path in paths:
        try:
            said = _open(viewer, path)
        except ScalarvizError as error:
            said = str(error)
        viewer.say(said)
        viewer.refresh()


def paste(viewer: Viewer) -> None:
    """Let a viewer take the table on the clipboard; a notice says what came of it."""
    text = "" if viewer.host is None else viewer.host.pasted()
    if not text.strip():
        viewer.say("there is no text on the clipboard: copy a table first, its first line the names of the columns")
    else:
        viewer.say(_learnt(viewer, parse_csv(text, "the pasted table")))
    viewer.refresh()


def _learnt(viewer: Viewer, table: CsvTable) -> str:
    """Let a run learn a table from now on, as its scene says how; returns what came of it."""
    learn = viewer.bench.subject.table
    if learn is None:
        return f"{table.what}: no table is learnt here"
    edit = learn(table)
    viewer.change(edit)
    return f"{table.what}: {edit.words()}"


def _open(viewer: Viewer, path: Path) -> str:
    """Returns what came of it, in one line."""
    ending = path.suffix.lower()
    if ending in WEIGHTS:
        return f"{path.name}: {viewer.load(path)}"
    if ending in TABLES:
        return _learnt(viewer, read_csv(path))
    if ending not in PICTURES:
        return f"{path.name} is neither a picture nor a table ({', '.join(TABLES)}) nor weights ({', '.join(WEIGHTS)})"
    done = viewer.bench.side.take(load_picture(path).rgb)
    return f"{path.name}: {done or 'nothing here shows a picture of yours'}"
