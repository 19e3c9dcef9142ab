"""The ONNX operators, for arrays of numbers and arrays of Values alike.

Read `table` first: it has the known names, the functions by name, and their helpers. The other files are families of
operators.
"""

from . import arithmetic, places, products, reductions, windows

FAMILIES = (arithmetic, places, products, reductions, windows)
"""The modules that register functions in the table."""
