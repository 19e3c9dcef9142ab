"""Networks of other libraries, and a loop of the user's own: followed step by step, never imported, never copied.

Open `watched` first (``sv.watch``): a source whose numbers somebody else changes, and who says so with ``update()``.
`arrays` finds the arrays in nested dicts, lists, dataclasses and modules, and reads them where they lie. Nothing here
imports PyTorch or JAX: their objects are asked by the methods they have.
"""

from .watched import Watched, watch

__all__ = ["Watched", "watch"]
