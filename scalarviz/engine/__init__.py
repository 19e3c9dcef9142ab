"""Engines: they run a lowered plan. Engines never import layers or optimisers; a `Run` connects them.

Read `table` first: it lists the engines and chooses one for a run. `problem` defines the input and the interface of an
engine. `objects` is the reference for all others; ``arrays/`` uses NumPy, ``cpu/`` numba, ``cuda/`` a GPU. `cost`
estimates the time of a step, `data` and `outside` hold samples, `cache` stores compiled code.
"""

from .problem import Problem, Trainer

__all__ = ["Problem", "Trainer"]
