"""The command line in this process and as a process of its own; SCENES: every scene with flags that make it small."""

from __future__ import annotations

import json
import os
import pkgutil
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz.cli.main import main
from scalarviz.io import load_tensors
from scalarviz.run import Moment
from scalarviz.run.controls import Reader
from scalarviz.run.scene.scene_file import load_scene
from scalarviz.run.source import RunSource

PROGRAM = (sys.executable, "-P", "-m", "scalarviz")
NO_DISPLAY = ":4077"
SMALL_PICTURE = ("--size", "480x270")


@dataclass
class Result:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one line on stdout."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)

    @property
    def last(self):
        """The last message."""
        return self.err.splitlines()[-1]


# ---- scenes


@dataclass(frozen=True)
class SmallScene:
    """A scene, small: `flags` make it so, `kept` are flags that a file of weights brings, `weights` is their number.

    `says`: what the JSON line has beyond that of every scene. `variants`: other flags, each set a case of a wide law.
    `diverges`: flags with which it does; `brings_seed`: whether a file brings the seed too.
    """

    weights: int
    flags: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    diverges: str = ""
    brings_seed: bool = True


SCENES: dict[str, SmallScene] = {
    "digits": SmallScene(
        3 * 9 + 3 + 4 * 27 + 4 + 10 * 16 + 10, ("--batch", "20"), ("--channels", "3,4", "--lr", "0.02"), ("accuracy",)
    ),
    "expression": SmallScene(
        4, (), ("--lr", "0.02"), ("rms", "weight a", "weight w", "weight b", "weight c"),
        ("--batch 16", "--expr 'k*x + m'", "--start a=0.25"),
    ),
    "microgpt": SmallScene(
        17 * 4 + 5 * 4 + 12 * 16 + 17 * 4,
        ("--text", "words.txt", "--context", "5", "--heads", "2", "--embd", "4", "--lr", "0.02"),
        ("--schedule", "step:3"), ("test_loss", "guessing"), ("--batch 4", "--heads 4"), brings_seed=False,
    ),
    "neuron": SmallScene(
        1, ("--noise", "0.3"), ("--lr", "0.2"), ("w",), ("--weights 2", "--noise 0.4 --dtype float64"),
        "--weights 2 --lr 1e300",
    ),
    "playground": SmallScene(
        9 + 8 + 3, ("--lr", "0.1", "--optimizer", "adam"), ("--hidden", "3,2"), ("test_loss", "accuracy"),
        ("--data spiral --features x,y,sinx", "--activation relu --l1 0.001", "--noise 0.3 --split 0.3 --batch 30"),
        brings_seed=False,
    ),
    "rgb": SmallScene(
        3 * 4 + 4 + 4 * 3 + 3, ("--batch", "64"), ("--hidden", "4", "--optimizer", "adam", "--lr", "0.02"), (),
        ("--target gray --dtype float64", "--pair '#000:#fff'", "--sampling replacement", "--schedule cosine:30"),
        "--lr 1e300",
    ),
    "texture": SmallScene(
        12 * 5 + 5 + 5 * 6 + 6 + 6 * 3 + 3, ("picture.png", "--batch", "16"),
        ("--hidden", "5,6", "--lr", "0.02", "--schedule", "step:3"),
        ("psnr",), ("--encoding triangle", "--encoding none", "--random-coordinates", "--transform zoom --l2 0.01"),
    ),
    "uinn": SmallScene(
        9 + 16 + 5, (), ("--hidden", "3,4", "--lr", "0.02"), ("right",), ("--dtype float64",),
        "--lr 1e300",
    ),
    "xor": SmallScene(
        12, (), ("--lr", "0.02"), ("right",), ("--batch 4", "--activation sigmoid", "--factor 1 --schedule step:3"),
    ),
}  # fmt: skip
"""The weights are counted by hand: of each layer inputs times outputs, and biases."""


def write_small_files(folder: Path) -> None:
    """The picture and the words that the flags of SCENES name."""
    picture = np.random.default_rng(5).integers(0, 256, (6, 8, 3), np.uint8)
    Image.fromarray(picture).save(folder / "picture.png")
    words = (f"{a}{b}{c}" for a in "abcde" for b in "aeiou" for c in "lmnrstvz")
    (folder / "words.txt").write_text("\n".join(words), encoding="utf-8")


def make_scene(name: str, **flags) -> sv.Scene:
    """A scene as its command makes it, with the engine that needs no compiling."""
    loaded = load_scene(name)
    return loaded.build_loaded(loaded.options(**{"engine": "numpy", **flags}))


def flags_of(command: str) -> set[str]:
    """The flags and arguments of a command, as `tests/frozen` has them."""
    surface = (Path(__file__).parents[1] / "frozen" / "surface.txt").read_text(encoding="utf-8")
    return set(re.findall(rf"^command {command} (\S+)$", surface, re.MULTILINE))


def reader_of(scene: sv.Scene) -> Reader:
    """What the scene's controls read, now."""
    source, frame = RunSource(scene.run), scene.run.frame()
    source.follow(frame)
    return Reader(frame, source, scene.options)


def controls_of(scene: sv.Scene) -> dict[str, Any]:
    """All controls that a window of the scene has, by name; who does what is no edit."""
    from scalarviz.view.shown.subject import subject_of
    from scalarviz.view.watch.actions import ActionContext
    from scalarviz.view.watch.scene_controls import ControlRows

    travels = SimpleNamespace(restart=lambda seed: scene.run.restart(seed=seed))
    viewer = SimpleNamespace(
        playback=SimpleNamespace(speed=1.0), travels=travels, action_context=lambda: ActionContext(subject_of(scene))
    )
    driving = ControlRows(viewer, scene)
    rows = driving.rows(reader_of(scene))
    assert not driving.troubles
    return {item.name: item.control for row in rows for item in row.items if row.look != "tools"}


def moment_of(scene: sv.Scene | sv.Run, frame=None) -> Moment:
    """What panels are made of, now or of a frame."""
    run = getattr(scene, "run", scene)
    source, frame = RunSource(run), frame or run.frame()
    source.follow(frame)
    return Moment(frame, source)


def turn(scene: sv.Scene, label: str, value=None) -> None:
    """Move one of the scene's own controls, as a hand does."""
    control, reader = next(one for one in scene.controls if one.label == label), reader_of(scene)
    edit = control.change(control.taken(value), reader) if hasattr(control, "taken") else control.change(value, reader)
    if edit is not None:
        scene.run.do(edit)


def weights_in(path: str | Path) -> dict[str, bytes]:
    """The bits of a file of weights, by name: to be compared."""
    return {name: (array.dtype.str.encode() + array.tobytes()) for name, array in load_tensors(path)[0].items()}


def page_of(path: str | Path) -> dict:
    """What a page says of its run."""
    from .unpacked import bytes_of

    packed = re.search(r'id="run">([^<]*)<', Path(path).read_text(encoding="utf-8"))
    return json.loads(zlib.decompress(bytes_of(packed[1]), -15))


def listing(folder: str | Path = ".") -> dict[str, int | None]:
    """All that lies in a folder and below it, with sizes; hidden files of a test aside."""
    found = sorted(p for p in Path(folder).rglob("*") if not p.name.startswith("."))
    return {
        str(p.relative_to(folder)): None if p.is_dir() or p.is_symlink() or p.is_fifo() else p.stat().st_size
        for p in found
    }


# ---- in this process


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    """The tests that want a window say so; the others give the same files on a desktop as in CI."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("scalarviz.display.has_display", lambda: bool(os.environ.get("DISPLAY")))


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def blind(cli):
    """Run a scene without pictures, with the engine that needs no compiling."""
    return lambda scene, *arguments: cli(scene, "--headless", "--engine", "numpy", *arguments)


@pytest.fixture
def rgb(blind):
    """`scalarviz rgb`, headless, with the engine that needs no compiling."""
    return lambda *arguments: blind("rgb", *arguments)


@pytest.fixture
def press(monkeypatch):
    """Have a signal sent so many times, usually Ctrl-C, at the beginning of a function's call of that number."""

    def at(owner, name, times=1, call=1, number=signal.SIGINT):
        owner = pkgutil.resolve_name(owner) if isinstance(owner, str) else owner
        genuine, calls = getattr(owner, name), []

        def pressed(self, *arguments, **named):
            calls.append(1)
            if len(calls) == call:
                for _ in range(times):
                    os.kill(os.getpid(), number)
            return genuine(self, *arguments, **named)

        monkeypatch.setattr(owner, name, pressed)

    return at


# ---- as a process


def process(
    folder: Path, *arguments, streams: str = "", largest: int | None = None, environment: Mapping[str, str] = {}
) -> Result:
    """The program as a shell starts it, perhaps with redirections, or where no file may grow beyond `largest` bytes."""
    line = f"exec {shlex.join([*PROGRAM, *map(str, arguments)])} {streams}"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
        check=False, timeout=240, stdin=subprocess.DEVNULL, preexec_fn=None if largest is None else limit,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def python(code: str, folder: Path | None = None, **environment: str) -> Result:
    """A program of Python."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
        check=False, timeout=240,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


@dataclass
class Program:
    """The program while it runs, perhaps with its window or on a terminal: keys by real events."""

    folder: Path
    display: str
    arguments: Sequence[object]
    terminal: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        env = {**os.environ, "DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb", **self.environment}
        command = [*PROGRAM, *map(str, self.arguments)]
        self._said = b""
        self._files = [self.folder / f".{k}{self.display.replace(':', '-')}" for k in ("stdout", "stderr")]
        if self.terminal:
            own, theirs = pty.openpty()
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs
            )
            os.close(theirs)
            self._reader = threading.Thread(target=self._read, args=(own,), daemon=True)
            self._reader.start()
        else:
            with self._files[0].open("w") as out, self._files[1].open("w") as err:
                self.process = subprocess.Popen(
                    command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                    start_new_session=True,
                )  # fmt: skip

    def _read(self, own):
        try:
            while part := os.read(own, 4096):
                self._said += part
        except OSError:  # the other end is gone
            pass
        os.close(own)

    @property
    def err(self):
        """What it said so far."""
        if self.terminal:
            return re.sub(r"\x1b\[[0-9;]*m", "", self._said.decode(errors="replace")).replace("\r\n", "\n")
        return self._files[1].read_text(encoding="utf-8")

    @property
    def out(self):
        return self._files[0].read_text(encoding="utf-8")

    def xdo(self, *words):
        """What xdotool says."""
        env = {**os.environ, "DISPLAY": self.display}
        return subprocess.run(["xdotool", *words], env=env, capture_output=True, text=True, check=False).stdout.split()

    def until(self, condition, seconds=60.0):
        """Wait for something that comes while the program runs."""
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.err
            assert time.monotonic() < end, f"it did not happen in time: {self.err}"
            time.sleep(0.05)

    def shows(self, name=".*"):
        """Wait until the window shows that, and has taken the keyboard by itself."""

        def focused():
            found = self.xdo("search", "--onlyvisible", "--name", f"^scalarviz: {name}$")
            return bool(found) and self.xdo("getwindowfocus")[:1] == found[:1]

        self.until(focused)
        time.sleep(0.3)
        return self

    def opened(self, *, begins=True):
        """Wait for the window, and perhaps let it begin."""
        self.shows()
        if begins:
            self.key("space")
            time.sleep(0.3)
        return self

    def key(self, *names):
        self.xdo("key", *names)

    def ended(self, seconds=60.0, traceback=False):
        """The exit code; it says no traceback, unless an error is somebody else's."""
        try:
            code = self.process.wait(seconds)
        finally:
            self.close()
        if self.terminal:
            self._reader.join(5)
        assert ("Traceback" in self.err) == traceback, self.err
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def programs(tmp_path):
    """Start programs without a window, in an empty folder; they do not outlive the test."""
    started = []

    def start(*arguments, screen="", terminal=False, **environment):
        started.append(Program(tmp_path, screen, arguments, terminal, environment))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def program(programs, display):
    """Start the program with its window."""
    return lambda *arguments, screen=display, **more: programs(*arguments, screen=screen, **more)
