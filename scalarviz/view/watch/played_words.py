"""What actions are called where a recording is shown: nothing trains there, steps are those that were recorded.

A window and a page read these words; what is not named here is said as everywhere.
"""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """What is said of an action.

    Attributes
    ----------
    does : str
        What the list of keys says.
    words, inside : str
        What the line at the bottom says, and what it says inside an opened step; empty leaves it out.
    """

    does: str
    words: str = ""
    inside: str = ""


PLAYED = {
    "toggle_run": Words("play or pause", "play", "play"),
    "step": Words("the next recorded step (Shift: ten)", "next", "next recorded step"),
    "back": Words("the one before (Shift: ten)", "back"),
    "micro_next": Words("into the step that follows: the next micro-step", "micro-step", "next micro-step"),
    "first": Words("the first recorded step"),
    "newest": Words("the last one"),
    "faster": Words("twice the speed", "faster"),
}
