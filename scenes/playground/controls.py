"""What a hand sets of a playground beside what every run has: points, features, batch, activation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scalarviz.run.controls import Button, Control, Layers, Reader, Segments, Slider, Switch
from scalarviz.run.edits import AddSamples, Change, Edit, Refill, SetBatchSize, SetLimits, SetOptimizer
from scalarviz.run.run_traveller import seed_shown
from scalarviz.run.scene.own_controls import USUAL_MOMENTUM

from .. import kit
from .edits import OtherPoints, SwitchFeature
from .net import BETWEEN, FEATURES, SetHidden, Shape, shape_of
from .panels import Hand
from .points import KINDS, NOISE, Known, PointSet, points_for

if TYPE_CHECKING:
    from . import Options


BATCHES = (1, 100)
"""Ends of the track of the batch; more may be typed."""
HIDDEN: dict[str, tuple[str, ...]] = {
    "data": ("data", "new points"),
    "noise": ("noise",),
    "split": ("learnt from",),
    "features": tuple(feature.title for feature in FEATURES.values()),
    "batch": ("batch",),
    "activation": ("activation",),
    "lr": ("learning rate",),
    "optimizer": ("optimiser", "momentum"),
    "regularisation": ("regularisation", "regularisation rate"),
    "hidden": ("layers",),
    "seed": ("seed",),
    "pace": ("pace",),
    "points": ("a click adds",),
    "command": ("copy as command",),
}
"""What ``--hide`` may name, and the controls that it takes away."""


def controls_of(known: Known, hand: Hand) -> tuple[Control, ...]:
    """The controls of a playground with these points, from top to bottom."""
    data = _Data(known)
    return (
        Slider(
            "batch", "--batch", "Points whose gradients a step averages: few are quick and noisy, many are smooth.",
            least=BATCHES[0], most=BATCHES[1], log=True, whole=True, usual=10,
            value=_batch_of, change=lambda value, reader: SetBatchSize(max(1, int(value))),
        ),
        Segments(
            "activation", "--activation", "What bends between layers: without a bend many are no more than one.",
            choices=BETWEEN, value=partial(_activation, known), change=_other_activation,
        ),
        Segments(
            "data", "--data", "What the points are; the weights stay, and learn to tell other points apart.",
            choices=tuple(KINDS), value=data.kind, change=data.other_kind,
        ),
        Slider(
            "noise", "--noise", "How much chance is in the points: what cannot be learnt, only learnt by heart.",
            least=0.0, most=NOISE, usual=0.0, value=data.noise, change=data.other_noise,
        ),
        Slider(
            "learnt from", "--split", "The share of the points that is learnt from; the rest is held back as a test.",
            least=0.1, most=0.9, usual=0.5, value=data.split, change=data.other_split,
        ),
        Button(
            "new points", "--data-seed", "Other points of the same kind: a good network does not hang on these ones.",
            value=data.can_renew, change=data.renewed,
        ),
        *(_feature(known, name) for name in FEATURES),
        _click(known, hand),
        Layers(
            "layers", "--hidden", "Units between input and output: what one layer cannot tell apart, two may.",
            anew=True, value=partial(_hidden, known), change=lambda value, reader: SetHidden(value),
        ),
    )  # fmt: skip


def _hidden(known: Known, reader: Reader) -> tuple[int, ...] | None:
    found = now(known, reader)
    return None if found is None else found.shape.hidden


def _batch_of(reader: Reader) -> int | None:
    return None if reader.settings is None else reader.settings.batch_size


def _activation(known: Known, reader: Reader) -> str | None:
    found = now(known, reader)
    return None if found is None or not found.shape.hidden else found.shape.activation


def _other_activation(value: str, reader: Reader) -> Edit:
    return Change(activation=value)


class _Data:
    """Where the points of a moment come from, and edits that change it."""

    def __init__(self, known: Known) -> None:
        self._known = known

    def _now(self, reader: Reader) -> Now | None:
        return now(self._known, reader)

    def _other(self, reader: Reader, said: str, **changes: Any) -> Edit | None:
        found = self._now(reader)
        if found is None:
            return None
        recipe = replace(found.points.recipe, added=(), without=(), foreign=0, **changes)
        if recipe == found.points.recipe:
            return None
        return OtherPoints(self._known.add(points_for(recipe)), said)

    def kind(self, reader: Reader) -> str | None:
        """The name of the data set; None of a table."""
        found = self._now(reader)
        return None if found is None or found.points.recipe.own is not None else found.points.recipe.data

    def other_kind(self, value: str, reader: Reader) -> Edit | None:
        """Points of another kind."""
        return self._other(reader, f"points: {value}", data=value)

    def noise(self, reader: Reader) -> float | None:
        """None of a table."""
        return None if self.kind(reader) is None else self._known.at(reader.frame).recipe.noise

    def other_noise(self, value: float, reader: Reader) -> Edit | None:
        """The same points with another noise."""
        value = min(max(float(value), 0.0), NOISE)
        return self._other(reader, f"noise {value:g}", noise=value)

    def split(self, reader: Reader) -> float | None:
        """The share that is learnt from."""
        found = self._now(reader)
        return None if found is None else found.points.recipe.split

    def other_split(self, value: float, reader: Reader) -> Edit | None:
        """The same points, others of them held back."""
        value = min(max(float(value), 0.1), 0.9)
        return self._other(reader, f"{value:.0%} learnt from", split=value)

    def can_renew(self, reader: Reader) -> bool | None:
        """A table has no others; its rows can be dealt anew."""
        return None if self._now(reader) is None else True

    def renewed(self, value: object, reader: Reader) -> Edit | None:
        """Those of the next seed."""
        found = self._now(reader)
        return None if found is None else self._other(reader, "new points", seed=found.points.recipe.seed + 1)


def _feature(known: Known, name: str) -> Switch:
    def value(reader: Reader) -> bool | None:
        found = now(known, reader)
        if found is None or FEATURES[name].inputs > len(found.points.units.inputs):
            return None
        return name in found.shape.on

    def change(on: bool, reader: Reader) -> Edit | None:
        found = now(known, reader)
        last = found is not None and found.shape.on == (name,)
        return None if last and not on else SwitchFeature(name, on)

    does = f"Whether the network sees {FEATURES[name].title}; off it is 0, and its weights rest."
    return Switch(FEATURES[name].title, "--features", does, value=value, change=change)


def _click(known: Known, hand: Hand) -> Segments:
    words = hand.words(known.first)

    def value(reader: Reader) -> str | None:
        points = known.at(reader.frame)
        if len(points.units.inputs) == 1:  # the height of the place says it
            return None
        found = hand.words(points)
        return found[hand.chosen % len(found)] if found == words else None

    def change(value: str, reader: Reader) -> None:
        hand.chosen = words.index(value)

    return Segments(
        "a click adds", "", "What the point is that a click on an empty place of the map adds.",
        choices=words, value=value, change=change,
    )  # fmt: skip


def taken_away(names: Sequence[str]) -> tuple[str, ...]:
    """The controls that ``--hide`` takes away."""
    return tuple(label for name in names for label in HIDDEN[name])


# ---- `Now`: what a playground is set to at one moment, read off its frame: points, network, and how it trains.


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


# ---- The command line of a moment of the scene `playground`: what is typed to see the same.


_SET = (SetOptimizer, SetLimits, SetBatchSize, Refill, AddSamples)
"""What flags say as well, if it was done before the first step."""


def command_of(known: Known, reader: Reader) -> str | None:
    """The command that shows a moment again; what it cannot say stands behind a ``#``. None where there is none."""
    found, settings = now(known, reader), reader.settings
    if found is None or settings is None:
        return None
    options: Options = reader.options
    rate, rule = settings.numbers.get("lr"), _rule(settings.optimizer, settings.numbers)
    flags = {
        **_points(found.points),
        "features": ",".join(found.shape.on),
        "hidden": ",".join(map(str, found.shape.hidden)),
        "activation": found.shape.activation,
        "optimizer": rule,
        "lr": kit.short(rate) if isinstance(rate, float | int) else None,
        "weights_seed": seed_shown(reader.frame),
        "hide": ",".join(options.hide),
    }
    seed = str(options.seed)
    usual = {"data_seed": seed, "weights_seed": seed, "lr": kit.short(options.rate_of(rule))}
    return kit.command(reader, ["scalarviz", "playground"], flags, usual, _lost(found.points, found.shape, reader))


def _points(points: PointSet) -> dict[str, Any]:
    recipe = points.recipe
    same = {
        "split": kit.short(recipe.split),
        "data_seed": recipe.seed,
        "point": list(recipe.added),
        "without": ",".join(map(str, recipe.without)),
    }
    if recipe.own is not None:
        return {"csv": recipe.data, "columns": ",".join(recipe.columns), **same}
    return {"data": recipe.data, "noise": kit.short(recipe.noise), **same}


def _rule(optimizer: str, numbers: Any) -> str:
    """The name of an optimiser as ``--optimizer`` takes it."""
    return "momentum" if optimizer == "SGD" and numbers.get("momentum") == USUAL_MOMENTUM else optimizer.lower()


def _lost(points: PointSet, shape: Shape, reader: Reader) -> Iterator[str]:
    """What the flags cannot say."""
    foreign = points.recipe.foreign
    if foreign:
        yield f"{foreign} {'point' if foreign == 1 else 'points'} of somebody else"
    yield from kit.lost_on_the_way(reader, _says)
    momentum = reader.settings.numbers.get("momentum", 0.0) if reader.settings else 0.0
    if momentum not in (0.0, USUAL_MOMENTUM):
        yield f"a momentum of {kit.short(momentum)}"
    if shape.off:
        yield f"the weights of {', '.join(sorted(shape.off))}"
    if reader.frame.frozen.any() and not shape.off:
        yield "what is frozen"
    yield from kit.earlier_steps(reader)


def _says(edit: Edit) -> bool:
    """Whether flags say what an edit does before the first step."""
    if isinstance(edit, Change):
        return edit.model is None and edit.loss is None
    return isinstance(edit, _SET)
