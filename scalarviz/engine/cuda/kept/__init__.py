"""Machine code of GPU kernels on disk: PTX, which needs no GPU, and what the driver made of it. Open `files` first.

`key` names a version of all kernels, which has a folder of its own (see ``engine/cache``); `warm` fills it.
"""

from .files import load, store

__all__ = ["load", "store"]
