"""What mpmath makes of every operation of the table over the whole range of a dtype: values and derivatives.

The functions are written as a book has them, with hundreds of digits, and know nothing of the table: a derivative is a
difference quotient whose step is far smaller than the last place. Beside each number stands how far it moves when an
operand does (`share`): no formula can be better than a rounding of its operands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = np.ndarray
DIGITS, STEP = 900, 60
"""Of mpmath, so that ``1 - exp(-700)`` is not 1; a difference quotient moves an operand by ``10**-STEP`` of it."""
SIZES = [1e-30, 1e-8, 1e-3, 0.125, 0.5, 1.0, 1.25, 3.0, 5.5, 6.5, 9.0, 13.0, 20.0, 30.0, 37.5, 60.0, 88.0, 100.0, 300.0,
         700.0, 1000.0, 1e5, 1e15, 1e30]  # fmt: skip
"""Of the operands, both signs; those of float64 alone have these too:"""
EXTREMES = [5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e100, 1e155, 1e200, 1e300]


def _mp() -> Any:
    import mpmath

    return mpmath.mp


def _sigmoid(a: Any) -> Any:
    return 1 / (1 + _mp().exp(-a))


def _softplus(a: Any) -> Any:
    return _mp().log1p(_mp().exp(a))


def _log_mean(t: Any, o: Any) -> Any:
    m = _mp()
    return t * m.log(o) + (1 - t) * m.log1p(-o)


def _cdf(a: Any) -> Any:
    """Of the normal distribution; mpmath has none beyond 10**150, where it is nothing or all."""
    m = _mp()
    return m.erfc(-a / m.sqrt(2)) / 2 if abs(a) < 10**6 else m.mpf(a > 0)


def functions() -> dict[str, tuple[int, Callable[..., Any]]]:
    """How many operands each operation has, and what it is where it is smooth."""
    m = _mp()
    unary: dict[str, Callable[..., Any]] = {
        "neg": lambda a: -a, "exp": m.exp, "log": m.log, "sqrt": m.sqrt, "sin": m.sin, "cos": m.cos, "tanh": m.tanh,
        "sigmoid": _sigmoid, "softplus": _softplus, "relu": lambda a: max(a, 0), "abs": abs, "square": lambda a: a * a,
        "erf": m.erf, "gelu": lambda a: a * _cdf(a),
        "gelu_tanh": lambda a: a * _sigmoid(2 * m.sqrt(2 / m.pi) * (a + m.mpf("0.044715") * a**3)),
        "silu": lambda a: a * _sigmoid(a), "log_sigmoid": lambda a: -_softplus(-a),
        "relu6": lambda a: min(max(a, 0), 6),
    }  # fmt: skip
    binary: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b, "leaky_relu": lambda a, s: a if a > 0 else s * a, "minimum": min, "maximum": max,
        "first_max": max, "held_max": max, "logaddexp": lambda a, b: max(a, b) + m.log1p(m.exp(-abs(a - b))),
        "lt": lambda a, b: m.mpf(a < b), "le": lambda a, b: m.mpf(a <= b), "gt": lambda a, b: m.mpf(a > b),
        "ge": lambda a, b: m.mpf(a >= b),
        "binary_cross_entropy": lambda o, t: -_log_mean(t, o),
        "huber": lambda d, e: d * d / 2 if abs(d) <= e else e * (abs(d) - e / 2),
        "smooth_l1": lambda d, b: d * d / (2 * b) if abs(d) < b else abs(d) - b / 2,
        "elu": lambda a, s: a if a > 0 else s * m.expm1(a),
    }  # fmt: skip
    ternary: dict[str, Callable[..., Any]] = {
        "clip": lambda a, low, high: min(max(a, low), high), "where": lambda c, a, b: a if c != 0 else b,
        "bce_with_logits": lambda x, t, p: p * t * _softplus(-x) + (1 - t) * _softplus(x),
        "hinge_embedding": lambda x, t, g: (max(0, g - x) if t != 1 else 0) + (x if t != -1 else 0),
        "softplus_up_to": lambda a, b, c: a if a * b > c else _softplus(a * b) / b,
    }  # fmt: skip
    kinds = enumerate((unary, binary, ternary), 1)
    return {name: (arity, call) for arity, made in kinds for name, call in made.items()}


def points(name: str, arity: int) -> Numbers:
    """Operands over the whole range, shape (arity, points): float32 numbers, and some that only float64 has."""
    make = np.random.default_rng(len(name) * 31 + arity)
    sizes = np.array(SIZES, np.float32).astype(float)
    every = np.concatenate([sizes, np.exp(make.uniform(-25, 8, 40)).astype(np.float32).astype(float), EXTREMES])
    if arity > 1:
        every = every[every > 1e-307]  # a quotient of denormals, or a power of one, has lost digits on the way
    every = np.concatenate([every, -every])
    if name == "binary_cross_entropy":
        inner = np.concatenate([sizes[(sizes > 1e-10) & (sizes < 1)], 1 - sizes[(sizes > 1e-7) & (sizes < 1)]]).astype(
            np.float32
        )
        return np.array(list(itertools.product(inner.astype(float), [0.0, 0.25, 1.0, 0.5, -0.75]))).T
    if arity == 1:
        return every[None]
    picked = make.choice(every, (arity, 120))
    near = picked[0] * np.exp(make.normal(0, 1, (arity - 1, 120)))
    near = np.where((abs(near) > 1e-30) & (abs(near) < 1e30), np.clip(near, -1e31, 1e31).astype(np.float32), near)
    near[near == 0] = 1.0
    picked = np.concatenate([picked, np.concatenate([picked[:1], near])], axis=1)
    usual = make.normal(0, 3, (arity, 60)).astype(np.float32).astype(float)
    picked = np.concatenate([picked, usual], axis=1)
    if name == "pow":
        picked[0, ::3] = np.abs(picked[0, ::3])
        picked[1, 1::3] = np.round(usual.ravel()[: picked[1, 1::3].size] * 3)
        picked[1, ::6] = np.resize([2.0, 0.5, 3.0, -1.0, 1e-8, 1.5], picked[1, ::6].size).astype(np.float32)
    if name in ("huber", "smooth_l1", "softplus_up_to"):
        picked[1] = np.abs(picked[1])
    if name == "softplus_up_to":
        picked[1, ::2], picked[2] = make.uniform(0.1, 4, picked[1, ::2].size).astype(np.float32), 20.0
    if name in ("bce_with_logits", "hinge_embedding"):
        picked[1] = make.choice([-1.0, 1.0] if name == "hinge_embedding" else [0.0, 0.5, 1.0, 0.875], picked.shape[1])
    if name == "bce_with_logits":
        picked[2] = np.abs(make.choice([1.0, 1.0, 0.25, 3.0, 1e-8, 100.0], picked.shape[1]).astype(np.float32))
    return picked


def exact(call: Callable[..., Any], point: list[float]) -> list[tuple[float, float]]:
    """The value and each derivative at a point, and their `share`: NaN where there is none."""
    m = _mp()
    x = [m.mpf(v) for v in point]
    value = call(*x)
    if not isinstance(value, m.mpf | int):
        return [(np.nan, np.nan)] * (1 + len(x))
    slopes = [_slope(call, x, k) for k in range(len(x))]
    found = [(value, sum(abs(v * s) for v, s in zip(x, slopes, strict=True) if s is not None))]
    for k, slope in enumerate(slopes):
        if slope is None:
            found.append((np.nan, np.nan))
            continue
        moved = 0
        for j in range(len(x)):
            other = _slope(call, [*x[:j], x[j] * (1 + m.mpf(2) ** -40), *x[j + 1 :]], k)
            moved += abs(other - slope) * 2**40 if other is not None else 0
        found.append((slope, moved))
    return [(_float(a), _float(b)) for a, b in found]


def _slope(call: Callable[..., Any], x: list[Any], k: int) -> Any:
    """The derivative by operand `k`; None where it is not the same from both sides."""
    m = _mp()
    step = abs(x[k]) * m.mpf(10) ** -STEP or m.mpf(10) ** -STEP
    left, middle, right = (call(*x[:k], x[k] + side * step, *x[k + 1 :]) for side in (-1, 0, 1))
    if not all(isinstance(v, m.mpf | int) for v in (left, right)):
        return None
    below, above = (middle - left) / step, (right - middle) / step
    return (below + above) / 2 if abs(below - above) <= (abs(below) + abs(above)) * m.mpf(10) ** -(STEP // 2) else None


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def table(call: Callable[..., Any], x: Numbers) -> tuple[Numbers, Numbers]:
    """What `exact` says at points (operands, points): two arrays (1 + operands, points)."""
    with _mp().workdps(DIGITS):
        rows = np.array([exact(call, point) for point in x.T.tolist()])
    return rows[..., 0].T, rows[..., 1].T


def ranges() -> dict[str, Numbers]:
    """``name/x`` (operands, points), ``name/exact`` and ``name/share`` (1 + operands, points): value, derivatives."""
    out = {}
    for name, (arity, call) in functions().items():
        out[f"{name}/x"] = x = points(name, arity)
        out[f"{name}/exact"], out[f"{name}/share"] = table(call, x)
    return out
