"""A network learns to separate points of a plane; they may come from your CSV file, and everything can change live.

Results of 20 seeds (0 to 19, each with its own points and weights); half of the points are held-out, and the accuracy
is that of these:

==========================================================================  ========================  ==================
command                                                                     accuracy                  of 20 seeds
==========================================================================  ========================  ==================
``scalarviz playground`` (x, y; 4-2 tanh, SGD 0.03, batch 10; step 3,000)   median 1.000, least 0.996 20 over 0.97
``--data spiral --features x,y,sinx,siny --hidden 8,8 --steps 10000``       median 0.992, least 0.964 20 over 0.95
``--data spiral --hidden 8,8 --optimizer adam --batch 50 --steps 10000``    median 0.974, least 0.920 20 over 0.9
==========================================================================  ========================  ==================

The last network gets only x and y, and 50 of the 250 points per step. With all 250 per step, 19 of 20 seeds are over
0.9; with 10 per step, 15 are.

This file has the options and the scene. `net` has the networks and their features, `points` the data sets and tables,
`edits` the changes that a user makes, `panels` the panels, `controls` the controls and "copy as command".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz.data.points import KINDS, NOISE
from scalarviz.errors import InputError, listing
from scalarviz.run import Moment

from .. import kit
from ..options import (
    Batch,
    Names,
    NotNegative,
    Positive,
    SamplingFlag,
    SceneOptions,
    WholeNumbers,
    flag,
    of_text,
    parse_whole_numbers,
    some_of,
)
from .controls import HIDDEN, controls_of, own_flags, taken_away
from .edits import table_edit
from .net import BETWEEN, FEATURES, MOST_LAYERS, MOST_UNITS, PlayNet, Shape
from .panels import Hand, panels_of
from .points import PointSet, Recipe, own_points, points_for

_OF_ONE = tuple(name for name, feature in FEATURES.items() if feature.inputs == 1)
MOST_TOLD = 10_000
"""Up to this many training points, the shown loss is that of all of them; above, that of the last batch."""


class Options(SceneOptions):
    """The flags of ``scalarviz playground``: each field is one."""

    rates = kit.rates(sgd=0.03, momentum=0.03, adam=0.01, adamw=0.01)
    rare = SceneOptions.rare | {"columns", "split", "data_seed", "point", "without", "weights_seed", "hide", "l1", "l2"}
    data: str = flag("the data set", "circle", choices=KINDS)
    csv: Path | None = flag(
        "a table of your own points: the first line names the columns, the last column is the target; - is standard "
        "input",
        None,
        metavar="FILE",
    )
    columns: Names = flag(
        "columns of the table: one or two inputs, then the target", (), metavar="X,Y,TARGET", shown="all of them"
    )
    noise: NotNegative = flag(f"noise in the points, 0 to {NOISE:g}", 0.0, le=NOISE)
    split: float = flag("training share of the points; the rest is held out", 0.5, ge=0.1, le=0.9, allow_inf_nan=False)
    data_seed: int | None = flag("seed of the points only", None, ge=0, lt=2**64, shown="that of --seed")
    point: list[str] = flag(
        "add a training point, as a click on the map does; may be repeated", [], metavar="X,Y,TARGET"
    )
    without: Annotated[tuple[int, ...], of_text(partial(parse_whole_numbers, least=0, most=10**9 - 1))] = flag(
        "remove training points by number, counted from 0, as the right mouse button does", (), metavar="N,N"
    )
    features: Annotated[Names, some_of(FEATURES)] = flag(
        "inputs of the network, computed from a point", ("x", "y"), metavar=",".join(FEATURES), min_length=1
    )
    hidden: WholeNumbers = flag("units of the hidden layers", (4, 2), metavar="N,N")
    activation: str = flag("activation of the hidden layers", "tanh", choices=BETWEEN)
    optimizer: str = flag("the optimiser", "sgd", choices=rates)
    lr: Positive | None = kit.rate_flag(rates)
    batch: Batch = flag("points per step", 10)
    sampling: SamplingFlag = "epochs"
    weights_seed: int | None = flag("seed of the initial weights only", None, ge=0, lt=2**64, shown="that of --seed")
    hide: Annotated[Names, some_of(HIDDEN)] = flag(
        "controls to hide in the window, for teaching: " + ", ".join(HIDDEN), (), metavar="NAME,NAME"
    )
    l1: NotNegative = flag("penalty on the sum of |weight|", 0.0)
    l2: NotNegative = flag("penalty on the sum of weight\N{SUPERSCRIPT TWO}", 0.0)


def build(options: Options) -> sv.Scene:
    """Put the scene together: points, network, loss, optimiser, and what to show."""
    if options.load is not None:
        options.refuse(["weights_seed"], "--load sets the weights")
    options = kit.resumed(options, hidden=partial(kit.hidden_in, first=1))
    _check_hidden(options.hidden)
    if options.headless and not options.hidden:
        options.refuse(["activation"], "there is no hidden layer")
    points = points_for(_recipe(options))
    return _scene(options.model_copy(update={"features": _check_features(options, points)}), points)


def _scene(options: Options, points: PointSet) -> Playground:
    """The scene of some points."""
    net = PlayNet(Shape(options.features, options.hidden, options.activation, points.sort, options.seed))
    own = points.recipe.own
    notes = list(own.notes) if own else []
    some = f"{points.learnt:,} point{'s' if points.learnt > 1 else ''}"
    notes += [f"{some} for training, {len(points.inputs) - points.learnt:,} held-out"]
    batch = kit.batch_of(options, points.learnt, "point", notes)
    run = kit.train(
        options, net, points.sort.loss(), points.train, about=points, batch_size=batch, l1=options.l1, l2=options.l2
    )
    if options.weights_seed is not None and options.weights_seed != options.seed:
        run.restart(seed=options.weights_seed)  # as in the window: the order of the points stays that of --seed
    hand = Hand(points)
    return Playground(
        name="playground",
        run=run,
        input_names=points.units.names,
        output_names=points.sort.classes if points.sort.outputs > 1 else (points.units.target.name,),
        panels=panels_of(points, hand, batch),
        notes=notes,
        story=sv.run.Story(_sentence(points), claim=partial(_claim, first=points), anew=partial(_anew, first=points)),
        whole_loss=points.learnt <= MOST_TOLD,
        controls=controls_of(points, hand, Options),
        own_flags=own_flags(points),
        hide=taken_away(options.hide),
        table=partial(table_edit, points),
        options=options,
        first=points,
        other_layers=lambda units: _scene(kit.with_layers(options, units), points),
    )


@dataclass(slots=True)
class Playground(sv.Scene):
    """The scene, with its first points."""

    first: PointSet = field(kw_only=True)


def _sentence(points: PointSet) -> str:
    return f"They learn to {_aim(points)}."


def _anew(moment: Moment, *, first: PointSet) -> str:
    """The sentence at the start, after a user chose other points before the first step."""
    return _sentence(first.points_in(moment.frame.data))


def _aim(points: PointSet) -> str:
    recipe, target = points.recipe, points.units.target.name
    if recipe.own is None:
        return KINDS[recipe.data].aim
    names = " and ".join(column.name for column in points.units.inputs)
    what = (
        f"separate {len(points.sort.classes)} classes of {target!r} by"
        if points.sort.classes
        else f"predict {target!r} from"
    )
    return f"{what} {names}" if len(what) + len(names) < 90 else "fit the points of your table"


def _claim(moment: Moment, *, first: PointSet) -> str:
    """The sentence that states the accuracy, or the mean error, on held-out points."""
    points = first.points_in(moment.frame.data)
    inputs, targets = points.test
    right = points.sort.are_right(moment.predict(inputs), targets)
    if right is None:
        away = float(np.abs(moment.predict(inputs) - targets).mean())
        return f"Their mean error on held-out points is {away:.2g}."
    return f"They now classify {int(right.sum()):,} of {len(right):,} held-out points correctly."


def report(scene: Playground) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON: loss and accuracy on held-out points."""
    run, points = scene.run, scene.first.points_in(scene.run.frame().data)
    inputs, targets = points.test
    found = {"test_loss": run.evaluate(inputs, targets)}
    right = points.sort.are_right(run.predict(inputs), targets)
    return found if right is None else {**found, "accuracy": float(right.mean())}


def _recipe(options: Options) -> Recipe:
    """The recipe of the points: a data set, or a table."""
    seed, added = options.seed if options.data_seed is None else options.data_seed, tuple(options.point)
    if options.csv is None:
        if options.columns:
            raise InputError("--columns needs a table; add --csv FILE")
        return Recipe(options.data, options.noise, options.split, seed, added=added, without=options.without)
    for name in ("data", "noise"):
        if options.given(name):
            raise InputError(f"--{name} and --csv cannot be combined; give one of them")
    own = own_points(kit.read_table(options.csv), options.columns)
    recipe = Recipe(str(options.csv), 0.0, options.split, seed, own=own, columns=options.columns)
    return replace(recipe, added=added, without=options.without)


def _check_features(options: Options, points: PointSet) -> tuple[str, ...]:
    """The features of the options; for points with one input, only features of x."""
    if len(points.units.inputs) == 2:
        return options.features
    wanting = [name for name in options.features if FEATURES[name].inputs == 2]
    if wanting and options.given("features"):
        raise InputError(f"--features: got {','.join(wanting)}; a table with one input allows {listing(_OF_ONE)}")
    return tuple(name for name in options.features if name in _OF_ONE)


def _check_hidden(hidden: tuple[int, ...]) -> None:
    if len(hidden) > MOST_LAYERS or any(units > MOST_UNITS for units in hidden):
        raise InputError(
            f"--hidden: got {','.join(map(str, hidden))}; allowed: at most {MOST_LAYERS} layers of {MOST_UNITS} units"
        )
