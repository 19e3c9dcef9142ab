"""A sweep on a cold cache: the kernels come before the first run, those that its runs want, and that is said."""

import pytest

import scalarviz.engine.cpu as cpu
from scalarviz.cli.warmup import compile_for
from scalarviz.engine.cpu.cache import units


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled, where nothing is there yet."""
    found = []
    monkeypatch.setattr(units, "cache_is_warm", lambda dtype, operations: False)
    monkeypatch.setattr(cpu, "warmup", lambda dtypes, progress: found.extend(dtypes), raising=False)
    monkeypatch.setattr("scalarviz.cli.warmup.refusal", lambda: "")
    return found


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, ["float32"]),
        ({"dtype": "float64", "lr": 0.1}, ["float64"]),
        ({"dtype": "float32 float64", "engine": "numpy numba"}, ["float32", "float64"]),
        ({"engine": "auto"}, ["float32"]),
        ({"engine": "numpy"}, []),
        ({"engine": "cuda:1"}, []),
    ],
)
def test_what_the_runs_want_is_compiled_first(compiled, capsys, options, wanted):
    compile_for("xor", options)
    assert compiled == wanted
    assert ("xor: first start: the fast kernels are compiled first" in capsys.readouterr().err) == bool(wanted)


def test_where_nothing_can_be_kept_it_is_said_that_numpy_computes(compiled, capsys, monkeypatch):
    monkeypatch.setattr("scalarviz.cli.warmup.refusal", lambda: "the folder is full")
    compile_for("xor", {})
    assert compiled == []
    assert capsys.readouterr().err == "xor: the runs are computed with NumPy: the folder is full\n"


def test_a_warm_cache_is_silent(compiled, capsys, monkeypatch):
    monkeypatch.setattr(units, "cache_is_warm", lambda dtype, operations: True)
    compile_for("xor", {})
    assert (compiled, capsys.readouterr().err) == ([], "")
