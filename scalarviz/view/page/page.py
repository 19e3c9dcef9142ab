"""The common parts of all pages: the surrounding HTML, the keys, and the numbers and marks of frames."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.core.frame import Frame
from ..ink.axes import tick_text, tight
from ..panels.drawer import loss_words, quantity_words
from ..screen.strip import written
from ..shown.subject import Subject
from ..watch.actions import PLAYED, Words, action_of
from .document import flags_of, texels_of
from .pack import deflated, dense_text, text_of
from .pictures import image_tag
from .scene_parts import Headlines
from .scripts import bare, bare_style, colours_of, joined, read

Float32 = NDArray[np.float32]
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
    return {"line": "  \N{MIDDLE DOT}  ".join(filter(None, line)), "of": loss_words(subject, subject.frame()),
            "gestures": list(map(list, GESTURES))}  # fmt: skip


def upright(document: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the differences in the other document, which is for an upright screen."""
    texels = [[plate["texel"] for plate in one["plates"]] for one in (document, other)]
    if texels[0] != texels[1]:
        return {}
    return {name: part for name, part in other.items() if part != document[name] and name != "maps"}


def json_number(number: float | None) -> float | str:
    """Return a number for JSON; infinities become text that JavaScript reads back, NaN and None become "NaN"."""
    number = math.nan if number is None else float(number)
    return number if math.isfinite(number) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")


def loss_axis(*curves: Iterable[float | str]) -> dict[str, Any] | None:
    """Return the axis of losses beside a time bar, with tick labels; None without a finite loss."""
    losses = [loss for curve in curves for loss in curve if isinstance(loss, float) and math.isfinite(loss)]
    if not losses:
        return None
    scale = tight(np.array(losses))
    return {"low": scale.low, "high": scale.high, "log": scale.log, "ticks": [(t, tick_text(t)) for t in scale.ticks]}


# ---- The numbers of frames.


def numbers_of(
    frames: Iterable[Frame], document: dict[str, Any], quantities: Sequence[str],
    loss: Callable[[Frame], float] = lambda frame: frame.loss,
) -> tuple[dict[str, Any], dict[str, Float32]]:  # fmt: skip
    """Return steps, losses, rates and marks for JSON, and a table (frames, texels or weights) of each quantity."""
    tables: dict[str, list[Float32]] = {name: [] for name in quantities}
    told: dict[str, Any] = {"steps": [], "loss": [], "lr": []}
    marks = []
    for frame in frames:
        for name, table in tables.items():
            texels = texels_of(frame, document, name)
            table.append(texels if name == "weight" else texels[: document["parameters"]])
        told["steps"].append(int(frame.step))
        told["loss"].append(json_number(loss(frame)))
        told["lr"].append(json_number(frame.lr))
        marks.append(flags_of(frame, document))
    if not marks:
        raise InputError("page: the recording has no frames; record at least one step")
    every = np.stack(marks)
    every = every[:1] if (every == every[0]).all() else every
    flags = {"frames": len(every), "columns": every.shape[1], "data": text_of(deflated(every.tobytes()))}
    return told | {"flags": flags}, {name: np.stack(table) for name, table in tables.items()}


def gathered(
    subject: Subject, frames: Iterable[Frame], document: dict[str, Any], quantities: Sequence[str], headlines: Headlines
) -> tuple[dict[str, Any], dict[str, Float32]]:
    """Return the result of `numbers_of` with all other data of frames, and a table of the rows beside the cubes."""
    rows: list[Float32] = []
    beside: dict[str, int] = {}
    own, said, lines = [], [], []
    single = document["words"]["single"]

    def read() -> Iterator[Frame]:
        nonlocal beside
        for frame in frames:
            beside = beside or _beside_cubes(frame, document)
            parts = [np.ravel(frame.activations.get(name, np.full(n, np.nan))) for name, n in beside.items()]
            rows.append(np.concatenate([*parts, np.zeros(0)]).astype(np.float32))
            own.append(json_number(subject.probe_loss(frame)))
            about = (quantity_words(name, subject, frame) for name in ("gradient", "update"))
            said.append(((*_trained(subject), *headlines(frame)), *about))
            if single and single["room"]:
                lines.append(written(subject, frame, *single["room"]))
            yield frame

    told, tables = numbers_of(read(), document, quantities, subject.loss)
    texts = list(dict.fromkeys(said))
    told |= {"formulas": lines, "sample": own, "beside": list(beside.items()),
             "said": {"texts": texts, "at": [] if len(texts) == 1 else [texts.index(one) for one in said]}}  # fmt: skip
    return told, tables | ({"rows": np.stack(rows)} if beside else {})


def _beside_cubes(frame: Frame, document: dict[str, Any]) -> dict[str, int]:
    """Return the names and lengths of activation rows shown as numbers beside the cubes."""
    cubes = {plate["name"] for plate in document["plates"] if plate["kind"] == "activation"}
    found = {name: int(np.size(row)) for name, row in frame.activations.items() if name not in cubes}
    return found if sum(found.values()) <= MOST_BESIDE else {}


def _trained(subject: Subject) -> tuple[str, ...]:
    """Return optimiser and batch at the source's moment, as text."""
    facts = subject.source.facts
    return () if facts is None else (facts.optimizer, *([f"batch {facts.batch_size:,}"] if facts.batch_size else []))


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
GESTURES = (
    ("Drag", "turn the scene"),
    ("Right drag, two fingers", "shift the scene"),
    ("Wheel, two fingers", "zoom"),
    ("Click, tap", "on a cube: inspect it"),
    ("Drag", "on the time bar: go to that step"),
)


def keys_of(recorded: set[str]) -> list[dict[str, Any]]:
    """Return name, keys and words of each action, for a page with these quantities."""
    found: list[dict[str, Any]] = []
    for name, own in RECORDED.items():
        action, (does, words, _) = action_of(name), own or PLAYED.get(name, Words(""))
        if NEEDS.get(name, set()) <= recorded:
            found.append({"name": name, "keys": list(action.keys), "does": does or action.does, "words": words})
    return found
