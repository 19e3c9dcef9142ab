"""The first two minutes: a window opens paused under one large line, begins, and says at its end what it has learnt."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Story
from scalarviz.run.controls import Reader
from scalarviz.run.edits import SetWeights
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.sketch import meet
from scalarviz.view.ink.text import CAP_HEIGHT, loss_text
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.screen.story import Cap, Told
from scalarviz.view.watch.actions import BY_NAME
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.telling import BREATHING, FADE, REST, WAIT, learnt
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
SENTENCE = "They should turn every colour into its opposite."
CLAIM = "Each output now falls when its own colour rises."
SIZES = [(1280, 720), (1920, 1080), (960, 540), (640, 480), (720, 1280), (520, 720)]
STEPS = 60


def scene(*hidden: int, lr: float = 5.0, told: bool = True, **story: Any) -> Scene:
    layers: list[nn.Module] = []
    for n_in, n_out in zip((3, *hidden), (*hidden, 3), strict=True):
        layers += [nn.Linear(n_in, n_out), nn.Sigmoid()]
    net = nn.Sequential(*layers)
    net.initialize(nn.init.uniform(0, 1), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (X, 1 - X), engine="numpy")
    said = Story(SENTENCE, **story) if told else None
    return Scene("t", run, X[0], 1 - X[0], panels=(ColourCube(GRID, 1 - GRID), LossCurve()), story=said)


@pytest.fixture
def opened() -> Iterator[Callable[..., Unseen]]:
    hosts: list[Unseen] = []

    def make(made: Scene | None = None, size: tuple[int, int] = (1280, 720), **options: Any) -> Unseen:
        options = {"wait": WAIT, "steps": STEPS, "duration": 0.5, **options}
        hosts.append(Unseen(lambda wanted: LiveView(made or scene(), wanted, **options), size))
        hosts[-1].pass_time(0.02)
        return hosts[-1]

    yield make
    for host in hosts:
        host.close_soon()


def words(host: Unseen) -> list[str]:
    return [item.text for sketch in host.view.bench.sketches for item in sketch.texts]


def pass_time(host: Unseen, seconds: float, tick: float = 0.1) -> None:
    for _ in range(round(seconds / tick)):
        host.pass_time(tick)


def run_to_the_end(host: Unseen) -> None:
    view = host.view
    view.send("toggle_run")
    for _ in range(400):
        host.pass_time(0.05)
        view.worker.settle()
        if not view.playback.running:
            break
    assert view.worker.latest.step == STEPS
    pass_time(host, REST + FADE + 0.3, 0.05)


def at(host: Unseen, key: str) -> tuple[float, float]:
    """Device pixel of the middle of a key cap."""
    x, y, wide, high = next(spot.box for spot in host.view.bench.story.spots if spot.words.startswith(f"{key} "))
    scale = host.view.bench.scale
    return (x + wide / 2) * scale, (y + high / 2) * scale


def click(host: Unseen, point: tuple[float, float]) -> None:
    host.view.press(point)
    host.view.release(point)
    host.pass_time(0.02)


# ---- the start


def test_it_opens_paused_under_one_large_line(opened: Callable[..., Unseen]) -> None:
    host = opened()
    said = words(host)
    assert {"12 weights.", SENTENCE, "Space", "begin", "Right", "one step", "?", "all keys"} <= set(said)
    assert not host.view.playback.running
    assert host.view.run.steps == 0
    assert not any("σ(" in text for text in said)  # the sentence is alone
    assert "hide panels" not in said
    assert any("nothing has been learnt yet" in text for text in said)
    big = next(item for s in host.view.bench.sketches for item in s.texts if item.text == "12 weights.")
    assert (big.size, big.bold) == (26, True)
    assert next(i for s in host.view.bench.sketches for i in s.texts if i.text == SENTENCE).size == 22


TOUCHES: dict[str, Callable[[LiveView], object]] = {
    "nothing": lambda view: None,
    "key": lambda view: view.key("G"),
    "a key without a meaning": lambda view: view.key("F8"),
    "press": lambda view: (view.press((600.0, 100.0)), view.release((600.0, 100.0))),
    "wheel": lambda view: view.scroll((600.0, 300.0), (0.0, 1.0)),
}


@pytest.mark.parametrize("touch", list(TOUCHES))
def test_it_begins_when_nothing_was_touched_for_four_seconds(opened: Callable[..., Unseen], touch: str) -> None:
    host = opened()
    host.pass_time(3 * WAIT)  # which the window needed to come up: no more than a moment of it counts
    assert not host.view.playback.running
    for k in range(round(WAIT / 0.1) - 7):
        host.view.move((300.0 + k, 300.0))  # is no touch
        host.pass_time(0.1)
    TOUCHES[touch](host.view)
    pass_time(host, WAIT - 0.3 if touch != "nothing" else 0.2)
    assert not host.view.playback.running
    pass_time(host, 0.5)
    assert host.view.playback.running


OPEN: dict[str, Callable[[LiveView], object]] = {
    "the list of keys": lambda view: view.send("toggle_help"),
    "the inspector": lambda view: view.bench.select(3),
    "a step": lambda view: view.key("."),
    "a button held": lambda view: view.press((600.0, 100.0)),
}


@pytest.mark.parametrize("what", list(OPEN))
def test_nothing_begins_while_something_is_open(opened: Callable[..., Unseen], what: str) -> None:
    host = opened()
    OPEN[what](host.view)
    pass_time(host, 3 * WAIT)
    assert not host.view.playback.running
    host.view.release((600.0, 100.0)) if what == "a button held" else host.view.send("escape")
    pass_time(host, WAIT + 0.2)
    assert host.view.playback.running


def test_a_window_told_to_wait_waits_for_ever_and_comes_to_rest(opened: Callable[..., Unseen]) -> None:
    host = opened(wait=None)
    spot, edge = host.view.bench.story.spots[0], []
    x, y = round(spot.box[0] + spot.box[2] / 2), round(spot.box[1])
    for _ in range(20):  # the first cap breathes
        host.pass_time(0.1)
        edge.append(int(host.picture()[y, x].sum()))
    assert max(edge) > min(edge) + 150
    assert int(np.argmin(edge)) in range(7, 13)  # two seconds from bright to bright
    pass_time(host, BREATHING + 1, 0.25)
    before = host.drawings
    pass_time(host, 5)
    assert host.drawings == before  # nothing happens: nothing is drawn
    assert not host.view.playback.running
    assert SENTENCE in words(host)


def test_space_begins_and_the_sentence_fades_before_the_formulas_come(opened: Callable[..., Unseen]) -> None:
    host = opened(steps=3000, duration=60.0)
    host.view.key("Space")
    seen = []
    for _ in range(6):
        host.pass_time(0.1)
        alphas = [i.colour[3] for s in host.view.bench.sketches for i in s.texts if i.text == SENTENCE]
        seen.append(alphas[0] if alphas else 0.0)
        assert not (seen[-1] and any("σ(" in text for text in words(host)))
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 1.0
    assert 0.0 < seen[2] < seen[1] < 1.0
    assert seen[-1] == 0.0
    assert any("σ(" in text for text in words(host))
    assert "hide panels" in words(host)
    host.view.key("Space")  # paused again: what has been read is not said again
    pass_time(host, 1)
    assert SENTENCE not in words(host)
    pass_time(host, 2 * WAIT)
    assert not host.view.playback.running


@pytest.mark.parametrize("key", ["Space", "Right", "?"])
def test_the_caps_are_keys(opened: Callable[..., Unseen], key: str) -> None:
    host = opened()
    view = host.view
    click(host, at(host, key))
    view.worker.settle()
    assert {"Space": view.playback.running, "Right": view.run.steps == 1, "?": view.bench.help == 1}[key]
    pass_time(host, WAIT + 1)
    assert (SENTENCE in words(host)) is (key == "?")  # one step by hand is a beginning too


def test_a_loaded_run_begins_with_its_story_too(opened: Callable[..., Unseen]) -> None:
    made = scene()
    made.run.step(25)
    host = opened(made)
    assert SENTENCE in words(host)
    assert not any("nothing has been learnt yet" in text for text in words(host))


@pytest.mark.parametrize("playing", [False, True])
def test_a_program_that_plays_or_stands_by_itself_has_no_opening(opened: Callable[..., Unseen], playing: bool) -> None:
    host = opened(playing=playing, wait=0.0)
    assert SENTENCE not in words(host)
    assert host.view.playback.running is playing


@pytest.mark.parametrize(("paused", "waits"), [(False, WAIT), (True, None)])
def test_show_begins_by_itself_or_waits(paused: bool, waits: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    module, given = importlib.import_module("scalarviz.view.show"), dict[str, Any]()
    assert inspect.signature(module.show).parameters["paused"].default is False
    monkeypatch.setattr(module, "LiveView", lambda *args, **options: given.update(options))
    module._viewer(scene(), (1280, 720), STEPS, 0.5, "dark", None, paused)
    assert given["wait"] == waits


# ---- the end


CLAIMS: dict[str, tuple[dict[str, Any], set[str], set[str], list[str]]] = {
    "claimed": ({"claim": lambda moment: f"This is said of step {moment.step}."},
                {"Learnt.", f"This is said of step {STEPS}.", "Click", "a cube", "Shift+Wheel", "on it: break it"},
                set(), []),
    "none": ({"claim": None}, {"Learnt."}, set(), []),
    "empty": ({"claim": lambda moment: ""}, {"Learnt."}, set(), []),
    "raises": ({"claim": lambda moment: str(1 / 0)}, {"Learnt."}, set(),
               ["the story's claim: ZeroDivisionError: division by zero"]),
    "stopped": ({"lr": 1e-4, "claim": lambda moment: "It has learnt everything."}, {"Stopped at loss "},
                {"Learnt.", "It has learnt everything."}, []),
    "reached": ({"claim": lambda moment: "Three of four.", "reached": lambda moment: True},
                {"Learnt.", "Three of four."}, set(), []),
    "missed": ({"claim": lambda moment: "Three of four.", "reached": lambda moment: False},
               {"Stopped at loss ", "Three of four."}, {"Learnt."}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CLAIMS))
def test_at_the_end_it_says_what_has_come_of_it(opened: Callable[..., Unseen], name: str) -> None:
    options, there, absent, told = CLAIMS[name]
    host, plain = opened(scene(**options)), scene(**options).run
    plain.step(STEPS)
    camera = host.view.bench.camera
    run_to_the_end(host)
    said, losses = words(host), host.view.run.history.curve().loss
    assert all(any(one.startswith(text) for one in said) for text in there)
    assert not absent & {*said}
    assert host.told == told
    assert any(loss_text(float(losses[-1])) in text for text in said)
    assert (f"loss {loss_text(float(losses[0]))}" in said) == ("Learnt." in there)
    assert (losses[-1] < losses[0] / 2) == (name != "stopped")
    assert host.view.bench.camera is camera
    assert BY_NAME["restart"].keys[0] in said
    assert np.array_equal(plain.values, host.view.run.values)  # looking at it changes no bit


def test_it_comes_half_a_second_after_the_last_step_and_fades_in(opened: Callable[..., Unseen]) -> None:
    host = opened()
    host.view.send("step", STEPS)
    host.view.worker.settle()
    host.pass_time(0.05)
    assert "Learnt." not in words(host)
    pass_time(host, REST - 0.1, 0.05)
    assert "Learnt." not in words(host)
    pass_time(host, 0.2, 0.05)
    alpha = [i.colour[3] for s in host.view.bench.sketches for i in s.texts if i.text == "Learnt."]
    assert 0 < alpha[0] < 1
    pass_time(host, FADE, 0.05)
    alpha = [i.colour[3] for s in host.view.bench.sketches for i in s.texts if i.text == "Learnt."]
    assert alpha == [1.0]


@pytest.mark.parametrize("size", [(1280, 720), (640, 480)])
def test_the_end_stands_until_something_else_happens(opened: Callable[..., Unseen], size: tuple[int, int]) -> None:
    host = opened(size=size)
    run_to_the_end(host)
    before = host.view.run.values.copy()
    click(host, at(host, "Shift+Wheel"))
    assert host.view.notice() == "Shift+Wheel over a cube: change that weight"
    host.view.bench.select(4)
    host.view.refresh()
    pass_time(host, 0.3)
    assert ("Learnt." in words(host)) is bool(host.view.bench.story.spots) is (size[0] > 1000)
    host.view.send("escape")
    pass_time(host, 0.3)
    assert "Learnt." in words(host)
    assert np.array_equal(host.view.run.values, before)
    host.view.put(0, 9.0)
    host.view.worker.settle()
    pass_time(host, 0.2)
    assert "Learnt." not in words(host)
    assert size[0] < 1000 or "hide panels" in words(host)  # the line of keys is there again


def test_going_on_past_the_end_ends_the_end(opened: Callable[..., Unseen]) -> None:
    host = opened()
    run_to_the_end(host)
    for _ in range(2):
        host.view.key("Space")
        pass_time(host, 0.3)
        host.view.worker.settle()  # it has had the time
    pass_time(host, 2)
    assert host.view.run.steps > STEPS
    assert "Learnt." not in words(host)


@pytest.mark.parametrize(
    ("losses", "batches", "expected"),
    [
        ([1.0, 0.5], 1, True), ([1.0, 0.51], 1, False), ([1.0, np.nan], 1, False), ([1.0, np.inf], 1, False),
        ([0.0, 0.0], 1, True), ([-1.0, -1.2], 1, False), ([-1.0, -1.5], 1, True), ([1.0], 1, False),
        ([1.0, 1.1, 0.9, 1.0, 0.2, 0.1, 0.3, 0.9], 2, False), ([1.0, 1.1, 0.9, 1.0, 0.2, 0.1, 0.1, 0.7], 2, True),
    ],
)  # fmt: skip
def test_when_something_has_been_learnt(losses: list[float], batches: int, expected: bool) -> None:
    assert learnt(np.array(losses), batches) is expected
    assert learnt(np.array([3.0, 2.4]), 1, 0.2)  # a scene says how far its loss has to fall
    assert not learnt(np.array([3.0, 2.4]), 1, 0.21)


# ---- where it stands


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("hidden", [(), (16, 16)])
@pytest.mark.parametrize("ends", [False, True])
def test_nothing_overlaps_nor_leaves_the_picture(
    opened: Callable[..., Unseen], size: tuple[int, int], hidden: tuple[int, ...], ends: bool
) -> None:
    host = opened(scene(*hidden, claim=lambda moment: CLAIM), size)
    if ends:
        host.view.bench.story.told = Told(
            "Learnt.",
            CLAIM,
            (Cap("R", "again"), Cap("Click", "a cube"), Cap("Shift+Wheel", "on it: break it")),
            ("0.1326", "0.0018"),
        )
        with offscreen():
            host.view.bench.update(host.view.frame(), "", 0.2)
    bench = host.view.bench
    items = [item for sketch in bench.sketches for item in sketch.texts]
    assert any(item.text in SENTENCE or item.text in CLAIM for item in items)
    assert min(item.size for item in items) >= 13
    found = [(item.left, item.y - CAP_HEIGHT * item.size, item.width, CAP_HEIGHT * item.size) for item in items]
    caps = [spot.box for spot in bench.story.spots]
    for every in (found, caps):
        for k, (x, y, wide, high) in enumerate(every):
            assert min(x, y) >= 0
            assert x + wide <= bench.places.size[0]
            assert y + high <= bench.places.size[1]
            assert not [other for other in every[:k] if meet(other, (x, y, wide, high))], items[k].text


@pytest.mark.parametrize("size", [(200, 160), (1280, 720)])
def test_a_picture_too_small_for_it_and_hidden_panels_have_none(
    opened: Callable[..., Unseen], size: tuple[int, int]
) -> None:
    host = opened(size=size)
    assert (SENTENCE in words(host)) is (size[0] > 200)
    host.view.send("toggle_panels")
    host.pass_time(0.1)
    assert SENTENCE not in words(host)
    assert host.view.bench.story.spots == []


def test_a_scene_without_a_story_says_how_much_it_learns_and_a_film_nothing(opened: Callable[..., Unseen]) -> None:
    made = scene(told=False)
    host = opened(made)
    assert {"12 weights.", "They should learn 64 examples."} <= set(words(host))
    with offscreen():
        bench = Workbench(made, (1280, 720))
        bench.update(made.run.frame(made.probe))
    assert bench.story.told is None
    assert bench.story.sketches == []


def test_a_weight_that_is_exactly_nothing_prints_a_plain_zero(opened: Callable[..., Unseen]) -> None:
    made = scene()
    made.run.do(SetWeights(0, [0.0, 0.001, -0.001]))
    host = opened(made)
    assert [item.text for item in host.view.bench._on_cubes[0].texts][:3] == ["0", "0.00", "0.00"]


def test_the_opening_follows_what_a_hand_changes_before_the_first_step(opened: Callable[..., Unseen]) -> None:
    module = importlib.import_module("scalarviz.scenes.playground")
    made = module.build(module.Options(engine="numpy"))
    host = opened(made, wait=None)
    assert {"25 weights.", "They should tell the disc from the ring around it."} <= set(words(host))
    source = host.view.bench.subject.source
    controls = {control.label: control for control in made.controls}
    for name, value in (("x\N{SUPERSCRIPT TWO}", True), ("data", "spiral")):
        source.edit(controls[name].change(value, Reader(host.view.worker.latest, source, made.options)))
        host.view.worker.settle()
        pass_time(host, 0.3)
    assert made.run.n_weights == 29
    assert "29 weights." in words(host)
    assert "They should tell two spirals apart that wind around each other." in words(host)
