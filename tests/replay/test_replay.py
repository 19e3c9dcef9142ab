"""A recording in a window: it looks as the run did, plays, goes to recorded steps, says what it cannot do."""

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from kit.runs import make_run
from scalarviz import nn
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run import panels
from scalarviz.view import render

edits = sv.run.edits
pytestmark = pytest.mark.gl
PLAYS = {"toggle_run", "step", "back", "first", "newest", "slower", "faster", "normal_speed"}
SMALL = (640, 360)


# ---- what it looks like


def edited(run):
    run.set_weights(1, [1.5])
    run.step(3)
    run.do(edits.SetFrozen(0, [True]))
    run.lr = 0.07
    run.step(3)
    run.set_weights(2, [-1.0])
    run.to(8)
    run.set_weights(0, [0.3])
    run.step(2)
    run.name("here", 9)


def another_network(run):
    run.change(model=nn.Sequential(nn.Linear(3, 6, seed=3), nn.ReLU(), nn.Linear(6, 3, seed=4)))
    run.step(4)
    run.to(2)
    run.set_weights(0, [0.3])
    run.step(1)


STILLS = [
    (edited, "weight", (1280, 720), {1: (0, 6, 8, 10), 0: (9, 12)}),
    (edited, "gradient", SMALL, {1: (0, 7, 10)}), (edited, "update", SMALL, {1: (0, 7, 10)}),
    (another_network, "weight", (320, 180), {1: (3, 0), 0: (10, 7, 5)}),
]  # fmt: skip


@pytest.mark.parametrize(("then", "quantity", "size", "steps"), STILLS)
def test_a_still_of_a_recording_is_that_of_the_run_at_the_same_step(then, quantity, size, steps, record):
    run, recording = record(steps=6, then=then)
    for branch, there in steps.items():
        with recording.on(branch) as read:
            run.switch(branch)
            for step in there:
                run.to(step)
                ours = render(read, size, step=step, quantity=quantity)
                np.testing.assert_array_equal(ours, render(run, size, quantity=quantity))


def test_networks_that_were_changed_stand_as_they_were(record, window):
    run, recording = record(steps=6, then=another_network)
    host, shapes = window(recording, size=SMALL), []
    for branch, step in ((1, 3), (1, 0), (0, 10), (0, 7), (0, 5), (0, 8)):
        if host.source.record.branch != branch:
            host.view.travels.switch(branch)
        assert host.go(step) == step
        run.switch(branch)
        run.to(step)
        assert host.shown.values.tobytes() == run.values.tobytes()
        assert host.source.tensors == run.tensors
        assert [plate.name for plate in host.bench.layout.plates if plate.kind == "weight"]
        shapes.append(run.tensors[0].shape)
    assert shapes == [(4, 3), (4, 3), (6, 3), (6, 3), (4, 3), (6, 3)]


# ---- what is refused


@refusals({
    "no gradients": (lambda record: render(record(kept={"updates": True})[1], quantity="gradient"), InputError,
                     "gradients were not recorded", "allowed: weight"),
    "no updates": (lambda record: render(record(kept={"gradients": True})[1], quantity="update/value"), InputError,
                   "updates were not recorded"),
    "between": (lambda record: render(record(every=5)[1], step=7), InputError, "no step 7", "5 and 10"),
    "no data": (lambda record: render(record(kept={"data": False})[1], SMALL, step=2, inside=1), FileFormatError,
                "step 3 cannot be opened", "data=False"),
    "no such micro-step": (lambda record: render(record("rgb", kept={"updates": True})[1], SMALL, step=2, inside=45),
                           InputError, "1 to 44"),
})  # fmt: skip
def test_refused(refusal, record):
    refusal.check(record)


# ---- hands


@pytest.fixture
def host(record, window):
    return window(record(every=5)[1])


def test_keys_go_to_recorded_steps(host):
    assert [host.press(key) for key in ("Right", "Right", "Right", "Left", "End", "Right")] == [5, 10, 15, 10, 20, 20]
    assert host.says("is the newest")
    assert host.press("Left", shift=True) == host.press("Home") == 0


@pytest.mark.parametrize("size", [(1280, 720), SMALL])
def test_the_time_bar_leads_to_recorded_steps_and_has_a_place_in_any_window(size, record, window):
    host = window(record(every=5)[1], size=size)
    host.point(host.time_bar(7))
    assert host.bench.bar.target(host.bench.to_logical(host.pixel(host.time_bar(7)))) == ("go", 5)
    assert host.click(host.time_bar(8), host.time_bar(14)) == 15
    places, (_, y, _, high) = host.bench.places, host.bench.places.time
    assert places.scene[1] + places.scene[3] <= places.strip[1]
    assert places.strip[1] + places.strip[3] <= y
    assert y + high <= size[1]
    cubes = np.concatenate([host.bench.project(plate.corners) for plate in host.bench.layout.plates])
    assert (cubes[:, 1] < places.strip[1]).all()


def test_it_plays_to_its_end_and_from_the_beginning_again(record, window):
    host, seen = window(record(every=5)[1], wait=0, duration=2.0), []
    for _ in range(150):
        host.pass_time(1 / 60)
        seen.append(host.shown.step)
    assert sorted(set(seen)) == [0, 5, 10, 15, 20]
    assert seen == sorted(seen)
    for runs in (False, True, False):
        assert host.view.playback.running == runs
        assert host.press("Space") == (0 if not runs else host.shown.step)
    for key, count, speed in (("]", 12, 8.0), ("\\", 1, 1.0), ("[", 12, 0.125)):
        host.press(*[key] * count)
        assert host.view.playback.speed == speed
        assert key == "\\" or host.says("already")


def test_every_action_works_or_says_why_not_and_changes_no_number(host):
    record, before = host.source.record, [host.source.record.frame(k).values for k in range(5)]
    for action in host.actions:
        if action.name in ("close", "escape"):
            continue
        host.view.say("")
        reason = action.missing(host.view.action_context())
        assert host.view.send(action.name) == (not reason)
        host.pass_time()
        assert host.view.notice().endswith(reason) if reason else action.name in host.view.handlers
    assert {action.name for action in host.actions if action.applies(host.view.action_context())} >= PLAYS
    for name in ("undo", "restart", "raise_rate", "freeze", "name_moment", "toggle_controls"):
        assert not host.view.send(name)
        assert host.says("recording")
    host.press("Space", "G", "U", "Z", "L", "Tab", "J", "A", "X", "/")
    host.view.scroll((600.0, 300.0), (0.0, 1.0), shift=True)
    assert [record.frame(k).values.tobytes() for k in range(5)] == [values.tobytes() for values in before]


def test_a_cube_tells_its_name_how_it_moved_and_when_its_sign_changed(record, window):
    run, recording = record(steps=60, every=5)
    host = window(recording)
    host.press("End")
    host.select(5)
    inspector = host.bench.interaction.inspector
    assert (inspector.who.name, inspector.who.code) == ("from x2 to h2", "0.weight[1][2]")
    _, moved = inspector.record
    steps = list(range(0, 61, 5))
    values = np.array([(run.to(step), run.values.copy())[1] for step in steps])
    assert (moved.steps.tolist(), moved.values.tolist()) == (steps, values[:, 5].tolist())
    kinds = set()
    for index in range(run.n_weights):
        changes = np.flatnonzero(np.diff(np.sign(values[:, index])))
        wanted = steps[changes[-1] + 1] if len(changes) else None
        host.press("End")
        assert host.source.last_sign_change(index) == wanted
        if (wanted is None) not in kinds:
            host.select(index)
            assert host.press("V") == (60 if wanted is None else wanted)
            assert host.says("did not change its sign" if wanted is None else f"recorded step and step {wanted}")
            kinds.add(wanted is None)
    assert len(kinds) == 2


def test_a_branch_is_gone_to_by_its_ring(record, window):
    run, recording = record(then=lambda run: (run.to(8), run.set_weights(0, [2.0]), run.step(12)))
    host = window(recording)
    host.press("End")
    assert [b.newest for b in host.shown.past.branches if not b.current] == [20]
    host.click(host.time_bar(20, row=1))
    assert [b.number for b in host.shown.past.branches if b.current] == [0]
    assert host.says("Switched branch")
    run.switch(0)
    np.testing.assert_array_equal(host.shown.values, run.values)


# ---- pictures of panels


@pytest.fixture
def pictured(tmp_path):
    """A recording with pictures whose grey is the step."""
    run = make_run("rgb")
    shade = panels.Image("shade", lambda moment: np.full((4, 4, 3), 10 + 5 * moment.step, np.uint8))
    with sv.Recording(sv.Scene("t", run, panels=(shade, panels.LossCurve())), path=tmp_path / "p.svz", panels=True):
        run.step(40)
    with sv.load_recording(tmp_path / "p.svz") as read:
        yield read


def test_the_picture_of_each_step_is_the_last_one_before_it_pixel_for_pixel(pictured, window):
    host, steps = window(pictured), sorted(picture.step for picture in pictured.pictures)
    assert steps == list(range(41))
    for step in (0, 7, 8, 40):
        host.source.to(step)
        host.pass_time()
        shown = max(s for s in steps if s <= step)
        assert any(f" at step {shown}" in text for text in host.words())
        x, y, _, high = host.bench.side.drawers["recorded picture"].box
        middle = host.picture()[round(y + high / 2), round(x + 40)]
        assert np.abs(middle.astype(int) - (10 + 5 * shown)).max() <= 2


# ---- files that go


def test_a_file_that_is_cut_while_it_is_shown_keeps_the_last_picture_and_says_why(record, window):
    recording = record("wide", steps=1500)[1]  # more than what SQLite keeps of a file
    host = window(recording, size=SMALL)
    first = host.shown.values.copy()
    with recording.path.open("r+b") as file:
        file.truncate(8192)
    host.press("Space")
    for _ in range(120):
        host.pass_time(1 / 20)
    assert "cannot be read" in host.view.message()
    assert not host.view.playback.running
    assert host.shown.values.tobytes() == first.tobytes()
    host.press("End", "Left")
    host.select(3)
    host.picture()
