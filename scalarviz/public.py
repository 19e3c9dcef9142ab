"""The names that people type: ``sv.Value``, ``sv.Run``, ``sv.nn`` ... Loaded when the first of them is asked for."""

# ruff: noqa: F403, F405  # __all__ below names which functions are meant, and mypy looks for each
from . import nn, optim
from .errors import ScalarvizError
from .imported.loading import load_onnx
from .nn._embedding import gather
from .run import Run, Scene
from .run.sources.watched import watch
from .scalar import Value, Weight, dot
from .scalar._absent import TENSOR
from .scalar.array import Values, cat, log_softmax, softmax, stack
from .scalar.functions import *
from .scalar.gradcheck import gradcheck
from .scalar.tracing import no_grad
from .tape import trace

__all__ = [
    "Run", "ScalarvizError", "Scene", "Value", "Weight", "abs", "add", "cat", "clip", "cos", "div", "dot", "exp",
    "gather", "gradcheck", "leaky_relu", "load_onnx", "log", "log_softmax", "logsumexp", "max", "maximum", "mean",
    "min", "minimum", "mul", "neg", "nn", "no_grad", "optim", "pow", "register", "relu", "sigmoid", "sin",
    "softmax", "softplus", "sqrt", "square", "stack", "sub", "sum", "tanh", "trace", "watch", "where",
]  # fmt: skip

_ARRAYS = "use NumPy arrays for data, and nn.Parameter(array) or sv.Weight(number) for weights"
_LOSS = "call a loss object: nn.CrossEntropyLoss()(outputs, target)"
_FILES = "use np.savez(path, **net.state_dict()) and net.load_state_dict(np.load(path)); run.save(path) stores a Run"

ABSENT = TENSOR | {
    **{name: f"it is a method of arrays: x.{name}(...)" for name in dir(Values) if name[0] != "_"},
    **dict.fromkeys(("Tensor", "arange", "eye", "from_numpy", "linspace", "ones", "rand", "randn", "tensor", "zeros"),
                    _ARRAYS),
    **dict.fromkeys(("concat", "concatenate", "hstack", "vstack"), "use sv.cat([a, b]) or sv.stack([a, b])"),
    **dict.fromkeys(("binary_cross_entropy", "cross_entropy", "mse_loss", "nll_loss"), _LOSS),
    **dict.fromkeys(("load", "save"), _FILES),
    **dict.fromkeys(("enable_grad", "inference_mode", "set_grad_enabled"), "use sv.no_grad() where no graph is needed"),
    **dict.fromkeys(("cuda", "device", "float32", "float64", "set_default_dtype"),
                    "choose device and dtype in sv.Run(..., engine=, dtype=)"),
    **dict.fromkeys(("DataLoader", "Dataset", "TensorDataset", "utils"),
                    "a Run takes data=(X, Y) and batch_size=, or PyTorch's loaders and data sets"),
    **dict.fromkeys(("randint", "randperm", "tril", "triu", "zeros_like"), _ARRAYS),
    **dict.fromkeys(("flatten", "reshape", "squeeze", "transpose", "argmax", "norm", "var", "std"),
                    "it is a method of arrays, such as x.flatten(1), x.transpose(-2, -1), x.var(-1)"),
    **{name: f"use nn.{name}" for name in nn.__all__}, "F": "write import scalarviz.nn.functional as F",
    "fit": "use sv.Run(net, loss, optimizer, data=(X, Y)).step(100)", "clamp": "use sv.clip(value, low, high)",
    **dict.fromkeys(("manual_seed", "seed", "set_seed"), "use sv.nn.init.manual_seed(0), or seed= of a layer"),
    "one_hot": "use np.eye(n)[ids]", "matmul": "use a @ b", "einsum": "use a @ b, or sv.dot(a, b)",
    "multinomial": "use np.random.default_rng(0).choice(n, p=probabilities)",
    "SGD": "use optim.SGD", "Adam": "use optim.Adam", "functional": "use nn.functional",
}  # fmt: skip
"""Names of PyTorch that are not here, and what is said of each."""
