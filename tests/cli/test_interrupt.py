"""Ctrl-C at any moment of a command's start and end: one line, exit code 130, never a traceback."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = "scalarviz: interrupted"
COMMAND = "import sys; sys.argv[0] = 'scalarviz'; from scalarviz.__main__ import start; sys.exit(start())"
WAYS = {"module": ["-m", "scalarviz"], "program": ["-c", COMMAND]}
RUN = ["rgb", "--headless", "--engine", "numpy", "--steps", "1000"]


def interrupted_after(imports: int, way: str) -> tuple[int, list[str]]:
    """Exit code and messages of a run that gets Ctrl-C when so many more modules are loaded; -X importtime tells."""
    command = [sys.executable, "-X", "importtime", *WAYS[way], *RUN]
    lines, listening = [], 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            listening += bool(listening) or line.rstrip().endswith(" scalarviz.cli.interrupt")
            if listening == imports:
                process.send_signal(signal.SIGINT)
    return process.returncode, [line for line in lines if not line.startswith("import time:")]


MOMENTS = sorted(random.Random(3).sample(range(2, 380), 5))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("imports", [3, *MOMENTS])
def test_an_interrupt_while_modules_are_loaded_is_one_line(imports, way):
    """From the first module on that is loaded for the command; before it Python itself starts."""
    assert interrupted_after(imports, way) == (130, [INTERRUPTED])


def test_the_program_is_started_where_that_is_heard():
    """Nothing is loaded before the first line that listens."""
    assert "    scalarviz = scalarviz.__main__:start\n" in (ROOT / "setup.cfg").read_text(encoding="utf-8")
    code = "import sys; before = set(sys.modules); import scalarviz.__main__; print(*(set(sys.modules) - before))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {name for name in result.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {"scalarviz", "scalarviz.__main__", "scalarviz.cli", "scalarviz.cli.interrupt"}


def python(code: str) -> tuple[int, str, str]:
    code = "import os, signal, sys\nfrom scalarviz.cli.interrupt import listening\n" + code
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    return result.returncode, result.stdout, result.stderr


ALARM = "os.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize(
    "code",
    [
        # somewhere in the block, where nobody answers
        f"with listening():\n    {ALARM}    print('on')",
        # after the command, while Python ends
        f"with listening():\n    pass\n{ALARM}print('on')",
        f"import atexit\natexit.register(lambda: ({ALARM.strip()}, print('on')))\nwith listening():\n    pass",
        # where Python cannot raise
        "class Last:\n    def __del__(self):\n        " + ALARM + "        for _ in range(9): pass\n"
        "with listening():\n    Last()\n    print('on')",
    ],
    ids=["in a command", "after it", "at the end of Python", "in a destructor"],
)
def test_an_interrupt_that_nobody_answers_is_one_line(code):
    assert python(code) == (130, "", INTERRUPTED + "\n")


def test_a_module_that_swallows_everything_does_not_swallow_it(tmp_path):
    (tmp_path / "greedy.py").write_text(
        f"import os, signal\ntry:\n    {ALARM}    print('on')\nexcept BaseException:\n    print('swallowed')\n"
    )
    code = f"sys.path.insert(0, {str(tmp_path)!r})\nwith listening():\n    import greedy"
    assert python(code) == (130, "", INTERRUPTED + "\n")


def test_what_a_command_answers_itself_stays_its_own():
    """Outside of imports it is the usual exception, so that everything is cleaned up."""
    code = f"with listening():\n    try:\n        {ALARM}    finally:\n        print('cleaned up', flush=True)"
    assert python(code) == (130, "cleaned up\n", INTERRUPTED + "\n")


def test_other_unraisable_errors_are_shown_as_ever():
    code = "class Last:\n    def __del__(self):\n        1 / 0\nwith listening():\n    Last()"
    code, out, err = python(code)
    assert (code, out) == (0, "")
    assert "ZeroDivisionError" in err


def test_a_job_that_ignores_ctrl_c_goes_on_ignoring_it():
    code = f"signal.signal(signal.SIGINT, signal.SIG_IGN)\nwith listening():\n    {ALARM}    print('on')\n{ALARM}"
    assert python(code) == (0, "on\n", "")


def test_a_closed_stderr_changes_no_exit_code():
    code = f"os.close(2)\nwith listening():\n    {ALARM}"
    assert python(code)[0] == 130


def test_the_front_door_loads_its_names_when_they_are_used():
    code = """
import sys, scalarviz as sv
print(sv.__version__, "numpy" in sys.modules, "scalarviz.front" in sys.modules)
print(sv.Value.__name__, "numpy" in sys.modules, "vispy" in sys.modules, sv.errors.__name__, "Value" in vars(sv))
print({"Run", "nn", "view", "where"} <= set(dir(sv)), "vispy" in sys.modules)
try:
    sv.wher
except AttributeError as error:
    print(error)
from scalarviz import *
print(Run is sv.Run, nn is sv.nn, view is sv.view, "TYPE_CHECKING" in globals())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.splitlines() == [
        "0.1.0 False False",
        "Value True False scalarviz.errors True",
        "True False",
        "module 'scalarviz' has no attribute 'wher'; did you mean 'where'?",
        "True True True False",
    ]


def test_a_folder_that_lacks_a_package_names_the_package():
    """Not the folder: the front door would hide what has to be installed."""
    code = "import sys; sys.modules['numpy'] = None; import scalarviz as sv; sv.Value"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "ModuleNotFoundError: import of numpy halted" in result.stderr
    assert os.linesep not in result.stdout
