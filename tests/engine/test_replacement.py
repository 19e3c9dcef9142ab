"""``sampling="replacement"``: every sample of every step drawn out of all, the same ones on every engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim, rng
from scalarviz.engine.cpu.compiled.order import batch_order
from scalarviz.errors import InputError
from scalarviz.run.edits import SetBatchSize, SetSampling, read_edit, write_edit

X = np.random.default_rng(0).random((40, 3))


def plain_draws(seed: int, step: int, n: int, batch: int) -> list[int]:
    """Philox-4x32-10 on Python ints, as its paper has it, and the upper 64 bits of a 64-bit word times n."""
    found = []
    for block in range((batch + 1) // 2):
        c = [block, 4, step % 2**32, step >> 32]
        k = [seed % 2**32, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b % 2**32, (a >> 32) ^ c[3] ^ k[1], a % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        found += [(((c[0] << 32) + c[1]) * n) >> 64, (((c[2] << 32) + c[3]) * n) >> 64]
    return found[:batch]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**53), st.integers(1, 2**32), st.integers(1, 9))
@settings(deadline=None, max_examples=100)
def test_the_draws_are_those_of_a_plain_philox(seed, step, n, batch):
    assert rng.drawn_indices(seed, step, n, batch).tolist() == plain_draws(seed, step, n, batch)


@pytest.mark.parametrize(("n", "batch"), [(2, 1), (10, 3), (257, 1000), (70_000, 513)])
def test_the_kernel_draws_what_rng_draws(n, batch):
    words, shape = np.array(rng.split(2**40 + 5), np.uint64), np.zeros(3, np.uint64)
    found = np.empty(batch, np.int64)
    for step in (0, 1, 2**33):
        batch_order(found, step, n, words, shape)
        np.testing.assert_array_equal(found, rng.drawn_indices(2**40 + 5, step, n, batch))


@pytest.mark.parametrize("n", [2, 7, 64, 1000])
def test_every_sample_is_drawn_about_as_often(n):
    draws = np.concatenate([rng.drawn_indices(11, step, n, 99) for step in range(1000)])
    assert chi_square(draws, n) < n - 1 + 5 * (2 * (n - 1)) ** 0.5


def test_a_draw_says_nothing_of_the_next():
    """Neighbours in a batch, in one block of words and not, and the same place in the next step."""
    draws = np.array([rng.drawn_indices(7, step, 9, 20) for step in range(2000)])
    for first, second in (
        (draws[:, 0:-1:2], draws[:, 1::2]),
        (draws[:, 1:-1:2], draws[:, 2::2]),
        (draws[:-1], draws[1:]),
    ):
        assert chi_square((9 * first + second).ravel(), 81) < 80 + 5 * 160**0.5


def chi_square(draws, n):
    """How far the counts of 0 .. n - 1 are from even ones."""
    even = len(draws) / n
    return float(((np.bincount(draws, minlength=n) - even) ** 2 / even).sum())


def slopes(engine, batch, samples=17, **kwargs):
    """A run in which every sample has a slope of its own, so that a wrong one shows in the loss of its step."""
    weight = sv.Weight(0.5)
    data = np.arange(float(samples))[:, None] ** 2, np.zeros((samples, 1))
    return weight, Run(
        lambda x: weight * x[0], lambda o, t: o, optim.SGD([weight], lr=0.0), data, batch_size=batch, seed=2**40 + 3,
        engine=engine, **{"dtype": "float64", "sampling": "replacement", **kwargs},
    )  # fmt: skip


@pytest.mark.parametrize("batch", [1, 5, 17, 50])
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_run_trains_on_the_samples_that_are_drawn(engine, batch):
    """A batch of all is drawn too; one that is larger than the data is no error."""
    _, run = slopes(engine, batch)
    run.step(30)
    wanted = [0.5 * np.mean([float(i) ** 2 for i in plain_draws(2**40 + 3, s, 17, batch)]) for s in range(30)]
    np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-13)


def mlp(engine, **kwargs):
    net = nn.Sequential(nn.Linear(3, 5, seed=1), nn.Tanh(), nn.Linear(5, 3, seed=2))
    opt = optim.Adam(net.parameters(), lr=0.02)
    return Run(net, nn.MSELoss(), opt, (X, 1 - X), engine=engine,
               **{"batch_size": 16, "sampling": "replacement", **kwargs})  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_engines_agree(dtype):
    runs = [mlp(engine, dtype=dtype) for engine in ("objects", "numpy", "numba")]
    for run in runs:
        run.step(25)
    size = np.linalg.norm(runs[0].values)
    for run in runs[1:]:
        assert np.linalg.norm(run.values - runs[0].values) < size * (1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("batch", [16, 100])
def test_a_call_of_k_steps_is_k_calls(engine, batch):
    ends = []
    for calls in ((12,), (1,) * 12, (5, 0, 7)):
        run = mlp(engine, batch_size=batch)
        for count in calls:
            run.step(count)
        ends.append((run.values.tobytes(), run.history.loss.tobytes()))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    ends = []
    for count in (1, threads):
        run = mlp("numba", batch_size=4000, threads=count)
        run.step(6)
        ends.append(run.values.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_state_has_it(engine):
    """And so has the way back from epochs, whatever the batch was."""
    run = mlp(engine, batch_size=60)
    run.step(3)
    before = run.state()
    run.step(4)
    wanted = run.values.copy()
    run.change(sampling="epochs", batch_size=8)
    run.step(2)
    run.refill(X[:10], X[:10])
    run.take(before)
    assert (run.sampling, run.batch_size) == ("replacement", 60)
    run.step(4)
    np.testing.assert_array_equal(run.values, wanted)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_run_that_changes_to_it_goes_on_as_one_that_always_had_it(engine):
    run, other = mlp(engine, sampling="epochs"), mlp(engine)
    run.step(5)
    other.restore(run.state_dict(), run.optimizer_state(), 5)
    run.sampling = "replacement"
    assert [str(a.edit) for a in run.log] == ["sampling = replacement"]
    for each in (run, other):
        each.step(7)
    np.testing.assert_array_equal(run.values, other.values)


def test_more_and_other_data_leave_the_batch_as_it_is():
    run = mlp("numpy", batch_size=40)
    run.add_samples(X[:5], X[:5])
    assert run.batch_size == 40
    run.refill(X[:7], X[:7])
    assert run.batch_size == 40
    run.step(2)
    epochs = mlp("numpy", batch_size=40, sampling="epochs")
    epochs.add_samples(X[:5], X[:5])
    assert epochs.batch_size == 45


def test_bad_input():
    with pytest.raises(InputError, match="sampling must be one of epochs, replacement, got"):
        mlp("numpy", sampling="twice")
    with pytest.raises(InputError, match='sampling="replacement"'):
        mlp("numpy", sampling="epochs", batch_size=41)
    with pytest.raises(InputError, match="at most 2\\*\\*32"):
        mlp("numpy", batch_size=2**32 + 1)
    run = mlp("numpy", batch_size=100)
    for wrong in ("no", 3, None, True):
        with pytest.raises(InputError, match="sampling must be one of"):
            SetSampling(wrong)
    with pytest.raises(InputError, match="larger than the data set of 40"):
        run.change(sampling="epochs")
    with pytest.raises(InputError, match="larger than the data set of 40"):
        run.change(sampling="epochs", batch_size=41, lr=0.5)
    assert (run.sampling, run.batch_size, run.lr, run.log) == ("replacement", 100, 0.02, [])
    with pytest.raises(InputError, match="at least 1"):
        rng.drawn_indices(0, 0, 10, 0)
    with pytest.raises(InputError, match="at most"):
        rng.drawn_indices(0, 0, 2**32 + 1, 4)
    with pytest.raises(InputError, match="at most"):
        rng.drawn_indices(0, 0, 0, 4)


def test_the_edit_is_written_and_read():
    for edit, words in ((SetSampling("replacement"), "sampling = replacement"),
                        (SetSampling("epochs", 32), "sampling = epochs, batch size = 32")):  # fmt: skip
        assert str(edit) == words
        assert read_edit(write_edit(edit)) == edit
    assert SetSampling("epochs").continues(SetSampling("replacement"))
    assert not SetSampling("epochs").continues(SetSampling("replacement", 3))
    assert not SetSampling("epochs").continues(SetBatchSize(3))
