"""The ONNX operators, for arrays of numbers and arrays of Values alike.

Read `table` first: it finds the function of an operator by its name. `schema` says what the standard allows, `arrays`
has what the functions share. The other files are families of operators.
"""

from . import arithmetic, places, products, reductions, windows

FAMILIES = (arithmetic, places, products, reductions, windows)
"""The modules that register functions in the table."""
