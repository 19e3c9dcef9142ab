"""Keys and a pointer on windows that nobody sees, waiting for what happens in them, and the scene of twelve weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.viewer import Viewer, bench_of
from scalarviz.view.workbench import Workbench

from .benches import face_of, middle, said_above, said_anywhere
from .unseen import Unseen

X = np.random.default_rng(0).random((32, 3))
COLOURS = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def make_colour_run(rule: Any = optim.SGD, lr: float = 0.5, seed: int = 1, **options: Any) -> Run:
    """Twelve weights that learn to invert colours."""
    net = nn.Sequential(nn.Linear(3, 3, seed=seed), nn.Sigmoid())
    return Run(net, nn.MSELoss(), rule(net.parameters(), lr=lr), (X, 1 - X), **{"engine": "numpy", **options})


def make_colour_scene(run: Run | None = None, panels: tuple[Any, ...] | None = None) -> Scene:
    """Such a run with a sample, and a cube of colours beside its loss."""
    names, shown = ("r", "g", "b"), (ColourCube(COLOURS, 1 - COLOURS), LossCurve())
    run, panels = run or make_colour_run(), shown if panels is None else panels
    return Scene("t", run, X[0], 1 - X[0], names, names, panels)


class Hand:
    """Keys and pointer on a viewer."""

    def __init__(self, host: Unseen) -> None:
        self.host, self.view = host, host.view
        self.run = getattr(self.view, "run", None)

    @property
    def bench(self) -> Workbench:
        return self.view.bench

    def drawer(self, kind: type) -> Any:
        return self.bench.side.drawer(kind)

    def settled(self, ticks: int = 4, seconds: float = 0.25) -> Any:
        """The frame that is shown once all that was asked for is done."""
        for _ in range(ticks):
            if self.run is not None:
                self.view.worker.settle()
            self.view.tick(seconds)
        return self.view.shown

    def until(self, condition: Callable[[], bool], seconds: float = 20.0, tick: float = 0.02) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            self.view.tick(tick)
            time.sleep(0.002)

    def arrived(self) -> Any:
        """The frame that is shown when nothing is on the way any more."""
        worker, travels = self.view.worker, self.view.travels
        for _ in range(3):
            self.view.tick(0.01)
        self.until(lambda: not (worker.moving or travels._asked or travels.goal is not None), tick=0.01)
        return self.settled(3, 0.01)

    def rest(self, until: Callable[[], object] = lambda: True) -> Any:
        """The frame that is shown once all that was asked for is drawn, and `until` is true."""
        self.view.worker.settle()
        for _ in range(300):
            if self.view.tick(0.05):
                self.view.frames.mark()
            elif until():
                return self.view.shown
            time.sleep(0.001)
        raise AssertionError("it never came to rest")

    def do(self, name: str, value: int | None = None) -> Any:
        assert self.view.send(name, value), self.view.notice()
        return self.arrived()

    # ---- places, in device pixels

    def face(self, index: int) -> tuple[float, float]:
        return face_of(self.bench, index)

    def at(self, point: Any) -> tuple[float, float]:
        """Of a point in logical pixels."""
        return float(point[0]) * self.bench.scale, float(point[1]) * self.bench.scale

    def middle(self, box: Any) -> tuple[float, float]:
        return self.at(middle(box))

    @property
    def inspector(self) -> Any:
        return self.view.bench.interaction.inspector

    def number(self) -> tuple[float, float]:
        return self.spot("type")

    def spot(self, name: str, value: Any = "") -> tuple[float, float]:
        return self.middle(next(spot.box for spot in self.bench.spots if spot.click == (name, value)))

    # ---- what a hand does

    def click(self, at: tuple[float, float], **held: Any) -> None:
        self.view.press(at, **held)
        self.view.release(at)
        self.view.tick(0.02)

    def press(self, at: tuple[float, float], button: str = "left") -> Any:
        """A click and all that it asks for: the frame after it."""
        self.view.press(at, button)
        self.view.release(at)
        return self.rest()

    def double(self, at: tuple[float, float]) -> None:
        self.click(at)
        self.click(at)
        self.settled()

    def drag(self, start: tuple[float, float], *ways: tuple[float, float], button: str = "left") -> None:
        self.view.press(start, button)
        for dx, dy in ways:
            self.view.move((start[0] + dx, start[1] + dy))
            self.view.tick(0.02)
        self.view.release((start[0] + ways[-1][0], start[1] + ways[-1][1]))
        self.view.tick(0.02)

    def key(self, name: str, **held: bool) -> Any:
        """A key; returns the frame that is shown once that is done."""
        self.view.key(name, name if len(name) == 1 else "", **held)
        return self.settled()

    def type(self, text: str) -> None:
        for letter in text:
            self.view.key(None if letter == " " else letter, letter)

    # ---- what is seen

    def words(self) -> list[str]:
        """All that is written, once all that was asked for is done."""
        self.settled()
        return said_anywhere(self.bench)

    def texts(self) -> list[str]:
        """What is written over the picture."""
        return said_above(self.bench)

    def picture(self) -> np.ndarray[Any, Any]:
        self.view.refresh()
        self.view.tick(0.5)
        return offscreen().render(self.view.draw, self.view.bench.size).astype(int)


@contextmanager
def live_hand(
    scene: Scene | None = None, size: Any = (1280, 720), kind: type[Hand] = Hand, **options: Any
) -> Iterator[Any]:
    """A hand on a scene that stands."""
    shown, options = scene or make_colour_scene(), {"playing": False, **options}
    with offscreen():
        hand = kind(Unseen(lambda wanted: LiveView(shown, wanted, **options), size))
        hand.view.tick(0.0)
        with closing(hand.view):
            yield hand


@contextmanager
def mirror_hand(thing: Any, size: tuple[int, int] = (1280, 720)) -> Iterator[Hand]:
    """A hand on what somebody else changes."""
    with offscreen():
        hand = Hand(Unseen(lambda wanted: Viewer(bench_of(thing, wanted)), size))
        hand.view.tick(0.1)
        with closing(hand.view):
            yield hand


def until(host: Unseen, true: Callable[[], object], seconds: float = 60.0, tick: float = 1 / 30) -> None:
    """Let time pass, `tick` at each look, until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, host.view
        host.pass_time(tick)
        time.sleep(0.003)


def wait_until(true: Callable[[], object], seconds: float = 60.0, pause: float = 0.01) -> None:
    """Wait for what happens elsewhere."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(pause)


def middle_of_tile(host: Unseen, place: int) -> tuple[float, float]:
    """A point on a picture of a wall, in device pixels."""
    x, y, wide, high = host.view.grid.box(place)
    return (x + wide / 2) * host.view.grid.scale, (y + high / 2) * host.view.grid.scale


def wall_words(host: Unseen) -> str:
    """All that a wall says."""
    sketches = [*host.view.sketches(), *host.view.overlay()]
    return " ".join(item.text for sketch in sketches for item in sketch.texts)


def serve(window: Any, seconds: float = 0.0, until: Callable[[], object] = lambda: True) -> None:
    """Let a window of the desktop go on for a while, and until something is true."""
    least = time.monotonic() + seconds
    while time.monotonic() < least or not until():
        assert time.monotonic() < least + 20
        window.serve()
        time.sleep(0.003)
