"""The network of the scene `microgpt` in PyTorch, as one writes it for batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from _peer_script import BETAS, EPS, LR
from torch.nn import functional as F

torch.set_num_threads(1)
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class GPT(torch.nn.Module):
    """The same weights by the same names."""

    def __init__(self, arrays: Mapping[str, Any], heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.weights = torch.nn.ParameterDict(
            {name.removesuffix(".weight").removeprefix("layers.0."): torch.tensor(array, dtype=torch.float32)
             for name, array in arrays.items()}
        )  # fmt: skip

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(batch, places) numbers of letters to (batch, places, tokens)."""
        w = self.weights
        embd = w["q"].shape[0]
        batch, places = ids.shape
        x = F.embedding(ids, w["token"]) + w["position"][:places]
        x = F.rms_norm(x, (embd,), eps=1e-5)
        normed = F.rms_norm(x, (embd,), eps=1e-5)
        q, k, v = (
            F.linear(normed, w[name]).view(batch, places, self.heads, -1).transpose(1, 2) for name in ("q", "k", "v")
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(seen.transpose(1, 2).reshape(batch, places, embd), w["o"])
        hidden = F.relu(F.linear(F.rms_norm(x, (embd,), eps=1e-5), w["up"]))
        return F.linear(x + F.linear(hidden, w["down"]), w["letters"])


def tensors(inputs: Any, targets: Any, cut: bool) -> Batch:
    """Letters, those that follow, and their shares; `cut` to the longest name of the batch."""
    context = inputs.shape[1]
    shares = targets[:, context:]
    longest = int((shares > 0).sum(axis=1).max()) if cut else context
    kinds = (torch.int64, torch.int64, torch.float32)
    parts = (inputs[:, :longest], targets[:, :longest], shares[:, :longest])
    ids, following, part = (torch.tensor(array, dtype=kind) for array, kind in zip(parts, kinds, strict=True))
    return ids, following.flatten(), part.flatten()


def steps(arrays: Mapping[str, Any], batches: Sequence[Batch], heads: int) -> Callable[[int], float]:
    """The usual loop over batches that are there already; returns the loss of the last step."""
    model, done = GPT(arrays, heads), 0
    optimiser = torch.optim.Adam(model.parameters(), lr=LR, betas=BETAS, eps=EPS, fused=True)

    def some(count: int) -> float:
        nonlocal done
        loss = torch.tensor(0.0)
        for _ in range(count):
            ids, following, shares = batches[done % len(batches)]
            done += 1
            optimiser.zero_grad(set_to_none=True)
            logits = model(ids)
            each = F.cross_entropy(logits.view(-1, logits.shape[-1]), following, reduction="none")
            loss = torch.dot(each, shares) / len(ids)
            loss.backward()
            optimiser.step()
        return loss.item()

    return some
