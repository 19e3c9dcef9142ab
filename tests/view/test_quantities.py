"""What cubes can show: drawn colours against formulas written here, names, keys, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import said
from kit.refusals import refusals
from scalarviz import Run, nn, optim
from scalarviz.errors import TypeMismatchError, UnknownNameError
from scalarviz.run import Scene
from scalarviz.run.edits import Change
from scalarviz.run.questions.ranges import extent
from scalarviz.view.cubes.scale import OWN
from scalarviz.view.ink.maps import get_map
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.render import render
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((16, 3))
SIZE = (960, 540)
MAGNITUDES = {"|gradient|": 4, "exp_avg_sq": 8}
NAMES = ("weight", "gradient", "|gradient|", "update", "update/value", "exp_avg", "exp_avg_sq")
NONE_KEPT = "the optimiser here keeps none"


def adam(parameters):
    return optim.Adam(parameters, lr=0.05)


def plain(parameters):
    return optim.SGD(parameters, lr=0.1)


def momentum(parameters):
    return optim.SGD(parameters, lr=0.1, momentum=0.5)


def run(rule=adam, steps=5):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    made = Run(net, nn.MSELoss(), rule(net.parameters()), (X, 1 - X), engine="numpy")
    made.step(steps)
    return made


def expected(name, frame):
    """Where each weight lies on its legend, 0 to 1, by formulas of this file's own."""
    if name == "update/value":
        ratio = np.abs(frame.update.astype(float)) / np.abs(frame.values.astype(float))
        return np.clip((np.log10(ratio) + 6) / 6, 0, 1)
    numbers = {
        "weight": frame.values,
        "gradient": frame.gradient,
        "|gradient|": np.abs(frame.gradient),
        "update": frame.update,
        **frame.state,
    }[name].astype(float)
    v = extent(numbers)
    if name in MAGNITUDES:
        return np.clip(1 + np.log10(numbers / v) / MAGNITUDES[name], 0, 1)
    share = numbers / v if name == "weight" else np.sign(numbers) * np.log(1 + 80 * np.abs(numbers) / v) / np.log(81)
    return np.clip(0.5 + 0.5 * share, 0, 1)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("name", NAMES)
def test_every_cube_has_the_colour_that_the_formula_says(name, theme):
    subject = subject_of(run())
    bench, frame = Workbench(subject, SIZE, theme, quantity=name), subject.frame(state=True)
    bench.update(frame)
    image = offscreen().render(lambda box: bench.slab.draw(bench.camera, box), SIZE)
    cmap = get_map(bench.colouring.shows.cmap, theme)
    own = name if name in ("weight", "gradient", "update") else "gradient"
    assert cmap.name == ("viridis" if name in MAGNITUDES or "/" in name else own)
    unit = expected(name, frame)
    for plate in bench.layout.plates:
        for element in range(plate.size if plate.start >= 0 else 0):
            x, y = bench.camera.project(plate.centre_of(element) + plate.depth * plate.axes[2])[0]
            place = unit[plate.start + element]
            wanted = 255 * cmap(2 * place - 1 if cmap.diverging else place)
            np.testing.assert_allclose(image[int(y), int(x)].astype(float), wanted, atol=3)


def test_no_update_is_none_beside_any_value_and_all_of_a_zero():
    frame = subject_of(run()).frame()
    frame.update[:3], frame.values[:3] = (0.0, 0.0, 1.0), (0.0, 2.0, 0.0)
    assert list(OWN["update/value"].numbers(frame)[:3]) == [0.0, 0.0, np.inf]


def test_what_the_optimiser_keeps_is_of_the_step_that_is_shown():
    made = run(steps=30)
    now, past = (render(made, SIZE, quantity="exp_avg", step=step) for step in (None, 7))
    assert made.steps == 30
    np.testing.assert_array_equal(render(made, SIZE, quantity="exp_avg"), now)
    made.to(7)
    np.testing.assert_array_equal(render(made, SIZE, quantity="exp_avg"), past)
    assert np.any(past != now)


def shown(rule, quantity):
    return lambda: render(run(rule), SIZE, quantity=quantity)


def own(quantity):
    w = sv.Weight(0.5, name="w")
    (w * w).backward()
    return render(w, (320, 200), quantity=quantity)


@refusals(
    {
        **{
            f"{name!r}": (shown(momentum, name), UnknownNameError, "|gradient|, update, update/value, momentum_buffer")
            for name in ("exp_avg", "v", "")
        },
        **{f"{name!r}": (shown(momentum, name), TypeMismatchError, "") for name in (3, None)},
        "of plain descent": (shown(plain, "exp_avg"), UnknownNameError, "keeps no others"),
        "of numbers of one's own": (lambda: own("exp_avg"), UnknownNameError, "keeps no others"),
    }
)
def test_a_name_that_there_is_not_says_which_there_are(refusal):
    assert own("|gradient|").shape == (200, 320, 3)
    refusal.check()


# ---- in a window


@pytest.fixture
def live(request):
    rule, steps = getattr(request, "param", (adam, 5))
    view = Unseen(lambda size: LiveView(Scene("t", run(rule, steps)), SIZE, playing=False)).view
    with offscreen():
        view.tick(0.0)
        yield view
        view.close()


def settled(view):
    for _ in range(50):
        view.worker.settle()
        view.tick(0.02)
        if not view.bench.colouring.missing(view.shown).any():
            return


def test_keys_go_through_what_there_is(live):
    names = []
    for key in "gggqmmmw":
        live.key(key, key)
        names.append(live.bench.colouring.quantity)
    assert names == ["gradient", "|gradient|", "gradient", "update/value", "exp_avg", "exp_avg_sq", "exp_avg", "weight"]


def test_a_window_gets_the_numbers_when_they_are_looked_at_and_no_longer(live):
    assert live.shown.state == {}
    live.key("m", "m")
    live.tick(0.02)  # the numbers are on their way
    settled(live)
    assert set(live.shown.state) == {"exp_avg", "exp_avg_sq"}
    np.testing.assert_array_equal(live.bench.colouring.flat, live.shown.state["exp_avg"])
    assert live.bench.colouring.range.high == extent(live.shown.state["exp_avg"])
    live.key("w", "w")
    live.send("step", 3)
    settled(live)
    assert live.worker.request().result(5).state == {}


@pytest.mark.parametrize("live", [(plain, 5)], indirect=True)
def test_a_rule_without_memory_says_so(live):
    live.key("m", "m")
    assert live.notice().startswith("M: ")
    assert live.bench.colouring.quantity == "weight"


@pytest.mark.parametrize("live", [(momentum, 5)], indirect=True)
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("wider", [False, True])
def test_what_was_shown_and_is_kept_no_more_is_said_and_stops_nothing(live, opened, wider):
    live.key("m", "m")
    settled(live)
    if opened:
        live.send("micro_next")
        settled(live)
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2)) if wider else None
    live.change(Change(optimizer="adam", model=net))
    live.send("step")
    for _ in range(20):
        live.worker.settle()
        live.tick(0.05)
    live.key("l", "l")
    bench = live.bench
    assert "not known" not in live.notice()
    assert (bench.theme.name, bench.inside.told, bench.colouring.quantity) == ("light", None, "momentum_buffer")
    for kept, quantity in ((False, "momentum_buffer"), (True, "exp_avg")):
        live.tick(0.2)
        assert (NONE_KEPT in said(bench)) == (not kept)
        assert bench.colouring.quantity == quantity
        live.key("m", "m")


def test_the_pointer_reads_the_number_that_the_cube_shows(live):
    live.key("m", "m")
    live.key("m", "m")
    settled(live)
    bench = live.bench
    plate = next(p for p in bench.layout.plates if p.start >= 0)
    x, y = bench.project(plate.centre_of(0) + plate.depth * plate.axes[2])[0] * bench.scale
    live.move((float(x), float(y)))
    live.tick(0.3)
    texts = [item.text for layer in bench.overlays for sketch in layer for item in sketch.texts]
    mantissa = f"{live.shown.state['exp_avg_sq'][plate.start]:.1e}".partition("e")[0]
    assert any(text.startswith(f"v (exp_avg_sq) {mantissa}e") for text in texts)


@pytest.mark.parametrize("live", [(adam, 0)], indirect=True)
@pytest.mark.parametrize("key", ["g", "m", "u"])
def test_the_range_is_of_the_first_numbers_not_of_there_being_none(live, key):
    live.key(key, key)
    live.tick(0.1)
    live.send("step")
    settled(live)
    colouring = live.bench.colouring
    assert colouring.range.high == extent(colouring.flat) < 0.5
