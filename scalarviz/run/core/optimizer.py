"""An optimiser for the engines (its traced update, its state, its weights), and the loss scale.

In float16 a loss scale keeps small gradients above the smallest float16, by the rule of PyTorch's
``GradScaler``. Its three numbers are stored behind the weights, as a norm's running statistics are. So files
contain them, and going back in time restores them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import optim
from ...arguments import of_torch
from ...checks import integer, real_array
from ...engine.problem import HALF, NO_LIMITS, Limits, Problem
from ...errors import InputError, ScalarvizError, TypeMismatchError, shown
from ...nn._buffer import Buffer
from ...optim import Optimizer
from ...optim._checked import held_by
from ...optim._optimizer import overrides_step
from ...scalar import Block
from ...scalar.kernel import float16
from ...tape import Plan, Tape, lower
from ...tape.passes import parameters_read
from ..validation import limited_rule
from .gather import starts
from .tensors import Tensor

FIRST_SCALE = 65536
"""Start of a dynamic loss scale."""
GOOD_STEPS = 2000
"""It doubles after this many steps in a row with a finite gradient."""
LARGEST_SCALE = 2**40
SCALE_NAME = "loss_scale"
"""Name of the three numbers in frames and files."""

Given = int | Literal["dynamic"] | None


class LossScale:
    """The rule that changes the loss scale."""

    def __init__(self, given: Given) -> None:
        self.fixed = isinstance(given, int)
        self.buffer = Buffer([given if isinstance(given, int) else FIRST_SCALE, 0, 0], whole=True)

    def numbers(self, problem: Problem) -> NDArray[Any]:
        """Return the three live numbers of a problem."""
        return problem.store.value[self.buffer.start : self.buffer.start + self.buffer.size]

    def skips(self, problem: Problem) -> bool:
        """Return whether a step with a gradient that is not finite is skipped.

        A loss scale of 1 cannot be halved. Then the gradient itself is too large, and the step counts.
        """
        return not self.fixed and bool(self.numbers(problem)[0] > 1)

    def unchanged(self, problem: Problem) -> int:
        """Return how many steps in a row have the same scale, if none is skipped."""
        return sys.maxsize if self.fixed else max(1, GOOD_STEPS - int(self.numbers(problem)[1]))

    def overflows(self, problem: Problem) -> bool:
        """Return whether the last step is skipped: the optimiser must not use its gradient."""
        return self.skips(problem) and not np.isfinite(problem.store.grad[problem.trained]).all()

    def follow(self, problem: Problem, good: int, *, skipped: bool) -> None:
        """Count good steps, and halve the loss scale after an undone one, which does not count for the optimiser."""
        numbers, place = self.numbers(problem), self.buffer.start
        before = self.after(numbers, good - (not skipped), skipped=False)  # the last step's change is its update
        problem.previous[place : place + len(numbers)] = before
        numbers[:] = self.after(numbers, good, skipped=skipped)
        problem.t_start -= skipped

    def after(self, numbers: NDArray[Any], good: int, *, skipped: bool) -> tuple[float, float, float]:
        """Return scale, good steps in a row and skipped steps after so many good steps, and one that was skipped."""
        scale, row, lost = numbers
        row += good
        if not self.fixed and row >= GOOD_STEPS:
            scale, row = min(2 * scale, LARGEST_SCALE), 0
        return (max(1, scale // 2), 0, lost + 1) if skipped else (scale, row, lost)


def float16_weights(values: NDArray[Any], tensors: Sequence[Tensor]) -> NDArray[Any]:
    """Return flat values (P,) as the network uses them: weights rounded to float16, buffers unchanged."""
    found = float16(values)
    for tensor in tensors:
        if tensor.buffer:
            found[tensor.span] = values[tensor.span]
    return found


class LossScaleState(NamedTuple):
    """Loss scale of a frame in float16."""

    scale: int
    skipped: int


def loss_scale_state(values: NDArray[Any], tensors: Sequence[Tensor]) -> LossScaleState | None:
    """Return loss scale and skipped steps among flat values (P,), or None without a scale."""
    for tensor in tensors:
        if tensor.name == SCALE_NAME and tensor.role == "count":
            scale, _, skipped = values[tensor.span]
            return LossScaleState(int(scale), int(skipped))
    return None


def loss_scale_of(given: Given, dtype: str) -> LossScale | None:
    """Return the loss scale of a run of `dtype`, or None."""
    if dtype != HALF:
        if given is not None:
            raise InputError(f"loss_scale={shown(given)} needs dtype='float16', this run has dtype={shown(dtype)}")
        return None
    if given is None or given == "dynamic":
        return LossScale(given)
    try:
        return LossScale(integer("loss_scale", given, 1, LARGEST_SCALE))
    except ScalarvizError as error:
        said = f"loss_scale must be 'dynamic' or a whole number from 1 to 2**40, got {shown(given)}"
        raise type(error)(said) from None


def record_update(optimizer: Any, limits: Limits = NO_LIMITS) -> Plan:
    """Return the plan of one weight's update: inputs ``w, g, *state``, theta ``[lr, t]``, outputs ``w, *state``.

    See :func:`scalarviz.run.validation.limited_rule` for `limits`. InputError: the optimiser's class overrides
    ``step()``, or ``update`` returns something other than it declares.
    """
    if not isinstance(optimizer, Optimizer):
        name = of_torch(optimizer)
        own, given = name if hasattr(optim, name) else "SGD", f"PyTorch's {name}" if name else shown(optimizer)
        raise TypeMismatchError(
            f"the optimiser must come from scalarviz, such as optim.{own}(net.parameters(), lr=0.1); got {given}"
        )
    if overrides_step(optimizer):
        raise InputError(
            f"{type(optimizer).__name__} overrides step(), which an engine cannot record; write its rule as "
            "update(w, g, state, lr, t), or use it in a hand-written loop"
        )
    return lower(limited_rule(optimizer, limits), encode=False)


def record_rules(optimizer: Optimizer, limits: Limits) -> list[Plan]:
    """Return the plan of each parameter group, theta ``[lr, t]``; empty if there is only one group."""
    if len(optimizer.rules) == 1:
        return []
    return [lower(limited_rule(optimizer, limits, j), encode=False) for j in range(len(optimizer.rules))]


def trained_indices(optimizer: Optimizer, tape: Tape) -> NDArray[np.bool_]:
    """Return which elements of theta the optimiser holds and the loss depends on, shape (P,)."""
    held = np.zeros(tape.n_parameters, bool)
    held[places_of(optimizer, tape)] = True
    trained = held & parameters_read(tape)
    if not trained.any():
        raise InputError(
            "no weight of the optimiser is in this model's graph, so nothing would be trained. "
            f"Use the model's own weights: {type(optimizer).__name__}(model.parameters(), lr=...)"
        )
    return trained


def flat_state(optimizer: Optimizer, tape: Tape, dtype: str) -> list[NDArray[Any]]:
    """Return one flat array (P,) per state name, with the optimiser's current state."""
    places = places_of(optimizer, tape)
    arrays, own = [], optimizer.state_arrays()
    for name in optimizer.state:
        flat = np.full(tape.n_parameters, optimizer.state_start(name), dtype)
        flat[places] = own[name]
        arrays.append(flat)
    return arrays


def columns_of(optimizer: Optimizer, tape: Tape, dtype: str) -> list[NDArray[Any]]:
    """Return what the traced rule reads per weight beside the state: the number of its parameter group, shape (P,)."""
    if len(optimizer.rules) == 1:
        return []
    flat = np.zeros(tape.n_parameters, dtype)
    flat[places_of(optimizer, tape)] = optimizer.group_of
    return [flat]


def begun(optimizer: Optimizer, name: str, like: NDArray[Any]) -> NDArray[Any]:
    """Return the start of a state by its name, with the shape and dtype of `like`."""
    return np.full_like(like, optimizer.state_start(name))


def by_name(optimizer: Optimizer, state: Sequence[NDArray[Any]], tensors: Sequence[Tensor]) -> dict[str, NDArray[Any]]:
    """Return copies of the flat state arrays by ``"<state>.<tensor>"``."""
    named = zip(optimizer.state, state, strict=True)
    return {f"{name}.{t.name}": t.of(array).copy() for name, array in named for t in tensors if not t.buffer}


def places_of(optimizer: Optimizer, tape: Tape) -> NDArray[np.int64]:
    """Return the index in theta of every held weight, in the optimiser's order."""
    start_of = starts(tape)
    return np.concatenate([start_of[block] + held for block, held in optimizer.blocks()]).astype(np.int64)


def spans_in(weights: Any, tape: Tape) -> tuple[tuple[int, int], ...]:
    """Return start and count of each part of theta in `weights`; refuse weights that are not on the tape."""
    start_of, found = starts(tape), []
    for block, places in held_by(list(_parts(weights)), "the weights"):
        if block not in start_of:
            raise InputError(f"{block.name or 'a parameter'} is not among the weights of this run")
        cuts = np.flatnonzero(np.diff(places) != 1) + 1
        found += [(start_of[block] + int(part[0]), len(part)) for part in np.split(places, cuts)]
    return tuple(found)


def _parts(weights: Any) -> Iterator[Any]:
    """Yield Parameters and Weights one by one, also from slices and nested lists."""
    if isinstance(weights, Block | str) or not isinstance(weights, Iterable):
        yield weights
    else:
        for part in weights:
            yield from _parts(part)


def restore(tensors: Sequence[Tensor], targets: Mapping[str, NDArray[Any]], saved: Mapping[str, NDArray[Any]]) -> None:
    """Copy `saved` arrays by name into flat arrays that hold `tensors`; nothing is changed if one does not fit.

    `targets` maps a prefix of names (``""`` for the weights, ``"velocity."``) to the flat array. The InputError lists
    all names and shapes that differ, or a number that is not finite in the flat array's dtype.
    """
    wanted = {
        prefix + t.name: (t, flat) for prefix, flat in targets.items() for t in tensors if not (prefix and t.buffer)
    }
    found = {name: real_array(array, name) for name, array in saved.items()}
    problems = [f"missing {name}" for name in wanted if name not in saved]
    problems += [f"unexpected {name}" for name in saved if name not in wanted]
    problems += [
        f"{name} has shape {found[name].shape}, in the model {tensor.shape}"
        for name, (tensor, _) in wanted.items()
        if name in found and found[name].shape != tensor.shape
    ]
    if problems:
        raise InputError(f"the saved numbers do not fit this model: {'; '.join(problems)}")
    new = {name: _finite(name, found[name], flat.dtype) for name, (_, flat) in wanted.items()}
    for name, (tensor, flat) in wanted.items():
        tensor.of(flat)[...] = new[name]


def _finite(name: str, array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return `array` in `dtype`; InputError with the place of the first number that is not finite there."""
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(dtype)
    bad = np.argwhere(~np.isfinite(cast))
    if len(bad):
        place = tuple(bad[0].tolist())
        number = array[place]
        why = f"too large for {dtype}" if np.isfinite(number) else "not a finite number"
        where = name + "".join(f"[{i}]" for i in place)
        raise InputError(f"the saved {where} is {number}, {why}; nothing was changed")
    return cast
