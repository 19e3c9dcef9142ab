"""`lesson`: show the live scene of a lesson in a notebook cell."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..arguments import check_names, explained, parameters_of
from ..checks import integer
from ..errors import TypeMismatchError, UnknownNameError, listing, shown
from ..run.scene.scene import Scene
from ..view.cell.live import live

MORE = parameters_of(live, besides=("x", "hide"))
"""Arguments that are passed to :func:`sv.live`."""


def numbers() -> tuple[str, ...]:
    """Return the lessons that have a scene, ``("01", "02", ...)``."""
    return tuple(sorted(path.stem.removeprefix("lesson_") for path in Path(__file__).parent.glob("lesson_[0-9]*.py")))


def scene_of(number: str | int, seed: int | None = None) -> Scene:
    """Return the scene of a lesson (``"06"``, ``"6"`` or 6), not shown yet; without a seed the seed of its pictures."""
    given: Any = number
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise TypeMismatchError(f"lesson: the number is a text such as '06', got {type(given).__name__} {shown(given)}")
    name = str(given).strip().zfill(3 if str(given).strip().endswith("b") else 2)
    if name not in numbers():
        raise UnknownNameError(f"lesson: no lesson {shown(given)} has a scene; there are {listing(numbers())}")
    made: Any = import_module(f".lesson_{name}", __package__)
    scene: Scene = made.scene() if seed is None else made.scene(integer("lesson: seed", seed, 0, 2**63))
    return scene


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
