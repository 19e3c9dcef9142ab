"""Checks of a run's arguments, its data, the ids in it, its limits, and the memory that it needs."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import nn, rng
from ..arguments import of_torch
from ..checks import check_memory, integer, real_array
from ..engine.data import pieces
from ..engine.outside import Source, as_source
from ..engine.problem import Limits
from ..errors import InputError, TypeMismatchError, shown, typed
from ..nn._inputs import ONE_INPUT, as_result
from ..optim import Optimizer
from ..scalar import Value, clip
from ..scalar.array import Values
from ..scalar.number import at_least_zero, checked_number
from ..scalar.sample import Sample
from ..tape import Tape
from ..tape.half import TOO_LARGE, loss_scale_of

LAST_STEP = 2**53
"""Larger step numbers are not exact as floats, which Adam's bias correction uses."""


def steps_of(steps: Any) -> int:
    """Return `steps` as a number of training steps; InputError otherwise."""
    return integer("steps", steps, 0, LAST_STEP)


def batch_of(batch_size: int | None, samples: int, sampling: str) -> int:
    """Return the samples per step; None means all. InputError if there are fewer."""
    if batch_size is None:
        return samples
    batch = integer("batch_size", batch_size, 1)
    if batch > samples and sampling == "epochs":
        raise InputError(
            f"batch_size {shown(batch)} is larger than the data set of {samples} samples; use at most {samples}, or "
            'sampling="replacement"'
        )
    if batch > rng.MOST_DRAWN:
        raise InputError(f"batch_size must be at most 2**32, got {shown(batch)}")
    return batch


def seed_of(seed: int) -> int:
    """Return `seed` as an int that keys the random numbers; InputError otherwise."""
    number = integer("seed", seed, 0)
    rng.split(number)
    return number


_OURS = {
    "model": "write it with scalarviz.nn and copy the weights, net.load_state_dict(theirs.state_dict()), or watch it "
    "train with sv.watch(theirs)",
    "loss": "use nn.MSELoss(), nn.CrossEntropyLoss() or another loss of scalarviz.nn, or a function (outputs, targets) "
    "of Values",
}


def of_values(given: Any, what: str) -> None:
    """Raise TypeMismatchError unless `given` can be called with Values; a class would make objects of them."""
    if name := of_torch(given):
        own = f"use nn.{name}() of scalarviz" if what == "loss" and name in nn.__all__ else _OURS[what]
        raise TypeMismatchError(f"{what}: {name} is PyTorch's, which takes tensors; {own}")
    if isinstance(given, type):
        name = given.__name__[:60]
        raise TypeMismatchError(
            f"{what} must be a module or a function of Values, got the class {name}; give an object, {name}()"
        )
    if not callable(given):
        own = f"; {_OURS[what]}" if what == "loss" else ""
        raise TypeMismatchError(f"{what} must be a module or a function of Values, got {typed(given)}{own}")


def flat(values: NDArray[Any], n_weights: int) -> NDArray[Any]:
    """Return `values` if there is one for every weight; raise an error otherwise."""
    found = real_array(values, "values")
    if found.shape != (n_weights,):
        raise InputError(f"values must have the shape ({n_weights},), got {found.shape}")
    return found


def waiting(seconds: float, what: str) -> float:
    """Return `seconds` as a float that a thread can wait; an error unless it is from 0 to `threading.TIMEOUT_MAX`."""
    must = f"be a number of seconds from 0 to {threading.TIMEOUT_MAX:.3g}"
    return checked_number(seconds, what, lambda number: 0 <= number <= threading.TIMEOUT_MAX, must)


def check_targets(loss: Any, targets: NDArray[Any], tape: Tape) -> None:
    """Let a traced loss, and the class losses that it calls, refuse targets (N, n_targets)."""
    check = getattr(loss, "check_targets", None)
    if callable(check):
        check(targets, len(tape.outputs))
    for place, part, classes in tape.classes:
        if part is not loss:
            part.check_targets(targets[:, place : place + 1], classes)


# ---- Memory of a run, from its numbers: checked before the first array is made


RECORDED = 86
"""Bytes per weight while a graph is traced and gathered: the model's float64, the run's arrays, and indices."""


def check_run(weights: int, dtype: str, states: int, engine: str) -> None:
    """Raise InputError if a run with so many weights needs more memory than is free; scenes call it first."""
    arrays = 12 + 12 * states if engine in ("numpy", "objects") else 6 + 3 * states
    each = max(RECORDED, 22 + arrays * np.dtype(dtype).itemsize)
    check_memory(weights * each, f"a run of {weights:,} weights", "use smaller layers")


# ---- Ids in data: numbers of a sample that select rows of tables are whole and in range
#
# The kernels check every id again, so an id that an expression computes cannot reach memory either.


EXACT = 1 << 24
"""Whole numbers up to this are exact in float32."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Numbers of a sample that select rows of tables, and the rows of the smallest table for each."""

    inputs: dict[int, int]  # inputs and targets: by column
    targets: dict[int, int]
    half: bool = False  # whether the other inputs are read as float16

    def check(
        self, what: str, inputs: NDArray[np.number] | None = None, targets: NDArray[np.number] | None = None
    ) -> None:
        """Raise InputError unless samples (N, n_inputs) and targets (N, n_targets) hold ids where ids are read."""
        for name, samples, limits in (("the inputs", inputs, self.inputs), ("the targets", targets, self.targets)):
            if samples is None:
                continue
            for column, rows in limits.items():
                numbers = samples[:, column]
                bad = ~((numbers >= 0) & (numbers < rows) & (numbers == np.floor(numbers)))
                if bad.any():
                    first = int(np.argmax(bad))
                    raise InputError(
                        f"{what}: {name}: sample {first}, column {column} is {numbers[first]}; an id in a table of "
                        f"{rows} rows must be a whole number from 0 to {rows - 1} (wrong: {int(bad.sum())} of "
                        f"{len(bad)} samples)"
                    )
        if self.half and inputs is not None:
            large = np.abs(inputs) >= TOO_LARGE
            large[:, list(self.inputs)] = False
            if large.any():
                sample, column = np.argwhere(large)[0].tolist()
                raise InputError(
                    f"{what}: the inputs: sample {sample}, column {column} is {inputs[sample, column]:g}; float16 "
                    'holds numbers up to 65,504; scale the inputs, or use dtype="float32"'
                )


def ids_of(tape: Tape) -> Ids:
    """Return the ids of a traced model: inputs and targets that select rows directly."""
    found: tuple[dict[int, int], dict[int, int]] = {}, {}
    for node in tape.nodes:
        if node.table is not None:
            (read,) = node.args
            number = tape.nodes[read]
            if number.code == "input":
                target = number.index >= tape.n_inputs
                limits, column = found[target], number.index - tape.n_inputs * target
                limits[column] = min(limits.get(column, node.table.rows), node.table.rows)
    return Ids(*found, loss_scale_of(tape) is not None)


def check_tables(tape: Tape, dtype: str) -> None:
    """Raise InputError if a table has more rows than numbers of that dtype can name."""
    largest = max((node.table.rows for node in tape.nodes if node.table is not None), default=0)
    if dtype == "float32" and largest > EXACT:
        raise InputError(
            f"a table has {largest:,} rows, but float32 represents whole numbers exactly only up to 2**24 = {EXACT:,}; "
            'use dtype="float64"'
        )


# ---- Data of a run: two arrays with one row, or one picture, per sample


Shape = tuple[int, ...]


def as_samples(array: ArrayLike, what: str) -> NDArray[Any]:
    """Return `array` as (N, n): one-dimensional data has one number per sample, pictures become rows in C order."""
    found = real_array(array, what)
    if found.ndim == 0 or 0 in found.shape:
        raise InputError(f"{what} must have the shape (samples, numbers per sample), both >= 1, got {found.shape}")
    if found.ndim == 1:
        found = found[:, None]
    if not all_finite(found):
        bad = ~np.isfinite(found)
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        wrong = int(bad.reshape(len(bad), -1).any(axis=1).sum())
        raise InputError(
            f"{what}[{', '.join(map(str, place))}] is {found[place]}; {wrong} of {len(found)} samples "
            "are not finite; clean the data first"
        )
    return found.reshape(len(found), -1)


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether no number is NaN or infinite; checked in pieces to save memory."""
    if array.dtype.kind != "f":
        return True
    numbers = array.size // len(array)
    return all(bool(np.isfinite(array[part]).all()) for part in pieces(len(array), numbers))


def sample_shape(samples: Any, given: Any) -> Shape:
    """Return the shape of one of the checked `samples`: ``(n,)`` of a row, ``(C, H, W)`` of a picture."""
    return tuple(np.shape(given)[1:] if isinstance(samples, np.ndarray) else samples.sample_shape) or (1,)


def fitting_source(array: Any, shape: Shape, what: str) -> NDArray[Any] | Source:
    """Check as :func:`fitting` does; data that is not copied is returned as a source."""
    source = as_source(array, what)
    if source is None:
        return fitting(array, shape, what)
    _check_shape(source.sample_shape, shape, what)
    return source


def _check_shape(given: Shape, shape: Shape, what: str) -> None:
    if given not in (shape, (prod(shape),)):
        other = f" or {shape}" if len(shape) > 1 else ""
        raise InputError(f"{what}: a sample must have the shape ({prod(shape)},){other}, got {given}")


def fitting(array: ArrayLike, shape: Shape, what: str) -> NDArray[Any]:
    """Return `array` as rows (N, n) of samples with that shape; pictures may be given as rows."""
    samples = as_samples(array, what)
    _check_shape(sample_shape(samples, array), shape, what)
    return samples


def on_rows(model: Callable[..., Any], shape: Shape) -> Callable[[Values], Any]:
    """Return `model` as a function of a flat row; it gets samples with that shape."""
    return lambda row: as_result(model(row.reshape(shape).view(Sample)), Sample)


def on_target_rows(loss: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """Return `loss` as a function of the model's output and a flat row of targets; it gets targets with that shape."""
    return lambda outputs, row: loss(outputs, row.reshape(shape).view(Sample))


def as_pair(data: Any) -> tuple[NDArray[Any] | Source, NDArray[Any] | Source]:
    """Return the inputs and targets of ``data=(X, Y)``: arrays (N, n), or sources if they are not copied."""
    listed = isinstance(data, list | tuple) or (isinstance(data, np.ndarray) and data.ndim > 0)
    if not listed or len(data) != 2:
        raise InputError(f"data must be a pair (X, Y) of inputs and targets, a row per sample; got {typed(data)}")
    x, y = data
    count = len(y) if hasattr(y, "__len__") and getattr(y, "ndim", None) != 0 else 0
    several = isinstance(x, list | tuple) and len(x) not in (0, count)
    if several and all(getattr(part, "ndim", 0) and len(part) == count for part in x):
        raise InputError(f"data[0]: got {len(x)} arrays of {count} rows; a Run takes one array of inputs. {ONE_INPUT}")
    named = (x, "data[0] (the inputs)"), (y, "data[1] (the targets)")
    inputs, targets = (as_samples(*each) if (source := as_source(*each)) is None else source for each in named)
    if len(inputs) != len(targets):
        raise InputError(f"data: got inputs: {len(inputs)}, targets: {len(targets)}; give one target for each input")
    return inputs, targets


def from_torch(data: Any, batch_size: int | None) -> tuple[Any, int | None]:
    """Return a PyTorch Dataset or DataLoader as (X, Y) in memory, with its batch size; anything else unchanged."""
    chosen = batch_size is not None
    torch = sys.modules.get("torch.utils.data")  # loaded if such an object exists
    if torch is None:
        return data, batch_size
    loader = data if isinstance(data, torch.DataLoader) else None
    if loader is not None:
        data = loader.dataset
    elif not isinstance(data, torch.Dataset):
        return data, batch_size
    title = f"data ({type(data).__name__})"
    if isinstance(data, torch.IterableDataset) or not hasattr(data, "__len__"):
        raise InputError(f"{title} has no length; give data=(X, Y) with the samples to train on")
    if loader is not None:
        if (
            type(loader.sampler) not in (torch.SequentialSampler, torch.RandomSampler)
            or len(loader.sampler) != len(data)
            or getattr(loader.sampler, "replacement", False)
            or type(loader.batch_sampler) is not torch.BatchSampler
            or loader.collate_fn is not torch.default_collate
        ):
            raise InputError(
                "data: a Run draws its own batches, but this DataLoader has a sampler or a collate_fn; give "
                "data=loader.dataset, or data=(X, Y) with the samples of the loader"
            )
        batch_size = batch_size if chosen else loader.batch_sampler.batch_size
    try:
        if type(data) is torch.TensorDataset:
            x, y = map(_of_tensor, data.tensors)
        else:
            rows = [data[i] for i in range(len(data))]
            if any(not isinstance(row, tuple | list) for row in rows):
                raise TypeError(f"sample 0 is a {type(rows[0]).__name__}")
            x, y = (np.stack([_of_tensor(one) for one in column]) for column in zip(*rows, strict=True))
    except Exception as error:  # an error of a user's dataset
        raise InputError(
            f"{title}: each sample must be a pair (input, target), all of one shape: {type(error).__name__}: "
            f"{error!s:.200}"
        ) from error
    return (x, y), batch_size if batch_size is None or chosen else min(batch_size, len(x))


def _of_tensor(part: Any) -> NDArray[Any]:
    return np.asarray(part.detach().cpu() if hasattr(part, "detach") else part)


# ---- Penalties and clipping as part of the optimiser's rule


def limited_rule(optimizer: Optimizer, limits: Limits, group: int | None = None) -> Tape:
    """Return the traced update of one weight; its gradient includes penalties, and is scaled and cut."""

    def limited(w: Value, g: Value, numbers: Sequence[Value]) -> Value:
        if limits.l1:
            sign: Any = (w > 0.0) - (w < 0.0)
            g = g + limits.l1 * sign
        if limits.l2:
            g = g + (2 * limits.l2) * w
        for factor in numbers:
            g = factor * g
        if limits.clip_value is not None:
            g = clip(g, -limits.clip_value, limits.clip_value)
        return g

    found, more = (None if limits == Limits() else limited), 0 if limits.clip_norm is None else 1
    return optimizer.tape(found, more, group)


def limits_of(l1: Any, l2: Any, clip_norm: Any, clip_value: Any) -> Limits:
    """Return checked limits."""
    norm, value = _limit(clip_norm, "clip_norm"), _limit(clip_value, "clip_value")
    return Limits(at_least_zero(l1, "l1"), at_least_zero(l2, "l2"), norm, value)


def _limit(given: Any, what: str) -> float | None:
    must = "be a finite number above 0, or None for no limit"
    return None if given is None else checked_number(given, what, lambda number: 0 < number < math.inf, must)
