"""The parts of pages: the surrounding HTML, keys, the numbers and marks of frames, and what comes from the scene."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from string import Template
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...run.core.frame import Frame
from ...run.panels import HeldOut, LossCurve, Painting, TestCurve, WordBoard
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.source import Moment, Source
from ..ink.theme import DARK
from ..panels.drawer import test_loss, test_share
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from ..watch.actions import PLAYED, Words, action_of
from .document import flags_of, texels_of
from .pack import Float32, deflated, dense_text, text_of
from .pictures import image_tag
from .scripts import bare, bare_style, colours_of, joined, read

MOST_BESIDE = 512  # most activations shown as numbers beside the cubes of a small network


def shell(
    title: str, theme: str, parts: dict[str, str], sentence: str, call: str, *entries: str,
    styles: Sequence[str] = (), still: bytes = b"", story: str = "", workers: Sequence[str] = (),
) -> str:  # fmt: skip
    """Return the HTML around the parts, which are dense texts or JSON of them: no character can end an element.

    `styles` are further style sheets. `still` is the last frame as WebP, shown where nothing can play. `story` is an
    introduction for those who see only a link to the page. `workers` are programs among the parts that may run too.
    """
    title = _clean(title or "scalarviz")
    style = bare_style("\n".join([colours_of(), *map(read, ("player.css", *styles))]))
    script = f"(() => {{\n{bare(joined('load.js'))}loadProgram();\n}})();\n"  # names apart from the program's
    program = f"{bare(joined(*entries))}{call}\n"
    image = image_tag(still, "image/webp", f"{title}: {sentence}") if still else ""
    scripts = " ".join(f"'{_hashed(text)}'" for text in (script, program, *workers))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src '{_hashed(style)}'; img-src data:; base-uri 'none'; "
        f"form-action 'none'{'; worker-src blob:' if workers else ''}"
    )
    packed_parts = parts | {"program": dense_text(deflated(program.encode("utf-8")))}
    data = "\n".join(f'<script type="text/plain" id="{id}">{text}</script>' for id, text in packed_parts.items())
    name = html.escape(title)
    return Template(read("page.html")).substitute(
        theme=theme, policy=policy, title=name, style=style, still=image, sentence=html.escape(sentence),
        description=html.escape(_clean(story or sentence)), parts=data, script=script,
    )  # fmt: skip


def _clean(text: str) -> str:
    """Return a title without control characters and without characters that UTF-8 cannot encode."""
    return "".join(letter for letter in text if letter.isprintable())


def _hashed(text: str) -> str:
    """Return the hash of a script or style sheet for a security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def about_of(subject: Subject, title: str, program: str, trains: bool) -> dict[str, Any]:
    """Return a page's words about its run; `program` names the recording program; whether the page `trains`."""
    facts = subject.source.facts
    line = [title, "" if facts is None else facts.engine, program]
    return {
        "line": "  \N{MIDDLE DOT}  ".join(filter(None, line)),
        "gestures": list(map(list, GESTURES + TRAINING * trains + NAMES)),
    }


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
NAMES = (
    ("0.weight[1][0]", "in layer 0, the weight from input 0 to unit 1: units and inputs are counted from 0"),
    ("δ", "delta, in an opened step: how the loss grows with a sum"),
)
TRAINING = (
    ("open step", "look inside the next step, one operation after the other"),
    ("train on, train here", "train from the shown step, in this browser; the recording stays"),
    ("change", "take another batch or other first weights, add samples, or make a mistake"),
    ("undo", "go to the moment before the last change"),
    ("recording", "show the recorded steps"),
    ("Shift+wheel", "over a cube: change its weight; or drag the number in its card"),
    ("Ring", "on the time bar: show the recording, or what this page computed"),
)
"""Names and buttons in the help of a page."""


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


# ---- What comes from the scene and is not in a recorded file: test results, and how its network reads a word.

Headlines = Callable[[Frame], tuple[str, ...]]
"""``headlines(frame)`` returns words about a frame, such as ``"test accuracy 91.2 %"``."""


def no_headlines(frame: Frame) -> tuple[str, ...]:
    """Return no headlines."""
    return ()


class SceneParts(NamedTuple):
    """The parts of a page that come from the scene."""

    board: WordBoard | None = None  # a word that the network of each frame reads
    source: Source | None = None  # whose weights may have looks of their own
    turned: bool = False  # whether there are pictures of single units
    headlines: Headlines = no_headlines  # words about a frame beside the loss

    @property
    def panels(self) -> tuple[WordBoard, ...]:
        """The panels that are drawn for each frame."""
        return () if self.board is None else (self.board,)


def parts_of(x: object, *, edited: bool = False) -> SceneParts:
    """Return the parts of a scene, or of a run; `edited` says whether the recording has edits."""
    if not isinstance(x, Scene | Run):
        return SceneParts()
    shown = subject_of(x)
    turned = SidePanels(shown, DARK).turns(1.0, 1.0, rows=True) is not None
    boards = [panel for panel in x.panels if isinstance(panel, WordBoard)] if isinstance(x, Scene) else []
    board = _reading_once(boards[0]) if boards else None
    return SceneParts(board, shown.source, turned, headlines_of(x, edited=edited))


def _reading_once(board: WordBoard) -> WordBoard:
    """Return a board that asks its network once for all pictures of a frame."""
    known: dict[tuple[object, ...], Any] = {}
    seen: list[Frame] = []

    def once(make: Callable[..., Any], moment: Moment, *asked: object) -> Any:
        if not seen or seen[0] is not moment.frame:
            seen[:] = [moment.frame]
            known.clear()
        if (make, *asked) not in known:
            known[make, *asked] = make(moment, *asked)
        return known[make, *asked]

    return replace(board, look=partial(once, board.look), make=partial(once, board.make))


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
