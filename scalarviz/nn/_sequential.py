"""`Sequential`: modules one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checks import position
from ..errors import TypeMismatchError, shown
from ._module import Module

LISTS = (list, tuple)


class Sequential(Module):
    """Modules one after another, each fed with the outputs of the one before.

    Parameters
    ----------
    *modules : Module
        They are named ``"0"``, ``"1"``, ... With none it is the identity.

    Raises
    ------
    TypeMismatchError
        Something is no Module.

    Examples
    --------
    >>> from scalarviz import nn
    >>> net = nn.Sequential(nn.Linear(3, 2, seed=0), nn.Tanh())
    >>> net[0].weight[1][2].name
    '0.weight[1][2]'
    """

    def __init__(self, *modules: Module) -> None:
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> Sequential:
        """Add a module at the end.

        Raises
        ------
        TypeMismatchError
            It is no Module.
        """
        given: Any = module
        if not isinstance(given, Module):
            hint = f"; did you mean {given.__name__}()?" if isinstance(given, type) else ""
            hint = "; a list of modules is given with a star: Sequential(*layers)" if type(given) in LISTS else hint
            raise TypeMismatchError(f"Sequential: part {len(self)} must be a Module, got {shown(given)}{hint}")
        setattr(self, str(len(self)), module)
        return self

    def forward(self, x: Any) -> Any:
        """The outputs of the last module."""
        for module in self:
            x = module(x)
        return x

    def _items(self) -> list[Module]:
        return [part for name, part in vars(self).items() if name.isdecimal()]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential(*self._items()[index])
        items = self._items()
        return items[position(index, len(items), "Sequential")]
