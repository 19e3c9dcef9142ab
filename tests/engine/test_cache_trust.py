"""The cache holds code: a folder of another user, or that others can write, is not loaded."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.cache import place as places
from scalarviz.engine.cache import trust
from scalarviz.engine.cpu.cache import background, loader, place, units
from scalarviz.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def a_run() -> sv.Run:
    net = nn.Linear(3, 2)
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))


@pytest.fixture
def unit(tmp_path, monkeypatch):
    """The folder of one unit, in a cache of its own, as a new process finds it."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(loader, "_LOADED", {})
    loader.row_addresses("neg", "float32")
    monkeypatch.setattr(loader, "_LOADED", {})
    places.warn_once.cache_clear()
    return next(place.folder().glob("neg-*"))


def levels(unit: Path) -> dict[str, Path]:
    return {
        "cache": unit.parents[1],
        "version": unit.parent,
        "unit": unit,
        "code": next(unit.glob("*.nbc")),
        "index": next(unit.glob("*.nbi")),
        "checksum": unit / "checksum",
    }


LEVELS = ["cache", "version", "unit", "code", "index", "checksum"]


def refused(monkeypatch, match: str) -> None:
    """The kernels are compiled in memory, with one warning; nothing is read from the folder nor changed in it."""

    def touched(*_, **__):
        raise AssertionError("the cache is used")

    monkeypatch.setattr(loader, "kept_in", touched)
    monkeypatch.setattr(loader, "remove", touched)
    monkeypatch.setattr(units, "intact", touched)
    assert not units.has_rows("neg", "float32")
    with pytest.warns(RuntimeWarning, match=match) as seen:
        address = loader.row_addresses("neg", "float32")["forward"]
    assert len(seen) == 1
    assert "SCALARVIZ_CACHE_DIR" in str(seen[0].message)
    assert str(seen[0].message).endswith("; compiling in memory")
    x, y = np.full(4, 1.5, np.float32), np.zeros(4, np.float32)
    loader.callable_at(address)(*[x.ctypes.data] * 3, y.ctypes.data, 0, 0, 4, 0)
    assert y.tolist() == [-1.5] * 4


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
    refused(monkeypatch, rf"compiled kernels are code: {path} belongs to another user \(number 12345\)")


def test_a_whole_cache_of_another_user_is_not_loaded(unit, monkeypatch):
    me = os.getuid()
    monkeypatch.setattr(trust.os, "getuid", lambda: me + 1)
    refused(monkeypatch, f"belongs to another user .number {me}.")


@pytest.mark.parametrize("bits", [0o020, 0o002])
@pytest.mark.parametrize("level", LEVELS)
def test_what_others_can_write_is_not_loaded(unit, level, bits, monkeypatch):
    path = levels(unit)[level]
    path.chmod(path.stat().st_mode | bits)
    refused(monkeypatch, rf"{path} can be written by others \(mode \d+\), which `chmod -R go-w {path}` ends")
    monkeypatch.undo()  # what the message names helps
    subprocess.run(["chmod", "-R", "go-w", path], check=True)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(unit.parents[1]))
    assert units.has_rows("neg", "float32")


class Intruder:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_planted_code_does_not_run(unit, tmp_path, monkeypatch):
    """A pickle in numba's index runs what it likes as soon as it is read, and checksums are no secret."""
    index, mark = levels(unit)["index"], tmp_path / "it ran"
    index.write_bytes(pickle.dumps(Intruder(mark)))
    units.seal(unit)
    unit.chmod(0o777)
    refused(monkeypatch, "can be written by others")
    assert not mark.exists()


def test_folders_are_made_for_this_user_alone(tmp_path, monkeypatch):
    """Whatever the umask says, and so the next process loads what this one wrote."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "a" / "cache"))
    monkeypatch.setattr(loader, "_LOADED", {})
    before = os.umask(0)
    try:
        loader.row_addresses("neg", "float32")
        assert background._take("token")
    finally:
        os.umask(before)
    assert units.has_rows("neg", "float32")
    found = [path for path in (tmp_path / "a").rglob("*") if path.name != background.LOCK]
    assert len(found) >= 6
    for path in found:
        assert path.stat().st_mode & 0o077 == 0, path


def test_everything_that_speaks_of_the_cache_says_it(unit, cli_words, monkeypatch):
    unit.parents[1].chmod(0o777)
    reason = place.refusal()
    assert reason == place.closed()
    assert "can be written by others" in reason
    run = a_run()
    assert (run.engine.name, run.engine.why) == ("numpy", f"numba's cache is cold; {reason}")
    assert not background.start(["true"])
    assert cli_words("warmup") == (2, f"scalarviz: {reason}\n")


@pytest.fixture
def cli_words():
    def words(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "scalarviz", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        return result.returncode, result.stderr

    return words


@pytest.mark.parametrize("name", ["~nosuchuser", "~nosuchuser/kernels"])
def test_the_home_of_nobody_is_called_so(name, cli_words, tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", name)
    monkeypatch.chdir(tmp_path)
    said = f"SCALARVIZ_CACHE_DIR is {name!r}, and there is no home folder of that user; name a folder"
    with pytest.raises(InputError) as error:
        places.user_cache()
    assert str(error.value) == said
    run = a_run()
    assert run.engine.why == f"numba's cache is cold; {said}"
    assert not background.start(["true"])
    assert not background.running()
    assert cli_words("warmup") == (2, f"scalarviz: {said}\n")
    monkeypatch.setattr(loader, "_LOADED", {})
    places.warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="compiling in memory"):
        assert loader.row_addresses("neg", "float32")["forward"]
    assert list(tmp_path.iterdir()) == []


def test_no_home_at_all_is_called_so(monkeypatch):
    monkeypatch.delenv("SCALARVIZ_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(places.sys, "platform", "linux")

    def nobody():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(places.Path, "home", nobody)
    assert place.closed() == "there is no home folder to keep compiled kernels in; SCALARVIZ_CACHE_DIR names a folder"
