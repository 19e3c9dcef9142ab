"""What fills the cache, and for whom: its key is its content, one process at a time fills it, a helper shares the work.

Imports internals: copies of the package, other settings of numba, and processes that are killed in the middle.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scalarviz.engine import cpu
from scalarviz.engine.cache.place import warn_once
from scalarviz.engine.cpu.cache import background, loader, locator, units, warm
from scalarviz.engine.cpu.cache import key as keys
from scalarviz.engine.cpu.source import rows
from scalarviz.scalar import ops

ci = pytest.mark.ci
posix = pytest.mark.skipif(sys.platform == "win32", reason="sessions and signals of POSIX")
PACKAGE = Path(keys.__file__).resolve().parents[3]

# One unit of each kind: written from the table, written for an optimiser, a kernel, a function that Python calls.
LOAD = """
import sys
from numba.core import caching, compiler
from scalarviz.engine.cpu.cache import loader
import numpy as np
if sys.argv[1] == "warm":
    def compiled(self, *_):
        raise AssertionError(f"numba compiles {self.state.func_id.func_qualname}")
    def written(*_):
        raise AssertionError("the cache is written to")
    compiler.CompilerBase._compile_core = compiled
    loader._fill = caching.IndexDataCacheFile.save = written
address = loader.row_addresses("tanh", "float32")["forward"]
loader.kernel_address("update_sgd", "float32")
loader.kernel_address("zero", "float32")
loader.function("evaluate", "float32")
x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
print(loader.__file__, float(y[0]))
"""


def load(package, cache, state):
    """Load these units with a copy of the package; what its ``tanh`` makes of 1.5."""
    # an edit of the same length with the same time would come out of Python's own cache as the old module
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-W", "error", "-c", LOAD, state]
    result = subprocess.run(command, env=environment, cwd=package.parent, text=True, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    file, number = result.stdout.split()
    assert Path(file).is_relative_to(package)
    return float(number)


def clone(to, age, newline="\n"):
    """The package somewhere else, with other times and line endings."""
    shutil.copytree(PACKAGE, to / "scalarviz", ignore=shutil.ignore_patterns("__pycache__"))
    for path in to.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8", newline=newline)
        os.utime(path, (age, age))
    return to / "scalarviz"


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@ci
def test_copies_of_the_package_and_of_the_cache_compile_nothing_and_an_edited_function_gives_new_numbers(tmp_path):
    """At another path, with other times and line endings. numba's own cache sees the kernel's file alone, and the
    function that is edited at the end stands in another one."""
    first, second = clone(tmp_path / "first", 1e9), clone(tmp_path / "elsewhere" / "second", 1.7e9, "\r\n")
    cache, copied = tmp_path / "cache", tmp_path / "other" / "place"
    tanh = load(first, cache, "cold")
    before = contents(cache)
    assert load(second, cache, "warm") == tanh == pytest.approx(0.905148, rel=1e-5)
    shutil.copytree(cache, copied, copy_function=shutil.copyfile)  # the times are not copied
    for package in (first, second):
        assert load(package, copied, "warm") == tanh
    assert contents(copied) == contents(cache) == before
    indices = [content for name, content in before.items() if name.endswith(".nbi")]
    assert len(indices) >= 5
    assert not [content for content in indices if str(first).encode() in content]  # numba compares paths and times
    with pytest.raises(AssertionError, match="the cache is written to"):
        load(first, tmp_path / "nothing", "warm")
    callee = first / "engine" / "cpu" / "compiled" / "math_float32.py"
    times, text = (callee.stat().st_atime_ns, callee.stat().st_mtime_ns), callee.read_text(encoding="utf-8")
    changed = text.replace("large = _ONE - _TWO", "large = _TWO - _TWO")
    assert changed != text
    callee.write_text(changed, encoding="utf-8")
    os.utime(callee, ns=times)  # not even the time tells
    assert load(first, cache, "cold") == pytest.approx(tanh + 1, rel=1e-6)


# ---- the key


def key_of(package, monkeypatch):
    monkeypatch.setattr(keys, "PACKAGE", package)
    return keys.key.__wrapped__()


COMPILED = ("engine/cpu/compiled/", "engine/cpu/vector/", "engine/cpu/wire.py", "rng.py", "scalar/erf.py")


@ci
def test_the_key_changes_with_what_becomes_machine_code_and_with_nothing_else(tmp_path, monkeypatch):
    package = clone(tmp_path, 1e9)
    before = key_of(package, monkeypatch)
    monkeypatch.setattr(keys, "PACKAGE", PACKAGE)
    assert before == keys.key.__wrapped__()
    names = [
        path.relative_to(package).as_posix()
        for part in ("engine", "scalar", ".")
        for path in sorted((package / part).glob("*.py" if part == "." else "**/*.py"))
    ]
    compiled = [name for name in names if name.startswith(COMPILED)]
    others = [name for name in names if not name.startswith(COMPILED)][::5]
    assert len(compiled) > 20
    assert len(others) > 15
    for name in (*compiled, *others):
        text = (package / name).read_text(encoding="utf-8")
        (package / name).write_text(text + "# another line\n", encoding="utf-8")
        assert (key_of(package, monkeypatch) != before) == (name in compiled), name
        (package / name).write_text(text, encoding="utf-8")
    for gone in COMPILED:
        away = (package / gone).rename(tmp_path / "away")
        with pytest.raises(RuntimeError, match="without the sources"):
            key_of(package, monkeypatch)
        away.rename(package / gone)


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
    hashed = {name for name, _ in keys.sources(PACKAGE, keys.SOURCES)}
    imported = set().union(*(modules_of(PACKAGE / name) for name in hashed))
    assert imported - hashed == {"engine/cpu/source/updates.py", "errors.py"}
    assert len(imported & hashed) > 15


def test_the_translator_is_in_the_names_of_generated_units(monkeypatch):
    """The same formulas in other words are another unit."""
    makes = (lambda: units.rows_unit(ops.get("tanh"), "float32"), lambda: units.core_unit("update_adam", "float32"))

    def names():
        units.rows_source.cache_clear()
        units.updates_source.cache_clear()
        return [make() for make in makes]

    before = names()
    with monkeypatch.context() as patch:
        patch.setattr(rows, "_HEADER", rows._HEADER + "# another line\n")
        assert not set(names()) & set(before)
    assert names() == before


@pytest.mark.parametrize("setting", [*keys.SETTINGS, ".numba_config.yaml"])
def test_numbas_settings_are_in_the_key(setting, tmp_path, monkeypatch):
    monkeypatch.delenv(setting, raising=False)
    monkeypatch.chdir(tmp_path)
    before = keys.key.__wrapped__()
    (tmp_path / setting).write_text("opt: 1\n") if setting.startswith(".") else monkeypatch.setenv(setting, "1")
    assert keys.key.__wrapped__() != before


# ---- numba's own cache


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty cache, in a process that has loaded nothing."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(loader, "_LOADED", {})
    warn_once.cache_clear()
    locator.trouble.cache_clear()
    yield tmp_path / "cache"
    locator.trouble.cache_clear()


@pytest.mark.parametrize("missing", ["list", "probe"])
def test_a_numba_of_other_insides_compiles_in_memory_with_one_warning(missing, empty, monkeypatch):
    from numba.core import caching

    if missing == "list":
        monkeypatch.delattr(caching.CacheImpl, "_locator_classes")
    else:  # it has the list, and asks somebody else
        monkeypatch.setattr(locator.OurLocator, "from_function", classmethod(lambda *_: None))
        monkeypatch.setattr(locator.config, "CACHE_DIR", str(empty.parent / "numbas"))
    with pytest.warns(RuntimeWarning, match="compiling in memory") as seen:
        assert loader.row_addresses("neg", "float32")["forward"]
    assert len(seen) == 1
    assert loader.row_addresses("lt", "float32")["forward"]  # silently: a warning would be an error here
    assert not empty.exists()


def test_the_users_own_settings_and_cached_functions_stay_theirs(empty, tmp_path, monkeypatch):
    """numba asks those of NUMBA_CACHE_LOCATOR_CLASSES alone: our kernels stay ours."""
    from numba.core import caching

    before = locator.config.CACHE_DIR
    monkeypatch.setattr(locator.config, "CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")
    loader.row_addresses("neg", "float32")
    assert units.has_rows("neg", "float32")
    assert ("InTreeCacheLocator", before) == (locator.config.CACHE_LOCATOR_CLASSES, locator.config.CACHE_DIR)
    monkeypatch.setattr(locator.config, "CACHE_LOCATOR_CLASSES", "")
    monkeypatch.setattr(locator.config, "CACHE_DIR", str(tmp_path / "numbas"))
    assert Path(caching.FunctionCache(key_of).cache_path).parent == tmp_path / "numbas"


def test_a_unit_of_another_processor_is_made_anew(empty, monkeypatch):
    """Its files are whole, but numba finds nothing for this processor in them, and must not write there."""
    loader.row_addresses("neg", "float32")
    (unit,) = units.folder().iterdir()
    monkeypatch.setattr(loader, "_LOADED", {})
    monkeypatch.setattr(loader, "_stamp", lambda unit: f"other/{unit}")
    with pytest.warns(RuntimeWarning, match="made anew"):
        assert loader.row_addresses("neg", "float32")["forward"]
    assert units.intact(unit)


@ci
def test_who_asks_loads_no_numba_and_who_trains_no_scipy():
    code = (
        "import sys, scalarviz; from scalarviz.engine.cpu import cache_is_warm; cache_is_warm('float32', ['tanh']); "
        "print('numba' in sys.modules or 'llvmlite' in sys.modules); import numba, numpy as np; "
        "from scalarviz.engine.cpu.cache import loader; loader.row_addresses('tanh', 'float32'); "
        "print('scipy.linalg' in sys.modules); dot = numba.njit(lambda a, b: np.vdot(a, b)); "
        "print(float(dot(np.arange(3.0), np.arange(3.0))), 'scipy.linalg' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "5.0", "True"]


# ---- warming up


@ci
def test_warmup_fills_the_cache_and_counts(empty, monkeypatch):
    """Operations that only this process knows are compiled here."""
    monkeypatch.setattr(warm, "CALLS", ())
    monkeypatch.setattr(units, "CORE", units.KERNELS)
    monkeypatch.setitem(ops.TABLE, "test_triple", ops.Op("test_triple", ("a",), "3 * a", ("3",)))
    names, seen = ["neg", "lt", "test_triple"], []
    cpu.warmup(("float32",), ops=names, progress=lambda *report: seen.append(report))
    counts = [done for done, _, _ in seen]
    assert (counts[0], counts[-1], {n for _, n, _ in seen}) == (0, len(units.KERNELS) + 3, {len(units.KERNELS) + 3})
    assert counts == sorted(set(counts))
    assert cpu.cache_is_warm("float32", names)
    assert not list(units.folder().glob("build-*"))
    before = contents(empty)
    cpu.warmup(("float32",), ops=names)
    assert contents(empty) == before


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
    every = [*(("kernel", name, "float32") for name in warm.KERNELS), *(("rows", name, "float32") for name in names)]
    assert (here, there) == (every[0::2], every[1::2])
    assert (said[0], said[-1], said.count("done")) == ("combine, float32", "done", 1)


@ci
@pytest.mark.parametrize(("count", "mode", "starts"), [(1, 0o700, False), (2, 0o700, True), (2, 0o777, False)])
def test_a_helper_needs_a_second_processor_and_a_cache_to_share(count, mode, starts, empty, monkeypatch):
    empty.mkdir()
    empty.chmod(mode)
    monkeypatch.setattr(warm, "processors", lambda: count)
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    helper = warm._start_helper([("rows", "neg", "float32")])
    assert (helper is not None) == starts
    assert helper is None or helper.wait(30) == 0


# ---- in the background

# a fake warm-up: says that it works, and works until it may end (or 30 s)
FAKE = """
import os, sys, time
from pathlib import Path
from scalarviz.engine.cpu.cache import background
here = Path(sys.argv[1])
with background.holding() as mine:
    if mine:
        (here / f"worked-{os.getpid()}").write_text(str(os.getsid(0)))
    end = time.monotonic() + 30
    while mine and not (here / "enough").exists() and time.monotonic() < end:
        time.sleep(0.02)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A command that holds the cache's lock until a file called ``enough`` is there."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(background.SWITCH)
    monkeypatch.delenv(background.TOKEN, raising=False)
    yield [sys.executable, "-c", FAKE, str(tmp_path)]
    (tmp_path / "enough").touch()
    for process in background._started:
        process.wait(30)
    background._started.clear()


def workers(folder):
    return [int(path.name.partition("-")[2]) for path in folder.glob("worked-*")]


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@ci
@posix
def test_of_many_starters_one_process_works_outlives_them_and_releases_the_lock(fake, tmp_path):
    """In a session of its own: no Ctrl-C and no hang-up reaches it."""
    begin = f"from scalarviz.engine.cpu.cache import background\nbackground.start({fake!r})"
    code = f"import os\n{begin}\nprint(os.getsid(0))"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    starters = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(4)]
    said = [process.communicate(timeout=60) for process in starters]
    until(lambda: workers(tmp_path))
    time.sleep(0.5)
    (pid,) = workers(tmp_path)
    assert {error for _, error in said} == {""}
    (path,) = tmp_path.glob("worked-*")
    until(path.read_text)
    assert path.read_text() not in {session.strip() for session, _ in said}
    os.kill(pid, 0)
    assert json.loads(background.lock_path().read_text())["pid"] == pid
    assert background.running()
    assert not background.start(fake)
    (tmp_path / "enough").touch()
    until(lambda: not background.lock_path().exists())
    assert not background.running()
    assert background.start(fake)  # the next one may


@ci
@posix
def test_the_lock_of_a_killed_process_is_taken_over(fake, tmp_path):
    assert background.start(fake)
    until(lambda: workers(tmp_path))
    os.kill(workers(tmp_path)[0], signal.SIGKILL)
    until(lambda: not background.running())  # also while its starter lives on
    assert background.lock_path().exists()
    assert background.start(fake)
    until(lambda: len(workers(tmp_path)) == 2)


@ci
@posix
@pytest.mark.parametrize("text", ["", "no json", '{"pid": 1}', "[]", '{"pid": "x", "host": "", "token": ""}', "old"])
def test_a_damaged_or_old_lock_is_taken_over_and_one_of_another_machine_is_not(fake, text):
    background.lock_path().parent.mkdir(parents=True)
    if text == "old":
        text = json.dumps({"pid": 1, "host": "another-" + socket.gethostname(), "token": "x"})
        background.lock_path().write_text(text)
        assert not background.start(fake)
        past = time.time() - background.STALE_SECONDS - 1
        os.utime(background.lock_path(), (past, past))
    else:
        background.lock_path().write_text(text)
    assert background.start(fake)


@posix
def test_the_switch_a_cache_that_cannot_be_written_and_a_command_that_is_none(fake, tmp_path, monkeypatch):
    assert not background.start([str(tmp_path / "no such program")])
    assert not background.lock_path().exists()
    monkeypatch.setenv(background.SWITCH, "0")
    assert not background.start(fake)
    assert not background.lock_path().exists()
    monkeypatch.delenv(background.SWITCH)
    (tmp_path / "file").touch()
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "file"))
    assert not background.start(fake)


@posix
def test_whoever_lost_its_lock_lets_it_be(fake, monkeypatch):
    with background.holding() as mine:
        assert mine
        monkeypatch.setenv(background.TOKEN, "of somebody whose lock was taken over")
        with background.holding() as second:
            assert not second
        assert background.lock_path().exists()
        monkeypatch.delenv(background.TOKEN)
        with background.holding() as third:
            assert not third
        assert background.lock_path().exists()
    assert not background.lock_path().exists()
