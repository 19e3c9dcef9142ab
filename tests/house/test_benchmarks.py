"""The benchmarks' goals, verdicts and reports; contestants train the same function; gpu.py where no GPU is.

Nothing here is timed.
"""

import importlib
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("[a-z]*.py")}
MEASURED = sorted(name for text in SCRIPTS.values() for name in re.findall(r"@benchmark\(.*\)\ndef (\w+)\(", text))


@pytest.fixture
def load(monkeypatch):
    """Import a module of the folder; what that adds to `sys.modules` and to the environment goes again."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in importlib.import_module("_timing").THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name in {path.stem for path in FOLDER.glob("*.py")}:
            del sys.modules[name]


def report_of(name):
    return json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))


def test_every_script_is_in_the_readme_and_has_a_report_of_a_full_run():
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"| `{name}.py` |" not in readme] == []
    assert sorted(path.stem for path in (FOLDER / "results").glob("*.json")) == MEASURED
    assert [name for name in MEASURED if f"`{name}`" not in readme] == []
    for name in MEASURED:
        report = report_of(name)
        assert report["benchmark"] == name
        assert re.fullmatch(r"python benchmarks/\w+\.py( \w+)?", report["command"])  # without a flag
        assert {"date", "commit", "versions", "seconds"} <= report.keys()
        assert {"processor", "cores", "system", "load_before"} <= report["machine"].keys()
        for timing in report["seconds"].values():
            assert 0 < timing["low"] <= timing["median"] <= timing["high"]
            assert timing["rounds"] >= 1


def test_a_report_names_a_commit_of_this_history_and_a_quiet_machine():
    """A shallow copy has no history to ask."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=FOLDER, capture_output=True, text=True, check=False)

    whole = git("rev-parse", "--is-shallow-repository").stdout.strip() == "false"
    for name in MEASURED:
        report, machine = report_of(name), report_of(name)["machine"]
        known = re.fullmatch("[0-9a-f]{10,}", report["commit"]) is not None
        found = not whole or git("merge-base", "--is-ancestor", report["commit"], "HEAD").returncode == 0
        quiet = machine["load_before"] < 0.5 * machine["cores"]
        assert (known, found, quiet) == (True, True, True), name


def test_the_verdicts_of_the_reports_follow_from_their_seconds(load, torch):
    peers, wide, gpt = load("peers"), load("wide_nets"), load("microgpt")
    report = report_of("peers")
    for work in load("_workloads").WORKLOADS:
        found = {tuple(key.rsplit(": ", 1)): timing["median"] for key, timing in report["seconds"].items()}
        medians = {name: median for (of, name), median in found.items() if of == work.name}
        assert report["goals"][work.name] == peers.reached(work, medians)
    report = report_of("wide_nets")
    assert report["summaries"] == wide.summaries(report["seconds"])
    assert report["goals"] == wide.goals(report["summaries"])
    report = report_of("microgpt")
    assert report["goals"] == gpt.goals({name: timing["median"] for name, timing in report["seconds"].items()})


# ---- the GPU's kernels, predicted


def test_the_prediction_of_a_kernel_is_within_one_and_a_half_of_what_was_measured(load):
    model = load("_gpu_model")
    lines = (FOLDER / "results" / "gpu_kernels.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for line in lines if "work" in (row := json.loads(line))]
    assert len(rows) > 25
    assert len({row["work"]["kernel"] for row in rows}) > 7
    for row in rows:
        predicted = 1e6 * model.Work(**row["work"]).seconds()
        assert predicted / 1.5 < row["measured_us"] < 1.5 * predicted, (row["network"], row["kernel"], predicted)


def test_the_prediction_of_tensor_cores_is_that_of_a_measured_kernel_of_the_same_design(load):
    model = load("_gpu_model")
    for batch, measured in model.TENSOR_CORES.items():
        tiles = batch // 128
        blocks = min(tiles, 132)
        predicted = model.tensor_cores(-(-tiles // blocks), blocks, 14_608, 7904, 11)
        assert predicted == pytest.approx(measured, rel=0.05), batch


@pytest.mark.ci
def test_the_predictions_in_the_documentation_are_those_of_what_is_launched_today(load):
    model, by, workloads = load("_gpu_model"), load("_contestants"), load("_workloads")
    lines = (FOLDER / "results" / "gpu_predicted.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row["network"]: row for row in map(json.loads, lines)}
    written, halves = ({name: row[key] for name, row in rows.items()} for key in ("step_us", "float16_us"))
    assert list(written) == [work.name for work in workloads.GPU_NETWORKS]
    assert all(halves[name] < seconds for name, seconds in written.items()), "float16 is slower than float32"
    for name in ("UV 12-64x4-3 Adam, 65536", "64 wide Adam, 8192", "CNN 1-8-16 28x28, 64"):
        (work,) = (work for work in workloads.GPU_NETWORKS if work.name == name)
        seconds = sum(one.seconds() for one in model.works(by.build(work, "numpy")._problem))
        assert written[name] == pytest.approx(1e6 * seconds, abs=0.1), f"{name}: run python benchmarks/_gpu_model.py"
        seconds = sum(one.seconds() for one in model.works(by.build(work, "numpy", dtype="float16")._problem))
        assert halves[name] == pytest.approx(1e6 * seconds, abs=0.1), f"{name}: run python benchmarks/_gpu_model.py"


def test_the_times_of_kernels_are_read_from_what_nsight_compute_prints(load):
    head = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
    rows = [f'"{k}","{name}","gpu__time_duration.sum","ns","{time}"' for k, (name, time) in
            enumerate((("join", "3,200"), ("block", "36,000"), ("join", "3,400"), ("join", "9,000")))]  # fmt: skip
    table = "\n".join(["==PROF== Connected to process 7", head, *rows])
    assert load("_gpu_steps").kernel_times(table) == {"join": 3400.0, "block": 36000.0}
    assert load("_gpu_steps").kernel_times("==ERROR== no permission") == {}


# ---- gpu.py


@pytest.mark.ci
def test_without_a_gpu_a_part_says_so_and_that_is_no_failure(tmp_path):
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(tmp_path / "cache"), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(FOLDER / "gpu.py"), "--only", "there,kernels"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("no GPU: ")]
    assert len(said) == 2, done.stdout
    assert all('engine="cuda"' in line for line in said)
    rows = [json.loads(line) for line in (tmp_path / "gpu-results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["part"] for row in rows if row["what"] == "no GPU"] == ["there", "kernels"]


@pytest.mark.ci
def test_the_checks_launch_every_kernel(load):
    networks = load("_gpu_networks")
    catalog = importlib.import_module("scalarviz.engine.cuda.catalog")
    launched = set()
    for case, dtype in product(networks.checks(), ("float64", "float16")):
        problem = case.build("numpy", dtype)._problem
        for shape in networks.forms_of(problem).values():
            with networks.taken(shape):
                launched |= {launch.kernel.name for launch in networks.launches(problem)}
    assert {name for name in catalog.names() if not name.startswith(("forward:", "backward:", "tile_"))} <= launched
    tiles = {name.split(":")[0] for name in launched if name.startswith("tile_")}
    assert tiles == {name for name in catalog.names() if name.startswith("tile_") and ":" not in name}
