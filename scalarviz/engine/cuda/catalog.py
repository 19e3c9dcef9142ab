"""Every kernel by its name: the structural ones, and two for each operation (``forward:exp``, ``backward:exp``)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache, lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ... import rng
from ...scalar import ops
from ...scalar.kernel import define
from . import jit, tensor
from .calls import KERNELS, TILING, Tile
from .kernel import Kernel
from .kernels import rows, steps, tables, tiles
from .source import activation_source, backward_source, derivative_source, forward_source, has_backward

MODULES = (rows, tables, steps)
JOINED = {"largest_back_joined": rows, "loss_of_squares": steps}
"""Kernels that do the derivatives of operations in front of them, if their name has some."""


def names() -> Iterator[str]:
    """All of them, the registered operations included; of those in tiles the ones that are for both dtypes."""
    yield from _structural("float64")
    yield from KERNELS
    yield from (f"{which}:{tile}" for which in KERNELS[:2] for tile in TILING.for_both())
    yield from (f"{which}:{TILING.for_both()[0]}:leaky_relu.0" for which in KERNELS[:2])
    yield f"tile_back:{TILING.for_both()[0]}:leaky_relu.0.result"
    chain = f"{TILING.for_both()[0]}:float16.0+leaky_relu.0+float16.0"
    yield from (f"tile_layer:{chain}.kept", f"tile_back:{chain}")
    yield from ("largest_back_joined:float16.0+relu.0", "loss_of_squares:sigmoid.0")
    yield from (f"tile_weights:{tile}" for tile in TILING.weights)
    for op in ops.TABLE.values():
        yield f"forward:{op.name}"
        if has_backward(op):
            yield f"backward:{op.name}"


def find(name: str, dtype: str) -> Kernel:
    """The kernel of a name, as :func:`names` gives them."""
    which, colon, operation = name.partition(":")
    tile, _, joined = operation.partition(":") if which in KERNELS else ("", "", operation)
    links = [link.split(".") for link in joined.split("+") if link]
    if which in KERNELS or (which in JOINED and links):
        chain, how = tuple((ops.get(op), int(operand)) for op, operand, *_ in links), links[-1][2:] if links else []
        size = Tile.parse(tile) if tile else TILING.wide_layer[0]
        return _with_chain(name, which, size, chain, "".join(how), dtype)
    if colon:
        return _of_operation(which, ops.get(operation), dtype)
    return _structural(dtype)[name]


@cache
def _structural(dtype: str) -> dict[str, Kernel]:
    found = {}
    for module in MODULES:
        text = inspect.getsource(module) + (inspect.getsource(rng) if module is steps else "")
        space = jit.namespace(module, dtype, half=jit.float16(dtype), infinity=np.dtype(dtype).type("inf"))
        for name, function in space.items():
            joined = name.endswith("_joined")  # it is always joined with something
            if isinstance(function, FunctionType) and function.__globals__ is space and not joined:
                found[name] = Kernel(name, dtype, function, text)
    return found


@cache
def _of_operation(which: str, op: ops.Op, dtype: str) -> Kernel:
    return written(f"{which}:{op.name}", forward_source(op) if which == "forward" else backward_source(op), dtype)


@lru_cache(maxsize=1024)
def _with_chain(
    name: str, which: str, tile: Tile, chain: tuple[tuple[ops.Op, int], ...], how: str, dtype: str
) -> Kernel:  # fmt: skip
    """A kernel of tiles or of `JOINED`; the chain is done behind a layer, or its derivatives in front (``tiled``)."""
    module = JOINED.get(which, tiles)
    given: dict[str, Any] = {"KEPT": not chain or how == "kept", "JOINED": bool(chain), "DERIVED": bool(chain)}
    text = inspect.getsource(module) + inspect.getsource(jit)
    if module is tiles:
        given |= tile.constants(which)
        text += str(tile)
    if module is tiles and tile.halves:
        given |= tiles.HALVES | {name: tensor.WORDS[name] for name in ("mma", "pack")}
    if chain:
        made, space = ("activation" if which == "tile_layer" else "derivative"), _words(dtype)
        source = activation_source(chain)
        if made == "derivative":
            source = derivative_source(chain, how == "result")
        define(f"cuda {name} {dtype}", source, space)
        given[made], text = space[made], text + source
    bounds = tile.bounds if module is tiles else None
    return Kernel(name, dtype, jit.namespace(module, dtype, **given)[which], text, bounds)


def _words(dtype: str) -> dict[str, Any]:
    """What text that is made calls by its name."""
    real, plain = np.dtype(dtype).type, jit.namespace(rows, dtype)
    return {
        "_give": plain["give"], "_lane_and_row": plain["lane_and_row"], **{name: plain[name] for name in rows.DEVICE},
        "_cuda": jit.cuda, "_range": range, "_abs": abs, "_real": real, "_infinity": real("inf"),
        "_shared": jit.shared, "_float16": jit.float16(dtype),
        **{f"_{function}": found for function, found in jit.FUNCTIONS.items()},
        "cuda": jit.cuda, "device": jit.device_function, "shared": jit.shared, "moved": jit.moved, "load4": jit.load4,
        "store4": jit.store4, "nan": real(np.nan), "np": np, "real": real, **tensor.WORDS,
    }  # fmt: skip


@lru_cache(maxsize=1024)
def written(name: str, text: str, dtype: str) -> Kernel:
    """A kernel whose source is made: the function of the text called like the part of `name` before the colon."""
    space = _words(dtype)
    define(f"cuda {name} {dtype}", "from __future__ import annotations\n" + text, space)
    return Kernel(name, dtype, space[name.partition(":")[0]], text, alone=True)
