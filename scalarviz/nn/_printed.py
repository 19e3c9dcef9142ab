"""How a module prints: its class, its own words, and its parts below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..scalar import Weight
from ._parameter import Parameter

if TYPE_CHECKING:
    from ._module import Module


def tree(module: Module) -> str:
    """A module and all below it, a line each."""
    lines = [(name, _brief(part)) for name, part in module._members() if _shown(module, part)]
    if not lines:
        return f"{type(module).__name__}({module.extra_repr()})"
    own = [module.extra_repr()] if module.extra_repr() else []
    inside = "\n".join([*own, *(f"({name}): {text}" for name, text in lines)]).replace("\n", "\n  ")
    return f"{type(module).__name__}(\n  {inside}\n)"


def _shown(module: Module, part: object) -> bool:
    """Parameters are lines of their own only where `extra_repr` does not tell them."""
    return not isinstance(part, Parameter | Weight) or not module.extra_repr()


def _brief(part: Module | Parameter | Weight) -> str:
    if isinstance(part, Parameter):
        return f"Parameter of shape {part.shape}"
    return f"Weight {part.data:.6g}" if isinstance(part, Weight) else repr(part)
