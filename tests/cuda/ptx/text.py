"""PTX text -> kernels as basic blocks: names and statements are read, device functions put in at their calls.

Nothing is executed or understood here.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass, field, replace

SIZES = {"pred": 1}
for _kind in "bsu":
    for _bits in (8, 16, 32, 64):
        SIZES[f"{_kind}{_bits}"] = _bits // 8
SIZES |= {"f16": 2, "f32": 4, "f64": 8, "b128": 16}


BRACKET = re.compile(r"[(\[{]")
SPACE, PLAIN = re.compile(r"\s*"), re.compile(r"([^;(){}]*);")
LABEL, LINES, NAME = re.compile(r"([\w$%]+)\s*:(?!:)"), re.compile(r"\.(loc|file)\s"), re.compile(r"[%$\w]+")


class Unsupported(Exception):
    """PTX that this machine does not know: what, and the line of the text."""


@dataclass(frozen=True)
class Statement:
    """An instruction: the guard ("%p1", "!%p1" or ""), its opcode in parts, its operands, and where it stands."""

    guard: str
    opcode: tuple[str, ...]
    operands: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Variable:
    """A variable of a state space: `nbytes` is None for an array without a size (dynamic shared memory)."""

    name: str
    space: str
    align: int
    nbytes: int | None
    data: bytes = b""
    type: str = "b8"


@dataclass
class Function:
    """A function with unique names: registers, parameters and depots of inner scopes carry the scope's number."""

    name: str
    entry: bool
    line: int
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Statement | str] = field(default_factory=list)  # a str is a label
    tables: dict[str, list[str]] = field(default_factory=dict)  # targets of an indexed branch, by its label
    directives: dict[str, str] = field(default_factory=dict)


def split(text: str) -> list[str]:
    """Parts between commas that stand in no bracket."""
    if not BRACKET.search(text):
        return [part.strip() for part in text.split(",")] if text.strip() else []
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [*parts, part.strip()] if part.strip() or parts else []


def _scalar(text: str, kind: str) -> bytes:
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return bytes.fromhex(text[2:])[::-1]
    if kind[0] == "f":
        return struct.pack("<f" if kind == "f32" else "<d", float(text))
    return (int(text.rstrip("U"), 0) % (1 << 8 * SIZES[kind])).to_bytes(SIZES[kind], "little")


def variable(text: str, space: str, line: int) -> Variable:
    """A declaration such as ``.global .align 4 .b8 name[24] = {1, 2}``."""
    head, _, value = text.partition("=")
    head = re.sub(r"\.ptr(\s+\.(global|const|shared|local))?(\s+\.align\s+\d+)?", "", head)  # says what it points to
    align = re.search(r"\.align\s+(\d+)", head)
    found = re.search(r"\.([bsuf]\d+|pred)\s+(\S+?)\s*(\[\s*\d*\s*\])*\s*$", head)
    if found is None:
        raise Unsupported(f"line {line}: a declaration: {text}")
    kind, name = found[1], found[2]
    sizes = re.findall(r"\[\s*(\d*)\s*\]", head)
    count: int | None = 1
    for size in sizes:
        count = None if size == "" or count is None else count * int(size)
    data = b""
    if value.strip():
        try:
            data = b"".join(_scalar(part, kind) for part in split(value.strip().strip("{}")))
        except ValueError:
            raise Unsupported(f"line {line}: the initial value of {name}") from None
    nbytes = None if count is None else count * SIZES[kind]
    return Variable(name, space, int(align[1]) if align else SIZES[kind], nbytes, data, kind)


class Reader:
    """Reads one text; ``functions`` and ``variables`` (by name) are the result."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
        self.text = re.sub(r"//[^\n]*", "", text)
        self.at = 0
        self.lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.target = ""
        while self._skip():
            self._top()

    def forget(self) -> None:
        """Let go of the statements, once every kernel is made of them; what is declared stays."""
        for function in self.functions.values():
            function.body.clear()
        self.text, self.lines = "", []

    def line(self) -> int:
        return bisect_right(self.lines, self.at)

    def _skip(self) -> bool:
        self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.at < len(self.text)

    def _until(self, stops: str) -> str:
        """The text up to the first of `stops` outside of brackets; the stop itself is passed over."""
        start, depth = self.at, 0
        simple = PLAIN.match(self.text, start)
        if stops == ";" and simple is not None:
            self.at = simple.end()
            return simple[1].strip()
        while self.text[self.at] not in stops or depth:
            depth += (self.text[self.at] in "([{") - (self.text[self.at] in ")]}")
            self.at += 1
        self.at += 1
        return self.text[start : self.at - 1].strip()

    def _top(self) -> None:
        line = self.line()
        word = re.compile(r"\.?\w+").match(self.text, self.at)
        if word is None:
            raise Unsupported(f"line {line}: {self.text[self.at : self.at + 40]!r}")
        if word[0] in (".version", ".target", ".address_size", ".file"):
            rest = self._until("\n")
            if word[0] == ".target":
                self.target = rest.split()[1].rstrip(",")
            return
        start = self.at
        head = self._head()
        if re.search(r"\.(entry|func)\b", head):
            self._function(head, line)
            return
        self.at = start
        text = self._until(";")
        space = re.search(r"\.(global|const|shared)\b", text)
        if space is None:
            raise Unsupported(f"line {line}: {text[:60]!r}")
        declared = variable(text, space[1], line)
        self.variables[declared.name] = declared

    def _head(self) -> str:
        """Up to the ``{`` or ``;`` that follows."""
        start = self.at
        while self.text[self.at] not in "{;=":
            self.at += 1
        return self.text[start : self.at]

    def _function(self, head: str, line: int) -> None:
        shape = re.search(r"\.(entry|func)\s*(\((?P<out>[^)]*)\))?\s*(?P<name>[\w$%]+)\s*(\((?P<in>[^)]*)\))?", head)
        if shape is None:
            raise Unsupported(f"line {line}: {head!r}")
        function = Function(shape["name"], shape[1] == "entry", line)
        function.parameters = [variable(p, "param", line) for p in split(shape["in"] or "")]
        function.results = [variable(p, "param", line) for p in split(shape["out"] or "")]
        function.directives = dict(re.findall(r"\.(maxntid|reqntid|maxnreg|minnctapersm)\s+([\d, ]+)", head))
        stop = self.text[self.at]
        self.at += 1
        if stop == ";":
            return  # a declaration
        _Body(self, function).read()
        self.functions[function.name] = function


class _Body:
    """The statements of one function, names resolved by scope."""

    def __init__(self, reader: Reader, function: Function) -> None:
        self.reader, self.function = reader, function
        self.scopes: list[dict[str, str]] = [{}]
        self.opened = 0

    def read(self) -> None:
        reader = self.reader
        while self.scopes:
            reader._skip()
            c = reader.text[reader.at]
            if c == "{":
                reader.at += 1
                self.opened += 1
                self.scopes.append({})
            elif c == "}":
                reader.at += 1
                self.scopes.pop()
            elif label := LABEL.match(reader.text, reader.at):
                reader.at = label.end()
                self.function.body.append(label[1])
            elif LINES.match(reader.text, reader.at):
                reader._until("\n")
            else:
                line = reader.line()
                self._statement(reader._until(";"), line)

    def _unique(self, name: str) -> str:
        unique = name if len(self.scopes) == 1 else f"{name}__{self.opened}"
        self.scopes[-1][name] = unique
        return unique

    def _statement(self, text: str, line: int) -> None:
        if not text or text.startswith(".pragma"):
            return
        if text.startswith(".reg"):
            kind, names = re.match(r"\.reg\s+\.(\w+)\s+(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
            for name in split(names):
                several = re.fullmatch(r"([\w$%]+)<(\d+)>", name)
                for one in [f"{several[1]}{k}" for k in range(int(several[2]))] if several else [name]:
                    self.function.registers[self._unique(one)] = kind
        elif space := re.match(r"\.(param|local|shared)\b", text):
            declared = variable(text, space[1], line)
            unique = self._unique(declared.name)
            self.function.variables[unique] = Variable(
                unique, declared.space, declared.align, declared.nbytes, declared.data, declared.type
            )
        elif text.startswith(".branchtargets"):
            label = self.function.body.pop()
            assert isinstance(label, str)
            self.function.tables[label] = split(text.removeprefix(".branchtargets"))
        elif text.startswith("."):
            raise Unsupported(f"line {line}: {text[:60]!r}")
        else:
            self.function.body.append(self._instruction(text, line))

    def _resolve(self, match: re.Match[str]) -> str:
        for scope in reversed(self.scopes):
            if match[0] in scope:
                return scope[match[0]]
        return match[0]

    def _instruction(self, text: str, line: int) -> Statement:
        found = re.match(r"(@(!?[\w$%]+)\s+)?([\w.:]+)\s*(.*)", text, re.DOTALL)
        if found is None:
            raise Unsupported(f"line {line}: {text[:60]!r}")
        if len(self.scopes) == 1:
            operands, guard = tuple(" ".join(part.split()) for part in split(found[4])), found[2] or ""
        else:
            operands = tuple(NAME.sub(self._resolve, " ".join(part.split())) for part in split(found[4]))
            guard = NAME.sub(self._resolve, found[2] or "")
        return Statement(guard, tuple(found[3].split(".")), operands, line)


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
