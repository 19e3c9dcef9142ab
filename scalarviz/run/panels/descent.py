"""Panels of the smallest networks: the loss over one weight or two, and the four calls of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import integer, text
from ...errors import InputError, TypeMismatchError, shown
from .base import Panel

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class LossOver(Panel):
    """The loss over one weight as a curve with the tangent, over two as a map with isolines; a ball is where they are.

    Nothing is modelled: the network's loss of all samples is worked out at each place, all other weights as they are.

    Attributes
    ----------
    weights : tuple of int
        Flat numbers of one weight or two.
    names : tuple of str
        What each is called.
    spans : tuple of (float, float)
        From where to where each is shown; farther where the ball leaves that.
    title : str
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]
    spans: tuple[Span, ...]
    title: str = "loss"

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "LossOver: the title")
        _weights(self.weights, self.names, "LossOver")
        if len(self.weights) > 2:
            raise InputError(f"LossOver: one weight or two, got {len(self.weights)}")
        spans: Any = self.spans
        if not isinstance(spans, tuple | list) or len(spans) != len(self.weights) or not all(map(_is_span, spans)):
            raise InputError(f"LossOver: spans is one (low, high) a weight, low below high, got {shown(spans)}")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoop(Panel):
    """The four calls of a training step, with their numbers; inside an opened step that which happens now.

    Attributes
    ----------
    weights : tuple of int
        Flat numbers of the weights whose values and gradients stand there, one to three.
    names : tuple of str
        What each is called.
    """

    weights: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        _weights(self.weights, self.names, "TrainingLoop")
        if len(self.weights) > 3:
            raise InputError(f"TrainingLoop: one to three weights, got {len(self.weights)}")


def _weights(weights: Any, names: Any, what: str) -> None:
    if not isinstance(weights, tuple | list) or not weights:
        raise TypeMismatchError(f"{what}: weights is a tuple of flat numbers, got {shown(weights)}")
    for weight in weights:
        integer(f"{what}: a weight", weight, 0)
    _names(names, len(weights), what)


def _names(names: Any, count: int, what: str) -> None:
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise TypeMismatchError(f"{what}: names is a tuple of texts, got {shown(names)}")
    if len(names) != count:
        raise InputError(f"{what}: {count} name{'s' * (count > 1)} wanted, got {shown(names)}")


def _is_span(span: Any) -> bool:
    try:
        low, high = (float(end) for end in span)
    except (TypeError, ValueError):
        return False
    return bool(np.isfinite([low, high]).all()) and low < high
