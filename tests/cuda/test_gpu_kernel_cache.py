"""Machine code on disk is code: found by all that it is made of, read whole, and only where nobody else can write.

Internals: the cache itself (``images``), which a user sees only as time that is saved.
"""

import ast
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from scalarviz.engine import cache as places
from scalarviz.engine.cuda import catalog, images, jit, there
from scalarviz.engine.cuda import kernel as kernel_file
from scalarviz.errors import MissingDependencyError
from scalarviz.scalar import ops

ROOT = Path(__file__).resolve().parents[2]
NAME, IMAGE = "forward_exp_float32-0123-sm_90-13000.cubin", bytes(range(256)) * 40
PTX = ".version 9.0\n.target sm_90\n.visible .entry _ZN3expB2v1(\n)"
CODE = b"\x7fELF of a kernel"
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes and owners")


@pytest.fixture
def cache(nothing_kept):
    """An empty cache, as a new process finds it."""
    for function in (places.warn_once, places._touch, images._tidied):
        function.cache_clear()
    return nothing_kept


@pytest.fixture
def kernel():
    return catalog.find("forward:exp", "float32")


# ---- a file


def test_what_is_stored_is_loaded_and_nothing_else_is(cache):
    assert images.load(NAME) is None
    assert not images.has(NAME)
    assert not cache.parent.exists()  # asking makes no folder
    images.store(NAME, IMAGE)
    assert images.has(NAME)
    assert images.load(NAME) == IMAGE
    assert images.load("another.cubin") is None
    if sys.platform != "win32":  # this user's alone
        assert [path.stat().st_mode & 0o777 for path in (cache.parent, cache, cache / NAME)] == [0o700, 0o700, 0o600]
    images.store(NAME, b"")
    assert images.load(NAME) == b""


@pytest.mark.parametrize("name", ["", "../x", ".hidden", "build-x", "größe"])
def test_a_name_is_no_path(cache, name):
    for call in (lambda: images.load(name), lambda: images.store(name, IMAGE), lambda: images.has(name)):
        with pytest.raises(ValueError, match="machine code"):
            call()


def spoiled(content):
    yield from (content[:at] for at in (0, 1, 18, 40, len(content) - 1))
    for at in (0, 20, 30, 84, len(content) - 1):
        yield content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    yield from (content + b"\0", bytes(len(content)), b"scalarviz GPU code\n")  # zeros: a power cut


def test_what_does_not_answer_to_its_seal_is_made_anew(cache):
    images.store(NAME, IMAGE)
    images.store("exp-sm_80.cubin", IMAGE)
    content, other_name = (cache / NAME).read_bytes(), (cache / "exp-sm_80.cubin").read_bytes()
    for other in (*spoiled(content), other_name):  # code for sm_80 is none for sm_90
        (cache / NAME).write_bytes(other)
        places.warn_once.cache_clear()
        with pytest.warns(RuntimeWarning, match=f"{cache} are damaged") as seen:
            assert images.load(NAME) is None
        assert len(seen) == 1
        assert not (cache / NAME).exists()
        assert images.load(NAME) is None  # in silence: it is not there
        images.store(NAME, IMAGE)
        assert images.load(NAME) == IMAGE


@posix
@pytest.mark.parametrize("level", ["cache", "file"])
def test_what_others_can_write_is_neither_read_nor_touched(cache, monkeypatch, level):
    """Who may write is asked of `trust`, as for the processor's kernels (see tests/engine)."""
    images.store(NAME, IMAGE)
    path, before = cache.parent if level == "cache" else cache / NAME, (cache / NAME).read_bytes()
    path.chmod(path.stat().st_mode | 0o002)
    monkeypatch.setattr(images.Path, "read_bytes", lambda path: pytest.fail("it is read"))
    for name in ("_write", "remove"):
        monkeypatch.setattr(images, name, lambda *_: pytest.fail("it is touched"))
    with pytest.warns(RuntimeWarning, match=rf"{path} .*written by others \(mode \d+.*SCALARVIZ_CACHE_DIR") as seen:
        assert images.load(NAME) is None
    images.store(NAME, b"other")  # in silence: a warning would be an error here
    assert not images.has(NAME)
    assert len(seen) == 1
    monkeypatch.undo()
    assert (cache / NAME).read_bytes() == before


# ---- several processes


def process(cache, code, *arguments):
    """A process that has this cache and its `files`; warnings are errors."""
    start = """
        import json, os, signal, sys
        from scalarviz.engine.cache import CacheFolder
        from scalarviz.engine.cuda import images as files
        files.PLACE = CacheFolder(lambda: "0" * 16, "cuda-")
    """
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(start) + textwrap.dedent(code), *arguments],
        env={**os.environ, "SCALARVIZ_CACHE_DIR": str(cache.parent), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_processes_at_once_read_what_is_whole(cache):
    """Each writes its own letter 200 times under one name, and reads what any of them wrote."""
    code = """
        seen = set()
        for _ in range(200):
            files.store("shared.ptx", sys.argv[1].encode() * 100_000)
            found = files.load("shared.ptx")
            assert found is not None and len(set(found)) == 1 and len(found) == 100_000
            seen.add(chr(found[0]))
        print(json.dumps(sorted(seen)))
    """
    running = [process(cache, code, letter) for letter in "abc"]
    ends = [one.communicate(timeout=60) for one in running]
    assert [one.returncode for one in running] == [0, 0, 0], ends
    assert all(letter in json.loads(out) for letter, (out, _) in zip("abc", ends, strict=True))
    assert [path.name for path in cache.iterdir()] == ["shared.ptx"]


# ---- the key: all that machine code is made of


def test_the_key_changes_with_each_compiler_and_each_setting(tmp_path, monkeypatch):
    found = {"numba": "0.68", "numba-cuda": "0.30.4", "llvmlite": "0.50", "libNVVM": "13.0.88"}
    monkeypatch.setattr(images, "installed", lambda name: found[name])
    monkeypatch.setattr(images, "toolkit", lambda: found["libNVVM"])
    monkeypatch.chdir(tmp_path)
    for name in images.SETTINGS:
        monkeypatch.delenv(name, raising=False)
    seen = [images.key.__wrapped__()]
    for name in found:
        found[name] += ".1"
        seen.append(images.key.__wrapped__())
    for name in images.SETTINGS:
        monkeypatch.setenv(name, "1")
        seen.append(images.key.__wrapped__())
    (tmp_path / places.SETTINGS_FILE).write_text("opt: 1\n")
    seen.append(images.key.__wrapped__())
    assert len(set(seen)) == len(seen)
    assert images.key.__wrapped__() == seen[-1]


def test_whatever_a_kernel_is_made_of_is_in_the_key():
    """The file that it stands in, or its own text; what the files of kernels import; and what makes the names."""
    package = places.PACKAGE
    hashed = {name for name, _ in places.sources(package, images.SOURCES)}
    codes = [catalog.find(name, "float32").function.__code__.co_filename for name in catalog.names()]
    found = {Path(name) for name in codes if not name.startswith("<scalarviz")}
    assert len(found) >= 4
    for path in [*found]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                files_of = [base, *(base / alias.name for alias in node.names)]
                found |= {f.with_suffix(".py") for f in files_of if f.with_suffix(".py").is_file()}
    found |= {Path(module.__file__) for module in (catalog, images, jit, kernel_file)}
    assert {path.relative_to(package).as_posix() for path in found} <= hashed


def test_each_kernel_has_a_name_of_its_own(monkeypatch):
    found = [catalog.find(name, dtype) for name in catalog.names() for dtype in ("float32", "float64")]
    assert len({kernel.key for kernel in found}) == len(found) > 100
    own = ops.Op("größe_of_test", ("a",), "a * 3", ("3",))
    monkeypatch.setitem(ops.TABLE, own.name, own)
    first = catalog.find("forward:größe_of_test", "float32")
    assert images.entry(first).isascii()  # PTX knows no other letters
    assert images.entry(first).isidentifier()
    monkeypatch.setitem(ops.TABLE, own.name, ops.Op(own.name, ("a",), "a * 4", ("4",)))
    assert catalog.find("forward:größe_of_test", "float32").key != first.key


# ---- compiled once for an architecture, linked once for a driver


def test_compiled_once_linked_once_and_anew_where_it_is_damaged(cache, kernel, monkeypatch):
    linked, compiled = [], []
    monkeypatch.setattr(kernel_file.Kernel, "ptx", lambda own, capability: compiled.append(capability) or PTX)

    def link(text):
        linked.append(text)
        return b"\x7fELF" + text.encode()

    first = images.image(kernel, (9, 0), 13000, link)
    assert first == b"\x7fELF" + PTX.replace("_ZN3expB2v1", "forward_exp_float32").encode()
    images.text.cache_clear()  # as a new process
    assert images.image(kernel, (9, 0), 13000, link) == first
    assert (len(compiled), len(linked)) == (1, 1)
    assert images.image(kernel, (9, 0), 13010, link) == first  # another driver: its own machine code
    images.image(kernel, (8, 0), 13000, link)
    assert (compiled, len(linked)) == ([(9, 0), (8, 0)], 3)
    assert sorted(path.suffix for path in cache.iterdir()) == [".cubin"] * 3 + [".ptx"] * 2
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    images.text.cache_clear()
    with pytest.warns(RuntimeWarning, match="are damaged"):
        assert images.image(kernel, (9, 0), 13000, link) == first
    assert len(compiled) == 3


WHAT = """
from scalarviz.engine.cuda import catalog, images, kernel
made = []
compile = kernel.ptx
kernel.ptx = lambda *rest: made.append(rest) or compile(*rest)
text = images.text(catalog.find("backward:tanh", "float32"), (9, 0))
assert 'libcuda.so' not in open('/proc/self/maps').read()
print(len(made), ".visible .entry backward_tanh_float32(" in text, len(text))
"""


@pytest.mark.cuda
def test_the_next_process_compiles_nothing_and_none_needs_a_driver(tmp_path):
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    environment["NUMBA_DISABLE_CUDA"] = "1"  # numba-cuda opens a driver as it is imported, if there is one
    command = [sys.executable, "-c", WHAT]
    said = [subprocess.check_output(command, env=environment, text=True).split() for _ in range(2)]
    assert (said[0][:2], said[1][:2]) == (["1", "True"], ["0", "True"])
    assert said[0][2] == said[1][2]


# ---- kernels that were compiled on another machine


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "cubins"
    place.mkdir(mode=0o700)
    monkeypatch.setenv(images.NAMED, str(place))
    return place


def put(folder, kernel, capability=(9, 0)):
    return images.store_carried(folder, kernel, capability, CODE)


def load(kernel, capability=(9, 0)):
    return images.load_carried(kernel, capability)


def test_carried_code_is_loaded_where_nothing_else_is(folder, kernel, monkeypatch):
    for place, name in ((images, "load"), (images, "text")):
        monkeypatch.setattr(place, name, lambda *_: pytest.fail("it was looked for elsewhere"))
    put(folder, kernel)
    assert images.image(kernel, (9, 0), 13000, None) == CODE


def test_only_the_kernel_itself_is_taken_for_it(folder, kernel, monkeypatch):
    """A smaller GPU of its generation will do; another one, dtype, operation or version will not."""
    put(folder, kernel, (8, 0))
    found = {gpu: load(kernel, gpu) for gpu in ((8, 0), (8, 6), (7, 5), (9, 0))}
    assert found == {(8, 0): CODE, (8, 6): CODE, (7, 5): None, (9, 0): None}
    for other in (catalog.find("forward:exp", "float64"), catalog.find("forward:log", "float32")):
        assert load(other, (8, 0)) is None
    with monkeypatch.context() as patch:
        patch.setattr(images, "_version", lambda: "0" * 16)  # another checkout
        assert load(kernel, (8, 0)) is None
    monkeypatch.delenv(images.NAMED)
    assert images.named() is None
    assert load(kernel, (8, 0)) is None


@pytest.mark.parametrize("change", ["changed", "renamed", pytest.param("others", marks=posix)])
def test_carried_code_that_is_spoiled_or_open_to_others_is_not_loaded(folder, kernel, change):
    path, other = put(folder, kernel), put(folder, catalog.find("forward:log", "float32"))
    content = path.read_bytes()
    changed = {"changed": content[:-1] + b"x", "renamed": other.read_bytes(), "others": content}
    path.write_bytes(changed[change])
    folder.chmod(0o777 if change == "others" else 0o700)
    with pytest.warns(RuntimeWarning, match="cubins" if change == "others" else "damaged"):
        assert load(kernel) is None


@pytest.mark.cuda
def test_with_carried_code_no_compiler_is_needed(folder, monkeypatch, install_fake_driver):
    def missing():
        raise MissingDependencyError("needs libNVVM, which was not found")

    install_fake_driver()
    for name in ("toolkit", "processors"):
        monkeypatch.setattr(there.nvvm, name, missing)
    assert (there.no_cuda(0), str(folder) in there.gpu_summary()) == ("", True)
    monkeypatch.delenv(images.NAMED)
    assert "needs libNVVM" in there.no_cuda(0)
