"""A GPT of 4,192 weights: a step of the scene `microgpt` beside the well-known script's own way, and PyTorch.

The scene's network and its names, Adam, float32 here and in PyTorch (the script computes in Python's floats). Batches
of 1, 32 and 512 names, other names at every step; the script has one name a step, as long as it is. PyTorch has the
same arrays of 16 places as our engine. They are made before, and attention is PyTorch's own. Contestants take turns on
one pinned thread in seconds of the processor; before, losses of the same first steps must agree.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from _timing import Found, Timing, at_least, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()

import torch  # noqa: E402
from _contestants import steps_of  # noqa: E402
from _workloads import EAGER  # noqa: E402
from scalarviz.scenes.microgpt import GPT, next_letter  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import scalarviz as sv  # noqa: E402
from scalarviz import optim  # noqa: E402
from scalarviz.data.words import Words, load_words  # noqa: E402

CONTEXT, EMBD, HEADS, LAYERS = 16, 16, 4, 1
LR, BETAS, EPS = 1e-3, (0.85, 0.99), 1e-8
ASKED = {1: 4.0, 32: 5.0, 512: 2.5}
"""Batches, and how many times as fast as PyTorch."""
SCRIPT_ASKED = 2000.0
"""How many times as fast as the script, of one name."""
OURS, SCRIPT = "numba", "the script's way"
MADE = 64
"""Batches that PyTorch takes in turns, and names of the script."""


@benchmark("numpy numba llvmlite torch", "one training step")
def microgpt(quick: bool) -> Found:
    pin_core()
    torch.set_num_threads(1)
    words, timings = load_words(None, CONTEXT), dict[str, Timing]()
    rounds, seconds = (3, 0.05) if quick else (21, 0.25)
    for batch in ASKED:
        entered = contestants(words, batch)
        check_losses(f"batch {batch}", {name: [some(1) for _ in range(3)] for name, some in entered.items()}, 1e-4)
        gc.collect()
        found = in_turns(entered, rounds=rounds, seconds=seconds, clock=time.process_time)
        timings |= {f"{batch}: {name}": timing for name, timing in found.items()}
    medians = {name: timing.median for name, timing in timings.items()}
    return timings, {"goals": goals(medians)}


def contestants(words: Words, batch: int) -> dict[str, Callable[[int], Any]]:
    """All over the same names in the same order."""
    net = GPT(words.tokens, CONTEXT, EMBD, HEADS, LAYERS)
    adam = optim.Adam(net.parameters(), lr=LR, betas=BETAS, eps=EPS)
    inputs, targets = data = words.samples(words.train)
    run = sv.Run(net, next_letter, adam, data, batch_size=batch, engine="numba", dtype="float32")
    chosen = [run._problem.indices(step) for step in range(MADE)]
    batches = [tensors(inputs[places], targets[places]) for places in chosen]
    found = {OURS: steps_of(run), EAGER: torch_steps(run.state_dict(), batches)}
    if batch == 1:
        names = [[words.end, *words.ids(words.train[place]), words.end][: CONTEXT + 1] for (place,) in chosen]
        found[SCRIPT] = script_steps(run.state_dict(), names)
    return found


def goals(seconds: Mapping[str, float]) -> dict[str, Any]:
    """What was asked for beside what was measured, from medians."""
    asked = [(batch, EAGER, least) for batch, least in ASKED.items()] + [(1, SCRIPT, SCRIPT_ASKED)]
    return {
        f"microgpt, batch {batch}: times as fast as {peer}": at_least(
            seconds[f"{batch}: {peer}"] / seconds[f"{batch}: {OURS}"], least
        )
        for batch, peer, least in asked
    }


# ---- PyTorch, as one writes it for batches

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def forward(w: Mapping[str, torch.Tensor], ids: torch.Tensor) -> torch.Tensor:
    """(batch, places) numbers of letters to (batch, places, tokens)."""
    batch, places = ids.shape
    x = F.embedding(ids, w["token.weight"]) + w["position.weight"][:places]
    x = F.rms_norm(x, (EMBD,), eps=1e-5)
    normed = F.rms_norm(x, (EMBD,), eps=1e-5)
    q, k, v = (
        F.linear(normed, w[f"layers.0.{name}.weight"]).view(batch, places, HEADS, -1).transpose(1, 2) for name in "qkv"
    )
    seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + F.linear(seen.transpose(1, 2).reshape(batch, places, EMBD), w["layers.0.o.weight"])
    hidden = F.relu(F.linear(F.rms_norm(x, (EMBD,), eps=1e-5), w["layers.0.up.weight"]))
    return F.linear(x + F.linear(hidden, w["layers.0.down.weight"]), w["letters.weight"])


def tensors(inputs: Any, targets: Any) -> Batch:
    """Letters, those that follow, and their shares."""
    context = inputs.shape[1]
    shares = torch.tensor(targets[:, context:], dtype=torch.float32)
    ids, following = (torch.tensor(letters[:, :context], dtype=torch.int64) for letters in (inputs, targets))
    return ids, following.flatten(), shares.flatten()


def torch_steps(arrays: Mapping[str, Any], batches: Sequence[Batch]) -> Callable[[int], float]:
    """The usual loop over batches that are there already."""
    weights = {name: torch.tensor(array, dtype=torch.float32, requires_grad=True) for name, array in arrays.items()}
    optimiser = torch.optim.Adam(weights.values(), lr=LR, betas=BETAS, eps=EPS, fused=True)
    done = 0

    def some(count: int) -> float:
        nonlocal done
        for _ in range(count):
            ids, following, shares = batches[done % len(batches)]
            done += 1
            optimiser.zero_grad(set_to_none=True)
            logits = forward(weights, ids)
            each = F.cross_entropy(logits.view(-1, logits.shape[-1]), following, reduction="none")
            loss = torch.dot(each, shares) / len(ids)
            loss.backward()
            optimiser.step()
        return float(loss.item())

    return some


# ---- the script's own way, written anew: an object a number, a graph a name, an update over all numbers one by one


class Number:
    """A number of the graph, what it was made of, and the derivatives with respect to that."""

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


def letter(state: Mapping[str, Matrix], token: int, place: int, keys: list[Any], values: list[Any]) -> list[Number]:
    """A number for each letter that may follow; `keys` and `values` of the letters before grow by one."""
    x = [t + p for t, p in zip(state["token.weight"][token], state["position.weight"][place], strict=False)]
    x = rmsnorm(x)
    before, x = x, rmsnorm(x)
    q = linear(x, state["layers.0.q.weight"])
    keys.append(linear(x, state["layers.0.k.weight"]))
    values.append(linear(x, state["layers.0.v.weight"]))
    size, attention = len(q) // HEADS, []
    for h in range(HEADS):
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


def script_steps(arrays: Mapping[str, Any], names: Sequence[Sequence[int]]) -> Callable[[int], float]:
    """Steps of one name each, its numbers with those of its beginning and end."""
    state = {name: [[Number(w) for w in row] for row in array.tolist()] for name, array in arrays.items()}
    weights = [number for matrix in state.values() for row in matrix for number in row]
    m, v, done = [0.0] * len(weights), [0.0] * len(weights), 0

    def some(count: int) -> float:
        nonlocal done
        for _ in range(count):
            tokens, done = names[done % len(names)], done + 1
            keys: list[Any] = []
            values: list[Any] = []
            losses = []
            for place, (token, following) in enumerate(pairwise(tokens)):
                losses.append(-softmax(letter(state, token, place, keys, values))[following].log())
            loss = (1 / len(losses)) * sum(losses)
            loss.backward()
            for i, weight in enumerate(weights):
                m[i] = BETAS[0] * m[i] + (1 - BETAS[0]) * weight.grad
                v[i] = BETAS[1] * v[i] + (1 - BETAS[1]) * weight.grad**2
                m_hat, v_hat = m[i] / (1 - BETAS[0] ** done), v[i] / (1 - BETAS[1] ** done)
                weight.data -= LR * m_hat / (v_hat**0.5 + EPS)
                weight.grad = 0
        return float(loss.data)

    return some


if __name__ == "__main__":
    main()
