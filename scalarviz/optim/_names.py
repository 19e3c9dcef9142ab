"""Which attributes an optimiser may be given: a name that nothing reads is a slip."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any

from ..errors import listing, shown

if TYPE_CHECKING:
    from ._optimizer import Optimizer


def closing(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor `init`, which notes that it is done: the outermost one of a class and its bases."""

    @wraps(init)
    def constructor(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        outermost = vars(self).get("_done") is not False
        self._done = False
        init(self, *args, **kwargs)
        self._done = outermost
        if outermost and (given := vars(self).pop("_given", None)) is not None:
            self.begin_groups(given.numbers, given.of)

    return constructor


def unknown(optimizer: Optimizer, name: str) -> str:
    """What is said of an attribute that an optimiser does not have."""
    title, numbers = type(optimizer).__name__, list(optimizer.hyperparameters())
    near = get_close_matches(name, numbers, 1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    return (
        f"{title} has no {shown(name)}, a step would not read it{meant} It has {listing(numbers)}; a class of your own "
        "sets further attributes in its __init__"
    )
