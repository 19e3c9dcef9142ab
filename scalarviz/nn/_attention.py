"""`MultiheadAttention`: each position takes values from the others, in shares that it computes itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import flag, real_array
from ..errors import InputError
from ..scalar import Value, Weight, dot
from ..scalar.array import Values, like, row_of
from ..scalar.functions import shares as shares_of
from ..scalar.nested import shape_of
from ..scalar.sums import Dot, Row
from ._draws import pytorch_default, xavier_uniform
from ._inputs import as_input, titled
from ._linear import Linear, count
from ._module import Module
from ._parameter import Parameter

Vector = list[Value]
Mask = list[list[float]]
"""Numbers added to the score of each pair of positions; -inf if the pair must not meet."""


class MultiheadAttention(Module):
    """Scaled dot-product attention of several heads, over the positions of one sample.

    In each head ``softmax(q . k / sqrt(d))`` gives the shares in which a position takes the values ``v`` of all
    positions. q, k and v are weighted sums of `query`, `key` and `value`; d is ``embed_dim / num_heads``.

    Parameters
    ----------
    embed_dim : int
        Numbers in each position.
    num_heads : int
        Must divide `embed_dim`.
    bias : bool
        Whether the sums have biases.
    seed : int, optional
        Seed of the initial values, see :class:`Linear`.
    batch_first : True
        PyTorch's argument; a sample has no batch axis. PyTorch's own default is False.

    Attributes
    ----------
    in_proj_weight : Parameter, shape (3 * embed_dim, embed_dim)
        The stacked weights of q, k and v, as in PyTorch.
    in_proj_bias : Parameter, shape (3 * embed_dim,), or None
    out_proj : Linear
        Joins the heads.

    Raises
    ------
    InputError
        A size is below 1, or `num_heads` does not divide `embed_dim`; when called: other shapes, or a position whose
        mask excludes all.

    Examples
    --------
    >>> attention = MultiheadAttention(4, 2, seed=0)
    >>> positions = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]]
    >>> outputs, weights = attention(positions, positions, positions, is_causal=True)
    >>> outputs.shape, weights[0].data.round(2).tolist()
    ((2, 4), [1.0, 0.0])
    """

    def __init__(
        self, embed_dim: int, num_heads: int, bias: bool = True, seed: int | None = None, *, batch_first: bool = True
    ) -> None:  # fmt: skip
        self.embed_dim = count(embed_dim, "MultiheadAttention: embed_dim")
        self.num_heads = count(num_heads, "MultiheadAttention: num_heads")
        if self.embed_dim % self.num_heads:
            raise InputError(
                f"MultiheadAttention: embed_dim={self.embed_dim} must be divisible by num_heads={self.num_heads}"
            )
        if not flag(batch_first, "MultiheadAttention: batch_first"):
            raise InputError("MultiheadAttention: batch_first must be True, as a sample is (positions, embed_dim)")
        rows, biased = 3 * self.embed_dim, flag(bias, "MultiheadAttention: bias")
        self.in_proj_weight = Parameter.filled(0.0, (rows, self.embed_dim), self._title())
        self.in_proj_bias = Parameter.filled(0.0, (rows,), self._title()) if biased else None
        self.out_proj = Linear(self.embed_dim, self.embed_dim, bias=biased)
        self.initialize(_start, seed)

    def __call__(  # type: ignore[override]
        self, query: Any, key: Any, value: Any, need_weights: bool = True, attn_mask: Any = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Values, Any]:  # fmt: skip
        """Return the attention of one sample.

        Parameters
        ----------
        query, key, value : arrays of shape (L, embed_dim), (S, embed_dim) and (S, embed_dim)
            L query positions, and S key and value positions. Lists of rows work too.
        need_weights : bool
            Whether to return the shares as well.
        attn_mask : array_like, shape (L, S), optional
            True where two positions must not meet; or numbers, which are added to the scores.
        average_attn_weights : bool
            Return the mean of the heads' shares; else those of each head.
        is_causal : bool
            A position sees only itself and earlier ones. No mask is needed.

        Returns
        -------
        outputs : array of Values, shape (L, embed_dim)
        weights : array of Values, shape (L, S) or (heads, L, S), or None
        """
        q, k, v = (as_input(positions, self) for positions in (query, key, value))
        self._check(q, k, v)
        mask = self._mask(attn_mask, len(q), len(k), flag(is_causal, "MultiheadAttention: is_causal"))
        needed = flag(need_weights, "MultiheadAttention: need_weights")
        mean = flag(average_attn_weights, "MultiheadAttention: average_attn_weights")
        outputs, shares = self._attend(q, k, v, mask)
        self._keep([q, k, v, mask], outputs)
        if not needed:
            return outputs, None
        return outputs, np.ndarray.view(row_of(_averaged(shares) if mean else shares), type(outputs))

    def forward(self, query: Any, key: Any, value: Any) -> Values:
        """Return the outputs of one sample in which every position sees all."""
        self._check(query, key, value)
        return self._attend(query, key, value, [[0.0] * len(key)] * len(query))[0]

    def _attend(self, query: Values, key: Values, value: Values, mask: Mask) -> tuple[Values, list[list[Vector]]]:
        """Return the outputs, and the shares by head, query position and key position."""
        q, k, v = (self._projected(part, rows.tolist()) for part, rows in enumerate((query, key, value)))
        size = self.embed_dim // self.num_heads
        heads, shares = [], []
        for h in range(self.num_heads):
            span = slice(h * size, (h + 1) * size)
            own = [x[span] for x in q], [x[span] for x in k], [x[span] for x in v]
            made, taken = _one_head(*own, mask)
            heads.append(made)
            shares.append(taken)
        mixed = like(query, [x for i in range(len(q)) for head in heads for x in head[i]], (len(q), self.embed_dim))
        return self.out_proj(mixed), shares

    def _projected(self, part: int, positions: list[Vector]) -> list[Vector]:
        """Return q (part 0), k (1) or v (2) of every position."""
        n, bias, found = self.embed_dim, self.in_proj_bias, []
        for x in positions:
            xs = tuple(x)
            rows = range(part * n, (part + 1) * n)
            biases = [None if bias is None else Row(bias, r, 1) for r in rows]
            found.append(
                [Dot.create(Row(self.in_proj_weight, r * n, n), xs, b) for r, b in zip(rows, biases, strict=True)]
            )
        return found

    def _check(self, query: Any, key: Any, value: Any) -> None:
        shapes = [shape_of(part) for part in (query, key, value)]
        fits = all(len(shape) == 2 and shape[1] == self.embed_dim and shape[0] > 0 for shape in shapes)
        if not fits or shapes[1][0] != shapes[2][0]:
            raise InputError(
                f"{self._title()}: query, key and value must be arrays of rows of {self.embed_dim} numbers, with as "
                f"many keys as values; got the shapes {', '.join(map(str, shapes))}"
            )

    def _mask(self, given: Any, asking: int, offering: int, causal: bool) -> Mask:
        mask = np.zeros((asking, offering))
        if given is not None:
            array = real_array(given, f"{self._title()}: attn_mask")
            if array.shape != mask.shape:
                raise InputError(f"{self._title()}: attn_mask must have the shape {mask.shape}, got {array.shape}")
            mask = np.where(array, -np.inf, 0.0) if array.dtype == bool else array.astype(np.float64)
        if causal:
            mask = np.where(np.tri(asking, offering, dtype=bool), mask, -np.inf)
        if np.isnan(mask).any() or (mask == np.inf).any():
            raise InputError(
                f"{self._title()}: attn_mask holds NaN or +inf; allowed are numbers, and -inf to hide a position"
            )
        blind = np.flatnonzero((mask == -np.inf).all(axis=1))
        if len(blind):
            raise InputError(f"{self._title()}: attn_mask hides all keys from query {blind[0]}")
        return mask.tolist()

    def constant_start(self, part: Parameter | Weight) -> float | None:
        return 0.0 if part is self.in_proj_bias else None

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """Return the fans as PyTorch counts them: for the three matrices together."""
        return self.embed_dim, 3 * self.embed_dim

    def _title(self) -> str:
        return titled(self, f"MultiheadAttention({self.embed_dim}, {self.num_heads})")

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, bias={self.in_proj_bias is not None}"


def _one_head(q: list[Vector], k: list[Vector], v: list[Vector], mask: Mask) -> tuple[list[Vector], list[Vector]]:
    """Return the mixed values of each position of one head, and their shares."""
    scale = 1.0 / math.sqrt(len(q[0]))
    mixed, shares = [], []
    for asking, added in zip(q, mask, strict=True):
        seen = [j for j, number in enumerate(added) if number != -math.inf]
        scores = [dot(asking, k[j]) * scale for j in seen]
        taken = shares_of([s + added[j] if added[j] else s for s, j in zip(scores, seen, strict=True)])
        mixed.append([dot(taken, [v[j][c] for j in seen]) for c in range(len(v[0]))])
        row = [Value(0.0)] * len(added)
        for share, j in zip(taken, seen, strict=True):
            row[j] = share
        shares.append(row)
    return mixed, shares


def _averaged(shares: list[list[Vector]]) -> list[Vector]:
    part = [1.0 / len(shares)] * len(shares)
    return [[dot(part, list(each)) for each in zip(*rows, strict=True)] for rows in zip(*shares, strict=True)]


def _start(shape: Sequence[int], fan_in: int, fan_out: int, draw: Any) -> Any:
    """Initialise as PyTorch does: the three matrices by Xavier's rule, `out_proj` by `Linear`'s; biases are 0."""
    square = shape[0] == shape[1]
    rule = pytorch_default() if square else xavier_uniform()
    return rule(tuple(shape), fan_in, fan_out, draw)
