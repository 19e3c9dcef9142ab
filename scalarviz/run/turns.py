"""Taking turns with threads that train: a run's methods do their work between two calls of the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Any)


def handed_on(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method of a run wait for its turn: while a worker trains, its thread calls it between two engine calls.

    What it returns or raises comes back to the caller. Without a worker, and in its own thread, nothing is in between.
    """

    @wraps(method)
    def taken(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        gate = self.gate
        if gate is None or gate.mine():
            return method(self, *args, **kwargs)
        result: R = gate.call(lambda: method(self, *args, **kwargs))
        return result

    return cast(Callable[Concatenate[S, P], R], taken)


def alone(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method of a run wait until no other thread is in one: several may step a run, or change it, by hand."""

    @wraps(method)
    def held(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._training.turn:
            return method(self, *args, **kwargs)

    return cast(Callable[Concatenate[S, P], R], held)


def in_turn(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Both: a method that changes a run, or looks at more than one number of it."""
    return handed_on(alone(method))
