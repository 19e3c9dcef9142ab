"""Data that is not ours: files mapped into memory, and objects that give samples when asked for their numbers.

Nothing of it is copied as a whole. `sources` says where samples come from and what became of a file, `data` is such
samples as engines see them, `ahead` the batches of a call, read and checked before its first step.
"""

from .ahead import Ahead
from .data import FIRST, Outside
from .sources import Held, Source, as_source, is_source, joined_source

__all__ = ["FIRST", "Ahead", "Held", "Outside", "Source", "as_source", "is_source", "joined_source"]
