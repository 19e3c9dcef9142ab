"""Drawing a run for films and pictures, offscreen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import ScalarvizError
from .console import say

if TYPE_CHECKING:
    from ..run.scene.scene import Scene
    from ..view.draw.theme import Theme
    from ..view.workbench import Workbench


class Painter:
    """Draws one scene, or whatever has a workbench, at one size, offscreen.

    Parameters
    ----------
    name : str
        Of what is drawn, for messages.
    options : SceneOptions
        Its size and look.
    make : callable
        ``make(size, theme, cmap)`` makes the workbench.
    """

    def __init__(
        self, name: str, options: Any, make: Callable[[tuple[int, int], Theme, str | None], Workbench]
    ) -> None:
        from ..view.draw.theme import presenting
        from ..view.window.offscreen import offscreen

        self.name, self._screen, self._size = name, offscreen(), options.size
        cmap = options.cmap if options.given("cmap") else None
        with self._screen:
            self._bench = make(options.size, presenting(options.theme, options.presenter), cmap)

    @classmethod
    def of(cls, scene: Scene, options: Any) -> Self:
        """The painter of a scene."""
        from ..view.workbench import Workbench

        return cls(scene.name, options, lambda size, theme, cmap: Workbench(scene, size, theme, cmap))

    def picture(self, pace_text: str, seconds: float) -> Any:
        """The run as it stands, `seconds` after the last picture: uint8 (H, W, 3)."""
        self._update(pace_text, seconds)
        return self._screen.render(self._bench.draw, self._size)

    def still(self, pace_text: str, step: int | None = None) -> Any:
        """The same drawn at twice the size and averaged, for smooth edges; of another `step`, if one is given."""
        from ..view.shown.standing import standing

        fine = 2 if 2 * max(self._size) <= self._screen.longest else 1
        with self._screen:
            self._bench.resize(self._size, supersample=fine)
        with standing(self._bench.subject.source, step):
            self._update(pace_text, None)
        return self._screen.render(self._bench.draw, self._size, supersample=fine)

    def _update(self, pace_text: str, seconds: float | None) -> None:
        with self._screen:
            self._bench.update(self._bench.subject.frame(), pace_text, seconds)
        told = self._bench.side.ground.notes  # what a panel of the scene's own could not paint
        for line in told:
            say(f"{self.name}: {line}")
        told.clear()


class Reel:
    """The films of a run; a context manager. A film that cannot be written ends; the training goes on without it.

    Attributes
    ----------
    failure : str
        Why there is no film, empty if there is.
    frames : int
        Frames in each film so far.
    """

    def __init__(self, paths: list[Path], painter: Painter, size: tuple[int, int], fps: int) -> None:
        self.failure, self.frames = "", 0
        self._paths, self._painter, self._size, self._fps = paths, painter, size, fps
        self._stack, self._films = ExitStack(), []  # type: ExitStack, list[Any]

    def __enter__(self) -> Self:
        from ..view.gif import film_of

        with self._told():
            self._films = [self._stack.enter_context(film_of(path, self._size, self._fps)) for path in self._paths]
        return self

    def add(self, pace_text: str) -> bool:
        """One more frame: the run as it stands. Returns whether there is still a film."""
        if self.failure:
            return False
        picture = self._painter.picture(pace_text, 1 / self._fps)
        with self._told():
            for film in self._films:
                film.add(picture)
            self.frames += 1
        return not self.failure

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._told():
            self._stack.__exit__(kind, error, trace)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn an error of the disk or the encoder into `failure`, and leave no half film behind."""
        try:
            yield
        except (OSError, ScalarvizError) as error:
            self.failure = self.failure or f"the film could not be written: {_first_line(error)}"
            with suppress(OSError, ScalarvizError):
                self._stack.__exit__(type(error), error, error.__traceback__)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
