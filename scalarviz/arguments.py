"""Arguments that a call does not have: Python's own check, said in words that help.

A function or a class is marked by :func:`explained`. A call that fits costs one more Python call; one that does not
fit is refused by Python itself, and only then is it looked at here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, NoReturn, TypeVar

from .errors import ScalarvizError, TypeMismatchError, listing

Called = TypeVar("Called", bound=Callable[..., Any])


def explained(absent: Mapping[str, str] | None = None, name: str = "") -> Callable[[Called], Called]:
    """A decorator of functions and methods: arguments that do not fit raise TypeMismatchError with the allowed ones.

    Parameters
    ----------
    absent : mapping of str to str, optional
        Arguments that people expect, from PyTorch above all, and what is said of each.
    name : str
        What messages call the function; default: its own name.
    """

    def decorate(function: Called) -> Called:
        title = name or function.__name__

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                said = None if isinstance(error, ScalarvizError) else misfit(title, function, args, kwargs, absent)
                if said is None:  # the arguments fit: the error comes from inside
                    raise
            raise TypeMismatchError(said)

        call._plain = function  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def explain(kind: type, absent: Mapping[str, str] | None = None) -> None:
    """Let the constructor of `kind` refuse arguments in words; see :func:`explained`."""
    made: Any = kind
    start = getattr(made.__init__, "_plain", made.__init__)  # an inherited one would speak of its own class
    made.__init__ = explained(absent, kind.__name__)(_nothing if start is object.__init__ else start)


def _nothing(self: object) -> None:
    """The constructor of a class without one."""


def misfit(
    title: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    absent: Mapping[str, str] | None = None,
) -> str | None:
    """What is wrong with these arguments of `function`; None if they fit.

    A first parameter ``self`` is not spoken of.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
        return None
    except TypeError:
        pass
    parameters = {n: p for n, p in signature.parameters.items() if n != "self"}
    given = args[len(signature.parameters) - len(parameters) :]
    allowed = f"{title} takes {listing(map(_brief, parameters.values())) or 'no argument'}"
    unknown = next((n for n in kwargs if n not in parameters), None)
    if unknown is not None:
        return f"{title} has no argument {unknown!r}{_hint(unknown, parameters, absent or {})} {allowed}"
    by_place = [n for n, p in parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(given) > len(by_place):
        named = [f"{n}=" for n in parameters if n not in by_place]
        advice = f"; give the others by name ({listing(named)})" if named else ""
        return f"{title} takes {_many(len(by_place))} by position, got {len(given)}{advice}. {allowed}"
    twice = [n for n in by_place[: len(given)] if n in kwargs]
    if twice:
        return f"{title}: {listing(map(repr, twice))} given twice, by position and by name. {allowed}"
    return f"{title}: missing {listing(_missing(parameters, by_place[: len(given)], kwargs))}. {allowed}"


def _hint(unknown: str, parameters: Mapping[str, Any], absent: Mapping[str, str]) -> str:
    if unknown in absent:
        return f": {absent[unknown]}."
    return did_you_mean(unknown, parameters) or "."


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """``; did you mean 'SGD'?`` for the nearest of `names`, above all one that differs in capitals only; or ''."""
    known = list(names)
    near = (
        [n for n in known if n.casefold() == name.casefold()]
        or get_close_matches(name[:100], known, 1)
        or get_close_matches(name[:100].lower(), known, 1)
    )
    return f"; did you mean {near[0]!r}?" if near else ""


def first_of(names: Iterable[object], most: int) -> str:
    """``a, b, c and 7 more``: at most so many names for a message."""
    said = list(names)
    return listing(said[:most]) + (f" and {len(said) - most:,} more" if len(said) > most else "")


def parameters_of(function: Callable[..., Any], besides: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of what `function` takes, but for `besides`."""
    return tuple(name for name in inspect.signature(function).parameters if name not in set(besides))


def check_names(title: str, given: Iterable[str], takes: Iterable[str]) -> None:
    """Refuse arguments that a function hands on to another one which does not take them.

    Raises
    ------
    TypeMismatchError
        One of the names `given` is not among `takes`.
    """
    allowed = tuple(takes)
    unknown = next((name for name in given if name not in allowed), None)
    if unknown is not None:
        hint = _hint(unknown, dict.fromkeys(allowed), {})
        raise TypeMismatchError(f"{title} has no argument {unknown!r}{hint} {title} takes {listing(allowed)}")


def no_name(where: str, name: str, names: Iterable[str], absent: Mapping[str, str]) -> AttributeError:
    """What to raise where a module has no `name`: with what is there instead, or the nearest of its `names`."""
    own = name.removesuffix("_")
    said = f": {absent[name]}" if name in absent else ""
    if own != name and not said and (own in absent or own in names):  # PyTorch's changes in place
        said = f": nothing changes in place; {absent.get(own) or f'use {own}(...)'}"
    near = "" if said or name.startswith("_") else did_you_mean(name, names)
    return AttributeError(f"module {where!r} has no attribute {name!r}{said}{near}")


def of_torch(thing: object) -> str:
    """The name of a function, a class or the class of an object, if it is PyTorch's or derived from PyTorch's."""
    kinds: Any = type(thing).__mro__ if not hasattr(thing, "__name__") else getattr(thing, "__mro__", (thing,))
    modules = [str(getattr(kind, "__module__", "")) for kind in kinds]
    return str(kinds[0].__name__) if any(module.startswith("torch.") for module in modules) else ""


def attributes(absent: Mapping[str, str], kind: str = "") -> Callable[[Any, str], NoReturn]:
    """``__getattr__`` of a class, which says what there is instead of an attribute that its objects have not."""

    def missing(self: Any, name: str) -> NoReturn:
        own, thing = name.removesuffix("_"), kind or f"{type(self).__name__!r} object"
        said = f": {absent[name]}" if name in absent else ""
        if own != name and not said and (own in absent or hasattr(self, own)):  # PyTorch's changes in place
            said = f": nothing changes in place; {absent.get(own) or f'write x = x.{own}(...)'}"
        raise AttributeError(f"{thing} has no attribute {name!r}{said}", name=name, obj=self)

    return missing


class Absent:
    """An attribute that Values have not, and that says what there is instead; other attributes cost no time."""

    def __init__(self, name: str, said: str) -> None:
        self._name, self._said = name, said

    def __get__(self, thing: object, kind: type | None = None) -> NoReturn:
        raise AttributeError(f"a Value has no attribute {self._name!r}: {self._said}")


def module_names(
    where: str, names: list[str], absent: Mapping[str, str]
) -> tuple[Callable[[], list[str]], Callable[[str], Any]]:
    """``__dir__`` and ``__getattr__`` of a module, which say what there is instead of a name that it has not."""

    def missing(name: str) -> NoReturn:
        raise no_name(where, name, names, absent)

    return lambda: names, missing


def _missing(parameters: Mapping[str, inspect.Parameter], placed: list[str], kwargs: Mapping[str, Any]) -> list[str]:
    needed = (n for n, p in parameters.items() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL)
    return [repr(n) for n in needed if n not in placed and n not in kwargs]


def _brief(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    default: Any = parameter.default
    if default is parameter.empty:
        return parameter.name
    return f"{parameter.name}={default.__name__ if isinstance(default, type) else repr(default):.30}"


def _many(count: int) -> str:
    return {0: "no argument", 1: "one argument"}.get(count, f"at most {count} arguments")
