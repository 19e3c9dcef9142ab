"""What each layer does at one moment, in a few numbers: how large its gradient and its update are, which units rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .diagnosis import layers_of
from .frame import Frame, Stage, Tensor


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer: all weights of one module.

    Attributes
    ----------
    name : str
        Module path; of a lone weight its own name.
    count : int
        Of weights.
    weight, gradient, update : float or None
        Euclidean norms, in float64; None where nothing was computed.
    dead : int or None
        Units of its rectifier that are zero for all samples looked at; None where it has none.
    flat : float or None
        Mean share of samples at which the units of its sigmoid or tanh are flat, likewise.
    units : int
        That it has.
    """

    name: str
    count: int
    weight: float
    gradient: float | None
    update: float | None
    dead: int | None = None
    flat: float | None = None
    units: int = 0

    @property
    def ratio(self) -> float | None:
        """The update beside the weights; None without one, and where all weights are 0."""
        return None if self.update is None or not self.weight else self.update / self.weight


def layer_rows(frame: Frame, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[LayerRow]:
    """The layers at a frame, in the order of their tensors; buffers are no weights."""
    groups: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        if not tensor.buffer:
            groups.setdefault(tensor.name.rpartition(".")[0] or tensor.name, []).append(tensor)
    after = {layer.weight.name: layer.after for layer in layers_of(tensors, stages)}
    found = []
    for name, members in groups.items():
        following = [stage for tensor in members for stage in after.get(tensor.name, ())]
        gradient, update = (
            _norm(flat, members) if all(bool(frame.known(name)[t.span].any()) for t in members) else None
            for name, flat in (("gradient", frame.gradient), ("update", frame.update))
        )
        row = LayerRow(name, sum(t.size for t in members), _norm(frame.values, members), gradient, update)
        found.append(_with_units(row, frame, following))
    return found


def _with_units(row: LayerRow, frame: Frame, following: Sequence[Stage]) -> LayerRow:
    """With what the first activation after it does."""
    for stage in following:
        dead, flat = frame.dead.get(stage.name), frame.saturated.get(stage.name)
        if dead is not None or flat is not None:
            rests = None if dead is None else int(np.count_nonzero(dead))
            share = None if flat is None else float(np.mean(flat))
            return LayerRow(row.name, row.count, row.weight, row.gradient, row.update, rests, share, stage.outputs)
    return row


def _norm(flat: NDArray[np.floating], members: Sequence[Tensor]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(sum(float(np.square(flat[t.span].astype(np.float64)).sum()) for t in members)))
