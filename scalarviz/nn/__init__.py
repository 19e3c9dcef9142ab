"""Networks: modules, layers, activations, losses and initialisers, named as in PyTorch.

Read `_module` first, then `_linear`. A layer is a graph of scalars; ``tape/`` and ``engine/`` make it fast.
"""

from typing import TYPE_CHECKING

from ..arguments import explain, module_names
from . import functional, init, utils
from ._absent import COMMON, NAMES
from ._activations import (
    ELU,
    GELU,
    Activation,
    Identity,
    LeakyReLU,
    LogSigmoid,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softplus,
    Tanh,
)
from ._attention import MultiheadAttention
from ._classes import BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, LogSoftmax, MultiMarginLoss, NLLLoss, Softmax
from ._conv import AdaptiveAvgPool1d, AdaptiveAvgPool2d, AvgPool1d, AvgPool2d, Conv1d, Conv2d, MaxPool1d, MaxPool2d
from ._embedding import Embedding
from ._linear import Linear, Perceptron
from ._losses import HingeEmbeddingLoss, HuberLoss, L1Loss, Loss, MSELoss, SmoothL1Loss
from ._module import Module
from ._norm import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm, RMSNorm
from ._parameter import Parameter, ParameterView
from ._parts import LoadResult
from ._sequential import MLP, Network, PerceptronView, Sequential
from ._shape import Dropout, Flatten, Unflatten

__all__ = [
    "ELU", "GELU", "MLP", "Activation", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "BCELoss",
    "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "CrossEntropyLoss", "Dropout", "Embedding",
    "Flatten", "GroupNorm", "HingeEmbeddingLoss", "HuberLoss", "Identity", "L1Loss", "LayerNorm", "LeakyReLU", "Linear",
    "LoadResult", "LogSigmoid", "LogSoftmax", "Loss", "MSELoss", "MaxPool1d", "MaxPool2d", "Module", "ModuleList",
    "MultiMarginLoss", "MultiheadAttention", "NLLLoss", "Network", "PReLU", "Parameter", "ParameterList",
    "ParameterView", "Perceptron", "PerceptronView", "RMSNorm", "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid",
    "SmoothL1Loss", "Softmax", "Softplus", "Tanh", "Unflatten", "functional", "init", "utils",
]  # fmt: skip

ModuleList = ParameterList = list
"""A list is enough: its modules and parameters are parts of the module that holds it."""

for _kind in [thing for thing in map(globals().get, __all__) if isinstance(thing, type)]:
    if issubclass(_kind, Module | Loss) and _kind is not Module:  # Python itself checks the arguments of users' modules
        explain(_kind, COMMON)

if not TYPE_CHECKING:
    __dir__, __getattr__ = module_names(__name__, __all__, NAMES)
