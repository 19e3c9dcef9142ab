"""`scalarviz view FILE.svs`: pictures and a report of the runs of a sweep, and what is said without a display."""

import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from PIL import Image

from scalarviz.sweep.sweep import sweep


@pytest.fixture
def results(tmp_path):
    with sweep("xor", None, 2, steps=30, options={"engine": "numpy"}, workers=0, results=tmp_path / "runs.svs") as runs:
        assert len(list(runs)) == 2
    return tmp_path


@pytest.mark.gl
def test_a_picture_and_a_report_are_written(cli, results):
    result = cli("view", "runs.svs", "--out", "runs.png", "--out", "runs.html", "--size", "640x400")
    assert (result.code, result.out) == (0, "")
    assert "runs: report: the best is trained again, to be played: run" in result.err
    assert "wrote runs.html" in result.err
    with Image.open(results / "runs.png") as picture:
        assert picture.size == (640, 400)
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 50
    assert (results / "runs.html").read_text(encoding="utf-8").count("<iframe") == 2  # of two the median is the best


def test_without_a_display_it_says_what_to_do(cli, results):
    result = cli("view", "runs.svs")
    assert result.code
    assert "try --out runs.png, or --out runs.html" in result.err
    assert "Traceback" not in result.err


OWN = """
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.panels import LossCurve

def build(options):
    net = nn.Sequential(nn.Linear(2, 1))
    net.initialize(seed=options.seed)
    data = np.eye(2), np.ones((2, 1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy")
    return sv.Scene("own", run, panels=(LossCurve(),))
"""


@pytest.mark.gl
def test_a_scene_of_ones_own_is_run_where_it_is_named_and_never_from_the_file(cli, tmp_path):
    mine, other = tmp_path / "mine.py", tmp_path / "other.py"
    mine.write_text(OWN)
    other.write_text(OWN + "\n")
    with sweep(str(mine), None, 2, steps=5, workers=0, results=tmp_path / "own.svs") as runs:
        assert {r.state for r in runs} == {"done"}
    cubes = cli("view", "own.svs", "--out", "cubes.html", "--out", "a.png")
    assert cubes.code == 0
    assert "with --scene mine.py" in cubes.err
    assert "<iframe" not in (tmp_path / "cubes.html").read_text(encoding="utf-8")
    built = cli("view", "own.svs", "--scene", "mine.py", "--out", "own.html", "--out", "b.png")
    assert (built.code, built.out) == (0, "")
    assert (tmp_path / "own.html").read_text(encoding="utf-8").count("<iframe") == 2
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()
    for path, why in (("other.py", "did not build these runs: another text of"), ("no.py", "cannot read the scene")):
        refused = cli("view", "own.svs", "--scene", path, "--out", "c.png")
        assert refused.code == 2
        assert why in refused.err
    refused = cli("view", "a.safetensors", "--scene", "mine.py", "--out", "c.png")
    assert refused.code == 2
    assert "--scene is of the runs of a sweep" in refused.err


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_ends_the_writing_of_a_report_and_leaves_nothing(cli, results, monkeypatch, name, code):
    """A process that SIGTERM ends by itself leaves its temporary files, and says nothing."""
    folders = []

    def player(*_args):
        with TemporaryDirectory() as folder:
            folders.append(Path(folder))
            signal.raise_signal(getattr(signal, name))
        return "", ""

    monkeypatch.setattr("scalarviz.view.sweeps.report.player_of", player)
    (results / "runs.html").write_text("of before", encoding="utf-8")
    result = cli("view", "runs.svs", "--out", "runs.html")
    word = "interrupted" if name == "SIGINT" else "terminated"
    assert (result.code, result.err.splitlines()[-1]) == (code, f"scalarviz: {word}")
    assert not folders[0].exists()
    assert (results / "runs.html").read_text(encoding="utf-8") == "of before"
