"""One training step of the rgb scene: the numba engine against PyTorch, one thread each, side by side.

    python benchmarks/rgb_vs_pytorch.py

A layer of 3 x 3 weights with bias and sigmoid, mean squared error, SGD, float32, batch 1024 = the whole data set; and
the same with hidden layers. PyTorch runs its usual eager loop (zero_grad, forward, loss, backward, step). Both start
from the same weights and must end at the same loss. Needs the extras ``oracle`` and ``bench``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise

from _timing import Timing, in_turns, pin_threads, write_report

pin_threads(1)

import numpy as np  # noqa: E402
import torch  # noqa: E402

from scalarviz import Run, nn, optim  # noqa: E402

SAMPLES = 1024
NETS = {"rgb": (), "rgb --hidden 16,16": (16, 16)}
LR = 0.5


def network(hidden: tuple[int, ...]) -> nn.Sequential:
    sizes = (3, *hidden, 3)
    layers: list[nn.Module] = []
    for k, (n, m) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(n, m, seed=k), nn.Sigmoid() if m == 3 and k == len(hidden) else nn.Tanh()]
    return nn.Sequential(*layers)


def twin(net: nn.Sequential) -> torch.nn.Sequential:
    """The same network with the same weights in PyTorch."""
    layers: list[torch.nn.Module] = []
    for layer in net:
        if isinstance(layer, nn.Linear):
            copy = torch.nn.Linear(len(layer.weight[0]), len(layer.weight))
            copy.weight.data = torch.tensor(layer.weight.data, dtype=torch.float32)
            copy.bias.data = torch.tensor(layer.bias.data, dtype=torch.float32)
            layers.append(copy)
        else:
            layers.append(torch.nn.Sigmoid() if isinstance(layer, nn.Sigmoid) else torch.nn.Tanh())
    return torch.nn.Sequential(*layers)


def pytorch(net: torch.nn.Sequential, x: np.ndarray, y: np.ndarray) -> tuple[str, Callable[[int], float]]:
    inputs, targets = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    optimiser, loss_of = torch.optim.SGD(net.parameters(), lr=LR), torch.nn.MSELoss()

    def steps(count: int) -> float:
        for _ in range(count):
            optimiser.zero_grad()
            loss = loss_of(net(inputs), targets)
            loss.backward()
            optimiser.step()
        return loss.item()

    return "PyTorch eager", steps


def scalarviz(net: nn.Sequential, x: np.ndarray, y: np.ndarray) -> tuple[str, Callable[[int], float]]:
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=LR), (x, y), batch_size=SAMPLES, engine="numba")

    def steps(count: int) -> float:
        run.step(count)
        return run.loss

    return f"scalarviz, {run.engine}", steps


def compare(name: str, rounds: int) -> tuple[dict[str, Timing], float]:
    rng = np.random.default_rng(0)
    x = rng.random((SAMPLES, 3))
    net = network(NETS[name])
    contestants = dict([pytorch(twin(net), x, 1 - x), scalarviz(net, x, 1 - x)])
    losses = [work(200) for work in contestants.values()]
    if not np.isclose(losses[0], losses[1], rtol=1e-3):
        raise SystemExit(f"{name}: the losses after 200 steps differ: {losses}")
    timings = in_turns(contestants, rounds=rounds)
    slow, fast = timings.values()
    return timings, slow.median / fast.median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    everything, ratios = {}, {}
    for name in NETS:
        timings, ratios[name] = compare(name, rounds)
        for label, timing in timings.items():
            print(f"{name:20} {label:26} {timing}")
            everything[f"{name}: {label}"] = timing
        print(f"{name:20} {ratios[name]:.1f} times as fast")
    packages = ("numpy", "numba", "llvmlite", "torch")
    print("written", write_report("rgb_vs_pytorch", everything, packages, unit="one training step", ratios=ratios))


if __name__ == "__main__":
    main()
