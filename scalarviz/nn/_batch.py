"""The call of a module with a batch: an array of samples gives an array of outputs, computed in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from operator import is_
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes
from ..checks import real_array
from ..errors import InputError, StateError, TracingError
from ..scalar import tracing
from ..scalar.array import Extremes, Values
from ..scalar.nested import every, shape_of
from ..tape import lower, trace
from ._inputs import rebuilt, titled
from ._to_onnx import first_sides, origin_of, trained_shape

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
        if name in ("std", "var"):
            given.setdefault("ddof", 1)  # as in PyTorch; np.std(x) gives its own
        found = getattr(np.ndarray, name)(self, **given)
        paired = dim is not None and name in PAIRS
        return Extremes(found, partial(getattr(self, f"arg{name}"), dim, keepdim)) if paired else found

    return along


PAIRS = ("max", "min")
for _name in ("argmax", "argmin", "mean", "std", "sum", "var", *PAIRS):
    setattr(Outputs, _name, _along(_name))


def batch_outputs(module: Module, x: Any, named: Mapping[str, Any]) -> Any:
    """Return the outputs for a batch `x`, structured as those of a sample; None if `x` is one sample."""
    if tracing.active() is not None or getattr(x.dtype, "kind", "") == "O":
        return None
    array = real_array(x.detach().cpu() if hasattr(x, "detach") else x, f"{type(module).__name__}: the input")
    if is_sample(module, array.shape):
        return None
    books, standing = module._books, _standing(module)
    if len(standing) != len(books.standing) or not all(map(is_, standing, books.standing)):
        books.standing, books.plans = standing, {}
    plan = None if named else books.plans.get(array.shape[1:])
    if plan is None:
        try:
            tape, result = _recorded(module, array.shape[1:], named)
        except TracingError:
            return _one_by_one(module, array, named)
        except InputError as error:
            if str(array.shape[1:]) in str(error):
                error.add_note(
                    f"An array of shape {array.shape} is a batch of {len(array)} samples of shape {array.shape[1:]}; "
                    "one sample is net(x.tolist()), or the batch net(x[None])."
                )
            raise
        if module in tape.modes:  # of a norm in training the batch is one call
            return None
        if tape.modes:
            own = [titled(one, type(one).__name__) for one in tape.modes if one in {*module.modules()}]
            raise StateError(
                f"{min(own)} is in training mode, in which only a Run passes batches; call net.eval() before net(array)"
                if own else "forward itself makes a Dropout, which eval() does not reach; write F.dropout(x, p, "
                "training=self.training), or make nn.Dropout(p) in __init__"
            )  # fmt: skip
        plan = lower(tape.only(outputs=True)), tape.blocks, result
        if not named and all(type(part).__module__.startswith(__package__) for _, part in module.named_modules()):
            books.plans[array.shape[1:]] = plan  # a user's forward may depend on anything, so it is not cached
    return _computed(module, array, *plan)


def is_sample(module: Module, shape: Shape) -> bool:
    """Return whether an array of two or more dimensions is one sample of a module, and no batch.

    This is the one rule: it is a batch, unless the sample's shape is known and equals the array's. The file that the
    module comes from knows it, or the Run that trains it, or the first layer; a convolution fixes the number of sides.
    """
    origin = origin_of(module)
    known = (origin.shapes[0] if origin is not None else None) or trained_shape(module) or first_sides(module)
    return known is not None and len(known) == len(shape) and (None in known or known == shape)


def _standing(module: Module) -> list[Any]:
    """Return all that a recording depends on: the layers and their attributes."""
    return [x for _, part in module.named_modules() for x in (type(part), *vars(part).values())]


def _recorded(module: Module, sample: Shape, named: Mapping[str, Any]) -> tuple[Tape, Any]:
    """Return a module as a tape for samples of a shape, and what it returned."""
    made = list[Any]()

    def forward(row: Values) -> Any:
        made.append(module(row.reshape(sample), **named))
        return made[0]

    tape = trace(forward, int(np.prod(sample)))
    return tape, _shapes(made[0])


def _shapes(result: Any) -> Any:
    """Return the structure of a result, with the shape of each part as an array of zeros, without the graph."""
    if isinstance(result, list | tuple | dict):
        return rebuilt(result, _shapes)
    return None if result is None else np.empty(shape_of(result))


def _computed(module: Module, array: NDArray[Any], plan: Plan, blocks: Sequence[Block], result: Any) -> Any:
    from ..engine.arrays.program import PlanRunner

    theta = np.concatenate([block.flat_value for block in blocks] or [np.empty(0)])
    rows = array.reshape(len(array), prod(array.shape[1:]))
    found = PlanRunner(plan, theta.dtype).rows(theta, rows.T, plan.body.outputs).T
    wrong = np.isnan(found).any(axis=1) & np.isfinite(rows).all(axis=1)
    if wrong.any():  # such as a number that is no row of an Embedding: the call with that sample reports it
        module(array[int(np.argmax(wrong))].tolist())
    return _shaped(result, iter(np.split(found, found.shape[1], axis=1)))


def _shaped(result: Any, columns: Iterator[NDArray[Any]]) -> Any:
    """Return the columns in the structure of `result`, each part with the batch as its first axis."""
    if isinstance(result, list | tuple | dict):
        return rebuilt(result, lambda part: _shaped(part, columns))
    if result is None:
        return None
    shape = result.shape
    taken = [next(columns) for _ in range(prod(shape))]
    return np.concatenate(taken, axis=1).reshape(len(taken[0]), *shape).view(Outputs)


def _one_by_one(module: Module, array: NDArray[Any], named: Mapping[str, Any]) -> Any:
    """Return the outputs of a batch whose forward asks for numbers and cannot be recorded: sample by sample."""
    with tracing.no_grad():
        results = [module(sample.tolist(), **named) for sample in array]
    rows = np.array([[v.data for v in every(result, type(module).__name__)] for result in results])
    return _shaped(_shapes(results[0]), iter(np.split(rows, rows.shape[1], axis=1)))


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
