"""One sample at a time: pools of neighbouring windows and tiles of convolutions, against the objects."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cpu.encode.pictures import can_be_compact
from scalarviz.engine.cpu.encode.pool import windows_of

DTYPES = ["float32", "float64"]


class Scaled(nn.Module):
    """Pools of pictures whose every number is an input times a weight of its own, which so gets its gradient."""

    def __init__(self, shape, pool, twice=False, bare=0):
        self.shape, self.pool, self.twice, self.bare = shape, pool, twice, bare
        self.w = [sv.Weight(1.0) for _ in range(int(np.prod(shape)))]

    def forward(self, x):
        rows = [u if k < self.bare else w * u for k, (w, u) in enumerate(zip(self.w, x, strict=True))]
        out = nn.Flatten()(self.pool(nn.Unflatten(self.shape)(rows)))
        return [*out, *[r.square() for r in rows]] if self.twice else out


def weighted(outputs, targets):
    """Every output with a factor of its own."""
    return sv.sum([(0.5 + 0.25 * (k % 7)) * o for k, o in enumerate(outputs)])


def gradient(model, data, engine, dtype, weights=None):
    """Gradients and loss, the operands of the pools, and whether neighbouring rows are the lanes."""
    x = np.ones((1, data.size))
    run = Run(model, weighted, optim.SGD(weights or model.w, lr=0.1), (x, x[:, :1]), batch_size=1, engine=engine,
              dtype=dtype)  # fmt: skip
    run.problem.data.parts[0][: data.size, 0] = data.ravel()
    with np.errstate(all="ignore"):
        run._training.trainer.gradient(0)  # leaves its numbers in the workspace
        loss = run._training.trainer.gradient(1)
    found = np.append(run.problem.store.grad, np.array(loss))
    pools = [i.args for i in run.problem.plan.body.instructions if i.kind == "max"]
    compact = can_be_compact(run.problem.plan.body)
    run.close()
    return found, pools, compact


def pictures(shape, kind):
    rng = np.random.default_rng(5)
    if kind == "ties":
        return rng.integers(-1, 2, shape).astype(float)
    x = rng.normal(size=shape)
    if kind == "special":
        flat = x.ravel()
        flat[:: max(3, x.size // 9)] = np.resize(
            [np.nan, np.inf, -np.inf, 0.0, -0.0], len(flat[:: max(3, x.size // 9)])
        )
    return x


REGULAR = {
    "small": (1, 2, 2),
    "neighbouring channels": (3, 4, 6),
    "odd sides": (2, 5, 7),
    "a vector of windows": (1, 4, 32),
    "more than one": (2, 2, 38),
    "more than two": (1, 4, 75),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["any", "ties", "special"])
@pytest.mark.parametrize("name", REGULAR)
def test_pools_of_neighbouring_windows(name, kind, dtype):
    shape = REGULAR[name]
    x = pictures(shape, kind).astype(dtype).astype(float)
    expected, _, _ = gradient(Scaled(shape, nn.MaxPool2d(2)), x, "objects", dtype)
    found, (args,), compact = gradient(Scaled(shape, nn.MaxPool2d(2)), x, "numba", dtype)
    assert compact
    assert windows_of(args) is not None
    np.testing.assert_array_equal(found[:-1], expected[:-1])  # no gradient is a sum
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 4, 6), (1, 4, 75)])
def test_their_operands_may_have_other_readers(shape):
    x = pictures(shape, "any")
    expected, found = (gradient(Scaled(shape, nn.MaxPool2d(2), twice=True), x, engine, "float64")[0]
                       for engine in ("objects", "numba"))  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("bare", [1, 7, 24])
def test_rows_that_want_no_gradient(bare):
    x = pictures((2, 4, 6), "ties")
    expected, found = (gradient(Scaled((2, 4, 6), nn.MaxPool2d(2), bare=bare), x, engine, "float64")[0]
                       for engine in ("objects", "numba"))  # fmt: skip
    np.testing.assert_array_equal(found[:-1], expected[:-1])


OTHERS = {
    "overlapping": nn.MaxPool2d(2, stride=1),
    "gaps": nn.MaxPool2d(2, stride=3),
    "border": nn.MaxPool2d(2, padding=1),
    "of nine": nn.MaxPool2d(3),
    "in a line": nn.MaxPool2d((1, 4)),
    "two by one": nn.MaxPool2d((2, 1)),
}


@pytest.mark.parametrize("kind", ["any", "ties", "special"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_pools(name, kind):
    x = pictures((2, 6, 8), kind)
    expected, _, _ = gradient(Scaled((2, 6, 8), OTHERS[name]), x, "objects", "float64")
    found, _, _ = gradient(Scaled((2, 6, 8), OTHERS[name]), x, "numba", "float64")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


POOLS = {"of four": nn.MaxPool2d(2), **OTHERS}


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("name", POOLS)
def test_what_is_not_the_largest_gets_0_whatever_comes_from_above(name, twice):
    """The largest are 0, where the derivative of the root above the pool is infinite."""
    shape = (2, 6, 8)
    x = -np.abs(pictures(shape, "ties"))

    def root(outputs, targets):
        pooled = len(outputs) - twice * x.size
        return sv.sum([o.sqrt() for o in outputs[:pooled]] + outputs[pooled:])

    found = {}
    for engine, samples in [("objects", 1), ("numpy", 3), ("numba", 1), ("numba", 3), ("numba", 40)]:
        model = Scaled(shape, POOLS[name], twice)
        data = np.tile(x.ravel(), (samples, 1))
        with Run(
            model, root, optim.SGD(model.w, lr=0.1), (data, data[:, :1]), batch_size=samples, engine=engine
        ) as run:
            run._training.trainer.gradient(0)
            # a factor that is -0 makes NaN of an infinite adjoint, as it should: those are the largest
            found[engine, samples] = run.problem.store.grad.copy()
    expected = found["objects", 1]
    assert np.isnan(expected).any()
    assert np.isfinite(expected).sum() > expected.size // 3
    for key, gradient in found.items():
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, err_msg=str(key))


def test_windows_are_found_only_where_every_run_is_alike():
    corner = np.array([0, 2, 12, 14])[:, None]
    rows = corner + np.array([0, 1, 6, 7])
    found = windows_of(rows)
    assert (found.first.tolist(), found.width, found.down) == ([0, 12], 2, 6)
    assert windows_of(rows[:3]) is None  # runs of two and of one
    assert windows_of(rows[:, [1, 0, 2, 3]]) is None
    assert windows_of(corner + np.arange(4)) is None  # overlapping
    assert windows_of(rows[:, :3]) is None


def conv_net(channels, outputs, side, kernel=3):
    return nn.Sequential(
        nn.Unflatten((1, *side)),
        nn.Conv2d(1, channels, kernel, padding=kernel // 2, seed=1),
        nn.Tanh(),
        nn.Conv2d(channels, outputs, kernel, padding=kernel // 2, seed=2),
        nn.Flatten(),
    )


CONVOLUTIONS = {
    "three vectors and a rest": (2, 3, (7, 9)),
    "many": (1, 2, (15, 15)),
    "rows of more than a vector": (2, 1, (3, 37)),
    "outputs of two tiles": (3, 13, (4, 5)),
    "columns of several tiles": (5, 2, (6, 6), 5),
    "higher than wide": (2, 2, (9, 2)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    sizes = CONVOLUTIONS[name]
    x = pictures(sizes[2], "any").astype(dtype).astype(float)
    found = {}
    for engine in ("objects", "numba"):
        model = conv_net(*sizes)
        found[engine], _, compact = gradient(model, x, engine, dtype, model.parameters())
        assert compact
    scale = np.linalg.norm(found["objects"].astype(float))
    error = np.linalg.norm(found["numba"].astype(float) - found["objects"])
    assert error <= {"float64": 1e-12, "float32": 1e-5}[dtype] * scale


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_stands_behind_the_border_touches_nothing(bad):
    x = pictures((9, 7), "any")
    x[0, 0] = x[8, 6] = bad  # neighbours in memory of other rows, of what lies before the first and behind the last
    found = {}
    for engine in ("objects", "numba"):
        layer = nn.Conv2d(1, 3, 3, padding=1, seed=1)
        model = nn.Sequential(nn.Unflatten((1, 9, 7)), layer, nn.Flatten())
        found[engine], _, _ = gradient(model, x, engine, "float64", model.parameters())
    np.testing.assert_allclose(found["numba"], found["objects"], rtol=1e-11)


class Beside(nn.Module):
    """A convolution, and a scalar in the row behind it whose adjoint is infinite."""

    def __init__(self):
        self.layer, self.w = nn.Conv2d(1, 3, 3, padding=1, seed=1), sv.Weight(0.5)

    def forward(self, x):
        rows = nn.Flatten()(self.layer(nn.Unflatten((1, 9, 7))(x)))
        return [*rows, (self.w * x[0] + self.w * x[1]) * np.inf]


def test_adjoints_behind_those_of_a_picture_touch_nothing():
    found = {}
    for engine in ("objects", "numba"):
        model = Beside()
        numbers, _, compact = gradient(model, pictures((9, 7), "any"), engine, "float64", model.layer.parameters())
        assert compact
        found[engine] = numbers
    np.testing.assert_allclose(found["numba"], found["objects"], rtol=1e-11)
