"""Pictures: cubes, panels, films. Loaded when it is first used; drawing needs vispy, geometry and colours do not."""

from ..collecting import collection_paused

with collection_paused():  # two hundred modules, all of which stay
    from .cubes.own import Cube, cube
    from .drawing import Drawing
    from .film import film
    from .ink.sketch import Sketch
    from .out.files import Film, save_png
    from .panels.drawer import Drawer
    from .panels.registry import register_panel
    from .picture import Picture, picture
    from .render import render
    from .show import Handle, show
    from .watch.pace import pace
    from .workbench import Workbench

__all__ = [
    "Cube",
    "Drawer",
    "Drawing",
    "Film",
    "Handle",
    "Picture",
    "Sketch",
    "Workbench",
    "cube",
    "film",
    "pace",
    "picture",
    "register_panel",
    "render",
    "save_png",
    "show",
]


def __dir__() -> list[str]:
    return __all__
