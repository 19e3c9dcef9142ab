"""Replace functions while a mistake is on: those of a Run refuse to train, or compute correctly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from threading import RLock
from typing import Any

from ..engine.objects import ObjectsTrainer
from ..errors import StateError
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
