"""The text of the kernels: the plain form's, one row and lane a thread, as functions of a whole block of threads.

What an instruction computes is said once, in ``kernels`` and in ``source``. There a thread finds its row and lane
in the grid; here a line of threads takes a lane and goes through the rows, the numbers that a launch would bring stand
in a table, and rows lie in shared memory. All else of the text is the same.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache

from .... import rng
from ....scalar import ops
from ..kernels import rows, steps
from ..source import backward_source, forward_source
from . import layers

POINTERS = ("_theta", "_pool", "_numbers", "_memory")
"""What kinds are given beside their rows, all in the device's memory."""
_GIVEN = (*POINTERS, "_b_table", "_b_at", "_b_values", "_b_adjoints", "_b_stride", "_b_lanes")
"""Names that no operand of an operation can have."""


@cache
def kind_source(kernel: str, function: str) -> str:
    """A kernel of the plain form, by its name in ``catalog``, as a function of a block of threads."""
    made = _plain(kernel)
    parameters = [(each.arg, _kind(each)) for each in made.args.args]
    lines, place = [], 2
    for name, kind in parameters:
        plain = name.removeprefix("_")
        if plain in ("values", "adjoints"):
            lines.append(f"{name} = _rows(_memory, _b_{plain})")
        elif plain in ("stride", "lanes"):
            lines.append(f"{name} = _b_{plain}")
        elif kind == "Int":
            lines.append(f"{name} = _b_table[_b_at + {place}]")
            place += 1
        elif name == plain:
            lines.append(f"{name} = _{plain}")
    start = ast.parse("\n".join(lines)).body
    text = f"def {function}({', '.join(_GIVEN)}):\n    pass"
    (found,) = ast.parse(text).body
    assert isinstance(found, ast.FunctionDef)
    found.body = [*start, *_of_block(made.body)]
    return f"@device\n{ast.unparse(ast.fix_missing_locations(found))}\n"


def _plain(kernel: str) -> ast.FunctionDef:
    which, colon, operation = kernel.partition(":")
    if colon:
        op = ops.get(operation)
        text = forward_source(op) if which == "forward" else backward_source(op)
    else:
        text = inspect.getsource(getattr(rows, kernel))
    (found,) = ast.parse(text).body
    assert isinstance(found, ast.FunctionDef)
    return found


def _of_block(body: list[ast.stmt]) -> list[ast.stmt]:
    """``lane, i = lane_and_row(); if lane < lanes and i < count: ...`` over the rows that a line of threads takes."""
    match body:
        case [
            ast.Expr(),
            ast.Assign(targets=[ast.Tuple([ast.Name(lane), ast.Name(row)])]),
            ast.If(
                test=ast.BoolOp(
                    op=ast.And(),
                    values=[ast.Compare(left=ast.Name(a)) as inside, ast.Compare(ast.Name(b), [ast.Lt()], [count])],
                ),
                body=inner,
                orelse=[],
            ),
        ] if (a, b) == (lane, row):
            text = (
                f"{lane} = _cuda.threadIdx.x\n"
                f"if {ast.unparse(inside)}:\n"
                f"    for {row} in _range(_cuda.threadIdx.y, {ast.unparse(count)}, _cuda.blockDim.y):\n"
                "        pass"
            )
            made = ast.parse(text).body
            branch = made[1]
            assert isinstance(branch, ast.If)
            assert isinstance(branch.body[0], ast.For)
            branch.body[0].body = inner
            return made
    raise AssertionError("a kernel of the plain form that is not written as all others")


@cache
def whole_numbers(kernel: str) -> tuple[str, ...]:
    """What a kernel of the plain form calls the whole numbers that a call gives it; `targets` is one name for all."""
    made = _plain(kernel)
    names = [each.arg.removeprefix("_") for each in made.args.args if _kind(each) == "Int"]
    names = [name for name in names if name not in ("stride", "lanes")]
    return ("at", "targets", *names[2:]) if names[0] == "at" else tuple(names)


def _kind(parameter: ast.arg) -> str:
    assert parameter.annotation is not None
    return ast.unparse(parameter.annotation)


def walk_source(name: str, kinds: tuple[str, ...]) -> str:
    """Functions of the kinds, and one that walks along a table of them; all threads meet at its end."""
    functions, cases = [], []
    for k, kind in enumerate(kinds):
        tile = hasattr(layers, kind)
        function = kind if tile else f"{name}_{k}"
        functions.append(of_layers(kind) if tile else kind_source(kind, function))
        cases += [f"        {'if' if k == 0 else 'elif'} kind == {k}:", f"            {function}({', '.join(_GIVEN)})"]
    lines = [
        "@device",
        f"def {name}({', '.join(POINTERS)}, _b_table, first, last, _b_values, _b_adjoints, _b_stride, _b_lanes):",
        "    for _b_at in range(first, last, WIDTH):",
        "        kind = _b_table[_b_at]",
        "        if _b_table[_b_at + 1] != 0:",
        "            cuda.syncthreads()",
        *cases,
        "    cuda.syncthreads()",
    ]
    return "\n".join([*functions, "\n".join(lines), ""])


def of_layers(*functions: str) -> str:
    """Functions of :mod:`.layers`."""
    return "\n".join("@device\n" + inspect.getsource(getattr(layers, function)) for function in functions)


def update_function(text: str) -> str:
    """The kernel of an optimiser's update (see ``source``) as a function of a block of threads."""
    (made,) = ast.parse(text).body
    assert isinstance(made, ast.FunctionDef)
    match made.body:
        case [
            ast.Expr(),
            ast.Assign(targets=[ast.Name(p)]),
            ast.Assign(targets=[ast.Name(rates)]),
            ast.If() as one,
            ast.If(),
        ]:
            names = [each.arg for each in made.args.args]
            lines = [
                "@device",
                f"def update(_first, _every, {rates}, {', '.join(names)}):",
                f"    for {p} in _range(_first, _n, _every):",
                *(f"        {line}" for part in one.body for line in ast.unparse(part).splitlines()),
            ]
            return "\n".join([*lines, ""])
    raise AssertionError("the kernel of an update is not written as it was")


def rows_source(in_memory: bool) -> str:
    """`_rows`: where rows are, in the block's shared memory or in the device's."""
    where = "moved(_memory, _place)" if in_memory else "shared(real, _place)"
    return f"@device\ndef _rows(_memory, _place):\n    return {where}\n"


@cache
def order_source() -> str:
    """`sample` of ``kernels.steps``, and what it calls."""
    words = ("WORD", "HALF", "M0", "M1", "W0", "W1", "S16")
    lines = [f"{name} = np.uint64({int(getattr(rng, name))})" for name in words]
    lines += [f"{name} = np.uint64({int(getattr(steps, name))})" for name in ("ORDER", "SAMPLING", "NOTHING", "ONE")]
    for function in (rng.philox4x32, rng.feistel, rng.drawn, steps.sample):
        lines += ["@device", ast.unparse(_bare(inspect.getsource(function)))]
    return "\n".join([*lines, ""])


def _bare(text: str) -> ast.FunctionDef:
    """A function without its docstring."""
    (found,) = ast.parse(text).body
    assert isinstance(found, ast.FunctionDef)
    found.body = found.body[1:]
    return found
