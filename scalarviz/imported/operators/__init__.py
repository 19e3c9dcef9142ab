"""What each ONNX operator computes, of arrays of numbers and of arrays of Values alike.

Open `versions` first: the names that are known, with the versions of each. `table` holds the functions by name, `alike`
what they are written with, `sums` the weighted sums; the other files are families of operators.
"""

from . import (
    activations,
    arithmetic,
    convolutions,
    dropout,
    einsum,
    given,
    logic,
    norms,
    pieces,
    products,
    reductions,
    resize,
    scattered,
    shapes,
    softmax,
    transposed,
)

FAMILIES = (
    activations, arithmetic, convolutions, dropout, einsum, given, logic, norms, pieces, products, reductions,
    resize, scattered, shapes, softmax, transposed,
)  # fmt: skip
"""The files that put functions into the table."""
