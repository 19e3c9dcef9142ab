"""`Numbers`: the numbers of weights and their gradients, in NumPy's words and in PyTorch's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes
from ..scalar._absent import TENSOR
from ..scalar.array import IN_PLACE, TensorWords, Values
from ..scalar.outputs import Outputs, plain, taped
from ._draws import next_draw

CHANGES: dict[str, Callable[..., Any]] = {
    "add": lambda x, other, *, alpha=1: x + alpha * plain(other),
    "sub": lambda x, other, *, alpha=1: x - alpha * plain(other),
    "addcmul": lambda x, a, b, *, value=1: x + value * (plain(a) * plain(b)),
    "addcdiv": lambda x, a, b, *, value=1: x + value * (plain(a) / plain(b)),
    "lerp": lambda x, end, weight: x + weight * (plain(end) - x),
    "copy": lambda x, other, non_blocking=False: plain(other),
    "fill": lambda x, value: value,
    "zero": lambda x: 0.0,
    "normal": lambda x, mean=0.0, std=1.0: mean + std * next_draw().normal(x.shape),
    "uniform": lambda x, a=0.0, b=1.0: a + (b - a) * next_draw().uniform(x.shape),
}
"""What PyTorch's changes in place compute that are no words of outputs; ``x.normal_()`` draws as a new layer would."""


CHANGED = {*CHANGES, *IN_PLACE}
"""Words with ``_`` that change the numbers."""
VIEWS = ("chunk", "expand", "narrow", "select", "split", "t", "unbind", "unflatten", "unsqueeze")
"""Words that NumPy has not and whose results share the memory."""


LANES = ("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "max", "mean", "min", "prod", "std", "sum",
         "var")  # fmt: skip
"""NumPy's words that are PyTorch's with one of the arguments `THEIRS`."""
THEIRS = {"correction", "descending", "dim", "keepdim", "unbiased"}


class Numbers(np.ndarray[Any, Any]):
    """An array of numbers without a graph: ``p.data``, ``p.grad``, a buffer, or an array of a state_dict.

    A word of NumPy's means what it means there (``std`` divides by n). Any other is PyTorch's, and so is one that gets
    ``dim=`` or ``keepdim=``; one that ends with ``_`` changes the numbers. PyTorch's functions, such as
    ``load_state_dict``, accept the array as a tensor.
    """

    requires_grad = False
    device = "cpu"
    size = Values.__dict__["size"]
    of_sample = False
    view = Outputs.view  # type: ignore[assignment]
    _missing = attributes(TENSOR, "an array of numbers")

    def __getattr__(self, name: str) -> Any:
        own, without_graph = name.removesuffix("_"), taped(self, None)
        if name.startswith("_"):
            return self._missing(name)
        if own != name and own in CHANGED:
            return partial(self._change, CHANGES.get(own) or getattr(Outputs, own))
        if name in VIEWS:
            return partial(getattr(TensorWords, name), self)
        return getattr(without_graph, name) if hasattr(without_graph, name) else self._missing(name)

    def _change(self, change: Callable[..., Any], *args: Any, **named: Any) -> Numbers:
        np.copyto(self, change(taped(self, None), *args, **named), casting="same_kind")
        return self

    def __array_wrap__(self, found: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return found[()] if found.ndim == 0 else found.view(Numbers)

    def as_values(self) -> Numbers:
        """Return the array, for words that only look at it in another way."""
        return self

    def detach(self) -> Numbers:
        """Return the array: it has no graph, is on the CPU and float64."""
        return self

    cpu = double = contiguous = detach

    @property
    def data(self) -> Numbers:  # type: ignore[override]
        """The array itself."""
        return self

    def clone(self) -> Numbers:
        """Return a copy."""
        return self.copy()

    def numpy(self) -> NDArray[Any]:
        """Return the numbers as an array of NumPy's own class."""
        return plain(self)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Convert the arrays to tensors; PyTorch calls it, so PyTorch is loaded."""

        def tensor(x: Any) -> Any:
            if isinstance(x, list | tuple):
                return type(x)(map(tensor, x))
            return sys.modules["torch"].from_numpy(np.asarray(x)) if isinstance(x, cls) else x

        return function(*map(tensor, args), **{name: tensor(x) for name, x in (kwargs or {}).items()})

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle as a plain array, so that a file does not need this package."""
        return plain(self).__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(plain(self))


def _along(name: str) -> Callable[..., Any]:
    def word(self: Numbers, *args: Any, **named: Any) -> Any:
        if THEIRS.isdisjoint(named):
            return getattr(np.ndarray, name)(self, *args, **named)
        return getattr(taped(self, None), name)(*args, **named)

    word.__name__, word.__doc__ = name, f"NumPy's {name}; PyTorch's with dim= or keepdim=."
    return word


for _name in LANES:
    setattr(Numbers, _name, _along(_name))
