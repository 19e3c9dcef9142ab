"""Forwards drawn at random, as texts for `kit.same_text`: rows, sequences, words, signals and pictures.

A move is the text of an expression of `h`, the array so far, or whole lines. In it ``#N.Linear(2, 3)#`` becomes a part
of the network, and ``$n``, ``$t``, ``$c``, ``$s`` become the last side, the second last, the third last, and all. `k`
is an array of the same shape.
"""

from __future__ import annotations

import math
import re
from random import Random
from string import Template
from typing import Any

from .same_text import Text

Shape = tuple[int, ...]
Move = tuple[str, Shape]
MOST = 40
"""The most numbers that one array of a sample holds."""
ALONE = """
h.tanh() | h.sigmoid() | h.relu() + 0.1 | h * 2 | 1 - h | -h / 3 | h ** 2 / 2 | (h * h + 1).sqrt()
h.abs() + h | h.clamp(-1, 1) | h.clamp(min=-0.5) | h.sin() | (h.clamp(max=2) / 2).exp() | 2 / (h.square() + 1)
T.tanh(h) | T.cos(h) - 1 | T.where(h > 0, h, 0.3 * h) | (h < 0.2) * h | F.gelu(h) | F.silu(h) | F.elu(h)
F.softplus(h) | F.leaky_relu(h, 0.2) | torch.tanh(h) | torch.relu(h) - h / 4 | h.masked_fill(h > 1, 0.5)
h * h.shape[-1] / 4 | h / h.size(-1) ** 0.5 | np.tanh(h) | T.maximum(h, 0.1 * h) * 1.5
h - h.detach() / 2 | #Block($n)#(h, scale=0.5) | #Block($n)#(h, h * h, tanh=True) | F.normalize(h + 2, dim=-1)
#N.Tanh()#(h) | #N.Sigmoid()#(h) | #N.ReLU()#(h) | #N.GELU()#(h) | #N.SiLU()#(h) | #N.ELU()#(h)
#N.Softplus()#(h) | #N.LogSigmoid()#(h) | #N.PReLU()#(h) | #N.LeakyReLU(0.1)#(h) | #N.ReLU6()#(h)
#N.Identity()#(h) | #N.Dropout(0.4)#(h) | h * #N.Parameter(P(1))# + x.shape[-1] | h *= 2 | h += 1
h -= 0.5; h /= 3 | h[..., 0] = 0.5 | h[..., -1:] *= 2 | T.cat([h[..., 1:], h[..., :1]], -1)
"""
LAST = """
h - h.mean(-1, keepdim=True) | h.softmax(-1) | F.softmax(h, dim=-1) | T.log_softmax(h, -1)
torch.softmax(h, dim=-1) | h - h.max(-1, keepdim=True).values | h * h.sum(dim=-1, keepdim=True)
h / (h.var(-1, unbiased=False, keepdim=True) + 1)
(h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True, correction=0) + 0.5).sqrt()
h * h.amax(-1, keepdim=True) | h - h.logsumexp(-1, keepdim=True) | h * h[..., :1] | h + h[..., -1:]
h * (h * h).mean(-1).unsqueeze(-1) | T.cat([h, h[..., :1] * 2], dim=-1)[..., 1:] | #N.Softmax(dim=-1)#(h)
#N.LogSoftmax(dim=-1)#(h) | #N.LayerNorm($n, eps=0.1)#(h) | #N.RMSNorm($n, eps=0.1)#(h)
#N.Parameter(P($n))# * h | h + #N.Parameter(P(1, $n))# | T.tanh(#N.Linear($n, $n)#(h))
h + #N.Linear(5, $n)#(F.relu(#N.Linear($n, 5)#(h))) | h + #N.Linear($n, $n, False)#(h)
f = #N.Linear($n, $n)#; h = f(f(h).tanh())
p, q = #N.Linear($n, 2 * $n)#(h).chunk(2, dim=-1); h = p * q.sigmoid()
p, q = #N.Linear($n, 2 * $n)#(h).split($n, dim=-1); h = p * F.silu(q) | h - #N.Parameter(P(*$s))#
fs, g = #L([N.Linear($n, $n), N.Tanh()])#, #N.Linear($n, 2)#(h); h = sum(g[..., j:j + 1] * fs[j](h) for j in (0, 1))
#N.Sequential(N.Linear($n, 3), N.GELU(), N.Linear(3, $n))#(h) + h | h * #N.Parameter(P(1, *$s))#
"""
JOINED = """
h + k | h - k | h * k | (h + k) / 2 | h * k.sigmoid() | T.maximum(h, k + 0.01) | T.where(h > k, h, k * 2)
h / (k * k + 1) | h += k | h *= k | h -= k / 2 | T.stack([h, k], -1).sum(-1)
T.stack([h, k], -1).max(-1).values | torch.where(k < 0, h, k)
"""
SEQUENCES = """
h + #N.Linear($t, $t)#(h.transpose(-2, -1)).transpose(-2, -1) | h + #N.MultiheadAttention($n, 1)#(h, h, h)[0]
h + #N.MultiheadAttention($n, 1)#(h, h, h, attn_mask=later($t))[0] | T.cat([h[..., 1:, :], h[..., :1, :]], -2)
s = #N.Linear($n, 3)#(h) @ #N.Linear($n, 3)#(h).transpose(-2, -1) / 3 ** 0.5; h = s.softmax(-1) @ #N.Linear($n, $n)#(h)
s = (h @ h.transpose(-1, -2)).masked_fill(later($t), float('-inf')); h = F.softmax(s, dim=-1) @ #N.Linear($n, $n)#(h)
h - h.mean(-2, keepdim=True) | h.softmax(-2) | h * h.mean((-2, -1), keepdim=True) | #N.BatchNorm1d($t)#(h)
#N.GroupNorm(1, $t, eps=0.1)#(h) | #N.LayerNorm($s, eps=0.1)#(h) | T.stack([h, h * 2], -3).mean(-3)
#N.PReLU($t)#(h) | T.stack([h[..., j, :] * (j + 1) for j in range($t)], -2) | h * #N.Parameter(P($t, 1))#
h * #N.Parameter(P(1, $t, 1))# | #N.Conv1d($t, $t, 3, padding=1)#(h) | h @ h.transpose(-2, -1) @ h / 4
"""
PICTURES = """
h + F.relu(#N.Conv2d($c, $c, 3, padding=1)#(h)) | #N.BatchNorm2d($c)#(h) | #N.PReLU($c)#(h)
#N.GroupNorm(1, $c, eps=0.1)#(h) | #N.Conv2d($c, $c, 3, padding='same', groups=$c)#(h)
h * #N.Linear($c, $c)#(h.mean((-2, -1))).sigmoid()[..., None, None] | h - h.mean(-3, keepdim=True)
h * #N.Linear($c, $c)#(h.amax((-2, -1))).tanh().unsqueeze(-1).unsqueeze(-1)
h + #N.Parameter(P(1, $c, 1, 1))# | h - h.mean((-2, -1), keepdim=True) | h * #N.Parameter(P($c, 1, 1))#
"""
CONTAINERS = (
    ("{}, {}", "o[0]", "o[1]"), ("[{}, {}]", "o[0]", "o[1]"), ("{{'a': {}, 'b': {}}}", "o['a']", "o['b']"),
    ("{{'a': ({}, [{}])}}", "o['a'][0]", "o['a'][1][0]"), ("[{}, {{'b': ({},)}}]", "o[0]", "o[1]['b'][0]"),
)  # fmt: skip


class Drawn:
    """A text that grows: what its network has, the lines so far, the arrays whose shapes are known."""

    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.made: list[str] = []
        self.lines: list[str] = []
        self.known: dict[str, Shape] = {}

    def let(self, name: str, text: str, shape: Shape) -> None:
        """Add the lines of a move."""
        now = self.known.get("h", shape)
        *_, c, t, n = (0, 0, *now)
        text = re.sub(r"#([^#]+)#", self._part, Template(text).substitute(n=n, t=t, c=c, s=now))
        if re.match(
            r"h(\[.*?\])? (.=|=) ", text
        ):  # in place, which PyTorch allows where nothing else needs the old one
            text = f"h = h * 1; {text}"
        self.lines.append(text if re.match(r"[a-z, ]+ = ", text) else f"{name} = {text}")
        self.known[name] = shape

    def _part(self, found: re.Match[str]) -> str:
        self.made.append(f"self.m{len(self.made)} = {found[1]}")
        return f"self.m{len(self.made) - 1}"

    def move(self) -> None:
        """Make one move that fits the shape of `h`."""
        r, shape = self.r, self.known["h"]
        others = [name for name, known in self.known.items() if known == shape and name != "h"]
        by_sides = {1: [None], 2: [SEQUENCES, SEQUENCES, None], 3: [PICTURES, PICTURES, None]}[len(shape)]
        table = r.choice([ALONE, *([LAST] * (shape[-1] > 1)), *([JOINED] * bool(others)), None, None, *by_sides])
        if r.random() < 0.15:
            self.let(f"s{len(self.known)}", "h", shape)
        if table is not None:
            text = r.choice(r.choice(table.strip().split("\n")).split(" | "))
            self.let("h", re.sub(r"\bk\b", r.choice(others), text) if table is JOINED else text, shape)
            return
        moves = {1: self.of_rows, 2: self.of_sequences, 3: self.of_pictures}[len(shape)](*shape)
        text, left = r.choice([r.choice(self.sideways(shape)), r.choice(moves)])
        if 0 < math.prod(left) <= MOST:
            self.let("h", text, left)

    def sideways(self, shape: Shape) -> list[Move]:
        """Return moves that change the last side."""
        r, (*above, n) = self.r, shape
        wide, cut = r.choice([2, 3, 4]), r.randrange(n)
        moves = [
            (f"#N.Linear($n, {wide})#(h)", wide), (f"h @ #N.Parameter(P($n, {wide}))# / 2", wide),
            (f"torch.matmul(h, #N.Parameter(P($n, {wide}))#)", wide), (f"h[..., {r.sample(range(n), n)}]", n),
            (f"h[..., {cut}:]", n - cut), ("h[..., ::2]", (n + 1) // 2), ("T.cat([h, h.tanh()], dim=-1)", 2 * n),
        ]  # fmt: skip
        for k, known in self.known.items():
            if k != "h" and known[:-1] == shape[:-1] and len(known) == len(shape):
                word = r.choice(["T.cat([h, {}], -1)", "torch.cat(({}, h), dim=-1)", "np.concatenate([h, {}], -1)"])
                moves.append((word.format(k), n + known[-1]))
        return [(text, (*above, left)) for text, left in moves]

    def of_rows(self, n: int) -> list[Move]:
        """Return moves of a row."""
        moves = [
            ("h.unsqueeze(-1) * h.unsqueeze(-2)", (n, n)), ("h[..., None] - h[..., None, :]", (n, n)),
            ("#N.BatchNorm1d($n)#(h)", (n,)), ("#N.GroupNorm(1, $n, eps=0.1)#(h)", (n if n > 1 else 0,)),
            ("T.stack([h, h.tanh()], -2)", (2, n)), ("T.stack([h, h * 2], dim=-1)", (n, 2)),
        ]  # fmt: skip
        for a in (2, 3):
            if n % a == 0 and n > a:
                b = n // a
                moves += [
                    (f"h.view(h.size(0), {a}, {b})", (a, b)), (f"h.reshape(h.shape[0], {a}, -1)", (a, b)),
                    (f"#N.Unflatten(({a}, {b}))#(h)", (a, b)), (f"h.view(*h.shape[:-1], {a}, {b})", (a, b)),
                ]  # fmt: skip
        return moves

    def of_sequences(self, t: int, n: int) -> list[Move]:
        """Return moves of rows."""
        out, wide, stride = self.r.choice([2, 3]), self.r.choice([1, 2, 3]), self.r.choice([1, 2])
        left = (n + wide // 2 * 2 - wide) // stride + 1
        moves = [
            ("h.transpose(-2, -1)", (n, t)), ("h.permute(0, 2, 1)", (n, t)),
            ("h[..., 1:, :] - h[..., :-1, :]", (t - 1, n)), ("T.cat([h, h * 2], dim=-2)", (2 * t, n)),
            ("h[..., ::2, :]", ((t + 1) // 2, n)),
            (f"#N.Conv1d($t, {out}, {wide}, stride={stride}, padding={wide // 2})#(h)", (out, left)),
            (f"a, b = #N.Linear($n, 3)#, #N.Linear(3, 3)#; z = a(h[..., 0, :]).tanh()\n"
             f"for j in range(1, {t}): z = T.tanh(a(h[..., j, :]) + b(z))\nh = z", (3,)),
            *self.flat(t, n), *self.flat(t, n), ("h.mean(-2)", (n,)), ("h[..., -1, :]", (n,)), ("h.sum(dim=-1)", (t,)),
            ("h.max(-2).values", (n,)), ("h.amax(-1)", (t,)), ("h[..., 0, :] * h.sum(-2)", (n,)),
        ]  # fmt: skip
        if n > 2:
            moves += [
                ("#N.MaxPool1d(2)#(h)", (t, n // 2)),
                ("#N.AvgPool1d(2)#(h)", (t, n // 2)),
                ("#N.AdaptiveAvgPool1d(2)#(h)", (t, 2)),
            ]
        return moves

    def of_pictures(self, c: int, high: int, wide: int) -> list[Move]:
        """Return moves of pictures."""
        out, side, pad = self.r.choice([1, 2, 3]), self.r.choice([1, 2, 3]), self.r.choice([0, 1])
        left = tuple(max(n + 2 * pad - side + 1, 0) for n in (high, wide))
        moves = [
            (f"#N.Conv2d($c, {out}, {side}, padding={pad})#(h)", (out, *left)), ("h.flatten(-2)", (c, high * wide)),
            ("h.permute(0, 2, 3, 1)", (high, wide, c)), ("h.transpose(-2, -1)", (c, wide, high)),
            ("h.mean(-3)", (high, wide)), ("h.flatten(-2).transpose(-2, -1)", (high * wide, c)),
            ("h[..., ::2, :]", (c, (high + 1) // 2, wide)),
            ("T.cat([h, h * h], -3)", (2 * c, high, wide)), *self.flat(c, high, wide), ("h.mean((-2, -1))", (c,)),
            ("h.amax((-2, -1))", (c,)), ("h.flatten(-2).max(-1).values", (c,)), ("h[..., 0, :, :]", (high, wide)),
        ]  # fmt: skip
        if min(high, wide) > 1:
            moves += [(f"#N.{kind}Pool2d(2)#(h)", (c, high // 2, wide // 2)) for kind in ("Max", "Avg")]
            moves += [
                ("#N.AdaptiveAvgPool2d((2, 1))#(h)", (c, 2, 1)),
                ("#N.MaxPool2d(2, 1)#(h)", (c, high - 1, wide - 1)),
            ]
        return moves

    @staticmethod
    def flat(*shape: int) -> list[Move]:
        """Return moves to one row."""
        whole = (
            "h.flatten(1)",
            "h.reshape(h.size(0), -1)",
            "torch.flatten(h, 1)",
            "#N.Flatten()#(h)",
            "h.reshape(h.shape[0], -1)",
        )
        return [(text, (math.prod(shape),)) for text in whole]


def drawn(seed: int) -> Text:
    """Return the text that `seed` draws."""
    one = Drawn(seed)
    r, kind, side = one.r, ("row", "sequence", "words", "signal", "picture")[seed % 5], one.r.choice([2, 3, 4])
    shape: Shape = {
        "row": (r.choice([2, 4, 6]),), "sequence": (side, r.choice([2, 4])), "words": (side,),
        "signal": (2, r.choice([4, 6])), "picture": (r.choice([1, 2]), side, r.choice([3, side])),
    }[kind]  # fmt: skip
    if kind == "words":
        wide = r.choice([2, 4])
        place = r.choice(["#N.Parameter(P(1, $t, $n))#", "#N.Embedding(6, $n)#.weight[:x.shape[-1]]", "0.1"])
        one.let("h", f"#N.Embedding(5, $n)#(x) + {place}", (side, wide))
    else:
        one.known["x"] = shape
        one.let("h", "x * 1", shape)
    for _ in range(r.randint(2, 6)):
        one.move()
    while len(one.known["h"]) > 1 and r.random() < 0.8:
        sides = one.known["h"]
        one.let("h", *r.choice([*one.flat(*sides), (f"h.mean({-2 if len(sides) == 2 else (-3, -2)})", sides[-1:])]))
    return ended(one, shape, 5 if kind == "words" else 0)


def ended(one: Drawn, shape: Shape, words: int) -> Text:
    """End a text by its outputs: an array, classes, or several arrays in containers."""
    r, last, wide = one.r, one.known["h"], one.r.choice([1, 2, 3])
    out, more = f"#N.Linear($n, {wide})#(h)", dict[str, Any]()
    if len(last) == 1 and r.random() < 0.3:
        form, first, second = r.choice(CONTAINERS)
        text = form.format(out, "#N.Linear($n, 2)#(h).tanh()")
        loss = f"N.MSELoss()({first}, t[..., :{wide}]) + N.MSELoss()({second}, t[..., {wide}:])"
        more = {"loss": f"lambda o, t: {loss}", "targets": wide + 2}
    elif len(last) == 1 and wide > 1 and r.random() < 0.4:
        text, more = r.choice(["{}", "{} * 2"]).format(out), {"loss": "classes"}
    else:
        text = r.choice(["{}", "{} * 2", "{} / 2 + 1", "{}.squeeze(-1)" if wide == 1 else "{}.sum(-1)"]).format(out)
    one.let("y", text, ())
    return Text("; ".join(one.made), "\n".join([*one.lines, "return y"]), (shape,), words, **more)
