"""The runs of a sweep as `show` and `render` are given them: a wall in a window, or a picture of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, listing
from ...sweep.groups import Kept
from ..ink.theme import Theme

if TYPE_CHECKING:
    from .run_rooms import RunRooms


def check_plain(entrance: Callable[..., object], **given: Any) -> None:
    """Refuse what would say something of the cubes of one run.

    Raises
    ------
    InputError
        One of the arguments is not what `entrance` has where nobody gives it.
    """
    usual = inspect.signature(entrance).parameters
    said = [name for name, value in given.items() if value != usual[name].default]
    if said:
        raise InputError(
            f"{entrance.__name__}: {listing(said)} is of the cubes of one run; of the runs of a sweep leave it out"
        )


def rooms_of_kept(kept: Kept, theme: Theme) -> RunRooms:
    """The way through a window of the runs.

    Raises
    ------
    InputError, FileFormatError
        They are in no file, or it cannot be read.
    """
    from .run_opening import rooms_of

    return rooms_of(*kept.shown(), theme)


def picture_of_kept(kept: Kept, size: tuple[int, int], theme: Theme) -> tuple[NDArray[np.uint8], str]:
    """The wall as a picture, uint8 (height, width, 3), and words in its place.

    Raises
    ------
    InputError, FileFormatError
        They are in no file, or it cannot be read.
    """
    from .run_opening import runs_of, wall_picture
    from .run_plots import sentence

    path, build = kept.shown()
    runs = runs_of(path, build)
    return wall_picture(path, size, build=build, theme=theme), f"{runs.title}: {sentence(runs.results)}"
