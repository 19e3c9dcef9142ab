"""`Reader`: reads what is watched where it lies: values, gradients, and to which no gradient goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, TypeMismatchError, shown
from ...nn import Module
from ..frame import Tensor
from .alike import alike
from .leaves import Numbers, is_array, is_kept, is_tensor, numbers, shape_of
from .modules import is_module, module_parts
from .parts import Part, Parts, own_gradient, role_of
from .trees import is_tree, leaves

Float = NDArray[np.floating]
Flags = NDArray[np.bool_]


def can_be_read(x: object) -> bool:
    """Whether there may be numbers in it that can be watched."""
    return not isinstance(x, Module) and (is_module(x) or is_tree(x))


class Reader:
    """A module of PyTorch, or a tree of arrays.

    Parameters
    ----------
    x : torch.nn.Module or tree of arrays

    Raises
    ------
    TypeMismatchError, InputError
        Neither, or without numbers that can be read.
    """

    def __init__(self, x: Any) -> None:
        if not can_be_read(x):
            raise TypeMismatchError(
                f"watch: got {type(x).__name__} {shown(x)}; allowed: a torch.nn.Module, or arrays in nested dicts, "
                f"lists, tuples and dataclasses{_instead(x)}"
            )
        self.in_place = is_module(x)
        self._x: Any = x
        self._grads: Any = None
        self._former: Any = None  # what was given before, at the call before
        self._now = self._parts(x)
        self._laid = Parts(self._now)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """One for each array, and for each list of single numbers."""
        return self._laid.tensors

    def _parts(self, x: Any) -> list[Part]:
        if self.in_place:
            return module_parts(x)
        found = list(leaves(x))
        trains = any(is_tensor(leaf) and leaf.requires_grad for _, leaf in found)  # else it is a state_dict
        parts = list[Part]()
        for name, leaf in found:
            if is_module(leaf):
                parts += [replace(part, name=f"{name}.{part.name}") for part in module_parts(leaf)]
            else:
                frozen = trains and is_tensor(leaf) and not leaf.requires_grad
                parts.append(Part(name, leaf, role_of(name, leaf), frozen))
        return parts

    def give(self, params: Any = None, grads: Any = None) -> None:
        """From now on these are the arrays and their gradients; all is taken over or nothing.

        Raises
        ------
        InputError, TypeMismatchError
            Other names or shapes than before; params of a module, which is read in place.
        """
        if params is not None and self.in_place:
            raise InputError("update: got params of a module, whose own are read in place; try update(loss=loss)")
        if grads is not None and not alike(grads, self._grads):
            for name, leaf in leaves(grads):
                self._laid.fit(f"grads: {name}", name, shape_of(name, leaf))
        if params is not None and not alike(params, self._x):
            self._laid.fit_all({part.name: shape_of(part.name, part.leaf) for part in self._parts(params)})
        self._former = self._x if params is not None and params is not self._x else None
        if params is not None:
            self._x = params
        if params is not None or grads is not None:
            self._grads = grads

    def values(self) -> Float:
        """The numbers of the last :meth:`renew`'s arrays as they are now, a copy (P,).

        Raises
        ------
        InputError
            They have other names or shapes by now, or are not there any more.
        """
        return self._laid.values(self._now)

    def former(self) -> Float | None:
        """The numbers of the call before, (P,), where their arrays are still there and can have no others by now."""
        if self._former is None:
            return None
        parts = self._parts(self._former)
        try:
            kept = all(is_kept(part.name, part.leaf) for part in parts)
            return self._laid.values(parts) if kept else None
        except InputError:  # JAX has donated them to the step
            return None

    def renew(self) -> None:
        """Ask what there is by now: other arrays were given, or a layer got another tensor."""
        self._now = self._parts(self._x)

    def gradients(self) -> tuple[Float, Flags, Flags]:
        """Gradients (P,), where there is one (P,), and to which none goes (P,)."""
        parts = self._now
        own, given = own_gradient(parts), {} if self._grads is None else dict(leaves(self._grads))

        def found(name: str) -> Numbers | None:
            return numbers(f"grads: {name}", given[name]) if name in given else own(name)

        return *self._laid.gradients(found), self._laid.frozen(parts)


def _instead(x: object) -> str:
    """What to try with something that cannot be watched."""
    if isinstance(x, Module):
        return "; try sv.Run(net, ...), or sv.view.show(net)"
    if is_array(x):
        return "; try {'x': x}"
    if isinstance(x, Iterator):
        return "; try dict(net.named_parameters()), or list(x)"
    return "; try the network, or a dict of its weights"
