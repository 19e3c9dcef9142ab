"""Tiles of real sizes: what the compiler makes of them, and their code executed, each access and race checked."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from machine_code import ARCHITECTURES, assembled, faults, instructions
from tile_bench import Case, Loaded, distance

from scalarviz.engine.cuda import catalog, images
from scalarviz.engine.cuda.machine import Shape
from scalarviz.engine.cuda.tiling import TILING, Tiling

pytestmark = pytest.mark.cuda
CAPABILITY = (9, 0)
TOLERANCE = {"float32": 3e-6, "float64": 1e-14}


def of_layer():
    """Each tile for values and adjoints, in its dtype."""
    return [("float32", tile) for tile in TILING.layer] + [("float64", tile) for tile in TILING.wide_layer]


def only(layer=None, weights=None, **more):
    """No other tile."""
    layers = (layer or TILING.layer[-1],)
    return Tiling(layer=layers, wide_layer=layers, weights=(weights or TILING.weights[-1],), least=1, lanes=1, **more)


@pytest.fixture
def device(fake_driver):
    from scalarviz.engine.cuda.driver import DriverDevice

    return DriverDevice(0)


def check(case, device, dtype, lanes, tiling, slices=2):
    given = case.numbers(lanes)
    loaded = Loaded(case, device, dtype, lanes + -lanes % 4, Shape(slices=slices, tiles=tiling))
    found, expected = loaded.run(lanes, **given), case.expected(**given)
    for name, array in expected.items():
        assert distance(found[name], array) <= TOLERANCE[dtype], name
    return loaded.kernels()


@pytest.mark.parametrize(("dtype", "tile"), of_layer(), ids=str)
def test_layers_that_stick_out_of_their_tiles(device, dtype, tile):
    operands = np.roll(np.arange(max(tile.depth, tile.high) + 5), 3)
    case = Case([operands], tile.high + 3, front="leaky_relu", behind="tanh")
    kernels = check(case, device, dtype, tile.wide + 5, only(layer=tile))
    assert f"tile_layer:{tile}:tanh.0" in kernels
    assert f"tile_back:{tile}:leaky_relu.0.result" in kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tile", TILING.weights, ids=str)
def test_gradients_that_stick_out_of_their_tiles(device, tile, dtype):
    case = Case([np.arange(tile.wide + 3)], tile.high + 2)
    kernels = check(case, device, dtype, 2 * tile.depth + 9, only(weights=tile))
    assert f"tile_weights:{tile}" in kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_convolutions_and_shared_weights(device, dtype):
    windows = np.array([[(r + i) * 5 + c + j for i in range(2) for j in range(2)] for r in range(4) for c in range(4)])
    args = np.concatenate([windows, windows + 25, windows + 50, windows + 75], axis=1)
    kernels = check(Case(args, 6, front="tanh", behind="leaky_relu", uses=2), device, dtype, 9, only())
    assert sum(name.startswith("tile_weights") for name in kernels) == 2


INNER = re.compile(r"(\$L__BB\w+):(?:(?!\$L__BB).)*?bra(?:\.uni)?\s+\1;", re.S)


def inner_loop(name, dtype):
    """Instructions of the loop with the most products."""
    text = images.text(catalog.find(name, dtype), CAPABILITY)
    loops = [Counter(instructions(".entry f() {\n" + found.group(0))) for found in INNER.finditer(text)]
    return max(loops, key=lambda counts: sum(n for kind, n in counts.items() if kind.startswith("fma")))


def count(counts, kind):
    return sum(n for name, n in counts.items() if name.startswith(kind))


@pytest.mark.parametrize(("dtype", "tile"), of_layer(), ids=str)
@pytest.mark.parametrize("which", ["tile_layer", "tile_back"])
def test_the_inner_loop_is_products_and_wide_loads(which, dtype, tile):
    """Sums stay in registers; shared memory is read 16 bytes at a time; next to nothing else is done."""
    found = inner_loop(f"{which}:{tile}", dtype)
    products, bytes_of = 4 * tile.rows * tile.columns, int(dtype[5:]) // 8
    turns = count(found, "fma.rn") // products  # the compiler may unroll
    assert count(found, "fma.rn") == turns * products > 0
    assert count(found, "ld.shared.v") == turns * (4 * tile.rows + 4 * tile.columns) * bytes_of // 16
    assert count(found, "ld.") == count(found, "ld.shared.v")
    assert count(found, "st.") == count(found, "ld.local") == 0
    rest = sum(found.values()) - turns * products - count(found, "ld.shared")
    assert rest <= 10


JOINED = ("", ":leaky_relu.0", ":relu.0.kept", ":relu.0.result")


def kernels_of_tiles():
    """Without and with an operation, in the dtypes for which they are."""
    for dtype, tile in of_layer():
        yield from ((f"tile_layer:{tile}{joined}", dtype, tile) for joined in JOINED[:3])
        yield from ((f"tile_back:{tile}{joined}", dtype, tile) for joined in JOINED if "kept" not in joined)
    yield from ((f"tile_weights:{tile}", dtype, tile) for tile in TILING.weights for dtype in TOLERANCE)


@pytest.mark.parametrize(("name", "dtype", "tile"), list(kernels_of_tiles()), ids=str)
def test_registers_hold_everything_and_leave_room_for_two_blocks(name, dtype, tile):
    """Of the 65,536 of a multiprocessor; of float32 alone, float64 gets all of it."""
    for architecture in ARCHITECTURES:
        assert faults(catalog.find(name, dtype), architecture) == set()
        code = assembled(catalog.find(name, dtype), architecture)
        blocks = 2 if dtype == "float32" else 1
        assert blocks * code.registers * tile.down * tile.across <= 65536
        assert blocks * code.shared <= 99 * 1024
