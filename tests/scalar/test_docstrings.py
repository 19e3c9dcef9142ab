"""The examples in the docstrings of the compute half are executed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import scalarviz
from scalarviz.scalar import ops

FLOORS = ("scalar", "nn", "optim", "tape", "rng", "data")
NAMES = [name for _, name, _ in pkgutil.walk_packages(scalarviz.__path__, "scalarviz.") if name.split(".")[1] in FLOORS]


@pytest.fixture(autouse=True)
def clean_table():
    before = dict(ops.TABLE)
    yield
    ops.TABLE.clear()
    ops.TABLE.update(before)


WITH_ONNX = "scalarviz.nn._to_onnx"


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.ci) if n == WITH_ONNX else n for n in NAMES])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
