"""The well-known 200-line script's own way as a contestant: an object a number, a graph a name, Adam over a list.

Written anew after it: a number knows its operands and the derivatives by them, `backward` orders the graph by a walk
that calls itself, and the update goes over all numbers one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LR, BETAS, EPS = 1e-3, (0.85, 0.99), 1e-8


class Number:
    """A number of the graph."""

    __slots__ = ("data", "grad", "operands", "slopes")

    def __init__(self, data: float, operands: tuple[Number, ...] = (), slopes: tuple[float, ...] = ()) -> None:
        self.data, self.grad, self.operands, self.slopes = data, 0.0, operands, slopes

    def __add__(self, other: Any) -> Number:
        other = other if isinstance(other, Number) else Number(other)
        return Number(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other: Any) -> Number:
        other = other if isinstance(other, Number) else Number(other)
        return Number(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power: float) -> Number:
        return Number(self.data**power, (self,), (power * self.data ** (power - 1),))

    def log(self) -> Number:
        return Number(math.log(self.data), (self,), (1 / self.data,))

    def exp(self) -> Number:
        return Number(math.exp(self.data), (self,), (math.exp(self.data),))

    def relu(self) -> Number:
        return Number(max(0, self.data), (self,), (float(self.data > 0),))

    def __neg__(self) -> Number:
        return self * -1

    def __sub__(self, other: Any) -> Number:
        return self + (-other)

    def __truediv__(self, other: Any) -> Number:
        return self * other**-1

    __radd__, __rmul__ = __add__, __mul__

    def backward(self) -> None:
        """Derivatives by all that this number was made of."""
        ordered: list[Number] = []
        seen: set[Number] = set()

        def walk(number: Number) -> None:
            if number not in seen:
                seen.add(number)
                for operand in number.operands:
                    walk(operand)
                ordered.append(number)

        walk(self)
        self.grad = 1
        for number in reversed(ordered):
            for operand, slope in zip(number.operands, number.slopes, strict=False):
                operand.grad += slope * number.grad


Matrix = list[list[Number]]


def linear(x: Sequence[Number], w: Matrix) -> list[Number]:
    return [sum(wi * xi for wi, xi in zip(wo, x, strict=False)) for wo in w]


def softmax(logits: Sequence[Number]) -> list[Number]:
    most = max(value.data for value in logits)
    exps = [(value - most).exp() for value in logits]
    total = sum(exps)
    return [e / total for e in exps]


def rmsnorm(x: Sequence[Number]) -> list[Number]:
    scale = (sum(xi * xi for xi in x) / len(x) + 1e-5) ** -0.5
    return [xi * scale for xi in x]


def letter(
    state: Mapping[str, Matrix], token: int, place: int, keys: list[Any], values: list[Any], heads: int
) -> list[Number]:
    """A number for each letter that may follow; `keys` and `values` of the letters before grow by one."""
    x = [t + p for t, p in zip(state["token.weight"][token], state["position.weight"][place], strict=False)]
    x = rmsnorm(x)
    before, x = x, rmsnorm(x)
    q = linear(x, state["layers.0.q.weight"])
    keys.append(linear(x, state["layers.0.k.weight"]))
    values.append(linear(x, state["layers.0.v.weight"]))
    size, attention = len(q) // heads, []
    for h in range(heads):
        own = slice(h * size, (h + 1) * size)
        k, v = [key[own] for key in keys], [value[own] for value in values]
        scores = [sum(q[own][j] * k[t][j] for j in range(size)) / size**0.5 for t in range(len(k))]
        weights = softmax(scores)
        attention += [sum(weights[t] * v[t][j] for t in range(len(v))) for j in range(size)]
    x = [a + b for a, b in zip(linear(attention, state["layers.0.o.weight"]), before, strict=False)]
    before, x = x, rmsnorm(x)
    x = [xi.relu() for xi in linear(x, state["layers.0.up.weight"])]
    x = [a + b for a, b in zip(linear(x, state["layers.0.down.weight"]), before, strict=False)]
    return linear(x, state["letters.weight"])


def steps(arrays: Mapping[str, Any], names: Sequence[Sequence[int]], heads: int) -> Callable[[int], float]:
    """Steps of one name each, its numbers with those of its beginning and end; returns the loss of the last one."""
    state = {name: [[Number(w) for w in row] for row in array.tolist()] for name, array in arrays.items()}
    weights = [number for matrix in state.values() for row in matrix for number in row]
    m, v, done = [0.0] * len(weights), [0.0] * len(weights), 0

    def step(tokens: Sequence[int]) -> float:
        keys: list[Any] = []
        values: list[Any] = []
        losses = []
        for place in range(len(tokens) - 1):
            chances = softmax(letter(state, tokens[place], place, keys, values, heads))
            losses.append(-chances[tokens[place + 1]].log())
        loss = (1 / len(losses)) * sum(losses)
        loss.backward()
        for i, weight in enumerate(weights):
            m[i] = BETAS[0] * m[i] + (1 - BETAS[0]) * weight.grad
            v[i] = BETAS[1] * v[i] + (1 - BETAS[1]) * weight.grad**2
            m_hat, v_hat = m[i] / (1 - BETAS[0] ** (done + 1)), v[i] / (1 - BETAS[1] ** (done + 1))
            weight.data -= LR * m_hat / (v_hat**0.5 + EPS)
            weight.grad = 0
        return loss.data

    def some(count: int) -> float:
        nonlocal done
        loss = math.nan
        for _ in range(count):
            loss = step(names[done % len(names)])
            done += 1
        return loss

    return some
