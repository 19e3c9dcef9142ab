"""A user's own scene file that goes wrong: one line that names the file and the line, and the weights are kept."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from scalarviz.io import load_tensors

GOOD = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.scene import Scene

def build(options):
    net = nn.Sequential(nn.Linear(2, 1))
    data = np.eye(2), np.ones((2, 1))
    return Scene("own", sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy"))
"""
BROKEN = [
    ("def build(o:\n", r"line 1: '\(' was never closed"),
    ("x = 'a\0b'\n", "line 1: source code string cannot contain null bytes"),
    ("\n1/0\n", "line 2: ZeroDivisionError: division by zero"),
    ("import no_such_module\n", "line 1: ModuleNotFoundError: No module named 'no_such_module'"),
    ("def f():\n    f()\nf()\n", "line 2: RecursionError"),
    ("build = 3\n", "has no function build"),
    ("Options = 3\ndef build(o): pass\n", "Options must be a subclass"),
    ("def build(o):\n    return 7\n", "must return a scalarviz.run.scene.Scene, got int"),
    ("def build(): pass\n", r"build\(options\): TypeError: build\(\) takes 0 positional arguments"),
    ("def build(o):\n    raise ValueError('two\\nlines')\n", "line 2: ValueError: two lines"),
    ("import numpy as np\ndef build(o):\n    np.zeros(-1)\n", "line 3: ValueError: negative dimensions"),
]


def own(folder, text, *arguments, name="mine.py", **settings):
    (folder / name).write_text(text)
    line = [sys.executable, "-P", "-m", "scalarviz", name, "--headless", "--steps", "3", *arguments]
    return subprocess.run(
        line, cwd=folder, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL, **settings
    )


@pytest.mark.parametrize(("text", "says"), BROKEN, ids=[says[:30] for _, says in BROKEN])
def test_a_broken_scene_is_one_line(cli, tmp_path, text, says):
    (tmp_path / "broken_scene.py").write_text(text)
    result = cli("broken_scene.py", "--headless", "--steps", 3, "--save", "w.safetensors")
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert line.startswith("scalarviz: ")
    assert "broken_scene.py" in line
    assert re.search(says, line), line
    assert not os.path.exists(tmp_path / "w.safetensors")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("def report(scene):\n    return 5\n", "report(scene): AttributeError"),
        ("def report(scene):\n    raise KeyError('r')\n", "line 13: KeyError: 'r'"),
        ("def report(scene):\n    return {'a': 'text'}\n", "report(scene): ValueError"),
        ("def finish(scene, options):\n    return 5\n", "finish(scene, options): TypeError"),
        ("def finish(scene, options):\n    raise KeyError('f')\n", "line 13: KeyError: 'f'"),
    ],
)
def test_what_fails_after_the_training_keeps_nothing_else_from_being_written(tmp_path, more, says):
    result = own(tmp_path, GOOD + "\n" + more, "--json", "--save", "w.safetensors")
    assert result.returncode == 2
    assert json.loads(result.stdout)["steps"] == 3
    assert says in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert "wrote w.safetensors" in result.stderr
    assert load_tensors(tmp_path / "w.safetensors")[0]


@pytest.mark.parametrize("name", ["random.py", "json.py", "typing.py", "numpy.py", "rich.py", "scalarviz.py", "PIL.py"])
def test_a_scene_may_be_called_like_a_module(tmp_path, name):
    result = own(tmp_path, GOOD, "--json", "--save", "w.safetensors", name=name)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["scene"] == name[:-3]


def test_a_scene_finds_the_files_beside_it(tmp_path):
    (tmp_path / "beside_the_scene.py").write_text("STEPS = 3\n")
    result = own(tmp_path, "import beside_the_scene\n" + GOOD, "--json")
    assert result.returncode == 0, result.stderr


def test_a_defect_of_ours_keeps_its_traceback(tmp_path):
    text = "from scalarviz.tape import lower\ndef build(o):\n    lower(None)\n"
    result = own(tmp_path, text)
    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_ctrl_c_ends_a_build_without_end(tmp_path):
    (tmp_path / "mine.py").write_text("import sys\ndef build(o):\n    print('in', flush=True)\n    while True: pass\n")
    line = [sys.executable, "-P", "-m", "scalarviz", "mine.py", "--headless"]
    program = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "in\n"
    time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=30)
    assert (program.returncode, said) == (130, "scalarviz: interrupted\n")


def test_a_name_that_is_no_scene(cli):
    for name, says in [
        ("n" * 5000 + ".py", "File name too long"),
        ("missing.py", "no scene file"),
        (".py", "no scene"),
    ]:
        result = cli(name, "--steps", 1)
        assert result.code == 2
        assert says in result.err
        assert len(result.err) < 500
