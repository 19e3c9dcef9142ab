"""The loop by hand over batches, beside PyTorch's loop and one step of a Run: float64, one thread, in turns.

The three networks of the loop are those of a first hour: a small perceptron, one for pictures of 784 numbers, and a
small convolutional network. All start with the same weights, and the losses must agree. Needs the extra ``bench``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _timing import Found, at_most, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()

import numpy as np  # noqa: E402
import torch  # noqa: E402

import scalarviz as sv  # noqa: E402
from scalarviz import nn, optim  # noqa: E402

LOOP, THEIRS, RUN = "loop", "PyTorch", "run.step(1)"


def perceptron(space: Any) -> Any:
    return space.Sequential(
        space.Linear(3, 16), space.Tanh(), space.Linear(16, 16), space.Tanh(), space.Linear(16, 3)
    )  # fmt: skip


def pictures(space: Any) -> Any:
    return space.Sequential(space.Linear(784, 32), space.ReLU(), space.Linear(32, 10))


def convolutions(space: Any) -> Any:
    return space.Sequential(
        space.Conv2d(1, 6, 3), space.ReLU(), space.MaxPool2d(2), space.Flatten(), space.Linear(150, 10)
    )  # fmt: skip


WORKLOADS = {  # the network, the shape of a sample, the batch, the classes, and the goals: of PyTorch, of a Run
    "3-16-16-3": (perceptron, (3,), 64, 0, 0.5, 1.5),
    "784-32-10": (pictures, (784,), 64, 10, 1.0, 2.5),
    "convolutions": (convolutions, (1, 12, 12), 32, 10, 1.0, 2.5),
}


@benchmark("numpy torch")
def loop_by_hand(quick: bool) -> Found:
    torch.set_num_threads(1)
    pin_core()
    contestants: dict[str, Callable[[int], None]] = {}
    for name, (make, shape, count, classes, *_) in WORKLOADS.items():
        steps = dict(zip((LOOP, THEIRS, RUN), steps_of(make, shape, count, classes), strict=True))
        check_losses(name, {kind: [step() for _ in range(20)] for kind, step in steps.items()}, 1e-7)
        contestants |= {f"{name}: {kind}": many(step) for kind, step in steps.items()}
    timings = in_turns(contestants, rounds=5 if quick else 31, seconds=0.05)
    ratios, goals = {}, {}
    for name, (*_, of_theirs, of_run) in WORKLOADS.items():
        own = timings[f"{name}: {LOOP}"].median
        for kind, goal in ((THEIRS, of_theirs), (RUN, of_run)):
            ratio = own / timings[f"{name}: {kind}"].median
            ratios[f"{name} / {kind}"] = round(ratio, 2)
            goals[f"{name}, share of {kind}"] = at_most(ratio, goal, "")
    print(ratios)
    return timings, {"ratios": ratios, "goals": goals}


def many(step: Callable[[], float]) -> Callable[[int], None]:
    def work(count: int) -> None:
        for _ in range(count):
            step()

    return work


def steps_of(make: Any, shape: tuple[int, ...], count: int, classes: int) -> list[Callable[[], float]]:
    """A step of the loop, of PyTorch's, and of a Run, each from the same weights; they return the loss."""
    random = np.random.default_rng(0)
    x = random.normal(size=(count, *shape))
    y = random.integers(0, classes, count) if classes else random.normal(size=(count, 3))
    one, other, theirs = make(nn), make(nn), make(torch.nn).double()
    for net in (other, theirs):
        net.load_state_dict({name: torch.tensor(np.asarray(part)) for name, part in one.state_dict().items()})
    losses = [(space.CrossEntropyLoss if classes else space.MSELoss)() for space in (nn, nn, torch.nn)]
    rules = [
        space.Adam(net.parameters(), lr=1e-4) for space, net in ((optim, one), (optim, other), (torch.optim, theirs))
    ]
    run = sv.Run(other, losses[1], rules[1], (x, y), engine="numba", dtype="float64")

    def by_hand(net: Any, loss: Any, rule: Any, x: Any, y: Any) -> float:
        rule.zero_grad()
        total = loss(net(x), y)
        total.backward()
        rule.step()
        return float(total.item())

    def by_run() -> float:
        run.step(1)
        return run.loss

    given = torch.tensor(x), torch.tensor(y)
    return [
        lambda: by_hand(one, losses[0], rules[0], x, y),
        lambda: by_hand(theirs, losses[2], rules[2], *given),
        by_run,
    ]


if __name__ == "__main__":
    main()
