"""Recordings: the file says what the run said, wherever it was moved; recorded training has the bits of training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Frame, Run, Scene
from scalarviz.run.run_source import RunSource
from scalarviz.run.worker import Worker

RNG = np.random.default_rng(5)
X = RNG.normal(size=(32, 2)).astype(np.float32)
Y = (X[:, :1] * X[:, 1:] > 0).astype(np.float32)


def made(engine: str = "numpy", **options: Any) -> Run:
    """A small run whose bits depend on nothing but its seed."""
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
    net.initialize(seed=3)
    given = {"batch_size": 8, "engine": engine} | options
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, Y), **given)


def bits(frame: Frame) -> tuple[Any, ...]:
    """What a frame says, to the bit; NaN is NaN."""
    arrays = (frame.values, frame.gradient, frame.update, frame.computed, frame.frozen)
    return (frame.step, repr(frame.loss), repr(frame.lr), frame.edited, *(a.tobytes() for a in arrays))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording goes."""
    return tmp_path / "run.svz"


def test_each_frame_is_what_the_run_said(path: Path) -> None:
    run = made()
    with sv.Recording(run, gradients=True, updates=True, activations=True, path=path):
        said = [run.frame(run.sample(0)[0])]
        for _ in range(20):
            run.step()
            said.append(run.frame(run.sample(0)[0]))
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == list(range(21))
        for k, frame in enumerate(said):
            again = recorded.frame(k)
            assert bits(again) == bits(frame)
            assert again.activations.keys() == frame.activations.keys()
            for name, row in frame.activations.items():
                assert np.array_equal(again.activations[name], row.astype(np.float32))
            assert np.array_equal(again.curve.loss, frame.curve.loss)
            assert {k: list(v) for k, v in again.saturated.items()} == {k: list(v) for k, v in frame.saturated.items()}
        assert np.array_equal(recorded.loss[1:], run.history.loss)
        assert np.array_equal(recorded.values["0.weight"][7], run.tensors[0].of(said[7].values))
        assert recorded.tensors == run.tensors
        assert recorded.stages == run.stages


@pytest.mark.parametrize("engine", ["numpy", "numba", "objects"])
def test_recorded_training_has_the_bits_of_training(engine: str, path: Path) -> None:
    plain, watched = made(engine), made(engine)
    with sv.Recording(watched, every=3, gradients=True, updates=True, activations=True, path=path):
        for run in (plain, watched):
            run.step(40)
            run.lr = 0.01
            run.back(7)
            run.step(30)
    assert bits(plain.frame()) == bits(watched.frame())
    assert plain.history.loss.tobytes() == watched.history.loss.tobytes()


def test_every_is_exact_in_steps_and_the_curve_has_all_of_them(path: Path) -> None:
    run = made("numba")
    with sv.Recording(run, every=7, path=path):
        run.step(100)
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == [*range(0, 100, 7), 100]
        assert recorded.curve.step.tolist() == list(range(1, 101))
        assert recorded.curve.loss.tobytes() == run.history.loss.tobytes()
        assert not recorded.gradients
        assert not recorded.frame(3).computed.any()


def _edit(run: Run) -> None:
    run.step(5)
    run.set_weights(0, [2.0])
    run.step(4)


def _undo(run: Run) -> None:
    _edit(run)
    run.undo()
    run.step(2)


def _redo(run: Run) -> None:
    _edit(run)
    run.undo()
    run.redo()
    run.step(1)


def _branch(run: Run) -> None:
    run.step(9)
    run.back(4)
    run.lr = 0.5
    run.step(3)


def _switch(run: Run) -> None:
    _branch(run)
    run.switch(0)


def _restart(run: Run) -> None:
    run.step(6)
    run.restart(seed=4)
    run.step(3)


def _frozen(run: Run) -> None:
    run.step(2)
    run.model[0].bias.frozen = True
    run.values[3] = 0.25
    run.step(3)


MOVES: dict[str, Callable[[Run], None]] = {
    "edit": _edit, "undo": _undo, "redo": _redo, "branch": _branch, "switch": _switch, "restart": _restart,
    "frozen": _frozen,
}  # fmt: skip


@pytest.mark.parametrize("move", MOVES)
def test_a_recording_shows_every_branch_as_the_run_does(move: str, path: Path) -> None:
    run = made()
    with sv.Recording(run, gradients=True, updates=True, path=path):
        MOVES[move](run)
        here = run.frame()
    with sv.load_recording(path) as recorded:
        assert recorded.step == run.steps
        assert bits(recorded.frame(recorded.at(run.steps))) == bits(here)
        ways = {branch.number: branch for branch in recorded.branches}
        for branch in run.branches:
            own = ways[branch.number]
            for name in ("parent", "first", "newest", "current", "why"):
                assert getattr(own, name) == getattr(branch, name), name
            assert [(e.step, e.what, e.edit) for e in own.edits] == [(e.step, e.what, e.edit) for e in branch.edits]
            assert own.curve.loss.tobytes() == branch.curve.loss.tobytes()
            with recorded.on(branch) as there:
                run.switch(branch)
                assert there.steps.tolist() == list(range(run.span[1] + 1))
                for k, step in enumerate(there.steps):
                    run.to(int(step))
                    assert bits(there.frame(k)) == bits(run.frame()), (branch, step)


def test_a_loaded_file_and_a_worker_are_seen(path: Path, tmp_path: Path) -> None:
    run = made()
    run.step(3)
    run.save(tmp_path / "w.safetensors")
    with sv.Recording(run, path=path, gradients=True, updates=True):
        with Worker(run) as worker:
            worker.train_to(30)
            worker.settle()
        run.load(tmp_path / "w.safetensors")
        run.step(2)
        last = run.frame()
    with sv.load_recording(path) as recorded:
        assert bits(recorded.frame(-1)) == bits(last)
        assert recorded.steps[-1] == 5
        with recorded.on(0) as first:
            assert first.steps.tolist() == list(range(3, 31))


def test_another_network_is_another_network_in_the_file(path: Path) -> None:
    run = made()
    with sv.Recording(run, path=path):
        run.step(3)
        net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1), nn.Sigmoid())
        run.change(model=net)
        run.step(2)
    with sv.load_recording(path) as recorded:
        assert recorded.tensors == run.tensors
        assert recorded.shapes(0).tensors[0].shape == (4, 2)
        values = recorded.values["0.weight"]
        assert values.shape == (6, 6, 2)
        assert np.isnan(values[:3]).all()
        assert np.isfinite(values[3:]).all()


def test_a_scene_says_what_it_is(path: Path) -> None:
    run = made()
    scene = Scene("xor", run, probe=X[4], probe_target=Y[4], input_names=("x", "y"), output_names=("z",))
    with sv.Recording(scene, activations=True, path=path) as recording:
        run.step(2)
    assert recording.path == path
    with sv.load_recording(path) as recorded:
        about = recorded.about
        assert (about.name, about.input_names, about.optimizer, about.samples) == ("xor", ("x", "y"), "Adam", 32)
        assert recorded.probe is not None
        assert np.array_equal(recorded.activations["input"][1], X[4])
        assert about.sentence == scene.told.sentence


def test_what_exists_is_not_overwritten_and_a_copy_is_whole(path: Path, tmp_path: Path) -> None:
    run = made()
    with sv.Recording(run, path=path) as recording:
        with pytest.raises(sv.ScalarvizError, match="is there already"):
            sv.Recording(run, path=path)
        run.step(4)
        copy = recording.save(tmp_path / "copy.svz")
        with recording.read() as live:
            assert live.steps.tolist() == [0, 1, 2, 3, 4]
        run.step(2)
    with sv.load_recording(copy) as recorded:
        assert recorded.steps.tolist() == [0, 1, 2, 3, 4]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.svz", "run.svz"]


def test_without_a_path_the_file_goes_with_the_recording() -> None:
    run = made()
    recording = sv.Recording(run)
    run.step(3)
    path = recording.close()
    with sv.load_recording(path) as recorded:
        assert len(recorded) == 4
    del recording
    assert not path.parent.exists()


def test_a_closed_run_ends_its_recording(path: Path) -> None:
    run = made()
    recording = sv.Recording(run, every=10, path=path)
    run.step(13)
    run.close()
    recording.close()
    recording.close()
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == [0, 10, 13]


def test_above_the_budget_every_second_frame_goes(path: Path) -> None:
    run = made()
    with sv.Recording(run, gradients=True, updates=True, path=path, budget=200_000) as recording:
        run.step(1500)
        run.set_weights(0, [1.0])
        run.step(1500)
        recording.flush()
        every = recording.every
    assert every > 1
    assert path.stat().st_size < 300_000
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == sorted({*range(0, 3001, every), 1500, 3000})
        assert len(recorded.curve.step) == 3000


def test_deltas_are_what_the_loss_of_the_probe_says(path: Path) -> None:
    """Against the gradient of the biases, which a linear stage's deltas are, and finite differences of the loss."""
    run = made(dtype="float64")
    scene = Scene("xor", run, probe=X[4], probe_target=Y[4])
    with sv.Recording(scene, activations=True, deltas=True, path=path):
        run.step(3)
    source = RunSource(run)
    flat = source.sample_gradient(X[4], Y[4], run.values)
    with sv.load_recording(path) as recorded:
        assert recorded.has == {"activations", "deltas"}
        biases = {tensor.name: tensor.of(flat) for tensor in run.tensors if tensor.role == "bias"}
        deltas = {name: rows[-1] for name, rows in recorded.deltas.items()}
        assert np.allclose(deltas["0"], biases["0.bias"], rtol=1e-6)
        assert np.allclose(deltas["2"], biases["2.bias"], rtol=1e-6)
        assert np.isnan(deltas["input"]).all()
        weight, rows = run.tensors[2].of(run.values), recorded.activations["1"][-1]
        for k in range(4):  # of an activation: what moving it moves, seen in the loss by hand
            moved = [_loss(weight, rows + h * np.eye(4)[k], run.tensors[3].of(run.values)) for h in (1e-4, -1e-4)]
            assert deltas["1"][k] == pytest.approx((moved[0] - moved[1]) / 2e-4, rel=1e-4)


@pytest.mark.parametrize("loss", [
    nn.CrossEntropyLoss(weight=[0.3, 2.0]), nn.CrossEntropyLoss(weight=[0.3, 2.0], label_smoothing=0.2),
    nn.CrossEntropyLoss(weight=[0.3, 2.0], reduction="sum"),
])  # fmt: skip
def test_deltas_and_the_samples_gradient_are_of_the_loss_of_the_probe_where_classes_have_weights(
    loss: nn.Loss, path: Path
) -> None:
    """A mean over weighted classes divides by the sample's own weight: finite differences of ``run.evaluate``."""
    net = nn.Sequential(nn.Linear(2, 3, seed=1), nn.Tanh(), nn.Linear(3, 2, seed=2))
    classes = np.arange(len(X)) % 2
    run = Run(net, loss, optim.SGD(net.parameters(), lr=0.1), (X, classes), engine="numpy", dtype="float64")
    with sv.Recording(Scene("t", run, probe=X[1], probe_target=classes[1:2]), deltas=True, path=path):
        run.step(2)
    at, one = run.values, (X[1:2], classes[1:2, None])
    eye = 1e-6 * np.eye(len(at))
    numeric = np.array([(run.evaluate(*one, at + h) - run.evaluate(*one, at - h)) / 2e-6 for h in eye])
    assert np.allclose(RunSource(run).sample_gradient(X[1], classes[1:2], at), numeric, atol=1e-8)
    with sv.load_recording(path) as recorded:
        for tensor in run.tensors:
            if tensor.role == "bias":
                stage = tensor.name.partition(".")[0]
                assert np.allclose(recorded.deltas[stage][-1], tensor.of(numeric), atol=1e-6)


def _loss(weight: Any, row: Any, bias: Any) -> float:
    """The square of what the last layer and its sigmoid make of a row, less the target."""
    return float((1 / (1 + np.exp(-(weight @ row + bias))) - Y[4])[0] ** 2)


def test_a_model_that_is_one_layer_and_weights_of_any_name(path: Path, tmp_path: Path) -> None:
    """The stage of the model itself has no name."""
    layer = nn.Linear(2, 1, seed=0)
    odd = [sv.Weight(0.5, name=name) for name in ("a\nb", "</script>")]
    models: list[tuple[Any, Any]] = [
        (layer, layer.parameters()),
        (lambda x: [x[0] * odd[0] + x[1] * odd[1]], odd),
    ]
    for number, (model, weights) in enumerate(models):
        run = Run(model, nn.MSELoss(), optim.SGD(weights, lr=0.1), (X, Y), engine="numpy")
        with sv.Recording(run, activations=True, path=tmp_path / f"{number}.svz") as recording:
            run.step(2)
            with recording.read() as recorded:
                assert [stage.outputs for stage in recorded.stages] == [1]
                np.testing.assert_array_equal(recorded.frame(2).values, run.values)
                assert recorded.activations[run.stages[0].name].shape == (3, 1)


@pytest.mark.parametrize("wrong", [None, 1.5, float("nan"), "3", b"3", [1], {}, np.array([1, 2])], ids=repr)
def test_steps_branches_and_names_that_are_none_are_said(path: Path, wrong: Any) -> None:
    run = made()
    with sv.Recording(run, path=path):
        run.step(3)
    with sv.load_recording(path) as recorded:
        with pytest.raises(sv.ScalarvizError, match="whole number"):
            recorded.at(wrong)
        with pytest.raises(sv.ScalarvizError, match=r"there is no .* allowed: 0\.weight"):
            recorded.values[wrong]
        if wrong is not None:  # the branch of the end
            with pytest.raises(sv.ScalarvizError, match=r"whole number|no branch"):
                recorded.on(wrong)
        assert [recorded.at(step) for step in (-5, 0, np.int64(2), True, 10**30)] == [0, 0, 2, 1, 3]
