"""Rules of the house that a program can check."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "scalarviz").rglob("*.py"), *(ROOT / "scenes").rglob("*.py")])


@pytest.fixture(scope="module")
def setup():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_the_tests_are_no_package_but_their_kit():
    assert list((ROOT / "tests").rglob("__init__.py")) == [ROOT / "tests" / "kit" / "__init__.py"]


def test_test_files_have_unique_names():
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))


def test_every_folder_of_the_package_is_installed(setup):
    folders = {p.parent.relative_to(ROOT).as_posix().replace("/", ".") for p in SOURCES if p.name == "__init__.py"}
    expected = {"scalarviz.scenes" if f == "scenes" else f for f in folders}
    assert set(setup["options"]["packages"].split()) == {*expected, "scalarviz.notebooks"}  # files that are copied


def test_every_file_that_is_no_python_is_installed(setup):
    """Shaders, scripts, style sheets, texts: what is read from beside the code has to be in the wheel."""
    places = {"scalarviz": ROOT / "scalarviz", "scalarviz.scenes": ROOT / "scenes"}
    installed = set()
    for package, patterns in setup["options.package_data"].items():
        known = max((name for name in places if f"{package}.".startswith(f"{name}.")), key=len)
        folder = places[known].joinpath(*package.removeprefix(known).strip(".").split("."))
        installed |= {path for pattern in patterns.replace(",", " ").split() for path in folder.glob(pattern)}
    files = {path for folder in places.values() for path in folder.rglob("*") if path.is_file()}
    read = {p for p in files if p.suffix not in (".py", ".pyc", ".md") and "__pycache__" not in p.parts}
    read -= set((ROOT / "scenes" / "pictures").glob("*.webp"))  # the README's gallery
    assert sorted(read - installed) == []


def test_pytorch_is_asked_for_by_the_oracle_extra_alone(setup):
    extras = setup["options.extras_require"]
    assert [name for name in extras if "torch" in extras[name]] == ["oracle"]
    assert "torch" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_cuda_is_asked_for_by_its_extras_alone_and_where_it_exists(setup):
    extras = setup["options.extras_require"]
    named = re.compile("cuda|nvidia")
    assert [name for name in extras if named.search(extras[name])] == ["cuda", "cuda-compile"]
    assert not named.search((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    lines = [x for name in ("cuda", "cuda-compile") for x in extras[name].strip().splitlines()]
    lines = [x for x in lines if x != "scalarviz[cuda]" and not x.startswith("#")]
    assert all(x.endswith('; sys_platform != "darwin" and sys_platform != "emscripten"') for x in lines)
    toolkit = [x for x in lines if x.startswith(("cuda-toolkit", "nvidia-"))]
    assert toolkit
    assert all("==13.0.*;" in x for x in toolkit)


def test_the_lock_holds_every_direct_dependency_and_no_address(setup):
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower()
    assert "://" not in lock
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    extras = setup["options.extras_require"]
    lines = setup["options"]["install_requires"].strip().splitlines()
    for name in ("video", "data", "desktop", "notebook", "test", "dev"):
        lines += extras[name].split()
    wanted = {re.split(r"[<>=!\[;]", line)[0].lower() for line in lines if line[0] not in "#"}
    assert wanted - {"scalarviz"} <= pinned


def test_dependencies_have_lower_bounds_only(setup):
    for line in setup["options"]["install_requires"].strip().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_-]+>=[0-9.]+(; sys_platform != \"emscripten\")?", line), line


def test_numba_and_vispy_are_asked_for_only_where_they_exist(setup):
    lines = setup["options"]["install_requires"].strip().splitlines()
    browser = [re.split("[>;]", line)[0] for line in lines if "emscripten" in line]
    assert browser == ["numba", "vispy"]


def test_the_version_is_the_same_everywhere(setup):
    version = setup["metadata"]["version"]
    places = {"scalarviz/__init__.py": f'__version__ = "{version}"', "CITATION.cff": f"version: {version}"}
    for name, line in places.items():
        assert line in (ROOT / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_the_map_of_an_engine_names_its_files_and_folders(engine):
    folder = ROOT / "scalarviz" / "engine" / engine
    said = (folder / "README.md").read_text(encoding="utf-8")
    here = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    rooms = {f"{path.name}/" for path in folder.iterdir() if (path / "__init__.py").is_file()}
    assert {name for name in here | rooms if f"`{name}`" not in said} == set()
