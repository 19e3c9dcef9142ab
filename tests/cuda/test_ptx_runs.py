"""Real runs on the fake driver: the real PTX, the real queues, against the objects."""

from __future__ import annotations

import gc
import re
import threading

import engine_models
import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.scalar.batch import batch_mean, track

pytestmark = pytest.mark.cuda


AGREE = CONV = engine_models
PRECISION = [("float64", 1e-12), ("float32", 1e-5)]


class AllKinds(nn.Module):
    """What lowering has instructions for, and a weight that is made of others."""

    def __init__(self):
        self.w = [sv.Weight(v) for v in (0.3, -0.7, 1.1, 0.2, 0.5)]
        self.layer = nn.Linear(3, 4, seed=3)

    def forward(self, x):
        w, h = self.w, [v.tanh() for v in self.layer(x)]
        made = w[0] * w[1].exp()
        dot = made * h[0] + w[2] * h[1] + w[3]
        weighted = sv.dot([0.5, -1.5, 2.0], [dot, h[1], x[2]])
        product = sv.dot([dot, weighted], [h[2], h[3]], w[4])
        return [sv.max([dot, weighted, product, h[0]]), product, weighted * w[0] + w[2]]


class Tables(nn.Module):
    """Rows of a table, chosen by numbers that are computed; a mask, and a layer behind them."""

    def __init__(self):
        self.table, self.out, self.drop = nn.Embedding(5, 3, seed=1), nn.Linear(6, 2, seed=2), nn.Dropout(0.3)

    def forward(self, x):
        first, second = (x[0] > 0.5) + 2.0 * (x[1] > 0.5), (x[2] > 0.5) * 4.0
        return self.out(self.drop([*self.table(first), *self.table(second)]))


class Centred(nn.Module):
    """A layer whose outputs lose their mean over the batch; numbers that nobody trains follow it."""

    def __init__(self):
        self.layer, self.outputs = nn.Linear(3, 4, seed=3), 4
        self.seen, self.count = nn.Parameter(np.zeros(4)), nn.Parameter([0.0])

    def forward(self, x):
        rows = self.layer(x)
        means = [batch_mean(row) for row in rows]
        track(self.count[0], None)
        for k, mean in enumerate(means):
            track(self.seen[k], mean, None if k % 2 else 0.25, positions=3, count=self.count[0])
        return [(row - mean).tanh() for row, mean in zip(rows, means, strict=True)]


MODELS = {
    **AGREE.MODELS,
    "all kinds": AllKinds,
    "conv": CONV.net,
    "strided": lambda: CONV.net({"stride": 2, "padding": 1}, nn.AvgPool2d(2)),
    "shared layer": CONV.Shared,
    "mixed layer": CONV.Mixed,
}
SHAPES = {
    "one chunk": {},
    "chunks": {"chunk_bytes": 3000, "threads": 32, "slices": 3, "loss_slices": 2},
    "a lane a chunk": {"chunk_bytes": 1, "threads": 64},
    "small calls": {"steps": 3, "slices": 5},
}
WIDTH = {"conv": 49, "strided": 49, "shared layer": 4, "mixed layer": 4}


@pytest.fixture
def shape(monkeypatch):
    """Another cut of the work: ``shape(chunk_bytes=...)``; a launch for each part of it, if no lanes are given."""
    from scalarviz.engine.cuda import trainer
    from scalarviz.engine.cuda.machine import Shape

    return lambda **given: monkeypatch.setattr(trainer, "SHAPE", Shape(**{"lanes": 0, **given}))


@pytest.fixture(autouse=True)
def many_launches(shape):
    """What small batches are computed in otherwise is tested in ``test_block_ptx``."""
    shape()


def started(model, engine, dtype, batch, samples=20, inputs=3, loss=None, optimiser=None, data=None):
    """A run of a model; the same numbers for all engines."""
    make = np.random.default_rng(5)
    outputs = model.outputs if isinstance(model, Centred) else len(model([0.1] * inputs))
    x = make.uniform(-1, 1, (samples, inputs)) if data is None else data
    given = x, make.uniform(0, 1, (samples, outputs))
    parameters = model.parameters()
    optimizer = optim.SGD(parameters, lr=0.1) if optimiser is None else optimiser(parameters)
    loss = loss or nn.MSELoss()
    return Run(model, loss, optimizer, given, batch_size=batch, engine=engine, dtype=dtype, seed=7)


def gradient(*args, **given):
    run = started(*args, **given)
    value = run._training.trainer.gradient(2)
    found = run._store.grad.astype(float).copy()
    run.close()
    return value, found


def agree(model, dtype, tolerance, batch, oracle="objects", **given):
    want_loss, want = gradient(model, oracle, dtype, batch, **given)
    loss, found = gradient(model, "cuda", dtype, batch, **given)
    assert np.linalg.norm(want) > 1e-3
    assert np.linalg.norm(found - want) <= tolerance * np.linalg.norm(want)
    assert loss == pytest.approx(want_loss, rel=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_a_model_agree_with_objects(name, dtype, tolerance, fake_driver):
    samples = 6 if name in ("conv", "strided") else 20
    agree(MODELS[name](), dtype, tolerance, samples - 3, samples=samples, inputs=WIDTH.get(name, 3))


@pytest.mark.parametrize("cut", list(SHAPES)[1:])
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("name", ["all kinds", "residual", "expression", "mlp"])
def test_chunks_and_partial_blocks_change_nothing(name, dtype, tolerance, cut, fake_driver, shape):
    shape(**SHAPES[cut])
    agree(MODELS[name](), dtype, tolerance, 37, samples=37, inputs=3)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("name", MODELS)
def test_models_agree_where_products_are_fused(name, dtype, tolerance, install_fake_driver):
    """Which of them ptxas fuses is not known here; none or all of a block are within the tolerance."""
    install_fake_driver(contract=True)
    samples = 6 if name in ("conv", "strided") else 20
    agree(MODELS[name](), dtype, tolerance, samples - 3, samples=samples, inputs=WIDTH.get(name, 3))


WIDE = {
    "tanh": (lambda: AGREE.mlp(12, 64, 64, 3), 12, 64),
    "odd sizes": (lambda: AGREE.mlp(7, 33, 19, 5), 7, 36),
    "relu": (lambda: AGREE.mlp(12, 40, 40, 3, activation=nn.ReLU), 12, 132),
    "leaky": (lambda: AGREE.mlp(12, 130, 66, 3, activation=nn.LeakyReLU), 12, 96),
    "no activation": (lambda: nn.Sequential(nn.Linear(9, 30, seed=1), nn.Linear(30, 10, bias=False, seed=2)), 9, 77),
    "conv": (CONV.same, 64, 32),
    "many channels": (lambda: CONV.same(9, 12), 64, 33),
}
"""Models whose layers are large enough for tiles; their inputs, and a batch of whole or of partial tiles."""


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("name", WIDE)
def test_wide_layers_agree_with_numpy(name, dtype, tolerance, fake_driver):
    make, inputs, batch = WIDE[name]
    agree(make(), dtype, tolerance, batch, samples=batch + 10, inputs=inputs, oracle="numpy")


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("name", ["tanh", "conv"])
def test_wide_layers_in_chunks(name, dtype, tolerance, fake_driver, shape):
    make, inputs, batch = WIDE[name]
    shape(chunk_bytes=150_000, slices=5)
    agree(make(), dtype, tolerance, batch + 41, samples=batch + 50, inputs=inputs, oracle="numpy")


@pytest.mark.parametrize("loss", AGREE.LOSSES)
@pytest.mark.parametrize("name", ["leaky", "one node twice"])
def test_losses_agree_with_objects(name, loss, fake_driver):
    agree(MODELS[name](), "float64", 1e-12, 7, loss=AGREE.LOSSES[loss]())


class Long(optim.Optimizer):
    """An update of more rows than stay in registers: row by row through memory."""

    state = ("count",)

    def update(self, w, g, state, lr, t):
        for k in range(200):
            g = (g * (1.0 + 0.001 * k)).tanh()
        return w - lr * g, {"count": state["count"] + g}


@pytest.mark.parametrize("cut", ["one chunk", "small calls"])
@pytest.mark.parametrize("name", [*AGREE.OPTIMISERS, "long"])
def test_steps_agree_with_objects(name, cut, fake_driver, shape):
    shape(**SHAPES[cut])
    ends = []
    for engine in ("objects", "cuda"):
        optimiser = AGREE.OPTIMISERS.get(name) or (lambda p: Long(p, lr=0.01))
        run = started(MODELS["residual"](), engine, "float64", 6, optimiser=optimiser)
        run.step(7)
        run.step(4)
        ends.append((run.frame().values.copy(), run.history.loss.copy(), run.optimizer_state()))
        run.close()
    (want, want_loss, want_state), (found, loss, state) = ends
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-11 * np.linalg.norm(want))
    np.testing.assert_allclose(loss, want_loss, rtol=1e-11)
    for key, array in want_state.items():
        np.testing.assert_allclose(state[key], array, rtol=0, atol=1e-11 * max(1, np.linalg.norm(array)))


def bits(engine="cuda", calls=(9,), dtype="float32", batch=6):
    run = started(AllKinds(), engine, dtype, batch, optimiser=lambda p: optim.Adam(p, lr=0.05))
    for count in calls:
        run.step(count)
    found = run.frame().values.tobytes(), run.history.loss.tobytes()
    why = run._training.trainer.remark if engine == "cuda" else ""
    run.close()
    return found, why


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_calls_and_the_kind_of_launch_change_no_bit(dtype, install_fake_driver):
    fake = install_fake_driver()
    whole, why = bits(dtype=dtype)
    assert why == ""
    assert fake.calls["cuGraphLaunch"] >= 8  # the first step is done launch by launch
    assert bits(dtype=dtype, calls=(1,) * 9)[0] == bits(dtype=dtype, calls=(4, 0, 5))[0] == whole
    fake = install_fake_driver()
    fake.fail("cuStreamBeginCapture", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", times=99)
    plain, why = bits(dtype=dtype)
    assert plain == whole
    assert "STREAM_CAPTURE_UNSUPPORTED" in why
    assert fake.calls["cuLaunchKernel"] > 9 * 5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("batch", "sampling"), [(1, "epochs"), (5, "epochs"), (16, "epochs"), (21, "replacement")])
def test_the_order_of_samples_is_that_of_objects(batch, sampling, dtype, fake_driver):
    """Every sample has its own slope, so a wrong one shows in the loss of its step."""
    ends = []
    for engine in ("objects", "cuda"):
        weight = sv.Weight(0.5)
        data = np.arange(17.0)[:, None] ** 2, np.zeros((17, 1))
        run = Run(
            lambda x, w=weight: w * x[0], lambda o, t: o, optim.SGD([weight], lr=0.0), data, batch_size=batch,
            engine=engine, dtype=dtype, seed=2**40 + 3, sampling=sampling,
        )  # fmt: skip
        run.step(40)  # several epochs
        ends.append(run.history.loss.copy())
        run.close()
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-6 if dtype == "float32" else 1e-14)
    assert len(set(ends[0].tolist())) > 5


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-5)])
@pytest.mark.parametrize("name", ["mlp", "relu", "all kinds", "conv"])
def test_weights_that_are_no_numbers(name, dtype, tolerance, fake_driver):
    """What a run that has diverged computes: objects and the GPU have the same infinities and NaN."""
    width = WIDTH.get(name, 3)
    runs = [started(MODELS[name](), e, dtype, 3, samples=5, inputs=width) for e in ("objects", "cuda")]
    before = runs[0]._store.value.copy()
    for k, odd in enumerate([np.inf, -np.inf, np.nan, -0.0] * 2):
        ends = []
        for run in runs:
            run._store.value[:] = before
            run._store.value[7 * k % before.size] = odd
            value = run._training.trainer.gradient(1)
            ends.append((value, run._store.grad.astype(float).copy()))
        (want_loss, want), (loss, found) = ends
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(loss, want_loss, rtol=tolerance)
    for run in runs:
        run.close()


def test_all_structural_kernels_are_run_by_these_models(fake_driver, shape):
    """The list of kernels is the list of those that agree with objects above."""
    from scalarviz.engine.cuda import catalog

    agree(AllKinds(), "float64", 1e-12, 7)
    agree(CONV.net(), "float64", 1e-12, 2, samples=3, inputs=49)
    agree(MODELS["expression"](), "float64", 1e-12, 7)
    agree(Tables(), "float64", 1e-12, 7)
    shape(sorted_rows=3)  # a table of more rows is sorted
    agree(Tables(), "float64", 1e-12, 7)
    shape()
    limited = [started(AllKinds(), engine, "float64", 6) for engine in ("objects", "cuda")]
    for run in limited:
        run.change(l1=0.01, l2=0.01, clip_norm=0.1)
        run.step(2)
    np.testing.assert_allclose(limited[1].values, limited[0].values, rtol=1e-11)
    limited[1].close()
    run = started(AllKinds(), "cuda", "float64", 6, optimiser=lambda p: Long(p, lr=0.01))
    run.step(1)
    run.close()
    means = [started(Centred(), engine, "float64", 7) for engine in ("objects", "cuda")]
    for run in means:
        run.step(3)
    np.testing.assert_allclose(means[1].values, means[0].values, rtol=1e-11)
    make, inputs, batch = WIDE["tanh"]
    agree(make(), "float64", 1e-12, batch, samples=batch, inputs=inputs, oracle="numpy")
    launched = "\n".join(fake_driver.launched)
    # a kernel that is made in several sizes has them behind its name
    names = [name for name in catalog.names() if ":" not in name]
    missing = [name for name in names if not re.search(rf"^{name}(_\d+x.*)?_float64$", launched, re.MULTILINE)]
    assert missing == []


class Kept:
    """Who waits for numbers, and keeps what it is given."""

    def __init__(self, given):
        self.given = given

    def give(self, now):
        self.given.append(now)


@pytest.mark.parametrize("cut", ["one chunk", "small calls"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_from_the_middle_of_a_call_are_those_of_its_steps(dtype, cut, fake_driver, shape):
    """The copies run on a second stream, as late as the events allow; steps go on meanwhile."""
    shape(**SHAPES[cut])
    watched, alone = (
        started(AllKinds(), "cuda", dtype, 6, optimiser=lambda p: optim.Adam(p, lr=0.05)) for _ in range(2)
    )
    given = []
    trainer = watched._training.trainer
    trainer.asked = lambda: Kept(given)
    losses = trainer.train(0, 14, 0.05)
    assert len(given) >= 3
    steps = [len(now.losses) for now in given]
    assert steps == sorted(set(steps))
    one = alone._training.trainer
    for step in range(14):
        loss = one.train(step, 1, 0.05)[0]
        assert loss == losses[step]
        for now in given:
            if len(now.losses) == step + 1:
                np.testing.assert_array_equal(now.losses, losses[: step + 1])
                np.testing.assert_array_equal(now.values, one.problem.store.value)
                np.testing.assert_array_equal(now.gradient, one.problem.store.grad)
                np.testing.assert_array_equal(now.previous, one.problem.previous)
    np.testing.assert_array_equal(trainer.problem.store.value, one.problem.store.value)
    for run in (watched, alone):
        run.close()


def test_edits_between_calls_reach_the_gpu(fake_driver):
    ends = []
    for engine in ("objects", "cuda"):
        model = MODELS["mlp"]()
        run = started(model, engine, "float64", 6, optimiser=lambda p: optim.Adam(p, lr=0.05))
        run.step(3)
        model[0].weight[1][2].data = 0.75
        model[0].bias[1].frozen = True
        run.lr = 0.01
        run.step(3)
        ends.append(run.frame().values.copy())
        run.close()
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12 * np.linalg.norm(ends[0]))


def test_nothing_stays_on_the_device_but_the_kernels(fake_driver):
    """The context and what is loaded into it are the process's, and there once."""
    seen = []
    for _ in range(5):
        run = started(AllKinds(), "cuda", "float32", 6)
        run.step(2)
        run.close()
        del run
        gc.collect()
        seen.append(dict(fake_driver.live))
    assert seen == seen[:1] * 5
    assert {kind for kind, count in seen[0].items() if count} == {"contexts", "modules"}
    assert seen[0]["contexts"] == 1
    assert not fake_driver.leaked


def test_a_run_goes_on_in_another_thread(fake_driver):
    run, alone = (started(AllKinds(), "cuda", "float64", 6) for _ in range(2))
    for k in range(4):
        thread = threading.Thread(target=run.step, args=(2,))
        thread.start() if k % 2 else run.step(2)
        if k % 2:
            thread.join()
    alone.step(8)
    np.testing.assert_array_equal(run.frame().values, alone.frame().values)
    for one in (run, alone):
        one.close()


def test_two_devices(install_fake_driver):
    fake = install_fake_driver(2)
    found = []
    for engine in ("cuda:0", "cuda:1"):
        run = started(AllKinds(), engine, "float64", 6)
        run.step(5)
        found.append(run.frame().values.copy())
        assert fake.devices[int(engine[-1])].memory.regions
        run.close()
    np.testing.assert_array_equal(*found)
