"""PyTorch's arguments that optimisers do not have, and what is said of each: refused, never dropped."""

from __future__ import annotations

_SPEED = "every engine has one way to do a step, its fastest"

COMMON = {
    "decoupled_weight_decay": "take AdamW",
    "foreach": _SPEED,
    "fused": _SPEED,
    "capturable": _SPEED,
    "differentiable": "a step is no part of the graph",
    "learning_rate": "it is called lr",
}

_OWN = (
    "there are SGD, Adam, AdamW, RMSprop, Adagrad; a rule of your own is a subclass of optim.Optimizer with an update"
)

RULES = dict.fromkeys(("ASGD", "Adadelta", "Adamax", "LBFGS", "Lion", "Muon", "NAdam", "RAdam", "Rprop"), _OWN)
"""PyTorch's rules that the folder has not, and what is said of each."""
