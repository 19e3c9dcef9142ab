"""`Still`: the picture that stays in a saved notebook: the last frame, as an image with words in its place.

A widget's own output is blank where nobody serves it. So a second output stands below it, an ``<img>`` that a living
widget hides. It is drawn here, not by the browser: a notebook without a browser has it too, and there is no second
WebGL context.
"""

from __future__ import annotations

import base64
import html
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError, ScalarvizError
from ..draw.text import loss_text
from ..window.offscreen import offscreen
from ..workbench import Workbench

if TYPE_CHECKING:
    from ...run.frame import Frame
    from ..shown.subject import Subject

QUALITY = 80
"""Of WebP: a third of what a PNG takes, and a notebook holds many pictures."""


def picture_of(subject: Subject, frame: Frame, size: tuple[int, int], theme: str) -> NDArray[np.uint8]:
    """A frame of a subject as it stands in a window, uint8 (H, W, 3).

    Raises
    ------
    MissingDependencyError
        Nothing can draw here, or not in this thread.
    """
    canvas = offscreen()
    if not canvas.here:
        raise MissingDependencyError("no OpenGL in this thread: on this system only the first one can draw")
    with canvas:
        bench = Workbench(subject, size, theme)
        facts = subject.source.facts
        bench.update(frame, "" if facts is None else facts.engine)
        return canvas.render(bench.draw, size)


def words_of(name: str, frame: Frame, counted: bool = True) -> str:
    """What stands in place of the picture: ``"rgb, step 300, loss 0.0123: 15 weights"``."""
    count = len(frame.values)
    step = f", step {frame.step:,}, loss {loss_text(frame.loss)}" if counted else ""
    return f"{name}{step}: {count:,} number{'s' if count != 1 else ''} as cubes"


def encoded(picture: NDArray[np.uint8]) -> bytes:
    """A WebP picture."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(picture).save(buffer, "WEBP", quality=QUALITY, method=6)
    return buffer.getvalue()


def as_html(name: str, image: bytes | None, words: str, width: int) -> str:
    """The output: an image, or the words where none could be drawn. A widget called `name` hides it while it lives."""
    said, of = html.escape(words, quote=True), html.escape(name, quote=True)
    if image is None:
        return f'<p class="{of}">{said}</p>'
    data = base64.b64encode(image).decode()
    return f'<img class="{of}" alt="{said}" width="{width}" src="data:image/webp;base64,{data}">'


def as_output(text: str) -> Any:
    """HTML as the output of a cell."""
    notebook: Any = import_module("IPython.display")
    return notebook.HTML(text)


def put(text: str, name: str) -> Any:
    """Show HTML below what the cell has shown; returns what replaces it, None where there is no notebook."""
    notebook: Any = import_module("IPython.display")
    return notebook.display(as_output(text), display_id=name)


class Still:
    """The second output of one widget.

    Parameters
    ----------
    name : str
        A class of CSS that no other output has; also what the output is found by.
    title : str
        Of what is shown.
    size : (int, int)
    """

    def __init__(self, name: str, title: str, size: tuple[int, int]) -> None:
        self.name, self._title, self._size = name, title, size
        self.theme = "light"
        self._output: Any = None
        self.html = ""

    def draw(self, subject: Subject, frame: Frame) -> str:
        """The output for a frame."""
        words = words_of(self._title, frame, subject.source.counted)
        try:
            image: bytes | None = encoded(picture_of(subject, frame, self._size, self.theme))
        except ScalarvizError as error:
            image, words = None, f"{words} ({error})"
        self.html = as_html(self.name, image, words, self._size[0])
        return self.html

    def show(self) -> None:
        """Put it below the widget, where there is a notebook. Another widget's place keeps its own."""
        self._output = put(self.html, self.name)

    def renew(self) -> None:
        """Replace it wherever it stands."""
        if self._output is not None:
            self._output.update(as_output(self.html))
