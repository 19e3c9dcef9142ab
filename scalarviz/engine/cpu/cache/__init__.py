"""Machine code on disk. Open `units` first: what a unit is called, where it lies and whether it is whole.

`loader` compiles a unit or loads it; `warm` fills the cache, `background` does so in a process beside the first run;
`writable` says why it cannot be kept. Only `loader` and `warm` load numba.
"""
