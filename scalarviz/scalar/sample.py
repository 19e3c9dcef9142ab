"""`Sample`: an array of Values inside ``forward``, of one sample, without PyTorch's batch axis.

PyTorch's forward gets a batch, and ours one sample. Words that count from the end mean the same in both. Words that
name the batch axis are refused with the word that means the same, or understood where they can mean only one thing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError, shown
from .array import Values, values
from .value import Value


def names_the_batch(word: str, d: int, ndim: int, same: str) -> InputError:
    """Return the error for a word that counts PyTorch's batch as dimension 0; `same` says what means the same."""
    what = f"for the sample's first axis write {same.format(-ndim)}" if d == 0 else f"write {same.format(d - ndim - 1)}"
    return InputError(
        f"{word}: in PyTorch dimension 0 is the batch, and forward gets one sample without it; {what}, which means the "
        "same in both"
    )


class Sample(Values):
    """An array inside ``forward``, of one sample: its batch axis is missing, and words that name it are refused."""

    __slots__ = ()

    of_sample = True

    def refuse_batch(self, name: str, dim: Any, ndim: int) -> None:
        if isinstance(dim, int | np.integer) and 0 <= dim <= ndim:
            raise names_the_batch(f".{name}(dim={dim})", int(dim), ndim, "dim={}")

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        """The sides of the sample; count them from the end."""
        return Sides(np.ndarray.view(self, np.ndarray).shape)

    @property
    def T(self) -> Any:
        """Refused: in PyTorch it would turn the batch as well."""
        same = ": write .transpose(-2, -1), which means the same in both" if self.ndim > 1 else ", and mix samples"
        raise InputError(f".T would turn PyTorch's batch axis too{same}")

    def t(self) -> Any:
        return self.T

    def dim(self) -> int:
        raise InputError(
            f".dim() counts PyTorch's batch axis, .numel() its numbers too; a sample here has the shape "
            f"{tuple(self.shape)}, and x.shape[-1] means the same in both"
        )

    numel = dim

    def reshape(self, *shape: Any, **numpy: Any) -> Any:
        first = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        batch = bool(first) and isinstance(first[0], BatchSize)
        if not batch and len(first) > 1 and first[0] == -1:
            batch = prod(first[1:]) == int(self.size)
            if not batch:
                raise InputError(
                    f".view{first} would join PyTorch's batch axis with others; write .view(x.size(0), -1, "
                    f"{', '.join(map(str, first[1:]))}), which means the same in both"
                )
        first = first[1:] if batch else first  # the batch stays as it is
        return super().reshape(tuple(first), **numpy)

    def permute(self, *dims: Any) -> Any:
        order = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
        if len(order) == self.ndim + 1 and order[0] == 0:  # the batch stays first
            order = tuple(d - 1 if d > 0 else d for d in order[1:])
        elif any(d >= 0 for d in order):
            same = "leave it first, as in .permute(0, ...)" if self.ndim > 1 else "it would mix samples"
            raise InputError(f".permute{order} counts PyTorch's batch axis; {same}")
        return super().permute(*order)

    def expand(self, *sizes: Any) -> Any:
        given = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
        batch = len(given) == self.ndim + 1
        if batch and not isinstance(given[0], BatchSize) and given[0] != -1:
            raise InputError(f".expand{given}: the first size is PyTorch's batch size; write -1 for it")
        return super().expand(*given[batch:])

    def __getitem__(self, index: Any) -> Any:
        self._refuse_index(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, numbers: Any) -> None:
        self._refuse_index(index)
        super().__setitem__(index, numbers)

    def _refuse_index(self, index: Any) -> None:
        if index is None or (isinstance(index, tuple) and index and index[0] is None):
            raise InputError(
                "x[None] would stand before PyTorch's batch axis; write x[..., None, :], which means the same in both"
            )
        if isinstance(index, tuple) and len(index) > 1 and isinstance(index[0], slice) and index[0] == slice(None):
            rest = [_index_words(part) for part in index[1:]]
            behind = [":"] * (self.ndim - sum(part is not None for part in index[1:]))
            same = ", ".join(["...", *(part for part in (*rest, *behind) if part != "...")])
            raise InputError(
                f"x[:, {', '.join(rest)}] begins with PyTorch's batch axis, and forward gets one sample without it; "
                f"write x[{same}], which means the same in both"
            )


def _index_words(index: Any) -> str:
    if isinstance(index, slice):
        parts = ["" if part is None else str(part) for part in (index.start, index.stop, index.step)]
        return ":".join(parts[: 2 if index.step is None else 3])
    return "..." if index is Ellipsis else shown(index)


class Sides(tuple[int, ...]):
    """The shape of a `Sample`, counted from the end."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            begin, end = index.start, index.stop
            if (begin is not None and begin >= 0) or (end is not None and end >= 0):
                raise InputError(
                    f"x.shape[{_index_words(index)}] counts PyTorch's batch axis; a sample here has the shape "
                    f"{tuple(self)}: count from the end, such as x.shape[{(begin or 1) - len(self) - 1}:], which means "
                    "the same in both"
                )
        elif index == 0:
            return BatchSize()
        elif index > 0 and index <= len(self):
            raise names_the_batch(f"x.shape[{index}] or x.size({index})", index, len(self), "x.shape[{}]")
        return super().__getitem__(index)


class BatchSize:
    """PyTorch's ``x.size(0)``: it only stands in ``x.view(x.size(0), ...)``."""

    of_batch = True
    __array_ufunc__ = None  # so that an array times this calls `refuse`

    def refuse(self, *_: Any) -> Any:
        """Raise InputError: nothing here knows the size of the batch."""
        raise InputError(
            "x.size(0) and x.shape[0] are PyTorch's batch size, and forward gets one sample without it; a mean over "
            "the batch belongs into the loss, and x.shape[-1] is a side that means the same in both"
        )

    __hash__ = None  # type: ignore[assignment]


for _name in ("index", "int", "float", "eq", "ne", "lt", "le", "gt", "ge", "neg", "bool"):
    setattr(BatchSize, f"__{_name}__", BatchSize.refuse)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(BatchSize, f"__{_name}__", BatchSize.refuse)
    setattr(BatchSize, f"__r{_name}__", BatchSize.refuse)


def _of_one(name: str) -> Callable[..., Any]:
    """Return a method of a single Value that means the method of an array without dimensions."""
    return lambda self, *dims, **named: getattr(values([self], ()).view(Sample), name)(*dims, **named)


for _name in ("flatten", "max", "mean", "min", "reshape", "squeeze", "sum", "unsqueeze", "view"):
    setattr(Value, _name, _of_one(_name))
