"""micrograd as a contestant (multi-layer perceptrons alone: it has neither maxima nor tanh)."""

from __future__ import annotations

from collections.abc import Callable

from _workloads import Workload


def micrograd_sample(work: Workload) -> Callable[[int], None]:
    """Forward, squared error and backward of single samples on micrograd's own MLP (ReLU: it has nothing else)."""
    from micrograd.nn import MLP

    net = MLP(work.sizes[0], list(work.sizes[1:]))
    x, y = (a[:8].tolist() for a in work.data())

    def run(count: int) -> None:
        for k in range(count):
            out = net(x[k % len(x)])
            outs = out if isinstance(out, list) else [out]
            sum(((o - t) ** 2 for o, t in zip(outs, y[k % len(y)], strict=True)), start=0.0).backward()
            net.zero_grad()

    return run
