"""`player`: a recording that plays in a notebook's cell, and in what the notebook becomes: a file, a page, a mail."""

from __future__ import annotations

import html
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import text
from ...errors import InputError, ScalarvizError, TypeMismatchError, shown
from ...run.sources import recording
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded import Recorded
from ..ink.places import check_size
from ..ink.text import loss_text
from ..ink.theme import get_theme
from ..page.pack import text_of
from ..page.pictures import Output, Pixels, image_tag, jpeg, webp
from ..page.recorded import html_of
from ..shown.subject import subject_of
from .still import picture_of

SIZE = (720, 560)
"""Pixels of a player in a cell."""
SANDBOX = "allow-scripts"
"""What the page in the frame may do: it has an origin of its own, and reaches nothing of the notebook."""


class Player:
    """A page in a sandboxed frame, and a picture for where frames are taken out.

    JupyterLab takes frames out of a notebook that is not trusted, and prefers HTML to every other form; so the picture
    stands in the same HTML. While there is a frame it is hidden.

    Attributes
    ----------
    page : str
        The whole page, as :meth:`~scalarviz.view.page.recording.Recorded.save_html` writes it.
    """

    def __init__(self, page: str, still: Pixels | None, words: str, size: tuple[int, int]) -> None:
        self.page, self._still, self._words, self._size = page, still, words, size

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, str], object]:
        image = "" if self._still is None else text_of(jpeg(self._still))
        return Output(self._repr_html_(), "image/jpeg", image, self._words)._repr_mimebundle_()

    def _repr_html_(self) -> str:
        width, height = self._size
        said = html.escape(self._words, quote=True)
        frame = (
            f'<iframe class="scalarviz-player" sandbox="{SANDBOX}" loading="lazy" title="{said}" '
            f'style="width: 100%; max-width: {width}px; height: {height}px; border: 0" '
            f'srcdoc="{html.escape(self.page, quote=True)}"></iframe>'
        )
        hides = "<style>.scalarviz-player + * { display: none; }</style>"
        return f"<div>{hides}{frame}{self._in_place(said, width)}</div>"

    def _in_place(self, said: str, width: int) -> str:
        if self._still is None:
            return f"<p>{said}</p>"
        return image_tag(webp(self._still), "image/webp", self._words, width=width)

    def __repr__(self) -> str:
        return f"Player({self._words})"


def player(
    record: Any, *, size: tuple[int, int] | None = None, theme: str = "light", title: str = "",
    frames: int | None = None,
) -> Player:  # fmt: skip
    """Show a recording in a notebook's cell; it plays in the saved notebook, and as a web page, without Python.

    Parameters
    ----------
    record : Recording, Recorded or path
        What ``sv.Recording`` made, or its file. One that is still being recorded is shown as far as it is.
    size : (int, int), optional
        Width and height in pixels; default: 720 x 560.
    theme : {"light", "dark"}
        The look that it opens with; a key changes it.
    title : str
        Default: the name of what was recorded.
    frames : int, optional
        The most frames that it shows, evenly chosen; default: all. Each notebook that shows it holds them.

    Returns
    -------
    Player
        The output of a cell that ends with it.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError, FileFormatError
        Something that is no recording, or has no frame; a size, theme or number that is none.

    Notes
    -----
    In a notebook that is not trusted, and where scripts are off, the last step stands there as a picture.
    """
    pixels = SIZE if size is None else check_size(size)
    look, title = get_theme(theme).name, text(title, "player: the title")
    if isinstance(record, recording.Recorded):
        return _made(record, pixels, look, title, frames)
    if isinstance(record, recording.Recording):
        with closing(record.read()) as read:
            return _made(read, pixels, look, title, frames)
    if isinstance(record, str | Path):
        from ..page.recording import load_recording

        with closing(load_recording(record)) as read:
            return _made(read, pixels, look, title, frames)
    raise TypeMismatchError(
        f"player: got {type(record).__name__} {shown(record)}; allowed: what sv.Recording makes, or its file. For a "
        "scene that trains in the cell: sv.live(scene)"
    )


def _made(record: recording.Recorded, size: tuple[int, int], theme: str, title: str, frames: int | None) -> Player:
    if not len(record):
        raise InputError("player: nothing is recorded yet; let the run do some steps first")
    page = html_of(record, record.pictures, theme=theme, size=size, title=title, frames=frames)
    words = words_about(record, title)
    try:
        still = last_still(record, size, theme)
    except ScalarvizError as error:  # nothing can draw here: words stand there
        return Player(page, None, f"{words} ({error})", size)
    return Player(page, still, words, size)


# ---- The last step of a recording as a picture, for where no player plays.


def last_still(record: Recorded, size: tuple[int, int], theme: str) -> NDArray[np.uint8]:
    """The last frame, uint8 (H, W, 3).

    Raises
    ------
    MissingDependencyError
        Nothing can draw here.
    """
    source = RecordedSource(record)
    source.to(source.span[1])
    frame = source.frame()
    return picture_of(subject_of(source).after(frame), frame, size, theme)


def words_about(record: Recorded, title: str = "") -> str:
    """What stands in its place: ``"rgb: a recording of steps 0 to 300, loss 0.1326 to 0.0431"``."""
    finite = [float(loss) for loss in record.loss if loss == loss]
    fall = f", loss {loss_text(finite[0])} to {loss_text(finite[-1])}" if finite else ""
    steps = f"steps {int(record.steps[0]):,} to {int(record.steps[-1]):,}"
    return f"{title or record.about.name}: a recording of {steps}{fall}"
