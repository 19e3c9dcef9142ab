"""Reference values by PyTorch (float64), for the tests of scalars and graphs.

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


GROUPS: dict[str, Callable[[], Arrays]] = {
    "ops": ops, "expressions": expressions, "graphs": branching.graphs,
    "ranges": ranges.ranges,
}  # fmt: skip


if __name__ == "__main__":
    for group in sys.argv[1:] or GROUPS:
        arrays = GROUPS[group]()
        np.savez_compressed(HERE / f"{group}.npz", **arrays)
        print(f"{group}.npz: {len(arrays)} arrays")
