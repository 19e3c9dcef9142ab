"""`Elementwise`: elementwise arithmetic of `Parameter` and its rows, named as in PyTorch.

``p * p``, ``p ** 2`` and ``abs(p)`` are evaluated late: the ``sum()`` of one is a single node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arguments import attributes
from ..scalar import outputs, tracing
from ..scalar._absent import TENSOR
from ..scalar.array import METHODS, OPERATORS, TensorWords, Values, as_objects, each, product, values
from ..scalar.sums import Dot, Row, Total, affine
from ..scalar.value import as_value


class Elementwise(TensorWords):
    """Arithmetic, reductions and slices of weights that lie side by side."""

    __slots__ = ()

    shape: tuple[int, ...]
    how: ClassVar[str] = "identity"

    def row(self) -> Row:
        """Return the weights as a row of their block."""
        raise NotImplementedError

    def as_values(self) -> Values:
        """Return each number as an object: its `Weight`, or the Value computed from it."""
        return values(self.row().weights(), self.shape)

    def sum(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the sum of all numbers as one node, or the sums along `dim`."""
        if dim is not None or keepdim or numpy:
            return super().sum(dim, keepdim, **numpy)
        return Total.create(self.row(), self.how)

    def mean(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the mean of all numbers, or along `dim`."""
        if dim is not None or keepdim or numpy:
            return super().mean(dim, keepdim, **numpy)
        return self.sum() / len(self.row())

    def square(self) -> Any:
        """Return the square of each number."""
        return Each(self, "square") if self.how == "identity" else each("square", self)

    def abs(self) -> Any:
        """Return the absolute value of each number."""
        return Each(self, "abs") if self.how == "identity" else each("abs", self)

    if TYPE_CHECKING:  # they are set below

        def __add__(self, other: Any) -> Any: ...
        def add(self, *others: Any) -> Any: ...

        __radd__ = __sub__ = __rsub__ = __rmul__ = __truediv__ = __rtruediv__ = __rpow__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__
        sub = mul = div = neg = exp = log = sqrt = sin = cos = tanh = sigmoid = softplus = relu = leaky_relu = add
        minimum = maximum = clip = add
    else:
        __getattr__ = attributes(TENSOR)

    @classmethod
    def _by_torch(cls, function: Any, name: str, args: Any, options: Any) -> Any:
        """Return what a function of PyTorch makes of the numbers, if no gradient gets lost; refused in a forward."""
        kind: Any = outputs.Outputs if tracing.at_top() else Values
        return kind._by_torch(function, name, args, options)

    @property
    def T(self) -> Values:
        """The transpose."""
        return self.as_values().T

    def reshape(self, *shape: Any) -> Values:
        """Return the same numbers, in C order, in another shape."""
        found: Values = self.as_values().reshape(*shape).view(Values)
        return found

    def __mul__(self, other: Any) -> Any:
        same = isinstance(other, Elementwise) and self.how == other.how == "identity" and _same(self.row(), other.row())
        return self.square() if same and self.shape == other.shape else each("mul", self, other)

    def __pow__(self, other: Any) -> Any:
        return self.square() if type(other) in (int, float) and other == 2 else each("pow", self, other)

    def __abs__(self) -> Any:
        return self.abs()

    def __matmul__(self, other: Any) -> Any:
        if self._meets_batch(other):
            return outputs.product(self, other)
        xs = as_objects(other, "@")
        if self.how != "identity" or len(self.shape) not in (1, 2) or xs.shape != self.shape[-1:]:
            return product(self, xs)
        row, n = self.row(), len(xs)
        inputs = tuple([as_value(x) for x in xs.tolist()])
        if len(self.shape) == 1:
            return Dot.create(row, inputs, None)
        if len(row) == row.block.size:
            return values(affine(row.block, self.shape[0], None, inputs), self.shape[:1])
        rows = [Row(row.block, start, n) for start in range(row.start, row.start + len(row), n)]
        return values([Dot.create(one, inputs, None) for one in rows], self.shape[:1])

    def __rmatmul__(self, other: Any) -> Any:
        return outputs.product(other, self) if self._meets_batch(other) else product(other, self)

    def _meets_batch(self, other: Any) -> bool:
        """Return whether an operand of ``@`` is an array of samples: the product is one of arrays, as for a module."""
        rows = isinstance(other, np.ndarray) and other.ndim == 2 and other.dtype.kind in "biuf"
        return rows and len(self.shape) < 3 and self.how == "identity" and tracing.at_top()

    def __neg__(self) -> Any:
        return each("neg", self)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and not options:
            return self.__rmatmul__(operands[0]) if operands[1] is self else self.__matmul__(operands[1])
        return self.as_values().__array_ufunc__(ufunc, method, *operands, **options)


class Each(Elementwise):
    """The square, or the absolute value, of each of some weights."""

    __slots__ = ("how", "of", "shape")

    def __init__(self, of: Elementwise, how: str) -> None:
        self.of, self.how, self.shape = of, how, of.shape  # type: ignore[misc]

    def row(self) -> Row:
        return self.of.row()

    def as_values(self) -> Values:
        found: Values = each(self.how, self.of)
        return found

    @property
    def data(self) -> Any:
        return self.as_values().data

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.as_values()[index]

    def __iter__(self) -> Any:
        return iter(self.as_values())

    def __repr__(self) -> str:
        return f"{self.how} of each of {self.shape}"


def _same(a: Row, b: Row) -> bool:
    return a.block is b.block and (a.start, a.length) == (b.start, b.length)


def _operator(name: str, turned: bool) -> Any:
    return (lambda self, other: each(name, other, self)) if turned else (lambda self, other: each(name, self, other))


for _symbol, _name in (*OPERATORS, *((_name, _name) for _name in ("lt", "le", "gt", "ge"))):
    if f"__{_symbol}__" not in vars(Elementwise):  # a product and a power check for squares
        setattr(Elementwise, f"__{_symbol}__", _operator(_name, False))
for _symbol, _name in OPERATORS:
    setattr(Elementwise, f"__r{_symbol}__", _operator(_name, True))
for _name in METHODS:
    if not hasattr(Elementwise, _name):
        setattr(Elementwise, _name, getattr(Values, _name))
