"""A module called with a batch: an array of samples gives an array of outputs, computed by the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import is_
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..checks import real_array
from ..errors import InputError, StateError
from ..scalar import tracing
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


class Outputs(np.ndarray[Any, Any]):
    """What a module gives for a batch: numbers without a graph, and so is what is computed of them."""

    def backward(self, *_: Any, **__: Any) -> NoReturn:
        """Say how to train, since nothing leads back from a batch; always StateError."""
        raise StateError(
            "backward: a module called with a batch returns numbers without a graph; train with sv.Run(net, loss, "
            "optimizer, data=(X, Y)).step(), or call net(x) for each sample x and backward() of the mean of the "
            "losses"
        )


def batch_outputs(module: Module, x: Any) -> Outputs | None:
    """The outputs for a batch `x`; None where `x` is one sample, or neither."""
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
        if array.shape == known or (known is None and _recorded(module, array[:2].shape) is not None):
            books.samples.add(array.shape)
            return None
        found = _recorded(module, array.shape[1:])
        if found is None or module in found[0].modes:  # of a norm in training the batch is one call
            return None
        tape, shape = found
        if tape.modes:
            names = sorted(titled(one, type(one).__name__) for one in tape.modes)
            raise StateError(
                f"{names[0]} is in training mode, in which only a Run passes batches; call net.eval() before net(array)"
            )
        plan = lower(tape.only(outputs=True)), tape.blocks, shape
        if all(type(part).__module__.startswith(__package__) for _, part in module.named_modules()):
            books.plans[array.shape[1:]] = plan  # what a forward of a user's does may change with anything
    return _computed(module, array, *plan)


def _standing(module: Module) -> list[Any]:
    """What a recording depends on: the layers and what they hold."""
    return [x for _, part in module.named_modules() for x in (type(part), *vars(part).values())]


def _recorded(module: Module, sample: Shape) -> tuple[Tape, Shape] | None:
    """The module as a tape and the shape of its output, for samples of a shape; None where it takes no such ones."""
    made = list[Any]()

    def forward(row: list[Any]) -> Any:
        made.append(module(nest(row, sample)))
        return made[0]

    try:
        tape = trace(forward, int(np.prod(sample)))
        result = made[0].as_values() if isinstance(made[0], Many) else made[0]
        shape = result.shape if isinstance(result, np.ndarray) else shape_of(result)
    except Exception:  # a forward that a user wrote may raise what it likes; a call with one sample says what is wrong
        return None
    return tape, shape if np.prod(shape) == len(tape.outputs) else (len(tape.outputs),)


def _computed(module: Module, array: NDArray[Any], plan: Plan, blocks: Sequence[Block], shape: Shape) -> Outputs:
    from ..engine.arrays.program import PlanRunner

    theta = np.concatenate([block.flat_value for block in blocks] or [np.empty(0)])
    rows = array.reshape(len(array), prod(array.shape[1:]))
    found = PlanRunner(plan, theta.dtype).rows(theta, rows.T, plan.body.outputs).T
    wrong = np.isnan(found).any(axis=1) & np.isfinite(rows).all(axis=1)
    if wrong.any():  # a number that names no row of an Embedding, perhaps: the call with that sample says so
        module(array[int(np.argmax(wrong))].tolist())
    return found.reshape(len(array), *shape).view(Outputs)


def batch_loss(loss: Any, outputs: Outputs, targets: Any) -> Outputs:
    """The loss of a batch as a Run computes it, a number without a graph."""
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
