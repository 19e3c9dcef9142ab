"""Machine code on disk is code: it is read only where nobody else can write, whole, and as what it was stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

from scalarviz.engine.cache import place as places
from scalarviz.engine.cache import trust, version
from scalarviz.engine.cache.place import Place
from scalarviz.engine.cuda import kept
from scalarviz.engine.cuda.kept import files
from scalarviz.engine.cuda.kept import key as keys

ROOT = Path(__file__).resolve().parents[2]
NAME, IMAGE = "forward_exp_float32-0123-sm_90-13000.cubin", bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, as a new process finds it."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "PLACE", Place(lambda: "0" * 16, "cuda-"))
    for function in (places.warn_once, places._touch, files._tidied):
        function.cache_clear()
    return tmp_path / "cache" / ("cuda-" + "0" * 16)


def test_what_is_stored_is_loaded_and_nothing_else_is(cache):
    assert kept.load(NAME) is None
    assert not files.has(NAME)
    assert not cache.parent.exists()  # asking makes no folder
    kept.store(NAME, IMAGE)
    assert files.has(NAME)
    assert kept.load(NAME) == IMAGE
    assert kept.load("another.cubin") is None
    kept.store(NAME, b"")
    assert kept.load(NAME) == b""


def test_files_are_this_users_alone_whatever_the_umask(cache):
    before = os.umask(0)
    try:
        kept.store(NAME, IMAGE)
    finally:
        os.umask(before)
    assert [oct(path.stat().st_mode & 0o777) for path in (cache.parent, cache, cache / NAME)] == ["0o700"] * 2 + [
        "0o600"
    ]
    assert kept.load(NAME) == IMAGE


@pytest.mark.parametrize("name", ["", "../x", "a/b", "/etc/passwd", ".hidden", "a b", "build-x", "größe", "a\n"])
def test_a_name_is_no_path(cache, name):
    for call in (lambda: kept.load(name), lambda: kept.store(name, IMAGE), lambda: files.has(name)):
        with pytest.raises(ValueError, match="names no piece of machine code"):
            call()


def spoiled(content):
    yield "empty", b""
    for at in (1, 18, 40, len(content) - 1):
        yield f"cut at {at}", content[:at]
    for at in (0, 20, 30, 84, len(content) - 1):
        yield f"another byte {at}", content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    yield "longer", content + b"\0"
    yield "zeros", bytes(len(content))  # a power cut
    yield "text", b"scalarviz GPU code\n"


def test_what_does_not_answer_to_its_seal_is_made_anew(cache):
    kept.store(NAME, IMAGE)
    content = (cache / NAME).read_bytes()
    for what, other in spoiled(content):
        (cache / NAME).write_bytes(other)
        places.warn_once.cache_clear()
        with pytest.warns(RuntimeWarning, match=f"compiled kernels in {cache} are damaged and are made anew") as seen:
            assert kept.load(NAME) is None, what
        assert len(seen) == 1
        assert not (cache / NAME).exists(), what
        assert kept.load(NAME) is None  # in silence: it is not there
        kept.store(NAME, IMAGE)
        assert kept.load(NAME) == IMAGE


def test_a_file_under_another_name_is_not_taken(cache):
    """Code for sm_80 is none for sm_90."""
    kept.store("exp-sm_80.cubin", IMAGE)
    os.rename(cache / "exp-sm_80.cubin", cache / "exp-sm_90.cubin")
    with pytest.warns(RuntimeWarning, match="are damaged"):
        assert kept.load("exp-sm_90.cubin") is None


LEVELS = {"cache": lambda cache: cache.parent, "version": lambda cache: cache, "file": lambda cache: cache / NAME}


def refused(cache, monkeypatch, words):
    """Nothing is read or written; one warning."""
    before = (cache / NAME).read_bytes()
    monkeypatch.setattr(files.Path, "read_bytes", lambda path: pytest.fail("it is read"))
    monkeypatch.setattr(files, "_write", lambda *_: pytest.fail("it is written"))
    monkeypatch.setattr(files, "remove", lambda *_: pytest.fail("it is removed"))
    with pytest.warns(RuntimeWarning, match=words) as seen:
        assert kept.load(NAME) is None
    kept.store(NAME, b"other")  # in silence: a warning would be an error here
    assert not files.has(NAME)
    assert len(seen) == 1
    assert str(seen[0].message).endswith("SCALARVIZ_CACHE_DIR names another folder; compiling in memory")
    monkeypatch.undo()
    assert (cache / NAME).read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes")
@pytest.mark.parametrize("bits", [0o020, 0o002])
@pytest.mark.parametrize("level", LEVELS)
def test_what_others_can_write_is_not_read(cache, monkeypatch, level, bits):
    kept.store(NAME, IMAGE)
    path = LEVELS[level](cache)
    path.chmod(path.stat().st_mode | bits)
    refused(cache, monkeypatch, rf"compiled kernels are code: {path} can be written by others \(mode \d+\)")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes")
@pytest.mark.parametrize("level", LEVELS)
def test_what_belongs_to_another_user_is_not_read(cache, monkeypatch, level):
    kept.store(NAME, IMAGE)
    path, real = LEVELS[level](cache), os.stat

    def stat(asked, **options):
        found = real(asked, **options)
        return os.stat_result((*found[:4], 12345, *found[5:])) if Path(str(asked)) == path else found

    monkeypatch.setattr(trust.os, "stat", stat)
    refused(cache, monkeypatch, rf"{path} belongs to another user \(number 12345\)")


@pytest.mark.parametrize("trouble", ["full disk", "read-only folder", "a file in the way"])
def test_a_folder_that_keeps_nothing_costs_one_line(cache, monkeypatch, trouble):
    if trouble == "a file in the way":
        cache.parent.write_text("no folder")
        words = "File exists|Not a directory"
    elif trouble == "full disk":
        words = "No space left on device"

        def full(made, target):
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(files.os, "replace", full)
    else:
        words = "Permission denied"

        def denied(**_):
            raise PermissionError(13, os.strerror(13))

        monkeypatch.setattr(files.tempfile, "mkstemp", denied)
    said = rf"cannot keep compiled kernels in {cache.parent} \(({words})\); compiling in memory. Free some space"
    with pytest.warns(RuntimeWarning, match=said) as seen:
        kept.store(NAME, IMAGE)
    assert len(seen) == 1
    kept.store(NAME, IMAGE)  # in silence: a warning would be an error here
    assert not list(cache.glob("*")) if trouble != "a file in the way" else cache.parent.is_file()


def test_a_file_that_cannot_be_read_costs_one_line(cache, monkeypatch):
    kept.store(NAME, IMAGE)

    def denied(path):
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(files.Path, "read_bytes", denied)
    with pytest.warns(RuntimeWarning, match=rf"cannot read compiled kernels in {cache} \(Permission denied\)"):
        assert kept.load(NAME) is None


def process(cache, code, *arguments):
    """A process that has this cache and its `files`; warnings are errors."""
    start = """
        import json, os, signal, sys
        from scalarviz.engine.cache.place import Place
        from scalarviz.engine.cuda.kept import files
        files.PLACE = Place(lambda: "0" * 16, "cuda-")
    """
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(start) + textwrap.dedent(code), *arguments],
        env={**os.environ, "SCALARVIZ_CACHE_DIR": str(cache.parent), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
@pytest.mark.parametrize("moment", ["write", "replace"])
def test_a_process_that_is_killed_in_the_middle_leaves_nothing_that_counts(cache, moment):
    code = """
        def killed(*_):
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[1] == "replace":
            os.replace = killed
        else:
            class Half:
                def __init__(self, handle, mode): self.handle = handle
                def __enter__(self): return self
                def __exit__(self, *_): pass
                def write(self, content):
                    os.write(self.handle, content[: len(content) // 2])
                    killed()
            files.open = Half
        files.store("half.ptx", bytes(100_000))
    """
    killed = process(cache, code, moment)
    killed.communicate(timeout=30)
    assert killed.returncode == -9
    (left,) = cache.iterdir()
    assert left.name.startswith("build-")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept.load("half.ptx") is None
        kept.store("half.ptx", IMAGE)
    assert kept.load("half.ptx") == IMAGE
    assert left.exists()  # its process may live yet
    os.utime(left, (0, 0))
    files.PLACE.prune()
    assert [path.name for path in cache.iterdir()] == ["half.ptx"]


def test_old_versions_go_and_the_processors_stay(cache):
    others = [cache.parent / name for name in ("cuda-" + "1" * 16, "cuda-" + "2" * 16, "3" * 16)]
    for folder in others:
        folder.mkdir(parents=True, mode=0o700)
    for folder in (others[0], others[2]):
        os.utime(folder, (0, 0))
    cache.parent.chmod(0o700)
    kept.store(NAME, IMAGE)
    assert [folder.exists() for folder in others] == [False, True, True]


def test_a_version_that_is_loaded_counts_as_used(cache):
    kept.store(NAME, IMAGE)
    os.utime(cache, (0, 0))
    kept.load(NAME)
    assert cache.stat().st_mtime > 1e9


@pytest.fixture
def compilers(monkeypatch):
    """Made-up compilers: their versions."""
    found = {"numba": "0.68", "numba-cuda": "0.30.4", "llvmlite": "0.50", "libNVVM": "13.0.88"}
    monkeypatch.setattr(keys, "installed", lambda name: found[name])
    monkeypatch.setattr(keys, "toolkit", lambda: found["libNVVM"])
    return found


def test_the_key_changes_with_each_compiler_and_each_setting(compilers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in keys.SETTINGS:
        monkeypatch.delenv(name, raising=False)
    seen = [keys.key.__wrapped__()]
    assert seen[0] == keys.key.__wrapped__()
    for name in compilers:
        compilers[name] += ".1"
        seen.append(keys.key.__wrapped__())
    for name in keys.SETTINGS:
        monkeypatch.setenv(name, "1")
        seen.append(keys.key.__wrapped__())
    (tmp_path / version.SETTINGS_FILE).write_text("opt: 1\n")
    seen.append(keys.key.__wrapped__())
    assert all(a != b for a, b in pairwise(seen))
    assert len(set(seen)) == len(seen)


def test_the_key_changes_with_what_becomes_machine_code_alone(compilers, tmp_path, monkeypatch):
    package = tmp_path / "scalarviz"
    names = [path.relative_to(version.PACKAGE) for path in (version.PACKAGE / "engine").rglob("*.py")] + [
        Path("rng.py")
    ]
    for name in names:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes((version.PACKAGE / name).read_bytes())
    before = keys.key.__wrapped__()
    monkeypatch.setattr(keys, "PACKAGE", package)
    assert keys.key.__wrapped__() == before
    changed = set()
    for name in names:
        text = (package / name).read_text()
        (package / name).write_text(text + "# another line\n")
        if keys.key.__wrapped__() != before:
            changed.add(name.as_posix())
        (package / name).write_text(text)
    assert changed == {name for name, _ in version.sources(version.PACKAGE, keys.SOURCES)}
    assert {"rng.py", "engine/cuda/jit.py", "engine/cuda/kernels/forward.py"} < changed
    (package / "rng.py").unlink()
    with pytest.raises(RuntimeError, match="without the sources"):
        keys.key.__wrapped__()
