"""`About`: what a recording says of the run that it is of, beside its numbers."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from ....errors import FileFormatError, ScalarvizError
from ...looking import sample
from ...run import Run
from ...scene.scene import Plan, Scene
from ..run_source import RunSource
from ..watched.watched import Watched
from .file import LONGEST_NAME, clean

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_WORDS = 1 << 20
"""Characters of it as JSON."""
MOST_NAMES = 10_000


@dataclass(frozen=True, slots=True)
class About:
    """Facts of a run as it was when its recording began."""

    name: str = "run"  # of the scene; ``"run"`` for a run without one
    optimizer: str = ""
    engine: str = ""
    reduction: str = "mean"
    loss: str = ""
    dtype: str = "float32"
    # batch_size, samples, seed and inputs: samples of a step and that there are; of the order of the samples;
    # numbers of one sample
    batch_size: int = 0
    samples: int = 0
    seed: int = 0
    inputs: int = 0
    whole: bool = False  # whether every step has all samples
    whole_loss: bool = False  # whether the loss that is told is that of all samples
    couples: bool = False  # whether the training normalises by the batch
    input_names: tuple[str, ...] = ()  # input_names, output_names, notes and hide: as in :class:`~scalarviz.Scene`
    output_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    headline: str = ""  # headline and sentence: its story
    sentence: str = ""
    # probe and probe_target: the sample whose way through the network is recorded
    probe: tuple[float, ...] | None = None
    probe_target: tuple[float, ...] | None = None
    steps_a_frame: int | None = None
    plan: Plan | None = None  # where the tensors stand
    speaks_of: tuple[str, ...] = ()  # what its panels take the probe for: "colours", a "sheet" of paper and ink
    version: str = ""  # of the program that recorded it

    @property
    def outside(self) -> bool:
        """Whether another library trained it."""
        return not self.engine


def about_of(subject: Run | Scene) -> About:
    """What is to be said of a run, or of a scene and its run; for the thread that trains."""
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
        known |= {name: getattr(subject.told, name) for name in ("headline", "sentence")}
        known["name"] = clean(subject.name, LONGEST_NAME)
        known["speaks_of"] = tuple(sorted({panel.speaks_of for panel in subject.panels} - {""}))
        if subject.probe is not None:
            probe, target = (np.ravel([] if row is None else row) for row in (subject.probe, subject.probe_target))
    return About(**known, probe=_row(probe), probe_target=_row(target) if len(target) else None)


def about_watched(watched: Watched) -> About:
    """What is known of what another library trains."""
    return About(clean(watched.name, LONGEST_NAME), dtype=str(watched.last.values.dtype), version=program_version())


def program_version() -> str:
    """The version of this program; empty where it runs from its folder."""
    try:
        return version("scalarviz")
    except PackageNotFoundError:
        return ""


def _row(numbers: Any) -> tuple[float, ...]:
    return tuple(np.asarray(numbers, np.float64).tolist())


def _names(names: Any) -> tuple[str, ...]:
    return tuple(clean(name, LONGEST_NAME) for name in names)


def written(about: About) -> str:
    """As JSON."""
    return json.dumps(asdict(about))


# ---- reading


@cache
def _readers() -> dict[str, TypeAdapter[Any]]:
    """By the names of its parts; numbers and texts are what JSON says they are."""
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(strict=True, allow_inf_nan=False)
    return {name: TypeAdapter(kind, config=config) for name, kind in get_type_hints(About).items()}


def read_about(text: str) -> About:
    """What JSON says, checked part by part; one of no use is as if not said. FileFormatError: no JSON object."""
    from pydantic import ValidationError

    said, found = None, dict[str, Any]()
    with suppress(ValueError, RecursionError):
        said = json.loads(text) if len(text) <= MOST_WORDS else None
    if not isinstance(said, dict):
        raise FileFormatError("what it says about its run is no JSON object")
    for part in fields(About):
        with suppress(KeyError, ValidationError, ScalarvizError, RecursionError):  # not there, or a plan of nothing
            given = _readers()[part.name].validate_json(json.dumps(said[part.name]))
            found[part.name] = _useful(given, part.default)
    return About(**found)


def _useful(part: Any, default: Any) -> Any:
    """A part as it can be shown; its default where it is out of all bounds."""
    if isinstance(part, str):
        return clean(part, LONGEST_NAME)
    if isinstance(part, tuple) and 0 < len(part) <= MOST_NAMES:
        return _names(part) if isinstance(part[0], str) else part
    bounded = isinstance(part, Plan | None) or (isinstance(part, int) and 0 <= part < 1 << 53)
    return part if bounded else default
