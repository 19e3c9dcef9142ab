"""The program as a process: streams that take nothing, full disks, terminals that go away, Ctrl-C at any moment."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.commands import NO_DISPLAY, PROGRAM, SMALL_PICTURE, listing, process, python, weights_in

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
RGB = ("rgb", "--headless", "--engine", "numpy", "--steps", "30", "--save", "w.safetensors")
ENDLESS = ("rgb", "--headless", "--engine", "numpy", "--steps", 10**9, "--save", "w.safetensors")
INTERRUPTED = "scalarviz: interrupted"


# ---- streams


STREAMS = {"2>&-": "", ">&-": "--json", "<&-": "", ">&- 2>&-": "--json", ">&- 2>&- <&-": "", "2>/dev/full": "--json",
           ">/dev/full": "--json", "2>&- <&-": "--json"}  # fmt: skip


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
    [("--help", ">&-", ""), ("scenes", ">/dev/full", ""), ("--version", ">/dev/full", "1"),
     ("rgb --help", ">&- 2>&-", "")],
)  # fmt: skip
def test_a_result_that_cannot_be_written_is_one_line_and_an_error(tmp_path, line, streams, unbuffered):
    result = process(tmp_path, *line.split(), streams=streams, environment={"PYTHONUNBUFFERED": unbuffered})
    assert result.code == 2
    assert "Exception ignored" not in result.err
    said = result.err.splitlines()
    assert said == [] if "2>" in streams else len(said) == 1
    if streams == ">/dev/full":
        assert said == ["scalarviz: cannot write the result to stdout: no space left on device"]


@pytest.mark.parametrize(("line", "streams"), [("rgb --steps 0", "2>&-"), ("nonsense", "2>/dev/full")])
def test_wrong_use_that_nobody_can_be_told_keeps_its_exit_code(tmp_path, line, streams):
    result = process(tmp_path, *line.split(), streams=streams)
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize("arguments", [["rgb", "--help"], ["rgb", "--load", "é€.safetensors"]])
def test_letters_that_the_streams_cannot_encode(tmp_path, arguments):
    around = {"PYTHONIOENCODING": "ascii", "LANG": "C", "COLUMNS": "1"}
    result = process(tmp_path, *arguments, environment=around)
    assert result.code == (2 if "--load" in arguments else 0)
    assert "Traceback" not in result.err
    assert (result.out + result.err).isascii()


def test_with_a_display_that_is_not_there_the_line_is_alone(tmp_path):
    """A library asks the display how fine it is, and prints what it hears."""
    result = process(tmp_path, *RGB, "--json", "--html", "p.html", environment={"DISPLAY": NO_DISPLAY})
    assert result.json["steps"] == 30
    assert "DPI" not in result.err


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


def test_nohup_is_honoured(tmp_path):
    line = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *PROGRAM, *map(str, ENDLESS)]
    program = subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert "numpy" in program.stderr.readline()
    time.sleep(0.3)
    program.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert program.poll() is None
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 130
    program.stderr.close()


def test_the_program_alone_is_its_help_where_no_window_can_be(programs, tmp_path):
    piped = process(tmp_path, environment={"DISPLAY": NO_DISPLAY})
    assert (piped.code, piped.err) == (0, "")
    assert "Usage: scalarviz" in piped.out
    for screen, why in (("", ""), (NO_DISPLAY, "no window of all scenes")):
        run = programs(screen=screen, terminal=True)
        assert run.ended() == 0
        assert "Usage: scalarviz" in run.err
        assert why in run.err


# ---- places


@pytest.mark.parametrize(("more", "code"), [("", 0), ("--save w.safetensors --out x.png", 2)])
def test_a_working_folder_that_is_gone(tmp_path, more, code):
    (tmp_path / "gone").mkdir()
    line = f'rmdir ../gone; exec "$0" -P -m scalarviz rgb --headless --engine numpy --steps 2 {more}'
    result = subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
    )
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    assert code == 0 or "no such file or directory" in result.stderr


@pytest.mark.gl
@pytest.mark.parametrize(
    ("largest", "flags", "facts", "left"),
    [
        (20_000, ("--duration", 3, "--out", "x.mp4"), ("the film could not be written",), {"w.safetensors"}),
        (100, ("--headless", "--out", "x.png"), ("cannot write w", "cannot write x.png"), set()),
    ],
)
def test_a_disk_that_fills_ends_neither_the_training_nor_what_still_fits(tmp_path, largest, flags, facts, left):
    common = ("rgb", "--engine", "numpy", *SMALL_PICTURE, "--steps", 100)
    result = process(tmp_path, *common, *flags, "--save", "w.safetensors", "--json", largest=largest)
    assert result.code == 2, result.err
    assert "Traceback" not in result.err
    assert all(sum(fact in line for line in result.err.splitlines()) == 1 for fact in facts)
    assert result.json["steps"] == 100
    assert listing(tmp_path).keys() == left
    if left:
        assert process(tmp_path, *common, "--headless", "--save", "blind.safetensors").code == 0
        assert weights_in(tmp_path / "w.safetensors") == weights_in(tmp_path / "blind.safetensors")


# ---- what is loaded


def test_help_loads_nothing_heavy():
    heavy = {"numba", "llvmlite", "vispy", "pydantic", "PIL", "safetensors", "imageio_ffmpeg", "skimage", "sklearn"}
    heavy |= {"scipy", "PySide6", "IPython", "torch", "asyncio", "multiprocessing.pool", "numpy", "scalarviz.scenes"}
    heavy |= {"scalarviz.view", "scalarviz.engine.cpu"}
    code = "import sys; from scalarviz.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = set(python(code).err.split())
    assert {"rich", "typer"} <= loaded  # what prints help
    assert not loaded & heavy


def test_the_program_is_started_where_ctrl_c_is_heard():
    """Nothing is loaded before the first line that listens."""
    assert "    scalarviz = scalarviz.__main__:start\n" in (ROOT / "setup.cfg").read_text(encoding="utf-8")
    result = python(
        "import sys; before = set(sys.modules); import scalarviz.__main__; print(*(set(sys.modules) - before))"
    )
    loaded = {name for name in result.out.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {"scalarviz", "scalarviz.__main__", "scalarviz.cli", "scalarviz.cli.interrupt"}


def test_the_front_door_loads_its_names_when_they_are_used():
    code = """
import sys, scalarviz as sv
print(sv.__version__, "numpy" in sys.modules, "scalarviz.front" in sys.modules)
print(sv.Value.__name__, "numpy" in sys.modules, {"Run", "nn", "view"} <= set(dir(sv)), "vispy" in sys.modules)
from scalarviz import *
print(Run is sv.Run, nn is sv.nn, view is sv.view, "TYPE_CHECKING" in globals())
sv.wher
"""
    result = python(code)
    assert result.out.splitlines() == ["0.1.0 False False", "Value True True False", "True True True False"]
    assert "did you mean 'where'" in result.err
    lacking = python("import sys; sys.modules['numpy'] = None; import scalarviz as sv; sv.Value")
    assert "ModuleNotFoundError: import of numpy halted" in lacking.err  # the package that lacks, not the folder


# ---- Ctrl-C


COMMAND = "import sys; sys.argv[0] = 'scalarviz'; from scalarviz.__main__ import start; sys.exit(start())"
WAYS = {"module": ["-m", "scalarviz"], "program": ["-c", COMMAND]}


@pytest.mark.parametrize(("way", "imports"), [("module", 3), ("program", 62), ("module", 140), ("program", 301)])
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
    "at the end of Python": (
        f"import atexit\natexit.register(lambda: ({ALARM.strip()}, print('on')))\nwith listening():\n    pass",
        130, "", INTERRUPTED,
    ),
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
    "with a closed stderr": (f"os.close(2)\nwith listening():\n    {ALARM}", 130, "", ""),
    "another error of a destructor": (
        "class Last:\n    def __del__(self):\n        1 / 0\nwith listening():\n    Last()", 0, "", "ZeroDivisionError",
    ),
}  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_at_any_moment_is_one_line(tmp_path, moment):
    code, exit_code, out, fact = MOMENTS[moment]
    result = python(LISTENING + code, tmp_path)
    assert (result.code, result.out) == (exit_code, out)
    assert result.err == f"{fact}\n" if fact == INTERRUPTED else fact in result.err


@pytest.mark.gl
def test_ctrl_c_on_a_terminal_reaches_the_encoder_too_and_the_film_is_whole(programs, tmp_path):
    named = ("--out", "x.mp4", "--out", "x.png", "--save", "w.safetensors")
    run = programs("rgb", "--engine", "numpy", "--duration", 600, *SMALL_PICTURE, *named)
    run.until(lambda: any(path.suffix == ".mp4" for path in tmp_path.iterdir()))
    time.sleep(0.5)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.ended() == 130, run.err
    assert listing(tmp_path).keys() == {"w.safetensors", "x.mp4", "x.png"}
    assert (tmp_path / "x.mp4").stat().st_size > 1000


# ---- scenes of one's own

OWN = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.scene import Scene

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
        ("def report(scene):\n    raise KeyError('r')\n", "line 13: KeyError: 'r'"),
        ("def report(scene):\n    return {'a': 'text'}\n", "report(scene): ValueError"),
        ("def finish(scene, options):\n    return 5\n", "finish(scene, options): TypeError"),
    ],
)
def test_what_fails_after_the_training_keeps_nothing_else_from_being_written(tmp_path, more, says):
    result = own(tmp_path, OWN + "\n" + more, "--json", "--save", "w.safetensors")
    assert (result.code, result.json["steps"]) == (2, 3)
    assert says in result.last
    assert "Traceback" not in result.err
    assert "wrote w.safetensors" in result.err
    assert weights_in(tmp_path / "w.safetensors")


@pytest.mark.parametrize("name", ["random.py", "numpy.py", "scalarviz.py"])
def test_a_scene_may_be_called_like_a_module_and_finds_the_files_beside_it(tmp_path, name):
    (tmp_path / "beside_the_scene.py").write_text("STEPS = 3\n")
    result = own(tmp_path, "import beside_the_scene\n" + OWN, "--json", "--save", "w.safetensors", name=name)
    assert result.code == 0, result.err
    assert result.json["scene"] == name[:-3]


def test_a_defect_of_ours_keeps_its_traceback(tmp_path):
    result = own(tmp_path, "from scalarviz.tape import lower\ndef build(o):\n    lower(None)\n")
    assert result.code == 1
    assert "Traceback" in result.err


def test_ctrl_c_ends_a_build_without_end(programs, tmp_path):
    (tmp_path / "mine.py").write_text("def build(o):\n    print('in', flush=True)\n    while True: pass\n")
    run = programs("mine.py", "--headless")
    run.until(lambda: run.out == "in\n")
    time.sleep(0.1)
    run.process.send_signal(signal.SIGINT)
    assert (run.ended(), run.err) == (130, f"{INTERRUPTED}\n")


# ---- sweeps


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_sweep_at_once_and_the_same_command_goes_on(programs, tmp_path, number, code):
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
    os.killpg(run.process.pid, number)  # as a terminal's Ctrl-C, which all processes get
    assert run.ended() == code, run.err
    word = "interrupted" if number == signal.SIGINT else "terminated"
    assert run.err.splitlines()[-1] == f"scalarviz: {word}; the same command goes on with r.svs"
    assert listing(tmp_path).keys() == {"r.svs"}
    with pytest.raises(ProcessLookupError):  # none of them is left
        while True:
            os.killpg(run.process.pid, 0)
            time.sleep(0.05)
    assert at_least <= done() < 99  # however busy the machine is


@pytest.mark.parametrize("streams", [">/dev/full", "| true"])
def test_where_nobody_reads_the_table_of_a_sweep_its_files_are_written(tmp_path, streams):
    line = ("sweep", "xor", "--engine", "numpy", "--steps", 5, "--seeds", 2, "--workers", 1, "--table", "t.csv")
    result = process(tmp_path, *line, streams=streams)
    assert "Traceback" not in result.err
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 3
    if streams == ">/dev/full":
        assert (result.code, result.last) == (
            2, "scalarviz: cannot write the result to stdout: no space left on device"
        )  # fmt: skip
