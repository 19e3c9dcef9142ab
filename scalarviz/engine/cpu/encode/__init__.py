"""A program as a table of numbers that the compiled kernels walk. NumPy only; loads no numba.

Open `program` first: it goes through the instructions in order. `sums` and `pictures` (convolutions, maxima)
have the lines of these kinds; `writer` decides which rows of the workspace serve whom.
"""
