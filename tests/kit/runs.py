"""Runs out of the registries, all bits of one, and the same training by PyTorch."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.errors import DivergedError
from scalarviz.run.state import optimizer_state

from .learning import LOSSES, make_optimizer, make_schedule
from .networks import NETWORKS

ENGINES = ("objects", "numpy", "numba")
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
"""How far two engines may be apart after one forward and backward, relative to the norm of what is compared."""


def make_data(network: str, loss: str, samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets that fit a network and a loss."""
    row = NETWORKS[network]
    return row.samples(samples, seed), LOSSES[loss].wanted(samples, int(np.prod(row.outputs)), seed)


def make_run(
    network: str = "mlp",
    loss: str = "mse",
    optimizer: str = "adam",
    schedule: str | None = None,
    *,
    engine: str = "numpy",
    dtype: str = "float64",
    samples: int = 24,
    batch_size: int | None = 8,
    seed: int = 3,
    weights: int = 1,
    **more: Any,
) -> sv.Run:
    """A run by the names of its parts; `weights` is the seed of the first weights, `seed` that of the run."""
    net = NETWORKS[network].ours(weights)
    rule = make_optimizer(optimizer, net.parameters())
    make_schedule(schedule, rule)
    data = make_data(network, loss, samples)
    options = {"batch_size": batch_size, "seed": seed, "engine": engine, "dtype": dtype, **more}
    return sv.Run(net, LOSSES[loss].ours(), rule, data, **options)


def bits(run: sv.Run) -> tuple[str, tuple[Any, ...]]:
    """All that a picture of the moment and the steps to come are made of: a hash, and what a reader understands."""
    frame = run.frame()
    arrays = [
        frame.values, frame.gradient, frame.update, frame.frozen, frame.computed, frame.curve.step, frame.curve.loss,
        frame.curve.lr, *frame.dead.values(), *frame.saturated.values(), *run.state_dict().values(),
        *optimizer_state(run).values(), *run.samples(),
    ]  # fmt: skip
    digest = hashlib.sha1(np.float64([frame.loss, frame.lr, frame.next_lr]).tobytes())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    numbers = run.optimizer.hyperparameters()
    return digest.hexdigest(), (
        frame.step,
        frame.edited,
        run.batch_size,
        frame.settings.sampling,
        run.engine.name,
        numbers,
    )


def frame_bits(frame: Any) -> tuple[Any, ...]:
    """All that a frame holds, to compare bit by bit."""
    parts = frame.activations, frame.dead, frame.saturated
    rows = [[(name, row.tobytes()) for name, row in part.items()] for part in parts]
    arrays = frame.values, frame.gradient, frame.update, frame.computed, frame.frozen, *frame.curve
    return frame.step, frame.loss, frame.lr, frame.edited, frame.next_lr, rows, [array.tobytes() for array in arrays]


def far(found: Any, wanted: Any) -> float:
    """How far two arrays are apart, relative to the norm of what was wanted."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    assert found.shape == wanted.shape
    if not np.isfinite(wanted).all():
        assert np.array_equal(np.isnan(found), np.isnan(wanted))
        return 0.0 if np.array_equal(found, wanted, equal_nan=True) else np.inf
    return float(np.linalg.norm(found - wanted) / max(float(np.linalg.norm(wanted)), 1e-30))


def by_pytorch(
    network: str, loss: str, optimizer: str, schedule: str | None = None, *, samples: int = 24, weights: int = 1
) -> Iterator[tuple[float, float, dict[str, np.ndarray]]]:
    """Train as ``make_run(..., batch_size=None)`` does, by PyTorch: after each step its loss, its rate, all weights."""
    import torch

    row = NETWORKS[network]
    net = row.theirs(row.ours(weights).state_dict())
    rule = make_optimizer(optimizer, list(net.parameters()), torch.optim)
    paced = make_schedule(schedule, rule, torch.optim.lr_scheduler)
    x, y = (torch.tensor(array) for array in make_data(network, loss, samples))
    lossf = LOSSES[loss].theirs()
    while True:
        rate = rule.param_groups[0]["lr"]
        rule.zero_grad()
        value = lossf(net(x), y)
        value.backward()
        rule.step()
        if schedule == "plateau":
            paced.step(value.item())
        elif paced is not None:
            paced.step()
        state = {name: array.detach().numpy().copy() for name, array in net.state_dict().items()}
        yield value.item(), rate, state


def loss_and_gradient(
    model: Any, loss: Any, data: Any, *, engine: str, weights: Any = None, **options: Any
) -> np.ndarray:
    """Loss and gradient of a second step at the first weights: what the step before left in memory is gone."""
    trained = model.parameters() if weights is None else weights
    with sv.Run(model, loss, sv.optim.SGD(trained, lr=0.0), data, engine=engine, **options) as run:
        with contextlib.suppress(DivergedError):  # the numbers of that step are there
            run.step()
            run.step()
        frame = run.frame()
        return np.append(frame.gradient.astype(float), frame.loss)
