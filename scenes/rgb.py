"""A network learns to map colours to colours; every weight is a cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import scalarviz as sv
from scalarviz import data, nn, optim
from scalarviz.data import TARGETS, hex_colour
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.io import (
    check_lut_name,
    check_picture_name,
    example_photo,
    load_picture,
    sample,
    save_picture,
    shrink,
    write_cube,
)
from scalarviz.run import Moment, Story
from scalarviz.run.checks import check_run
from scalarviz.run.panels import ColourCube, LossCurve, Panel, Pictures, TestCurve
from scalarviz.run.scene.own_controls import USUAL_MOMENTUM, layers_begun

from .kit import batch_of, hidden_sizes_in, settings_in
from .options import SamplingFlag, SceneOptions, ScheduleFlag, WholeNumbers, follow, one_of

if TYPE_CHECKING:
    from scalarviz.run.run import Run


OPTIMIZERS: dict[str, tuple[Callable[..., optim.Optimizer], float]] = {  # with their usual learning rate
    "sgd": (optim.SGD, 0.5),
    "momentum": (partial(optim.SGD, momentum=USUAL_MOMENTUM), 0.5),
    "adam": (optim.Adam, 0.01),
    "adamw": (optim.AdamW, 0.01),
}


class Options(SceneOptions):
    """The flags of ``scalarviz rgb``: each field is one."""

    rare = SceneOptions.rare | {"pair", "source", "graded", "apply", "output", "export_lut"}
    picture: Path | None = Field(
        None, description="a picture to show before, after and as the target", json_schema_extra={"argument": True}
    )
    hidden: WholeNumbers = Field(
        (),
        description="units of the hidden layers, tanh between; 16,16 is an MLP of two",
        json_schema_extra={"metavar": "N,N", "shown": "none: a single layer"},
    )
    target: Annotated[str, one_of(TARGETS)] = Field(
        "invert",
        description="what to learn. " + "; ".join(f"{t.name}: {t.formula}" for t in TARGETS.values()),
        json_schema_extra={"metavar": "|".join(TARGETS)},
    )
    pair: list[str] = Field(
        [],
        description='learn this pair instead, as "#ff8800:#0044cc"; may be repeated',
        json_schema_extra={"metavar": "IN:OUT"},
    )
    source: Path | None = Field(
        None, description="learn a colour grade from this picture ...", json_schema_extra={"metavar": "FILE"}
    )
    graded: Path | None = Field(
        None, description="... and the same picture graded", json_schema_extra={"metavar": "FILE"}
    )
    apply: Path | None = Field(
        None, description="after training, send this picture through the network", json_schema_extra={"metavar": "FILE"}
    )
    output: Path | None = Field(
        None, description="... and write it here", json_schema_extra={"metavar": "FILE", "written": True}
    )
    export_lut: Path | None = Field(
        None,
        description="write what was learnt as a 33-point LUT (.cube)",
        json_schema_extra={"metavar": "FILE", "written": True},
    )
    optimizer: Annotated[str, one_of(OPTIMIZERS)] = Field(
        "sgd", description="what changes the weights", json_schema_extra={"metavar": "|".join(OPTIMIZERS)}
    )
    lr: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="learning rate",
        json_schema_extra={"shown": ", ".join(f"{lr:g} for {name}" for name, (_, lr) in OPTIMIZERS.items())},
    )
    schedule: ScheduleFlag = None
    batch: int = Field(1024, ge=1, le=10**7, description="colours a step")
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
    options = _resumed(options)
    task = task_of(options)
    optimizer, usual_lr = OPTIMIZERS[options.optimizer]
    sizes = (3, *options.hidden, 3)
    weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
    states = {"sgd": 0, "momentum": 1}.get(options.optimizer, len(optim.Adam.state))
    check_run(weights, options.dtype, states, options.engine)
    net = network(sizes)
    rule = optimizer(net.parameters(), lr=options.lr or usual_lr)
    net.initialize(first_weights(options.hidden), seed=options.seed)
    batch = batch_of(options, len(task.inputs), "colour", task.notes)
    follow(options.schedule, rule, options.steps)
    run = sv.Run(
        net,
        nn.MSELoss(),
        rule,
        data=(task.inputs, task.targets),
        batch_size=batch,
        sampling=options.sampling,
        **options.of_run,
    )
    return sv.Scene(
        name="rgb",
        run=run,
        probe=task.probe,
        probe_target=task.probe_target,
        input_names=("r", "g", "b"),
        output_names=("r", "g", "b"),
        panels=task.panels,
        notes=task.notes,
        controls=(layers_begun(first_weights),),
        story=story_of(options, task),
    )


def first_weights(hidden: Sequence[int]) -> nn.init.Initializer:
    """How weights begin: those of a single layer, in which each is looked at, uniform in 0..1."""
    return nn.init.pytorch_default() if hidden else nn.init.uniform(0, 1)


def network(sizes: tuple[int, ...]) -> nn.Sequential:
    """Linear layers of these sizes with tanh between; the sigmoid at the end keeps colours in 0..1."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.Tanh()]
    return nn.Sequential(*layers[:-1], nn.Sigmoid())


def finish(scene: sv.Scene, options: Options) -> list[Path]:
    """Write what the options ask for beyond pictures of the network; returns the files."""
    return write_files(scene.run, options)


def _resumed(options: Options) -> Options:
    """With ``--load``: the file's architecture, and its settings for flags that were not given."""
    if options.load is None:
        return options
    hidden = hidden_sizes_in(options.load, 3, 3)
    if options.given("hidden") and options.hidden != hidden:
        said, held = (",".join(map(str, sizes)) or "none" for sizes in (options.hidden, hidden))
        raise InputError(f"--hidden {said} contradicts {options.load}, whose hidden layers are: {held}")
    saved = settings_in(options.load, OPTIMIZERS)
    if options.given("optimizer") and saved.get("optimizer", options.optimizer) != options.optimizer:
        raise InputError(
            f"--optimizer {options.optimizer} contradicts {options.load}, trained with {saved['optimizer']}"
        )
    settings = {k: v for k, v in saved.items() if not options.given(k)}
    return options.model_copy(update={"hidden": hidden, **settings})


# ---- What the scene `rgb` learns, and what stands beside it: a formula, pairs of colours, or a pair of pictures.


Colours = NDArray[np.floating]

SHOWN = 160  # longest side of the pictures that are painted at every frame
LEARNT = 2**20  # pixels of a pair of pictures; a colour grade needs no more, and memory holds them
TESTED = 1024  # colours of the test curve
CUBE = 4096  # colours of the colour cube
FEWEST = 1024  # random colours, also for small batches
PROBE = "#eb942e"  # the colour whose way through the network is drawn


@dataclass(slots=True)
class Task:
    """What is learnt: colours and what they are to become.

    Attributes
    ----------
    inputs, targets : ndarray, shape (N, 3)
    label : str
        What they are ("1,024 colours").
    probe, probe_target : ndarray, shape (3,)
        The colour whose way through the network is drawn.
    cube : ColourCube
        Colours that are shown all the time.
    pictures : Pictures or None
        A picture that is.
    test : TestCurve or None
        Colours that are not learnt.
    notes : list of str
        What the console should say.
    """

    inputs: Colours
    targets: Colours
    label: str
    probe: Colours
    probe_target: Colours
    cube: ColourCube
    pictures: Pictures | None = None
    test: TestCurve | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def panels(self) -> tuple[Panel, ...]:
        """From top to bottom."""
        pictures = () if self.pictures is None else (self.pictures,)
        return (*pictures, self.cube, LossCurve(self.label, self.test))


def task_of(options: Options) -> Task:
    """The task that the options describe; InputError if they contradict each other."""
    if (options.source is None) != (options.graded is None):
        raise InputError("--source photo.png and --graded graded.png belong together; one is missing")
    used = {"--pair": bool(options.pair), "--source": bool(options.source), "--target": options.given("target")}
    kinds = [flag for flag in used if used[flag]]
    if len(kinds) > 1:
        raise InputError(f"{' and '.join(kinds)} are different tasks; give one of them")
    if options.picture and (options.pair or options.source):
        raise InputError(f"no target is known for the picture {options.picture} with {kinds[0]}; leave one of them out")
    if options.pair:
        return _from_pairs(options)
    if options.source and options.graded:
        return _from_pictures(options.source, options.graded)
    return _from_formula(options)


def _from_formula(options: Options) -> Task:
    target = data.target(options.target)
    inputs = data.random_colours(max(options.batch, FEWEST), options.seed)
    grid, probe = data.colour_grid(), data.parse_colour(PROBE)
    task = Task(
        inputs, target(inputs), f"{len(inputs):,} colours", probe, target(probe), ColourCube(grid, target(grid))
    )
    try:
        photo = load_picture(options.picture) if options.picture else example_photo()
    except MissingDependencyError as error:
        task.notes.append(f"{error}; shown is the colour cube alone")
        return task
    shown = shrink(photo, SHOWN).rgb
    task.pictures = Pictures(shown, target(shown), target_of=target)
    some = _spread(shown.reshape(-1, 3), TESTED)
    task.test = TestCurve("the photo", some, target(some))
    return task


def _from_pairs(options: Options) -> Task:
    pairs = [data.parse_pair(text) for text in options.pair]
    inputs, targets = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    label = f"{len(pairs):,} pair{'s' if len(pairs) > 1 else ''} of colours"
    return Task(inputs, targets, label, inputs[0], targets[0], ColourCube(inputs, targets))


def _from_pictures(source_path: Path, graded_path: Path) -> Task:
    source, graded = load_picture(source_path), load_picture(graded_path)
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
    places = np.flatnonzero(seen)
    notes = []
    if len(places) > LEARNT:
        notes.append(f"learning from {LEARNT:,} of {len(places):,} pixels, evenly spread")
        places = _spread(places, LEARNT)
    inputs, targets = source.pixels[places], graded.pixels[places]
    middle = len(inputs) // 2
    return Task(
        inputs,
        targets,
        f"{len(inputs):,} pixel{'s' if len(inputs) > 1 else ''}",
        inputs[middle],
        targets[middle],
        ColourCube(_spread(inputs, CUBE), _spread(targets, CUBE)),
        Pictures(shrink(source, SHOWN).rgb, shrink(graded, SHOWN).rgb),
        notes=notes,
    )


def _spread(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most `most` of the rows, evenly spread."""
    some: NDArray[Any] = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))]
    return some


# ---- What the scene `rgb` says of its task: a sentence before the first step, one that is measured after the last.


MEASURED = 4096  # samples, evenly spread, at which the error is measured at the end
SHORT = 24  # characters of a file's name that a sentence can take
AIMS = {
    "invert": "turn every colour into its opposite",
    "rotate": "pass red, green and blue on in a circle",
    "gray": "take the colour out of every colour",
    "sepia": "make every colour as brown as an old photo",
    "warm": "make every colour warmer",
}


def story_of(options: Options, task: Task) -> Story:
    """The story of a task and a network."""
    layers = len(options.hidden) + 1
    weights = _count((3, *options.hidden, 3))
    headline = f"{weights:,} weights in {layers} layers." if layers > 1 else ""
    single = not (options.pair or options.source or options.hidden)
    claim = _CLAIMS.get(options.target, _error) if single else _error
    return Story(f"They should {_aim(options, task)}.", headline, claim)


def _count(sizes: tuple[int, ...]) -> int:
    return sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))


def _aim(options: Options, task: Task) -> str:
    if options.pair:
        if len(task.inputs) > 1:
            return f"learn {len(task.inputs):,} pairs of colours"
        return f"turn {hex_colour(task.inputs[0])} into {hex_colour(task.targets[0])}"
    if options.source and options.graded:
        names = options.source.name, options.graded.name
        if all(len(name) <= SHORT for name in names):
            return f"turn {names[0]} into {names[1]}"
        return "turn the first picture into the second"
    return AIMS[options.target]


def _inverts(moment: Moment) -> str:
    """Of a single layer: on the diagonal stands the most negative weight of each row."""
    rows = moment.tensor("0.weight")
    falls = np.array_equal(rows.argmin(axis=1), np.arange(3)) and bool((np.diag(rows) < 0).all())
    return "Each output now falls when its own colour rises." if falls else _error(moment)


def _rotates(moment: Moment) -> str:
    """Of a single layer: each row's largest weight is that of the colour after its own."""
    rows = moment.tensor("0.weight")
    largest = rows.argmax(axis=1)
    rises = np.array_equal(largest, [1, 2, 0]) and bool((rows[np.arange(3), largest] > 0).all())
    return "Each output now rises with the next colour." if rises else _error(moment)


def _error(moment: Moment) -> str:
    """How far what is learnt from is from what it should be."""
    inputs, targets = moment.source.samples()
    some = slice(None, None, max(1, len(inputs) // MEASURED))
    away = float(np.abs(moment.predict(inputs[some]) - targets[some]).mean())
    if not np.isfinite(away):
        return ""
    one, mean = ("The", "") if len(inputs) == 1 else ("A", ", on average")
    return f"{one} colour is now {100 * away:.1f} % off{mean}."


_CLAIMS = {"invert": _inverts, "rotate": _rotates}
"""What can be read off the weights of a single layer."""


# ---- What the scene `rgb` writes after training: a picture that went through the network, a LUT of all colours.


Colours = NDArray[np.floating]
PIECE = 2**18  # colours that are predicted together


def check_files(options: Options) -> None:
    """Refuse, before anything is trained, what could not be written afterwards.

    Raises
    ------
    InputError, FileFormatError
        Options without each other, names of the wrong kind, a picture that cannot be read.
    """
    if (options.apply is None) != (options.output is None):
        raise InputError("--apply in.png and --output out.png belong together; one is missing")
    if options.apply and options.output:
        check_picture_name(options.output)
        if load_picture(options.apply).alpha is not None and options.output.suffix.lower() in (".jpg", ".jpeg"):
            raise InputError(f"{options.apply} has transparency and JPEG has none; name --output as .png")
    if options.export_lut:
        check_lut_name(options.export_lut)


def write_files(run: Run, options: Options) -> list[Path]:
    """Write what the options ask for; returns the files."""
    written = []
    if options.apply and options.output:
        picture = load_picture(options.apply)
        graded = picture.with_colours(predict_colours(run, picture.pixels))
        save_picture(options.output, graded.rgb, graded.alpha)
        written.append(options.output)
    if options.export_lut:
        title = f"scalarviz rgb, {run.steps} steps"
        write_cube(options.export_lut, sample(lambda colours: predict_colours(run, colours), title=title))
        written.append(options.export_lut)
    return written


def predict_colours(run: Run, colours: Colours) -> Colours:
    """What the network makes of colours, shape (N, 3); in pieces, so that a large picture fits into memory."""
    pieces = [run.predict(colours[i : i + PIECE]) for i in range(0, len(colours), PIECE)]
    return np.concatenate(pieces) if pieces else np.empty((0, 3))
