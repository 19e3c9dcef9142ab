"""Normalisation over one sample (`LayerNorm`, `GroupNorm`, `RMSNorm`) or over a batch (`BatchNorm1d`, `BatchNorm2d`).

A batch norm uses the statistics of the batch in training, and running statistics otherwise.
"""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from ..checks import flag
from ..errors import InputError
from ..scalar import Value, Weight, dot, functions, tracing
from ..scalar.array import like
from ..scalar.batch import batch_mean, several, track
from ..scalar.nested import Shape, shape_of
from ..scalar.number import at_least_zero, checked_number
from ..scalar.sums import Dot, Row
from ._buffer import Buffer, Buffered
from ._inputs import titled
from ._linear import count
from ._module import Module
from ._parameter import Parameter, check_size

Values = list[Value]


class Norm(Module):
    """Base of the normalisations: a `weight` that starts as ones and a `bias` that starts as zeros."""

    weight: Parameter | None
    bias: Parameter | None

    def _begin(self, shape: Shape, title: str, weight: bool, bias: bool) -> None:
        self.weight = Parameter.filled(1.0, shape, title) if weight else None
        self.bias = Parameter.filled(0.0, shape, title) if weight and bias else None

    def constant_start(self, part: Parameter | Weight) -> float | None:
        """Return 1 for the weights and 0 for the biases, whatever the initialiser."""
        return 1.0 if part is self.weight else 0.0


class RowNorm(Norm):
    """Base of `LayerNorm` and `RMSNorm`: normalises over the last dimensions."""

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        sides = tuple(normalized_shape) if isinstance(normalized_shape, tuple | list) else (normalized_shape,)
        if not sides:
            raise InputError(f"{name}: normalized_shape must have at least one axis, got ()")
        self.normalized_shape = tuple(count(side, f"{name}: a side of normalized_shape") for side in sides)
        self.eps = epsilon(eps, name)
        affine = flag(elementwise_affine, f"{name}: elementwise_affine")
        self._begin(self.normalized_shape, self._titled(), affine, flag(bias, f"{name}: bias"))

    def forward(self, x: Any) -> Any:
        shape, own = shape_of(x) or (1,), self.normalized_shape
        if shape[-len(own) :] != own:
            raise InputError(f"{self._titled()} takes inputs whose shape ends in {own}, got {shape}")
        row, size = [x] if isinstance(x, Value) else x.ravel().tolist(), prod(own)
        normal = [v for k in range(0, len(row), size) for v in self._normal(row[k : k + size])]
        if self.weight is not None:
            normal = [scaled(v, self.weight, self.bias, k % size) for k, v in enumerate(normal)]
        return like(x, normal, shape)

    def _row_size(self) -> int:
        return prod(self.normalized_shape)

    def _normal(self, row: list[Value]) -> list[Value]:
        """Return the normalised numbers of one row."""
        raise NotImplementedError

    def _titled(self) -> str:
        return titled(self, f"{type(self).__name__}({self.normalized_shape})")

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps:g}, elementwise_affine={self.weight is not None}"


class LayerNorm(RowNorm):
    """Normalise a sample to mean 0 and variance 1: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Parameters
    ----------
    normalized_shape : int or tuple of int
        The last dimensions of the input, over which mean and variance (divided by n) are taken.
    eps : float
        Avoids a division by 0.
    elementwise_affine : bool
        Whether there is a `weight`.
    bias : bool
        Whether there is a `bias` beside the `weight`.

    Attributes
    ----------
    weight, bias : Parameter of shape `normalized_shape`, or None

    Raises
    ------
    InputError
        `normalized_shape` is no shape, `eps` is negative or infinite; when called: the input's shape does not end in
        `normalized_shape`.
    """

    stage: ClassVar[str] = "layer_norm"

    def _normal(self, row: list[Value]) -> list[Value]:
        return normalised(row, self.eps)


def normalised(row: list[Value], eps: float) -> list[Value]:
    """Return the numbers scaled to mean 0 and variance 1."""
    shares = (Value(1.0 / len(row)),) * len(row)
    mean = dot(shares, row)
    centred = [x - mean for x in row]
    variance = dot(shares, [functions.square(c) for c in centred])
    factor = 1.0 / functions.sqrt(variance + eps)
    return [c * factor for c in centred]


def scaled(x: Value, weight: Parameter, bias: Parameter | None, index: int) -> Value:
    return Dot.create(Row(weight, index, 1), (x,), None if bias is None else Row(bias, index, 1))


def epsilon(eps: float, name: str) -> float:
    return at_least_zero(eps, f"{name}: eps", "; try 1e-5")


class GroupNorm(Norm):
    """Normalise each group of neighbouring channels to mean 0 and variance 1, then scale and shift each channel.

    Parameters
    ----------
    num_groups, num_channels : int
        The C channels, the first dimension of a sample, form this many groups of equal size.
    eps : float
        Avoids a division by 0.
    affine : bool
        Whether there are `weight` and `bias`.

    Attributes
    ----------
    weight, bias : Parameter, shape (num_channels,), or None

    Raises
    ------
    InputError
        A size is below 1, the channels do not form such groups, or `eps` is invalid; when called: the input has another
        shape.
    """

    stage: ClassVar[str] = "group_norm"

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        self.num_groups = count(num_groups, "GroupNorm: num_groups")
        self.num_channels = count(num_channels, "GroupNorm: num_channels")
        if self.num_channels % self.num_groups:
            raise InputError(f"GroupNorm: num_groups={self.num_groups} must divide num_channels={self.num_channels}")
        self.eps = epsilon(eps, "GroupNorm")
        affine = flag(affine, "GroupNorm: affine")
        self._begin((self.num_channels,), f"GroupNorm({self.num_groups}, {self.num_channels})", affine, affine)

    def forward(self, x: Any) -> Any:
        shape = shape_of(x)
        if not shape or shape[0] != self.num_channels or 0 in shape:
            title = titled(self, f"GroupNorm({self.num_groups}, {self.num_channels})")
            raise InputError(f"{title} takes a sample of {self.num_channels} channels, got the shape {shape}")
        row = x.ravel().tolist()
        size, places = len(row) // self.num_groups, len(row) // self.num_channels
        normal = [v for start in range(0, len(row), size) for v in normalised(row[start : start + size], self.eps)]
        if self.weight is not None:
            normal = [scaled(v, self.weight, self.bias, k // places) for k, v in enumerate(normal)]
        return like(x, normal, shape)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps:g}, affine={self.weight is not None}"


SMALLEST = float(np.finfo(np.float64).eps)
"""PyTorch's default `eps`, the machine epsilon of the input. Values are float64."""


class RMSNorm(RowNorm):
    """``x / sqrt(mean(x**2) + eps) * weight``: scales a sample so that the mean of its squares is 1.

    Parameters
    ----------
    normalized_shape, elementwise_affine
        As for :class:`LayerNorm`, errors too; there is no `bias`.
    eps : float, optional
        Avoids a division by 0. Default: 2.2e-16, the machine epsilon of float64.

    Examples
    --------
    >>> [round(v.data, 3) for v in RMSNorm(2)([3.0, 4.0])]
    [0.849, 1.131]
    """

    stage: ClassVar[str] = "rms_norm"

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float | None = None, elementwise_affine: bool = True
    ) -> None:
        super().__init__(normalized_shape, SMALLEST if eps is None else eps, elementwise_affine, False)

    def _normal(self, row: list[Value]) -> list[Value]:
        factor = 1.0 / functions.sqrt(dot(row, row) * (1.0 / len(row)) + self.eps)
        return [x * factor for x in row]


class BatchNorm(Norm):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, with a mean and a variance for each channel.

    In training they are the statistics of the batch: a Run computes them over all samples of a step, and the running
    statistics follow them. After ``net.eval()``, and whenever a Run shows or predicts, they are the running statistics.
    A norm that is in eval() when a Run is made stays in eval(); its `weight` and `bias` are still trained.

    Parameters
    ----------
    num_features : int
        Channels C.
    eps : float
        Avoids a division by 0.
    momentum : float or None
        How far a step moves the running statistics, 0 to 1: ``(1 - momentum) * running + momentum * batch``. None: the
        mean over all steps.
    affine : bool
        Whether there are `weight` and `bias`.
    track_running_stats : bool
        False: always use the statistics of the batch, so a prediction depends on the other samples.
    bias : bool
        Whether there is a `bias` beside the `weight`.

    Attributes
    ----------
    weight, bias : Parameter, shape (num_features,), or None
    running_mean, running_var : ndarray, shape (num_features,), or None
        Buffers: in the state_dict, and in the frames, films and files of a Run; not trained. If you set both to None,
        the norm no longer has running statistics; a Run sees this when the next one is made.
    num_batches_tracked : int64, or None
        Buffer: number of steps that the running statistics have followed. A float32 Run counts up to 2**24.

    Raises
    ------
    InputError
        A size is below 1, or `eps` or `momentum` is invalid; when called: the input has another shape or, in training,
        it is a single sample or has a single number for each channel.

    Notes
    -----
    As in PyTorch (S. Ioffe, C. Szegedy, "Batch Normalization", 2015), a batch is normalised by the variance divided
    by n, and the running variance follows the variance divided by n - 1. In a loop by hand, a norm in training takes N
    samples and updates its running statistics at once; in eval() it takes one sample, or N. A Run reads `eps` and
    `momentum` when it is made, and again with ``run.change(model=net)``.
    """

    layouts: ClassVar[dict[int, str]] = {}
    running_mean = Buffered()
    running_var = Buffered()
    num_batches_tracked = Buffered(whole=True)

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, *, bias: bool = True,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.num_features = count(num_features, f"{name}: num_features")
        self.eps, self.momentum = epsilon(eps, name), None if momentum is None else _momentum(momentum, name)
        shape, title = (self.num_features,), f"{name}({self.num_features})"
        check_size(shape, title)
        self.affine = flag(affine, f"{name}: affine")
        self.track_running_stats = flag(track_running_stats, f"{name}: track_running_stats")
        self._begin(shape, title, self.affine, flag(bias, f"{name}: bias"))
        names = ("running_mean", "running_var", "num_batches_tracked")
        for part, start in zip(names, ([0.0] * shape[0], [1.0] * shape[0], 0), strict=True):
            setattr(self, part, start if self.track_running_stats else None)
        self._books.buffers = names

    def reset_running_stats(self) -> None:
        """Reset the running statistics to those of a new norm: mean 0, variance 1, no batches."""
        for part in map(self._statistic, self._books.buffers):
            if part is not None:
                part.data = part.first

    def _statistic(self, name: str) -> Buffer | None:
        return vars(self).get(name)

    def _has_running(self) -> bool:
        """Return whether there are running statistics; InputError if only one of the two exists."""
        mean, var = self._statistic("running_mean"), self._statistic("running_var")
        if (mean is None) != (var is None):
            none, there = ("running_mean", "running_var") if mean is None else ("running_var", "running_mean")
            raise InputError(f"{self._titled()}: {none} is None, {there} is not; set both to None, or both to arrays")
        wrong = [part for part in (mean, var) if part is not None and part.shape != (self.num_features,)]
        if wrong:
            raise InputError(
                f"{self._titled()} has running statistics of shape ({self.num_features},), got {wrong[0].shape}"
            )
        return mean is not None

    # ---- calling

    def forward(self, x: Any) -> Any:
        shape = shape_of(x)
        by_batch = not self._has_running() or self.training  # `training` is read only if it matters
        if tracing.active() is not None or (not by_batch and getattr(x, "of_sample", False)):
            if not self._is_sample(shape):
                raise InputError(f"{self._titled()} takes a sample of shape {self._shape_words()}, got {shape}")
            return self._normalise(x, (1, *shape), by_batch).reshape(shape)
        if self._many(shape, by_batch):
            return self._normalise(x, shape, by_batch)
        return self._normalise(x, (1, *shape), False).reshape(shape)

    def _normalise(self, x: Any, shape: Shape, by_batch: bool) -> Any:
        """Return the normalised samples, N x C x ...; in a recorded graph one sample stands for all of a batch."""
        rows = np.ndarray.view(x, np.ndarray).reshape(shape[0], shape[1], prod(shape[2:])).tolist()
        normal = self._by_batch(rows) if by_batch else [self._by_running(row) for row in rows]
        return like(x, [v for row in normal for channel in row for v in channel], shape)

    def _by_running(self, channels: list[Values]) -> list[Values]:
        """Normalise one sample by the running statistics.

        Each channel's factor and summand are computed once for a step.
        """
        mean, var = vars(self)["running_mean"], vars(self)["running_var"]
        found = []
        for c, channel in enumerate(channels):
            factor = 1.0 / functions.sqrt(var.number(c) + self.eps)
            scale = factor if self.weight is None else self.weight.weight(c) * factor
            shift = -(scale * mean.number(c)) if self.bias is None else self.bias.weight(c) - scale * mean.number(c)
            found.append([dot((scale,), (v,), shift) for v in channel])
        return found

    def _by_batch(self, rows: list[list[Values]]) -> list[list[Values]]:
        """Normalise all samples by their own statistics, and let the running ones follow."""
        positions, found = len(rows[0][0]), [list[Values]() for _ in rows]
        if positions == 1 and tracing.active() is not None:
            several()
        stats = []
        for c in range(self.num_features):
            channels = [row[c] for row in rows]
            mean = _mean([v for channel in channels for v in channel])
            centred = [[v - mean for v in channel] for channel in channels]
            var = _mean([functions.square(v) for channel in centred for v in channel])
            factor = 1.0 / functions.sqrt(var + self.eps)
            for row, channel in zip(found, centred, strict=True):
                row.append(self._scaled(c, channel, factor))
            stats.append((mean, var))
        if self.track_running_stats:
            self._follow(stats, len(rows), positions)
        return found

    def _scaled(self, c: int, channel: Values, factor: Value) -> Values:
        """Return the centred numbers of one channel times its factor and weight, plus its bias.

        With many positions, factor and weight are multiplied first, which saves one product for each number.
        """
        if self.weight is None:
            return [v * factor for v in channel]
        if len(channel) == 1 or self.bias is None:
            return [scaled(v * factor, self.weight, self.bias, c) for v in channel]
        scale, shift = self.weight.weight(c) * factor, self.bias.weight(c)
        return [dot((scale,), (v,), shift) for v in channel]

    def _follow(self, stats: list[tuple[Value, Value]], samples: int, positions: int) -> None:
        """Let the running statistics follow those of a batch: at once, or at every step of a recorded graph."""
        counted = self._statistic("num_batches_tracked")
        if tracing.active() is None:
            self._follow_now([(mean.data, var.data) for mean, var in stats], samples * positions)
            return
        steps = None if counted is None else counted.weight(0)
        if steps is not None:
            track(steps, None)
        rate = 0.0 if steps is None and self.momentum is None else self.momentum
        means, variances = self._statistic("running_mean"), self._statistic("running_var")
        if means is None or variances is None:
            return
        for c, (mean, var) in enumerate(stats):
            track(means.weight(c), mean, rate, 0, steps)
            track(variances.weight(c), var, rate, positions, steps)

    def _follow_now(self, stats: list[tuple[float, float]], n: int) -> None:
        rate = 0.0 if self.momentum is None else self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked = self.num_batches_tracked + 1
            rate = 1.0 / int(self.num_batches_tracked) if self.momentum is None else rate
        if not self._has_running():
            return
        for name, column, factor in (("running_mean", 0, 1.0), ("running_var", 1, n / (n - 1))):
            new = [factor * stat[column] for stat in stats]
            setattr(self, name, [(1.0 - rate) * a + rate * b for a, b in zip(getattr(self, name), new, strict=True)])

    # ---- shapes

    def _many(self, shape: Shape, by_batch: bool) -> bool:
        """Return whether the input is N samples; raise InputError if it is invalid."""
        one, many = self._is_sample(shape), bool(shape) and shape[0] > 0 and self._is_sample(shape[1:])
        if by_batch and many:
            if prod(shape) == self.num_features:
                raise InputError(
                    f"{self._titled()}: expected more than 1 value per channel when training, got input size {shape}"
                )
            return True
        if by_batch and one:
            raise InputError(
                f"{self._titled()} is in training mode: it normalises by the mean and variance of the batch, so it "
                f"needs a batch of shape N x {self._shape_words()}; got an array of shape {shape}. Call net.eval() to "
                "normalise by running_mean and running_var, or train with a Run, which passes whole batches"
            )
        if one and many:
            raise InputError(
                f"{self._titled()}: the shape {shape} is ambiguous: one sample C x L, or N samples of C numbers; "
                f"pass one sample as (1, {shape[0]}, {shape[1]}), N samples as ({shape[0]}, {shape[1]}, 1)"
            )
        if not (one or many):
            raise InputError(
                f"{self._titled()} takes a sample of shape {self._shape_words()}, or N of them; got {shape}"
            )
        return many

    def _is_sample(self, shape: Shape) -> bool:
        return len(shape) in self.layouts and shape[0] == self.num_features and 0 not in shape

    def _shape_words(self) -> str:
        return " or ".join(f"({self.num_features}{sides})" for sides in self.layouts.values())

    def _titled(self) -> str:
        return titled(self, f"{type(self).__name__}({self.num_features})")

    def extra_repr(self) -> str:
        bias = ", bias=False" if self.affine and self.bias is None else ""
        return (
            f"{self.num_features}, eps={self.eps:g}, momentum={self.momentum}, affine={self.affine}{bias}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """Batch normalisation of C numbers, or of C x L. See :class:`BatchNorm`."""

    stage: ClassVar[str] = "batch_norm1d"
    layouts: ClassVar[dict[int, str]] = {1: ",", 2: ", L"}


class BatchNorm2d(BatchNorm):
    """Batch normalisation of a picture C x H x W. See :class:`BatchNorm`."""

    stage: ClassVar[str] = "batch_norm2d"
    layouts: ClassVar[dict[int, str]] = {3: ", H, W"}


def _mean(row: Values) -> Value:
    """Return the mean of the numbers; in a recorded graph, over all samples of the batch."""
    mean = row[0] if len(row) == 1 else dot((Value(1.0 / len(row)),) * len(row), row)
    return mean if tracing.active() is None else batch_mean(mean)


def _momentum(momentum: float, name: str) -> float:
    what = f"{name}: momentum"
    return checked_number(momentum, what, lambda share: 0 <= share <= 1, "be in 0 .. 1, or None", "; try 0.1")
