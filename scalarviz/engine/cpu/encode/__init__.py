"""A program as a table of numbers that the compiled kernels walk. NumPy only; loads no numba.

Open `program` first: it goes through the instructions in order; each kind's lines stand in the file of its name.
`adjoints` decides which rows of the workspace serve whom.
"""
