"""One kernel as basic blocks: device functions put in at their calls, guards turned into branches."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .text import Function, Reader, Statement, Unsupported, Variable

NAME = re.compile(r"[%$\w]+")
ENDS = ("bra", "brx", "ret", "exit", "trap", "bar", "barrier")
MEETS = ("shfl", "vote", "match", "activemask")  # lanes of a warp meet: such an instruction begins a block


@dataclass
class Flat:
    """A kernel without calls.

    Names: a register is ``%name``, a parameter of an inlined call ``#name``, everything else a symbol.
    """

    entry: Function
    registers: dict[str, str] = field(default_factory=dict)
    locals: dict[str, Variable] = field(default_factory=dict)
    shared: dict[str, Variable] = field(default_factory=dict)
    items: list[Statement | str] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    symbols: set[str] = field(default_factory=set)  # of the module, those used


class _Inliner:
    def __init__(self, reader: Reader, entry: Function) -> None:
        self.reader, self.flat, self.calls = reader, Flat(entry), 0
        self.expand(entry, "", {}, ())

    def expand(self, function: Function, prefix: str, formal: dict[str, str], inside: tuple[str, ...]) -> None:
        if function.name in inside:
            raise Unsupported(f"line {function.line}: {function.name} calls itself")
        flat = self.flat
        labels = {item for item in function.body if isinstance(item, str)}
        names = dict(formal)
        for name, kind in function.registers.items():
            names[name] = "%" + prefix + re.sub(r"\W", "", name)
            flat.registers[names[name]] = kind
        names |= {label: prefix + label for label in labels}
        for name, declared in function.variables.items():
            names[name] = ("#" if declared.space == "param" else "") + prefix + name
            if declared.space != "param":
                (flat.locals if declared.space == "local" else flat.shared)[prefix + name] = declared
        for label, targets in function.tables.items():
            flat.tables[prefix + label] = [prefix + target for target in targets]
            names[label] = prefix + label

        def rename(match: re.Match[str]) -> str:
            if match[0] in self.reader.variables:
                flat.symbols.add(match[0])
            return names.get(match[0], match[0])

        for item in function.body:
            if isinstance(item, str):
                flat.items.append(prefix + item)
                continue
            renamed = replace(
                item,
                guard=NAME.sub(rename, item.guard),
                operands=tuple(NAME.sub(rename, operand) for operand in item.operands),
            )
            self._add(renamed, prefix, (*inside, function.name))
        if prefix:
            flat.items.append(prefix + "end")

    def _add(self, s: Statement, prefix: str, inside: tuple[str, ...]) -> None:
        items = self.flat.items
        skip = ""
        if s.guard and s.opcode[0] != "bra":
            skip = f"skip.{len(items)}"
            turned = s.guard[1:] if s.guard[0] == "!" else "!" + s.guard
            items.append(Statement(turned, ("bra",), (skip,), s.line))
            s = replace(s, guard="")
        if s.opcode[0] == "call":
            self._call(s, prefix, inside)
        elif s.opcode[0] == "ret" and prefix:
            items.append(Statement("", ("bra",), (prefix + "end",), s.line))
        else:
            items.append(s)
        if skip:
            items.append(skip)

    def _call(self, s: Statement, prefix: str, inside: tuple[str, ...]) -> None:
        parts = list(s.operands)
        results = [n.strip() for n in parts.pop(0).strip("()").split(",")] if parts[0].startswith("(") else []
        callee = self.reader.functions.get(parts[0])
        if callee is None:
            raise Unsupported(f"line {s.line}: a call of {parts[0]}, which has no body here")
        given = [n.strip() for n in parts[1].strip("()").split(",")] if len(parts) > 1 and parts[1] != "()" else []
        formal = {p.name: a for p, a in zip(callee.parameters, given, strict=True)}
        formal |= {p.name: a for p, a in zip(callee.results, results, strict=True)}
        self.calls += 1
        self.expand(callee, f"c{self.calls}_", formal, inside)


@dataclass
class Block:
    """Statements without a branch but for the last; the numbers of the blocks that may follow.

    ``end`` is how it ends: "next", "bra" (``follow`` = taken, not taken), "brx", "bar" or "ret".
    """

    statements: list[Statement]
    end: str = "next"
    follow: list[int] = field(default_factory=list)
    last: Statement | None = None


def flatten(reader: Reader, name: str) -> Flat:
    return _Inliner(reader, reader.functions[name]).flat


def blocks(flat: Flat) -> list[Block]:
    """The basic blocks in the order of the text."""
    out: list[Block] = [Block([])]
    labels: dict[str, int] = {}
    for item in flat.items:
        if isinstance(item, str) or item.opcode[0] in MEETS:
            if out[-1].statements or out[-1].last is not None:
                out.append(Block([]))
            if isinstance(item, str):
                labels[item] = len(out) - 1
                continue
        if item.opcode[0] in ENDS and item.opcode[:2] != ("bar", "warp"):
            out[-1].last = item
            out.append(Block([]))
        else:
            out[-1].statements.append(item)
    if not out[-1].statements and out[-1].last is None:
        out[-1].last = Statement("", ("ret",), (), 0)
    for k, block in enumerate(out):
        _connect(block, k, labels, flat.tables, len(out))
    return out


def _connect(block: Block, k: int, labels: dict[str, int], tables: dict[str, list[str]], count: int) -> None:
    last = block.last
    following = [k + 1] if k + 1 < count else []
    if last is None:
        block.end, block.follow = ("next", following) if following else ("ret", [])
        return
    kind = last.opcode[0]
    if kind == "bra":
        target = labels[last.operands[0]]
        block.end, block.follow = ("bra", [target, *following]) if last.guard else ("next", [target])
    elif kind == "brx":
        block.end, block.follow = "brx", [labels[target] for target in tables[last.operands[1]]]
    elif kind in ("bar", "barrier"):
        block.end, block.follow = "bar", following
    else:
        block.end = "trap" if kind == "trap" else "ret"
