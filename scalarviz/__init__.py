"""scalarviz: every weight is an object, and every object is a cube.

A per-parameter scalar autograd library with a 3-D view. See the README for ten lines to start with.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import check as check
    from . import mistakes as mistakes
    from . import view as view
    from .lessons.shelf import lesson as lesson
    from .public import *  # noqa: F403  # type checkers see each name
    from .sweep.sweep import sweep as sweep
    from .view.cell.live import live as live
    from .view.cell.live import predict as predict
    from .view.cell.saved import player as player
    from .view.drawing import draw as draw
    from .view.page.recording import Recording as Recording
    from .view.page.recording import load_recording as load_recording
    from .view.render import film as film
    from .view.render import render as render
    from .view.show import show as show
else:
    # This file runs before any other, and a command has to answer Ctrl-C before NumPy is loaded: so it loads nothing.
    of_view = {
        "Recording": ".view.page.recording", "draw": ".view.drawing", "film": ".view.render",
        "lesson": ".lessons.shelf", "live": ".view.cell.live", "load_recording": ".view.page.recording",
        "player": ".view.cell.saved", "predict": ".view.cell.live", "render": ".view.render", "show": ".view.show",
    }  # fmt: skip
    """Names of the view and of what stands on it, and where they are made."""

    def __getattr__(name: str) -> Any:
        """Load a folder, or the names of ``public``, when they are first used; ``sv.view`` alone needs vispy."""
        if name == "__all__":
            return sorted([*import_module(".public", __name__).__all__, *of_view, "check", "mistakes", "sweep", "view"])
        if name in of_view:
            found = globals()[name] = getattr(import_module(of_view[name], __name__), name)
            return found
        if not name.startswith("__"):
            if find_spec(f"{__name__}.{name}"):  # first: the folders import each other from here
                return import_module(f".{name}", __name__)
            public = import_module(".public", __name__)
            if name in public.__all__:
                found = globals()[name] = getattr(public, name)
                return found
            raise import_module(".arguments", __name__).no_name(__name__, name, __getattr__("__all__"), public.ABSENT)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return [*__getattr__("__all__"), "__version__"]
