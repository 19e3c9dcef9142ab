"""`page_of`: a recorded run as one HTML file, which plays in a browser without Python and asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...run.core.frame import Frame
from ..ink.text import loss_text
from ..ink.theme import THEMES, ThemeName
from ..panels.wording import said_of
from ..shown.subject import Subject
from .branches import Line
from .document import document_of, flags_of, texels_of
from .keys import GESTURES, keys_of
from .letters import Letters
from .ofscene import NOTHING, Headlines, OfScene, no_headlines
from .pack import EXACT, deflated, dense_text, led_updates, packed, text_of
from .scripts import joined

HERE = Path(__file__).parent
SENTENCE = "A recorded training, to be played in a browser with scripts and WebGL 2"
COLUMN, AROUND = 320, (48, 224)
"""Pixels of a page that its cubes leave to a column of panels, and to what is around them."""
SMALLEST = (320, 240)
MOST_BESIDE = 512
"""Numbers of activations that stand beside the cubes of a small network."""
UPRIGHT = (400, 430)
"""Pixels that cubes have in a page that is held upright."""


@dataclass(frozen=True, slots=True)
class PanelFilm:
    """Pictures of one panel.

    Attributes
    ----------
    name : str
    width, height : int
        Pixels of one picture.
    steps : list of int
        That they are of, going up.
    data : list of str
        Data URIs.
    """

    name: str
    width: int
    height: int
    steps: list[int]
    data: list[str]


@dataclass(frozen=True, slots=True)
class Beside:
    """What a page has besides its frames.

    Attributes
    ----------
    title : str
    theme : {"dark", "light"}
    size : (int, int)
        Of the page in pixels, for which its cubes are laid out.
    quantities : tuple of str
        Of ``"weight"``, ``"gradient"``, ``"update"``: what was recorded.
    edits, named : list of (int, str)
        The step after which something was done, and what; moments that were given a name.
    left : list of dict
        Branches that are left aside: ``steps`` and ``loss`` of each, and ``why`` it began.
    pictures : list of PanelFilm
    program : str
        What recorded it, in words.
    still : bytes
        The last frame as WebP, empty for none: what is seen where nothing can be played.
    story : str
        What is seen and what it should learn, for somebody who has never seen it.
    lines : list of Line
        Branches that may be chosen; empty for one alone. The frames of others come after its own.
    others : list of PanelFilm
        The pictures in the other look; empty: there are none.
    walks : callable or None
        Gives the micro-steps for a document, as :func:`~scalarviz.view.page.recorded.walks_of` does.
    scene : OfScene
        What the page has from the scene itself.
    """

    title: str = ""
    theme: ThemeName = "dark"
    size: tuple[int, int] = (1280, 720)
    quantities: tuple[str, ...] = ("weight", "gradient", "update")
    edits: list[tuple[int, str]] = field(default_factory=list)
    named: list[tuple[int, str]] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)
    pictures: list[PanelFilm] = field(default_factory=list)
    program: str = "recorded with scalarviz"
    still: bytes = b""
    story: str = ""
    lines: list[Line] = field(default_factory=list)
    others: list[PanelFilm] = field(default_factory=list)
    walks: Callable[[dict[str, Any]], tuple[dict[str, Any], NDArray[np.float32]] | None] | None = None
    scene: OfScene = NOTHING


def page_of(subject: Subject, frames: Iterable[Frame], beside: Beside) -> str:
    """The page.

    Parameters
    ----------
    subject : Subject
        What the frames are of.
    frames : iterable of Frame
        In the order in which they are played; each is asked for once.
    beside : Beside

    Returns
    -------
    str
        HTML in ASCII letters but for the title.

    Raises
    ------
    InputError
        There is no frame.
    """
    column, letters = bool(beside.pictures or beside.scene.letters), beside.scene.letters
    wide, high = beside.size[0] - AROUND[0] - COLUMN * column, beside.size[1] - AROUND[1]
    size = max(wide, SMALLEST[0]), max(high, SMALLEST[1])
    document = document_of(subject, size, beside.theme, title=beside.title, strip=letters is None,
                           looks=beside.scene.looks, turned=beside.scene.turned)  # fmt: skip
    read = _read_too(frames, letters)
    told, tables = gathered(subject, read, document, beside.quantities, beside.scene.headlines)
    walks = None if beside.walks is None else beside.walks(document)
    head = {
        "document": document, "upright": _upright(document, subject, beside), **told,
        "keys": keys_of(set(beside.quantities) | ({"micro"} if walks else set())), "about": about_of(subject, beside),
        "edits": beside.edits, "named": beside.named, "left": beside.left,
        "pictures": [asdict(panel) for panel in beside.pictures], "others": [asdict(panel) for panel in beside.others],
    }  # fmt: skip
    if beside.lines:
        head |= _branched(told, beside.lines)
    if letters is not None:
        head["letters"] = letters.told()
    parts = {"run": dense_text(deflated(json.dumps(head, separators=(",", ":")).encode("ascii")))}
    parts |= {name: json.dumps(packed(table, led=_led(name, tables, told), dense=True), separators=(",", ":"))
              for name, table in tables.items()}  # fmt: skip
    if letters is not None:
        found = packed(letters.parts, exact=False, dense=True), packed(letters.likely, exact=True, dense=True)
        parts |= {
            name: json.dumps(one, separators=(",", ":")) for name, one in zip(("letters", "likely"), found, strict=True)
        }
    styles = ("lettered.css",) * (letters is not None)
    if walks is None:
        return shell(beside, parts, _sentence(head), "openPage();", *entries_of(head), styles=styles)
    parts["walks"] = dense_text(deflated(json.dumps(walks[0], separators=(",", ":")).encode("ascii")))
    parts |= walk_parts(*walks, document, tables["weight"])
    call = "openWalked();"
    return shell(beside, parts, _sentence(head), call, *entries_of(head, walked=True), styles=("walked.css", *styles))


def _read_too(frames: Iterable[Frame], letters: Letters | None) -> Iterator[Frame]:
    """The frames; each is read by the scene's network on its way."""
    for frame in frames:
        if letters is not None:
            letters.take(frame)
        yield frame


def entries_of(head: dict[str, Any], *, walked: bool = False) -> tuple[str, ...]:
    """The scripts that a page needs, by what it holds."""
    extras = {"branches": "branches.js", "letters": "lettered.js"}
    own = ("ownlooks.js",) if "own" in head["document"] else ()
    return ("walkedpage.js" if walked else "page.js", *(file for name, file in extras.items() if name in head), *own)


def _branched(told: dict[str, Any], lines: Sequence[Line]) -> dict[str, Any]:
    """What is told of the frames that a page opens with, and apart from it that of other branches' frames."""
    count = next(len(line.places) for line in lines if line.places == list(range(len(line.places))))  # that which opens
    names = ("steps", "loss", "lr", "sample", "whole")
    rest = {name: told[name][count:] for name in names} | {"saidAt": told["said"]["at"][count:]}
    said = {"texts": told["said"]["texts"], "at": told["said"]["at"][:count]}
    first = {name: told[name][:count] for name in names}
    return {**first, "said": said, "branches": {"rest": rest, "lines": [asdict(line) for line in lines]}}


def shell(
    beside: Beside, parts: dict[str, str], sentence: str, call: str, *entries: str, app: str = "run",
    styles: Sequence[str] = (),
) -> str:  # fmt: skip
    """The HTML around the parts, which are dense texts or JSON of them: no letter of them can end an element.

    `app`: which page, by the name of its HTML and of the style sheet that it has besides the one of all pages;
    `styles`: further ones.
    """
    title = _clean(beside.title or "scalarviz")
    style = "".join([style_of(), *map(_read, (f"{app}.css", *styles))])
    script = f"(() => {{\n{bare(joined('load.js'))}loadProgram();\n}})();\n"  # its names are not those of the program
    program = bare(joined(*entries)) + call + "\n"
    alt = html.escape(f"{title}: {sentence}")
    still = f'<img src="data:image/webp;base64,{text_of(beside.still)}" alt="{alt}">' if beside.still else ""
    policy = (
        f"default-src 'none'; script-src '{_hashed(script)}' '{_hashed(program)}'; style-src '{_hashed(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    packed_parts = parts | {"program": dense_text(deflated(program.encode("utf-8")))}
    data = "\n".join(f'<script type="text/plain" id="{id}">{text}</script>' for id, text in packed_parts.items())
    name = html.escape(title)
    return Template(_read("page.html")).substitute(
        theme=beside.theme, policy=policy, title=name, style=style, still=still, sentence=html.escape(sentence),
        app=Template(_read(f"{app}.html")).substitute(title=name, story=html.escape(_clean(beside.story))),
        parts=data, script=script,
    )  # fmt: skip


def _led(name: str, tables: dict[str, NDArray[np.float32]], told: dict[str, Any]) -> NDArray[np.float32] | None:
    """What the other tables lead to: the updates, where every bit of the others is kept."""
    values, gradients = tables["weight"], tables.get("gradient")
    if name != "update" or max(values.size, 0 if gradients is None else gradients.size) > EXACT:
        return None
    count = tables["update"].shape[1]
    return led_updates(values[:, :count], gradients, told["steps"], [float(rate) for rate in told["lr"]])


def _read(name: str) -> str:
    """A file beside this one, empty where there is none."""
    path = HERE / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def style_of() -> str:
    """The one style sheet: the themes' colours as variables, and `player.css`."""
    return f"{colours_of()}\n{_read('player.css')}"


def colours_of() -> str:
    """The themes' colours as variables of a style sheet."""
    names = ("background", "glow", "panel", "tray", "border", "text1", "text2", "text3", "grid", "selection", "pulse")
    return "\n".join(
        f":root[data-theme={name}] {{ color-scheme: {name}; "
        + " ".join(f"--{part}: {getattr(theme, part)};" for part in names)
        + f" --gradient: {theme.gradient[3]};"
        + " }"
        for name, theme in THEMES.items()
    )


def gathered(
    subject: Subject,
    frames: Iterable[Frame],
    document: dict[str, Any],
    quantities: Sequence[str],
    headlines: Headlines = no_headlines,
) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Steps, losses, rates and marks as JSON has them, and the tables of numbers by the names of their parts.

    Raises
    ------
    InputError
        There is no frame.
    """
    tables: dict[str, list[NDArray[np.float32]]] = {name: [] for name in quantities}
    rows: list[NDArray[np.float32]] = []
    beside: dict[str, int] = {}
    marks, steps, losses, rates, own, whole, said = [], [], [], [], [], [], []
    for frame in frames:
        for name, table in tables.items():
            texels = texels_of(frame, document, name)
            table.append(texels if name == "weight" else texels[: document["parameters"]])
        beside = beside or _beside_cubes(frame, document)
        rows.append(_row(frame, beside))
        marks.append(flags_of(frame, document))
        steps.append(int(frame.step))
        losses.append(json_number(frame.loss))
        rates.append(json_number(frame.lr))
        own.append(json_number(subject.probe_loss(frame)))
        whole.append(json_number(subject.loss_of_all(frame)))
        about = (said_of(name, subject, frame) for name in ("gradient", "update"))
        said.append(((*_trained(subject), *headlines(frame)), *about))
    if not steps:
        raise InputError("a page of a recording: it has no frame; record at least one step")
    every = np.stack(marks)
    every = every[:1] if (every == every[0]).all() else every
    flags = {"frames": len(every), "columns": every.shape[1], "data": text_of(deflated(every.tobytes()))}
    texts = list(dict.fromkeys(said))
    told = {"steps": steps, "loss": losses, "lr": rates, "flags": flags, "sample": own, "beside": list(beside.items()),
            "whole": whole if any(isinstance(loss, float) for loss in whole) else [],
            "said": {"texts": texts, "at": [] if len(texts) == 1 else [texts.index(one) for one in said]}}  # fmt: skip
    return told, {name: np.stack(table) for name, table in [*tables.items(), *([("rows", rows)] if beside else [])]}


def _beside_cubes(frame: Frame, document: dict[str, Any]) -> dict[str, int]:
    """Rows of activations that are no cubes but stand beside them as numbers, and how long each is."""
    cubes = {plate["name"] for plate in document["plates"] if plate["kind"] == "activation"}
    found = {name: int(np.size(row)) for name, row in frame.activations.items() if name not in cubes}
    return found if sum(found.values()) <= MOST_BESIDE else {}


def _row(frame: Frame, beside: dict[str, int]) -> NDArray[np.float32]:
    """These rows, one after the other; NaN where the frame has none."""
    parts = [np.ravel(frame.activations.get(name, np.full(count, np.nan))) for name, count in beside.items()]
    return np.concatenate([*parts, np.zeros(0)]).astype(np.float32)


def _upright(document: dict[str, Any], subject: Subject, beside: Beside) -> dict[str, Any]:
    """What is another in the document of a page that is held upright: of a telephone."""
    other = document_of(subject, UPRIGHT, beside.theme, title=beside.title, strip=beside.scene.letters is None,
                        looks=beside.scene.looks, turned=beside.scene.turned)  # fmt: skip
    texels = [[plate["texel"] for plate in one["plates"]] for one in (document, other)]
    if texels[0] != texels[1]:
        return {}
    return {name: part for name, part in other.items() if part != document[name]}


def about_of(subject: Subject, beside: Beside) -> dict[str, Any]:
    """What a page says of its run in words."""
    facts = subject.source.facts
    line = [beside.title, "" if facts is None else facts.engine, beside.program]
    return {"line": "  \N{MIDDLE DOT}  ".join(filter(None, line)), "stepLoss": subject.step_loss,
            "gestures": list(map(list, GESTURES))}  # fmt: skip


def _trained(subject: Subject) -> tuple[str, ...]:
    """By what it is trained where it stands."""
    facts = subject.source.facts
    return () if facts is None else (facts.optimizer, *([f"batch {facts.batch_size:,}"] if facts.batch_size else []))


def _sentence(told: dict[str, Any]) -> str:
    loss = [*told["loss"], *told["whole"]][-1]
    lost = f", loss {loss_text(loss)}" if isinstance(loss, float) else ""
    return f"{SENTENCE}: its last step, {told['steps'][-1]:,}{lost}."


def json_number(number: float | None) -> float | str:
    """As JSON has it: what is not finite is a text that JavaScript reads back, and nothing is not a number."""
    number = math.nan if number is None else float(number)
    return number if math.isfinite(number) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")


def _clean(text: str) -> str:
    """A title without what no file in UTF-8 can hold, nor controls."""
    kept = "".join(letter for letter in text if letter.isprintable())
    return kept.encode("utf-8", "replace").decode("utf-8")


def _hashed(text: str) -> str:
    """What a policy calls a script or a style sheet."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


# ---- Scripts without comments and indentation: a third of what a page would carry.

_COMMENTS = re.compile(r"^[ \t]*(?:/\*\*?[^\n]*?\*/|/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)


def bare(text: str) -> str:
    """`text` without the lines that are comments, without indentation and empty lines.

    A text between backticks that goes over lines would not be the same after it: ours have none (a test reads them).
    """
    return re.sub(r"\n\s*", "\n", _COMMENTS.sub("", text)).strip() + "\n"


# ---- `walk_parts`: the numbers of opened steps as short texts: most follow from others that a page holds.

Float32 = NDArray[np.float32]


def walk_parts(said: Mapping[str, Any], rows: Float32, document: Mapping[str, Any], weights: Float32) -> dict[str, str]:
    """JSON of packed tables by the names of their parts.

    Parameters
    ----------
    said : mapping
        Of :func:`~scalarviz.view.page.recorded.walks_of`: the walks of single samples come first.
    rows : ndarray of float32, shape (W, N)
        A walk each: gradients and new weights (P each), rows of all stages, their deltas.
    document : mapping
    weights : ndarray of float32, shape (frames, texels)
        The page's own values.

    Returns
    -------
    dict
        ``"steps"`` (rows and deltas), ``"after"``, and as far as there are such walks ``"alone"`` and ``"whole"``: the
        gradients of one sample, and those of batches.
    """
    count, alone = document["parameters"], sum(walk["alone"] for walk in said["walks"])
    gradients, after, rest = np.split(rows, [count, 2 * count], axis=1)
    known = weights.size <= EXACT  # else the page has not these bits
    tables: dict[str, tuple[Float32, Float32 | None]] = {
        "steps": (rest, None),
        "after": (after, led_weights(said, gradients, weights[:, :count]) if known else None),
        "alone": (gradients[:alone], led_slopes(said, rest[:alone], document)),
        "whole": (gradients[alone:], None),
    }
    return {name: _text(table, led) for name, (table, led) in tables.items() if len(table)}


def _text(table: Float32, led: Float32 | None) -> str:
    return json.dumps(packed(np.ascontiguousarray(table), exact=True, led=led, dense=True), separators=(",", ":"))


def led_weights(said: Mapping[str, Any], gradients: Float32, weights: Float32) -> Float32:
    """What plain gradient descent makes of the weights of each walk's frame, (W, P)."""
    frames = [walk["frame"] for walk in said["walks"]]
    rates = np.array([_rate(walk) for walk in said["walks"]])
    with np.errstate(over="ignore", invalid="ignore"):
        wide: NDArray[np.float64] = weights[frames].astype(np.float64) - rates[:, None] * gradients.astype(np.float64)
        return wide.astype(np.float32)


def _rate(walk: Mapping[str, Any]) -> float:
    return float(walk["lr"]) if math.isfinite(float(walk["lr"])) else 0.0


def led_slopes(said: Mapping[str, Any], rest: Float32, document: Mapping[str, Any]) -> Float32:
    """Delta times input of every layer that has one row of inputs, (W, P); 0 of all other parameters."""
    led = np.zeros((len(rest), document["parameters"]), np.float32)
    spans, at = dict[str, slice](), 0
    for name, count in said["rows"]:
        spans[name] = slice(at, at + count)
        at += count
    made, deltas = rest[:, :at], rest[:, at:]
    tensors, before = {tensor["name"]: tensor for tensor in document["tensors"]}, "input"
    for stage in document["stages"]:
        source = (stage["sources"] or [before])[0]
        before = stage["name"]
        if len(stage["sources"]) > 1 or stage["weight"] is None or not stage["whole"]:
            continue
        delta = deltas[:, spans[before]].astype(np.float64)
        if source in spans:
            given = made[:, spans[source]].astype(np.float64)
        else:
            given = np.tile(np.array(said["input"], np.float64), (len(rest), 1))
        weight, bias = tensors[stage["weight"]], tensors.get(stage["bias"])
        if weight["shape"] != [delta.shape[1], given.shape[1]]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = (delta[:, :, None] * given[:, None, :]).astype(np.float32)
        led[:, weight["start"] : weight["start"] + slopes[0].size if len(rest) else 0] = slopes.reshape(len(rest), -1)
        if bias is not None and bias["shape"] == [delta.shape[1]]:
            led[:, bias["start"] : bias["start"] + delta.shape[1]] = delta
    return led
