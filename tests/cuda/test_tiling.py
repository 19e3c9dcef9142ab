"""Which tile an instruction gets, and which operations are joined to it: no CUDA is needed for that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.engine.cuda.encode import Cut, encode
from scalarviz.engine.cuda.joins import find_joins
from scalarviz.engine.cuda.source.joined import tells_by_result
from scalarviz.engine.cuda.tiling import KERNELS, TILING, Tile, Tiling
from scalarviz.errors import InputError
from scalarviz.scalar import ops
from scalarviz.tape import Instruction, Program


@pytest.mark.parametrize(
    ("rows", "lanes", "high", "wide"),
    [(64, 65536, 64, 128), (64, 7744, 64, 32), (64, 1024, 16, 32), (3, 65536, 4, 128), (3, 1024, 4, 32),
     (12, 65536, 16, 128)],
)  # fmt: skip
def test_tiles_fit_and_are_enough(rows, lanes, high, wide):
    tile = TILING.of_lanes(rows, lanes, 4)
    assert (tile.high, tile.wide) == (high, wide)


@pytest.mark.parametrize(
    ("outputs", "n", "slices", "high", "wide"),
    [(64, 64, 128, 64, 64), (64, 64, 32, 32, 32), (64, 12, 128, 64, 16), (3, 64, 128, 4, 32), (16, 16, 128, 16, 16)],
)
def test_tiles_of_gradients_fit_and_are_enough(outputs, n, slices, high, wide):
    tile = TILING.of_weights(outputs, n, slices)
    assert (tile.high, tile.wide) == (high, wide)


sizes = st.integers(1, 300)


@given(sizes, st.integers(1, 100_000), st.sampled_from([4, 8]))
def test_a_tile_wastes_at_most_half(rows, lanes, itemsize):
    tile = TILING.of_lanes(rows, lanes, itemsize)
    tiles = TILING.layer if itemsize == 4 else TILING.wide_layer
    least = min(-(-rows // t.high) * t.high for t in tiles)
    if tile is None:
        assert least > 2 * rows
    else:
        assert -(-rows // tile.high) * tile.high <= max(1.5 * rows, least) <= 2 * rows


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


def test_names_of_tiles_are_read_again():
    for tile in (*TILING.layer, *TILING.wide_layer, *TILING.weights):
        assert Tile.parse(str(tile)) == tile


def test_tiles_that_cannot_be_filled_evenly_are_refused():
    with pytest.raises(InputError, match="tile_layer: a block of 32 threads cannot fill a tile 1x4x4x8x6 evenly"):
        Tile(1, 4, 4, 8, 6).constants("tile_layer")
    with pytest.raises(InputError, match="tile_weights: a block of 256 threads"):
        Tile(1, 4, 16, 16, 8).constants("tile_weights")
    for which in KERNELS:
        with pytest.raises(InputError, match=which):
            Tile(2, 3, 2, 2, 2).constants(which)


@pytest.mark.parametrize(
    ("weights", "lanes", "taken"), [(32, 32, True), (31, 32, False), (4096, 28, False), (4096, 33, False)]
)
def test_small_layers_and_odd_strides_keep_the_plain_form(weights, lanes, taken):
    assert TILING.takes(weights, lanes) is taken
    assert Tiling(least=1, lanes=1).takes(1, lanes) is (lanes % 4 == 0)


def program(*instructions, outputs, constants=()):
    """Rows 0 to 3 are inputs; then constants, then the results of the instructions."""
    n_rows = max(i.dst + i.count for i in instructions)
    rows = np.array([row for row, _ in constants], np.int64)
    needs = np.ones(n_rows, bool)
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


def test_an_operation_between_two_layers_is_joined_to_both():
    found = find_joins(
        program(layer(10, 3, [0, 1]), op("tanh", 13, [10, 11, 12]), layer(16, 2, [13, 14, 15]), outputs=[16, 17]), (16,)
    )
    assert (found.behind[0].op, found.behind[0].operand, found.behind[0].index) == ("tanh", 0, 1)
    assert found.before[2] == found.behind[0]
    assert not found.kept[0]  # the derivative is made of the result


def test_other_operands_are_one_number_each():
    constants = [(4, 0.5), (5, 0.25)]
    leaky = op("leaky_relu", 13, [10, 11], [4, 4])
    found = find_joins(program(layer(10, 2, [0, 1]), leaky, outputs=[13, 14], constants=constants), (13, 14))
    assert found.behind[0].numbers == (0.5, 0.0)
    assert found.kept[0]
    two = op("leaky_relu", 13, [10, 11], [4, 5])
    assert not find_joins(program(layer(10, 2, [0, 1]), two, outputs=[13], constants=constants), (13,)).behind
    turned = op("sub", 13, [4, 4], [10, 11])
    found = find_joins(program(layer(10, 2, [0, 1]), turned, outputs=[13], constants=[(4, -0.0)]), (13,))
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
    assert 0 not in find_joins(program(layer(10, 3, [0, 1]), *instructions, outputs=[16, 17]), (16,)).behind


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
    found = find_joins(program(layer(10, 2, [0, 1]), *instructions, outputs=[16], constants=[(4, 0.5)]), seeds)
    assert 2 not in found.before


def test_without_a_gradient_nothing_is_kept():
    found = find_joins(program(layer(10, 2, [0, 1]), op("relu", 12, [10, 11]), outputs=[12, 13]), ())
    assert found.behind[0].op == "relu"
    assert not found.kept[0]
    assert not found.before


SIGNS = [
    np.nan,
    -np.nan,
    0.0,
    -0.0,
    1e-45,
    -1e-45,
    1e-300,
    -1e-300,
    0.5,
    -0.5,
    1e30,
    -1e30,
    1e308,
    -1e308,
    np.inf,
    -np.inf,
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name, op in ops.TABLE.items() if len(op.args) < 3])
def test_a_derivative_made_of_the_result_is_the_one_of_the_operand(name, dtype):
    """For each operation and slope that is said to allow it, at every kind of number."""
    op = ops.get(name)
    found = 0
    for number in (0.01, 0.3, 1.0, 7.0, 1e-29, 1e29, 0.0, -0.5, np.inf, np.nan, 1e-46, 1e39):
        if not tells_by_result(op, 0, (number, 0.0)):
            continue
        found += 1
        with np.errstate(all="ignore"):
            given = np.array(SIGNS).astype(dtype)
            others = {arg: np.dtype(dtype).type(number) for arg in op.args[1:]}
            result = evaluated(op.value, a=given, **others)
            partial = op.partials[0]
            np.testing.assert_array_equal(evaluated(partial, a=given, **others), evaluated(partial, a=result, **others))
    assert found == {"relu": 12, "leaky_relu": 6}.get(name, 0)


def evaluated(expression, **names):
    return eval(expression, {"where": np.where}, names) + np.zeros_like(names["a"])


def test_an_operand_that_is_not_needed_is_not_stored():
    instructions = (layer(10, 2, [0, 1]), op("leaky_relu", 13, [10, 11], [4, 4]), layer(16, 2, [13, 14]))
    for slope, kept in ((0.5, ""), (0.0, ".kept")):
        given = program(*instructions, outputs=[16, 17], constants=[(4, slope)])
        encoded = encode(given, (16, 17), True, Cut(Tiling(least=1, lanes=1), 32, 4, 1))
        assert encoded.forward[0].kernel.endswith(f":leaky_relu.0{kept}")
        assert encoded.backward[0].kernel.endswith(":leaky_relu.0" + ("" if kept else ".result"))
