"""A kernel as compiled Python functions, one a basic block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import floats, integers, moves  # noqa: F401  (moves registers its instructions)
from .emit import CC, Emitter, Words, code
from .flow import Block, Flat, blocks, flatten
from .text import Reader, Variable

NAMESPACE = {
    **{n: getattr(integers, n) for n in dir(integers) if not n.startswith("_")},
    **{n: getattr(floats, n) for n in dir(floats) if not n.startswith("_")},
    "np": np,
    "F4": np.float32,
    "F8": np.float64,
    "U4": np.uint32,
    "I4": np.dtype("i4"),
}


@dataclass
class Program:
    """What a launch needs of a kernel.

    Attributes
    ----------
    live
        By number of the block: the registers that it or what follows reads.
    sources
        The texts of the blocks' functions.
    namespace
        What they use.
    """

    name: str
    flat: Flat
    blocks: list[Block]
    live: list[list[str]]
    parameters: dict[str, tuple[int, Variable]]
    size: int
    registers: dict[str, str]
    sources: list[str]
    namespace: dict[str, Any]

    def function(self, k: int) -> Callable[..., Any]:
        """Block k: ``function(x, registers, threads)`` changes the registers and returns what its branch depends on.

        It is compiled when it is first reached.
        """
        found: Callable[..., Any] | None = self.namespace.get(f"b{k}")
        if found is None:
            exec(compile(self.sources[k], f"<ptx {self.name} {k}>", "exec"), self.namespace)
            found = self.namespace[f"b{k}"]
        return found

    def poison(self, name: str) -> np.ndarray:
        """What a register holds that nothing was written to: NaN, a wild index, or False."""
        dtype = code(self.registers[name])
        return np.zeros(1, bool) if dtype == "b1" else np.full(int(dtype[1:]), 0xFF, np.uint8).view(dtype)


def place_parameters(variables: list[Variable]) -> tuple[dict[str, tuple[int, Variable]], int]:
    """Offsets of the kernel's parameters, each at a multiple of its alignment, and the size of all."""
    places: dict[str, tuple[int, Variable]] = {}
    at = 0
    for declared in variables:
        at = -(-at // declared.align) * declared.align
        places[declared.name] = (at, declared)
        at += declared.nbytes or 0
    return places, at


def compile_kernel(reader: Reader, name: str, contract: bool) -> Program:
    """Read and emit one kernel of a module."""
    flat = flatten(reader, name)
    parts = blocks(flat)
    parameters, size = place_parameters(flat.entry.parameters)
    spaces = dict.fromkeys(flat.locals, "local") | dict.fromkeys(flat.shared, "shared")
    spaces |= {n: v.space for n, v in reader.variables.items()}
    words = Words({**flat.registers, CC: "pred"}, parameters, spaces, contract)
    emitters, returns = [], []
    for block in parts:
        emitter = Emitter(words)
        for statement in block.statements:
            emitter.emit(statement)
        returns.append(_returned(emitter, block))
        emitters.append(emitter)
    live = _liveness(parts, emitters)
    sources = [
        _function(k, emitters[k], returns[k], {n for f in block.follow for n in live[f]})
        for k, block in enumerate(parts)
    ]
    namespace = {**NAMESPACE, **words.constants}
    names = [sorted(found) for found in live]
    for block in parts:  # the texts say all of it; tens of thousands of objects a kernel would stay as long as it
        block.statements.clear()
    flat.items.clear()
    return Program(name, flat, parts, names, parameters, size, words.registers, sources, namespace)


def _returned(emitter: Emitter, block: Block) -> str:
    """The expression that the end of the block depends on."""
    if block.last is None:
        return "None"
    emitter.line = block.last.line
    if block.end == "bra":
        return emitter.read(block.last.guard, "pred")
    if block.end == "brx":
        return emitter.read(block.last.operands[0], "u32")
    return "None"


def _liveness(parts: list[Block], emitters: list[Emitter]) -> list[set[str]]:
    live: list[set[str]] = [set() for _ in parts]
    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(parts))):
            after = {name for f in parts[k].follow for name in live[f]}
            now = emitters[k].uses | (after - emitters[k].defs)
            if now != live[k]:
                live[k], changed = now, True
    return live


def _function(k: int, emitter: Emitter, returned: str, after: set[str]) -> str:
    """The text of a block's function."""
    lines = [f"def b{k}(x, R, T):"]
    lines += [f"    {Emitter.local(name)} = R[{name!r}]" for name in sorted(emitter.uses)]
    lines += ["    " + line for line in emitter.lines]
    lines += [f"    R[{name!r}] = {Emitter.local(name)}" for name in sorted(emitter.defs & after)]
    return "\n".join([*lines, f"    return {returned}"])
