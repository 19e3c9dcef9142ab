"""What can be done in windows that show no run: keys and gestures of the wall, of the tour and of a graph.

As the table in `actions`, which has what rooms share with every window (`SHARED`: light or dark, the list of keys).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHARED = ("toggle_theme", "toggle_full_screen", "screenshot", "film", "toggle_help", "close")
"""Names of actions of `actions` that rooms have too, with their keys."""


@dataclass(frozen=True, slots=True)
class RoomAction:
    """Something that a room does.

    Attributes
    ----------
    name : str
    keys : tuple of str
        As `keys.normalised` gives them; none for what the pointer does.
    does : str
        What the list of keys says.
    words : str
        What the line at the bottom says; empty leaves it out.
    hand : str
        The gesture that does it, if one does.
    """

    name: str
    keys: tuple[str, ...]
    does: str
    words: str = ""
    hand: str = ""


WALL = (
    RoomAction("left", ("Left",), "choose the scene before"),
    RoomAction("right", ("Right",), "choose the next scene", "next"),
    RoomAction("up", ("Up",), "choose the scene above"),
    RoomAction("down", ("Down",), "choose the scene below"),
    RoomAction("enter", ("Enter", "Space"), "enter the chosen scene; Escape comes back", "go in", "Click"),
    RoomAction("tour", ("T",), "the tour: a minute through all of it", "tour"),
    RoomAction("open", ("Ctrl+O",), "open a picture, a table (.csv) or weights (or drop them here)", "a file of yours"),
    RoomAction("escape", ("Escape",), "close what is open; twice: the window"),
)

RUNS = (
    RoomAction("left", ("Left",), "choose the run before"),
    RoomAction("right", ("Right",), "choose the next run", "next"),
    RoomAction("up", ("Up",), "choose the run above"),
    RoomAction("down", ("Down",), "choose the run below"),
    RoomAction("page_up", ("PageUp",), "a page up; the wheel a row", "", "Wheel"),
    RoomAction("page_down", ("PageDown",), "a page down"),
    RoomAction("first", ("Home",), "the first run"),
    RoomAction("last", ("End",), "the last run"),
    RoomAction("enter", ("Enter", "Space"), "open the chosen run, which trains on; Escape comes back", "open", "Click"),
    RoomAction("faces", ("P",), "show their cubes, or the panel of their scene", "cubes or panel"),
    RoomAction("kinds", ("F",), "all runs, those that learnt, those that did not", "filter"),
    RoomAction("plots", ("Tab",), "plots of all runs; again: the runs", "plots"),
    RoomAction("larger", ("=",), "larger pictures"),
    RoomAction("smaller", ("-",), "smaller pictures"),
    RoomAction("escape", ("Escape",), "close what is open; twice: the window"),
)

TOUR = (
    RoomAction("next", ("Right", "Space"), "the next station", "next"),
    RoomAction("before", ("Left",), "the station before", "back"),
    RoomAction("end", ("Escape",), "end the tour, on the wall", "end"),
)

GRAPH = (
    RoomAction("closer", ("=",), "larger; the wheel smaller, too", "", "Wheel"),
    RoomAction("farther", ("-",), "smaller"),
    RoomAction("left", ("Left",), "what is left of it; a drag moves it anywhere", "", "Drag"),
    RoomAction("right", ("Right",), "what is right of it"),
    RoomAction("up", ("Up",), "what is above it"),
    RoomAction("down", ("Down",), "what is below it"),
    RoomAction("fit", ("Home",), "all of it", "all of it", "Double click"),
    RoomAction("unfold", (), "unfold a folded module", "", "Click"),
    RoomAction("fold", ("Backspace",), "fold what was unfolded last", "fold again"),
    RoomAction("escape", ("Escape",), "close what is open; twice: the window"),
)


def lines(actions: Sequence[RoomAction], mark: str = "") -> list[tuple[str, str]]:
    """Keys, each between two marks, and gestures, and what they do."""
    told = [[*(f"{mark}{key}{mark}" for key in a.keys), *([a.hand] if a.hand else [])] for a in actions]
    return [(" or ".join(parts), a.does) for parts, a in zip(told, actions, strict=True)]
