"""The mode of each thread: recording a graph, `no_grad`, or neither.

While a graph is recorded, its nodes have no numbers yet. Asking for one (``if x > 0``, ``float(x)``, ``x.data``) would
silently freeze one branch into the tape, so it raises. Under `no_grad`, as in PyTorch, operations give numbers without
a graph.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import Any

from ..errors import TracingError, TypeMismatchError, typed

_threads: dict[int, Recorder | Untracking] = {}
"""The threads that record or are under `no_grad`.

It is empty nearly always, which is all that operations check then.
"""


FORWARDS = threading.local()
"""How many forwards of users' modules run in this thread, one inside the other: `depth`."""


def at_top() -> bool:
    """Return whether no graph is recorded and no forward of a user's module runs in this thread."""
    return active() is None and not getattr(FORWARDS, "depth", 0)


def torch_tracks() -> bool:
    """Return whether PyTorch computes gradients in this thread; True if it is not loaded."""
    torch = sys.modules.get("torch")
    return torch is None or bool(torch.is_grad_enabled())


class Recorder:
    """The data that a recording collects beside the graph."""

    __slots__ = ("by_torch", "calls", "classes", "evaluation", "fewest", "masks", "modes", "reads", "taps", "tracks")

    def __init__(self) -> None:
        self.taps: list[tuple[Any, list[Any]]] = []  # called modules and their results, in order
        self.masks = 0  # calls of modules with dropout masks
        # modules that were asked for `training` and returned True: their graph differs in evaluation
        self.modes: dict[Any, None] = {}
        self.tracks: list[Any] = []  # results of `scalar.batch.track`
        self.fewest = 1  # the smallest batch, in samples
        self.evaluation = False  # if True, modules report that they are not in training
        # targets that a loss used as class indices, with the loss and the number of classes
        self.classes: list[tuple[Any, Any, int]] = []
        # if set: every called module with its inputs and its result
        self.calls: list[tuple[Any, list[Any], Any]] | None = None
        self.reads = False  # whether the function looked at the numbers of weights, which are constants then
        self.by_torch = torch_tracks()  # what PyTorch's `no_grad` said when the recording began


class Untracking:
    """The mode of a thread under ``sv.no_grad``."""

    __slots__ = ()


NO_GRAD = Untracking()


def current_mode() -> Recorder | Untracking | None:
    """Return the mode of this thread; None if it simply computes."""
    return _threads.get(get_ident()) if _threads else None


def active() -> Recorder | None:
    """Return the recorder of this thread, or None."""
    found = current_mode()
    return found if isinstance(found, Recorder) else None


def untracking() -> bool:
    """Return whether this thread is under ``sv.no_grad``."""
    return current_mode() is NO_GRAD


def set_mode(mode: Recorder | Untracking | None) -> Recorder | Untracking | None:
    """Set the mode of this thread and return the mode before."""
    before, me = current_mode(), get_ident()
    if mode is None:
        _threads.pop(me, None)
    else:
        _threads[me] = mode
    return before


def forbid(what: str, hint: str = "") -> None:
    """Raise a TracingError if this thread records. The message names `what` was asked and recommends ``sv.where``."""
    if _threads and active() is not None:
        raise TracingError(
            f"{what} of a Value is not allowed while its graph is recorded: the number is not known yet, and only "
            f"one branch would be recorded. Choose with sv.where(condition, a, b), and keep numbers as Values{hint}"
        )


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record: inside the block, operations of this thread build symbols instead of computing numbers."""
    if active() is not None:
        raise TracingError("a recording cannot start inside another one; record only the outer function")
    recorder = Recorder()
    before = set_mode(recorder)  # also under sv.no_grad: the engine makes its own gradients
    try:
        yield recorder
    finally:
        set_mode(before)


class no_grad:
    """A ``with`` block, or a decorator, in which operations compute numbers without a graph.

    Results are leaves: they have no parents, and ``backward`` raises. A forward pass is faster and keeps no nodes
    alive. Inside it you may change weights in place: ``w -= lr * w.grad`` and ``p -= lr * p.grad``.

    Parameters
    ----------
    function : callable, optional
        ``@sv.no_grad`` means the same as ``@sv.no_grad()``.

    Raises
    ------
    TypeMismatchError
        The decorated object is no function, or is a generator function: put the block inside it.
    TracingError
        The block begins inside a function that is being recorded.

    Notes
    -----
    It holds for one thread. A Run that is made or trained inside still computes its gradients; they need no graph.

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
        """Return a block, or the decorated `function`."""
        block = super().__new__(cls)
        block._before = []
        return block if function is None else block(function)

    def __enter__(self) -> None:
        if active() is not None:
            raise TracingError(
                "sv.no_grad() is not allowed inside a function that is being recorded. Remove the call: a Run computes "
                "gradients only for training, run.predict computes none"
            )
        self._before.append(set_mode(NO_GRAD))

    def __exit__(self, *raised: object) -> None:
        set_mode(self._before.pop())

    def __call__(self, function: Any) -> Callable[..., Any]:
        """Return `function` with such a block around every call."""
        if not callable(function) or inspect.isgeneratorfunction(function):
            kind = "a function that yields" if callable(function) else f"{typed(function)}"
            raise TypeMismatchError(
                f"sv.no_grad decorates a function, got {kind}; put the code under `with sv.no_grad():`"
            )

        @wraps(function)
        def quiet(*args: Any, **options: Any) -> Any:
            with no_grad():
                return function(*args, **options)

        return quiet
