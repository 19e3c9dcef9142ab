"""The film and the pictures that a run leaves: which, whether they can be made here, and making them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InputError, MissingDependencyError, listing
from .io import check_target, save_picture
from .io.pictures import FORMATS

if TYPE_CHECKING:
    from .run.scene import Scene

FOLDER = Path("out")
FILM = ".mp4"


@dataclass(slots=True)
class Outputs:
    """What is to be written of the picture.

    Attributes
    ----------
    films, stills : list of Path
    options : SceneOptions
        Size, frames a second, duration and colour map.
    notes : list of str
        What the user should know beforehand.
    refused : str
        Why files that were asked for by name cannot be made here; empty if they can.
    """

    films: list[Path]
    stills: list[Path]
    options: Any
    notes: list[str] = field(default_factory=list)
    refused: str = ""
    _painter: _Painter | None = None

    @contextmanager
    def film(self, scene: Scene, steps: int) -> Iterator[Iterator[int]]:
        """Steps to train to, one after another; each film gets a frame for every one. Without films: the last step."""
        run = scene.run
        if not self.films:
            yield iter([run.steps + steps])
            return
        from .view.film import Film, pace

        first, stops = run.steps, pace(steps, self.options.duration, self.options.fps)
        painter = self._painter = _Painter(scene, self.options)
        with ExitStack() as stack:
            films = [stack.enter_context(Film(path, self.options.size, self.options.fps)) for path in self.films]

            def show(pace_text: str) -> None:
                picture = painter.picture(pace_text, 1 / self.options.fps)
                for film in films:
                    film.add(picture)

            def frames() -> Iterator[int]:
                for number, stop in enumerate(stops):
                    yield first + int(stop)
                    show(_pace_text(scene, stops, number, self.options.fps))

            yield frames()
            if not films[0].frames:  # interrupted in the first frame: a film shows at least how it stands
                show(str(run.engine))

    def pictures(self, scene: Scene) -> list[Path]:
        """Write the stills; returns every file of the picture that was written, films included."""
        if self.stills:
            painter = self._painter or _Painter(scene, self.options)  # the film's has gathered the test curve
            image = painter.still(f"{scene.run.full_speed:,.0f} steps/s  ·  {scene.run.engine}")
            for path in self.stills:
                save_picture(path, image)
        return [*self.films, *self.stills]


class _Painter:
    """Draws one scene at one size, offscreen."""

    def __init__(self, scene: Scene, options: Any) -> None:
        from .view.offscreen import offscreen
        from .view.workbench import Workbench

        self.scene, self._screen, self._size = scene, offscreen(), options.size
        cmap = options.cmap if options.given("cmap") else None
        with self._screen:
            self._bench = Workbench(scene, options.size, cmap=cmap)

    def picture(self, pace_text: str, seconds: float) -> Any:
        """The run as it stands, `seconds` after the last picture: uint8 (H, W, 3)."""
        self._update(pace_text, seconds)
        return self._screen.render(self._bench.draw, self._size)

    def still(self, pace_text: str) -> Any:
        """The same drawn at twice the size and averaged, for smooth edges."""
        with self._screen:
            self._bench.resize(self._size, supersample=2)
        self._update(pace_text, None)
        return self._screen.render(self._bench.draw, self._size, supersample=2)

    def _update(self, pace_text: str, seconds: float | None) -> None:
        with self._screen:
            self._bench.update(self.scene.run.frame(self.scene.probe), pace_text, seconds)


def _pace_text(scene: Scene, stops: Any, number: int, fps: int) -> str:
    run = scene.run
    pace = int(stops[max(1, number)] - stops[max(1, number) - 1])
    shown = f"{pace * fps:,} of {run.full_speed:,.0f} steps/s"
    return f"pace {pace} step{'' if pace == 1 else 's'} a frame  ·  {shown}  ·  {run.engine}"


def plan_outputs(name: str, options: Any) -> Outputs:
    """Which films and pictures a run will leave.

    Raises
    ------
    InputError
        A name that ends in neither .mp4 nor a picture's suffix, or that cannot be written.
    MissingDependencyError
        A film that was asked for by name, without the ``video`` extra.
    """
    outputs = _named(options) if options.out or options.headless else _usual(name, options)
    if (outputs.films or outputs.stills) and (reason := _no_drawing(options)):
        outputs.films, outputs.stills = [], []
        if options.out:
            outputs.refused = reason
        else:
            outputs.notes.append(reason)
    return outputs


def _named(options: Any) -> Outputs:
    films = [path for path in options.out if path.suffix.lower() == FILM]
    stills = [path for path in options.out if path.suffix.lower() in FORMATS]
    for path in options.out:
        if path not in films and path not in stills:
            raise InputError(f"--out {path}: allowed are a film ({FILM}) or a picture ({listing(FORMATS)})")
        check_target(path)
    if films:
        from .view.film import check_video

        check_video()
    return Outputs(films, stills, options)


def _usual(name: str, options: Any) -> Outputs:
    outputs = Outputs([FOLDER / f"{name}{FILM}"], [FOLDER / f"{name}.png"], options)
    for path in (*outputs.films, *outputs.stills):
        check_target(path)
    try:
        from .view.film import check_video

        check_video()
    except MissingDependencyError as error:
        outputs.films = []
        outputs.notes.append(f"no film, only a picture: {error}")
    return outputs


def _no_drawing(options: Any) -> str:
    """Why nothing can be drawn here, or an empty text; also refuses a colour map that does not exist."""
    from .view.colors import get_map
    from .view.offscreen import available

    get_map(options.cmap)
    return available()
