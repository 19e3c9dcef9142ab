"""A recording in a window: it plays, goes to recorded steps, looks as the run did, and says what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.run.scene import Scene
from scalarviz.view.benches import bench_of
from scalarviz.view.cubes.atlas import NOT_COMPUTED
from scalarviz.view.render import render
from scalarviz.view.time.rails import rails
from scalarviz.view.watch.actions import ACTIONS
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((16, 3))
PLAYS = {"toggle_run", "step", "back", "first", "newest", "slower", "faster", "normal_speed"}


def run():
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2), nn.Tanh())
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, X[:, :2]), engine="numpy")


ALL = {"gradients": True, "updates": True, "activations": True}


@pytest.fixture
def recorded(tmp_path):
    """``recorded(every, steps, fork, **what is kept)``: a run, and a recording of it.

    With `fork` it goes back to that step, where a weight is set, and does the steps after it again.
    """
    files = []

    def made(every=1, steps=20, fork=None, **kept):
        done = run()
        path = tmp_path / f"{len(files)}.svz"
        with sv.Recording(Scene("t", done), every=every, path=path, **(kept or ALL)):
            done.step(steps)
            if fork is not None:
                done.to(fork)
                done.do(SetWeights(0, np.array([2.0])))
                done.step(steps - fork)
        files.append(sv.load_recording(path))
        return done, files[-1]

    yield made
    for file in files:
        file.close()


def hosted(recording, size=(1280, 720), **options):
    source = RecordedSource(recording)
    host = Unseen(lambda size: Replay(bench_of(source, size, hands=True), **options), size)
    host.pass_time()
    return host


@pytest.fixture
def host(recorded):
    made = hosted(recorded(every=5)[1])
    yield made
    made.close_soon()


def texts(host):
    bench = host.view.bench
    sketches = [*bench.sketches, *(sketch for layer in bench.overlays for sketch in layer)]
    return [item for sketch in sketches for item in sketch.texts]


def press(host, *keys, shift=False):
    for key in keys:
        host.view.key(key, shift=shift)
        host.pass_time()
    return host.view.shown.step


def at_step(host, step):
    """A point of the time bar, in device pixels."""
    bench = host.view.bench
    plan = bench.bar._plan
    x, y = plan.scale.at(step), plan.rail
    return x * bench.scale, y * bench.scale


# ---- what it looks like


@pytest.mark.parametrize(
    ("quantity", "size"), [("weight", (1280, 720)), ("gradient", (640, 360)), ("update", (640, 360))]
)
def test_a_still_of_a_recording_is_that_of_the_run_at_the_same_step(size, quantity, recorded):
    made, recording = recorded()
    for step in (0, 7, 20):
        ours = render(recording, size, step=step, quantity=quantity)
        np.testing.assert_array_equal(ours, render(made, size, step=step, quantity=quantity))


def test_a_quantity_that_was_not_recorded_is_refused(recorded):
    _, source = recorded(activations=True)
    with pytest.raises(InputError, match=r"no gradients were recorded .*allowed: weight"):
        render(source, quantity="gradient")
    with pytest.raises(InputError, match="no updates were recorded"):
        render(source, quantity="update/value")


def test_rows_that_were_not_recorded_are_marked_as_no_numbers(recorded):
    host = hosted(recorded(gradients=True)[1])
    bench = host.view.bench
    said = [text.text for sketch in bench.sketches for text in sketch.texts]
    assert "not recorded" in said
    assert not {"not computed yet", "no gradient: not trained"} & set(said)
    rows = [plate for plate in bench.layout.plates if plate.kind == "activation"]
    assert rows
    assert all(
        (bench.slab.atlas.flags.reshape(-1)[bench.slab.atlas.span(plate)] == NOT_COMPUTED).all() for plate in rows
    )
    host.close_soon()


def test_a_step_between_two_recorded_ones_is_refused_and_its_neighbours_named(recorded):
    with pytest.raises(InputError, match="no step 7; recorded are 5 and 10"):
        render(recorded(every=5)[1], step=7)


# ---- hands


def test_keys_go_to_recorded_steps(host):
    assert press(host, "Right") == 5
    assert press(host, "Right", "Right") == 15
    assert press(host, "Left") == 10
    assert press(host, "End") == 20
    assert press(host, "Right") == 20
    assert "is the newest" in host.view.notice()
    assert press(host, "Left", shift=True) == 0
    assert press(host, "Home") == 0


def test_the_time_bar_leads_to_recorded_steps_and_says_them(host):
    host.view.move(at_step(host, 7))
    host.pass_time()
    assert host.view.bench.bar.target(host.view.bench.to_logical(at_step(host, 7))).step == 5
    host.view.press(at_step(host, 8))
    host.pass_time()
    assert host.view.shown.step == 10
    host.view.move(at_step(host, 14))
    host.pass_time()
    host.view.release(at_step(host, 14))
    host.pass_time()
    assert host.view.shown.step == 15


def test_in_a_low_window_the_time_bar_has_the_place_of_the_line_of_keys(recorded):
    host = hosted(recorded()[1], size=(640, 360))
    bench = host.view.bench
    places, (_, y, _, high) = bench.places, bench.places.time
    assert places.keys is None
    assert places.scene[1] + places.scene[3] <= places.strip[1]
    assert places.strip[1] + places.strip[3] <= y
    assert y + high <= 360
    host.view.press(at_step(host, 7))
    host.view.release(at_step(host, 7))
    host.pass_time()
    assert host.view.shown.step == 7
    assert np.isfinite([plate.corners for plate in bench.layout.plates]).all()
    cubes = np.concatenate([bench.project(plate.corners) for plate in bench.layout.plates])
    assert (cubes[:, 1] < places.strip[1]).all()
    host.close_soon()


def test_it_plays_to_its_end_and_from_the_beginning_again(recorded):
    host = hosted(recorded(every=5)[1], wait=0, duration=2.0)
    seen = []
    for _ in range(150):
        host.pass_time(1 / 60)
        seen.append(host.view.shown.step)
    assert sorted(set(seen)) == [0, 5, 10, 15, 20]
    assert seen == sorted(seen)
    assert not host.view.playback.running
    assert press(host, "Space") == 0
    assert host.view.playback.running
    press(host, "Space")
    assert not host.view.playback.running
    host.close_soon()


def test_the_speed_has_ends(host):
    for _ in range(12):
        press(host, "]")
    assert host.view.playback.speed == 8.0
    assert host.view.notice() == "the speed is 8x already"
    press(host, "\\")
    assert host.view.playback.speed == 1.0
    for _ in range(12):
        press(host, "[")
    assert host.view.playback.speed == 0.125


def test_every_action_works_or_says_why_not(host):
    for action in ACTIONS:
        if action.name in ("close", "escape"):
            continue
        host.view.say("")
        reason = action.missing(host.view.here())
        assert host.view.send(action.name) == (not reason)
        host.pass_time()
        if reason:
            assert host.view.notice().endswith(reason)
        else:
            assert action.name in host.view.handlers
    assert {action.name for action in ACTIONS if action.applies(host.view.here())} >= PLAYS
    for name in ("undo", "restart", "raise_rate", "freeze", "add_samples", "name_moment", "toggle_controls"):
        assert not host.view.send(name)
        assert "recording" in host.view.notice()


def test_keys_and_hands_are_told_as_of_a_recording(host):
    words = dict(host.view.bench.touch.table)
    assert words["Right"] == "the next recorded step (Shift: ten)"
    assert not any(word in line for line in words.values() for word in ("train", "controls", "newest", "swatch"))
    line = {item.text for item in texts(host)}
    assert {"play", "next"} <= line
    assert "run" not in line


def test_nothing_of_it_is_changed_by_looking(host):
    record = host.view.bench.subject.source.record
    before = [record.frame(k).values for k in range(len(record))]
    for key in ("Space", "G", "U", "Z", "L", "Tab", "J", "A", "X", "/"):
        press(host, key)
    host.view.scroll((600.0, 300.0), (0.0, 1.0), shift=True)
    for k, values in enumerate(before):
        np.testing.assert_array_equal(record.frame(k).values, values)


def test_a_cube_has_its_name_its_value_and_how_it_moved(host):
    press(host, "End")
    host.view.bench.select(5)
    host.pass_time()
    inspector = host.view.bench.touch.inspector
    assert inspector.who.name == "0.weight[1][2]"
    _, record = inspector.record
    assert record.steps.tolist() == [0, 5, 10, 15, 20]
    assert record.values[-1] == host.view.shown.values[5]


def test_what_a_card_explains_stands_clear_of_its_plot(host):
    press(host, "End")
    host.view.bench.select(0)
    host.pass_time()
    said = [t for t in texts(host) if t.text.startswith("last update:")]
    (title,) = [t for t in texts(host) if t.text == "value" and t.bold]
    below = [t for t in texts(host) if said[0].y <= t.y < title.y and t.x == said[0].x]
    assert title.y - max(t.y for t in below) >= 30  # the line between them has nine pixels on either side


def test_a_branch_is_gone_to_by_its_ring(recorded):
    made, recording = recorded(fork=8)
    host = hosted(recording)
    press(host, "End")
    bench = host.view.bench
    (rail,) = rails(host.view.shown.past)
    plan = bench.bar._plan
    ring = plan.scale.at(rail.newest) * bench.scale, (plan.rail - plan.pitch * rail.row) * bench.scale
    host.view.press(ring)
    host.view.release(ring)
    host.pass_time()
    assert [b.number for b in host.view.shown.past.branches if b.current] == [0]
    assert "another branch" in host.view.notice()
    made.switch(0)
    np.testing.assert_array_equal(host.view.shown.values, made.values)
    host.close_soon()


def test_one_frame_is_a_picture_that_stands(recorded):
    host = hosted(recorded(steps=0)[1], wait=0)
    for key in ("Space", "Right", "Left", "Home", "End", "]"):
        assert press(host, key) == 0
    assert not host.view.playback.running
    host.close_soon()


def test_v_goes_to_the_last_change_of_sign(recorded):
    host = hosted(recorded(steps=60)[1])
    source = host.view.bench.subject.source
    press(host, "End")
    changed = {index: source.last_sign_change(index) for index in range(20)}
    index, step = next((index, step) for index, step in changed.items() if step is not None)
    host.view.bench.select(index)
    host.pass_time()
    assert press(host, "V") == step
    assert f"changed its sign at step {step}" in host.view.notice()
    host.view.bench.select(next(index for index, step in changed.items() if step is None))
    press(host, "End")
    assert press(host, "V") == 60
    assert "has not changed its sign" in host.view.notice()
    host.close_soon()


def test_stills_after_edits_and_on_branches_are_those_of_the_run(recorded, tmp_path):
    made = run()
    with sv.Recording(Scene("t", made), path=tmp_path / "edits.svz", **ALL):
        made.step(6)
        made.do(SetWeights(1, np.array([1.5])))
        made.step(3)
        made.do(SetFrozen(0, np.array([True])))
        made.lr = 0.07
        made.step(3)
        made.do(SetWeights(2, np.array([-1.0])))
        made.to(8)
        made.do(SetWeights(0, np.array([0.3])))
        made.step(2)
        made.name("here", 9)
    with sv.load_recording(tmp_path / "edits.svz") as recording, recording.on(0) as other:
        for number, read, steps in ((1, recording, (5, 6, 8, 10)), (0, other, (6, 9, 12))):
            made.switch(number)
            for step in steps:
                np.testing.assert_array_equal(render(read, step=step), render(made, step=step))


def test_networks_that_were_changed_stand_as_they_were(tmp_path):
    """Before and after a change of the model, on both branches; stills are those of the run that goes there."""
    made = run()
    with sv.Recording(Scene("t", made), path=tmp_path / "changed.svz", **ALL):
        made.step(4)
        made.change(model=nn.Sequential(nn.Linear(3, 6, seed=3), nn.ReLU(), nn.Linear(6, 2, seed=4)))
        made.step(4)
        made.to(2)
        made.do(SetWeights(0, np.array([0.3])))
        made.step(1)
    with sv.load_recording(tmp_path / "changed.svz") as recording, recording.on(0) as other:
        host = hosted(recording, size=(640, 360))
        shapes = []
        for branch, step in ((1, 3), (1, 0), (0, 8), (0, 5), (0, 3), (0, 6)):
            if branch != recording.branch or host.view.bench.subject.source.record.branch != branch:
                host.view.travels.switch(branch)
            host.view.travels.go(step)
            host.pass_time()
            made.switch(branch)
            made.to(step)
            assert host.view.shown.step == step
            assert host.view.shown.values.tobytes() == np.asarray(made.values, np.float32).tobytes()
            assert host.view.bench.subject.source.tensors == made.tensors
            assert [p.name for p in host.view.bench.layout.plates if p.kind == "weight"]
            shapes.append(made.tensors[0].shape)
            read = recording if branch else other
            np.testing.assert_array_equal(render(read, (320, 180), step=step), render(made, (320, 180)))
        host.close_soon()
    assert shapes == [(4, 3), (4, 3), (6, 3), (6, 3), (4, 3), (6, 3)]
