"""A forward as source text, executed with `scalarviz.nn` and with PyTorch's: a law demands the same numbers of both.

Names in a text: ``N`` (nn), ``F`` (nn.functional), ``T`` (scalarviz or torch), ``np`` (NumPy or torch), ``torch``
(PyTorch on both sides), ``P(2, 3)`` (an array for a Parameter), ``I(0, 2)`` (ids), ``L([...])`` (a list of modules),
``later(4)`` (the mask of what comes later), and the modules of `BESIDE`. PyTorch's ``MultiheadAttention`` and
``Unflatten`` have our arguments.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim

BATCH = 4
"""As many samples as most samples have numbers: no shape tells a wrong axis."""
STEPS, RATE = 5, 0.01


BESIDE = """
class Block(N.Module):
    def __init__(self, n):
        super().__init__()
        self.a = N.Linear(n, n)

    def forward(self, x, other=None, scale=1.0, tanh=False, kind="sum"):
        h = self.a(x) * scale
        if other is not None:
            h = h + other if kind == "sum" else h * other
        return h.tanh() if tanh else h


class Parts(N.Module):
    def forward(self, parts, names=("p", "q")):
        parts = list(parts.values()) if isinstance(parts, dict) else parts
        return dict(zip(names, [part * 2 for part in parts])), sum(parts)
"""
"""Modules that a text may use: their arguments are arrays, None, numbers, flags, words, and arrays in containers."""


@dataclass(frozen=True)
class Text:
    """What ``__init__`` makes (``"self.a = N.Linear(4, 4)"``, with ``;`` between), and the lines of ``forward``.

    `shapes` are those of a sample, `words` the count of the ids if it reads ids. `loss` is ``"mse"``, ``"classes"`` or
    the text of a function; `targets` is its number of targets. A text in `training` is not put into evaluation.
    """

    made: str
    forward: str
    shapes: tuple[tuple[int, ...], ...]
    words: int = 0
    loss: str = "mse"
    targets: int = 0
    training: bool = False

    def source(self) -> str:
        """Return the class."""
        lines = "".join(f"        {line}\n" for line in self.forward.split("\n"))
        return (
            f"class Net(N.Module):\n    def __init__(self):\n        super().__init__()\n        {self.made}\n"
            f"    def forward(self, x):\n        CALLS.append(x)\n{lines}"
        )


def numbers_for(*shape: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, math.prod(shape)).reshape(shape)


def our_names() -> dict[str, Any]:
    """What the names of a text are here."""
    import torch

    from scalarviz.nn import functional

    return {
        "N": nn, "F": functional, "T": sv, "np": np, "torch": torch, "P": numbers_for, "CALLS": [],
        "I": lambda *ids: np.array(ids), "L": getattr(nn, "ModuleList", list), "later": lambda n: np.tri(n) == 0,
    }  # fmt: skip


def their_names() -> dict[str, Any]:
    """What the names of a text are in PyTorch."""
    import torch

    layers = SimpleNamespace(**vars(torch.nn))
    layers.MultiheadAttention = partial(torch.nn.MultiheadAttention, batch_first=True)
    layers.Unflatten = partial(torch.nn.Unflatten, 1)
    return {
        "N": layers, "F": torch.nn.functional, "T": torch, "np": torch, "torch": torch, "CALLS": [],
        "P": lambda *shape: torch.tensor(numbers_for(*shape)), "I": lambda *ids: torch.tensor(ids),
        "L": torch.nn.ModuleList, "later": lambda n: torch.tensor(np.tri(n) == 0),
    }  # fmt: skip


def built(text: Text, names: dict[str, Any]) -> Any:
    """Return the network that a text makes, in evaluation unless the text is about training."""
    exec(BESIDE + text.source(), names)
    return names["Net"]().train(text.training)


def loss_of(text: Text, names: dict[str, Any]) -> Any:
    whole = {"mse": "N.MSELoss()", "classes": "N.CrossEntropyLoss()"}
    return eval(whole.get(text.loss, text.loss), names)


# ---- what a network returned: containers, and the arrays in them


def form(made: Any) -> Any:
    """Return the containers alone."""
    if isinstance(made, dict):
        return {name: form(part) for name, part in made.items()}
    return type(made)(form(part) for part in made) if type(made) in (list, tuple) else None


def leaves(made: Any) -> list[Any]:
    """Return the arrays in the containers, in order."""
    if isinstance(made, dict):
        made = list(made.values())
    return [leaf for part in made for leaf in leaves(part)] if type(made) in (list, tuple) else [made]


def numbers_of(made: Any) -> list[np.ndarray]:
    """Return the numbers of what either library returned."""
    return [
        np.asarray(leaf.data if isinstance(leaf, sv.Value) else leaf.detach().numpy(), float) for leaf in leaves(made)
    ]


def values_of(made: Any) -> list[Any]:
    """Return the single Values of what our network returned."""
    return [v for leaf in leaves(made) for v in (leaf.ravel().tolist() if hasattr(leaf, "ravel") else [leaf])]


def alike(what: str, found: Any, wanted: Any) -> None:
    """Fail unless shapes and numbers are the same; `what` says of what."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, PyTorch's is {wanted.shape}"
    allowed = 1e-8 * np.abs(wanted).max(initial=0.0) + 1e-10
    worst = np.abs(found - wanted).max(initial=0.0)
    assert worst <= allowed, f"{what}: differs by {worst:.1e} from PyTorch's {np.abs(wanted).max():.1e}"


def all_alike(what: str, found: Any, wanted: Any) -> None:
    """Fail unless the containers are the same, and what is in them."""
    assert form(found) == form(wanted), f"{what}: containers {form(found)}, PyTorch's are {form(wanted)}"
    for a, b in zip(numbers_of(found), numbers_of(wanted), strict=True):
        alike(what, a, b)


# ---- the law


class Twins:
    """The two networks of a text with the same weights, and data for them."""

    def __init__(self, text: Text, shape: tuple[int, ...], seed: int = 0) -> None:
        import torch

        self.text, self.shape, self.random = text, shape, np.random.default_rng(seed)
        if text.words:
            self.x = self.random.integers(0, text.words, (BATCH, *shape))
        else:
            self.x = self.random.normal(size=(BATCH, *shape))
        self.names, self.other_names = our_names(), their_names()
        self.theirs = built(text, self.other_names).double()
        state = {name: self._drawn(name, tensor) for name, tensor in self.theirs.state_dict().items()}
        self.theirs.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        self.state = state

    def _drawn(self, name: str, tensor: Any) -> np.ndarray:
        if not tensor.is_floating_point():  # a count, a mask
            return tensor.numpy()
        if name.endswith("running_var"):
            return self.random.uniform(0.5, 2.0, tuple(tensor.shape))
        return self.random.uniform(-0.7, 0.7, tuple(tensor.shape))

    @cached_property
    def ours(self) -> Any:
        """Our network; its ``state_dict`` has PyTorch's names."""
        net = built(self.text, self.names)
        assert sorted(net.state_dict()) == sorted(self.state)
        net.load_state_dict(self.state)
        return net

    @cached_property
    def wanted(self) -> Any:
        """What PyTorch makes of the samples with the first weights."""
        return self.their_call(self.x)

    def their_call(self, x: np.ndarray) -> Any:
        """Return PyTorch's outputs, in evaluation."""
        import torch

        with torch.no_grad():
            return self.theirs.eval()(torch.tensor(x))

    def by_samples(self) -> list[Any]:
        """Return what our network makes of each sample, which PyTorch's makes of a batch of one."""
        made = []
        for k, sample in enumerate(self.x.tolist()):
            made.append(self.ours.eval()(sample))
            assert sample == self.x[k].tolist(), "the given list was changed"
            first = [array[0] for array in numbers_of(self.their_call(self.x[k : k + 1]))]
            assert form(made[-1]) == form(self.wanted), f"one sample: containers {form(made[-1])}"
            for found, wanted in zip(numbers_of(made[-1]), first, strict=True):
                alike("one sample", found, wanted)
        if self.x.ndim == 2:
            all_alike("one sample as an array", self.ours(self.x[0]), made[0])
        return made

    def gradients(self) -> None:
        """Check gradients by `Value.backward`, added over the samples."""
        import torch

        out = leaves(self.theirs.eval()(torch.tensor(self.x)))
        upstream = [self.random.normal(size=tuple(part.shape)) for part in out]
        self.theirs.zero_grad()
        sum((part * torch.tensor(up)).sum() for part, up in zip(out, upstream, strict=True)).backward()
        self.ours.zero_grad()
        for k, made in enumerate(self.by_samples()):
            ups = [number for up in upstream for number in up[k].ravel().tolist()]
            sv.dot(ups, values_of(made)).backward()
        other = dict(self.theirs.named_parameters())
        for name, parameter in self.ours.named_parameters():
            grad = other[name].grad
            wanted = np.zeros(tuple(other[name].shape)) if grad is None else grad.numpy()
            alike(f"the gradient of {name}", parameter.grad, wanted)

    def by_batches(self, most: int = 3) -> None:
        """Check a batch, a batch of one and a larger one; the forward runs at most so often for each of them."""
        calls, counts = self.names["CALLS"], []
        for batch in (self.x, self.x[:1], np.concatenate([self.x] * 5)):
            before = len(calls)
            found = self.ours.eval()(batch)
            counts.append(len(calls) - before)
            all_alike(f"a batch of {len(batch)}", found, self.their_call(batch))
            assert (batch[: len(self.x)] == self.x[: len(batch)]).all(), "the given array was changed"
            assert {type(leaf).__name__ for leaf in leaves(found)} == {"Outputs"}
        assert max(counts) <= most, f"forward was called {counts} times for batches of 4, 1 and 20"

    def by_a_run(self, engine: str = "numpy") -> None:
        """Check what a Run predicts, and the weights after some steps."""
        loss = loss_of(self.text, self.names)
        net = self.ours.train(self.text.training)
        net.load_state_dict(self.state)
        rule = optim.SGD(net.parameters(), lr=RATE)
        with sv.Run(net, loss, rule, (self.x, self.targets), engine=engine, dtype="float64") as run:
            assert run.engine.name == engine
            rows = [array.reshape(BATCH, -1) for array in numbers_of(self.wanted)]
            alike("a Run's outputs", np.reshape(run.predict(self.x), (BATCH, -1)), np.concatenate(rows, 1))
            if not self.text.training:
                for found, wanted in zip(numbers_of(net(self.x[0])), numbers_of(self.wanted), strict=True):
                    alike("a sample beside a Run", found, wanted[0])
                all_alike("a batch beside a Run", net(self.x), self.wanted)
            run.step(STEPS)
            state = run.state_dict()
        value, wanted = self.trained
        assert value < 1e3, "the training diverges, which says nothing: take smaller numbers"
        for name, array in wanted.items():
            alike(f"{name} after {STEPS} steps", state[name], array)

    @cached_property
    def trained(self) -> tuple[float, dict[str, np.ndarray]]:
        """The last loss and the weights after some steps of PyTorch."""
        import torch

        net, y = copy.deepcopy(self.theirs).train(self.text.training), torch.tensor(self.targets)
        rule, loss = torch.optim.SGD(net.parameters(), lr=RATE), loss_of(self.text, self.other_names)
        for _ in range(STEPS):
            rule.zero_grad()
            value = loss(net(torch.tensor(self.x)), y)
            value.backward()
            rule.step()
        return float(value.detach()), {name: tensor.numpy() for name, tensor in net.state_dict().items()}

    @cached_property
    def targets(self) -> np.ndarray:
        """Classes, or numbers."""
        shapes = [array.shape for array in numbers_of(self.wanted)]
        if self.text.loss == "classes":
            return self.random.integers(0, shapes[0][-1], BATCH)
        return self.random.normal(size=(BATCH, self.text.targets) if self.text.targets else shapes[0])

    def ways(self) -> dict[str, Callable[[], Any]]:
        """Return the ways in which a network is called, each with its check."""
        return {"single samples": self.gradients, "batches": self.by_batches, "a Run": self.by_a_run}


def said(error: BaseException) -> str:
    """Return an error's message with its notes."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])
