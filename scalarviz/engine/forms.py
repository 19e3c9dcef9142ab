"""What each engine makes of an operation of the table, asked of what makes it: translated anew, and read by Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ScalarvizError
from ..scalar import ops
from ..scalar.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Form:
    """How an engine has operations.

    Attributes
    ----------
    made : str
        What it makes of one.
    names : callable
        ``names(op)`` -> those of the functions that it has made: of the value, then of derivatives.
    """

    made: str
    names: Callable[[ops.Op], list[str]]

    def of(self, op: ops.Op) -> str:
        """``1 + 2``: functions of the value and of derivatives; ``none: ...`` and the reason if there are none."""
        try:
            names = self.names(op)
        except (ScalarvizError, SyntaxError) as error:
            return f"none: {' '.join(str(error).split())}"
        return f"1 + {len(names) - 1}"


def _objects(op: ops.Op) -> list[str]:
    kernel = Kernel(op)
    made = _functions(kernel.source)
    return made if kernel.flowing else made[:1]  # the second one does nothing then


def _numpy(op: ops.Op) -> list[str]:
    from .arrays.step import numpy_form

    value, pulls = numpy_form(op.name, np.dtype(np.float32))
    return [value.__name__, *(pull.__name__ for pull in pulls if pull is not None)]


def _numba(op: ops.Op) -> list[str]:
    from .cpu.source.rows import module_source

    return _functions(module_source(op, "float32", __name__))


def _cuda(op: ops.Op) -> list[str]:
    from .cuda.source.ops import backward_source, forward_source, has_backward

    return _functions(forward_source(op) + (backward_source(op) if has_backward(op) else ""))


def _functions(source: str) -> list[str]:
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


OBJECTS = Form("Python functions", _objects)
NUMPY = Form("array functions", _numpy)
NUMBA = Form("row kernels", _numba)
CUDA = Form("GPU kernels", _cuda)
