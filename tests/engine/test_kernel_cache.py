"""The cache of compiled kernels: found again, never stale, never in the way, never somebody else's code, filled once.

Imports internals: files of the cache are damaged, given away and planted, the package is copied, processes are killed.
"""

import ast
import os
import pickle
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kit.commands import python
from kit.networks import NETWORKS, SMALL
from kit.runs import make_run
from scalarviz.engine import cache as places
from scalarviz.engine.cpu import loader, source, units, wire
from scalarviz.errors import StateError
from scalarviz.run.engines import ready
from scalarviz.scalar import ops

ci = pytest.mark.ci
posix = pytest.mark.skipif(sys.platform == "win32", reason="sessions and signals of POSIX")
PACKAGE = Path(units.__file__).resolve().parents[2]
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty cache, in a process that has loaded nothing; call it to forget what was loaded since."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))

    def forget():
        monkeypatch.setattr(units, "LOADED", {})
        places.warn_once.cache_clear()
        loader.error_message.cache_clear()

    forget()
    yield forget
    loader.error_message.cache_clear()


@pytest.fixture
def unit(empty):
    """The folder of one compiled unit, in a cache of its own, as a new process finds it."""
    loader.row_addresses("neg", "float32")
    empty()
    return next(units.folder().glob("neg-*"))


def negated():
    """What the row kernel of ``neg`` makes of 1.5, wherever it came from."""
    x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
    address = loader.row_addresses("neg", "float32")["forward"]
    loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
    return y.tolist()


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- found again, by other processes and copies of the package

# One unit of each kind: written from the table, written for an optimiser, a kernel.
LOAD = """
import sys
from numba.core import caching, compiler
from scalarviz.engine.cpu import loader
import numpy as np
if "warm" in sys.argv:
    def compiled(self, *_):
        raise AssertionError(f"numba compiles {self.state.func_id.func_qualname}")
    def written(*_):
        raise AssertionError("the cache is written to")
    compiler.CompilerBase._compile_core = compiled
    loader._fill = caching.IndexDataCacheFile.save = written
address = loader.row_addresses("tanh", "float32")["forward"]
if "all" in sys.argv:
    loader.kernel_address("update_sgd", "float32")
    loader.kernel_address("zero", "float32")
x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
print(loader.__file__, float(y[0]))
"""


def start(package, cache, *how):
    # an edit of the same length with the same time would come out of Python's own cache as the old module
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-W", "error", "-c", LOAD, *how]
    return subprocess.Popen(command, env=environment, cwd=package.parent, **PIPES)


def load(process, package):
    """What the ``tanh`` of that copy of the package makes of 1.5."""
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, ""), err
    file, number = out.split()
    assert Path(file).is_relative_to(package)
    return float(number)


def clone(to, age, newline="\n"):
    """The package somewhere else, with other times and line endings."""
    shutil.copytree(PACKAGE, to / "scalarviz", ignore=shutil.ignore_patterns("__pycache__"))
    for path in to.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8", newline=newline)
        os.utime(path, (age, age))
    return to / "scalarviz"


@ci
def test_processes_that_compile_at_the_same_time_do_not_meet(tmp_path):
    found = [load(process, PACKAGE) for process in [start(PACKAGE, tmp_path) for _ in range(3)]]
    assert found == pytest.approx([float(np.tanh(1.5))] * 3, rel=1e-6)
    (version,) = tmp_path.iterdir()
    assert not list(version.glob("build-*"))


@ci
def test_copies_of_the_package_and_of_the_cache_compile_nothing_and_an_edited_function_gives_new_numbers(tmp_path):
    """At another path, with other times and line endings. numba's own cache sees the kernel's file alone, and the
    function that is edited at the end stands in another one."""
    first, second = clone(tmp_path / "first", 1e9), clone(tmp_path / "elsewhere" / "second", 1.7e9, "\r\n")
    cache, copied = tmp_path / "cache", tmp_path / "other" / "place"
    tanh = load(start(first, cache, "all"), first)
    before = contents(cache)
    shutil.copytree(cache, copied, copy_function=shutil.copyfile)  # the times are not copied
    assert load(start(second, copied, "all", "warm"), second) == tanh
    assert contents(copied) == contents(cache) == before
    indices = [content for name, content in before.items() if name.endswith(".nbi")]
    assert len(indices) >= 4
    assert not [content for content in indices if str(first).encode() in content]  # numba compares paths and times
    with pytest.raises(AssertionError, match="the cache is written to"):
        load(start(first, tmp_path / "nothing", "warm"), first)
    callee = first / "engine" / "cpu" / "compiled" / "math_float32.py"
    times, text = (callee.stat().st_atime_ns, callee.stat().st_mtime_ns), callee.read_text(encoding="utf-8")
    changed = text.replace("large = _ONE - _TWO", "large = _TWO - _TWO")
    assert changed != text
    callee.write_text(changed, encoding="utf-8")
    os.utime(callee, ns=times)  # not even the time tells
    assert load(start(first, cache), first) == pytest.approx(tanh + 1, rel=1e-6)


@pytest.mark.parametrize("damage", ["other bytes", "no checksum"])
def test_a_damaged_file_is_noticed_and_made_anew(unit, empty, damage):
    for path in unit.glob("*.nb*" if damage != "no checksum" else "checksum"):
        path.write_bytes(path.read_bytes()[:-64] + bytes(64)) if damage != "no checksum" else path.unlink()
    with pytest.warns(RuntimeWarning, match="damaged") as seen:
        assert negated() == [-1.5] * 4
    assert len(seen) == 1
    empty()
    assert units.intact(unit)
    assert negated() == [-1.5] * 4  # silently: a warning would be an error here


@pytest.mark.parametrize("fault", ["no folder", "full"])
def test_a_cache_that_cannot_be_written_costs_one_line(fault, empty, tmp_path, monkeypatch):
    def full(unit):
        raise OSError(28, "No space left on device")

    if fault == "full":
        monkeypatch.setattr(units, "seal", full)
    else:
        (tmp_path / "file").write_text("this is no folder")
        monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(RuntimeWarning, match="cannot keep compiled kernels") as seen:
        assert negated() == [-1.5] * 4
    assert len(seen) == 1
    assert loader.row_addresses("lt", "float32")["forward"]  # silently
    assert fault == "no folder" or list(units.folder().iterdir()) == []


def test_warm_means_every_unit_is_there(empty, tmp_path):
    tanh = units.rows_unit(ops.get("tanh"), "float32")
    for name in [*(units.core_unit(name, "float32") for name in wire.KERNELS), tanh]:
        assert not units.cache_is_warm("float32", ["tanh"])
        (units.folder() / name).mkdir(parents=True)
        units.seal(units.folder() / name)
    os.utime(units.folder(), (1_000, 1_000))  # two changes of one clock tick look like none
    assert units.cache_is_warm("float32", ["tanh"])
    assert not units.cache_is_warm("float64", ["tanh"])
    assert not units.cache_is_warm("float32", ["tanh", "exp"])
    (units.folder() / tanh).rename(units.folder() / "away")
    os.utime(units.folder(), (2_000, 2_000))
    assert not units.cache_is_warm("float32", ["tanh"])
    (units.folder() / "away").rename(units.folder() / tanh)
    (tmp_path / "cache").chmod(0o777)  # others can write it: cold, though its units were found
    assert not units.cache_is_warm("float32", ["tanh"])
    (tmp_path / "cache").chmod(0o700)
    assert units.cache_is_warm("float32", ["tanh"])


# ---- new networks compile nothing


@pytest.fixture
def never_compiled(monkeypatch):
    """A full cache; whatever would compile or write from here on is an error, wherever it does so."""
    from numba.core import caching, compiler

    loader.warmup()
    monkeypatch.setattr(units, "LOADED", {})  # as in a new process: everything is looked for again

    def compiled(self, *_):
        raise AssertionError(f"numba compiles {self.state.func_id.func_qualname}")

    def written(*_):
        raise AssertionError("the cache is written to")

    monkeypatch.setattr(compiler.CompilerBase, "_compile_core", compiled)
    # the folder itself tells nothing: other tests may fill it at the same time
    monkeypatch.setattr(loader, "_fill", written)
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", written)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_new_network_loss_rule_or_batch_compiles_nothing(network, never_compiled):
    dtype = ("float32", "float64")[len(network) % 2]
    for k, rule in enumerate(("sgd", "sgd_all", "adam", "adamw_decay")):
        batch = 7 if network == "batch norm" else (None, 7, 1, 7)[k]
        given = {"batch_size": batch, "samples": 3000 if k == 0 and network in SMALL else 24, "threads": 2}
        with make_run(network, ("mse", "l1")[k % 2], rule, engine="numba", dtype=dtype, **given) as run:
            run.step(3)
            run.predict(run.samples()[0][:3].reshape(3, *run._shapes[0]))
            run.set_weights(0, run.values[:1])
            run.step(2)


def modules_of(path):
    """Files of the package that one of its files imports, as paths in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for candidate in (base, *(base / alias.name for alias in node.names)):
                if candidate.with_suffix(".py").is_file():
                    found.add(candidate.with_suffix(".py").relative_to(PACKAGE).as_posix())
    return found


def test_whatever_a_hashed_file_imports_is_hashed_too():
    """But the names of the optimisers' updates (their code is in the names of their units) and the errors."""
    hashed = {name for name, _ in units.sources(PACKAGE, units.SOURCES)}
    imported = set().union(*(modules_of(PACKAGE / name) for name in hashed))
    assert imported - hashed == {"engine/cpu/source.py", "errors.py"}
    assert len(imported & hashed) > 15


def test_formulas_and_their_translator_are_in_the_names_of_generated_units(unit, tmp_path, monkeypatch):
    """A new operation compiles its own rows alone; the same formulas in other words are another unit."""
    before, op = contents(tmp_path), ops.Op("test_double", ("a",), "2 * a", ("2",))
    monkeypatch.setitem(ops.TABLE, "test_double", op)
    for name in ("neg", "test_double"):
        loader.row_addresses(name, "float32")
    new = contents(tmp_path).keys() - before.keys()
    assert {Path(name).parts[2] for name in new} == {units.rows_unit(op, "float32")}
    assert units.rows_unit(op, "float32") != units.rows_unit(ops.Op("test_double", ("a",), "a + a", ("2",)), "float32")
    with monkeypatch.context() as patch:
        patch.setattr(source, "_HEADER", source._HEADER + "# another line\n")
        source.module_source.cache_clear()
        assert units.rows_unit(op, "float32") not in {Path(name).parts[2] for name in new}
    source.module_source.cache_clear()


def test_numbas_settings_are_in_the_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = [units.key.__wrapped__()]
    for setting in units.SETTINGS:
        monkeypatch.setenv(setting, "1")
        found.append(units.key.__wrapped__())
    (tmp_path / ".numba_config.yaml").write_text("opt: 1\n")
    assert len({*found, units.key.__wrapped__()}) == len(found) + 1


# ---- other people's files


def refused(monkeypatch, *facts):
    """The kernels are compiled in memory, with one warning; nothing is read from the folder nor changed in it."""

    def touched(*_, **__):
        raise AssertionError("the cache is used")

    assert not loader.error_message()  # asked once a process
    for owner, name in ((loader, "use_folder"), (loader, "remove"), (units, "intact")):
        monkeypatch.setattr(owner, name, touched)
    assert not units.is_there(("rows", "neg", "float32"))
    with pytest.warns(RuntimeWarning) as seen:
        assert negated() == [-1.5] * 4
    (message,) = (str(warning.message) for warning in seen)
    for fact in (*facts, "SCALARVIZ_CACHE_DIR", "compiling in memory"):
        assert str(fact) in message


class Intruder:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("level", ["cache", "version", "unit", "index"])
def test_what_others_can_write_does_not_run_until_what_the_message_names_is_done(unit, level, tmp_path, monkeypatch):
    """A pickle in numba's index runs what it likes as soon as it is read, and checksums are no secret."""
    index, mark = next(unit.glob("*.nbi")), tmp_path / "it ran"
    path = {"cache": unit.parents[1], "version": unit.parent, "unit": unit, "index": index}[level]
    before = index.read_bytes()
    index.write_bytes(pickle.dumps(Intruder(mark)))
    units.seal(unit)
    path.chmod(path.stat().st_mode | 0o002)
    remedy = f"chmod -R go-w {shlex.quote(str(path))}"  # the names of numba's files have spaces
    with monkeypatch.context() as patch:
        refused(patch, path, "mode", remedy)
    assert not mark.exists()
    index.write_bytes(before)
    units.seal(unit)
    subprocess.run(shlex.split(remedy), check=True)
    assert units.is_there(("rows", "neg", "float32"))


@pytest.mark.skipif(not hasattr(os, "chown") or os.getuid() != 0, reason="only root may give files away")
def test_what_root_compiled_for_a_whole_class_runs_and_what_another_user_compiled_does_not(unit, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert units.is_there(("rows", "neg", "float32"))
    assert negated() == [-1.5] * 4
    os.chown(unit.parent, 54321, -1)
    units.LOADED.clear()
    with monkeypatch.context() as patch:
        refused(patch, unit.parent, "belongs to another user (number 54321)")


# ---- folders


@pytest.mark.parametrize(("platform", "variables", "expected"), [
    ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/scalarviz"), ("linux", {"HOME": "/home/u"}, "/home/u/.cache/scalarviz"),
    ("darwin", {"HOME": "/Users/u"}, "/Users/u/Library/Caches/scalarviz"),
    ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/scalarviz"),
    ("linux", {"XDG_CACHE_HOME": "/x", "SCALARVIZ_CACHE_DIR": "/own"}, "/own"),
])  # fmt: skip
def test_the_folder_is_the_platforms_own(monkeypatch, platform, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "SCALARVIZ_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(places.sys, "platform", platform)
    assert places.user_cache().as_posix() == expected


def test_what_is_old_goes_and_the_rest_stays(empty, tmp_path):
    """Versions that nobody used for a month; of another engine, and of other programs, nothing; unfinished ones."""
    home = tmp_path / "cache"
    old, day = time.time() - (places.UNUSED_DAYS + 1) * 86400, time.time() - 2 * 86400
    mine, others = places.CacheFolder(lambda: "0" * 16, "gpu-"), places.CacheFolder(lambda: "0" * 16)
    names = ["0" * 16, "1" * 16, "gpu-" + "0" * 16, "gpu-" + "1" * 16, "2" * 16, "photos"]
    for name in names:
        (home / name).mkdir(parents=True)
        os.utime(home / name, (old, old) if name != "2" * 16 else None)
    mine.prune()
    assert {p.name for p in home.iterdir()} == {*names} - {"gpu-" + "1" * 16}
    others.prune()
    assert {p.name for p in home.iterdir()} == {"0" * 16, "gpu-" + "0" * 16, "2" * 16, "photos"}
    folder = units.PLACE.make()
    for name, when in (("build-folder", day), ("build-young", time.time()), ("build-file", day), ("neg-unit", day)):
        (folder / name).touch() if name == "build-file" else (folder / name).mkdir()
        os.utime(folder / name, (when, when))
    units.PLACE.prune()
    assert sorted(p.name for p in folder.iterdir()) == ["build-young", "neg-unit"]
    os.utime(folder, (0, 0))
    loader.row_addresses("neg", "float32")  # a version that is used
    assert time.time() - folder.stat().st_mtime < 3600


# ---- warming up


@ci
def test_warmup_fills_the_cache_and_counts(empty, tmp_path, monkeypatch):
    """Operations that only this process knows are compiled here. All kernels: `never_compiled` above."""
    for owner in (loader, units):
        monkeypatch.setattr(owner, "KERNELS", ("zero", "load_int8", "update_sgd"))
    monkeypatch.setitem(ops.TABLE, "test_triple", ops.Op("test_triple", ("a",), "3 * a", ("3",)))
    names, seen = ["neg", "lt", "test_triple"], []
    loader.warmup(("float32",), ops=names, progress=lambda *report: seen.append(report))
    counts = [done for done, _, _ in seen]
    assert (counts[0], counts[-1], {n for _, n, _ in seen}) == (0, 6, {6})
    assert counts == sorted(set(counts))
    assert units.cache_is_warm("float32", names)
    assert not list(units.folder().glob("build-*"))
    before = contents(tmp_path / "cache")
    loader.warmup(("float32",), ops=names)
    assert contents(tmp_path / "cache") == before


@pytest.mark.parametrize(("units", "mode", "starts"), [(7, 0o700, False), (8, 0o700, True), (8, 0o777, False)])
def test_helpers_need_several_units_and_a_cache_to_share(units, mode, starts, empty, tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    helpers = places.start_helpers(loader.__name__, units, loader.PLACE)
    assert bool(helpers) == starts
    for helper in helpers:
        with helper:
            assert helper.wait(30) == 0


# ---- the first run on a machine

UNITS = [*(("kernel", name, "float32") for name in ("zero", "widen", "fold")),
         *(("rows", name, "float32") for name in ("neg", "lt", "abs", "add", "sub"))]  # fmt: skip


@ci
def test_a_first_run_compiles_what_it_needs_says_so_once_and_has_the_bits_of_later_ones(empty, capfd):
    runs = [make_run("mlp", "mse", "adam", engine="auto", samples=24, batch_size=7) for _ in range(2)]
    assert [run.engine.name for run in runs] == ["numba", "numba"]
    assert [ready(run) for run in runs] == [False, False]
    runs[0].step(3)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("scalarviz: compiling ")
    assert line.endswith("once; later starts find them in the cache")
    names = {path.name.partition("-")[0] for path in units.folder().iterdir() if path.is_dir()}
    assert "core" in names
    assert not {"exp", "conv"} & names
    empty()  # as in a new process
    assert ready(runs[1])
    runs[1].step(3)
    assert capfd.readouterr().err == ""
    assert runs[0].values.tobytes() == runs[1].values.tobytes()


@ci
def test_helpers_that_die_leave_their_units_to_this_process(empty, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    loader.fill(UNITS)
    assert all(map(units.is_there, UNITS))


@posix
def test_compiling_is_given_up_also_while_another_process_compiles(empty):
    with pytest.raises(StateError, match="cancelled"):
        loader.fill(UNITS, stopped=lambda: True)
    code = "import sys, scalarviz.engine.cpu.units as u\nwith u.PLACE.alone(bool):\n    print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, **PIPES) as other:
        other.stdout.readline()
        asked = []
        with pytest.raises(StateError, match="cancelled"):
            loader.fill(UNITS[:1], stopped=lambda: asked.append(0) or len(asked) > 3)
        assert not units.is_there(UNITS[0])
        os.kill(other.pid, signal.SIGKILL)  # the lock ends with its process
    loader.fill(UNITS[:1])
    assert units.is_there(UNITS[0])


RUN = """
import signal, numpy as np, scalarviz as sv
signal.signal(signal.SIGINT, signal.default_int_handler)
net = sv.nn.Sequential(sv.nn.Linear(3, 12), sv.nn.Tanh(), sv.nn.Linear(12, 3))
sv.Run(net, sv.nn.MSELoss(), sv.optim.Adam(net.parameters()), (np.ones((64, 3)), np.ones((64, 3)))).step(2)
"""


@ci
@posix
def test_ctrl_c_ends_a_run_that_compiles_at_once(empty):
    with subprocess.Popen([sys.executable, "-c", RUN], **PIPES) as process:
        assert process.stderr.readline().startswith("scalarviz: compiling")
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert process.wait(30) == -signal.SIGINT
        assert time.monotonic() - begun < 2
        assert process.stderr.read().rstrip().endswith("KeyboardInterrupt")


FORKS = """
import os, sys, threading, time
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim

def run(width):
    net = nn.Sequential(nn.Linear(4, width, seed=0), nn.Tanh(), nn.Linear(width, 2, seed=1))
    data = np.ones((8, 4)), np.ones((8, 2))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), data, engine="numba")

first = run(3)
thread = threading.Thread(target=first.step)
thread.start()
for wait in (0.1, 0.3, 1.0, 2.0):  # while numba is imported, while it compiles, later
    time.sleep(wait)
    if not (child := os.fork()):
        run(4).step()
        os._exit(0)
    for _ in range(600):
        if (ended := os.waitpid(child, os.WNOHANG)) != (0, 0):
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
    print(ended[1] if ended[0] else "hangs")
thread.join()
"""


@ci
@posix
def test_a_process_that_is_forked_during_another_threads_first_step_trains(tmp_path):
    result = python(FORKS, tmp_path, SCALARVIZ_CACHE_DIR=str(tmp_path))
    assert (result.out, result.code) == ("0\n" * 4, 0), result.err


SEVERAL = """
import os, threading
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.cpu import loader

def fork():
    for _ in range(30):
        if not (child := os.fork()):
            os._exit(0)
        os.waitpid(child, 0)

threads = [threading.Thread(target=fork, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
print(any(thread.is_alive() for thread in threads), loader.LOCK.acquire(timeout=5), flush=True)
os._exit(0)
"""


@ci
@posix
def test_several_threads_fork_at_once_and_the_compiler_is_free_afterwards(tmp_path):
    result = python(SEVERAL, tmp_path)
    assert (result.out, result.code) == ("False True\n", 0), result.err
