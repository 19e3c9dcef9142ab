"""The table of engines; `choose` picks one for a run and says why.

A `Form` describes how an engine implements an operation: it generates the functions and counts them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import InputError, ScalarvizError, listing, shown
from ..scalar import ops
from ..scalar.array import Values
from ..scalar.kernel import Kernel, numpy_form
from ..scalar.value import Value
from ..tape import Plan
from .arrays.trainer import NumpyTrainer
from .cost import has_package, numba_seconds, repays_a_gpu
from .objects import ObjectsTrainer
from .problem import DTYPES, Problem, Trainer


@dataclass(frozen=True, slots=True)
class Form:
    """How an engine implements operations: ``names(op)`` names its functions, first the value, then derivatives."""

    made: str
    names: Callable[[ops.Op], list[str]]

    def describe(self, op: ops.Op) -> str:
        """Return ``1 + 2``, one function for the value and two for derivatives; or ``none:`` with the reason."""
        try:
            names = self.names(op)
        except (ScalarvizError, SyntaxError) as error:
            return f"none: {' '.join(str(error).split())}"
        return f"1 + {len(names) - 1}"


def _objects_form(op: ops.Op) -> list[str]:
    kernel = Kernel(op)
    made = _functions(kernel.source)
    return made if kernel.flowing else made[:1]  # otherwise the second function does nothing


def _numpy_form(op: ops.Op) -> list[str]:
    value, pulls = numpy_form(op.name, np.dtype(np.float32))
    return [value.__name__, *(pull.__name__ for pull in pulls if pull is not None)]


def _numba_form(op: ops.Op) -> list[str]:
    from .cpu.source import module_source

    return _functions(module_source(op, "float32"))


def _cuda_form(op: ops.Op) -> list[str]:
    from .cuda.source import backward_source, forward_source, has_backward

    return _functions(forward_source(op) + (backward_source(op) if has_backward(op) else ""))


def _functions(source: str) -> list[str]:
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


_DEVICE = re.compile("[0-9]{1,9}")
"""The device number in an engine's name; a longer one would not fit into the driver's int."""

Model = Callable[[Values], Any]
Loss = Callable[[Any, Values], Value]


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine. `missing` says why a device cannot be used, `lost` why it can no longer be used.

    Each reason is one clause, or empty. `warm` says whether the engine can start with these operations without
    compiling, which takes minutes for GPU kernels.
    """

    name: str
    make: Callable[[Problem, Model, Loss, int], Trainer]  # model and loss are functions of Values; the device's number
    form: Form
    dtypes: tuple[str, ...] = DTYPES
    missing: Callable[[int], str] = lambda device: ""
    warm: Callable[[str, Iterable[str]], bool] = lambda dtype, operations: True
    lost: Callable[[int], str] = lambda device: ""
    devices: bool = False  # whether its name may carry a number: "cuda:1"


def find(engine: object) -> tuple[Engine, int]:
    """Return the engine with this name, and its device number (0 without one); InputError for an unknown name."""
    base, colon, number = engine.partition(":") if isinstance(engine, str) else ("", "", "")
    found = ENGINES.get(base)
    numbered = not colon or (found is not None and found.devices and _DEVICE.fullmatch(number))
    if found is None or not numbered:
        raise InputError(f"engine must be one of {listing(NAMES)}, got {shown(engine)}")
    return found, int(number or 0)


def usable(engine: object, dtype: str) -> tuple[Engine, int]:
    """Return the result of :func:`find`; ScalarvizError if the engine is not usable, InputError without `dtype`."""
    found, device = find(engine)
    why = found.missing(device)
    if why:
        raise ScalarvizError(f'engine="{engine}" {why}')
    if dtype not in found.dtypes:
        raise InputError(f"engine {found.name!r} computes in {listing(found.dtypes)}, not in {dtype!r}")
    return found, device


def lost(engine: str) -> str:
    """Return why this process can no longer use an engine; empty if it can, or never could."""
    found, device = find(engine)
    return found.lost(device)


def operations(*plans: Plan) -> set[str]:
    """Return the names of the operations in the plans, whose kernels an engine needs."""
    programs = [p for plan in plans for p in (plan.prologue, plan.encode, plan.body) if p is not None]
    return {i.op for program in programs for i in program.instructions if i.kind == "op"}


def _later(module: str, name: str) -> Callable[..., Any]:
    """Return a function or class of a module, which is imported at the first call."""

    def call(*given: Any) -> Any:
        return getattr(import_module(module, __package__), name)(*given)

    return call


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "objects", lambda problem, model, loss, device: ObjectsTrainer(problem, model, loss),
            Form("Python functions", _objects_form),
        ),
        Engine(
            "numpy", lambda problem, model, loss, device: NumpyTrainer(problem), Form("array functions", _numpy_form)
        ),
        Engine(
            "numba", lambda problem, model, loss, device: _later(".cpu.trainer", "NumbaTrainer")(problem),
            Form("row kernels", _numba_form), missing=lambda device: _later(".cpu.units", "no_numba")(),
        ),
        Engine(
            "cuda", lambda problem, model, loss, device: _later(".cuda.trainer", "CudaTrainer")(problem, device),
            Form("GPU kernels", _cuda_form), missing=_later(".cuda.there", "no_cuda"),
            warm=_later(".cuda.warm", "is_warm"), lost=_later(".cuda.there", "lost"), devices=True,
        ),
    )
}  # fmt: skip
NAMES = ("auto", *ENGINES)
"""The allowed names; ``"auto"`` chooses when a run starts."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine of a run."""

    name: str  # with a device number (``"cuda:1"``)
    why: str  # one clause: asked for, or the reason of ``"auto"``
    threads: int = 1  # threads of a step; 0 on a GPU
    since: int = 0  # the step at which this engine took over
    instead: EngineChoice | None = None  # the second choice of ``"auto"``, if this engine fails here

    def __str__(self) -> str:
        with_threads = f", {self.threads} thread{'s' if self.threads > 1 else ''}" if self.threads else ""
        return f"{self.name}{with_threads}"


def checked_name(engine: object) -> str:
    """Return `engine` if it is an allowed name, such as "auto"; InputError for any other."""
    if not (isinstance(engine, str) and engine == "auto"):
        find(engine)
    return str(engine)


def choose(engine: str, dtype: str, plan: Plan, update: Plan, batch: int) -> EngineChoice:
    """Return the engine of a run; resolves ``engine="auto"``, and raises the errors of :func:`usable`.

    "auto" takes a GPU if the step has enough work, and if the kernels for `plan` and `update` are compiled.
    """
    if checked_name(engine) != "auto":
        usable(engine, dtype)
        return EngineChoice(engine, "asked for")
    host = _on_the_host()
    why = _repaid_gpu(dtype, plan, batch)
    if not why:
        return host
    if not ENGINES["cuda"].warm(dtype, operations(plan, update)):
        cold = "but its kernels are not compiled yet; run `scalarviz warmup`"
        return replace(host, why=f"{host.why}; {why}, {cold}")
    return EngineChoice("cuda", why, instead=host)


def _repaid_gpu(dtype: str, plan: Plan, batch: int) -> str:
    """Return why to use the GPU, as one clause; empty if it is not faster or not there. Small steps skip the search."""
    if not (has_package("numba_cuda") and has_package("llvmlite")):
        return ""
    from .cpu.vector.capability import vector_bytes

    seconds = numba_seconds(plan, batch, dtype, vector_bytes())
    if not repays_a_gpu(plan, seconds):  # asking CUDA itself takes 40 ms
        return ""
    from .cuda.there import simulated

    if simulated() or ENGINES["cuda"].missing(0):
        return ""
    return f"a step would take numba about {1e3 * seconds:.2g} ms, so a GPU is faster"


def _on_the_host() -> EngineChoice:
    """Return the numba engine if numba can be used, otherwise NumPy."""
    if missing := ENGINES["numba"].missing(0):
        return EngineChoice("numpy", f"numba {missing}")
    return EngineChoice("numba", "the fastest here")
