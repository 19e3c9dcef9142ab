"""KINDS: every kind of file that is written and read, with an example; the laws of files run on each of them.

Add one: a function that makes an example of a number, and how it is written, read and compared. What is compared is
a nest of dicts, lists, arrays and plain values (see `same`).
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import io
from scalarviz.run.frames import sample
from scalarviz.run.state import optimizer_state
from scalarviz.run.travel import span

from .runs import make_run


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    `make(seed)` is an example, another one for another seed; `write(example, path)` writes it, `read(path)` returns
    what is in a file, `wanted(example)` what has to be in it. `holder()` makes what is changed by reading, if anything
    is: `take(holder, path)` reads into it, `bits(holder)` is all of it. `cut`: a file without its end is read as far
    as it goes. `replaces`: an old file of that name is replaced.
    """

    suffix: str
    make: Callable[[int], Any]
    write: Callable[[Any, Path], object]
    read: Callable[[Path], Any]
    wanted: Callable[[Any], Any]
    holder: Callable[[], Any] | None = None
    take: Callable[[Any, Path], object] | None = None
    bits: Callable[[Any], Any] | None = None
    cut: bool = False
    replaces: bool = True


def same(one: Any, other: Any) -> bool:
    """Whether two nests of values are equal to the bit; NaN is NaN."""
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return bool(one == other) or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


def trained(seed: int = 0) -> sv.Run:
    """A run after some steps; another number: other weights and more steps."""
    run = make_run("mlp", dtype="float32", weights=seed)
    run.step(3 + seed)
    return run


def run_parts(run: sv.Run) -> dict[str, Any]:
    """What a checkpoint keeps of a run."""
    return {"tensors": run.state_dict(), "state": optimizer_state(run), "steps": run.steps, "lr": run.lr}


def loaded(path: Path) -> dict[str, Any]:
    run = trained(9)
    run.load(path)
    return run_parts(run)


# ---- recordings


def record(run: sv.Run, path: Path) -> None:
    with sv.Recording(run, gradients=True, updates=True, activations=True, path=path):
        run.step(12)
        run.back(4)
        run.lr = 0.5
        run.step(5)


def recorded(path: Path) -> list[Any]:
    """Every frame of the branch at the end, and the curve."""
    with sv.load_recording(path) as found:
        frames = [found.frame(k) for k in range(len(found))]
        return [found.curve.loss, *(frame_parts(frame) for frame in frames)]


def played(run: sv.Run) -> list[Any]:
    """The same of a run that was recorded from its first step on: it goes to every step again."""
    steps = range(span(run)[1] + 1)
    frames = [(run.to(step), frame_parts(run.frame(sample(run, 0)[0])))[1] for step in steps]
    return [run.history.loss, *frames]


def frame_parts(frame: Any) -> dict[str, Any]:
    """All that a frame holds of its step."""
    names = ("values", "gradient", "update", "computed", "frozen")
    return {name: getattr(frame, name) for name in names} | {
        "step": frame.step, "loss": frame.loss, "lr": frame.lr,
        "activations": {name: np.asarray(row, np.float32) for name, row in frame.activations.items()},
    }  # fmt: skip


def arrays(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"a.weight": rng.normal(size=(3, 4)), "half": rng.normal(size=5).astype("f2"), "n": np.array([seed, 7])}


def with_note(tensors: dict[str, Any], notes: dict[str, str]) -> tuple[Any, ...]:
    return tensors, notes["who"]


def lut_parts(lut: io.Lut) -> tuple[Any, ...]:
    return lut.table, lut.title, lut.low, lut.high


def picture(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (6, 5, 3), np.uint8)


def pixels_of(path: Path) -> Any:
    found = io.load_picture(path)
    return np.rint(255 * found.rgb).astype(np.uint8).reshape(*found.size[::-1], 3)


KINDS: dict[str, Kind] = {
    "weights": Kind(
        ".safetensors", arrays, lambda tensors, path: io.save_tensors(path, tensors, {"who": "a test"}),
        lambda path: with_note(*io.load_tensors(path)), lambda tensors: (tensors, "a test"),
    ),
    "checkpoint": Kind(
        ".safetensors", trained, lambda run, path: run.save(path), loaded, run_parts,
        holder=lambda: trained(9), take=lambda run, path: run.load(path), bits=run_parts,
    ),
    "recording": Kind(".svz", lambda seed: make_run("mlp", dtype="float32", weights=seed), record,
        recorded, played, cut=True, replaces=False),
    "table of colours": Kind(
        ".cube", lambda seed: io.Lut(np.random.default_rng(seed).integers(0, 9, (2, 2, 2, 3)) / 8, f"title {seed}"),
        lambda lut, path: io.write_cube(path, lut), lambda path: lut_parts(io.read_cube(path)), lut_parts
    ),
    "picture": Kind(".png", picture, lambda pixels, path: io.save_picture(path, pixels), pixels_of, lambda rgb: rgb),
}  # fmt: skip


def flipped(data: bytes, seed: int) -> bytes:
    """Some bytes changed, at any place or near the beginning; of every fourth the end is missing too."""
    choice, changed = random.Random(seed), bytearray(data)
    for _ in range(choice.choice([1, 3, 30, 1000])):
        changed[choice.randrange(len(changed) if seed % 3 else min(len(changed), 8192))] = choice.randrange(256)
    if seed % 4 == 0:
        del changed[choice.randrange(len(changed)) :]
    return bytes(changed)


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "one byte": lambda data: data[:1],
    "sixteen bytes": lambda data: data[:16],
    "half of it": lambda data: data[: len(data) // 2],
    "text": lambda data: b"weights\n" * 500,
    "zeros": lambda data: bytes(len(data)),
    "another program's": lambda data: b"\x89HDF\r\n\x1a\n" + data,
}
"""What becomes of the bytes of a file, by name."""


def left(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by their names."""
    found = {}
    for part in sorted(folder.rglob("*")):
        with suppress(OSError):
            if part.is_file() and not part.is_symlink():
                found[os.fspath(part.relative_to(folder))] = part.read_bytes()
    return found
