"""The tables of keys in the documentation, in Markdown."""

from scalarviz.view.cell.play import NOT_HERE
from scalarviz.view.panels.registry import DRAWERS
from scalarviz.view.watch.actions import ACTIONS, GESTURES, RUNS, TOUR, WALL


def of_the_window():
    """All tables of docs/window.md."""
    panels = [line for drawer in DRAWERS.values() for line in (*drawer.gestures, *drawer.choices, *drawer.lessons)]
    rooms = (("on the wall of all scenes", WALL), ("in the tour", TOUR), ("on a wall of runs", RUNS))
    tables = {"key": ACTIONS, "mouse": GESTURES, "on a panel": None, **dict(rooms)}
    return "\n".join(
        _table((head, "does"), panels if room is None else [(_keys(one), one.does) for one in room])
        for head, room in tables.items()
    )


def of_a_cell():
    """The table of missing actions of docs/notebooks.md."""
    rows = [(f"{_keys(one)} {one.does}", NOT_HERE[one.name]) for one in ACTIONS if one.name in NOT_HERE]
    return _table(("not in a cell", "instead"), rows)


def _keys(action):
    return " or ".join(filter(None, (*(f"`{key}`" for key in action.pressed), action.hand)))


def _table(heads, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, *rows)).replace("|\n", "|\n|---|---|\n", 1)
