"""Every kernel, executed as PTX, has the numbers of the NumPy engine; each access and race is checked.

Operations at special numbers, instructions of random operands, layers in tiles. Internals: a program of one instruction
or a few is given to the engine's ``Machine`` and to the ``RowProgram`` of the NumPy engine.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from scalarviz.engine.arrays.program import RowProgram
from scalarviz.engine.cuda.calls import TILING, Tile, Tiling
from scalarviz.scalar import ops
from scalarviz.tape import Instruction, Program, Table

pytestmark = pytest.mark.cuda
SLOPE = 0.3
DTYPES = ("float64", "float32")


@pytest.fixture
def device(fake_driver):
    from scalarviz.engine.cuda.driver import DriverDevice

    return DriverDevice(0)


def program(instructions, inputs, n_theta, outputs, constants=(), needs=None):
    """Rows from 0 on are inputs, then come `constants`, then what the instructions make."""
    n_rows = instructions[-1].dst + instructions[-1].count
    if needs is None:
        needs = np.ones(n_rows, bool)
        needs[inputs : inputs + len(constants)] = False
    return Program(
        n_rows=n_rows, n_theta=n_theta, instructions=tuple(instructions), input_rows=np.arange(inputs),
        input_index=np.arange(inputs), constant_rows=inputs + np.arange(len(constants)), constants=np.array(constants),
        outputs=np.asarray(outputs), loss=-1, taps=(), needs_gradient=needs,
    )  # fmt: skip


def by_numpy(made, dtype, values, theta, upstream):
    """Results, adjoints of the inputs, gradient of the parameters."""
    runner, grad = RowProgram(made, np.dtype(dtype)), np.zeros(made.n_theta, dtype)
    with np.errstate(all="ignore"):
        rows = runner.forward(theta.astype(dtype), values.astype(dtype))
        adjoints = np.zeros_like(rows)
        adjoints[made.outputs] = upstream
        runner.backward(rows, adjoints, theta.astype(dtype), grad)
    return rows[made.outputs], adjoints[: len(values)], grad


def by_machine(made, device, dtype, values, theta, upstream, shape=None, room=3, chunks=1):
    """The same on the device, of so many chunks with the same numbers; and the names of the kernels."""
    from scalarviz.engine.cuda.machine import Machine, Shape

    lanes = values.shape[1]
    machine = Machine(made, device, dtype, lanes + room, shape or Shape(), tuple(made.outputs.tolist()))

    def put(buffer, rows, numbers):
        for row, line in zip(rows, numbers.astype(dtype), strict=True):
            device.upload(buffer.part(int(row) * machine.chunk, lanes), line)
            device.wait()

    parameters, grad = machine.constant(theta.astype(dtype)), device.empty(made.n_theta, dtype)
    put(machine.values, range(len(values)), values)
    put(machine.adjoints, made.outputs, upstream)
    launches = []
    for k in range(chunks):
        launches += [*machine.forward(parameters, lanes), *machine.backward(parameters, lanes)]
        launches += machine.sums(lanes, k == 0)
    device.record([*launches, *machine.join(grad, True)]).run()
    found = [np.empty(buffer.size, dtype) for buffer in (machine.values, machine.adjoints, grad)]
    for buffer, array in zip((machine.values, machine.adjoints, grad), found, strict=True):
        device.download(buffer, array)
    device.wait()
    rows, adjoints = (array.reshape(-1, machine.chunk) for array in found[:2])
    assert np.isnan(rows[made.outputs][:, lanes:]).all(), "lanes that are not there are computed"
    names = [launch.kernel.name for launch in launches[: len(launches) // chunks]]
    return (rows[made.outputs][:, :lanes], adjoints[: len(values), :lanes], found[2]), names


# ---- operations


def special(arity, dtype, rows):
    """Zeros, kinks, subnormal and huge numbers, infinities and NaN in all combinations, then ordinary ones."""
    info, random = np.finfo(dtype), np.random.default_rng(arity)
    odd = [0.0, 1.0, np.inf, 0.5, float(info.smallest_subnormal), float(info.max) / 9, 2.0, 800.0]
    odd = [np.nan, *odd[: 4 if arity == 3 else None], *(-x for x in odd[: 3 if arity == 3 else None])]
    pairs = np.array(list(itertools.product(odd, repeat=arity))).T
    lanes = -(-max(pairs.shape[1], 70) // rows) + 5
    found = random.normal(size=(arity, rows * lanes)) * 10.0 ** random.uniform(-3, 2, size=(arity, rows * lanes))
    found[:, : pairs.shape[1]] = pairs
    return found.reshape(arity, rows, lanes).astype(dtype)


def check_operation(op, device, dtype):
    """Three results: two of operands of their own, and one of those of the first again, whose adjoints are sums."""
    args = ops.get(op).args
    given = special(len(args), dtype, 2)
    if op == "binary_cross_entropy":  # targets of 1e38 cancel, up to a fused rounding
        given[1] = np.clip(given[1], 0, 1)
    rows = np.array([[2 * k, 2 * k + 1, 2 * k] for k in range(len(args))])
    inputs = 2 * len(args)
    needs = [partial is not None for partial in ops.get(op).partials]
    made = program([Instruction("op", inputs, 3, rows, op)], inputs, 1, inputs + np.arange(3))
    upstream = np.random.default_rng(1).normal(size=(3, given.shape[2]))
    upstream[1, ::7] = np.resize([0.0, np.inf, np.nan, -2.0], len(upstream[1, ::7]))
    numbers = given.reshape(inputs, -1), np.zeros(1), upstream.astype(dtype)
    found, _ = by_machine(made, device, dtype, *numbers)
    wanted = by_numpy(made, dtype, *numbers)
    bound = {"float64": 2e-13, "float32": 2e-6}[dtype]
    np.testing.assert_allclose(found[0], wanted[0], rtol=bound, atol=bound)
    zero = wanted[0] == 0
    np.testing.assert_array_equal(np.signbit(found[0][zero]), np.signbit(wanted[0][zero]))
    for k, wants in enumerate(needs):
        rows = slice(2 * k, 2 * k + 2)
        if wants:
            np.testing.assert_allclose(found[1][rows], wanted[1][rows], rtol=bound, atol=bound, err_msg=f"operand {k}")
        elif any(needs):
            assert not np.nan_to_num(found[1][rows]).any(), f"operand {k} has no derivative"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", list(ops.TABLE))
def test_an_operation_is_numpys(op, dtype, device):
    check_operation(op, device, dtype)


# ---- instructions

INPUTS, N_THETA, LANES = 6, 24, 11
KINDS = ("op", "layer", "conv", "max", "dot", "weighted", "product", "squares", "param", "gather", "batch_mean")


def instruction(kind, draw):
    """One of a kind, of random operands: some of them occur twice."""

    def rows(*shape):
        return draw.integers(0, INPUTS, shape)

    n, count, bias = int(draw.integers(1, 6)), int(draw.integers(1, 4)), int(draw.choice([-1, 20]))
    offset, positions = float(draw.choice([0.0, 0.5])), int(draw.integers(1, 4))
    made = {
        "op": (rows(2, count), {"op": str(draw.choice(["mul", "sub", "div", "maximum"]))}),
        "layer": (rows(1, n), {"weights": 3 + n * np.arange(count), "bias": bias}),
        "conv": (rows(positions, n), {"weights": 2 + n * np.arange(count), "bias": bias}), "max": (rows(count, n), {}),
        "dot": (rows(count, n), {"weights": draw.integers(0, N_THETA, count * n), "bias": bias, "offset": offset}),
        "weighted": (rows(count, n), {"numbers": draw.normal(size=n), "bias": bias, "offset": offset}),
        "product": (rows(2, count * n), {"bias": bias, "offset": offset}),
        "squares": (rows(2, n), {"numbers": draw.normal(size=1)}), "batch_mean": (rows(1, count), {}),
        "gather": (rows(1, n), {"weights": 3 + draw.choice(4, size=count, replace=False), "table": Table(4, 5)}),
        "param": (np.zeros((0, 0), np.int64), {"weights": draw.integers(0, N_THETA, count)}),
    }  # fmt: skip
    args, more = made[kind]
    count = {"conv": count * positions, "gather": count * n, "squares": 1}.get(kind, count)
    return Instruction(kind, INPUTS, count, args, **more)


def drawn(kind, draw, odd):
    """A program of an instruction, some of whose operands want no gradient; its numbers, `odd` of them special."""

    def numbers(share, *shape):
        found = draw.choice([-1.5, -1.0, 0.25, 0.5, 2.0, 3.0], shape)
        return np.where(
            draw.random(shape) < share, draw.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, -1e-44], shape), found
        )

    made = instruction(kind, draw)
    needs = np.append(draw.random(INPUTS) < 0.7, np.ones(made.count, bool))
    outputs = np.arange(INPUTS, INPUTS + made.count)
    given = numbers(odd, INPUTS, LANES), numbers(odd / 3, N_THETA), numbers(odd, made.count, LANES)
    return program([made], INPUTS, N_THETA, outputs, needs=needs), given


def close(found, wanted, dtype, name):
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted), name)
    np.testing.assert_array_equal(np.where(np.isinf(found), found, 0), np.where(np.isinf(wanted), wanted, 0), name)
    finite, bound = np.isfinite(wanted), {"float64": 1e-12, "float32": 1e-4}[dtype]
    np.testing.assert_allclose(found[finite], wanted[finite], rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("odd", [0.0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_an_instruction_is_numpys(kind, odd, dtype, device):
    draw = np.random.default_rng(KINDS.index(kind))
    for turn in range(4):
        made, given = drawn(kind, draw, odd)
        (found, adjoints, grad), _ = by_machine(made, device, dtype, *given)
        wanted = by_numpy(made, dtype, *given)
        close(found, wanted[0], dtype, f"values, {turn}")
        close(grad, wanted[2], dtype, f"gradients of parameters, {turn}")
        read = np.isin(np.arange(INPUTS), made.instructions[0].args) & made.needs_gradient[:INPUTS]
        read &= kind != "gather"  # numbers that choose get none
        close(adjoints[read], wanted[1][read], dtype, f"adjoints, {turn}")
        assert np.isnan(adjoints[~read]).all(), f"somebody wrote adjoints that nobody wants, {turn}"


def test_a_large_table_is_summed_over_sorted_numbers(device):
    """By sorting as by walking; numbers that the table does not have are sorted behind all others."""
    from scalarviz.engine.cuda.machine import Shape

    draw = np.random.default_rng(3)
    for _ in range(3):
        made, given = drawn("gather", draw, 0.1)
        found, walked = (
            by_machine(made, device, "float64", *given, shape=replace(Shape(), sorted_rows=n))[0] for n in (3, 4096)
        )
        for one, other in zip(found, walked, strict=True):
            np.testing.assert_array_equal(one, other, "the order of what is added is the same")


# ---- layers and convolutions in tiles


def layers(args, outputs, bias=True, front="", behind="", uses=1):
    """Operations on inputs, a layer on rows `args` (positions x n), used so often, operations on its results."""
    args = np.asarray(args, np.int64)
    positions, n = args.shape
    inputs, first = int(args.max()) + 1, 3  # a parameter in front of the weights that nothing uses
    constants, row, instructions, results = [SLOPE], inputs + 1, [], []

    def operation(name, dst, rows):
        others = [np.full(len(rows), inputs) for _ in ops.get(name).args[1:]]
        instructions.append(Instruction("op", dst, len(rows), np.array([rows, *others]), name))

    for k, name in enumerate(front.split("+") if front else ()):
        operation(name, row, np.arange(inputs) if k == 0 else np.arange(row - inputs, row))
        row += inputs
    args = args + (row - inputs if front else 0)
    for _ in range(uses):
        count, weights = outputs * positions, np.arange(outputs) * n + first
        instructions.append(
            Instruction(
                "conv" if positions > 1 else "layer",
                row,
                count,
                args,
                weights=weights,
                bias=first + outputs * n if bias else -1,
            )
        )
        row += count
        for name in behind.split("+") if behind else ():
            operation(name, row, np.arange(row - count, row))
            row += count
        results.append(np.arange(row - count, row))
    return program(instructions, inputs, first + outputs * (n + bias) + 2, np.concatenate(results), constants)


def check_layers(made, device, dtype, lanes, tiling, chunks=1, **shape):
    """Against NumPy in float64, relative to the norm; the kernels that are used."""
    from scalarviz.engine.cuda.machine import Shape

    make, n = np.random.default_rng(0), len(made.input_rows)
    given = make.normal(size=(n, lanes)), make.normal(size=made.n_theta), make.normal(size=(len(made.outputs), lanes))
    chosen = Shape(slices=2, tiles=tiling, **shape)
    found, names = by_machine(made, device, dtype, *given, shape=chosen, room=-lanes % 4, chunks=chunks)
    wanted = by_numpy(made, "float64", *given)
    read = np.isin(np.arange(n), made.instructions[0].args)
    for k, scale in enumerate((1, 1, chunks)):
        one, other = (found[1][read], wanted[1][read]) if k == 1 else (found[k], wanted[k] * scale)
        far = np.linalg.norm(one.astype(float) - other) / np.linalg.norm(other)
        assert far <= {"float32": 3e-6, "float64": 1e-14}[dtype], ("values", "adjoints", "gradient")[k]
    return names


OF_LAYER = [("float32", tile) for tile in TILING.layer] + [("float64", tile) for tile in TILING.wide_layer]


TINY = Tile(2, 4, 2, 2, 4)


def only(layer=TILING.layer[-1], weights=TILING.weights[-1]):
    """No other tile."""
    return Tiling(layer=(layer,), wide_layer=(layer,), weights=(weights,), least=1, lanes=1)


@pytest.mark.parametrize(("dtype", "tile"), OF_LAYER[::3], ids=str)
def test_layers_that_stick_out_of_their_tiles(device, dtype, tile):
    operands = np.roll(np.arange(max(tile.depth, tile.high) + 5), 3)[None]
    made = layers(operands, tile.high + 3, front="leaky_relu", behind="tanh")
    names = check_layers(made, device, dtype, tile.wide + 5, only(layer=tile))
    assert {f"tile_layer:{tile}:tanh.0", f"tile_back:{tile}:leaky_relu.0.result"} <= set(names)


@pytest.mark.parametrize(("dtype", "tile"), list(itertools.product(DTYPES, TILING.weights))[::3], ids=str)
def test_gradients_that_stick_out_of_their_tiles(device, tile, dtype):
    made = layers(np.arange(tile.wide + 3)[None], tile.high + 2)
    names = check_layers(made, device, dtype, 2 * tile.depth + 9, only(weights=tile))
    assert f"tile_weights:{tile}" in names


@pytest.mark.parametrize("dtype", DTYPES)
def test_convolutions_and_shared_weights(device, dtype):
    windows = np.array([[(r + i) * 5 + c + j for i in range(2) for j in range(2)] for r in range(4) for c in range(4)])
    args = np.concatenate([windows, windows + 25, windows + 50, windows + 75], axis=1)
    names = check_layers(layers(args, 6, front="tanh", behind="leaky_relu", uses=2), device, dtype, 37, only())
    assert sum(name.startswith("tile_weights") for name in names) == 2


SIZES = [(4, 4, 8), (5, 3, 5), (9, 6, 19), (3, 9, 1), (7, 4, 3)]
ROWS = [[[2, 0, 5, 3]], [[0, 1, 1, 0, 1, 2]], [[0, 1, 2], [1, 2, 3], [4, 4, 0]], [[5, 0], [5, 1], [5, 2], [3, 3]]]
ROUNDED = "float16+leaky_relu+float16"
JOINS = [*itertools.product(["", "tanh", "leaky_relu"], repeat=2), (ROUNDED, ROUNDED), ("tanh+sin", "sin+tanh+exp")]


@pytest.mark.parametrize(
    ("args", "outputs", "lanes", "more"),
    [
        *(([list(range(n))], outputs, lanes, {}) for n, outputs, lanes in SIZES),
        *((args, 3, 9, {"bias": k % 2 == 0}) for k, args in enumerate(ROWS)),
        *(([list(range(6))], 5, 7, {"front": front, "behind": behind}) for front, behind in JOINS),
        *(([list(range(5))], 4, 7, {"uses": uses}) for uses in (2, 3)),
    ],
)
def test_small_tiles(args, outputs, lanes, more, device):
    made = layers(args, outputs, **more)
    names = check_layers(made, device, "float64", lanes, only(TINY, Tile(2, 3, 2, 2, 8)), chunks=1 + outputs % 2)
    assert any(name.startswith(f"tile_layer:{TINY}") for name in names)
    if "+" in more.get("front", ""):
        chain = "+".join(f"{name}.0" for name in more["front"].split("+"))
        assert f"tile_back:{TINY}:{chain}" in names


@pytest.mark.parametrize("chain", [ROUNDED, "sin+tanh", "leaky_relu+sin+leaky_relu"])
def test_a_chain_between_two_layers_is_done_in_their_tiles(device, chain):
    """Both tiles do all of it, or as much of it as both can; a second operation with a slope is none of them."""
    names = chain.split("+")
    width, first = 4, layers(np.arange(4)[None], 4, behind=chain)
    row = first.n_rows
    weights = 20 + 6 + 4 * np.arange(3)
    second = Instruction("layer", row, 3, np.arange(row - width, row)[None], weights=weights, bias=40)
    made = program([*first.instructions, second], 4, 45, np.arange(row, row + 3), [SLOPE])
    called = check_layers(made, device, "float64", 9, only(TINY, Tile(2, 3, 2, 2, 8)))
    alone = sum(name.startswith(("forward:", "backward:")) for name in called)
    assert (alone == 0) == (names.count("leaky_relu") < 2)


@pytest.mark.parametrize("windows", [[[0, 1], [2, 3]], [[0, 1], [1, 2], [2, 3]]], ids=["apart", "overlapping"])
@pytest.mark.parametrize("chain", ["leaky_relu", "tanh", "sin+leaky_relu+tanh"])
def test_a_chain_between_a_layer_and_a_maximum_is_done_by_both(device, chain, windows):
    """Forward in the layer's tile, backward by the kernel that looks for the largest."""
    first = layers(np.arange(4)[None], 4, behind=chain)
    row = first.n_rows
    largest = Instruction("max", row, len(windows), np.array(windows) + row - 4)
    made = program([*first.instructions, largest], 4, first.n_theta, np.arange(row, row + len(windows)), [SLOPE])
    called = check_layers(made, device, "float64", 9, only(TINY, Tile(2, 3, 2, 2, 8)))
    assert sum(name.startswith("largest_back_joined:") for name in called) == 1
    assert not any(name.startswith(("forward:", "backward:")) for name in called)
