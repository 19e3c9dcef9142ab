"""Pictures: cubes, panels, films. Loaded when it is first used, because it needs vispy."""

from .files import save_png
from .film import Film, pace
from .render import render
from .show import Handle, show
from .workbench import Workbench

__all__ = ["Film", "Handle", "Workbench", "pace", "render", "save_png", "show"]
