"""A network learns to turn every colour into its opposite; other tasks have flags. Every weight is a cube."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import data, io, nn
from scalarviz.data import TARGETS, hex_colour
from scalarviz.errors import MissingDependencyError
from scalarviz.run import Moment, Story
from scalarviz.run.panels import ColourCube, LossCurve, Panel, Pictures, TestCurve
from scalarviz.run.scene.own_controls import LAYERS, hidden_edit

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, WholeNumbers, flag

Colours = NDArray[np.floating]

SHOWN = 160  # longest side of the pictures that are painted at every frame
LEARNT = 2**20  # pixels of a pair of pictures; a colour grade needs no more, and memory holds them
TESTED = 1024  # colours of the test curve
CUBE = 4096  # colours of the colour cube
FEWEST = 1024  # random colours, also for small batches
PROBE = "#eb942e"  # the colour whose way through the network is drawn
MEASURED = 4096  # samples, evenly spread, for the error in the last sentence
PIECE = 2**18  # colours that are predicted together
SHORT = 24  # the longest file name that fits into the sentence


class Options(SceneOptions):
    """The flags of ``scalarviz rgb``: each field is one."""

    rates = kit.rates(sgd=0.5, momentum=0.5, adam=0.01, adamw=0.01)  # usual learning rates
    rare = SceneOptions.rare | {"pair", "source", "graded", "apply", "output", "export_lut"}
    aside = SceneOptions.aside | {"apply"}
    picture: Path | None = flag("a picture to show before and after the network, and as target", None, argument=True)
    hidden: WholeNumbers = flag(
        "units of each hidden layer, with tanh; 16,16 makes two layers", (), metavar="N,N", shown="none"
    )
    target: str = flag(
        "the task. " + "; ".join(f"{t.name}: {t.formula}" for t in TARGETS.values()), "invert", choices=TARGETS
    )
    pair: list[str] = flag('learn this pair of colours, as "#ff8800:#0044cc"; may be repeated', [], metavar="IN:OUT")
    source: Path | None = flag("with --graded: the picture before the colour grade to learn", None, metavar="FILE")
    graded: Path | None = flag("with --source: the same picture after the colour grade", None, metavar="FILE")
    apply: Path | None = flag("with --output: send this picture through the trained network", None, metavar="FILE")
    output: Path | None = flag("with --apply: the picture to write", None, written=True)
    export_lut: Path | None = flag("write the learned colours as a 33-point LUT (.cube)", None, written=True)
    optimizer: str = flag("the optimiser", "sgd", choices=rates)
    lr: Positive | None = kit.rate_flag(rates)
    schedule: ScheduleFlag = None
    batch: Batch = flag("colours per step", 1024)
    sampling: SamplingFlag = "epochs"


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    options.together("source", "graded")
    options.together("apply", "output")
    options.apart("pair", "source", "target")
    options.apart("pair", "source", "picture")
    if options.apply and options.output:
        io.check_repaint(options.apply, options.output)
    if options.export_lut:
        io.check_lut_name(options.export_lut)
    options = kit.resumed(options, hidden=kit.hidden_in)
    task = (
        _from_pairs(options) if options.pair else _from_pictures(options) if options.source else _from_formula(options)
    )
    return _scene(options, task)


def _scene(options: Options, task: Task) -> sv.Scene:
    """The scene of a task."""
    sizes = (3, *options.hidden, 3)
    net = kit.mlp(options, sizes, nn.Tanh, nn.Sigmoid())  # which keeps colours in 0..1
    net.initialize(first_weights(options.hidden), seed=options.seed)
    batch = kit.batch_of(options, len(task.inputs), "colour", task.notes)
    run = kit.train(options, net, nn.MSELoss(), (task.inputs, task.targets), batch_size=batch)
    single = not (options.pair or options.source or options.hidden)
    return sv.Scene(
        name="rgb",
        run=run,
        options=options,
        probe=task.probe[0],
        probe_target=task.probe[1],
        input_names=("r", "g", "b"),
        output_names=("r", "g", "b"),
        panels=task.panels,
        notes=task.notes,
        controls=(replace(LAYERS, change=partial(hidden_edit, begin=first_weights)),),
        other_layers=partial(_with_layers, options, task) if options.hidden else None,
        story=Story(
            f"They learn to {task.aim}.",
            f"{len(run.values):,} weights in {len(sizes) - 1} layers." if options.hidden else "",
            partial(_claim, target=options.target if single else ""),
        ),
    )


def _with_layers(options: Options, task: Task, units: tuple[int, ...]) -> sv.Scene:
    return _scene(kit.with_layers(options, units), replace(task, notes=[]))


def first_weights(hidden: Sequence[int]) -> nn.init.Initializer:
    """The initialiser: a single layer, whose weights are read one by one, starts uniform in 0..1."""
    return nn.init.pytorch_default() if hidden else nn.init.uniform(0, 1)


def _claim(moment: Moment, *, target: str) -> str:
    """The sentence at the end: what the weights of a single layer show, or the mean error of the output."""
    if target in ("invert", "rotate"):
        rows = moment.tensor("0.weight")
        sign, wanted = (-1, [0, 1, 2]) if target == "invert" else (1, [1, 2, 0])
        strongest = (sign * rows).argmax(axis=1)
        if np.array_equal(strongest, wanted) and bool((sign * rows[np.arange(3), strongest] > 0).all()):
            return f"Each output now {'falls when its own colour rises' if sign < 0 else 'rises with the next colour'}."
    inputs, targets = moment.source.samples()
    some = slice(None, None, max(1, len(inputs) // MEASURED))
    away = float(np.abs(moment.predict(inputs[some]) - targets[some]).mean())
    one, mean = ("The", "") if len(inputs) == 1 else ("A", ", on average")
    return f"{one} colour is now {100 * away:.1f} % off{mean}." if np.isfinite(away) else ""


# ---- The task: a formula, pairs of colours, or a pair of pictures


@dataclass(slots=True)
class Task:
    """Colours (N, 3), their targets, and the panels of the task."""

    inputs: Colours
    targets: Colours
    aim: str  # "turn every colour into its opposite"
    probe: tuple[Colours, Colours]  # the probe sample and its target
    panels: tuple[Panel, ...]
    notes: list[str] = field(default_factory=list)


def _from_formula(options: Options) -> Task:
    target = data.target(options.target)
    inputs = data.random_colours(max(options.batch, FEWEST), options.seed)
    grid, probe, label = data.colour_grid(), data.parse_colour(PROBE), f"{len(inputs):,} colours"
    task = Task(inputs, target(inputs), target.aim, (probe, target(probe)), (ColourCube(grid, target(grid)),))
    try:
        photo = io.load_picture(options.picture) if options.picture else io.example_photo()
    except MissingDependencyError as error:
        task.notes.append(f"{error}; only the colour cube is shown")
        task.panels += (LossCurve(label),)
        return task
    shown = io.shrink(photo, SHOWN).rgb
    some = kit.evenly(shown.reshape(-1, 3), TESTED)
    test = LossCurve(label, TestCurve("the photo", some, target(some)))
    task.panels = (Pictures(shown, target(shown), target_of=target), *task.panels, test)
    return task


def _from_pairs(options: Options) -> Task:
    inputs, targets = (np.array(colours) for colours in zip(*map(data.parse_pair, options.pair), strict=True))
    label = f"{len(inputs):,} pair{'s' if len(inputs) > 1 else ''} of colours"
    one = f"turn {hex_colour(inputs[0])} into {hex_colour(targets[0])}"
    aim = f"turn {len(inputs):,} colours into their targets" if len(inputs) > 1 else one
    return Task(inputs, targets, aim, (inputs[0], targets[0]), (ColourCube(inputs, targets), LossCurve(label)))


def _from_pictures(options: Options) -> Task:
    paths: Any = options.source, options.graded
    source, graded = io.load_pair(*paths)
    places, notes = np.flatnonzero(source.opaque & graded.opaque), []
    if len(places) > LEARNT:
        notes.append(f"learning from {LEARNT:,} of {len(places):,} pixels, evenly spread")
        places = kit.evenly(places, LEARNT)
    inputs, targets = source.pixels[places], graded.pixels[places]
    label, middle = f"{len(inputs):,} pixel{'s' if len(inputs) > 1 else ''}", len(inputs) // 2
    brief = all(len(path.name) <= SHORT for path in paths)
    aim = f"turn {paths[0].name} into {paths[1].name}" if brief else "turn the first picture into the second"
    pictures = Pictures(io.shrink(source, SHOWN).rgb, io.shrink(graded, SHOWN).rgb)
    panels = pictures, ColourCube(kit.evenly(inputs, CUBE), kit.evenly(targets, CUBE)), LossCurve(label)
    return Task(inputs, targets, aim, (inputs[middle], targets[middle]), panels, notes)


# ---- Files to write after training: a picture from the network, a LUT of all colours


def finish(scene: sv.Scene, options: Options) -> list[Path]:
    """Write the picture and the LUT that the options name; returns the files."""
    predict = partial(kit.in_pieces, scene.run.predict, most=PIECE)
    if options.apply and options.output:
        io.repaint(options.apply, options.output, predict)
    if options.export_lut:
        io.write_cube(options.export_lut, io.sample(predict, title=f"scalarviz rgb, {scene.run.steps} steps"))
    return [file for file in (options.output, options.export_lut) if file]
