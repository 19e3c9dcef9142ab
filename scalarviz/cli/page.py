"""`--html`: a run as a page that plays in a browser, written however the run ends."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..errors import ScalarvizError
from ..io import check_target
from .console import fail, say

if TYPE_CHECKING:
    from ..view.compare.comparison import Comparison
    from ..view.recorded.recording import Recorded, Recording

FRAMES, FEWEST = 300, 24
"""Frames of a page, beside its first, where nobody says how many steps apart they are; of very many weights."""
NUMBERS = 20_000_000
"""Values of weights that a page holds then, as far as that leaves it `FEWEST` frames."""
UNHEARD = ("paused", "fps", "duration", "cmap", "presenter")
"""Flags of windows, films and pictures."""


def check_page(options: Any, *, alone: bool) -> None:
    """Say before the network is built what would stop a page from being written; touches nothing.

    Parameters
    ----------
    options : SceneOptions
    alone : bool
        Whether nothing else is shown or drawn beside a page: it heeds neither pace nor colour map.

    Raises
    ------
    InputError
        It cannot be written there, or a flag is given that it does not heed.
    """
    if options.html:
        check_target(options.html)
        if alone:
            options.refuse(UNHEARD, "a page has a pace, a colour map and a look of its own, and nothing else is drawn")


def frames_of(weights: int) -> int:
    """How many frames a page of so many weights has beside its first."""
    return max(FEWEST, min(FRAMES, NUMBERS // max(weights, 1)))


def write_page(recording: Recording | Recorded | Comparison, options: Any, name: str, weights: int) -> bool:
    """Write the page of a recording, or of two, and say so; returns whether that went well."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            how = {"theme": options.theme, "size": options.size, "title": name}
            path = recording.save_html(options.html, frames=frames_of(weights) + 1, **how)
        except ScalarvizError as error:
            fail(str(error))
            return False
    say(f"wrote {path}")
    for warning in told:
        say(str(warning.message))
    return True
