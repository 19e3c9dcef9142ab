"""A network learns to map colours to colours; every weight is a cube."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import data, io, nn, optim
from scalarviz.data import TARGETS, hex_colour
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.run import Moment, Story
from scalarviz.run.panels import ColourCube, LossCurve, Pictures, TestCurve
from scalarviz.run.scene.own_controls import layers_begun

from . import kit
from .options import Batch, SamplingFlag, SceneOptions, ScheduleFlag, WholeNumbers, flag, one_of

OPTIMIZERS = kit.rules(sgd=0.5, momentum=0.5, adam=0.01, adamw=0.01)
Colours = NDArray[np.floating]

SHOWN = 160  # longest side of the pictures that are painted at every frame
LEARNT = 2**20  # pixels of a pair of pictures; a colour grade needs no more, and memory holds them
TESTED = 1024  # colours of the test curve
CUBE = 4096  # colours of the colour cube
FEWEST = 1024  # random colours, also for small batches
PROBE = "#eb942e"  # the colour whose way through the network is drawn
MEASURED = 4096  # samples, evenly spread, at which the error is measured at the end
PIECE = 2**18  # colours that are predicted together
SHORT = 24  # characters of a file's name that a sentence can take
AIMS = {
    "invert": "turn every colour into its opposite",
    "rotate": "pass red, green and blue on in a circle",
    "gray": "take the colour out of every colour",
    "sepia": "make every colour as brown as an old photo",
    "warm": "make every colour warmer",
}


class Options(SceneOptions):
    """The flags of ``scalarviz rgb``: each field is one."""

    rare = SceneOptions.rare | {"pair", "source", "graded", "apply", "output", "export_lut"}
    aside = SceneOptions.aside | {"apply"}
    picture: Path | None = flag("a picture to show before, after and as the target", None, argument=True)
    hidden: WholeNumbers = flag(
        "units of the hidden layers, tanh between; 16,16 is an MLP of two",
        (),
        metavar="N,N",
        shown="none: a single layer",
    )
    target: Annotated[str, one_of(TARGETS)] = flag(
        "what to learn. " + "; ".join(f"{t.name}: {t.formula}" for t in TARGETS.values()), "invert", metavar=TARGETS
    )
    pair: list[str] = flag('learn this pair instead, as "#ff8800:#0044cc"; may be repeated', [], metavar="IN:OUT")
    source: Path | None = flag("learn a colour grade from this picture ...", None, metavar="FILE")
    graded: Path | None = flag("... and the same picture graded", None, metavar="FILE")
    apply: Path | None = flag("after training, send this picture through the network", None, metavar="FILE")
    output: Path | None = flag("... and write it here", None, metavar="FILE", written=True)
    export_lut: Path | None = flag(
        "write what was learnt as a 33-point LUT (.cube)", None, metavar="FILE", written=True
    )
    optimizer: Annotated[str, one_of(OPTIMIZERS)] = flag("what changes the weights", "sgd", metavar=OPTIMIZERS)
    lr: float | None = kit.rate_flag(OPTIMIZERS)
    schedule: ScheduleFlag = None
    batch: Batch = flag("colours a step", 1024)
    sampling: SamplingFlag = "epochs"

    @staticmethod
    def rate_of(optimizer: str) -> float:
        """The usual learning rate of an optimiser."""
        return OPTIMIZERS[optimizer][1]


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show.

    Raises
    ------
    InputError, FileFormatError
        For options that contradict each other and files that cannot be used; before anything is written.
    """
    check_files(options)
    options = kit.resumed(options, OPTIMIZERS, hidden=partial(kit.hidden_sizes_in, inputs=3, outputs=3))
    task = task_of(options)
    sizes = (3, *options.hidden, 3)
    weights = kit.check_chain(options, sizes, {"sgd": 0, "momentum": 1}.get(options.optimizer, len(optim.Adam.state)))
    net = nn.Sequential(*kit.chain(sizes, nn.Tanh, nn.Sigmoid()))  # which keeps colours in 0..1
    optimizer, usual_lr = OPTIMIZERS[options.optimizer]
    rule = optimizer(net.parameters(), lr=options.lr or usual_lr)
    net.initialize(first_weights(options.hidden), seed=options.seed)
    batch = kit.batch_of(options, len(task.inputs), "colour", task.notes)
    run = kit.train(options, net, nn.MSELoss(), rule, (task.inputs, task.targets), batch_size=batch)
    single = not (options.pair or options.source or options.hidden)
    pictures = () if task.pictures is None else (task.pictures,)
    return sv.Scene(
        name="rgb",
        run=run,
        probe=task.probe[0],
        probe_target=task.probe[1],
        input_names=("r", "g", "b"),
        output_names=("r", "g", "b"),
        panels=(*pictures, task.cube, LossCurve(task.label, task.test)),
        notes=task.notes,
        controls=(layers_begun(first_weights),),
        story=Story(
            f"They should {task.aim}.",
            f"{weights:,} weights in {len(sizes) - 1} layers." if options.hidden else "",
            partial(_claim, target=options.target if single else ""),
        ),
    )


def first_weights(hidden: Sequence[int]) -> nn.init.Initializer:
    """How weights begin: those of a single layer, in which each is looked at, uniform in 0..1."""
    return nn.init.pytorch_default() if hidden else nn.init.uniform(0, 1)


def _claim(moment: Moment, *, target: str) -> str:
    """What can be read off the weights of a single layer, or how far the output is from its target."""
    if target in ("invert", "rotate"):
        rows = moment.tensor("0.weight")
        sign, wanted = (-1, [0, 1, 2]) if target == "invert" else (1, [1, 2, 0])
        strongest = (sign * rows).argmax(axis=1)
        if np.array_equal(strongest, wanted) and bool((sign * rows[np.arange(3), strongest] > 0).all()):
            return f"Each output now {'falls when its own colour rises' if sign < 0 else 'rises with the next colour'}."
    inputs, targets = moment.source.samples()
    some = slice(None, None, max(1, len(inputs) // MEASURED))
    away = float(np.abs(moment.predict(inputs[some]) - targets[some]).mean())
    if not np.isfinite(away):
        return ""
    one, mean = ("The", "") if len(inputs) == 1 else ("A", ", on average")
    return f"{one} colour is now {100 * away:.1f} % off{mean}."


# ---- What is learnt: a formula, pairs of colours, or a pair of pictures


@dataclass(slots=True)
class Task:
    """Colours (N, 3), what they are to become, and what stands beside."""

    inputs: Colours
    targets: Colours
    label: str  # what they are: "1,024 colours"
    aim: str  # "turn every colour into its opposite"
    probe: tuple[Colours, Colours]  # the colour whose way through the network is drawn, and its target
    cube: ColourCube
    pictures: Pictures | None = None
    test: TestCurve | None = None
    notes: list[str] = field(default_factory=list)


def task_of(options: Options) -> Task:
    """The task that the options describe; InputError if they contradict each other."""
    if (options.source is None) != (options.graded is None):
        raise InputError("--source photo.png and --graded graded.png belong together; one is missing")
    used = {"--pair": bool(options.pair), "--source": bool(options.source), "--target": options.given("target")}
    kinds = [name for name in used if used[name]]
    if len(kinds) > 1:
        raise InputError(f"{' and '.join(kinds)} are different tasks; give one of them")
    if options.picture and (options.pair or options.source):
        raise InputError(f"no target is known for the picture {options.picture} with {kinds[0]}; leave one of them out")
    if options.pair:
        return _from_pairs(options.pair)
    if options.source and options.graded:
        return _from_pictures(options.source, options.graded)
    return _from_formula(options)


def _from_formula(options: Options) -> Task:
    target = data.target(options.target)
    inputs = data.random_colours(max(options.batch, FEWEST), options.seed)
    grid, probe = data.colour_grid(), data.parse_colour(PROBE)
    label, aim, cube = f"{len(inputs):,} colours", AIMS[options.target], ColourCube(grid, target(grid))
    task = Task(inputs, target(inputs), label, aim, (probe, target(probe)), cube)
    try:
        photo = io.load_picture(options.picture) if options.picture else io.example_photo()
    except MissingDependencyError as error:
        task.notes.append(f"{error}; shown is the colour cube alone")
        return task
    shown = io.shrink(photo, SHOWN).rgb
    task.pictures = Pictures(shown, target(shown), target_of=target)
    some = _spread(shown.reshape(-1, 3), TESTED)
    task.test = TestCurve("the photo", some, target(some))
    return task


def _from_pairs(texts: list[str]) -> Task:
    inputs, targets = (np.array(colours) for colours in zip(*map(data.parse_pair, texts), strict=True))
    label = f"{len(texts):,} pair{'s' if len(texts) > 1 else ''} of colours"
    aim = f"learn {label}" if len(texts) > 1 else f"turn {hex_colour(inputs[0])} into {hex_colour(targets[0])}"
    return Task(inputs, targets, label, aim, (inputs[0], targets[0]), ColourCube(inputs, targets))


def _from_pictures(source_path: Path, graded_path: Path) -> Task:
    source, graded = io.load_picture(source_path), io.load_picture(graded_path)
    if source.size != graded.size:
        sizes = ["{} x {}".format(*picture.size) for picture in (source, graded)]
        raise InputError(
            f"{source_path} has {sizes[0]} pixels and {graded_path} has {sizes[1]}; they must be the same picture"
        )
    # what lies under full transparency is no colour that anybody chose
    seen = np.ones(len(source.pixels), bool)
    for picture in (source, graded):
        if picture.alpha is not None:
            seen &= picture.alpha.reshape(-1) > 0
    if not seen.any():
        raise InputError(f"no pixel of {source_path} and {graded_path} is opaque in both")
    places, notes = np.flatnonzero(seen), []
    if len(places) > LEARNT:
        notes.append(f"learning from {LEARNT:,} of {len(places):,} pixels, evenly spread")
        places = _spread(places, LEARNT)
    inputs, targets = source.pixels[places], graded.pixels[places]
    label, middle = f"{len(inputs):,} pixel{'s' if len(inputs) > 1 else ''}", len(inputs) // 2
    brief = all(len(path.name) <= SHORT for path in (source_path, graded_path))
    aim = f"turn {source_path.name} into {graded_path.name}" if brief else "turn the first picture into the second"
    cube = ColourCube(_spread(inputs, CUBE), _spread(targets, CUBE))
    pictures = Pictures(io.shrink(source, SHOWN).rgb, io.shrink(graded, SHOWN).rgb)
    return Task(inputs, targets, label, aim, (inputs[middle], targets[middle]), cube, pictures, notes=notes)


def _spread(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most `most` of the rows, evenly spread."""
    some: NDArray[Any] = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))]
    return some


# ---- What is written after training: a picture that went through the network, a LUT of all colours


def check_files(options: Options) -> None:
    """Refuse, before anything is trained, what could not be written afterwards."""
    if (options.apply is None) != (options.output is None):
        raise InputError("--apply in.png and --output out.png belong together; one is missing")
    if options.apply and options.output:
        io.check_picture_name(options.output)
        if io.load_picture(options.apply).alpha is not None and options.output.suffix.lower() in (".jpg", ".jpeg"):
            raise InputError(f"{options.apply} has transparency and JPEG has none; name --output as .png")
    if options.export_lut:
        io.check_lut_name(options.export_lut)


def finish(scene: sv.Scene, options: Options) -> list[Path]:
    """Write what the options ask for beyond pictures of the network; returns the files."""
    written, predict = [], partial(kit.in_pieces, scene.run.predict, most=PIECE)
    if options.apply and options.output:
        picture = io.load_picture(options.apply)
        graded = picture.with_colours(predict(picture.pixels))
        io.save_picture(options.output, graded.rgb, graded.alpha)
        written.append(options.output)
    if options.export_lut:
        title = f"scalarviz rgb, {scene.run.steps} steps"
        io.write_cube(options.export_lut, io.sample(predict, title=title))
        written.append(options.export_lut)
    return written
