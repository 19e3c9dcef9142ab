"""``scalarviz sweep``: the same numbers as runs alone, a table that other programs read, and going on after Ctrl-C."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.io import load_tensors
from scalarviz.process import runs
from scalarviz.sweep.table import MOST_LINES

XOR = ("xor", "--engine", "numpy", "--steps", 40)


@pytest.fixture
def here(cli, monkeypatch):
    """The command, computed in this process."""
    from scalarviz.sweep import sweep as module

    def alone(plan, workers, executor):
        return module.Here(), 1

    monkeypatch.setattr(module, "_owner", alone)
    return lambda *arguments: cli("sweep", *arguments)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_and_the_file_have_what_each_run_alone_has(here, cli):
    result = here(*XOR, "--activation", "sigmoid", "--grid", "lr=0.1 0.5", "--seeds", 2, "--results", "r.svs",
                  "--table", "r.csv")  # fmt: skip
    assert result.code == 0, result.err
    rows = read("r.csv")
    assert [(row["number"], row["lr"], row["seed"], row["state"], row["steps"]) for row in rows] == [
        ("0", "0.1", "0", "done", "40"), ("1", "0.5", "0", "done", "40"),
        ("2", "0.1", "1", "done", "40"), ("3", "0.5", "1", "done", "40"),
    ]  # fmt: skip
    with sv.sweep.Results("r.svs") as results:
        assert results.about.fixed == {"engine": "numpy", "activation": "sigmoid"}
        for row in rows:
            alone = cli(*XOR, "--activation", "sigmoid", "--lr", row["lr"], "--seed", row["seed"], "--headless",
                        "--save", "w.safetensors", "--json").json  # fmt: skip
            assert float(row["loss"]) == alone["loss"]
            assert row["right"] == str(alone["right"])
            assert row["learnt"] == str(int(alone["right"] == 4))
            tensors, _ = load_tensors("w.safetensors")
            for name, kept in results.weights(int(row["number"])).items():
                assert kept.tobytes() == tensors[name].tobytes()


def test_the_terminal_tells_quartiles_and_who_did_not_learn(here):
    result = here(*XOR, "--seeds", 5, "--table", "r.csv")
    assert "xor: 5 runs, 0 learnt it, 5 did not (seeds 0, 1, 2, 3, 4)" in result.err
    assert "wrote r.csv" in result.err.splitlines()
    losses = [float(row["loss"]) for row in read("r.csv")]
    heads, _, *lines = [line for line in result.out.splitlines() if line.strip()]
    assert heads.split() == ["runs", "learnt", "loss:", "quarter", "median", "three", "quarters", "right,", "median"]
    assert len(lines) == 1
    assert lines[0].split()[:2] == ["5", "0"]
    told = [float(number) for number in lines[0].split()[2:5]]
    assert told == pytest.approx(np.quantile(losses, [0.25, 0.5, 0.75]), rel=1e-3)


def test_every_combination_has_a_line_and_of_many_every_value(here):
    out = here(*XOR[:3], "--steps", 1, "--grid", "lr=0.1..0.5:3", "--grid", "batch=1 4", "--seeds", "7..7").out
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert [line[:2] for line in lines[2:]] == [[lr, b] for lr in ("0.1", "0.3", "0.5") for b in "14"]
    count = MOST_LINES // 2 + 1
    out = here(*XOR[:3], "--steps", 1, "--grid", f"lr=0.1..1:{count}", "--grid", "batch=1 4", "--seeds", 1).out
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert lines[0][:2] == ["option", "value"]
    assert [line[:3] for line in lines[-2:]] == [["batch", "1", str(count)], ["batch", "4", str(count)]]


@pytest.mark.slow
def test_a_report_needs_no_file_of_results(here, tmp_path):
    result = here(*XOR, "--seeds", 3, "--report", "r.html")
    assert result.code == 0, result.err
    assert "wrote r.html" in result.err
    assert os.listdir(tmp_path) == ["r.html"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "seed 2" in page


def test_options_of_every_kind_can_be_swept(here):
    for text, told in (
        ("hidden=8 16,16", ["8", "16,16"]),
        ("optimizer=sgd adam", ["sgd", "adam"]),
        ("schedule=linear cosine:5", ["linear", "cosine:5"]),
        ("pair=#000000:#ffffff #ff8800:#0044cc", ["#000000:#ffffff", "#ff8800:#0044cc"]),
        ("break='loss < 0.5' 'step > 3'", ["loss < 0.5", "step > 3"]),
        ("steps=1..3", ["1", "2", "3"]),
    ):
        result = here("rgb", "--engine", "numpy", "--batch", 8, *(() if "steps" in text else ("--steps", 5)),
                      "--grid", text, "--seeds", 1, "--table", "r.csv")  # fmt: skip
        assert result.code == 0, result.err
        rows = read("r.csv")
        name = next(iter(rows[0].keys() - {"number", "seed", "state", "steps", "loss", "seconds"}), "steps")
        name = (
            "steps" if "steps=" in text else {"break": "break_on"}.get(text.partition("=")[0], text.partition("=")[0])
        )
        assert [row[name] for row in rows] == told
        if name == "break_on":
            assert [row["steps"] for row in rows] == ["1", "4"]


def test_a_run_that_fails_is_named_and_the_others_are_told(here, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from scalarviz.scenes.xor import Options, build as of_xor\n"
        "def build(options):\n"
        "    if options.seed == 1:\n"
        "        raise KeyError('r')\n"
        "    return of_xor(options)\n",
        encoding="utf-8",
    )
    result = here("mine.py", "--engine", "numpy", "--steps", 3, "--seeds", 3, "--results", "r.svs")
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("scalarviz: 1 of 3 runs failed; seed 1: ")
    assert "mine.py, line 4: KeyError: 'r'" in result.err
    again = here("mine.py", "--engine", "numpy", "--steps", 3, "--seeds", 3, "--results", "r.svs")
    assert again.err.startswith("mine: 2 of 3 runs are in r.svs already")
    (tmp_path / "mine.py").write_text("from scalarviz.scenes.xor import Options, build\n", encoding="utf-8")
    other = here("mine.py", "--engine", "numpy", "--steps", 3, "--seeds", 3, "--results", "r.svs")
    assert other.code == 2
    assert "another text of its scene" in other.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "SCENE: nothing was given; wanted: which scene, or a scene's file"),
        (("xor", "--nope"), "Try: scalarviz sweep xor --help"),
        (("xor", "--grid", "lr=0.1,0.5"), "got '0.1,0.5'; between values stand blanks: 'lr=0.1 0.5'"),
        (("xor", "--grid", "lr=0.1", "0.5"), 'around an option and its values: --grid "lr=0.1 0.5 1"'),
        (("xor", "--lr", "0.1 0.5"), 'Try: --grid "lr=0.1 0.5", which tries each of them'),
        (("xor", "--lr", "0.1,0.5"), 'Try: --grid "lr=0.1 0.5", which tries each of them'),
        (("no_such",), "no scene 'no_such'"),
        (("xor", "--grid", "lr"), "--grid wants an option and its values"),
        (("xor", "--grid", "lr="), "--grid wants an option and its values"),
        (("xor", "--grid", "lr=0.1", "--grid", "lr=0.2"), "--grid: lr is given twice"),
        (("xor", "--grid", "lr=0.1", "--lr", "0.2"), "lr is swept and given as well"),
        (("xor", "--grid", "lr=0.1..1"), "how many?"),
        (("xor", "--grid", "lr=-1"), "--lr: input should be greater than 0, got '-1'\n"),
        (("xor", "--grid", "lr=a,b"), "unable to parse string as a number, got 'a,b'\n"),
        (("xor", "--grid", "colour=1"), "xor has no option 'colour'"),
        (("xor", "--grid", "theme=dark light"), "theme cannot be given"),
        (("xor", "--seeds", "0"), "--seeds: from 1 to 10,000"),
        (("xor", "--seed", "3"), "No such option"),
        (("xor", "--workers", "0"), "--workers: input should be greater than or equal to 1"),
        (("xor", "--keyframes", "-1"), "--keyframes: input should be"),
        (("xor", "--results", "r.db"), "try r.svs"),
        (("xor", "--results", "folder"), "it is a folder"),
        (("xor", "--table", "r.txt"), "try r.csv"),
        (("xor", "--table", "folder"), "it is a folder"),
        (("xor", "--report", "r.txt"), "try r.html"),
        (("xor", "--report", "r.html", "--table", "r.html"), "is named by --table and by --report"),
        (("xor", "--scheduler", "cluster"), "the scheduler's address is tls://HOST:PORT"),
        (("xor", "--scheduler", "tls://x:1", "--workers", "2"), "--workers is of processes of this machine"),
    ],
)
def test_what_cannot_be_is_said_in_a_line_and_nothing_is_written(cli, tmp_path, arguments, words):
    (tmp_path / "folder").mkdir()
    result = cli("sweep", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert words in result.err
    assert len(result.err.splitlines()) <= 2
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(getattr(signal, "SIGHUP", 1), 129, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_it_at_once_and_the_same_command_goes_on(tmp_path, number, code):
    command = [
        sys.executable, "-m", "scalarviz", "sweep", "xor", "--engine", "numpy", "--steps", "3000", "--seeds", "99",
        "--workers", "1", "--results", "r.svs",
    ]  # fmt: skip
    begun = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    done, end = 0, time.monotonic() + 120
    while done < 1 and time.monotonic() < end:
        time.sleep(0.05)
        if (tmp_path / "r.svs").exists():
            with sv.sweep.Results(tmp_path / "r.svs") as results:
                done = len(list(results.results()))
    os.killpg(begun.pid, number)  # as a terminal's Ctrl-C, which all processes get
    assert begun.stderr is not None
    with begun.stderr:
        said = begun.stderr.read()
    assert begun.wait(60) == code, said
    word = "interrupted" if number == signal.SIGINT else "terminated"
    assert said.splitlines()[-1] == f"scalarviz: {word}; the same command goes on with r.svs"
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == ["r.svs"]
    with pytest.raises(ProcessLookupError):  # none of them is left
        while any_in(begun.pid):
            os.killpg(begun.pid, 0)
            time.sleep(0.05)
    with sv.sweep.Results(tmp_path / "r.svs") as results:
        assert done <= 99 - len(results.missing()) < 99  # however busy the machine is


def any_in(group: int) -> bool:
    """Whether a group of processes is there; raises ProcessLookupError where it is not."""
    os.killpg(group, 0)
    return runs(os.getpid())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("where", ["full", "pipe"])
def test_where_nobody_reads_the_terminals_table_the_files_are_written_all_the_same(tmp_path, where):
    command = [sys.executable, "-m", "scalarviz", "sweep", "xor", "--engine", "numpy", "--steps", "5", "--seeds", "2",
               "--workers", "1", "--table", "t.csv"]  # fmt: skip
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full" if where == "full" else writer, "wb") as nobody:
        done = subprocess.run(command, cwd=tmp_path, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    why = "no space left on device" if where == "full" else "broken pipe"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2, f"scalarviz: cannot write the result to stdout: {why}"
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert len(read(tmp_path / "t.csv")) == 2
