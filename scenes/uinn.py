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

import numpy as np

import scalarviz as sv
from scalarviz import nn
from scalarviz.run import Story
from scalarviz.run.panels import GradientTree, LossCurve

from . import kit
from .options import Positive, SceneOptions, ScheduleFlag, Steps, WholeNumbers, flag

BITS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
WANTED = np.array([[1.0], [0.0], [0.0], [1.0]])
FOUR = kit.TwoBits(BITS, WANTED, lambda found, wanted: (found > 0.5) == (wanted > 0.5))


class Options(SceneOptions):
    """The flags of ``scalarviz uinn``: each field is one."""

    rates = kit.rates(sgd=0.01)
    steps: Steps = flag("training steps, each with all four samples", 1000)
    hidden: WholeNumbers = flag("units of the hidden layers", (8, 8), metavar="N,N")
    lr: Positive = flag("learning rate", rates["sgd"])
    schedule: ScheduleFlag = None


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    options = kit.resumed(options, hidden=kit.hidden_in)
    sizes = (2, *options.hidden, 1)
    net = kit.mlp(options, sizes, nn.ReLU)
    net.initialize(nn.init.kaiming_uniform(), seed=options.seed)
    run = kit.train(options, net, nn.MSELoss(factor=0.5), (BITS, WANTED))
    return sv.Scene(
        name="uinn",
        run=run,
        options=options,
        probe=BITS[1],
        probe_target=WANTED[1],
        input_names=("x", "y"),
        output_names=("equal",),
        panels=(FOUR.table("predictions", "target", "prediction"), GradientTree(), LossCurve("4 samples")),
        story=Story("They learn whether two bits are equal.", claim=FOUR.claim, reached=FOUR.solved),
        whole_loss=True,  # so that it is that of the four predictions beside it
    )


def report(scene: sv.Scene) -> dict[str, int]:
    """What the last line and the JSON say beyond what they say of every scene."""
    return {"right": FOUR.right(scene.run)}
