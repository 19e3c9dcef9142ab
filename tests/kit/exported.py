"""NETWORKS: models as exporters write them; what each is when it is loaded.

A row: the model as text (`kit.onnx_files.written`), its samples, the weights that come back, and every module without
parts, in order (None: not asked). Where operators remain, `operators` are their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz import nn

from .onnx_files import Made, drawn

SCOPES = "pkg.torch.onnx.name_scopes"


@dataclass(frozen=True)
class Row:
    """See above; `shape` is that of a sample, or the samples themselves."""

    text: str
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
        for line in self.text.splitlines():
            node, _, modules = line.partition(" in ")
            made.read(node)
            if modules:
                made.note(SCOPES, str(["", *modules.split(), "op"]))
        return made


def batch_norm(x, name, n, more=""):
    """The call of one."""
    spread = f"{name}.running_var:={np.linspace(0.5, 2, n).tolist()}"
    return f"BatchNormalization({x}, {name}.weight:{n}+1, {name}.bias:{n}, {name}.running_mean:{n}, {spread}{more})"


def linear(x, name, before, behind, to):
    """As PyTorch writes a Linear on more than two dimensions: the matrix is turned and has lost its name."""
    return f"""{to}0 = MatMul({x}, onnx::MatMul_{name}:{before}x{behind}) @/{name}/MatMul
{to} = Add({name}.bias:{behind}, {to}0) @/{name}/Add"""


def counted(x, to):
    """How many samples there are, as ``x.size(0)`` is written."""
    return f"""{to}0 = Shape({x})
{to}1 = Gather({to}0, {to}zero:=0, axis=0)
{to} = Unsqueeze({to}1, {to}axis:=[0])"""


NORM = "LayerNormalization({}, {}.weight:4+1, {}.bias:4, axis=-1, epsilon=1e-5) @/{}/LayerNormalization"
TRANSFORMER = f"""
h = Add(x, places:3x4)
n = {NORM.format("h", *["ln1"] * 3)}
{counted("h", "count")}
parts = Concat(count, rest:=[3, 2, 2], axis=0)
{linear("n", "attn.q", 4, 4, "q0")}
q1 = Reshape(q0, parts)
q = Transpose(q1, perm=[0, 2, 1, 3])
{linear("n", "attn.k", 4, 4, "k0")}
k1 = Reshape(k0, parts)
k = Transpose(k1, perm=[0, 2, 3, 1])
{linear("n", "attn.v", 4, 4, "v0")}
v1 = Reshape(v0, parts)
v = Transpose(v1, perm=[0, 2, 1, 3])
s = MatMul(q, k)
t = Div(s, root:=1.4142135)
masked = Add(t, mask:=[[0.0, -1e9, -1e9], [0.0, 0.0, -1e9], [0.0, 0.0, 0.0]])
shares = Softmax(masked, axis=-1)
mixed = MatMul(shares, v)
turned = Transpose(mixed, perm=[0, 2, 1, 3])
joined = Reshape(turned, sides:=[0, 0, 4])
{linear("joined", "attn.out", 4, 4, "out")}
h2 = Add(h, out)
n2 = {NORM.format("h2", *["ln2"] * 3)}
{linear("n2", "mlp.0", 4, 6, "g")}
g1 = Div(g, r2:=1.4142135)
g2 = Erf(g1) @/mlp/mlp.1/Erf
g3 = Add(g2, one:=1.0)
g4 = Mul(g, g3)
g5 = Mul(g4, half:=0.5)
{linear("g5", "mlp.2", 6, 4, "g6")}
y = Add(h2, g6)
"""
"""One block over rows of numbers: attention of two heads with computed shapes, a residual, two linear layers."""
CNN = f"""
a = Conv(x, features.0.weight:4x1x3x3, features.0.bias:4, kernel_shape=[3, 3], pads=[1, 1, 1, 1]) @/features.0/Conv
b = {batch_norm("a", "features.1", 4, ", epsilon=1e-3")} @/features.1/BatchNormalization
c = Relu(b) @/features/features.2/Relu
d = MaxPool(c, kernel_shape=[2, 2], strides=[2, 2]) @/features/features.3/MaxPool
e = Conv(d, features.4.weight:8x1x3x3, group=4, dilations=[2, 2], pads=[2, 2, 2, 2]) @/features.4/Conv
f = LeakyRelu(e, alpha=0.2) @/features/features.5/LeakyRelu
g = AveragePool(f, kernel_shape=[2, 2], strides=[2, 2]) @/features/features.6/AveragePool
h = Flatten(g) @/Flatten
i = Gemm(h, head.weight:5x32, head.bias:5, transB=1) @/head/Gemm
y = Softmax(i, axis=1) @/softmax/Softmax
"""
RESIDUAL = f"""
a = Conv(x, stem.weight:4x3x3x3, stem.bias:4, pads=[1, 1, 1, 1]) @/stem/Conv
b = {batch_norm("a", "bn", 4)} @/bn/BatchNormalization
c = Relu(b)
d = Conv(c, block.a.weight:4x4x3x3, block.a.bias:4, auto_pad="SAME_UPPER") @/block.a/Conv
e = Relu(d)
f = Conv(e, block.b.weight:4x4x3x3, block.b.bias:4, pads=[1, 1, 1, 1]) @/block.b/Conv
g = Add(c, f) @sum
h = Relu(g)
i = GlobalAveragePool(h)
j = Reshape(i, flat:=[-1, 4])
y = Gemm(j, fc.weight:3x4, fc.bias:3, transB=1) @/fc/Gemm
"""
"""Two convolutions beside a shortcut, a mean over the picture, a hard-coded reshape."""
MLP = """
a = Gemm(x, fc1.weight:4x3, fc1.bias:4, transB=1) @/fc1/Gemm
b = Relu(a) @/act/Relu
y = Gemm(b, fc2.weight:2x4, fc2.bias:2, transB=1) @/fc2/Gemm
"""
SHORTCUT = """
a = MatMul(x, into/w:4x4) @model/into/MatMul
b = Add(a, into/b:4)
c = Tanh(b)
d = Add(c, x) @shortcut
e = Mul(d, scale:4)
y = Gemm(e, out.weight:4x2)
"""
WORDS = f"""
a = Gather(embed.weight:5x4, x) @/embed/Gather
{linear("a", "mix", 4, 4, "b")}
c = Tanh(b)
d = Transpose(embed.weight, perm=[1, 0])
y = MatMul(c, d) @/head/MatMul
"""
"""Ids become rows, and the same matrix turns rows into scores of words."""
MASK = """
cut = Slice(attn.bias:=[[[1.0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]], a:=[0, 0], b:=[3, 3], c:=[1, 2])
hidden = Equal(cut, nought:=0.0)
m = Mul(x, gain:3)
h = Where(hidden, low:=-inf, m)
y = Softmax(h, axis=-1)
"""
NOTED = """
a = LayerNormalization(x, h.0.ln_1.weight:=[1.0, 1, 1, 1], h.0.ln_1.bias:=[0.0] * 4) @node_layer_norm in h.0 h.0.ln_1
b = MatMul(a, val_3:4x4) @node_MatMul_5 in h.0 h.0.fc
c = Add(b, h.0.ln_1.bias) @node_linear in h.0 h.0.fc
y = LayerNormalization(c, h.0.ln_1.weight, h.0.ln_1.bias) @node_layer_norm_1 in h.0 h.0.ln_2
"""
"""Its names of tensors are those of other layers, where numbers are equal."""
SINGLE = """
a = ConvTranspose(x, up.weight:1x1x1x1, up.bias:=[0.25])
b = Mul(a, gate.alpha:=0.5)
y = Mul(b, val_3:=3.0)
"""
"""A gate of one number, the bias of one channel; what has a counted name belongs to the formula."""
LONG_ROWS = f"""
t = Tanh(x)
y = {batch_norm("t", "bn", 4)}
"""


def repeated(weights):
    """PyTorch's exporter writes equal weights once: of norms that were never trained, of layers that were copied."""
    return f"""
b.weight = Identity(a.weight:{weights})
a = Gemm(x, a.weight, transB=1) @/a/Gemm
b = Tanh(a)
y = Gemm(b, b.weight, transB=1) @/b/Gemm
"""


def group_norm(groups, weights):
    """As PyTorch's exporter writes it."""
    ones, noughts = ("norm.weight:4x1x1+1", "norm.bias:4x1x1") if weights else ("{[[[1.0]]] * 4}", "{[[[0.0]]] * 4}")
    return f"""
a = Conv(x, conv.weight:4x2x1x1) @/conv/Conv
b = Reshape(a, apart:=[0, {groups}, -1]) @/norm/Reshape
c = InstanceNormalization(b, {{{[1.0] * groups}}}, {{{[0.0] * groups}}}, epsilon=1e-3)
s = Shape(a)
d = Reshape(c, s)
e = Mul(d, {ones})
f = Add({noughts}, e)
y = Relu(f)
"""


def root_of_squares(how, weights):
    one = {"plane": "i = Reciprocal(r)"}.get(how, "")
    shape = "x".join(map(str, OVER[how]))
    return f"""
t = Tanh(x)
s = {"Mul(t, t)" if how == "Div" else "Pow(t, {2.0})"}
m = ReduceMean(s, axes={[-1] if how != "plane" else [1, 2]}, keepdims=1)
a = Add(m, {{1e-3}})
r = Sqrt(a)
{one}
h = {"Mul(t, i)" if one else "Div(t, r)"}
{f"g = Mul(norm.weight:{shape}, h)" if weights else ""}
y = Relu({"g" if weights else "h"})
"""


def gelu(how):
    """GELU by tanh in three of the ways in which libraries write it; "another" is none."""
    bend = {
        "power": "c = Pow(a, {3.0})\nk = Mul(c, {0.044715})\ns = Add(a, k)\nb = Mul(s, {0.7978845608})",
        "product": "q = Mul(a, a)\nc = Mul({0.044715}, a)\nk = Mul(c, q)\ns = Add(a, k)\nb = Mul({0.7978845608}, s)",
    }.get(how, f"""q = Mul(a, a)
k = Mul(q, {{0.044715}})
m = Add({{{1.0 if how == "factor" else 1.1}}}, k)
r = Mul(a, {{0.7978845608}})
b = Mul(r, m)""")  # fmt: skip
    product = "h = Mul(a, {0.5})\ng = Mul(h, p)" if how == "power" else "h = Mul(p, a)\ng = Mul({0.5}, h)"
    return f"""
a = Gemm(x, fc.weight:4x4, transB=1) @/fc/Gemm
{bend}
t = Tanh(b)
p = Add(t, {{1.0}})
{product}
y = Relu(g)
"""


OVER = {"Div": (4,), "plane": (3, 4)}
FLOATS = "u = Unsqueeze(x, axes:=[2])\ni = Cast(u, kind=7)"
"""Floats that are cast to choose rows of a table, or to be written as zeros and a one."""
IDS = [[0, 1], [2, 3], [4, 4]]


def both(*names):
    """The weight and the bias of each."""
    return tuple(f"{name}.{part}" for name in names for part in ("weight", "bias"))


def norm(name):
    """The weights of a BatchNorm."""
    return (*both(name), *(f"{name}.{part}" for part in ("running_mean", "running_var", "num_batches_tracked")))


NETWORKS: dict[str, Row] = {
    "mlp": Row(MLP, (3,), both("fc1", "fc2"), (nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), ()),
    "shortcut": Row(SHORTCUT, (4,), ("scale", *both("model.into"), "out.weight"), operators=("shortcut", "Mul_4")),
    "tied": Row(
        "a = Gemm(x, tied.weight:3x3, transB=1)\nb = Tanh(a)\ny = Gemm(b, tied.weight, transB=1)",
        (3,), ("tied.weight",)),
    "cnn": Row(
        CNN, (1, 8, 8), (*both("features.0"), *norm("features.1"), "features.4.weight", *both("head")),
        (
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4, 1e-3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, groups=4, dilation=2, padding=2, bias=False), nn.LeakyReLU(0.2), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(32, 5), nn.Softmax(),
        ), ()),
    "residual": Row(
        RESIDUAL, (3, 6, 6), (*both("stem"), *norm("bn"), *both("block.a", "block.b", "fc")), operators=("sum",)),
    "transformer": Row(
        TRANSFORMER, (3, 4),
        ("places", *both("ln1", "attn.q", "attn.k", "attn.v", "attn.out", "ln2", "mlp.0", "mlp.2")),
        (
            nn.LayerNorm(4), *[nn.Linear(4, 4)] * 4, nn.Softmax(),
            nn.LayerNorm(4), nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 4),
        )),
    "words": Row(WORDS, [[0, 1, 2], [3, 4, 4]], ("embed.weight", *both("mix"), "head.weight")),
    **{pad: Row(f"y = Conv(x, conv.weight:2x1x2x2, conv.bias:2, auto_pad={pad!r}) @/conv/Conv", (1, 4, 3), both("conv"))
       for pad in ("SAME_UPPER", "SAME_LOWER")},
    "a mask": Row(MASK, (3, 3), ("gain",)),
    "a weight of weights": Row(
        "a = Reshape(gamma:2x2, row:=[4])\nb = Exp(a)\nc = Sigmoid(x)\ny = Mul(c, b)", (4,), ("gamma",)),
    "a norm without a bias": Row(
        "a = Gemm(x, fc.weight:4x4, transB=1) @/fc/Gemm\n"
        "y = LayerNormalization(a, ln.weight:4, {[0.0] * 4}) @/ln/LayerNormalization",
        (4,), ("fc.weight", "ln.weight"), (nn.Linear(4, 4, bias=False), nn.LayerNorm(4, bias=False))),
    "single numbers": Row(SINGLE, (1, 2, 2), (*both("up"), "gate.alpha")),
    "equal weights": Row(repeated("=[[0.5] * 4] * 4"), (4,), ("a.weight", "b.weight")),
    "counted names": Row(
        "a = Gemm(x, features.0.weight:4x4, transB=1) @node_linear\nb = Relu(a) @node_relu\n"
        "y = Gemm(b, features.2.weight:2x4, transB=1) @node_linear_1",
        (4,), ("features.0.weight", "features.2.weight")),
    "noted modules": Row(NOTED, (4,), both("h.0.ln_1", "h.0.fc", "h.0.ln_2")),
    **{
        f"group norm {n} {weights}": Row(
            group_norm(n, weights), (2, 3, 5), ("conv.weight", *both("norm") * weights),
            (nn.Conv2d(2, 4, 1, bias=False), nn.GroupNorm(n, 4, 1e-3, affine=weights), nn.ReLU()), ())
        for n, weights in ((1, True), (2, True), (4, True), (2, False))
    },
    **{
        f"root of squares {how} {weights}": Row(
            root_of_squares(how, weights), (3, 4), ("norm.weight",) * weights,
            (nn.Tanh(), nn.RMSNorm(over, 1e-3, elementwise_affine=weights), nn.ReLU()), ())
        for how, over in OVER.items() for weights in (True, False)
    },
    "root of squares, its own": Row(
        "t = Tanh(x)\ny = RMSNormalization(t, norm.weight:4, epsilon=1e-3)",
        (3, 4), ("norm.weight",), (nn.Tanh(), nn.RMSNorm(4, 1e-3)), (), opset=23),
    **{
        f"gelu, {how}": Row(
            gelu(how), (4,), ("fc.weight",), (nn.Linear(4, 4, bias=False), nn.GELU("tanh"), nn.ReLU()), ())
        for how in ("power", "product", "factor")
    },
    "gelu, another": Row(gelu("another"), (4,), ("fc.weight",)),
    "log sigmoid": Row("s = Sigmoid(x)\ny = Log(s)", (4,), (), (nn.LogSigmoid(),), ()),
    "rows as long as channels": Row(LONG_ROWS, (4, 4), norm("bn"), (nn.Tanh(), nn.BatchNorm1d(4)), ()),
    "ids in floats": Row(f"{FLOATS}\ny = Gather(table:5x3, i)", np.float32(IDS), ("Gather_2.weight",)),
    "one-hot": Row(f"{FLOATS}\ny = OneHot(i, depth:=5, pair:2)", np.float32(IDS), ("pair",)),
    "rows that are no weights": Row(
        f"{FLOATS}\ng = Gather({{{np.arange(10.0).reshape(5, 2).tolist()}}}, i)\ny = Mul(g, scale:2)",
        np.float32(IDS), ("scale",)),
    "a running sum": Row("h = Mul(x, scale:3)\ny = CumSum(h, axis:=1, exclusive=1)", (2, 3), ("scale",)),
}  # fmt: skip
