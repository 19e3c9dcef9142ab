"""Inspect a pupil's code: find a ``...``, count its inputs, call it."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from numbers import Real
from types import CodeType, EllipsisType
from typing import Any

from ..errors import TypeMismatchError, shown, typed
from ..scalar import functions, ops
from ..scalar.value import Value
from .report import CheckEnded

_PLACES = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Inputs(tuple[str, ...]):
    """Names of the required arguments; `spare` are those with a default after them."""

    spare: tuple[str, ...] = ()
    any_number: bool = False  # takes any number of further arguments, like ``f(*numbers)``


def title_of(given: Any) -> str:
    """Return the name of the function, or "your function"."""
    name = getattr(given, "__name__", "")
    return name if isinstance(name, str) and name.isidentifier() else "your function"


def registered(of: Any) -> str:
    """Return the operation that a function of the package or of ``sv.register`` applies; empty for other functions."""
    name = getattr(of, "__name__", "")
    return name if getattr(of, "__module__", "") == functions.__name__ and name in ops.TABLE else ""


def check_filled(given: Any) -> None:
    """End the check if a ``...`` is still in a function or a class, or in place of one."""
    if given is ...:
        raise CheckEnded("", "nothing to check yet. Put something in the place of the ...", state="empty")
    parts = [given] if not isinstance(given, type) else [f for f in vars(given).values() if inspect.isfunction(f)]
    for part in parts:
        place = _unfilled(part)
        if place is not None:
            raise CheckEnded("", f"nothing to check yet. Fill in the ... {place}", state="empty")


def _unfilled(function: Any) -> str | None:
    """Return words for the place of a ``...``; lines count in its cell or file."""
    function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    try:
        source, first = inspect.getsourcelines(function)
        lines = [line.rstrip() for line in source]
        tree = ast.parse(textwrap.dedent("\n".join(lines)))
    except (OSError, TypeError, SyntaxError):  # no source, or a lambda within a call
        return "in it" if _holds_dots(code) else None
    for node in _expressions(tree):
        if isinstance(node, ast.Constant) and node.value is ...:
            return f"in line {max(first, 1) + node.lineno - 1}: {lines[node.lineno - 1].strip()}"
    return None


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except annotations and subscripts, where ``...`` has another meaning."""
    yield node
    for name, part in ast.iter_fields(node):
        if name in ("annotation", "returns") or (isinstance(node, ast.Subscript) and name == "slice"):
            continue
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST):
                yield from _expressions(child)


def _holds_dots(code: CodeType) -> bool:
    return any(c is ... or (isinstance(c, CodeType) and _holds_dots(c)) for c in code.co_consts)


def numbers_outside(function: Any) -> Iterator[tuple[str, float]]:
    """Yield numbers of other cells that a function reads, by name."""
    for read in dis.get_instructions(function) if inspect.isfunction(function) else ():
        value = function.__globals__.get(read.argval) if read.opname == "LOAD_GLOBAL" else None
        if isinstance(value, Real | Value):
            yield read.argval, float(value)


def inputs_of(function: Any, what: str) -> Inputs:
    """Return the names of required positional arguments and of optional ones; TypeMismatchError if unknown."""
    if not callable(function):
        raise TypeMismatchError(f"{what} must be a function, got {typed(function)}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise TypeMismatchError(f"{what}: the arguments of {shown(function)} are unknown; define it with def") from None
    places = [p for p in parameters if p.kind in _PLACES]
    names = Inputs(p.name for p in places if p.default is p.empty)
    names.spare = tuple(p.name for p in places if p.default is not p.empty)
    names.any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return names


def matching(own: Inputs, theirs: Sequence[str], more: int = 0) -> tuple[str, ...]:
    """Return the names of the inputs in the pupil's function, which takes `more` arguments after them."""
    count = len(theirs) + more
    if own.any_number and len(own) <= count:
        return tuple(theirs)
    if not len(own) <= count <= len(own) + len(own.spare):
        wanted = ", ".join([*theirs, *(["upstream"] if more else [])])
        raise CheckEnded("arguments", f"wrong number of arguments: {len(own)}; expected {count}: {wanted}")
    return (*own, *own.spare)[: len(theirs)]


def call_pupil(function: Callable[..., Any], arguments: Sequence[Any], at: str = "", of: Any = None) -> Any:
    """Call a pupil's function; an exception becomes a report with its line in the file of `of`."""
    try:
        return function(*arguments)
    except CheckEnded:
        raise
    except Exception as error:
        raise CheckEnded("raises", _raised(of or function, error) + (f", {at}" if at else "")) from error


def _raised(function: Any, error: Exception) -> str:
    said = " ".join(str(error).split())
    words = f"it raised {type(error).__name__}{f': {said}' if said else ''}"
    file = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    line = (frames[-1].line or "") if frames else ""
    told = next((f" ({advice})" for kind, part, advice in USUAL if isinstance(error, kind) and part in said), "")
    if isinstance(error, TypeError) and "^" in line:
        told = " (a power is written **, not ^)"
    return f"{words}{f', in the line: {line}' if line else ''}{told}"


USUAL: tuple[tuple[type[Exception], str, str], ...] = (
    (AttributeError, "'function' object", "call the function first, with brackets"),
    (AttributeError, "'float' object has no attribute", "an operation returns a Value, not a number"),
    (AttributeError, "'str' object has no attribute", "a name is no node: the list needs the nodes themselves"),
    (TypeError, ": 'float' and", "an operation returns a Value, not a number; __radd__ takes a number on the left"),
    (AttributeError, "'NoneType' object", "a function returned None: is a return missing?"),
    (TypeError, "'NoneType'", "a function returned None: is a return missing?"),
    (RecursionError, "", "a function calls itself without end: __add__ needs self.data + other.data, not self + other"),
)
"""What usually leads to an error of Python's in a pupil's code: its class, a part of its text, and the advice."""


def numbers_of(result: Any, names: Sequence[str], what: str = "slope") -> tuple[float, ...]:
    """Return a pupil's result as one float for each of `names`."""
    if result is None:
        raise CheckEnded("none", "it returned nothing: is a `return` missing?")
    given = _listed(result, len(names))
    if any(isinstance(number, EllipsisType) for number in given):
        raise CheckEnded("", "nothing to check yet. Fill in the ...", state="empty")
    if len(given) != len(names):
        if given[0] is result:
            _number(result, names[0], what)
        wanted = ", ".join(names)
        raise CheckEnded("count", f"it returned {_many(len(given))}; expected one {what} for each input ({wanted})")
    return tuple(_number(number, name, what) for number, name in zip(given, names, strict=True))


def _listed(result: Any, count: int) -> list[Any]:
    """Return the numbers of any ordered container: a tuple, an array of any shape, a generator."""
    if hasattr(result, "shape"):
        return [result] if not result.shape else list(result.ravel())
    if not isinstance(result, Iterable) or isinstance(result, str | bytes | Mapping | Set):
        return [result]
    try:
        return list(islice(result, count + 9))  # it may be endless
    except Exception as error:  # a generator runs only now
        raise CheckEnded("raises", f"it raised {type(error).__name__}: {error}") from error


def _number(given: Any, name: str, what: str) -> float:
    if given is None:
        raise CheckEnded("none", f"the {what} with respect to {name} is None")
    try:
        if isinstance(given, str | bytes):
            raise TypeError
        return float(given)
    except Exception:
        raise CheckEnded(
            "kind", f"Expected a number as the {what} with respect to {name}; you returned {shown(given)}."
        ) from None


def _many(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"
