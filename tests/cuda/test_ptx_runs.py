"""Runs whose real PTX is executed, with a look at every access, race and barrier: they train as the objects do.

The work is cut in every way that the engine knows: whole batches, chunks, blocks of lanes, one block by itself.
Internals: ``trainer.SHAPE`` says how it is cut, and the trainer is asked for single calls.
"""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from ptx.memory import Race

import scalarviz as sv
from kit.edits import EDITS
from kit.learning import FAMILIES, LOSSES, make_optimizer
from kit.networks import NETWORKS, Network, mlp, row
from kit.runs import TOLERANCE, far, loss_and_gradient
from scalarviz import Run, nn, optim
from scalarviz.errors import ScalarvizError
from scalarviz.run.state import optimizer_state
from scalarviz.scalar.batch import batch_mean, track

pytestmark = pytest.mark.cuda
CUTS = {
    "one chunk": {}, "chunks": {"chunk_bytes": 3000, "threads": 32, "slices": 3, "loss_slices": 2},
    "a lane a chunk": {"chunk_bytes": 1, "threads": 64}, "small calls": {"steps": 3, "slices": 5},
    "blocks": {"lanes": 4, "block_threads": 32, "alone": 0, "steps": 3},
    "alone": {"lanes": 8, "block_threads": 64, "steps": 3},
    "no tiles": {"lanes": 2, "block_threads": 64, "alone": 0, "steps": 3},
    "in memory": {"lanes": 4, "block_threads": 32, "alone": 0, "shared_bytes": 200, "steps": 3},
}  # fmt: skip
"""Launches of all lanes, of some, of one; steps of a call; blocks with layers in tiles or without, one block by itself,
blocks whose rows are in the device's memory."""
STEPS = {"blocks": "BlockSteps", "no tiles": "BlockSteps", "alone": "LonelySteps", "in memory": "BlockSteps"}


@pytest.fixture
def shape(monkeypatch):
    """Another cut of the work: ``shape(chunk_bytes=...)``; a launch for each part of it, if no lanes are given."""
    from scalarviz.engine.cuda import trainer
    from scalarviz.engine.cuda.machine import Shape

    return lambda **given: monkeypatch.setattr(trainer, "SHAPE", Shape(**{"lanes": 0, **given}))


def in_turn(names, rows):
    """Every cut and every row has its turn."""
    rows = [each if isinstance(each, tuple) else (each,) for each in rows]
    pairs = [(*rows[k % len(rows)], list(CUTS)[k % len(CUTS)]) for k in range(max(len(rows), len(CUTS)))]
    return pytest.mark.parametrize((*names, "cut"), pairs, indirect=["cut"])


@pytest.fixture
def cut(request, shape, monkeypatch):
    """Each cut of the work."""
    from scalarviz.engine.cuda.block import program

    monkeypatch.setattr(program, "LONG", 1)
    shape(**CUTS[request.param])
    return request.param


class Kept(nn.Module):
    """Its numbers stay as they are."""

    def initialize(self, *args, **kwargs):
        pass


class AllKinds(Kept):
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


class Centred(nn.Module):
    """A layer whose outputs lose their mean over the batch; numbers that nobody trains follow it."""

    def __init__(self):
        self.layer, self.seen, self.count = nn.Linear(3, 4, seed=3), nn.Parameter(np.zeros(4)), nn.Parameter([0.0])

    def forward(self, x):
        rows = self.layer(x)
        means = [batch_mean(row) for row in rows]
        track(self.count[0], None)
        for k, mean in enumerate(means):
            track(self.seen[k], mean, None if k % 2 else 0.25, positions=3, count=self.count[0])
        return [(row - mean).tanh() for row, mean in zip(rows, means, strict=True)]


class Derived(Kept):
    """Weights of a layer that are made of others, with a number among them."""

    def __init__(self):
        self.w = [sv.Weight(0.1 * k - 0.3) for k in range(9)]
        self.layer = nn.Linear(3, 3, seed=2)

    def forward(self, x):
        made = [sv.maximum(v, 0.05) * self.w[0] for v in self.w]
        return [sv.dot(made[3 * j : 3 * j + 3], x).tanh() + y for j, y in enumerate(self.layer(x))]


PICTURES = row(
    lambda s: s.Conv2d(1, 3, 3, padding=1), lambda s: s.ReLU(), lambda s: s.MaxPool2d(2),
    lambda s: s.Conv2d(3, 5, 3, padding=1), lambda s: s.Tanh(), lambda s: s.MaxPool2d(2), lambda s: s.Flatten(),
    lambda s: s.Linear(20, 3),
)  # fmt: skip


OWN = {
    "all kinds": Network(lambda s: AllKinds(), (3,), (3,)), "derived": Network(lambda s: Derived(), (3,), (3,)),
    "centred": Network(lambda s: Centred(), (3,), (4,)),
}  # fmt: skip
WIDE = {
    "wide tanh": (Network(mlp(12, 64, 64, 3), (12,), (3,)), 64),
    "odd sizes": (Network(mlp(7, 33, 19, 5, activation="LeakyReLU"), (7,), (5,)), 36),
    "no activation": (Network(row(lambda s: s.Linear(9, 30), lambda s: s.Linear(30, 10, bias=False)), (9,), (10,)), 77),
    "wide conv": (Network(PICTURES, (1, 8, 8), (3,)), 32),
}
"""Networks whose layers are large enough for tiles, and a batch of whole or of partial tiles."""
ALL = {**NETWORKS, **OWN, **{name: wide for name, (wide, _) in WIDE.items()}}


def data_of(network, samples, loss="mse"):
    return network.samples(samples), LOSSES[loss].wanted(samples, int(np.prod(network.outputs)))


def agree(name, dtype, batch, samples=20, loss="mse", than="objects"):
    """The loss and the gradient of a second batch."""
    network, found = ALL[name], []
    for engine in (than, "cuda"):
        options = {"engine": engine, "dtype": dtype, "batch_size": batch, "seed": 7}
        given = network.ours(), LOSSES[loss].ours(), data_of(network, samples, loss)
        found.append(loss_and_gradient(*given, **options))
    assert np.linalg.norm(found[0]) > 1e-3
    assert far(found[1], found[0]) <= TOLERANCE[dtype], (name, dtype)


def started(name, engine="cuda", dtype="float64", batch=6, rule="adam", samples=20, **options):
    network = ALL[name]
    net = network.ours()
    optimizer = Long(net.parameters(), lr=0.01) if rule == "long" else make_optimizer(rule, net.parameters())
    given = net, nn.MSELoss(), optimizer, data_of(network, samples)
    return Run(*given, batch_size=batch, engine=engine, dtype=dtype, seed=7, **options)


@pytest.mark.parametrize("name", [*NETWORKS, *OWN])
def test_a_network_has_the_gradient_of_the_objects(name, fake_driver, shape):
    shape()
    samples = 6 if name == "picture" else 20
    for dtype in TOLERANCE:
        agree(name, dtype, samples - 3, samples)


@in_turn(["name", "dtype"], [
    ("mlp", "float64"), ("all kinds", "float32"), ("tied", "float64"), ("derived", "float32"),
    ("one node twice", "float64"),
])  # fmt: skip
def test_however_the_work_is_cut_it_is_the_same(name, dtype, cut, fake_driver):
    for batch in (21, 6, 1):
        agree(name, dtype, batch, 21)


@pytest.mark.parametrize(("name", "batch"), [("mlp", 6), ("wide tanh", 40)])
def test_a_network_in_float16_has_the_numbers_of_numpy(name, batch, fake_driver, shape):
    """Rounding, activation and rounding in the tiles of wide layers too, and the loss with its scale."""
    shape(cores=False, **({} if name == "mlp" else {"lanes": 0}))
    runs = [started(name, engine, "float16", batch, samples=max(20, batch)) for engine in ("numpy", "cuda")]
    for run in runs:
        run.step(3)
    for numbers in (lambda run: run.values, lambda run: run.frame().gradient, lambda run: [run.loss]):
        assert far(numbers(runs[1]), numbers(runs[0])) <= 2e-3


@pytest.mark.parametrize("name", WIDE)
def test_wide_layers_agree_with_numpy(name, fake_driver, shape):
    batch = WIDE[name][1]
    shape()
    for dtype in ("float32",) if name == "wide conv" else TOLERANCE:
        agree(name, dtype, batch, batch, than="numpy")
    if name == "wide tanh":
        shape(chunk_bytes=150_000, slices=5)
        agree(name, "float64", batch + 41, batch + 50, than="numpy")


class Products(Kept):
    """Sums of one product each, whose kernels begin and end at -0.0; 40 in a tile."""

    def __init__(self):
        self.layer, self.w = nn.Linear(1, 40, bias=False, seed=1), nn.Parameter([-1.5, 0.5])

    def forward(self, x):
        h = (self.w[1] * x[0]).tanh()
        dots = sv.dot([-3.0], [h]), sv.dot([h], [x[1] * self.w[1]])
        return [*self.layer(x[:1]), self.w[0] * h, -2.0 * h, *dots]


@in_turn(["dtype"], TOLERANCE)
def test_a_product_alone_keeps_its_sign_of_zero(dtype, cut, fake_driver):
    found = []
    inputs = np.stack([np.resize([0.0, -0.0], 36), np.full(36, -1.0)], axis=1)

    def loss(found, target):
        return sv.sum([sv.where(1.0 / v > 0, target[k], 0.0) + v for k, v in enumerate(found)])

    for engine in ("objects", "cuda"):
        data = inputs, np.arange(1.0, 45.0) * np.ones((36, 1))
        net = Products()
        still = optim.SGD(net.parameters(), lr=0.0)
        with Run(net, loss, still, data, batch_size=None, engine=engine, dtype=dtype) as run:
            run.step()
            found.append(run.loss)
    assert found[1] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("loss", [name for name, row in LOSSES.items() if row.outputs == "numbers"])
def test_losses_agree_with_objects(loss, fake_driver, shape):
    shape()
    agree("classes", "float64", 7, loss=loss)


# ---- training


class Long(optim.Optimizer):
    """An update of more rows than stay in registers: row by row through memory."""

    state = ("count",)

    def update(self, w, g, state, lr, t):
        for k in range(200):
            g = (g * (1.0 + 0.001 * k)).tanh()
        return w - lr * g, {"count": state["count"] + g}


def ends(calls=(7, 4), **given):
    """All that a run of some calls ends in, and the kind of its steps."""
    run = started(**given)
    for count in calls:
        run.step(count)
    found = [run.frame().values, run.frame().gradient, run.history.loss.copy(), *optimizer_state(run).values()]
    kind = type(run._training.trainer._work.steps).__name__ if run.engine.name == "cuda" else ""
    why = run.engine.why
    run.close()
    return found, kind, why


@in_turn(["rule"], [*FAMILIES, "nadam", "radam", "adamax", "adadelta", "rprop", "own", "groups", "long"])
def test_steps_agree_with_objects(rule, cut, fake_driver):
    name = "all kinds" if rule in ("sgd", "adam") else "mlp"
    wanted, _, _ = ends(name=name, rule=rule, engine="objects")
    found, kind, _ = ends(name=name, rule=rule)
    assert rule == "long" or kind == STEPS.get(cut, kind)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11 * max(1, np.linalg.norm(want)))


@in_turn(["dtype"], TOLERANCE)
def test_calls_and_the_kind_of_launch_change_no_bit(dtype, cut, install_fake_driver):
    fake, seen = install_fake_driver(), []
    for calls in ((9,), (1,) * 9, (4, 0, 5)):
        found, _, why = ends(calls, name="mlp", dtype=dtype)
        seen.append([array.tobytes() for array in found])
        assert "plain" not in why
    assert cut != "one chunk" or fake.calls["cuGraphLaunch"] >= 8  # the first step is done launch by launch
    fake = install_fake_driver()
    fake.fail("cuStreamBeginCapture", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", times=99)
    found, _, why = ends((9,), name="mlp", dtype=dtype)
    seen.append([array.tobytes() for array in found])
    assert cut != "one chunk" or "STREAM_CAPTURE_UNSUPPORTED" in why
    assert all(each == seen[0] for each in seen)


@in_turn(["batch", "sampling"], [(1, "epochs"), (5, "epochs"), (17, "epochs"), (21, "replacement")])
def test_the_order_of_samples_is_that_of_objects(batch, sampling, cut, fake_driver):
    """Every sample has its own slope, so a wrong one shows in the loss of its step."""
    losses = []
    for engine in ("objects", "cuda"):
        weight = sv.Weight(0.5)
        data = np.arange(17.0)[:, None] ** 2, np.zeros((17, 1))
        with Run(
            lambda x, w=weight: w * x[0], lambda o, t: o, optim.SGD([weight], lr=0.0), data, batch_size=batch,
            engine=engine, dtype="float64", seed=2**40 + 3, sampling=sampling,
        ) as run:  # fmt: skip
            late = [run._training.trainer.gradient(step) for step in (10**6 + 1, 2**33)]
            run.step(24)  # several epochs
            losses.append([*run.history.loss, *late])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-14)
    assert batch == 17 or len(set(losses[0])) > 5


@pytest.mark.parametrize("name", [name for name in EDITS if name != "engine"])
def test_an_edit_between_two_calls_is_that_of_another_engine(name, fake_driver, shape):
    """So are changes that nobody announces: every array of the problem is a live view."""
    shape(steps=2)
    limits = {"l1": 0.02, "l2": 0.03, "clip_norm": 0.1}
    runs, said = [started("mlp", engine, rule="groups", **limits) for engine in ("cuda", "numpy")], []
    for run in runs:
        run.step(3)
        try:
            EDITS[name](run, np.random.default_rng(4))
        except ScalarvizError as error:
            said.append(str(error))
        run.step(1)
        run.values[1] = 0.5
        run._problem.state[0][:] *= 0.5
        run.step(3)
    found, wanted = ([run.values, run.frame().gradient, *optimizer_state(run).values()] for run in runs)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * max(1, np.linalg.norm(other)))
    assert said[::2] == said[1::2]


@pytest.mark.parametrize("cut", ["one chunk", "small calls"], indirect=True)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_numbers_from_the_middle_of_a_call_are_those_of_its_steps(dtype, cut, fake_driver):
    """The copies run on a second stream, as late as the events allow; steps go on meanwhile."""
    watched, alone = (started("all kinds", dtype=dtype) for _ in range(2))
    given, trainer, one = [], watched._training.trainer, alone._training.trainer
    trainer.next_readback = lambda: given.append
    losses = trainer.train(0, 14, 0.05)
    steps = [len(now.losses) for now in given]
    assert len(steps) >= 3
    assert steps == sorted(set(steps))
    for step in range(14):
        assert one.train(step, 1, 0.05)[0] == losses[step]
        for now in (now for now in given if len(now.losses) == step + 1):
            np.testing.assert_array_equal(now.losses, losses[: step + 1])
            for found, wanted in ((now.values, one.problem.store.value), (now.gradient, one.problem.store.grad)):
                np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(now.previous, one.problem.previous)
    np.testing.assert_array_equal(trainer.problem.store.value, one.problem.store.value)


# ---- a block's threads meet where they must: without any one of the barriers the machine finds a race

ALL["layers alone"] = Network(mlp(3, 16, 16, 3, last="Tanh"), (3,), (3,))
BLOCKS, ALONE = {"lanes": 4, "block_threads": 16, "alone": 0}, {"lanes": 4, "block_threads": 64}
FORMS = {"blocks": ("all kinds", BLOCKS, 9), "alone": ("layers alone", ALONE, 11)}
"""A network, a cut of the work, how many barriers the kernel has that it makes."""


def trained(name, shape):
    network, options, _ = FORMS[name]
    shape(**options)
    with started(network, dtype="float32", rule="sgd") as run:
        run._training.call_seconds = 100.0  # several steps in a launch
        run.step(5)


@pytest.mark.parametrize(("name", "place"), [("blocks", 0), ("blocks", 4), ("blocks", 8), ("alone", 2), ("alone", 9)])
def test_without_a_barrier_there_is_a_race(name, place, fake_driver, shape, monkeypatch):
    from scalarviz.engine.cuda.block import steps
    from scalarviz.engine.cuda.catalog import written

    def without(name, text, dtype):
        parts = text.split("cuda.syncthreads()")
        counts.append(len(parts) - 1)
        place_of = min(place, len(parts) - 2)
        one = "pass".join(parts[place_of : place_of + 2])
        return written(name, "cuda.syncthreads()".join([*parts[:place_of], one, *parts[place_of + 2 :]]), dtype)

    counts = []
    monkeypatch.setattr(steps, "written", without)
    with pytest.raises(Race):
        trained(name, shape)
    assert counts[-1] == FORMS[name][2]


def test_without_the_barrier_of_the_tree_of_losses_there_is_a_race(fake_driver, shape, monkeypatch, tmp_path):
    from scalarviz.engine.cuda import catalog
    from scalarviz.engine.cuda.kernels import steps

    file, barrier = tmp_path / "steps.py", "        cuda.syncthreads()\n"
    text = Path(steps.__file__).read_text(encoding="utf-8")
    assert text.count(barrier) == 1
    file.write_text(text.replace(barrier, ""), encoding="utf-8")
    module = ModuleType(steps.__name__)
    module.__file__, module.__package__ = str(file), steps.__package__
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), vars(module))
    monkeypatch.setattr(catalog, "MODULES", tuple(module if one is steps else one for one in catalog.MODULES))
    monkeypatch.setitem(catalog.JOINED, "loss_of_squares", module)
    for kept in (catalog._structural, catalog._with_chain):
        kept.cache_clear()
    try:
        shape(lanes=0)
        with pytest.raises(Race), started("layers alone", dtype="float32", rule="sgd") as run:
            run.step(1)
    finally:
        for kept in (catalog._structural, catalog._with_chain):
            kept.cache_clear()


@pytest.mark.parametrize("name", FORMS)
def test_lines_that_do_not_wait_race(name, fake_driver, shape, monkeypatch):
    from scalarviz.engine.cuda.block import program

    monkeypatch.setattr(program, "_waits", lambda lines, before: [False for _ in lines])
    with pytest.raises(Race):
        trained(name, shape)
