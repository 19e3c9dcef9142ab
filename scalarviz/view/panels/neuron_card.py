"""The card of one neuron: its map large, and the weights that lead into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...run.core.frame import Tensor
from ...run.panels import Features, NeuronMaps
from ...run.source import Moment
from ..ink.axes import zero_lines
from ..ink.maps import signed_shades
from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Box, Sketch, meet
from ..ink.text import chip_text, number
from ..ink.theme import Theme
from ..shown.subject import Subject
from ..space.chain import chain_of
from .drawer import Ground, Setting, cut
from .grid import fractions, places
from .plane import boundary_sketch

# ---- Units of the hidden layers of a chain: their names and their weights.

LETTERS = "hkmnpqrstuvw"
"""The first letter of the units of each hidden layer."""


class Hidden(NamedTuple):
    """A hidden layer; `row` is the stage whose row it makes, `kind` of that stage."""

    row: str
    kind: str
    weight: Tensor
    bias: Tensor | None
    units: int
    letter: str

    def name(self, unit: int) -> str:
        """``h3``."""
        return f"{self.letter}{unit + 1}"


def hidden_of(subject: Subject) -> list[Hidden]:
    """The hidden layers of a chain; empty where the network is none."""
    kinds = {stage.name: stage.kind for stage in subject.stages}
    chain = chain_of([t for t in subject.tensors if t.size and t.role != "count"], subject.stages)
    return [
        Hidden(layer.row, kinds[layer.row], layer.weight, layer.bias, layer.outputs, LETTERS[k % len(LETTERS)])
        for k, layer in enumerate(chain[:-1])
    ]


CELLS = 44
SIDE, WIDE, PAD = 110.0, 306.0, 14.0
MOST, FEW = 4, 1
"""Weights that are named, in a low picture; of more, those that are largest."""
LOW = 480.0
"""Logical pixels below which a picture is low."""
_STEP = 20.0


def card(
    panel: NeuronMaps, moment: Moment, ground: Ground, layers: tuple[Hidden, Hidden | None], unit: int,
    free: Sequence[Box], setting: Setting, size: tuple[float, float], largest: float,
) -> Sequence[Sketch]:  # fmt: skip
    """It stands in the upper right corner of the scene, or in another place where that would hide its neuron.

    `layers` are that of the unit and the one before. The boxes in `free` (its small map, the buttons of its layer) stay
    seen; `size` is that of the whole picture, `largest` the output that is wholly blue.
    """
    layer, theme = layers[0], ground.theme
    lines = _weights(moment, ground, layers, unit, MOST if size[1] >= LOW else FEW)
    high = max(SIDE + 2 * PAD, PAD + 24 + _STEP * (len(lines) + 1.5))
    place = _place(setting, size, (WIDE, high), free)
    for other in setting.taken:  # what lies below is covered as a whole, or not at all
        place = _joined(place, other, free)
    x, y = place[0], place[1]
    sketch = Sketch()
    sketch.rect(*place, fill=theme.panel, stroke=theme.flow, radius=6)
    samples = panel.inputs(places(panel.across, panel.up, *[fractions(CELLS)] * 2))
    numbers = moment.rows(samples, layer.row)[layer.row][:, unit].reshape(CELLS, CELLS)
    picture = (x + PAD, y + PAD, SIDE, SIDE)
    sketch.image(picture, signed_shades(numbers, (-largest, largest), theme))
    starts, ends = ((pieces + 0.5) / CELLS for pieces in zero_lines(numbers))
    line = boundary_sketch(picture, (starts, ends), theme)
    line.rect(x + PAD - 1, y + PAD - 1, SIDE + 2, SIDE + 2, stroke=theme.flow, radius=3)
    made = moment.frame.activations.get(layer.row)
    now = None if made is None or unit >= len(made) else float(made[unit])  # of the sample whose way is drawn
    _words(sketch, (x + 2 * PAD + SIDE, y + PAD), x + place[2] - PAD, theme, layer, unit, lines, now)
    return [sketch, line]


def _place(setting: Setting, picture: tuple[float, float], size: tuple[float, float], free: Sequence[Box]) -> Box:
    """The upper right corner of the scene, or the next one that leaves `free` what has to be; or over the strip."""
    left, top, wide, high = setting.window
    right, foot = left + wide - size[0] - 16, top + high - size[1] - 10
    strip = min(top + high + 4, picture[1] - size[1] - 4)
    corners = [(right, top + 10), (left + 16, top + 10), (right, foot), (left + 16, foot), (left + 16, strip)]
    places = [(round(max(x, 4.0)), round(max(y, 4.0)), *size) for x, y in corners]
    return min(places, key=lambda place: sum(meet(place, box, 4.0) for box in free))  # the first of the best


def _joined(place: Box, other: Box, free: Sequence[Box]) -> Box:
    """A box that covers both, where they meet and it does not lie on what is to be left free."""
    left, top = min(place[0], other[0] - 12), min(place[1], other[1] - 8)
    right = max(place[0] + place[2], other[0] + other[2] + 12)
    both = (left, top, right - left, max(place[1] + place[3], other[1] + other[3] + 8) - top)
    return both if meet(place, other, 8.0) and not any(meet(both, box, 4.0) for box in free) else place


def _weights(
    moment: Moment, ground: Ground, layers: tuple[Hidden, Hidden | None], unit: int, most: int
) -> list[tuple[float | None, str]]:
    """The weights that lead into a unit with what each is multiplied by, the largest of many; at last its bias."""
    layer, before = layers
    row = moment.tensor(layer.weight.name)[unit]
    names = _names(moment, ground, before, len(row))
    order = np.arange(len(row)) if len(row) <= most + 1 else np.sort(np.argsort(-np.abs(row), kind="stable")[:most])
    lines: list[tuple[float | None, str]] = [(float(row[k]), f"· {names[k]}") for k in order]
    if len(order) < len(row):
        lines.append((None, f"and {len(row) - len(order)} smaller"))
    if layer.bias is not None:
        lines.append((float(moment.tensor(layer.bias.name)[unit]), "bias"))
    return lines


def _names(moment: Moment, ground: Ground, before: Hidden | None, count: int) -> list[str]:
    """What the weights of a unit are multiplied by: units of the layer before, or what the network gets."""
    if before is not None:
        return [before.name(k) for k in range(count)]
    features = next((panel for panel in ground.subject.panels if isinstance(panel, Features)), None)
    if features is not None:
        rows = rows_of(features, moment)
        found = {row: name for name, row in zip(features.names, rows, strict=False) if row is not None}
        return [found.get(k, f"input {k}") for k in range(count)]
    given = ground.subject.sample.inputs
    return list(given) if len(given) == count else [f"input {k}" for k in range(count)]


def rows_of(features: Features, moment: Moment) -> list[int | None]:
    """For each feature the number of its row of cubes in the first layer; None where it has none."""
    if features.rows is not None:
        return list(features.rows(moment))
    on = features.on(moment)
    return [sum(map(bool, on[:k])) if there else None for k, there in enumerate(on)]


def _words(
    sketch: Sketch, at: tuple[float, float], right: float, theme: Theme, layer: Hidden, unit: int,
    lines: Sequence[tuple[float | None, str]], now: float | None,
) -> None:  # fmt: skip
    """Name, what it is of, and the weights, each in the colour of its sign."""
    x, y = at
    sketch.text(x, y + 15, layer.name(unit), CHANNEL, theme.text1, bold=True)
    if now is not None:
        sketch.text(right, y + 15, f"sample {number(now, 2, signed=True)}", LABEL, theme.text2, anchor="right")
    of = "sum of" if layer.kind == "linear" else f"{layer.kind} of"
    sketch.text(x, y + 15 + _STEP, of, LABEL, theme.text2)
    base, edge = y + 15 + 2 * _STEP, x + 62.0
    for value, word in lines:
        if value is None:
            sketch.text(x, base, word, LABEL, theme.text3)
        else:
            ink = theme.weight[4] if value > 0 else theme.weight[0] if value < 0 else theme.text2
            sketch.text(edge, base, chip_text(value, signed=True), LABEL, ink, bold=True, anchor="right")
            sketch.text(edge + 8, base, cut(word, right - edge - 8), LABEL, theme.text2)
        base += _STEP
