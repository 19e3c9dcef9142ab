"""A kernel is compiled once for an architecture and linked once for a driver; all that it is made of is in its name."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.engine.cache.place import Place
from scalarviz.engine.cache.version import PACKAGE, sources
from scalarviz.engine.cuda import catalog, images, jit, typed
from scalarviz.engine.cuda.kept import files
from scalarviz.engine.cuda.kept import key as keys
from scalarviz.scalar import ops

ROOT = Path(__file__).resolve().parents[2]
PTX = ".version 9.0\n.target sm_90\n.visible .entry _ZN3expB2v1(\n)"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache; nothing is kept in memory."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "PLACE", Place(lambda: "0" * 16, "cuda-"))
    images.text.cache_clear()
    yield tmp_path / "cache" / ("cuda-" + "0" * 16)
    images.text.cache_clear()


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled, in order."""
    seen = []
    monkeypatch.setattr(catalog.Kernel, "ptx", lambda kernel, capability: seen.append((kernel, capability)) or PTX)
    return seen


def link(text):
    return b"\x7fELF" + text.encode()


def test_compiled_once_linked_once(cache, compiled):
    kernel = catalog.find("forward:exp", "float32")
    linked = []

    def counted(text):
        linked.append(text)
        return link(text)

    first = images.image(kernel, (9, 0), 13000, counted)
    assert first == link(PTX.replace("_ZN3expB2v1", "forward_exp_float32"))
    images.text.cache_clear()  # as a new process
    assert images.image(kernel, (9, 0), 13000, counted) == first
    assert (len(compiled), len(linked)) == (1, 1)
    assert images.image(kernel, (9, 0), 13010, counted) == first  # another driver: its own machine code
    assert (len(compiled), len(linked)) == (1, 2)
    images.image(kernel, (8, 0), 13000, counted)
    assert [capability for _, capability in compiled] == [(9, 0), (8, 0)]
    assert sorted(path.suffix for path in cache.iterdir()) == [".cubin"] * 3 + [".ptx"] * 2


def test_damaged_code_is_made_anew(cache, compiled):
    kernel = catalog.find("forward:exp", "float32")
    images.image(kernel, (9, 0), 13000, link)
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    images.text.cache_clear()
    with pytest.warns(RuntimeWarning, match="are damaged"):
        assert images.image(kernel, (9, 0), 13000, link).startswith(b"\x7fELF")
    assert len(compiled) == 2


def test_each_kernel_has_a_name_of_its_own(monkeypatch):
    found = [catalog.find(name, dtype) for name in catalog.names() for dtype in ("float32", "float64")]
    assert len({kernel.key for kernel in found}) == len(found) > 100
    own = ops.register("größe_of_test", "a", "a * 3", ("3",))
    try:
        first = catalog.find("forward:größe_of_test", "float32")
        assert images.entry(first).isascii()  # PTX knows no other letters
        assert images.entry(first).isidentifier()
        monkeypatch.setitem(ops.TABLE, own.name, ops.Op(own.name, ("a",), "a * 4", ("4",)))
        assert catalog.find("forward:größe_of_test", "float32").key != first.key
    finally:
        del ops.TABLE[own.name]


def test_whatever_a_kernel_is_made_of_is_in_the_key():
    """The file that it stands in, or its own text; what the files of kernels import; and what makes the names."""
    hashed = {name for name, _ in sources(PACKAGE, keys.SOURCES)}
    places = set()
    for name in catalog.names():
        code = catalog.find(name, "float32").function.__code__
        if not code.co_filename.startswith("<scalarviz"):
            places.add(Path(code.co_filename).relative_to(PACKAGE).as_posix())
    assert places <= hashed
    assert len(places) >= 4
    for path in (PACKAGE / "engine" / "cuda" / "kernels").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                files_of = [base, *(base / alias.name for alias in node.names)]
                found = {f.with_suffix(".py") for f in files_of if f.with_suffix(".py").is_file()}
                assert {f.relative_to(PACKAGE).as_posix() for f in found} <= hashed, path.name
    assert {Path(module.__file__).relative_to(PACKAGE).as_posix() for module in (catalog, images, jit, typed)} <= hashed


WHAT = """
from scalarviz.engine.cuda import catalog, images, jit
made = []
compile = jit.ptx
jit.ptx = lambda *rest: made.append(rest) or compile(*rest)
kernel = catalog.find("backward:tanh", "float32")
text = images.text(kernel, (9, 0))
print(len(made), ".visible .entry backward_tanh_float32(" in text, len(text))
"""


@pytest.mark.cuda
def test_the_next_process_compiles_nothing(tmp_path):
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WHAT]
    said = [subprocess.check_output(command, env=environment, text=True).split() for _ in range(2)]
    assert (said[0][:2], said[1][:2]) == (["1", "True"], ["0", "True"])
    assert said[0][2] == said[1][2]


@pytest.mark.cuda
def test_of_a_kernel_with_a_namespace_of_its_own_nothing_is_kept_but_its_text():
    """numba keeps typed trees and LLVM's text of every function that a kernel calls, as long as the process lives."""
    from numba.cuda.core import ir

    text = "@device\ndef twice(x):\n    return x + x\n\n\ndef doubled(a: Reals):\n    a[0] = twice(a[0])\n"
    kernel = catalog.written("doubled:in a test", text, "float32")
    found = [kernel.ptx((9, 0)) for _ in range(2)]
    assert [ptx.count(".entry") for ptx in found] == [1, 1]
    catalog.find("forward:exp", "float32").ptx((9, 0))  # numba's words for an error know the place of the last one
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, ir.Loc) and "in a test" in str(one.filename)]
    assert kept == []
