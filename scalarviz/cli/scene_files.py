"""The scenes of the package, found without importing them: their names, their entries, and which one takes a file."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileFormatError, InputError, listing

if TYPE_CHECKING:
    from ..view.walls.scene_wall import EntryRequest
    from ..view.walls.wall import BuiltScene, SceneEntry

TAUGHT = ("neuron", "rgb", "xor", "playground", "uinn", "expression", "digits", "texture", "microgpt")
"""The order of the scenes: each needs only what the scenes before it have shown."""
STILLS = Path("pictures") / "stills"
TAKERS = {"picture": ("texture", "rgb"), "csv": ("playground",)}
"""Scenes that take a file by an option: the first available one gets it."""


def scene_names() -> dict[str, str]:
    """Return the scenes of the package: name to first line of the docstring; nothing is imported."""
    return {name: summary_of(path) for name, path in scene_files().items()}


def scene_files() -> dict[str, Path]:
    """Return the files of the package's scenes, by name, in teaching order."""
    spec = find_spec("scalarviz.scenes")
    folders = (spec.submodule_search_locations or []) if spec else []
    files = {p.stem: p for folder in folders for p in Path(folder).glob("*.py")}
    files |= {p.parent.name: p for folder in folders for p in Path(folder).glob("*/__init__.py")}
    known = [name for name in TAUGHT if name in files]
    others = [name for name in sorted(files) if not name.startswith("_") and name not in (*TAUGHT, "kit", "options")]
    return {name: files[name] for name in (*known, *others)}


def summary_of(path: Path) -> str:
    """Return the first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def entry_of(name: str, path: Path) -> SceneEntry:
    """Return the entry of a scene; its module is not imported."""
    from ..view.walls.wall import SceneEntry

    folder = path.parents[1] if path.name == "__init__.py" else path.parent
    still = folder / STILLS / f"{name}.webp"
    return SceneEntry(
        name, summary_of(path), partial(_build_scene, name), still if still.exists() else None, missing(path)
    )


def missing(path: Path) -> str:
    """Return the command that installs a missing dependency of a scene's defaults, or an empty text."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["NEEDS"]:
            needs = ast.literal_eval(node.value)
            return next((f'pip install "scalarviz[{extra}]"' for extra, module in needs.items()
                         if find_spec(module) is None), "")  # fmt: skip
    return ""


def _build_scene(name: str, given: Mapping[str, object]) -> BuiltScene:
    """Build the scene with its defaults, except for the given options."""
    from ..run.scene.scene_file import load_scene
    from ..view.walls.wall import BuiltScene
    from .run import built

    loaded = load_scene(name)
    options = loaded.options(**given)
    return BuiltScene(built(loaded, options), options.steps, options.duration)


def entry_request_of(path: Path, doors: list[SceneEntry]) -> EntryRequest:
    """Return the scene entry for a dropped file, its options, and a description.

    Raises
    ------
    InputError, FileFormatError
        No scene takes the file, or it cannot be read.
    """
    from ..view.watch.files import PICTURES, TABLES, WEIGHTS

    ending = path.suffix.lower()
    if ending in WEIGHTS:
        return _weights(path, doors)
    option = "picture" if ending in PICTURES else "csv" if ending in TABLES else ""
    door = next((d for name in TAKERS.get(option, ()) for d in doors if d.name == name), None)
    if door is None:
        raise InputError(
            f"{path.name} cannot be opened; drop a picture, a table or weights "
            f"({listing((*PICTURES[:3], *TABLES, *WEIGHTS))})"
        )
    does = "learns this picture" if option == "picture" else "learns this table"
    return door, {option: path}, f"{path.name}: {door.name} {does}"


def _weights(path: Path, doors: list[SceneEntry]) -> EntryRequest:
    """Return the entry of the scene that wrote a file of weights."""
    from ..run.scene.scene_file import WRITER
    from ..run.state import read_checkpoint

    writer = read_checkpoint(path).notes.get(WRITER, "")
    door = next((d for d in doors if d.name == writer), None)
    if door is None:
        said = (
            f"a scene named {writer[:60]!r} wrote these weights, and the package has no such scene"
            if writer
            else "the file does not name the scene of its weights"
        )
        raise FileFormatError(f"{path.name}: {said}; open that scene and drop the file there")
    return door, {"load": path}, f"{path.name}: {door.name} continues from these weights"
