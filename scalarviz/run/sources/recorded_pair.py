"""`RecordedPair`: two recordings at the same step, and their difference per number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import first_of
from ...errors import FileFormatError, InputError, listing
from ..core.frame import Frame, Past
from ..core.history import Curve
from ..core.tensors import Stage, Tensor
from ..edits.base import Applied
from ..travel import WeightRecord
from .played import Played, RecordedSource
from .recording.recorded import Recorded

Index = NDArray[np.int64]
NAMES = "a", "b"
"""Short names of the two."""
NAMED = 8
"""Most tensors that a message names."""


@dataclass(frozen=True, slots=True)
class Compared(Frame):
    """The numbers of `b` minus those of `a`, each at its last frame not after `step`, for tensors that both have."""

    a: Frame | None = None
    b: Frame | None = None

    @property
    def frames(self) -> tuple[Frame, Frame]:
        """The frames of `a` and `b`."""
        assert self.a is not None
        assert self.b is not None
        return self.a, self.b


class RecordedPair(Played):
    """Two recordings from their first common step, each with its last network; InputError if there is none.

    `left_out` says what cannot be compared. `heads` replace step and loss above each; empty for recordings.
    """

    heads: tuple[str, ...] = ()
    tensors: tuple[Tensor, ...] = ()  # those that both have, by name and shape, in the order of `a`
    stages: tuple[Stage, ...] = ()  # from input to output, if both have the same ones with rows of a sample
    way: tuple[Stage, ...] = ()  # the same, with or without rows

    def __init__(self, a: Played, b: Played, names: tuple[str, str] = NAMES) -> None:
        super().__init__("the comparison", " and ".join(name.replace("/", "-") for name in names))
        self.pair, self.names = (a, b), names
        self._kept = tuple(one.follow_last_network() for one in self.pair)
        self._steps = tuple(one.steps[kept] for one, kept in zip(self.pair, self._kept, strict=True))
        known = {(tensor.name, tensor.shape): tensor for tensor in b.tensors}
        shared = [(one, known[one.name, one.shape]) for one in a.tensors if (one.name, one.shape) in known]
        if not shared:
            raise InputError(
                f"nothing to compare: {names[0]!r} has {_shapes(a.tensors)}; {names[1]!r} has {_shapes(b.tensors)}; "
                "allowed: recordings that share a tensor, by name and shape"
            )
        starts = np.cumsum([0, *(one.size for one, _ in shared)]).tolist()
        self.tensors = tuple(replace(one, start=start) for (one, _), start in zip(shared, starts, strict=False))
        spans = zip(*((one.span, other.span) for one, other in shared), strict=True)
        self._indices = tuple(np.concatenate([np.arange(span.start, span.stop) for span in own]) for own in spans)
        self.way = self._shared_way()
        self.stages = () if self._rowless() else self.way
        self.left_out = tuple(self._left_out_words())
        self._networks = tuple(one.tensors for one in self.pair)
        self.past = self._joined()

    def _shared_way(self) -> tuple[Stage, ...]:
        """Return the stages from input to output if both have the same ones; otherwise empty."""
        a, b = (one.stages for one in self.pair)
        known = {tensor.name: tensor for tensor in self.tensors}
        layers = [part for stage in a for part in (stage.weight, stage.bias) if part is not None]
        if [_outline(stage) for stage in a] != [_outline(stage) for stage in b]:
            return ()
        if any(part.name not in known for part in layers):
            return ()
        return tuple(
            replace(stage, weight=None if stage.weight is None else known[stage.weight.name],
                    bias=None if stage.bias is None else known[stage.bias.name])
            for stage in a
        )  # fmt: skip

    def _rowless(self) -> str:
        """Return why there are no rows of activations, in words; a single layer shows its sums instead of rows."""
        a, b = (one.probe for one in self.pair)
        if a is None or b is None:
            missing = [name for name, probe in zip(self.names, (a, b), strict=True) if probe is None]
            return f"rows of activations: not recorded in {' and '.join(missing)}"
        if not self.way:
            return "rows of activations: the layers differ"
        if not np.array_equal(a, b):
            return "rows of activations: the samples differ"
        return "" if self._several else "rows of activations of a single layer"

    @property
    def _several(self) -> bool:
        return sum(tensor.role == "weight" for tensor in self.tensors) > 1

    def _left_out_words(self) -> Iterator[str]:
        """Yield what cannot be compared, one clause each."""
        (first, second), (a, b) = self.names, ({tensor.name: tensor for tensor in one.tensors} for one in self.pair)
        for name, tensor in a.items():
            if name not in b:
                yield f"{name} is in {first} only"
            elif b[name].shape != tensor.shape:
                yield f"{name} is {_shape(tensor)} in {first}, {_shape(b[name])} in {second}"
        yield from (f"{name} is in {second} only" for name in b if name not in a)
        if self._several and any(one.probe is not None for one in self.pair):  # one of them has rows
            yield from filter(None, [self._rowless()])
        every = list(zip(self.names, self.pair, self._steps, strict=True))
        for name, one, own in every:  # frames of another network hold other numbers than the last ones
            if own[0] > one.steps[0]:
                yield f"{name} before step {own[0]:,}: another network"
        for name, one, own in every:
            if own[-1] < one.steps[-1]:
                yield f"{name} after step {own[-1]:,}: another network"
        for name, one, _ in every:
            if (count := len(one.past.branches) - 1) > 0:
                yield f"{count:,} other branch{'es' if count > 1 else ''} of {name}"

    def grow(self, which: int, record: Recorded, *, along: bool = True) -> str:
        """Continue with newer data of the file of `a` (0) or `b` (1); return a note for the user, or "".

        At the end it goes `along`, otherwise it stays at its step. Frames of another network are not shown.
        """
        one = self.pair[which]
        assert isinstance(one, RecordedSource)  # nothing else is written
        along, step = along and self.place == len(self.steps) - 1, int(self.steps[self.place])
        one.show_frame(len(one.steps) - 1 if along else 0)
        branch, known = one.record.branch, self._networks[which]
        said = one.grow(record, along=along)
        kept = one.follow_network_of(known)
        if not len(kept):  # of a branch that never had it
            one.switch(branch)
            kept = one.follow_network_of(known)
        if kept[-1] < len(one.steps) - 1:
            said = f"the network changed after step {one.steps[kept[-1]]:,}; compare both again to see the rest"
        self._kept = tuple(kept if k == which else old for k, old in enumerate(self._kept))
        self._steps = tuple(one.steps[k] for one, k in zip(self.pair, self._kept, strict=True))
        self.left_out, self.past = tuple(self._left_out_words()), self._joined()
        self.place = len(self.steps) - 1 if along else max(0, int(np.searchsorted(self.steps, step, "right")) - 1)
        return said

    def _joined(self) -> Past:
        """Return the steps at which either was recorded, from the first common one, with the curve of `a`."""
        a, b = self._steps
        begin, ends = int(max(a[0], b[0])), min(a[-1], b[-1])
        if ends < begin:
            named = zip(self.names, self._steps, strict=True)
            spans = listing(f"{name} steps {own[0]:,} to {own[-1]:,}" for name, own in named)
            raise InputError(f"nothing to compare: {spans}; allowed: recordings that share a step")
        steps = np.unique(np.concatenate([[begin], a, b]))
        steps, edits = steps[steps >= begin], list[Applied]()
        for letter, one in zip(NAMES, self.pair, strict=True):
            for edit in one.past.edits:
                if edit.step >= begin:
                    gesture = f"{letter} {edit.gesture}" if edit.gesture else ""
                    edits.append(replace(edit, what=f"{letter}: {edit.what}", gesture=gesture))
        edits.sort(key=lambda edit: edit.step)
        return Past(begin, int(steps[-1]), self.pair[0].curve.after(begin - 1), tuple(edits), steps=steps)

    # ---- current frame

    @property
    def other_curve(self) -> Curve:
        """The curve of `b`."""
        return self.pair[1].curve.after(self.past.first - 1)

    def places(self, step: int) -> tuple[int, int]:
        """Return the frame indices of the two at a step: their last frames not after it."""
        first, second = (int(kept[max(0, int(np.searchsorted(own, step, "right")) - 1)])
                         for own, kept in zip(self._steps, self._kept, strict=True))  # fmt: skip
        return first, second

    def to(self, step: int) -> None:
        """Go to a step, or to the last one before it; InputError outside the common steps."""
        first, newest = self.span
        if not first <= step <= newest:
            raise InputError(f"{self.what} has no step {step:,}; allowed: {first:,} to {newest:,}")
        self.show_frame(int(np.searchsorted(self.steps, step, "right")) - 1)

    def frame_at(self, place: int) -> Compared:
        step = int(self.steps[place])
        a, b = (self.frame_of(k, at) for k, at in enumerate(self.places(step)))
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
            values, gradient, update = (
                np.asarray(getattr(b, part), np.float64) - getattr(a, part) for part in ("values", "gradient", "update")
            )
            rows = {name: np.asarray(row, np.float64) - a.activations[name] for name, row in b.activations.items()
                    if name in a.activations}  # fmt: skip
        return Compared(
            step, float("nan"), float("nan"), values, gradient, update, a.computed & b.computed,
            np.zeros(len(values), bool), rows, edited=a.edited or b.edited, past=self.past, a=a, b=b,
            moved=a.known("update") & b.known("update"),
        )  # fmt: skip

    def frame_of(self, which: int, place: int) -> Frame:
        """Return a frame of `a` (0) or `b` (1) by its own index, with the common tensors in the order of `a`."""
        frame, index = self.pair[which].frame_at(place), self._indices[which]
        parts = {name: getattr(frame, name)[index] for name in ("values", "gradient", "update", "computed", "frozen")}
        names = ("input", *(stage.name for stage in self.stages)) if self.stages else ()
        rows = {name: frame.activations[name] for name in names if name in frame.activations}
        parts["moved"] = frame.known("update")[index]
        return replace(frame, **parts, activations=rows, dead={}, saturated={})

    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the geometric mean of both losses; NaN if one is missing."""
        at = np.array([self.places(int(self.steps[place])) for place in places], np.int64).reshape(-1, 2)
        a, b = (one.loss_at(at[:, k]) for k, one in enumerate(self.pair))
        with np.errstate(invalid="ignore"):
            return np.asarray(np.sqrt(a * b))

    def weight_records(self, index: int) -> tuple[WeightRecord | None, ...]:
        """Return how a weight moved in `a` and in `b`, each on its branch; None for a damaged file."""
        found: list[WeightRecord | None] = [None, None]
        for k, (one, own) in enumerate(zip(self.pair, self._indices, strict=True)):
            with suppress(FileFormatError):  # unreadable frames are reported where they are shown
                found[k] = one.weight_record(int(own[index]))
        return tuple(found)

    # ---- facts

    of, counted = "b \N{MINUS SIGN} a", False

    def lacks(self, quantity: str) -> str:
        if quantity == "micro":
            return "a comparison has no micro-steps; open one recording alone"
        if quantity == "update/value":
            return "a difference has no update ÷ value"
        if quantity.startswith("|"):
            return "colour already shows the size of a difference; press G for its sign"
        said = (f"{name}: {why}" for name, one in zip(NAMES, self.pair, strict=True) if (why := one.lacks(quantity)))
        return next(said, "")


def _outline(stage: Stage) -> tuple[object, ...]:
    """Return the parts of a stage that must be equal to compare rows."""
    parts = tuple(None if part is None else (part.name, part.shape) for part in (stage.weight, stage.bias))
    return stage.name, stage.kind, stage.outputs, stage.shape, stage.sources, stage.whole, *parts


def _shapes(tensors: Sequence[Tensor]) -> str:
    return first_of((f"{tensor.name} {_shape(tensor)}" for tensor in tensors), NAMED)


def _shape(tensor: Tensor) -> str:
    return "\N{MULTIPLICATION SIGN}".join(map(str, tensor.shape)) or "1"
