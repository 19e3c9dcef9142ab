"""What stands around the cubes as plain data: names, what a single layer reads and gives, the flat part of a plan.

Where it stands depends on the camera: the browser finds out by the window's own rules (``labels.js``, ``layer.js``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...scalar.ops import TABLE
from ..ink.text import ADVANCES, LETTERS, UNKNOWN
from ..notes.labels import drawn_shapes, shape_text
from ..notes.layer import SYMBOLS, outcome_size
from ..notes.scenery import is_single, labelled, row_words, side_words, titles_in, turned_in, unit_words
from ..shown.subject import Subject
from ..space.arrangement import Blueprint
from ..space.layout import Layout


def words_of(subject: Subject, layout: Layout) -> dict[str, Any]:
    """All of it for one layout: ``single`` or ``plan`` where there is one, else ``plates`` and ``rows``."""
    single, sheet = is_single(subject, layout), layout.blueprint
    return {
        "advances": {"letters": LETTERS, "regular": _thousandths(False), "bold": _thousandths(True),
                     "unknown": [UNKNOWN[False], UNKNOWN[True]]},
        "single": _single(subject, layout) if single else None,
        "outcome": None if single else _outcome(subject),
        "plan": None if sheet is None or subject.plan is None else _plan(subject, sheet, turned_in(subject.plan)),
        "plates": _plates(subject, layout),
        "rows": _rows(subject, layout),
        **({"sides": sides} if (sides := _sides(subject, layout)) else {}),
    }  # fmt: skip


def _thousandths(bold: bool) -> list[int]:
    return [round(1000 * ADVANCES[bold][letter]) for letter in LETTERS]


def _single(subject: Subject, layout: Layout) -> dict[str, Any]:
    """One layer: its stages, and the sample whose way is drawn."""
    stages = subject.stages
    linear, last = next(s for s in stages if s.weight is not None), stages[-1]
    assert linear.weight is not None  # of a layer
    plates = {plate.name: index for index, plate in enumerate(layout.plates)}
    written = last is not linear and len(stages) == 2 and last.kind in TABLE
    return {
        "weight": plates[linear.weight.name],
        "bias": None if linear.bias is None else plates[linear.bias.name],
        "sums": linear.name,
        "last": last.name,
        "kind": last.kind if written else None,
        "symbol": SYMBOLS.get(last.kind, "" if last.kind == "linear" else last.kind),
        **_wanted(subject),
    }


def _wanted(subject: Subject) -> dict[str, Any]:
    """The last row's name, and what it should become."""
    sample = subject.sample
    wanted = None if sample.wanted is None else [None if np.isnan(x) else float(x) for x in sample.wanted]
    return {
        "called": sample.called(subject.stages[-1]),
        "wanted": wanted,
        "label": None if sample.label is None else sample.outputs[sample.label],
        "colours": sample.colours,
    }


def _outcome(subject: Subject) -> dict[str, Any] | None:
    """What becomes of the one sample of a deeper network, and how much room that takes; None for nothing."""
    size = outcome_size(subject.sample) if subject.stages else None
    return None if size is None else {"size": list(size), "last": subject.stages[-1].name, **_wanted(subject)}


def _plates(subject: Subject, layout: Layout) -> list[dict[str, Any]]:
    """Titles and shapes of the plates that have a label."""
    shapes, titles = labelled(subject), titles_in(subject.plan)
    untrained = {tensor.name for tensor in subject.tensors if tensor.buffer}
    found = []
    for index, plate in enumerate(layout.plates):
        if plate.kind != "activation" and plate.name in shapes:
            text = shape_text(plate, shapes[plate.name])
            text += " · not trained" if text and plate.name in untrained else ""
            found.append({"plate": index, "title": titles.get(plate.name, plate.name), "shape": text})
    return found


def _rows(subject: Subject, layout: Layout) -> list[dict[str, Any]]:
    """What rows of activations are called, and their numbers, where those have names."""
    names, units = row_words(subject), unit_words(subject)
    return [{"plate": index, "text": names[plate.name], "names": list(units.get(plate.name, ()))}
            for index, plate in enumerate(layout.plates)
            if plate.kind == "activation" and plate.name in names]  # fmt: skip


def _sides(subject: Subject, layout: Layout) -> list[dict[str, Any]]:
    """What columns and rows are called at the plate itself."""
    sides = side_words(subject)
    return [{"plate": index, "columns": list(sides[plate.name][0]), "rows": list(sides[plate.name][1])}
            for index, plate in enumerate(layout.plates) if plate.name in sides]  # fmt: skip


def _plan(subject: Subject, sheet: Blueprint, turned: set[str]) -> dict[str, Any]:
    """In pixels of the camera that the plates were laid out for; shapes as they are drawn."""
    shapes = drawn_shapes(labelled(subject), turned)
    return {
        "headings": [{"text": h.text, "count": h.count, "x": h.x, "y": h.y, "width": h.width} for h in sheet.headings],
        "captions": [{"tensor": c.tensor, "title": c.title, "shape": shapes[c.tensor], "x": c.x, "y": c.y,
                      "width": c.width} for c in sheet.captions],
        "wires": [{"points": np.round(wire.points, 2).tolist(), "arrow": wire.arrow} for wire in sheet.wires],
        "pluses": [list(plus) for plus in sheet.pluses],
        "rooms": {name: list(box) for name, box in sheet.rooms.items()},
        "rows": [list(box) for box in sheet.rows],
        "note": None if sheet.note is None else list(sheet.note),
        "words": sheet.words,
        "anchors": sheet.anchors.tolist(),
        "places": sheet.places.tolist(),
    }  # fmt: skip
