"""The call of a module with a batch: an array of samples gives an array of outputs, computed in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes
from ..checks import real_array
from ..errors import InputError, StateError, TracingError
from ..scalar import tracing
from ..scalar.array import Extremes
from ..scalar.nested import every, nest, shape_of
from ..scalar.single import Many
from ..tape import lower, trace
from ._inputs import titled
from ._to_onnx import known_shape

if TYPE_CHECKING:
    from ..scalar.store import Block
    from ..tape import Plan, Tape
    from ._module import Module

Shape = tuple[int, ...]


ABSENT = {
    **dict.fromkeys(("double", "float", "long", "int", "to"), "outputs are float64 numbers already; omit the call"),
    **dict.fromkeys(("log_softmax", "relu", "sigmoid", "softmax"), "end the network in a layer such as nn.Softmax()"),
    "unsqueeze": "use x[:, None]", "permute": "use x.transpose(1, 0)", "norm": "use np.linalg.norm(x)",
}  # fmt: skip
"""What PyTorch's tensors have and `Outputs` have not, and what is said of each."""


class Outputs(np.ndarray[Any, Any]):
    """The outputs of a batch: numbers without a graph, as are all results computed from them.

    ``argmax``, ``max``, ``mean`` and similar methods also take PyTorch's ``dim`` and ``keepdim``.
    """

    if not TYPE_CHECKING:
        __getattr__ = attributes(ABSENT, "a batch of outputs")

    requires_grad = False

    def detach(self) -> Outputs:
        """Return these outputs: they have no graph."""
        return self

    cpu = clone = detach

    def numpy(self) -> NDArray[Any]:
        """Return the numbers as a plain array."""
        return np.asarray(self)

    def backward(self, *_: Any, **__: Any) -> NoReturn:
        """Raise StateError with advice how to train: a batch builds no graph."""
        raise StateError(
            "backward: a module called with a batch returns numbers without a graph; train with sv.Run(net, loss, "
            "optimizer, data=(X, Y)).step(), or call net(x) for each sample x, then backward() on the mean of the "
            "losses"
        )


def _along(name: str) -> Callable[..., Any]:
    def along(self: Outputs, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        given = {"axis": dim, **({"keepdims": True} if keepdim else {}), **numpy}
        found = getattr(np.ndarray, name)(self, **given)
        paired = dim is not None and name in PAIRS
        return Extremes(found, getattr(self, f"arg{name}")(dim, keepdim)) if paired else found

    return along


PAIRS = ("max", "min")
for _name in ("argmax", "argmin", "mean", "sum", *PAIRS):
    setattr(Outputs, _name, _along(_name))


def batch_outputs(module: Module, x: Any) -> Outputs | None:
    """Return the outputs for a batch `x`; None if `x` is one sample, or neither."""
    if isinstance(x, Many) or tracing.active() is not None or getattr(x.dtype, "kind", "") == "O":
        return None
    books, standing = module._books, _standing(module)
    if len(standing) != len(books.standing) or not all(map(is_, standing, books.standing)):
        books.standing, books.samples, books.plans = standing, set(), {}
    if x.shape in books.samples:
        return None
    array = real_array(x.detach().cpu() if hasattr(x, "detach") else x, f"{type(module).__name__}: the input")
    plan = books.plans.get(array.shape[1:])
    if plan is None:
        known = known_shape(module)
        whole = None if known is not None else _recorded(module, array[:2].shape)
        if array.shape == known or isinstance(whole, Recorded):
            books.samples.add(array.shape)
            return None
        found = _recorded(module, array.shape[1:])
        if isinstance(found, Failed):
            if found.further_than(whole) if whole is not None else array.ndim == len(known or ()) + 1:
                raise found.error
            return None
        tape, shape = found
        if module in tape.modes:  # of a norm in training the batch is one call
            return None
        if tape.modes:
            names = sorted(titled(one, type(one).__name__) for one in tape.modes)
            raise StateError(
                f"{names[0]} is in training mode, in which only a Run passes batches; call net.eval() before net(array)"
            )
        plan = lower(tape.only(outputs=True)), tape.blocks, shape
        if all(type(part).__module__.startswith(__package__) for _, part in module.named_modules()):
            books.plans[array.shape[1:]] = plan  # a user's forward may depend on anything, so it is not cached
    return _computed(module, array, *plan)


def _standing(module: Module) -> list[Any]:
    """Return all that a recording depends on: the layers and their attributes."""
    return [x for _, part in module.named_modules() for x in (type(part), *vars(part).values())]


class Recorded(NamedTuple):
    """A module as a tape, and the shape of its output."""

    tape: Tape
    shape: Shape


class Failed(NamedTuple):
    """The error of a module for samples of a shape, and the number of layer calls before it."""

    error: Exception
    calls: int

    def further_than(self, other: Failed) -> bool:
        """Return whether this shape is the one that the user meant.

        A forward that asks for numbers may work without recording.
        """
        return self.calls > other.calls and not isinstance(other.error, TracingError)


def _recorded(module: Module, sample: Shape) -> Recorded | Failed:
    """Return the module recorded for samples of a shape."""
    made, recorders = list[Any](), list[Any]()

    def forward(row: list[Any]) -> Any:
        recorders.append(tracing.active())
        made.append(module(nest(row, sample)))
        return made[0]

    try:
        tape = trace(forward, int(np.prod(sample)))
        result = made[0].as_values() if isinstance(made[0], Many) else made[0]
        shape = result.shape if isinstance(result, np.ndarray) else shape_of(result)
    except Exception as error:  # a user's forward may raise anything
        return Failed(error, sum(len(recorder.taps) for recorder in recorders))
    return Recorded(tape, shape if np.prod(shape) == len(tape.outputs) else (len(tape.outputs),))


def _computed(module: Module, array: NDArray[Any], plan: Plan, blocks: Sequence[Block], shape: Shape) -> Outputs:
    from ..engine.arrays.program import PlanRunner

    theta = np.concatenate([block.flat_value for block in blocks] or [np.empty(0)])
    rows = array.reshape(len(array), prod(array.shape[1:]))
    found = PlanRunner(plan, theta.dtype).rows(theta, rows.T, plan.body.outputs).T
    wrong = np.isnan(found).any(axis=1) & np.isfinite(rows).all(axis=1)
    if wrong.any():  # such as a number that is no row of an Embedding: the call with that sample reports it
        module(array[int(np.argmax(wrong))].tolist())
    return found.reshape(len(array), *shape).view(Outputs)


def batch_loss(loss: Any, outputs: Outputs, targets: Any) -> Outputs:
    """Return the loss of a batch as a Run computes it, a number without a graph."""
    wanted = real_array(targets.detach().cpu() if hasattr(targets, "detach") else targets, "the targets")
    title = type(loss).__name__
    if outputs.ndim == 0 or wanted.ndim == 0 or len(wanted) != len(outputs):
        raise InputError(
            f"{title}: outputs of the shape {outputs.shape} for targets of the shape {wanted.shape}; a batch needs "
            "one target for each sample"
        )
    pairs = list(zip(np.asarray(outputs).tolist(), wanted.tolist(), strict=True))
    if loss.reduction == "none":
        return np.array([[v.data for v in every(loss(o, t), title)] for o, t in pairs]).view(Outputs)
    total = sum([getattr(loss, "batch_part", loss)(o, t).data for o, t in pairs], 0.0)
    if loss.batch_reduction == "mean":
        shares = getattr(loss, "batch_shares", None)
        rows = wanted.reshape(len(pairs), prod(wanted.shape[1:]))
        total /= (len(pairs) if shares is None else shares(rows).sum()) or np.nan
    return np.array(total).view(Outputs)
