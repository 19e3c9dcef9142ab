"""What must not change, as data: ``python tests/frozen/make.py [numbers|files|pictures|surface ...]`` writes it anew.

`test_frozen.py` makes the same records and compares. A record is one line of JSON, so a change is one line of a diff.
Where the program is reorganised, only `Numbers.run_of` and `records` have to learn its new names.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import hashlib
import importlib
import inspect
import json
import math
import os
import platform
import re
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import typer
from llvmlite import binding
from PIL import Image

import scalarviz as sv
from scalarviz import io, nn
from scalarviz.arguments import Absent
from scalarviz.cli import main
from scalarviz.cli.scene_files import scene_names
from scalarviz.cli.tour import make_scene_wall
from scalarviz.run.edits import SetWeights
from scalarviz.run.scene.scene_file import load_scene
from scalarviz.run.sources.played import RecordedSource, rehearse
from scalarviz.run.sources.recorded_pair import RecordedPair
from scalarviz.run.state import optimizer_state
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.micro.walk import micro_step_of
from scalarviz.view.panels.registry import DRAWERS
from scalarviz.view.show import bench_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.walls import run_report as report
from scalarviz.view.walls import run_wall
from scalarviz.view.walls.runs import runs_of
from scalarviz.view.watch import actions, live
from scalarviz.view.watch.viewer import Viewer

HERE = Path(__file__).parent
COMMAND = "python tests/frozen/make.py"
Record = dict[str, Any]


def read(name: str) -> list[Record]:
    """The stored records of a kind."""
    path = HERE / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def line(record: Record) -> str:
    """A record as it is stored."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def write(name: str, records: list[Record]) -> None:
    """Store the records of a kind."""
    (HERE / f"{name}.jsonl").write_text("".join(f"{line(record)}\n" for record in records), "utf-8")


def difference(stored: list[str], now: list[str], kind: str, most: int = 40) -> str:
    """What changed, as a short diff with the command that takes it over; empty if nothing did."""
    every = difflib.unified_diff(stored, now, lineterm="", n=0)
    rows = [row for row in every if not row.startswith(("--- ", "+++ ", "@@"))]
    said = [row if len(row) <= 300 else f"{row[:300]} ..." for row in rows[:most]]
    said += [f"... {len(rows) - most} lines more"] * (len(rows) > most)
    return "\n".join([*said, f"If this is meant: {COMMAND} {kind}, and read the diff."]) if rows else ""


# ---- numbers: the bits of the weights after a few steps

STEPS = 3
ENGINES = {"numpy": "float64", "numba": "float32"}
NEAR = {"float64": 1e-9, "float32": 1e-5}
"""Difference from the stored numbers that is allowed on a processor whose bits are not known, by type of weights."""
DECIDES = ("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
"""Environment variables by which a processor computes as another one would."""
NO_NUMBERS = {
    "headless", "out", "break_on", "at", "duration", "fps", "paused", "size", "theme", "presenter", "cmap", "save",
    "recording", "every", "open", "html", "html_data", "json_line", "apply", "output", "export_lut", "log", "cells",
    "hide", "story",
}  # fmt: skip
"""Flags of pictures and files, which no weight depends on."""
COMMON: Record = {
    "seed": 1, "dtype": None, "engine": "objects", "threads": 2, "steps": {"steps": 4, "schedule": "linear"},
    "lr": 0.003, "batch": 3, "schedule": "linear:4", "sampling": "replacement", "l1": 1e-3, "l2": 1e-3, "load": "",
}  # fmt: skip
"""Another value of the flags of several scenes; of `dtype` it is the one that the engine is not frozen with."""
SMALL: dict[str, Record] = {
    "digits": {"data": "mnist:", "channels": (2, 3), "batch": 4},
    "microgpt": {"text": "words.txt", "embd": 4, "heads": 2, "context": 5, "batch": 4},
    "texture": {"picture": "picture.png", "hidden": (4,), "batch": 8},
}
"""What makes large scenes small; as they are without flags they are frozen too."""
OTHER: dict[str, Record] = {
    "digits": {"data": "sklearn", "channels": (3, 2)},
    "expression": {"expr": "a*sin(w*x) + b", "csv": "table.csv", "target": {"csv": "table.csv", "target": "y"},
                   "start": ["a=0.5"]},
    "microgpt": {"text": "others.txt", "embd": 6, "heads": 4, "layers": 2, "context": 6},
    "neuron": {"weights": 2, "w": 0.5, "b": {"weights": 2, "b": 0.5}, "noise": 0.25},
    "playground": {
        "steps": 2, "data": "xor", "csv": "table.csv", "columns": {"csv": "table.csv", "columns": "y,x,z"},
        "noise": 0.25, "split": 0.7, "data_seed": 1, "point": {"point": ["1,2,1"], "batch": 1000}, "without": "0,3",
        "features": "x,y,x2", "hidden": (3,), "activation": "relu", "optimizer": "adam", "weights_seed": 1,
    },
    "rgb": {
        "picture": "picture.png", "hidden": (4,), "target": "sepia", "pair": ["#ff8800:#0044cc"],
        "source": {"source": "picture.png", "graded": "graded.png"}, "optimizer": "adam",
        "graded": {"source": "graded.png", "graded": "picture.png"},
    },
    "texture": {
        "picture": "graded.png", "photo": {"picture": None, "photo": "astronaut"}, "encoding": "none", "frequencies": 2,
        "hidden": (3, 3), "transform": "transpose", "random_coordinates": True, "epochs": 0.5,
    },
    "uinn": {"hidden": (4,)},
    "xor": {"activation": "sigmoid", "factor": 1.0, "batch": 4},
}  # fmt: skip
"""Another value of each scene's own flags; a dict where a flag needs others beside it."""


def processor() -> str:
    """What bits depend on: the processor as compilers see it, and what was forbidden it."""
    features = sorted(name for name, on in binding.get_host_cpu_features().items() if on)
    told = [f"{name}={os.environ[name]}" for name in DECIDES if os.environ.get(name)]
    code = zlib.crc32(" ".join(features).encode())
    return " ".join([platform.machine(), binding.get_host_cpu_name(), f"{code:08x}", *told])


def write_inputs(folder: Path) -> None:
    """The files that flags name."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (5, 7, 3), np.uint8)
    Image.fromarray(pixels).save(folder / "picture.png")
    Image.fromarray(255 - pixels // 2).save(folder / "graded.png")
    words = [f"{a}{b}{c}" for a in "abcd" for b in "aei" for c in "lmn"]
    (folder / "words.txt").write_text("\n".join(words))
    (folder / "others.txt").write_text("\n".join(word[::-1] for word in words))
    with open(folder / "table.csv", "w", newline="") as file:
        rows = [(f"{x:g}", f"{x * x / 4:g}", int(x > 0)) for x in np.linspace(-2, 2, 9).tolist()]
        csv.writer(file).writerows([("x", "y", "z"), *rows])
    for name in ("train", "t10k"):
        digits, head = rng.integers(0, 256, (20, 8, 8), np.uint8), struct.pack(">4B3I", 0, 0, 8, 3, 20, 8, 8)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head + digits.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 20) + bytes(range(10)) * 2)


class Numbers:
    """Scenes, their flags, and the numbers that come of them; what flags name lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        write_inputs(folder)
        self.folder = folder

    def cases(self, scene: str) -> dict[str, Record]:
        """Of each flag of a scene, the values that are given; empty names are those of the scene as it is."""
        small, loaded = SMALL.get(scene, {}), load_scene(scene)
        found: dict[str, Record] = {"": {}, "small": small} if small else {"": {}}
        for flag in loaded.options.model_fields:
            other = {**COMMON, **OTHER[scene]}.get(flag)
            if flag in NO_NUMBERS:
                continue
            if flag not in COMMON and other is None:
                raise LookupError(f"{scene} --{flag}: COMMON or OTHER needs another value, or NO_NUMBERS its name")
            found[flag] = {**small, **(other if isinstance(other, dict) else {flag: other})}
        return found

    def run_of(self, scene: str, given: Record, engine: str) -> Any:
        """A scene's run after some steps."""
        options = {"engine": engine, "dtype": ENGINES[engine], "threads": 1} | self._told(scene, given, engine)
        loaded = load_scene(scene)
        run = loaded.build_loaded(loaded.options(**options)).run
        run.step(STEPS)
        return run

    def _told(self, scene: str, given: Record, engine: str) -> Record:
        told = {name: self._place(value) for name, value in given.items() if value is not None}
        if "dtype" in given:
            told["dtype"] = next(dtype for dtype in ENGINES.values() if dtype != ENGINES[engine])
        if "load" in given:
            told["load"] = self.folder / f"{scene}-{engine}.safetensors"
            self.run_of(scene, SMALL.get(scene, {}), engine).save(told["load"])
        return told

    def _place(self, value: Any) -> Any:
        if value == "mnist:":
            return f"mnist:{self.folder}"
        return self.folder / value if isinstance(value, str) and (self.folder / value).is_file() else value

    def made(self, scene: str, engine: str) -> list[Record]:
        """The numbers of a scene by one engine."""
        return [self._record(scene, flag, given, engine) for flag, given in self.cases(scene).items()]

    def _record(self, scene: str, flag: str, given: Record, engine: str) -> Record:
        run = self.run_of(scene, given, engine)
        values = np.asarray(run.values)
        mixed = float(values.astype(np.float64) @ np.cos(np.arange(values.size)))
        found = {"scene": scene, "flag": flag, "engine": engine, "dtype": str(values.dtype), "weights": values.size,
                 "loss": float(run.loss), "first": float(values[0]), "mixed": mixed}  # fmt: skip
        run.close()
        return {**found, "bits": {processor(): hashlib.sha256(values.tobytes()).hexdigest()[:16]}}


def changes(stored: list[Record], now: list[Record]) -> str:
    """What differs between two lists of numbers: in bits where they are known of this processor, else in size."""
    before, after = ({(r["scene"], r["flag"], r["engine"]): r for r in some} for some in (stored, now))
    said = [f"{key}: no longer made" for key in before.keys() - after] + [f"{k}: new" for k in after.keys() - before]
    for key in before.keys() & after:
        old, new = before[key], after[key]
        (name, bits), near = next(iter(new["bits"].items())), NEAR[old["dtype"]]
        exact, (was, now) = old["bits"].get(name), ({p: r[p] for p in r if p != "bits"} for r in (old, new))
        close = all(math.isclose(was[p], now[p], rel_tol=near, abs_tol=near) for p in ("loss", "first", "mixed"))
        if (was["dtype"], was["weights"]) != (now["dtype"], now["weights"]) or not close:
            said.append(f"{key}: was {was}, is {now}")
        elif exact not in (None, bits):
            said.append(f"{key}: other bits, numbers alike (NumPy, numba, LLVM or libm of another version?): {new}")
    return "\n".join([*sorted(said), f"If this is meant: {COMMAND} numbers, and read the diff."]) if said else ""


def write_numbers() -> None:
    """Numbers of this processor; the bits that others have of them stay where the numbers do."""
    known = {(r["scene"], r["flag"], r["engine"]): r for r in read("numbers")}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        numbers = Numbers(Path(folder))
        for record in (r for name in scene_names() for engine in ENGINES for r in numbers.made(name, engine)):
            old = known.get((record["scene"], record["flag"], record["engine"]))
            same = old is not None and not changes([{**old, "bits": {}}], [record])
            found.append({**old, "bits": old["bits"] | record["bits"]} if old is not None and same else record)
    write("numbers", found)


# ---- files: what today's program writes, and what is found in it

FILES = HERE / "files"
CHECKPOINT = {"engine": "numpy", "dtype": "float32", "threads": 1, "hidden": (3,), "optimizer": "adam", "batch": 16,
              "schedule": "linear:20"}  # fmt: skip


def write_files() -> None:
    """What is in the files. One that is there stays, since files of today have to be read by every later version."""
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder))
        for path in sorted(Path(folder).iterdir()):
            if not (FILES / path.name).exists():
                shutil.copy(path, FILES)
    write("files", files_now())


def make_files(folder: Path) -> None:
    """One small file of each kind; ``recording.svz`` is of the version before, without programs."""
    loaded = load_scene("rgb")
    scene = loaded.build(loaded.options(**CHECKPOINT))
    run, everything = scene.run, dict.fromkeys(("gradients", "updates", "activations", "deltas"), True)
    with sv.Recording(scene, every=2, path=folder / "steps.svz", **everything):
        run.step(2)
        run.do(SetWeights(0, np.array([0.5])))
        run.change(lr=0.05)
        run.step(4)
        run.to(2)
        run.do(SetWeights(1, np.array([-0.25])))
        run.step(2)
    run.save(folder / "checkpoint.safetensors")
    io.save_tensors(folder / "weights.safetensors", run.state_dict())
    run.model.to_onnx(folder / "network.onnx", (3,))
    io.write_cube(folder / "colours.cube", io.sample(run.predict, 5, "five points"))
    digits = load_scene("digits").build(load_scene("digits").options(engine="numpy", channels=(2, 2), batch=8))
    digits.run.step(2)
    digits.run.model.to_onnx(folder / "convolutions.onnx", (1, 8, 8))
    xor = load_scene("xor").build(load_scene("xor").options(engine="numpy", cells=4))
    with sv.Recording(xor, every=2, panels=True, path=folder / "pictures.svz"):
        xor.run.step(2)
    own = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": np.zeros(2)}
    watched = sv.watch(own)
    with sv.Recording(watched, path=folder / "watched.svz", updates=True):
        for step in range(3):
            own["w"] -= 0.25 * (step + 1)
            watched.update(loss=1.0 / (step + 1))
    with sv.sweep("xor", {"lr": [0.1, 0.5]}, 2, steps=20, results=folder / "scene.svs", workers=0, keyframes=2,
                  options={"engine": "numpy"}) as sweep:  # fmt: skip
        assert len(list(sweep)) == 4


def fact(name: str, thing: Any) -> Record:
    """A number, a text, or of an array its shape, its bits and a readable sum."""
    if not isinstance(thing, np.ndarray):
        return {"name": name, "is": thing}
    total = float(f"{np.nansum(thing.astype(np.float64)):.9g}") if thing.dtype.kind in "fiu" else None
    code = f"{zlib.crc32(np.ascontiguousarray(thing).tobytes()):08x}"
    return {"name": name, "shape": list(thing.shape), "dtype": str(thing.dtype), "sum": total, "crc": code}


def in_weights(path: Path) -> Iterator[tuple[str, Any]]:
    tensors = io.load_tensors(path)
    yield from (tensors[0] if isinstance(tensors, tuple) else tensors).items()


def in_checkpoint(path: Path) -> Iterator[tuple[str, Any]]:
    """What a run takes over from it, and that it trains on."""
    yield from in_weights(path)
    loaded = load_scene("rgb")
    run = loaded.build_loaded(loaded.options(load=path, engine="numpy", threads=1, batch=16)).run
    yield from {"values": run.values, "steps": run.steps, "lr": f"{run.lr:.9g}"}.items()
    yield from ((f"state {name}", array) for name, array in optimizer_state(run).items())
    yield "losses", [f"{loss:.6g}" for loss in run.history.loss]
    run.step(2)
    yield "loss two steps later", f"{run.loss:.5g}"
    run.close()


def _picture_facts(picture: Any) -> list[Any]:
    kind = "webp" if picture.image[8:12] == b"WEBP" else "png"
    return [picture.panel, picture.step, picture.width, picture.height, kind, zlib.crc32(picture.image)]


def in_recording(path: Path) -> Iterator[tuple[str, Any]]:
    with sv.load_recording(path) as whole:
        yield "branches", len(whole.branches)
        for branch in whole.branches:
            with whole.on(branch) as one:
                yield from {f"{branch.number} {name}": getattr(one, name) for name in ("steps", "loss")}.items()
                for kind in sorted(one.has & {"gradients", "updates", "activations", "deltas"} | {"values"}):
                    for name, array in getattr(one, kind).items():
                        yield f"{branch.number} {kind} {name}", np.asarray(array)
                yield f"{branch.number} why no step opens", one.why_closed
                for step in range(int(one.steps[0]) + 1, 0 if one.why_closed else int(one.steps[-1]) + 2):
                    opened = one.open(step)
                    yield f"{branch.number} step {step}, micro-steps", len(opened.micro_steps())
                    yield from ((f"{branch.number} step {step}, {part}", [f"{x:.5g}" for x in getattr(opened, part)])
                                for part in ("gradient", "new_values"))  # fmt: skip
        yield "pictures", [_picture_facts(p) for p in whole.pictures]


def in_results(path: Path) -> Iterator[tuple[str, Any]]:
    with sv.sweep.Results(path) as results:
        about = results.about
        yield "about", [about.name, about.total, about.steps, {k: list(map(str, v)) for k, v in about.grid.items()}]
        for one in sorted(results.results(), key=lambda result: result.number):
            yield f"run {one.number}", [dict(one.options), one.seed, one.state, one.steps, repr(one.loss), one.reached]
            yield f"run {one.number} curve", one.curve
            for step, arrays in {"end": results.weights(one.number), **results.keyframes(one.number)}.items():
                yield from ((f"run {one.number} {step} {name}", np.asarray(array)) for name, array in arrays.items())


def in_network(path: Path) -> Iterator[tuple[str, Any]]:
    net = sv.load_onnx(path)
    yield from ((name, np.asarray(array)) for name, array in net.state_dict().items())
    size = 3 if "colours" in path.stem or "network" in path.stem else (1, 8, 8)
    sample = np.linspace(0.0, 1.0, int(np.prod(size))).reshape(size)
    yield "of a sample", [f"{float(number):.6f}" for number in np.ravel(net(sample.tolist()))]


def in_lut(path: Path) -> Iterator[tuple[str, Any]]:
    lut = io.read_cube(path)
    yield from {"title": lut.title, "domain": [*lut.low, *lut.high], "table": lut.table}.items()


READERS = {".svz": in_recording, ".svs": in_results, ".onnx": in_network, ".cube": in_lut, ".safetensors": in_weights}


def files_now() -> list[Record]:
    """What is in the stored files, as today's program reads them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:  # reading a recording may write beside it
        for stored in sorted(FILES.iterdir()):
            path = Path(shutil.copy(stored, folder))
            reader = in_checkpoint if path.name == "checkpoint.safetensors" else READERS[path.suffix]
            found += [{"file": path.name, **fact(name, thing)} for name, thing in reader(path)]
    return found


# ---- pictures as lists: what is written, where, and what answers to a click


UNLISTED = ("scrolls", "typed", "more panels")
"""What else answers to a pointer: a scroll bar, the numbers that are typed, the line that turns a page."""


def records(picture: Any) -> list[Record]:
    """A picture as {kind, text, box, action, tip}, boxes in its pixels, in an order that painting has no part in.

    This alone knows how today's view is made. A picture is a viewer, a room, or the text of a page or an SVG.
    """
    if isinstance(picture, str):
        return list(_words(picture))
    found: list[Record] = []

    def add(kind: str, text: str, box: Any, action: str = "", tip: str = "", scale: float = 1.0) -> None:
        left, top, width, height = (float(side) * scale for side in box)
        edges = [math.floor(edge + 0.501) for edge in (left, top, left + width, top + height)]  # no edge lies at a half
        record = {"kind": kind, "text": text, "box": edges, "action": action, "tip": tip}
        found.append({name: value for name, value in record.items() if value != ""})

    bench = getattr(picture, "bench", None)
    if bench is None:
        sketches, scale = [*picture.sketches(), *picture.overlay()], picture.grid.scale
    else:
        sketches = [*bench.sketches, *(sketch for layer in bench.overlays for sketch in layer)]
        scale = bench.places.scale
        _parts_of(bench, lambda *given: add(*given, scale=scale))
    for spot in (spot for sketch in sketches for spot in sketch.spots):
        if spot.name not in UNLISTED and spot.value not in UNLISTED:
            add("action", spot.words or str(spot.value), spot.box, spot.name, spot.tip, scale=scale)
    for item in (item for sketch in sketches for item in sketch.texts if item.text):
        add("text", item.text, _ink(item), scale=scale)
    for image in (image for sketch in sketches for image in sketch.images):
        add("image", "", image.rect, scale=scale)
    return sorted(found, key=lambda r: (r["kind"], r["box"][1], r["box"][0], r.get("text", ""), line(r)))


def _ink(item: Any) -> tuple[float, float, float, float]:
    """The box of a text without what hangs below its line."""
    wide = measure(item.text, item.size, item.bold)
    left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
    return left, item.y - CAP_HEIGHT * item.size, wide, CAP_HEIGHT * item.size


def _parts_of(bench: Any, add: Any) -> None:
    """Plates and panels in the picture of a run."""
    for plate in bench.layout.plates:
        corners = bench.project(plate.corners)
        add("plate", plate.name, (*corners.min(0), *np.ptp(corners, axis=0)))
    for name, drawer in bench.side.drawers.items():
        if drawer.box is not None:
            lines = [*drawer.gestures, *drawer.choices, *drawer.lessons]
            add("panel", name, drawer.box, "", "; ".join(f"{hand}: {does}" for hand, does in lines))


def _words(page: str) -> Iterator[Record]:
    """The words of a page or an SVG, and the tags that they stand in."""
    shown = re.sub(r"(?s)<(script|style)\b.*?</\1>|<!--.*?-->", "", page)
    for tag, given, text in re.findall(r"<(/?\w+)((?:[^>\"]|\"[^\"]*\")*)>([^<]*)", shown):
        said = re.findall(r'(?:alt|aria-label)="([^"]+)"', given) + [" ".join(text.split())] * bool(text.strip())
        yield from ({"kind": tag, "text": unescape(one)} for one in said)


WIDE, SMALL_SIZE, PHONE, LARGE = (1280, 720), (640, 360), (390, 844), (3840, 2160)
DONE = 12
"""Training steps before a picture that is not of the start."""
STATES: dict[str, Any] = {
    "start": (), "trained": (), "end": ("step",) * 12,
    "inside": ("micro_next",) * 5, "batch": ("whose", *("micro_next",) * 40),
    "selected": (3,), "neuron": (0, "select_more", "select_more"), "controls": ("toggle_controls",),
    "keys": ("toggle_help",), "layers": ("toggle_layers",), "gradient": ("show_gradients",),
    "alone": ("toggle_panels", "toggle_panels"), "hinton": ("toggle_sizes",), "apart": ("toggle_apart",),
    "edited": (0, "double", "freeze", "undo"),
}  # fmt: skip
"""What is done to come to a state: names of actions, and numbers of weights that are clicked."""
BEGUN: dict[str, Record] = {
    "microgpt": {"text": "words.txt", "batch": 4}, "digits": {"data": "mnist:"},
    "texture": {"picture": "picture.png", "batch": 8}, "rgb": {"picture": "picture.png"},
}  # fmt: skip
"""Small data, so that pictures of large scenes are soon made."""


def picture_cases() -> dict[str, tuple[str, str, tuple[int, int]]]:
    """All pictures of runs: scene, state and size by name."""
    every = [(name, "trained", size) for name in scene_names() for size in (WIDE, SMALL_SIZE, PHONE, LARGE)]
    every += [(name, "start", WIDE) for name in ("rgb", "xor", "microgpt", "digits")]
    every += [("rgb", state, WIDE) for state in STATES if state not in ("start", "trained")]
    every += [("rgb", state, size) for state in ("inside", "controls") for size in (SMALL_SIZE, PHONE)]
    every += [("rgb", "selected", (900, 640)), ("microgpt", "neuron", LARGE), ("texture", "layers", WIDE)]
    every += [(name, state, WIDE) for name in ("playground", "digits") for state in ("inside", "selected", "controls")]
    every += [("playground", "controls", PHONE)]
    every += [(name, "", WIDE) for name in OTHERS]
    every += [(name, "", PHONE) for name in ("replay", "compare", "wall", "runs")]
    return {f"{name} {state} {size[0]}x{size[1]}": (name, state, size) for name, state, size in every}


@contextlib.contextmanager
def viewer(scene: Any, size: tuple[int, int], **options: Any) -> Iterator[Any]:
    """A window's picture of a scene, without the window; nothing in it depends on how fast this machine is."""
    scene.run._full_speed = 1000.0
    with patch.object(live, "rehearse", lambda run, steps, *_, **__: rehearse(run, steps, 1e9)):
        view = live.LiveView(scene, size, steps=DONE, **({"playing": False} | options))
    try:
        yield view
    finally:
        view.close()


def settle(view: Any) -> None:
    """Time passes until nothing moves any more."""
    for _ in range(40):
        if hasattr(view, "worker"):
            view.worker.settle()
        view.tick(0.25)
        if not view.bench.moving and _ > 3:
            return


OTHERS = ("replay", "replay inside", "compare", "wall", "runs", "plots", "report", "graph", "network", "page", "arrays")
"""Pictures of other things than a run that trains here."""


def other_picture(folder: Path, name: str, size: tuple[int, int]) -> list[Record]:
    """The list of a recording, two of them, a wall, a sweep, a graph, a page or numbers, mostly of the stored files."""
    recording, results = (Path(shutil.copy(FILES / file, folder)) for file in ("steps.svz", "scene.svs"))
    if name == "wall":
        return records(make_scene_wall().appear(size))
    if name in ("runs", "plots"):
        wall = run_wall.wall_of(results)
        wall.plots = name == "plots"
        return records(wall.appear(size))
    if name == "report":
        with patch.object(report, "can_draw", lambda: False):  # pictures are no words
            return records(report.report_of(runs_of(results)))
    if name == "graph":
        a, w, b = sv.Value(2.0), sv.Weight(-0.75, name="w"), sv.Value(0.5)
        z = (a * w + b).tanh()
        z.backward()
        return records(sv.draw(z, theme="dark").svg)
    if name == "network":
        return records(sv.draw(nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh()), [0.1, 0.2, 0.3], theme="dark").svg)
    if name == "arrays":
        view: Any = Viewer(bench_of({"a": np.linspace(-1, 1, 12).reshape(3, 4), "b": np.array([0.5, np.nan])}, size))
        settle(view)
        return records(view)
    with sv.load_recording(recording) as first, first.on(first.branches[0]) as second:
        if name == "page":
            return records(first.save_html(folder / "page.html", title="frozen").read_text("utf-8"))
        pair = RecordedPair(RecordedSource(first), RecordedSource(second), ("now", "before"))
        view = Viewer(bench_of(pair if name == "compare" else RecordedSource(first), size))
        for what in ("first", "step", *("micro_next",) * (7 * name.endswith("inside"))):
            view.send(what)
            settle(view)
        return records(view)


def picture_of(folder: Path, name: str, state: str, size: tuple[int, int]) -> list[Record]:
    """The list of a scene in a state."""
    if name in OTHERS:
        return other_picture(folder, name, size)
    numbers = Numbers(folder)
    given = {flag: numbers._place(value) for flag, value in BEGUN.get(name, {}).items()}
    loaded = load_scene(name)
    scene = loaded.build_loaded(loaded.options(engine="numpy", dtype="float64", threads=1, **given))
    scene.run.step(0 if state == "start" else DONE)
    with viewer(scene, size, playing=state == "start", wait=None) as view:  # which waits for a hand, and says so
        settle(view)
        for what in STATES[state]:
            view.bench.select(what) if isinstance(what, int) else view.send(what)
            settle(view)
        return records(view)


MICRO = {"rgb, micro-steps of one sample": False, "rgb, micro-steps of the whole batch": True}
PAIRS = ["#c86432:#3278c8", "#40a0f0:#f0a040", "#808020:#2060a0"]


def micro_steps(*, whole_batch: bool) -> list[Record]:
    """Words and numbers of all micro-steps of a step of `rgb`, of one sample alone or of the whole batch."""
    loaded = load_scene("rgb")
    scene = loaded.build(loaded.options(engine="numpy", dtype="float64", threads=1, pair=PAIRS))
    scene.run.step(DONE)
    subject, found, number = subject_of(scene), list[Record](), 0
    frame = subject.frame()
    while True:
        number += 1
        told = micro_step_of(subject, frame, number, whole_batch=whole_batch)
        said = told.sentence
        found.append({
            "at": [told.position, told.count], "phase": _plain(told.phases[told.phase]), "headline": told.headline,
            "samples": told.samples, "name": said.name, "meaning": said.meaning, "weight": said.index,
            "formulas": [[formula.letters, "".join(word.text for word in formula.numbers)]
                         for formula in (*said.formulas, *told.rule)],
            "faces": _plain({index: face[:2] for index, face in told.cube_texts.items()}),
            "pulses": _plain(told.pulses), "table": _plain(told.table),
            "loss": _plain(told.loss), "reached": _plain(told.reached), "deltas": _plain(told.deltas),
            "gradient": _plain(np.where(told.frame.computed, told.frame.gradient, np.nan)),
            "values": _plain(told.frame.values),
        })  # fmt: skip
        if number == told.count:
            return found


def _plain(thing: Any) -> Any:
    """Data as JSON, its numbers as they would be read."""
    if isinstance(thing, float | np.floating):
        return "NaN" if math.isnan(thing) else f"{thing:.6g}"
    if isinstance(thing, np.ndarray):
        return [_plain(one) for one in thing.tolist()]
    if isinstance(thing, dict):
        return {str(name): _plain(one) for name, one in thing.items()}
    if is_dataclass(thing):
        return [_plain(getattr(thing, field.name)) for field in fields(thing)]
    return [_plain(one) for one in thing] if isinstance(thing, tuple | list) else thing


def write_pictures() -> None:
    """All pictures, each a line with its name and then its records, and the micro-steps."""
    found = list[Record]()
    with tempfile.TemporaryDirectory() as folder:
        for name, case in picture_cases().items():
            found += [{"picture": name}, *picture_of(Path(folder), *case)]
    for name, whole_batch in MICRO.items():
        found += [{"picture": name}, *micro_steps(whole_batch=whole_batch)]
    write("pictures", found)


def read_pictures() -> dict[str, list[Record]]:
    """The stored records by picture."""
    found = dict[str, list[Record]]()
    for record in read("pictures"):
        if "picture" in record:
            found[record["picture"]] = rows = []
        else:
            rows.append(record)
    return found


# ---- what a user can do: one line each, in an order of its own

PUBLIC = ("", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "run", "run.panels",
          "run.controls", "run.edits", "view", "check", "mistakes", "data", "io", "errors")  # fmt: skip


def surface_now() -> list[str]:
    """Actions and keys, panels, controls, commands with their flags, and public names."""
    return sorted({*_actions(), *_controls(), *_commands(), *_names()})


def _actions() -> Iterator[str]:
    for action in actions.ACTIONS:
        values = f" {action.values.least} to {action.values.most}" if action.values else ""
        yield f"action {action.name}{values} ({action.kind})"
        yield from (f"key {key}: {action.name}" for key in action.keys)
    yield from (f"gesture {gesture.hand}: {gesture.does}" for gesture in actions.GESTURES)
    for room in ("WALL", "RUNS", "TOUR", "GRAPH"):
        for one in getattr(actions, room):
            yield from (f"{room.lower()} {how}: {one.name}" for how in (*one.keys, *filter(None, (one.hand,))))
    for panel, drawer in ((p, d) for p, d in DRAWERS.items() if p.__module__.startswith("scalarviz.")):  # no test's own
        yield f"panel {panel.__name__}"
        for hand, does in (*drawer.gestures, *drawer.choices, *drawer.lessons):
            yield f"panel {panel.__name__}: {hand}: {does}"


def _controls() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        numbers = Numbers(Path(folder))
        for name in scene_names():
            loaded = load_scene(name)
            given = {flag: numbers._place(value) for flag, value in BEGUN.get(name, {}).items()}
            scene = loaded.build_loaded(loaded.options(engine="numpy", threads=1, **given))
            for thing in (scene, scene.run, scene.run.optimizer) if name == "rgb" else ():
                kind = type(thing).__name__
                yield from (f"name sv.{kind}.{member}" for member in getattr(thing, "__dict__", ()) if member[0] != "_")
            yield from (f"scene {name}: panel {type(panel).__name__}" for panel in scene.panels)
            with viewer(scene, LARGE) as view:
                rows = view.controls.rows(view.controls.reader(scene.run.frame()))
                for item in (item for row in rows for item in row.items):
                    choices = ", ".join(map(str, getattr(item.control, "choices", ())))
                    yield f"scene {name}: control {item.name}{f' ({choices})' if choices else ''}"


def _commands() -> Iterator[str]:
    every = [*main.COMMANDS, *scene_names()]
    for name in every:
        app, _ = main._app([name])
        for parameter in typer.main.get_command(app).commands[name].params:
            names = parameter.opts if parameter.opts[0].startswith("-") else [parameter.name.upper()]
            yield from (f"command {name} {one}" for one in names)
        yield f"command {name}"
    for name in scene_names():
        app, _ = main._app(["sweep", name])
        found = typer.main.get_command(app).commands["sweep"].params
        yield from (f"command sweep {name} {one}" for parameter in found for one in parameter.opts if one[0] == "-")


def _names() -> Iterator[str]:
    for place in PUBLIC:
        module = importlib.import_module(f"scalarviz.{place}".rstrip("."))
        shown = f"sv.{place}".rstrip(".")
        inside = (name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__)
        for name in getattr(module, "__all__", None) or [name for name in inside if not name.startswith("_")]:
            yield from _members(f"{shown}.{name}", getattr(module, name))
    sweeps = importlib.import_module("scalarviz.sweep.sweep")
    for thing in (sweeps.sweep, sweeps.Sweep, sv.sweep.Results):
        yield from _members(f"sv.sweep.{thing.__name__}".replace(".sweep.sweep", ".sweep"), thing)


def _members(name: str, thing: Any) -> Iterator[str]:
    """A name with the parameters of its call, and of a class what it adds to the classes that it stands on."""
    yield f"name {name}{_parameters(thing)}"
    if not inspect.isclass(thing) or thing.__module__ == "builtins":
        return
    bases = [b for b in thing.__mro__[1:] if not b.__module__.startswith("scalarviz") or b.__name__ in BASES]
    known = {member for base in bases for member in dir(base)}
    slots = {field.name for field in fields(thing)} if is_dataclass(thing) else set()
    for member in sorted({*dir(thing), *slots} - known):
        found = inspect.getattr_static(thing, member, None)
        if not member.startswith("_") and not isinstance(found, Absent):
            yield f"name {name}.{member}{_parameters(getattr(found, '__func__', found))}"


BASES = {"Value", "Module", "Loss", "Optimizer", "Panel", "Control", "Edit", "Workbench", "Schedule", "LRScheduler"}
"""Classes whose members are listed with them, not with what stands on them."""


def _parameters(thing: Any) -> str:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return ""
    try:
        made = inspect.isclass(thing) and thing.__init__ is not object.__init__
        given = inspect.signature(thing.__init__ if made else thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return f"({', '.join(marks.get(p.kind, '') + p.name for p in given if p.name not in ('self', 'cls'))})"


MAKERS = {
    "files": write_files,  # first: pictures are made of them
    "numbers": write_numbers,
    "pictures": write_pictures,
    "surface": lambda: (HERE / "surface.txt").write_text("".join(f"{row}\n" for row in surface_now()), "utf-8"),
}

if __name__ == "__main__":
    for kind in sys.argv[1:] or MAKERS:
        if kind not in MAKERS:
            sys.exit(f"{kind}: there is no such kind; allowed: {', '.join(MAKERS)}")
        MAKERS[kind]()
