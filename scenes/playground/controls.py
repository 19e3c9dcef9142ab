"""The controls of a playground besides those of every run: points, features, batch, activation; its command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scalarviz.data.points import NOISE
from scalarviz.run.controls import Button, Control, Reader, Segments, Switch
from scalarviz.run.edits import AddSamples, Change, Edit, Refill, SetBatchSize
from scalarviz.run.scene.scene import OwnFlags

from ..options import SceneOptions
from .edits import other_points, set_hidden, switch_feature
from .net import FEATURES, shape_of
from .panels import Hand
from .points import PointSet, points_for

BATCHES = (1, 100)
"""Ends of the batch slider; a typed batch may be larger."""
HIDDEN: dict[str, tuple[str, ...]] = {
    "data": ("data", "new points"),
    "noise": ("noise",),
    "split": ("training share",),
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
"""The names for ``--hide``, and the controls that each removes."""


def controls_of(first: PointSet, hand: Hand, options: type[SceneOptions]) -> tuple[Control, ...]:
    """The controls of a playground with these points, from top to bottom; each changes an option live."""
    control = options.control

    def of_recipe(name: str, said: str, *ends: float) -> dict[str, Any]:
        """How a control reads and changes one field of the recipe, within `ends`; a table has no noise and no kind."""

        def value(reader: Reader) -> Any:
            recipe = first.points_in(reader.data).recipe
            none = shape_of(reader.frame) is None or (recipe.own is not None and name != "split")
            return None if none else getattr(recipe, name)

        def change(wanted: Any, reader: Reader) -> Edit | None:
            number = min(max(float(wanted), ends[0]), ends[1]) if ends else wanted
            return _other(first, reader, said.format(number), **{name: number})

        return {"value": value, "change": change}

    def activation(reader: Reader) -> str | None:
        shape = shape_of(reader.frame)
        return shape.activation if shape is not None and shape.hidden else None

    def renewed(value: object, reader: Reader) -> Edit | None:
        return _other(first, reader, "new points", seed=first.points_in(reader.data).recipe.seed + 1)

    return (
        control(
            "batch", "batch", "Points per step. Few: quick and noisy. Many: smooth.",
            least=BATCHES[0], most=BATCHES[1], log=True,
            value=lambda reader: reader.settings and reader.settings.batch_size,
            change=lambda value, reader: SetBatchSize(max(1, int(value))),
        ),
        control(
            "activation", "activation", "The bend between layers. Without it, many layers equal one.",
            value=activation, change=lambda value, reader: Change(activation=value),
        ),
        control(
            "data", "data", "Changes the data set. The weights stay and learn the new points.",
            **of_recipe("data", "points: {}"),
        ),
        control(
            "noise", "noise", "Random error in the points. A network can only memorise it.",
            **of_recipe("noise", "noise {:g}", 0.0, NOISE),
        ),
        control(
            "split", "training share",
            "Share of the points used for training. The rest are held-out.",
            **of_recipe("split", "training share {:.0%}", 0.1, 0.9),
        ),
        Button(
            "new points", "--data-seed", "Draws new points of the same kind. A good network classifies them too.",
            value=lambda reader: None if shape_of(reader.frame) is None else True, change=renewed,
        ),
        *(_feature(first, name) for name in FEATURES),
        _click(first, hand),
        control(
            "hidden", "layers", "Units of each hidden layer. Two layers can separate what one layer cannot.",
            anew=True, value=lambda reader: getattr(shape_of(reader.frame), "hidden", None),
            change=lambda value, reader: set_hidden(value),
        ),
    )  # fmt: skip


def _other(first: PointSet, reader: Reader, said: str, **changes: Any) -> Edit | None:
    """The edit to points with a changed recipe; None if it would change nothing."""
    before = first.points_in(reader.data).recipe
    recipe = replace(before, added=(), without=(), foreign=0, **changes)
    if shape_of(reader.frame) is None or recipe == before:
        return None
    return other_points(points_for(recipe), said)


def _feature(first: PointSet, name: str) -> Switch:
    def value(reader: Reader) -> bool | None:
        shape = shape_of(reader.frame)
        if shape is None or FEATURES[name].inputs > len(first.points_in(reader.data).units.inputs):
            return None
        return name in shape.on

    def change(on: bool, reader: Reader) -> Edit | None:
        shape = shape_of(reader.frame)
        last = shape is not None and shape.on == (name,)
        return None if last and not on else switch_feature(name, on)

    does = f"Switches the input {FEATURES[name].title}. Off, it is 0 and its weights do not change."
    return Switch(FEATURES[name].title, "--features", does, value=value, change=change)


def _click(first: PointSet, hand: Hand) -> Segments:
    words = hand.words(first)

    def value(reader: Reader) -> str | None:
        points = first.points_in(reader.data)
        if len(points.units.inputs) == 1:  # the height of the click is the target
            return None
        found = hand.words(points)
        return found[hand.chosen % len(found)] if found == words else None

    def change(value: str, reader: Reader) -> None:
        hand.chosen = words.index(value)

    return Segments(
        "a click adds", "", "Class of the point that a click on the map adds.",
        choices=words, value=value, change=change,
    )  # fmt: skip


def taken_away(names: Sequence[str]) -> tuple[str, ...]:
    """The controls that ``--hide`` removes."""
    return tuple(label for name in names for label in HIDDEN[name])


# ---- "copy as command"


def own_flags(first: PointSet) -> OwnFlags:
    """The flags that "copy as command" adds to those of the controls."""
    return OwnFlags(partial(_flags, first), partial(_lost, first), (Refill, AddSamples))


def _flags(first: PointSet, reader: Reader) -> dict[str, Any] | None:
    """The flags of points and features; None if the network is not a playground's."""
    shape, recipe = shape_of(reader.frame), first.points_in(reader.data).recipe
    if shape is None:
        return None
    own = {} if recipe.own is None else {"csv": recipe.data, "columns": recipe.columns, "data": None, "noise": None}
    made = {"data_seed": recipe.seed, "point": list(recipe.added), "without": recipe.without}
    return {**own, **made, "features": shape.on}


def _lost(first: PointSet, reader: Reader) -> Iterator[str]:
    """Parts of a moment that no flag can express."""
    if foreign := first.points_in(reader.data).recipe.foreign:
        yield f"{foreign} {'point' if foreign == 1 else 'points'} of another data set"
