"""Operators of Python that Values do not have, refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import TypeMismatchError


def _refusing(symbol: str) -> Callable[..., Any]:
    def refuse(self: object, *others: Any) -> Any:
        raise TypeMismatchError(
            f"{symbol} is no operation of Values; they have + - * / ** and the functions of the table (sv.sin, sv.dot, "
            "...), and sv.register adds one"
        )

    return refuse


REFUSED = {
    f"__{side}{name}__": _refusing(symbol)
    for symbol, name in {"%": "mod", "//": "floordiv", "@": "matmul"}.items()
    for side in ("", "r")
}
"""A method for each of them, by its name."""
