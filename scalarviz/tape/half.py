"""Half precision: rewrites a recorded graph so that rows and weights are float16, as in PyTorch's AMP.

The engine still computes in float32. An operation ``float16`` rounds each finished number of the model, and the
gradient that comes back to it. The store keeps the weights in float32; the graph reads each through ``float16``. The
loss is float32.

As in PyTorch's autocast, some operations return float32: sums, powers, exponentials and logarithms. Rows computed from
these are float32 too, until a weighted sum reads them. So the inside of a norm or a softmax is not rounded. Constants
of the graph are not rounded either: an operation of a float16 row and a constant is computed in float32.

Gradients below 6e-8 are 0 in float16. So the loss scale, a number of theta, multiplies the gradient of the loss. At
the float32 weight, the gradient is divided by it again.
"""

from __future__ import annotations

from dataclasses import replace

from .passes import needed, readers_of
from .program import CODES
from .tape import Node, Tape

TOO_LARGE = 65_520
"""The least number that rounds to infinity in float16."""
WIDE = {"exp", "log", "log1p", "pow", "logaddexp", "log_sigmoid", "softplus_up_to", "batch_mean"}
"""Operations whose results are float32."""

CHOOSING = {"relu", "max"}
"""Operations that return one of their operands or 0, which are halves already."""


def halved(tape: Tape, scale: int) -> Tape:
    """Return the tape in half precision; its gradients of theta are not scaled.

    `tape` has a loss. `scale` is the index into theta of the loss scale.
    """
    return _Halving(tape, scale).run()


def loss_scale_of(tape: Tape) -> int | None:
    """Return the index into theta of the loss scale; None if the tape is not in half precision."""
    last = None if tape.loss is None else tape.nodes[tape.loss]
    if last is None or last.code != "scale_gradient" or tape.nodes[last.args[1]].code != "buffer":
        return None
    return tape.nodes[last.args[1]].index


class _Halving:
    """One translation: `nodes` grows; `row_of` maps each old row to its new row."""

    def __init__(self, tape: Tape, scale: int) -> None:
        self.tape = tape
        self.nodes = [Node("buffer", index=scale), Node("const", number=1.0), Node("div", (1, 0))]
        self.loss_scale, self.one, self.inverse = range(3)
        model = needed(tape.nodes, replace(tape, loss=None, taps=()).roots())
        self.of_model = [bool(flag) for flag in model]
        self.row_of: list[int] = []
        self.exact: list[int] = []  # each row before rounding: a gather needs exact row numbers
        self.wide: list[bool] = []  # which old rows are float32
        self._readers = readers_of(replace(tape, loss=None, outputs=(), taps=(), tracks=()))
        self._narrow: dict[int, int] = {}  # float32 rows, rounded for weighted sums
        # in the order of theta, so that lowering finds the layers
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

    def add_node(self, node: Node) -> int:
        """Add a node; return its row."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def weight(self, index: int, half: bool) -> int:
        """Return the row of a weight for the graph; its gradient is divided by the loss scale."""
        row = self.unscaled(self.add_node(Node("param", index=index)))
        return self.add_node(Node("float16", (row,))) if half else row

    def unscaled(self, row: int) -> int:
        """Return a copy of a row that divides its gradient by the loss scale, for gradients that leave the graph."""
        return self.add_node(Node("scale_gradient", (row, self.inverse)))

    def run(self) -> Tape:
        memo: dict[tuple[int, bool], tuple[int, ...]] = {}
        for node, half in zip(self.tape.nodes, self.of_model, strict=True):
            exact = row = self.translated(node, half, memo)
            wide = not half or self.is_wide(node)
            if not (wide or node.code in ("param", "const") or self.is_half(node)):
                row = self.add_node(Node("float16", (row,)))
            self.row_of.append(row)
            self.exact.append(exact)
            self.wide.append(wide)
        found = self.tape.rewired(self.nodes, self.row_of)
        if found.loss is not None:
            found = replace(found, loss=self.add_node(Node("scale_gradient", (found.loss, self.loss_scale))))
        return replace(found, nodes=tuple(self.nodes))

    def is_wide(self, node: Node) -> bool:
        """Return whether a node's result is float32: a sum, an operation of `WIDE`, a square, or a float32 operand."""
        terms = node.terms
        if terms is not None:  # a product of a row with itself is a sum of squares
            return terms.kind == "const" or (terms.kind == "row" and terms.weights == node.args)
        squared = node.code == "mul" and node.args[0] == node.args[1]
        return node.code in WIDE or squared or any(self.wide[row] for row in node.args)

    def is_half(self, node: Node) -> bool:
        """Return whether rounding changes neither the number of a row nor the gradient of its operands.

        An operand that nothing else reads rounds its gradient itself.
        """
        args = [self.tape.nodes[arg] for arg in node.args]
        rounds = all(self._readers[arg] == 1 for arg in node.args) and "const" not in [arg.code for arg in args]
        return node.code in CHOOSING and rounds

    def narrow(self, row: int) -> int:
        """Return the float16 row of an old row, for a weighted sum."""
        if not self.wide[row]:
            return self.row_of[row]
        if row not in self._narrow:
            self._narrow[row] = self.add_node(Node("float16", (self.row_of[row],)))
        return self._narrow[row]

    def translated(self, node: Node, half: bool, memo: dict[tuple[int, bool], tuple[int, ...]]) -> int:
        """Return the row of a node's number, before rounding."""
        weights = self.halves if half else self.singles
        if node.code == "param":
            return weights[node.index]
        if node.code == "gather":
            return self.unscaled(self.add_node(replace(node, args=(self.exact[node.args[0]],))))
        if node.code in CODES:
            return self.unscaled(self.add_node(node))
        terms = node.terms
        sums = half and terms is not None and not self.is_wide(node)
        read = self.narrow if sums else self.row_of.__getitem__
        args = memo.get((id(node.args), sums))
        if args is None:
            args = memo[id(node.args), sums] = tuple(map(read, node.args))
        if terms is None:
            return self.add_node(replace(node, args=args))
        if terms.kind == "param":
            terms = replace(terms, kind="row", weights=tuple(weights[index] for index in terms.weights))
        elif terms.kind == "row":
            terms = replace(terms, weights=tuple(map(read, terms.weights)))
        bias = terms.bias
        row = self.add_node(replace(node, args=args, terms=replace(terms, bias=None)))
        return row if bias is None else self.add_node(Node("add", (row, weights[bias])))
