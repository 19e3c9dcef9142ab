"""Whether this thread records a graph, and what it may not do meanwhile; and `no_grad`.

While a graph is recorded the numbers of its nodes do not exist yet. Asking for one (``if x > 0``, ``float(x)``,
``x.data``) would freeze one branch into the tape in silence, so it raises. Under `no_grad`, as in PyTorch, operations
give numbers without a graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import Any

from ..errors import TracingError, TypeMismatchError, shown

_threads: dict[int, Recorder | Untracking] = {}
"""What the threads do that do not simply compute; empty nearly always, which is all that operations look at then."""


class Recorder:
    """What a recording collects beside the graph itself."""

    __slots__ = ("calls", "classes", "evaluation", "fewest", "masks", "modes", "taps", "tracks")

    def __init__(self) -> None:
        self.taps: list[tuple[Any, list[Any]]] = []  # modules that were called and what they returned, in that order
        self.masks = 0  # calls of modules with dropout masks
        # modules that were asked whether they are in training and said yes: in evaluation the graph is another
        self.modes: dict[Any, None] = {}
        self.tracks: list[Any] = []  # of `scalar.batch.track`
        self.fewest = 1  # samples that a batch must have
        self.evaluation = False  # modules say that they are not in training, whatever they are
        # targets that a loss took for the number of a class, that loss, and how many classes there are
        self.classes: list[tuple[Any, Any, int]] = []
        # where one is set: every module that was called, what it was given and what it returned
        self.calls: list[tuple[Any, list[Any], Any]] | None = None


class Untracking:
    """What a thread has instead of a recorder under ``sv.no_grad``."""

    __slots__ = ()


NO_GRAD = Untracking()


def current_mode() -> Recorder | Untracking | None:
    """What this thread does, or None: it simply computes."""
    return _threads.get(get_ident()) if _threads else None


def active() -> Recorder | None:
    """The recorder of this thread, or None."""
    found = current_mode()
    return found if isinstance(found, Recorder) else None


def untracking() -> bool:
    """Whether this thread is under ``sv.no_grad``."""
    return current_mode() is NO_GRAD


def set_mode(mode: Recorder | Untracking | None) -> Recorder | Untracking | None:
    """Let this thread do `mode` from now on; gives back what it did before."""
    before, me = current_mode(), get_ident()
    if mode is None:
        _threads.pop(me, None)
    else:
        _threads[me] = mode
    return before


def forbid(what: str) -> None:
    """Raise a TracingError if this thread is recording, with `what` was asked and ``sv.where`` as the way to choose."""
    if _threads and active() is not None:
        raise TracingError(
            f"{what} of a Value while its graph is being recorded: its number is not known yet, and the recording "
            "would silently keep one branch. Choose with sv.where(condition, a, b), and keep numbers as Values"
        )


@contextmanager
def recording() -> Iterator[Recorder]:
    """Make operations of this thread build symbols instead of computing numbers."""
    if active() is not None:
        raise TracingError("a recording cannot start inside another one; record only the outer function")
    recorder = Recorder()
    before = set_mode(recorder)  # perhaps sv.no_grad: what is recorded is for an engine, which makes its own gradients
    try:
        yield recorder
    finally:
        set_mode(before)


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
        if active() is not None:
            raise TracingError(
                "sv.no_grad() is not allowed inside a function that is being recorded. Leave it out: a Run computes "
                "gradients only for training, run.predict computes none"
            )
        self._before.append(set_mode(NO_GRAD))

    def __exit__(self, *raised: object) -> None:
        set_mode(self._before.pop())

    def __call__(self, function: Any) -> Callable[..., Any]:
        """`function` in such a block at every call."""
        if not callable(function) or inspect.isgeneratorfunction(function):
            kind = "a function that yields" if callable(function) else f"{type(function).__name__} {shown(function)}"
            raise TypeMismatchError(
                f"sv.no_grad decorates a function, got {kind}; put the code under `with sv.no_grad():`"
            )

        @wraps(function)
        def quiet(*args: Any, **options: Any) -> Any:
            with no_grad():
                return function(*args, **options)

        return quiet
