"""The cache of compiled kernels: never stale, never in the way, never a reason to crash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine import cpu
from scalarviz.engine.cache import place
from scalarviz.engine.cpu.cache import loader, warm
from scalarviz.engine.cpu.cache import units as cache
from scalarviz.engine.cpu.cache.place import PLACE
from scalarviz.scalar import ops

ROOT = Path(__file__).resolve().parents[2]

# Prints tanh(3/2) as the float32 row kernel computes it, and whether the cache was warm before.
SCRIPT = """
import numpy as np
from scalarviz.engine.cpu.cache import units as cache, loader
from scalarviz.scalar import ops
unit = cache.folder() / cache.rows_unit(ops.get("tanh"), "float32")
warm = unit.is_dir()
address = loader.row_addresses("tanh", "float32")["forward"]
x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
call = loader.callable_at(address)
call(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
print(repr(float(y[0])), warm)
"""


def start(folder, root: Path = ROOT) -> subprocess.Popen[str]:
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(folder), "PYTHONPATH": str(root)}
    # an edit of the same length with the same time would come out of Python's own cache as the old module
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=root,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[str]) -> tuple[float, bool, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    number, warm = out.split()
    return float(number), warm == "True", err


def run(folder, root: Path = ROOT) -> tuple[float, bool, str]:
    return finish(start(folder, root))


def files(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


TANH = float(np.tanh(np.float32(1.5)))


def test_a_second_process_compiles_nothing(tmp_path):
    first = run(tmp_path)
    before = files(tmp_path)
    second = run(tmp_path)
    assert first == (pytest.approx(TANH, rel=1e-6), False, "")
    assert second == (first[0], True, "")
    assert files(tmp_path) == before


@pytest.mark.slow
def test_an_edited_callee_gives_new_numbers(tmp_path):
    """numba's own cache sees the kernel's file alone, and the function that is edited here stands in another one."""
    copy, folder = tmp_path / "copy", tmp_path / "cache"
    shutil.copytree(ROOT / "scalarviz", copy / "scalarviz", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(folder, copy)[0] == pytest.approx(TANH, rel=1e-6)
    assert run(folder, copy)[1]
    callee = copy / "scalarviz" / "engine" / "cpu" / "compiled" / "math_float32.py"
    times = callee.stat().st_atime_ns, callee.stat().st_mtime_ns
    text = callee.read_text(encoding="utf-8")
    changed = text.replace("large = _ONE - _TWO", "large = _TWO - _TWO")
    assert changed != text
    callee.write_text(changed, encoding="utf-8")
    os.utime(callee, ns=times)  # not even the time tells
    assert run(folder, copy)[0] == pytest.approx(TANH + 1, rel=1e-6)


@pytest.mark.slow
def test_processes_that_compile_at_the_same_time_do_not_meet(tmp_path):
    processes = [start(tmp_path) for _ in range(3)]
    assert [finish(p)[0] for p in processes] == pytest.approx([TANH] * 3, rel=1e-6)
    (version,) = tmp_path.iterdir()
    assert not list(version.glob("build-*"))
    assert run(tmp_path)[1:] == (True, "")


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut short", "other bytes", "no checksum"])
def test_a_damaged_file_is_noticed_and_made_anew(tmp_path, damage):
    run(tmp_path)
    for path in tmp_path.rglob("*.nb*" if damage != "no checksum" else "checksum"):
        content = path.read_bytes()
        match damage:
            case "cut short":
                path.write_bytes(content[: len(content) // 2])
            case "other bytes":
                path.write_bytes(content[:-64] + bytes(64))
            case "no checksum":
                path.unlink()
    number, _, err = run(tmp_path)
    assert number == pytest.approx(TANH, rel=1e-6)
    assert len(err.splitlines()) == 1, err
    assert "are damaged and are made anew" in err
    assert run(tmp_path)[1:] == (True, "")


def test_a_folder_that_cannot_be_written_costs_one_line(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("this is no folder")
    number, _, err = run(blocked / "cache")
    assert number == pytest.approx(TANH, rel=1e-6)
    assert len(err.splitlines()) == 1, err
    assert "cannot keep compiled kernels" in err
    assert "SCALARVIZ_CACHE_DIR" in err


def test_a_full_disk_costs_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loader, "_LOADED", {})
    place.warn_once.cache_clear()

    def full(unit):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "seal", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert loader.row_addresses("neg", "float32")["forward"]
    assert loader.row_addresses("lt", "float32")["forward"]  # silently: a warning would be an error here
    assert list(cache.folder().iterdir()) == []


def test_warm_means_every_unit_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    assert not cpu.cache_is_warm("float32", ["tanh"])
    wanted = [cache.core_unit(name, "float32") for name in cache.CORE]
    wanted.append(cache.rows_unit(ops.get("tanh"), "float32"))
    for unit in wanted:
        assert not cpu.cache_is_warm("float32", ["tanh"])
        (cache.folder() / unit).mkdir(parents=True)
        cache.seal(cache.folder() / unit)
    assert cpu.cache_is_warm("float32", ["tanh"])
    assert not cpu.cache_is_warm("float64", ["tanh"])
    assert not cpu.cache_is_warm("float32", ["tanh", "exp"])


def test_asking_whether_the_cache_is_warm_loads_no_numba():
    code = (
        "import sys, scalarviz; from scalarviz.engine.cpu import cache_is_warm; "
        "cache_is_warm('float32', ['tanh']); print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.split() == ["False", "False"]


def test_training_loads_no_scipy_and_other_peoples_numba_still_finds_it():
    code = (
        "import sys, numba, numpy as np; from scalarviz.engine.cpu.cache import loader; "
        "loader.row_addresses('tanh', 'float32'); print('scipy.linalg' in sys.modules); "
        "dot = numba.njit(lambda a, b: np.vdot(a, b)); print(float(dot(np.arange(3.0), np.arange(3.0)))); "
        "print('scipy.linalg' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.split() == ["False", "5.0", "True"]


def test_a_new_operation_compiles_its_own_rows_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loader, "_LOADED", {})
    loader.row_addresses("neg", "float32")
    before = files(tmp_path)
    op = ops.TABLE.get("test_double") or ops.get(sv.register("test_double", "a", "2 * a", ("2",)).__name__)
    for name in ("neg", "test_double"):
        loader.row_addresses(name, "float32")
    new = {name.split(os.sep)[1] for name in set(files(tmp_path)) - set(before)}
    assert new == {cache.rows_unit(op, "float32")}
    assert {k: v for k, v in files(tmp_path).items() if k in before} == before


@pytest.fixture
def never_compiled(monkeypatch):
    """A full cache; whatever would compile or write from here on is an error, wherever it does so."""
    from numba.core import caching, compiler

    cpu.warmup()
    monkeypatch.setattr(loader, "_LOADED", {})  # as in a new process: everything is looked for again

    def compiled(self, *_):
        raise AssertionError(f"numba compiles {self.state.func_id.func_qualname}")

    def written(*_):
        raise AssertionError("the cache is written to")

    monkeypatch.setattr(compiler.CompilerBase, "_compile_core", compiled)
    # the folder itself tells nothing: other tests may fill it at the same time
    monkeypatch.setattr(loader, "_fill", written)
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", written)


W = [0.3, 0.5]
LAYERS = {
    "3-5-2": lambda: [nn.Linear(3, 5), nn.Linear(5, 2)],
    "3-17-33-2": lambda: [nn.Linear(3, 17), nn.ReLU(), nn.Linear(17, 33), nn.Sigmoid(), nn.Linear(33, 2)],
    "no bias": lambda: [nn.Linear(3, 4, bias=False), nn.LeakyReLU(0.3), nn.Linear(4, 2), nn.Softplus()],
    "softmax": lambda: [nn.Linear(3, 2), nn.LayerNorm(2), nn.Softmax()],
}
OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "adam": lambda p: optim.Adam(p, lr=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
}
PICTURES = {
    "3x3": (lambda: [nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2)], (1, 6, 6)),
    "stride and padding": (lambda: [nn.Conv2d(2, 3, (2, 5), stride=2, padding=2), nn.AvgPool2d(2)], (2, 7, 5)),
    "1x1": (lambda: [nn.Conv2d(3, 5, 1, bias=False), nn.Tanh()], (3, 4, 4)),
}


def trained(layers, loss, optimiser, data, dtype, batch=None, threads=1):
    """A few steps, a gradient and a prediction."""
    net = nn.Sequential(*layers)
    with sv.Run(net, loss, optimiser(net.parameters()), data, batch_size=batch, engine="numba", dtype=dtype,
                threads=threads) as run:  # fmt: skip
        run.step(3)
        assert np.isfinite(run.loss)
        run.predict(data[0][:3])
        run.model.freeze("*weight*")
        run.step(2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [1, 3])
def test_a_new_expression_compiles_nothing(depth, dtype, never_compiled):
    w = [sv.Weight(number) for number in W]

    def model(x):
        y = x[0]
        for _ in range(depth):
            y = (w[0] * y + w[1] * x[1] * y).tanh() * x[1] + sv.where(y < x[1], y.sin(), sv.max([y, x[0], w[0]]))
        return y

    run = sv.Run(model, nn.L1Loss(), optim.SGD(w, lr=0.1), ([[0.1, 0.2]], [[0.3]]), engine="numba", dtype=dtype)
    run.step(2)
    assert np.isfinite(run.loss)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_new_shape_compiles_nothing(dtype, never_compiled):
    x, y = np.random.default_rng(0).random((40, 3)), np.random.default_rng(1).random((40, 2))
    for number, layers in enumerate(LAYERS.values()):
        for batch in (None, 1, 7, 17 + number):
            trained(layers(), nn.MSELoss(), OPTIMISERS["sgd"], (x, y), dtype, batch)
    many = np.repeat(x, 100, axis=0), np.repeat(y, 100, axis=0)
    trained(LAYERS["3-17-33-2"](), nn.MSELoss(), OPTIMISERS["adam"], many, dtype, threads=2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_another_optimiser_or_loss_compiles_nothing(dtype, never_compiled):
    x, y = np.random.default_rng(0).random((12, 3)), np.random.default_rng(1).random((12, 2))
    labels = np.arange(12) % 2
    for optimiser in OPTIMISERS.values():
        for loss, targets in ((nn.MSELoss("sum"), y), (nn.L1Loss(), y), (nn.CrossEntropyLoss(), labels)):
            trained(LAYERS["3-5-2"](), loss, optimiser, (x, targets), dtype, 5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", PICTURES)
def test_a_new_picture_compiles_nothing(kind, dtype, never_compiled):
    layers, shape = PICTURES[kind]
    x = np.random.default_rng(0).random((9, *shape))
    with_end = [*layers(), nn.Flatten()]
    for batch in (None, 1, 4):
        outputs = sv.nn.Sequential(*with_end)(x[0].tolist())
        end = nn.Linear(len(outputs), 3)
        trained([*with_end, end], nn.CrossEntropyLoss(), OPTIMISERS["adam"], (x, np.arange(9) % 3), dtype, batch)


def test_the_guard_of_these_tests_sees_a_compiler(never_compiled, tmp_path, monkeypatch):
    import numba

    with pytest.raises(AssertionError, match="numba compiles"):
        numba.njit(lambda x: x + 1)(1)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))  # an empty one
    with pytest.raises(AssertionError, match="the cache is written to"):
        loader.row_addresses("neg", "float32")


def test_another_formula_under_the_same_name_is_another_unit():
    a = ops.Op("same", ("a",), "a + 1", ("1",))
    b = ops.Op("same", ("a",), "a + 2", ("1",))
    assert cache.rows_unit(a, "float32") != cache.rows_unit(b, "float32")


@pytest.mark.slow
def test_warmup_with_a_helper_fills_the_cache_and_counts(tmp_path, monkeypatch):
    """Operations that only this process knows are compiled here."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loader, "_LOADED", {})
    monkeypatch.setattr(warm, "CALLS", ())
    monkeypatch.setattr(cache, "CORE", cache.KERNELS)
    if "test_triple" not in ops.TABLE:
        sv.register("test_triple", "a", "3 * a", ("3",))
    names = ["neg", "lt", "test_triple"]
    seen = []
    cpu.warmup(("float32",), ops=names, progress=lambda *report: seen.append(report))
    total = len(cache.KERNELS) + len(names)
    counts = [done for done, _, _ in seen]
    assert counts[0] == 0
    assert counts[-1] == total
    assert counts == sorted(set(counts))
    assert {n for _, n, _ in seen} == {total}
    assert cpu.cache_is_warm("float32", names)
    assert not list(cache.folder().glob("build-*"))
    before = files(tmp_path)
    cpu.warmup(("float32",), ops=names)
    assert files(tmp_path) == before


class Helper:
    """A helper that makes one of its units each time it is looked at."""

    def __init__(self, made, units):
        self.made, self.left = made, list(units)

    def poll(self):
        if not self.left:
            return 0
        self.made.append(self.left.pop(0))
        return None

    def terminate(self):
        assert not self.left

    wait = terminate


@pytest.mark.parametrize("names", [("neg", "lt", "exp"), ("neg", "lt", "exp", "log")])
def test_a_helper_gets_every_second_unit_and_this_process_the_others(names, monkeypatch):
    here, there, said = [], [], []

    def progress(done, total, text):
        made = {name for _, name, _ in here + there}
        said.append(text)
        assert (done, total) == (len(made), 6 + len(names))
        assert text == "done" if done == total else text.removesuffix(", float32") not in made, "this one comes next"

    monkeypatch.setattr(warm, "KERNELS", ("combine", "outer", "fill", "zero", "maxima", "conv"))
    monkeypatch.setattr(warm, "CALLS", ())
    monkeypatch.setattr(warm, "_is_there", lambda unit: unit in here or unit in there)
    monkeypatch.setattr(warm, "_make", here.append)
    monkeypatch.setattr(warm, "_start_helper", lambda units: Helper(there, units))
    warm.warmup(("float32",), ops=names, progress=progress)
    units = [*(("kernel", name, "float32") for name in warm.KERNELS), *(("rows", name, "float32") for name in names)]
    assert (here, there) == (units[0::2], units[1::2])
    assert (said[0], said[-1], said.count("done")) == ("combine, float32", "done", 1)


@pytest.mark.parametrize(("count", "mode", "starts"), [(1, 0o700, False), (2, 0o700, True), (2, 0o777, False)])
def test_a_helper_needs_a_second_processor_and_a_cache_to_share(count, mode, starts, tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(folder))
    monkeypatch.setattr(warm, "processors", lambda: count)
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    helper = warm._start_helper([("rows", "neg", "float32")])
    assert (helper is not None) == starts
    if helper is not None:
        assert helper.wait(30) == 0


def test_the_users_own_numba_settings_stay():
    from numba.core import config

    before = config.CACHE_DIR
    loader.row_addresses("tanh", "float32")
    assert before == config.CACHE_DIR


def test_old_folders_go_and_young_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    old, young, foreign = (tmp_path / name for name in ("0" * 16, "1" * 16, "photos"))
    for folder in (old, young, foreign, cache.folder()):
        folder.mkdir()
    month = time.time() - (place.UNUSED_DAYS + 1) * 86400
    for folder in (old, foreign, cache.folder()):
        os.utime(folder, (month, month))
    PLACE.prune()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([young.name, foreign.name, cache.folder().name])


def test_an_engine_leaves_the_folders_of_others(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    mine, others = place.Place(lambda: "0" * 16, "gpu-"), place.Place(lambda: "0" * 16)
    names = ["0" * 16, "1" * 16, "gpu-" + "0" * 16, "gpu-" + "1" * 16]
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    mine.prune()
    assert sorted(p.name for p in tmp_path.iterdir()) == names[:3]
    others.prune()
    assert sorted(p.name for p in tmp_path.iterdir()) == [names[0], names[2]]


def test_what_a_killed_process_left_unfinished_goes_after_a_day(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    folder = PLACE.make()
    for name, days in (("build-folder", 2), ("build-young", 0), ("build-file", 2), ("neg-unit", 2)):
        (folder / name).touch() if name == "build-file" else (folder / name).mkdir()
        os.utime(folder / name, (time.time() - days * 86400,) * 2)
    PLACE.prune()
    assert sorted(p.name for p in folder.iterdir()) == ["build-young", "neg-unit"]


def test_a_version_that_is_only_loaded_counts_as_used(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loader, "_LOADED", {})
    loader.row_addresses("neg", "float32")
    os.utime(cache.folder(), (0, 0))
    monkeypatch.setattr(loader, "_LOADED", {})
    loader.row_addresses("neg", "float32")
    assert time.time() - cache.folder().stat().st_mtime < 3600


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/scalarviz"),
        ("linux", {"HOME": "/home/u"}, "/home/u/.cache/scalarviz"),
        ("darwin", {"HOME": "/Users/u"}, "/Users/u/Library/Caches/scalarviz"),
        ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/scalarviz"),
        ("linux", {"XDG_CACHE_HOME": "/x", "SCALARVIZ_CACHE_DIR": "/own"}, "/own"),
    ],
)
def test_the_folder_is_the_platforms_own(monkeypatch, platform, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "SCALARVIZ_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(place.sys, "platform", platform)
    assert place.user_cache().as_posix() == expected
