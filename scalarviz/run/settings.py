"""`Settings`: how a run trains at one moment, so that a picture of the past shows the settings of the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..engine.problem import NO_LIMITS, Limits, Problem, Sampling
from ..optim import Optimizer


@dataclass(frozen=True, slots=True)
class Settings:
    """What is set, not what is learnt.

    Attributes
    ----------
    optimizer : str
        Class name.
    numbers : mapping of str to object
        The optimiser's, by the names of its constructor; the learning rate is that of the coming step.
    batch_size, samples : int
        Of a step, and that there are.
    sampling : {"epochs", "replacement"}
    limits : Limits
        Penalties of the loss, and limits of the gradient.
    seed : int
        Of the order of the samples.
    """

    optimizer: str
    numbers: Mapping[str, Any]
    batch_size: int
    samples: int
    sampling: Sampling = "epochs"
    limits: Limits = NO_LIMITS
    seed: int = 0


def settings_of(problem: Problem, optimizer: Optimizer) -> Settings:
    """Those of now; for the thread that trains."""
    return Settings(type(optimizer).__name__, optimizer.hyperparameters(), problem.batch, problem.data.shape[1],
                    problem.sampling, problem.limits, problem.seed)  # fmt: skip
