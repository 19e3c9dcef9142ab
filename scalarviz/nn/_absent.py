"""PyTorch's arguments that layers and losses do not have, and what is said of each: refused, never dropped."""

from __future__ import annotations

_PLACE = "a network lies where its Run computes: sv.Run(..., engine=, dtype=)"
_NEVER = "the numbers of a graph are never overwritten, so there is nothing to save; leave it out"
_REDUCTION = "take reduction='mean' or reduction='sum'"
_BATCH = "it has no running statistics; BatchNorm1d and BatchNorm2d have"

COMMON = {
    "device": _PLACE,
    "dtype": _PLACE,
    "inplace": _NEVER,
    "size_average": _REDUCTION,
    "reduce": _REDUCTION,
    "weight": "every class and every output counts alike; a loss of your own is a function (outputs, targets) -> Value",
    "pos_weight": "every class and every output counts alike; a loss of your own is a function (outputs, targets)",
    "ignore_index": "leave such samples out of the data",
    "label_smoothing": "the target is one class; a loss of your own is a function (outputs, targets) -> Value",
    "in_features": "it is called n_in here",
    "out_features": "it is called n_out here",
    "dilation": "a window of a pool sees neighbouring places; Conv1d and Conv2d have dilation=",
    "padding_mode": "the border is zeros",
    "ceil_mode": "a rest that fills no window is left out; padding= makes room for it",
    "return_indices": "the outputs come back alone",
    "count_include_pad": "the zeros of the border are counted",
    "divisor_override": "the divisor is the number of places; multiply the outputs by a number of your own",
    "kdim": "queries, keys and values have embed_dim numbers each",
    "vdim": "queries, keys and values have embed_dim numbers each",
    "add_bias_kv": "keys and values are those that are given",
    "add_zero_attn": "keys and values are those that are given",
    "batch_first": "a sample has no batch dimension here: lists of positions",
    "max_norm": "rows keep the length that training gives them",
    "scale_grad_by_freq": "each use of a row counts alike",
    "sparse": "gradients are kept for all rows",
    "momentum": _BATCH,
    "track_running_stats": _BATCH,
    "dim": "a sample has no batch dimension here: Unflatten((C, H, W))",
}

_LIST = "a plain list holds parts as well: self.layers = [nn.Linear(2, 3), nn.Linear(3, 1)]"
_STEPS = (
    "write the steps out: with inner = nn.Linear(n_in + hidden, hidden), h = [v.tanh() for v in inner([*x, *h])] for "
    "every x of the sequence"
)
_LOSS = "a loss of your own is a function (outputs, targets) -> Value"

NAMES = {
    "functional": "functions are sv.relu, sv.softmax, ...; losses are objects: nn.CrossEntropyLoss()(row, target)",
    "ModuleList": _LIST,
    "ModuleDict": _LIST,
    "ParameterList": "a plain list holds them as well: self.tables = [nn.Parameter(a), nn.Parameter(b)]",
    "RNN": _STEPS, "RNNCell": _STEPS, "LSTM": _STEPS, "LSTMCell": _STEPS, "GRU": _STEPS, "GRUCell": _STEPS,
    "Transformer": "MultiheadAttention, LayerNorm and Linear make one",
    "TransformerEncoderLayer": "MultiheadAttention, LayerNorm and Linear make one",
    "TransformerEncoder": "MultiheadAttention, LayerNorm and Linear make one",
    "Dropout1d": "Dropout drops numbers one by one", "Dropout2d": "Dropout drops numbers one by one",
    "BatchNorm3d": "there are BatchNorm1d and BatchNorm2d",
    "Buffer": "self.register_buffer(name, array) keeps an array",
    "Conv3d": "there are Conv1d and Conv2d", "ConvTranspose2d": "there are Conv1d and Conv2d",
    "InstanceNorm2d": "GroupNorm(channels, channels) is it",
    "KLDivLoss": _LOSS, "CosineEmbeddingLoss": _LOSS, "TripletMarginLoss": _LOSS, "PoissonNLLLoss": _LOSS,
    "GaussianNLLLoss": _LOSS, "MarginRankingLoss": _LOSS, "SoftMarginLoss": _LOSS,
    "Hardtanh": "in a forward of your own: [sv.clip(v, -1, 1) for v in x]",
    "Softmax2d": "Softmax() takes a row",
}  # fmt: skip
"""PyTorch's names that the folder has not, and what is said of each."""

METHODS = {
    "to": _PLACE, "cuda": _PLACE, "cpu": _PLACE, "double": _PLACE, "float": _PLACE, "half": _PLACE,
    "register_parameter": "set it as an attribute: self.w = nn.Parameter(array)",
    "register_forward_hook": "a Run shows every stage: run.frame(), run.open()",
    "requires_grad_": "freeze() and unfreeze() say which weights are trained",
    "fit": "a Run trains: sv.Run(net, loss, optimizer, data=(X, Y)).step(100)",
    "predict": "net(x) takes one sample; a Run a batch: run.predict(X)",
    "save": "run.save(path) keeps weights, optimiser and step; net.state_dict() gives the arrays",
}  # fmt: skip
"""Methods that PyTorch's modules (and other libraries') have, likewise."""
