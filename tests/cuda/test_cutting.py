"""How the work is cut, which needs no CUDA: tiles and the operations joined to them, blocks of lanes by their sizes.

Internals: these decisions change no number, only time, so nothing that a user sees tells of them.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.networks import mlp
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda.block import program as block
from scalarviz.engine.cuda.calls import KERNELS, TILING, Tile
from scalarviz.engine.cuda.machine import Shape, encode
from scalarviz.engine.cuda.tiled import Cut, find_joins
from scalarviz.errors import InputError
from scalarviz.tape import Instruction, Program

# ---- tiles


sizes = st.integers(1, 300)


@given(sizes, st.integers(1, 100_000), st.sampled_from([4, 8]))
def test_a_tile_wastes_at_most_half(rows, lanes, itemsize):
    tile = TILING.of_lanes(rows, lanes, itemsize)
    least = min(-(-rows // t.high) * t.high for t in (TILING.layer if itemsize == 4 else TILING.wide_layer))
    padded = least if tile is None else -(-rows // tile.high) * tile.high
    assert least > 2 * rows if tile is None else padded <= max(1.5 * rows, least) <= 2 * rows


@given(st.lists(st.tuples(sizes, sizes, st.integers(1, 100_000)), min_size=1, max_size=6))
def test_tiles_of_gradients_waste_at_most_half_beside_the_best_of_each(matrices):
    tiles = TILING.of_weights(matrices)
    work = [t.padded(m, n) * terms for t, (m, n, terms) in zip(tiles, matrices, strict=True)]
    least = [min(t.padded(m, n) for t in TILING.weights) * terms for m, n, terms in matrices]
    assert sum(work) <= 1.5 * sum(least)
    assert all(
        TILING.worth_it(m, n) == (best <= 8 * m * n * terms)
        for best, (m, n, terms) in zip(least, matrices, strict=True)
    )


@given(
    st.lists(st.tuples(st.sampled_from(TILING.weights), st.integers(1, 800), st.integers(1, 2000)), min_size=1),
    st.integers(1, 10**7),
)
def test_a_gradient_has_as_many_slices_as_keep_a_gpu_busy_and_no_more(sums, parameters):
    slices = TILING.slices_of(sums, parameters)
    steps = [-(-each // own) for own, (_, _, each) in zip(slices, sums, strict=True)]
    threads = sum(t.down * t.across * blocks * own for own, (t, blocks, _) in zip(slices, sums, strict=True))
    assert all(1 <= own <= each for own, (_, _, each) in zip(slices, sums, strict=True))
    assert threads <= 2 * TILING.threads + sum(t.down * t.across * blocks for t, blocks, _ in sums)
    assert max(slices) * parameters <= max(TILING.parts, parameters)
    free = [k for k, own in zip(steps, slices, strict=True) if 1 < own < min(TILING.slices, TILING.parts // parameters)]
    assert not free or max(free) <= 2 * min(free)  # those that are cut end together


def test_names_of_tiles_are_read_again_and_those_that_cannot_be_filled_evenly_are_refused():
    for tile in (*TILING.layer, *TILING.wide_layer, *TILING.weights):
        assert Tile.parse(str(tile)) == tile
    refused = [(Tile(1, 4, 4, 8, 6), "tile_layer"), (Tile(1, 4, 16, 16, 8), "tile_weights")]
    for tile, which in (*refused, *((Tile(2, 3, 2, 2, 2), which) for which in KERNELS)):
        with pytest.raises(InputError, match=f"{which}: {tile.down * tile.across} threads .*{tile}"):
            tile.constants(which)


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
    assert (found.behind[0].name, found.behind[0].indices) == ("tanh.0", (1,))
    assert found.before[2] == found.behind[0]
    without = joins(op("relu", 12, [10, 11]), outputs=[12, 13], seeds=())  # nobody asks for a gradient
    assert (without.behind[0].name, without.before) == ("relu.0", {})


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
        ((op("tanh", 13, [10, 11]), layer(16, 2, [13]), op("exp", 18, [14])), (16, 17, 18)),
        ((op("tanh", 13, [10, 11]), layer(16, 2, [13, 14])), (16, 13)),
        ((op("tanh", 13, [10, 10]), layer(16, 2, [13, 14])), (16, 17)),
        ((op("lt", 13, [10, 11], [4, 4]), layer(16, 2, [13, 14])), (16, 17)),
        ((op("tanh", 13, [10, 11]), layer(16, 2, [13, 14, 0])), (16, 17)),
    ],
    ids=[
        "read by another",
        "the rest by another",
        "given from outside",
        "one row twice",
        "no derivative",
        "not all of them",
    ],
)
def test_what_is_not_for_a_layer_alone_is_not_joined_before_it(instructions, seeds):
    assert 2 not in joins(*instructions, outputs=[16], seeds=seeds, constants=[(4, 0.5)]).before


# ---- gradients of a convolution


@pytest.mark.parametrize(
    ("positions", "lanes", "slices"), [(1, 32, 1), (4, 64, 8), (4, 512, 64), (40, 64, 80), (4, 65536, 256)]
)
def test_a_convolution_sums_its_gradients_in_slices_of_positions_and_lanes(positions, lanes, slices):
    found = Instruction("conv", 4, 12 * positions, np.tile(np.arange(4), (positions, 1)), weights=4 * np.arange(12))
    encoded = encode(program(found, outputs=[4]), (4,), False, Cut(TILING, lanes, 4, 32))
    assert encoded.slices[:48].tolist() == [slices] * 48


# ---- blocks of lanes


def form_of(sizes, batch, itemsize=4, **options):
    net, data = mlp(*sizes, last="Tanh")(nn), (np.zeros((2, sizes[0])), np.zeros((2, sizes[-1])))
    with Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy") as run:
        return block.form_of(run._problem.plan, batch, itemsize, Shape(**options))


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
