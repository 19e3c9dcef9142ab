"""The cache of compiled kernels: never stale, never in the way, never code that somebody else may have written.

Imports internals: files of the cache are damaged, given away and planted, which no user asks a run to do.
"""

from __future__ import annotations

import os
import pickle
import shlex
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
from scalarviz.engine.cpu.cache import background, loader, place, units
from scalarviz.engine.cpu.cache.place import PLACE
from scalarviz.errors import InputError
from scalarviz.scalar import ops

ci = pytest.mark.ci
TANH = float(np.tanh(np.float32(1.5)))


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty cache, in a process that has loaded nothing; call it to forget what was loaded since."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))

    def forget():
        monkeypatch.setattr(loader, "_LOADED", {})
        places.warn_once.cache_clear()

    forget()
    return forget


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


# ---- found again


SCRIPT = """
import numpy as np
from scalarviz.engine.cpu.cache import units, loader
warm = units.has_rows("tanh", "float32")
address = loader.row_addresses("tanh", "float32")["forward"]
x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
print(repr(float(y[0])), warm)
"""


def start(folder):
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(folder)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, text=True, **pipes)


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    number, warm = out.split()
    assert float(number) == pytest.approx(TANH, rel=1e-6)
    return warm == "True", err


def files(folder):
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


@ci
def test_processes_that_compile_at_the_same_time_do_not_meet_and_later_ones_compile_nothing(tmp_path):
    assert {finish(process) for process in [start(tmp_path) for _ in range(3)]} <= {(False, ""), (True, "")}
    (version,) = tmp_path.iterdir()
    assert not list(version.glob("build-*"))
    before = files(tmp_path)
    assert finish(start(tmp_path)) == (True, "")
    assert files(tmp_path) == before


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
    os.utime(units.folder(), (3_000, 3_000))
    assert cpu.cache_is_warm("float32", ["tanh"])
    (tmp_path / "cache").chmod(0o777)  # others can write it: cold, though its units were found
    assert not cpu.cache_is_warm("float32", ["tanh"])
    (tmp_path / "cache").chmod(0o700)
    assert cpu.cache_is_warm("float32", ["tanh"])
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "other"))
    assert not cpu.cache_is_warm("float32", ["tanh"])


def test_a_new_operation_compiles_its_own_rows_alone_and_another_formula_is_another_unit(unit, tmp_path):
    before = files(tmp_path)
    op = ops.Op("test_double", ("a",), "2 * a", ("2",))
    ops.TABLE["test_double"] = op
    try:
        for name in ("neg", "test_double"):
            loader.row_addresses(name, "float32")
    finally:
        del ops.TABLE["test_double"]
    new = {Path(name).parts[2] for name in set(files(tmp_path)) - set(before)}
    assert new == {units.rows_unit(op, "float32")}
    assert {k: v for k, v in files(tmp_path).items() if k in before} == before
    assert units.rows_unit(op, "float32") != units.rows_unit(ops.Op("test_double", ("a",), "a + a", ("2",)), "float32")


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
        for batch in (None, 1, 7)[k % 2 :]:
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


# ---- other people's files


def levels(unit):
    """What has to be mine: each level of the folders, and the files of a unit."""
    parts = {"cache": unit.parents[1], "version": unit.parent, "unit": unit, "checksum": unit / "checksum"}
    return parts | {kind: next(unit.glob(f"*.{end}")) for kind, end in (("code", "nbc"), ("index", "nbi"))}


every_level = pytest.mark.parametrize("level", ["cache", "version", "unit", "code", "index", "checksum"])


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


@every_level
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


def test_a_whole_cache_of_another_user_is_not_loaded(unit, monkeypatch):
    me = os.getuid()
    monkeypatch.setattr(trust.os, "getuid", lambda: me + 1)
    refused(monkeypatch, "another user", me)


@pytest.mark.parametrize("bits", [0o020, 0o002])
@every_level
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


def a_run():
    net = nn.Linear(3, 2)
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))


def warmup():
    command = [sys.executable, "-m", "scalarviz", "warmup"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


@ci
@pytest.mark.parametrize("home", ["written by others", "~nosuchuser", "~nosuchuser/kernels"])
def test_everything_that_speaks_of_the_cache_says_why_it_is_closed(unit, home, empty, tmp_path, monkeypatch):
    if home.startswith("~"):
        monkeypatch.setenv("SCALARVIZ_CACHE_DIR", home)
        with pytest.raises(InputError) as error:
            places.user_cache()
        reason = str(error.value)
    else:
        unit.parents[1].chmod(0o777)
        reason = place.refusal()
    assert reason == place.closed()
    assert home in reason
    run = a_run()
    assert run.engine.name == "numpy"
    assert reason in run.engine.why
    assert not background.start(["true"])
    assert not background.running()
    assert warmup() == (2, f"scalarviz: {reason}\n")
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
    assert "no home folder" in place.closed()
    assert "SCALARVIZ_CACHE_DIR" in place.closed()


def test_what_is_old_goes_and_the_rest_stays(tmp_path, monkeypatch):
    """Versions that nobody used for a month; of another engine, and of other programs, nothing; unfinished ones."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    old, day = time.time() - (places.UNUSED_DAYS + 1) * 86400, time.time() - 2 * 86400
    mine, others = places.Place(lambda: "0" * 16, "gpu-"), places.Place(lambda: "0" * 16)
    names = ["0" * 16, "1" * 16, "gpu-" + "0" * 16, "gpu-" + "1" * 16, "2" * 16, "photos"]
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (old, old) if name != "2" * 16 else None)
    mine.prune()
    assert {p.name for p in tmp_path.iterdir()} == {*names} - {"gpu-" + "1" * 16}
    others.prune()
    assert {p.name for p in tmp_path.iterdir()} == {"0" * 16, "gpu-" + "0" * 16, "2" * 16, "photos"}
    folder = PLACE.make()
    for name, when in (("build-folder", day), ("build-young", time.time()), ("build-file", day), ("neg-unit", day)):
        (folder / name).touch() if name == "build-file" else (folder / name).mkdir()
        os.utime(folder / name, (when, when))
    PLACE.prune()
    assert sorted(p.name for p in folder.iterdir()) == ["build-young", "neg-unit"]


def test_a_version_that_is_only_loaded_counts_as_used(unit, empty):
    os.utime(unit.parent, (0, 0))
    loader.row_addresses("neg", "float32")
    assert time.time() - unit.parent.stat().st_mtime < 3600
