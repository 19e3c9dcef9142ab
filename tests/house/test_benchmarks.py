"""Rules of the benchmarks: goals, verdicts, reports, what a compiler may take; nothing here is timed. Of gpu.py without
a GPU: it says so; its flags, files, figures by hand; every part in the simulator."""

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

from scalarviz import process

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
MEASURING = [name for name in SCRIPTS if name not in ("readme_table", "gpu")]  # no GPU has run gpu.py
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="processes are measured on Linux and macOS")


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


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_in_the_list_of_the_readme(name):
    assert f"| `{name}.py` |" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MEASURING)
def test_every_script_has_a_report_with_what_is_needed_to_judge_it(name):
    report = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert report["benchmark"] == name
    assert report["command"] == f"python benchmarks/{name}.py", "figures of a full run, without flags"
    assert {"date", "commit", "versions", "seconds"} <= report.keys()
    assert {"processor", "cores", "system", "load_before"} <= report["machine"].keys()
    for timing in report["seconds"].values():
        assert 0 < timing["low"] <= timing["median"] <= timing["high"]
        assert timing["rounds"] >= 1


def test_no_report_is_left_of_a_script_that_is_gone():
    assert sorted(path.stem for path in (FOLDER / "results").iterdir()) == MEASURING


def test_the_goals_are_those_that_were_asked_for(load):
    workloads = load("_workloads")
    least = {
        w.name: tuple(w.goal[peer].least for peer in (workloads.EAGER, workloads.JAX)) for w in workloads.WORKLOADS
    }
    assert list(least.values()) == [
        (30, 6), (9, 3), (500, 1.5), (36, 3), (30, 3.5), (1.8, 1.25), (1.8, 2), (1.5, 3), (15, 10), (20, 4)
    ]  # fmt: skip
    assert all(goal.least < goal.aim for work in workloads.WORKLOADS for goal in work.goal.values())


def test_a_goal_is_reached_at_its_ratio_and_not_below(load):
    goals, workloads = load("_goals"), load("_workloads")
    work = workloads.named("rgb")  # 30 against PyTorch, 6 (aim 10) against the better of JAX
    medians = {"numba": 1.0, "PyTorch eager": 29.9, "PyTorch compiled": 99.0, "JAX jit": 10.0, "JAX scan": 12.0}
    found = goals.reached(work, medians)
    assert found["PyTorch eager"] == {
        "ratio": 29.9, "at_least": 30, "aim": 45, "reached": False, "aim_reached": False
    }  # fmt: skip
    assert found["best JAX"] == {"ratio": 10.0, "at_least": 6, "aim": 10, "reached": True, "aim_reached": True}
    lines = goals.table({work.name: found})
    assert lines[-1] == "1 of 2 reached"
    assert lines[1].split() == ["rgb", "3-3,", "1024", "29.90", "30", "/", "45", "NOT", "10.00", "6", "/", "10"]


def test_a_peer_that_was_not_measured_has_no_verdict(load):
    goals, work = load("_goals"), load("_workloads").named("XOR")
    found = goals.reached(work, {"numba": 1.0, "PyTorch eager": 600.0})
    assert list(found) == ["PyTorch eager"]
    assert goals.table({work.name: found})[-1] == "1 of 1 reached"


def test_the_verdicts_of_the_report_follow_from_its_seconds(load):
    goals, workloads = load("_goals"), load("_workloads")
    report = json.loads((FOLDER / "results" / "peers.json").read_text(encoding="utf-8"))
    for work in workloads.WORKLOADS:
        found = {tuple(key.rsplit(": ", 1)): timing["median"] for key, timing in report["seconds"].items()}
        medians = {name: median for (of, name), median in found.items() if of == work.name}
        assert report["goals"][work.name] == goals.reached(work, medians)
        compiled = f"{work.name}: PyTorch compiled"
        assert (compiled in report["seconds"]) != (compiled in report["not_measured"])


def test_one_measurement_is_its_own_median(load):
    timing = load("_timing")
    assert timing.timing_of([2.0]) == timing.Timing(2.0, 2.0, 2.0, 1)
    assert timing.timing_of([5.0, 1.0, 2.0, 4.0, 3.0]) == timing.Timing(3.0, 2.0, 4.0, 5)


def test_a_report_leaves_out_packages_that_are_not_there(load, monkeypatch, tmp_path):
    timing = load("_timing")
    monkeypatch.setattr(timing, "RESULTS", tmp_path)
    path = timing.write_report("some", {"a": timing.timing_of([1.0])}, ("numpy", "no-such-package"), extra=3)
    report = json.loads(path.read_text(encoding="utf-8"))
    assert sorted(report["versions"]) == ["numpy", "python"]
    assert report["extra"] == 3
    assert report["seconds"] == {"a": {"median": 1.0, "low": 1.0, "high": 1.0, "rounds": 1}}


@POSIX
@pytest.mark.ci
def test_a_process_is_timed_to_its_first_line_and_its_memory_to_the_end():
    """Measured by a small process: the system keeps a peak over fork and exec, and who runs tests may be large."""
    late = "print('{}', flush=True); import sys; block = bytearray(200_000_000); print(len(block))"
    asking = (
        f"import json, sys; sys.path.insert(0, {str(FOLDER)!r}); import _processes; "
        f"ended = _processes.fresh((sys.executable, '-c', {late!r})); print(json.dumps([ended.json(), ended.peak]))"
    )
    done = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True, check=True)
    said, peak = json.loads(done.stdout)
    assert said == {}
    assert 200_000_000 < peak < 2_000_000_000


@POSIX
@pytest.mark.ci
def test_a_process_that_fails_ends_the_benchmark_with_its_reason(load):
    with pytest.raises(SystemExit, match=r"(?s)no such thing.*exit code 3"):
        load("_processes").fresh(
            (sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)")
        )


@pytest.mark.ci
def test_the_probe_finds_that_a_new_network_compiles_nothing():
    asked = subprocess.run([sys.executable, FOLDER / "_probe.py", "new"], capture_output=True, text=True, check=True)
    found = json.loads(asked.stdout)
    assert (found["compiler passes"], found["new files"]) == (0, 0)
    assert found["new shape"].keys() == found["new expression"].keys() == {"record, lower, encode", "first step"}


@pytest.mark.parametrize("name", ["startup", "memory", "compile_times"])
def test_what_is_asked_for_is_measured(load, name):
    script = load(name)
    commands = script.COMMANDS
    assert set(getattr(script, "GOALS", {})) <= commands.keys()
    assert all(Path(command[0]) == Path(sys.executable) for command in commands.values())


def test_the_grid_of_widths_and_batches_says_its_mean_and_its_worst_point(load, torch):
    wide = load("wide_nets")
    medians = {
        "2 wide, 1, SGD, float32": (1.0, 0.5), "256 wide, 8, Adam, float64": (1.0, 4.0),
        "1024 wide, 1, SGD, float32": (2.0, 2.0),
    }  # fmt: skip
    seconds = {
        f"{point}: {name}": {"median": value}
        for point, pair in medians.items() for name, value in zip((wide.OURS, wide.EAGER), pair, strict=True)
    }  # fmt: skip
    seconds[f"1024 wide, 1, SGD, float32: {wide.ONEDNN}"] = {"median": 3.0}
    found = wide.summaries(seconds)
    assert found["all"] == {"points": 3, "mean": 1.26, "worst": 0.5, "worst_at": "2 wide, 1, SGD, float32"}
    assert (found["wide"]["mean"], found["wide"]["worst"]) == (2.0, 1.0)
    assert found["wide, float32"]["points"] == 1
    assert found["wide, float32, over oneDNN"]["mean"] == 1.5
    assert [goal["reached"] for goal in wide.goals(found).values()] == [False, True]


def test_the_grid_is_the_one_that_was_asked_for(load, torch):
    wide = load("wide_nets")
    assert (wide.WIDTHS[0], wide.WIDTHS[-1], wide.BATCHES[0], wide.BATCHES[-1]) == (2, 1024, 1, 8192)
    assert (wide.WORST, wide.MEAN) == (1.3, 1.6)
    report = json.loads((FOLDER / "results" / "wide_nets.json").read_text(encoding="utf-8"))
    assert report["summaries"] == wide.summaries(report["seconds"])
    assert report["goals"] == wide.goals(report["summaries"])
    assert report["summaries"]["all"]["points"] == len(wide.WIDTHS) * len(wide.BATCHES) * 4


def test_the_gpt_is_compared_by_what_was_asked_for(load, torch):
    gpt = load("microgpt")
    assert (gpt.ASKED, gpt.SCRIPT_ASKED) == ({1: 4.0, 32: 5.0, 512: 2.5}, 2000.0)
    report = json.loads((FOLDER / "results" / "microgpt.json").read_text(encoding="utf-8"))
    assert report["goals"] == gpt.goals({name: timing["median"] for name, timing in report["seconds"].items()})


@pytest.mark.ci
def test_the_peers_of_the_gpt_compute_its_loss(load, torch):
    gpt = load("microgpt")
    words = gpt.load_words(None, gpt.CONTEXT)
    short = type(words)(words.letters, [word for word in words.train if len(word) < 4][:20], [], gpt.CONTEXT)
    losses = {name: [steps(1) for _ in range(2)] for name, steps in gpt.contestants(short, 1).items()}
    assert len(losses) == 4
    for found in losses.values():
        assert found == pytest.approx(losses[gpt.OURS], rel=1e-5)


def test_the_products_of_onednn_are_those_of_a_layer(load, torch):
    linear = load("_peer_mkldnn").Linear(5, 3)
    x = torch.randn(7, 5, requires_grad=True)
    weights = torch.randn(7, 3)
    found = [linear(x), *torch.autograd.grad((linear(x) * weights).sum(), [x, *linear.parameters()])]
    plain = torch.nn.functional.linear(x, linear.weight, linear.bias)
    expected = [plain, *torch.autograd.grad((plain * weights).sum(), [x, *linear.parameters()])]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_networks_of_the_threads_are_there(load):
    names = [work.name for work in load("_workloads").WORKLOADS]
    for start in load("threads").CHOSEN:
        assert len([name for name in names if name.startswith(start)]) == 1


# ---- the contestants train the same function, and who may drop out does so with a reason

START = "import json, sys, time; import peers; from _workloads import named; say = lambda x: print(json.dumps(x))\n"


def in_a_process(code):
    """Its own process: the benchmark changes the threads of every library."""
    command = [sys.executable, "-c", START + code]
    result = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_contestants_have_the_same_losses_and_a_compiler_that_fails_is_left_out(torch):
    found = in_a_process(
        "work = named('XOR'); entered = peers.contestants(work, 1.0)\n"
        "def fails(count): raise RuntimeError('no C++ compiler\\nand more')\n"
        "entered['PyTorch compiled'].steps = fails\n"
        "measured = peers.check(work, entered)\n"
        "say([measured.missing, sorted(entered)])"
    )
    missing, left = found
    assert missing == {"PyTorch compiled": "RuntimeError: no C++ compiler"}
    assert {"numba", "NumPy tier", "NumPy by hand", "PyTorch eager", "objects (scaled)"} <= set(left)
    assert "PyTorch compiled" not in left


def test_contestants_that_train_something_else_stop_the_benchmark(torch):
    found = in_a_process(
        "work = named('XOR'); entered = peers.contestants(work, 1.0); del entered['PyTorch compiled']\n"
        "steps = entered['NumPy tier'].steps; entered['NumPy tier'].steps = lambda count: 1.01 * steps(count)\n"
        "try: peers.check(work, entered); say('nothing')\n"
        "except SystemExit as error: say(str(error))"
    )
    assert found.startswith("XOR 3-3-1, 4: the losses after 10 steps differ")


@POSIX
def test_compiling_is_bounded(torch):
    found = in_a_process(
        "try:\n"
        "    with peers.time_limit(0.1): time.sleep(60)\n"
        "except TimeoutError as error: say(str(error))\n"
        "with peers.time_limit(None): pass"
    )
    assert "longer than it was given" in found


BLOCKER = """
import socket, sys
for name in "vispy pydantic typer rich PIL safetensors imageio_ffmpeg PySide6 skimage sklearn".split():
    sys.modules[name] = None
def refused(*_, **__):
    raise OSError("a connection was made")
socket.socket.connect = refused
"""
"""What may be missing where gpu.py runs; and no connection is made."""
IN_TURN = f"""
import os
if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
    sys.path.insert(0, {str(FOLDER.parent / "tests" / "cuda" / "simulated")!r})
    import in_turn
    in_turn.jit.simulated = in_turn.simulated
"""
"""The simulator's threads are greenlets: numba's own threads take ten times as long, and do the same (tests/cuda)."""
PARTS = ("there", "kernels", "suite", "determinism", "targets", "workloads", "graph", "frames", "costs", "compile")


def started(place, *flags, code=BLOCKER, **around):
    """The script in a process of its own, where little is installed."""
    (place / "sitecustomize.py").write_text(code, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment |= {"PYTHONPATH": str(place), "SCALARVIZ_CACHE_DIR": str(place / "cache"), **around}
    command = [sys.executable, str(FOLDER / "gpu.py"), *flags]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def rows_of(place):
    return [json.loads(line) for line in (place / "gpu-results.jsonl").read_text(encoding="utf-8").splitlines()]


# ---- gpu.py without a GPU


@pytest.mark.ci
def test_without_a_gpu_every_part_says_so_and_that_is_no_failure(tmp_path):
    done = started(tmp_path, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("no GPU: ")]
    assert len(said) == len(PARTS), done.stdout
    assert all('engine="cuda"' in line for line in said)
    assert [row["part"] for row in rows_of(tmp_path) if row["what"] == "no GPU"] == list(PARTS)
    rows = [row for row in rows_of(tmp_path) if row["part"] not in ("run", "there")]
    assert {row["what"] for row in rows} == {"no GPU", "took"}


@pytest.mark.ci
def test_the_list_names_every_part_and_needs_nothing(tmp_path):
    done = started(tmp_path, "--list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(PARTS)
    assert not (tmp_path / "gpu-results.jsonl").exists()


@pytest.mark.ci
@pytest.mark.parametrize(("flags", "words"), [
    ("--only kernel", "no part 'kernel'; parts are there, kernels"), ("--budget 0", "above 0"),
    ("--budget nan", "above 0"), ("--budget soon", "invalid float"), ("--kernels nowhere", "nowhere is no folder"),
    ("--architectures sm_90", "numbers like 80,90"), ("--results no/such/folder.jsonl", "is not there"),
    ("--device cpu", "choose from"), ("--onl there", "unrecognized"),
])  # fmt: skip
def test_wrong_flags_are_refused_with_what_is_allowed(load, flags, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        load("gpu").parsed(flags.split())
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


PARTS_IN_TIERS = [pytest.param(part, marks=pytest.mark.hunt) if part in TWICE else part for part in PARTS]


@pytest.mark.ci
@pytest.mark.parametrize("part", PARTS_IN_TIERS)
def test_every_part_in_the_simulator(tmp_path, kept, part):
    code = BLOCKER if part == "costs" else BLOCKER + IN_TURN  # one is done by numba's own threads
    rows = simulated(tmp_path, part, code=code, SCALARVIZ_CACHE_DIR=kept)
    if part in ("kernels", "determinism", "suite"):
        assert [row for row in rows if row["ok"]]


# ---- files, time


@pytest.mark.ci
def test_a_line_that_a_kill_cut_is_passed_over(load, tmp_path):
    rows, path = load("_gpu_rows"), tmp_path / "some.jsonl"
    assert rows.read(path) == []
    one = rows.Row("a", "one | two", 2.5e-5, "s", target=1e-4, ok=True)
    given = [one, rows.Row("b", "three", "word", remark="x\ny")]
    for row in given:
        rows.append(path, row)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"part": "c", "wh')
    assert rows.read(path) == given
    rows.write_table(tmp_path / "some.md", given, "# heading")
    lines = (tmp_path / "some.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# heading"
    rest = "| a | one \\| two | 25 us |  |  | 100 us | ok |  |", "| b | three | word |  |  |  |  | x y |"
    assert tuple(lines[-2:]) == rest


@pytest.mark.ci
def test_numbers_are_shown_in_the_unit_that_fits(load):
    shown = load("_gpu_rows").shown
    given = [(2.0, "s"), (0.25, "s"), (3e-9, "s"), (0.0, "s"), (7.0, "ulp"), (None, "s")]
    assert [shown(*one) for one in given] == ["2 s", "250 ms", "3 ns", "0 ns", "7 ulp", ""]


@POSIX
@pytest.mark.ci
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
    child, end = int((tmp_path / "child").read_text()), time.monotonic() + 10
    while process.runs(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not process.runs(child)


@pytest.mark.ci
def test_where_no_time_is_left_the_rest_is_not_begun(load, tmp_path):
    gpu = load("gpu")
    options = gpu.parsed(["--budget", "1", "--results", str(tmp_path / "r.jsonl")])
    assert gpu.all_parts(options) == len(PARTS)
    assert {row.remark for row in load("_gpu_rows").read(tmp_path / "r.jsonl")[1:]} == {"not run: no time was left"}


# ---- what is measured


@pytest.mark.ci
def test_the_floor_is_arithmetic_by_the_data_sheet(load):
    """12-64x4-3: 13,248 weights; two operations each forward, for the weights, and back but for the first layer."""
    steps, ours, workloads = load("_gpu_steps"), load("_ours"), load("_workloads")
    problem = ours.build(workloads.named("UV 12-64x4-3 Adam, 65536"), "numpy").problem
    weights, first = 12 * 64 + 3 * 64 * 64 + 64 * 3, 12 * 64
    by_hand = 65_536 * (6 * weights - 2 * first) / 67e12
    assert 75e-6 < by_hand < 77e-6
    assert by_hand <= steps.floor(problem) <= 1.03 * by_hand


@pytest.mark.ci
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


@pytest.mark.ci
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


@pytest.mark.ci
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


def test_pytorch_trains_the_same(load, torch):
    peers, ours, workloads = load("_gpu_torch"), load("_ours"), load("_workloads")
    work = workloads.named("XOR")
    for dtype in ("float32", "float64"):
        (steps,) = peers.contestants(work, dtype, "cpu").values()
        assert steps(10) == pytest.approx(ours.steps(ours.build(work, "numpy", dtype=dtype))(10), rel=1e-5)
