"""Asking a thousand times whether the cache is warm looks at each unit once, never at what is not there any more."""

from __future__ import annotations

import os

import pytest

from scalarviz.engine import cpu
from scalarviz.engine.cpu.cache import units
from scalarviz.scalar import ops


@pytest.fixture
def filled(tmp_path, monkeypatch):
    """A cache's folder with all that tanh needs, sealed; the name of tanh's unit."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    tanh = units.rows_unit(ops.get("tanh"), "float32")
    for unit in (*(units.core_unit(name, "float32") for name in units.CORE), tanh):
        (units.folder() / unit).mkdir(parents=True)
        units.seal(units.folder() / unit)
    return units.folder() / tanh


def _later(seconds: int) -> None:
    """The folder is changed at a time of its own: two changes of one clock tick look like none."""
    os.utime(units.folder(), (seconds, seconds))


def test_a_unit_that_was_found_is_not_looked_for_again(filled, monkeypatch):
    asked: list[str] = []
    has = units.has
    monkeypatch.setattr(units, "has", lambda unit: asked.append(unit) or has(unit))
    for _ in range(3):
        assert cpu.cache_is_warm("float32", ["tanh"])
    assert sorted(asked) == sorted({*asked})
    assert len(asked) == len(units.CORE) + 1


def test_a_unit_that_goes_away_is_missed_and_found_again(filled):
    _later(1_000)
    assert cpu.cache_is_warm("float32", ["tanh"])
    away = filled.rename(filled.with_name("away"))
    _later(2_000)
    assert not cpu.cache_is_warm("float32", ["tanh"])
    away.rename(filled)
    _later(3_000)
    assert cpu.cache_is_warm("float32", ["tanh"])


def test_another_folder_is_another_cache(filled, tmp_path, monkeypatch):
    assert cpu.cache_is_warm("float32", ["tanh"])
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "other"))
    assert not cpu.cache_is_warm("float32", ["tanh"])


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no such modes")
def test_a_folder_that_others_can_write_is_cold_though_its_units_were_found(filled, tmp_path):
    assert cpu.cache_is_warm("float32", ["tanh"])
    tmp_path.chmod(0o777)
    assert not cpu.cache_is_warm("float32", ["tanh"])
    tmp_path.chmod(0o700)
    assert cpu.cache_is_warm("float32", ["tanh"])
