"""Two hidden layers of rectifiers learn when two bits are equal; every gradient stands beside its weight, as a tree.

Two inputs, eight and eight hidden units, one output; rectifiers between, the last layer is linear. He's uniform start:
weights within sqrt(6 / inputs of the layer), biases within sqrt(6 / its outputs). Each of the 1,000 cycles is one step
of plain descent on all four samples, with half the mean of the squared errors. The gradients of a step come in two
passes: first those by each layer's output, from the loss back along the chain, then each layer's leaves, its weight
(the outer product of that gradient and what entered the layer) and its bias. The key ``.`` opens a step in that order.

With the defaults all four outputs end on their side of one half for every seed from 0 to 19, and for 39 of the first 40
(33 is late); after 5,000 cycles for all.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from pydantic import Field

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run import Story
from scalarviz.run.checks import check_run
from scalarviz.run.panels import GradientTree, LossCurve

from .kit import TwoBits, hidden_sizes_in, resumed
from .options import SceneOptions, ScheduleFlag, WholeNumbers, follow

BITS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
WANTED = np.array([[1.0], [0.0], [0.0], [1.0]])
FOUR = TwoBits(BITS, WANTED, lambda found, wanted: (found > 0.5) == (wanted > 0.5))
LR = 0.01


class Options(SceneOptions):
    """The flags of ``scalarviz uinn``: each field is one."""

    steps: int = Field(1000, ge=1, le=10**12, description="training steps, each with all four samples")
    hidden: WholeNumbers = Field(
        (8, 8), description="units of the hidden layers", json_schema_extra={"metavar": "N,N", "shown": "8,8"}
    )
    lr: float = Field(LR, gt=0, allow_inf_nan=False, description="learning rate")
    schedule: ScheduleFlag = None


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show.

    Raises
    ------
    InputError, FileFormatError
        For options and files that cannot be used; before anything is written.
    """
    options = _resumed(options)
    sizes = (2, *options.hidden, 1)
    check_run(sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes)), options.dtype, 0, options.engine)
    net = network(sizes)
    net.initialize(nn.init.kaiming_uniform(), seed=options.seed)
    sgd = optim.SGD(net.parameters(), lr=options.lr)
    follow(options.schedule, sgd, options.steps)
    run = sv.Run(
        net,
        nn.MSELoss(factor=0.5),
        sgd,
        data=(BITS, WANTED),
        **options.of_run,
    )
    return sv.Scene(
        name="uinn",
        run=run,
        probe=BITS[1],
        probe_target=WANTED[1],
        input_names=("x", "y"),
        output_names=("equal",),
        panels=(
            FOUR.table("predictions", "target", "prediction"),
            GradientTree(),
            LossCurve("4 samples"),
        ),
        story=Story("They should say whether two bits are equal.", claim=FOUR.claim, reached=FOUR.solved),
        whole_loss=True,  # so that it is that of the four predictions beside it
    )


def network(sizes: tuple[int, ...]) -> nn.Sequential:
    """Linear layers of these sizes with rectifiers between."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def report(scene: sv.Scene) -> dict[str, int]:
    """What the last line and the JSON say beyond what they say of every scene."""
    return {"right": FOUR.right(scene.run)}


def _resumed(options: Options) -> Options:
    """With ``--load``: the file's architecture, and its settings for flags that were not given."""
    if options.load is None:
        return options
    hidden = hidden_sizes_in(options.load, 2, 1)
    if options.given("hidden") and options.hidden != hidden:
        said, held = (",".join(map(str, sizes)) or "none" for sizes in (options.hidden, hidden))
        raise InputError(f"--hidden {said} contradicts {options.load}, whose hidden layers are: {held}")
    return resumed(options, {"sgd": (optim.SGD, LR)}).model_copy(update={"hidden": hidden})
