"""Find what keeps a network from learning, in words, and summarise each of its layers in a few numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.frame import Frame
from ..core.tensors import Stage, Tensor, is_chain

MOSTLY = 0.95
"""Share of units and samples above which a stage is called saturated."""
HARDLY = 1e-2
"""A saturated stage blocks the gradient if less than this share of the next layer's comes through."""
LOST = 1e-4
"""Behind a saturated last stage, a gradient below this share of the loss counts as lost."""
WRONG = 1e-2
"""Loss above which a saturated last stage is no success."""

Kind = Literal["not finite", "dead", "saturated", "no gradient"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A problem that keeps a network from learning."""

    kind: Kind
    where: str  # name of its tensor
    text: str  # one line without a full stop


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's weights, and the stages that only its sums go through."""

    weight: Tensor
    after: tuple[Stage, ...]  # up to the next layer, a fork or a merge
    last: bool  # whether they lead to the output


def diagnose(frame: Frame, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> tuple[Trouble, ...]:
    """Return the problems at a frame, from input to output; empty for a network that learns.

    A cause is named once, at the layer before it; its consequences are not. The frame's gradient counts only if
    it was computed for these values. Without stages, only numbers that are not finite are found.
    """
    weights = [tensor for tensor in tensors if not tensor.buffer]
    known = not frame.edited and frame.step > 0 and all(bool(frame.computed[t.span].all()) for t in weights)
    broken = _not_finite(frame, tensors, known)
    if broken:
        return (broken,)
    layers, chain = layers_of(tensors, stages), is_chain(stages)
    found: list[Trouble] = []
    for at, layer in enumerate(layers):
        behind = layers[at + 1 : at + 2] if chain else [other for other in layers if other is not layer]
        trouble = _dead(frame, layer, known) or _saturated(frame, layer, behind, known)
        if trouble is None and known and chain and not (at > 0 and _dead(frame, layers[at - 1], known)):  # inputs of 0
            trouble = _without_gradient(frame, layers, at)
        if trouble is not None:
            found.append(trouble)
        if trouble is not None and trouble.kind == "dead" and chain:
            break  # later layers see only zeros
    return tuple(found)


def _not_finite(frame: Frame, tensors: Sequence[Tensor], known: bool) -> Trouble | None:
    """Return the first tensor with values, or else with gradients, that are not finite; the others follow from it."""
    for what, flat in (("weights", frame.values), ("gradients", frame.gradient))[: 1 + known]:
        for tensor in tensors:
            block = tensor.of(flat)
            bad = int(np.count_nonzero(~np.isfinite(block)))
            if bad:
                nans = int(np.count_nonzero(np.isnan(block)))
                kind = "NaN" if nans == bad else "NaN or infinite" if nans else "infinite"
                named, verb = "numbers" if tensor.buffer else what, "is" if bad == 1 else "are"
                count = f"{bad:,} of {block.size:,} {named}" if block.size > 1 else named.rstrip("s")
                return Trouble("not finite", tensor.name, f"{tensor.name}: {count} {verb} {kind}")
    if known and not np.isfinite(frame.loss):
        return Trouble("not finite", tensors[-1].name, f"the loss is {'NaN' if np.isnan(frame.loss) else 'infinite'}")
    return None


def sources_of(stages: Sequence[Stage]) -> dict[str, tuple[str, ...]]:
    """Return, by a stage's name, the stages whose rows it reads; ``"input"`` is the sample."""
    before = ["input", *(stage.name for stage in stages)]
    return {stage.name: stage.sources or (name,) for stage, name in zip(stages, before, strict=False)}


def layers_of(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[Layer]:
    """Return the layers with weights, from input to output, without those called more than once."""
    named, sources = {t.name: t for t in tensors}, sources_of(stages)
    readers = {stage.name: [s for s in stages if stage.name in sources[s.name]] for stage in stages}
    weights = {s.name: s.weight or named.get(f"{s.name}.weight" if s.name else "weight") for s in stages}
    calls = Counter(weight.name for weight in weights.values() if weight is not None)
    found = []
    for stage in stages:
        weight, after = weights[stage.name], [stage]
        if weight is None or calls[weight.name] > 1:
            continue
        while (
            len(following := readers[after[-1].name]) == 1
            and sources[following[0].name] == (after[-1].name,)
            and weights[following[0].name] is None
        ):
            after.append(following[0])
        found.append(Layer(weight, tuple(after[1:]), after[-1] is stages[-1]))
    return found


def _dead(frame: Frame, layer: Layer, known: bool) -> Trouble | None:
    """Return the trouble of a layer whose rectifiers are 0 for all checked samples, and block the gradient."""
    for stage in layer.after:
        units = frame.dead.get(stage.name)
        if units is not None and len(units) and bool(np.all(units)) and not (known and _size(frame, layer.weight) > 0):
            what = f"all {len(units):,} units of {stage.kind} are" if len(units) > 1 else f"the unit of {stage.kind} is"
            text = f"no gradient reaches {layer.weight.name}: {what} dead{_when(frame)}"
            return Trouble("dead", layer.weight.name, text)
    return None


def _when(frame: Frame) -> str:
    """Return words for units from another step than the gradients."""
    return "" if frame.units_step in (None, frame.step) else f" (seen at step {frame.units_step:,})"


def _saturated(frame: Frame, layer: Layer, behind: Sequence[Layer], known: bool) -> Trouble | None:
    """Return the trouble of a layer whose flat activations block most of the gradient, if that does harm."""
    own, after = _size(frame, layer.weight), max((_size(frame, other.weight) for other in behind), default=0.0)
    if known:
        harm = frame.loss > WRONG and own < LOST * frame.loss if layer.last else own < HARDLY * after
    else:
        harm = not layer.last
    for stage in layer.after if harm else ():
        shares = frame.saturated.get(stage.name)
        share = float(np.mean(shares)) if shares is not None and len(shares) else 0.0
        if share >= (MOSTLY if known else 1.0):
            amount = "no" if known and own == 0 else "hardly any"
            text = f"{amount} gradient reaches {layer.weight.name}: {stage.kind} is saturated{_when(frame)}"
            return Trouble("saturated", layer.weight.name, text)
    return None


def _without_gradient(frame: Frame, layers: Sequence[Layer], at: int) -> Trouble | None:
    """Return the trouble of a layer whose gradients are all 0 although those behind it are not."""
    layer = layers[at]
    if at + 1 == len(layers) or _size(frame, layer.weight) != 0:
        return None
    following = layers[at + 1].weight
    why = "" if following.of(frame.values).any() else f": all weights of {following.name} are 0"
    if _size(frame, following) == 0 or not (why or all(s.kind in _SMOOTH for s in layer.after)):
        return None  # reported at the layer behind it, or this step's few samples miss every unit
    return Trouble("no gradient", layer.weight.name, f"no gradient reaches {layer.weight.name}{why}")


_SMOOTH = ("tanh", "sigmoid", "softplus", "gelu", "silu", "elu", "log_sigmoid")
"""Activations whose slope is 0 at single points at most; a rectifier's unit may be 0 for the samples of one step."""


def _size(frame: Frame, tensor: Tensor) -> float:
    """Return the root mean square of a tensor's gradient."""
    return _norm(frame.gradient, [tensor]) / math.sqrt(max(tensor.size, 1))


# ---- Each layer at one moment in a few numbers: the size of its gradient and of its update


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer: all weights of one module."""

    name: str  # module path; the name of a lone weight
    count: int  # of weights
    weight: float  # weight, gradient and update: Euclidean norms, in float64; None if not computed
    gradient: float | None
    update: float | None
    dead: int | None = None  # units of its rectifier that are zero for all checked samples; None without one
    flat: float | None = None  # mean share of samples at which its sigmoid or tanh is flat; None without one
    units: int = 0  # number of its units

    @property
    def ratio(self) -> float | None:
        """Norm of the update divided by that of the weights; None without an update, or if all weights are 0."""
        return None if self.update is None or not self.weight else self.update / self.weight


def layer_rows(frame: Frame, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[LayerRow]:
    """Return the layers at a frame, in the order of their tensors, without buffers."""
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
        unit = next((s for s in following if s.name in frame.dead or s.name in frame.saturated), None)
        dead, flat = (None, None) if unit is None else (frame.dead.get(unit.name), frame.saturated.get(unit.name))
        row = LayerRow(
            name, sum(t.size for t in members), _norm(frame.values, members), gradient, update,
            None if dead is None else int(np.count_nonzero(dead)), None if flat is None else float(np.mean(flat)),
            0 if unit is None else unit.outputs,
        )  # fmt: skip
        found.append(row)
    return found


def _norm(flat: NDArray[np.floating], members: Sequence[Tensor]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(sum(float(np.square(flat[t.span].astype(np.float64)).sum()) for t in members)))
