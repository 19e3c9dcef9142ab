"""The notebooks that come with the package: list them and copy them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from ..checks import flag
from ..errors import InputError, StateError
from ..io.atomic import StrPath, as_path, check_target, path_text, write_bytes

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE / "notebooks", PACKAGE.parent / "notebooks")
"""Their folders when installed, and in a checkout."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson on disk.

    Attributes
    ----------
    number : str
        ``"02"``, or ``"01b"``.
    title : str
    notebook, script : Path
        The notebook with its outputs, and a script with only its text and code.
    """

    number: str
    title: str
    notebook: Path
    script: Path


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of copying each file.

    Attributes
    ----------
    written, replaced, same, kept : list of Path
        New files; replaced files; identical files; different files that were not replaced.
    """

    written: list[Path] = field(default_factory=list)
    replaced: list[Path] = field(default_factory=list)
    same: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)


def lessons() -> list[Lesson]:
    """Return every lesson, in order.

    Raises
    ------
    StateError
        The notebooks were not installed with the package.
    """
    folder = next((f for f in FOLDERS if any(f.glob("[0-9][0-9]*-*.ipynb"))), None)
    if folder is None:
        raise StateError(
            f"the notebooks of the lessons are not in {path_text(FOLDERS[0])}: this copy of the package was made "
            "without them; install it from its wheel, or take the folder notebooks/ of the repository"
        )
    pairs = [(file, file.with_suffix(".py")) for file in sorted(folder.glob("[0-9][0-9]*-*.ipynb"))]
    return [Lesson(nb.name.partition("-")[0], _title(script), nb, script) for nb, script in pairs if script.is_file()]


def _title(script: Path) -> str:
    """Return the first headline of a script."""
    lines = script.read_text(encoding="utf-8").splitlines()
    return next((line.removeprefix("# # ") for line in lines if line.startswith("# # ")), script.stem)


def unrun(notebook: bytes) -> bytes:
    """Return a notebook without the outputs and numbers of its cells, as before the first run."""
    tree = json.loads(notebook)
    for cell in tree["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(tree, indent=1, ensure_ascii=False) + "\n").encode()


def copy(folder: StrPath, overwrite: bool = False, outputs: bool = False) -> Copied:
    """Copy all notebooks and their scripts into a folder, which is created if it is missing.

    Parameters
    ----------
    folder : path-like
    overwrite : bool
        False: keep files of the same name that differ, since someone may have worked in them. True: replace them.
    outputs : bool
        Keep the outputs of the cells. Without them pupils predict first.

    Returns
    -------
    Copied

    Raises
    ------
    InputError
        Something in the way cannot be a folder, or files cannot be written there. An error before the first file leaves
        everything unchanged.
    """
    target, replace = as_path(folder), flag(overwrite, "lessons.copy: overwrite")
    full = flag(outputs, "lessons.copy: outputs")
    if not str(folder):
        raise InputError("lessons: the folder has no name; try: scalarviz lessons lessons")
    pairs = [(file, target / file.name) for one in lessons() for file in (one.notebook, one.script)]
    for _, place in pairs:
        if replace or not os.path.isfile(place):  # otherwise it is kept, and may be read-only
            check_target(place)
    done = Copied()
    for file, place in pairs:
        data, there = file.read_bytes(), place.exists()
        if file.suffix == ".ipynb" and not full:
            data = unrun(data)
        if there and place.read_bytes() == data:
            done.same.append(place)
        elif there and not replace:
            done.kept.append(place)
        else:
            write_bytes(place, data)
            (done.replaced if there else done.written).append(place)
    return done
