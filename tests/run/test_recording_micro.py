"""Every step of a recording opens: between its frames, too, and where the model's code cannot be imported."""

import random

import numpy as np
import pytest

import scalarviz as sv
from kit.files import same
from kit.learning import FAMILIES, LOSSES, SCHEDULES
from kit.networks import NETWORKS
from kit.runs import bits, make_run

STEPS, EVERY = 13, 4


def record(run, path, steps=STEPS, **options):
    with sv.Recording(run, path=path, **{"every": EVERY, **options}):
        getattr(run, "run", run).step(steps)  # of a scene, its run


def parts_of(opened):
    """All that an opened step says."""
    names = ("step", "trial", "loss", "lr", "divisor", "values", "gradient", "new_values", "delta_sums", "means",
             "rows", "deltas", "inputs", "targets", "batch", "penalty")  # fmt: skip
    steps = [(s.phase, s.kind, s.words, s.stage, s.formula, s.numbers, s.value, s.factors, s.units, s.weights)
             for s in opened.micro_steps()]  # fmt: skip
    told = [str(opened.update(k)) for k in range(0, len(opened.values), 5)]
    return [getattr(opened, name) for name in names], steps, told, opened.loss_along(0, 5).losses


def check(run, path, sample=2):
    """Each step of a run's recording is that of the run."""
    with sv.load_recording(path) as found:
        first, last = int(found.steps[0]), int(found.steps[-1])
        assert len(found) < last - first
        for step in random.Random(1).sample(range(first + 1, last + 2), 6):
            assert same(parts_of(found.open(step)), parts_of(run.open(step=step))), step
            assert same(parts_of(found.open(step, sample)), parts_of(run.open(step=step, sample=sample)))


def losses_of(network):
    return "cross-entropy" if NETWORKS[network].reads == "words" or network == "classes" else "mse"


RUNS = (
    [{"network": name, "loss": losses_of(name)} for name in NETWORKS]
    + [{"loss": name, "network": "classes"} for name in LOSSES if LOSSES[name].targets in ("classes", "shares")]
    + [{"optimizer": name} for name in (*FAMILIES, "own", "groups")]
    + [{"optimizer": "sgd", "schedule": name} for name in SCHEDULES if name != "one cycle"]
    + [{"dtype": dtype, "engine": engine} for dtype in ("float32", "float16") for engine in ("numpy", "numba")]
    + [{"batch_size": None}, {"sampling": "replacement"}, {"l1": 0.01, "l2": 0.1, "clip_norm": 0.2}]
)


@pytest.mark.ci
@pytest.mark.parametrize("options", RUNS, ids=str)
def test_every_step_of_a_recording_is_the_step_of_the_run(options, tmp_path):
    run, plain = make_run(**options), make_run(**options)
    for one in (run, plain):
        one.step(2)
    record(run, tmp_path / "a.svz")
    plain.step(STEPS)
    assert bits(run) == bits(plain)
    check(run, tmp_path / "a.svz")


def test_edits_and_branches_are_on_the_way(tmp_path):
    run = make_run(dtype="float32")
    with sv.Recording(run, every=EVERY, path=tmp_path / "a.svz"):
        run.step(5)
        run.model.weights()[0].data = 0.5
        run.step(4)
        run.optimizer.lr = 0.1
        run.step(3)
        run.to(6)
        run.step(9)
        run.add_data(*(np.ones((3, size)) for size in (3, 3)))
        run.step(2)
    check(run, tmp_path / "a.svz")


def test_the_objects_engine_differs_by_rounding_alone(tmp_path):
    run = make_run(engine="objects", dtype="float32")
    record(run, tmp_path / "a.svz")
    with sv.load_recording(tmp_path / "a.svz") as found:
        for step in (3, 7):
            one, other = found.open(step), run.open(step=step)
            np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-4, atol=1e-7)
            np.testing.assert_allclose(one.new_values, other.new_values, rtol=1e-4, atol=1e-7)
            assert str(found.why("0.weight[1][1]", step).name) == "0.weight[1][1]"
