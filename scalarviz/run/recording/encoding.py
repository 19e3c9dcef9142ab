"""What was taken of a run, as the rows of the file: made in the thread that writes, and read back here too."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ..edits.applied import Applied
from ..edits.written import write_edit
from ..forward import Forward
from ..frame import Stage, Tensor
from .schema import LONGEST_EDIT, LONGEST_NAME, clean
from .taken import Look

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
