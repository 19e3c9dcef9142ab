"""The softmax at the end of a network: files have it, a cross-entropy contains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..nn import Identity, Module, Sequential, Softmax
from .network import Imported, LayerStep


@dataclass(frozen=True, slots=True)
class Ending:
    """A softmax that an `Identity` stands for, and where it stood."""

    owner: Module
    name: str
    softmax: Module

    def put_back(self) -> None:
        """Let the network end with it again."""
        setattr(self.owner, self.name, self.softmax)


def without_softmax(net: Module) -> Ending | None:
    """Let a network give the numbers before the softmax that it ends with, if it ends with one.

    Examples
    --------
    >>> from scalarviz import nn
    >>> net = nn.Sequential(nn.Linear(2, 3), nn.Softmax())
    >>> ending = without_softmax(net)
    >>> type(net[1]).__name__
    'Identity'
    >>> ending.put_back()
    >>> type(net[1]).__name__
    'Softmax'
    """
    found = _last(net)
    if found is None:
        return None
    owner, name = found
    ending = Ending(owner, name, getattr(owner, name))
    stand_in = Identity()
    stand_in.training = False
    setattr(owner, name, stand_in)
    return ending


def _last(net: Module) -> tuple[Module, str] | None:
    """Who holds the softmax that is the last to be computed, and under which name."""
    owner, name = net, ""
    if isinstance(net, Imported):
        steps = net.steps
        last = steps.steps[-1] if steps.steps else None
        if not isinstance(last, LayerStep) or [exit for exit, _ in steps.exits] != [last.writes]:
            return None
        *above, name = last.path.split(".")
        for step in above:
            owner = getattr(owner, step)
    elif isinstance(net, Sequential) and len(net):
        name, child = list(net.named_children())[-1]
        if isinstance(child, Sequential):
            return _last(child)
    part: Any = getattr(owner, name, None) if name else None
    return (owner, name) if type(part) is Softmax else None
