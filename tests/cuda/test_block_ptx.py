"""Small batches in blocks: the real PTX, with a look at every barrier, against the objects."""

from __future__ import annotations

import numpy as np
import pytest
from test_ptx_runs import AGREE, MODELS, WIDTH, AllKinds, Long, agree, bits, shape, started

import scalarviz as sv
from scalarviz import Run, optim

pytestmark = pytest.mark.cuda
__all__ = ["shape"]
FORMS = {
    "blocks": {"lanes": 4, "block_threads": 32, "alone": 0},
    "no tiles": {"lanes": 2, "block_threads": 64, "alone": 0},
    "alone": {"lanes": 8, "block_threads": 64},
    "in memory": {"lanes": 4, "block_threads": 32, "alone": 0, "shared_bytes": 200},
}
"""Blocks, with layers in tiles and without, one block by itself, blocks whose rows are in the device's memory."""


SLOW = ("no tiles", "in memory")


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in FORMS])
def form(request, shape, monkeypatch):
    """A cut of the work into blocks."""
    from scalarviz.engine.cuda.block import form as forms

    monkeypatch.setattr(forms, "LONG", 1)
    shape(**FORMS[request.param], steps=3)
    return request.param


@pytest.mark.parametrize("name", ["mlp", "tied", "expression", "all kinds", "one node twice", "shared layer"])
def test_gradients_in_blocks_agree_with_objects(name, form, fake_driver):
    agree(MODELS[name](), "float64", 1e-12, 17, inputs=WIDTH.get(name, 3))


@pytest.mark.parametrize("batch", [1, 6, 20])
def test_every_batch(batch, form, fake_driver):
    agree(AllKinds(), "float32", 1e-5, batch)


def ends(engine, dtype, batch, optimiser, calls, model=AllKinds):
    """What a run of some calls ends in, and the kind of its steps."""
    run = started(model(), engine, dtype, batch, optimiser=optimiser)
    for count in calls:
        run.step(count)
    state = list(run.optimizer_state().values())
    found = [run.frame().values.copy(), run.history.loss.copy(), run._store.grad.copy(), *state]
    kind = type(run._training.trainer._work.steps).__name__ if engine == "cuda" else ""
    run.close()
    return found, kind


KINDS = {"blocks": "BlockSteps", "no tiles": "BlockSteps", "alone": "LonelySteps", "in memory": "BlockSteps"}


@pytest.mark.parametrize("name", [*AGREE.OPTIMISERS, "long"])
def test_steps_in_blocks_agree_with_objects(name, form, fake_driver):
    """Two optimisers with all kinds of nodes; the texts of the others, in a kernel that is compiled sooner."""
    optimiser = AGREE.OPTIMISERS.get(name) or (lambda p: Long(p, lr=0.01))
    model = AllKinds if name in ("sgd", "adam") else MODELS["mlp"]
    want, _ = ends("objects", "float64", 6, optimiser, (7, 4), model)
    found, kind = ends("cuda", "float64", 6, optimiser, (7, 4), model)
    assert kind == ("BlockSteps" if name == "long" else KINDS[form])
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11 * max(1, np.linalg.norm(wanted)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_calls_change_no_bit(dtype, form, fake_driver):
    whole, why = bits(dtype=dtype)
    assert why == ""
    assert bits(dtype=dtype, calls=(1,) * 9)[0] == bits(dtype=dtype, calls=(4, 0, 5))[0] == whole


@pytest.mark.parametrize(("batch", "sampling"), [(1, "epochs"), (5, "epochs"), (17, "epochs"), (21, "replacement")])
def test_the_order_of_samples_in_blocks(batch, sampling, form, fake_driver):
    """Every sample has its own slope, so a wrong one shows in the loss of its step."""
    losses = []
    for engine in ("objects", "cuda"):
        weight = sv.Weight(0.5)
        data = np.arange(17.0)[:, None] ** 2, np.zeros((17, 1))
        run = Run(
            lambda x, w=weight: w * x[0], lambda o, t: o, optim.SGD([weight], lr=0.0), data, batch_size=batch,
            engine=engine, dtype="float64", seed=2**40 + 3, sampling=sampling,
        )  # fmt: skip
        run.step(40)
        losses.append(run.history.loss.copy())
        run.close()
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-14)


@pytest.mark.parametrize("name", ["mlp", "all kinds"])
def test_weights_that_are_no_numbers_in_blocks(name, form, fake_driver):
    """A lane, a row or a partial block that does not belong to a sum must not bring its infinity in."""
    runs = [started(MODELS[name](), engine, "float64", 5, samples=7) for engine in ("objects", "cuda")]
    before = runs[0]._store.value.copy()
    for k, odd in enumerate([np.inf, -np.inf, np.nan, -0.0] * 2):
        found = []
        for run in runs:
            run._store.value[:] = before
            run._store.value[7 * k % before.size] = odd
            found.append((run._training.trainer.gradient(1), run._store.grad.copy()))
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-11)
    for run in runs:
        run.close()
