"""NETWORKS: models as exporters write them; what each is when it is loaded.

A row: how the model is made, its samples, the weights that come back, and every module without parts, in
order (None: not asked). Where operators remain, `operators` are their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kit.onnx_files import Made, drawn
from scalarviz import nn

SCOPES = "pkg.torch.onnx.name_scopes"


@dataclass(frozen=True)
class Row:
    """See above; `shape` is that of a sample, or the samples themselves."""

    make: Callable[[Made], Any]
    shape: Any
    weights: tuple[str, ...]
    layers: tuple[Any, ...] | None = None
    operators: tuple[str, ...] | None = None
    opset: int = 17

    def x(self) -> np.ndarray:
        """Three samples."""
        return drawn(3, *self.shape) if isinstance(self.shape, tuple) else np.array(self.shape)

    def made(self, batch: Any = "N") -> Made:
        x = self.x()
        made = Made(batch, *x.shape[1:], dtype=np.int64 if x.dtype.kind == "i" else np.float32, opset=self.opset)
        self.make(made)
        return made


def gemm(made, x, name, before, behind, bias=True, **more):
    parts = [made.weight(f"{name}.weight", behind, before), *([made.weight(f"{name}.bias", behind)] if bias else [])]
    return made.node("Gemm", x, *parts, transB=1, name=f"/{name}/Gemm", **more)


def conv(made, x, name, before, behind, size=3, groups=1, bias=True, **more):
    parts = [made.weight(f"{name}.weight", behind, before // groups, size, size)]
    parts += [made.weight(f"{name}.bias", behind)] if bias else []
    return made.node("Conv", x, *parts, name=f"/{name}/Conv", group=groups, kernel_shape=[size, size], **more)


def batch_norm(made, x, name, channels, **more):
    parts = [made.weight(f"{name}.weight", channels, shift=1.0), made.weight(f"{name}.bias", channels)]
    parts.append(made.weight(f"{name}.running_mean", channels))
    parts.append(made.constant(f"{name}.running_var", np.abs(drawn(channels)) + np.float32(0.5)))
    return made.node("BatchNormalization", x, *parts, name=f"/{name}/BatchNormalization", **more)


def linear(made, x, name, before, behind):
    """As PyTorch writes a Linear on more than two dimensions: the matrix is turned and has lost its name."""
    h = made.node("MatMul", x, made.weight(f"onnx::MatMul_{name}", before, behind), name=f"/{name}/MatMul")
    return made.node("Add", made.weight(f"{name}.bias", behind), h, name=f"/{name}/Add")


def layer_norm(made, x, name, size, **more):
    parts = [made.weight(f"{name}.weight", size, shift=1.0), made.weight(f"{name}.bias", size)]
    return made.node("LayerNormalization", x, *parts, axis=-1, epsilon=1e-5, name=f"/{name}/LayerNormalization", **more)


def mlp(made):
    gemm(made, made.node("Relu", gemm(made, "x", "fc1", 3, 4), name="/act/Relu"), "fc2", 4, 2, to="y")


def shortcut(made):
    h = made.node("MatMul", "x", made.weight("into/w", 4, 4), name="model/into/MatMul")
    h = made.node("Tanh", made.node("Add", h, made.weight("into/b", 4)))
    h = made.node("Mul", made.node("Add", h, "x", name="shortcut"), made.weight("scale", 4))
    made.node("Gemm", h, made.weight("out.weight", 4, 2), to="y")


def tied(made):
    w = made.weight("tied.weight", 3, 3)
    made.node("Gemm", made.node("Tanh", made.node("Gemm", "x", w, transB=1)), w, transB=1, to="y")


def cnn(made):
    h = conv(made, "x", "features.0", 1, 4, pads=[1, 1, 1, 1])
    h = made.node("Relu", batch_norm(made, h, "features.1", 4, epsilon=1e-3), name="/features/features.2/Relu")
    h = made.node("MaxPool", h, kernel_shape=[2, 2], strides=[2, 2], name="/features/features.3/MaxPool")
    h = conv(made, h, "features.4", 4, 8, groups=4, bias=False, dilations=[2, 2], pads=[2, 2, 2, 2])
    h = made.node("LeakyRelu", h, alpha=0.2, name="/features/features.5/LeakyRelu")
    h = made.node("AveragePool", h, kernel_shape=[2, 2], strides=[2, 2], name="/features/features.6/AveragePool")
    h = gemm(made, made.node("Flatten", h, name="/Flatten"), "head", 32, 5)
    made.node("Softmax", h, name="/softmax/Softmax", axis=1, to="y")


def residual(made):
    """Two convolutions beside a shortcut, a mean over the picture, a hard-coded reshape."""
    h = made.node("Relu", batch_norm(made, conv(made, "x", "stem", 3, 4, pads=[1, 1, 1, 1]), "bn", 4))
    g = made.node("Relu", conv(made, h, "block.a", 4, 4, auto_pad="SAME_UPPER"))
    h = made.node("Relu", made.node("Add", h, conv(made, g, "block.b", 4, 4, pads=[1, 1, 1, 1]), name="sum"))
    h = made.node("Reshape", made.node("GlobalAveragePool", h), made.constant("flat", np.array([-1, 4])))
    gemm(made, h, "fc", 4, 3, to="y")


def transformer(made):
    """One block over rows of numbers: attention of two heads with computed shapes, a residual, two linear layers."""
    h = made.node("Add", "x", made.weight("places", 3, 4))
    n = layer_norm(made, h, "ln1", 4)
    parts = made.node("Concat", counted(made, h), made.constant("rest", np.array([3, 2, 2])), axis=0)
    heads = {}
    for name in "qkv":
        projected = made.node("Reshape", linear(made, n, f"attn.{name}", 4, 4), parts)
        heads[name] = made.node("Transpose", projected, perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
    scores = made.node("Div", made.node("MatMul", heads["q"], heads["k"]), made.constant("root", np.float32(2**0.5)))
    masked = made.node("Add", scores, made.constant("mask", np.triu(np.full((3, 3), -1e9, np.float32), 1)))
    mixed = made.node(
        "Transpose", made.node("MatMul", made.node("Softmax", masked, axis=-1), heads["v"]), perm=[0, 2, 1, 3]
    )
    joined = made.node("Reshape", mixed, made.constant("joined", np.array([0, 0, 4])))
    h = made.node("Add", h, linear(made, joined, "attn.out", 4, 4))
    g = linear(made, layer_norm(made, h, "ln2", 4), "mlp.0", 4, 6)
    inner = made.node("Erf", made.node("Div", g, made.constant("r2", np.float32(2**0.5))), name="/mlp/mlp.1/Erf")
    inner = made.node("Mul", g, made.node("Add", inner, made.constant("one", np.float32(1.0))))
    g = made.node("Mul", inner, made.constant("half", np.float32(0.5)))
    made.node("Add", h, linear(made, g, "mlp.2", 6, 4), to="y")


def words(made):
    """Ids become rows, and the same matrix turns rows into scores of words."""
    table = made.weight("embed.weight", 5, 4)
    h = made.node("Tanh", linear(made, made.node("Gather", table, "x", name="/embed/Gather"), "mix", 4, 4))
    made.node("MatMul", h, made.node("Transpose", table, perm=[1, 0]), to="y", name="/head/MatMul")


def counted(made, x):
    """How many samples there are, as ``x.size(0)`` is written."""
    first = made.node("Gather", made.node("Shape", x), made.constant(f"zero{len(made.nodes)}", np.array(0)), axis=0)
    return made.node("Unsqueeze", first, made.constant(f"axis{len(made.nodes)}", np.array([0])))


def same_sides(pad):
    """A window of two: the pixel more stands behind, or before."""
    return lambda made: conv(made, "x", "conv", 1, 2, size=2, auto_pad=pad, to="y")


def view(made):
    h = made.node("Relu", conv(made, "x", "conv1", 1, 2))
    sides = made.node("Concat", counted(made, h), made.constant("rest", np.array([-1])), axis=0)
    gemm(made, made.node("Reshape", h, sides), "fc", 8, 3, to="y")


def sides_of_computed(made):
    h = made.node("Mul", "x", made.weight("gain", 4))
    sides = made.node("Concat", counted(made, h), made.constant("rest", np.array([2, 2])), axis=0)
    turned = made.node("Transpose", made.node("Reshape", h, sides), perm=[0, 2, 1], name="turned")
    row = made.node("Concat", counted(made, turned), made.constant("row", np.array([4])), axis=0)
    h = made.node("Reshape", turned, row, name="row")
    made.node("Add", h, made.node("ConstantOfShape", made.node("Shape", made.node("Tanh", h))), to="y")


def compared_mask(made):
    stored = made.constant("attn.bias", np.tril(np.ones((1, 4, 4), np.float32)))
    cut = made.node(
        "Slice", stored, *(made.constant(f"slice {k}", np.array(n)) for k, n in enumerate([(0, 0), (3, 3), (1, 2)]))
    )
    hidden = made.node("Equal", cut, made.constant("nought", np.float32(0)))
    h = made.node(
        "Where", hidden, made.constant("low", np.float32(-np.inf)), made.node("Mul", "x", made.weight("gain", 3))
    )
    made.node("Softmax", h, axis=-1, to="y")


def weight_of_weights(made):
    scale = made.node("Exp", made.node("Reshape", made.weight("gamma", 2, 2), made.constant("row", np.array([4]))))
    made.node("Mul", made.node("Sigmoid", "x"), scale, to="y")


def norm_without_bias(made):
    zeros = made.fixed(np.zeros(4))
    made.node("LayerNormalization", gemm(made, "x", "fc", 4, 4, bias=False), made.weight("ln.weight", 4), zeros,
              name="/ln/LayerNormalization", to="y")  # fmt: skip


def single_numbers(made):
    """A gate of one number, the bias of one channel; what has a counted name belongs to the formula."""
    h = made.node(
        "ConvTranspose", "x", made.weight("up.weight", 1, 1, 1, 1), made.constant("up.bias", np.float32([0.25]))
    )
    h = made.node("Mul", h, made.constant("gate.alpha", np.float32(0.5)))
    made.node("Mul", h, made.constant("val_3", np.float32(3)), to="y")


def untrained_norm(*names):
    """Ones and zeros: with counted names they stand for a norm without weights, which the standard has not."""

    def make(made):
        parts = [made.constant(name, np.full(2, n, np.float32)) for name, n in zip(names, (1, 0), strict=True)]
        made.node("InstanceNormalization", "x", *parts, to="y")

    return make  # fmt: skip


def repeated(equal):
    """PyTorch's exporter writes equal weights once: of norms that were never trained, of layers that were copied."""

    def make(made):
        first = made.constant("a.weight", np.full((4, 4), 0.5, np.float32) if equal else drawn(4, 4))
        second = made.node("Identity", first, to="b.weight")
        h = made.node("Tanh", made.node("Gemm", "x", first, transB=1, name="/a/Gemm"))
        made.node("Gemm", h, second, transB=1, name="/b/Gemm", to="y")

    return make  # fmt: skip


def counted_names(made):
    h = made.node("Gemm", "x", made.weight("features.0.weight", 4, 4), transB=1, name="node_linear")
    h = made.node("Relu", h, name="node_relu")
    made.node("Gemm", h, made.weight("features.2.weight", 2, 4), transB=1, name="node_linear_1", to="y")


def scopes(made, *modules):
    made.note(SCOPES, str(["", *modules, "op"]))


def noted_modules(made):
    """Its names of tensors are those of other layers, where numbers are equal."""
    ones, zeros = (
        made.constant(f"h.0.ln_1.{name}", np.full(4, n, np.float32)) for name, n in (("weight", 1), ("bias", 0))
    )
    h = made.node("LayerNormalization", "x", ones, zeros, name="node_layer_norm")
    scopes(made, "h.0", "h.0.ln_1")
    h = made.node("MatMul", h, made.weight("val_3", 4, 4), name="node_MatMul_5")
    scopes(made, "h.0", "h.0.fc")
    h = made.node("Add", h, zeros, name="node_linear")
    scopes(made, "h.0", "h.0.fc")
    made.node("LayerNormalization", h, ones, zeros, name="node_layer_norm_1", to="y")
    scopes(made, "h.0", "h.0.ln_2")


def module_called_twice(made):
    parts = made.constant("ln.weight", np.ones(4, np.float32)), made.constant("ln.bias", np.zeros(4, np.float32))
    h = made.node("LayerNormalization", "x", *parts, name="node_layer_norm")
    scopes(made, "ln")
    made.node("LayerNormalization", made.node("Exp", h), *parts, name="node_layer_norm_1", to="y")
    scopes(made, "ln")


def folded_norm(made):
    h = made.node("Conv", "x", made.weight("features.0.weight", 2, 1, 3, 3), made.weight("features.1.bias", 2))
    scopes(made, "features", "features.1")
    made.node("Relu", h, to="y")


def matrix_of_attention(made):
    """Attention's first matrix is its module's own, the second that of a layer inside."""
    h = made.node("MatMul", "x", made.weight("val_1", 4, 4), name="node_MatMul")
    scopes(made, "attn")
    h = made.node("Gemm", h, made.weight("attn.out.weight", 4, 4), made.weight("attn.out.bias", 4), transB=1)
    scopes(made, "attn")
    made.node("Exp", h, to="y")


def group_norm(groups, weights):
    """As PyTorch's exporter writes it."""

    def make(made):
        x = made.node("Conv", "x", made.weight("conv.weight", 4, 2, 1, 1), name="/conv/Conv")
        h = made.node("Reshape", x, made.constant("apart", np.array([0, groups, -1])), name="/norm/Reshape")
        h = made.node("InstanceNormalization", h, made.fixed([1.0] * groups), made.fixed([0.0] * groups), epsilon=1e-3)
        h, shape = made.node("Reshape", h, made.node("Shape", x)), (4, 1, 1)
        factor = made.weight("norm.weight", *shape, shift=1.0) if weights else made.fixed(np.ones(shape))
        shift = made.weight("norm.bias", *shape) if weights else made.fixed(np.zeros(shape))
        made.node("Relu", made.node("Add", shift, made.node("Mul", h, factor)), to="y")

    return make  # fmt: skip


def factor_of_the_last_axis(made):
    h = made.node("Reshape", "x", made.constant("apart", np.array([0, 2, -1])))
    h = made.node("InstanceNormalization", h, made.fixed([1.0, 1.0]), made.fixed([0.0, 0.0]))
    h = made.node("Reshape", h, made.constant("back", np.array([0, 4, 4])))
    made.node("Add", made.node("Mul", h, made.weight("a", 4)), made.weight("b", 4), to="y")


def root_of_squares(how, weights):
    def make(made):
        x = made.node("Tanh", "x")
        squares = made.node("Mul", x, x) if how == "Div" else made.node("Pow", x, made.fixed(2.0))
        mean = made.node("ReduceMean", squares, axes=[-1] if how != "plane" else [1, 2], keepdims=1)
        h = made.node("Sqrt", made.node("Add", mean, made.fixed(1e-3)))
        if how == "Div":
            h = made.node("Div", x, h)
        else:
            one = made.node("Reciprocal", h) if how == "plane" else made.node("Div", made.fixed(1.0), h)
            h = made.node("Mul", x, one)
        made.node("Relu", made.node("Mul", made.weight("norm.weight", *OVER[how]), h) if weights else h, to="y")

    return make  # fmt: skip


def own_root(made):
    made.node("RMSNormalization", made.node("Tanh", "x"), made.weight("norm.weight", 4), epsilon=1e-3, to="y")


def gelu(how):
    """GELU by tanh in three of the ways in which libraries write it; "another" is none."""

    def make(made):
        x = gemm(made, "x", "fc", 4, 4, bias=False)
        cubes, root_of = made.fixed(0.044715), made.fixed(0.7978845608)
        square = made.node("Mul", x, x) if how != "power" else ""
        if how == "power":
            cube = made.node("Mul", made.node("Pow", x, made.fixed(3.0)), cubes)
            bend = made.node("Mul", made.node("Add", x, cube), root_of)
        elif how == "product":
            cube = made.node("Mul", made.node("Mul", cubes, x), square)
            bend = made.node("Mul", root_of, made.node("Add", x, cube))
        else:
            more = made.node("Add", made.fixed(1.0 if how == "factor" else 1.1), made.node("Mul", square, cubes))
            bend = made.node("Mul", made.node("Mul", x, root_of), more)
        plus, half = made.node("Add", made.node("Tanh", bend), made.fixed(1.0)), made.fixed(0.5)
        product = (
            made.node("Mul", made.node("Mul", x, half), plus)
            if how == "power"
            else made.node("Mul", half, made.node("Mul", plus, x))
        )
        made.node("Relu", product, to="y")

    return make  # fmt: skip


def log_sigmoid(made):
    made.node("Log", made.node("Sigmoid", "x"), to="y")


def long_rows(made):
    parts = [made.constant(f"bn.{part}", np.abs(drawn(4)) + np.float32(0.5))
             for part in ("weight", "bias", "running_mean", "running_var")]  # fmt: skip
    made.node("BatchNormalization", made.node("Tanh", "x"), *parts, to="y")


def float_ids(operator):
    """Floats that are cast to choose rows of a table, or to be written as zeros and a one."""

    def make(made):
        h = made.node("Cast", made.node("Unsqueeze", "x", made.constant("axes", np.array([2]))), kind=7)
        if operator == "Gather":
            made.node("Gather", made.weight("table", 5, 3), h, to="y")
        else:
            made.node("OneHot", h, made.constant("depth", np.array(5)), made.constant("pair", drawn(2)), to="y")

    return make  # fmt: skip


def rows_of_another_axis(made):
    made.node("Transpose", made.node("Gather", made.weight("table", 3, 5, 2), "x", axis=1), perm=[1, 2, 0, 3], to="y")


def running_sum(made):
    h = made.node("Mul", "x", made.weight("scale", 3))
    made.node("CumSum", h, made.constant("axis", np.array(1)), exclusive=1, to="y")


def larger_picture(made):
    made.node("Resize", "x", "", made.constant("scales", np.array([1, 1, 2, 2], np.float32)), mode="nearest", to="y")


def whole_power(made):
    made.node("Cast", made.node("Pow", "x", made.constant("two", np.array(2))), kind=1, to="y")


OVER = {"Div": (4,), "one by it": (4,), "plane": (3, 4)}
MORE = ("weight", "bias")
IDS = [[0, 1], [2, 3], [4, 4]]
NETWORKS: dict[str, Row] = {
    "mlp": Row(mlp, (3,), ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"), (nn.Linear(3, 4), nn.ReLU(),
        nn.Linear(4, 2)), ()),
    "shortcut": Row(shortcut, (4,), ("scale", "model.into.weight", "model.into.bias", "out.weight"), None,
        ("shortcut", "Mul_4")),
    "tied": Row(tied, (3,), ("tied.weight",)),
    "cnn": Row(cnn, (1, 8, 8), tuple(
        f"{name}.{part}" for name, parts in {
            "features.0": MORE, "features.1": (*MORE, "running_mean", "running_var", "num_batches_tracked"),
            "features.4": ("weight",), "head": MORE}.items() for part in parts),
        (
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4, 1e-3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, groups=4, dilation=2, padding=2, bias=False), nn.LeakyReLU(0.2), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(32, 5), nn.Softmax()), ()),
    "residual": Row(residual, (3, 6, 6), tuple(
        f"{name}.{part}" for name in ("stem", "bn", "block.a", "block.b", "fc") for part in
        (MORE if name != "bn" else (*MORE, "running_mean", "running_var", "num_batches_tracked"))), None,
            ("sum",)),
    "transformer": Row(transformer, (3, 4), ("places", *(f"{name}.{part}" for name in (
        "ln1", "attn.q", "attn.k", "attn.v", "attn.out", "ln2", "mlp.0", "mlp.2") for part in MORE)),
            (nn.LayerNorm(4),
        *[nn.Linear(4, 4)] * 4, nn.Softmax(), nn.LayerNorm(4), nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 4))),
    "words": Row(words, [[0, 1, 2], [3, 4, 4]], ("embed.weight", "mix.weight", "mix.bias", "head.weight")),
    "view": Row(view, (1, 4, 4), ("conv1.weight", "conv1.bias", "fc.weight", "fc.bias"),
                (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)), ()),
    **{pad: Row(same_sides(pad), (1, 4, 3), ("conv.weight", "conv.bias")) for pad in ("SAME_UPPER", "SAME_LOWER")},
    "sides of what is computed": Row(sides_of_computed, (4,), ("gain",)),
    "a mask": Row(compared_mask, (3, 3), ("gain",)),
    "a weight of weights": Row(weight_of_weights, (4,), ("gamma",)),
    "a norm without a bias": Row(norm_without_bias, (4,), ("fc.weight", "ln.weight"), (nn.Linear(4, 4,
        bias=False), nn.LayerNorm(4, bias=False))),
    "single numbers": Row(single_numbers, (1, 2, 2), ("up.weight", "up.bias", "gate.alpha")),
    "an untrained norm": Row(untrained_norm("n.weight", "n.bias"), (2, 3), ("n.weight", "n.bias")),
    "a norm of the formula": Row(untrained_norm("val_1", "val_2"), (2, 3), ()),
    "equal weights": Row(repeated(True), (4,), ("a.weight", "b.weight")),
    "copied weights": Row(repeated(False), (4,), ("a.weight", "b.weight")),
    "counted names": Row(counted_names, (4,), ("features.0.weight", "features.2.weight")),
    "noted modules": Row(noted_modules, (4,), tuple(f"h.0.{name}.{part}" for name in ("ln_1", "fc",
        "ln_2") for part in MORE)),
    "a module called twice": Row(module_called_twice, (4,), ("ln.weight", "ln.bias")),
    "a folded norm": Row(folded_norm, (1, 4, 4), ("features.0.weight", "features.0.bias")),
    "a matrix of attention": Row(matrix_of_attention, (4,), ("attn_.weight", "attn.out.weight", "attn.out.bias")),
    **{f"group norm {n} {weights}": Row(group_norm(n, weights), (2, 3, 5), ("conv.weight", *["norm.weight",
        "norm.bias"] * weights),
       (nn.Conv2d(2, 4, 1, bias=False), nn.GroupNorm(n, 4, 1e-3, affine=weights), nn.ReLU()), ())
       for n, weights in ((1, True), (2, True), (4, True), (2, False))},
    "a factor of the last axis": Row(factor_of_the_last_axis, (4, 4), ("a", "b"), (nn.GroupNorm(2, 4,
        affine=False),)),
    **{f"root of squares {how} {weights}": Row(root_of_squares(how, weights), (3, 4), ("norm.weight",) * weights,
       (nn.Tanh(), nn.RMSNorm(over, 1e-3, elementwise_affine=weights), nn.ReLU()), ())
       for how, over in OVER.items() for weights in (True, False)},
    "root of squares, its own": Row(own_root, (3, 4), ("norm.weight",), (nn.Tanh(), nn.RMSNorm(4, 1e-3)),
        (), opset=23),
    **{f"gelu, {how}": Row(gelu(how), (4,), ("fc.weight",),
       (nn.Linear(4, 4, bias=False), nn.GELU("tanh"), nn.ReLU()) if how != "another" else None,
           () if how != "another" else None)
       for how in ("power", "product", "factor", "another")},
    "log sigmoid": Row(log_sigmoid, (4,), (), (nn.LogSigmoid(),), ()),
    "rows as long as channels": Row(long_rows, (4, 4), ("bn.weight", "bn.bias", "bn.running_mean",
        "bn.running_var", "bn.num_batches_tracked"),
                                    (nn.Tanh(), nn.BatchNorm1d(4)), ()),
    "ids in floats": Row(float_ids("Gather"), np.float32(IDS), ("Gather_2.weight",)),
    "one-hot": Row(float_ids("OneHot"), np.float32(IDS), ("pair",)),
    "one-hot cuts off": Row(float_ids("OneHot"), np.float32([[0.5, 1.25], [2.75, 3.0]]), ("pair",)),
    "rows of another axis": Row(rows_of_another_axis, IDS, ("table",)),
    "a running sum": Row(running_sum, (2, 3), ("scale",)),
    "a larger picture": Row(larger_picture, (1, 2, 2), ()),
    "a whole power": Row(whole_power, [[5, -2, 7, 1]], ()),
}  # fmt: skip
