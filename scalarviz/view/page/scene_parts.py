"""The parts of a page that come from the scene and are not in a recorded file: test results, and letters.

`Letters`: how the network of each frame reads a scene's word, and the words that it makes up. A window draws these
among the cubes: attention, the numbers of the letters, and the next letter. A page cannot run the network, so it stores
the results for every frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import HeldOut, LossCurve, Painting, Reading, TestCurve, WordBoard
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.source import Moment, Source
from ..cubes.looks import LOOKS, CubeLook
from ..ink.listed import Listed, Record, changes, short
from ..ink.sketch import Rect, Sketch
from ..ink.theme import DARK, THEMES, get_map, hexed
from ..panels.attention import greys
from ..panels.drawer import Setting, test_loss, test_share
from ..panels.word import MOST, WordState, bars, scene
from ..screen.side import SidePanels
from ..shown.subject import subject_of
from .document import Laid

Headlines = Callable[[Frame], tuple[str, ...]]
"""``headlines(frame)`` returns words about a frame, such as ``"test accuracy 91.2 %"``."""


def no_headlines(frame: Frame) -> tuple[str, ...]:
    """Return no headlines."""
    return ()


class SceneParts(NamedTuple):
    """The parts of a page that come from the scene."""

    letters: Letters | None = None  # replaces the picture of its panel
    looks: Mapping[int, CubeLook] | None = None  # looks by flat index; None: those of the subject's weights
    turned: bool = False  # whether the flow turns at each layer, around pictures of single units
    above: tuple[str, ...] = ()  # titles of panels above the cubes, which only a window shows
    headlines: Headlines = no_headlines  # words about a frame beside the loss


def scene_parts_of(x: object, *, edited: bool = False) -> SceneParts:
    """Return the parts of a scene, or of a run; `edited` says whether the recording has edits."""
    if not isinstance(x, Scene | Run):
        return SceneParts()
    shown = subject_of(x)
    turned = SidePanels(shown, DARK).turns(1.0, 1.0, rows=True) is not None
    above = tuple(str(getattr(panel, "title", "a panel")) for panel in shown.panels if panel.place == "above")
    letters = None
    if isinstance(x, Scene) and x.plan is not None:  # a plan has room for it
        letters = next((Letters(panel, shown.source) for panel in x.panels if isinstance(panel, WordBoard)), None)
    return SceneParts(letters, LOOKS.looks_of(shown.source), turned, above, headlines_of(x, edited=edited))


def headlines_of(scene: object, *, edited: bool = False) -> Headlines:
    """Return the function for the words of a scene's panels in the HUD's first line, at the values of a frame.

    These are the test loss or accuracy, and the likeness of a painting. Data that edits may change are unknown later:
    after edits (`edited`) nothing is said about them.
    """
    if not isinstance(scene, Scene):
        return no_headlines
    sayers, source, count = list[Callable[[Moment], str]](), subject_of(scene).source, len(scene.run.values)
    for panel in scene.panels:
        test = panel.test if isinstance(panel, LossCurve) else None
        if test is not None and test.headline and not (edited and isinstance(test, HeldOut)):
            sayers.append(partial(_tested, test))
        elif isinstance(panel, Painting) and not edited:
            sayers.append(partial(_painted, panel))
    if not sayers:
        return no_headlines

    def headlines(frame: Frame) -> tuple[str, ...]:
        if len(frame.values) != count:  # an earlier network of the run
            return ()
        moment = Moment(frame, source)
        return tuple(filter(None, (say(moment) for say in sayers)))

    return headlines


def _tested(test: TestCurve | HeldOut, moment: Moment) -> str:
    data = test.of(moment)
    if not len(data[0]):
        return ""
    share = test.share(moment)
    return " ".join(test_loss(moment.evaluate(*data)) if share is None else test_share(share))


def _painted(panel: Painting, moment: Moment) -> str:
    found = panel.likeness(moment)
    return f"psnr {found:.1f} dB" if np.isfinite(found) else ""


# ---- Letters

SHADES = 255  # steps of a colour in its map
BRIGHTNESS = 255  # brightness steps of a letter in a new word: the root of its probability
BARS = 26.0  # pixels of the longest bar beside the cubes


class Letters:
    """Reads a panel's word for each frame, and draws it for each letter; `laid` is the page's layout."""

    def __init__(self, panel: WordBoard, source: Source) -> None:
        self._panel, self._source = panel, source
        self._listed, self._before = Listed(DARK), list[Record]()
        self._lists: list[list[Any]] = []
        self._next: list[list[list[list[Any]]]] = []
        self._names: list[list[Any]] = []
        self._spots: list[list[Any]] = []
        self._shades: dict[str, str] = {}  # of the current frame
        self.laid: Laid | None = None

    @property
    def words(self) -> dict[str, Any]:
        """The word, and the temperature of new words."""
        return {"word": self._panel.word, "temperature": self._panel.temperature}

    def add_frame(self, frame: Frame) -> None:
        """Read the word at one more frame."""
        moment, panel = Moment(frame, self._source), self._panel
        reading = panel.look(moment, panel.word)
        finite = all(np.isfinite(part).all() for part in (reading.likely, reading.attention, *reading.stream))
        made = [panel.make(moment, panel.temperature, k) for k in range(MOST)] if finite else []
        self._names.append([[one.word, [_bright(share) for share in one.likely]] for one in made])
        states = [WordState(panel.letters, panel.word, k) for k in range(len(panel.word) + 1)] if finite else []
        self._next.append([_after(state, reading) for state in states])
        self._shades = {}
        self._lists.append([self._among(state, reading) for state in states])

    def _among(self, state: WordState, reading: Reading) -> list[Any]:
        """Return the changes of the list among the cubes, and the bars of the next letter."""
        assert self.laid is not None
        layout, (_, _, wide, high) = self.laid.layout, (0.0, 0.0, *self.laid.places.size)
        if layout.blueprint is None:  # a small page has no room for the plan
            return [[], []]
        plates, below = {plate.name: plate for plate in layout.plates}, (0.0, high, 0.0, 0.0)
        sheet = layout.blueprint
        setting = Setting(sheet, plates, self.laid.project, (0.0, 0.0, wide, high), below)
        rooms = {name: room for name, room in sheet.rooms.items() if name != "next"}
        sketches = scene(setting, replace(sheet, rooms=rooms), DARK, state, reading)
        self._spots = self._spots or [[*short(spot.box), spot.value] for one in sketches for spot in one.spots]
        records = [self._shaded(record) for record in self._listed.records(sketches)]
        found, self._before = _fills(self._before, records), records
        # the number of bars depends on the numbers: they are a separate list
        rooms = {name: room for name, room in sheet.rooms.items() if name == "next"}
        bare = replace(sheet, rooms=rooms, rows=(), note=None)
        likeliest = scene(setting, bare, DARK, state, replace(reading, hidden=None))[:1]
        return [found, self._listed.records(likeliest)]

    def _shaded(self, record: Record) -> Record:
        """Return a record with colours of cells as places in their map: right in both themes, and a third as long."""
        if record[0] != "cells":
            return record
        if record[2] not in self._shades:
            fills = np.frombuffer(bytes.fromhex(record[2]), np.uint8).reshape(-1, 3).astype(np.int16)
            name = "attention" if (np.ptp(fills, axis=1) == 0).all() else "weight"
            apart = np.abs(fills[:, None] - _table(name)[None]).sum(axis=2)
            self._shades[record[2]] = f"{name}:{apart.argmin(axis=1).astype(np.uint8).tobytes().hex()}"
        return [*record[:2], self._shades[record[2]], *record[3:]]

    def as_json(self) -> dict[str, Any]:
        """Return data of each frame: new words; for each letter the next letters and a list; spots of letters."""
        return {"names": self._names, "next": self._next, "lists": self._lists, "spots": self._spots}


def maps_of_letters() -> dict[str, dict[str, Any]]:
    """Return the greys of attention as a map, in both themes."""
    ends = {look: [hexed(grey) for grey in greys(np.array([0.0, 1.0]), theme)] for look, theme in THEMES.items()}
    return {"attention": {look: {"stops": stops} for look, stops in ends.items()}}


@cache
def _table(name: str) -> NDArray[np.int16]:
    """Return the colours of a map at all steps, int16 (256, 3)."""
    steps = np.linspace(0.0, 1.0, SHADES + 1)
    shades = greys(steps, DARK) if name == "attention" else get_map(name, DARK)(2 * steps - 1)
    return np.rint(255 * shades).astype(np.int16)


def _fills(before: list[Record], now: list[Record]) -> list[Record] | dict[str, Any]:
    """Return `changes`, with only the colours of cells that stay in place."""
    found = changes(before, now)
    if isinstance(found, list):
        return found
    same = {k for k, new in found.items() if new[0] == "cells" and before[int(k)][:2] == new[:2]}
    return {k: new[2] if k in same else new for k, new in found.items()}


def _after(state: WordState, reading: Reading) -> list[list[Any]]:
    """Return the letters that may follow, likeliest first: name, share, length of bar, whether it does follow."""
    sketch, most = Sketch(), BARS / max(float(reading.likely.max()), 1e-9)
    bars(sketch, (0.0, 0.0), most, DARK, state, reading, state.chosen, 16.0)
    rects, texts = [one for one in sketch.shapes if isinstance(one, Rect)], sketch.texts
    return [[name.text, share.text, round(rect.width, 1), int(name.bold)]
            for name, share, rect in zip(texts[::2], texts[1::2], rects, strict=True)]  # fmt: skip


def _bright(share: float) -> int:
    """Return the brightness of a letter with this probability; 0 for NaN."""
    return round(BRIGHTNESS * min(max(share, 0.0), 1.0) ** 0.5) if share == share else 0
