"""The cache of compiled kernels: found again, never stale, never in the way, never somebody else's code, filled once.

Imports internals: files of the cache are damaged, given away and planted, the package is copied, processes are killed.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.networks import NETWORKS, SMALL
from kit.runs import make_run
from scalarviz import nn, optim
from scalarviz.engine import cpu
from scalarviz.engine.cache import place as places
from scalarviz.engine.cache import trust
from scalarviz.engine.cpu.cache import background, loader, locator, place, units, warm
from scalarviz.engine.cpu.cache import key as keys
from scalarviz.engine.cpu.source import rows
from scalarviz.errors import InputError
from scalarviz.scalar import ops

ci = pytest.mark.ci
posix = pytest.mark.skipif(sys.platform == "win32", reason="sessions and signals of POSIX")
PACKAGE = Path(keys.__file__).resolve().parents[3]
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty cache, in a process that has loaded nothing; call it to forget what was loaded since."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))

    def forget():
        monkeypatch.setattr(loader, "_LOADED", {})
        places.warn_once.cache_clear()
        locator.trouble.cache_clear()

    forget()
    yield forget
    locator.trouble.cache_clear()


@pytest.fixture
def unit(empty):
    """The folder of one compiled unit, in a cache of its own, as a new process finds it."""
    loader.row_addresses("neg", "float32")
    empty()
    return next(place.folder().glob("neg-*"))


def negated():
    """What the row kernel of ``neg`` makes of 1.5, wherever it came from."""
    x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
    address = loader.row_addresses("neg", "float32")["forward"]
    loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
    return y.tolist()


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- found again, by other processes and copies of the package

# One unit of each kind: written from the table, written for an optimiser, a kernel, a function that Python calls.
LOAD = """
import sys
from numba.core import caching, compiler
from scalarviz.engine.cpu.cache import loader
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
    loader.function("evaluate", "float32")
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
    assert len(indices) >= 5
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


@pytest.mark.parametrize("damage", ["cut short", "other bytes", "no checksum"])
def test_a_damaged_file_is_noticed_and_made_anew(unit, empty, damage):
    for path in unit.glob("*.nb*" if damage != "no checksum" else "checksum"):
        content = path.read_bytes()
        changed = {"cut short": content[: len(content) // 2], "other bytes": content[:-64] + bytes(64)}
        path.write_bytes(changed[damage]) if damage in changed else path.unlink()
    with pytest.warns(RuntimeWarning, match="damaged") as seen:
        assert negated() == [-1.5] * 4
    assert len(seen) == 1
    empty()
    assert units.intact(unit)
    assert negated() == [-1.5] * 4  # silently: a warning would be an error here


def test_a_unit_of_another_processor_is_made_anew(unit, monkeypatch):
    """Its files are whole, but numba finds nothing for this processor in them, and must not write there."""
    monkeypatch.setattr(loader, "_stamp", lambda unit: f"other/{unit}")
    with pytest.warns(RuntimeWarning, match="made anew"):
        assert loader.row_addresses("neg", "float32")["forward"]
    assert units.intact(unit)


@pytest.mark.parametrize("fault", ["no folder", "full"])
def test_a_cache_that_cannot_be_written_costs_one_line(fault, empty, tmp_path, monkeypatch):
    if fault == "no folder":
        (tmp_path / "file").write_text("this is no folder")
        monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "file" / "cache"))
    else:

        def full(unit):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(units, "seal", full)
    with pytest.warns(RuntimeWarning, match="cannot keep compiled kernels") as seen:
        assert negated() == [-1.5] * 4
    assert len(seen) == 1
    assert fault == "full" or "SCALARVIZ_CACHE_DIR" in str(seen[0].message)
    assert loader.row_addresses("lt", "float32")["forward"]  # silently
    assert fault == "no folder" or list(place.folder().iterdir()) == []


def test_warm_means_every_unit_is_there_and_asking_looks_at_each_once(empty, tmp_path, monkeypatch):
    assert not cpu.cache_is_warm("float32", ["tanh"])
    tanh = units.rows_unit(ops.get("tanh"), "float32")
    for name in [*(units.core_unit(name, "float32") for name in units.CORE), tanh]:
        assert not cpu.cache_is_warm("float32", ["tanh"])
        (units.folder() / name).mkdir(parents=True)
        units.seal(units.folder() / name)
    asked, has = [], units.has
    monkeypatch.setattr(units, "has", lambda unit: asked.append(unit) or has(unit))
    os.utime(units.folder(), (1_000, 1_000))  # two changes of one clock tick look like none
    for _ in range(3):
        assert cpu.cache_is_warm("float32", ["tanh"])
    assert len(asked) == len({*asked}) == len(units.CORE) + 1
    assert not cpu.cache_is_warm("float64", ["tanh"])
    assert not cpu.cache_is_warm("float32", ["tanh", "exp"])
    away = (units.folder() / tanh).rename(units.folder() / "away")
    os.utime(units.folder(), (2_000, 2_000))
    assert not cpu.cache_is_warm("float32", ["tanh"])
    away.rename(units.folder() / tanh)
    (tmp_path / "cache").chmod(0o777)  # others can write it: cold, though its units were found
    assert not cpu.cache_is_warm("float32", ["tanh"])
    (tmp_path / "cache").chmod(0o700)
    assert cpu.cache_is_warm("float32", ["tanh"])


# ---- new networks compile nothing


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("network", [name if name in SMALL else pytest.param(name, marks=ci) for name in NETWORKS])
def test_a_new_network_loss_rule_or_batch_compiles_nothing(network, dtype, never_compiled):
    for k, rule in enumerate(("sgd", "sgd_all", "adam", "adamw_decay")):
        for batch in (None, 1, 7)[k % 2 :: 2 - k // 2]:
            if network == "batch norm" and batch == 1:
                continue
            run = make_run(network, ("mse", "l1")[k % 2], rule, engine="numba", dtype=dtype, batch_size=batch)
            run.step(3)
            run.predict(run.samples()[0][:3].reshape(3, *run.sample_shape))
            run.set_weights(0, run.values[:1])
            run.step(2)
            run.close()
    many = make_run(network, engine="numba", dtype=dtype, samples=3000, batch_size=None, threads=2)
    many.step(2)
    many.close()


def test_the_guard_of_these_tests_sees_a_compiler(never_compiled, tmp_path, monkeypatch):
    import numba

    with pytest.raises(AssertionError, match="numba compiles"):
        numba.njit(lambda x: x + 1)(1)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))  # an empty one
    with pytest.raises(AssertionError, match="the cache is written to"):
        loader.row_addresses("neg", "float32")


# ---- the key


def key_of(package, monkeypatch):
    monkeypatch.setattr(keys, "PACKAGE", package)
    return keys.key.__wrapped__()


COMPILED = ("engine/cpu/compiled/", "engine/cpu/vector/", "engine/cpu/wire.py", "rng.py", "scalar/erf.py")


@ci
def test_the_key_changes_with_what_becomes_machine_code_and_with_nothing_else(tmp_path, monkeypatch):
    package = clone(tmp_path, 1e9)
    before = key_of(package, monkeypatch)
    assert before == key_of(PACKAGE, monkeypatch)
    names = [
        path.relative_to(package).as_posix()
        for part in ("engine", "scalar", ".")
        for path in sorted((package / part).glob("*.py" if part == "." else "**/*.py"))
    ]
    compiled = [name for name in names if name.startswith(COMPILED)]
    others = [name for name in names if not name.startswith(COMPILED)][::5]
    assert min(len(compiled), len(others)) > 15
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


def test_formulas_and_their_translator_are_in_the_names_of_generated_units(unit, tmp_path, monkeypatch):
    """A new operation compiles its own rows alone; the same formulas in other words are another unit."""
    before, op = contents(tmp_path), ops.Op("test_double", ("a",), "2 * a", ("2",))
    monkeypatch.setitem(ops.TABLE, "test_double", op)
    for name in ("neg", "test_double"):
        loader.row_addresses(name, "float32")
    after = contents(tmp_path)
    assert {Path(name).parts[2] for name in after.keys() - before.keys()} == {units.rows_unit(op, "float32")}
    assert {name: after[name] for name in before} == before
    assert units.rows_unit(op, "float32") != units.rows_unit(ops.Op("test_double", ("a",), "a + a", ("2",)), "float32")

    def names():
        units.rows_source.cache_clear()
        units.updates_source.cache_clear()
        return [units.rows_unit(ops.get("tanh"), "float32"), units.core_unit("update_adam", "float32")]

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


# ---- other people's files


def levels(unit):
    """What has to be mine: each level of the folders, and the files of a unit."""
    parts = {"cache": unit.parents[1], "version": unit.parent, "unit": unit, "checksum": unit / "checksum"}
    return parts | {kind: next(unit.glob(f"*.{end}")) for kind, end in (("code", "nbc"), ("index", "nbi"))}


LEVELS = ("cache", "version", "unit", "code", "index", "checksum")


def refused(monkeypatch, *facts):
    """The kernels are compiled in memory, with one warning; nothing is read from the folder nor changed in it."""

    def touched(*_, **__):
        raise AssertionError("the cache is used")

    for owner, name in ((loader, "kept_in"), (loader, "remove"), (units, "intact")):
        monkeypatch.setattr(owner, name, touched)
    assert not units.has_rows("neg", "float32")
    with pytest.warns(RuntimeWarning) as seen:
        assert negated() == [-1.5] * 4
    (message,) = (str(warning.message) for warning in seen)
    for fact in (*facts, "SCALARVIZ_CACHE_DIR", "compiling in memory"):
        assert str(fact) in message


@pytest.mark.parametrize("level", LEVELS)
def test_what_belongs_to_another_user_is_not_loaded(unit, level, monkeypatch):
    path, real = levels(unit)[level], os.stat
    if os.getuid() == 0:
        os.chown(path, 12345, -1)
    else:  # only root can give files away: let the system say so

        def stat(asked, **options):
            found = real(asked, **options)
            return os.stat_result((*found[:4], 12345, *found[5:])) if Path(asked) == path else found

        monkeypatch.setattr(trust.os, "stat", stat)
    refused(monkeypatch, path, "another user", 12345)


@pytest.mark.parametrize(("level", "bits"), [*((level, 0o002) for level in LEVELS), ("cache", 0o020), ("code", 0o020)])
def test_what_others_can_write_is_not_loaded_until_what_the_message_names_is_done(unit, level, bits, monkeypatch):
    path = levels(unit)[level]
    path.chmod(path.stat().st_mode | bits)
    remedy = f"chmod -R go-w {shlex.quote(str(path))}"  # the names of numba's files have spaces
    refused(monkeypatch, path, "mode", remedy)
    monkeypatch.undo()
    subprocess.run(shlex.split(remedy), check=True)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(unit.parents[1]))
    assert units.has_rows("neg", "float32")


class Intruder:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_planted_code_does_not_run(unit, tmp_path, monkeypatch):
    """A pickle in numba's index runs what it likes as soon as it is read, and checksums are no secret."""
    index, mark = levels(unit)["index"], tmp_path / "it ran"
    index.write_bytes(pickle.dumps(Intruder(mark)))
    units.seal(unit)
    unit.chmod(0o777)
    refused(monkeypatch, "written by others")
    assert not mark.exists()


def test_folders_are_made_for_this_user_alone(empty, tmp_path):
    """Whatever the umask says, and so the next process loads what this one wrote."""
    before = os.umask(0)
    try:
        loader.row_addresses("neg", "float32")
        assert background._take("token")
    finally:
        os.umask(before)
    assert units.has_rows("neg", "float32")
    found = [path for path in (tmp_path / "cache").rglob("*") if path.name != background.LOCK]
    assert len(found) >= 5
    assert not [path for path in (tmp_path / "cache", *found) if path.stat().st_mode & 0o077]


@ci
@pytest.mark.parametrize("home", ["written by others", "~nosuchuser/kernels"])
def test_everything_that_speaks_of_the_cache_says_why_it_is_closed(unit, home, tmp_path, monkeypatch):
    if home.startswith("~"):
        monkeypatch.setenv("SCALARVIZ_CACHE_DIR", home)
        with pytest.raises(InputError) as error:
            places.user_cache()
        reason = str(error.value)
    else:
        unit.parents[1].chmod(0o777)
        reason = place.refusal()
    assert (reason, home in reason) == (place.closed(), True)
    net = nn.Linear(3, 2)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))
    assert (run.engine.name, reason in run.engine.why) == ("numpy", True)
    assert not background.start(["true"])
    assert not background.running()
    command = [sys.executable, "-m", "scalarviz", "warmup"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, f"scalarviz: {reason}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.warns(RuntimeWarning, match="compiling in memory"):
        assert loader.row_addresses("neg", "float32")["forward"]
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


# ---- folders


@pytest.mark.parametrize(("platform", "variables", "expected"), [
    ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/scalarviz"), ("linux", {"HOME": "/home/u"}, "/home/u/.cache/scalarviz"),
    ("darwin", {"HOME": "/Users/u"}, "/Users/u/Library/Caches/scalarviz"),
    ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/scalarviz"),
    ("linux", {"XDG_CACHE_HOME": "/x", "SCALARVIZ_CACHE_DIR": "/own"}, "/own"), ("linux", {}, None),
])  # fmt: skip
def test_the_folder_is_the_platforms_own(monkeypatch, platform, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "SCALARVIZ_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(places.sys, "platform", platform)
    if expected is not None:
        assert places.user_cache().as_posix() == expected
        return

    def nobody():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(places.Path, "home", nobody)
    assert all(fact in place.closed() for fact in ("no home folder", "SCALARVIZ_CACHE_DIR"))


def test_what_is_old_goes_and_the_rest_stays(empty, tmp_path):
    """Versions that nobody used for a month; of another engine, and of other programs, nothing; unfinished ones."""
    home = tmp_path / "cache"
    old, day = time.time() - (places.UNUSED_DAYS + 1) * 86400, time.time() - 2 * 86400
    mine, others = places.Place(lambda: "0" * 16, "gpu-"), places.Place(lambda: "0" * 16)
    names = ["0" * 16, "1" * 16, "gpu-" + "0" * 16, "gpu-" + "1" * 16, "2" * 16, "photos"]
    for name in names:
        (home / name).mkdir(parents=True)
        os.utime(home / name, (old, old) if name != "2" * 16 else None)
    mine.prune()
    assert {p.name for p in home.iterdir()} == {*names} - {"gpu-" + "1" * 16}
    others.prune()
    assert {p.name for p in home.iterdir()} == {"0" * 16, "gpu-" + "0" * 16, "2" * 16, "photos"}
    folder = place.PLACE.make()
    for name, when in (("build-folder", day), ("build-young", time.time()), ("build-file", day), ("neg-unit", day)):
        (folder / name).touch() if name == "build-file" else (folder / name).mkdir()
        os.utime(folder / name, (when, when))
    place.PLACE.prune()
    assert sorted(p.name for p in folder.iterdir()) == ["build-young", "neg-unit"]
    os.utime(folder, (0, 0))
    loader.row_addresses("neg", "float32")  # a version that is used
    assert time.time() - folder.stat().st_mtime < 3600


# ---- numba's own cache


@pytest.mark.parametrize("missing", ["list", "probe"])
def test_a_numba_of_other_insides_compiles_in_memory_with_one_warning(missing, empty, tmp_path, monkeypatch):
    from numba.core import caching

    if missing == "list":
        monkeypatch.delattr(caching.CacheImpl, "_locator_classes")
    else:  # it has the list, and asks somebody else
        monkeypatch.setattr(locator.OurLocator, "from_function", classmethod(lambda *_: None))
        monkeypatch.setattr(locator.config, "CACHE_DIR", str(tmp_path / "numbas"))
    with pytest.warns(RuntimeWarning, match="compiling in memory") as seen:
        assert loader.row_addresses("neg", "float32")["forward"]
    assert len(seen) == 1
    assert loader.row_addresses("lt", "float32")["forward"]  # silently: a warning would be an error here
    assert not (tmp_path / "cache").exists()


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
def test_warmup_fills_the_cache_and_counts(empty, tmp_path, monkeypatch):
    """Operations that only this process knows are compiled here. All kernels: `never_compiled` above."""
    monkeypatch.setattr(warm, "CALLS", ())
    for owner, name in ((warm, "KERNELS"), (units, "CORE")):
        monkeypatch.setattr(owner, name, ("zero", "load_int8", "update_sgd"))
    monkeypatch.setitem(ops.TABLE, "test_triple", ops.Op("test_triple", ("a",), "3 * a", ("3",)))
    names, seen = ["neg", "lt", "test_triple"], []
    cpu.warmup(("float32",), ops=names, progress=lambda *report: seen.append(report))
    counts = [done for done, _, _ in seen]
    assert (counts[0], counts[-1], {n for _, n, _ in seen}) == (0, 6, {6})
    assert counts == sorted(set(counts))
    assert cpu.cache_is_warm("float32", names)
    assert not list(units.folder().glob("build-*"))
    before = contents(tmp_path / "cache")
    cpu.warmup(("float32",), ops=names)
    assert contents(tmp_path / "cache") == before


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
def test_a_helper_needs_a_second_processor_and_a_cache_to_share(count, mode, starts, empty, tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
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
def fake(empty, tmp_path, monkeypatch):
    """A command that holds the cache's lock until a file called ``enough`` is there."""
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
    starters = [subprocess.Popen([sys.executable, "-c", code], **PIPES) for _ in range(4)]
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
@pytest.mark.parametrize("text", ["", '{"pid": 1}', "[]", '{"pid": "x", "host": "", "token": ""}', "old"])
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
        for _ in range(2):
            with background.holding() as second:
                assert not second
            assert background.lock_path().exists()
            monkeypatch.delenv(background.TOKEN, raising=False)
    assert not background.lock_path().exists()
