"""A network learns to map colours to colours; every weight is a cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.data import TARGETS
from scalarviz.errors import InputError
from scalarviz.run.checks import check_run
from scalarviz.run.scene.own_controls import USUAL_MOMENTUM, layers_begun

from ._batch import batch_of
from ._resume import hidden_sizes_in, settings_in
from ._rgb_files import check_files, write_files
from ._rgb_story import story_of
from ._rgb_task import task_of
from ._schedule import follow
from .options import SamplingFlag, SceneOptions, ScheduleFlag, WholeNumbers, one_of

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
