"""Words in place of a picture: what it is of, at which step, and what its cubes show."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ..nn import Module
from ..run.run import Run
from ..run.scene.scene import Scene
from ..run.sources.played import Played
from ..run.sources.recording.recorded import Recorded
from ..run.sources.watched import Watched
from ..sweep.groups import ALL, Kept
from .ink.text import loss_text
from .shown.subject import Subject

if TYPE_CHECKING:
    from ..run.core.frame import Frame
    from .micro.walk import Told


def title_of(x: object) -> str:
    """What a thing that has cubes is called: a scene or a recording by its name, a module by its class."""
    if isinstance(x, Kept):
        return ALL
    x = x.source if isinstance(x, Subject) else x
    if isinstance(x, Recorded):
        return x.about.name
    if isinstance(x, Scene | Played | Watched):
        return x.name
    return type(x).__name__.lower() if isinstance(x, Module | Run) else "weights"


def words_of(
    name: str, frame: Frame, counted: bool = True, *, shows: str = "weight", told: Told | None = None,
    which: str = "",
) -> str:  # fmt: skip
    """What stands in place of a picture: ``"rgb, step 300, loss 0.0123: 15 numbers as cubes"``.

    `told` is the micro-step that is shown after that moment; `which` says which loss a step has, where elsewhere that
    of all samples is told.
    """
    count = len(frame.values)
    cubes = "1 number as a cube" if count == 1 else f"{count:,} numbers as cubes"
    if told is not None:
        said = told.sentence
        formula = "".join(word.text for word in said.formulas[0].numbers) if said.formulas else said.meaning
        place = f"inside step {told.step:,}, micro-step {told.at} of {told.count}"
        return f"{name}, {place} ({told.phases[told.phase].name}), {said.name} {formula}".rstrip() + f": {cubes}"
    step = f", step {frame.step:,}" if counted else ""
    if counted and (frame.step or not isnan(frame.loss)):
        step += f", loss {loss_text(frame.loss)} {which}".rstrip()
    return f"{name}{step}: {cubes}" + (f", coloured by {shows}" if shows != "weight" else "")
