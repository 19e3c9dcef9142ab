"""`scalarviz view FILE.svs`: pictures and a report of the runs of a sweep, and what is said without a display."""

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
    assert "runs: best: run" in result.err
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
