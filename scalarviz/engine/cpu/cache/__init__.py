"""Machine code on disk. Open `units` first: what a unit is called, where it lies and whether it is whole.

`key` names a version of the kernels, `place` is its folder (what is said of it stands in ``engine/cache``); `loader`
compiles a unit or loads it, through numba's cache with a `locator` of ours; `warm` fills the cache, `background` does
so in a process beside the first run. Only `loader`, `locator` and `warm` load numba.
"""
