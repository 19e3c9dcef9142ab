"""Streams that are closed or take nothing, in real processes: exit codes, JSON and files are right all the same."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from scalarviz import nn, optim
from scalarviz.cli.console import Progress
from scalarviz.cli.run import Ending, _report
from scalarviz.io import load_tensors
from scalarviz.run.run import Run
from scalarviz.run.scene import Scene

pytestmark = pytest.mark.slow  # the whole program, again and again

PROGRAM = [sys.executable, "-m", "scalarviz"]
RGB = ["rgb", "--headless", "--engine", "numpy", "--steps", "30", "--save", "w.safetensors"]


def shell(folder, *arguments, streams):
    """The program as a shell starts it with redirections."""
    line = f"{shlex.join([*PROGRAM, *arguments])} {streams}"
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "streams", ["2>&-", ">&-", "<&-", ">&- 2>&-", ">&- 2>&- <&-", "2>/dev/full", ">/dev/full", "2>&- <&-"]
)
@pytest.mark.parametrize("line", [False, True], ids=["", "json"])
def test_a_run_trains_and_saves_whatever_its_streams_are(tmp_path, streams, line):
    result = shell(tmp_path, *RGB, *(["--json"] if line else []), streams=streams)
    lost = line and any(word in streams.split() for word in (">&-", ">/dev/full"))
    assert result.returncode == (2 if lost else 0), result.stderr
    if line and not lost:
        assert json.loads(result.stdout)["steps"] == 30
    else:
        assert result.stdout == ""
    if lost and "2>" not in streams:
        assert result.stderr.splitlines()[-1].startswith("scalarviz: cannot write the result to stdout: ")
    assert "Traceback" not in result.stderr
    assert os.listdir(tmp_path) == ["w.safetensors"]
    assert load_tensors(tmp_path / "w.safetensors")[0].keys() == {"0.weight", "0.bias"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["scenes"], ["rgb", "--help"]])
@pytest.mark.parametrize("streams", [">&-", ">/dev/full", ">&- 2>&-"])
def test_a_result_that_cannot_be_written_is_an_error(tmp_path, arguments, streams):
    result = shell(tmp_path, *arguments, streams=streams)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    said = result.stderr.splitlines()
    assert said == [] if "2>" in streams else len(said) == 1


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_wrong_use_that_nobody_can_be_told_keeps_its_exit_code(tmp_path, streams):
    assert shell(tmp_path, "rgb", "--steps", "0", streams=streams).returncode == 2
    assert shell(tmp_path, "nonsense", streams=streams).returncode == 2


def test_a_closed_stderr_puts_no_message_among_the_results(tmp_path):
    assert shell(tmp_path, *RGB, streams="2>&-").stdout == ""
    assert shell(tmp_path, "nonsense", streams="2>&-").stdout == ""


def test_a_descriptor_that_is_closed_is_no_file_of_the_run(tmp_path):
    code = """if True:
        import os
        from scalarviz.cli.streams import usable
        with usable():
            opened = os.open("weights", os.O_WRONLY | os.O_CREAT)
            os.write(opened, str(opened).encode())
        """
    subprocess.run(["sh", "-c", shlex.join([sys.executable, "-c", code]) + " <&- >&- 2>&-"], cwd=tmp_path, check=True)
    assert int((tmp_path / "weights").read_text()) > 2


def test_letters_that_the_streams_cannot_encode(tmp_path):
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C", "COLUMNS": "1"}
    for arguments in (["--help"], ["rgb", "--help"], ["scenes"], ["rgb", "--load", "\u00e9\u20ac.safetensors"]):
        result = subprocess.run(
            [*PROGRAM, *arguments], cwd=tmp_path, env=env, capture_output=True, check=False, timeout=60
        )
        assert result.returncode == (2 if "--load" in arguments else 0)
        assert b"Traceback" not in result.stderr
        (result.stdout + result.stderr).decode("ascii")


# ---- a run that did nothing


def test_a_run_that_did_nothing_leaves_an_old_file_alone(rgb, tmp_path, press):
    assert rgb("--steps", 3, "--save", "w.safetensors").code == 0
    before = (tmp_path / "w.safetensors").read_bytes()
    press(Progress, "__enter__", 2)  # two Ctrl-C before the first step
    result = rgb("--steps", 10**9, "--seed", 5, "--save", "w.safetensors")
    assert result.code == 130
    assert "w.safetensors is as it was, since no step was done and nothing was edited" in result.err
    assert result.err.splitlines()[-1] == "scalarviz: interrupted again; nothing was written"
    assert (tmp_path / "w.safetensors").read_bytes() == before


def test_a_run_that_did_no_step_says_no_loss(capsys):
    """ "loss nan" is what a run says that has failed; a window can be closed before the first step."""
    net = nn.Sequential(nn.Linear(2, 1, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((2, 2)), np.ones((2, 1))), engine="numpy")
    loaded = SimpleNamespace(name="t", report=lambda scene: {})
    for wanted in (r"t: step 0, 0\.0 s in all", r"t: step 1, loss \d\S*, .*0\.0 s in all"):
        _report(loaded, Scene("t", run), False, Ending(seconds=0.0))
        said = capsys.readouterr().err
        assert re.fullmatch(wanted, said.strip()), said
        run.step(1)
    run.close()


def test_a_failing_first_step_leaves_an_old_file_alone(rgb, tmp_path, monkeypatch):
    assert rgb("--steps", 3, "--save", "w.safetensors").code == 0
    before = (tmp_path / "w.safetensors").read_bytes()

    def broken(self, *_, **__):
        raise AttributeError("'NoneType' object has no attribute 'isatty'")

    monkeypatch.setattr(Run, "step", broken)
    result = rgb("--steps", 3, "--seed", 5, "--save", "w.safetensors")
    assert result.code == 2
    assert sum("w.safetensors is as it was, since no step was done" in line for line in result.err.splitlines()) == 1
    assert (tmp_path / "w.safetensors").read_bytes() == before


def test_an_edit_alone_is_saved(rgb, tmp_path, monkeypatch):
    assert rgb("--steps", 3, "--save", "w.safetensors").code == 0

    def edited(self, *_, **__):
        self.set_weights(0, [0.125])
        raise RuntimeError("after the edit")

    monkeypatch.setattr(Run, "step", edited)
    assert rgb("--steps", 3, "--seed", 5, "--save", "w.safetensors").code == 2
    assert load_tensors(tmp_path / "w.safetensors")[0]["0.weight"][0, 0] == 0.125


# ---- a terminal that goes away


def test_a_terminal_that_closes_ends_the_run_and_keeps_the_weights(tmp_path):
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, *RGB[:-3], "1000000000", "--save", "w.safetensors"],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    while b"numpy" not in seen and program.poll() is None:  # the engine's line: a dumb terminal has no progress
        seen += os.read(ours, 4096)
    os.close(ours)  # what is written from here on is an error
    time.sleep(0.3)
    program.send_signal(signal.SIGHUP)
    assert program.wait(60) == 129, seen
    assert os.listdir(tmp_path) == ["w.safetensors"]
    load_tensors(tmp_path / "w.safetensors")


def test_nohup_is_honoured(tmp_path):
    program = subprocess.Popen(
        ["sh", "-c", f"trap '' HUP; exec {shlex.join([*PROGRAM, *RGB[:-3], '1000000000', *RGB[-2:]])}"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "numpy" in program.stderr.readline()
    time.sleep(0.3)
    program.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert program.poll() is None
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 130
    program.stderr.close()
