"""The lessons that come with the package: list their notebooks, copy them, and show a live scene (`lesson`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arguments import check_names, explained, parameters_of
from ..checks import flag, integer
from ..errors import InputError, StateError, TypeMismatchError, UnknownNameError, listing, shown, typed
from ..io.atomic import StrPath, as_path, check_target, path_text, write_bytes
from ..run.scene.scene import Scene
from ..view.cell.live import live
from .scenes import SCENES

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
            f"the notebooks of the lessons are not in {path_text(FOLDERS[0])}; install the package's wheel, or use "
            "the folder notebooks/ of the repository"
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


def copy(folder: StrPath, overwrite: bool = False, outputs: bool = False, only: Iterable[str] = ()) -> Copied:
    """Copy notebooks and their scripts into a folder, which is created if it is missing.

    Parameters
    ----------
    folder : path-like
    overwrite : bool
        False: keep files of the same name that differ, since someone may have worked in them. True: replace them.
    outputs : bool
        Keep the outputs of the cells. Without them pupils predict first.
    only : iterable of str
        Numbers of the lessons, such as ``("01", "01b")``; default: all.

    Returns
    -------
    Copied

    Raises
    ------
    InputError
        Something in the way cannot be a folder, or files cannot be written there. An error before the first file leaves
        everything unchanged.
    UnknownNameError
        There is no lesson of such a number.
    """
    target, replace = as_path(folder), flag(overwrite, "lessons.copy: overwrite")
    full = flag(outputs, "lessons.copy: outputs")
    if not str(folder):
        raise InputError("lessons: the name of the folder is empty; try: scalarviz lessons my-lessons")
    there = {one.number: one for one in lessons()}
    wanted = [_number(given) for given in only] or [*there]
    if unknown := [number for number in wanted if number not in there]:
        raise UnknownNameError(f"lessons: no lesson has the number {shown(unknown[0])}; allowed: {listing(there)}")
    chosen = (there[number] for number in wanted)
    pairs = [(file, target / file.name) for one in chosen for file in (one.notebook, one.script)]
    for _, place in pairs:
        if replace or not os.path.isfile(place):  # otherwise it is kept, and may be read-only
            check_target(place)
    done = Copied()
    for file, place in pairs:
        data, found = file.read_bytes(), place.exists()
        if file.suffix == ".ipynb" and not full:
            data = unrun(data)
        if found and place.read_bytes() == data:
            done.same.append(place)
        elif found and not replace:
            done.kept.append(place)
        else:
            write_bytes(place, data)
            (done.replaced if found else done.written).append(place)
    return done


def _number(given: str) -> str:
    """Return the number of a lesson with all its digits: ``"01b"`` for ``"1b"``."""
    number = given.strip()
    return number.zfill(3 if number.endswith("b") else 2) if number else number


# ---- the live scene of a lesson

MORE = parameters_of(live, besides=("x", "hide"))
"""Arguments that are passed to :func:`sv.live`."""


def scene_of(number: str | int, seed: int | None = None) -> Scene:
    """Return the scene of a lesson (``"06"``, ``"6"`` or 6), not shown yet; without a seed the seed of its pictures."""
    given: Any = number
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise TypeMismatchError(f"lesson: number must be a text like '06', got {typed(given)}")
    name = _number(str(given))
    if name not in SCENES:
        raise UnknownNameError(f"lesson: no lesson {shown(given)} has a scene; allowed: {listing(SCENES)}")
    return SCENES[name]() if seed is None else SCENES[name](integer("lesson: seed", seed, 0, 2**63))


@explained(name="lesson")
def lesson(number: str | int, hide: Iterable[str] = (), seed: int | None = None, **more: Any) -> Any:
    """Show the live scene of a lesson in a notebook cell.

    Parameters
    ----------
    number : str or int
        The lesson, such as ``"06"``.
    hide : iterable of str
        Controls that pupils must not have, such as ``("lr", "pace")``.
    seed : int, optional
        Seed of the first weights.
    **more
        As for :func:`sv.live`: `display`, `size`, `controls`.

    Returns
    -------
    Live
        The output of the cell.

    Raises
    ------
    UnknownNameError
        No such lesson has a scene, or there is no such control.
    TypeMismatchError, InputError
        An argument is invalid.
    MissingDependencyError
        A package of the extra `notebook` is missing.
    """
    check_names("lesson", more, ("number", "hide", "seed", *MORE))
    return live(scene_of(number, seed), hide=hide, **more)
