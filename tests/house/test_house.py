"""Rules of the house that a program can check."""

import configparser
import importlib
import inspect
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
    expected = {f"scalarviz.{f}" if f.startswith("scenes") else f for f in folders}
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
    gallery = ROOT / "scenes" / "pictures"
    read -= {*gallery.glob("*.webp"), *(gallery / "steps").glob("*.webp")}  # that of the README
    assert sorted(read - installed) == []


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in (ROOT / "scalarviz" / "view").rglob("*.py")}), ids=lambda f: f.name
)
def test_the_introduction_of_a_folder_of_pictures_names_its_files_and_no_others(folder):
    """Whoever looks for a place by folders reads these first; kinds of panels stand in their registry."""
    said = (folder / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    named = {name.rpartition(".")[2] for name in re.findall(r"`([a-z_.]+)`", said)}
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    if folder.name != "panels":
        assert sorted(files - named) == []
    everywhere = {name for path in SOURCES for name in (path.stem, path.parent.name)} | {
        p.stem for p in folder.iterdir()
    }
    functions = {name for path in folder.glob("*.py") for name in re.findall(r"def (\w+)", path.read_text("utf-8"))}
    assert sorted(named - everywhere - functions - {"handlers"}) == []


def test_the_lock_holds_every_direct_dependency_and_no_address(setup):
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower()
    assert "://" not in lock
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    extras = setup["options.extras_require"]
    lines = setup["options"]["install_requires"].strip().splitlines()
    for name in ("video", "data", "desktop", "notebook", "course", "test", "dev"):
        lines += extras[name].split()
    wanted = {re.split(r"[<>=!\[;]", line)[0].lower() for line in lines if line[0] not in "#"}
    assert wanted - {"scalarviz"} <= pinned


def test_the_version_is_the_same_everywhere(setup):
    version = setup["metadata"]["version"]
    places = {"scalarviz/__init__.py": f'__version__ = "{version}"', "CITATION.cff": f"version: {version}"}
    for name, line in places.items():
        assert line in (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_every_public_method_is_described_where_it_is_first_defined():
    """An override need not say again what its base says; ``help`` shows that."""
    missing = []
    for path in SOURCES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        name = f"scalarviz.{name}" if name.startswith("scenes") else name
        if "._" in name:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:  # of an optional library
            continue
        for kind in [k for k in vars(module).values() if inspect.isclass(k) and k.__module__ == name]:
            for member, found in vars(kind).items():
                asked = isinstance(found, property) or (inspect.isfunction(found) and found.__name__ == member)
                if asked and "_" not in (kind.__name__[0], member[0]) and not inspect.getdoc(getattr(kind, member)):
                    missing.append(f"{name}: {kind.__qualname__}.{member}")
    assert missing == []


def test_one_page_says_how_to_add_an_extra():
    """The package is in no index, so a bare ``pip install "scalarviz[...]"`` fails where it is not installed yet."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.py")]
    told = [page.name for page in pages if re.search(r"pip install ['\"]?scalarviz", page.read_text(encoding="utf-8"))]
    assert told == ["install.md"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert "\n## Add an extra\n" in page  # other pages point there
