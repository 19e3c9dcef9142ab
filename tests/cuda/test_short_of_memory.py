"""A GPU whose memory is short: work is cut finer, data comes by call, then an error says what fits; all comes back.

Internals: ``need`` and ``cut`` say how many bytes each of these ways takes, so that a GPU can have one too few.
"""

import gc
from dataclasses import replace

import numpy as np
import pytest
from driver_runs import left, make, near, numbers, same

from scalarviz import Run, nn, optim
from scalarviz.errors import DeviceMemoryError

pytestmark = pytest.mark.cuda
RNG = np.random.default_rng(1)
WIDE = RNG.normal(size=(3000, 20)), RNG.random((3000, 2))
FINER, BY_CALL = "in smaller parts", "copied at each call"


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Calls of three steps: what a thousand of them take would hide the rest. Blocks of lanes need hardly anything."""
    from scalarviz.engine.cuda import trainer

    shape = replace(trainer.SHAPE, lanes=0, steps=3, chunk_bytes=1 << 17, stream_bytes=3 * 22 * 64 * 8)
    monkeypatch.setattr(trainer, "SHAPE", shape)


def wide(engine="cuda", **options):
    """A run with data of half a megabyte and a few hundred weights."""
    net = nn.Sequential(nn.Linear(20, 16, seed=1), nn.Tanh(), nn.Linear(16, 2, seed=2))
    chosen = {"batch_size": 64, "seed": 5, "dtype": "float64", **options}
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), WIDE, engine=engine, **chosen)


def needs(resident=True, finer=1, **options):
    """Bytes of :func:`wide`, by category."""
    from scalarviz.engine.cuda.trainer import SHAPE, cut, need

    return need(wide("numpy", **options)._problem, cut(SHAPE, finer, resident))


def stepped(steps, **options):
    with wide("numba", **options) as run:
        run.step(steps)
        return numbers(run)


def test_what_is_counted_is_what_is_asked_for(install_fake_driver):
    fake = install_fake_driver(memory=1 << 28)
    run = wide()
    asked = sum(region.size for region in fake.devices[0].memory.regions.values())
    needed, weights, data = needs(), run.values.nbytes, sum(array.nbytes for array in run.samples())
    assert asked == sum(needed)
    assert needed.state == 2 * weights
    assert needed.data > data
    assert needed.weights >= 3 * weights


@pytest.mark.parametrize(
    ("memory", "says"),
    [
        (lambda: sum(needs()) + 4096, ()), (lambda: sum(needs(finer=8)) + 4096, (FINER, "changes bits")),
        (lambda: sum(needs(resident=False)) + 4096, (BY_CALL,)), (lambda: WIDE[0].nbytes, (BY_CALL,)),
    ],
    ids=["all of it", "finer", "by call", "less than the data"],
)  # fmt: skip
def test_as_much_as_fits(install_fake_driver, memory, says):
    fake = install_fake_driver(memory=memory())
    run = wide()
    if memory() == WIDE[0].nbytes:  # what cannot fit is not tried
        assert fake.calls["cuMemAlloc"] == fake.live["allocations"]
    run.step(7)
    assert near(numbers(run), stepped(7), 1e-9)
    assert ("the GPU's memory is short" in run.engine.why) == bool(says)
    assert [fact for fact in says if fact not in run.engine.why] == []
    assert [fact for fact in {FINER, BY_CALL} - set(says) if fact in run.engine.why] == []
    run.close()
    assert left(fake) == {}


def test_then_the_sizes_are_said_and_a_batch_that_fits(install_fake_driver):
    small, large = (sum(needs(resident=False, finer=512, batch_size=size)) for size in (250, 500))
    fake = install_fake_driver(memory=(small + large) // 2)
    with pytest.raises(DeviceMemoryError) as said:
        wide(batch_size=2000)
    facts = ("needs at least", "weights and gradients", "optimiser's state", "activations of the", "data of a call",
             "free", "batch_size=250", 'engine="numba"', "requested: ")  # fmt: skip
    assert [fact for fact in facts if fact not in str(said.value)] == []
    assert fake.live["allocations"] == 0
    run = wide(batch_size=250)  # what is said is so
    run.step(1)
    with pytest.raises(DeviceMemoryError, match="batch_size="):
        run.change(batch_size=3000)
    assert (run.batch_size, run.engine.name) == (250, "cuda")
    run.step(2)
    assert near(numbers(run), stepped(3, batch_size=250), 1e-9)


def test_a_model_that_does_not_fit_with_one_sample_names_its_largest_layer_and_nothing_is_left(install_fake_driver):
    fake = install_fake_driver(memory=20_000)
    with pytest.raises(DeviceMemoryError, match=r"one sample.*16 x 20"):
        wide()
    run = wide("numba", batch_size=2000)
    run.step(2)
    with pytest.raises(DeviceMemoryError):
        run.change(engine="cuda")
    assert (run.engine.name, run.engine.why, run.log, left(fake)) == ("numba", "asked for", [], {})
    run.step(2)
    assert same(numbers(run), stepped(4, batch_size=2000))
    make(batch_size=1, samples=2, network="one weight").step(1)  # a smaller one works


@pytest.mark.parametrize("times", [1, 1000])
def test_every_allocation_that_fails_leaves_nothing(install_fake_driver, times):
    """One that fails once may be made up for by a finer cut; from some on there is no memory at all."""
    fake = install_fake_driver()
    make().close()
    for at in range(0, fake.calls["cuMemAlloc"], 7):
        fake.fail("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", at, times)
        try:
            run = make()
        except DeviceMemoryError:
            run = None
        fake._failures.clear()
        assert (run is None) == (times > 1)
        if run is not None:
            run.step(1)
            run.close()
            del run
        assert left(fake) == {}, at
    make().step(1)


def test_a_new_trainer_has_the_memory_of_the_old_one(install_fake_driver):
    """A batch of another size, and the data does not become data by call because the old trainer still held it."""
    install_fake_driver(memory=int(1.5 * sum(needs())))
    run = wide()
    run.step(1)
    run.change(batch_size=32)
    run.step(1)
    assert run.engine.why == "asked for"


# ---- given back


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


def collected(run):
    """By counting references alone: the caller holds none."""


def of_another_engine(run):
    run.change(engine="numpy")
    run.step(1)


@pytest.mark.parametrize("end", [collected, of_another_engine])
def test_all_that_a_run_had_comes_back(fake, end):
    gc.collect()
    gc.disable()
    try:
        run = make()
        run.step(3)
        run.frame()
        assert fake.live["allocations"] > 10
        end(run)
        kept = run if end is of_another_engine else None
        del run
        if end is collected:  # at once
            assert not any(fake.live[kind] for kind in ("allocations", "streams", "graphs", "events", "registrations"))
    finally:
        gc.enable()
    assert (left(fake), fake.live["contexts"]) == ({}, 1)
    assert kept is None or kept.engine.name == "numpy"
