"""What a saved notebook shows without a kernel: a live cell's last picture (`Still`), a recording (`player`)."""

from __future__ import annotations

import html
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from ...checks import text
from ...errors import InputError, MissingDependencyError, ScalarvizError, TypeMismatchError, shown
from ...run.core.frame import Frame
from ...run.sources import recording
from ...run.sources.recorded_pair import RecordedPair
from ..ink.boxes import check_size
from ..ink.text import loss_text
from ..ink.theme import get_theme
from ..out.easel import Pixels, picture_of, words_of
from ..out.offscreen import offscreen
from ..page.comparison import comparison_html
from ..page.pictures import Output, output_of
from ..page.recorded import at_the_end, html_of
from ..shown.subject import Subject, pair_subject


class StillOutput:
    """The second output of a cell: a picture below the widget, which hides it while it lives.

    A widget's own output is blank where nobody serves it. The picture is drawn here, not by the browser: a notebook
    without a browser has it too, and there is no second WebGL context. `name` is a class of CSS that no other output
    has; also what the output is found by.
    """

    def __init__(self, name: str, title: str) -> None:
        self.name, self._title = name, title
        self.theme = "light"
        self._place: Any = None
        self.output = Output("", "", "", title)

    @property
    def html(self) -> str:
        """What most notebooks show of it."""
        return self.output.html

    def draw(self, subject: Subject, frame: Frame, size: tuple[int, int]) -> None:
        """Make it that of a frame."""
        words = words_of(self._title, subject, frame)
        self.set_output(output_of(*_drawn(subject, frame, size, self.theme, words), self.name))

    def set_output(self, made: Output) -> None:
        """Stand there as this output; JupyterLab's words for a widget that nobody has any more are hidden by it."""
        gone = f".jp-OutputArea-child:has(+ .jp-OutputArea-child .{self.name}) > .jupyter-widgets:not(:has(*))"
        html = f"{made.html}<style>{gone} {{ display: none; }}</style>"
        self.output = Output(html, made.kind, made.image, made.words)

    def show(self) -> None:
        """Put it below what the cell has shown, where there is a notebook."""
        notebook: Any = import_module("IPython.display")
        self._place = notebook.display(self.output, display_id=self.name)

    def renew(self) -> None:
        """Replace it wherever it stands."""
        if self._place is not None:
            self._place.update(self.output)


# ---- Recordings

SIZE = (720, 560)  # pixels of a player in a cell


class Player(Output):
    """A page in a sandboxed frame, and a picture for where frames are taken out.

    JupyterLab takes frames out of a notebook that is not trusted, and prefers HTML to every other form; so the picture
    stands in the same HTML. While there is a frame it is hidden.

    Attributes
    ----------
    page : str
        The whole page, as :meth:`~scalarviz.view.page.recording.Recorded.save_html` writes it.
    """

    def __init__(self, page: str, still: Pixels | None, words: str, size: tuple[int, int]) -> None:
        self.page, below, said = page, output_of(still, words), html.escape(words, quote=True)
        frame = (  # it may run scripts: it has an origin of its own, and reaches nothing of the notebook
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
    frames: int | None = None,
) -> Player:  # fmt: skip
    """Show a recording in a notebook's cell; it plays in the saved notebook, and as a web page, without Python.

    Parameters
    ----------
    record : Recording, Recorded, Comparison or path
        What ``sv.Recording`` made, or its file. One that is still being recorded is shown as far as it is. Of two,
        ``first.compare(second)``, it shows both and their difference.
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
    if isinstance(record, str | Path | recording.Recording):
        opened = record.read() if isinstance(record, recording.Recording) else recording.Recorded(record)
        with closing(opened) as read:
            return player(read, size=pixels, theme=look, title=title, frames=frames)
    if isinstance(record, RecordedPair):
        page = comparison_html(record, theme=look, size=pixels, title=title, frames=frames)
        last = record.frame_at(len(record.steps) - 1)
        words = f"{title or ' and '.join(record.names)}: two recordings to step {last.step:,}, and their difference"
        return Player(page, *_drawn(pair_subject(record), last, pixels, look, words), pixels)
    if not isinstance(record, recording.Recorded):
        raise TypeMismatchError(
            f"player: got {type(record).__name__} {shown(record)}; allowed: a recording of sv.Recording, or its file. "
            "For a scene that trains in the cell: sv.live(scene)"
        )
    if not len(record):
        raise InputError("player: the recording has no frames; train some steps first")
    page = html_of(record, record.pictures, theme=look, size=pixels, title=title, frames=frames)
    finite = [float(loss) for loss in record.loss if loss == loss]
    fall = f", loss {loss_text(finite[0])} to {loss_text(finite[-1])}" if finite else ""
    steps = f"steps {int(record.steps[0]):,} to {int(record.steps[-1]):,}"
    words = f"{title or record.about.name}: a recording of {steps}{fall}"
    _, subject, frame = at_the_end(record)
    return Player(page, *_drawn(subject, frame, pixels, look, words), pixels)


def _drawn(subject: Subject, frame: Frame, size: tuple[int, int], theme: str, words: str) -> tuple[Pixels | None, str]:
    """The picture of a frame, and its words; where nothing can draw the words alone, which say so."""
    facts = subject.source.facts
    try:
        if not offscreen().is_usable_here:
            raise MissingDependencyError("no OpenGL in this thread: on this system only the first one can draw")
        return picture_of(subject, frame, size, theme, "" if facts is None else facts.engine), words
    except ScalarvizError as error:
        return None, f"{words} ({error})"
