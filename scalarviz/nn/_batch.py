"""A module called with a batch: an array of samples gives an array of outputs, computed by the kernels."""

from __future__ import annotations

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
    from ..tape import Tape
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
    if x.shape in module._books.samples:
        return None
    array = real_array(x.detach().cpu() if hasattr(x, "detach") else x, f"{type(module).__name__}: the input")
    known = known_shape(module)
    if array.shape == known or (known is None and _recorded(module, array[:2].shape) is not None):
        module._books.samples.add(array.shape)
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
    return _computed(module, array, tape, shape)


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


def _computed(module: Module, array: NDArray[Any], tape: Tape, shape: Shape) -> Outputs:
    from ..engine.arrays.program import PlanRunner

    theta = np.concatenate([block.flat_value for block in tape.blocks] or [np.empty(0)])
    runner = PlanRunner(lower(tape.only(outputs=True)), theta.dtype)
    found = runner.rows(theta, array.reshape(len(array), -1).T, runner.plan.body.outputs).T
    wrong = np.isnan(found).any(axis=1) & np.isfinite(array.reshape(len(array), -1)).all(axis=1)
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
    total = sum(getattr(loss, "batch_part", loss)(o, t).data for o, t in pairs)
    if loss.batch_reduction == "mean":
        shares = getattr(loss, "batch_shares", None)
        total /= len(pairs) if shares is None else shares(wanted.reshape(len(pairs), -1)).sum() or np.nan
    return np.array(total).view(Outputs)
