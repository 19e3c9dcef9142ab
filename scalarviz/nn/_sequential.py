"""Modules made of layers: `Sequential`, one after another; `MLP`, in one line; `Network`, one layer of perceptrons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, overload

from ..arguments import of_torch
from ..checks import position, text
from ..errors import InputError, TypeMismatchError, shown
from ..scalar import Value, Weight
from ..scalar.sums import Dot, Row
from . import _module
from ._activations import Tanh
from ._draws import Function
from ._inputs import as_input
from ._linear import Linear, as_row, callable_or_none, count
from ._module import Module
from ._parameter import ParameterView

LISTS = (list, tuple)


class Sequential(Module):
    """Modules one after another; each receives the outputs of the one before.

    Parameters
    ----------
    *modules : Module, or one dict of them
        They are named ``"0"``, ``"1"``, ..., or by the keys of the dict. Without modules it is the identity.

    Raises
    ------
    TypeMismatchError
        An argument is no Module.
    InputError
        A name is no text, is empty, contains a dot, or is the name of an attribute.

    Examples
    --------
    >>> from scalarviz import nn
    >>> net = nn.Sequential(nn.Linear(3, 2, seed=0), nn.Tanh())
    >>> net[0].weight[1][2].name
    '0.weight[1][2]'
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else None
        for name, module in enumerate(modules) if named is None else named.items():
            self._add(name, module)

    def append(self, module: Module) -> Sequential:
        """Add a module at the end; TypeMismatchError if it is no Module."""
        self._add(len(self), module)
        return self

    def _add(self, name: object, module: Any) -> None:
        if not isinstance(module, Module):
            raise _no_module(name, module)
        key = str(name) if type(name) is int else text(name, "Sequential: a name")
        if not key or "." in key or hasattr(self, key):
            raise InputError(
                f"Sequential: {shown(key)} cannot name a part; a name must not be empty, contain a dot, or be an "
                "attribute or method of Sequential"
            )
        setattr(self, key, module)

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x

    def __setitem__(self, index: int, module: Module) -> None:
        """Put another module in the place of one."""
        name = list(self._chain())[position(index, len(self), "Sequential")]
        if not isinstance(module, Module):
            raise _no_module(name, module)
        setattr(self, name, module)

    def _chain(self) -> dict[str, Module]:
        """Return the modules by name, in the order of calls: that in which they became attributes."""
        return {name: part for name, part in vars(self).items() if isinstance(part, Module)}

    def __len__(self) -> int:
        return len(self._chain())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._chain().values())

    @overload
    def __getitem__(self, index: int) -> _module.Part: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Any:
        items = list(self._chain().items())
        if isinstance(index, slice):
            return Sequential(dict(items[index]))
        return items[position(index, len(items), "Sequential")][1]


def _no_module(name: object, given: Any) -> TypeMismatchError:
    hint = f"; did you mean {given.__name__}()?" if isinstance(given, type) else ""
    hint = "; unpack a list of modules: Sequential(*layers)" if type(given) in LISTS else hint
    hint = f"; this is PyTorch's: use scalarviz.nn.{theirs}" if (theirs := of_torch(given)) else hint
    return TypeMismatchError(f"Sequential: part {name!r} must be a Module, got {shown(given)}{hint}")


class MLP(Sequential):
    """Linear layers with an activation after each but the last one. PyTorch has no such module.

    ``nn.MLP(2, [8], 1)`` equals ``nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))``, with the same names.
    micrograd's form ``nn.MLP(2, [8, 1])`` builds the same network.

    Parameters
    ----------
    n_in, n_out : int
        Numbers of inputs and of outputs.
    bias, init, seed
        As for :class:`Linear`, errors too.
    hidden : int or sequence of int
        Width of each hidden layer; an empty list gives a single linear layer. Without `n_out` the last width is the
        output's.
    activation : callable
        Returns a new module, such as the class ``nn.ReLU``; called once for each hidden layer.

    Raises
    ------
    TypeMismatchError
        `activation` returns no module, or the output width is missing.
    """

    def __init__(
        self, n_in: int, hidden: int | Sequence[int], n_out: int | None = None, activation: Callable[[], Module] = Tanh,
        bias: bool = True, init: Function | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        given: Any = hidden
        if isinstance(given, str) or (isinstance(given, Sequence) and any(isinstance(n, str) for n in given)):
            raise InputError(f"MLP: hidden must be a whole number or a list of them, got {shown(hidden)}")
        inner = [count(n, "MLP: hidden") for n in (given if isinstance(given, Sequence) else [given])]
        if n_out is None and not (isinstance(given, Sequence) and given):
            raise TypeMismatchError(f"MLP: the output width is missing; write nn.MLP({shown(n_in)}, {shown(given)}, 1)")
        widths = [count(n_in, "MLP: n_in"), *inner, *([] if n_out is None else [count(n_out, "MLP: n_out")])]
        parts: list[Module] = []
        for k, (before, behind) in enumerate(pairwise(widths)):
            parts += [*([_make_activation(activation)] if k else []), Linear(before, behind, bias=bias)]
        super().__init__(*parts)
        self.initialize(init, seed)


def _make_activation(activation: Any) -> Module:
    made = activation() if callable(activation) and not isinstance(activation, Module) else activation
    if not isinstance(made, Module) or made is activation:
        raise TypeMismatchError(
            "MLP: activation must return a module, such as the class nn.ReLU or lambda: nn.ELU(0.5); got "
            f"{shown(activation)}"
        )
    return made


SHOWN = 8  # the most perceptrons, and weights of each, that are printed


class PerceptronView:
    """One perceptron of a `Network`: a row of its weights, one bias, its activation. It holds no numbers of its own."""

    def __init__(self, network: Network, index: int) -> None:
        layer = network.layer
        self.index, self.activation = index, network.activation
        self.weight: ParameterView = layer.weight[index]
        self.bias: Weight | None = None if layer.bias is None else layer.bias[index]

    def summation(self, x: Sequence[Any]) -> Value:
        """Return the weighted sum ``sum(weight[j] * x[j]) + bias`` of one sample."""
        row = as_row(as_input(x, self), len(self.weight), f"perceptron {self.index}")
        weights = Row(self.weight.parameter, self.weight.start, len(self.weight))
        return Dot.create(weights, tuple(row), None if self.bias is None else Row(self.bias._block, self.index, 1))

    def __call__(self, x: Sequence[Any]) -> Value:
        total = self.summation(x)
        return total if self.activation is None else self.activation(total)

    def parameters(self) -> list[Weight]:
        """Return its weights and its bias, as single objects."""
        return [*self.weight, *([] if self.bias is None else [self.bias])]

    def __repr__(self) -> str:
        return "\n".join([f"perceptron {self.index}", *_tree(self.parts())])

    def parts(self) -> list[str]:
        """Return the lines of its tree: weights, bias, summation, activation."""
        numbers = "  ".join(f"{w:+.4f}" for w in self.weight.data[:SHOWN])
        rest = len(self.weight) - SHOWN
        bias = "none" if self.bias is None else f"{self.bias.data:+.4f}"
        return [
            f"weights     {numbers}" + (f"  ... {rest} more" if rest > 0 else ""),
            f"bias        {bias}",
            "summation   z = " + ("Σ w·x" if self.bias is None else "Σ w·x + b"),
            f"activation  {self.activation if self.activation is not None else 'none'}",
        ]


class Network(Sequential):
    """One layer of perceptrons: weighted sums, an activation, and the loss it is trained with.

    Its parameters are named as in ``Sequential(Linear(n_in, n_out), activation)``: ``0.weight`` and ``0.bias``.

    Parameters
    ----------
    n_in, n_out : int
        Numbers of inputs and of outputs.
    bias, init, seed
        As for :class:`Linear`, errors too.
    activation : Module, optional
        Applied to every sum, such as ``nn.Sigmoid()``.
    loss : callable, optional
        Only shown in the printed tree; a Run gets its own loss.

    Attributes
    ----------
    layer : Linear
    activation : Module or None
    loss : callable or None

    Raises
    ------
    TypeMismatchError
        `activation` is no module, or `loss` cannot be called.
    """

    loss: Callable[[Any, Any], Value] | None

    def __init__(
        self, n_in: int, n_out: int, activation: Module | None = None,
        loss: Callable[[Any, Any], Value] | None = None, bias: bool = True, init: Function | None = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        callable_or_none(activation, "Network: activation")
        callable_or_none(loss, "Network: loss", "a function such as nn.MSELoss()")
        super().__init__(Linear(n_in, n_out, bias=bias, init=init, seed=seed))
        if activation is not None:
            self.append(activation)
        self.loss = loss

    def _chain(self) -> dict[str, Module]:
        return {name: part for name, part in super()._chain().items() if name != "loss"}

    @property
    def layer(self) -> Linear:
        """The layer that holds all weights."""
        return self[0]

    @property
    def activation(self) -> Any:
        """The activation of the sums, or None."""
        return self[1] if len(self) > 1 else None

    @property
    def perceptrons(self) -> Perceptrons:
        """The perceptrons of the layer, as views."""
        return Perceptrons(self)

    def __repr__(self) -> str:
        layer = self.layer
        units = list(self.perceptrons)[:SHOWN]
        branches = [repr(unit) for unit in units]
        if layer.out_features > SHOWN:
            branches.append(f"... {layer.out_features - SHOWN} more perceptrons")
        branches.append(f"loss        {self.loss if self.loss is not None else 'none'}")
        return "\n".join([f"network {layer.in_features} -> {layer.out_features}", *_tree(branches)])


class Perceptrons(Sequence[PerceptronView]):
    def __init__(self, network: Network) -> None:
        self._network = network

    def __len__(self) -> int:
        return self._network.layer.out_features

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return PerceptronView(self._network, position(index, len(self), "perceptrons"))


def _tree(branches: list[str]) -> list[str]:
    lines: list[str] = []
    for k, branch in enumerate(branches):
        last = k == len(branches) - 1
        head, *rest = branch.split("\n")
        lines.append(("└─ " if last else "├─ ") + head)
        lines += [("   " if last else "│  ") + line for line in rest]
    return lines
