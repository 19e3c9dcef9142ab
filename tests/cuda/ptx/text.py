"""PTX text -> kernels as basic blocks: names and statements are read, device functions put in at their calls."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

SIZES = {"pred": 1, "f32": 4, "f64": 8} | {f"{kind}{8 * n}": n for kind in "bsu" for n in (1, 2, 4, 8)}
SKIPPED = r"\.(?:loc|file|pragma|version|target|address_size)\b[^\n]*"
STATEMENT = r"(?P<text>(?:[^;{}]|\{[^{};]*\})+);"
TOP = re.compile(rf"\s*(?:{SKIPPED}|(?P<head>[^;{{}}=]*\.(?:entry|func)\b[^;{{}}]*)(?P<stop>[;{{])|{STATEMENT})")
BODY = re.compile(rf"\s*(?:{SKIPPED}|(?P<open>\{{)|(?P<close>\}})|(?P<label>[\w$%]+)\s*:(?!:)|{STATEMENT})")
HEAD = re.compile(r"\.(entry|func)\s*(?:\((?P<out>[^)]*)\))?\s*(?P<name>[\w$%]+)\s*(?:\((?P<in>[^)]*)\))?")
INSTRUCTION = re.compile(r"(?:@(!?[\w$%]+)\s+)?([\w.:]+)\s*(.*)", re.DOTALL)
NAME, PART = re.compile(r"[%$\w]+"), re.compile(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,])+")
ENDS = ("bra", "ret", "exit", "trap", "bar", "barrier")


class Unsupported(Exception):
    """PTX that this machine does not know: what, and the line of the text."""


class Statement(NamedTuple):
    """An instruction: the guard ("%p1", "!%p1" or ""), its opcode in parts, its operands, and where it stands."""

    guard: str
    opcode: tuple[str, ...]
    operands: list[str]
    line: int


class Variable(NamedTuple):
    """A variable of a state space: `nbytes` is None for an array without a size (dynamic shared memory)."""

    name: str
    space: str
    align: int
    nbytes: int | None
    data: bytes
    type: str


@dataclass
class Function:
    """A function with unique names: those of inner scopes carry the scope's number. A text in the body is a label."""

    name: str
    entry: bool
    threads: int
    parameters: list[Variable]
    results: list[Variable]
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    body: list[Statement | str] = field(default_factory=list)


def split(text):
    """Parts between commas that stand in no bracket."""
    return [" ".join(part.split()) for part in PART.findall(text) if part.strip()]


def variable(text, line):
    """A declaration such as ``.global .align 4 .b8 name[24] = {1, 2}``."""
    head, _, value = text.partition("=")
    head = re.sub(r"\.ptr(\s+\.(global|const|shared|local))?(\s+\.align\s+\d+)?", "", head)  # says what it points to
    space, align = re.search(r"\.(global|const|shared|local|param)\b", head), re.search(r"\.align\s+(\d+)", head)
    found = re.search(r"\.([bsuf]\d+)\s+(\S+?)\s*((?:\[\s*\d*\s*\])*)\s*$", head)
    if found is None or space is None:
        raise Unsupported(f"line {line}: a declaration: {text[:60]}")
    kind, name, sizes = found[1], found[2], re.findall(r"\[\s*(\d*)\s*\]", found[3])
    nbytes = SIZES[kind]
    for size in sizes:
        nbytes = None if size == "" else nbytes * int(size)
    words = split(value.strip().strip("{}"))
    data = b"".join((int(word, 0) % (1 << 8 * SIZES[kind])).to_bytes(SIZES[kind], "little") for word in words)
    return Variable(name, space[1], int(align[1]) if align else SIZES[kind], nbytes, data, kind)


class Reader:
    """Reads one text; ``functions`` and ``variables`` (by name) are the result."""

    def __init__(self, text):
        self.text = re.sub(r"//[^\n]*", "", text)
        self.lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.functions, self.variables, at = {}, {}, 0
        while self.text[at:].strip():
            found = self._match(TOP, at)
            at = found.end()
            if found["head"]:
                at = self._function(found["head"], found["stop"], at)
            elif found["text"]:
                declared = variable(found["text"], self._line(found.start("text")))
                self.variables[declared.name] = declared

    def forget(self):
        """Let go of the statements, once every kernel is made of them; what is declared stays."""
        for function in self.functions.values():
            function.body.clear()
        self.text, self.lines = "", []

    def _line(self, at):
        return bisect_right(self.lines, at)

    def _match(self, expression, at):
        found = expression.match(self.text, at)
        if found is None:
            raise Unsupported(f"line {self._line(at)}: {self.text[at : at + 60]!r}")
        return found

    def _function(self, head, stop, at):
        shape, bounds = HEAD.search(head), re.search(r"\.(?:maxntid|reqntid)\s+(\d+)\s*,\s*(\d+)\s*,\s*(\d+)", head)
        threads = int(bounds[1]) * int(bounds[2]) * int(bounds[3]) if bounds else 1024
        parameters, results = ([variable(".param " + p, 0) for p in split(shape[part] or "")] for part in ("in", "out"))
        function = Function(shape["name"], shape[1] == "entry", threads, parameters, results)
        if stop == ";":
            return at  # a declaration
        scopes, opened = [{}], 0
        while scopes:
            found = self._match(BODY, at)
            at = found.end()
            if found["open"]:
                opened += 1
                scopes.append({})
            elif found["close"]:
                scopes.pop()
            elif found["label"]:
                function.body.append(found["label"])
            elif found["text"]:
                self._statement(function, scopes, opened, found["text"].strip(), self._line(found.start("text")))
        self.functions[function.name] = function
        return at

    def _statement(self, function, scopes, opened, text, line):
        def unique(name):
            scopes[-1][name] = name if len(scopes) == 1 else f"{name}__{opened}"
            return scopes[-1][name]

        if text.startswith(".reg"):
            kind, names = re.match(r"\.reg\s+\.(\w+)\s+(.*)", text, re.DOTALL).groups()
            for name in split(names):
                several = re.fullmatch(r"([\w$%]+)<(\d+)>", name)
                for one in [f"{several[1]}{k}" for k in range(int(several[2]))] if several else [name]:
                    function.registers[unique(one)] = kind
        elif text.startswith("."):
            declared = variable(text, line)
            name = unique(declared.name)
            function.variables[name] = declared._replace(name=name)
        else:
            if len(scopes) > 1:
                names = {name: now for scope in scopes for name, now in scope.items()}
                text = NAME.sub(lambda m: names.get(m[0], m[0]), text)
            guard, opcode, operands = INSTRUCTION.match(text).groups()
            function.body.append(Statement(guard or "", tuple(opcode.split(".")), split(operands), line))


class Flat:
    """A kernel without calls.

    Names: a register is ``%name``, a parameter of an inlined call ``#name``, everything else a symbol.
    """

    def __init__(self, reader, name):
        self.reader, self.calls = reader, 0
        self.entry = reader.functions[name]
        self.registers, self.locals, self.shared = {}, {}, {}
        self.items, self.symbols = [], set()
        self._expand(self.entry, "", {}, ())

    def _expand(self, function, prefix, formal, inside):
        if function.name in inside:
            raise Unsupported(f"{function.name} calls itself")
        names = dict(formal)
        for name, kind in function.registers.items():
            names[name] = "%" + prefix + re.sub(r"\W", "", name)
            self.registers[names[name]] = kind
        names |= {item: prefix + item for item in function.body if isinstance(item, str)}
        for name, declared in function.variables.items():
            names[name] = ("#" if declared.space == "param" else "") + prefix + name
            if declared.space != "param":
                (self.locals if declared.space == "local" else self.shared)[prefix + name] = declared

        def rename(match):
            if match[0] in self.reader.variables:
                self.symbols.add(match[0])
            return names.get(match[0], match[0])

        for item in function.body:
            if isinstance(item, str):
                self.items.append(prefix + item)
            else:
                operands = [NAME.sub(rename, operand) for operand in item.operands]
                given = item._replace(guard=NAME.sub(rename, item.guard), operands=operands)
                self._add(given, prefix, (*inside, function.name))
        if prefix:
            self.items.append(prefix + "end")

    def _add(self, s, prefix, inside):
        """A guarded instruction other than a branch stands behind a branch that passes it over."""
        skip = f"skip.{len(self.items)}" if s.guard and s.opcode[0] != "bra" else ""
        if skip:
            turned = s.guard[1:] if s.guard[0] == "!" else "!" + s.guard
            self.items.append(Statement(turned, ("bra",), [skip], s.line))
            s = s._replace(guard="")
        if s.opcode[0] == "call":
            self._call(s, inside)
        elif s.opcode[0] == "ret" and prefix:
            self.items.append(Statement("", ("bra",), [prefix + "end"], s.line))
        else:
            self.items.append(s)
        if skip:
            self.items.append(skip)

    def _call(self, s, inside):
        results = split(s.operands[0].strip("()")) if s.operands[0].startswith("(") else []
        name, *given = s.operands[bool(s.operands[0].startswith("(")) :]
        callee = self.reader.functions.get(name)
        if callee is None:
            raise Unsupported(f"line {s.line}: a call of {name}, which has no body here")
        given = split(given[0].strip("()")) if given else []
        formal = {p.name: a for p, a in zip(callee.parameters, given, strict=True)}
        formal |= {p.name: a for p, a in zip(callee.results, results, strict=True)}
        self.calls += 1
        self._expand(callee, f"c{self.calls}_", formal, inside)


@dataclass
class Block:
    """Statements without a branch but for the last; the numbers of the blocks that may follow.

    ``end`` is how it ends: "next", "bra" (``follow`` = taken, not taken), "bar", "poll" (what follows has to do with
    other blocks: it is done when nobody else can go on), "trap" or "ret".
    """

    statements: list[Statement] = field(default_factory=list)
    end: str = "next"
    follow: list[int] = field(default_factory=list)
    last: Statement | None = None
    polls: bool = False


def blocks(flat):
    """The basic blocks in the order of the text."""
    out, labels = [Block()], {}
    for item in flat.items:
        if isinstance(item, str):
            if out[-1].statements:
                out.append(Block())
            labels[item] = len(out) - 1
        elif item.opcode[0] == "atom" or item.opcode[:2] == ("ld", "acquire"):
            out[-1].polls = True
            out.append(Block([item]))
        elif item.opcode[0] in ENDS and item.opcode[:2] != ("bar", "warp"):
            out[-1].last = item
            out.append(Block())
        else:
            out[-1].statements.append(item)
    for k, block in enumerate(out):
        kind = block.last.opcode[0] if block.last else "ret" if k + 1 == len(out) else "next"
        if kind == "bra":
            target = labels[block.last.operands[0]]
            block.end, block.follow = ("bra", [target, k + 1]) if block.last.guard else ("next", [target])
        elif kind in ("bar", "barrier", "next"):
            block.end, block.follow = "next" if kind == "next" else "bar", [k + 1]
        else:
            block.end = "trap" if kind == "trap" else "ret"
        if block.polls:
            block.end = "poll"
    return out
