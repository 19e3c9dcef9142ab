"""`TorchNames`: what else PyTorch's modules are asked for, and what is said where ours have no such thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..checks import text
from ._absent import METHODS

if TYPE_CHECKING:
    from ._module import Module


class TorchNames:
    """The part of a module that walks over the tree, and answers for names that are not there."""

    __slots__ = ()

    if TYPE_CHECKING:

        def named_modules(self) -> Iterator[tuple[str, Module]]:
            """See :meth:`Module.named_modules`."""

        def _members(self) -> Iterator[tuple[str, Any]]:
            """See :class:`Module`."""

        def named_buffers(self) -> Iterator[tuple[str, NDArray[Any]]]:
            """See :meth:`Module.named_buffers`."""

        def children(self) -> list[Module]:
            """See :meth:`Module.children`."""

    else:

        def __getattr__(self, name: str) -> Any:
            said = f": {METHODS[name]}" if name in METHODS else ""
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}{said}", name=name, obj=self)

    def modules(self) -> Iterator[Module]:
        """The module itself and every one below, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct parts that are modules, with their names."""
        return ((name, part) for name, part in self._members() if hasattr(part, "named_children"))

    def add_module(self, name: str, module: Module) -> None:
        """Set a part by its name: ``self.name = module``."""
        setattr(self, text(name, "add_module: the name"), module)

    def buffers(self) -> list[NDArray[Any]]:
        """Every buffer once, as an array, in the order of `named_buffers`."""
        return [array for _, array in self.named_buffers()]

    def apply(self, function: Callable[[Module], Any]) -> Any:
        """Call ``function(module)`` for every module below and then for this one; returns the module.

        As PyTorch has it, for initialisers above all. See :func:`nn.init.apply` for those that a run remembers.
        """
        for child in self.children():
            child.apply(function)
        function(self)  # type: ignore[arg-type]
        return self
