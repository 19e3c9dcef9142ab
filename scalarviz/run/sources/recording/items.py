"""Items: what goes from the thread that trains to the one that writes a recording, and how it becomes rows."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ....engine.data import Data
from ....errors import FileFormatError, ScalarvizError
from ...core.frame import Coming
from ...core.graph import Forward
from ...core.history import Curve
from ...core.tensors import Stage, Tensor
from ...edits.base import Applied, write_edit
from ...frames import sample
from ...run import Run
from ...scene.scene import Plan, Scene
from ...source import RunSource
from ..watched import Watched
from .tables import LONGEST_EDIT, LONGEST_NAME, Cell, clean, distinct

if TYPE_CHECKING:
    from pydantic import TypeAdapter


MOST_WORDS = 1 << 20
"""Most characters of the description as JSON."""
MOST_NAMES = 10_000


@dataclass(frozen=True, slots=True)
class About:
    """Facts of a run at the start of its recording."""

    name: str = "run"  # of the scene; ``"run"`` without one
    optimizer: str = ""
    engine: str = ""
    reduction: str = "mean"
    loss: str = ""
    dtype: str = "float32"
    # batch_size, samples, seed and inputs: samples per step and in the data; seed of their order; numbers of one sample
    batch_size: int = 0
    samples: int = 0
    seed: int = 0
    inputs: int = 0
    whole: bool = False  # whether every step has all samples
    whole_loss: bool = False  # whether the shown loss is that of all samples
    couples: bool = False  # whether the training normalises by the batch
    input_names: tuple[str, ...] = ()  # input_names, output_names, notes and hide: as in :class:`~scalarviz.Scene`
    output_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    headline: str = ""  # headline and sentence of its story
    sentence: str = ""
    # probe and probe_target: the sample whose way through the network is recorded
    probe: tuple[float, ...] | None = None
    probe_target: tuple[float, ...] | None = None
    steps_a_frame: int | None = None
    plan: Plan | None = None  # places of the tensors
    speaks_of: tuple[str, ...] = ()  # how its panels see the probe: "colours", or a "sheet" of paper and ink
    version: str = ""  # of the program that recorded it

    @property
    def outside(self) -> bool:
        """True if another library trained the network."""
        return not self.engine


def about_of(subject: Run | Scene) -> About:
    """Return the facts of a run, or of a scene and its run; for the thread that trains."""
    run = subject.run if isinstance(subject, Scene) else subject
    source, loss = RunSource(run), run.loss_function
    known: dict[str, Any] = asdict(source.facts) | {
        "couples": source.couples, "loss": str(getattr(loss, "__qualname__", type(loss).__qualname__)),
        "dtype": run.dtype, "seed": run.seed, "inputs": run._tape.n_inputs, "version": program_version(),
    }  # fmt: skip
    probe, target = sample(run, 0)
    if isinstance(subject, Scene):
        known |= {name: getattr(subject, name) for name in ("whole_loss", "steps_a_frame", "plan")}
        known |= {name: _names(getattr(subject, name)) for name in ("input_names", "output_names", "notes", "hide")}
        known |= {name: getattr(subject.shown_story, name) for name in ("headline", "sentence")}
        known["name"] = clean(subject.name, LONGEST_NAME)
        known["speaks_of"] = tuple(sorted({panel.speaks_of for panel in subject.panels} - {""}))
        if subject.probe is not None:
            probe, target = (np.ravel([] if row is None else row) for row in (subject.probe, subject.probe_target))
    return About(**known, probe=_row(probe), probe_target=_row(target) if len(target) else None)


def about_watched(watched: Watched) -> About:
    """Return the facts of a watched network."""
    return About(clean(watched.name, LONGEST_NAME), dtype=str(watched.last.values.dtype), version=program_version())


def program_version() -> str:
    """Return the version of this program; empty if it is not installed."""
    try:
        return version("scalarviz")
    except PackageNotFoundError:
        return ""


def _row(numbers: Any) -> tuple[float, ...]:
    return tuple(np.asarray(numbers, np.float64).tolist())


def _names(names: Any) -> tuple[str, ...]:
    return tuple(clean(name, LONGEST_NAME) for name in names)


def written(about: About) -> str:
    """Return the description as JSON."""
    return json.dumps(asdict(about))


# ---- reading


@cache
def _readers() -> dict[str, TypeAdapter[Any]]:
    """Return a strict reader for each part, by name."""
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(strict=True, allow_inf_nan=False)
    return {name: TypeAdapter(kind, config=config) for name, kind in get_type_hints(About).items()}


def read_about(text: str) -> About:
    """Read a description part by part; an invalid part gets its default. FileFormatError: not a JSON object."""
    from pydantic import ValidationError

    said, found = None, dict[str, Any]()
    with suppress(ValueError, RecursionError):
        said = json.loads(text) if len(text) <= MOST_WORDS else None
    if not isinstance(said, dict):
        raise FileFormatError("the description of the run is not a JSON object")
    for part in fields(About):
        with suppress(KeyError, ValidationError, ScalarvizError, RecursionError):  # missing, or an empty plan
            given = _readers()[part.name].validate_json(json.dumps(said[part.name]))
            found[part.name] = _useful(given, part.default)
    return About(**found)


def _useful(part: Any, default: Any) -> Any:
    """Return a part that can be shown; its default if it is out of bounds."""
    if isinstance(part, str):
        return clean(part, LONGEST_NAME)
    if isinstance(part, tuple) and 0 < len(part) <= MOST_NAMES:
        return _names(part) if isinstance(part[0], str) else part
    bounded = isinstance(part, Plan | None) or (isinstance(part, int) and 0 <= part < 1 << 53)
    return part if bounded else default


OVERHEAD = 1024
"""Bytes of an item beside its arrays."""


# ---- Items: from the thread that trains to the one that writes. They are copies, or never change


@dataclass(frozen=True, slots=True)
class Put:
    """Rows of a table; `rows` makes them in the thread that writes."""

    statement: str
    rows: Callable[[], Sequence[tuple[Cell, ...]]]
    nbytes: int = OVERHEAD


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
class Outside:
    """A network that another library trains; only its arrays are known."""

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...] = ()


class Moment(NamedTuple):
    """What a frame lacks for its coming step: the rule, the optimiser's step number and rates, and its state."""

    rule: int
    rates: NDArray[np.float64]  # step number, learning rate, rates of the other parameter groups, scheduled momenta
    state: tuple[NDArray[Any], ...] | None  # weights if they are float64, then the optimiser's arrays; None: left out

    def row(self) -> tuple[Cell, ...]:
        """Return the columns of the table ``moment`` after the frame's number."""
        rates, state = self.rates.tobytes(), None
        if self.state is not None:
            state = b"".join(array.tobytes() for array in self.state)
        return self.rule, rates, state, moment_sum(self.rule, rates, state)


def moment_sum(rule: int, rates: bytes, state: bytes | None) -> int:
    """Return the checksum of a moment."""
    return zlib.crc32(b"%d %d" % (rule, state is None) + rates + (state or b""))


@dataclass(frozen=True, slots=True)
class FrameItem:
    """One moment, a row of the table ``frame``; arrays have shape (P,)."""

    place: tuple[int, int, int]  # branch, step and edits
    network: int
    kept: bool  # whether thinning leaves it
    cells: dict[str, Cell]  # other columns by name, without those of the arrays and the probe
    value: NDArray[Any]
    # gradient, moved and previous: if asked for; `moved` if it is not ``value - previous``
    gradient: NDArray[Any] | None
    moved: NDArray[Any] | None
    computed: NDArray[np.uint8]
    frozen: NDArray[np.uint8]
    forward: Forward | Outside
    data: Data | None = None
    previous: NDArray[Any] | None = None
    replaces_last: bool = False  # an edit replaced the one before it: this frame replaces the one at its place
    moment: Moment | None = None  # how the next step is taken
    batch: Coming | None = None  # batch of the next step

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        arrays = [self.value, self.gradient, self.previous, self.moved, self.computed, self.frozen]
        arrays += () if self.moment is None else self.moment.state or ()
        return OVERHEAD + sum(array.nbytes for array in arrays if array is not None)


Item = Put | Passed | FrameItem


def put(table: str, columns: int, *rows: tuple[Cell, ...]) -> Put:
    """Return finished rows that replace those with the same keys."""
    return Put(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * columns)})", lambda: rows)


# ---- Rows of the file: made in the thread that writes, and read back here


MARKED = ("relu", "sigmoid", "tanh")
"""Kinds of stages with dead or flat units."""


def blob(numbers: NDArray[Any], kind: str = "<f4") -> bytes:
    """Return numbers as bytes of the file."""
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities, float64 more than float32
        return np.ascontiguousarray(numbers, kind).tobytes()


def number(given: float) -> float | None:
    """Return a number for a REAL column: SQLite has no NaN."""
    return None if math.isnan(given) else float(given)


def bits(flags: NDArray[np.uint8], weights: NDArray[np.bool_]) -> bytes | None:
    """Return one bit per flag; None if none is set, empty if exactly all `weights` are."""
    given = flags != 0
    if not given.any():
        return None
    return b"" if np.array_equal(given, weights) else np.packbits(given).tobytes()


def flags_of(kept: bytes | None, weights: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the flags in the bytes of :func:`bits`."""
    if kept is None:
        return np.zeros(len(weights), bool)
    if not kept:
        return weights.copy()
    return np.unpackbits(np.frombuffer(kept, np.uint8), count=len(weights)).astype(bool)


def weights_of(tensors: Sequence[Tensor]) -> NDArray[np.bool_]:
    """Return which numbers are weights and not buffers, shape (P,)."""
    return np.concatenate([np.zeros(0, bool), *(np.full(t.size, not t.buffer) for t in tensors)])


def marked(stages: Iterable[Stage]) -> list[Stage]:
    """Return the stages with dead or flat units, in order."""
    return [stage for stage in stages if stage.kind in MARKED]


def tensor_rows(number: int, tensors: Iterable[Tensor]) -> list[tuple[Cell, ...]]:
    """Return the rows of a network's tensors."""
    names = distinct([t.name for t in tensors])
    return [(number, k, names[t.name], json.dumps(t.shape), t.start, t.role) for k, t in enumerate(tensors)]


def stage_rows(number: int, forward: Forward | Outside) -> list[tuple[Cell, ...]]:
    """Return the rows of a network's stages."""
    weights = distinct([t.name for t in forward.tensors])
    names = distinct([s.name for s in forward.stages]) | {"": "", "input": "input"}  # the model, and what it gets
    return [
        (
            number, k, names[s.name], clean(s.kind, LONGEST_NAME), s.outputs,
            *(None if part is None else weights[part.name] for part in (s.weight, s.bias)),
            json.dumps(s.shape), json.dumps(s.input_shape), json.dumps([names[name] for name in s.sources]),
            int(s.whole),
        )
        for k, s in enumerate(forward.stages)
    ]  # fmt: skip


def edit_rows(branch: int, place: int, applied: Applied) -> list[tuple[Cell, ...]]:
    """Return the row of an edit."""
    written: str | None = None
    if applied.nbytes < LONGEST_EDIT and applied.does is None:
        with suppress(ScalarvizError):  # it cannot be written: the words stay
            written = write_edit(applied.edit)
    if written is not None and (len(written) > LONGEST_EDIT or '"function"' in written):
        written = None
    return [(branch, place, applied.step, clean(applied.what), clean(applied.gesture, LONGEST_NAME), written)]
