"""One weight, or one neuron, moves down its loss curve: the smallest example of learning.

Nine points lie on the line y = 0.8 x + 0.5. ``--weights 1`` (the default) fits a line through 0 with one weight; its
loss is a parabola. ``--weights 2`` adds a bias; its loss is a valley. The mean of the squared x is 1. With one weight,
``--lr 0.5`` therefore reaches the minimum in one step. A larger rate overshoots, and above 1 every step lands higher
(``--lr 1.1``). With two weights, that limit is 2/3.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import scalarviz as sv
from scalarviz import nn, rng
from scalarviz.run import Moment, Story
from scalarviz.run.panels import Axis, CurveFit, LossOver, TrainingLoop

from . import kit
from .options import NotNegative, Positive, SceneOptions, ScheduleFlag, Steps, flag

SLOPE, HEIGHT = 0.8, 0.5
SPANS = (-2.2, 3.8), (-2.5, 3.5)
NAMES = "w", "b"
NEAR = 0.05  # a weight that is no farther from its best value has reached it


Beginning = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class Options(SceneOptions):
    """The flags of ``scalarviz neuron``: each field is one."""

    rates = kit.rates(sgd=0.1)
    steps: Steps = flag("training steps", 60)
    weights: int = flag("1: one weight, y = w x; 2: a neuron, y = w x + b", 1, choices=(1, 2))
    lr: Positive = flag("learning rate; 1.1 diverges", rates["sgd"])
    schedule: ScheduleFlag = None
    w: Beginning = flag("initial value of the weight", -1.5)
    b: Beginning = flag("initial value of the bias", 0.0)
    noise: NotNegative = flag("standard deviation of the points from the line", 0.0, le=1e6)


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    if options.weights == 1:
        options.refuse(["b"], "one weight has no bias; try --weights 2")
    if options.load is not None:
        options.refuse(["w", "b"], "--load sets the weights")
    options = kit.resumed(options)
    inputs, targets = points(options.noise, options.seed)
    net = nn.Sequential(nn.Linear(1, 1, bias=options.weights == 2))
    net.initialize(begin_at(options.w, options.b), seed=options.seed)
    run = kit.train(options, net, nn.MSELoss(), (inputs, targets))
    own, names = tuple(range(options.weights)), NAMES[: options.weights]
    reach = max(2.5, 1.1 * float(np.abs(targets).max()))  # a line through 0 leaves the points far below
    fit = CurveFit("nine points", up=Axis("y", -reach, reach))
    return sv.Scene(
        name="neuron",
        run=run,
        options=options,
        probe=inputs[-1],
        probe_target=targets[-1],
        input_names=("x",),
        output_names=("y",),
        panels=(fit, LossOver(own, names, SPANS[: options.weights]), TrainingLoop(own, names)),
        story=story(options.weights),
        hide=("seed",),  # every start is the same
        whole_loss=True,
    )


def points(noise: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nine inputs (9, 1) with mean 1/2 and mean square 1, and their targets (9, 1): the line plus noise."""
    even = np.linspace(-1, 1, 9)
    x = 0.5 + np.sqrt(0.75) / even.std() * even
    off = noise * rng.normal(seed, rng.Stream.DATA, 0, len(x))
    return x[:, None], (SLOPE * x + HEIGHT + off)[:, None]


def begin_at(w: float, b: float) -> nn.init.Initializer:
    """An initialiser that sets the weight to `w` and the bias to `b`, for every seed."""
    return nn.init.Initializer(
        lambda shape, fan_in, fan_out, draw: np.full(shape, w),
        lambda shape, fan_in, fan_out, draw: np.full(shape, b),
        f"begin_at({w:g}, {b:g})",
    )


def lowest(weights: int, inputs: NDArray[np.floating], targets: NDArray[np.floating]) -> NDArray[np.float64]:
    """The weights with the lowest possible loss, by least squares."""
    columns = np.column_stack([inputs, np.ones_like(inputs)])[:, :weights]
    return np.asarray(np.linalg.lstsq(columns, targets, rcond=None)[0][:, 0], np.float64)


def story(weights: int) -> Story:
    """The sentences at the start and at the end."""
    if weights == 1:
        return Story("It learns to fit a line through 0 to nine points.", claim=claim)
    return Story("They learn to fit a line to nine points.", "One neuron: a weight and a bias.", claim=claim)


def claim(moment: Moment) -> str:
    """The sentence at the end; empty if the weights have not reached the minimum."""
    inputs, targets = moment.source.samples()
    count = len(moment.frame.values)
    away = np.abs(moment.frame.values - lowest(count, inputs, targets)).max()
    why = " No line through 0 meets all nine points, so some loss stays." if count == 1 else ""
    return f"The ball has reached the lowest loss.{why}" if away < NEAR else ""


def report(scene: sv.Scene) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON."""
    return dict(zip(NAMES, scene.run.values.tolist(), strict=False))
