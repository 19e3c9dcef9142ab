"""What each ONNX operator computes, of arrays of numbers and of arrays of Values alike.

Open `table` first: the names that are known, the functions by name, and what they are written with. The other
files are families of operators.
"""

from . import arithmetic, places, products, reductions, windows  # noqa: F401  (they put functions into the table)
