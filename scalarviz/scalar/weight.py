"""`Weight`: one trainable scalar as an object, with the four calls of the per-weight lesson."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsFloat, overload

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..checks import flag
from ..errors import InputError, TypeMismatchError, shown, typed
from . import tracing
from .number import as_number
from .store import Block
from .value import Value, _next_order


class Weight(Value):
    """A trainable scalar.

    Parameters
    ----------
    data : float
        The initial value.
    name : str
        The name in pictures and messages.

    Attributes
    ----------
    data, grad : float
        Live views of the store: a Run that trains this weight changes them.
    frozen : bool
        True: `step` and every optimiser skip it. The gradient is still computed.

    Examples
    --------
    One weight by hand, as in the per-weight lesson:

    >>> w = Weight(-3.0, name="w")
    >>> w.forward(2.0)
    -6.0
    >>> w.backward(1.0)
    -3.0
    >>> w.step(lr=0.1); round(w.data, 6)
    -3.2
    """

    __slots__ = ("__dict__", "_block", "_index", "_inputs", "_name")

    _block: Block
    _index: int
    _inputs: list[float] | None
    _name: str

    def __init__(self, data: SupportsFloat = 0.0, name: str = "") -> None:
        block = Block(1)
        block.values[0] = as_number(data, "Weight: the value")
        self._attach(block, 0, _text(name))
        block._adopt(self)

    @classmethod
    def _make_proxy(cls, block: Block, index: int) -> Weight:
        weight = cls.__new__(cls)
        weight._attach(block, index, "")
        return weight

    def _attach(self, block: Block, index: int, name: str) -> None:
        self._block, self._index, self._name = block, index, name
        self._inputs = None
        self._op = None
        self._parents = ()
        self._order = _next_order()

    @property
    def name(self) -> str:
        """Its own name, or its place in the network (``"0.weight[4][2]"``)."""
        return self._name or self._block.weight_name(self._index)

    @name.setter
    def name(self, name: str) -> None:
        self._name = _text(name)

    @property
    def label(self) -> str:
        """The name, under micrograd's word."""
        return self.name

    @label.setter
    def label(self, label: str) -> None:
        self.name = label

    @property
    def _title(self) -> str:
        """The start of error messages."""
        return f"Weight {shown(self.name)}" if self.name else "Weight"

    def _number(self, number: SupportsFloat, what: str) -> float:
        """Return `number` as a float.

        The name, a walk through the network, is looked up only if the conversion may fail.
        """
        return number if type(number) is float else as_number(number, f"{self._title}: {what}")

    @property
    def data(self) -> float:
        """The value, in the store's precision."""
        if tracing._threads:
            tracing.forbid(".data")
        block = self._block
        if block.store.gate is not None:
            return float(block.store.gate.read_numbers("value", block._span(self._index, self._index + 1))[0])
        number: float = block.values[self._index]
        return number

    @data.setter
    def data(self, number: SupportsFloat) -> None:
        block, value = self._block, self._number(number, "the value")
        if block.store.owner is not None:
            block._write(self._index, np.array([value]))
        else:
            block.values[self._index] = value
            block.store.revision += 1

    @property
    def grad(self) -> float:
        """The accumulated gradient; 0.0 before any backward (see `has_grad`). ``grad = None`` clears it."""
        block = self._block
        if block.store.gate is not None:
            return float(block.store.gate.read_numbers("grad", block._span(self._index, self._index + 1))[0])
        number: float = block.grads[self._index]
        return number

    @grad.setter
    def grad(self, number: SupportsFloat | None) -> None:
        block = self._block
        if block.store.gate is not None:
            block._own_grads()
        given = number is not None
        if type(number) is not float:
            number = self._number(number, "the gradient") if number is not None else 0.0
        block.grads[self._index] = number
        block.computed_flags[self._index] = given

    @property
    def has_grad(self) -> bool:
        """True if a gradient has been computed since the last `zero_grad`."""
        return bool(self._block.computed[self._index])

    @property
    def frozen(self) -> bool:
        """True if `step` and optimisers skip the value."""
        return bool(self._block._seen("frozen", self._index, self._index + 1)[0])

    @frozen.setter
    def frozen(self, frozen: bool) -> None:
        self._block._freeze(self._index, np.array([flag(frozen, f"{self._title}: frozen")]))

    @property
    def requires_grad(self) -> bool:
        """The opposite of `frozen`, under PyTorch's name."""
        return not self.frozen

    @requires_grad.setter
    def requires_grad(self, requires: bool) -> None:
        self.frozen = not flag(requires, f"{self._title}: requires_grad")

    @overload
    def forward(self, x: Value) -> Value: ...  # type: ignore[overload-overlap]
    @overload
    def forward(self, x: SupportsFloat) -> float: ...
    def forward(self, x: Value | SupportsFloat) -> Value | float:
        """Return ``w * x``.

        Parameters
        ----------
        x : float or Value
            A number is stored for `backward` (last in, first out), and the product is a float. A Value gives a graph
            node; nothing is stored.
        """
        if isinstance(x, Value):
            return self * x
        number = self._number(x, "forward's x")
        if self._inputs is None:
            self._inputs = []
        self._inputs.append(number)
        return self.data * number

    def backward(self, upstream: SupportsFloat = 1.0) -> float | None:
        """Pop the last x that `forward` stored: ``grad += upstream * x``; return ``w * upstream``.

        Without a stored x it is the rule of a leaf: ``grad += upstream``; return None.
        """
        number = self._number(upstream, "the upstream gradient")
        if not self._inputs:
            self.grad += number
            return None
        self.grad += number * self._inputs.pop()
        return self.data * number

    def step(self, lr: SupportsFloat = 0.01) -> None:
        """Take one step of gradient descent, ``w -= lr * grad``; do nothing if frozen.

        Raises
        ------
        InputError
            `lr` is negative or not finite.
        """
        rate = as_number(lr, "lr")
        if not (math.isfinite(rate) and rate >= 0):
            raise InputError(f"{self._title}: lr must be a finite number >= 0, got {shown(rate)}; try 0.01")
        if not self.frozen:
            self.data -= rate * self.grad

    def zero_grad(self) -> None:
        """Set the gradient to 0, "not computed yet", and discard stored inputs."""
        if self._block.store.gate is not None:
            self._block._own_grads()
        self._block.grads[self._index] = 0.0
        self._block.computed[self._index] = 0
        self._inputs = None

    def initialize(self, low: float = 0.0, high: float = 1.0, *, seed: int = 0) -> None:
        """Draw the value uniformly from [`low`, `high`) with the package's random generator.

        Raises
        ------
        InputError
            A bound is not finite, or `low` is above `high`.
        """
        low, high = (as_number(bound, f"{self._title}: a bound of initialize") for bound in (low, high))
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise InputError(f"{self._title}: initialize needs finite low <= high, got {shown(low)} and {shown(high)}")
        number = rng.uniform(seed, rng.Stream.WEIGHTS, 0, 1, start=self._index)[0]
        self.data = low + (high - low) * float(number)

    def pending(self) -> tuple[float, ...]:
        """Return the inputs that `forward` stored and `backward` has not used yet, oldest first."""
        return tuple(self._inputs or ())

    # ---- in-place operators under sv.no_grad: `w -= lr * w.grad`

    def __iadd__(self, other: Any) -> Value:
        return self._in_place(self + other)

    def __isub__(self, other: Any) -> Value:
        return self._in_place(self - other)

    def __imul__(self, other: Any) -> Value:
        return self._in_place(self * other)

    def __itruediv__(self, other: Any) -> Value:
        return self._in_place(self / other)

    def _in_place(self, result: Value) -> Value:
        """Under ``sv.no_grad`` set the number of this Weight; otherwise return the new node for the name."""
        if not tracing.untracking():
            return result
        self.data = result.data
        return self

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Weight({name}data={self.data:.6g}, grad={self.grad:.6g})"

    def __deepcopy__(self, memo: dict[int, object]) -> Weight:
        make, numbers = self.__reduce__()
        copy: Weight = make(*numbers)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.data, self.grad, self._name, self.has_grad, self.frozen)


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeMismatchError(f"the name of a Weight must be a string, got {typed(name)}")
    return str(name)


def _restored(data: float, grad: float, name: str, computed: bool, frozen: bool) -> Weight:
    """Return a stand-alone Weight with these numbers, for copies and pickles."""
    weight = Weight(data, name)
    weight._block.grads[0] = grad
    weight._block.computed[0] = computed
    weight.frozen = frozen
    return weight


Block.proxy = Weight._make_proxy


Indices = NDArray[np.intp]


def named_blocks(given: Any, title: str, name: str) -> list[tuple[Block, Indices]]:
    """Return blocks in the order of their first mention, with the mentioned indices; `name` is the argument's name."""
    if isinstance(given, Block | Weight | str | np.ndarray) or not isinstance(given, Iterable):
        raise TypeMismatchError(f"{title}: {name} must be a list, such as net.parameters(); got {typed(given)}")
    found: dict[Block, set[int]] = {}
    for i, part in enumerate(given):
        if isinstance(part, Weight):
            found.setdefault(part._block, set()).add(part._index)
        elif isinstance(part, Block):
            found.setdefault(part, set()).update(range(part.size))
        else:
            kind = f"{type(part).__module__}.{type(part).__name__}".removeprefix("builtins.")
            hint = "; to train a number use sv.Weight(number)" if isinstance(part, Value) else ""
            raise TypeMismatchError(f"{title}: {name}[{i}] must be a Parameter or a Weight, got {kind}{hint}")
    return [(block, np.array(sorted(held), np.intp)) for block, held in found.items()]
