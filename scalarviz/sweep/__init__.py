"""Many runs: what is tried, who computes it, and the file of their results. Nothing is drawn here.

Open `sweep` first: ``sv.sweep(build, grid, seeds)`` calls the function there. The rest:

* what is tried: `plan` (values and seeds as text, all of it checked), `build` (a scene, its text, or a function), `job`
  (one run, and how it is computed), `result`
* who computes: `pool` (processes of this machine), `cluster` (a dask scheduler's); `sweep` gives them the jobs, again
  where one dies
* the file: `results` (``sv.sweep.Results``), `writing`, `about` (what it says of the sweep), `rows` (what it is on
  disk)
* in numbers: `groups` (the runs that share an option, as a table too, and how long a sweep goes on)
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Results as Results
    from .sweep import Sweep


class _Sweeps(ModuleType):
    """The folder is called as its function, which is loaded then."""

    def __call__(self, *args: Any, **named: Any) -> "Sweep":
        from .sweep import sweep

        return sweep(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name == "Results":
            from .results import Results

            return Results
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Sweeps
