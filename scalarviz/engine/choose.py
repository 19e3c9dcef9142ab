"""`choose`: which engine a run gets, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, ScalarvizError, listing, shown

NAMES = ("auto", "objects", "numpy", "numba", "cuda")


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine of a run.

    Attributes
    ----------
    name : {"objects", "numpy", "numba"}
    why : str
        One clause: asked for, or the reason of ``"auto"``.
    threads : int
        How many take part in a step.
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
        return f"{self.name}, {self.threads} thread{'s' if self.threads > 1 else ''}"


def choose(engine: str, dtype: str, operations: Iterable[str]) -> EngineChoice:
    """Resolve ``engine="auto"`` and refuse what is not there.

    Parameters
    ----------
    engine : {"auto", "objects", "numpy", "numba", "cuda"}
    dtype : {"float32", "float64"}
    operations : iterable of str
        The table operations that the run needs (a cache is warm for these).

    Raises
    ------
    InputError
        No such engine.
    ScalarvizError
        ``"cuda"``: not in this version.
    """
    given: Any = engine
    base = given.split(":", 1)[0] if isinstance(given, str) else ""
    if base not in NAMES or (engine != base and base != "cuda"):
        raise InputError(f"engine must be one of {listing(NAMES)}, got {shown(engine)}")
    if base == "cuda":
        raise ScalarvizError('engine="cuda" is not in this version; use "numba" (compiled, on the processor) or "auto"')
    if base != "auto":
        return EngineChoice(base, "asked for")
    from .cpu import cache_is_warm
    from .cpu.cache.writable import refusal

    if cache_is_warm(dtype, operations):
        return EngineChoice("numba", "its cache is warm")
    why = f"numba's cache is cold; {refusal() or '`scalarviz warmup` fills it'}"
    return EngineChoice("numpy", why, provisional=True)
