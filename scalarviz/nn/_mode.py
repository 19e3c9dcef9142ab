"""`Mode`: whether a module is in training or only used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..checks import flag
from ..scalar import tracing

if TYPE_CHECKING:
    from ._module import Module


class Mode:
    """The part of a module that knows about its mode."""

    __slots__ = ()

    if TYPE_CHECKING:

        def named_modules(self) -> Iterator[tuple[str, Module]]:
            """See :meth:`Module.named_modules`."""

    @property
    def training(self) -> bool:
        """Whether the module is in training; :meth:`train` and :meth:`eval` set it, of the whole tree.

        Where a graph depends on it, a Run trains one graph and predicts and evaluates with another.
        """
        training: bool = vars(self).get("training", True)
        if training and (recorder := tracing.active()) is not None:
            if recorder.evaluation:
                return False
            recorder.modes[self] = None
        return training

    @training.setter
    def training(self, training: bool) -> None:
        vars(self)["training"] = training

    def train(self, mode: bool = True) -> Any:
        """Set ``training`` of this module and all below it; returns the module. See :class:`Dropout`."""
        training = flag(mode, "train: mode")
        for _, module in self.named_modules():
            module.training = training
        return self

    def eval(self) -> Any:
        """``train(False)``: use what was learnt, as for predictions."""
        return self.train(False)
