"""What cubes show: colours against formulas written here, names, keys, marks below the legends, running statistics."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, rgb, said, texts, words
from kit.refusals import refusals
from kit.runs import make_run
from kit.windows import live_hand, make_colour_run, make_colour_scene
from scalarviz import nn, optim
from scalarviz.errors import TypeMismatchError, UnknownNameError
from scalarviz.run.edits import Change
from scalarviz.run.questions.diagnosis import diagnose
from scalarviz.run.questions.ranges import extent
from scalarviz.view.cubes.scale import QUANTITIES, Coloring
from scalarviz.view.ink.text import figure
from scalarviz.view.ink.theme import DARK, get_map
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.render import render
from scalarviz.view.screen.account import account_of
from scalarviz.view.screen.inspector import Inspector
from scalarviz.view.screen.strip import WORDS
from scalarviz.view.shown.names import Identity, who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import layout_for

pytestmark = pytest.mark.gl
SIZE = (960, 540)
MAGNITUDES = {"|gradient|": 4, "exp_avg_sq": 8}
NAMES = ("weight", "gradient", "|gradient|", "update", "update/value", "exp_avg", "exp_avg_sq")
NONE_KEPT = "not stored by this optimiser"


def run(rule=optim.Adam, steps=5, **options):
    made = make_colour_run(lambda parameters, lr: rule(parameters, lr=0.05, **options))
    made.step(steps)
    return made


def expected(name, frame):
    """Where each weight lies on its legend, 0 to 1, by formulas of this file's own."""
    if name == "update/value":
        ratio = np.abs(frame.update.astype(float)) / np.abs(frame.values.astype(float))
        return np.clip((np.log10(ratio) + 6) / 6, 0, 1)
    own = {"weight": frame.values, "gradient": frame.gradient, "update": frame.update, **frame.state}
    numbers = (np.abs(frame.gradient) if name == "|gradient|" else own[name]).astype(float)
    v = extent(numbers)
    if name in MAGNITUDES:
        return np.clip(1 + np.log10(numbers / v) / MAGNITUDES[name], 0, 1)
    share = numbers / v if name == "weight" else np.sign(numbers) * np.log(1 + 80 * np.abs(numbers) / v) / np.log(81)
    return np.clip(0.5 + 0.5 * share, 0, 1)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("name", NAMES)
def test_every_cube_has_the_colour_that_the_formula_says(name, theme):
    bench = bench_of(run(), SIZE, theme, quantity=name)
    frame = bench.subject.frame(state=True)
    bench.update(frame)
    image = offscreen().render(lambda box: bench.slab.draw(bench.camera, box), SIZE).astype(float)
    cmap, unit = get_map(bench.colouring.shows.cmap, theme), expected(name, frame)
    own = name if name in ("weight", "gradient", "update") else "gradient"
    assert cmap.name == ("viridis" if name in MAGNITUDES or "/" in name else own)
    for plate in (plate for plate in bench.layout.plates if plate.start >= 0):
        places = unit[plate.start : plate.start + plate.size]
        x, y = bench.camera.project(plate.tops).T.astype(int)
        np.testing.assert_allclose(image[y, x], 255 * cmap(2 * places - 1 if cmap.diverging else places), atol=3)


def test_what_the_optimiser_keeps_is_of_the_step_that_is_shown_and_no_update_is_none_beside_any_value():
    made = run(steps=30)
    now, past = (render(made, SIZE, quantity="exp_avg", step=step) for step in (None, 7))
    np.testing.assert_array_equal(render(made, SIZE, quantity="exp_avg"), now)
    made.to(7)
    np.testing.assert_array_equal(render(made, SIZE, quantity="exp_avg"), past)
    assert np.any(past != now)
    frame = made.frame()
    frame.update[:3], frame.values[:3] = (0.0, 0.0, 1.0), (0.0, 2.0, 0.0)
    assert list(QUANTITIES["update/value"].numbers(frame)[:3]) == [0.0, 0.0, np.inf]


def own(quantity):
    w = sv.Weight(0.5, name="w")
    (w * w).backward()
    return render(w, (320, 200), quantity=quantity)


@refusals(
    {
        **{
            f"{name!r}": (lambda name=name: render(run(optim.SGD, momentum=0.5), SIZE, quantity=name), error, *facts)
            for name, error, *facts in (
                ("exp_avg", UnknownNameError, "|gradient|, update, update/value, momentum_buffer"),
                ("", UnknownNameError, "momentum_buffer"), (3, TypeMismatchError), (None, TypeMismatchError),
            )
        },
        "of plain descent": (lambda: render(run(optim.SGD), quantity="exp_avg"), UnknownNameError, "stores no others"),
        "of numbers of one's own": (lambda: own("exp_avg"), UnknownNameError, "stores no others"),
    }
)  # fmt: skip
def test_a_name_that_there_is_not_says_which_there_are(refusal):
    assert own("|gradient|").shape == (200, 320, 3)
    refusal.check()


# ---- In a window


def test_keys_go_through_what_there_is_and_a_window_gets_the_numbers_while_they_are_looked_at():
    with live_hand(make_colour_scene(run())) as hand:
        view, bench, names = hand.view, hand.view.bench, []
        assert view.shown.state == {}
        for key in "gggqmmmm":
            view.key(key, key)
            names.append(bench.colouring.quantity)
        moments = ["exp_avg", "exp_avg_sq"] * 2
        assert names == ["gradient", "|gradient|", "gradient", "update/value", *moments]
        hand.settled(10)
        assert set(view.shown.state) == {"exp_avg", "exp_avg_sq"}
        np.testing.assert_array_equal(bench.colouring.flat, view.shown.state["exp_avg_sq"])
        assert bench.colouring.range.high == extent(view.shown.state["exp_avg_sq"])
        view.move(hand.face(0))
        view.tick(0.3)
        mantissa = f"{view.shown.state['exp_avg_sq'][0]:.1e}".partition("e")[0]
        assert any(text.startswith(f"v (exp_avg_sq) {mantissa}e") for text in hand.texts())
        view.key("w", "w")
        view.send("step", 3)
        hand.settled(10)
        assert view.worker.request().result(5).state == {}
    with live_hand(make_colour_scene(run(optim.SGD))) as hand:
        hand.view.key("m", "m")
        assert hand.view.notice().startswith("M: ")
        assert hand.view.bench.colouring.quantity == "weight"


@pytest.mark.parametrize("opened", [False, True])
def test_what_was_shown_and_is_kept_no_more_is_said_and_stops_nothing(opened):
    with live_hand(make_colour_scene(run(optim.SGD, momentum=0.5))) as hand:
        view, bench = hand.view, hand.view.bench
        view.key("m", "m")
        hand.settled(10)
        if opened:
            view.send("micro_next")
            hand.settled(10)
        wider = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
        view.change(Change(optimizer="adam", model=wider))
        view.send("step")
        hand.settled(20, 0.05)
        assert "not known" not in view.notice()
        assert bench.step_drawing.micro_step is None
        for kept, quantity in ((False, "momentum_buffer"), (True, "exp_avg")):
            view.tick(0.2)
            assert (NONE_KEPT in said(bench), bench.colouring.quantity) == (not kept, quantity)
            view.key("m", "m")


def test_the_range_is_of_the_first_numbers_not_of_there_being_none():
    for key in "gmu":
        with live_hand(make_colour_scene(run(steps=0))) as hand:
            hand.key(key)
            hand.do("step")
            colouring = hand.view.bench.colouring
            assert colouring.range.high == pytest.approx(extent(colouring.flat), rel=1e-6)
            assert colouring.range.high < 0.5


def test_before_the_first_step_cubes_show_the_gradients_of_that_step():
    still = sv.view.picture(run(steps=0), SIZE, quantity="|gradient|").svg
    with live_hand(make_colour_scene(run(steps=0))) as hand:
        hand.view.set_weight(4, 0.9)
        hand.do("show_gradients")
        colouring, before, stated = hand.view.bench.colouring, hand.view.bench.colouring.flat, hand.words()
        for text in (still, " ".join(stated)):
            assert "not computed yet" not in text
            assert "next step" in text
        assert not hand.view.notice()
        hand.do("step")
        np.testing.assert_allclose(before, colouring.flat, rtol=1e-5)
        assert "next step" not in " ".join(hand.words())


# ---- Every mark that a cube shows has an entry below the legends, and none has one that no cube shows

ENTRIES = {word for pair in WORDS.values() for word in pair}


def entries(bench):
    low = bench.places.strip[1] + bench.places.strip[3]
    return {t.text for t in texts(bench.sketches) if t.y > low and t.text in ENTRIES}


@pytest.mark.parametrize(("numbers", "wanted"), [
    ([], set()), ([np.nan], {"NaN"}), ([np.inf], {"+∞"}), ([-np.inf, np.inf], {"+∞", "\N{MINUS SIGN}∞"}),
])  # fmt: skip
def test_a_mark_has_its_entry_while_it_is_on_screen(numbers, wanted):
    with (scene := rgb(steps=0)).run as run:
        before, weight = run.values[: len(numbers)].copy(), run.model[0].weight[1][0]
        run.set_weights(0, numbers) if numbers else None
        bench = bench_of(scene)
        assert entries(bench) == wanted
        run.set_weights(0, before) if numbers else None
        weight.frozen = True
        assert entries(again(bench)) == {"frozen"}
        weight.frozen = False
        bench.set_look(quantity="gradient")  # a 0 would be read as a result: there stands the weight
        for marks, weights in (({"not computed yet"}, True), (set(), False)):
            assert entries(again(bench)) == marks
            assert any(text.startswith("w ") for text in said(bench)) == weights
            run.step(1)


def test_one_weight_far_out_is_clipped():
    with (scene := rgb(16)).run as run:  # of few weights none lies beyond three times their root mean square
        run.set_weights(0, [90.0])
        assert entries(bench_of(scene)) == {"clipped: beyond the range"}
        small = bench_of(scene, (400, 250))
        assert small.places.strip is None or not entries(small)  # cubes of five pixels have no teeth


# ---- Running statistics: plates of their own, not trained, that spoil no range


@pytest.fixture
def normed():
    with make_run("batch norm", optimizer="sgd") as run:
        run.step(3)
        yield run


def test_statistics_stand_in_their_layer_with_their_names_and_what_counts_is_not_drawn(normed):
    layout = layout_for(normed.tensors, normed.stages, SIZE)
    left = {p.name: p.corners[:, 0].min() for p in layout.plates if p.kind != "activation"}
    layers = ["0.weight", "1.weight", "1.bias", "1.running_mean", "1.running_var", "3.weight", "3.bias"]
    assert sorted(left, key=left.get) == layers  # without "1.num_batches_tracked"
    assert sum("4 · not trained" in text for text in said(bench_of(normed))) == 2


def test_a_gradient_they_never_have_and_it_is_no_fault_and_the_inspector_says_what_they_are(normed):
    subject, frame, colouring = subject_of(normed), normed.frame(), Coloring(normed.tensors, DARK, "gradient")
    colouring.update(frame, None)
    assert colouring.untrained
    assert colouring.missing(frame).tolist() == [False] * normed.n_weights + [True] * 9
    assert len(colouring.legend().marks) == normed.n_weights
    assert diagnose(frame, normed.tensors, normed.stages) == ()
    index = next(t.start for t in normed.tensors if t.name == "1.running_var") + 2
    found, inspector = who(subject, index), Inspector(subject, index)
    assert found == Identity("running var, channel 3", "1.running_var[2]", "not trained, steps change it")
    account = inspector.account = account_of(normed.open(), index, along=False)
    written = words([inspector.sketch((0, 0, 304, 500), DARK, frame, opened=True)])
    normed.step()
    assert account.follows
    assert account.update.after == pytest.approx(float(normed.values[index]), rel=1e-13)
    assert {f"becomes {figure(account.update.after)}, from the batch", "none"} <= set(written)
    assert not [text for text in written if "SGD" in text or "terms" in text]
    # no sample has a gradient of its own here: it is said that the batch has one
    assert Inspector(subject, 0).explanation(normed.frame())[0] == ("gradient: mean of 8 samples",)


def test_inside_a_step_they_get_no_gradient_and_follow_at_its_end(normed):
    opened, count = normed.open(), normed.n_weights
    steps = opened.micro_steps()
    gradients = [index for step in steps if step.phase == "gradients" for index in step.weights.tolist()]
    assert sorted(gradients) == list(range(count))
    last = [step for step in steps if step.kind == "statistic"]
    assert last == [*steps[-9:]]
    assert [step.weights.tolist() for step in last] == [[count + k] for k in range(9)]
    normed.step()
    np.testing.assert_allclose(opened.new_values, normed.values, rtol=0, atol=1e-14)
