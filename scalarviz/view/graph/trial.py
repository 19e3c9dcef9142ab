"""A call that leaves no trace: a network is asked for one sample as for a prediction, and is as before afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...nn import Module
from ...scalar.nested import every
from ...scalar.value import Value
from .modules import Calls, last_calls

NAME = "x"
"""What a sample without names is called; its numbers are x1, x2, ..."""


def called(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[list[Value], Calls | None]:
    """What a module or a function makes of one sample, with names at the sample's numbers, and how its parts did."""
    names = [NAME] if len(inputs) == 1 else [f"{NAME}{k + 1}" for k in range(len(inputs))]
    given = [named(x, name) for x, name in zip(inputs, names, strict=True)]
    if not isinstance(function, Module):
        return every(function(*given), "draw: what is called"), None
    with unchanged(function):
        return every(function(*given), "draw: what is called"), last_calls(function)


def named(x: Any, name: str, levels: int = 40) -> Any:
    """The same sample as Values: ``x``, a row ``x1, x2``, or nested lists ``x[0][1]``; deeper ones as they are."""
    if levels == 0 or isinstance(x, Value) or not isinstance(x, list | tuple | np.ndarray | float | int | np.number):
        return x
    if isinstance(x, np.ndarray):
        x = x.tolist()
    if not isinstance(x, list | tuple):
        return Value(x, name)
    flat = not any(isinstance(part, list | tuple | np.ndarray) for part in x)
    names = (f"{name}{k + 1}" if flat and "[" not in name else f"{name}[{k}]" for k in range(len(x)))
    return [named(part, each, levels - 1) for part, each in zip(x, names, strict=True)]


@contextmanager
def unchanged(module: Module) -> Iterator[None]:
    """Evaluate instead of train, and put back modes and what each part remembers of its last call."""
    parts = [part for _, part in module.named_modules()]
    modes = [(vars(part), "training" in vars(part), vars(part).get("training", True)) for part in parts]
    calls = [(part._books, part._books.inputs, part._books.outputs) for part in parts]
    module.eval()
    try:
        yield
    finally:
        for own, had, training in modes:
            if had:
                own["training"] = training
            else:
                own.pop("training", None)
        for books, given, made in calls:
            books.inputs, books.outputs = given, made
