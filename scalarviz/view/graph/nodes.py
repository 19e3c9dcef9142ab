"""The nodes from which results were computed, and the modules that own them.

A graph of a million numbers is walked in a second or two; a record for each would take ten times as long. So
shortening, folding and counting work on keys of objects, and only what is drawn becomes an `Item`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Literal, TypeVar

import numpy as np

from ...errors import InputError, UnknownNameError, listing, shown
from ...nn import Module
from ...nn._inputs import as_result
from ...scalar.array import Values
from ...scalar.nested import every, flatten
from ...scalar.sums import Dot, Row, Total
from ...scalar.value import Value
from ...scalar.weight import Weight

Key = Hashable
"""Equal for objects of one node, see `key_of`."""
Below = tuple["Value | Row", ...]
LONG, MANY = 16, 4
"""Most weights of a row that are drawn one by one without unfolding: in any graph, and in a large one."""

LASTING = frozenset((Value, Dot, Total))
"""Types that the graph itself holds, so an id is a key; tested first, because nearly all objects are of these."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphObjects:
    """The objects of a graph."""

    objects: dict[Key, Value | Row]  # operands before results
    below: dict[Key, tuple[Key, ...]]


def key_of(value: Value | Row) -> Key:
    """Return a key that is equal for objects of one node; a Weight object is made again at each access."""
    if isinstance(value, Weight):
        return id(value._block), value._index
    return (id(value.block), value.start, value.length) if isinstance(value, Row) else id(value)


def row_name(row: Row) -> str:
    """Return the name of a row: ``0.weight[3]``, or the name of the block if the row is all of it."""
    if row.length == row.block.size:
        return row.block.name
    first = row.block.weight_name(row.start)
    return first.rpartition("[")[0] if first.endswith("]") else first


def walked(roots: Sequence[Value], unfold: frozenset[str], long: int, most: int | None = None) -> GraphObjects | None:
    """Return everything that leads to `roots`."""
    objects: dict[Key, Value | Row] = {}
    below: dict[Key, tuple[Key, ...]] = {}
    stack: list[Value | Row] = list(reversed(roots))
    while stack:
        value = stack[-1]
        key = id(value) if type(value) in LASTING else key_of(value)
        if key in below:  # all its operands are done
            stack.pop()
            if key not in objects:
                objects[key] = value
            continue
        if most is not None and len(below) >= most:
            return None
        parents = value._parents if type(value) is Value else _below(value, unfold, long)
        keys = below[key] = tuple([id(p) if type(p) in LASTING else key_of(p) for p in parents])
        for k in range(len(keys) - 1, -1, -1):
            if keys[k] not in below:
                stack.append(parents[k])
    return GraphObjects(objects, below)


def _below(value: Value | Row, unfold: frozenset[str], long: int) -> Below:
    """Return the operands; many neighbouring weights count as one row."""
    if isinstance(value, Row):
        return ()
    if isinstance(value, Dot):
        weights, bias = value.weights, value.bias
        return (
            *(_each(weights, unfold, long) if isinstance(weights, Row) else weights),
            *value.xs,
            *(_each(bias, unfold, long) if isinstance(bias, Row) else () if bias is None else (bias,)),
        )
    return _each(value.row, unfold, long) if isinstance(value, Total) else value.parents


def _each(row: Row, unfold: frozenset[str], long: int) -> Below:
    whole = row.length > long and not (unfold and row_name(row) in unfold)
    return (row,) if whole else tuple(row.weights())


# ---- Owners of nodes: a module stores its last call, and its weights know their module.

Kinds = dict[str, str]
"""Classes of modules by path."""
Paths = dict[Key, str]
"""Paths of modules by the keys of their nodes."""
Calls = Mapping[int, tuple[Any, Any]]
"""Inputs and outputs of modules by their ids: Values in nested lists."""


def last_calls(model: Module) -> Calls:
    """Return the inputs and outputs of the last call of each part of a model, by its id."""
    parts = (part for _, part in model.named_modules())
    return {id(part): (part._books.inputs, part._books.outputs) for part in parts}


def owners_of(walk: GraphObjects, model: Module | None = None, calls: Calls | None = None) -> tuple[Kinds, Paths]:
    """Return the class of each module with nodes, by path, and the path of each node that a module owns.

    Default model: the one that owns the weights; default calls: the last ones of its parts.
    """
    roots = [model] if model is not None else _roots(walk)
    kinds: Kinds = {}
    paths: Paths = {}
    for k, root in enumerate(roots, 1):
        name = type(root).__name__.lower()
        prefix = "" if len(roots) == 1 and root.children() else name if k == 1 else f"{name}{k}"
        called = last_calls(root) if calls is None else calls
        modules = [(path, part) for path, part in root.named_modules(prefix) if path and id(part) in called]
        for path, part in modules:
            _claim(called[id(part)], path, walk, paths)
        _claim_by_weights(walk, {id(part): path for path, part in root.named_modules(prefix)}, paths)
        _claim_between(walk, [path for path, part in reversed(modules) if part.children()], paths)
        kinds |= {path: type(part).__name__ for path, part in modules}
    used = {prefix for path in set(paths.values()) for prefix in prefixes(path)}
    return {path: kind for path, kind in kinds.items() if path in used}, _with_leaves(walk, paths)


def prefixes(path: str) -> list[str]:
    """Return all prefixes of a path: ``a``, ``a.b``, ``a.b.c``."""
    parts = path.split(".") if path else []
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _claim(call: tuple[Any, Any], path: str, walk: GraphObjects, paths: Paths) -> None:
    """Claim the results between inputs and outputs of a call for a module; its parts claim theirs later."""
    ends = {key_of(value) for value in flatten(call[0])}
    stack = [key for key in map(key_of, flatten(call[1])) if key in walk.below]
    seen = set(stack)
    while stack:
        key = stack.pop()
        if not walk.below[key] or key in ends:
            continue
        paths[key] = path
        for operand in walk.below[key]:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)


def _claim_by_weights(walk: GraphObjects, modules: Mapping[int, str], paths: Paths) -> None:
    """Claim weights, and weighted sums of earlier calls, for the modules that hold the weights."""
    for key, value in walk.objects.items():
        of = value.weights if isinstance(value, Dot) else value
        block = None if key in paths else _block(of)
        if block is not None:
            owners = [ref() for ref in block.owners]
            path = next((modules[id(owner)] for owner in owners if id(owner) in modules), "")
            if path:
                paths[key] = path


def _claim_between(walk: GraphObjects, whole: Sequence[str], paths: Paths) -> None:
    """Claim the nodes between the parts of modules; a part stores one call, or none if ``forward`` was called."""
    if not whole:
        return
    order, spans = list(walk.objects), dict[str, tuple[int, int]]()
    for place, key in enumerate(order):
        for path in prefixes(paths.get(key, "")) if walk.below[key] else ():
            spans[path] = spans.get(path, (place, place))[0], place
    for path in whole:
        first, last = spans.get(path, (0, -1))
        part = [key for key in order[first : last + 1] if walk.below[key]]
        own = {key for key in part if f"{paths.get(key, '')}.".startswith(f"{path}.")}
        after, before = set(own), set(own)
        for key in part:
            if not after.isdisjoint(walk.below[key]):
                after.add(key)
        for key in reversed(part):
            if key in before:
                before.update(walk.below[key])
        paths |= dict.fromkeys((key for key in part if key in after and key in before and key not in paths), path)


def _with_leaves(walk: GraphObjects, paths: Paths) -> Paths:
    """Add the leaves that no module holds to the module of all their users, unless they have a name."""
    shared: Paths = {}
    for key, operands in walk.below.items() if paths else ():
        path = paths.get(key, "")
        for leaf in operands:
            if not walk.below[leaf] and leaf not in paths:
                known = shared.setdefault(leaf, path)
                shared[leaf] = path if known == path else _common(known, path)
    bare = {key for key in shared if type(of := walk.objects[key]) is not Value or not of.label}
    return paths | {key: path for key, path in shared.items() if path and key in bare}


def _common(one: str, other: str) -> str:
    """Return the longest common path prefix, whole parts only."""
    return max(set(prefixes(one)).intersection(prefixes(other)), key=len, default="")


def _roots(walk: GraphObjects) -> list[Module]:
    """Return the outermost modules that hold the weights of a graph."""
    blocks = {id(b): b for b in map(_block, walk.objects.values()) if b is not None}
    found: dict[int, Module] = {}
    for block in blocks.values():
        for owner in (ref() for ref in block.owners):
            if isinstance(owner, Module):
                root = _top(owner)
                found[id(root)] = root
                break
    return list(found.values())


def _block(value: object) -> Any:
    if type(value) is Value:  # in a large graph nearly all are Values
        return None
    if isinstance(value, Weight):
        return value._block
    return value.block if isinstance(value, Row) else None


def _top(module: Module) -> Module:
    seen = {id(module)}
    while True:
        above = next((m for m in (ref() for ref in module._books.owners) if m is not None), None)
        if above is None or id(above) in seen:
            return module
        seen.add(id(above))
        module = above


# ---- A call without side effects: a prediction for one sample, after which the network is as before.

NAME = "x"
"""Name of a sample without names; its numbers are x1, x2, ..."""


def called(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[list[Value], Calls | None]:
    """Return the results of a module or a function for one sample with named numbers, and the calls of its parts."""
    names = [NAME] if len(inputs) == 1 else [f"{NAME}{k + 1}" for k in range(len(inputs))]
    given = [named(x, name) for x, name in zip(inputs, names, strict=True)]
    if not isinstance(function, Module):  # a module makes arrays of lists by itself
        return every(function(*[as_result(x, Values) for x in given]), "draw: what is called"), None
    with unchanged(function):
        return every(function(*given), "draw: what is called"), last_calls(function)


def named(x: Any, name: str, levels: int = 40) -> Any:
    """Return the sample as named Values: ``x``, a row ``x1, x2``, or nested lists ``x[0][1]``, up to `levels` deep."""
    if levels == 0 or isinstance(x, Value) or not isinstance(x, list | tuple | np.ndarray | float | int | np.number):
        return x
    if isinstance(x, np.ndarray):
        x = x.tolist()
    if not isinstance(x, list | tuple):
        return Value(x, name)
    flat = not any(isinstance(part, list | tuple | np.ndarray) for part in x)
    names = (f"{name}{k + 1}" if flat and "[" not in name else f"{name}[{k}]" for k in range(len(x)))
    return [named(part, each, levels - 1) for part, each in zip(x, names, strict=True)]


@contextmanager
def unchanged(module: Module) -> Iterator[None]:
    """Switch a module to evaluation while the block runs; then restore modes and the stored last calls."""
    parts = [part for _, part in module.named_modules()]
    kept = [(vars(part).get("training"), part._books.inputs, part._books.outputs) for part in parts]
    module.eval()
    try:
        yield
    finally:
        for part, (training, given, made) in zip(parts, kept, strict=True):
            vars(part)["training"] = training
            if training is None:  # the class has the default
                del vars(part)["training"]
            part._books.inputs, part._books.outputs = given, made


# ---- Folding: in a large graph the nodes of one module are drawn as one until it is unfolded.

MOST = 60
"""Most nodes of a graph that is not folded."""
PIECE = 48
"""Last results shown of a large graph; unfolding the rest adds as many."""
LARGEST = 2000
"""Most nodes of a picture."""
FEW = 2
"""Most nodes of a module that is not folded."""
LONGEST = 24
"""Most operands of one sum; a longer one continues in the next node."""
INPUTS, EARLIER, BETWEEN = "inputs", "earlier", "after"


@dataclass(slots=True, eq=False)
class Item:
    """One drawn node: a number of the graph, or several folded ones."""

    kind: Literal["op", "leaf", "weight", "row", "fold"]
    of: Value | Row  # the object; the last one of a fold
    held: tuple[Value | Row, ...]  # all objects that it stands for
    name: str = ""  # its name; of a fold, the name that unfolds it
    title: str = ""  # of a fold: the class of its module, or the modules that it holds
    value: float = math.nan
    grad: float | None = None  # None: not computed; NaN for several, if any is computed
    exponent: float | None = None  # of a power with the exponent in its sign
    takes: int = 0  # operands of its operation, before any is folded
    operands: list[Item] = field(default_factory=list)  # in their order; with repeats

    @property
    def op(self) -> str:
        """The name of its operation; empty without one."""
        return self.of.op if self.kind == "op" and isinstance(self.of, Value) else ""

    @property
    def folded(self) -> bool:
        """True if the item stands for several nodes."""
        return self.kind == "fold"

    @property
    def unfolds(self) -> str:
        """The name that unfolds it; empty without parts."""
        return self.name.partition(" (")[0] if self.kind in ("fold", "row") else ""

    @property
    def weights(self) -> int:
        """The number of weights that it stands for."""
        several = [of for of in self.held if type(of) is not Value]  # in a large graph nearly all are Values
        return sum(of.length if isinstance(of, Row) else isinstance(of, Weight) for of in several)


@dataclass(slots=True)
class _Piece:
    """Nodes that are drawn as one item, operands before results."""

    keys: list[Key]
    fold: str = ""  # a module, `INPUTS`, `BETWEEN` or `EARLIER`; empty for a node by itself
    name: str = ""  # the name that unfolds it
    asked: bool = False  # whether it is shown because its module was unfolded


class FoldedGraph:
    """The nodes of a walk, with names, owners and gradients; it shortens and folds them.

    `names` maps ids of Values without a name of their own to names; `grads` holds the computed gradients.
    """

    def __init__(
        self, walk: GraphObjects, owners: tuple[Kinds, Paths], names: Mapping[int, str], grads: Mapping[Key, float],
        unfold: Collection[str],
    ) -> None:  # fmt: skip
        self.objects, self.below = walk.objects, walk.below
        self._kinds, self._paths = owners
        self._names, self._grads, self._unfold = names, grads, unfold
        self._exponents: dict[Key, float] = {}
        self._near: list[Key] = []  # results that may be drawn one by one; without modules, the last ones
        self._inputs: list[Key] = []  # input numbers of no module; empty if they are few
        self._times = 1 + sum(name.partition(" ")[0] == EARLIER for name in unfold)
        self._earlier = EARLIER if self._times == 1 else f"{EARLIER} {self._times}"

    def _name(self, key: Key) -> str:
        """Return the name of a node, or an empty string."""
        of = self.objects[key]
        own = row_name(of) if isinstance(of, Row) else of.name if isinstance(of, Weight) else of.label
        return own or self._names.get(id(of), "")

    def _number(self, key: Key) -> bool:
        """Return whether a node is a leaf and no weight."""
        return type(self.objects[key]) is Value and not self.below[key]

    # ---- shortening

    def shorten(self, ends: Collection[Key], *, sums: bool) -> None:
        """Write a constant exponent as part of its power, and ``a + b + c`` as one sum.

        The exponent must have no other user and no name. A sum becomes part of another sum if it has no name and no
        other user.
        """
        results = [key for key in self.objects if self.below[key]]
        near = results if self._paths else results[-(PIECE * self._times + LONG) * LONGEST :]
        users = Counter(operand for key in near for operand in set(self.below[key]))
        for key in near:
            op = self.objects[key].op  # type: ignore[union-attr]
            if op == "add" and sums:
                self._join(key, ends, users)
            elif op == "pow":
                base, exponent = self.below[key]
                if self._number(exponent) and base != exponent and users[exponent] == 1 and not self._name(exponent):
                    self._exponents[key] = self.objects.pop(exponent).data  # type: ignore[union-attr]
                    self.below[key] = (base,)
        self._near = [key for key in near if key in self.objects]
        inputs = [key for key, of in self.objects.items()
                  if type(of) is Value and not self.below[key] and key not in self._paths]  # fmt: skip
        self._inputs = inputs if len(inputs) > LONG else []

    def _join(self, key: Key, ends: Collection[Key], users: Mapping[Key, int]) -> None:
        found, own = list[Key](), self.below[key]
        for left, operand in zip(range(len(own) - 1, -1, -1), own, strict=True):
            inner = self.below[operand]
            once = users[operand] == 1 and own.count(operand) == 1 and len(found) + len(inner) + left <= LONGEST
            is_sum = inner and self.objects[operand].op == "add"  # type: ignore[union-attr]
            if is_sum and once and operand not in ends and not self._name(operand):
                found += inner
                del self.objects[operand]
            else:
                found.append(operand)
        self.below[key] = tuple(found)

    # ---- names

    def folds(self) -> list[str]:
        """Return the names of modules, of rows and of the inputs."""
        rows = dict.fromkeys(row_name(of) for of in self.objects.values() if isinstance(of, Row))
        return [*self._kinds, *rows, *([INPUTS] if self._inputs else [])]

    def check(self, known: Collection[str]) -> None:
        """Raise UnknownNameError for a name that does not exist in the graph."""
        weights = (of.name for of in self.objects.values() if isinstance(of, Weight)) if self._unfold else ()
        rows = {name.rpartition("[")[0] for name in weights}  # unfolded rows appear as weights
        for name in self._unfold:
            if name not in known and name not in rows and name.partition(" ")[0] not in (EARLIER, BETWEEN):
                there = f"allowed: {listing(known)}" if known else "nothing in this graph can be unfolded"
                raise UnknownNameError(f"draw: unfold: there is no {shown(name)}; {there}")

    # ---- items

    def items(self, ends: Collection[Key], *, whole: bool) -> list[Item]:
        """Return the drawn items, operands before results."""
        pieces = [_Piece([key]) for key in self.objects] if whole else self._pieces(ends)
        if len(pieces) > LARGEST:
            raise InputError(
                f"draw: got {len(pieces):,} nodes to draw; allowed: {LARGEST:,}. Draw a part of the "
                "graph, or unfold less"
            )
        made: dict[Key, Item] = {}
        for piece in pieces:
            below = [made[k] for key in piece.keys for k in self.below[key] if k in made]
            if piece.fold:
                item, below = self._folded(piece), [*dict.fromkeys(below)]
            else:
                item = self._item(piece.keys[0])
            item.operands, seen = [], set[Item]()
            for one in below:  # a fold counts once
                if one not in seen:
                    item.operands.append(one)
                if one.folded:
                    seen.add(one)
            made |= dict.fromkeys(piece.keys, item)
        return list(dict.fromkeys(made.values()))

    def _item(self, key: Key) -> Item:
        of, name, grad = self.objects[key], self._name(key), self._grads.get(key)
        if isinstance(of, Row):
            return Item("row", of, (of,), name, grad=grad)
        kind: Literal["op", "weight", "leaf"] = "op" if self.below[key] else "leaf" if self._number(key) else "weight"
        return Item(kind, of, (of,), name, value=of.data, grad=grad,
                    exponent=self._exponents.get(key), takes=len(self.below[key]))  # fmt: skip

    def _folded(self, piece: _Piece) -> Item:
        held = tuple([self.objects[key] for key in piece.keys])
        computed = not self._grads.keys().isdisjoint(piece.keys)
        title = self._kinds.get(piece.fold, "")
        if piece.fold == EARLIER:
            folds = self._modules()
            inside = list(dict.fromkeys(folds[key] for key in piece.keys if self.below[key] and key in folds))
            title = " … ".join(dict.fromkeys([*inside[:1], *inside[-1:]]))
        return Item("fold", held[-1], held, piece.name, title, grad=math.nan if computed else None)

    def _pieces(self, ends: Collection[Key]) -> list[_Piece]:
        """Return the pieces: modules, nodes between them, earlier nodes that are not shown, and leaves."""
        below, folds = self.below, self._modules()
        results, path_of = self._near, self._paths.get
        bare = {path for path in self._unfold if not any(kind.startswith(f"{path}.") for kind in self._kinds)}
        loose = [key for key in results if key not in folds and path_of(key) not in bare and key not in ends]
        if len(loose) > PIECE + LONG and any(below[key] for key in folds):  # the rest is between modules
            folds |= dict.fromkeys(loose, BETWEEN)
        near = set(results)
        far = [key for key in self.objects if below[key] and key not in near]
        pieces = [_Piece(far, EARLIER, self._earlier)] if far else []
        for fold, keys in runs(results, below, folds):
            piece = _Piece(keys, fold)
            piece.name = self._after(piece, folds) if fold == BETWEEN else fold
            asked = piece.name in self._unfold
            single = not fold or (fold == BETWEEN and (len(keys) <= FEW or asked))
            pieces += [_Piece([key], asked=asked or path_of(key) in bare) for key in keys] if single else [piece]
        pieces = self._with_leaves(self._with_earlier(pieces), folds, ends)
        times = Counter[str]()
        for piece in pieces:
            times[piece.name] += 1
            piece.name += f" ({times[piece.name]})" if piece.name and times[piece.name] > 1 else ""
        return pieces

    def _modules(self) -> dict[Key, str]:
        """Return the outermost folded module of each node, and `INPUTS`."""
        outermost = {path: next((p for p in prefixes(path) if p in self._kinds and p not in self._unfold), "")
                     for path in set(self._paths.values())}  # fmt: skip
        found = {key: fold for key, path in self._paths.items() if key in self.objects and (fold := outermost[path])}
        if INPUTS not in self._unfold:
            found |= dict.fromkeys(self._inputs, INPUTS)
        sizes = Counter(found.values())
        return {key: fold for key, fold in found.items() if sizes[fold] > FEW}

    def _after(self, piece: _Piece, folds: Mapping[Key, str]) -> str:
        """Return the name of a piece between modules, which contains that of the last module before it."""
        taken = (folds.get(k, BETWEEN) for key in piece.keys for k in self.below[key])
        before = [fold for fold in taken if fold not in (BETWEEN, INPUTS)]
        return f"{BETWEEN} {before[-1] if before else INPUTS}"

    def _with_earlier(self, pieces: list[_Piece]) -> list[_Piece]:
        """Fold all but the last results into one; nodes of unfolded modules are all shown."""
        counted = [k for k, piece in enumerate(pieces) if not piece.asked]
        early = counted[: -PIECE * self._times]
        if len(counted) <= PIECE + LONG or len(early) <= FEW:
            return pieces
        home = {key: k for k, piece in enumerate(pieces) for key in piece.keys}
        numbered = enumerate(pieces)
        below = [[home[k] for key in one.keys for k in self.below[key] if home.get(k, n) != n] for n, one in numbered]
        found = list[_Piece]()
        for fold, numbers in runs(range(len(pieces)), below, dict.fromkeys(early, EARLIER)):
            keys = [key for number in numbers for key in pieces[number].keys]
            found.append(_Piece(keys, EARLIER, self._earlier) if fold else pieces[numbers[0]])
        return found

    def _with_leaves(self, pieces: list[_Piece], folds: Mapping[Key, str], ends: Collection[Key]) -> list[_Piece]:
        """Put each leaf into the first piece of its module that uses it, or before its first user."""
        below, takers = self.below, dict[Key, list[_Piece]]()
        alone: dict[str, _Piece] = {}  # leaves of a module that none of its nodes uses
        before: dict[int, list[_Piece]] = {}
        inside: dict[int, list[Key]] = {}
        for piece in sorted(pieces, key=lambda piece: piece.fold == EARLIER):  # pieces that are shown come first
            for leaf in {leaf for key in piece.keys for leaf in below[key] if not below[leaf]}:
                takers.setdefault(leaf, []).append(piece)
        for leaf in (key for key in self.objects if not below[key]):
            own, users = folds.get(leaf, ""), takers.get(leaf, [])
            home = next((piece for piece in users if own and piece.fold == own), None)
            if home is None and users:
                hidden = users[0].fold == EARLIER and leaf not in ends
                # constants between modules belong there
                between = len(users) == 1 and users[0].fold == BETWEEN and own in ("", INPUTS) and not self._name(leaf)
                home = users[0] if hidden or between else None
            if home is not None:
                inside.setdefault(id(home), []).append(leaf)
            elif own:
                alone.setdefault(own, _Piece([], own, own)).keys.append(leaf)
            else:
                before.setdefault(id(users[0]) if users else 0, []).append(_Piece([leaf]))
        for piece in pieces:
            piece.keys[:0] = inside.get(id(piece), ())
        after = (p for piece in pieces for p in (*before.get(id(piece), ()), piece))
        return [*alone.values(), *before.get(0, ()), *after]


Node = TypeVar("Node", bound=Hashable)


def runs(
    nodes: Sequence[Node], below: Mapping[Node, Iterable[Node]] | Sequence[Iterable[Node]], group: Mapping[Node, str]
) -> list[tuple[str, list[Node]]]:
    """Order nodes (operands first) so that those of a group are together, and others by themselves.

    The pieces of such an order have no cycle. A group begins when all its operands are placed; if no group can begin,
    one is broken in two.
    """
    place = {node: k for k, node in enumerate(nodes)}
    users: dict[Node, list[Node]] = {node: [] for node in nodes}
    missing, outside = Counter[Node](), Counter[str]()  # operands not placed yet: of a node, of a group
    for node in nodes:
        for operand in set(below[node]):  # type: ignore[call-overload]
            if operand in place:
                users[operand].append(node)
                missing[node] += 1
                outside[group.get(node, "")] += group.get(node) != group.get(operand)
    waiting: dict[str, list[Node]] = {fold: [] for fold in group.values()}
    complete, broken = list[int](), list[int]()  # heaps of the places of nodes that can be placed

    def offer(node: Node) -> None:
        own = group.get(node)
        if own is not None:
            waiting[own].append(node)
        heappush(broken if own is not None and outside[own] else complete, place[node])

    for node in nodes:
        if not missing[node]:
            offer(node)
    found = []
    while complete or broken:
        first = nodes[heappop(complete or broken)]
        own = group.get(first)
        run = [first] if own is None else waiting[own]
        if own is not None:
            waiting[own] = []
        for node in run:  # the list grows
            for user in users[node]:
                other = group.get(user)
                missing[user] -= 1
                if other is not None and other == own:
                    if not missing[user]:
                        run.append(user)
                    continue
                if other is not None:
                    outside[other] -= 1
                    if not outside[other] and waiting[other]:
                        heappush(complete, place[waiting[other][0]])
                if not missing[user]:
                    offer(user)
        if run:
            found.append((own or "", run))
    return found
