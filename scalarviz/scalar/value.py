"""`Value`: a number that remembers how it was computed.

An operation makes a node that holds its result, the operation and its parents; `Value.backward` visits the nodes from
the youngest to the oldest and applies the chain rule. The formulas stand in :mod:`scalarviz.scalar.ops`; `emit` and
`kernel` make code of them.

The operators that Values refuse, and the graph walks, come before the class.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, SupportsFloat

from ..arguments import Absent, explained
from ..errors import StateError, TracingError, TypeMismatchError, shown
from . import tracing
from ._absent import FORMULAS, each_name
from .kernel import Kernel, kernel
from .number import Many, as_number


def _refusing(symbol: str) -> Callable[..., Any]:
    def refuse(self: object, *others: Any) -> Any:
        raise TypeMismatchError(
            f"Values do not support {symbol}; use + - * / **, functions (sv.sin, sv.dot, ...), or add yours with "
            "sv.register"
        )

    return refuse


REFUSED = {
    f"__{side}{name}__": _refusing(symbol)
    for symbol, name in {"%": "mod", "//": "floordiv", "@": "matmul"}.items()
    for side in ("", "r")
}
"""The refusing methods, by name."""


_order_of = attrgetter("_order")


def inner_nodes(roots: Iterable[Value], ends: Iterable[Value] = ()) -> list[Value]:
    """Return every node with parents that gets a gradient from `roots`, youngest first, with gradients cleared.

    The walk does not go below `ends`, which are left out. Some nodes are not reached because an operand has no
    derivative (the condition of ``where``). Their gradients are cleared too, since an earlier call's are not gradients
    of `roots`.
    """
    seen = set(ends)
    found = [root for root in dict.fromkeys(roots) if root._op is not None and root not in seen]
    seen.update(found)
    aside: list[Value] = []
    for node in found:  # grows during the loop
        node.grad = 0.0
        op: Any = node._op
        if op.straight:
            below: Sequence[Value] = node._parents
        else:
            below = node._below()
            if op.partly:
                aside += node._parents  # a superset: the walk reaches the others anyway
        for parent in below:
            if parent._op is None:
                if type(parent) is Value and parent.grad is None:  # None was set to clear it, as in PyTorch
                    parent.grad = 0.0  # type: ignore[unreachable]
            elif parent not in seen:
                seen.add(parent)
                found.append(parent)
    if aside:
        _clear(aside, seen)
    found.sort(key=_order_of, reverse=True)
    return found


def _clear(nodes: list[Value], apart: set[Value]) -> None:
    """Set the gradients of `nodes` and of all nodes below them to 0, except for leaves and nodes in `apart`."""
    done: set[Value] = set()
    while nodes:
        node = nodes.pop()
        op = node._op
        if op is not None and node not in apart and node not in done:
            done.add(node)
            node.grad = 0.0
            nodes += node._parents if op.partly else node._below()


def backward_between(outputs: Sequence[Value], upstreams: Sequence[float], inputs: Sequence[Value]) -> list[float]:
    """Return the gradients of ``sum(upstream * output)`` with respect to each input; the inputs count as leaves.

    Nodes below the inputs are not touched. Other leaves (weights) accumulate, and so do inputs that are leaves. A Value
    that occurs twice among the inputs has its whole gradient at the first place and 0 at the second, so that the sum
    over places is right.
    """
    ends = dict.fromkeys(inputs)
    before = {end: end.grad if end._op is None else 0.0 for end in ends}
    for end in ends:
        end.grad = 0.0
    nodes = inner_nodes(outputs, ends)
    for output, upstream in zip(outputs, upstreams, strict=True):
        output.grad += upstream
    for node in nodes:
        node._op.pull(node)  # type: ignore[union-attr]
    found = {end: end.grad for end in ends}
    for end, old in before.items():
        end.grad = old + found[end]
    return [found.pop(x, 0.0) for x in inputs]


_next_order = itertools.count().__next__


ABSENT = FORMULAS | each_name({
    "T dim ndim numel permute shape size": "it is one number; arrays of Values have shapes: x[0:1], sv.stack([a, b])",
    "clone cpu cuda device double dtype float numpy to tolist":
        "it is one float64 on the CPU; value.item() gives its number",
    "grad_fn is_leaf requires_grad requires_grad_ retain_grad":
        "every Value keeps its gradient; value.parents has its operands",
    "clamp": "use value.clip(low, high)",
})  # fmt: skip
"""Attributes of PyTorch's tensors that a Value has not, and what is said of each."""


class Value:
    """A scalar in a graph.

    Parameters
    ----------
    data : float
        The number. A Value made by hand is a leaf (a constant in a recorded graph).
    label : str
        A name of your choice; ``node.label = "e"`` names a result.

    Attributes
    ----------
    data : float
        The number itself (float64).
    grad : float
        The gradient of the node on which `backward` was called, with respect to this one. 0.0 before any backward.
        Leaves accumulate over calls; inner nodes hold the last call's. ``grad = None`` clears it, as in PyTorch.
    op : str
        Name of the operation that made this node; empty for a leaf.
    parents : tuple of Value
        The operands of that operation.
    local_gradients : tuple of float
        The derivative of this node with respect to each parent.

    Notes
    -----
    Nodes have slots, a tuple of parents and no closures, so reference counting frees a graph.
    ``==`` is identity; ``< <= > >=`` make a 0/1 node without gradient, the condition of ``sv.where``.
    """

    __slots__ = ("__weakref__", "_label", "_op", "_order", "_parents", "data", "grad")

    data: float
    grad: float
    _label: str  # few nodes have one; without it a node spends only a pointer and no time
    _op: Kernel | None
    _parents: tuple[Value, ...]
    numpy_call: ClassVar[Callable[..., Any]]
    torch_call: ClassVar[Callable[..., Any]]
    """Applies a NumPy function to a Value. ``functions``, which needs Values, sets it."""

    def __init__(self, data: SupportsFloat, label: str = "") -> None:
        self.data = data if type(data) is float else as_number(data, "Value: the data")
        self.grad = 0.0
        self._op = None
        self._parents = ()
        self._order = _next_order()
        if type(label) is not str or label:
            self.label = label

    @property
    def label(self) -> str:
        """The name of the node, empty at first; for display only. A Weight's label is its name."""
        try:
            return self._label
        except AttributeError:
            return ""

    @label.setter
    def label(self, label: str) -> None:
        given: object = label
        if not isinstance(given, str):
            raise TypeMismatchError(f"{type(self).__name__}: the label must be a string, got {shown(given)}")
        self._label = label

    # ---- the chain rule

    def conjugate(self) -> Value:
        """Return the Value, which is real; NumPy's ``std`` and ``var`` of an array of Values ask for it."""
        return self

    @explained({"retain_graph": "a graph exists as long as its last node; omit retain_graph"})
    def backward(self, upstream: SupportsFloat = 1.0) -> float | None:
        """Add ``upstream * d self / d leaf`` to the ``grad`` of every leaf below this node.

        Parameters
        ----------
        upstream : float
            Upstream gradient: the derivative of the final result with respect to this node.

        Notes
        -----
        Reverse-mode differentiation. A node is always younger than its parents. So the walk from the youngest to the
        oldest visits every node after all of its users. Inner nodes start from 0 at each call.
        """
        upstream = as_number(upstream, "the upstream gradient")
        if self._op is None:
            if self._parents is UNTRACKED:
                raise StateError(
                    "backward(): this number was computed under sv.no_grad() and has no graph; compute it again outside"
                )
            cleared = self.grad is None
            self.grad = upstream if cleared else self.grad + upstream
            return None
        nodes = inner_nodes([self])
        self.grad = upstream
        for node in nodes:
            pull = node._op.pull  # type: ignore[union-attr]
            pull(node)
        return None

    @property
    def op(self) -> str:
        """The name of the operation that made this node (``"mul"``); empty for a leaf."""
        return "" if self._op is None else self._op.name

    @property
    def parents(self) -> tuple[Value, ...]:
        """The operands of the operation that made this node; empty for a leaf."""
        return self._parents

    @property
    def local_gradients(self) -> tuple[float, ...]:
        """The derivative of this node with respect to each parent; `backward` multiplies it with the upstream gradient.

        Examples
        --------
        >>> (Value(2.0) * Value(5.0)).local_gradients
        (5.0, 2.0)
        """
        if self._op is None:
            return ()
        operands = tuple([Value(parent.data) for parent in self._parents])
        twin = _node(self._op, operands, self.data)
        twin.grad = 1.0
        self._op.pull(twin)
        return tuple([operand.grad for operand in operands])

    def item(self) -> float:
        """Return the number as a float, as in PyTorch."""
        tracing.forbid(".item()")
        return self.data

    def detach(self) -> Value:
        """Return the number as a new Value without a graph."""
        return Value(self.item())

    def _graph_parents(self) -> Sequence[Value]:
        return self._parents

    def _below(self) -> Sequence[Value]:
        """Return the parents that get a gradient: the next nodes of a backward walk."""
        op, parents = self._op, self._parents
        return [parents[k] for k in op.flowing] if op is not None and op.partly else parents

    # ---- Python's operators

    def __add__(self, other: Any) -> Value:
        return binary(_ADD, self, other)

    def __radd__(self, other: Any) -> Value:
        return binary(_ADD, other, self)

    def __sub__(self, other: Any) -> Value:
        return binary(_SUB, self, other)

    def __rsub__(self, other: Any) -> Value:
        return binary(_SUB, other, self)

    def __mul__(self, other: Any) -> Value:
        return binary(_MUL, self, other)

    def __rmul__(self, other: Any) -> Value:
        return binary(_MUL, other, self)

    def __truediv__(self, other: Any) -> Value:
        return binary(_DIV, self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return binary(_DIV, other, self)

    def __pow__(self, other: Any) -> Value:
        return binary(_POW, self, other)

    def __rpow__(self, other: Any) -> Value:
        return binary(_POW, other, self)

    def __neg__(self) -> Value:
        return unary(_NEG, self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return unary(kernel("abs"), self)

    def __lt__(self, other: Any) -> Value:
        return binary(kernel("lt"), self, other)

    def __le__(self, other: Any) -> Value:
        return binary(kernel("le"), self, other)

    def __gt__(self, other: Any) -> Value:
        return binary(kernel("gt"), self, other)

    def __ge__(self, other: Any) -> Value:
        return binary(kernel("ge"), self, other)

    def __eq__(self, other: object) -> bool:
        if self is not other and not isinstance(other, Value):
            tracing.forbid("== (it is identity)")
        return self is other

    __hash__ = object.__hash__

    def __float__(self) -> float:
        tracing.forbid("float()", "; math.sin, math.exp and the like call float(): use sv.sin, sv.exp")
        return self.data

    def __int__(self) -> int:
        tracing.forbid("int()")
        return int(self.data)

    def __index__(self) -> int:
        tracing.forbid(
            "an index or a range()",
            ". nn.Embedding and sv.gather read a table; nn.CrossEntropyLoss and nn.NLLLoss take indices",
        )
        raise TypeMismatchError(f"a Value cannot be an index, as {self.data!r} is a float; use int(value)")

    def __round__(self, digits: int | None = None) -> float:
        tracing.forbid("round()")
        return round(self.data, digits)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        tracing.forbid("digits, as in f'{loss:.3f}',")
        return format(self.data, spec)

    def __bool__(self) -> bool:
        tracing.forbid("bool()", "; if, and, or, while call bool(); so do max, min: use sv.max, sv.min")
        return self.data != 0.0

    def __repr__(self) -> str:
        made = f", op={self.op}" if self.op else ""
        grad: float | None = self.grad
        label = f"{self.label!r}, " if self.label else ""
        return f"Value({label}data={self.data:.6g}, grad={grad if grad is None else f'{grad:.6g}'}{made})"

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        return Value.numpy_call(ufunc, method, operands, options)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), options: Any = None) -> Any:
        return Value.torch_call(function, args, options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        if self._op is not None or isinstance(self, Symbol):
            raise StateError(
                "a node of a graph cannot be copied or pickled: the graph exists only in this process. Use "
                "float(node) for its number, state_dict() for a model's numbers, or sv.trace(function, n_inputs) for "
                "the graph"
            )
        return _leaf, (self.data, self.grad, self.label)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in ABSENT]

    # scalarviz.scalar.functions attaches the methods exp, tanh, relu, ... from the ops table.
    add: Callable[[Any], Value]
    sub: Callable[[Any], Value]
    mul: Callable[[Any], Value]
    div: Callable[[Any], Value]
    neg: Callable[[], Value]
    pow: Callable[[Any], Value]
    exp: Callable[[], Value]
    log: Callable[[], Value]
    sqrt: Callable[[], Value]
    sin: Callable[[], Value]
    cos: Callable[[], Value]
    tanh: Callable[[], Value]
    sigmoid: Callable[[], Value]
    softplus: Callable[[], Value]
    relu: Callable[[], Value]
    leaky_relu: Callable[..., Value]
    abs: Callable[[], Value]
    square: Callable[[], Value]
    minimum: Callable[[Any], Value]
    maximum: Callable[[Any], Value]
    clip: Callable[[Any, Any], Value]
    where: Callable[[Any, Any], Value]


class _Untracked(tuple[Value, ...]):
    """No parents, because no gradient was wanted."""

    __slots__ = ()


UNTRACKED = _Untracked()
"""The parents of a number that was computed under ``sv.no_grad``."""

LEFT = (
    "a symbolic Value is used outside its recording; return it from forward, use the numbers of the Run, or call the "
    "model again"
)


class Symbol(Value):
    """A node of a graph that is being recorded: it has an operation and parents, but no number."""

    __slots__ = ()

    def __init__(self, op: Kernel | None = None, parents: tuple[Value, ...] = ()) -> None:
        self.grad = 0.0
        self._op = op
        self._parents = parents
        self._order = _next_order()

    @property
    def data(self) -> float:  # type: ignore[override]
        """Raise `TracingError`: there is no number yet."""
        tracing.forbid(".data")
        raise TracingError(LEFT)

    def __hash__(self) -> int:
        tracing.forbid("a key of a dict or a set (use sv.where, or sv.gather(table, id))")
        return object.__hash__(self)

    def backward(self, upstream: SupportsFloat = 1.0) -> float | None:
        """Raise `TracingError`: the engine computes the gradients of a recorded graph."""
        raise TracingError(
            "backward() is not allowed inside a recorded function; return the loss, and the engine computes the "
            "gradient"
        )

    def __repr__(self) -> str:
        return f"Symbol(op={self._op.name if self._op else 'input'})"


def _leaf(data: float, grad: float, label: str) -> Value:
    """Return a leaf with these numbers, for copies and pickles."""
    value = Value(data, label)
    value.grad = grad
    return value


OF_ARRAYS = "use the words of arrays, such as y.sum(), y.softmax(-1), y @ w, sv.cat([y, y]) or sv.stack(list(y))"


def as_value(x: Value | SupportsFloat) -> Value:
    """Return `x` itself, or a leaf with that number."""
    if isinstance(x, Value):
        return x
    if not isinstance(x, Many):
        return Value(x)
    found = x.item_value()
    if not isinstance(found, Value):
        raise TypeMismatchError(f"outputs of a batch are numbers of an array, not Values; {OF_ARRAYS}")
    return found


def apply(op: Kernel, *operands: Value | SupportsFloat) -> Value:
    """Return the node ``op(*operands)``; numbers become leaves."""
    parents = tuple([x if isinstance(x, Value) else as_value(x) for x in operands])
    if tracing._threads and tracing.current_mode() is not None:
        return _record_or_untrack(op, parents)
    return _node(op, parents, op.value(*[x.data for x in parents]))


def unary(op: Kernel, a: Value | SupportsFloat) -> Value:
    """Return ``apply(op, a)``, faster."""
    if not isinstance(a, Value):
        a = as_value(a)
    if tracing._threads and tracing.current_mode() is not None:
        return _record_or_untrack(op, (a,))
    number = op.value
    return _node(op, (a,), number(a.data))


def binary(op: Kernel, a: Value | SupportsFloat, b: Value | SupportsFloat) -> Value:
    """Return ``apply(op, a, b)``, faster: operators use it."""
    if not isinstance(a, Value):
        a = as_value(a)
    if not isinstance(b, Value):
        if isinstance(b, Many):
            return NotImplemented  # type: ignore[no-any-return]
        b = as_value(b)
    if tracing._threads and tracing.current_mode() is not None:
        return _record_or_untrack(op, (a, b))
    number = op.value  # a local name: calling it is faster than an attribute
    return _node(op, (a, b), number(a.data, b.data))


def _record_or_untrack(op: Kernel, parents: tuple[Value, ...]) -> Value:
    """Return the result of an operation in a thread that records or that is under ``sv.no_grad``."""
    if tracing.active() is not None:
        return Symbol(op, parents)
    return untracked(op.value(*[x.data for x in parents]))


def untracked(number: float) -> Value:
    """Return a leaf for a number that was computed under ``sv.no_grad``."""
    leaf = Value(number)
    leaf._parents = UNTRACKED
    return leaf


def _node(op: Kernel, parents: tuple[Value, ...], number: float) -> Value:
    node = _new(Value)
    node.data = number
    node.grad = 0.0
    node._op = op
    node._parents = parents
    node._order = _next_order()
    return node


def apply_each(op: Kernel, xs: Iterable[Value], *constants: SupportsFloat) -> list[Value]:
    """Return ``[op(x, *constants) for x in xs]``, faster."""
    rest = tuple([as_value(c) for c in constants])
    if rest:
        return [apply(op, x, *rest) for x in xs]
    return [unary(op, x) for x in xs]


def lacks(said: Mapping[str, str]) -> None:
    """Let Values say what there is instead of these attributes, unless they have them."""
    for name, words in said.items():
        if name not in vars(Value) and not hasattr(Value, name):
            ABSENT[name] = words
            setattr(Value, name, Absent(name, words))


lacks(ABSENT)
for _name, _refuse in REFUSED.items():
    setattr(Value, _name, _refuse)

_new = Value.__new__
_ADD, _SUB, _MUL, _DIV, _POW, _NEG = (kernel(name) for name in ("add", "sub", "mul", "div", "pow", "neg"))
