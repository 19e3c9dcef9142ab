"""`Network`: one layer of perceptrons, the whole of the per-weight lesson, as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..checks import position
from ..errors import TypeMismatchError, shown
from ..scalar import Value, Weight
from ..scalar.dot import Dot, Row
from ._inputs import as_input
from ._linear import Linear, as_row, callable_or_none
from ._module import Module
from ._parameter import ParameterView
from ._sequential import Sequential
from .init import Function

SHOWN = 8  # perceptrons and weights of each that are printed


class PerceptronView:
    """One perceptron of a `Network`: a row of its weights, one bias, its activation. No numbers of its own.

    Attributes
    ----------
    index : int
    weight : ParameterView, shape (n_in,)
    bias : Weight or None
    activation : Module or None
    """

    def __init__(self, network: Network, index: int) -> None:
        layer = network.layer
        self.index, self.activation = index, network.activation
        self.weight: ParameterView = layer.weight[index]
        self.bias: Weight | None = None if layer.bias is None else layer.bias[index]

    def summation(self, x: Sequence[Any]) -> Value:
        """The weighted sum ``sum(weight[j] * x[j]) + bias`` of one sample."""
        row = as_row(as_input(x, self), len(self.weight), f"perceptron {self.index}")
        weights = Row(self.weight.parameter, self.weight.start, len(self.weight))
        return Dot.of(weights, tuple(row), None if self.bias is None else Row(self.bias._block, self.index, 1))

    def __call__(self, x: Sequence[Any]) -> Value:
        """The output for one sample."""
        total = self.summation(x)
        result: Value = total if self.activation is None else self.activation(total)
        return result

    def parameters(self) -> list[Weight]:
        """Its weights and its bias, as single objects."""
        return [*self.weight, *([] if self.bias is None else [self.bias])]

    def __repr__(self) -> str:
        return "\n".join([f"perceptron {self.index}", *_tree(self.parts())])

    def parts(self) -> list[str]:
        """Lines of the lesson's tree."""
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

    Parameters
    ----------
    n_in, n_out : int
        Inputs, and perceptrons.
    activation : Module, optional
        Applied to every sum, such as ``nn.Sigmoid()``.
    loss : callable, optional
        Only shown in the tree; a Run is given its loss.
    bias, init, seed
        As for :class:`Linear`.

    Attributes
    ----------
    layer : Linear
    activation : Module or None
    loss : callable or None

    Notes
    -----
    Its parameters are named as in ``Sequential(Linear(n_in, n_out), activation)``: ``0.weight`` and ``0.bias``.

    Raises
    ------
    InputError
        A size is below 1; when called: not `n_in` inputs.
    TypeMismatchError
        `activation` is no module, or `loss` cannot be called.
    """

    loss: Callable[[Any, Any], Value] | None

    def __init__(
        self,
        n_in: int,
        n_out: int,
        activation: Module | None = None,
        loss: Callable[[Any, Any], Value] | None = None,
        bias: bool = True,
        init: Function | None = None,
        seed: int | None = None,
    ) -> None:
        callable_or_none(activation, "Network: activation")
        given: Any = loss
        if given is not None and (not callable(given) or isinstance(given, type)):
            raise TypeMismatchError(f"Network: loss must be a function such as nn.MSELoss(), got {shown(given)}")
        super().__init__(Linear(n_in, n_out, bias=bias, init=init, seed=seed))
        if activation is not None:
            self.append(activation)
        self.loss = loss

    @property
    def layer(self) -> Linear:
        """The layer that holds all weights."""
        layer: Linear = self[0]
        return layer

    @property
    def activation(self) -> Any:
        """What is applied to the sums, or None."""
        return self[1] if len(self) > 1 else None

    @property
    def perceptrons(self) -> Perceptrons:
        """Views of the rows."""
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
    """The perceptrons of a network, by number."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def __len__(self) -> int:
        return self._network.layer.out_features

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return PerceptronView(self._network, position(index, len(self), "perceptrons"))

    def __iter__(self) -> Iterator[PerceptronView]:
        return (PerceptronView(self._network, i) for i in range(len(self)))


def _tree(branches: list[str]) -> list[str]:
    """The lines under a node, with the lines that join them."""
    lines: list[str] = []
    for k, branch in enumerate(branches):
        last = k == len(branches) - 1
        head, *rest = branch.split("\n")
        lines.append(("└─ " if last else "├─ ") + head)
        lines += [("   " if last else "│  ") + line for line in rest]
    return lines
