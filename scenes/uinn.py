"""Two hidden layers learn whether two bits are equal; a tree beside the model shows the gradients.

The network has two inputs, two hidden layers of eight rectifiers, and one linear output. The first weights are He's
uniform ones: weights within sqrt(6 / inputs of the layer), biases within sqrt(6 / outputs of the layer). Each of the
1,000 steps is plain gradient descent on all four samples. The loss is half the mean squared error. The gradients of a
step come in two passes. The first takes the gradient with respect to each layer's output, from the loss back along the
chain. The second takes each layer's weight (the outer product of that gradient and the layer's input) and its bias. The
key ``.`` opens a step in that order.

With the defaults, all four outputs are on the right side of one half for every seed from 0 to 19, and for 39 of the
seeds 0 to 39. Seed 33 needs longer: after 5,000 steps all of them are right.
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
        whole_loss=True,  # so that it matches the table of the four predictions
    )


def report(scene: sv.Scene) -> dict[str, int]:
    """Numbers that this scene adds to the last line and to the JSON."""
    return {"right": FOUR.count_right(scene.run)}
