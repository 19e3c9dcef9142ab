"""Many runs: plan them, compute them, and store their results. Nothing is drawn here.

Open `sweep` first: ``sv.sweep(build, grid, seeds)`` calls the function there. The rest:

* plan: `plan` (values and seeds as text, all of it checked), `job` (one run: built by a scene, its text, or a
  function, and computed), `result`
* compute: `pool` (processes of this machine), `cluster` (a dask scheduler's); `sweep` gives them the jobs, and
  again if a process dies
* store: `results` (``sv.sweep.Results``, the format on disk, and the file as it is written)
* summarise: `groups` (the runs that share an option, also as a table, and the time left)
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Results as Results
    from .sweep import Sweep


class _Sweeps(ModuleType):
    """Makes the package callable as its function, which is loaded at the first call."""

    def __call__(self, *args: Any, **named: Any) -> "Sweep":
        from .sweep import sweep

        return sweep(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name == "Results":
            from .results import Results

            return Results
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Sweeps
