"""Finding sums: what is typed with plain operators becomes as few weighted sums as a layer of the library records.

``w[0]*x[0] + w[1]*x[1] + b`` becomes a sum with parameters as weights (a row of a layer), ``a*b + c*d`` a sum of
products of rows, ``x + y + z`` a sum with numbers as weights; in a residual, ``w*x + ... + r``, the parts are found one
by one and joined. Where nothing of that is found a tree stays as it was typed: the order of additions is the user's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from .passes import as_range, readers_of, rebuild, spliced
from .tape import Node, Tape, Terms
from .typed import Bias, Pair, Plain, Side, Sum, Weighted, scaled, typed_sums

MEAN_RUN = 4
"""Neighbouring parameters that make a weighted sum of their own, on the average: two layers in one sum are two."""
FEWEST_PLAIN = 3
"""Rows in a sum that are worth an instruction of their own; of two, an addition on many rows at once is as good."""
SEVERAL = 3
"""So many sums of equally many squared differences run together as products of rows; fewer are squared errors."""


def weighted_sums(tape: Tape) -> Tape:
    """Turn sums typed with plain operators into dots."""
    found = typed_sums(tape)
    return _Builder(tape, found).tape() if found else tape


def means(tape: Tape) -> Tape:
    """Let a sum of rows with one weight for all take in the constant that it is divided by, or multiplied with."""
    uses = readers_of(tape)
    changed = {}
    for row, node in enumerate(tape.nodes):
        factor = scaled(tape.nodes, node)
        below = None if factor is None or uses[factor[1]] > 1 else tape.nodes[factor[1]]
        terms = None if below is None else below.terms
        if factor is None or below is None or terms is None or terms.kind != "const" or not terms.weights:
            continue
        if terms.bias is None and terms.offset == 0.0 and len(set(terms.weights)) == 1:
            weights = (terms.weights[0] * factor[0],) * len(terms.weights)
            changed[row] = replace(below, terms=replace(terms, weights=weights))
    return rebuild(tape, changed) if changed else tape


class _Part(NamedTuple):
    """What a sum is joined of: a node to be made, or a row that stays."""

    at: int
    sign: int
    what: Node | int


class _Builder:
    def __init__(self, tape: Tape, found: list[Sum]) -> None:
        self.old, self.nodes, self.sums = tape, tape.nodes, found
        self.changed: dict[int, Node] = {}
        self.made: list[Node] = []
        self.before: dict[int, list[int]] = {}
        self.constants: dict[float, int] = {}
        self.operands: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.uses = readers_of(tape)
        sides = [side for s in found for side in (s.added, s.subtracted)]
        self.squares = Counter(len(side.squares) for side in sides)
        self.biases: dict[object, set[int]] = {}
        """Of each block of weights in a row, all that is added to a sum with them."""
        for side in sides:
            self._propose(side)

    def tape(self) -> Tape:
        """The tape with every sum in its new form."""
        for found in self.sums:
            self._build(found)
        return spliced(self.old, self.changed, self.made, self.before) if self.changed else self.old

    # ---- which bias goes with which weights

    def _propose(self, side: Side) -> None:
        side.weighted = _sorted(side.weighted)
        if side.weighted or side.layers:
            key = self._key(side)
            self.biases.setdefault(key, set()).add(side.biases[0].weight if side.biases else -1)

    def _key(self, side: Side) -> object:
        if side.weighted:
            return side.weighted[0].weight, side.weighted[-1].weight
        terms = self.nodes[side.layers[0][1]].terms
        assert terms is not None
        return terms.weights[0], terms.weights[-1]

    def _bias(self, side: Side) -> Bias | None:
        """The bias that the first weighted sum of a side takes in.

        Layers that share their weights run together as long as they have the same biases.
        """
        if not side.biases or not (side.weighted or side.layers) or len(self.biases[self._key(side)]) > 1:
            return None
        if not side.weighted:
            terms = self.nodes[side.layers[0][1]].terms
            if terms is None or terms.bias is not None:
                return None
        return side.biases[0]

    # ---- one sum

    def _build(self, found: Sum) -> None:
        parts: list[_Part] = []
        gained = found.zeros and found.leaves > 1
        for sign, side in ((1, found.added), (-1, found.subtracted)):
            before = len(parts)
            parts += self._parts(sign, side)
            gained = gained or any(isinstance(part.what, Node) for part in parts[before:])
        alone = len(parts) == 1 and parts[0].sign > 0
        if not gained and not (alone and found.offset == 0.0):
            return
        parts.sort(key=lambda part: part.at)
        parts = self._with_offset(found, parts)
        self._join(found.row, parts)

    def _parts(self, sign: int, side: Side) -> list[_Part]:
        bias = self._bias(side)
        parts = self._dots(sign, side, bias)
        parts += [_Part(b.at, sign, b.row) for b in side.biases if b is not bias]
        pairs, plain = list(side.pairs), list(side.plain)
        parts += self._squares(sign, side.squares, pairs, plain)
        if len(pairs) > 1:
            terms = Terms("row", tuple([p.a for p in pairs]))
            parts.append(_Part(pairs[0].at, sign, Node("dot", tuple([p.b for p in pairs]), terms=terms)))
        else:
            parts += [_Part(p.at, sign, p.row) for p in pairs]
        return parts + self._plain(sign, plain, FEWEST_PLAIN)

    def _dots(self, sign: int, side: Side, bias: Bias | None) -> list[_Part]:
        """Sums whose weights are parameters."""
        parts = []
        index = None if bias is None else bias.weight
        for terms in _runs(side.weighted):
            xs = tuple([t.x for t in terms])
            node = Node(
                "dot",
                self.operands.setdefault(xs, xs),
                terms=Terms("param", as_range([t.weight for t in terms]), index),
            )
            parts.append(_Part(terms[0].at, sign, node))
            index = None
        for at, row in side.layers:
            node = self.nodes[row]
            assert node.terms is not None
            taken = index is not None and node.terms.bias is None
            parts.append(_Part(at, sign, replace(node, terms=replace(node.terms, bias=index)) if taken else row))
            index = None if taken else index
        return parts

    def _squares(self, sign: int, squares: list[Plain], pairs: list[Pair], plain: list[Plain]) -> list[_Part]:
        """Sums of squared differences with one factor; where there are many, more `pairs` and `plain` rows."""
        if self.squares[len(squares)] >= SEVERAL and len(squares) > 1:
            for s in squares:
                (below,) = self.nodes[s.x].args
                if s.number == 1.0 and not s.turned:
                    pairs.append(Pair(s.at, below, below, s.row))
                else:
                    plain.append(s)
            return []
        groups: dict[float, list[Plain]] = {}
        for s in squares:
            groups.setdefault(s.number, []).append(s)
        return [part for group in groups.values() for part in self._plain(sign, group, 2)]

    def _plain(self, sign: int, plain: list[Plain], fewest: int) -> list[_Part]:
        """Rows, as one sum or as they are."""
        if len(plain) < fewest:
            return [_Part(p.at, -sign if p.turned else sign, p.row) for p in plain]
        terms = Terms("const", tuple([p.number for p in plain]))
        return [_Part(plain[0].at, sign, Node("dot", tuple([p.x for p in plain]), terms=terms))]

    def _with_offset(self, found: Sum, parts: list[_Part]) -> list[_Part]:
        """The constants of a sum: in a part that adds a number at no cost, or as a row."""
        if found.offset == 0.0:
            return parts
        for k, part in enumerate(parts):
            if part.sign > 0 and isinstance(part.what, Node) and self._takes_offset(part.what, len(parts)):
                assert part.what.terms is not None
                terms = replace(part.what.terms, offset=found.offset)
                return [*parts[:k], part._replace(what=replace(part.what, terms=terms)), *parts[k + 1 :]]
        if found.offset not in self.constants:
            self.constants[found.offset] = self._make(0, Node("const", number=found.offset))
        return [*parts, _Part(found.leaves, 1, self.constants[found.offset])]

    def _takes_offset(self, node: Node, parts: int) -> bool:
        terms = node.terms
        if terms is None or any(self.nodes[x].code == "square" for x in node.args):
            return False  # what may become a squared error
        return terms.kind != "param" or (parts == 1 and not isinstance(terms.weights, range))

    def _make(self, before: int, node: Node) -> int:
        """A new row that stands before an old one."""
        row = len(self.nodes) + len(self.made)
        self.made.append(node)
        self.before.setdefault(before, []).append(row)
        return row

    def _join(self, top: int, parts: list[_Part]) -> None:
        """Add and subtract the parts one after the other; the last result stands at `top`."""
        first = next((part for part in parts if part.sign > 0), parts[0])
        rest = [part for part in parts if part is not first]
        if first.sign > 0 and not rest:
            self._alone(top, first.what)
            return
        row, negative = self._row(top, first.what), first.sign < 0  # nothing is added: all is added, and negated
        for k, part in enumerate(rest):
            node = Node("add" if negative or part.sign > 0 else "sub", (row, self._row(top, part.what)))
            if k == len(rest) - 1 and not negative:
                self.changed[top] = node
                return
            row = self._make(top, node)
        self.changed[top] = Node("neg", (row,))

    def _alone(self, top: int, what: Node | int) -> None:
        if isinstance(what, Node):
            self.changed[top] = what
        elif self.uses[what] == 1 and self.nodes[what].code in ("mul", "dot"):  # ``0 + a*b``, not ``relu(x) + 0``
            self.changed[top] = self.nodes[what]

    def _row(self, top: int, what: Node | int) -> int:
        return what if isinstance(what, int) else self._make(top, what)


def _sorted(terms: list[Weighted]) -> list[Weighted]:
    """Terms in the order of their weights, if those are neighbours: then they are a row of a layer."""
    ordered = sorted(terms, key=lambda t: t.weight)
    beside = all(t.weight == ordered[0].weight + k for k, t in enumerate(ordered))
    return ordered if beside else terms


def _runs(terms: list[Weighted]) -> list[list[Weighted]]:
    """Terms cut where the weights are no neighbours; as one list if that makes many short pieces."""
    runs: list[list[Weighted]] = []
    for t in terms:
        if runs and t.weight == runs[-1][-1].weight + 1:
            runs[-1].append(t)
        else:
            runs.append([t])
    return runs if len(runs) * MEAN_RUN <= len(terms) else ([terms] if terms else [])
