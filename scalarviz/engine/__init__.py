"""Engines: what runs a lowered plan. They never import layers or optimisers; a `Run` joins them.

Open `table` first: which engines there are, and which one a run gets. `problem` is what each gets and must
offer. `objects` is the definition of the others, ``arrays/`` is NumPy, ``cpu/`` numba, ``cuda/`` a GPU.
`cost` estimates a step, `data` and `outside` are samples, `cache` keeps compiled code.
"""

from .problem import Problem, Trainer

__all__ = ["Problem", "Trainer"]
