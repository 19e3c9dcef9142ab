"""What the thread that trains hands to the one that writes: copies, and how they become rows of the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....engine.data import Data
from ....errors import ScalarvizError
from ...core.forward import Forward
from ...core.frame import Curve, Stage, Tensor
from ...edits.base import Applied, write_edit
from ...looking import taken_here
from ...opened.network import Network
from ...opened.opened import Opened
from ...opened.passes import Taken
from .file import LONGEST_EDIT, LONGEST_NAME, clean

if TYPE_CHECKING:
    from ...run import Run


Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coming:
    """The coming step of a moment."""

    alone: Taken | None  # with the probe alone, where it has a target
    whole: Taken  # of the step's own batch

    @property
    def nbytes(self) -> int:
        """Bytes that are copied for it."""
        found = [taken for taken in (self.alone, self.whole) if taken is not None]
        return OVERHEAD + sum(t.values.nbytes + sum(s.nbytes for s in (t.state or {}).values()) for t in found)


@dataclass(frozen=True, slots=True)
class Steps:
    """Takes the coming steps of a run."""

    probe: Float | None  # probe and target: the sample with which a trial step is opened, where both are known
    target: Float | None

    def coming(self, run: Run) -> Coming | None:
        """What is copied of a run that stands still; None where its step cannot be opened."""
        try:
            whole = taken_here(run, None, None)
        except ScalarvizError:
            return None
        if self.probe is None or self.target is None or np.isnan(self.target).any():
            return Coming(None, whole)
        try:
            return Coming(taken_here(run, None, (self.probe, self.target)), whole)
        except ScalarvizError:  # its network takes other samples now
            return Coming(None, whole)


class Opener:
    """Opens what was copied, with programs of its own: those of the run belong to whoever opens its steps."""

    def __init__(self) -> None:
        self._of: Network | None = None
        self._network: Network | None = None

    def opened(self, taken: Taken, *, alone: bool) -> Opened:
        """The step."""
        if self._network is None or self._of is not taken.network:
            self._of, self._network = taken.network, taken.network.another()
        return Opened(replace(taken, network=self._network), trial=alone)


# ---- What the thread that trains hands to the one that writes: copies, or what nobody changes any more


OVERHEAD = 1024
"""Bytes of an item beside its arrays."""


@dataclass(frozen=True, slots=True)
class Way:
    """A branch begins."""

    number: int  # number, parent, first, before, why and jumped: as those of :class:`~scalarviz.run.past.line.Line`
    parent: int | None
    first: int
    before: int
    why: str
    jumped: bool

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Done:
    """An edit of a branch, and its number there; one of the same gesture takes the place of the last."""

    branch: int
    number: int
    applied: Applied

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return OVERHEAD + self.applied.nbytes


@dataclass(frozen=True, slots=True)
class Named:
    """The named moments of a branch, all of them, by step."""

    branch: int
    flags: dict[int, str]

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Passed:
    """Steps of a branch: their numbers, losses and learning rates."""

    branch: int
    curve: Curve

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return OVERHEAD + sum(part.nbytes for part in self.curve)


@dataclass(frozen=True, slots=True)
class TakenNetwork:
    """The network that frames of this number are of."""

    number: int
    forward: Forward

    nbytes = OVERHEAD


@dataclass(frozen=True, slots=True)
class Look:
    """One moment; what has a default here nobody knows of what another library trains."""

    branch: int  # branch, step and edits: its place
    step: int
    kept: bool  # whether thinning leaves it: the run came here by an edit, a jump, its beginning or its end
    loss: float
    lr: float
    value: NDArray[Any]  # shape (P,)
    # gradient, moved and previous: what of it was asked for; `moved` where it is not ``value - previous``
    gradient: NDArray[Any] | None
    moved: NDArray[Any] | None
    computed: NDArray[np.uint8]  # computed and frozen: shape (P,)
    frozen: NDArray[np.uint8]
    forward: Forward
    data: Data
    edits: int = 0
    network: int = 0
    # whether it takes the place of what was written of this place: an edit took that of the one before it
    instead: bool = False
    next_lr: float = math.nan
    batch: int = 0  # batch and optimizer: samples of a step, and the class that trains
    optimizer: str = ""
    edited: bool = False
    stopped: str = ""  # as in :class:`~scalarviz.run.core.frame.Frame`
    previous: NDArray[Any] | None = None
    coming: Coming | None = None  # the step that comes after it, where micro-steps are wanted

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        arrays = (self.value, self.gradient, self.previous, self.moved, self.computed, self.frozen)
        opened = 0 if self.coming is None else self.coming.nbytes
        return OVERHEAD + opened + sum(array.nbytes for array in arrays if array is not None)


@dataclass(frozen=True, slots=True)
class Stands:
    """Where the run stands: the place that a recording shows as that of now. None: at the branch's last frame."""

    branch: int
    step: int | None

    nbytes = OVERHEAD


Item = Way | Done | Named | Passed | TakenNetwork | Look | Stands


# ---- What was taken of a run, as the rows of the file: made in the thread that writes, and read back here too


MARKED = ("relu", "sigmoid", "tanh")
"""Kinds of stages of which dead or flat units are told."""


def blob(numbers: NDArray[Any], kind: str = "<f4") -> bytes:
    """Numbers as they lie in the file."""
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities, float64 more than float32
        return np.ascontiguousarray(numbers, kind).tobytes()


def number(given: float) -> float | None:
    """As a column of real numbers takes it: SQLite has no NaN."""
    return None if math.isnan(given) else float(given)


def bits(flags: NDArray[np.uint8], weights: NDArray[np.bool_]) -> bytes | None:
    """One bit each; None where none is set, empty where all `weights` are and nothing else."""
    given = flags != 0
    if not given.any():
        return None
    return b"" if np.array_equal(given, weights) else np.packbits(given).tobytes()


def flags_of(kept: bytes | None, weights: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The other way round."""
    if kept is None:
        return np.zeros(len(weights), bool)
    if not kept:
        return weights.copy()
    return np.unpackbits(np.frombuffer(kept, np.uint8), count=len(weights)).astype(bool)


def weights_of(tensors: Sequence[Tensor]) -> NDArray[np.bool_]:
    """Which numbers are weights, shape (P,): buffers are none."""
    return np.concatenate([np.zeros(0, bool), *(np.full(t.size, not t.buffer) for t in tensors)])


def marked(stages: Iterable[Stage]) -> list[Stage]:
    """The stages of which units are told, in order."""
    return [stage for stage in stages if stage.kind in MARKED]


def units_blob(forward: Forward, look: Look) -> bytes | None:
    """Dead and saturated units at the moment; None where no stage has such."""
    stages = marked(forward.stages)
    if not stages:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        dead, flat = forward.units(look.value, look.data)
    rows = [dead[stage.name] if stage.kind == "relu" else flat[stage.name] for stage in stages]
    return blob(np.array([look.step]), "<i8") + b"".join(blob(row) for row in rows)


def rows_blob(rows: Mapping[str, NDArray[Any]], stages: Sequence[Stage]) -> bytes:
    """``"input"`` and the row of every stage, one after the other."""
    return b"".join(blob(rows[name]) for name in ("input", *(stage.name for stage in stages)))


def tensor_rows(network: int, tensors: Iterable[Tensor]) -> list[tuple[Any, ...]]:
    """Rows of the table of that name."""
    return [
        (network, k, clean(t.name, LONGEST_NAME), json.dumps(t.shape), t.start, t.role) for k, t in enumerate(tensors)
    ]


def stage_rows(network: int, stages: Iterable[Stage]) -> list[tuple[Any, ...]]:
    """Rows of the table of that name."""
    return [
        (
            network, k, clean(s.name, LONGEST_NAME), clean(s.kind, LONGEST_NAME), s.outputs,
            None if s.weight is None else clean(s.weight.name, LONGEST_NAME),
            None if s.bias is None else clean(s.bias.name, LONGEST_NAME),
            json.dumps(s.shape), json.dumps(s.input_shape),
            json.dumps([clean(name, LONGEST_NAME) for name in s.sources]), int(s.whole),
        )
        for k, s in enumerate(stages)
    ]  # fmt: skip


def edit_row(branch: int, place: int, applied: Applied) -> tuple[Any, ...]:
    """A row of the table of that name."""
    written: str | None = None
    if applied.nbytes < LONGEST_EDIT and applied.does is None:
        try:
            written = write_edit(applied.edit)
        except ScalarvizError:  # it holds what cannot be written: the words stay
            written = None
    if written is not None and (len(written) > LONGEST_EDIT or '"function"' in written):
        written = None
    return branch, place, applied.step, clean(applied.what), clean(applied.gesture, LONGEST_NAME), written
