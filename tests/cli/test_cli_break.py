"""``--break``: where a run stops without a window, what it says, and what is written all the same."""

from __future__ import annotations

import pytest

from scalarviz.io import load_tensors


def test_a_run_stops_there_and_says_which_and_where(rgb):
    whole = rgb("--steps", 2000, "--json").json
    stopped = rgb("--steps", 2000, "--json", "--break", "grad > 99", "--break", "loss < 0.01")
    line = stopped.json
    assert stopped.code == 3
    assert 100 < line["steps"] < whole["steps"]
    assert line["loss"] < 0.01
    assert line["hits"] == {"grad > 99": 0, "loss < 0.01": 1}
    assert line["stopped_by"].startswith(f"breakpoint 2 at step {line['steps']:,}: loss < 0.01 (loss 0.00")
    assert stopped.err.splitlines()[-1] == f"rgb: stopped by {line['stopped_by']}"
    before = rgb("--steps", line["steps"] - 1, "--json").json
    assert before["loss"] >= 0.01
    assert "stopped_by" not in before


def test_what_never_becomes_true_changes_nothing(rgb):
    plain = rgb("--steps", 300, "--json").json
    other = rgb("--steps", 300, "--json", "--break", "loss < 0.001")
    assert other.code == 0
    assert (other.json["loss"], other.json["steps"]) == (plain["loss"], 300)
    assert other.json["stopped_by"] is None


def test_what_was_asked_for_is_written(rgb, tmp_path):
    result = rgb("--steps", 500, "--break", "0.weight[2][1] crosses 0", "--save", "w.safetensors", "--out", "x.png")
    assert result.code == 3
    assert "breakpoint 1 at step 19: 0.weight[2][1] crosses 0 (0.weight[2][1] -0.00" in result.err
    assert (tmp_path / "x.png").stat().st_size > 1000
    assert load_tensors("w.safetensors")[0]["0.weight"][2, 1] < 0


def test_a_film_ends_there(rgb):
    result = rgb(
        "--steps", 400, "--duration", 1, "--size", "320x240", "--out", "x.mp4", "--break", "step == 37", "--json"
    )
    assert (result.code, result.json["steps"]) == (3, 37)


@pytest.mark.parametrize(
    ("text", "said", "under"),
    [
        ("los < 1", "did you mean 'loss'?", "^"),
        ("grad >> 10", "at character 7, there is '>'", "      ^"),
        ("0.weight[9][0] > 0", "there is no number 9", "^"),
        ("dead", "no rectifier", "^"),
        ("loss", "a condition is wanted", "^"),
    ],
)
def test_a_bad_condition_is_refused_with_a_caret_before_anything_is_done(rgb, tmp_path, text, said, under):
    result = rgb("--steps", 10, "--break", text, "--save", "w.safetensors")
    assert result.code == 2
    first, line, caret = result.err.splitlines()[-3:]
    assert first.startswith(f"scalarviz: --break: '{text}': at character")
    assert said in first
    assert (line, caret) == (f"    {text}", f"    {under}")
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_too_long(rgb):
    result = rgb("--break", "1" * 10_001)
    assert result.code == 2
    assert "10,001 characters" in result.err
    assert len(result.err.splitlines()) == 1


def test_a_run_that_diverges_fails_as_without(rgb):
    plain = rgb("--lr", "1e300", "--steps", 50)
    result = rgb("--lr", "1e300", "--steps", 50, "--break", "nan")
    assert (result.code, plain.code) == (2, 2)
    assert result.err.splitlines()[-1] == plain.err.splitlines()[-1]
    assert "diverged at step" in result.err
