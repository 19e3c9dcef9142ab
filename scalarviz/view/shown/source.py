"""`Source`: anything that has weights, as something to show, to read again and to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import TypeMismatchError
from ...run.frame import Frame
from ...run.scene import Scene
from ...scalar import Block
from .subject import Subject, arrays_subject, subject_of

ALLOWED = "a Scene, a Run, a Module, Weights (one or a list), or named arrays (a dict)"


@dataclass(frozen=True, slots=True)
class Source:
    """What a picture is made from.

    Attributes
    ----------
    subject : Subject
        What stays the same.
    frame : callable
        The numbers as they are now.
    nudge : callable
        ``nudge(index, amount)`` adds to one flat weight.
    """

    subject: Subject
    frame: Callable[[], Frame]
    nudge: Callable[[int, float], None]


def source_of(x: object) -> Source:
    """The source of anything that can be shown.

    Parameters
    ----------
    x : Scene, Run, Module, Weight, Parameter, sequence of these, or mapping of str to array

    Raises
    ------
    TypeMismatchError
        Anything else.
    InputError
        Arrays without numbers.
    """
    from ...nn import Module
    from ...run import Run

    if isinstance(x, Run):
        x = Scene("run", x)
    if isinstance(x, Scene):
        return _of_scene(x)
    if isinstance(x, Module):
        return _of_blocks(dict(x.named_parameters()))
    if isinstance(x, Mapping):
        return _of_arrays(x)
    return _of_blocks(_named(x))


def _of_scene(scene: Scene) -> Source:
    run = scene.run

    def nudge(index: int, amount: float) -> None:
        run.set_weights(index, [float(run.values[index]) + amount])

    subject = subject_of(scene)
    return Source(subject, subject.frame, nudge)


def _of_arrays(arrays: Mapping[str, Any]) -> Source:
    subject, _ = arrays_subject(arrays)

    def nudge(index: int, amount: float) -> None:
        """Arrays are looked at, not touched: they are somebody's data."""

    return Source(subject, lambda: arrays_subject(arrays)[1], nudge)


def _of_blocks(parts: Mapping[str, Any]) -> Source:
    """Weights and Parameters by name."""
    subject, _ = arrays_subject({name: part.data for name, part in parts.items()})

    def gathered(attribute: str) -> NDArray[Any]:
        return np.concatenate([np.ravel(getattr(part, attribute)) for part in parts.values()])

    def frame() -> Frame:
        values = gathered("data").astype(float)
        flags = [_flags(part) for part in parts.values()]
        computed, frozen = (np.concatenate([pair[k] for pair in flags]).astype(bool) for k in (0, 1))
        return Frame(0, float("nan"), 0.0, values, gathered("grad"), np.zeros_like(values), computed, frozen)

    def nudge(index: int, amount: float) -> None:
        for part in parts.values():
            size = np.size(part.data)
            if index < size:
                weight = part.weight(index) if isinstance(part, Block) else part
                weight.data += amount
                return
            index -= size

    return Source(subject, frame, nudge)


def _flags(part: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Computed and frozen flags of a Parameter or of a Weight."""
    if isinstance(part, Block):
        return part.computed.copy(), part.frozen_flags.copy()
    return np.array([part.has_grad]), np.array([part.frozen])


def _named(x: object) -> dict[str, Any]:
    """Weights, one or a list (Parameters too), by name; a name that comes twice is counted."""
    from ...nn import Parameter
    from ...scalar import Weight

    several = list(x) if isinstance(x, Sequence) and not isinstance(x, str | bytes) else [x]
    parts: dict[str, Any] = {}
    for k, part in enumerate(several):
        if not isinstance(part, Weight | Parameter):
            raise TypeMismatchError(f"nothing to show: got {type(part).__name__}; allowed: {ALLOWED}")
        name = getattr(part, "name", None) or f"w{k}"
        parts[name if name not in parts else f"{name} ({k})"] = part
    return parts
