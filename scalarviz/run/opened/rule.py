"""The optimiser's rule for one weight as lines of text and numbers, read off its recording: a user's own as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from ...tape import Tape
from ...tape.passes import kernel_of
from .writing import HYPER, Line, Quantity, Writer, rounded

SHORT = {"exp_avg": "m", "exp_avg_sq": "v", "momentum_buffer": "v"}
"""What books call the state that PyTorch named."""
DEEPEST, LARGEST = 8, 24
"""An expression that is deeper, or has more operations, is cut into lines of their own."""


class Rule:
    """The rule of an optimiser.

    Parameters
    ----------
    tape : Tape
        As ``Optimizer.tape()`` gives it.
    state : sequence of str
        Names of the optimiser's state.
    """

    def __init__(self, tape: Tape, state: Sequence[str]) -> None:
        self.tape = tape
        self.symbols = symbols(state)
        self._names = self._leaves()
        self._cut = self._lines()

    def lines(self, inputs: Sequence[float], theta: Sequence[float]) -> list[Line]:
        """Every line for one weight.

        Parameters
        ----------
        inputs : sequence of float
            ``w, g, *state``.
        theta : sequence of float
            By :data:`~.writing.HYPER`.
        """
        values = evaluated(self.tape, inputs, theta)
        new = self.tape.outputs[0]
        found = [self._line(name, row, values, theta) for name, row in self._cut if row != new or name != "w'"]
        return [*found, self._line("w'", new, values, theta)]

    def _line(self, name: str, row: int, values: Sequence[float], theta: Sequence[float]) -> Line:
        writer = Writer(self.tape, self._names, values, theta)
        known = self._names.get(row, name)
        if known != name:  # one number under two names
            return Line(name, (Quantity(known, values[row]),), values[row], (), partial(rounded, values[row]))
        tokens = writer.line(row)
        return Line(name, tuple(tokens), values[row], tuple(writer.seen.items()), partial(writer.again, row))

    # ---- how rows are called

    def _leaves(self) -> dict[int, str]:
        names = {}
        given = ("w", "g", *self.symbols.values())
        for row, node in enumerate(self.tape.nodes):
            if node.code == "input":
                names[row] = given[node.index]
            elif node.code == "param":
                names[row] = HYPER[node.index]
        return names

    def _lines(self) -> list[tuple[str, int]]:
        """Name and row of every line but that of the weight, which comes last; their rows get names."""
        new, *state = self.tape.outputs
        results = [(f"{symbol}'", row) for symbol, row in zip(self.symbols.values(), state, strict=True)]
        leaves = dict(self._names)
        for name, row in [*results, ("w'", new)]:
            if row not in leaves:
                self._names.setdefault(row, name)
        found = [(name, row) for name, row in results if self._names[row] != name[:-1]]  # kept as it was: no line
        taken = {*self._names.values(), *(name for name, _ in results)}
        fresh = (f"{letter}{k or ''}" for k in range(len(self.tape.nodes)) for letter in "abcdefhpqs")
        names = (name for name in fresh if name not in taken)
        for row in self._long():
            self._names[row] = next(names)
            found.append((self._names[row], row))
        return sorted(found, key=lambda line: line[1])

    def _long(self) -> Iterator[int]:
        """Rows that get a line because they are used more than once, or an expression would be too large."""
        uses = Counter(row for node in self.tape.nodes for row in node.operands())
        depth, size = [0] * len(self.tape.nodes), [0] * len(self.tape.nodes)
        for row, node in enumerate(self.tape.nodes):
            if row in self._names or node.code == "const":
                continue
            below = node.operands()
            depth[row] = 1 + max((depth[r] for r in below), default=0)
            size[row] = 1 + sum(size[r] for r in below)
            if uses[row] > 1 or depth[row] > DEEPEST or size[row] > LARGEST:
                depth[row] = size[row] = 0
                yield row


def symbols(state: Sequence[str]) -> dict[str, str]:
    """How the optimiser's state is called in formulas, by its name: `SHORT` where that is free."""
    found: dict[str, str] = {}
    for name in state:
        short = SHORT.get(name, name)
        if short in found.values() or (short != name and short in state):
            short = name
        while short in ("w", "g", *HYPER, *found.values()):
            short += "_"
        found[name] = short
    return found


def evaluated(tape: Tape, inputs: Sequence[float], theta: Sequence[float]) -> list[float]:
    """The number of every node, as Python computes it."""
    values: list[float] = []
    for node in tape.nodes:
        terms = node.terms
        if node.code == "input":
            number = inputs[node.index]
        elif node.code == "param":
            number = theta[node.index]
        elif node.code == "const":
            number = node.number
        elif terms is not None:
            source = {"param": theta, "row": values}.get(terms.kind)
            weights = terms.weights if source is None else [source[w] for w in terms.weights]
            products = [w * values[row] for w, row in zip(weights, node.args, strict=True)]
            number = sum(products) + terms.offset + (0.0 if terms.bias is None else theta[terms.bias])
        else:
            number = kernel_of(node).value(*(values[row] for row in node.args))
        values.append(float(number))
    return values
