"""A frame made of what a recording has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..frame import Frame
from ..settings import Settings
from .branches import up_to
from .encoding import flags_of, marked
from .networks import Shapes
from .schema import LONGEST_NAME, clean

if TYPE_CHECKING:
    from .recorded import Recorded

_COLUMNS = "value, gradient, moved, activation, units, computed, frozen, stopped, optimizer"


def frame_of(recorded: Recorded, k: int) -> Frame:
    """Frame `k`; see :meth:`Recorded.frame`."""
    shapes = recorded.shapes(k)
    value, gradient, moved, activation, units, computed, frozen, stopped, optimizer = recorded.row(k, _COLUMNS)
    step, values = int(recorded.steps[k]), _floats(value)
    dead, saturated, units_step = _units(units, shapes)
    update, known = _update(recorded, k, moved, computed)
    names = ("loss", "lr", "next_lr", "whole", "own")
    loss, lr, next_lr, whole, own = (float(recorded.entry(k, name)) for name in names)
    return Frame(
        step=step,
        loss=loss,
        lr=lr,
        values=values,
        gradient=np.zeros_like(values) if gradient is None else _floats(gradient),
        update=_difference(recorded, k, shapes, values) if update is None else update,
        moved=known,
        computed=np.zeros(shapes.size, bool) if gradient is None else flags_of(computed, shapes.weights),
        frozen=flags_of(frozen, shapes.weights),
        activations=_rows(activation, shapes),
        dead=dead,
        saturated=saturated,
        curve=up_to(recorded.curve, step),
        edited=bool(recorded.entry(k, "edited")),
        next_lr=None if np.isnan(next_lr) else next_lr,
        stopped_by=clean(stopped, LONGEST_NAME) if isinstance(stopped, str) else "",
        past=recorded.past,
        units_step=None if units_step == step else units_step,
        settings=_settings(recorded, k, next_lr, optimizer),
        probe_loss=None if np.isnan(own) else own,
        whole_loss=None if np.isnan(whole) else whole,
    )


def _update(
    recorded: Recorded, k: int, moved: bytes | None, computed: Any
) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None]:
    """What the step did, and where that is known, None: where there is a gradient; None where it was not recorded.

    What another library did is known of all numbers or, where nobody had looked at the step before, of none.
    """
    if moved is None:
        return None, None
    shapes, update = recorded.shapes(k), _floats(moved)
    if not recorded.about.outside:
        return update, flags_of(computed, shapes.weights)
    unknown = bool(np.isnan(update).all())
    return np.zeros_like(update) if unknown else update, np.full(shapes.size, not unknown)


def _settings(recorded: Recorded, k: int, lr: float, optimizer: Any) -> Settings:
    about = recorded.about
    named = clean(optimizer, LONGEST_NAME) if isinstance(optimizer, str) else about.optimizer
    return Settings(named, {"lr": lr}, int(recorded.entry(k, "batch")), about.samples, seed=about.seed)


def _floats(blob: bytes) -> NDArray[np.float32]:
    return np.frombuffer(blob, "<f4").astype(np.float32)


def _rows(blob: bytes | None, shapes: Shapes) -> dict[str, NDArray[np.float32]]:
    if blob is None:
        return {}
    rows = _floats(blob)
    return {name: rows[span] for name, span in shapes.rows.items()}


def _units(blob: bytes | None, shapes: Shapes) -> tuple[dict[str, Any], dict[str, Any], int | None]:
    if blob is None:
        return {}, {}, None
    dead, saturated, at = {}, {}, 0
    rows = np.frombuffer(blob[8:], "<f4").astype(np.float32)
    for stage in marked(shapes.stages):
        own = rows[at : at + stage.outputs]
        at += stage.outputs
        if stage.kind == "relu":
            dead[stage.name] = own != 0
        else:
            saturated[stage.name] = own
    return dead, saturated, int(np.frombuffer(blob[:8], "<i8")[0])


def _difference(recorded: Recorded, k: int, shapes: Shapes, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the step did, where the frame of the step before is there and nothing else was done here."""
    edited = bool(recorded.entry(k, "edited"))
    if k == 0 or recorded.steps[k - 1] != recorded.steps[k] - 1 or recorded.shapes(k - 1) is not shapes or edited:
        return np.zeros_like(values)
    (before,) = recorded.row(k - 1, "value")
    with np.errstate(invalid="ignore", over="ignore"):
        return values - _floats(before)
