"""Losses, optimisers and schedules by their PyTorch names, so that one row makes ours and theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scalarviz import nn, optim
from scalarviz.optim import lr_scheduler


@dataclass(frozen=True)
class LossRow:
    """A loss: its class, its arguments, and what it compares ``"numbers"``, ``"classes"``, ``"signs"``, ``"shares"``.

    ``outputs`` says what it takes: any numbers, or ``"probabilities"`` (numbers from 0 to 1), ``"logs"`` of them.
    """

    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    targets: str = "numbers"
    outputs: str = "numbers"

    def ours(self, **more: Any) -> Any:
        return getattr(nn, self.kind)(**self.settings, **more)

    def theirs(self, **more: Any) -> Any:
        import torch

        given = {
            k: torch.tensor(v, dtype=torch.float64) if isinstance(v, tuple) else v for k, v in self.settings.items()
        }
        return getattr(torch.nn, self.kind)(**given, **more)

    def wanted(self, count: int, outputs: int, seed: int = 0) -> np.ndarray:
        """Targets of `count` samples."""
        random = np.random.default_rng(seed + 1)
        match self.targets:
            case "classes":
                return random.integers(0, outputs, count)
            case "signs":
                return np.where(random.normal(size=(count, outputs)) > 0, 1.0, -1.0)
            case "shares":
                shares = random.random((count, outputs)) + 0.1
                return shares / shares.sum(1, keepdims=True)
            case "probabilities":
                return random.random((count, outputs))
            case _:
                return random.normal(size=(count, outputs))


LOSSES: dict[str, LossRow] = {
    "mse": LossRow("MSELoss"),
    "mse, sum": LossRow("MSELoss", {"reduction": "sum"}),
    "l1": LossRow("L1Loss"),
    "huber": LossRow("HuberLoss", {"delta": 0.3}),
    "smooth l1": LossRow("SmoothL1Loss", {"beta": 0.4}),
    "hinge embedding": LossRow("HingeEmbeddingLoss", {"margin": 0.3}, "signs"),
    "bce": LossRow("BCELoss", {}, "probabilities", "probabilities"),
    "bce with logits": LossRow("BCEWithLogitsLoss", {}, "probabilities"),
    "cross-entropy": LossRow("CrossEntropyLoss", {}, "classes"),
    "cross-entropy, sum": LossRow("CrossEntropyLoss", {"reduction": "sum"}, "classes"),
    "cross-entropy, smoothed": LossRow("CrossEntropyLoss", {"label_smoothing": 0.15}, "classes"),
    "cross-entropy, shares": LossRow("CrossEntropyLoss", {}, "shares"),
    "multi margin": LossRow("MultiMarginLoss", {"margin": 0.7}, "classes"),
    "nll": LossRow("NLLLoss", {}, "classes", "logs"),
}

OPTIMISERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd_momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "sgd_nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    "sgd_decay": ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    "sgd_all": ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    "sgd_dampening": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    "sgd_maximize": ("SGD", {"lr": 0.001, "momentum": 0.5, "weight_decay": 0.5, "maximize": True}),
    "adam": ("Adam", {"lr": 0.02}),
    "adam_decay": ("Adam", {"lr": 0.02, "weight_decay": 0.1}),
    "adam_betas": ("Adam", {"lr": 0.02, "betas": (0.5, 0.9), "eps": 1e-3}),
    "adam_amsgrad": ("Adam", {"lr": 0.05, "betas": (0.6, 0.8), "amsgrad": True, "weight_decay": 0.1}),
    "adam_maximize": ("Adam", {"lr": 0.01, "maximize": True}),
    "adamw": ("AdamW", {"lr": 0.02}),
    "adamw_decay": ("AdamW", {"lr": 0.02, "weight_decay": 0.2, "betas": (0.8, 0.99)}),
    "adamw_amsgrad": ("AdamW", {"lr": 0.05, "betas": (0.6, 0.8), "amsgrad": True, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.02}),
    "rmsprop_momentum": ("RMSprop", {"lr": 0.01, "alpha": 0.9, "momentum": 0.6, "weight_decay": 0.1}),
    "rmsprop_all": (
        "RMSprop", {"lr": 0.01, "alpha": 0.8, "eps": 1e-3, "momentum": 0.6, "centered": True, "maximize": True},
    ),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad_all": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-4,
         "maximize": True},
    ),
    "nadam": ("NAdam", {"lr": 0.02, "weight_decay": 0.1}),
    "nadam_decoupled": (
        "NAdam", {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.2, "momentum_decay": 0.3,
                  "decoupled_weight_decay": True, "maximize": True},
    ),
    "radam": ("RAdam", {"lr": 0.02}),
    "radam_decoupled": (
        "RAdam", {"lr": 0.02, "betas": (0.7, 0.9), "weight_decay": 0.2, "decoupled_weight_decay": True,
                  "maximize": True},
    ),
    "radam_never": ("RAdam", {"lr": 0.02, "betas": (0.5, 0.6), "weight_decay": 0.1}),
    "adamax": ("Adamax", {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1, "maximize": True}),
    "adadelta": ("Adadelta", {}),
    "adadelta_all": (
        "Adadelta", {"lr": 0.7, "rho": 0.6, "eps": 1e-4, "weight_decay": 0.1, "maximize": True},
    ),
    "rprop": ("Rprop", {"lr": 0.01}),
    "rprop_all": (
        "Rprop", {"lr": 0.02, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.05), "maximize": True},
    ),
}  # fmt: skip
FAMILIES = ("sgd", "sgd_momentum", "adam", "adamw_amsgrad", "rmsprop_all", "adagrad")
"""One row for each kind of state that an optimiser keeps."""


class OwnRule(optim.Optimizer):
    """A rule that a user might write: a moving mean of the gradient that divides by the step."""

    state = ("mean",)

    def update(self, w: Any, g: Any, state: Any, lr: Any, t: Any) -> Any:
        mean = 0.5 * state["mean"] + g / t
        return w - lr * mean, {"mean": mean}


def make_optimizer(name: str, parameters: Any, space: Any = optim) -> Any:
    """The optimiser of that row for `parameters`; `space` is ``scalarviz.optim`` or ``torch.optim``.

    ``"own"`` is a user's rule; ``"groups"`` gives every other parameter numbers of its own. Neither has PyTorch's.
    """
    if name == "own":
        return OwnRule(parameters, lr=0.1)
    if name == "groups":
        first, *rest = parameters
        return space.Adam([{"params": rest}, {"params": [first], "lr": 0.05, "betas": (0.5, 0.9)}], lr=0.02)
    kind, settings = OPTIMISERS[name]
    return getattr(space, kind)(parameters, **settings)


def _by_count(count: int) -> float:
    return 0.9 ** (count // 2)


SCHEDULES: dict[str, tuple[str, dict[str, Any]]] = {
    "step": ("StepLR", {"step_size": 2, "gamma": 0.7}),
    "multi step": ("MultiStepLR", {"milestones": [2, 5], "gamma": 0.5}),
    "exponential": ("ExponentialLR", {"gamma": 0.9}),
    "linear": ("LinearLR", {"start_factor": 0.1, "total_iters": 4}),
    "cosine": ("CosineAnnealingLR", {"T_max": 7, "eta_min": 0.01}),
    "one cycle": ("OneCycleLR", {"max_lr": 0.3, "total_steps": 40}),
    "lambda": ("LambdaLR", {"lr_lambda": _by_count}),
    "plateau": ("ReduceLROnPlateau", {"patience": 0, "threshold": 0.05, "factor": 0.7}),
    "sequential": ("SequentialLR", {"milestones": [4]}),
}


def make_schedule(name: str | None, optimizer: Any, space: Any = lr_scheduler) -> Any:
    """Put the schedule of that row on `optimizer`; `space` is our ``lr_scheduler`` or ``torch.optim.lr_scheduler``."""
    if name is None:
        return None
    kind, settings = SCHEDULES[name]
    if name == "sequential":
        row = [space.LinearLR(optimizer, 0.1, total_iters=4), space.CosineAnnealingLR(optimizer, T_max=16)]
        return space.SequentialLR(optimizer, row, **settings)
    return getattr(space, kind)(optimizer, **settings)
