"""`Comparison`: two recordings at the same steps, for a window, a picture, or a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...io.atomic import StrPath
from ...run.sources.recorded_pair import RecordedPair


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
        from .page import write_comparison

        return write_comparison(self, path, theme=theme, size=size, title=title, frames=frames)


def names_of(paths: Sequence[Path]) -> list[str]:
    """What each is called: its file without the ending, with the folder where other files are called alike."""
    names, files = [path.stem for path in paths], {path.absolute() for path in paths}
    if len(set(names)) < len(files):
        names = [f"{path.absolute().parent.name}/{path.stem}" for path in paths]
    return names
