"""`Recording` and `Recorded` with the methods that need a view; ``sv.Recording`` and ``sv.load_recording``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ...errors import InputError, TypeMismatchError
from ...io.atomic import StrPath
from ...run.panels.base import Picture
from ...run.scene.scene import Scene
from ...run.sources import recording
from ...run.sources.played import RecordedSource
from ...run.sources.recording.contents import write_pictures
from ..ink.theme import get_theme
from .comparison import Comparison, names_of
from .link import link_of
from .pictures import chosen, panel_pictures
from .recorded import Page, html_of, write_html


class Recorded(Page, recording.Recorded):
    """See :class:`scalarviz.run.sources.recording.Recorded`."""

    def compare(self, other: recording.Recorded) -> Comparison:
        """Return two recordings at the same steps, with their difference: for ``sv.show``, ``sv.render`` or a page.

        Each shows its last frame up to the shown step; tensors are matched by name and shape.

        Raises
        ------
        TypeMismatchError
            `other` is not a recording.
        InputError
            The recordings share no tensor, or no step.

        Examples
        --------
        ``first.compare(second).save_html("both.html")``, ``sv.render(first.compare(second), step=300)``
        """
        given: Any = other
        if not isinstance(given, recording.Recorded):
            raise TypeMismatchError(f"compare: got {type(given).__name__}; allowed: a recording")
        first, second = names_of([self.path, other.path], [self.about.name, other.about.name])
        if first == second and self.branch != other.branch:
            first, second = f"{first}, branch {self.branch}", f"{second}, branch {other.branch}"
        return Comparison(RecordedSource(self), RecordedSource(other), (first, second))

    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        return write_html(path, [self.path], partial(html_of, self, self.pictures, **asked))

    def save_link(self, player: str = "player.html", *, theme: str = "dark", title: str = "") -> str:
        """Return the branch as a link: its values follow the ``#``, 12 bits a number, and are never sent to a server.

        Parameters
        ----------
        player : str
            Address of the page that plays links, which :func:`scalarviz.view.page.link.write_player` writes: one file
            for all links, on any web space or disk.
        theme, title : str
            As for :meth:`save_html`.

        Returns
        -------
        str
            At most 8,000 characters.

        Raises
        ------
        InputError, TypeMismatchError, UnknownNameError
            Not even two frames fit into a link, or an argument is not allowed.

        Warns
        -----
        RuntimeWarning
            Steps were left out; the message says how many are in the link.
        """
        link = link_of(self, player, theme=theme, title=title)
        if link.said:
            warnings.warn(link.said, RuntimeWarning, stacklevel=2)
        return link.text


class Recording(Page, recording.Recording):
    """See :class:`scalarviz.run.sources.recording.Recording`."""

    reader: ClassVar[type[recording.Recorded]] = Recorded

    def close(self) -> Path:
        """Record the current step and finish the file, with pictures of the panels if wanted; return its path.

        Raises
        ------
        StateError
            This process was forked from the recording one.
        """
        had, path = self._closed, super().close()
        if self.panels and not had and not self.trouble:
            with closing(Recorded(path)) as record:
                drawn = self._drawn(record)
                rows = {step: record.row(record.at(step), "id")[0] for step in {one.step for one in drawn}}
            try:
                write_pictures(path, [(rows[one.step], one) for one in drawn])
            except InputError as error:  # a full disk: the numbers are there
                with suppress(RuntimeWarning):
                    warnings.warn_explicit(f"{error}; everything else was read", RuntimeWarning, "scalarviz", 0)
        return path

    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        """Write the frames recorded so far; the scene's panels are drawn in both themes."""
        with closing(self.read()) as record:

            def make() -> str:
                theme, frames = asked["theme"], asked["frames"]
                other = "dark" if get_theme(theme).name == "light" else "light"
                pictures = self._drawn(record, theme, frames)
                others = self._drawn(record, other, frames, pictures)
                return html_of(record, pictures or record.pictures, others=others, scene=self.subject, **asked)

            return write_html(path, [record.path], make, self.every)

    def save_link(self, player: str = "player.html", *, theme: str = "dark", title: str = "") -> str:
        """Return the frames recorded so far as a link; see :meth:`Recorded.save_link`."""
        with closing(self.read()) as record:
            assert isinstance(record, Recorded)  # because of `reader`
            return record.save_link(player, theme=theme, title=title)

    def _drawn(
        self, record: recording.Recorded, theme: str = "dark", most: int | None = None, like: Sequence[Picture] = ()
    ) -> list[Picture]:
        """Return pictures of the recorded scene's panels, at frames of its current network."""
        scene = self.subject
        if not isinstance(scene, Scene) or not scene.panels:
            return []
        now = [(tensor.name, tensor.shape) for tensor in scene.run.tensors]
        fitting = [k for k in range(len(record)) if [(t.name, t.shape) for t in record.shapes(k).tensors] == now]
        return panel_pictures(scene, chosen(fitting, most or len(fitting)), record.frame, theme, like=like)


def load_recording(path: StrPath) -> Recorded:
    """Open a recording for reading; close it, or use it in a ``with``.

    Parameters
    ----------
    path : path
        A file of ``sv.Recording`` or ``scalarviz SCENE --recording FILE``. If its program was killed, the file is
        repaired, or read from a copy if it cannot be written. A file that is still being written can be read.

    Returns
    -------
    Recorded
        ``.steps``, ``.loss``, ``.lr``, ``.values[name]``, ``.frame(k)``, ...

    Raises
    ------
    InputError
        There is no such file, or it is a folder.
    FileFormatError
        The file is not a recording, is of another version, or is too damaged to read. A partly damaged file opens with
        the readable part; ``.remark`` says what is missing.
    """
    return Recorded(path)
