"""The place of a mistake in a pupil's code: one small change of the code there makes the answer right.

The report names the place and the kind of the mistake, never the right code.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from .report import Report, unseen

LONGEST = 3.0
"""Seconds for all changes together."""
NUMBERS = (0, 1, 2, 3, -1, 0.5)
FUNCTIONS = ("exp", "log", "sin", "cos", "sqrt", "tanh", "sinh", "cosh", "sigmoid", "abs")
OPERATORS: tuple[tuple[type[ast.operator], ...], ...] = ((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.Mult, ast.Add))
Change = tuple[str, ast.AST]
"""Words for the mistake, and the code without it."""


def place_of_mistake(given: Any, report_of: Callable[[Any], Report], report: Report) -> str:
    """Return words for the one mistake of a function, a class or a formula; empty if one change mends nothing."""
    if isinstance(given, tuple) and given and all(isinstance(each, str) for each in given):  # a formula for each slope
        every = (
            place_of_mistake(text, lambda new, k=k: report_of((*given[:k], new, *given[k + 1 :])), report)  # type: ignore[misc]
            for k, text in enumerate(given)
        )
        return next(filter(None, every), "")
    tree, build = _parsed(given)
    if tree is None or build is None:
        return ""
    end = perf_counter() + LONGEST
    for words, changed in _changes(tree):
        if perf_counter() > end:
            break
        try:
            with unseen():
                found = report_of(build(changed))
        except Exception:  # a change may make code that cannot run
            continue
        if found.passed or _mended(report, found):
            return words
    return ""


def _mended(before: Report, after: Report) -> bool:
    """Return whether the slope that was wrong has changed and is right now; the first wrong one is as it was before."""
    if after.state != "wrong" or after.where in ("", before.where) or before.given is None or after.given is None:
        return False
    as_before = (before.given == after.given).all(axis=0)
    changed = before.given[:, ~as_before] == before.got
    return bool(changed.any() and (after.given[:, as_before] == after.got).any())


def _parsed(given: Any) -> tuple[ast.AST | None, Callable[[ast.AST], Any] | None]:
    """Return the code of an answer, and what makes an answer of changed code."""
    if isinstance(given, str):
        try:
            return ast.parse(given, mode="eval"), ast.unparse
        except SyntaxError:
            return None, None
    parts = [each for each in vars(given).values() if inspect.isfunction(each)] if inspect.isclass(given) else [given]
    parts = [part for part in map(inspect.unwrap, filter(callable, parts)) if inspect.isfunction(part)]
    if not parts:
        return None, None
    space, file = parts[0].__globals__, parts[0].__code__.co_filename
    try:
        cell = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None, None
    named = [node for node in ast.walk(cell) if getattr(node, "name", None) == given.__name__]

    def build(tree: ast.AST) -> Any:
        assert isinstance(tree, ast.stmt)
        own = dict(space)
        exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), file, "exec"), own)
        return own[given.__name__]

    return (named[-1], build) if named else (None, None)


def _changes(tree: ast.AST) -> Iterator[Change]:
    """Yield the code with one change each, those that people need most first."""
    names = _own_names(tree)
    for first, second in ((a, b) for k, a in enumerate(names) for b in names[k + 1 :]):
        yield f"`{first}` and `{second}` are exchanged.", _Exchanged(first, second).visit(copy.deepcopy(tree))
    places = [(node, field, k) for node in ast.walk(tree) for field, k in _places(node)]
    for each in (_parentheses, _too_much, _other_name, _other_operator, _other_number, _other_function, _missing):
        for node, field, k in places:
            old = getattr(node, field) if k < 0 else getattr(node, field)[k]
            for words, new in each(old, names):
                yield words, _replaced(tree, old, new)


def _own_names(tree: ast.AST) -> list[str]:
    """Return the names of arguments and of what the code assigns; of a formula, all."""
    found = [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg) and node.arg != "self"]
    stored = ast.Load if isinstance(tree, ast.Expression) else ast.Store
    found += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, stored)]
    return list(dict.fromkeys(name for name in found if name not in FUNCTIONS))


def _places(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield where a node holds an expression that is computed."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "func"):
            continue
        for k, child in enumerate(value) if isinstance(value, list) else [(-1, value)]:
            if isinstance(child, ast.expr) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
                yield field, k


def _replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> ast.AST:
    """Return a copy of the code with `new` in the place of `old`."""
    return copy.deepcopy(tree, {id(old): new})


class _Exchanged(ast.NodeTransformer):
    def __init__(self, first: str, second: str) -> None:
        self.names = {first: second, second: first}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """The other name where one is read."""
        return ast.Name(self.names.get(node.id, node.id), node.ctx) if isinstance(node.ctx, ast.Load) else node


def _said(node: ast.AST) -> str:
    text = ast.unparse(node)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:38]}…`"


def _parentheses(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return
    words = f"parentheses are missing in {_said(node)}: * and / are computed before + and -."
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult | ast.Div):
        yield words, ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
    if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult | ast.Div):
        yield words, ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)


def _other_name(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Name) and node.id in names:
        words = f"something else belongs in the place of one `{node.id}`."
        yield from ((words, ast.Name(name, ast.Load())) for name in names if name != node.id)
        yield from ((words, ast.Constant(number)) for number in (0, 1))


def _other_operator(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.BinOp):
        others = [other for pair in OPERATORS if type(node.op) in pair for other in pair if other is not type(node.op)]
        for other in others:
            yield f"another operation belongs in {_said(node)}.", ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, ast.Sub | ast.Div | ast.Pow):
            yield f"the two sides are exchanged in {_said(node)}.", ast.BinOp(node.right, node.op, node.left)


def _other_number(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        near = (node.value + 1, node.value - 1, -node.value)
        for number in dict.fromkeys((*NUMBERS, *near)):
            if number != node.value:
                yield f"another number belongs in the place of {node.value}.", ast.Constant(number)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield f"another power belongs in {_said(node)}.", ast.BinOp(node.left, ast.Mult(), node.left)


def _too_much(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.BinOp):
        yield f"{_said(node.right)} does not belong in {_said(node)}.", node.left
        yield f"{_said(node.left)} does not belong in {_said(node)}.", node.right
    elif isinstance(node, ast.UnaryOp):
        yield f"the sign of {_said(node)} is wrong.", node.operand
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        yield f"`{ast.unparse(node.func)}` does not belong there: {_said(node)}.", node.args[0]


def _other_function(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.Call):
        return
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in FUNCTIONS:
        for name in FUNCTIONS:
            func = ast.Attribute(node.func.value, name, ast.Load()) if isinstance(node.func, ast.Attribute) else None
            yield (
                f"another function belongs in the place of `{ast.unparse(node.func)}`.",
                ast.Call(func or ast.Name(name, ast.Load()), node.args, node.keywords),
            )


def _missing(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Name | ast.BinOp | ast.Call | ast.Subscript):
        factors = [ast.Constant(2), ast.Constant(3), *(ast.Name(name, ast.Load()) for name in names)]
        made = [ast.UnaryOp(ast.USub(), node), ast.BinOp(node, ast.Mult(), node)]
        made += [ast.BinOp(factor, ast.Mult(), node) for factor in factors]
        made += [ast.BinOp(ast.Constant(1), ast.Sub(), node)]
        yield from ((f"something is missing at {_said(node)}.", each) for each in made)
