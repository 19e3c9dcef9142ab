"""One Run of each kind that PyTorch has sample inputs of, on the engines that are not objects: a step beside PyTorch's.

A model scales the numbers of a sample by weights, so that the step shows the gradient by each of them, and calls what
is tested; a loss is the run's own.
"""

from __future__ import annotations

import numpy as np
import pytest
from pytorch_operations import LOSSES, NAMES, cases_of
from pytorch_samples import CLASSES, DIMENSIONS, PAIRED

from kit.nested import flat
from scalarviz import Run, nn, optim

pytestmark = pytest.mark.ci  # loading the samples alone takes PyTorch 10 seconds
ENGINES = ("numpy", "numba")
NOT_TRAINED = ("lt", "le", "gt", "ge", "__rpow__")
"""Comparisons have no gradient, and a negative base NaN by its exponent: a run stops there."""
OF_LOSSES = (*PAIRED, *CLASSES, *LOSSES)
OTHERS = tuple(name for name in (*DIMENSIONS, *NAMES) if name not in (*OF_LOSSES, *NOT_TRAINED))
SHRUNK = (1.0, 0.75, 0.5)
"""The samples of a run are that of PyTorch in these sizes: none leaves the domain of its function."""


class Scaled(nn.Module):
    """``call(x * scale)`` of a flat sample, which `call` sees as nested lists of `shape`."""

    def __init__(self, shape, call, module=None):
        self.shape, self.call = tuple(shape), call
        self.scale = nn.Parameter(np.ones(int(np.prod(shape))))
        self.module = module if isinstance(module, nn.Module) else nn.Identity()

    def forward(self, x):
        return flat(
            self.call(
                np.array([a * w for a, w in zip(x, self.scale, strict=True)], object).reshape(self.shape).tolist()
            )
        )


def stepped(model, loss, x, y, engine):
    """The weights by name after a step at rate 1, beside those before it."""
    before = {name: np.array(p.data) for name, p in model.named_parameters()}
    rule = optim.SGD(model.parameters(), lr=1.0)
    with Run(model, loss, rule, (x, y), engine=engine, dtype="float64", batch_size=len(x), seed=0) as run:
        predicted = np.array(run.predict(x))
        run.step(1)
        return predicted, {name: before[name] - np.array(p.data) for name, p in model.named_parameters()}


def nearest(cases, size):
    """The case with about so many numbers."""
    return min(cases, key=lambda case: abs(case.x.numel() - size))


def close(found, wanted):
    wanted = np.asarray(wanted.detach()).ravel()
    largest = float(np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-10, atol=1e-12 * largest)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", OTHERS)
def test_a_step_is_pytorchs(kind, engine):
    import torch

    case = nearest([case for case in cases_of(kind) if not isinstance(case, str)], 24)
    if kind in ("Embedding", "nn.functional.embedding"):
        _embedding(case, engine)
        return
    flat = case.x.detach().numpy().ravel()
    x = np.stack([flat * size for size in SHRUNK])
    scale = torch.ones(len(flat), dtype=torch.float64, requires_grad=True)
    wanted = torch.stack([case.theirs((torch.tensor(row) * scale).reshape(case.x.shape)).ravel() for row in x])
    targets = np.random.default_rng(0).normal(size=wanted.shape)
    ((wanted - torch.tensor(targets)) ** 2).mean().backward(inputs=[scale, *case.weights.values()])
    predicted, moved = stepped(Scaled(case.x.shape, case.ours, case.module), nn.MSELoss(), x, targets, engine)
    close(predicted, wanted)
    close(moved.pop("scale"), scale.grad)
    assert moved.keys() == {f"module.{name}" for name in case.weights}
    for name, tensor in case.weights.items():
        close(moved[f"module.{name}"], tensor.grad)


def _embedding(case, engine):
    """Ids are not scaled: other ids for other samples."""
    import torch

    ids = case.x.detach().numpy().ravel()
    x = np.stack([ids, ids[::-1], np.roll(ids, 1)]).astype(float)
    (table,) = case.weights.values()
    wanted = torch.stack([table[torch.tensor(row).long()].ravel() for row in x])
    targets = np.random.default_rng(0).normal(size=wanted.shape)
    ((wanted - torch.tensor(targets)) ** 2).mean().backward(inputs=[table])
    predicted, moved = stepped(Chosen(case.module), nn.MSELoss(), x, targets, engine)
    close(predicted, wanted)
    close(moved["table.weight"], table.grad)


class Chosen(nn.Module):
    """Rows of a table, one after the other."""

    def __init__(self, table):
        self.table = table

    def forward(self, x):
        return flat(self.table(list(x)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", OF_LOSSES)
def test_a_step_with_a_loss_is_pytorchs(kind, engine):
    import torch

    some = [case for case in cases_of(kind) if not isinstance(case, str)]
    least = 2 if kind in CLASSES or LOSSES.get(kind) in CLASSES else 1
    some = [case for case in some if case.module.reduction != "none" and case.x.ndim >= least]
    case = nearest([case for case in some if case.x.ndim == 2 or least == 1], 24)
    x, targets = case.x.detach().reshape(-1, case.x.shape[-1]).numpy(), case.targets.numpy()
    scale = torch.ones(x.shape[1], dtype=torch.float64, requires_grad=True)
    case.theirs((torch.tensor(x) * scale).reshape(case.x.shape)).backward(inputs=[scale])
    targets = targets[:, 0] if targets.shape[1] == 1 else targets
    _, moved = stepped(Scaled(x.shape[1:], lambda row: row), case.module, x, targets, engine)
    close(moved["scale"], scale.grad)
