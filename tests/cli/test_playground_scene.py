"""What `scalarviz playground` draws, learns and tells, against plain Python; its tables; that undo brings all back."""

import math

import numpy as np
import pytest

from kit.commands import load_scene, make_scene, moment_of
from kit.inside_scenes import (
    KINDS,
    PEAKS,
    AddPoint,
    Hand,
    RemovePoint,
    SetHidden,
    SwitchFeature,
    held_out,
    of_table,
    other,
    own_points,
    points_of,
)
from scalarviz.errors import InputError
from scalarviz.io import load_tensors, parse_csv

report = load_scene("playground").module.report


@pytest.fixture
def play(blind):
    return lambda *arguments: blind("playground", *arguments)


def made(**flags):
    return make_scene("playground", **flags)


def label_of(kind, x, y):
    """What a point without noise is, as the original says it: one point at a time, in plain Python."""
    if kind == "circle":
        return 1.0 if math.hypot(x, y) < 2.5 else -1.0
    if kind == "xor":
        return 1.0 if x * y >= 0 else -1.0
    if kind == "plane":
        return (x + y) / 10
    heights = [sign * max(0.0, 1 - math.hypot(x - cx, y - cy) / 2) for cx, cy, sign in PEAKS]
    return max(heights, key=abs)


def test_without_noise_points_and_labels_are_the_formulas():
    for kind in ("circle", "xor", "plane", "regress-gauss"):
        points, labels = points_of(kind, 0.0, 3)
        assert points.shape == (KINDS[kind].count, 2)
        np.testing.assert_allclose(labels, [label_of(kind, *point) for point in points], atol=1e-12)
    points, labels = points_of("circle", 0.0, 0)  # a ring apart from the disc and as large as it
    away = np.hypot(*points.T)
    assert (labels > 0).sum() == 250
    assert away[labels > 0].max() < 2.5 < 3.5 <= away[labels < 0].min() < away[labels < 0].max() < 5.0
    points, labels = points_of("spiral", 0.0, 5)  # each the other's half turn
    one, its = points[labels > 0], -points[labels < 0]
    one, its = (each[np.argsort(np.hypot(*each.T))] for each in (one, its))
    np.testing.assert_allclose(one, its, atol=1e-12)
    np.testing.assert_allclose(np.hypot(*one.T), np.arange(250) / 250 * 5, atol=1e-12)
    assert not np.array_equal(points_of("xor", 0.3, 7)[0], points_of("xor", 0.3, 8)[0])
    for noise, variance in ((0.0, 0.5), (0.5, 4.0)):
        points, labels = points_of("gauss", noise, 1)
        for sign in (1, -1):
            cloud = points[labels == sign]
            np.testing.assert_allclose(cloud.mean(axis=0), 2 * sign, atol=5 * (variance / 250) ** 0.5)
            np.testing.assert_allclose(cloud.var(axis=0), variance, rtol=0.35)


@pytest.mark.ci
def test_numbers_are_those_of_the_saved_weights_by_hand(play):
    flags = ("--steps", 300, "--hidden", "3", "--features", "x,y,xy", "--split", "0.3", "--data-seed", 2)
    result = play(*flags, "--save", "w.safetensors", "--json")
    assert "150 points for training, 350 held-out" in result.err
    line, (w, _) = result.json, load_tensors("w.safetensors")
    points, labels = points_of("circle", 0.0, 2)
    rows = np.column_stack([points, points[:, 0] * points[:, 1]])
    inner = np.tanh(rows @ w["1.weight"].T + w["1.bias"])
    outputs = np.tanh(inner @ w["3.weight"].T + w["3.bias"])[:, 0]
    halves = 0.5 * (outputs - labels) ** 2
    assert line["loss"] == pytest.approx(halves[:150].mean(), rel=1e-4)
    assert line["test_loss"] == pytest.approx(halves[150:].mean(), rel=1e-4)
    assert line["accuracy"] == pytest.approx(np.mean((outputs > 0) == (labels > 0), where=np.arange(500) >= 150))


# ---- tables of one's own


@pytest.mark.parametrize(
    ("target", "outputs"),
    [((0, 1), 1), ((1, 2, 3), 3), (range(8), 8), (range(9), 0), ((0.5, 1.5, 2), 0), (("b", "a"), 1)],
)
def test_what_the_last_column_is(target, outputs):
    rows = "".join(f"{k % 5},{k % 7},{target[k % len(target)]}\n" for k in range(100))
    own = own_points(parse_csv(f"x,y,t\n{rows}"))
    assert (own.sort.outputs if own.sort.classes else 0) == outputs
    if outputs == 1:
        assert set(own.targets) == {-1.0, 1.0}
        assert own.sort.classes == tuple(sorted(map(str, target)))
    elif outputs:
        assert set(own.targets) == set(range(outputs))


# ---- changed live


def seen(scene):
    """All that a picture says of the data, at the moment that is shown."""
    moment = moment_of(scene)
    points = Hand(scene.first).points(moment)
    curve, told = held_out(scene.first), report(scene)
    drawn = np.column_stack([points.x, points.target, points.back])
    tested, learnt = [part.tobytes() for part in curve.of(moment)], scene.run.samples()[0].tobytes()
    return drawn.tobytes(), tested, curve.share(moment), told, learnt


def table(classes, count=60):
    rng = np.random.default_rng(classes)
    rows = [f"{x:.5f},{y:.5f},{f'k{k % classes}' if classes else repr(float(x * y))}"
            for k, (x, y) in enumerate(rng.normal(size=(count, 2)))]  # fmt: skip
    return of_table("x,y,t\n" + "\n".join(rows))


EDITS = {
    "noise": lambda scene: other(scene, noise=0.2),
    "split": lambda scene: other(scene, split=0.2),
    "numbers": lambda scene: other(scene, data="regress-gauss"),
    "three classes": lambda scene: other(scene, table(3)),
    "a point less": lambda scene: RemovePoint(scene.first.points_in(scene.run.frame().data), 7),
}


@pytest.mark.parametrize("name", EDITS)
def test_undo_and_branches_show_one_data_set_everywhere(name):
    scene = made()
    run = scene.run
    run.step(40)
    before = seen(scene)
    run.do(EDITS[name](scene))
    assert run.steps == 40
    changed = seen(scene)
    assert changed != before
    run.step(30)
    later = seen(scene)
    run.undo()
    assert seen(scene) == before
    run.redo()
    run.to(40)
    assert seen(scene) == changed
    run.to(70)
    assert seen(scene) == later
    run.to(20)
    assert seen(scene)[0] == before[0]
    run.set_weights(0, np.zeros(1))  # a branch of the former points
    run.step(5)
    assert seen(scene)[0] == before[0]
    run.switch(run.branches[0])
    assert seen(scene) == later


def test_points_that_are_clicked_are_those_that_are_learnt_from():
    scene = made()
    hand, before = Hand(scene.first), seen(scene)
    scene.run.do(AddPoint(scene.first, (3.0, 3.0), 1.0))
    assert len(scene.run.samples()[0]) == 251
    scene.run.do(RemovePoint(scene.first.points_in(scene.run.frame().data), 250))  # leaves them as they were
    assert seen(scene) == before
    points = hand.points(moment_of(scene))
    assert hand.remove(250) is None  # held-out
    scene.run.do(hand.remove(3))
    left = scene.run.samples()[0]
    assert len(left) == 249
    assert not (left == points.x[3].astype(np.float32)).all(axis=1).any()
    with pytest.raises(InputError, match="only training points can be removed"):
        scene.run.do(RemovePoint(scene.first, 3))
    hand.chosen = 0
    scene.run.do(hand.add((0.25, 0.5)))
    x, y = scene.run.samples()
    assert (x[-1].tolist(), y[-1].tolist()) == ([0.25, 0.5], [-1.0])


# ---- the network


def test_a_feature_that_is_off_is_0_and_its_weights_rest_even_with_a_penalty():
    scene = made(l2=0.01, features="x,y,x2")
    run = scene.run
    run.step(20)
    run.do(SwitchFeature("x", False))
    frozen = run.frame().frozen[:12].reshape(4, 3)
    np.testing.assert_array_equal(frozen, np.array([[True, False, False]] * 4))
    column, others = run.model[1].weight.data[:, 0].copy(), run.model[1].weight.data[:, 1:].copy()
    run.step(20)
    np.testing.assert_array_equal(run.model[1].weight.data[:, 0], column)
    assert (run.model[1].weight.data[:, 1:] != others).all()
    np.testing.assert_array_equal(run.predict([[2.0, 1.0]]), run.predict([[-2.0, 1.0]]))  # x2 sees no sign
    run.do(SwitchFeature("x", True))
    assert not run.frame().frozen.any()
    assert run.predict([[2.0, 1.0]]) != run.predict([[-2.0, 1.0]])
    run.step(5)
    assert (run.model[1].weight.data[:, 0] != column).any()


@pytest.mark.parametrize("hidden", [(4, 3), (), (5, 2)])
def test_layers_that_fit_go_on_and_a_restart_is_the_start_of_that_command(hidden):
    run = made(seed=4).run
    run.step(50)
    before = {name: array.tobytes() for name, array in run.state_dict().items()}
    run.do(SetHidden(hidden))
    after = run.state_dict()
    assert (after["1.weight"].tobytes() == before["1.weight"]) == (hidden[:1] == (4,))
    run.step(10)
    run.restart()
    plain = made(seed=4, hidden=hidden).run
    for one in (run, plain):
        one.step(25)
    assert run.values.tobytes() == plain.values.tobytes()
    run.undo()
    run.undo()
    assert {name: array.tobytes() for name, array in run.state_dict().items()} == before
