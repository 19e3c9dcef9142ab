"""`Block`: what all mistakes share: beginning, ending, decorating."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..errors import StateError, TypeMismatchError, shown
from ..scalar import mistaken
from .engines import ENGINES, Patch, install, remove


class Block:
    """A ``with`` block in which this thread makes a mistake, or a decorator of a function that does.

    Attributes
    ----------
    mistake : Mistake
        Its name and detail.

    Notes
    -----
    It may stand inside itself and others, and end in any order: the generators of two blocks may be closed as they
    like. An error inside ends it.
    """

    __slots__ = ("_patches", "_refuses", "_thread", "mistake")

    def __init__(self, name: str, patches: tuple[Patch, ...], detail: str = "", refuses: bool = True) -> None:
        self.mistake = mistaken.Mistake(name, detail)
        self._patches = (*patches, *(ENGINES if refuses else ()))
        self._refuses = refuses
        self._thread: int | None = None

    def __enter__(self) -> None:
        if self._thread is not None:
            raise StateError(
                f"sv.mistakes.{self.mistake.name}: this block is on already; write with sv.mistakes."
                f"{self.mistake.name}() again for another one inside"
            )
        install(self._patches)
        self._thread = mistaken.put(self.mistake)

    def __exit__(self, *raised: object) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            mistaken.take(self.mistake, thread)
            remove(self._patches)

    def __call__(self, function: Any) -> Callable[..., Any]:
        """`function` in such a block at every call."""
        title = f"sv.mistakes.{self.mistake.name}"
        if not callable(function) or inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            kind = "a function that yields" if callable(function) else f"{type(function).__name__} {shown(function)}"
            raise TypeMismatchError(f"{title}() decorates a function, got {kind}; write `with {title}():` around it")

        @wraps(function)
        def mistaken_call(*args: Any, **options: Any) -> Any:
            with Block(self.mistake.name, self._own(), self.mistake.detail, self._refuses):
                return function(*args, **options)

        return mistaken_call

    def _own(self) -> tuple[Patch, ...]:
        return tuple(patch for patch in self._patches if patch not in ENGINES)

    def __repr__(self) -> str:
        return f"<sv.mistakes.{self.mistake.words}, {'off' if self._thread is None else 'on'}>"


def on() -> tuple[str, ...]:
    """The names of the mistakes that this thread makes, in the order in which they began.

    Examples
    --------
    >>> from scalarviz import mistakes
    >>> with mistakes.overwrite(), mistakes.no_zero_grad():
    ...     mistakes.on()
    ('overwrite', 'no_zero_grad')
    >>> mistakes.on()
    ()
    """
    return mistaken.names()
