"""A run moves to another engine between two steps, and nothing but the rounding shows it.

Engines that cannot be made are made to fail by the names under which a run finds them.
"""

from typing import Any

import numpy as np
import pytest

from kit.edits import trains_by
from kit.networks import NETWORKS
from kit.runs import bits, far, make_run
from scalarviz.errors import InputError
from scalarviz.run import Run


def arrays(run: Run) -> list[np.ndarray]:
    frame = run.frame(state=True)
    return [frame.values, frame.gradient, frame.update, run.history.loss, *frame.state.values()]


@pytest.mark.parametrize(("network", "optimizer"), [
    ("mlp", "sgd_momentum"), ("batch norm", "adam")])  # fmt: skip
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


# ---- engines that cannot be made


@pytest.mark.parametrize("error", [InputError("no room"), KeyboardInterrupt()])
def test_an_engine_that_cannot_be_made_changes_nothing(error, monkeypatch):
    run, other = make_run("mlp"), NETWORKS["wide"].ours()
    run.step(2)
    before, theirs = (bits(run), trains_by(run)), other[0].weight.data.copy()

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
    run.change(model=other)
    run.step(1)
    run.undo()
    assert (bits(run), trains_by(run)) == before
