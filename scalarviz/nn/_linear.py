"""`Linear` and `Perceptron`: weighted sums."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..checks import flag, integer
from ..errors import InputError, TypeMismatchError, shown
from ..scalar import Value, Weight
from ..scalar.array import like
from ..scalar.nested import shape_of
from ..scalar.sums import affine
from ._draws import Function
from ._inputs import titled
from ._module import Module
from ._parameter import Parameter

MOST = 1 << 40
"""The most inputs, outputs or channels; the memory of a layer is checked when it is made."""


def count(number: object, what: str) -> int:
    return integer(what, number, 1, MOST)


def as_row(x: Any, n: int, title: str) -> list[Value]:
    """Return the inputs of a layer as a list; one Value is a row of one. InputError unless it is a row of `n`."""
    row: list[Any] = [x] if isinstance(x, Value) else x.tolist()
    if len(row) != n or (row and isinstance(row[0], list)):
        raise misfit(x, n, title)
    return row


def misfit(x: Any, n: int, title: str) -> InputError:
    """Return the error for an input whose last dimension is not `n`."""
    shape = shape_of(x)
    hint = "; for a picture put nn.Flatten() before it" if len(shape) > 1 and prod(shape) == n else ""
    return InputError(f"{title}: a row must have length {n}, got an input of shape {shape}{hint}")


class Linear(Module):
    """A layer of weighted sums, ``out[i] = sum(weight[i][j] * x[j]) + bias[i]``.

    Parameters
    ----------
    in_features, out_features : int
        Numbers of inputs and of outputs.
    bias : bool
        Whether each sum has a bias.
    init : Initializer, optional
        Default: :func:`scalarviz.nn.init.pytorch_default`.
    seed : int, optional
        Seed of the initial values. Without it the layer takes the next numbers of the process-wide counter
        (:mod:`scalarviz.nn.init`).

    Attributes
    ----------
    weight : Parameter, shape (out_features, in_features)
    bias : Parameter, shape (out_features,), or None
    in_features, out_features : int

    Raises
    ------
    InputError
        A size is below 1, or the weights need too much memory; when called: not `in_features` inputs.
    TypeMismatchError
        `bias` is neither True nor False, or `init` is no function.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, init: Function | None = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        self.in_features = count(in_features, "Linear: in_features")
        self.out_features = count(out_features, "Linear: out_features")
        self.weight = Parameter.filled(0.0, (self.out_features, self.in_features), self._title())
        self.bias = Parameter(np.zeros(self.out_features)) if flag(bias, "Linear: bias") else None
        self.initialize(init, seed)

    def forward(self, x: Any) -> Any:
        """Return the `out_features` sums of one row of `in_features` numbers; further dimensions before it stay."""
        n, made, shape = self.in_features, self.out_features, shape_of(x)
        if (shape or (1,))[-1] != n:
            raise misfit(x, n, self._title())
        if len(shape) < 2:
            return like(x, affine(self.weight, made, self.bias, as_row(x, n, "")), (made,))
        rows = np.ndarray.view(x, np.ndarray).reshape(-1, n).tolist()
        sums = [v for row in rows for v in affine(self.weight, made, self.bias, row)]
        return like(x, sums, (*shape[:-1], made))

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        return self.in_features, self.out_features

    def _row_size(self) -> int:
        return self.out_features

    def _title(self) -> str:
        return titled(self, f"Linear({self.in_features}, {self.out_features})")

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Perceptron(Module):
    """One unit: a weighted sum and an activation, ``activation(sum(weight[j] * x[j]) + bias)``.

    Parameters
    ----------
    n_in : int
        Number of inputs.
    bias, init, seed
        As for :class:`Linear`, errors too.
    activation : Module, optional
        Applied to the sum. Default: none.

    Attributes
    ----------
    weight : Parameter, shape (n_in,)
    bias : Weight or None
    activation : Module or None

    Raises
    ------
    TypeMismatchError
        `activation` cannot be called.
    """

    def __init__(
        self, n_in: int, activation: Callable[[Any], Any] | None = None, bias: bool = True,
        init: Function | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        self.in_features = count(n_in, "Perceptron: n_in")
        activation = callable_or_none(activation, "Perceptron: activation")
        self.weight = Parameter.filled(0.0, (self.in_features,), f"Perceptron({self.in_features})")
        self.bias = Weight() if flag(bias, "Perceptron: bias") else None
        self.initialize(init, seed)
        self.activation = activation

    def forward(self, x: Any) -> Value:
        """Return the output for one sample of `n_in` numbers, a single Value."""
        row = as_row(x, self.in_features, f"Perceptron({self.in_features})")
        bias = None if self.bias is None else self.bias._block
        total = affine(self.weight, 1, bias, row)[0]
        return total if self.activation is None else self.activation(total)

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        return self.in_features, 1

    def extra_repr(self) -> str:
        other = "" if isinstance(self.activation, Module) else f", activation={self.activation!r}"
        return f"{self.in_features}{other}, bias={self.bias is not None}"


def callable_or_none(given: Any, what: str, such: str = "a module such as nn.Sigmoid()") -> Any:
    """Return `given` if it is None or can be called; TypeMismatchError if not, or if it is a class."""
    if given is not None and (not callable(given) or isinstance(given, type)):
        hint = f"; did you mean {given.__name__}()?" if isinstance(given, type) else ""
        raise TypeMismatchError(f"{what} must be {such}, got {shown(given)}{hint}")
    return given
