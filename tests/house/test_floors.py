"""Each floor imports only floors below it, without circles; the compute half stands alone."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci  # each source file is parsed
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "scalarviz"

# The table of floors; the longest matching prefix wins. Floors that share a number may not import each other,
# but for the pairs named below.
BY_FLOOR = {
    0: "errors",  # everybody raises
    1: "arguments contexts checks rng data display",
    2: "io scalar",
    3: "tape onnx",
    4: "engine nn optim",
    5: "run imported sweep check mistakes data.digits",
    6: "view public data.samples",  # `public` has the names that need no view
    7: "scenes lessons",
    8: "cli",
    9: "__main__",
}
FLOORS = {f"scalarviz.{name}": floor for floor, names in BY_FLOOR.items() for name in names.split()}
FLOORS["scalarviz"] = 9  # the front door may re-export from every floor (lazily above floor 5)
# data draws its colours from rng and checks its arguments; a mistake refuses Runs; what is exported was recorded;
# a sweep makes Runs; a module computes a batch by the kernels
NEIGHBOURS = {
    tuple(f"scalarviz.{name}" for name in pair.split()) for pair in
    ("data rng", "data checks", "onnx tape", "sweep run", "mistakes run", "nn engine")
}  # fmt: skip


def modules() -> dict[str, Path]:
    """Every module of the package by its installed name."""
    found = {}
    for folder, prefix in ((PACKAGE, "scalarviz"), (ROOT / "scenes", "scalarviz.scenes")):
        for path in folder.rglob("*.py"):
            parts = [prefix, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(p for p in parts if p != "__init__")] = path
    return found


MODULES = modules()
# what talks to a GPU's driver needs the package that does (extra `cuda`)
WITH_A_DRIVER = tuple(f"scalarviz.engine.cuda.{name}" for name in ("context", "driver", "marks", "recorded"))


def floor_of(name: str) -> str:
    """The entry of the table that a module belongs to."""
    entries = [e for e in FLOORS if name == e or name.startswith(e + ".")]
    return max((e for e in entries if e != "scalarviz" or name == "scalarviz"), key=len, default="")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def statements(tree: ast.AST):
    """Every node but those that only a type checker sees."""
    for child in ast.iter_child_nodes(tree):
        if not is_type_checking(child):
            yield child
            yield from statements(child)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports(name: str, type_checking: bool = True) -> frozenset[str]:
    """The modules of this package that `name` imports, in functions too; with or without what only a checker sees."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = parsed(path)
    found = set()
    for node in ast.walk(tree) if type_checking else statements(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "scalarviz"}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                stem = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*stem, *([node.module] if node.module else [])])
            if base.split(".")[0] != "scalarviz":
                continue
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in MODULES else base)
    return frozenset(f for f in found if f in MODULES and f != name)


def circle(edges: Mapping[str, Set[str]]) -> list[str]:
    """A way that leads back to where it began, if there is one."""
    try:
        tuple(TopologicalSorter(edges).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


@functools.cache
def room_of(name: str) -> str:
    """The folder of a module; a module beside folders (``engine.choose``, ``view.show``) is a room of its own."""
    folder = MODULES[name].parent
    return name if any(f.is_dir() and (f / "__init__.py").is_file() for f in folder.iterdir()) else str(folder)


def test_every_module_stands_on_a_floor():
    assert [name for name in MODULES if not floor_of(name)] == []


def test_a_floor_imports_only_floors_below():
    wrong = []
    for name in sorted(MODULES):
        mine = floor_of(name)
        for other in imports(name):
            theirs = floor_of(other)
            if theirs in (mine, "scalarviz"):
                # the bare front door is for scenes and the command line, which are written as users write
                allowed = theirs == mine or FLOORS[mine] >= 7
            else:
                allowed = FLOORS[theirs] < FLOORS[mine] or (mine, theirs) in NEIGHBOURS
            if not allowed:
                wrong.append(f"{name} (floor {FLOORS[mine]}) imports {other} (floor {FLOORS[theirs]})")
    assert not wrong, "\n".join(wrong)


def test_no_circle_at_run_time_between_files():
    """Imports inside functions count: they only hide a circle until the function is called."""
    assert circle({name: imports(name, type_checking=False) for name in MODULES}) == []


def test_no_circle_between_folders():
    """Not even one that only a type checker sees; inside a folder two files may name each other's types."""
    rooms: dict[str, set[str]] = {room_of(name): set() for name in MODULES}
    for name in MODULES:
        for other in imports(name):
            beside = MODULES[name].parent == MODULES[other].parent
            if room_of(other) != room_of(name) and (not beside or other in imports(name, type_checking=False)):
                rooms[room_of(name)].add(room_of(other))
    assert circle(rooms) == []


def python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_the_package_loads_only_the_standard_library_and_numpy():
    code = """
import sys
import numpy, numpy.random, numpy.linalg
before = {m.partition(".")[0] for m in sys.modules}
import scalarviz
scalarviz.Run
after = {m.partition(".")[0] for m in sys.modules}
print(*(m for m in sorted(after - before - set(sys.stdlib_module_names)) if m != "scalarviz"))
"""
    assert python(code).split() == []


def test_the_compute_half_works_without_the_packages_of_the_upper_floors():
    blocked = ["vispy", "typer", "rich", "pydantic", "imageio_ffmpeg", "skimage", "sklearn"]
    code = f"""
import importlib, sys
for name in {blocked!r}:
    sys.modules[name] = None
for name in {[m for m in MODULES if m not in ("scalarviz",) and FLOORS[floor_of(m)] <= 5 and m not in WITH_A_DRIVER]!r}:
    importlib.import_module(name)
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
X = np.random.default_rng(0).random((64, 3))
run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data=(X, 1 - X), batch_size=64, engine="numpy")
run.step(3)
print(run.loss > 0)
"""
    assert python(code).strip() == "True"


BLOCKED = ["vispy", "numba", "llvmlite", "PySide6", "PyQt5", "PyQt6", "PySide2", "PIL", "OpenGL"]


def test_without_vispy_numba_and_qt_the_numpy_engine_trains_and_pages_are_written(tmp_path):
    """As in a browser: importing any module needs none of them; layout, colours, shaders, pages and graphs work."""
    light = ("scalarviz.engine.cpu", "scalarviz.engine.cpu.units", "scalarviz.engine.cpu.wire")
    light += tuple(f"scalarviz.engine.cuda.{name}" for name in ("there", "nvvm", "gpus"))
    heavy = ("scalarviz.engine.cpu", "scalarviz.engine.cuda.", "scalarviz.__main__")
    names = [n for n in MODULES if n in light or not n.startswith(heavy)]
    code = f"""
import importlib, sys
blocked = {BLOCKED!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
for name in {names!r}:
    importlib.import_module(name)
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
X = np.random.default_rng(0).random((64, 3))
net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), data=(X, 1 - X))
run.step(50)
print(run.engine.name, run.history.loss[-1] < run.history.loss[0] / 2)
from scalarviz.run.questions.ranges import extent
from scalarviz.view.glsl import read
from scalarviz.view.ink.theme import get_map, get_theme
from scalarviz.view.space.layout import layout_for
layout = layout_for(run.tensors, run.stages, (1280, 720), (0, 0, 900, 600))
theme = get_theme("dark")
corners = layout.camera.project(layout.plates[0].corners)
colour = get_map("weight", theme).bytes(np.array([1.0]))
print(len(layout.plates) > 1, corners.shape, colour.shape, "gl_Position" in read("cubes_vertex"))
blocked.remove("PIL")  # every installation has it, and the picture in a page is made by it
with sv.Recording(run, gradients=True) as recording:
    run.step(1)
    page = recording.save_html({str(tmp_path / "run.html")!r}).read_text(encoding="utf-8")
print("</html>" in page, "</svg>" in sv.draw(sv.Value(2.0) * 3).svg)
published = [[0.267, 0.005, 0.329], [0.128, 0.565, 0.551], [0.993, 0.906, 0.144]]  # viridis: both ends and its middle
print(np.abs(get_map("magnitude")([0.0, 0.5, 1.0]) - published).max() < 0.01)
for attempt in (lambda: sv.render(run), lambda: sv.show(run, block=False), lambda: run.change(engine="numba")):
    try:
        attempt()
    except sv.ScalarvizError as error:
        print(type(error).__name__)
"""
    first, second, written, viridis, *errors = python(code).strip().splitlines()
    assert first == "numpy True"
    assert second == "True (8, 2) (1, 3) True"
    assert written == "True True"
    assert viridis == "True"
    assert errors == ["MissingDependencyError", "MissingDependencyError", "ScalarvizError"]
