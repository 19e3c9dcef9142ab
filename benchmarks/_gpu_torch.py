"""PyTorch on the GPU as a contestant: the usual loop, and the same captured as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _peer_torch
import torch
from _workloads import LR, Workload

WARM_UP = 3
"""Steps before a capture, which PyTorch asks for; they are taken back."""


def there() -> bool:
    """Whether PyTorch has a GPU."""
    return bool(torch.cuda.is_available())


def allow_tf32(allowed: bool) -> None:
    """Whether float32 products may be rounded to TF32's ten bits; a capture keeps what it was made with."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


class Trained:
    """A workload's network in PyTorch, with its data, on a device.

    Parameters
    ----------
    work : Workload
    dtype : {"float32", "float64"}
    device : str
    tf32 : bool
    graph : bool
        Capture a step once and replay it.
    """

    def __init__(
        self, work: Workload, dtype: str, device: str = "cuda", tf32: bool = False, graph: bool = False
    ) -> None:
        self.tf32 = tf32
        kind = getattr(torch, dtype)
        self.model = _peer_torch.network(work).to(device=device, dtype=kind)
        self.x, self.y = (torch.tensor(a, dtype=kind, device=device) for a in work.data())
        options: dict[str, Any] = {"lr": LR, "fused": True}
        if work.optimiser == "Adam":
            options["capturable"] = device == "cuda"
        self.optimiser = getattr(torch.optim, work.optimiser)(self.model.parameters(), **options)
        self.loss_of = torch.nn.MSELoss()
        self.loss: Any = None
        self._replay: Callable[[], None] | None = self._captured() if graph else None

    def _step(self, set_to_none: bool = True) -> None:
        self.optimiser.zero_grad(set_to_none=set_to_none)
        self.loss = self.loss_of(self.model(self.x), self.y)
        self.loss.backward()
        self.optimiser.step()

    def _captured(self) -> Callable[[], None]:
        """Warm up beside the main stream, take the steps back, capture one."""
        allow_tf32(self.tf32)
        before = [p.detach().clone() for p in self.model.parameters()]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self._step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self.optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self.loss = self.loss_of(self.model(self.x), self.y)
            self.loss.backward()
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=False)
        with torch.no_grad():
            for parameter, numbers in zip(self.model.parameters(), before, strict=True):
                parameter.copy_(numbers)
                for state in self.optimiser.state[parameter].values():
                    if isinstance(state, torch.Tensor):
                        state.zero_()
        return graph.replay

    def steps(self, count: int) -> float:
        """So many steps; the loss of the last one, waited for."""
        allow_tf32(self.tf32)
        for _ in range(count):
            if self._replay is None:
                self._step()
            else:
                self._replay()
        return float(self.loss.item())


def contestants(work: Workload, dtype: str, device: str = "cuda") -> dict[str, Callable[[int], float]]:
    """Eager and, on a GPU, as a graph; in float32 with TF32 too."""
    found = {}
    for tf32 in (False, True) if dtype == "float32" and device == "cuda" else (False,):
        for graph in (False, True) if device == "cuda" else (False,):
            name = f"PyTorch {'graph' if graph else 'eager'}{', TF32' if tf32 else ''}"
            found[name] = Trained(work, dtype, device, tf32, graph).steps
    return found
