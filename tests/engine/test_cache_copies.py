"""The cache's key is its content: other copies of the package, and copies of the cache, compile nothing."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.engine.cache.place import warn_once
from scalarviz.engine.cpu.cache import key as keys
from scalarviz.engine.cpu.cache import loader, locator, units
from scalarviz.engine.cpu.source import rows
from scalarviz.scalar import ops

PACKAGE = Path(keys.__file__).resolve().parents[3]

# One unit of each kind: written from the table, written for an optimiser, a kernel, a function that Python calls.
LOAD = """
import sys
from numba.core import caching, compiler
from scalarviz.engine.cpu.cache import loader
if sys.argv[1] == "warm":
    def compiled(self, *_):
        raise AssertionError(f"numba compiles {self.state.func_id.func_qualname}")
    def written(*_):
        raise AssertionError("the cache is written to")
    compiler.CompilerBase._compile_core = compiled
    loader._fill = caching.IndexDataCacheFile.save = written
loader.row_addresses("tanh", "float32")
loader.kernel_address("update_sgd", "float32")
loader.kernel_address("zero", "float32")
loader.function("evaluate", "float32")
print(loader.__file__)
"""


def load(package: Path, cache: Path, state: str) -> None:
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOAD, state],
        env=environment,
        cwd=package.parent,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    assert Path(result.stdout.strip()).is_relative_to(package)


def clone(to: Path, age: float, newline: str = "\n") -> Path:
    """The package somewhere else, with other times and line endings."""
    shutil.copytree(PACKAGE, to / "scalarviz", ignore=shutil.ignore_patterns("__pycache__"))
    for path in to.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8", newline=newline)
        os.utime(path, (age, age))
    return to / "scalarviz"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """Two copies of the package, and the cache that the first one filled."""
    here = tmp_path_factory.mktemp("clones")
    first, second = clone(here / "first", 1e9), clone(here / "elsewhere" / "second", 1.7e9, "\r\n")
    load(first, here / "cache", "cold")
    return first, second, here / "cache"


@pytest.mark.slow
def test_a_second_clone_compiles_nothing(clones):
    """At another path, with other times and with the line endings of another system."""
    _, second, cache = clones
    before = contents(cache)
    load(second, cache, "warm")
    assert contents(cache) == before


@pytest.mark.slow
def test_a_copied_cache_folder_compiles_nothing(clones, tmp_path):
    first, second, cache = clones
    copied = tmp_path / "other" / "place"
    shutil.copytree(cache, copied, copy_function=shutil.copyfile)  # the times are not copied
    load(first, copied, "warm")
    load(second, copied, "warm")
    assert contents(copied) == contents(cache)


def test_the_guard_of_these_tests_sees_a_compiler(clones, tmp_path):
    with pytest.raises(AssertionError, match="the cache is written to"):
        load(clones[0], tmp_path, "warm")


def test_numba_says_nothing_of_paths_in_what_it_looks_at(clones):
    """Neither the path nor the time of a source stands in the index, which is what numba compares."""
    first, _, cache = clones
    indices = {name: content for name, content in contents(cache).items() if name.endswith(".nbi")}
    assert len(indices) >= 5
    for name, content in indices.items():
        assert str(first).encode() not in content, name


def key_of(package: Path, monkeypatch) -> str:
    monkeypatch.setattr(keys, "PACKAGE", package)
    return keys.key.__wrapped__()


COMPILED = ("engine/cpu/compiled/", "engine/cpu/vector/", "engine/cpu/wire.py", "rng.py", "scalar/erf.py")


def test_the_key_changes_with_what_becomes_machine_code_and_with_nothing_else(tmp_path, monkeypatch):
    package = clone(tmp_path, 1e9)
    before = key_of(package, monkeypatch)
    assert before == keys.key.__wrapped__()
    changed = set()
    files = [path for path in package.rglob("*.py") if path.is_relative_to(package / "engine") or "/" not in str(
        path.relative_to(package)) or path.is_relative_to(package / "scalar")]  # fmt: skip
    for path in files:
        text = path.read_text(encoding="utf-8")
        path.write_text(text + "# another line\n", encoding="utf-8")
        if key_of(package, monkeypatch) != before:
            changed.add(path.relative_to(package).as_posix())
        path.write_text(text, encoding="utf-8")
    names = {path.relative_to(package).as_posix() for path in files}
    assert changed == {name for name in names if name.startswith(COMPILED)}
    assert len(changed) > 20
    assert len(names - changed) > 40


@pytest.mark.parametrize("gone", COMPILED)
def test_sources_that_are_not_found_are_an_error(gone, tmp_path, monkeypatch):
    package = clone(tmp_path, 1e9)
    path = package / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(RuntimeError, match="without the sources"):
        key_of(package, monkeypatch)


def modules_of(path: Path) -> set[str]:
    """Files of the package that one of its files imports, as paths in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1]
            base = folder.joinpath(*(node.module or "").split("."))
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


@pytest.mark.parametrize("unit", [
    lambda: units.rows_unit(ops.get("tanh"), "float32"), lambda: units.core_unit("update_adam", "float32"),
])  # fmt: skip
def test_the_translator_is_in_the_names_of_generated_units(unit, monkeypatch):
    """The same formulas in other words are another unit."""
    before = unit()
    monkeypatch.setattr(rows, "_HEADER", rows._HEADER + "# another line\n")
    units.rows_source.cache_clear()
    units.updates_source.cache_clear()
    try:
        assert unit() != before
    finally:
        monkeypatch.undo()
        units.rows_source.cache_clear()
        units.updates_source.cache_clear()
    assert unit() == before


@pytest.mark.parametrize("name", keys.SETTINGS)
def test_numbas_settings_are_in_the_key(name, monkeypatch):
    monkeypatch.delenv(name, raising=False)
    before = keys.key.__wrapped__()
    monkeypatch.setenv(name, "1")
    assert keys.key.__wrapped__() != before


def test_numbas_settings_file_is_in_the_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = keys.key.__wrapped__()
    (tmp_path / ".numba_config.yaml").write_text("opt: 1\n")
    assert keys.key.__wrapped__() != before


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
    with pytest.warns(RuntimeWarning, match=r"in a way that scalarviz does not know.*; compiling in memory") as seen:
        assert loader.row_addresses("neg", "float32")["forward"]
    assert len(seen) == 1
    assert loader.row_addresses("lt", "float32")["forward"]  # silently: a warning would be an error here
    assert not empty.exists()


def test_the_users_locators_do_not_come_between(empty, monkeypatch):
    """numba asks those of NUMBA_CACHE_LOCATOR_CLASSES alone: our kernels stay ours, the setting stays the user's."""
    monkeypatch.setattr(locator.config, "CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")
    loader.row_addresses("neg", "float32")
    assert units.has_rows("neg", "float32")
    assert locator.config.CACHE_LOCATOR_CLASSES == "InTreeCacheLocator"


def test_the_users_own_cached_functions_go_where_they_went(empty, tmp_path, monkeypatch):
    from numba.core import caching

    loader.row_addresses("neg", "float32")
    monkeypatch.setattr(locator.config, "CACHE_DIR", str(tmp_path / "numbas"))
    assert Path(caching.FunctionCache(key_of).cache_path).parent == tmp_path / "numbas"


def test_a_unit_of_another_processor_is_made_anew(empty, monkeypatch):
    """Its files are whole, but numba finds nothing for this processor in them, and must not write there."""
    loader.row_addresses("neg", "float32")
    (unit,) = (path for path in units.folder().iterdir())
    monkeypatch.setattr(loader, "_LOADED", {})
    monkeypatch.setattr(loader, "_stamp", lambda unit: f"other/{unit}")
    with pytest.warns(RuntimeWarning, match="made anew"):
        assert loader.row_addresses("neg", "float32")["forward"]
    assert units.intact(unit)
