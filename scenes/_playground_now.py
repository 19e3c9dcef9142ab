"""`Now`: what a playground is set to at one moment, read off its frame: points, network, and how it trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scalarviz.run.controls import Reader
from scalarviz.run.frame import Frame, Stage

from ._known_points import Known, PointSet
from ._playground_net import PlayNet, Shape


@dataclass(frozen=True, slots=True)
class Now:
    """One moment.

    Attributes
    ----------
    points : PointSet
    shape : Shape
        Of the network.
    """

    points: PointSet
    shape: Shape


def now(known: Known, reader: Reader) -> Now | None:
    """What a moment is set to; None where it is not of a playground."""
    shape = shape_of(reader.frame)
    return None if shape is None else Now(known.at(reader.frame), shape)


def shape_of(frame: Frame) -> Shape | None:
    """The shape of the network of a frame, which may be another one than that of now."""
    if frame.forward is None:
        return None
    net = next((module for module, _ in frame.forward.tape.taps if isinstance(module, PlayNet)), None)
    if net is None:
        return None
    return replace(net.shape, activation=_between(frame.forward.stages) or net.shape.activation)


def _between(stages: Sequence[Stage]) -> str:
    """The activation behind the first hidden layer; empty where there is none to be seen."""
    layers = [k for k, stage in enumerate(stages) if stage.weight is not None]
    if len(layers) < 2:
        return ""
    kinds = [stage.kind for stage in stages[layers[0] + 1 : layers[1]]]
    return kinds[0] if kinds else "identity"
