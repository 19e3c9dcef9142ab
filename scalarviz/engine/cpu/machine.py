"""Programs ready to run: encoded, with a workspace of their own, and the compiled interpreter in their dtype."""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np

from ...tape import Program
from ..problem import Array
from . import cache, training
from .encode import encode
from .loader import load, row_addresses

LINE = training.LINE
_CORE: dict[str, dict[str, Any]] = {}

Machine = tuple[Array, ...]


class Workspace:
    """Rows of lanes in memory, starting at a cache line."""

    def __init__(self, rows: int, lanes: int, dtype: Any) -> None:
        stride = -(-lanes * np.dtype(dtype).itemsize // LINE) * LINE
        self.memory = np.zeros(rows * stride + LINE, np.uint8)
        start: int = self.memory.ctypes.data
        self.address = -(-start // LINE) * LINE


class Loaded:
    """A program encoded for the interpreter.

    Parameters
    ----------
    program : Program or None
        None makes a machine that is never run.
    dtype : dtype-like
    block : int
        Lanes that go through together.
    seeds : tuple of int
        Rows whose adjoints are given; empty for forward only.

    Attributes
    ----------
    machine : tuple of ndarray
        As :mod:`scalarviz.engine.cpu.training` describes it. Valid while this object lives.
    """

    def __init__(self, program: Program | None, dtype: Any, block: int, seeds: tuple[int, ...] = ()) -> None:
        if program is None:
            program = _NOTHING
        dtype = np.dtype(dtype)
        encoded = encode(program, seeds, partial(row_addresses, dtype=dtype.name), dtype)
        self.workspace = Workspace(encoded.rows, block, dtype)
        place = [self.workspace.address, program.n_rows, block, program.loss, 0, 0]
        self.machine: Machine = (
            encoded.forward, encoded.backward, encoded.pool, encoded.numbers,
            program.constant_rows, program.constants.astype(dtype), program.input_rows, program.input_index,
            program.outputs, np.array(place, np.int64),
        )  # fmt: skip


def core(dtype: str) -> dict[str, Any]:
    """The compiled functions ``train`` and ``evaluate`` in this dtype."""
    if dtype not in _CORE:
        _CORE[dtype] = load(cache.core_unit(dtype), partial(_compile_core, dtype))
    return _CORE[dtype]


def _compile_core(dtype: str, cached: bool) -> dict[str, Any]:
    decorate = numba.njit(cache=cached, nogil=True, error_model="numpy")
    functions = {name: decorate(getattr(training, name)) for name in ("train", "evaluate")}
    for name, function in functions.items():
        function.compile(_signatures(dtype)[name])
        function.disable_compile()
    return functions


def _signatures(dtype: str) -> dict[str, tuple[Any, ...]]:
    real, i64, u64 = getattr(numba, dtype), numba.int64, numba.uint64
    reals, words, table = real[::1], i64[::1], i64[:, ::1]
    machine = numba.types.Tuple((table, table, words, reals, words, reals, words, words, words, words))
    order = numba.types.UniTuple(u64[::1], 2)
    return {
        "train": (
            machine, machine, machine, reals, reals, reals, i64, reals, words, real[:, ::1], i64, order, real,
            numba.boolean[::1], real[:, ::1], i64, numba.float64[::1], numba.boolean,
        ),
        "evaluate": (machine, machine, reals, i64, real[:, ::1], real[:, ::1]),
    }  # fmt: skip


_EMPTY = np.zeros(0, np.int64)
_NOTHING = Program(
    n_rows=0, n_theta=0, instructions=(), input_rows=_EMPTY, input_index=_EMPTY, constant_rows=_EMPTY,
    constants=np.zeros(0), outputs=_EMPTY, loss=-1, taps=(), needs_gradient=np.zeros(0, np.bool_),
)  # fmt: skip
