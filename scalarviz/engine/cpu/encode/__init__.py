"""A program as a table of numbers that the compiled kernels walk. NumPy only; loads no numba.

Read `program` first: it encodes the instructions in order. `sums` and `pictures` (convolutions, maxima) write the
lines of these kinds; `writer` assigns the rows of the workspace.
"""
