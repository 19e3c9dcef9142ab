"""How the work is cut, which needs no CUDA: tiles and the operations joined to them, blocks of lanes by their sizes.

Internals: these decisions change no number, only time, so nothing that a user sees tells of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.networks import mlp
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda.block import form, tiles
from scalarviz.engine.cuda.encode import Cut, encode
from scalarviz.engine.cuda.joins import find_joins
from scalarviz.engine.cuda.machine import Shape
from scalarviz.engine.cuda.source.joined import tells_by_result
from scalarviz.engine.cuda.tiling import KERNELS, TILING, Tile, Tiling
from scalarviz.errors import InputError
from scalarviz.scalar import ops
from scalarviz.tape import Instruction, Program

# ---- tiles


@pytest.mark.parametrize(
    ("tile", "high", "wide"),
    [
        *((lambda size=size: TILING.of_lanes(*size, 4), *wanted) for size, wanted in {
            (64, 65536): (64, 128), (64, 7744): (64, 32), (64, 1024): (16, 32), (3, 65536): (4, 128),
            (3, 1024): (4, 32), (12, 65536): (16, 128)}.items()),
        *((lambda size=size: TILING.of_weights(*size), *wanted) for size, wanted in {
            (64, 64, 128): (64, 64), (64, 64, 32): (32, 32), (64, 12, 128): (64, 16), (3, 64, 128): (4, 32),
            (16, 16, 128): (16, 16)}.items()),
    ],
)  # fmt: skip
def test_tiles_fit_and_are_enough(tile, high, wide):
    assert (tile().high, tile().wide) == (high, wide)


sizes = st.integers(1, 300)


@given(sizes, st.integers(1, 100_000), st.sampled_from([4, 8]))
def test_a_tile_wastes_at_most_half(rows, lanes, itemsize):
    tile = TILING.of_lanes(rows, lanes, itemsize)
    least = min(-(-rows // t.high) * t.high for t in (TILING.layer if itemsize == 4 else TILING.wide_layer))
    padded = least if tile is None else -(-rows // tile.high) * tile.high
    assert least > 2 * rows if tile is None else padded <= max(1.5 * rows, least) <= 2 * rows


@given(sizes, sizes, st.integers(1, 128))
def test_a_tile_of_gradients_wastes_at_most_seven_eighths(outputs, n, slices):
    tile = TILING.of_weights(outputs, n, slices)
    assert tile is None or tile.padded(outputs, n) <= 8 * outputs * n


def test_small_matrices_join_the_launch_of_a_large_one_where_little_is_wasted():
    def chosen(slices, *sizes):
        return TILING.together([(TILING.of_weights(*size, slices), *size) for size in sizes])

    several = [(3, 64), (64, 64), (64, 64), (64, 64), (64, 12)]
    assert chosen(32, *several) == TILING.of_weights(64, 64, 32)
    assert chosen(128, *several) is None  # those of 64 x 64 would be computed for 3 x 64
    assert chosen(32, (3, 64)) == TILING.of_weights(3, 64, 32)


def test_names_of_tiles_are_read_again_and_those_that_cannot_be_filled_evenly_are_refused():
    for tile in (*TILING.layer, *TILING.wide_layer, *TILING.weights):
        assert Tile.parse(str(tile)) == tile
    refused = [(Tile(1, 4, 4, 8, 6), "tile_layer"), (Tile(1, 4, 16, 16, 8), "tile_weights")]
    for tile, which in (*refused, *((Tile(2, 3, 2, 2, 2), which) for which in KERNELS)):
        with pytest.raises(InputError, match=f"{which}: a block of {tile.down * tile.across} threads.*{tile}"):
            tile.constants(which)


@pytest.mark.parametrize(
    ("weights", "lanes", "taken"), [(32, 32, True), (31, 32, False), (4096, 28, False), (4096, 33, False)]
)
def test_small_layers_and_odd_strides_keep_the_plain_form(weights, lanes, taken):
    assert TILING.takes(weights, lanes) is taken
    assert Tiling(least=1, lanes=1).takes(1, lanes) is (lanes % 4 == 0)


# ---- operations joined to layers


def program(*instructions, outputs, constants=()):
    """Rows 0 to 3 are inputs; then constants, then the results of the instructions."""
    n_rows = max(i.dst + i.count for i in instructions)
    rows, needs = np.array([row for row, _ in constants], np.int64), np.ones(n_rows, bool)
    needs[rows] = False
    return Program(
        n_rows=n_rows, n_theta=50, instructions=instructions, input_rows=np.arange(4), input_index=np.arange(4),
        constant_rows=rows, constants=np.array([number for _, number in constants]), outputs=np.array(outputs),
        loss=-1, taps=(), needs_gradient=needs,
    )  # fmt: skip


def layer(dst, count, rows):
    return Instruction("layer", dst, count, np.array([rows]), weights=np.arange(count) * len(rows))


def op(name, dst, *rows):
    return Instruction("op", dst, len(rows[0]), np.array(rows), name)


def joins(*behind, outputs, seeds, constants=()):
    """What is joined to a layer of two or three results, which begin at row 10."""
    first = layer(10, 3 if any(i.dst > 12 and 12 in i.args for i in behind) else 2, [0, 1])
    return find_joins(program(first, *behind, outputs=outputs, constants=constants), seeds)


def test_an_operation_between_two_layers_is_joined_to_both():
    between = op("tanh", 13, [10, 11, 12]), layer(16, 2, [13, 14, 15])
    found = joins(*between, outputs=[16, 17], seeds=(16,))
    assert (found.behind[0].op, found.behind[0].operand, found.behind[0].index) == ("tanh", 0, 1)
    assert found.before[2] == found.behind[0]
    assert not found.kept[0]  # the derivative is made of the result
    without = joins(op("relu", 12, [10, 11]), outputs=[12, 13], seeds=())  # nobody asks for a gradient
    assert (without.behind[0].op, without.kept[0], without.before) == ("relu", False, {})


def test_other_operands_are_one_number_each():
    constants = [(4, 0.5), (5, 0.25)]
    found = joins(op("leaky_relu", 13, [10, 11], [4, 4]), outputs=[13, 14], seeds=(13, 14), constants=constants)
    assert (found.behind[0].numbers, found.kept[0]) == ((0.5, 0.0), True)
    two = op("leaky_relu", 13, [10, 11], [4, 5])
    assert not joins(two, outputs=[13], seeds=(13,), constants=constants).behind
    turned = op("sub", 13, [4, 4], [10, 11])
    found = joins(turned, outputs=[13], seeds=(13,), constants=[(4, -0.0)])
    assert (found.behind[0].name, np.signbit(found.behind[0].numbers[0])) == ("sub.1", True)


@pytest.mark.parametrize(
    "instructions",
    [
        (op("tanh", 13, [11, 10, 12]), layer(16, 2, [13, 14, 15])),
        (op("tanh", 13, [10, 11]), layer(16, 2, [13, 14, 12])),
        (op("mul", 13, [10, 11, 12], [10, 11, 12]), layer(16, 2, [13, 14, 15])),
        (op("tanh", 13, [10, 11, 12]), layer(16, 2, [13, 14, 15]), op("exp", 18, [12])),
    ],
    ids=["another order", "some", "twice", "read by another"],
)
def test_what_is_not_all_of_a_layer_alone_is_not_joined_behind_it(instructions):
    assert 0 not in joins(*instructions, outputs=[16, 17], seeds=(16,)).behind


@pytest.mark.parametrize(
    ("instructions", "seeds"),
    [
        ((op("tanh", 13, [10, 11]), layer(16, 2, [13, 14]), op("exp", 18, [14])), (16, 17)),
        ((op("tanh", 13, [10, 11]), layer(16, 2, [13, 14])), (16, 13)),
        ((op("tanh", 13, [10, 10]), layer(16, 2, [13, 14])), (16, 17)),
        ((op("lt", 13, [10, 11], [4, 4]), layer(16, 2, [13, 14])), (16, 17)),
        ((op("tanh", 13, [10, 11]), layer(16, 2, [13, 14, 0])), (16, 17)),
    ],
    ids=["read by another", "given from outside", "one row twice", "no derivative", "not all of them"],
)
def test_what_is_not_for_a_layer_alone_is_not_joined_before_it(instructions, seeds):
    assert 2 not in joins(*instructions, outputs=[16], seeds=seeds, constants=[(4, 0.5)]).before


SIGNS = [sign * x for x in (np.nan, 0.0, 1e-45, 1e-300, 0.5, 1e30, 1e308, np.inf) for sign in (1, -1)]
NUMBERS = (0.01, 0.3, 1.0, 7.0, 1e-29, 1e29, 0.0, -0.5, np.inf, np.nan, 1e-46, 1e39)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name, op in ops.TABLE.items() if len(op.args) < 3])
def test_a_derivative_made_of_the_result_is_the_one_of_the_operand(name, dtype):
    """For each operation and slope that is said to allow it, at every kind of number."""

    def evaluated(expression, **names):
        return eval(expression, {"where": np.where}, names) + np.zeros_like(names["a"])

    op = ops.get(name)
    told = [number for number in NUMBERS if tells_by_result(op, 0, (number, 0.0))]
    for number in told:
        with np.errstate(all="ignore"):
            given = np.array(SIGNS).astype(dtype)
            others = {arg: np.dtype(dtype).type(number) for arg in op.args[1:]}
            of_operand = evaluated(op.partials[0], a=given, **others)
            of_result = evaluated(op.partials[0], a=evaluated(op.value, a=given, **others), **others)
            np.testing.assert_array_equal(of_operand, of_result)
    assert len(told) == {"relu": 12, "leaky_relu": 6}.get(name, 0)


def test_an_operand_that_is_not_needed_is_not_stored():
    instructions = (layer(10, 2, [0, 1]), op("leaky_relu", 13, [10, 11], [4, 4]), layer(16, 2, [13, 14]))
    for slope, kept in ((0.5, ""), (0.0, ".kept")):
        given = program(*instructions, outputs=[16, 17], constants=[(4, slope)])
        encoded = encode(given, (16, 17), True, Cut(Tiling(least=1, lanes=1), 32, 4, 1))
        assert encoded.forward[0].kernel.endswith(f":leaky_relu.0{kept}")
        assert encoded.backward[0].kernel.endswith(":leaky_relu.0" + ("" if kept else ".result"))


# ---- blocks of lanes


def plan_of(net, inputs, parameters=None):
    outputs, weights = len(net([0.1] * inputs)), net.parameters() if parameters is None else parameters
    data = np.zeros((2, inputs)), np.zeros((2, outputs))
    with Run(net, nn.MSELoss(), optim.SGD(weights, lr=0.1), data, engine="numpy") as run:
        return run.problem.plan


def form_of(sizes, batch, itemsize=4, **options):
    return form.form_of(plan_of(mlp(*sizes, last="Tanh")(nn), sizes[0]), batch, itemsize, Shape(**options))


DEEP = (12, 64, 64, 64, 64, 3)


def test_a_batch_of_many_blocks_has_its_weights_in_shared_memory():
    found = form_of(DEEP, 1024)
    assert (found.lanes, found.blocks, found.tiles, found.alone) == (8, 128, True, False)
    assert 85_000 < found.shared <= 96 << 10


@pytest.mark.parametrize(
    ("sizes", "batch", "itemsize", "options"),
    [
        (DEEP, 1024, 8, {}),  # weights in float64 do not fit
        (DEEP, 65536, 4, {}), (DEEP, 2049, 4, {}),  # too many blocks would write gradients
        ((784, 128, 10), 64, 4, {}), ((4000, 1), 4, 4, {}), ((400, *[64] * 40), 64, 4, {}),  # too large
        ((3, 16, 3), 4, 4, {"lanes": 0}), ((3, 16, 16, 3), 64, 4, {"shared_bytes": 1000}),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_computed_otherwise(sizes, batch, itemsize, options):
    assert form_of(sizes, batch, itemsize, **options) is None


@pytest.mark.parametrize(
    ("sizes", "batch", "lanes", "alone"),
    [*(((3, 16, 16, 3), batch, lanes, True) for batch, lanes in ((1, 4), (4, 4), (5, 8), (16, 16), (32, 32))),
     ((3, 16, 16, 3), 33, None, False), (DEEP, 4, None, False), ((3, 36, 36, 3), 32, None, True),
     ((3, 42, 42, 3), 32, None, False)],
)  # fmt: skip
def test_a_small_net_does_whole_steps_in_one_block(sizes, batch, lanes, alone):
    """Many parameters or lanes are no work for one block."""
    found = form_of(sizes, batch)
    assert found.alone is alone
    assert lanes is None or (found.lanes, found.blocks, found.threads % lanes) == (lanes, 1, 0)


@pytest.mark.parametrize("itemsize", [4, 8])
def test_what_is_in_shared_memory_begins_at_fours(itemsize):
    for batch in (1, 2, 3, 7, 20, 100):
        found = form_of((3, 5, 2), batch, itemsize)
        assert all(place % (4 * itemsize) == 0 for place in (found.rows_at, found.prologue_at, found.weights_at))


def test_rows_of_weights_lie_in_different_banks():
    """Threads that read four numbers of eight neighbouring rows at once read all 32 banks."""
    for n in range(1, 70):
        width = tiles.row_width(n)
        assert width >= n
        assert len({(row * width + k) % 32 for row in range(8) for k in range(4)}) == 32


def test_every_weight_of_a_layer_comes_to_its_place():
    body = plan_of(mlp(5, 8, 8, 3)(nn), 5).body
    found = tiles.layers(encode(body, (body.loss,), False, None), 100)
    fours, ones = tiles.copies(found, body.n_theta)
    to = {4 * i + k: place + k for i, place in enumerate(fours) if place >= 0 for k in range(4)}
    assert not to.keys() & set(ones[:, 0].tolist())
    to |= dict(ones.tolist())
    assert to == {
        one.weight + j * one.n + k: one.place + j * one.width + k
        for one in found
        for j in range(one.outputs)
        for k in range(one.n)
    }
    assert (len(found), len(set(to.values())), (fours >= 0).any()) == (3, len(to), True)


def chain(x, weights, count):
    """One node after the other, each with a weight of its own."""
    total = x[0]
    for k in range(count):
        total = (weights[k % len(weights)] * total).tanh() * x[-1]
    return [total]


@pytest.mark.parametrize(
    ("weights", "count", "lanes", "in_memory"),
    [(100, 100, 8, False), (100, 400, 8, False), (100, 600, 4, False), (100, 4000, 8, True), (1, 1030, None, None)],
)  # the last one: a weight in hundreds of places is one thread's work
def test_a_long_program_takes_fewer_lanes_or_rows_in_memory(weights, count, lanes, in_memory):
    weights = [sv.Weight(0.5) for _ in range(weights)]
    plan = plan_of(lambda x: chain(x, weights, count), 2, weights)
    found = form.form_of(plan, 64, 4, Shape())
    assert (found and (found.lanes, found.in_memory, found.tiles)) == (lanes and (lanes, in_memory, not in_memory))
    if lanes:
        assert found.shared <= 96 << 10
        assert form.form_of(plan, 64, 4, Shape(chunk_bytes=1000)) == (None if in_memory else found)
