"""Other hidden layers that a page offers: what differs from the page of the recorded ones, by the names of the choices.

Python makes a page of the first step of each choice; its pictures, numbers and programs replace those of the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from ...run.core.frame import Frame
from ...run.scene.scene import Scene
from ...run.sources.recording import Recorded, Recording
from ..shown.subject import Subject
from .pack import dense_text, squeezed
from .trains import Trains

CHOICES = ((), (2,), (4,), (8,), (8, 8))
"""Units of the hidden layers that a page offers beside the recorded ones."""


class PageParts(NamedTuple):
    """The parts of a page: its head, its lists and further texts by name, and its training."""

    head: dict[str, Any]
    lists: dict[str, Any]
    texts: dict[str, str]
    trains: Trains
    opens: bool  # whether it has opened steps
    follows: bool  # whether all panels follow what the browser computes
    subject: Subject
    last: Frame


class OtherLayers(NamedTuple):
    """What a page needs for other layers: texts, what its training is told, and programs of workers."""

    texts: dict[str, str]
    told: dict[str, Any]
    programs: list[str]


def other_layers(scene: object, page: PageParts, write: Callable[[Recorded, Scene], PageParts]) -> OtherLayers:
    """Return what a page needs so that it can take other layers; nothing if its scene offers none, or a panel stays.

    `write` returns the parts of the page of a scene's recording.
    """
    if not (isinstance(scene, Scene) and scene.other_layers and page.follows and page.trains.parts):
        return OtherLayers({}, {}, [])
    shapes = [tensor.shape for tensor in scene.run.tensors]
    recorded = tuple(shape[0] for shape in shapes if len(shape) == 2)[:-1]
    found, programs = list[dict[str, Any]](), list[str]()
    for units in CHOICES:
        if units == recorded:
            continue
        other = scene.other_layers(units)
        known = {name: name in page.texts for name in ("gradient", "update")}
        with (
            other.run,
            Recording(other, gradients=known["gradient"], updates=known["update"], activations=True) as kept,
        ):
            other.run.step()  # time has two ends
            with closing(kept.read()) as record:
                own = write(record, other)
        if own.trains.parts.get("samples") != page.trains.parts["samples"]:  # somebody edited the data
            return OtherLayers({}, {}, [])
        program = own.trains.program
        found.append({
            "name": _name(units), "network": program[own.trains.network], "lists": own.lists,
            "run": difference(page.head, own.head, "document", "about", "keys", "pictures"),  # panels follow it
            "document": difference(page.head["document"], own.head["document"]),
            "training": difference(page.trains.told, own.trains.told, "every"),
            "texts": difference(page.texts | {**page.trains.parts}, own.texts | {**own.trains.parts}, "engine"),
        })  # fmt: skip
        programs.append(program)
    names, network = [_name(recorded), *(one["name"] for one in found)], page.trains.network
    told = {"layers": names, "network": [network.start, network.stop]}
    return OtherLayers({"layers": dense_text(squeezed(found))}, told, programs)


def _name(units: tuple[int, ...]) -> str:
    return ",".join(map(str, units)) or "none"


def difference(base: Mapping[str, Any], own: Mapping[str, Any], *kept: str) -> dict[str, Any]:
    """Return the entries of `own` JSON data that differ from a base, without the `kept` ones; None: a missing one."""
    found = {name: data for name, data in own.items() if json.dumps(data) != json.dumps(base.get(name))}
    return {
        name: data for name, data in {**dict.fromkeys(base.keys() - own.keys()), **found}.items() if name not in kept
    }
