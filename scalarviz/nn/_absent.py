"""PyTorch's arguments that layers and losses lack, with advice. They raise an error and are never ignored."""

from __future__ import annotations

_PLACE = "choose device and dtype in sv.Run(..., engine=, dtype=)"

COMMON = {
    **dict.fromkeys(("device", "dtype"), _PLACE),
    "inplace": "a graph never overwrites its numbers; omit inplace",
    **dict.fromkeys(("size_average", "reduce"), "use reduction='mean' or reduction='sum'"),
    "weight": "all outputs have equal weight; for other weights write a loss function (outputs, targets) -> Value",
    "pos_weight": "all outputs have equal weight; for other weights write a loss function (outputs, targets)",
    "ignore_index": "remove such samples from the data",
    "label_smoothing": "for smoothed targets write a loss function (outputs, targets) -> Value",
    "set_to_none": "a gradient is always a number; omit set_to_none",
    "in_features": "use n_in",
    "out_features": "use n_out",
    "dilation": "pooling windows have no gaps; Conv1d and Conv2d have dilation=",
    "padding_mode": "padding is always with zeros",
    "ceil_mode": "an incomplete window is dropped; use padding= to include it",
    "return_indices": "only the outputs are returned",
    "count_include_pad": "padding zeros are always counted",
    "divisor_override": "the divisor is the window size; scale the outputs yourself",
    **dict.fromkeys(("kdim", "vdim"), "queries, keys and values all have embed_dim numbers"),
    **dict.fromkeys(("add_bias_kv", "add_zero_attn"), "no keys or values are added"),
    "batch_first": "call the layer with one sample, a list of positions without a batch dimension",
    "max_norm": "rows are never rescaled",
    "scale_grad_by_freq": "gradients are never scaled by frequency",
    "sparse": "gradients are always dense",
    **dict.fromkeys(("momentum", "track_running_stats"), "only BatchNorm1d and BatchNorm2d have running statistics"),
    "dim": "a sample has no batch dimension: use Unflatten((C, H, W))",
}

_STEPS = (
    "write a loop over the time steps: for x in sequence: h = sv.tanh(inner(sv.cat([x, h]))), with inner = "
    "nn.Linear(n_in + hidden, hidden)"
)
_LOSS = "write your own loss as a function (outputs, targets) -> Value"

NAMES = {
    "F": "write import scalarviz.nn.functional as F",
    **dict.fromkeys(("ModuleDict", "ParameterDict"), "use an attribute for each part, or a list of them"),
    "RNN": _STEPS, "RNNCell": _STEPS, "LSTM": _STEPS, "LSTMCell": _STEPS, "GRU": _STEPS, "GRUCell": _STEPS,
    **dict.fromkeys(("Transformer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"),
                    "build it from MultiheadAttention, LayerNorm and Linear"),
    "Dropout1d": "use Dropout, which drops single numbers", "Dropout2d": "use Dropout, which drops single numbers",
    "BatchNorm3d": "use BatchNorm1d or BatchNorm2d",
    "Buffer": "use self.register_buffer(name, array)",
    "Conv3d": "use Conv1d or Conv2d", "ConvTranspose2d": "use Conv1d or Conv2d",
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d"), "use GroupNorm(channels, channels)"),
    "KLDivLoss": _LOSS, "CosineEmbeddingLoss": _LOSS, "TripletMarginLoss": _LOSS, "PoissonNLLLoss": _LOSS,
    "GaussianNLLLoss": _LOSS, "MarginRankingLoss": _LOSS, "SoftMarginLoss": _LOSS,
    "Hardtanh": "write in forward: x.clip(-1, 1)",
    "EmbeddingBag": "use Embedding in forward, and the mean of its rows: self.table(x).mean(-2)",
    "LazyLinear": "use Linear, which takes the number of inputs", "SyncBatchNorm": "use BatchNorm1d or BatchNorm2d",
    "AlphaDropout": "use Dropout",
    "DataParallel": "a Run chooses the device", "parallel": "a Run chooses the device",
    **dict.fromkeys(("CELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Mish", "SELU", "Softshrink", "Softsign",
                     "Tanhshrink", "Threshold"),
                    "write it in forward as a formula such as x * sv.tanh(sv.softplus(x))"),
    "Softmax2d": "use Softmax(dim=-3)",
}  # fmt: skip
"""PyTorch's names that `nn` lacks, with advice."""

METHODS = {
    "to": _PLACE, "cuda": _PLACE, "cpu": _PLACE, "double": _PLACE, "float": _PLACE, "half": _PLACE,
    "register_parameter": "set an attribute: self.w = nn.Parameter(array)",
    "register_forward_hook": "use run.frame() or run.open() of a Run to see every stage",
    "requires_grad_": "use freeze() and unfreeze()",
    "fit": "train with a Run: sv.Run(net, loss, optimizer, data=(X, Y)).step(100)",
    "predict": "use net(x) for one sample, run.predict(X) of a Run for a batch",
    "type": _PLACE, "bfloat16": _PLACE, "to_empty": _PLACE, "compile": "a Run compiles the network",
    "evaluate": "use run.evaluate(X, Y) of a Run", "summary": "print(net) shows its layers",
    "get_parameter": "use dict(net.named_parameters())[name]", "get_submodule": "use dict(net.named_modules())[name]",
    "register_module": "use add_module(name, module)", "extend": "call append(module) for each module",
    **dict.fromkeys(("register_backward_hook", "register_forward_pre_hook", "register_full_backward_hook"),
                    "use run.open() of a Run to see every step"),
    "save": "use run.save(path) to store weights, optimiser and step; net.state_dict() gives the arrays",
}  # fmt: skip
"""Methods of PyTorch's modules (and of other libraries) that modules here lack, with advice."""
