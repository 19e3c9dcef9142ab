"""benchmarks/gpu.py without a GPU: it says so; its flags, files, figures by hand; every part in the simulator."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.ci  # the simulator, or another process
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
BLOCKED = (
    "vispy",
    "pydantic",
    "typer",
    "rich",
    "PIL",
    "safetensors",
    "imageio_ffmpeg",
    "PySide6",
    "skimage",
    "sklearn",
)
"""What may be missing where it runs; and no connection is made."""
BLOCKER = f"""
import socket, sys
for name in {BLOCKED!r}:
    sys.modules[name] = None
def refused(*_, **__):
    raise OSError("a connection was made")
socket.socket.connect = refused
"""
IN_TURN = f"""
import os
if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
    sys.path.insert(0, {str(ROOT / "tests" / "cuda" / "simulated")!r})
    import in_turn
    in_turn.jit.simulated = in_turn.simulated
"""
"""The simulator's threads are greenlets: numba's own threads take ten times as long, and do the same (tests/cuda)."""
PARTS = ("there", "kernels", "suite", "determinism", "targets", "workloads", "graph", "frames", "costs", "compile")


@pytest.fixture
def load(monkeypatch):
    """Import a module of the folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name in {path.stem for path in FOLDER.glob("*.py")}:
            del sys.modules[name]


def started(place, *flags, code=BLOCKER, **around):
    """The script in a process of its own, where little is installed."""
    (place / "sitecustomize.py").write_text(code, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment |= {"PYTHONPATH": str(place), "SCALARVIZ_CACHE_DIR": str(place / "cache"), **around}
    command = [sys.executable, str(FOLDER / "gpu.py"), *flags]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def rows_of(place):
    return [json.loads(line) for line in (place / "gpu-results.jsonl").read_text(encoding="utf-8").splitlines()]


# ---- without a GPU


def test_without_a_gpu_every_part_says_so_and_that_is_no_failure(tmp_path):
    done = started(tmp_path, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("no GPU: ")]
    assert len(said) == len(PARTS), done.stdout
    assert all('engine="cuda"' in line for line in said)
    assert [row["part"] for row in rows_of(tmp_path) if row["what"] == "no GPU"] == list(PARTS)
    assert not [
        row
        for row in rows_of(tmp_path)
        if row["part"] not in ("run", "there") and row["what"] not in ("no GPU", "took")
    ]


def test_the_list_names_every_part_and_needs_nothing(tmp_path):
    done = started(tmp_path, "--list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(PARTS)
    assert not (tmp_path / "gpu-results.jsonl").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--only", "kernel"], r"no part 'kernel'; parts are there, kernels"),
        (["--budget", "0"], "above 0"),
        (["--budget", "nan"], "above 0"),
        (["--budget", "soon"], "invalid float"),
        (["--kernels", "nowhere"], "nowhere is no folder"),
        (["--architectures", "sm_90"], "numbers like 80,90"),
        (["--results", "no/such/folder.jsonl"], "is not there"),
        (["--device", "cpu"], "choose from"),
        (["--onl", "there"], "unrecognized"),
    ],
)
def test_wrong_flags_are_refused_with_what_is_allowed(load, flags, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        load("gpu").parsed(flags)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


# ---- in the simulator, where little is installed


def simulated(place, part, **around):
    done = started(place, "--device", "simulator", "--only", part, "--budget", "400", **around)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no GPU" not in done.stdout
    rows = [row for row in rows_of(place) if row["part"] == part]
    assert len(rows) > 1
    assert not [row for row in rows if row["ok"] is False]
    table = (place / "gpu-results.md").read_text(encoding="utf-8")
    assert "means nothing" in table
    assert all(row["what"].replace("|", "\\|") in table for row in rows)
    return rows


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Kernels of numba's, compiled once for all parts."""
    return str(tmp_path_factory.mktemp("kept"))


TWICE = ("targets", "workloads", "graph", "frames")
"""Too dear for `.ci/run`, where the PTX machine proves the same (tests/cuda/test_gpu_benchmark_parts.py).

`workloads` there are `targets`, which has the one tiny network too.
"""


def parts():
    """All parts with their tier; one is done by numba's own threads."""
    for part in PARTS:
        marks = pytest.mark.hunt if part in TWICE else pytest.mark.ci
        yield pytest.param(part, BLOCKER if part == "costs" else BLOCKER + IN_TURN, marks=marks, id=part)


@pytest.mark.parametrize(("part", "code"), list(parts()))
def test_every_part_in_the_simulator(tmp_path, kept, part, code):
    rows = simulated(tmp_path, part, code=code, SCALARVIZ_CACHE_DIR=kept)
    if part in ("kernels", "determinism", "suite"):
        assert [row for row in rows if row["ok"]]


# ---- files, time


def test_a_line_that_a_kill_cut_is_passed_over(load, tmp_path):
    rows, path = load("_gpu_rows"), tmp_path / "some.jsonl"
    assert rows.read(path) == []
    given = [
        rows.Row("a", "one | two", 2.5e-5, "s", target=1e-4, ok=True),
        rows.Row("b", "three", "word", remark="x\ny"),
    ]
    for row in given:
        rows.append(path, row)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"part": "c", "wh')
    assert rows.read(path) == given
    rows.write_table(tmp_path / "some.md", given, "# heading")
    lines = (tmp_path / "some.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# heading"
    assert lines[-2:] == [
        "| a | one \\| two | 25 us |  |  | 100 us | ok |  |",
        "| b | three | word |  |  |  |  | x y |",
    ]


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (2.0, "s", "2 s"),
        (0.25, "s", "250 ms"),
        (3e-9, "s", "3 ns"),
        (0.0, "s", "0 ns"),
        (7.0, "ulp", "7 ulp"),
        (None, "s", ""),
    ],
)
def test_numbers_are_shown_in_the_unit_that_fits(load, number, unit, words):
    assert load("_gpu_rows").shown(number, unit) == words


@pytest.mark.ci
@pytest.mark.skipif(sys.platform == "win32", reason="no process groups on Windows")
def test_a_part_that_takes_too_long_is_ended_with_all_it_started_and_keeps_its_rows(
    load, tmp_path, monkeypatch, capsys
):
    gpu = load("gpu")
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import subprocess, sys, time\n"
        f"sys.path.insert(0, {str(FOLDER)!r})\n"
        "from pathlib import Path\nfrom _gpu_rows import Row, append\n"
        "append(Path(sys.argv[sys.argv.index('--results') + 1]), Row('there', 'before the end', 1.0))\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"Path({str(tmp_path / 'child')!r}).write_text(str(child.pid))\n"
        "time.sleep(600)\n",
        encoding="utf-8",
    )
    popen = subprocess.Popen
    monkeypatch.setattr(
        gpu.subprocess, "Popen", lambda command, **rest: popen([command[0], str(slow), *command[2:]], **rest)
    )
    monkeypatch.setattr(gpu, "LEAST", 0.0)
    options = gpu.parsed(["--only", "there", "--budget", "5", "--results", str(tmp_path / "r.jsonl")])
    assert gpu.all_parts(options) == 1
    found = load("_gpu_rows").read(tmp_path / "r.jsonl")
    assert [(row.what, row.ok) for row in found][1:] == [("before the end", None), ("the part", False)]
    assert "ended after its 5 s" in capsys.readouterr().out
    child = int((tmp_path / "child").read_text())
    end = time.monotonic() + 10
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(child)


def _lives(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


def test_where_no_time_is_left_the_rest_is_not_begun(load, tmp_path):
    gpu = load("gpu")
    options = gpu.parsed(["--budget", "1", "--results", str(tmp_path / "r.jsonl")])
    assert gpu.all_parts(options) == len(PARTS)
    assert {row.remark for row in load("_gpu_rows").read(tmp_path / "r.jsonl")[1:]} == {"not run: no time was left"}


# ---- what is measured


def test_the_floor_is_arithmetic_by_the_data_sheet(load):
    """12-64x4-3: 13,248 weights; two operations each forward, for the weights, and back but for the first layer."""
    steps, ours, workloads = load("_gpu_steps"), load("_ours"), load("_workloads")
    problem = ours.build(workloads.named("UV 12-64x4-3 Adam, 65536"), "numpy").problem
    weights, first = 12 * 64 + 3 * 64 * 64 + 64 * 3, 12 * 64
    by_hand = 65_536 * (6 * weights - 2 * first) / 67e12
    assert 75e-6 < by_hand < 77e-6
    assert by_hand <= steps.floor(problem) <= 1.03 * by_hand


def test_a_form_that_is_launched_no_differently_is_not_measured_twice(load):
    forms, networks = load("_gpu_forms"), load("_gpu_networks")
    problem = next(iter(networks.checks())).build("numpy", "float32").problem
    found = forms.forms_of(problem)
    assert next(iter(found)) == forms.OWN
    assert forms.PLAIN in found
    listed = []
    for shape in found.values():
        with forms.taken(shape):
            listed.append([(x.kernel.name, x.grid, x.block, x.shared) for x in forms.launches(problem)])
    assert all(a != b for k, a in enumerate(listed) for b in listed[:k])


def test_the_checks_launch_every_kernel(load):
    forms, networks = load("_gpu_forms"), load("_gpu_networks")
    catalog = importlib.import_module("scalarviz.engine.cuda.catalog")
    launched = set()
    for case in networks.checks():
        problem = case.build("numpy", "float64").problem
        for shape in forms.forms_of(problem).values():
            with forms.taken(shape):
                launched |= {launch.kernel.name for launch in forms.launches(problem)}
    assert {name for name in catalog.names() if not name.startswith(("forward:", "backward:", "tile_"))} <= launched
    tiles = {name.split(":")[0] for name in launched if name.startswith("tile_")}
    assert tiles == {name for name in catalog.names() if name.startswith("tile_") and ":" not in name}


def test_errors_are_found(load, tmp_path, capsys):
    kernels, setting = load("_gpu_kernels"), load("_gpu_setting").Setting("some", tmp_path / "r.jsonl", tiny=True)
    wanted = np.array([1.0, 2.0, np.nan, np.inf, np.inf])
    fine = np.zeros(5)
    assert kernels._compare(wanted.copy(), wanted, fine) == (0.0, 0)
    assert kernels._compare(np.array([1.0, 2.0 + 4e-16, np.nan, np.inf, np.inf]), wanted, fine) == (1.0, 0)
    assert kernels._compare(np.array([1.0, 2.0, 0.0, -np.inf, 3.0]), wanted, fine)[1] == 3
    assert setting.check("small", 1e-13, 1e-12)
    assert not setting.check("large", 1e-11, 1e-12)
    assert not setting.check("none", float("nan"), 1e-12)
    assert [row.ok for row in load("_gpu_rows").read(tmp_path / "r.jsonl")] == [True, False, False]
    assert "NOT" in capsys.readouterr().out


def test_pytorch_trains_the_same(load):
    pytest.importorskip("torch", reason="needs the extra `oracle`")
    peers, ours, workloads = load("_gpu_torch"), load("_ours"), load("_workloads")
    work = workloads.named("XOR")
    for dtype in ("float32", "float64"):
        (steps,) = peers.contestants(work, dtype, "cpu").values()
        assert steps(10) == pytest.approx(ours.steps(ours.build(work, "numpy", dtype=dtype))(10), rel=1e-5)
