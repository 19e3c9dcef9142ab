"""The controls that every run has: learning rate, batch, optimiser, penalties, activation. All of them are edits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..engine.problem import Limits
from ..nn import Sequential
from .controls import Button, Control, Reader, Segments, Slider
from .edits import Change, Edit, SetBatchSize, SetLimits, SetOptimizer
from .edits.change import ACTIVATIONS
from .rule_controls import MOMENTUM_CONTROL, Had, rule_control

RATES = (1e-4, 10.0)
"""Ends of the learning rate's track; a rate that is typed may lie outside."""
PENALTIES = (1e-5, 1.0)
USUAL_PENALTY = 1e-3
_CLOSE = ("tanh", "relu", "gelu", "sigmoid")
_BATCHES = (1, 16, 128, 1024)
_NONE, _L1, _L2 = "none", "L1", "L2"
_FLAGS = {_L1: "--l1", _L2: "--l2"}


def own_controls(reader: Reader, bends: Sequence[str] = (), had: Had | None = None) -> tuple[Control, ...]:
    """Those of the run of a moment, from top to bottom: which there are follows from how many samples there are.

    `bends` are activations that are offered beside the usual ones, `had` what optimisers had that come back. None where
    nothing is trained. Each says itself whether it can be had at a moment: its value is None where not.
    """
    settings = reader.settings
    if settings is None:
        return ()
    rates = reader.frame.curve.lr
    first = float(rates[0]) if len(rates) else settings.numbers.get("lr")
    rule = rule_control({} if had is None else had)
    return (_rate(first), _batch(settings.samples), rule, MOMENTUM_CONTROL, *_penalty(reader), _activation(bends))


# ---- the learning rate


def rate_edit(value: float, reader: Reader) -> Edit:
    """Another learning rate, as the keys Up and Down give it too."""
    return SetOptimizer((("lr", float(value)),))


def _rate_of(reader: Reader) -> float | None:
    settings = reader.settings
    rate = None if settings is None else settings.numbers.get("lr")
    return rate if isinstance(rate, float | int) else None


def _rate(usual: Any) -> Slider:
    least, most = RATES
    fits = isinstance(usual, float | int) and least <= usual <= most
    return Slider(
        "learning rate", "--lr", "How far each step follows the gradient: too little crawls, too much flies apart.",
        least=least, most=most, log=True, usual=float(usual) if fits else None, value=_rate_of, change=rate_edit,
    )  # fmt: skip


# ---- the batch


def _batch_of(reader: Reader) -> int | None:
    return None if reader.settings is None else reader.settings.batch_size


def _batch_edit(value: int, reader: Reader) -> Edit:
    return SetBatchSize(value)


def _batch(samples: int) -> Control:
    sizes = [size for size in _BATCHES if size < samples]
    if len(sizes) < 2:  # of few samples: one, half of them, all
        sizes = sorted({1, samples // 2} - {0, samples}) if samples > 5 else list(range(1, samples))
    does = "Samples whose gradients a step averages: few are quick and noisy, many are slow and smooth."
    if samples < 2:  # nothing to choose
        return Button("batch", "", does, value=lambda reader: None, change=_batch_edit)
    return Segments("batch", "--batch", does, choices=(*sizes, samples), value=_batch_of, change=_batch_edit)


# ---- penalties


def _limits(reader: Reader) -> Limits | None:
    return None if reader.settings is None else reader.settings.limits


def _kind_of(reader: Reader) -> str | None:
    limits = _limits(reader)
    if limits is None:
        return None
    if limits.l1 and limits.l2:
        return f"{_L1} and {_L2}"
    return _L1 if limits.l1 else _L2 if limits.l2 else _NONE


def _penalty_of(reader: Reader) -> float | None:
    limits = _limits(reader)
    return None if limits is None or not (limits.l1 or limits.l2) else max(limits.l1, limits.l2)


def _penalised(limits: Limits, kind: str, size: float) -> SetLimits:
    return SetLimits(size if kind == _L1 else 0.0, size if kind == _L2 else 0.0, limits.clip_norm, limits.clip_value)


def _kind_edit(value: str, reader: Reader) -> Edit | None:
    limits = _limits(reader)
    if limits is None or value == _kind_of(reader):
        return None
    return _penalised(limits, value, _penalty_of(reader) or USUAL_PENALTY)


def _penalty_edit(value: float, reader: Reader) -> Edit | None:
    limits = _limits(reader)
    return None if limits is None else _penalised(limits, _L1 if limits.l1 else _L2, float(value))


def _penalty(reader: Reader) -> tuple[Control, ...]:
    """Which penalty, and its size, whose flag is that of the penalty there is."""
    limits = _limits(reader)
    flag = _FLAGS.get("" if limits is None else _kind_of(reader) or "", "")
    return (
        Segments(
            "regularisation", ", ".join(_FLAGS.values()),
            "Pulls weights towards 0: L1 brings many of them close to it, L2 makes all of them smaller.",
            choices=(_NONE, _L1, _L2), value=_kind_of, change=_kind_edit,
        ),
        Slider(
            "regularisation rate", flag, "How hard the weights are pulled, beside what the data asks for.",
            least=PENALTIES[0], most=PENALTIES[1], log=True, usual=USUAL_PENALTY, value=_penalty_of,
            change=_penalty_edit,
        ),
    )  # fmt: skip


# ---- between the layers


def is_sequence(reader: Reader) -> bool:
    """Whether the network is an nn.Sequential, whose parts can be exchanged."""
    run = getattr(reader.source, "run", None)  # a source of arrays or weights has none
    return isinstance(getattr(run, "model", None), Sequential)


def activation_of(reader: Reader) -> str | None:
    """That of all hidden activations, where they are one."""
    stages = reader.stages
    last = max((k for k, stage in enumerate(stages) if stage.weight is not None), default=0)
    kinds = {stage.kind for stage in stages[:last] if stage.kind in ACTIVATIONS and stage.weight is None}
    return kinds.pop() if len(kinds) == 1 and is_sequence(reader) else None


def _activation_edit(value: str, reader: Reader) -> Edit | None:
    return None if value == activation_of(reader) else Change(activation=value)


def _activation(bends: Sequence[str]) -> Segments:
    more = [bend for bend in dict.fromkeys(bends) if bend not in _CLOSE]
    return Segments(
        "activation", "--activation", "What bends between the layers: without a bend many layers are no more than one.",
        choices=(*_CLOSE, *more), value=activation_of, change=_activation_edit,
    )  # fmt: skip


def tick_values(slider: Slider, most: int = 6) -> tuple[float, ...]:
    """Values that are printed below a track: decades, or the ends and what lies between them."""
    if not slider.log:
        middle = (slider.least + slider.most) / 2
        return (slider.least, float(f"{middle:.2g}"), slider.most)
    first, last = math.ceil(math.log10(slider.least) - 1e-9), math.floor(math.log10(slider.most) + 1e-9)
    every = max(1, -(-(last - first + 1) // most))
    return tuple(10.0**power for power in range(first, last + 1, every))
