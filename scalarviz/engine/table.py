"""The engines there are: one line each. What asks for an engine by name reads this table."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, ScalarvizError, listing, shown
from ..scalar.value import Value
from ..tape import Plan
from . import forms
from .arrays.trainer import NumpyTrainer
from .objects import ObjectsTrainer
from .problem import DTYPES, Problem, Trainer

_DEVICE = re.compile("[0-9]{1,9}")
"""The number of a device in an engine's name; longer ones would not even fit into the driver's int."""

Model = Callable[[list[Value]], Any]
Loss = Callable[[Any, Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine by its name.

    Attributes
    ----------
    name : str
    make : callable
        ``make(problem, model, loss, device)`` -> Trainer; `model` and `loss` are functions of Values.
    form : Form
        How it has the operations of the table.
    dtypes : tuple of str
        In which it computes.
    missing : callable
        ``missing(device)`` -> why it is not there, as one clause; empty if it is.
    warm : callable
        ``warm(dtype, operations)`` -> whether it can start without compiling.
    lost : callable
        ``lost(device)`` -> why this process cannot use it any more, though it was there; empty if it can.
    devices : bool
        Whether its name may carry a number: ``"cuda:1"``.
    """

    name: str
    make: Callable[[Problem, Model, Loss, int], Trainer]
    form: forms.Form
    dtypes: tuple[str, ...] = DTYPES
    missing: Callable[[int], str] = lambda device: ""
    warm: Callable[[str, Iterable[str]], bool] = lambda dtype, operations: True
    lost: Callable[[int], str] = lambda device: ""
    devices: bool = False


def find(engine: object) -> tuple[Engine, int]:
    """The engine of a name and the number of its device, 0 without one.

    Raises
    ------
    InputError
        No such engine.
    """
    base, colon, number = engine.partition(":") if isinstance(engine, str) else ("", "", "")
    found = ENGINES.get(base)
    numbered = not colon or (found is not None and found.devices and _DEVICE.fullmatch(number))
    if found is None or not numbered:
        raise InputError(f"engine must be one of {listing(NAMES)}, got {shown(engine)}")
    return found, int(number or 0)


def usable(engine: object, dtype: str) -> tuple[Engine, int]:
    """As :func:`find`, of an engine that is there and computes in `dtype`.

    Raises
    ------
    InputError
        No such engine, or not in this dtype.
    ScalarvizError
        It is not there; the message says why.
    """
    found, device = find(engine)
    why = found.missing(device)
    if why:
        raise ScalarvizError(f'engine="{engine}" {why}')
    if dtype not in found.dtypes:
        raise InputError(f"engine {found.name!r} computes in {listing(found.dtypes)}, not in {dtype!r}")
    return found, device


def lost(engine: str) -> str:
    """Why an engine that was there before cannot be used any more by this process; empty if it can, or never could."""
    found, device = find(engine)
    return found.lost(device)


def operations(*plans: Plan) -> set[str]:
    """Names of the table operations that the plans use: what an engine must have ready to be warm."""
    programs = [p for plan in plans for p in (plan.prologue, plan.encode, plan.body) if p is not None]
    return {i.op for program in programs for i in program.instructions if i.kind == "op"}


def _objects(problem: Problem, model: Model, loss: Loss, device: int) -> Trainer:
    return ObjectsTrainer(problem, model, loss)


def _numpy(problem: Problem, model: Model, loss: Loss, device: int) -> Trainer:
    return NumpyTrainer(problem)


def _numba(problem: Problem, model: Model, loss: Loss, device: int) -> Trainer:
    # compiling takes a while and leaves cycles behind
    loads = "numba" not in sys.modules and _numba_is_warm(
        problem.store.value.dtype.name, operations(problem.plan, problem.update)
    )
    with _collector_paused() if loads else nullcontext():
        from .cpu import NumbaTrainer

        return NumbaTrainer(problem)


def _no_numba(device: int) -> str:
    from .cpu.there import no_numba

    return no_numba()


def _numba_is_warm(dtype: str, operations: Iterable[str]) -> bool:
    from .cpu import cache_is_warm

    return cache_is_warm(dtype, operations)


def _cuda(problem: Problem, model: Model, loss: Loss, device: int) -> Trainer:
    from .cuda.trainer import CudaTrainer

    return CudaTrainer(problem, device)


def _no_cuda(device: int) -> str:
    from .cuda.there import no_cuda

    return no_cuda(device)


def _lost_cuda(device: int) -> str:
    from .cuda.failures import lost

    return lost(device)


def _cuda_is_warm(dtype: str, operations: Iterable[str]) -> bool:
    from .cuda.warm import is_warm

    return is_warm(dtype, operations)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Loading numba makes a million objects that stay; looking through them for garbage takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("objects", _objects, forms.OBJECTS),
        Engine("numpy", _numpy, forms.NUMPY),
        Engine("numba", _numba, forms.NUMBA, missing=_no_numba, warm=_numba_is_warm),
        Engine("cuda", _cuda, forms.CUDA, missing=_no_cuda, warm=_cuda_is_warm, lost=_lost_cuda, devices=True),
    )
}
NAMES = ("auto", *ENGINES)
"""What may be asked for; ``"auto"`` chooses when a run starts."""
