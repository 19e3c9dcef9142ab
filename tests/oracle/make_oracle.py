"""Reference values by PyTorch (float64), for the tests of scalars, networks, losses and optimisers.

    python tests/oracle/make_oracle.py [group...]          (needs the extra `oracle`: torch==2.13.0)

writes one ``.npz`` a group beside this file. The tests compare with the files always and, where PyTorch can be
imported, with values computed on the spot by the same functions.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import branching
import numpy as np
import ranges

HERE = Path(__file__).parent
Arrays = dict[str, np.ndarray]

POINTS = [-1000.0, -20.0, -3.3, -1.0, -0.5, -1e-300, -0.0, 0.0, 1e-300, 0.5, 1.0, 3.3, 20.0, 1000.0, np.inf, -np.inf]
PAIRS = [-8.0, -2.0, -0.5, 0.0, 1 / 3, 0.5, 1.0, 2.0, 3.0, 1e200]


def torch() -> Any:
    import torch as module

    return module


def gradients(function: Callable[..., Any], *arrays: Any) -> list[np.ndarray]:
    """The value of `function` and its element-wise gradients by every array (float64)."""
    leaves = [torch().tensor(np.asarray(a), dtype=torch().float64, requires_grad=True) for a in arrays]
    value = function(*leaves)
    value.sum().backward()
    return [value.detach().numpy(), *(np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in leaves)]


def store(into: Arrays, name: str, function: Callable[..., Any], operands: Iterable[Iterable[float]]) -> None:
    """Points, value and gradients of one operation: arrays ``name/x`` and ``name/grad`` have a row an operand."""
    x = np.array(list(operands), np.float64)
    value, *grads = gradients(function, *x)
    into[f"{name}/x"], into[f"{name}/value"], into[f"{name}/grad"] = x, value, np.array(grads)


def ops() -> Arrays:
    """Every operation of the table, at kinks, limits and ordinary points."""
    t, f, out = torch(), torch().nn.functional, {}
    unary = {
        "neg": t.neg, "exp": t.exp, "log": t.log, "sqrt": t.sqrt, "sin": t.sin, "cos": t.cos, "tanh": t.tanh,
        "sigmoid": t.sigmoid, "softplus": f.softplus, "relu": f.relu, "abs": t.abs, "square": t.square,
    }  # fmt: skip
    for name, function in unary.items():
        store(out, name, function, [POINTS])
    pairs = list(zip(*itertools.product(PAIRS, PAIRS), strict=True))
    binary = {
        "add": t.add, "sub": t.sub, "mul": t.mul, "div": t.div, "minimum": t.minimum, "maximum": t.maximum,
        "logaddexp": t.logaddexp,
    }  # fmt: skip
    for name, function in binary.items():
        store(out, name, function, pairs)
    # base 0 to a negative power has no gradient by the exponent here (0), PyTorch says -inf
    kept = [(a, b) for a, b in zip(*pairs, strict=True) if not (a == 0 and b < 0)]
    store(out, "pow", t.pow, zip(*kept, strict=True))
    slopes = list(zip(*((x, s) for x in POINTS if np.isfinite(x) for s in (0.01, 0.3)), strict=True))
    store(out, "leaky_relu", lambda x, s: t.where(x > 0, x, s * x), slopes)
    bounds = [(x, lo, hi) for x in PAIRS for lo, hi in ((-2.0, 2.0), (0.5, 3.0), (-np.inf, 0.0), (2.0, -1.0))]
    store(out, "clip", t.clamp, zip(*bounds, strict=True))
    chosen = [(c, a, 3.0) for c in (0.0, 1.0, -2.0, np.inf) for a in (0.5, -1.0)]
    store(out, "where", lambda c, a, b: t.where(c != 0, a, b), zip(*chosen, strict=True))
    probabilities = [(o, y) for o in (0.0, 1e-50, 1e-3, 0.25, 0.5, 0.999, 1.0) for y in (0.0, 0.3, 1.0)]
    o, y = (np.array(column) for column in zip(*probabilities, strict=True))
    target = t.tensor(y)
    value, grad = gradients(lambda o: f.binary_cross_entropy(o, target, reduction="none"), o)
    out |= {"binary_cross_entropy/x": np.array([o, y]), "binary_cross_entropy/value": value}
    out["binary_cross_entropy/grad"] = grad[None]  # PyTorch's own gradient by the target is another function
    return out | nary()


def nary() -> Arrays:
    """The n-ary operations, one vector each."""
    t, out = torch(), {}
    vectors = {
        "ordinary": [0.3, -1.2, 2.5, 0.0, 2.4],
        "ties": [1.0, 2.0, 2.0, -1.0],
        "large": [1000.0, 1001.0, -1000.0],
    }
    for kind, x in vectors.items():
        out[f"nary/{kind}/x"] = np.array(x)
        for name, function in (("sum", t.sum), ("logsumexp", lambda v: t.logsumexp(v, 0)), ("max", first_max)):
            value, grad = gradients(function, x)
            out[f"nary/{kind}/{name}"] = np.concatenate([[float(value)], grad])
    w, x, b = [0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [0.75]
    value, *grads = gradients(lambda w, x, b: t.dot(w, x) + b, w, x, b)
    out["dot/x"], out["dot"] = np.concatenate([w, x, b]), np.concatenate([np.ravel(value), *grads])
    return out


def first_max(v: Any) -> Any:
    """The largest element, by its first index: what the gradient of ``max(dim)`` follows."""
    return v[int(np.argmax(v.detach().numpy()))]


def expressions() -> Arrays:
    """The two mixed expressions with which micrograd is tested: results and gradients of the inputs."""
    value, grad = gradients(lambda x: sanity(x, lambda v: v.relu()), -4.0)
    more, by_a, by_b = gradients(lambda a, b: mixed(a, b, lambda v: v.relu()), -4.0, 2.0)
    return {"sanity": np.array([value, grad]), "mixed": np.array([more, by_a, by_b])}


def sanity(x: Any, relu: Callable[[Any], Any]) -> Any:
    """A small graph in which x is used six times."""
    z = 2 * x + 2 + x
    q = relu(z) + z * x
    return relu(z * z) + q + q * x


def mixed(a: Any, b: Any, relu: Callable[[Any], Any]) -> Any:
    """Every operator, both ways round."""
    c = a + b
    d = a * b + b**3
    c = c + (c + 1)
    c = c + (1 + c + (-a))
    d = d + (d * 2 + relu(b + a))
    d = d + (3 * d + relu(b - a))
    f = (c - d) ** 2
    return f / 2.0 + 10.0 / f


def fill(net: Any, rng: np.random.Generator) -> list[Any]:
    """Draw every parameter of `net`, now float64; returns them."""
    net.double()
    with torch().no_grad():
        for p in net.parameters():
            p.copy_(torch().tensor(rng.normal(0, 0.7, p.shape)))
    return list(net.parameters())


def through(out: Arrays, name: str, net: Any, sample: np.ndarray, rng: np.random.Generator) -> None:
    """One sample forward, and backward from random upstream gradients: everything that comes out of it."""
    t = torch()
    x = t.tensor(sample, dtype=t.float64, requires_grad=True)
    y = net(x[None])[0]
    upstream = rng.normal(size=y.shape)
    y.backward(t.tensor(upstream))
    out |= {f"{name}/x": sample, f"{name}/y": y.detach().numpy(), f"{name}/upstream": upstream}
    out[f"{name}/x.grad"] = x.grad.numpy()
    for path, array in net.state_dict().items():
        out[f"{name}/param/{path}"] = array.numpy()
    for path, p in net.named_parameters():
        out[f"{name}/grad/{path}"] = p.grad.numpy()


def layers() -> Arrays:
    """Layers and a deep network: parameters, input, outputs and all gradients of a weighted sum of the outputs."""
    t, out = torch(), {}
    nn = t.nn
    nets = {
        "linear": nn.Linear(3, 5), "linear_no_bias": nn.Linear(4, 2, bias=False), "wide": nn.Linear(30, 20),
        "sigmoid": nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), "tanh": nn.Sequential(nn.Linear(3, 8), nn.Tanh()),
        "relu": nn.Sequential(nn.Linear(3, 8), nn.ReLU()), "softplus": nn.Sequential(nn.Linear(3, 8), nn.Softplus()),
        "leaky": nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2)),
        "identity": nn.Sequential(nn.Linear(3, 8), nn.Identity()),
        "mlp": nn.Sequential(
            nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3), nn.Sigmoid()
        ),
    }  # fmt: skip
    for seed, (name, net) in enumerate(nets.items()):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=fill(net, rng)[0].shape[1])
        through(out, name, net, x, rng)
    return out


def pictures() -> Arrays:
    """Convolution, pools, normalisation and softmax on one sample each, and a small network of them."""
    t, out = torch(), {}
    nn = t.nn
    nets = {
        "conv": (nn.Conv2d(2, 3, 3), (2, 5, 6)),
        "conv_stride": (nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2)), (2, 6, 5)),
        "conv_point": (nn.Conv2d(3, 4, 1, bias=False), (3, 2, 3)),
        "conv_border": (nn.Conv2d(1, 2, 2, padding=3), (1, 2, 2)),
        "max": (nn.MaxPool2d(2), (2, 5, 6)),
        "max_overlap": (nn.MaxPool2d((3, 2), stride=(2, 1), padding=1), (2, 6, 5)),
        "max_ties": (nn.MaxPool2d(3, stride=2, padding=1), (2, 6, 5)),
        "avg": (nn.AvgPool2d((2, 3)), (2, 5, 7)),
        "avg_overlap": (nn.AvgPool2d(3, stride=1, padding=1), (2, 4, 5)),
        "layer_norm": (nn.LayerNorm(5), (5,)),
        "layer_norm_inner": (nn.LayerNorm((2, 3), eps=0.1), (4, 2, 3)),
        "layer_norm_plain": (nn.LayerNorm(4, elementwise_affine=False), (3, 4)),
        "layer_norm_no_bias": (nn.LayerNorm(4, bias=False), (4,)),
        "batch_norm1d": (nn.BatchNorm1d(4), (4,)),
        "batch_norm1d_long": (nn.BatchNorm1d(3, eps=0.01), (3, 5)),
        "batch_norm2d": (nn.BatchNorm2d(3), (3, 2, 4)),
        "batch_norm2d_plain": (nn.BatchNorm2d(2, affine=False), (2, 3, 3)),
        "softmax": (nn.Softmax(dim=1), (6,)),
        "cnn": (
            nn.Sequential(
                nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3),
                nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.LayerNorm(6), nn.Linear(6, 5), nn.Softmax(dim=1),
            ),
            (1, 8, 8),
        ),
    }  # fmt: skip
    for seed, (name, (net, shape)) in enumerate(nets.items()):
        rng = np.random.default_rng(100 + seed)
        fill(net, rng)
        for path, buffer in net.named_buffers():
            if buffer.dtype == t.float64:
                buffer.copy_(t.tensor(rng.uniform(0.2, 2.0, buffer.shape) - path.endswith("mean")))
        x = rng.integers(0, 3, shape).astype(float) if name == "max_ties" else rng.normal(size=shape)
        through(out, name, net.eval(), x, rng)
    return out


def attention() -> Arrays:
    """Rows of tables, root mean square normalisation, attention with and without masks: values and all gradients."""
    t, out, rng = torch(), {}, np.random.default_rng(310)
    nn = t.nn
    for name, net, shape in (
        ("rms_norm", nn.RMSNorm(5), (5,)), ("rms_norm_inner", nn.RMSNorm((2, 3), eps=0.1), (4, 2, 3)),
        ("rms_norm_plain", nn.RMSNorm(4, elementwise_affine=False), (3, 4)),
    ):  # fmt: skip
        fill(net, rng)
        through(out, name, net, rng.normal(size=shape), rng)
    table = nn.Embedding(6, 3)
    fill(table, rng)
    ids, upstream = rng.integers(0, 6, 5), rng.normal(size=(5, 3))
    table(t.tensor(ids)).backward(t.tensor(upstream))
    out |= {"embedding/ids": ids, "embedding/upstream": upstream, "embedding/weight": table.weight.detach().numpy()}
    out["embedding/grad"] = table.weight.grad.numpy()
    for name, heads, bias, lengths, mask in (
        ("self", 2, True, (4, 4), None), ("causal", 4, False, (5, 5), ~np.tri(5, dtype=bool)),
        ("one", 1, True, (1, 1), None), ("cross", 2, True, (3, 5), None),
        ("added", 2, True, (3, 4), rng.normal(size=(3, 4))),
        ("hidden", 2, False, (3, 4), np.arange(12).reshape(3, 4) % 5 == 1),
    ):  # fmt: skip
        net = nn.MultiheadAttention(8, heads, bias=bias, batch_first=True)
        fill(net, rng)
        attended(out, name, net, [rng.normal(size=(side, 8)) for side in lengths], mask, rng)
    return out


def attended(
    out: Arrays, name: str, net: Any, samples: list[np.ndarray], mask: np.ndarray | None, rng: np.random.Generator
) -> None:  # fmt: skip
    """Attention of one sample to itself or, where the lengths differ, to another one; backward from both results."""
    t = torch()
    x, other = (t.tensor(sample[None], requires_grad=True) for sample in samples)
    other = x if len(samples[0]) == len(samples[1]) else other
    given = {} if mask is None else {"attn_mask": t.tensor(mask)}
    y, shares = net(x, other, other, average_attn_weights=False, **given)
    upstream, above = rng.normal(size=y.shape), rng.normal(size=shares.shape)
    ((y * t.tensor(upstream)).sum() + (shares * t.tensor(above)).sum()).backward()
    found = {
        "x": x.detach(), "other": other.detach(), "y": y.detach(), "shares": shares.detach(), "x.grad": x.grad,
        "other.grad": other.grad, "upstream": upstream, "above": above,
    }  # fmt: skip
    out |= {f"{name}/{what}": np.asarray(array)[0] for what, array in found.items()}
    out[f"{name}/mask"] = np.zeros([len(sample) for sample in samples]) if mask is None else mask
    for path, p in net.named_parameters():
        out[f"{name}/param/{path}"], out[f"{name}/grad/{path}"] = p.detach().numpy(), p.grad.numpy()


def classification() -> Arrays:
    """Cross-entropy of a batch: value, and gradients by the logits; large ones, equal ones, a sure one, one class."""
    t, out, rng = torch(), {}, np.random.default_rng(13)
    logits = rng.normal(0, 3, (7, 5))
    logits[1], logits[2], logits[3, 4], logits[4, 0] = 1000.0 * logits[1], 0.25, 900.0, -np.inf
    for name, outputs in (("ordinary", logits), ("one_class", rng.normal(size=(3, 1)))):
        targets = rng.integers(0, outputs.shape[1], len(outputs))
        targets[-3:] = 0, outputs.shape[1] - 1, 0
        if name == "ordinary":
            targets[3:5] = 4, 1
        out |= {f"{name}/outputs": outputs, f"{name}/targets": targets}
        for reduction in ("mean", "sum"):
            loss = t.nn.CrossEntropyLoss(reduction=reduction)
            value, grad = gradients(lambda o, loss=loss, y=targets: loss(o, t.tensor(y)), outputs)
            out[f"{name}/{reduction}/value"], out[f"{name}/{reduction}/grad"] = value, grad
    return out


def losses() -> Arrays:
    """Every loss over a batch: value, and gradients by outputs."""
    t, out, rng = torch(), {}, np.random.default_rng(7)
    nn = t.nn
    outputs, targets = rng.uniform(0.02, 0.98, (6, 4)), rng.uniform(0, 1, (6, 4))
    targets[0, 0], targets[1, 1], targets[2, 2] = 0.0, 1.0, outputs[2, 2]
    outputs[3, :2], targets[3, :2] = (0.0, 1.0), (1.0, 0.0)
    out["outputs"], out["targets"] = outputs, targets
    made = {"mse": nn.MSELoss, "l1": nn.L1Loss, "bce": nn.BCELoss, "huber": lambda **k: nn.HuberLoss(delta=0.3, **k)}
    for name, kind in made.items():
        for reduction in ("mean", "sum"):
            loss = kind(reduction=reduction)
            value, grad = gradients(lambda o, loss=loss: loss(o, t.tensor(targets)), outputs)
            out[f"{name}/{reduction}/value"], out[f"{name}/{reduction}/grad"] = value, grad
    return out


OPTIMISERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd_momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "sgd_nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    "sgd_decay": ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    "sgd_all": ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    "adam": ("Adam", {"lr": 0.02}),
    "adam_decay": ("Adam", {"lr": 0.02, "weight_decay": 0.1}),
    "adam_betas": ("Adam", {"lr": 0.02, "betas": (0.5, 0.9), "eps": 1e-3}),
    "adamw": ("AdamW", {"lr": 0.02}),
    "adamw_decay": ("AdamW", {"lr": 0.02, "weight_decay": 0.2, "betas": (0.8, 0.99)}),
    "sgd_dampening": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    "sgd_maximize": ("SGD", {"lr": 0.001, "momentum": 0.5, "weight_decay": 0.5, "maximize": True}),
    "adam_amsgrad": ("Adam", {"lr": 0.05, "betas": (0.6, 0.8), "amsgrad": True, "weight_decay": 0.1}),
    "adam_maximize": ("Adam", {"lr": 0.01, "maximize": True}),
    "adamw_amsgrad": ("AdamW", {"lr": 0.05, "betas": (0.6, 0.8), "amsgrad": True, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.02}),
    "rmsprop_momentum": ("RMSprop", {"lr": 0.01, "alpha": 0.9, "momentum": 0.6, "weight_decay": 0.1}),
    "rmsprop_all": (
        "RMSprop",
        {"lr": 0.01, "alpha": 0.8, "eps": 1e-3, "momentum": 0.6, "centered": True, "maximize": True},
    ),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad_all": (
        "Adagrad",
        {
            "lr": 0.1,
            "lr_decay": 0.05,
            "weight_decay": 0.1,
            "initial_accumulator_value": 0.5,
            "eps": 1e-4,
            "maximize": True,
        },
    ),
}
STEPS = 100


def curvature(w: Any, shift: Any, exp: Callable[[Any], Any]) -> Any:
    """The gradient that the optimisers see: not quadratic, another target at every step."""
    return (w - shift) + 0.3 * exp(-w * w)


def optimisers() -> Arrays:
    """The weights after each of 100 steps."""
    t, rng = torch(), np.random.default_rng(11)
    start, shifts = rng.normal(size=7), rng.normal(size=(STEPS, 7))
    out = {"start": start, "shifts": shifts}
    for name, (kind, settings) in OPTIMISERS.items():
        w = t.tensor(start.copy(), requires_grad=True)
        optimiser = getattr(t.optim, kind)([w], **settings)
        path = []
        for shift in shifts:
            w.grad = curvature(w.detach(), t.tensor(shift), t.exp)
            optimiser.step()
            path.append(w.detach().numpy().copy())
        out[name] = np.array(path)
    return out


def initial() -> Arrays:
    """Mean, standard deviation, smallest and largest of PyTorch's initial values for a layer of 300 -> 400."""
    t, out = torch(), {}
    t.manual_seed(0)
    layer = t.nn.Linear(300, 400)
    out["default/weight"], out["default/bias"] = (moments(p.detach().numpy()) for p in (layer.weight, layer.bias))
    for name, fill in (
        ("xavier", t.nn.init.xavier_uniform_),
        ("kaiming", lambda w: t.nn.init.kaiming_uniform_(w, nonlinearity="relu")),
        ("normal", lambda w: t.nn.init.normal_(w, 0.5, 2.0)),
        ("uniform", lambda w: t.nn.init.uniform_(w, -1.0, 3.0)),
    ):
        out[f"{name}/weight"] = moments(fill(t.empty(400, 300, dtype=t.float64)).numpy())
    return out


def moments(x: np.ndarray) -> np.ndarray:
    return np.array([x.mean(), x.std(), x.min(), x.max()], np.float64)


GROUPS: dict[str, Callable[[], Arrays]] = {
    "ops": ops, "expressions": expressions, "layers": layers, "losses": losses, "optimisers": optimisers,
    "initial": initial, "pictures": pictures, "classification": classification, "branches": branching.branches,
    "graphs": branching.graphs, "attention": attention, "ranges": ranges.ranges,
}  # fmt: skip


if __name__ == "__main__":
    for group in sys.argv[1:] or GROUPS:
        arrays = GROUPS[group]()
        np.savez_compressed(HERE / f"{group}.npz", **arrays)
        print(f"{group}.npz: {len(arrays)} arrays")
