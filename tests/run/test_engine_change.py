"""A run moves to another engine between two steps, and nothing but the rounding shows it.

Engines that cannot be made are made to fail by the names under which a run finds them.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest

from kit.edits import trains_by
from kit.networks import NETWORKS
from kit.runs import bits, far, make_run
from scalarviz.engine import table
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.run import Run


def arrays(run: Run) -> list[np.ndarray]:
    frame = run.frame(state=True)
    return [frame.values, frame.gradient, frame.update, run.history.loss, *frame.state.values()]


@pytest.mark.parametrize(("network", "optimizer"), [
    ("mlp", "sgd_momentum"), ("batch norm", "adam"), ("dropout", "adamw_amsgrad")])  # fmt: skip
@pytest.mark.parametrize(("first", "second"), [("numpy", "numba"), ("numba", "objects"), ("objects", "numpy")])
@pytest.mark.parametrize("inside", [False, True])
def test_the_numbers_are_those_of_a_run_without_the_change(first, second, inside, network, optimizer):
    def trained(engine: str, other: str = "") -> Run:
        run = make_run(network, optimizer=optimizer, engine=engine)
        if other and inside:  # a function of the user changes it in the middle of a call
            run.on_step(lambda run: run.steps == 5 and run.adopt_engine(other))
            run.step(6)
        else:
            run.step(5)
        if other and not inside:
            before = bits(run)[0], trains_by(run)
            run.adopt_engine(other)
            assert (bits(run)[0], trains_by(run)) == before
            assert run.values is not None
        run.step(9 - run.steps)  # over the end of an epoch of 3 batches
        run.model.freeze("0.*")
        run.set_weights(20, [0.25, -0.5])
        run.set_targets(1 - run.samples()[1])
        run.step(4)
        return run

    run = trained(first, second)
    for engine in (first, second):
        for mine, its in zip(arrays(run), arrays(trained(engine)), strict=True):
            assert far(mine, its) < 1e-11
    assert (run.steps, run.history.step.tolist()) == (13, list(range(1, 14)))
    assert (run.engine.name, run.engine.since, run.engine.why) == (second, 5, "asked for")


def test_speed_is_that_of_the_engine_at_work():
    run = make_run("mlp")
    run.step(10)
    before = run.full_speed
    run.adopt_engine("numba")
    assert np.isnan(run.steps_per_second)
    assert run.full_speed != before
    run.step(10)
    assert run.steps_per_second > 0


# ---- engines that cannot be made


@pytest.mark.parametrize("error", [InputError("no room"), KeyboardInterrupt()])
def test_an_engine_that_cannot_be_made_changes_nothing(error, monkeypatch):
    run, other = make_run("mlp"), NETWORKS["wide"].ours()
    run.step(2)
    net, values, theirs = run.model, run.values.copy(), other[0].weight.data.copy()
    before = bits(run), trains_by(run)

    def fails(problem: Any) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(run, "_make_trainer", fails)
        for wanted in ({"activation": "relu"}, {"model": other}, {"optimizer": "Adam"}):
            with pytest.raises(type(error)):
                run.change(**wanted)
            assert (bits(run), trains_by(run)) == before
        broken.setattr("scalarviz.engine.cpu.NumbaTrainer", fails, raising=False)
        with pytest.raises(type(error)):
            run.adopt_engine("numba")
        assert (bits(run), trains_by(run)) == before
    assert other[0].weight.data.tobytes() == theirs.tobytes()
    other[0].weight[0][0].data = 2.0  # it stands alone
    assert run.values.tobytes() == values.tobytes()
    run.change(model=other)
    run.step(1)
    run.undo()
    assert (bits(run), trains_by(run)) == before
    net[0].weight[0][0].data = 0.5
    assert run.values[0] == 0.5


def test_a_run_that_cannot_be_made_leaves_the_weights_to_the_one_before(monkeypatch):
    run = make_run("mlp")
    run.step(3)
    values = run.values.copy()

    def fails(self: Any, problem: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as broken, pytest.raises(MemoryError) as held:
        broken.setattr(Run, "_make_trainer", fails)
        Run(run.model, run.loss_function, run.optimizer, run.samples(), engine="numpy", dtype="float64")
    run.model[0].weight[0][0].data = 3.0
    after = Run(run.model, run.loss_function, run.optimizer, run.samples(), engine="numpy", dtype="float64")
    assert held.value is not None  # its traceback holds the run that is none
    assert after.values[1:].tobytes() == values[1:].tobytes()
    after.step()


def test_an_engine_that_is_not_there_is_not_loaded_either(monkeypatch):
    """With NUMBA_DISABLE_JIT=1 it threw the good kernels of the cache away."""
    run = make_run("mlp")
    gone = dataclasses.replace(table.ENGINES["numba"], missing=lambda device: "is gone")
    monkeypatch.setitem(table.ENGINES, "numba", gone)
    with pytest.raises(ScalarvizError, match="is gone"):
        run.load_engine("numba")
    run.step()
    assert table.find("cuda:12")[1] == 12
