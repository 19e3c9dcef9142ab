"""`choose`: which engine a run gets, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .table import ENGINES, find, usable


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
    """

    name: str
    why: str
    threads: int = 1
    since: int = 0
    provisional: bool = False

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


def choose(engine: str, dtype: str, operations: Iterable[str]) -> EngineChoice:
    """Resolve ``engine="auto"`` and refuse what is not there.

    Parameters
    ----------
    engine : {"auto", "objects", "numpy", "numba", "cuda"}
        ``"cuda:1"`` names a device and keeps its number.
    dtype : {"float32", "float64"}
    operations : iterable of str
        The table operations that the run needs (a cache is warm for these).

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
    from .cpu.cache.place import refusal

    if missing := ENGINES["numba"].missing(0):
        return EngineChoice("numpy", f"numba {missing}")
    if ENGINES["numba"].warm(dtype, operations):
        return EngineChoice("numba", "its cache is warm")
    why = f"numba's cache is cold; {refusal() or '`scalarviz warmup` fills it'}"
    return EngineChoice("numpy", why, provisional=True)
