"""Generated source of the CUDA kernels: two per operation, those joined to tiles, and whole updates.

Forward: a thread computes one row on one lane. Backward: a thread collects the gradient of one target row (see
``kernels/rows``); an item names an operand and a result, ``k * count + j``. The upstream gradient goes inside the
branches of the derivative's selections (:func:`scalarviz.scalar.emit.adjoint`).

An update adds the gradient's slices and runs the optimiser's program, row by row, in the registers of a thread. Its
constants (such as Adam's betas) come from memory. So the source, and the compiled kernel, is the same for all values.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from textwrap import indent

from ...scalar import ops
from ...scalar.emit import FUNCTIONS, UPSTREAM, Dialect, adjoint, function_source, translate, typed_literal
from ...tape import Instruction, Program
from .kernels.steps import TOGETHER

CUDA = Dialect(calls={name: f"_{name}" for name in FUNCTIONS if name != "where"}, literal=typed_literal)

_FORWARD = '''\
def forward(_values: Reals, _pool: Words, _args: Int, _dst: Int, _count: Int, _stride: Int, _lanes: Int) -> None:
    """Rows of {name}. Written by scalarviz from its ops table."""
    _lane, _j = _lane_and_row()
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
    _lane, _i = _lane_and_row()
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
        _give(_adjoints, _pool[_at + _i], _stride, _lane, _total)
'''


def has_backward(op: ops.Op) -> bool:
    """Return whether a gradient flows to any operand."""
    return any(partial is not None for partial in op.partials)


def forward_source(op: ops.Op) -> str:
    """Return the source of the kernel that computes an operation."""
    lines, (result,) = translate((op.value,), op.args, CUDA)
    body = indent("\n".join(lines), " " * 8)
    return _FORWARD.format(name=op.name, loads=_loads(op, 8), lines=body, result=result)


def backward_source(op: ops.Op) -> str:
    """Return the source of the kernel that computes the gradients of its operands."""
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


NUMBERS = 2
"""The most operands of an operation that may be constants."""


Links = Sequence[tuple[ops.Op, int]]
"""Operations one after another, each with the number of the operand that is the result of the one before."""


def activation_source(links: Links) -> str:
    """Return the source of ``activation(operand, the other operands, ...)``: the value of operations in a row."""
    if len(links) == 1:
        return function_source("activation", _names(*links[0]), (links[0][0].value,), CUDA)
    value = "a"
    for k in range(len(links)):
        value = f"_value{k}({value}, _first, _second)"
    return "".join([*_values(links), f"def activation(a, _first, _second):\n    return {value}\n"])


def derivative_source(links: Links, of_result: bool = False) -> str:
    """Return the source of ``derivative(upstream, result, operand, the other operands, ...)``: the operand's gradient.

    With `of_result` the result replaces the operand of one operation (see :func:`tells_by_result`). Of several, the
    numbers in between are computed again.
    """
    if len(links) == 1:
        return _slope("derivative", *links[0], of_result)
    slopes = [f"@device\n{_slope(f'_slope{k}', *link)}" for k, link in enumerate(links)]
    lines = ["def derivative(_up, y, a, _first, _second):", "    _x0 = a"]
    lines += [f"    _x{k + 1} = _value{k}(_x{k}, _first, _second)" for k in range(len(links) - 1)]
    lines += [f"    _x{len(links)} = y"]
    lines += [f"    _up = _slope{k}(_up, _x{k + 1}, _x{k}, _first, _second)" for k in reversed(range(len(links)))]
    return "".join([*_values(links[:-1]), *slopes, "\n".join([*lines, "    return _up"]), "\n"])


def _values(links: Links) -> list[str]:
    return [
        f"@device\n{function_source(f'_value{k}', _names(*link), (link[0].value,), CUDA)}"
        for k, link in enumerate(links)
    ]


def _slope(name: str, op: ops.Op, k: int, of_result: bool = False) -> str:
    partial = op.partials[k]
    if partial is None:
        raise AssertionError(f"{op.name} gives operand {k} no gradient")
    if of_result:
        tree = ast.parse(partial, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == op.args[k]:
                node.id = "y"
        partial = ast.unparse(tree)
    return function_source(name, (UPSTREAM, "y", *_names(op, k)), (adjoint(partial),), CUDA)


def tells_by_result(op: ops.Op, k: int, numbers: tuple[float, ...]) -> bool:
    """Return whether the derivative by operand k can use the result: it depends only on whether that is above 0 or NaN.

    A slope (one of `numbers`, the other operands) of 0 would turn an infinity into NaN, and so would a slope that
    float32 cannot hold.
    """
    if k != 0:
        return False
    return op is ops.RELU or (op is ops.LEAKY_RELU and 1e-30 < numbers[0] < 1e30)


def derivative_names(op: ops.Op, k: int) -> set[str]:
    """Return the terms of the derivative with respect to operand k."""
    tree = ast.parse(op.partials[k] or "0", mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _names(op: ops.Op, k: int) -> tuple[str, ...]:
    others = [name for i, name in enumerate(op.args) if i != k]
    spare = [f"_spare{i}" for i in range(NUMBERS - len(others))]
    return (op.args[k], *others, *spare)


MOST_ROWS = 256
"""A longer program runs row by row in memory, because its rows would not fit into registers."""

_TEXT = '''\
def update(
    _state: Reals, _parts: Reals, _n: Int, _size: Int, _slices: Words, _summed: Int, _trained: Flags, _table: Reals,
    _width: Int, _numbers: Reals, _clock: Longs,{more}
) -> None:
    """An optimiser's update of one weight a thread. Written by scalarviz."""
    _p = _cuda.blockIdx.x * _cuda.blockDim.x + _cuda.threadIdx.x
    _rates = (_clock[1] - 1 - _clock[2]) * _width
    if _p < _n:
        _gradient = _state[_size + _p]
        if _summed == 0:
            _gradient, _count = _real(0.0), _slices[_p]
            _whole = _count - _count % {together}
            for _q in _range(0, _whole, {together}):
{loads}
{sums}
            for _q in _range(_whole, _count):
                _gradient += _parts[_q * _size + _p]
            _state[_size + _p] = _gradient
        _weight = _state[_p]
        _state[2 * _size + {states} * _n + _p] = _weight
        if _trained[_p] != 0{unless}:
{lines}
{behind}    if _p == 0{until}:
        _clock[0] = _clock[1]
'''
_HALVES = {
    "more": " _halves: Words, _stopped: Longs,", "unless": " and _stopped[0] == 0", "until": " and _stopped[0] <= 1",
    "behind": """\
        if _halves[_p] >= 0:
            _state[_halves[_p]] = _float16(_state[_p])
""",
}  # fmt: skip
"""Of a run whose weights are halves: see ``kernels.steps.overflow``."""


def update_source(program: Program, *, halves: bool = False) -> str:
    """Return the source of the kernel of an optimiser's program; empty if there is none.

    With `halves` it writes each weight's half too, and updates nothing once a gradient has overflowed.

    Its arguments: the numbers of :class:`~.device.State`, the slices of the gradients, parameters, parameters with
    derived ones, each parameter's number of slices, whether the state holds the gradient already, flags of trained
    weights, the rates of the call, the numbers of the program, the clock.
    """
    if program.n_rows > MOST_ROWS or any(i.kind == "conv" for i in program.instructions):
        return ""
    states = len(program.outputs) - 1
    columns = zip(program.input_rows, program.input_index, strict=True)
    lines = [f"_r{row} = {_column(index, states)}" for row, index in columns]
    lines += [f"_r{row} = _numbers[{k}]" for k, row in enumerate(program.constant_rows)]
    at = len(program.constant_rows)
    for i in program.instructions:
        lines += _instruction(i, at)
        at += len(numbers_of(i))
    places = ["_p", *(f"2 * _size + {k} * _n + _p" for k in range(states))]
    lines += [f"_state[{place}] = _r{row}" for place, row in zip(places, program.outputs, strict=True)]
    loads = [f"_g{k} = _parts[(_q + {k}) * _size + _p]" for k in range(TOGETHER)]
    sums = [f"_gradient += _g{k}" for k in range(TOGETHER)]
    return _TEXT.format(
        states=states, together=TOGETHER, loads=indent("\n".join(loads), " " * 16),
        sums=indent("\n".join(sums), " " * 16), lines=indent("\n".join(lines), " " * 12),
        **(_HALVES if halves else dict.fromkeys(_HALVES, "")),
    )  # fmt: skip


def numbers_of(i: Instruction) -> list[float]:
    """Return the constants of an instruction in its program."""
    if i.kind in ("dot", "weighted", "product"):
        return [i.offset, *i.numbers.tolist()]
    return i.numbers.tolist() if i.kind == "squares" else []


def _column(index: int, states: int) -> str:
    if index < 2:
        return ("_weight", "_gradient")[index]
    behind = int(index >= 2 + states)  # columns come after the previous values
    return f"_state[2 * _size + {index - 2 + behind} * _n + _p]"


def _instruction(i: Instruction, at: int) -> list[str]:
    """Return the source of its rows; its constants begin at `at`."""
    if i.kind == "op":
        return [line for j in range(i.count) for line in _operation(i, j)]
    if i.kind == "param":
        return [f"_r{i.dst + j} = {_rate(w)}" for j, w in enumerate(i.weights)]
    if i.kind == "layer":
        first, n = int(i.weights[0]), i.args.shape[1]
        rows = range(i.count)
        start = [_rate(i.bias + j) if i.bias >= 0 else "_real(0.0)" for j in rows]
        terms = [[f"{_rate(first + j * n + k)} * _r{a}" for k, a in enumerate(i.args[0])] for j in rows]
        return [f"_r{i.dst + j} = {' + '.join([start[j], *terms[j]])}" for j in rows]
    if i.kind == "max":
        return [line for j in range(i.count) for line in _largest(i.dst + j, i.args[j].tolist())]
    if i.kind == "squares":
        errors = [f"(_r{a} - _r{b}) * (_r{a} - _r{b})" for a, b in i.args.T]
        return [f"_r{i.dst} = _numbers[{at}] * ({' + '.join(errors)})"]
    bias, every = [_rate(i.bias)] if i.bias >= 0 else [], _terms(i, at)
    sums = [[*every[j * i.terms : (j + 1) * i.terms], *bias, f"_numbers[{at}]"] for j in range(i.count)]
    return [f"_r{i.dst + j} = {' + '.join(parts)}" for j, parts in enumerate(sums)]


def _terms(i: Instruction, at: int) -> list[str]:
    """Return the source of all rows of sums."""
    if i.kind == "product":
        return [f"_r{a} * _r{b}" for a, b in i.args.T]
    if i.kind == "dot":
        return [f"{_rate(w)} * _r{a}" for w, a in zip(i.weights, i.args.ravel(), strict=True)]
    return [f"_numbers[{at + 1 + k}] * _r{a}" for row in i.args for k, a in enumerate(row)]


def _rate(index: int) -> str:
    return f"_table[_rates + {index}]"


def _operation(i: Instruction, j: int) -> list[str]:
    op = ops.get(i.op)
    lines, (result,) = translate((op.value,), op.args, CUDA)
    operands = [f"{name} = _r{row}" for name, row in zip(op.args, i.args[:, j], strict=True)]
    return [*operands, *lines, f"_r{i.dst + j} = {result}"]


def _largest(row: int, operands: list[int]) -> list[str]:
    lines = [f"_r{row} = _r{operands[0]}"]
    for other in operands[1:]:
        a, b = f"_r{row}", f"_r{other}"
        lines.append(f"{a} = {a} if {a} >= {b} else ({b} if {a} < {b} else {a} + {b})")
    return lines
