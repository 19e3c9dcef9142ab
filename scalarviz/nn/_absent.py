"""PyTorch's arguments that layers and losses lack, with advice. They raise an error and are never ignored."""

from __future__ import annotations

from ..scalar._absent import each_name

PLACE = "choose device and dtype in sv.Run(..., engine=, dtype=)"


COMMON = each_name({
    "device dtype": PLACE, "inplace": "a graph never overwrites its numbers; omit inplace",
    "size_average reduce": "use reduction='mean' or reduction='sum'",
    "weight": "all outputs have equal weight; for other weights write a loss function (outputs, targets) -> Value",
    "pos_weight": "all outputs have equal weight; for other weights write a loss function (outputs, targets)",
    "ignore_index": "remove such samples from the data", "in_features": "use n_in", "out_features": "use n_out",
    "label_smoothing": "for smoothed targets write a loss function (outputs, targets) -> Value",
    "padding_mode": "padding is always with zeros",
    "dilation": "pooling windows have no gaps; Conv1d and Conv2d have dilation=",
    "ceil_mode": "an incomplete window is dropped; use padding= to include it",
    "return_indices": "only the outputs are returned", "count_include_pad": "padding zeros are always counted",
    "divisor_override": "the divisor is the window size; scale the outputs yourself",
    "kdim vdim": "queries, keys and values all have embed_dim numbers", "max_norm": "rows are never rescaled",
    "add_bias_kv add_zero_attn": "no keys or values are added", "sparse": "gradients are always dense",
    "batch_first": "call the layer with one sample, a list of positions without a batch dimension",
    "scale_grad_by_freq": "gradients are never scaled by frequency",
    "momentum track_running_stats": "only BatchNorm1d and BatchNorm2d have running statistics",
    "dim": "a sample has no batch dimension: use Unflatten((C, H, W))",
})  # fmt: skip

_STEPS = "write a loop over the time steps: for x in sequence: {}, with {}".format
_RNN = _STEPS("h = sv.tanh(inner(sv.cat([x, h])))", "inner = nn.Linear(n_in + hidden, hidden)")
_LSTM = _STEPS(
    "i, f, g, o = gates(sv.cat([x, h])).chunk(4, -1); c = sv.sigmoid(f) * c + sv.sigmoid(i) * sv.tanh(g); "
    "h = sv.sigmoid(o) * sv.tanh(c)",
    "gates = nn.Linear(n_in + hidden, 4 * hidden)",
)
_GRU = _STEPS(
    "(r, z, n), (s, y, m) = a(x).chunk(3, -1), b(h).chunk(3, -1); z = sv.sigmoid(z + y); "
    "h = (1 - z) * sv.tanh(n + sv.sigmoid(r + s) * m) + z * h",
    "a, b = nn.Linear(n_in, 3 * hidden), nn.Linear(hidden, 3 * hidden)",
)
_LOSS = "write your own loss as a function (outputs, targets) -> Value"

_PLANES = "layers take rows and pictures: Conv1d, Conv2d, AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d"
_PAD = "use padding= of Conv1d and Conv2d, or sv.cat([zeros, x], dim) in forward"
_SCALE = "choose or repeat entries with lists of indices in forward, such as x[..., [0, 0, 1, 1]]"
_HOOKS = "use run.frame() or run.open() of a Run to see every stage"
_STATE = "change the dict itself, before load_state_dict() or after state_dict()"


NAMES = each_name({
    "F": "write import scalarviz.nn.functional as F", "Softmax2d": "use Softmax(dim=-3)",
    "ModuleDict ParameterDict Container": "use an attribute for each part, or a list of them",
    "RNN RNNCell RNNBase RNNCellBase": _RNN, "LSTM LSTMCell": _LSTM, "GRU GRUCell": _GRU,
    "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer":
        "build it from MultiheadAttention, LayerNorm and Linear",
    "AlphaDropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout": "use Dropout, which drops single numbers",
    "BatchNorm3d SyncBatchNorm": "use BatchNorm1d or BatchNorm2d",
    "Buffer UninitializedBuffer": "use self.register_buffer(name, array)",
    "Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d AvgPool3d MaxPool3d AdaptiveAvgPool3d AdaptiveMaxPool1d "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d Fold "
    "Unfold MaxUnpool1d MaxUnpool2d MaxUnpool3d": _PLANES,
    "InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm CrossMapLRN2d": "use GroupNorm(channels, channels)",
    "KLDivLoss CosineEmbeddingLoss TripletMarginLoss PoissonNLLLoss GaussianNLLLoss MarginRankingLoss SoftMarginLoss "
    "CTCLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss TripletMarginWithDistanceLoss AdaptiveLogSoftmaxWithLoss":
        _LOSS,
    "NLLLoss2d": "use NLLLoss", "LinearCrossEntropyLoss LinearCrossEntropyOptions": "use Linear and CrossEntropyLoss",
    "Hardtanh": "write in forward: x.clip(-1, 1)", "Softmin": "write in forward: (-x).softmax(-1)",
    "EmbeddingBag": "use Embedding in forward, and the mean of its rows: self.table(x).mean(-2)",
    "LazyLinear": "use Linear, which takes the number of inputs", "DataParallel parallel": "a Run chooses the device",
    "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
    "LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
    "UninitializedParameter": "name the sizes; Linear, Conv2d and BatchNorm2d take the numbers of channels",
    "Mish": "use x * sv.tanh(sv.softplus(x))", "Softsign": "use x / (1 + abs(x))", "Tanhshrink": "use x - sv.tanh(x)",
    "Hardsigmoid": "use (x / 6 + 0.5).clip(0, 1)", "Hardswish": "use x * (x / 6 + 0.5).clip(0, 1)",
    "CELU SELU": "use scale * sv.where(x > 0, x, alpha * (sv.exp(x) - 1))", "RReLU": "use LeakyReLU",
    "Hardshrink Softshrink Threshold": "use sv.where(x > limit, x, 0.0) and its like",
    "GLU": "use a * sv.sigmoid(b), where a and b are the halves x.chunk(2, -1)",
    "Bilinear CosineSimilarity PairwiseDistance": "write it in forward with a @ b and a.norm()",
    "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
    "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d":
        _PAD,
    "ChannelShuffle PixelShuffle PixelUnshuffle": "use x.view(...) and x.transpose(...) in forward",
    "Upsample UpsamplingBilinear2d UpsamplingNearest2d": _SCALE, "factory_kwargs": PLACE,
})  # fmt: skip
"""PyTorch's names that `nn` lacks, with advice."""

_HELD = "it has weights, which a layer of nn holds: nn.{}"
_MISSING = {name.lower().removesuffix("loss"): advice for name, advice in NAMES.items()}

FUNCTIONS = each_name({
    "conv1d": _HELD.format("Conv1d"), "conv2d": _HELD.format("Conv2d"), "batch_norm": _HELD.format("BatchNorm1d"),
    "prelu": _HELD.format("PReLU"), "group_norm": _HELD.format("GroupNorm"), "rms_norm": _HELD.format("RMSNorm"),
    "instance_norm": "use nn.GroupNorm(channels, channels)", "hinge_embedding_loss": "use nn.HingeEmbeddingLoss()",
    "multi_margin_loss": "use nn.MultiMarginLoss()", "pad": _PAD, "dropout1d dropout2d dropout3d": "use F.dropout",
    "alpha_dropout feature_alpha_dropout": "use F.dropout", "embedding_bag": "use F.embedding(ids, w).mean(-2)",
    "interpolate upsample upsample_bilinear upsample_nearest grid_sample affine_grid": _SCALE, "grad": _HOOKS,
    "gumbel_softmax": "use (x + noise).softmax(-1), with noise drawn by NumPy", "pdist": "use (a - b).norm(dim=-1)",
    "cosine_similarity": "use F.normalize(a, dim=-1) and F.normalize(b, dim=-1): (a * b).sum(-1)",
    "pairwise_distance": "use (a - b).norm(dim=-1)",
    "kl_div": "use -(p * log_q).sum(-1).mean(), which is larger by the entropy of p",
    "multi_head_attention_forward": _HELD.format("MultiheadAttention"), "native_channel_shuffle": "use x.view(...)",
    "conv_tbc grouped_mm scaled_mm scaled_grouped_mm": "use a @ b", "linear_cross_entropy": "use F.cross_entropy",
    "max_pool1d max_pool2d": COMMON["return_indices"],
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d max_pool3d avg_pool3d adaptive_avg_pool3d": _PLANES,
})  # fmt: skip


def of_function(name: str) -> str:
    """Return what is said of a function of ``torch.nn.functional`` that is not here; empty if there is none."""
    plain = name.removesuffix("_").removesuffix("_with_indices")
    return FUNCTIONS.get(plain) or _MISSING.get(plain.replace("_", "").removesuffix("loss"), "")


METHODS = each_name({
    "cuda float half type bfloat16 to_empty ipu xpu mtia share_memory": f"omit the call: {PLACE}",
    "register_parameter": "set an attribute: self.w = nn.Parameter(array)", "register_forward_hook": _HOOKS,
    "set_submodule": "set an attribute: net.a = layer", "requires_grad_": "use freeze() and unfreeze()",
    "reset_parameters": "use net.initialize(seed=0), or nn.init.normal_(p) and its like",
    "fit": "train with a Run: sv.Run(net, loss, optimizer, data=(X, Y)).step(100)",
    "predict": "use net(x) for one sample, run.predict(X) of a Run for a batch", "summary": "use print(net)",
    "evaluate": "use run.evaluate(X, Y) of a Run", "compile": "a Run compiles the network",
    "get_parameter": "use dict(net.named_parameters())[name]", "get_submodule": "use dict(net.named_modules())[name]",
    "get_buffer": "use dict(net.named_buffers())[name]", "register_module": "use add_module(name, module)",
    "extend": "call append(module) for each module", "call_super_init": "super().__init__() is not needed",
    "register_backward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook":
        "use run.open() of a Run to see every step",
    "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_state_dict_post_hook "
    "register_state_dict_pre_hook T_destination dump_patches": _STATE,
    "get_extra_state set_extra_state": "use self.register_buffer(name, array), which the state_dict holds",
    "save": "use np.savez(path, **net.state_dict()); run.save(path) of a Run stores optimiser and step, too",
})  # fmt: skip
"""Methods of PyTorch's modules (and of other libraries) that modules here lack, with advice."""
