"""NumPy's functions of a Value: ``np.sin(value)`` and ``np.float64(2) * value`` are operations of the table.

An array of Values (dtype object) does not come here: NumPy calls its elements' own operators and methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import TypeMismatchError, listing
from .kernel import kernel
from .many import Many
from .value import Value, apply

SAME = ("exp", "log", "sqrt", "sin", "cos", "tanh", "square", "maximum", "minimum")
OPERATIONS = {
    **{name: name for name in SAME},
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "float_power": "pow",
    "negative": "neg", "absolute": "abs", "fabs": "abs", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge",
}  # fmt: skip
"""Name of a NumPy function and of the operation that it is."""


def call(ufunc: Any, method: str, operands: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """What NumPy asks of a Value: ``ufunc(*operands)``.

    Raises
    ------
    TypeMismatchError
        The table has no such operation, or an operand is an array.
    """
    if any(isinstance(operand, Many) for operand in operands):
        return NotImplemented  # it is one with each of them
    name = ufunc.__name__
    if name in ("equal", "not_equal") and method == "__call__" and not options:
        a, b = operands if isinstance(operands[0], Value) else operands[::-1]
        return a.__eq__(b) is (name == "equal")  # == would ask NumPy again
    if name not in OPERATIONS or method != "__call__" or options:
        asked = name if method == "__call__" else f"{name}.{method}"
        raise TypeMismatchError(
            f"np.{asked} of a Value{' with options' if options else ''}: it knows np.{listing(OPERATIONS)}. Take "
            f"sv.sin, sv.dot and their like, or add an operation with sv.register"
        )
    if any(getattr(operand, "ndim", 0) for operand in operands):
        raise TypeMismatchError(
            f"np.{name} of a Value and an array: a Value is one number. Write [x * value for x in array], or let "
            "np.array([a, b], dtype=object) hold Values"
        )
    return apply(kernel(OPERATIONS[name]), *operands)


Value.numpy_call = staticmethod(call)
