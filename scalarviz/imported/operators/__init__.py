"""What each ONNX operator computes, of arrays of numbers and of arrays of Values alike.

Open `table` first: the names that are known, with their versions, and the functions by name. `alike` has what they are
written with; the other files are families of operators.
"""

from . import arithmetic, convolutions, norms, pieces, products, reductions, resize, shapes

FAMILIES = (arithmetic, convolutions, norms, pieces, products, reductions, resize, shapes)
"""The files that put functions into the table."""
