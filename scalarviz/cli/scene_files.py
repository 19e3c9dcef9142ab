"""Find the scenes of the package without importing them."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

TAUGHT = ("neuron", "rgb", "xor", "playground", "uinn", "expression", "digits", "texture", "microgpt")
"""The order of the scenes: each needs only what the scenes before it have shown."""


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
