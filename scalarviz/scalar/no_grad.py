"""`no_grad`: numbers without a graph, as PyTorch's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..errors import TracingError, TypeMismatchError, shown
from . import tracing


class no_grad:
    """A ``with`` block, or a decorator, in which operations compute numbers and remember no graph.

    What is computed there is a leaf: its ``backward`` raises, it has no parents, and a forward is faster and keeps
    nothing alive. Weights may be changed in place there, ``w -= lr * w.grad`` and ``p -= lr * p.grad``.

    Parameters
    ----------
    function : callable, optional
        ``@sv.no_grad`` is the same as ``@sv.no_grad()``.

    Raises
    ------
    TypeMismatchError
        What is decorated is no function, or one that yields: put the block inside.
    TracingError
        The block begins inside a function that is being recorded.

    Notes
    -----
    It is of one thread. A Run that is made or trained inside computes its gradients all the same: they are no graph.

    Examples
    --------
    >>> from scalarviz import Weight
    >>> w = Weight(3.0)
    >>> (w * w).backward()
    >>> with no_grad():
    ...     square = w * w
    ...     w -= 0.1 * w.grad
    >>> square.data, square.parents, round(w.data, 6)
    (9.0, (), 2.4)
    """

    _before: list[Any]

    def __new__(cls, function: Any = None) -> Any:
        """A block, or the decorated `function`."""
        block = super().__new__(cls)
        block._before = []
        return block if function is None else block(function)

    def __enter__(self) -> None:
        if tracing.active() is not None:
            raise TracingError(
                "sv.no_grad() inside a function that is being recorded: nothing is computed there yet. Leave it out: "
                "a Run makes gradients for training only, run.predict makes none"
            )
        self._before.append(tracing.put(tracing.NO_GRAD))

    def __exit__(self, *raised: object) -> None:
        tracing.put(self._before.pop())

    def __call__(self, function: Any) -> Callable[..., Any]:
        """`function` in such a block at every call."""
        if not callable(function) or inspect.isgeneratorfunction(function):
            kind = "a function that yields" if callable(function) else f"{type(function).__name__} {shown(function)}"
            raise TypeMismatchError(
                f"sv.no_grad decorates a function, got {kind}; write `with sv.no_grad():` around what it is about"
            )

        @wraps(function)
        def quiet(*args: Any, **options: Any) -> Any:
            with no_grad():
                return function(*args, **options)

        return quiet
