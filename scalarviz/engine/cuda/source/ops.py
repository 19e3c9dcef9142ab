"""The ops table in the words of CUDA kernels: the source of the two kernels of one operation.

Forward: a thread computes one row on one lane. Backward: a thread gathers what one target row gets (see
``kernels/backward``); an item names an operand and a result, ``k * count + j``. The upstream gradient stands in the
branches of the derivative's selections (:func:`scalarviz.scalar.emit.adjoint`).
"""

from __future__ import annotations

import math
from textwrap import indent

from ....scalar import ops
from ....scalar.emit import FUNCTIONS, UPSTREAM, Dialect, adjoint, translate


def _literal(number: float) -> str:
    """Typed, or numba would promote ``float32 * 2.0`` to float64."""
    return f"_real({number!r})" if math.isfinite(number) else f"({'-' if number < 0 else ''}_infinity)"


CUDA = Dialect(calls={name: f"_{name}" for name in FUNCTIONS if name != "where"}, literal=_literal)

_FORWARD = '''\
def forward(_values: Reals, _pool: Words, _args: Int, _dst: Int, _count: Int, _stride: Int, _lanes: Int) -> None:
    """Rows of {name}. Written by scalarviz from its ops table."""
    _lane = _cuda.blockIdx.y * _cuda.blockDim.x + _cuda.threadIdx.x
    _j = _cuda.blockIdx.x * _cuda.blockDim.y + _cuda.threadIdx.y
    if _lane < _lanes and _j < _count:
{loads}
{lines}
        _values[(_dst + _j) * _stride + _lane] = {result}
'''

_BACKWARD = '''\
def backward(
    _adjoints: Reals, _values: Reals, _pool: Words, _at: Int, _targets: Int, _args: Int, _dst: Int, _count: Int,
    _stride: Int, _lanes: Int,
) -> None:
    """Adjoints of the operands of {name}. Written by scalarviz from its ops table."""
    _lane = _cuda.blockIdx.y * _cuda.blockDim.x + _cuda.threadIdx.x
    _i = _cuda.blockIdx.x * _cuda.blockDim.y + _cuda.threadIdx.y
    if _lane < _lanes and _i < _targets:
        _items = _at + 2 * _targets + 1
        _total = _real(0.0)
        for _item in _range(_pool[_at + _targets + _i], _pool[_at + _targets + _i + 1]):
            _operand = _pool[_items + _item]
            _j = _operand % _count
            y = _values[(_dst + _j) * _stride + _lane]
            {up} = _adjoints[(_dst + _j) * _stride + _lane]
{loads}
{cases}
        _row = _pool[_at + _i]
        if _row < 0:
            _adjoints[(-1 - _row) * _stride + _lane] += _total
        else:
            _adjoints[_row * _stride + _lane] = _total
'''


def has_backward(op: ops.Op) -> bool:
    """Whether a gradient flows to any operand."""
    return any(partial is not None for partial in op.partials)


def forward_source(op: ops.Op) -> str:
    """The kernel of the operation's values."""
    lines, (result,) = translate((op.value,), op.args, CUDA)
    body = indent("\n".join(lines), " " * 8)
    return _FORWARD.format(name=op.name, loads=_loads(op, 8), lines=body, result=result)


def backward_source(op: ops.Op) -> str:
    """The kernel of the adjoints of its operands."""
    cases = []
    for k, partial in enumerate(op.partials):
        if partial is not None:
            lines, (result,) = translate((adjoint(partial),), (*op.args, "y", UPSTREAM), CUDA)
            body = indent("\n".join([*lines, f"_total += {result}"]), "    ")
            cases.append(f"if _operand < {k + 1} * _count and _operand >= {k} * _count:\n{body}")
    return _BACKWARD.format(name=op.name, up=UPSTREAM, loads=_loads(op, 12), cases=indent("\n".join(cases), " " * 12))


def _loads(op: ops.Op, depth: int) -> str:
    lines = [f"{arg} = _values[_pool[_args + {k} * _count + _j] * _stride + _lane]" for k, arg in enumerate(op.args)]
    return indent("\n".join(lines), " " * depth)
