"""The compiled engine: numba kernels over rows of lanes. Importing this package loads no numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cache.units import cache_is_warm

if TYPE_CHECKING:
    from .cache.warm import warmup
    from .trainer import NumbaTrainer, forward

__all__ = ["NumbaTrainer", "cache_is_warm", "forward", "warmup"]


def __getattr__(name: str) -> Any:
    """Load what needs numba when it is first asked for."""
    if name in ("NumbaTrainer", "forward"):
        from . import trainer as module
    elif name == "warmup":
        from .cache import warm as module  # type: ignore[no-redef]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(module, name)
