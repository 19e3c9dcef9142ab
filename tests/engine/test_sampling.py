"""Which samples a step trains on, and how they lie in memory: the same ones in every engine, whatever came in."""

import tracemalloc

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from kit.runs import ENGINES, make_run
from scalarviz import nn, optim, rng
from scalarviz.errors import InputError

every = pytest.mark.parametrize("engine", ENGINES)
DRAWS = {"epochs": rng.batch_indices, "replacement": rng.drawn_indices}
SEED = 2**40 + 3


@every
@pytest.mark.parametrize("sampling", DRAWS)
@pytest.mark.parametrize(("samples", "batch"), [(2, 1), (3, 1), (10, 3), (17, 17), (100, 30), (257, 16)])
def test_a_run_trains_on_the_samples_that_the_generator_says(samples, batch, sampling, engine):
    """Each has a slope of its own, so that a wrong one shows in the loss of its step; across epochs, in any calls."""
    x = np.arange(float(samples))[:, None] ** 2
    for calls in ((30,), (1, 7, 16, 6)):
        w = sv.Weight(0.5)
        options = {"engine": engine, "dtype": "float64", "sampling": sampling, "batch_size": batch, "seed": SEED}
        run = sv.Run(lambda x, w=w: w * x[0], lambda o, t: o, optim.SGD([w], lr=0.0), (x, x), **options)
        for count in calls:
            run.step(count)
        chosen = [DRAWS[sampling](SEED, step, samples, batch) for step in range(30)]
        np.testing.assert_allclose(run.history.loss, [0.5 * x[ids].mean() for ids in chosen], rtol=1e-13)
        run.close()


@every
def test_a_batch_of_draws_may_be_larger_than_the_data_and_stays_where_data_change(engine):
    run = make_run(engine=engine, sampling="replacement", batch_size=60)
    run.step(3)
    before = run.state()
    run.step(4)
    wanted = run.values.copy()
    x, y = run.samples()
    run.change(sampling="epochs", batch_size=8)
    run.step(2)
    run.refill(x[:10], y[:10])
    run.take(before)
    assert (run.frame().settings.sampling, run.batch_size) == ("replacement", 60)
    run.step(4)
    np.testing.assert_array_equal(run.values, wanted)
    run.add_samples(x[:5], y[:5])
    assert run.batch_size == 60
    run.refill(x[:7], y[:7])
    assert run.batch_size == 60


def changed(**settings):
    return lambda: make_run(sampling="replacement", batch_size=100).change(**settings)


@refusals({
    "a kind of sampling": (lambda: make_run(sampling="twice"), InputError, "'replacement'", "twice"),
    "a batch beyond the data": (lambda: make_run(batch_size=25), InputError, 25, "replacement"),
    "a batch beyond 32 bits": (lambda: make_run(sampling="replacement", batch_size=2**32 + 1), InputError, "2**32"),
    "epochs of a large batch": (changed(sampling="epochs"), InputError, "larger", 24),
    **{f"sampling = {wrong!r}": (changed(sampling=wrong), InputError, "'epochs', 'replacement'")
       for wrong in ("no", 3, True)},
})  # fmt: skip
def test_it_is_refused(refusal):
    refusal.check()


def start(x, y, engine="numba", dtype="float32", batch=None, sampling="epochs", loss=None):
    net = nn.Sequential(nn.Linear(x.shape[1], 5), nn.Tanh(), nn.Linear(5, 3))
    net.initialize(seed=2)
    rule = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    options = {"batch_size": batch, "sampling": sampling, "engine": engine, "dtype": dtype, "seed": 4}
    return sv.Run(net, loss or nn.MSELoss(), rule, (x, y), **options)


@every
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bits_do_not_know_in_which_layout_numbers_came(dtype, engine):
    """Those of a sample side by side, those of a column, or neither; a run has a copy."""
    x, room = np.random.default_rng(0).integers(0, 100, (40, 19)), np.zeros((80, 57))
    room[::2, ::3] = x
    ends = set()
    for given in (x, np.asfortranarray(x), room[::2, ::3], x.astype(np.uint8)):
        run = start(given, given[:, :3], engine, dtype, batch=7)
        run.step(4)
        given[:] = 0
        x[:] = room[::2, ::3] = run.samples()[0]
        run.add_samples(x[:2], x[:2, :3])
        run.step(3)
        ends.add((run.values.tobytes(), run.frame().gradient.tobytes(), run.loss))
    assert len(ends) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["bool", "uint8", "int16", "uint32", "int64", "uint64", "float16"])
def test_numbers_of_the_whole_range_of_a_dtype_come_in(kind, dtype):
    """One lane a sample: the loss of its step is its number; several lanes a sample: their mean."""
    whole, random = np.dtype(kind).kind in "iu", np.random.default_rng(0)
    x = random.integers(*(np.iinfo(kind).min, np.iinfo(kind).max) if whole else (0, 2), (60, 1), endpoint=whole,
                        dtype=kind if whole else int).astype(kind)  # fmt: skip
    for batch in (1, 12):
        w = sv.Weight(1.0)
        options = {"batch_size": batch, "engine": "numba", "dtype": dtype, "seed": SEED}
        with sv.Run(lambda x, w=w: w * x[0], lambda o, t: o, optim.SGD([w], lr=0.0), (x, x), **options) as run:
            run.step(8)
            wanted = [x[rng.batch_indices(SEED, k, 60, batch)].astype(dtype).astype(float).mean() for k in range(8)]
            rounding = 4 * np.finfo(dtype).eps * np.abs(x.astype(float)).max() if batch > 1 else 0.0
            np.testing.assert_allclose(run.history.loss, wanted, rtol=0, atol=rounding)


@every
def test_what_numbers_of_classes_are_compared_with_takes_a_byte_a_class_and_has_the_bits_of_floats(engine):
    """A `where` around the comparison has the same value and is stored in the run's dtype."""
    x, classes, ends = np.random.default_rng(0).normal(size=(5000, 2)), np.arange(5000.0) % 50, []
    for truth in (lambda same: same, lambda same: sv.where(same > 0.5, 1.0, 0.0) * 1.0):
        net = nn.Linear(2, 50, seed=1)

        def likely(outputs, target, truth=truth):
            same = [truth((target[0] >= k - 0.5) * (target[0] <= k + 0.5)) for k in range(50)]
            return sv.logsumexp(outputs) - sv.dot(same, outputs)

        tracemalloc.start()
        options = {"batch_size": 16, "engine": engine, "dtype": "float64", "seed": 3}
        run = sv.Run(net, likely, optim.SGD(net.parameters(), lr=0.1), (x, classes[:, None]), **options)
        stored, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        run.step(20)
        run.add_samples(x[:3], classes[:3, None] + 7)
        run.step(20)
        ends.append((stored, run.values.tobytes(), run.history.loss.tobytes()))
    (small, *bits), (large, *wanted) = ends
    assert large - small > 0.8 * 5000 * 50 * 7
    assert bits == wanted


@pytest.mark.parametrize(("bad", "fact"), [(1e39, "1e+39"), (np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_a_number_that_float32_has_not_is_said_wherever_it_stands(bad, fact):
    x = np.zeros((300_000, 2), float if bad == 1e39 else np.float32)
    x[299_998, 1] = bad
    with pytest.raises(InputError) as error:
        start(x, np.zeros((300_000, 3)), batch=10)
    assert fact in str(error.value)
    assert bad == 1e39 or "[299998, 1]" in str(error.value)
