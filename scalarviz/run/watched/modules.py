"""The weights of a torch.nn.Module, asked by its own methods: PyTorch is not imported here."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ..frame import Role
from .leaves import is_tensor
from .parts import Part, role_of


def is_module(x: object) -> bool:
    """Whether it names parameters and buffers, and keeps them in a state_dict, as modules of PyTorch do."""
    names = ("named_parameters", "named_buffers", "state_dict")
    if isinstance(x, type) or not all(callable(getattr(x, name, None)) for name in names):
        return False
    module: Any = x
    return all(is_tensor(one) for _, one in module.named_parameters())


def module_parts(module: Any) -> list[Part]:
    """What a module holds: parameters, and the buffers that it keeps in files; masks and the like are made anew.

    Raises
    ------
    InputError
        It has no weights yet.
    """
    parameters, made_anew = dict(module.named_parameters()), _made_anew(module)
    for name, one in parameters.items():
        if type(one).__name__.startswith("Uninitialized"):
            raise InputError(f"{name} has no shape yet; try it after the first batch has gone through the network")
    found = [Part(name, one, role_of(name), not one.requires_grad) for name, one in parameters.items()]
    return found + [Part(name, one, _buffer(one)) for name, one in module.named_buffers() if name not in made_anew]


def _made_anew(module: Any) -> set[str]:
    """Names of buffers that no file holds, as each layer knows its own; a state_dict may have other names."""
    layers = module.named_modules() if callable(getattr(module, "named_modules", None)) else [("", module)]
    return {
        f"{path}.{name}" if path else name
        for path, layer in layers
        for name in getattr(layer, "_non_persistent_buffers_set", ())
    }


def _buffer(one: Any) -> Role:
    """A number that counts batches is one that is not drawn."""
    whole = not (one.is_floating_point() or one.is_complex())
    return "count" if whole and not len(one.shape) else "buffer"
