"""`Block`: the base of all mistakes, which begins, ends and decorates; and what it replaces meanwhile.

The functions of a Run refuse to train inside a block, or compute correctly.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from threading import RLock
from typing import Any, Self

from ..engine.objects import ObjectsTrainer
from ..errors import StateError, TypeMismatchError, listing, typed
from ..run.run import Run
from ..scalar import mistaken


@dataclass(frozen=True, slots=True)
class Patch:
    """An attribute of a class or a module, its own value, and its replacement while a mistake is on."""

    owner: Any
    name: str
    original: Any
    replacement: Any


_lock = RLock()
_users: Counter[Patch] = Counter()


def install(patches: tuple[Patch, ...]) -> None:
    """Install the patches that are not installed yet."""
    with _lock:
        for patch in patches:
            if _users[patch] == 0:
                setattr(patch.owner, patch.name, patch.replacement)
            _users[patch] += 1


def remove(patches: tuple[Patch, ...]) -> None:
    """Remove the patches that no other mistake needs."""
    with _lock:
        for patch in patches:
            _users[patch] -= 1
            if _users[patch] == 0:
                setattr(patch.owner, patch.name, patch.original)
                del _users[patch]


HARMLESS = ("symmetric_init", "no_loss_scale")
"""Mistakes that act before a Run begins: it may train inside them."""


def _refused(own: Callable[..., Any], what: str) -> Callable[..., Any]:
    @wraps(own)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        made = [name for name in mistaken.names() if name not in HARMLESS]
        if made:
            raise StateError(
                f"{what} inside sv.mistakes.{made[-1]}: the engines of a Run compute their gradients themselves and "
                "make no mistakes. Write the loop by hand (loss.backward(), optimizer.step()) and show the net, or "
                "leave the block"
            )
        return own(self, *args, **options)

    return method


def _rightly(own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def method(*args: Any, **options: Any) -> Any:
        with mistaken.suspended():
            return own(*args, **options)

    return method


def _patch(owner: Any, name: str, make: Callable[..., Any], *words: str) -> Patch:
    own = getattr(owner, name)
    return Patch(owner, name, own, make(own, *words))


ENGINES = (
    _patch(Run, "__init__", _refused, "a Run is made"),
    _patch(Run, "step", _refused, "run.step"),
    _patch(ObjectsTrainer, "__init__", _rightly),
    _patch(ObjectsTrainer, "train", _rightly),
    _patch(ObjectsTrainer, "gradient", _rightly),
)


COUNTED = {"no_zero_grad": "call", "symmetric_init": "tensor", "no_bias_correction": "tensor", "no_loss_scale": "run"}
"""The thing that a mistake changes, if it is no operation."""


class Block:
    """A ``with`` block in which this thread makes a mistake, or a decorator for a function.

    Attributes
    ----------
    mistake : Mistake
        Its name and detail.
    touched : int
        The number of operations (or calls, tensors, runs) that it has changed so far; `print` shows it in words.

    Notes
    -----
    Blocks may be nested, and may end in any order: the generators of two blocks may be closed in either order. An error
    inside ends a block.
    """

    __slots__ = ("_given", "_patches", "_thread", "mistake")

    def __init__(self, name: str, patches: tuple[Patch, ...], detail: str = "", refuses: bool = True) -> None:
        self.mistake = mistaken.Mistake(name, detail)
        self._patches = (*patches, *(ENGINES if refuses else ()))
        self._given = name, patches, detail, refuses
        self._thread: int | None = None

    @property
    def touched(self) -> int:
        """The number of operations (calls, tensors, runs) that it has changed since it began."""
        return sum(self.mistake.touched)

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise StateError(
                f"sv.mistakes.{self.mistake.name}: this block is already active; to nest another one, write "
                f"`with sv.mistakes.{self.mistake.name}():` again"
            )
        install(self._patches)
        self.mistake.touched.clear()
        self.mistake.met.clear()
        self._thread = mistaken.begin(self.mistake)
        return self

    def __exit__(self, *raised: object) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            mistaken.end(self.mistake, thread)
            remove(self._patches)
        if self.mistake.detail and self.mistake.met and not self.touched and raised[:1] == (None,):
            met = listing(sorted(self.mistake.met))
            warnings.warn(f"sv.mistakes.{self.mistake.words} changed no operation; backward ran {met}", stacklevel=2)

    def __call__(self, function: Any) -> Callable[..., Any]:
        """Return `function` with such a block around every call."""
        title = f"sv.mistakes.{self.mistake.name}"
        if not callable(function) or inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            kind = "a function that yields" if callable(function) else f"{typed(function)}"
            raise TypeMismatchError(f"{title}() decorates a function, got {kind}; write `with {title}():` around it")

        @wraps(function)
        def mistaken_call(*args: Any, **options: Any) -> Any:
            with Block(*self._given):
                return function(*args, **options)

        return mistaken_call

    def __repr__(self) -> str:
        return f"<sv.mistakes.{self.mistake.words}, {'off' if self._thread is None else 'on'}, touched {self.touched}>"

    def __str__(self) -> str:
        kind = COUNTED.get(self.mistake.name, "operation")
        return f"{self.mistake.words}: touched {self.touched:,} {kind}{'' if self.touched == 1 else 's'}"


def on() -> tuple[str, ...]:
    """Return the names of the mistakes in this thread, in the order in which they began.

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
