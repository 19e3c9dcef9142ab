"""Files that come into a picture, dropped on it or chosen: weights go into the run, pictures into a panel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ...io import load_picture

if TYPE_CHECKING:
    from .viewer import Viewer

WEIGHTS = (".safetensors",)
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".ppm")
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


def _open(viewer: Viewer, path: Path) -> str:
    """Returns what came of it, in one line."""
    ending = path.suffix.lower()
    if ending in WEIGHTS:
        return f"{path.name}: {viewer.load(path)}"
    if ending not in PICTURES:
        return f"{path.name} is neither a picture nor weights ({', '.join(WEIGHTS)})"
    done = viewer.bench.side.take(load_picture(path).rgb)
    return f"{path.name}: {done or 'nothing here shows a picture of yours'}"
