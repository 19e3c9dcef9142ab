"""Laws of recordings: the file says what the run said, wherever it was moved, and training does not notice it."""

import threading
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.edits import CHANGES, EDITS, JUMPS, MOVES
from kit.files import frame_parts, same
from kit.refusals import refusals
from kit.runs import bits, make_run
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.frames import sample
from scalarviz.run.travel import span

ALL = {"gradients": True, "updates": True, "activations": True}
DONE = MOVES | EDITS | CHANGES | JUMPS
FLOATS: dict[str, Any] = {"dtype": "float32"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.svz"


def shown(frame):
    """What a frame says, and which weights it is of."""
    had = frame.settings
    return frame_parts(frame) | {
        "edited": frame.edited, "next": frame.next_lr, "stopped": frame.stopped_by, "dead": frame.dead,
        "flat": {name: shares.astype("f4") for name, shares in frame.saturated.items()},
        "rule": (had.optimizer, had.batch_size, had.numbers["lr"]),
    }  # fmt: skip


# ---- the file says what the run said


def walk(names, seed, path, every=1, **options):
    """Do what is named to a run that is recorded and to one that is not, then compare both and the file."""
    options = FLOATS | options
    run, plain = make_run(**options), make_run(**options)
    probe = sample(run, 0)[0]  # which is recorded, whatever samples there are later
    with sv.Recording(run, every, path=path, **ALL) as recording:
        for number, name in enumerate(names):
            refused = []
            for one in (plain, run):
                try:
                    DONE[name](one, np.random.default_rng((seed, number)))
                except sv.ScalarvizError as error:  # there is nothing to undo, say
                    refused.append(str(error))
            assert refused in ([], refused[:1] * 2)
            assert bits(run) == bits(plain), (number, name)
            with recording.read() as found:
                assert not found.remark
                if run.steps in found.steps:
                    assert same(shown(found.frame(found.at(run.steps))), shown(run.frame(probe))), (number, name)
                else:
                    assert run.steps % every
    compare(run, path, every, probe)
    return run


def compare(run, path, every, probe):
    """Each branch of a file with what the run shows when it goes there."""
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        assert recorded.step == run.steps
        assert recorded.past.flags == run.frame().past.flags
        ways = {branch.number: branch for branch in recorded.branches}
        for branch in run.branches:
            own = ways[branch.number]
            for name in ("parent", "first", "newest", "current", "why"):
                assert getattr(own, name) == getattr(branch, name), name
            assert [(e.step, e.what) for e in own.edits] == [(e.step, e.what) for e in branch.edits]
        for branch in run.branches:
            if branch.number not in {kept.number for kept in run.branches}:
                continue  # nothing was done on it, and the run has left it
            run.switch(branch)
            with recorded.on(branch) as there:
                assert there.curve.loss.tobytes() == run.history.loss.tobytes()
                assert [(e.step, e.what) for e in there.edits] == [(e.step, e.what) for e in run.log]
                first = int(there.steps[0])
                assert set(range(first, span(run)[1] + 1)) & set(range(0, 999, every)) <= set(there.steps.tolist())
                for k, step in enumerate(there.steps):
                    run.to(int(step))
                    assert same(shown(there.frame(k)), shown(run.frame(probe))), (branch.number, step)


WALKS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "nothing": ([], {}),
    "steps": (["step"] * 3, {"every": 3}),
    "edit and branch": (["step", "rate", "rate", "step", "back", "weights", "step", "undo", "step"], {}),
    "undone and done again": (["step", "weights", "undo", "redo", "undo", "step", "to a branch", "switch"], {}),
    "begun anew": (["step", "restart with a seed", "step", "undo", "step", "restart", "undo"], {}),
    "another network": (["step", "model", "step", "back", "rate", "undo", "switch", "step"], {"network": "wide"}),
    "written to": (["view of the run", "step", "view of a module", "to", "whole parameter", "step"], {"every": 2}),
    "other data": (["step", "targets", "step", "undo", "redo", "name", "to", "more samples", "step"], {}),
    "frozen": (["step", "frozen", "step", "some frozen", "step", "undo"], {"network": "batch norm"}),
    "a file": (["step", "file", "step", "undo", "step"], {"network": "dropout"}),
    "compiled": (["step", "rate", "step", "back", "hand", "step"], {"engine": "numba", "every": 3}),
    "objects": (["step", "optimiser", "step", "back", "activation", "step"], {"engine": "objects", "network": "rgb"}),
    "pictures": (["step", "weights", "step", "to", "schedule", "step"], {"network": "picture"}),
}


@pytest.mark.parametrize("name", WALKS)
def test_a_file_says_what_the_run_said(name, path):
    names, options = WALKS[name]
    run = walk(names, 1, path, **options)
    with sv.load_recording(path) as recorded:
        assert (recorded.tensors, recorded.stages) == (run.tensors, run.stages)
        for tensor in run.tensors:  # NaN where it had another shape
            rows = recorded.values[tensor.name]
            fits = [tensor in recorded.shapes(k).tensors for k in range(len(recorded))]
            assert rows.shape == (len(recorded), *tensor.shape)
            assert [np.isfinite(row).all() for row in rows] == fits


@pytest.fixture
def threadless(monkeypatch):
    """No thread can start, as in Pyodide."""

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.parametrize("name", ["nothing", "edit and branch", "other data"])
def test_a_file_says_it_too_where_no_thread_can_start(name, path, threadless):
    names, options = WALKS[name]
    walk(names, 1, path, **options)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(6))
def test_a_file_says_what_the_run_said_on_any_walk(seed, path):
    random = np.random.default_rng(seed)
    names = random.choice(sorted(DONE), 20).tolist()
    names[::3] = ["step"] * 7
    network = str(random.choice(["mlp", "rgb", "residual", "batch norm", "dropout"]))
    walk(names, seed, path, int(random.integers(1, 4)), network=network)


# ---- which steps, and which parts


def test_every_is_exact_in_steps_and_the_curve_has_all_of_them(path, tmp_path):
    run = make_run(engine="numba", **FLOATS)
    with sv.Recording(run, every=7, path=path), sv.Recording(run, 10, path=tmp_path / "other.svz", **ALL):
        run.step(100)
        run.close()  # both end here
    with sv.load_recording(path) as recorded, sv.load_recording(tmp_path / "other.svz") as other:
        assert recorded.steps.tolist() == [*range(0, 100, 7), 100]
        assert recorded.curve.step.tolist() == list(range(1, 101))
        assert recorded.curve.loss.tobytes() == run.history.loss.tobytes()
        assert np.array_equal(recorded.loss[1:], run.history.loss[recorded.steps[1:] - 1])
        assert (recorded.has, other.has, dict(recorded.gradients)) == (frozenset(), frozenset(ALL), {})
        assert not recorded.frame(3).computed.any()
        assert other.steps.tolist() == list(range(0, 101, 10))
        assert other.frame(7).values.tobytes() == recorded.frame(10).values.tobytes()
        assert np.array_equal(recorded.values["0.weight"][10], run.tensors[0].of(other.frame(7).values))


def test_without_a_thread_frames_are_dropped_too(path, threadless):
    run = make_run(**FLOATS)
    with sv.Recording(run, path=path, budget=50_000) as recording:
        recording.tell = str
        run.step(400)
    assert recording.thinned
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == [*range(0, 400, recording.every), 400]


@pytest.mark.ci
def test_above_the_budget_every_second_frame_goes_which_is_said_once(path):
    run, said = make_run(**FLOATS), list[str]()
    with sv.Recording(run, path=path, budget=110_000, gradients=True, updates=True) as recording:
        recording.tell = said.append
        for _ in range(8):
            run.step(50)
            recording.flush()
        run.set_weights(0, [1.0])
        run.step(400)
        recording.flush()
        every = recording.every
        assert recording.thinned
    assert every > 1
    assert path.stat().st_size < 220_000
    (line,) = said
    assert path.name in line
    assert "0.11 MB" in line
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == sorted({*range(0, 801, every), 400, 800})
        assert len(recorded.curve.step) == 800


ODD = [
    "",
    "\n",
    "\t",
    "a\nb",
    "a b",
    " a b",
    "a b (2)",
    *("x" * n for n in (199, 200, 201)),
    "x" * 201 + "1",
    "x" * 201 + "2",
]


@settings(max_examples=20)
@given(st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=9)), min_size=1, max_size=12, unique=True))
def test_whatever_tensors_are_called_a_recording_can_be_opened(names):
    watched = sv.watch({name: np.full(2, k) for k, name in enumerate(names)} | {"last": np.ones(1)})
    with sv.Recording(watched) as recording, recording.read() as recorded:
        assert len({tensor.name for tensor in recorded.tensors}) == len(watched.tensors)
        assert np.array_equal(recorded.frame(0).values, watched.last.values)


def test_layers_whose_names_are_cut_keep_their_own_weights():
    long = ["l" * 300 + end for end in "abc"]
    net = nn.Sequential({name: nn.Linear(2, 2, seed=0) for name in long})
    run = sv.Run(net, loss=nn.MSELoss(), optimizer=optim.SGD(net.parameters()), data=(np.eye(2), np.eye(2)))
    with sv.Recording(run) as recording, recording.read() as recorded:
        stages = recorded.shapes(0).stages
        assert [stage.weight.start for stage in stages] == [stage.weight.start for stage in run.frame().forward.stages]


def test_a_scene_says_what_it_is(path):
    run = make_run()
    x, y = sample(run, 4)
    scene = sv.Scene("xor", run, probe=x, probe_target=y, input_names=("x", "y", "z"), output_names=("a", "b", "c"))
    with sv.Recording(scene, activations=True, path=path) as recording:
        run.step(2)
    assert recording.path == path
    with sv.load_recording(path) as recorded:
        about = recorded.about
        assert (about.name, about.input_names, about.output_names) == ("xor", ("x", "y", "z"), ("a", "b", "c"))
        assert (about.optimizer, about.samples, about.sentence) == ("Adam", 24, scene.shown_story.sentence)
        assert np.array_equal(recorded.activations["input"][1], x.astype("f4"))


LOSSES = (nn.MSELoss(), nn.CrossEntropyLoss(weight=[0.3, 2.0, 1.0], label_smoothing=0.2, reduction="sum"))


@pytest.mark.parametrize("loss", LOSSES)
def test_deltas_are_what_the_loss_of_the_probe_says(loss, path):
    """Of a linear layer: the slope of its bias, by finite differences; of what it reads: that times its weights."""
    like = make_run("mlp", loss="mse" if isinstance(loss, nn.MSELoss) else "cross-entropy")
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.1), like.samples(), engine="numpy", dtype="float64")
    x, y = sample(run, 4)
    scene = sv.Scene("t", run, probe=x, probe_target=y, whole_loss=isinstance(loss, nn.MSELoss))
    with sv.Recording(scene, activations=True, deltas=True, path=path):
        run.step(2)
    at, bumps = run.values, 1e-6 * np.eye(run.n_weights)
    slopes = np.array([(run.evaluate([x], [y], at + h) - run.evaluate([x], [y], at - h)) / 2e-6 for h in bumps])
    with sv.load_recording(path) as recorded:
        assert recorded.has == {"activations", "deltas"}
        assert recorded.frame(-1).probe_loss == pytest.approx(run.evaluate([x], [y]), rel=1e-6)
        whole = run.evaluate(*run.samples()) if scene.whole_loss else run.frame().coming.loss
        assert recorded.frame(-1).shown_loss == pytest.approx(whole, rel=1e-6)
        delta = {name: rows[-1] for name, rows in recorded.deltas.items()}
        named = {tensor.name: tensor.of(slopes) for tensor in run.tensors}
        assert np.allclose(delta["0"], named["0.bias"], atol=1e-6)
        assert np.allclose(delta["2"], named["2.bias"], atol=1e-6)
        assert np.allclose(delta["1"], run.state_dict()["2.weight"].T @ delta["2"], atol=1e-6)
        assert np.isnan(delta["input"]).all()
        assert np.allclose(recorded.activations["1"][-1], run.activations(x)["1"], atol=1e-6)


# ---- where the file is


def test_without_a_path_the_file_goes_with_the_recording(tmp_path):
    run = make_run()
    before = set(threading.enumerate())
    recording = sv.Recording(run)
    run.step(3)
    assert set(threading.enumerate()) - before
    path = recording.close()
    assert set(threading.enumerate()) == before
    run.step(3)  # nobody records it any more
    for one in (path, recording.save(tmp_path / "?#%41.svz")):
        with sv.load_recording(one) as recorded:
            assert len(recorded) == 4
    del recording
    assert not path.parent.exists()


@pytest.mark.parametrize("way", ["itself", "link", "hard link"])
def test_nothing_is_written_over_the_recording_that_it_is_made_of(way, path, tmp_path):
    run, name = make_run(), tmp_path / "page.html"
    with ExitStack() as stack, sv.Recording(run, path=path) as recording:
        run.step(3)
        other = recording.save(tmp_path / "other.svz")
        name = {"itself": lambda: path, "link": lambda: name.symlink_to(path) or name,
                "hard link": lambda: name.hardlink_to(path) or name}[way]()  # fmt: skip
        one, two = stack.enter_context(recording.read()), stack.enter_context(sv.load_recording(other))
        for write in (recording.save, recording.save_html, one.save_html, one.compare(two).save_html,
                      two.compare(one).save_html):  # fmt: skip
            with pytest.raises(InputError, match=name.name):
                write(name)
        run.step(3)
    assert not recording.trouble
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == list(range(7))


# ---- what is refused


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A recording of three steps; not to be changed."""
    path = tmp_path_factory.mktemp("short") / "short.svz"
    run = make_run()
    with sv.Recording(run, path=path):
        run.step(3)
    return path


def closed(path):
    with sv.load_recording(path) as recorded:
        pass
    return recorded


@refusals({
    "file exists": (lambda path: sv.Recording(make_run(), path=path), InputError, "short.svz", "another name"),
    "a layer": (lambda path: sv.Recording(nn.Linear(2, 1)), TypeMismatchError, "sv.run("),
    "no such frame": (lambda path: sv.load_recording(path).frame(4), InputError, "4"),
    "no such branch": (lambda path: sv.load_recording(path).on(7), InputError, "short.svz", 7, "allowed: 0"),
    "closed": (lambda path: closed(path).frame(0), StateError, "closed"),
})  # fmt: skip
def test_refused(refusal, short):
    with suppress(OSError):
        refusal.check(short)
