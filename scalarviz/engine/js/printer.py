"""`Printer`: a recorded `Program` as JavaScript, its values and its gradients.

JavaScript is one more dialect of the ops table, so an operation that somebody registers is printed too. A small program
is unrolled: row 5 is the constant ``r5``, its gradient ``a5``, weight 3 is ``w3`` with the gradient ``g3``. A large one
has loops over arrays: the rows ``V``, their gradients ``B``, the weights ``E`` and the sums of their gradients ``G``.

Sums are float64. In a float32 program each operation is rounded, and each sum once, at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scalar import ops
from ...scalar.emit import FUNCTIONS, UPSTREAM, Dialect, adjoint, translate
from ...tape import Instruction, Program

UNROLLED = 200
"""Most operations of a sample, forward and backward, of a program that is unrolled.

In V8 loops are as fast from about 130 to 250 operations on; of 848 they take 0.4 of the time, of 2,704 a tenth.
"""

Index = int | str
"""A whole number, or an expression of one in a loop."""


def _literal(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return repr(float(number)) if math.isfinite(number) else f"({'-' if number < 0 else ''}Infinity)"


def _literal32(number: float) -> str:
    with np.errstate(over="ignore"):
        return _literal(float(np.float32(number)))


FLOAT64 = Dialect(
    calls={name: f"Math.{name}" for name in FUNCTIONS} | {name: f"_{name}" for name in ("erf", "erfc", "float16")},
    where="({c} ? {a} : {b})", power="_pow({a}, {b})", literal=_literal,
)  # fmt: skip
FLOAT32 = replace(FLOAT64, literal=_literal32, rounded="Math.fround({made})")
DIALECTS = {"float64": FLOAT64, "float32": FLOAT32}


@dataclass
class Tables:
    """The constant arrays of a module, each written once."""

    lines: dict[str, str] = field(default_factory=dict)

    def add(self, numbers: NDArray[Any], literal: Callable[[float], str]) -> str:
        """Return the name of an array."""
        whole = numbers.dtype.kind in "iu"
        entries = ",".join(map(str, numbers.tolist()) if whole else map(literal, numbers.tolist()))
        return self.lines.setdefault(f"new {'Int32' if whole else 'Float64'}Array([{entries}])", f"C{len(self.lines)}")

    def __str__(self) -> str:
        return "".join(f"const {name} = {text};\n" for text, name in self.lines.items())


def work_of(program: Program) -> int:
    """Return the operations of one sample, forward and backward, roughly."""
    return sum(2 * _terms(i) + i.count for i in program.instructions)


def _terms(i: Instruction) -> int:
    if i.kind == "conv":
        return len(i.weights) * i.args.size
    return i.count * i.args.shape[1] if i.kind == "layer" else i.args.size


class Printer:
    """Prints one program."""

    def __init__(self, program: Program, dtype: str, tables: Tables, *, unrolled: bool | None = None) -> None:
        self.program, self.tables, self.dialect = program, tables, DIALECTS[dtype]
        self.unrolled = not program.couples and (work_of(program) <= UNROLLED if unrolled is None else unrolled)
        self.lines: list[str] = []
        self.weights: set[int] = set()  # that are variables
        self.gradients: set[int] = set()
        self._terms: dict[int, list[str]] = {}  # of the gradients of rows that are not known yet
        self._adjoints: dict[int, str] = {}  # gradients of rows, once they are known
        self._named = 0

    # ---- text

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)

    def fresh(self, letter: str) -> str:
        """Return the name of a new variable."""
        self._named += 1
        return f"{letter}{self._named}_"

    def loop(self, count: int) -> Iterator[Index]:
        """Print what the caller prints once for each index, or once in a loop."""
        if self.unrolled or count == 1:
            yield from range(count)
            return
        index = self.fresh("i")
        self.add(f"for (let {index} = 0; {index} < {count}; {index}++) {{")
        yield index
        self.add("}")

    def at(self, numbers: NDArray[Any], index: Index) -> Index:
        """Return an entry of constant whole numbers: a number, a linear expression, or an entry of a table."""
        flat = np.ravel(numbers)
        if isinstance(index, int):
            return int(flat[index])
        steps = np.diff(flat)
        if not len(steps) or (steps == steps[0]).all():
            return plus(times(index, int(steps[0]) if len(steps) else 0), int(flat[0]))
        return f"{self.tables.add(flat, self.dialect.literal)}[{index}]"

    def number(self, numbers: NDArray[Any], index: Index) -> str:
        """Return an entry of constant numbers."""
        if isinstance(index, int):
            return self.dialect.literal(float(numbers[index]))
        return f"{self.tables.add(numbers, self.dialect.literal)}[{index}]"

    def rounded(self, made: str) -> str:
        """Return an expression, rounded to the dtype of the program."""
        return self.dialect.rounded.format(made=made)

    # ---- rows and weights

    def row(self, row: Index) -> str:
        """Return the value of a row."""
        return f"r{row}" if self.unrolled else f"V[{self.here(row)}]"

    def here(self, row: Index) -> Index:
        """Return the place of a row: of a program that couples samples, all samples have their own."""
        return plus("o", row) if self.program.couples else row

    def put(self, row: Index, value: str) -> None:
        """Set the value of a row."""
        self.add(f"const {self.row(row)} = {value};" if self.unrolled else f"{self.row(row)} = {value};")

    def weight(self, index: Index) -> str:
        """Return a number of theta."""
        if not self.unrolled or isinstance(index, str):
            return f"E[{index}]"
        self.weights.add(index)
        return f"w{index}"

    def flows(self, rows: NDArray[Any]) -> bool:
        """Return whether some of the rows need a gradient."""
        return bool(self.program.needs_gradient[rows].any())

    def pull(self, row: Index, term: str) -> None:
        """Add a term to the gradient of a row; the result of an operation is the name of a constant."""
        if not self.unrolled:
            self.add(f"B[{self.here(row)}] += {term};")
        elif self.program.needs_gradient[int(row)]:
            self._terms.setdefault(int(row), []).append(term)

    def upstream(self, row: Index) -> str:
        """Return the gradient of a row, whose terms are all known."""
        if not self.unrolled:
            return self.known(f"B[{self.here(row)}]")
        terms, name = self._terms.pop(int(row), ["0"]), f"a{row}"
        if len(terms) == 1 and terms[0].isidentifier():
            name = terms[0]
        else:
            self.add(f"const {name} = {self.rounded(' + '.join(terms))};")
        self._adjoints[int(row)] = name
        return name

    def adjoint(self, row: int) -> str:
        """Return the gradient of a row after the whole way back; 0 if none came."""
        return self._adjoints.get(row, "0") if self.unrolled else f"B[{self.here(row)}]"

    def pull_weight(self, index: Index, term: str) -> None:
        """Add a term to the gradient of a number of theta."""
        if not self.unrolled or isinstance(index, str):
            self.add(f"G[{index}] += {term};")
        else:
            self.gradients.add(index)
            self.add(f"g{index} += {term};")

    def known(self, value: str) -> str:
        """Return the name of a constant with this value."""
        name = self.fresh("u")
        self.add(f"const {name} = {value};")
        return name

    def computed(self, expression: str, operands: dict[str, str]) -> str:
        """Return an expression of the ops table with these operands; what it needs twice is printed before."""
        lines, (result,) = translate((expression,), operands, self.dialect, temporary=self.fresh("h"))
        for line in lines:
            self.add(f"const {line};")
        return f"({result})" if " " in result else result

    def total(self, start: str, count: int, term: Callable[[Index], str]) -> str:
        """Return a sum, not rounded: an expression, or the name of a variable."""
        if self.unrolled:
            terms = [term(k) for k in range(count)]
            return " + ".join(terms if start == "0" and terms else [start, *terms])
        name = self.fresh("t")
        self.add(f"let {name} = {start};")
        for k in self.loop(count):
            self.add(f"{name} += {term(k)};")
        return name

    # ---- values

    def inputs(self, number: Callable[[int], str]) -> None:
        """Print the rows of a sample's numbers, of which `number` returns each, and those of constants."""
        program = self.program
        for row, index in zip(program.input_rows.tolist(), program.input_index.tolist(), strict=True):
            self.put(row, number(index))
        for row, constant in zip(program.constant_rows.tolist(), program.constants.tolist(), strict=True):
            self.put(row, self.dialect.literal(constant))

    def forward(self, i: Instruction) -> None:
        """Print the values of an instruction's rows."""
        if i.kind == "squares":
            squares = self.total("0", i.args.shape[1], lambda k: "{0} * {0}".format(self._error(i, k)))
            self.put(i.dst, self.rounded(f"{self.dialect.literal(i.numbers[0])} * ({squares})"))
        elif i.kind == "conv":
            for j in self.loop(len(i.weights)):
                for p in self.loop(len(i.args)):
                    start = self.weight(plus(i.bias, j)) if i.bias >= 0 else "0"
                    total = self.total(start, i.args.shape[1], partial(self._of_kernel, i, j, p))
                    self.put(plus(i.dst, plus(times(j, len(i.args)), p)), self.rounded(total))
        else:
            for j in self.loop(i.count):
                self._value(i, j, plus(i.dst, j))

    def _value(self, i: Instruction, j: Index, dst: Index) -> None:
        if i.kind == "op":
            self.put(dst, self.computed(ops.get(i.op).value, self._operands(i, j)))
        elif i.kind == "param":
            self.put(dst, self.weight(self.at(i.weights, j)))
        elif i.kind == "mask":
            unit, p = self.at(i.units, j), i.numbers[0]
            self.put(dst, self.rounded(f"_mask(K{i.call}, {unit}, step, s, {_literal(p)})"))
        elif i.kind == "gather":
            there, place = self._place(i, j)
            self.put(dst, f"{there} ? E[{place}] : NaN")
        elif i.kind == "max":
            op, found = ops.get("first_max"), self.row(self.at(i.args[:, 0], j))
            for k in range(1, i.args.shape[1]):
                pair = (found, self.row(self.at(i.args[:, k], j)))
                found = self.known(self.computed(op.value, dict(zip(op.args, pair, strict=True))))
            self.put(dst, found)
        else:
            start = "0" if i.bias < 0 else self.weight(plus(i.bias, j) if i.kind == "layer" else i.bias)
            total = self.total(start, i.terms, lambda k: " * ".join(self._factors(i, j, k)))
            self.put(dst, self.rounded(f"{total} + {self.dialect.literal(i.offset)}" if i.offset else total))

    def _operands(self, i: Instruction, j: Index) -> dict[str, str]:
        return {name: self.row(self.at(rows, j)) for name, rows in zip(ops.get(i.op).args, i.args, strict=True)}

    def _error(self, i: Instruction, k: Index) -> str:
        return self.known(f"{self.row(self.at(i.args[0], k))} - {self.row(self.at(i.args[1], k))}")

    def _of_kernel(self, i: Instruction, j: Index, p: Index, k: Index) -> str:
        weight, row = self._places_of_kernel(i, j, p, k)
        return f"{self.weight(weight)} * {self.row(row)}"

    def _places_of_kernel(self, i: Instruction, j: Index, p: Index, k: Index) -> tuple[Index, Index]:
        """Return weight and row of term k of output j at position p."""
        return plus(self.at(i.weights, j), k), self.at(i.args, plus(times(p, i.args.shape[1]), k))

    def _place(self, i: Instruction, j: Index) -> tuple[str, str]:
        """Return whether a row's number chooses a row of the table, and the place of the parameter in theta."""
        assert i.table is not None
        each = len(i.weights)
        chosen = self.known(self.row(self.at(np.repeat(i.args[0], each), j)))
        first = self.at(np.tile(i.weights, i.args.shape[1]), j)
        there = f"{chosen} >= 0 && {chosen} < {i.table.rows} && {chosen} === Math.floor({chosen})"
        return there, f"{first} + {chosen} * {i.table.step}"

    def _factors(self, i: Instruction, j: Index, k: Index) -> tuple[str, str]:
        """Return both factors of term k of sum j."""
        flat = plus(times(j, i.terms), k)
        if i.kind == "layer":
            return self.weight(plus(self.at(i.weights, j), k)), self.row(self.at(i.args, k))
        if i.kind == "dot":
            return self.weight(self.at(i.weights, flat)), self.row(self.at(i.args, flat))
        first = self.row(self.at(i.args[0], flat)) if i.kind == "product" else self.number(i.numbers, k)
        return first, self.row(self.at(i.args[-1] if i.kind == "product" else i.args, flat))

    # ---- gradients

    def backward(self, i: Instruction) -> None:
        """Print the gradients that the rows of an instruction pass on."""
        if not self.program.needs_gradient[i.dst]:
            return
        if i.kind == "squares":
            factor = self.known(self.rounded(f"{self.upstream(i.dst)} * {self.dialect.literal(2 * i.numbers[0])}"))
            for k in self.loop(i.args.shape[1]):
                first, second = self.at(i.args[0], k), self.at(i.args[1], k)
                term = self.known(self.rounded(f"({self.row(first)} - {self.row(second)}) * {factor}"))
                for row, rows, made in ((first, i.args[0], term), (second, i.args[1], f"-{term}")):
                    if self.flows(rows):
                        self.pull(row, made)
        elif i.kind == "conv":
            for j in self.loop(len(i.weights)):
                for p in self.loop(len(i.args)):
                    up = self.upstream(plus(i.dst, plus(times(j, len(i.args)), p)))
                    if i.bias >= 0:
                        self.pull_weight(plus(i.bias, j), up)
                    for k in self.loop(i.args.shape[1]):
                        weight, row = self._places_of_kernel(i, j, p, k)
                        self.pull_weight(weight, f"{up} * {self.row(row)}")
                        if self.flows(i.args):
                            self.pull(row, f"{self.weight(weight)} * {up}")
        else:
            for j in self.loop(i.count):
                self._pulls(i, j, self.upstream(plus(i.dst, j)))

    def _pulls(self, i: Instruction, j: Index, up: str) -> None:
        if i.kind == "op":
            known = {**self._operands(i, j), "y": self.row(plus(i.dst, j)), UPSTREAM: up}
            for rows, slope in zip(i.args, ops.get(i.op).partials, strict=True):
                if slope is not None and self.flows(rows):
                    self.pull(self.at(rows, j), self.known(self.computed(adjoint(slope), known)))
        elif i.kind == "param":
            self.pull_weight(self.at(i.weights, j), up)
        elif i.kind == "gather":
            there, place = self._place(i, j)
            self.add(f"if ({there}) G[{place}] += {up};")
        elif i.kind == "max":
            found, free = self.row(plus(i.dst, j)), self.fresh("f")
            other = self.known(f"{found} === {found} ? 0 : {up} * {found}")
            self.add(f"let {free} = true;")
            for k in range(i.args.shape[1]):
                operand = self.at(i.args[:, k], j)
                chosen = self.known(f"{free} && {self.row(operand)} === {found}")
                self.add(f"if ({chosen}) {free} = false;")
                self.pull(operand, f"({chosen} ? {up} : {other})")
        elif i.kind != "mask":
            self._pulls_of_sum(i, j, up)

    def _pulls_of_sum(self, i: Instruction, j: Index, up: str) -> None:
        if i.bias >= 0:
            self.pull_weight(plus(i.bias, j) if i.kind == "layer" else i.bias, up)
        for k in self.loop(i.terms):
            first, second = self._factors(i, j, k)
            flat = plus(times(j, i.terms), k)
            if i.kind == "layer":
                self.pull_weight(plus(self.at(i.weights, j), k), f"{up} * {second}")
            if i.kind == "dot":
                self.pull_weight(self.at(i.weights, flat), f"{up} * {second}")
            if i.kind == "product" and self.flows(i.args[0]):
                self.pull(self.at(i.args[0], flat), f"{second} * {up}")
            rows = i.args[-1] if i.kind == "product" else i.args
            if self.flows(rows):
                self.pull(self.at(rows, k if i.kind == "layer" else flat), f"{first} * {up}")

    # ---- whole passes

    def stretches(self) -> list[list[Instruction]]:
        """Return the instructions between means over the batch; such a mean stands alone."""
        found: list[list[Instruction]] = [[]]
        for i in self.program.instructions:
            if i.kind == "batch_mean":
                found += [[i], []]
            else:
                found[-1].append(i)
        return [some for some in found if some]


def plus(a: Index, b: Index) -> Index:
    """Return a sum of whole numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b if a == 0 else a if b == 0 else f"{a} + {b}"


def times(a: Index, b: int) -> Index:
    """Return a product of whole numbers."""
    if isinstance(a, int) or b == 0:
        return a * b if isinstance(a, int) else 0
    return a if b == 1 else f"({a}) * {b}" if " " in a else f"{a} * {b}"
