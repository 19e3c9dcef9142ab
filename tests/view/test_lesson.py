"""What a hand teaches to a run that stands is trained until it is learnt, or for so many steps, and then it stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import TypeMismatchError
from scalarviz.run.panels import ColourCube, DigitPad, LossCurve
from scalarviz.run.scene.scene import Scene
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LEAST, MOST, LiveView

pytestmark = pytest.mark.gl
RNG = np.random.default_rng(3)
DIGITS, LABELS = RNG.random((60, 16)), np.arange(60) % 10
X = RNG.random((32, 3))
NEW = np.zeros(16)
NEW[[0, 5, 10, 15]] = 1.0


def digits(lr: float) -> Scene:
    net = nn.Sequential(nn.Linear(16, 10, seed=1))
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=lr), (DIGITS, LABELS), engine="numpy")
    names = tuple(map(str, range(10)))
    return Scene("d", run, DIGITS[0], LABELS[:1], output_names=names, panels=(DigitPad((4, 4)), LossCurve()))


def colours() -> Scene:
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return Scene("t", run, X[0], 1 - X[0], panels=(ColourCube(X, 1 - X), LossCurve()))


@pytest.fixture
def opened() -> Iterator[Callable[..., Unseen]]:
    hosts: list[Unseen] = []

    def make(scene: Scene, steps: int = 40, **options: object) -> Unseen:
        hosts.append(Unseen(lambda size: LiveView(scene, size, steps=steps, playing=False, **options)))  # type: ignore[arg-type]
        hosts[-1].pass_time(0.02)
        return hosts[-1]

    yield make
    for host in hosts:
        host.close_soon()


def draw_and_teach(host: Unseen, label: int) -> None:
    """Draw the new digit on the sheet and press its key there."""
    pad = host.view.bench.side.drawer(DigitPad)
    pad.sheet.clear()
    pad.sheet.picture[...] = NEW
    x, y, width, height = pad.sheet.box
    scale = host.view.bench.scale
    host.view.move(((x + width / 2) * scale, (y + height / 2) * scale))
    host.view.key(str(label), str(label))
    host.pass_time(0.02)


def wait(host: Unseen, seconds: float = 30.0) -> list[str]:
    """Until it stands again; returns what was said on the way, each once."""
    said: list[str] = []
    until = time.monotonic() + seconds
    while host.view.playback.running or host.view._lesson is not None:
        assert time.monotonic() < until, said
        host.pass_time(0.05)
        host.view.worker.settle()
        said += [host.view.notice()] * (host.view.notice() not in (*said, ""))
    return said


def read(host: Unseen, sample: np.ndarray = NEW) -> int:
    return int(np.argmax(host.view.run.predict(sample[None])[0]))


def test_it_stops_when_the_taught_digit_is_read_rightly(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=0.5))
    wanted = (read(host) + 1) % 10
    draw_and_teach(host, wanted)
    assert host.view.playback.running
    assert host.view.notice() == f"learning it as {wanted}: until it is read so, {MOST:,} steps at most"
    said = wait(host)
    steps = host.view.run.steps
    assert LEAST <= steps < MOST
    assert said[-1].startswith(f"read as {wanted} after ")
    assert read(host) == wanted
    for _ in range(10):
        host.pass_time(0.1)
    assert host.view.worker.settle().step == steps


def test_it_was_not_read_rightly_before_it_stopped(opened: Callable[..., Unseen]) -> None:
    """A fresh run that learns the same shows at which step it would have been read rightly."""
    host = opened(digits(lr=0.5))
    wanted = (read(host) + 1) % 10
    draw_and_teach(host, wanted)
    wait(host)
    twin = digits(lr=0.5).run
    twin.add_samples(NEW[None], np.array([[wanted]]))
    twin.step(host.view.run.steps)
    assert np.array_equal(twin.values, host.view.run.values)
    assert int(np.argmax(twin.predict(NEW[None])[0])) == wanted


def test_what_is_not_learnt_stops_at_the_stated_step(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=1e-9))
    wanted = (read(host) + 1) % 10
    draw_and_teach(host, wanted)
    host.view.send("faster")
    host.view.send("faster")
    said = wait(host)
    assert host.view.run.steps == MOST
    assert said[-1] == f"not yet read as {wanted} after {MOST:,} steps; Space goes on"


def test_what_is_known_already_is_trained_for_a_moment(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=1e-9))
    draw_and_teach(host, read(host))
    wait(host)
    assert LEAST <= host.view.run.steps < MOST


def test_past_the_end_it_stops_too_and_space_goes_on_without_an_end(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=0.5), steps=40)
    host.view.send("step", 40)
    host.view.worker.settle()
    host.pass_time(0.02)
    draw_and_teach(host, (read(host) + 1) % 10)
    wait(host)
    stood = host.view.run.steps
    assert 40 + LEAST <= stood < 40 + MOST
    host.view.key("Space")
    for _ in range(20):
        host.pass_time(0.1)
        host.view.worker.settle()
    assert host.view.run.steps > stood
    assert host.view.playback.running


def test_a_run_that_trains_goes_on_to_its_own_end(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=0.5), steps=3000)
    host.view.key("Space")
    host.pass_time(0.1)
    draw_and_teach(host, 3)
    assert host.view._lesson is None
    assert host.view.playback.end == 3000


def test_in_the_middle_of_a_run_the_end_stays_where_it_was(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=0.5), steps=3000)
    host.view.send("step", 5)
    host.view.worker.settle()
    host.pass_time(0.02)
    draw_and_teach(host, (read(host) + 1) % 10)
    wait(host)
    assert host.view.playback.end == 3000
    assert "paused  ·" in host.view.pace_text()


def test_space_breaks_the_lesson_off(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=1e-9), steps=3000)
    draw_and_teach(host, (read(host) + 1) % 10)
    host.view.key("Space")
    host.pass_time(0.1)
    assert host.view._lesson is None
    assert not host.view.playback.running
    assert host.view.playback.end == 3000


def test_a_second_lesson_takes_the_place_of_the_first(opened: Callable[..., Unseen]) -> None:
    host = opened(digits(lr=1e-9), steps=3000)
    first = (read(host) + 1) % 10
    draw_and_teach(host, first)
    for _ in range(5):
        host.pass_time(0.1)
        host.view.worker.settle()
    draw_and_teach(host, (first + 1) % 10)
    assert host.view.notice().startswith(f"learning it as {(first + 1) % 10}")
    assert host.view.playback.end > MOST


def test_a_taught_colour_is_trained_for_the_stated_steps(opened: Callable[..., Unseen]) -> None:
    host = opened(colours())
    cube = host.view.bench.side.drawer(ColourCube)
    cube.retarget(tuple(X[0]), (1.0, 1.0, 1.0))
    host.pass_time(0.02)
    assert host.view.notice() == f"learning that: {MOST:,} steps"
    host.view.send("faster")
    host.view.send("faster")
    assert wait(host)[-1] == f"{MOST:,} steps later; Space goes on"
    assert host.view.run.steps == MOST


def test_a_misspelt_argument_is_refused_in_words():
    with pytest.raises(TypeMismatchError, match=r"lesson has no argument 'hidden'; .* 'hide'\? It takes number, hide"):
        sv.lesson("01", hidden=("lr",))
    with pytest.raises(TypeMismatchError, match=r"picture has no argument 'them'; .* 'theme'\? It takes theme, size"):
        sv.view.picture(sv.Weight(0.5), them="dark")
