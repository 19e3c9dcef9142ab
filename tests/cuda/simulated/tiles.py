"""Tiles of layers and convolutions at tiny sizes: against NumPy, and against the plain form to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tile_bench import Case, Loaded, distance

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.machine import Shape
from scalarviz.engine.cuda.simulator import SimulatedDevice
from scalarviz.engine.cuda.tiling import Tile, Tiling
from scalarviz.scalar import ops

FORMS = ("joined",)  # each test makes its own
TOLERANCE = {"float64": 1e-14, "float32": 3e-6}
TINY = Tiling(
    layer=(Tile(2, 4, 2, 2, 4),), wide_layer=(Tile(2, 4, 2, 2, 4),), weights=(Tile(2, 3, 2, 2, 8),), least=1, lanes=1
)
OTHER = Tiling(
    layer=(Tile(1, 8, 4, 1, 8),), wide_layer=(Tile(1, 8, 4, 1, 8),), weights=(Tile(1, 2, 4, 2, 8),), least=1, lanes=1
)
PLAIN = Shape(threads=4, slices=3, joined=False, tiles=None)


def tiled(tiling, joined=True):
    return Shape(threads=4, slices=3, lanes=0, joined=joined, tiles=tiling)


def check(case, lanes, chunk, dtype, tiling=TINY, joined=True, chunks=1):
    """Tiles agree with NumPy, and with the plain form in every bit."""
    given = case.numbers(lanes)
    loaded = Loaded(case, SimulatedDevice(0), dtype, chunk, tiled(tiling, joined))
    found = loaded.run(lanes, **given, chunks=chunks)
    plain = Loaded(case, SimulatedDevice(0), dtype, chunk, PLAIN).run(lanes, **given, chunks=chunks)
    expected = case.expected(**given)
    expected["gradient"] = expected["gradient"] * chunks
    for name, array in expected.items():
        assert np.isfinite(array).all()
        assert distance(found[name], array) <= TOLERANCE[dtype], name
        np.testing.assert_array_equal(found[name], plain[name], err_msg=name)
    return loaded.kernels()


def following(n):
    return np.arange(n)[None]


@pytest.mark.parametrize("tiling", [TINY, pytest.param(OTHER, marks=pytest.mark.slow)], ids=["2x4", "1x8"])
@pytest.mark.parametrize(
    ("n", "outputs", "lanes", "chunk"),
    [(4, 4, 8, 8), (5, 3, 5, 8), (9, 6, 19, 20), (3, 9, 1, 4), (2, 2, 8, 8), (7, 4, 3, 4)],
)
def test_layers_of_all_sizes(n, outputs, lanes, chunk, tiling):
    kernels = check(Case(following(n), outputs), lanes, chunk, "float64", tiling)
    assert [name.partition(":")[0] for name in kernels] == ["tile_layer", "tile_back", "pairs", "tile_weights"]


@pytest.mark.parametrize(("dtype", "bias"), [("float64", True), ("float32", False)])
@pytest.mark.parametrize(
    "args",
    [[[2, 0, 5, 3]], [[0, 1, 1, 0, 1, 2]], [[0, 1, 2], [1, 2, 3], [4, 4, 0]], [[5, 0], [5, 1], [5, 2], [3, 3], [0, 5]]],
    ids=["scattered", "repeated", "convolution", "overlapping"],
)
def test_operands_anywhere_and_several_times(args, bias, dtype):
    check(Case(args, 3, bias), 7, 8, dtype)


@pytest.mark.parametrize(("front", "behind"), list(itertools.product(["", "tanh", "leaky_relu"], repeat=2)))
@pytest.mark.parametrize("args", [following(6), [[0, 1, 2], [1, 2, 3]]], ids=["layer", "convolution"])
def test_neighbours_are_joined(args, front, behind):
    case = Case(args, 5, front=front, behind=behind)
    names = check(case, 7, 8, "float64")
    layer, back = names[bool(front)], names[bool(front) + 1 + bool(behind)]
    wanted = {"": "", "tanh": ":tanh.0", "leaky_relu": ":leaky_relu.0.kept"}[behind]
    assert names[: 1 + bool(front)] == [*(["forward:" + front] if front else []), f"tile_layer:2x4x2x2x4{wanted}"]
    assert layer.startswith("tile_layer")
    assert back == "tile_back:2x4x2x2x4" + {"": "", "tanh": ":tanh.0", "leaky_relu": ":leaky_relu.0.result"}[front]
    assert len([name for name in names if name.startswith("forward")]) == bool(front)
    assert len([name for name in names if name.startswith("backward")]) == bool(behind)


def test_without_joining_each_instruction_is_a_launch():
    names = check(Case(following(6), 5, front="tanh", behind="tanh"), 7, 8, "float64", joined=False)
    assert names[:3] == ["forward:tanh", "tile_layer:2x4x2x2x4", "forward:tanh"]
    assert names[3:6] == ["backward:tanh", "tile_back:2x4x2x2x4", "backward:tanh"]


@pytest.mark.parametrize("uses", [2, 3])
@pytest.mark.parametrize("chunks", [1, 2])
def test_shared_weights_are_added_launch_by_launch(uses, chunks):
    names = check(Case(following(5), 4, uses=uses), 7, 8, "float64", chunks=chunks)
    assert len([name for name in names if name.startswith("tile_weights")]) == uses


def special(name):
    """Points with the kinks, infinities and NaN of an operation."""
    points = [0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 0.5, 2.0, -3.0, 1000.0, -1000.0, np.inf, -np.inf, np.nan]
    return np.array([points, points[::-1]])


OFTEN = ("tanh", "relu", "clip", "softplus")
DERIVED = [name for name, op in ops.TABLE.items() if op.partials[0] is not None]


@pytest.mark.parametrize(
    "name", [*OFTEN, *(pytest.param(name, marks=pytest.mark.slow) for name in DERIVED if name not in OFTEN)]
)
@pytest.mark.parametrize("upstream", [[-2.0, np.inf], [0.0, np.nan]], ids=["-2 and inf", "0 and nan"])
def test_an_operation_in_a_tile_is_the_one_of_its_own_kernel(name, upstream):
    """The first operand is a row, the others are numbers; identity as weights, so that the points come through."""
    case = Case(following(2), 2, False, front=name, behind=name)
    points = special(name)
    theta = np.zeros(case.n_theta)
    theta[case.weights : case.weights + 4] = [1, 0, 0, 1]
    given = {
        "inputs": points,
        "theta": theta,
        "upstream": np.repeat(np.array(upstream)[:, None], points.shape[1], axis=1),
    }
    shapes = (tiled(TINY), PLAIN)
    found, plain = (
        Loaded(case, SimulatedDevice(0), "float64", 16, shape).run(points.shape[1], **given) for shape in shapes
    )
    for key in found:
        np.testing.assert_array_equal(found[key], plain[key], err_msg=key)


def test_a_layer_too_small_for_a_tile_keeps_the_plain_form():
    assert check(Case(following(3), 1), 5, 8, "float64")[:2] == ["layer", "tile_back:2x4x2x2x4"]
    assert check(Case(following(5), 4), 5, 5, "float64") == ["layer", "layer_back", "pairs"]


def network(*sizes, activation=nn.LeakyReLU):
    layers = [
        part for k, (n, m) in enumerate(itertools.pairwise(sizes)) for part in (nn.Linear(n, m, seed=k), activation())
    ]
    return nn.Sequential(*layers[:-1], nn.Sigmoid())


class Tied(nn.Module):
    """A layer used twice, one of whose weights is used alone too."""

    def __init__(self):
        self.layer = nn.Linear(3, 3, seed=4)

    def forward(self, x):
        weight = self.layer.weight[1][2]
        return [v * weight + v.tanh() for v in self.layer([v.tanh() for v in self.layer(x)])]


class Residual(nn.Module):
    """What a layer reads is read once more."""

    def __init__(self):
        self.a, self.b = nn.Linear(3, 4, seed=1), nn.Linear(4, 4, seed=2)

    def forward(self, x):
        hidden = [v.tanh() for v in self.a(x)]
        return [p.relu() + q for p, q in zip(self.b(hidden), hidden, strict=True)]


def pictures():
    return nn.Sequential(
        nn.Unflatten((1, 4, 4)), nn.Conv2d(1, 4, 2, seed=1), nn.ReLU(), nn.Conv2d(4, 3, 2, padding=1, seed=2),
        nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2, seed=3),
    )  # fmt: skip


MODELS = {
    "leaky": (lambda: network(3, 5, 4, 2), 3), "tied": (Tied, 3), "residual": (Residual, 3), "pictures": (pictures, 16),
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "tolerance", "chunk_bytes"), [("float64", 1e-12, 2000), ("float32", 1e-5, 1 << 20)])
@pytest.mark.parametrize(
    "name", ["leaky", *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS if name != "leaky")]
)
def test_runs_agree_with_objects(name, dtype, tolerance, chunk_bytes, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", Shape(chunk_bytes, threads=4, slices=3, steps=2, lanes=0, tiles=TINY))
    make, inputs = MODELS[name]
    rng = np.random.default_rng(3)
    outputs = len(make()([0.1] * inputs))
    data = rng.uniform(-1, 1, (11, inputs)), rng.uniform(0, 1, (11, outputs))
    found = {}
    for engine in ("objects", "cuda"):
        model = make()
        run = Run(
            model, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.05), data, batch_size=7, engine=engine, dtype=dtype
        )
        run.step(2)
        found[engine] = run.frame().values.astype(float)
        run.close()
    assert distance(found["cuda"], found["objects"]) <= tolerance


def test_two_runs_have_the_same_bits(monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", Shape(2000, threads=4, slices=3, steps=2, lanes=0, tiles=TINY))
    ends = []
    for _ in range(2):
        model = network(3, 5, 2)
        data = np.random.default_rng(0).random((9, 3)), np.random.default_rng(1).random((9, 2))
        run = Run(model, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.1), data, engine="cuda")
        run.step(3)
        ends.append(run.frame().values.tobytes())
        run.close()
    assert ends[0] == ends[1]


def test_a_user_s_operation_is_joined(monkeypatch):
    if "tile_cube" not in sv.scalar.ops.TABLE:
        sv.register("tile_cube", "a", "a * a * a", ("3 * a * a",))
    case = Case(following(4), 4, front="tile_cube", behind="tile_cube")
    loaded = Loaded(case, SimulatedDevice(0), "float64", 8, tiled(TINY))
    assert "tile_layer:2x4x2x2x4:tile_cube.0.kept" in loaded.kernels()
