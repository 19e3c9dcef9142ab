"""Faults of a program: how they are drawn, written down and found again.

A fault is stored by the name of its function and the text of its statement before and after, so that it is found again
where the function moved to another file, or the file got another name.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kit.called import COMPILED

ROOMS = ("scalarviz", "scenes")
TEXTS = ("scalarviz/view/page/js", "scalarviz/view/glsl")
KEY = ("function", "before", "after", "nth")
OPPOSITES = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
TEXT_CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r"===", "!=="), (r"!==", "==="),
    (r" == ", " != "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" && ", " || "), (r" \|\| ", " && "),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"!(?=[\w(])", ""), (r"\breturn .+;$", "return;"),
    (r"(?<=if \()(?=.*\) \{$)", "!"), (r"^[\w.#]+\(.*\);$", ";"), (r"^(this\.)?[\w.#]+ [+*/-]?= .*;$", ";"),
    (r"(?<![\w.#])\d+(?![\w.])", lambda found: str(int(found[0]) + 1)),
    (r"(?<![\w.#])\d+\.\d*(?!\w)", lambda found: str(float(found[0]) + 1)),
]  # fmt: skip
TEXT_FUNCTION = re.compile(r" {0,2}(?:[\w*]+ )*(?!if|for|while|switch|catch)(#?\w+)(?: = )?(?:function)? ?\(.*\{\s*$")


@dataclass(frozen=True)
class Mutant:
    """A fault: the `nth` statement `before` of a function becomes `after`.

    `function` has no module in its name; nested functions belong to the outer one. `before` and `after` are written by
    ``ast.unparse``, without what is indented below; of other languages the line. `file` is a hint: where it was drawn.
    `kind` is "python", "kernel" or "text".
    """

    function: str
    before: str
    after: str
    nth: int
    file: str
    kind: str

    @property
    def key(self) -> str:
        return json.dumps([getattr(self, name) for name in KEY])


# Python


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Qualified names and nodes of the functions of a module that stand in no other function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try) and "TYPE_CHECKING" not in ast.dump(getattr(node, "test", node))[:60]:
            yield from functions(node, prefix)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.Constant) and not isinstance(getattr(node, "value", ""), int | float)


def instead(node: ast.AST) -> Iterator[ast.expr]:
    """What may stand in the place of an expression."""
    match node:
        case ast.Compare(left, [operator], right):
            yield ast.Compare(left, [OPPOSITES[type(operator)]()], right)
            if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                yield ast.UnaryOp(ast.Not(), node)
        case ast.BinOp(left, operator, right) if type(operator) in OPPOSITES and not is_text(left) | is_text(right):
            yield ast.BinOp(left, OPPOSITES[type(operator)](), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(OPPOSITES[type(operator)](), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)) if value + 1 != value:
            yield ast.Constant(value + 1)


def expressions(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of an expression below a node and another one for its place; texts, annotations and defaults apart."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            left_out = ast.stmt | ast.JoinedStr | ast.arguments | ast.ExceptHandler | ast.match_case
            if not isinstance(child, ast.AST) or isinstance(child, left_out) or field == "annotation":
                continue
            if isinstance(child, ast.keyword) and child.arg == "stacklevel":
                continue
            yield from ((child, other) for other in instead(child))
            if isinstance(node, ast.Slice) and not isinstance(child, ast.Constant):
                yield child, ast.BinOp(child, ast.Add(), ast.Constant(1))
            yield from expressions(child)


def statement_changes(statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Pairs of the statement, or an expression of its head, and what takes its place."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Expr(ast.Constant()):
            return
        case ast.Import() | ast.ImportFrom() | ast.Assert():
            return
        case ast.Raise() | ast.Expr(ast.Call()) | ast.AugAssign() | ast.Delete() | ast.Continue():
            yield statement, ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield statement, ast.Pass()
        case ast.Return(value) if value and not (isinstance(value, ast.Constant) and value.value is None):
            yield statement, ast.Return(ast.Constant(None))
        case ast.If(test):
            yield test, ast.UnaryOp(ast.Not(), test)
    if not isinstance(statement, ast.Raise):
        yield from expressions(statement)


class Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def head_of(statement: ast.stmt) -> ast.stmt:
    """A statement without the statements in it."""
    head = copy.copy(statement)
    for field, nothing in {"body": [ast.Pass()], "orelse": [], "finalbody": [], "handlers": [], "cases": []}.items():
        if isinstance(getattr(head, field, None), list):
            setattr(head, field, nothing)
    return head


def python_mutants(source: str, names: set[str], file: str) -> Iterator[tuple[Mutant, range, str]]:
    """Mutants of the named functions: each with its lines and the whole source with it."""
    lines = source.encode().splitlines(keepends=True)
    whole, starts = b"".join(lines), [0, *itertools.accumulate(map(len, lines))]
    seen: dict[tuple[str, str, str], int] = {}
    kind = "kernel" if file.startswith(COMPILED) else "python"
    for name, function in functions(ast.parse(source)):
        if name not in names:
            continue
        inside = (node for node in ast.walk(function) if isinstance(node, ast.stmt))
        for statement in sorted(inside, key=lambda node: (node.lineno, node.col_offset)):
            head = head_of(statement)
            before = ast.unparse(head).removesuffix("\n    pass")
            for old, new in statement_changes(statement):
                if old is statement:
                    after, text = ast.unparse(new), ast.unparse(new)
                else:
                    Replace(old, new).visit(head)
                    after, text = ast.unparse(head).removesuffix("\n    pass"), f"({ast.unparse(new)})"
                    Replace(new, old).visit(head)
                nth = seen[name, before, after] = seen.get((name, before, after), -1) + 1
                start, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
                changed = (whole[:start] + text.encode() + whole[end:]).decode()
                last = statement.body[0].lineno - 1 if hasattr(statement, "body") else statement.end_lineno
                yield Mutant(name, before, after, nth, file, kind), range(statement.lineno, last + 1), changed


# JavaScript and GLSL: by lines


def text_functions(source: str) -> list[str]:
    """The name of the function that each line stands in."""
    names, name = [], ""
    for line in source.splitlines():
        if found := TEXT_FUNCTION.match(line):
            name = found[1]
        names.append(name)
    return names


def text_mutants(source: str, names: set[str], file: str) -> Iterator[tuple[Mutant, range, str]]:
    lines = source.splitlines()
    seen: dict[tuple[str, str, str], int] = {}
    for number, (line, name) in enumerate(zip(lines, text_functions(source), strict=True), 1):
        before, code = line.strip(), line.split("//")[0].strip()
        if name not in names or re.match(r"[/*#]|import |export ", before):
            continue
        for pattern, new in TEXT_CHANGES:
            for found in re.finditer(pattern, code):
                if sum(map(code[: found.start()].count, "\"'`")) % 2 or code == "return;":
                    continue  # in a text
                after = code[: found.start()] + (new(found) if callable(new) else new) + code[found.end() :]
                nth = seen[name, before, after] = seen.get((name, before, after), -1) + 1
                changed = "\n".join([*lines[: number - 1], line.replace(before, after, 1), *lines[number:]]) + "\n"
                yield Mutant(name, before, after, nth, file, "text"), range(number, number + 1), changed


# The tree


@cache
def files(root: Path) -> list[str]:
    paths = [path for room in ROOMS for path in (root / room).rglob("*.py") if "scalarviz/scenes" not in str(path)]
    paths += [path for room in TEXTS for path in (root / room).rglob("*.*") if path.suffix in (".js", ".glsl")]
    return sorted(path.relative_to(root).as_posix() for path in paths)


def mutants_of(source: str, names: set[str], file: str) -> Iterator[tuple[Mutant, range, str]]:
    return (python_mutants if file.endswith(".py") else text_mutants)(source, names, file)


def function_lines(root: Path, file: str) -> dict[int, str]:
    """The function of each line of code that stands in one; blank lines and comments apart."""
    source = (root / file).read_text(encoding="utf-8")
    if not file.endswith(".py"):
        return {number: name for number, name in enumerate(text_functions(source), 1) if name}
    code = {number for number, line in enumerate(source.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    found = {}
    for name, node in functions(ast.parse(source)):
        first = node.body[1:2] if ast.get_docstring(node) else node.body[:1]
        if first:
            found |= {line: name for line in range(first[0].lineno, node.end_lineno + 1) if line in code}
    return found


def drawn(root: Path, paths: list[str], counts: dict[str, int], seed: int, lines=None) -> list[Mutant]:
    """Mutants on lines of code, each line equally likely; `lines` (file -> numbers) are all that may be drawn."""
    places: dict[str, list[tuple[str, int, str]]] = {kind: [] for kind in counts}
    for file in paths:
        kind = "kernel" if file.startswith(COMPILED) else "python" if file.endswith(".py") else "text"
        for line, name in function_lines(root, file).items() if kind in counts else ():
            if lines is None or line in lines.get(file, ()):
                places[kind].append((file, line, name))
    random_numbers, found = random.Random(seed), {}
    for kind, count in counts.items():
        random_numbers.shuffle(places[kind])
        ours = []
        for file, line, name in places[kind] * 4:  # a line may be drawn again, with another change
            if len(ours) == count:
                break
            source = (root / file).read_text(encoding="utf-8")
            there = [mutant for mutant, span, _ in mutants_of(source, {name}, file) if line in span]
            if there and (mutant := random_numbers.choice(there)).key not in found:
                found[mutant.key] = mutant
                ours.append(mutant)
    return list(found.values())


def find(mutant: Mutant, root: Path) -> tuple[str, str] | None:
    """File and whole source of a mutant, wherever its function is now; None if it or its statement has gone."""
    suffix, last = Path(mutant.file).suffix, mutant.function.rpartition(".")[2]
    same = [file for file in files(root) if file.endswith(suffix)]
    for file in sorted(same, key=lambda file: (file != mutant.file, Path(file).name != Path(mutant.file).name)):
        source = (root / file).read_text(encoding="utf-8")
        there = mutants_of(source, {mutant.function}, file) if last in source else ()
        found = {one.key: text for one, _, text in there}
        if mutant.key in found:
            return file, found[mutant.key]
        if found and file == mutant.file:
            break  # the function is where it was, and the statement has gone
    return None
