"""The command line of a moment of the scene `playground`: what is typed to see the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scalarviz.run.controls import Reader
from scalarviz.run.edits import AddSamples, Change, Edit, Refill, SetBatchSize, SetLimits, SetOptimizer
from scalarviz.run.run_traveller import seed_shown
from scalarviz.run.scene.own_controls import USUAL_MOMENTUM

from ._command import command, earlier_steps, lost_on_the_way, plain, short
from ._known_points import Known, PointSet
from ._playground_net import Shape
from ._playground_now import now

if TYPE_CHECKING:
    from .playground import Options

_SET = (SetOptimizer, SetLimits, SetBatchSize, Refill, AddSamples)
"""What flags say as well, if it was done before the first step."""


def command_of(known: Known, usual: Options, reader: Reader) -> str | None:
    """The command that shows a moment again; what it cannot say stands behind a ``#``. None where there is none.

    Parameters
    ----------
    known : Known
    usual : Options
        What the scene is without flags.
    reader : Reader
    """
    found, settings = now(known, reader), reader.settings
    if found is None or settings is None:
        return None
    options: Options = reader.options
    rate = settings.numbers.get("lr")
    flags = {
        **_points(found.points, options),
        "features": ",".join(found.shape.on),
        "hidden": ",".join(map(str, found.shape.hidden)),
        "activation": found.shape.activation,
        "optimizer": _rule(settings.optimizer, settings.numbers),
        "lr": short(rate) if isinstance(rate, float | int) else None,
        "batch": settings.batch_size,
        "sampling": settings.sampling,
        "l1": short(settings.limits.l1),
        "l2": short(settings.limits.l2),
        "seed": options.seed,
        "weights_seed": seed_shown(reader.frame),
        "engine": options.engine,
        "dtype": options.dtype,
        "theme": options.theme,
        "hide": ",".join(options.hide),
        "steps": reader.frame.step or None,
    }
    lost = list(_lost(found.points, found.shape, reader))
    return command(["scalarviz", "playground"], flags, lambda name: _usual(name, usual, flags), lost)


def _points(points: PointSet, options: Options) -> dict[str, Any]:
    recipe = points.recipe
    same = {
        "split": short(recipe.split),
        "data_seed": recipe.seed,
        "point": list(recipe.added),
        "without": ",".join(map(str, recipe.without)),
    }
    if recipe.own is not None:
        return {"csv": recipe.data, "columns": ",".join(recipe.columns), **same}
    return {"data": recipe.data, "noise": short(recipe.noise), **same}


def _usual(name: str, usual: Options, flags: dict[str, Any]) -> str:
    """What a flag is without being given, as it would be written."""
    if name in ("data_seed", "weights_seed"):
        return str(flags["seed"])
    if name == "lr":
        return short(usual.rate_of(flags["optimizer"]))
    return plain(getattr(usual, name))


def _rule(optimizer: str, numbers: Any) -> str:
    """The name of an optimiser as ``--optimizer`` takes it."""
    return "momentum" if optimizer == "SGD" and numbers.get("momentum") == USUAL_MOMENTUM else optimizer.lower()


def _lost(points: PointSet, shape: Shape, reader: Reader) -> Iterator[str]:
    """What the flags cannot say."""
    foreign = points.recipe.foreign
    if foreign:
        yield f"{foreign} {'point' if foreign == 1 else 'points'} of somebody else"
    yield from lost_on_the_way(reader, _says)
    momentum = reader.settings.numbers.get("momentum", 0.0) if reader.settings else 0.0
    if momentum not in (0.0, USUAL_MOMENTUM):
        yield f"a momentum of {short(momentum)}"
    if shape.off:
        yield f"the weights of {', '.join(sorted(shape.off))}"
    if reader.frame.frozen.any() and not shape.off:
        yield "what is frozen"
    yield from earlier_steps(reader)


def _says(edit: Edit) -> bool:
    """Whether flags say what an edit does before the first step."""
    if isinstance(edit, Change):
        return edit.model is None and edit.loss is None
    return isinstance(edit, _SET)
