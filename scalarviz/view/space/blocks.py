"""A network as its file describes it: a line for each block, its layers from left to right, wires between them.

A block with the same layers as the one above it is drawn closer to it, without names and wires. Every plate is as large
as its place allows, so cubes of two plates may differ in size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from math import log, prod

import numpy as np

from ...run.core.tensors import Tensor
from ..ink.boxes import CHANNEL, LABEL
from ..ink.text import measure
from .arrangement import Blueprint, Caption, Grid, Kind, Layout, Mode, Note, Plate, Wire, grid_for, laid
from .camera import ACROSS, DOWN, FLOW, OUTPUTS_DOWN, Floats, Pose, Rect, Size, basis, camera_of

HALF = 0.46
AZIMUTH, ELEVATION = -78.0, 8.0
UNIT = 10.0
"""Pixels per world unit."""
SIDE, BETWEEN, NAME = 24.0, 44.0, 38.0
"""Pixels at both sides, between columns, and of a layer's two lines."""
AIR, CLOSE, MOST_AIR = 14.0, 6.0, 40.0
"""Pixels between lines: least, for equal blocks, and most."""
ARROW, SHORT, END, LANE, SUM = 26.0, 18.0, 22.0, 8.0, 8.0
"""Pixels of a wire between neighbours, of a short one, of one at an end, between wires below the plates; radius of a
plus."""
TALLEST, LEAST, WIDEST = 190.0, 6.0, 2.4
"""Largest and least height of a plate in pixels, and largest ratio of width to height."""
CUBE, LARGE_CUBE = 14.0, 56.0
"""Largest cube in pixels, and largest one that holds its number."""
VECTOR, BESIDE, LEAST_GAP = 0.46, 4.0, 12.0
"""Height of a vector as a share of a plate's; pixels between the parts of a layer; least pixels between layers."""
WORD, TITLE = 14.0, 130.0
"""Pixels of a line of text, and most pixels of a block's name."""
COLUMNS = (1, 2, 3)
WORTH = {2: 1.0, 1: 0.9, 0: 0.65}
"""Worth of a picture with names and shapes of all layers, with names, and with names that fit anyway."""
BROKEN = 0.6
"""Factor on the worth if blocks take several lines."""
TALL = 3.0
"""Least ratio of height to width from which kernels are drawn in several columns."""

_RIGHT, _UP, _ = basis(AZIMUTH, ELEVATION)
_WIDE, _SLOPE, _HIGH = float(ACROSS @ _RIGHT), float(-(ACROSS @ _UP)), float(-(DOWN @ _UP))
_FACE = float(FLOW @ _RIGHT), float(-(FLOW @ _UP))  # shift of a point a unit further back, to the right and down


@dataclass(frozen=True, slots=True)
class Item:
    """A layer with its tensors, or an item without any: an input, an output, or an operator that joins arrays.

    `sources` are the indices of the items that it reads, each with the operators in between; they come before it.
    `shape` is that of its output; empty if unknown.
    """

    block: str
    name: str
    operator: str
    tensors: tuple[str, ...] = ()
    sources: tuple[tuple[int, tuple[str, ...]], ...] = ()
    shape: tuple[int | str, ...] = ()


def blocks(tensors: Sequence[Tensor], items: Sequence[Item], size: Size, box: Rect, *, few: bool) -> Layout | None:
    """Return the picture of `items`, whose cubes hold numbers if `few`; None if plates would be below `LEAST`."""
    network, best, worth = _Network({tensor.name: tensor for tensor in tensors}, items), None, 0.0
    for detail, share in WORTH.items():
        for count in (count for count in COLUMNS if network.may_fit(count, box)):
            high = TALLEST
            while high >= LEAST and high * share > worth:
                tried = _Picture(network, box, high, detail, LARGE_CUBE if few else CUBE)
                whole = tried.place_lines(count)
                value = high * share * (1.0 if whole else BROKEN)
                if whole is not None and value > worth:
                    best, worth = tried, value
                if whole:
                    break
                high *= 0.94
    return None if best is None else best.layout(size, "few" if few else "big")


def _column(count: int, box: Rect) -> float:
    """Return the pixels across each of `count` columns."""
    return (box[2] - box[0] - 2 * SIDE - (count - 1) * BETWEEN) / count


def _sides(shape: Sequence[int | str]) -> str:
    return "×".join(f"{side:,}" if isinstance(side, int) else side for side in shape)


def _shape_words(shape: Sequence[int | str]) -> str:
    """Return a shape without the batch dimension: ``16×32`` for (1, 16, 32) or ("N", 16, 32)."""
    return _sides(shape[1:] if len(shape) > 1 and (shape[0] == 1 or isinstance(shape[0], str)) else shape)


def _grid(shape: tuple[int, ...]) -> Grid:
    """Return the grid of a tensor; kernels with few inputs get several columns of tiles, else they are a hairline."""
    if prod(shape) == max(shape, default=1):
        return grid_for((prod(shape),))
    if len(shape) == 3 and shape[0] == 1:
        shape = shape[1:]
    if len(shape) < 4 or shape[0] * shape[-2] < TALL * shape[1] * shape[-1]:
        return grid_for(shape)
    outputs, inputs, (high, wide) = prod(shape[:-3]), shape[-3], shape[-2:]
    counts = [n for n in range(1, outputs + 1) if outputs % n == 0]
    across = min(counts, key=lambda n: abs(log(outputs // n * (high + 1) / (n * inputs * (wide + 1)))))
    return grid_for((outputs // across, across * inputs, high, wide))


class _Network:
    """The items, their drawn tensors, and their blocks."""

    def __init__(self, tensors: dict[str, Tensor], items: Sequence[Item]) -> None:
        self.items = items
        self.parts = [[tensors[name] for name in item.tensors if name in tensors] for item in items]
        self.grids = {tensor.name: _grid(tensor.shape) for parts in self.parts for tensor in parts}
        self.blocks = self._in_order(self._blocks())
        order = [k for block in self.blocks for k in block]
        self.previous = dict(zip(order, [-1, *order], strict=False))  # the item before another one; -1 before the first
        self.columns = [_columns(parts) for parts in self.parts]
        self.read = {source for item in items for source, _ in item.sources}
        likes = [self._likeness(block) if items[block[0]].block else None for block in self.blocks]
        # whether each block has the layers of the one before it
        self.like = [a is not None and a == b for a, b in pairwise([None, *likes])]

    def _blocks(self) -> list[list[int]]:
        """Return the items by block: those of one block name; items without a block in runs."""
        found: list[list[int]] = []
        known: dict[str, list[int]] = {}
        for k, item in enumerate(self.items):
            if item.block not in known or (not item.block and found[-1] is not known[""]):
                known[item.block] = []
                found.append(known[item.block])
            known[item.block].append(k)
        return found

    def _in_order(self, blocks: Sequence[list[int]]) -> list[list[int]]:
        """Order the blocks after those that they read, and if possible directly after one of these."""
        home = {k: n for n, block in enumerate(blocks) for k in block}
        reads = [{home[s] for k in block for s, _ in self.items[k].sources} - {n} for n, block in enumerate(blocks)]
        found: list[int] = []
        left = dict.fromkeys(range(len(blocks)))
        while left:
            ready = [n for n in left if left.keys().isdisjoint(reads[n])] or [*left]  # two blocks may read each other
            found.append(next((n for n in ready if found and found[-1] in reads[n]), ready[0]))
            del left[found[-1]]
        return [blocks[n] for n in found]

    @cached_property
    def titles(self) -> dict[str, str]:
        """Short but unique names of blocks: from the part before the first number on."""
        names = list(dict.fromkeys(item.block for item in self.items if item.block))
        paths = [name.split(".") for name in names]
        short = [path[max(next((k for k, part in enumerate(path) if part.isdecimal()), 1) - 1, 0) :] for path in paths]
        if len({*map(tuple, short)}) < len(names):
            same = 0
            while all(len(path) > same + 1 and path[: same + 1] == paths[0][: same + 1] for path in paths):
                same += 1
            short = [path[same:] for path in paths]
        return {"": ""} | dict(zip(names, map(".".join, short), strict=True))

    def may_fit(self, count: int, box: Rect) -> bool:
        """Return whether lines in `count` columns could fit without plates and names, to skip hopeless tries."""
        own = [len(block) for block, like in zip(self.blocks, self.like, strict=True) if not like]
        lines = max(len(own), sum(own) * LEAST_GAP / (_column(count, box) + LEAST_GAP))
        return lines * (NAME + AIR) <= count * (box[3] - box[1] + AIR)

    def _likeness(self, block: Sequence[int]) -> object:
        """Return a value that is equal for blocks with the same layers."""
        return [(self.items[k].name, self.items[k].operator, self.items[k].shape, [t.shape for t in self.parts[k]],
                 [(k - source if source >= block[0] else 0, words) for source, words in self.items[k].sources])
                for k in block]  # fmt: skip

    def place_of(self, k: int) -> str:
        """Return the block or name of an item, in words."""
        item = self.items[k]
        return self.titles[item.block] or item.name or item.operator

    def item_lines(self, k: int) -> list[tuple[str, bool]]:
        """Return the lines of an item without plates, and whether each is bold."""
        item = self.items[k]
        if item.operator not in ("input", "output"):
            return [(item.operator, True), *([(item.name, False)] if item.name else [])]
        alone = sum(other.operator == item.operator for other in self.items) == 1
        return [(item.operator if alone else item.name, True), *[(_shape_words(item.shape), False)] * bool(item.shape)]


def _columns(parts: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return the plates of an item from left to right: matrices, then vectors, two below each other."""
    vectors = [tensor for tensor in parts if _is_vector(tensor)]
    matrices = [[tensor] for tensor in parts if not _is_vector(tensor)]
    return matrices + [vectors[i : i + 2] for i in range(0, len(vectors), 2)]


def _is_vector(tensor: Tensor) -> bool:
    return prod(tensor.shape) == max(tensor.shape, default=1)


@dataclass(slots=True)
class _Line:
    """Items in one line: a block, or a part of a block that is too wide."""

    items: list[int]
    title: str
    like: bool = False  # whether it has the same layers as the line above
    x: float = 0.0
    y: float = 0.0  # upper edge of the plates
    high: float = 0.0
    lanes: int = 0
    places: dict[int, tuple[float, float]] = field(default_factory=dict)  # left and right edge of each item


class _Picture:
    """All lines with plates of at most one height, and names with a level of detail."""

    def __init__(self, network: _Network, box: Rect, high: float, detail: int, cube: float) -> None:
        self.network, self.box, self.high, self.detail, self.cube = network, box, high, detail, cube
        self.lines: list[_Line] = []
        self._width = cache(self._measured)
        self._sizes: dict[str, tuple[float, float]] = {}

    # ---- sizes

    def _pitch(self, tensor: Tensor) -> float:
        """Return the pixels of a cube of a tensor."""
        rows, columns = self.network.grids[tensor.name].cells
        vector = _is_vector(tensor)
        high = (VECTOR if vector else 1.0) * self.high
        wide = 1.0 if vector else WIDEST
        return min(high / (rows * _HIGH + columns * _SLOPE), high * wide / (columns * _WIDE), self.cube)

    def _size(self, tensor: Tensor) -> tuple[float, float]:
        if tensor.name not in self._sizes:
            (rows, columns), pitch = self.network.grids[tensor.name].cells, self._pitch(tensor)
            wide, high = columns * _WIDE + 2 * HALF * _FACE[0], rows * _HIGH + columns * _SLOPE
            self._sizes[tensor.name] = wide * pitch, high * pitch
        return self._sizes[tensor.name]

    def _height(self, k: int) -> float:
        """Return the height of an item in pixels."""
        columns = self.network.columns[k]
        if not columns:
            return 2 * SUM
        return max(sum(self._size(tensor)[1] + BESIDE for tensor in column) - BESIDE for column in columns)

    def _measured(self, k: int) -> tuple[float, float]:
        """Return the width of an item in pixels, and with the part of its name that must have room."""
        item, columns = self.network.items[k], self.network.columns[k]
        if not columns:
            own = max(measure(text, LABEL, bold) for text, bold in self.network.item_lines(k))
            return (2 * SUM, 2 * SUM) if item.operator == "Add" else (own, own)
        own = sum(max(self._size(t)[0] for t in column) + BESIDE for column in columns) - BESIDE
        title = max(own, measure(item.name, CHANNEL, True) - ARROW) if self.detail else own
        return own, max(title, measure(_sides(columns[0][0].shape), LABEL) - ARROW) if self.detail == 2 else title

    def _words(self, line: _Line, place: int) -> list[str]:
        """Return the operators on the way to an item of a line, and its source if that is not beside it.

        As many of the last words as fit above the wire; dots stand for the others. The operators on the item before are
        dropped last, because its wire is below the words.
        """
        if not self.detail:
            return []
        sources, before = self.network.items[line.items[place]].sources, self._before(line, place)
        far = [f"from {self.network.place_of(source)}" for source, _ in sources
               if source not in line.items and source != self.network.previous[line.items[0]]]  # fmt: skip
        near = next((words for source, words in sources if source == before), ())
        more = [word for source, words in sources if source in line.items for word in words if word not in near]
        words, most = [*far, *dict.fromkeys(more), *near], max(int((0.5 * self.high - 6.0) / WORD), 1)
        if len(words) <= most:
            return words
        telling = [word for word in words if word != "MatMul"] or words  # every layer has one
        return [f"… {telling[-most:][0]}", *telling[-most:][1:]]

    def _before(self, line: _Line, place: int) -> int:
        """Return the item before another one in its line."""
        return line.items[place - 1] if place else self.network.previous[line.items[0]]

    def _gap(self, line: _Line, place: int) -> float:
        """Return the pixels before an item."""
        read = {source for k in line.items for source, _ in self.network.items[k].sources}
        words = [measure(word, LABEL) + 12.0 for word in self._words(line, place)]
        if not place and self._before(line, 0) not in read:
            return max(words, default=0.0)
        if not self.network.read:  # there are no wires
            return LEAST_GAP if place else 0.0
        return max([ARROW if self.detail else SHORT, *words])

    # ---- lines

    def place_lines(self, count: int) -> bool | None:
        """Put all lines into `count` columns; return whether each block takes one line, or None if they do not fit."""
        network, wide = self.network, _column(count, self.box)
        title = min(max(measure(text, CHANNEL, True) for text in network.titles.values()), TITLE)
        left = title + 12.0 if title else 0.0
        broken: list[list[int]] | None = None
        for block, like in zip(network.blocks, network.like, strict=True):
            name = network.items[block[0]].block
            if not like:
                broken = self._broken(block, wide - left)
            if broken is None:
                return None
            ends = np.cumsum([0, *map(len, broken)])
            self.lines += [_Line(block[a:b], network.titles[name] if not k else "", like)
                           for k, (a, b) in enumerate(pairwise(ends))]  # fmt: skip
        return len(self.lines) == len(network.blocks) if self._place(count, wide, left) else None

    def _place(self, count: int, wide: float, left: float) -> bool:
        """Place every line; return whether all fit."""
        x, y, column, stacks = self.box[0] + SIDE, self.box[1], 0, list[list[_Line]]([[]])
        for line in self.lines:
            while True:
                drawn = [k for k in line.items if self.network.parts[k] or not line.like]
                line.high = max(map(self._height, drawn), default=0.0)
                line.lanes = 0 if line.like else len({lane for *_, lane in self._routed(line)})
                close = min(CLOSE, 0.3 * self.high) if line.like else AIR
                top = (0.0 if line.like else NAME) + (close if stacks[-1] else 0.0)
                bottom = y + top + line.high + (LANE * (line.lanes + 1) if line.lanes else 0.0)
                if bottom <= self.box[3]:
                    break
                if not stacks[-1] or len(stacks) == count:
                    return False
                column, x, y, line.like = column + 1, x + wide + BETWEEN, self.box[1], False
                line.title = self.network.titles[self.network.items[line.items[0]].block]
                stacks.append([])
            line.x, line.y, y, at = x, y + top, bottom, x + left
            stacks[-1].append(line)
            for place, k in enumerate(line.items):
                at += self._gap(line, place)
                own, whole = self._width(k)
                line.places[k] = at, at + own
                at += whole
        for stack in stacks:  # spread the rest of the height between, above and below
            last = stack[-1]
            spare = self.box[3] - last.y - last.high - (LANE * (last.lanes + 1) if last.lanes else 0.0)
            gaps = sum(not line.like for line in stack[1:])
            air = min(spare / (gaps + 1), MOST_AIR - AIR)
            shift = 0.5 * (spare - gaps * air) if len(stacks) == 1 else 0.0
            for line in stack:
                shift += air if not line.like and line is not stack[0] else 0.0
                line.y += shift
        right = max(edge for line in self.lines for _, edge in line.places.values()) + END
        for line in self.lines:
            shift = max(0.5 * (self.box[2] - SIDE - right), 0.0)
            line.x += shift
            line.places = {k: (a + shift, b + shift) for k, (a, b) in line.places.items()}
        return True

    def _broken(self, block: Sequence[int], wide: float) -> list[list[int]] | None:
        """Split a block into lines that fit, if possible each at the end of a sum; None if an item is too wide."""
        lines: list[list[int]] = [[]]
        at = 0.0
        for k in block:
            line = _Line([*lines[-1], k], "")
            need = self._gap(line, len(line.items) - 1) + self._width(k)[1]
            if lines[-1] and at + need + END > wide:
                joins = [n for n, own in enumerate(lines[-1][:-1], 1) if len(self.network.items[own].sources) > 1]
                left = lines[-1][joins[-1] :] if joins else []
                lines[-1:] = [lines[-1][: len(lines[-1]) - len(left)], left]
                line = _Line([*left, k], "")
                at = sum(self._gap(line, n) + self._width(own)[1] for n, own in enumerate(left))
                need = self._gap(line, len(left)) + self._width(k)[1]
            if at + need + END > wide:
                return None
            lines[-1].append(k)
            at += need
        return lines

    # ---- drawing

    def layout(self, size: Size, mode: Mode) -> Layout:
        """Return the plates in their lines, and the flat part."""
        place = np.array([self.box[0] + SIDE, self.box[1]])
        plates = [plate for line in self.lines for k in line.items for plate in self._plates(k, line, place)]
        pose = Pose(AZIMUTH, ELEVATION, np.zeros(3), place, UNIT, None)
        camera = camera_of(pose, size, np.concatenate([plate.corners for plate in plates]))
        anchors = np.array([np.zeros(3), 40.0 * ACROSS, 40.0 * DOWN])
        drawn = [line for line in self.lines if not line.like]
        sheet = Blueprint(
            (),
            tuple(caption for line in drawn for caption in self._captions(line)),
            tuple(wire for line in drawn for wire in self._wires(line)),
            {},
            anchors,
            camera.project(anchors),
            tuple(self._middle(line, k) for line in drawn for k in line.items if self._is_sum(k)),
            notes=tuple(note for line in self.lines for note in self._notes(line)),
        )
        return replace(laid(mode, camera, plates, self.box), blueprint=sheet)

    def _is_sum(self, k: int) -> bool:
        return self.network.items[k].operator == "Add" and not self.network.parts[k]

    def _middle(self, line: _Line, k: int) -> tuple[float, float]:
        left, right = line.places[k]
        return 0.5 * (left + right), line.y + 0.5 * line.high

    def _plates(self, k: int, line: _Line, place: Floats) -> Iterator[Plate]:
        x = line.places[k][0]
        for column in self.network.columns[k]:
            sizes = [self._size(tensor) for tensor in column]
            y = line.y + 0.5 * (line.high - sum(high for _, high in sizes) - BESIDE * (len(column) - 1))
            for tensor, (_, high) in zip(column, sizes, strict=True):
                pitch = self._pitch(tensor) / UNIT
                kind: Kind = "bias" if tensor.role == "bias" else "weight"
                grid, at = self.network.grids[tensor.name], np.zeros(3)
                plate = Plate(tensor.name, kind, tensor.size, grid, at, OUTPUTS_DOWN, HALF, HALF, tensor.start)
                yield plate.scaled(pitch).moved(_world(x, y, pitch, place))
                y += high + BESIDE
            x += max(wide for wide, _ in sizes) + BESIDE

    def _captions(self, line: _Line) -> Iterator[Caption]:
        for place, k in enumerate(line.items):
            item, columns = self.network.items[k], self.network.columns[k]
            if not columns:
                continue
            first = columns[0][0]
            left, right = line.places[k]
            follows = line.items[place + 1 : place + 2]
            taken = follows and self.network.parts[follows[0]]
            wide = (line.places[follows[0]][0] if taken else right + ARROW) - left - 6.0
            if follows and self.high < 3 * WORD and self._words(line, place + 1):
                wide = right - left
            shape, names = _sides(first.shape), (item.name, item.name.rpartition(".")[2])
            said = next((text for text in (f"{item.operator} {shape}".strip(), shape, item.operator)
                         if measure(text, LABEL) <= wide), "")  # fmt: skip
            title = next((text for text in names if measure(text, CHANNEL, True) <= wide), "")
            yield Caption(first.name, title, left, line.y - NAME, wide, said)

    def _notes(self, line: _Line) -> Iterator[Note]:
        """Yield the title of a line, and the operators and shapes along its wires."""
        middle = line.y + 0.5 * line.high
        if line.title:
            yield Note(_cut(line.title, TITLE), line.x, middle + 5.0, CHANNEL, 1, True)
        if line.like:
            return
        known = ""
        for place, k in enumerate(line.items):
            (left, right), item, drawn = line.places[k], self.network.items[k], bool(self.network.parts[k])
            before = line.places[line.items[place - 1]][1] if place else left - self._gap(line, place)
            for row, text in enumerate(reversed(self._words(line, place))):
                yield Note(text, 0.5 * (before + left - measure(text, LABEL)), middle - 6.0 - WORD * row, LABEL, 2)
            if not drawn and not self._is_sum(k):
                said = self.network.item_lines(k)
                for row, (text, bold) in enumerate(said):
                    y = middle + 5.0 + WORD * (row - 0.5 * (len(said) - 1))
                    yield Note(text, left, y, LABEL, 1 if bold else 3, bold)
            follows = line.items[place + 1 : place + 2]
            made = _shape_words(item.shape) if drawn and self.high >= 2 * WORD + 8.0 else ""
            room = line.places[follows[0]][0] - right if follows else END + 60.0
            is_output = follows and self.network.items[follows[0]].operator == "output"
            if made and made != known and not is_output and measure(made, LABEL) <= room - 4.0:
                yield Note(made, right + 4.0, middle + 16.0, LABEL, 3)
            known = made or known

    def _routed(self, line: _Line) -> list[tuple[int, int, int]]:
        """Return the wires of a line that pass other items: start (-1: the line's beginning), end, and lane."""
        found: list[tuple[int, int, int]] = []
        taken: list[int] = []  # end of the last wire in each lane
        for place, k in enumerate(line.items):
            for source, _ in self.network.items[k].sources:
                start = line.items.index(source) if source in line.items else -1
                if (start < 0 and source != self.network.previous[line.items[0]]) or start == place - 1:
                    continue
                lane = next((n for n, end in enumerate(taken) if end <= start), len(taken))
                taken[lane : lane + 1] = [place]
                found.append((start, place, lane))
        return found

    def _wires(self, line: _Line) -> Iterator[Wire]:
        items, middle = self.network.items, line.y + 0.5 * line.high
        beginning = line.places[line.items[0]][0] - self._gap(line, 0)
        for place, k in enumerate(line.items):
            far = dict(items[k].sources).keys() - {*line.items, self.network.previous[line.items[0]]}
            if far and not self.detail:  # no words name the source
                left, foot = line.places[k][0], line.y + line.high + LANE
                yield Wire(np.array([[left - 6.0, foot], [left - 6.0, middle + 5.0], [left - 2.0, middle + 5.0]]), True)
            if self._before(line, place) in dict(items[k].sources):
                start = line.places[line.items[place - 1]][1] if place else beginning
                yield Wire(np.array([[start + 3.0, middle], [line.places[k][0] - 3.0, middle]]), True)
        for start, place, lane in self._routed(line):
            k, after = line.items[place], line.items[start + 1]
            source, join = self._before(line, start + 1), not self.network.parts[k]
            ways = dict(items[k].sources), dict(items[after].sources)
            out = line.places[line.items[start]][1] + 8.0 if start >= 0 else beginning + 3.0
            if ways[0][source] == ways[1].get(source) != ():  # both read the output of the same operators
                out = line.places[after][0] - 11.0
            down = line.y + line.high + LANE * (lane + 1)
            into = self._middle(line, k)[0] if join else line.places[k][0] - 9.0
            ends = [[into, middle + SUM]] if join else [[into, middle], [into + 6.0, middle]]
            yield Wire(np.array([[out, middle], [out, down], [into, down], *ends]), True)
        last = line.items[-1]
        if last in self.network.read:
            right = line.places[last][1]
            yield Wire(np.array([[right + 3.0, middle], [right + END - 3.0, middle]]), True)


def _world(x: float, y: float, pitch: float, place: Floats) -> Floats:
    """Return the middle of the first cube so that its main face begins at pixels (x, y); `pitch` in units."""
    front = -HALF * pitch  # of the main face, along the flow
    right = (x - place[0]) / UNIT - front * _FACE[0]
    down = (y - place[1]) / UNIT - front * _FACE[1]
    across = right / _WIDE + 0.5 * pitch
    deep = (down - (across - 0.5 * pitch) * _SLOPE) / _HIGH + 0.5 * pitch
    return np.asarray(across * ACROSS + deep * DOWN)


def _cut(text: str, width: float) -> str:
    """Return the end of a text that fits the width."""
    while text and measure(text, CHANNEL, True) > width:
        text = f"…{text[2:]}"
    return text
