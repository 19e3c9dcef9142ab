"""`Outputs`: what a module returns for a batch, an array of numbers that remembers how it was computed.

It is a small tape of whole arrays: the operations are those of the table, and the words are those of an array of
Values. ``backward`` walks from a loss to the calls of modules, each of which knows how to go on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial, partialmethod
from itertools import count
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes
from ..errors import InputError, StateError, TypeMismatchError
from . import tracing
from ._absent import TENSOR
from .array import (
    METHODS,
    OPERATORS,
    Extremes,
    TensorWords,
    Values,
    _dim_and_keepdim,
    _missing,
    _places,
    dimensions,
    each,
    explain_words,
    in_place,
    instead_of,
    last,
)  # fmt: skip
from .functions import OPERATIONS
from .kernel import numpy_form
from .number import Many
from .store import Block
from .sums import dot
from .value import Value

Array = NDArray[Any]
REAL = np.dtype(np.float64)
COMPARISONS = ("lt", "le", "gt", "ge")
COMPARED = {"eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less", "ne": "not_equal"}
UFUNCS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power, "matmul": np.matmul,
    **{name: getattr(np, ufunc) for name, ufunc in COMPARED.items()},
}  # fmt: skip
"""NumPy's functions of Python's operators."""
STEPS = ("ceil", "floor", "rint", "round", "sign", "trunc")
"""NumPy's functions whose derivative is 0 wherever it exists."""

_next_order = count().__next__


class Made:
    """How an array was computed: from which others, and by which rule its gradient goes on to them.

    `pull` takes the gradient of the array, and returns one for each of `operands`.
    """

    __slots__ = ("__weakref__", "operands", "order", "pull")

    def __init__(self, operands: Sequence[Made], pull: Callable[[Array], Iterable[Array]]) -> None:
        self.operands, self.pull, self.order = operands, pull, _next_order()


def walk(last: Made, upstream: Array, again: bool) -> None:
    """Carry a gradient from an array to all that it was computed from, the youngest first; `again` keeps the rules."""
    found, above = {last}, [last]
    while above:
        for operand in above.pop().operands:
            if operand not in found:
                found.add(operand)
                above.append(operand)
    gradients = {last: upstream}
    for made in sorted(found, key=lambda one: one.order, reverse=True):
        gradient = gradients.pop(made)
        for operand, part in zip(made.operands, made.pull(gradient), strict=True):
            gradients[operand] = gradients[operand] + part if operand in gradients else part
        if not again:
            made.pull = _second_time


def _refused(_: Array) -> Any:
    raise StateError(
        "backward(): a NumPy function or method without a known gradient was applied to outputs of a batch; use +, -, "
        "*, /, **, @, their methods, or sv.exp and the like"
    )


def taped(numbers: Any, made: Made | None) -> Outputs:
    """Return numbers as `Outputs` that were computed so."""
    found: Outputs = np.asarray(numbers).view(Outputs)
    found._made = made
    if made is not None:  # rules use the numbers, so nothing may change them
        found.flags.writeable = False
    return found


def plain(x: Any) -> Array:
    """Return the numbers alone."""
    if isinstance(x, np.ma.MaskedArray):
        return x  # whoever takes numbers refuses it
    if isinstance(x, np.ndarray) and x.dtype != object:
        return np.ndarray.view(x, np.ndarray)
    if isinstance(x, Many):
        return np.asarray(x.as_values().data)
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def untracking() -> bool:
    """Return whether no gradient is wanted: under ``sv.no_grad``, or PyTorch's."""
    return tracing.untracking() or not tracing.torch_tracks()


def _operand(x: Any) -> tuple[Any, Made | None]:
    """Return the numbers of an operand, and how it was computed; None if it needs no gradient."""
    if isinstance(x, Outputs):
        return (np.array(plain(x)) if x._made is None else plain(x)), x._made
    if isinstance(x, Value):
        return x.data, Made((), partial(_end, x.backward))
    if isinstance(x, Block):
        return leaf_of(x)
    if isinstance(x, Many):
        values = x.as_values()
        flat = values.ravel().tolist()
        return values.data, Made((), partial(_end, lambda upstream: dot(upstream.ravel().tolist(), flat).backward()))
    return (x if type(x) in (float, int) else np.array(plain(x))), None  # a copy: its memory may be used again


def leaf_of(block: Any) -> tuple[Array, Made]:
    """Return the numbers of a Parameter, and a rule that adds to its gradient."""
    numbers = np.array(block.data, REAL)

    def pull(upstream: Array) -> tuple[()]:
        if not np.array_equal(block.data, numbers, equal_nan=True):
            raise StateError(
                "backward(): a weight has changed since it was used, so its gradient is unknown; call backward() "
                "before optimizer.step()"
            )
        block.add_gradient(upstream.ravel(), np.ones(block.size, np.uint8))
        return ()

    return numbers, Made((), pull)


def as_outputs(x: Any) -> Outputs:
    """Return Values, a Parameter or numbers as outputs, whose gradient goes back to where they came from."""
    return x if isinstance(x, Outputs) else taped(*_operand(x))


def _end(backward: Callable[[Any], object], upstream: Array) -> tuple[()]:
    """Hand a gradient over to Values, whose graph is not of arrays."""
    backward(upstream)
    return ()


def fitted(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Return the gradient of an operand of this shape, which was broadcast: the sum over its copies."""
    if gradient.shape == shape:
        return gradient
    more = gradient.ndim - len(shape)
    copied = tuple(k + more for k, side in enumerate(shape) if side == 1)
    return np.asarray(gradient.sum(axis=(*range(more), *copied), keepdims=True).reshape(shape))


def _computed(
    operands: Sequence[Any], compute: Callable[..., Any], pulls: Callable[..., Sequence[Callable[[Array], Any] | None]]
) -> Outputs:
    """Return ``compute(*numbers)``; `pulls` takes the numbers and the result, and gives a rule for each operand."""
    given = [_operand(x) for x in operands]
    numbers = [x for x, _ in given]
    try:
        with np.errstate(all="ignore"):
            found = compute(*numbers)
    except ValueError:
        shapes = " and ".join(str(np.shape(x)) for x in numbers)
        raise InputError(f"outputs of a batch: NumPy cannot combine the shapes {shapes}") from None
    if untracking() or all(made is None for _, made in given):
        return taped(found, None)
    rules = zip(given, pulls(*numbers, found), strict=True)
    alive = [(made, np.shape(x), rule) for (x, made), rule in rules if made is not None and rule is not None]

    def pull(upstream: Array) -> list[Array]:
        with np.errstate(all="ignore"):
            return [fitted(np.asarray(rule(upstream)), shape) for _, shape, rule in alive]

    return taped(found, Made([made for made, *_ in alive], pull))


class Places(Values):
    """The places of numbers in an array. A word that moves numbers moves these, and so says where each came from."""

    __slots__ = ()

    def item_value(self) -> Any:
        return self


class Outputs(TensorWords, np.ndarray[Any, Any]):  # type: ignore[misc]  # PyTorch's arguments, not NumPy's
    """The outputs of a module for a batch, the first axis of which counts the samples; and what is computed from them.

    Examples
    --------
    >>> from scalarviz import nn
    >>> net = nn.Linear(2, 1, seed=0)
    >>> X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0], [1.0]])
    >>> loss = ((net(X) - y) ** 2).mean()
    >>> loss.backward()
    >>> net.weight.grad.shape, loss.item() > 0
    ((1, 2), True)
    """

    of_sample = False
    taped = True
    product: ClassVar[Callable[[Any, Any], Any]]
    joined: ClassVar[Callable[[Sequence[Any], int, int], Any]]
    _made: Made | None = None

    def __array_finalize__(self, source: Any) -> None:
        # what NumPy makes of outputs by itself has no rule; `taped` sets the rule of all else
        made = getattr(source, "_made", None)
        if made is not None:
            self._made = Made((), _refused)

    __getattr__ = attributes(TENSOR, "a batch of outputs")

    def as_values(self) -> Any:
        return self

    def item_value(self) -> Any:
        return self

    @classmethod
    def of_tensor(cls, x: Any) -> Any:
        return taped(plain(x), None)

    # ---- operations

    def each(self, name: str, *operands: Any) -> Any:
        value, partials = numpy_form(name, REAL)

        def pulls(*numbers: Any) -> list[Any]:
            return [None if rule is None else partial(rule, *numbers) for rule in partials]

        return _computed(operands, value, pulls)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if any(map(_has_graph, options.get("out") or ())):
            raise TypeMismatchError("outputs of a batch are not changed in place; write y = y + ..., or y = np.exp(y)")
        found = OPERATIONS.get(ufunc.__name__, "lt")
        if method == "__call__" and not options and any(map(_has_graph, operands)):
            if ufunc is np.matmul:
                return product(*operands)
            if found not in COMPARISONS:
                return self.each(found, *operands)
        if out := options.pop("out", None):  # memory of others, such as that of weights
            options["out"] = tuple(map(plain, out))
            self._without_rule(getattr(ufunc, method), operands, options)
            return out[0] if len(out) == 1 else out
        return self._without_rule(getattr(ufunc, method), operands, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        name = function.__name__ if function.__module__ == "numpy" else ""
        if name in FUNCTIONS:
            return FUNCTIONS[name](*args, **options)
        if hasattr(TensorWords, name) and name not in OTHERWISE:  # NumPy calls the method
            return super().__array_function__(function, types, args, options)
        return self._without_rule(function, args, options)

    def _without_rule(self, function: Callable[..., Any], args: Any, options: Any) -> Any:
        """Return what a function without a gradient makes of the numbers; a float result cannot be walked back."""
        with np.errstate(all="ignore"):
            found = function(*_bare(args), **_bare(options))
        if not isinstance(found, np.ndarray | np.generic):
            return found
        steps = function.__name__ in STEPS
        real = found.dtype.kind == "f" and not steps and _has_graph([*args, *options.values()])
        return taped(found, Made((), _refused) if real else None)

    @classmethod
    def _by_torch(cls, function: Any, name: str, args: Any, options: Any) -> Any:
        """Return what a function of PyTorch makes of the numbers; PyTorch says whether a gradient would get lost."""
        tracked = list[bool]()

        def tensor(x: Any) -> Any:
            if isinstance(x, list | tuple):
                return type(x)([tensor(part) for part in x])
            if not isinstance(x, TensorWords):
                return x
            numbers, made = _operand(x)
            found = sys.modules["torch"].from_numpy(np.array(numbers))
            tracked.append(made is not None and not untracking())
            return found.requires_grad_(tracked[-1])

        given, named = tensor(tuple(args)), {key: tensor(option) for key, option in options.items()}
        if any(tracked) and in_place(function):
            raise TypeMismatchError(
                f"torch.{name}: a tensor cannot keep the gradient of outputs of a batch; sv.stack([a, b]) keeps it, "
                "and .detach() gives the numbers alone"
            )
        lost = any(tracked) and str(function.__module__).startswith("torch.autograd")
        found = None if lost else function(*given, **named)
        if lost or (any(tracked) and _has_tensor_graph(found)):
            raise TypeMismatchError(
                f"torch.{name} of outputs of a batch has no gradient here{instead_of(name)}; .detach() gives the "
                "numbers alone"
            )
        return found

    def _taken(self, places: Any) -> Outputs:
        """Return the numbers at these places; a gradient goes back to where they came from."""
        flat, shape = plain(places).ravel(), self.shape

        def pull(upstream: Array) -> list[Array]:
            return [np.bincount(flat, upstream.ravel(), prod(shape)).reshape(shape)]

        numbers = plain(self).ravel()[flat].reshape(np.shape(places))
        made = None if self._made is None or untracking() else Made((self._made,), pull)
        return taped(numbers, made)

    def __getitem__(self, index: Any) -> Any:
        return self._taken(self._own_places()[_bare(index)])

    def _own_places(self) -> Places:
        return np.arange(prod(self.shape)).reshape(self.shape).view(Places)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __hash__(self) -> int:  # type: ignore[override]
        """One number without a graph, such as a class, may be in a set or a key of a dict."""
        if self.ndim or self._made is not None:
            raise TypeError(f"unhashable: outputs of the shape {self.shape}; one number is y.item()")
        return hash(self.item())

    def __setitem__(self, index: Any, numbers: Any) -> None:
        if self._made is not None:
            raise TypeMismatchError("outputs of a batch are not changed in place; use sv.where(condition, a, b)")
        plain(self)[_bare(index)] = plain(numbers)

    # ---- reductions

    def sum(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        return self._summed("sum", dim, keepdim, numpy, False)

    def mean(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        return self._summed("mean", dim, keepdim, numpy, True)

    def _summed(self, name: str, dim: Any, keepdim: bool, numpy: dict[str, Any], mean: bool) -> Any:
        if any(option is not None for key, option in numpy.items() if key not in ("axis", "keepdims")):
            return self._without_rule(getattr(np, name), (self,), numpy)  # such as np.sum(y, dtype=int)
        dim, keepdim = _dim_and_keepdim(name, dim, keepdim, numpy)
        gone, shape = dimensions(self, dim, name), self.shape
        kept = tuple(1 if d in gone else side for d, side in enumerate(shape))
        share = 1.0 / prod(shape[d] for d in gone) if mean and prod(shape) else 1.0

        def pulls(x: Array, _: Any) -> list[Any]:
            return [lambda upstream: np.broadcast_to(np.reshape(upstream * share, kept), shape)]

        return _computed((self,), lambda x: (np.mean if mean else np.sum)(x, axis=gone, keepdims=keepdim), pulls)

    def amax(self, dim: Any = None, keepdim: bool = False) -> Any:
        return self._largest("amax", None, dim, keepdim, {})

    def amin(self, dim: Any = None, keepdim: bool = False) -> Any:
        return self._largest("amin", None, dim, keepdim, {})

    def _largest(self, name: str, _: Any, dim: Any, keepdim: bool, numpy: dict[str, Any]) -> Any:
        dim, keepdim = _dim_and_keepdim(name, dim, keepdim, numpy)
        gone, shape = dimensions(self, dim, name), self.shape
        left = [d for d in range(self.ndim) if d not in gone]
        places = plain(self._own_places()).transpose(*left, *gone).reshape(*(shape[d] for d in left), -1)
        if not places.shape[-1]:
            raise InputError(f".{name}(): the shape {shape} has no numbers")
        chosen = (np.argmin if name.endswith("min") else np.argmax)(plain(self).ravel()[places], axis=-1)
        found = self._taken(np.take_along_axis(places, chosen[..., None], -1)[..., 0])
        return found.reshape([1 if d in gone else side for d, side in enumerate(shape)]) if keepdim else found

    def all(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        return self._any_or_all(np.all, dim, keepdim, numpy)

    def any(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        return self._any_or_all(np.any, dim, keepdim, numpy)

    def _any_or_all(self, find: Callable[..., Any], dim: Any, keepdim: bool, numpy: dict[str, Any]) -> Any:
        dim, keepdim = _dim_and_keepdim(find.__name__, dim, keepdim, numpy)
        return taped(find(plain(self), axis=dimensions(self, dim, find.__name__), keepdims=keepdim), None)

    def argmax(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        return taped(_places(np.argmax, self, dim, keepdim, numpy), None)

    def argmin(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        return taped(_places(np.argmin, self, dim, keepdim, numpy), None)

    def topk(self, k: int, dim: int = -1, largest: bool = True) -> Any:
        """Return the `k` largest numbers along `dim`, the largest first, and their indices."""
        numbers = np.moveaxis(plain(self), dim, -1)
        order = np.argsort(-numbers if largest else numbers, axis=-1, kind="stable")[..., :k]
        places = np.take_along_axis(np.moveaxis(plain(self._own_places()), dim, -1), order, -1)
        return Extremes(self._taken(np.moveaxis(places, -1, dim)), lambda: taped(np.moveaxis(order, -1, dim), None))

    def logsumexp(self, dim: Any, keepdim: bool = False) -> Any:
        gone = dimensions(self, dim, "logsumexp")
        found = self._of_shares(gone, lambda x: _logs(x, gone), lambda u, p, _: u * p)
        return found if keepdim else found.sum(gone)

    def softmax(self, dim: int | None = None) -> Any:
        gone = dimensions(self, last(self, dim, "softmax"), "softmax")
        return self._of_shares(
            gone, lambda x: np.exp(x - _logs(x, gone)), lambda u, p, y: y * (u - (u * y).sum(gone, keepdims=True))
        )

    def log_softmax(self, dim: int | None = None) -> Any:
        gone = dimensions(self, last(self, dim, "log_softmax"), "log_softmax")
        return self._of_shares(gone, lambda x: x - _logs(x, gone), lambda u, p, _: u - p * u.sum(gone, keepdims=True))

    def _of_shares(self, gone: tuple[int, ...], compute: Callable[[Array], Any], rule: Callable[..., Array]) -> Any:
        """Return a result of which a gradient goes on by ``rule(upstream, shares, result)``."""
        return _computed(
            (self,), compute, lambda x, found: [lambda upstream: rule(upstream, np.exp(x - _logs(x, gone)), found)]
        )

    def var(  # type: ignore[override]
        self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float = 1, **numpy: Any
    ) -> Any:
        less = numpy.pop("ddof", correction if unbiased else 0)
        dim, keepdim = _dim_and_keepdim("var", dim, keepdim, numpy)
        gone = dimensions(self, dim, "var")
        many = prod(self.shape[d] for d in gone)
        return (self - self.mean(gone, True)).square().sum(gone, keepdim) / max(many - less, 0)

    # ---- copies and numbers

    size = Values.__dict__["size"]

    @property
    def T(self) -> Any:
        """The transpose."""
        return self._taken(plain(self._own_places()).T)

    @property
    def data(self) -> Any:
        """The numbers without a graph; a copy, if these are needed for a gradient."""
        return taped(self.numpy(), None)

    @property
    def requires_grad(self) -> bool:
        """True if `backward` reaches weights from here."""
        return self._made is not None

    def detach(self) -> Any:
        return self.data

    def clone(self) -> Any:
        return taped(plain(self).copy(), self._made)

    copy = clone  # type: ignore[assignment]

    def numpy(self) -> Array:
        return plain(self) if self._made is None else np.array(plain(self))

    def item(self) -> Any:  # type: ignore[override]
        return np.ndarray.item(self)

    def float(self) -> Any:
        """Return the numbers as float64; they are already, except for comparisons and indices."""
        return self if self.dtype.kind == "f" else taped(plain(self).astype(REAL), None)

    def round(self, decimals: int = 0) -> Any:  # type: ignore[override]
        """Return rounded numbers, whose gradient is 0."""
        return taped(np.round(plain(self), decimals), None)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.item(), digits)

    def argsort(self, dim: int = -1, descending: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        """Return the indices that sort the numbers along `dim`."""
        order = plain(self) * (-1.0 if descending else 1.0)
        return taped(np.argsort(order, numpy.pop("axis", dim), kind=numpy.pop("kind", None) or "stable"), None)

    def long(self) -> Any:
        """Return the whole parts, without a graph."""
        return taped(plain(self).astype(np.int64), None)

    def to(self, *_: Any, **__: Any) -> Any:
        """Return the outputs: they are on the CPU."""
        return self

    double = float
    cpu = contiguous = retain_grad = to

    def masked_fill(self, mask: Any, number: Any) -> Any:
        return self.each("where", mask, number, self)

    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Add the gradient of this number to the ``grad`` of every weight below it.

        Parameters
        ----------
        gradient : array, optional
            The upstream gradient; only an array with more than one number needs it.
        retain_graph : bool
            True: `backward` may be called again.

        Raises
        ------
        StateError
            Nothing here depends on a weight, a weight changed after the call, or it is the second time.
        """
        if self._made is None:
            raise StateError(
                "backward(): these numbers have no graph: they were computed under sv.no_grad(), from .detach(), or "
                "without a call of a module with a batch"
            )
        if gradient is None and prod(self.shape) != 1:
            raise StateError(
                f"backward() starts from one number, and these have the shape {self.shape}; use .mean() or .sum()"
            )
        upstream = np.ones(self.shape) if gradient is None else np.array(plain(gradient), REAL)
        if upstream.shape != self.shape:
            raise InputError(f"backward: gradient must have the shape {self.shape}, got {upstream.shape}")
        walk(self._made, upstream, retain_graph)


def _second_time(_: Array) -> Any:
    raise StateError(
        "backward() a second time through one graph; call the network again, or use backward(retain_graph=True) the "
        "first time"
    )


def _bare(x: Any) -> Any:
    """Return arguments of NumPy with numbers alone."""
    if isinstance(x, list | tuple):
        return type(x)([_bare(part) for part in x])
    if isinstance(x, dict):
        return {key: _bare(part) for key, part in x.items()}
    return _operand(x)[0] if isinstance(x, Many | Value) or hasattr(x, "detach") else x


def _has_graph(x: Any) -> bool:
    """Return whether an operand, or one in lists of them, leads to weights."""
    if isinstance(x, list | tuple):
        return any(map(_has_graph, x))
    return x._made is not None if isinstance(x, Outputs) else isinstance(x, Value | Many)


def _has_tensor_graph(x: Any) -> bool:
    """Return whether PyTorch keeps a graph for a tensor, or for one in lists of them."""
    return any(map(_has_tensor_graph, x)) if isinstance(x, list | tuple) else bool(getattr(x, "requires_grad", False))


def _logs(x: Array, gone: tuple[int, ...]) -> Array:
    """Return ``log(sum(exp(x)))`` along dimensions, which stay with size 1; the largest number is taken out before."""
    highest = np.max(x, axis=gone, keepdims=True, initial=-np.inf)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    found: Array = np.log(np.exp(x - highest).sum(gone, keepdims=True)) + highest
    return found


def product(a: Any, b: Any) -> Any:
    """Return ``a @ b``."""

    def pulls(a: Any, b: Any, _: Any) -> list[Any]:
        left, right = (a if a.ndim > 1 else a[None]), (b if b.ndim > 1 else b[:, None])

        def whole(u: Array) -> Array:
            u = u if b.ndim > 1 else u[..., None]
            return u if a.ndim > 1 else u[..., None, :]

        return [
            lambda u: fitted(whole(u) @ np.swapaxes(right, -1, -2), left.shape).reshape(a.shape),
            lambda u: fitted(np.swapaxes(left, -1, -2) @ whole(u), right.shape).reshape(b.shape),
        ]

    return _computed((a, b), np.matmul, pulls)


def joined(parts: Sequence[Any], dim: int, stack: int) -> Any:
    """Return arrays joined along `dim`, or along a new dimension."""

    def pulls(*numbers: Any) -> list[Any]:
        *given, found = numbers
        axis = dim % found.ndim
        ends = np.cumsum([1 if stack else x.shape[axis] for x in given])[:-1]
        return [lambda u, k=k, x=x: np.split(u, ends, axis)[k].reshape(x.shape) for k, x in enumerate(given)]

    return _computed(parts, lambda *x: np.stack(x, dim) if stack else np.concatenate(x, dim), pulls)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "concatenate": lambda parts, axis=0: joined(parts, axis, 0), "stack": lambda parts, axis=0: joined(parts, axis, 1),
    "where": lambda c, *others: each("where", c, *others) if others else np.nonzero(plain(c)),
    "clip": partial(each, "clip"),
}  # fmt: skip
"""NumPy's functions of several arrays."""


OTHERWISE = ("cumprod", "cumsum", "prod", "roll", "select", "tril", "triu")
"""NumPy's functions that take other arguments than PyTorch's words of these names."""


NUMBERS: dict[str, Callable[..., Any]] = {
    "equal": np.array_equal, **{name: getattr(np, name) for name in (
        "allclose", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "sign", "ceil", "floor", "trunc")},
}  # fmt: skip
"""PyTorch's words whose results have no gradient, or the gradient 0, and NumPy's functions for them."""


def _of_numbers(name: str) -> Callable[..., Any]:
    def found(self: Any, *args: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            made = NUMBERS[name](plain(self), *_bare(args), **_bare(named))
        return made if isinstance(made, bool) else taped(made, None)

    found.__name__, found.__doc__ = name, f"{name} of the numbers; it has no gradient."
    return found


def _running(name: str) -> Callable[..., Any]:
    def found(self: Outputs, dim: Any = None, **options: Any) -> Any:
        if self._made is None or untracking():  # counts, too: comparisons are no numbers for +
            return self._without_rule(getattr(np, name), (self, dim), options)
        return getattr(TensorWords, name)(self, dim, **options)

    found.__name__, found.__doc__ = name, getattr(TensorWords, name).__doc__
    return found


def _moving(name: str) -> Callable[..., Any]:
    def moved(self: Outputs, *args: Any, **named: Any) -> Any:
        found = getattr(self._own_places(), name)(*args, **named)
        return tuple(map(self._taken, found)) if isinstance(found, tuple) else self._taken(found)

    moved.__name__, moved.__doc__ = name, getattr(Values, name).__doc__
    return moved


def _view(self: Outputs, *shape: Any, **numpy: Any) -> Any:
    """Return the same numbers, in C order, in another shape."""
    of_numpy = numpy or (shape and isinstance(shape[0], type | str | np.dtype))
    return np.ndarray.view(self, *shape, **numpy) if of_numpy else self.reshape(*shape)


for _name in (
    "chunk", "diagonal", "expand", "flatten", "flip", "gather", "index_select", "narrow", "permute", "ravel", "reshape",
    "split", "squeeze", "swapaxes", "t", "transpose", "unbind", "unflatten", "unsqueeze",
):  # fmt: skip
    setattr(Outputs, _name, _moving(_name))
for _name in (*METHODS, "clamp"):
    setattr(Outputs, _name, getattr(Values, _name))
for _name in NUMBERS:
    setattr(Outputs, _name, _of_numbers(_name))
for _name, _ in OPERATORS:  # y += 1 makes another array: the graph keeps the old one
    setattr(Outputs, f"__i{_name}__", partialmethod(UFUNCS[_name]))
Outputs.view = _view  # type: ignore[method-assign,assignment]
Outputs.dot = product  # type: ignore[method-assign,assignment]
Outputs.product, Outputs.joined = staticmethod(product), staticmethod(joined)
for _name, _ufunc in UFUNCS.items():  # NumPy's own operators would leave the work to a tensor
    setattr(Outputs, f"__{_name}__", partialmethod(_ufunc))
for _name, _ in (*OPERATORS, ("matmul", "")):
    setattr(Outputs, f"__r{_name}__", partialmethod(lambda self, other, ufunc: ufunc(other, self), ufunc=UFUNCS[_name]))
for _name in COMPARED:
    setattr(Outputs, _name, getattr(Outputs, f"__{_name}__"))
for _name in ("cumprod", "cumsum"):
    setattr(Outputs, _name, _running(_name))
explain_words(Outputs)
Outputs.prod = TensorWords.prod  # type: ignore[method-assign]
for _name in ("repeat", "sort", "trace"):  # NumPy's methods, which have no gradient here
    setattr(Outputs, _name, property(_missing))
