"""Half precision: a recorded graph becomes one whose rows and weights are float16, as PyTorch's AMP trains.

The arithmetic stays that of the engine (float32). Where a number of the model is complete, an operation ``float16``
rounds it, and on the way back the gradient that reaches it: sums are those of the engine, each result is a float16.
The weights of the store are the float32 master; a graph reads each through ``float16``. The loss is float32.

As under PyTorch's autocast, some operations give float32: sums, powers, exponentials and logarithms. What is computed
from such a row is float32 as well, until a weighted sum reads it. So the inside of a norm or a softmax is not rounded.
Numbers of the graph itself are not rounded either: an operation of a float16 with one is computed in float32.

Gradients below 6e-8 are 0 in float16. So the gradient of the loss is multiplied by the loss scale, a number of theta,
and divided by it where it has reached the master weight.
"""

from __future__ import annotations

from dataclasses import replace

from .passes import needed
from .program import CODES
from .tape import Node, Tape

TOO_LARGE = 65_520
"""From here on float16 has infinities."""
WIDE = {"exp", "log", "log1p", "pow", "logaddexp", "log_sigmoid", "softplus_up_to", "batch_mean"}
"""Operations whose results are float32."""


def halved(tape: Tape, scale: int) -> Tape:
    """The tape in half precision; its gradients of theta are not scaled.

    `tape` has a loss. `scale` is the index into theta of the loss scale.
    """
    return _Halving(tape, scale).run()


def loss_scale_of(tape: Tape) -> int | None:
    """The index into theta of the loss scale; None of a tape that is not halved."""
    last = None if tape.loss is None else tape.nodes[tape.loss]
    if last is None or last.code != "scale_gradient" or tape.nodes[last.args[1]].code != "buffer":
        return None
    return tape.nodes[last.args[1]].index


class _Halving:
    """One translation: `nodes` grows; `row_of` says where the numbers of an old row stand."""

    def __init__(self, tape: Tape, scale: int) -> None:
        self.tape = tape
        self.nodes = [Node("buffer", index=scale), Node("const", number=1.0), Node("div", (1, 0))]
        self.loss_scale, self.one, self.inverse = range(3)
        model = needed(tape.nodes, replace(tape, loss=None, taps=()).roots())
        self.of_model = [bool(flag) for flag in model]
        self.row_of: list[int] = []
        self.exact: list[int] = []  # before it was rounded: numbers of table rows are read whole
        self.wide: list[bool] = []  # which old rows are float32
        self._narrow: dict[int, int] = {}  # rows of float32, as a weighted sum reads them
        # side by side, in the order of theta: so lowering finds the layers
        self.halves = {index: self.weight(index, True) for index in self._weights(True)}
        self.singles = {index: self.weight(index, False) for index in self._weights(False)}

    def _weights(self, of_model: bool) -> list[int]:
        found: set[int] = set()
        for node, inside in zip(self.tape.nodes, self.of_model, strict=True):
            if inside is of_model:
                if node.code == "param":
                    found.add(node.index)
                if node.terms is not None and node.terms.kind == "param":
                    found.update(node.terms.weights)
                if node.terms is not None and node.terms.bias is not None:
                    found.add(node.terms.bias)
        return sorted(found)

    def put(self, node: Node) -> int:
        """The row of a node that is added."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def weight(self, index: int, half: bool) -> int:
        """A weight as the graph reads it: its gradient is divided by the loss scale."""
        row = self.unscaled(self.put(Node("param", index=index)))
        return self.put(Node("float16", (row,))) if half else row

    def unscaled(self, row: int) -> int:
        """A row whose gradient leaves the graph."""
        return self.put(Node("scale_gradient", (row, self.inverse)))

    def run(self) -> Tape:
        memo: dict[tuple[int, bool], tuple[int, ...]] = {}
        for node, half in zip(self.tape.nodes, self.of_model, strict=True):
            exact = row = self.translated(node, half, memo)
            wide = not half or self.is_wide(node)
            if not wide and node.code not in ("param", "const"):
                row = self.put(Node("float16", (row,)))
            self.row_of.append(row)
            self.exact.append(exact)
            self.wide.append(wide)
        found = self.tape.rewired(self.nodes, self.row_of)
        if found.loss is not None:
            found = replace(found, loss=self.put(Node("scale_gradient", (found.loss, self.loss_scale))))
        return replace(found, nodes=tuple(self.nodes))

    def is_wide(self, node: Node) -> bool:
        """Whether its results are float32: a sum, what grows beyond float16, and what is made of such numbers."""
        terms = node.terms
        if terms is not None:  # of numbers with themselves it is a sum of squares
            return terms.kind == "const" or (terms.kind == "row" and terms.weights == node.args)
        squared = node.code == "mul" and node.args[0] == node.args[1]
        return node.code in WIDE or squared or any(self.wide[row] for row in node.args)

    def narrow(self, row: int) -> int:
        """An old row as a weighted sum reads it."""
        if not self.wide[row]:
            return self.row_of[row]
        if row not in self._narrow:
            self._narrow[row] = self.put(Node("float16", (self.row_of[row],)))
        return self._narrow[row]

    def translated(self, node: Node, half: bool, memo: dict[tuple[int, bool], tuple[int, ...]]) -> int:
        """The row of a node's own number, not yet rounded."""
        weights = self.halves if half else self.singles
        if node.code == "param":
            return weights[node.index]
        if node.code == "gather":
            return self.unscaled(self.put(replace(node, args=(self.exact[node.args[0]],))))
        if node.code in CODES:
            return self.unscaled(self.put(node))
        terms = node.terms
        sums = half and terms is not None and not self.is_wide(node)
        read = self.narrow if sums else self.row_of.__getitem__
        args = memo.get((id(node.args), sums))
        if args is None:
            args = memo[id(node.args), sums] = tuple(map(read, node.args))
        if terms is None:
            return self.put(replace(node, args=args))
        if terms.kind == "param":
            terms = replace(terms, kind="row", weights=tuple(weights[index] for index in terms.weights))
        elif terms.kind == "row":
            terms = replace(terms, weights=tuple(map(read, terms.weights)))
        bias = terms.bias
        row = self.put(replace(node, args=args, terms=replace(terms, bias=None)))
        return row if bias is None else self.put(Node("add", (row, weights[bias])))
