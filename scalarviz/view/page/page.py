"""The parts of pages: the surrounding HTML, keys, the numbers and marks of frames, and what comes from the scene."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
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
from ..shown.subject import Subject, subject_of
from ..watch.actions import PLAYED, Words, action_of
from .document import flags_of, texels_of
from .pack import Float32, deflated, dense_text, text_of
from .pictures import image_tag
from .scripts import bare, bare_style, colours_of, joined, read

MOST_BESIDE = 512  # most activations shown as numbers beside the cubes of a small network


def shell(
    title: str, theme: str, parts: dict[str, str], sentence: str, call: str, *entries: str, app: str = "run",
    styles: Sequence[str] = (), still: bytes = b"", story: str = "", words: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Return the HTML around the parts, which are dense texts or JSON of them: no character can end an element.

    `app` names the kind of page, with its HTML and style sheet. `still` is the last frame as WebP, shown where nothing
    can play. `story` is an introduction for newcomers, and `words` are further texts of the HTML.
    """
    title = _clean(title or "scalarviz")
    style = bare_style("".join([f"{colours_of()}\n{read('player.css')}", *map(read, (f"{app}.css", *styles))]))
    script = f"(() => {{\n{bare(joined('load.js'))}loadProgram();\n}})();\n"  # names apart from the program's
    program = f"{bare(joined(*entries))}{call}\n"
    image = image_tag(still, "image/webp", f"{title}: {sentence}") if still else ""
    policy = (
        f"default-src 'none'; script-src '{_hashed(script)}' '{_hashed(program)}'; style-src '{_hashed(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    packed_parts = parts | {"program": dense_text(deflated(program.encode("utf-8")))}
    data = "\n".join(f'<script type="text/plain" id="{id}">{text}</script>' for id, text in packed_parts.items())
    name = html.escape(title)
    return Template(read("page.html")).substitute(
        theme=theme, policy=policy, title=name, style=style, still=image, sentence=html.escape(sentence),
        description=html.escape(_clean(story or sentence)),
        app=Template(read(f"{app}.html")).substitute(
            {key: html.escape(_clean(word)) for key, word in {"title": title, "story": story, **(words or {})}.items()}
        ),
        parts=data, script=script,
    )  # fmt: skip


def _clean(text: str) -> str:
    """Return a title without control characters and without characters that UTF-8 cannot encode."""
    return "".join(letter for letter in text if letter.isprintable())


def _hashed(text: str) -> str:
    """Return the hash of a script or style sheet for a security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def about_of(subject: Subject, title: str, program: str) -> dict[str, Any]:
    """Return a page's words about its run; `program` names the recording program."""
    facts = subject.source.facts
    line = [title, "" if facts is None else facts.engine, program]
    return {"line": "  \N{MIDDLE DOT}  ".join(filter(None, line)), "gestures": list(map(list, GESTURES))}


def json_number(number: float | None) -> float | str:
    """Return a number for JSON; infinities become text that JavaScript reads back, NaN and None become "NaN"."""
    number = math.nan if number is None else float(number)
    return number if math.isfinite(number) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")


# ---- The numbers of frames.


def numbers_of(
    frames: Iterable[Frame], document: dict[str, Any], quantities: Sequence[str],
    loss: Callable[[Frame], float] = lambda frame: frame.loss,
) -> tuple[dict[str, Any], dict[str, Float32]]:  # fmt: skip
    """Return steps, losses, rates and marks for JSON, and a table (frames, texels or weights) of each quantity."""
    tables: dict[str, list[Float32]] = {name: [] for name in quantities}
    numbers: dict[str, Any] = {"steps": [], "loss": [], "lr": []}
    marks = []
    for frame in frames:
        for name, table in tables.items():
            texels = texels_of(frame, document, name)
            table.append(texels if name == "weight" else texels[: document["parameters"]])
        numbers["steps"].append(int(frame.step))
        numbers["loss"].append(json_number(loss(frame)))
        numbers["lr"].append(json_number(frame.lr))
        marks.append(flags_of(frame, document))
    if not marks:
        raise InputError("page: the recording has no frames; record at least one step")
    every = np.stack(marks)
    every = every[:1] if (every == every[0]).all() else every
    flags = {"frames": len(every), "columns": every.shape[1], "data": text_of(deflated(every.tobytes()))}
    return numbers | {"flags": flags}, {name: np.stack(table) for name, table in tables.items()}


def gathered(
    subject: Subject, frames: Iterable[Frame], document: dict[str, Any], quantities: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Float32]]:
    """Return the result of `numbers_of` with the sample's losses, and a table of the rows beside the cubes."""
    rows, own = list[Float32](), list[float | str]()
    beside: dict[str, int] = {}

    def read() -> Iterator[Frame]:
        nonlocal beside
        for frame in frames:
            beside = beside or _beside_cubes(frame, document)
            parts = [np.ravel(frame.activations.get(name, np.full(n, np.nan))) for name, n in beside.items()]
            rows.append(np.concatenate([*parts, np.zeros(0)]).astype(np.float32))
            own.append(json_number(subject.probe_loss(frame)))
            yield frame

    numbers, tables = numbers_of(read(), document, quantities, subject.loss)
    numbers |= {"sample": own, "beside": list(beside.items())}
    return numbers, tables | ({"rows": np.stack(rows)} if beside else {})


def _beside_cubes(frame: Frame, document: dict[str, Any]) -> dict[str, int]:
    """Return the names and lengths of activation rows shown as numbers beside the cubes."""
    cubes = {plate["name"] for plate in document["plates"] if plate["kind"] == "activation"}
    found = {name: int(np.size(row)) for name, row in frame.activations.items() if name not in cubes}
    return found if sum(found.values()) <= MOST_BESIDE else {}


# ---- The keys of a page: the actions that a recording in a browser has.

RECORDED = {
    "toggle_run": None, "step": None, "back": None, "micro_next": None, "micro_back": None, "whose": None,
    "first": None, "newest": None, "slower": None, "faster": Words("double the speed"), "normal_speed": None,
    "show_weights": None, "show_gradients": Words(""), "show_updates": None, "show_ratio": None,
    "fit": Words("fit the camera", "fit"),
    "toggle_theme": None, "toggle_help": Words("", "all keys"), "escape": Words("close what is open"),
}  # fmt: skip
"""A page's actions with their texts; None: as for recordings in a window. An empty text is that of `ACTIONS`."""
NEEDS = {
    **{name: {"micro"} for name in ("micro_next", "micro_back", "whose")},
    "show_gradients": {"gradient"},
    "show_updates": {"update"},
    "show_ratio": {"weight", "update"},
}
"""Quantities that an action needs in the recording."""
SHOWN = {
    "weight": {"weight"}, "gradient": {"gradient"}, "|gradient|": {"gradient"}, "update": {"update"},
    "update/value": {"update", "weight"},
}  # fmt: skip
"""Quantities of the cubes of a page, and those that each is computed from."""
GESTURES = (
    ("Drag", "turn the scene"),
    ("Right drag, two fingers", "move the scene"),
    ("Wheel, two fingers", "zoom"),
    ("Click, tap", "on a cube: inspect it"),
    ("Drag", "on the time bar: go to that step"),
)


def shows_of(recorded: Iterable[str]) -> list[str]:
    """Return the quantities that cubes can show when these are recorded."""
    there = {*recorded}
    return [name for name, needs in SHOWN.items() if needs <= there]


def keys_of(recorded: set[str]) -> list[dict[str, Any]]:
    """Return name, keys and words of each action, for a page with these quantities."""
    found: list[dict[str, Any]] = []
    for name, own in RECORDED.items():
        action, (does, words, _) = action_of(name), own or PLAYED.get(name, Words(""))
        if NEEDS.get(name, set()) <= recorded:
            found.append({"name": name, "keys": list(action.keys), "does": does or action.does, "words": words})
    return found


# ---- What comes from the scene and is not in a recorded file: test results, and letters. `Letters` has how the network
# of each frame reads a scene's word, and the words that it makes up. A window draws these among the cubes: attention,
# the numbers of the letters, and the next letter. A page cannot run the network, so it stores the results for every
# frame.

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
    headlines: Headlines = no_headlines  # words about a frame beside the loss


def parts_of(x: object, *, edited: bool = False) -> SceneParts:
    """Return the parts of a scene, or of a run; `edited` says whether the recording has edits."""
    if not isinstance(x, Scene | Run):
        return SceneParts()
    shown = subject_of(x)
    turned = SidePanels(shown, DARK).turns(1.0, 1.0, rows=True) is not None
    letters = None
    if isinstance(x, Scene) and x.plan is not None:  # a plan has room for it
        letters = next((Letters(panel, shown.source) for panel in x.panels if isinstance(panel, WordBoard)), None)
    return SceneParts(letters, LOOKS.looks_of(shown.source), turned, headlines_of(x, edited=edited))


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
    return f"likeness (psnr) {found:.1f} dB" if np.isfinite(found) else ""


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
        self.laid: Any = None

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


def letter_maps() -> dict[str, dict[str, Any]]:
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
