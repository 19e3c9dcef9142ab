"""Engines: what runs a lowered plan. They never import layers or optimisers; a `Run` joins them.

Open `table` first: which engines there are. `choose` takes one, `problem` is what each gets and must offer; `host` is
what those share that compute in the host's arrays, `readback` how others give numbers in the middle of a call.
`cost` estimates a step. `objects` is the definition of the others, ``arrays/`` NumPy, ``cpu/`` numba.
"""

from .problem import Problem, Trainer

__all__ = ["Problem", "Trainer"]
