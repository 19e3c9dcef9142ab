"""The program as a process: streams that take nothing, full disks, terminals that go away, Ctrl-C at any moment."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.commands import PROGRAM, SMALL_PICTURE, listing, process, python, weights_in

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
RGB = ("rgb", "--headless", "--engine", "numpy", "--steps", "30", "--save", "w.safetensors")
ENDLESS = ("rgb", "--headless", "--engine", "numpy", "--steps", 10**9, "--save", "w.safetensors")
INTERRUPTED = "scalarviz: interrupted"


# ---- streams


STREAMS = {"2>&-": "", ">&- 2>&- <&-": "--json", "2>/dev/full": "--json", ">/dev/full": "--json"}


@pytest.mark.parametrize("streams", STREAMS)
def test_a_run_trains_and_saves_whatever_its_streams_are(tmp_path, streams):
    line = STREAMS[streams]
    result = process(tmp_path, *RGB, *line.split(), streams=streams)
    lost = bool(line) and any(word in streams.split() for word in (">&-", ">/dev/full"))
    assert result.code == (2 if lost else 0), result.err
    if line and not lost:
        assert result.json["steps"] == 30
    else:
        assert result.out == ""
    if lost and "2>" not in streams:
        assert result.last.startswith("scalarviz: cannot write the result to stdout: ")
    assert "Traceback" not in result.err
    assert listing(tmp_path).keys() == {"w.safetensors"}
    assert weights_in(tmp_path / "w.safetensors").keys() >= {"0.weight", "0.bias"}


@pytest.mark.parametrize(
    ("line", "streams", "unbuffered"),
    [("scenes", ">/dev/full", ""), ("--version", ">/dev/full", "1"), ("rgb --help", ">&- 2>&-", "")],
)
def test_a_result_that_cannot_be_written_is_one_line_and_an_error(tmp_path, line, streams, unbuffered):
    result = process(tmp_path, *line.split(), streams=streams, environment={"PYTHONUNBUFFERED": unbuffered})
    assert result.code == 2
    assert "Exception ignored" not in result.err
    said = result.err.splitlines()
    assert said == [] if "2>" in streams else len(said) == 1
    if streams == ">/dev/full":
        assert said == ["scalarviz: cannot write the result to stdout: no space left on device"]


# ---- terminals


def test_a_terminal_that_closes_ends_the_run_and_keeps_the_weights(tmp_path):
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, *map(str, ENDLESS)], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    while b"numpy" not in seen and program.poll() is None:  # the engine's line: a dumb terminal has no progress
        seen += os.read(ours, 4096)
    os.close(ours)  # what is written from here on is an error
    time.sleep(0.3)
    program.send_signal(signal.SIGHUP)
    try:
        assert program.wait(60) == 129, seen
    finally:
        program.kill()
    assert weights_in(tmp_path / "w.safetensors")
    assert os.listdir(tmp_path) == ["w.safetensors"]


@pytest.mark.gl
def test_a_disk_that_fills_ends_neither_the_training_nor_what_still_fits(tmp_path):
    common = ("rgb", "--engine", "numpy", *SMALL_PICTURE, "--steps", 100, "--duration", 3, "--out", "x.mp4")
    result = process(tmp_path, *common, "--save", "w.safetensors", "--json", largest=20_000)
    assert result.code == 2, result.err
    assert "Traceback" not in result.err
    assert sum("the film could not be written" in line for line in result.err.splitlines()) == 1
    assert result.json["steps"] == 100
    assert listing(tmp_path).keys() == {"w.safetensors"}


# ---- what is loaded


def test_help_loads_nothing_heavy():
    heavy = {"numba", "llvmlite", "vispy", "pydantic", "PIL", "safetensors", "imageio_ffmpeg", "skimage", "sklearn"}
    heavy |= {"scipy", "PySide6", "IPython", "torch", "asyncio", "multiprocessing.pool", "numpy", "scalarviz.scenes"}
    heavy |= {"scalarviz.view", "scalarviz.engine.cpu"}
    code = "import sys; from scalarviz.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = set(python(code).err.split())
    assert {"rich", "typer"} <= loaded  # what prints help
    assert not loaded & heavy


def test_the_front_door_loads_its_names_when_they_are_used():
    result = python("import sys, scalarviz as sv; print('numpy' in sys.modules, sv.Value.__name__); sv.wher")
    assert result.out == "False Value\n"
    assert "did you mean 'where'" in result.err


def test_the_program_is_started_where_ctrl_c_is_heard():
    """Nothing is loaded before the first line that listens."""
    assert "    scalarviz = scalarviz.__main__:start\n" in (ROOT / "setup.cfg").read_text(encoding="utf-8")
    result = python(
        "import sys; before = set(sys.modules); import scalarviz.__main__; print(*(set(sys.modules) - before))"
    )
    loaded = {name for name in result.out.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {"scalarviz", "scalarviz.__main__", "scalarviz.cli", "scalarviz.cli.interrupt"}


# ---- Ctrl-C


COMMAND = "import sys; sys.argv[0] = 'scalarviz'; from scalarviz.__main__ import start; sys.exit(start())"
WAYS = {"module": ["-m", "scalarviz"], "program": ["-c", COMMAND]}


@pytest.mark.parametrize(("way", "imports"), [("module", 3), ("program", 301)])
def test_an_interrupt_while_modules_are_loaded_is_one_line(way, imports):
    """From the first module on that is loaded for the command; before it Python itself starts. -X importtime tells."""
    run = ["rgb", "--headless", "--engine", "numpy", "--steps", "1000"]
    lines, listening = [], 0
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", *WAYS[way], *run], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True, cwd=ROOT,
    ) as begun:  # fmt: skip
        for line in begun.stderr:
            lines.append(line.rstrip("\n"))
            listening += bool(listening) or line.rstrip().endswith(" scalarviz.cli.interrupt")
            if listening == imports:
                begun.send_signal(signal.SIGINT)
    said = [line for line in lines if not line.startswith("import time:")]
    assert (begun.returncode, said) == (130, [INTERRUPTED])


ALARM = "os.kill(os.getpid(), signal.SIGINT)\n"
LISTENING = "import os, signal, sys\nfrom scalarviz.cli.interrupt import listening\n"
MOMENTS = {
    "in a command": (f"with listening():\n    {ALARM}    print('on')", 130, "", INTERRUPTED),
    "after it": (f"with listening():\n    pass\n{ALARM}print('on')", 130, "", INTERRUPTED),
    "in a destructor": (
        "class Last:\n    def __del__(self):\n        " + ALARM + "        for _ in range(9): pass\n"
        "with listening():\n    Last()\n    print('on')", 130, "", INTERRUPTED,
    ),
    "in a module that swallows everything": (
        "open('greedy.py', 'w').write('''import os, signal\ntry:\n    " + ALARM + "    print('on')\n"
        "except BaseException:\n    print('swallowed')\n''')\nsys.path.insert(0, '')\n"
        "with listening():\n    import greedy", 130, "", INTERRUPTED,
    ),
    "where a command answers": (
        f"with listening():\n    try:\n        {ALARM}    finally:\n        print('cleaned up', flush=True)",
        130, "cleaned up\n", INTERRUPTED,
    ),
    "in a job that ignores it": (
        f"signal.signal(signal.SIGINT, signal.SIG_IGN)\nwith listening():\n    {ALARM}    print('on')\n{ALARM}",
        0, "on\n", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_at_any_moment_is_one_line(tmp_path, moment):
    code, exit_code, out, fact = MOMENTS[moment]
    result = python(LISTENING + code, tmp_path)
    assert (result.code, result.out) == (exit_code, out)
    assert result.err == f"{fact}\n" if fact == INTERRUPTED else fact in result.err


# ---- scenes of one's own

OWN = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.scene.scene import Scene

def build(options):
    net = nn.Sequential(nn.Linear(2, 1))
    data = np.eye(2), np.ones((2, 1))
    return Scene("own", sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy"))
"""


def own(folder, text, *arguments, name="mine.py"):
    (folder / name).write_text(text)
    return process(folder, name, "--headless", "--steps", 3, *arguments)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("def report(scene):\n    raise KeyError('r')\n", "line 14: KeyError: 'r'"),
        ("def finish(scene, options):\n    return 5\n", "finish(scene, options): TypeError"),
    ],
)
def test_what_fails_after_the_training_keeps_nothing_else_from_being_written(tmp_path, more, says):
    """A scene may be called like a module, and finds the files beside it."""
    (tmp_path / "beside_the_scene.py").write_text("STEPS = 3\n")
    result = own(
        tmp_path, f"import beside_the_scene\n{OWN}\n{more}", "--json", "--save", "w.safetensors", name="random.py"
    )
    assert (result.code, result.json["steps"], result.json["scene"]) == (2, 3, "random")
    assert says in result.last
    assert "Traceback" not in result.err
    assert "wrote w.safetensors" in result.err
    assert weights_in(tmp_path / "w.safetensors")


def test_a_defect_of_ours_keeps_its_traceback(tmp_path):
    result = own(tmp_path, "from scalarviz.tape import lower\ndef build(o):\n    lower(None)\n")
    assert result.code == 1
    assert "Traceback" in result.err


# ---- sweeps


def of_group(leader):
    """The processes of a group that run: one that has ended stays in its group where the first process reaps nobody."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, group = stat.read_text(encoding="utf-8").rpartition(") ")[2].split()[:3]
            if int(group) == leader and state not in "ZX":
                found.append(stat.parent.name)
    return found


def test_a_signal_ends_a_sweep_at_once_and_the_same_command_goes_on(programs, tmp_path):
    import scalarviz as sv

    def done():
        if not (tmp_path / "r.svs").exists():
            return 0
        with sv.sweep.Results(tmp_path / "r.svs") as results:
            return len(list(results.results()))

    line = ("sweep", "xor", "--engine", "numpy", "--steps", 3000, "--seeds", 99, "--workers", 1, "--results", "r.svs")
    run = programs(*line)
    run.until(lambda: done() > 0, 120)
    at_least = done()
    os.killpg(run.process.pid, signal.SIGINT)  # as a terminal's Ctrl-C, which all processes get
    assert run.ended() == 130, run.err
    assert run.err.splitlines()[-1] == "scalarviz: interrupted; the same command resumes r.svs"
    assert listing(tmp_path).keys() == {"r.svs"}
    end = time.monotonic() + 60
    while left := of_group(run.process.pid):
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert at_least <= done() < 99  # however busy the machine is
