"""A basic block as the text of a Python function over NumPy vectors: one line an instruction.

A value is an array with one number a thread, or with a single number where all threads have the same.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .text import SIZES, Statement, Unsupported, Variable, split

CC = "%CC"  # the carry flag
SPECIAL = re.compile(
    r"%(tid|ntid|ctaid|nctaid)\.([xyz])$|%(laneid|warpid|nwarpid|smid|gridid|clock|clock64|dynamic_smem_size|total_smem_size)$"
)


def code(kind: str) -> str:
    """The NumPy code of a PTX type: "u4" for b32 and u32, "i4" for s32."""
    if kind == "pred":
        return "b1"
    if kind not in SIZES or kind == "b128":
        raise Unsupported(f"type {kind}")
    return {"b": "u", "u": "u", "s": "i", "f": "f"}[kind[0]] + str(SIZES[kind])


@dataclass
class Words:
    """What the blocks of a kernel share: types of the names, constants, symbols."""

    registers: dict[str, str]
    parameters: dict[str, tuple[int, Variable]]
    spaces: dict[str, str]  # symbol -> its state space
    contract: bool = False  # fuse a product with the sum that it goes into, as ptxas may where both let it
    constants: dict[str, Any] = field(default_factory=dict)

    def constant(self, value: bytes, dtype: str) -> str:
        name = f"k_{dtype}_{value.hex()}"
        if name not in self.constants:
            array = np.frombuffer(value, dtype).copy()
            array.flags.writeable = False
            self.constants[name] = array
        return name


def number(text: str, dtype: str) -> bytes | None:
    """The bytes of a literal as that type; None if it is no literal."""
    size = int(dtype[1:])
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", text):
        raw = bytes.fromhex(text[2:])[::-1]
        if dtype[0] != "f" or len(raw) == size:
            return raw[:size]
        return np.array(struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0], dtype).tobytes()
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        value = int(text.rstrip("U"), 0) if "x" in text.lower() else int(text.rstrip("U"))
        if dtype == "b1":
            return bytes([value != 0])
        if dtype[0] == "f":
            return np.array(float(value), dtype).tobytes()
        return (value % (1 << 8 * size)).to_bytes(size, "little")
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?", text):
        return np.array(float(text), dtype).tobytes()
    return None


class Emitter:
    """Writes the lines of one block and notes which names it reads before it writes them, and which it writes."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.lines: list[str] = []
        self.uses: set[str] = set()
        self.defs: set[str] = set()
        self.written: Counter[str] = Counter()  # how often a name was written so far
        self.products: dict[str, tuple[str, str, dict[str, int]]] = {}  # factors, and how often they were written then
        self.line = 0

    @staticmethod
    def local(name: str) -> str:
        """The Python name of a register or of a call's parameter."""
        return "v_" + re.sub(r"\W", "_", name)

    def fail(self, what: str) -> Unsupported:
        return Unsupported(f"line {self.line}: {what}")

    def variable(self, name: str) -> str:
        if name not in self.defs:
            self.uses.add(name)
        return self.local(name)

    def register(self, name: str, kind: str) -> str:
        """The value of a register as that type: its lower bits if it is wider."""
        have, want = code(self.words.registers[name]), code(kind)
        have = have.replace("i", "u")
        text = self.variable(name)
        if have == want:
            return text
        if have[1:] == want[1:] and "b" not in (have[0], want[0]):
            return f"{text}.view('{want}')"
        if int(have[1:]) > int(want[1:]) and have[0] == "u" and want[0] != "b":
            return f"{text}.astype('u{want[1:]}').view('{want}')"
        raise self.fail(f"{name}, a {self.words.registers[name]}, as {kind}")

    def read(self, operand: str, kind: str) -> str:
        """An expression of an operand's value as that type."""
        if operand in self.words.registers:
            return self.register(operand, kind)
        if operand[0] == "!" and operand[1:] in self.words.registers:
            return f"~{self.register(operand[1:], kind)}"
        if SPECIAL.match(operand):
            return f"x.special('{operand[1:]}', T).astype('{code(kind)}')"
        literal = number(operand, code(kind))
        if literal is not None:
            return self.words.constant(literal, code(kind))
        name, offset = self.symbol(operand)
        if name in self.words.spaces:
            return f"x.symbol('{name}', {offset})"
        raise self.fail(f"operand {operand}")

    def symbol(self, text: str) -> tuple[str, int]:
        """``name+4`` -> name and offset."""
        found = re.fullmatch(r"\s*([#%$\w.]+)\s*(?:\+\s*(-?\w+))?\s*", text)
        if found is None:
            raise self.fail(f"operand {text}")
        return found[1], int(found[2], 0) if found[2] else 0

    def write(self, name: str, kind: str, text: str) -> None:
        """Give a register the value of an expression of that type; a narrower one is extended."""
        if name == "_":
            return
        if name not in self.words.registers:
            raise self.fail(f"a result in {name}")
        have, want = code(kind), code(self.words.registers[name]).replace("i", "u")
        if have != want:
            if have[1:] == want[1:] and "b" not in (have[0], want[0]):
                text = f"({text}).view('{want}')"
            elif int(have[1:]) < int(want[1:]) and have[0] in "iu" and want[0] == "u":
                text = f"({text}).astype('{have[0]}{want[1:]}').view('{want}')"
            else:
                raise self.fail(f"{kind} into {name}, a {self.words.registers[name]}")
        self.defs.add(name)
        self.written[name] += 1
        self.lines.append(f"{self.local(name)} = {text}")

    def keep_product(self, name: str, operands: Sequence[str], p: str, q: str) -> None:
        """A product that may be fused with a sum behind it."""
        if self.words.contract:
            self.products[name] = p, q, {n: self.written[n] for n in (name, *operands)}

    def product(self, name: str) -> tuple[str, str] | None:
        """The factors of a register that is a product still, where products are fused."""
        p, q, then = self.products.get(name, ("", "", {"": 1}))
        return (p, q) if all(self.written[n] == k for n, k in then.items()) else None

    def address(self, operand: str) -> tuple[str, str]:
        """An operand in brackets: the symbol it names ("" for a register), and the address as an expression."""
        inner = operand.strip()[1:-1].strip()
        name, offset = self.symbol(inner) if number(inner, "u8") is None else (inner, 0)
        if name in self.words.registers or number(name, "u8") is not None:
            text = self.read(name, self.words.registers.get(name, "b64"))
            if code(self.words.registers.get(name, "b64")) == "u4":  # 32-bit shared addresses
                text = f"{text}.astype('u8')"
            if offset:
                text += " + " + self.words.constant((offset % (1 << 64)).to_bytes(8, "little"), "u8")
            return "", text
        return name, str(offset)

    def vector(self, operand: str) -> list[str]:
        """``{a, b}`` -> its parts; a single operand is a part."""
        return split(operand.strip()[1:-1]) if operand.startswith("{") else [operand]

    def emit(self, statement: Statement) -> None:
        from .instructions import HANDLERS

        self.line = statement.line
        handler = HANDLERS.get(statement.opcode[0])
        if handler is None:
            raise self.fail(f"instruction {'.'.join(statement.opcode)}")
        before = len(self.lines)
        handler(self, statement.opcode, statement.operands)
        if any("x." in line for line in self.lines[before:]):  # what may raise says where it stands
            self.lines.insert(before, f"x.line = {statement.line}")
