"""The scene `playground` changed live: points, features, layers; and that undo brings one data set back everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scalarviz.scenes import playground
from scalarviz.scenes._known_points import CLASSES, Recipe, points_for
from scalarviz.scenes._own_points import own_points
from scalarviz.scenes._playground_edits import AddPoint, OtherPoints, RemovePoint, SwitchFeature
from scalarviz.scenes._playground_net import SetHidden
from scalarviz.scenes._playground_panels import Hand, held_back

from scalarviz.errors import InputError
from scalarviz.io import parse_csv
from scalarviz.run import Moment
from scalarviz.run.edits import SetWeights
from scalarviz.run.run_source import RunSource


def made(**flags):
    return playground.build(playground.Options(engine="numpy", **flags))


def moment_of(scene):
    source, frame = RunSource(scene.run), scene.run.frame()
    source.follow(frame)
    return Moment(frame, source)


def seen(scene):
    """All that a picture says of the data, at the moment that is shown."""
    moment = moment_of(scene)
    points = Hand(scene.known).points(moment)
    curve, told = held_back(scene.known), playground.report(scene)
    drawn = np.column_stack([points.x, points.target, points.back])
    tested, learnt = [part.tobytes() for part in curve.of(moment)], scene.run.samples()[0].tobytes()
    return drawn.tobytes(), tested, curve.share(moment), told, learnt


def other(scene, **changes):
    now = scene.known.at(scene.run.frame()).recipe
    return OtherPoints(scene.known.add(points_for(replace(now, **changes))), "other points")


def table(classes, count=60):
    rng = np.random.default_rng(classes)
    rows = [f"{x:.5f},{y:.5f},{f'k{k % classes}' if classes else repr(float(x * y))}"
            for k, (x, y) in enumerate(rng.normal(size=(count, 2)))]  # fmt: skip
    return Recipe("t.csv", 0.0, 0.5, 0, own=own_points(parse_csv("x,y,t\n" + "\n".join(rows))))


EDITS = {
    "noise": lambda scene: other(scene, noise=0.2),
    "split": lambda scene: other(scene, split=0.2),
    "new points": lambda scene: other(scene, seed=9),
    "another kind": lambda scene: other(scene, data="spiral"),
    "numbers": lambda scene: other(scene, data="regress-gauss"),
    "three classes": lambda scene: OtherPoints(scene.known.add(points_for(table(3))), "a table"),
    "a point more": lambda scene: AddPoint(scene.known, (1.0, -2.0), -1.0),
    "a point less": lambda scene: RemovePoint(scene.known, scene.known.at(scene.run.frame()), 7),
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
    run.do(SetWeights(0, np.zeros(1)))  # a branch of the former points
    run.step(5)
    assert seen(scene)[0] == before[0]
    run.switch(run.branches[0])
    assert seen(scene) == later


def test_a_file_of_weights_changes_no_points(tmp_path):
    scene = made(data="gauss")
    scene.run.step(10)
    scene.run.save(tmp_path / "w.safetensors")
    scene.run.do(other(scene, data="xor"))
    before = seen(scene)
    scene.run.load(tmp_path / "w.safetensors")
    assert seen(scene)[0] == before[0]


def test_a_point_that_is_added_and_taken_away_leaves_the_points_as_they_were():
    scene = made()
    before = seen(scene)
    scene.run.do(AddPoint(scene.known, (3.0, 3.0), 1.0))
    assert len(scene.run.samples()[0]) == 251
    points = scene.known.at(scene.run.frame())
    assert points.recipe.added == ("3,3,1",)
    scene.run.do(RemovePoint(scene.known, points, 250))
    assert seen(scene) == before
    assert scene.known.at(scene.run.frame()).recipe.added == ()


def test_points_that_are_clicked_are_those_that_are_learnt_from():
    scene = made()
    hand = Hand(scene.known)
    points = hand.points(moment_of(scene))
    assert hand.remove(250) is None  # held back
    scene.run.do(hand.remove(3))
    left = scene.run.samples()[0]
    assert len(left) == 249
    assert not (left == points.x[3].astype(np.float32)).all(axis=1).any()
    with pytest.raises(InputError, match="not learnt from any more"):
        scene.run.do(RemovePoint(scene.known, scene.known.first, 3))
    hand.chosen = 0
    scene.run.do(hand.add((0.25, 0.5)))
    x, y = scene.run.samples()
    assert (x[-1].tolist(), y[-1].tolist()) == ([0.25, 0.5], [-1.0])


def test_of_many_points_all_are_learnt_from_and_two_thousand_drawn():
    count = 9000
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{x:.4f},{y:.4f},{'ab'[int(x > y)]}" for x, y in rng.normal(size=(count, 2)))
    points = points_for(Recipe("t.csv", 0.0, 0.75, 0, own=own_points(parse_csv(f"x,y,t\n{rows}"))))
    some = points.drawn()
    assert len(some) == len(set(some)) == 2000
    assert np.mean(~points.held_back[some]) == 0.75
    assert len(points.train[0]) == 6750


# ---- the network


def test_a_feature_that_comes_has_a_column_more_and_changes_no_other_number():
    scene = made()
    run = scene.run
    run.step(60)
    weights, rest = run.model[1].weight.data.copy(), run.values[8:].copy()
    run.do(SwitchFeature("siny", True))
    assert run.model[1].weight.shape == (4, 3)
    np.testing.assert_array_equal(run.model[1].weight.data[:, :2], weights)
    np.testing.assert_array_equal(run.values[12:], rest)
    x = np.array([[0.5, 1.0], [0.5, 1.0 + 2 * np.pi]])
    column = run.model[1].weight.data[:, 2]
    inner = run.model[1].bias.data + x @ weights.T + np.sin(x[:, 1:]) * column
    found = RunSource(run).rows(x, ["1"])["1"]
    np.testing.assert_allclose(found, inner, rtol=1e-6)
    assert not run.frame().frozen.any()


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


def test_switching_leaves_what_was_frozen_by_hand():
    scene = made()
    run = scene.run
    run.model[1].weight[2][1].frozen = True
    for edit in (SwitchFeature("xy", True), SwitchFeature("x", False), SwitchFeature("x", True)):
        run.do(edit)
    assert np.flatnonzero(run.frame().frozen).tolist() == [2 * 3 + 1]


def test_the_last_feature_stays():
    scene = made(features="x")
    with pytest.raises(InputError, match="the last feature stays on"):
        scene.run.do(SwitchFeature("x", False))
    assert scene.run.log == []


@pytest.mark.parametrize("hidden", [(4, 3), (4, 2, 2), (4,), (), (5, 2)])
def test_layers_that_fit_go_on_and_a_restart_is_the_start_of_that_command(hidden):
    scene = made(seed=4)
    run = scene.run
    run.step(50)
    before = {name: array.tobytes() for name, array in run.state_dict().items()}
    run.do(SetHidden(hidden))
    after = run.state_dict()
    first = after["1.weight"].tobytes() == before["1.weight"]
    assert first == (hidden[:1] == (4,))
    run.step(10)
    run.restart()
    plain = made(seed=4, hidden=hidden).run
    for one in (run, plain):
        one.step(25)
    assert run.values.tobytes() == plain.values.tobytes()
    run.undo()
    run.undo()
    assert {name: array.tobytes() for name, array in run.state_dict().items()} == before


def test_two_edits_that_come_at_once_do_not_take_each_other_back():
    scene = made()
    for edit in (SwitchFeature("x2", True), SwitchFeature("y2", True), SetHidden((3,)), other(scene, data="plane")):
        scene.run.do(edit)
    shape = scene.run.model.shape
    assert (shape.features, shape.hidden, shape.sort.classes) == (("x", "y", "x2", "y2"), (3,), ())


@pytest.mark.parametrize("kinds", [(3, 5, 2, 0, 8, 3), (0, 4, 0, 2, 6, 2)])
def test_tables_of_any_sort_after_each_other(kinds):
    scene = made()
    for kind in kinds:
        scene.run.do(OtherPoints(scene.known.add(points_for(table(kind))), f"{kind} classes"))
        scene.run.step(5)
        assert scene.run.model.shape.sort.kind == kind
        assert np.isfinite(playground.report(scene)["test_loss"])
    for _ in kinds:
        scene.run.undo()
    assert scene.known.at(scene.run.frame()).sort.classes == CLASSES
    assert scene.run.steps == 0


def test_a_curve_leaves_the_features_of_its_input():
    scene = made(features="x,y,sinx,siny")
    own = own_points(parse_csv("t,p\n" + "".join(f"{k},{k * k}\n" for k in range(40))))
    scene.run.do(OtherPoints(scene.known.add(points_for(Recipe("c.csv", 0.0, 0.5, 0, own=own))), "a curve"))
    assert scene.run.model.shape.features == ("x", "sinx")
    scene.run.step(3)
    scene.run.undo()
    assert scene.run.model.shape.features == ("x", "y", "sinx", "siny")


def test_a_frame_of_before_is_evaluated_by_the_loss_of_its_own_network():
    """A window may show it when another thread has changed the run already."""
    scene = made()
    scene.run.step(20)
    moment = moment_of(scene)
    inputs, targets = scene.known.first.test
    before = moment.evaluate(inputs, targets), moment.whole_loss()
    scene.run.do(OtherPoints(scene.known.add(points_for(table(3))), "a table"))
    scene.run.step(5)
    assert (moment.evaluate(inputs, targets), moment.whole_loss()) == before
    with pytest.raises(InputError, match="number of a class"):
        scene.run.evaluate(inputs, targets)
