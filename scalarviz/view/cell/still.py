"""`Still`: the picture that stays in a saved notebook: the last frame, as an image with words in its place.

A widget's own output is blank where nobody serves it. So a second output stands below it: HTML with an ``<img>`` that a
living widget hides, and the same as an image for viewers that take HTML out. It is drawn here, not by the browser: a
notebook without a browser has it too, and there is no second WebGL context.
"""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError, ScalarvizError
from ..described import words_of
from ..out.offscreen import offscreen
from ..page.pack import text_of
from ..page.pictures import Output, image_tag, jpeg, webp
from ..workbench import Workbench

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..shown.subject import Subject


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


def output_of(name: str, picture: NDArray[np.uint8] | None, words: str) -> Output:
    """The output: a picture, or the words where none could be drawn. A widget called `name` hides it while it lives."""
    if picture is None:
        said, of = html.escape(words, quote=True), html.escape(name, quote=True)
        return Output(f'<p class="{of}">{said}</p>', "", "", words)
    tag = image_tag(webp(picture), "image/webp", words, name=name, width=picture.shape[1])
    return Output(tag, "image/jpeg", text_of(jpeg(picture)), words)


def put(output: Output, name: str) -> Any:
    """Show it below what the cell has shown; returns what replaces it, None where there is no notebook."""
    notebook: Any = import_module("IPython.display")
    return notebook.display(output, display_id=name)


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
        self._place: Any = None
        self.output = Output("", "", "", title)

    @property
    def html(self) -> str:
        """What most notebooks show of it."""
        return self.output.html

    def draw(self, subject: Subject, frame: Frame) -> Output:
        """The output for a frame."""
        words = words_of(self._title, frame, subject.source.counted, which=subject.step_loss)
        try:
            picture: NDArray[np.uint8] | None = picture_of(subject, frame, self._size, self.theme)
        except ScalarvizError as error:
            picture, words = None, f"{words} ({error})"
        self.output = output_of(self.name, picture, words)
        return self.output

    def show(self) -> None:
        """Put it below the widget, where there is a notebook. Another widget's place keeps its own."""
        self._place = put(self.output, self.name)

    def renew(self) -> None:
        """Replace it wherever it stands."""
        if self._place is not None:
            self._place.update(self.output)
