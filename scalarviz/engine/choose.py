"""`choose`: which engine a run gets, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec

from ..tape import Plan
from .cost import numba_seconds, repays_a_gpu
from .table import ENGINES, find, operations, usable


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine of a run.

    Attributes
    ----------
    name : str
        As in the table of engines, with the number of a device (``"cuda:1"``).
    why : str
        One clause: asked for, or the reason of ``"auto"``.
    threads : int
        How many take part in a step; 0 where a GPU does it.
    since : int
        Steps that the run had done when this engine took over.
    provisional : bool
        Whether ``"auto"`` would have taken numba, had its kernels been there.
    instead : EngineChoice or None
        What ``"auto"`` takes if this one turns out not to work here.
    """

    name: str
    why: str
    threads: int = 1
    since: int = 0
    provisional: bool = False
    instead: EngineChoice | None = None

    def __str__(self) -> str:
        with_threads = f", {self.threads} thread{'s' if self.threads > 1 else ''}" if self.threads else ""
        return f"{self.name}{with_threads}"


def known(engine: object) -> str:
    """`engine`, a name that may be asked for; "auto" is one.

    Raises
    ------
    InputError
        No such engine.
    """
    if not (isinstance(engine, str) and engine == "auto"):
        find(engine)
    return str(engine)


def choose(engine: str, dtype: str, plan: Plan, update: Plan, batch: int) -> EngineChoice:
    """Resolve ``engine="auto"``, once, when a run starts, and refuse what is not there.

    Parameters
    ----------
    engine : {"auto", "objects", "numpy", "numba", "cuda"}
        ``"cuda:1"`` names a device and keeps its number.
    dtype : {"float32", "float64"}
    plan, update : Plan
        Of the run: a cache is warm for the operations in them, and a GPU repays its launches from some work on.
    batch : int
        Samples a step.

    Raises
    ------
    InputError
        No such engine.
    ScalarvizError
        It is not there; the message says why.
    """
    if known(engine) != "auto":
        usable(engine, dtype)
        return EngineChoice(engine, "asked for")
    host = _on_the_host(dtype, operations(plan, update))
    why = _repaid_gpu(dtype, plan, batch)
    if not why:
        return host
    if not ENGINES["cuda"].warm(dtype, operations(plan, update)):
        cold = "but its kernels are not compiled yet: `scalarviz warmup` does that"
        return replace(host, why=f"{host.why}; {why}, {cold}")
    return EngineChoice("cuda", why, instead=host)


def _repaid_gpu(dtype: str, plan: Plan, batch: int) -> str:
    """Why the GPU that is here is to be taken, as one clause; empty if not. For a small step nobody looks for one."""
    seconds = numba_seconds(plan, batch, dtype)
    if not (repays_a_gpu(plan, seconds) and _may_have_cuda()):
        return ""
    from .cuda.there import simulated

    if simulated() or ENGINES["cuda"].missing(0):
        return ""
    return f"a step would take numba about {1e3 * seconds:.2g} ms, which a GPU repays"


def _may_have_cuda() -> bool:
    """Whether its package is installed: asking CUDA itself takes 40 ms of every start."""
    try:
        return find_spec("numba_cuda") is not None
    except (ImportError, ValueError):  # somebody blocks it
        return False


def _on_the_host(dtype: str, needed: set[str]) -> EngineChoice:
    """The compiled engine where its kernels are there, else NumPy."""
    from .cpu.cache.place import refusal

    if missing := ENGINES["numba"].missing(0):
        return EngineChoice("numpy", f"numba {missing}")
    if ENGINES["numba"].warm(dtype, needed):
        return EngineChoice("numba", "its cache is warm")
    why = f"numba's cache is cold; {refusal() or '`scalarviz warmup` fills it'}"
    return EngineChoice("numpy", why, provisional=True)
