"""``sv.mistakes``: the classic mistakes of backpropagation, made on purpose, to see what they do.

Each is a ``with`` block (or a decorator) for the objects engine: for `Value`, `Weight`, modules and optimisers in a
hand-written loop, in the thread that runs the block. While a mistake is on, other functions replace the ones that it
concerns. Afterwards the package's own functions are back, so nothing is slower and every bit is as before. A Run inside
a block is refused: its engines make no mistakes.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import RLock, get_ident
from typing import Any, Self

import numpy as np

from .arguments import explained
from .checks import one_of, text
from .engine.objects import ObjectsTrainer
from .errors import StateError, TypeMismatchError, listing, typed
from .nn._draws import Function, Shape, pytorch_default
from .nn._module import Module
from .optim import Adam, Optimizer
from .run.core.optimizer import Given, LossScale
from .run.run import Run
from .scalar import mistaken, ops, value
from .scalar.store import Block as Numbers
from .scalar.sums import Dot, Layer, Row, Sum, Total
from .scalar.value import UNTRACKED, Value
from .scalar.weight import Weight

__all__ = [
    "Block", "missing_factor", "no_bias_correction", "no_loss_scale", "no_zero_grad", "on", "overwrite",
    "symmetric_init", "wrong_order",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Patch:
    """An attribute of a class or a module, its own value, and its replacement while a mistake is on."""

    owner: Any
    name: str
    original: Any
    replacement: Any


_lock = RLock()
_users: Counter[Patch] = Counter()


def install(patches: tuple[Patch, ...]) -> None:
    """Install the patches that are not installed yet."""
    with _lock:
        for patch in patches:
            if _users[patch] == 0:
                setattr(patch.owner, patch.name, patch.replacement)
            _users[patch] += 1


def remove(patches: tuple[Patch, ...]) -> None:
    """Remove the patches that no other mistake needs."""
    with _lock:
        for patch in patches:
            _users[patch] -= 1
            if _users[patch] == 0:
                setattr(patch.owner, patch.name, patch.original)
                del _users[patch]


HARMLESS = ("symmetric_init", "no_loss_scale")
"""Mistakes that act before a Run begins: it may train inside them."""


def _refused(own: Callable[..., Any], what: str) -> Callable[..., Any]:
    @wraps(own)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        made = [name for name in mistaken.names() if name not in HARMLESS]
        if made:
            raise StateError(
                f"{what} inside sv.mistakes.{made[-1]}: the engines of a Run compute their gradients themselves and "
                "make no mistakes. Write the loop by hand (loss.backward(), optimizer.step()) and show the net, or "
                "leave the block"
            )
        return own(self, *args, **options)

    return method


def _rightly(own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def method(*args: Any, **options: Any) -> Any:
        with mistaken.suspended():
            return own(*args, **options)

    return method


def _patch(owner: Any, name: str, make: Callable[..., Any], *words: str) -> Patch:
    own = getattr(owner, name)
    return Patch(owner, name, own, make(own, *words))


ENGINES = (
    _patch(Run, "__init__", _refused, "a Run is made"),
    _patch(Run, "step", _refused, "run.step"),
    _patch(ObjectsTrainer, "__init__", _rightly),
    _patch(ObjectsTrainer, "train", _rightly),
    _patch(ObjectsTrainer, "gradient", _rightly),
)


COUNTED = {"no_zero_grad": "call", "symmetric_init": "tensor", "no_bias_correction": "tensor", "no_loss_scale": "run"}
"""The thing that a mistake changes, if it is no operation."""


class Block:
    """A ``with`` block in which this thread makes a mistake, or a decorator for a function.

    Attributes
    ----------
    mistake : Mistake
        Its name and detail.
    touched : int
        The number of operations (or calls, tensors, runs) that it has changed so far; `print` shows it in words.

    Notes
    -----
    Blocks may be nested, and may end in any order: the generators of two blocks may be closed in either order. An error
    inside ends a block.
    """

    __slots__ = ("_given", "_patches", "_thread", "mistake")

    def __init__(self, name: str, patches: tuple[Patch, ...], detail: str = "", refuses: bool = True) -> None:
        self.mistake = mistaken.Mistake(name, detail)
        self._patches = (*patches, *(ENGINES if refuses else ()))
        self._given = name, patches, detail, refuses
        self._thread: int | None = None

    @property
    def touched(self) -> int:
        """The number of operations (calls, tensors, runs) that it has changed since it began."""
        return sum(self.mistake.touched)

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise StateError(
                f"sv.mistakes.{self.mistake.name}: this block is already active; to nest another one, write "
                f"`with sv.mistakes.{self.mistake.name}():` again"
            )
        install(self._patches)
        self.mistake.touched.clear()
        self.mistake.met.clear()
        self._thread = mistaken.begin(self.mistake)
        return self

    def __exit__(self, *raised: object) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            mistaken.end(self.mistake, thread)
            remove(self._patches)
        if self.mistake.detail and self.mistake.met and not self.touched and raised[:1] == (None,):
            met = listing(sorted(self.mistake.met))
            warnings.warn(f"sv.mistakes.{self.mistake.words} changed no operation; backward ran {met}", stacklevel=2)

    def __call__(self, function: Any) -> Callable[..., Any]:
        """Return `function` with such a block around every call."""
        title = f"sv.mistakes.{self.mistake.name}"
        if not callable(function) or inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            kind = "a function that yields" if callable(function) else f"{typed(function)}"
            raise TypeMismatchError(f"{title}() decorates a function, got {kind}; write `with {title}():` around it")

        @wraps(function)
        def mistaken_call(*args: Any, **options: Any) -> Any:
            with Block(*self._given):
                return function(*args, **options)

        return mistaken_call

    def __repr__(self) -> str:
        return f"<sv.mistakes.{self.mistake.words}, {'off' if self._thread is None else 'on'}, touched {self.touched}>"

    def __str__(self) -> str:
        kind = COUNTED.get(self.mistake.name, "operation")
        return f"{self.mistake.words}: touched {self.touched:,} {kind}{'' if self.touched == 1 else 's'}"


def on() -> tuple[str, ...]:
    """Return the names of the mistakes in this thread, in the order in which they began.

    Examples
    --------
    >>> from scalarviz import mistakes
    >>> with mistakes.overwrite(), mistakes.no_zero_grad():
    ...     mistakes.on()
    ('overwrite', 'no_zero_grad')
    >>> mistakes.on()
    ()
    """
    return mistaken.names()


# ---- the backward walk: its list of nodes has a wrong order, or holds nodes that pass on wrong gradients

ACTIVATIONS = ("sigmoid", "tanh", "relu", "leaky_relu", "softplus", "gelu", "gelu_tanh", "silu", "elu", "relu6",
               "log_sigmoid")  # fmt: skip
"""The operations that ``missing_factor`` changes by default."""


class WrongNode:
    """Replaces a node in the list of a walk, with another rule."""

    __slots__ = ("_rule", "node")

    def __init__(self, node: Value, rule: Callable[[Value], None]) -> None:
        self.node, self._rule = node, rule

    @property
    def _op(self) -> WrongNode:
        return self

    def pull(self, me: object) -> None:
        """Pass on wrong gradients."""
        self._rule(self.node)


_inner_nodes = value.inner_nodes


@wraps(_inner_nodes)
def inner_nodes(roots: Iterable[Value], ends: Iterable[Value] = ()) -> list[Any]:
    """Return the nodes of a walk, with this thread's mistakes."""
    given = list(roots)
    nodes: list[Any] = _inner_nodes(given, ends)
    order, factor = mistaken.current("wrong_order"), mistaken.current("missing_factor")
    if order is not None:
        before, nodes = nodes, _in_wrong_order(nodes, given, order.detail)
        order.touched.append(sum(a is not b for a, b in zip(before, nodes, strict=True)))
    overwrite = mistaken.current("overwrite")
    if factor is not None:
        factor.met.update(node.op for node in nodes if node.op)
        chosen = [_is_operation(node, factor.detail) if factor.detail else node.op in ACTIVATIONS for node in nodes]
        factor.touched.append(sum(chosen))
        rule = _pass_on(overwrite)
        nodes = [WrongNode(node, rule) if wrong else node for node, wrong in zip(nodes, chosen, strict=True)]
    if overwrite is not None:
        overwrite.touched.append(len(nodes))
        nodes = [node if isinstance(node, WrongNode) else WrongNode(node, _overwritten) for node in nodes]
    return nodes


def _is_operation(node: Value, op: str) -> bool:
    """Return whether a node computes an operation, in any form: ``x ** 2`` and ``x * x`` are squares."""
    if node.op == op:
        return True
    if node.op not in ("pow", "mul", "maximum") or isinstance(node, Sum):
        return False
    one, other = node.parents
    constant = None if other.parents or isinstance(other, Weight) else other.data
    return {"square": one is other if node.op == "mul" else node.op == "pow" and constant == 2,
            "sqrt": node.op == "pow" and constant == 0.5,
            "relu": node.op == "maximum" and constant == 0,
            "neg": node.op == "mul" and constant == -1}.get(op, False)  # fmt: skip


def _in_wrong_order(nodes: Sequence[Value], roots: Sequence[Value], order: str) -> list[Value]:
    """Return the nodes from the oldest to the youngest, or ("found") each as soon as one of its users was visited."""
    layers = [node for node in nodes if isinstance(node, Layer)]  # placed after their sums, and not visible to users
    rest = [node for node in nodes if not isinstance(node, Layer)]
    if not order:
        return _with_layers(rest[::-1], layers)
    place = {id(node): k for k, node in enumerate(rest)}
    found = [root for root in dict.fromkeys(roots) if id(root) in place]
    met = {id(node) for node in found}
    for node in found:  # grows during the loop
        for parent in dict.fromkeys(node._below()):
            for below in parent.xs if isinstance(parent, Layer) else (parent,):
                if id(below) in place and id(below) not in met:
                    met.add(id(below))
                    found.append(below)
    return _with_layers(found, layers)


def _with_layers(nodes: list[Value], layers: Sequence[Layer]) -> list[Value]:
    """Insert each layer after the last of its sums, since the sums store their gradients in it.

    A layer expects its youngest sum first; their order makes no difference to the result.
    """
    for layer in layers:
        places = [k for k, node in enumerate(nodes) if isinstance(node, Sum) and node.layer is layer]
        youngest = sorted((nodes[k] for k in places), key=lambda node: node._order, reverse=True)
        for place, node in zip(places, youngest, strict=True):
            nodes[place] = node
        nodes.insert(max(places, default=-1) + 1, layer)
    return nodes


# ---- gradients that a node passes on


def _shares(node: Value) -> list[tuple[Value, float]]:
    """Return the gradient for each operand at each of its places; none for operands without a derivative."""
    op: Any = node._op
    pairs = list(zip(node.parents, node.local_gradients, strict=True))
    carried = [pairs[k] for k in op.flowing] if op.partly else pairs
    return [(parent, node.grad * slope) for parent, slope in carried]


def _overwritten(node: Value) -> None:
    """Assign ``parent.grad = ...`` instead of ``+=``, place by place."""
    if isinstance(node, Layer):
        _layer_overwritten(node)
    elif isinstance(node, Total):
        _clear(node.row)
        node._op.pull(node)  # type: ignore[union-attr]
    elif isinstance(node, Sum):
        node._op.pull(node)  # type: ignore[union-attr]  # its layer passes it on
    elif isinstance(node, Dot) and isinstance(node.weights, Row):
        _sum_overwritten(node)
    else:
        for parent, share in _shares(node):
            parent.grad = share


def _sum_overwritten(node: Dot) -> None:
    """Overwrite the gradients of a sum with a row of weights."""
    _clear(node.weights)  # type: ignore[arg-type]
    if isinstance(node.bias, Row):
        _clear(node.bias)
    elif node.bias is not None:
        node.bias.grad = 0.0
    own = node.xs
    node.xs = tuple([Value(x.data) for x in own])  # a Value for each place: one x may occur twice
    try:
        node._op.pull(node)  # type: ignore[union-attr]
        for x, place in zip(own, node.xs, strict=True):
            x.grad = place.grad
    finally:
        node.xs = own


def _layer_overwritten(layer: Layer) -> None:
    """Overwrite place by place for the sums of a layer: the last sum's gradient of each input stays."""
    weight, bias = layer.weight, layer.bias
    grads, computed = (array.reshape(-1, len(layer.xs)) for array in (weight.flat_grad, weight.computed))
    for row, upstream in zip(layer.reached, layer.upstreams, strict=True):
        grads[row], computed[row] = upstream * layer.xs_data, 1
        if bias is not None:
            bias.flat_grad[row], bias.computed[row] = upstream, 1
        for x, slope in zip(layer.xs, layer.matrix[row].tolist(), strict=True):
            x.grad = upstream * slope


def _clear(row: Row) -> None:
    row.block.flat_grad[row.start : row.start + len(row)] = 0.0


def _pass_on(overwrite: mistaken.Mistake | None) -> Callable[[Value], None]:
    """Return the rule that passes the gradient on unchanged, without the operation's slope."""

    def rule(node: Value) -> None:
        for parent in dict.fromkeys(parent for parent, _ in _shares(node)):  # x * x counts once, like x.square()
            parent.grad = node.grad + (0.0 if overwrite else parent.grad)

    return rule


# ---- leaves, whose backward adds up too

_value_backward, _weight_backward = Value.backward, Weight.backward


@wraps(_value_backward)
def value_backward(self: Value, upstream: Any = 1.0) -> float | None:
    """Run backward of a Value; at a leaf the last gradient replaces the others."""
    if self._op is None and self._parents is not UNTRACKED and mistaken.current("overwrite") is not None:
        self.grad = 0.0
    return _value_backward(self, upstream)


@wraps(_weight_backward)
def weight_backward(self: Weight, upstream: Any = 1.0) -> float | None:
    """Run backward of a Weight by hand; the last gradient replaces the others."""
    if mistaken.current("overwrite") is not None:
        self.grad = 0.0
    return _weight_backward(self, upstream)


WALK = Patch(value, "inner_nodes", _inner_nodes, inner_nodes)
LEAVES = (
    Patch(Value, "backward", _value_backward, value_backward),
    Patch(Weight, "backward", _weight_backward, weight_backward),
)


# ---- the mistakes


@explained(name="mistakes.overwrite")
def overwrite() -> Block:
    """A gradient replaces the old one: ``parent.grad = ...`` instead of ``+=``.

    For ``b = a + a`` only one of the two paths counts: ``a.grad`` is 1. Of several backward calls only the last counts.

    Examples
    --------
    >>> a = Value(3.0)
    >>> with overwrite():
    ...     (a + a).backward()
    >>> a.grad
    1.0
    """
    return Block("overwrite", (WALK, *LEAVES))


@explained(name="mistakes.wrong_order")
def wrong_order(order: str = "oldest") -> Block:
    """Nodes pass their gradients on before they are complete.

    Parameters
    ----------
    order : {"oldest", "found"}
        ``"oldest"``: from the oldest node to the youngest, in the order of the forward pass ("forgot reversed").
        ``"found"``: each node as soon as one of its users was visited: wrong if a short and a long path meet.

    Raises
    ------
    InputError
        There is no such order.

    Examples
    --------
    >>> a = Value(3.0)
    >>> b = a + a
    >>> with wrong_order():
    ...     (b + b).backward()
    >>> a.grad
    0.0
    """
    name = one_of(order, ("oldest", "found"), "mistakes.wrong_order: order")
    return Block("wrong_order", (WALK,), "" if name == "oldest" else name)


@explained(name="mistakes.missing_factor")
def missing_factor(op: str | None = None) -> Block:
    """Operations pass the upstream gradient on without their own slope.

    Parameters
    ----------
    op : str, optional
        The operation, such as ``"square"`` (also written ``x ** 2`` or ``x * x``); default: all activations. A block
        that meets none warns when it ends.

    Raises
    ------
    UnknownNameError
        There is no such operation.

    Examples
    --------
    >>> x = Value(3.0)
    >>> with missing_factor("square") as mistake:
    ...     ((x - 1) ** 2).backward()
    >>> x.grad
    1.0
    >>> print(mistake)
    missing_factor (square): touched 1 operation
    """
    return Block("missing_factor", (WALK,), "" if op is None else ops.get(text(op, "mistakes.missing_factor: op")).name)


@explained(name="mistakes.no_zero_grad")
def no_zero_grad() -> Block:
    """``zero_grad()`` of weights, modules and optimisers does nothing: the gradients of all steps add up.

    ``w.grad = 0.0`` still clears the gradient.

    Examples
    --------
    >>> w = Weight(3.0)
    >>> with no_zero_grad():
    ...     for _ in range(2):
    ...         w.zero_grad()
    ...         (w * 2).backward()
    >>> w.grad
    4.0
    """
    return Block("no_zero_grad", _CLEARING)


@explained(name="mistakes.symmetric_init")
def symmetric_init() -> Block:
    """Layers that are made or initialised inside start with one number for all weights of a tensor.

    All units of such a layer compute the same, get the same gradient, and stay equal. A Run of the network may be made
    and trained inside the block too; when it restarts, it uses this mistake again.
    """
    return Block("symmetric_init", (_INITIALIZE,), refuses=False)


@explained(name="mistakes.no_bias_correction")
def no_bias_correction() -> Block:
    """Adam uses its running means without bias correction: they start at 0, so the first steps have a wrong size."""
    return Block("no_bias_correction", (_STEP, _MOMENTS))


@explained(name="mistakes.no_loss_scale")
def no_loss_scale() -> Block:
    """A float16 Run that is made inside has a loss scale of 1: gradients below 6e-8 are rounded to 0.

    More and more weights stop while the loss is small. The Run may be trained inside the block too. Only a dynamic loss
    scale is affected, not ``loss_scale=1024``.
    """
    return Block("no_loss_scale", (_SCALE,), refuses=False)


# ---- clearing gradients


def _not_cleared(owner: Any) -> Patch:
    own: Callable[[Any], None] = vars(owner)["zero_grad"]

    @wraps(own)
    def zero_grad(self: Any) -> None:
        mistake = mistaken.current("no_zero_grad")
        if mistake is None:
            own(self)
        else:
            mistake.touched.append(1)

    return Patch(owner, "zero_grad", own, zero_grad)


_CLEARING = tuple(_not_cleared(owner) for owner in (Weight, Numbers, Module, Optimizer))

# ---- initial weights


class _Symmetric:
    """An initialiser that fills a tensor with its first number."""

    def __init__(self, rule: Function) -> None:
        self.rule = rule

    def __call__(self, shape: Shape, *fans: Any) -> Any:
        return _level(self.rule(shape, *fans))

    def bias(self, shape: Shape, *fans: Any) -> Any:
        """Return equal biases."""
        own = getattr(self.rule, "bias", None)
        return np.zeros(shape) if own is None else _level(own(shape, *fans))

    def __repr__(self) -> str:
        return f"symmetric({self.rule!r})"


def _level(drawn: Any) -> Any:
    numbers = np.asarray(drawn)
    return np.full(numbers.shape, numbers.flat[0]) if numbers.size else numbers


_initialize = Module.initialize


@wraps(_initialize)
def _symmetric(module: Module, initializer: Any = None, seed: int | None = 0) -> None:
    mistake = mistaken.current("symmetric_init")
    if mistake is not None and (initializer is None or callable(initializer)):
        initializer = _Symmetric(pytorch_default() if initializer is None else initializer)
        mistake.touched.append(len(list(module.parameters())))
    _initialize(module, initializer, seed)


_INITIALIZE = Patch(Module, "initialize", _initialize, _symmetric)

# ---- half precision

_scale_init = LossScale.__init__


@wraps(_scale_init)
def _unscaled(self: LossScale, given: Given) -> None:
    mistake = mistaken.current("no_loss_scale")
    forgotten = given in (None, "dynamic") and mistake is not None
    if mistake is not None and forgotten:
        mistake.touched.append(1)
    _scale_init(self, 1 if forgotten else given)


_SCALE = Patch(LossScale, "__init__", _scale_init, _unscaled)

# ---- Adam in a hand-written loop

_stepping: set[int] = set()
"""Threads in a step by hand. A Run records the same rule for its engine, which must stay correct."""
_own_step, _own_moments = Optimizer.step, Adam._moments


@wraps(_own_step)
def _step(self: Optimizer, closure: Any = None) -> Any:
    _stepping.add(get_ident())
    try:
        return _own_step(self, closure)
    finally:
        _stepping.discard(get_ident())


@wraps(_own_moments)
def _moments(self: Adam, w: Value, g: Value, state: Any, lr: Value, t: Value) -> Any:
    mistake = mistaken.current("no_bias_correction")
    if mistake is not None and get_ident() in _stepping:
        mistake.touched.append(1)
        t = Value(_LATE)
    return _own_moments(self, w, g, state, lr, t)


_LATE = 1e9
"""A step number at which the correction is 1: beta**t is 0."""
_STEP = Patch(Optimizer, "step", _own_step, _step)
_MOMENTS = Patch(Adam, "_moments", _own_moments, _moments)
