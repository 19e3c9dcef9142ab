"""One small layer as a formula: inputs above the cubes; sum, activation, output and target to the right.

`formulas` writes the rows: ``r = σ(−1.991·0.92 + 0.692) = σ(−1.14) = 0.24``. `Outcome` shows the outcome of the probe
sample in a deeper network: a chain of plates has no place for these numbers, so they are together in a free part of the
scene.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from ...run.core.frame import Frame
from ...run.core.tensors import Stage
from ...run.opened.digits import Term, neuron, one_line
from ...scalar.kernel import kernel
from ...scalar.ops import TABLE
from ..ink.boxes import CHANNEL, LABEL
from ..ink.sketch import Bound, Box, meet
from ..ink.text import measure
from ..shown.subject import Sample, Subject
from ..space.arrangement import Layout, Plate, Project
from ..space.camera import Floats
from .placer import HIGH, Chip, Line, Name, Notes, Number, Placer, Swatch, back_edge, column_names, row_names

STEP = 34.0
"""Least distance between the levels of two rows of chips."""
SYMBOLS = {"sigmoid": "σ"}
_INPUTS = ((58.0, CHANNEL, True), (46.0, LABEL, True), (38.0, LABEL, False))  # width, type, whether in a box
_SWATCH = 42.0
_UNDER = 36.0  # pixels from the middle of the last row's chips to the swatches below

SUM = "signed chip"
"""The form of a sum beside the cubes."""
Columns = dict[str, tuple[float, float]]
WIDE: Columns = {"sum": (56.0, 60.0), "output": (140.0, 50.0), "target": (200.0, 50.0)}
"""Middles of the chips right of a row's anchor, and their widths."""
TIGHT: Columns = {"sum": (47.0, 58.0), "output": (118.0, 46.0), "target": (168.0, 46.0)}
TIGHTEST: Columns = {"sum": (37.0, 48.0), "output": (98.0, 40.0), "target": (140.0, 40.0)}
STACKED: Columns = {"sum": (58.0, 98.0), "output": (33.0, 48.0), "target": (84.0, 46.0)}
"""The sum stands above output and target, without a box."""
RAISED, FLAT, _LEAST = 20.5, 21.0, 40.0
"""Pixels by which it is higher than they are, the height of their chips, and the least distance of such rows."""


class Rows(NamedTuple):
    """The places of each output's chips, in logical pixels."""

    anchors: Floats  # (R, 2): starts of each row's chips
    columns: Columns  # present columns; may be empty

    @property
    def raised(self) -> float:
        """Pixels by which sums stand above their outputs; 0 if they are beside them."""
        return RAISED if self.columns.get("sum") == STACKED["sum"] else 0.0

    @property
    def high(self) -> float:
        """The height of chips."""
        return FLAT if self.raised else HIGH

    def edge(self, row: int, column: str, side: int) -> tuple[float, float]:
        """Return the middle of the left (-1) or the right (+1) edge of a chip, or (0) of the chip."""
        (x, y), (middle, wide) = self.anchors[row].tolist(), self.columns[column]
        return x + middle + side * wide / 2, y - self.raised * (column == "sum")

    def way(self, row: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the ends of the way from a row's sum to its output."""
        return self.edge(row, "sum", 0 if self.raised else 1), self.edge(row, "output", 0 if self.raised else -1)


class FewFlow(Notes):
    """The flow around one layer of lying cubes: of the chain of a subject in a layout of mode ``"few"``.

    Parts outside the `box` are left out; so are parts on cubes if the camera was `moved` by hand. The outcome of the
    sample is `below` the last row.
    """

    def __init__(self, layout: Layout, subject: Subject, project: Project, box: Box, *, moved: bool) -> None:
        super().__init__()
        stages, self._sample = subject.stages, subject.sample
        linear = next(s for s in stages if s.weight is not None)
        assert linear.weight is not None
        self._project, self._box, self._placer, self._moved = project, box, Placer(box), moved
        self._placer.add_cubes(layout.plates, project)
        weight = layout.plate(linear.weight.name)
        bias = layout.plate(linear.bias.name) if linear.bias is not None else None
        self.plates, end = (weight, bias), bias or weight
        backs = self._project([back_edge(weight, j) for j in range(weight.shape[1])])  # ends of their lines
        # middles (N, 2) of the input chips, None without room; width and type size of each, whether in a box
        self.inputs, self._input_style = self._place_inputs(weight)
        self._level = layout.camera.azimuth == 0.0 and not moved  # rows, on screen
        tips = self._tips(end)
        self.rows = Rows(tips, self._fitting_columns(tips))
        if self.rows.raised:  # below each other
            self.rows = self.rows._replace(anchors=np.stack([np.full(len(tips), tips[:, 0].max()), tips[:, 1]], axis=1))
        if moved:
            self._leave_out_hidden(tips)
        self.below = Notes()
        if self.rows.columns:
            foot = int(np.argmax(self.rows.anchors[:, 1]))
            self._write_below(foot, stages[-1])
        self.swatch = self._swatch_place()
        self._write_names(layout.trays_on(project))
        if self.inputs is not None:
            self._write_inputs(self.inputs, backs)
        for row, tip in enumerate(tips if self.rows.columns else ()):
            self._write_row(row, tip, linear, stages[-1])

    # places

    def _place_inputs(self, plate: Plate) -> tuple[Floats | None, tuple[float, float, bool]]:
        """Return the places of input chips over their columns if they do not touch, and their style."""
        if plate.grid.folded:
            return None, _INPUTS[0]
        top = plate.depth * plate.axes[2] - (plate.half + 0.22) * plate.axes[1]
        behind = np.array([plate.cell_centre(0, j) + top for j in range(plate.shape[1])])
        centres = self._project(behind) - (0, HIGH / 2 + 2)
        room = np.diff(centres[:, 0]).min() if len(centres) > 1 else np.inf
        style = next((style for style in _INPUTS if style[0] + 3 <= room), None)
        high = centres[:, 1].min() - HIGH / 2 - 20 > self._box[1] - 12
        return (None, _INPUTS[0]) if style is None or not high else (centres, style)

    def _free(self, box: Box) -> bool:
        """Reserve a box; return whether it is off the cubes. With the layout's own camera it always is."""
        return not self._moved or self._placer.free(box)

    def _leave_out_hidden(self, tips: Floats) -> None:
        """Leave out chips on cubes: all inputs or none, all rows or none."""
        if self.inputs is not None:
            wide = self._input_style[0] - 8
            if not all(self._free((x - wide / 2, y - 25, wide, HIGH + 6)) for x, y in self.inputs):
                self.inputs = None
        if self.rows.columns:
            anchors = level(tips, self._placer, self._end, HIGH)
            self.rows = Rows(tips, {}) if anchors is None else Rows(anchors, self.rows.columns)

    @property
    def _end(self) -> float:
        """Distance from a row's anchor to the right edge of its last chip."""
        return max(middle + wide / 2 for middle, wide in self.rows.columns.values())

    def _tips(self, plate: Plate) -> Floats:
        """Return where each row's flow starts: a little right of the nearest corner of its last cube's top face.

        If rows are level, it starts at the middle of that face's edge.
        """
        ends = [self._project(plate.cell_corners(i, plate.shape[1] - 1)) for i in range(plate.shape[0])]
        # with a moved camera, the rightmost corner
        corners = [c[int(np.argmax(c[:, 0])) if self._moved else -1] for c in ends]
        corners = [c[[-3, -1]].mean(axis=0) for c in ends] if self._level else corners
        return np.asarray(np.array(corners) + np.array([4.0, 0.0]))

    def _fitting_columns(self, tips: Floats) -> Columns:
        """Return the columns (sum, output, target) that fit between the cubes and the scene's edge."""
        apart = np.diff(tips[:, 1]).min() if len(tips) > 1 and not self._moved else np.inf
        if self.plates[0].grid.folded or apart < HIGH + 3:
            return {}
        room = self._box[0] + self._box[2] - tips[:, 0].max() - 4
        ways = [WIDE, TIGHT, TIGHTEST] if self._sample.target_values is not None else []
        if ways and self._level and apart >= _LEAST:
            ways[2] = STACKED
        ways.append({name: TIGHT[name] for name in ("sum", "output")})
        return next((way for way in ways if sum(way[[*way][-1]] * np.array([1, 0.5])) <= room), {})

    def _swatch_place(self) -> Box | None:
        """Return the box of the input's swatch, left of the first chip; None without room."""
        if self.inputs is None or not self._sample.colours or len(self.inputs) != 3:
            return None
        x, y = round(self.inputs[0, 0] - WIDE["sum"][1] / 2 - 24 - _SWATCH), round(self.inputs[0, 1] - 13)
        if x <= 4 and self._level:  # in a narrow picture right of the last chip, as high as it
            x, bias = round(self.inputs[-1, 0] + self._input_style[0] / 2 + 12), self.plates[1]
            foot = y + 23.0 if bias is None else min(y + 23.0, self._project([back_edge(bias, 0)])[0, 1] - 24)
            return (
                (float(x), foot - 22.0, _SWATCH, 22.0) if self.rows.raised and foot - 44 > self._box[1] - 12 else None
            )
        free = x > 4 and self._free((x + 3.0, y - 13.0, _SWATCH - 6, _SWATCH + 10))
        return (float(x), float(y), _SWATCH, _SWATCH) if free else None

    # records

    def _write_inputs(self, chips: Floats, backs: Floats) -> None:
        wide, size, boxed = self._input_style
        if self.swatch is not None:
            x, y, side, _ = self.swatch
            if x < chips[0, 0]:
                self.lines.append(Line([(x + side, y + 18), (chips[0, 0] - wide / 2, chips[0, 1] + 1)], 1.2))
            self.names.append(Name("input", x + side / 2, y - 9, anchor="middle"))
            self.swatches.append(Swatch(self.swatch, "input"))
        for k, (x, y) in enumerate(chips.tolist()):
            name = self._sample.inputs[k] if k < len(self._sample.inputs) else ""
            self.names.append(Name(name, x, y - HIGH / 2 - (7 if boxed else 1), CHANNEL, "middle", True))
            self.numbers.append(Number(x, y + 0.36 * size, Bound("input", k), size))
            if boxed:
                self.chips.append(Chip(x, y, wide))
                self.lines.append(Line([(x, y + HIGH / 2), backs[k]]))
        aside = np.array([wide / 2, 0.0])
        self.lines += [Line([a + aside, b - aside], 1.2) for a, b in pairwise(chips) if boxed]

    def _write_row(self, row: int, tip: Floats, linear: Stage, last: Stage) -> None:
        rows = self.rows
        anchor = rows.anchors[row]
        first = anchor[1] == rows.anchors[:, 1].min()
        if tuple(tip) != tuple(anchor):
            self.lines.append(Line([tip, anchor]))
        left, right = rows.way(row)
        self.lines.append(Line([anchor, rows.edge(row, "output" if rows.raised else "sum", -1)], head=7.0))
        self.lines += [] if rows.raised else [Line([left, right], head=7.0)]
        symbol = SYMBOLS.get(last.kind, "" if last.kind == "linear" else last.kind)
        size, up = (18, 6) if len(symbol) == 1 else (LABEL, HIGH / 2 - 3)
        if measure(symbol, size) <= right[0] - left[0]:  # between the chips, which would cover its ends
            self.names.append(Name(symbol, (left[0] + right[0]) / 2 - 1, left[1] - up, size, "middle"))
        bounds = {"sum": Bound(linear.name, row, SUM), "output": Bound(last.name, row)}
        for name, (_, wide) in rows.columns.items():
            (x, y), given = rows.edge(row, name, 0), name == "target"
            bound = Bound("target", row, "target") if given else bounds[name]
            bare = name == "sum" and rows.raised > 0
            bound = replace(bound, before="sum ") if bare else bound
            self.chips += [] if bare else [Chip(x, y, wide, not given, rows.high)]
            number = Number(x, y + 5.5, bound, bold=not given, tone=2 if given else 1)
            self.numbers.append(number._replace(without="") if given else number)
            if first and not bare:
                called = self._sample.called(last) if name == "output" else name
                self._add(Name(called, x, y - rows.raised - rows.high / 2 - 10, anchor="middle"))

    def _add(self, name: Name) -> None:
        """Add a name if it is off those before it."""
        self.names += [] if any(meet(name.box, other.box) for other in self.names) else [name]

    def _write_below(self, row: int, last: Stage) -> None:
        """Write output and target as colours, and the sample's own loss, below the last row, if they fit."""
        (x, y), end, sample = self.rows.anchors[row].tolist(), self._end, self._sample
        foot, wide = self._box[1] + self._box[3] + 8, measure(f"{loss_words(sample)}0.0000", LABEL)
        if not self._free((x + end - wide + 3, y + 33, wide - 6, 64)):
            return
        below = y + HIGH / 2
        if sample.colours and len(self.rows.anchors) == 3 and y + 100 < foot:
            for column, name in (("output", last.name), ("target", "target")):
                if column in self.rows.columns:
                    middle, own = x + self.rows.columns[column][0], self.rows.columns[column][1]
                    self.below.lines.append(Line([(middle, below), (middle, y + _UNDER)]))
                    box = (float(round(middle - own / 2)), float(round(y + _UNDER)), own, 40.0)
                    self.below.swatches.append(Swatch(box, name))
            below = y + _UNDER + 40
        label = [] if sample.label is None else [f"target {sample.outputs[sample.label]}"]
        for before, above in ((loss_words(sample), []), ("sample loss ", label)):  # beside the cubes, not on them
            if max(measure(line, LABEL) for line in (f"{before}0.0000", *above)) <= end:
                for line, text in enumerate([*above, before]):
                    down = below + 20 + 18 * line
                    if down < foot and text is before:
                        self.below.numbers.append(_loss(before, x + end, down))
                    elif down < foot:
                        self.below.names.append(Name(text, x + end, down, anchor="right", tone=1))
                return

    def _write_names(self, trays: Mapping[str, Floats]) -> None:
        """Write the outputs beside their rows, the inputs if they have no chips, and the word above the biases."""
        (weight, bias), top = self.plates, self._box[1] - 12
        # beside their rows: on the left or, seen from another side, on the right; in a narrow picture the bare names
        sides = ((weight, -1), (bias or weight, 1))[: 2 if self._moved else 1]
        for (plate, side), to in product(sides, ("to ", "")):
            names = [f"{to}{name}" for name in self._sample.outputs]
            if found := row_names(plate, names, side, self._project, self._placer, trays.get(plate.name)):
                self.names += found
                break
        if self.inputs is None:
            self.names += column_names(weight, self._sample.inputs, self._project, top, self._free)
        if bias is not None:
            x, y = self._project([back_edge(bias, 0)])[0].tolist()
            name = Name("bias", x, y - 10, CHANNEL, "middle", True)
            if y - 26 > top and self._free((x - 13, y - 20, 26, 10)):
                self._add(name)


def level(tips: Floats, placer: Placer, reach: float, height: float) -> Floats | None:
    """Return where each row's chips start (R, 2), for rows whose last cubes end at `tips` (R, 2), in logical pixels.

    `reach` and `height` are the size of a row's chips to the right of that. None without a place.
    """
    tried = list(_levels(tips))
    ways = [
        [(x + 10.0, y - height / 2, reach - 6.0, height) for x, y in anchors]
        + [(float(x), float(y), 1.0, 1.0) for pair in zip(tips, anchors, strict=True) for x, y in _between(*pair)]
        for anchors in tried
    ]
    found = placer.place(ways)
    return None if found is None else tried[found]


def _levels(tips: Floats) -> Iterator[Floats]:
    """Yield the tips if they are far enough apart, then columns of starts further and further to the right."""
    order = np.argsort(tips[:, 1], kind="stable")
    if len(tips) == 1 or np.diff(tips[order, 1]).min() >= STEP - 3:
        yield tips
    steps = STEP * np.arange(len(tips))  # least movement to this distance, around the same middle
    spread = np.maximum.accumulate(tips[order, 1] - steps) + steps
    for aside in (0.0, 24.0, 60.0):
        anchors = np.empty_like(tips)
        anchors[order, 0] = tips[:, 0].max() + aside
        anchors[order, 1] = spread - (spread - tips[order, 1]).mean()
        yield anchors


def _between(tip: Floats, anchor: Floats) -> Floats:
    """Return points of the line from a cube to its chips, which must not cross another cube."""
    length = float(np.hypot(*(anchor - tip)))
    return np.asarray(tip + np.arange(26.0, length, 8.0)[:, None] / max(length, 1e-9) * (anchor - tip))


def loss_words(sample: Sample) -> str:
    """Return the words before the loss of the probe sample, with the target class if there is one."""
    wanted = f"target {sample.outputs[sample.label]} \N{MIDDLE DOT} " if sample.label is not None else ""
    return f"{wanted}loss of this {'colour' if sample.colours else 'sample'} "


# ---- The outcome of the probe sample in a deeper network: input, output and target side by side, and its loss.

MOST = 4  # most outputs that are written out
_SIDE, _APART, _ARROW = 46.0, 60.0, 44.0
_WIDE = 52.0


def outcome_size(sample: Sample) -> tuple[float, float] | None:
    """Return width and height of the outcome; None without a target or with too many outputs."""
    if sample.target_values is None and sample.label is None:
        return None
    if sample.colours:
        return 2 * _SIDE + _ARROW + _APART, 20 + _SIDE + 24
    count = len(sample.outputs)
    rows = 1 if sample.target_values is None else 2
    wide = max(50 + count * (_WIDE + 6), measure(f"{loss_words(sample)}8.8888", LABEL))
    return (wide, 38 + 34 * rows) if 0 < count <= MOST else None


class Outcome(Notes):
    """The outcome of the sample, in a `box` of that size; `last` is the stage whose row is the output."""

    def __init__(self, box: Box, sample: Sample, last: Stage) -> None:
        super().__init__()
        self.box = box
        self.swatch: Box | None = None  # that of the input
        if sample.colours and sample.target_values is not None:
            self._write_swatches(last)
        else:
            self._write_chips(sample, last)
        self.numbers.append(_loss(loss_words(sample), box[0] + box[2], box[1] + box[3] - 4))

    @property
    def output_places(self) -> tuple[Floats, Floats]:
        """Places of the only output, and of its delta above; shape (1, 2) each, logical pixels."""
        at = np.array([[self.box[0] + self.box[2] - _WIDE / 2, self.box[1] + 20 + HIGH / 2]])
        return at, at - (0.0, HIGH / 2 + 14.0)

    def _write_swatches(self, last: Stage) -> None:
        x, y = self.box[0], self.box[1] + 20
        places = (x, x + _SIDE + _ARROW, x + _SIDE + _ARROW + _APART)
        self.swatches = [Swatch((at, y, _SIDE, _SIDE), name)
                         for at, name in zip(places, ("input", last.name, "target"), strict=True)]  # fmt: skip
        self.swatch = self.swatches[0].box
        self.names = [Name(name, at + _SIDE / 2, y - 7, anchor="middle")
                      for at, name in zip(places, ("input", "output", "target"), strict=True)]  # fmt: skip
        middle = y + _SIDE / 2
        self.lines = [Line([(x + _SIDE + 4, middle), (places[1] - 4, middle)], head=7.0)]

    def _write_chips(self, sample: Sample, last: Stage) -> None:
        count, step = len(sample.outputs), _WIDE + 6
        x, y = self.box[0] + self.box[2] - count * step + 6 + _WIDE / 2, self.box[1] + 20 + HIGH / 2
        rows = [(sample.called(last), Bound(last.name))]
        rows += [] if sample.target_values is None else [("target", Bound("target", form="target"))]
        for row, (title, bound) in enumerate(rows):
            level = y + 34 * row
            self.names.append(Name(title, x - _WIDE / 2 - 10, level + 5, anchor="right"))
            self.chips += [Chip(x + k * step, level, _WIDE, not row) for k in range(count)]
            for k in range(count):
                own = replace(bound, index=k)
                self.numbers.append(Number(x + k * step, level + 5.5, own, bold=not row, tone=1 + row))
        self.names += [Name(name, x + k * step, y - HIGH / 2 - 7, anchor="middle")
                       for k, name in enumerate(sample.outputs) if count > 1]  # fmt: skip


def _loss(before: str, x: float, y: float) -> Number:
    """Return the record of the probe sample's loss."""
    return Number(x, y, Bound("loss", form="loss", before=before), LABEL, "right", False, 1, "")


# ---- The outputs of a single layer written out with their numbers.


def formulas(frame: Frame, stages: Sequence[Stage], sample: Sample) -> list[list[str]]:
    """Return for each output the ways to write its formula, the best first; empty without a sample.

    A line has the numbers of the frame, with enough digits that they give the printed result. An activation of several
    sums (softmax) is left out.
    """
    linear = next(s for s in stages if s.weight is not None)
    if "input" not in frame.activations or linear.weight is None:
        return []
    symbol, function, last = _activation(stages, linear)
    lines = []
    for i, terms in enumerate(_terms(frame, linear)):
        output = None if last is None else float(frame.activations[last.name][i])
        total = float(frame.activations[linear.name][i])
        name = _name(sample, i) if last is not None or stages[-1] is linear else f"sum {_name(sample, i)}"
        lines.append(list(neuron(name, terms, total, symbol=symbol, output=output, function=function)))
    return lines


def template(frame: Frame, stages: Sequence[Stage], sample: Sample) -> str:
    """Return a line of the usual length for this layer, whatever the weights."""
    linear = next(s for s in stages if s.weight is not None)
    if "input" not in frame.activations or linear.weight is None or not sample.outputs:
        return ""
    symbol, _, last = _activation(stages, linear)
    terms = [(-0.125, given) for _, given in _terms(frame, linear)[0]]
    widest = max(sample.outputs, key=len)
    return one_line(widest, terms, -0.25, (symbol, None if last is None else 0.25, None), (3, 2))


def _terms(frame: Frame, linear: Stage) -> list[list[Term]]:
    assert linear.weight is not None  # only layers have formulas
    inputs = frame.activations["input"]
    rows: list[list[Term]] = [
        [(float(w), float(x)) for w, x in zip(row, inputs, strict=True)] for row in linear.weight.of(frame.values)
    ]
    if linear.bias is not None:
        for terms, bias in zip(rows, linear.bias.of(frame.values), strict=True):
            terms.append((float(bias), None))
    return rows


def _activation(stages: Sequence[Stage], linear: Stage) -> tuple[str, Callable[[float], float] | None, Stage | None]:
    """Return symbol, function and stage of the activation; all empty if each output is a sum."""
    last = stages[-1]
    if last is linear or len(stages) != 2 or last.kind not in TABLE:
        return "", None, None
    one = kernel(last.kind)
    return SYMBOLS.get(last.kind, last.kind), one.value if one.arity == 1 else None, last


def _name(sample: Sample, output: int) -> str:
    return sample.outputs[output] if output < len(sample.outputs) else str(output)
