"""Networks: modules, layers, activations, losses and initialisers, in PyTorch's words."""

from . import init
from ._activations import Activation, Identity, LeakyReLU, ReLU, Sigmoid, Softplus, Tanh
from ._linear import Linear, Perceptron
from ._losses import BCELoss, HuberLoss, L1Loss, Loss, MSELoss, batch_reduction
from ._module import Module
from ._network import Network, PerceptronView
from ._parameter import Parameter, ParameterView
from ._sequential import Sequential
from ._state import LoadResult

__all__ = [
    "Activation", "BCELoss", "HuberLoss", "Identity", "L1Loss", "LeakyReLU", "Linear", "LoadResult", "Loss",
    "MSELoss", "Module", "Network", "Parameter", "ParameterView", "Perceptron", "PerceptronView", "ReLU",
    "Sequential", "Sigmoid", "Softplus", "Tanh", "batch_reduction", "init",
]  # fmt: skip
