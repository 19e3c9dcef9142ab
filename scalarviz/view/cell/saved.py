"""Content of a saved notebook without a kernel: a live cell's last picture (`StillOutput`), a recording (`player`)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from ...checks import text
from ...errors import InputError, MissingDependencyError, ScalarvizError, TypeMismatchError, typed
from ...run.core.frame import Frame
from ...run.sources import recording
from ...run.sources.recorded_pair import RecordedPair
from ..ink.boxes import check_size
from ..ink.text import loss_text
from ..ink.theme import get_theme
from ..out.apart import apart
from ..out.canvas import Canvas, Pixels, words_of
from ..out.offscreen import offscreen
from ..page.pictures import Output, output_of
from ..page.recorded import at_the_end, html_of
from ..page.recording import comparison_html
from ..shown.subject import Subject, pair_subject

DOES_NOT_MOVE = (
    "This picture does not move. To make it live, run the cell. If it still does not move, Jupyter lacks the front end "
    "of anywidget: run <code>pip install anywidget</code> in the Python that starts Jupyter, restart it, and reload "
    "the page."
)


class StillOutput:
    """The second output of a cell: a picture below the widget, hidden while the widget lives.

    A widget's own output is blank without a kernel. Python draws the picture, not the browser: this works without a
    browser and needs no second WebGL context. `name` is a unique CSS class, and the display id of the output.
    """

    def __init__(self, name: str, title: str) -> None:
        self.name, self._title = name, title
        self.theme = "light"
        self._place: Any = None
        self.output = Output("", "", "", title)

    def draw(self, subject: Subject, frame: Frame, size: tuple[int, int]) -> None:
        """Draw the picture of a frame."""
        words = words_of(self._title, subject, frame)
        self.set_output(output_of(*_drawn(subject, frame, size, self.theme, words), self.name))

    def set_output(self, made: Output) -> None:
        """Set the output: its words say what to do, and its CSS hides JupyterLab's message for a missing widget."""
        gone = f".jp-OutputArea-child:has(+ .jp-OutputArea-child .{self.name}) > .jupyter-widgets:not(:has(*))"
        html = f'{made.html}<p class="{self.name}">{DOES_NOT_MOVE}</p><style>{gone} {{ display: none; }}</style>'
        self.output = Output(html, made.kind, made.image, made.words)

    def show(self) -> None:
        """Display it below the cell's other outputs, in a notebook."""
        notebook: Any = import_module("IPython.display")
        self._place = notebook.display(self.output, display_id=self.name)

    def renew(self) -> None:
        """Replace it wherever it is displayed."""
        if self._place is not None:
            self._place.update(self.output)


# ---- Recordings

SIZE = (720, 560)  # pixels of a player in a cell


class Player(Output):
    """A page in a sandboxed frame, with a picture for notebooks that remove frames.

    JupyterLab removes frames from untrusted notebooks, and prefers HTML to every other form. The picture is therefore
    in the same HTML, hidden while there is a frame.

    Attributes
    ----------
    page : str
        The whole page, as :meth:`~scalarviz.view.page.recording.Recorded.save_html` writes it.
    """

    def __init__(self, page: str, still: Pixels | None, words: str, size: tuple[int, int]) -> None:
        self.page, below, said = page, output_of(still, words), html.escape(words, quote=True)
        frame = (  # scripts may run, in an origin of their own without access to the notebook
            f'<iframe class="scalarviz-player" sandbox="allow-scripts" loading="lazy" title="{said}" '
            f'style="width: 100%; max-width: {size[0]}px; height: {size[1]}px; border: 0" '
            f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
        )
        hides = "<style>.scalarviz-player + * { display: none; }</style>"
        super().__init__(f"<div>{hides}{frame}{below.html}</div>", below.kind, below.image, words)

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Player({self.words})"


def player(
    record: Any, *, size: tuple[int, int] | None = None, theme: str = "light", title: str = "",
    frames: int | None = None, open: Sequence[int] | None = None,
) -> Player:  # fmt: skip
    """Show a recording in a notebook cell. It plays in the saved notebook and as a web page, without Python.

    Parameters
    ----------
    record : Recording, Recorded, Comparison or path
        A recording of ``sv.Recording``, or its file. One that is still being recorded is shown up to its last frame. A
        comparison, ``first.compare(second)``, shows both recordings and their difference.
    size : (int, int), optional
        Width and height in pixels; default: 720 x 560.
    theme : {"light", "dark"}
        The theme at the start; a key changes it.
    title : str
        Default: the name of the recorded scene or run.
    frames : int, optional
        The most frames shown, evenly chosen; default: all. The notebook file contains them.
    open : list of int, optional
        Steps after which the player can walk through the next one; as for ``Recorded.save_html``.

    Returns
    -------
    Player
        The output of a cell; make it the last line.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError, FileFormatError
        `record` is not a recording or has no frames; or the size, theme or number of frames is invalid.

    Notes
    -----
    In an untrusted notebook, or without scripts, the last step is shown as a picture.
    """
    pixels = SIZE if size is None else check_size(size)
    look, title = get_theme(theme).name, text(title, "player: the title")
    if isinstance(record, str | Path | recording.Recording):
        opened = record.read() if isinstance(record, recording.Recording) else recording.Recorded(record)
        with closing(opened) as read:
            return player(read, size=pixels, theme=look, title=title, frames=frames, open=open)
    if isinstance(record, RecordedPair):
        page = comparison_html(record, theme=look, size=pixels, title=title, frames=frames)
        last = record.frame_at(len(record.steps) - 1)
        words = f"{title or ' and '.join(record.names)}: two recordings to step {last.step:,}, and their difference"
        return Player(page, *_drawn(pair_subject(record), last, pixels, look, words), pixels)
    if not isinstance(record, recording.Recorded):
        raise TypeMismatchError(
            f"player: got {typed(record)}; allowed: a recording of sv.Recording, or a recording's file. "
            "For a scene that trains in the cell: sv.live(scene)"
        )
    if not len(record):
        raise InputError("player: the recording has no frames; train some steps first")
    page = html_of(record, record.pictures, theme=look, size=pixels, title=title, frames=frames, open=open)
    finite = [float(loss) for loss in record.loss if loss == loss]
    fall = f", loss {loss_text(finite[0])} to {loss_text(finite[-1])}" if finite else ""
    steps = f"steps {int(record.steps[0]):,} to {int(record.steps[-1]):,}"
    words = f"{title or record.about.name}: a recording of {steps}{fall}"
    _, subject, frame = at_the_end(record)
    return Player(page, *_drawn(subject, frame, pixels, look, words), pixels)


def _drawn(subject: Subject, frame: Frame, size: tuple[int, int], theme: str, words: str) -> tuple[Pixels | None, str]:
    """Return the picture of a frame and its description; without OpenGL None and a description that says so."""
    facts = subject.source.facts
    try:
        canvas = Canvas(subject, size, theme)
        canvas.update("" if facts is None else facts.engine, frame=frame)
        return apart(lambda: _pixels(canvas)), words
    except ScalarvizError as error:
        return None, f"{words} ({error})"


def _pixels(canvas: Canvas) -> Pixels:
    if not offscreen().is_usable_here:
        raise MissingDependencyError("no OpenGL in this thread: on this system only the main thread can draw")
    return canvas.draw()
