"""Pictures: cubes, panels, films. Loaded when it is first used; drawing needs vispy, geometry and colours do not.

`workbench` is one picture of a scene: it asks everything below for its part of the list.
`cube_view` has its cubes with their ranges and legends, `comparison` shows three of them side by side.
`interaction` says which cubes are hovered and selected, `step_drawing` what is drawn of an opened step.
`drawing` is the picture of a graph of Values, and its window.
`short_film` tells a run in twenty seconds.
`ink.boxes` says which parts stand, and where. Users call functions of `show` and `render`.

* `shown`: what is looked at. `space`: where cubes stand and from where they are seen. `cubes`: from number to pixel.
* `notes`: texts around the cubes. `screen`: HUD, legend, column of panels, controls, time bar, inspector.
* `panels`: one kind of panel each. `micro`: an opened step. `graph`: the picture of a graph of Values.
* `ink`: texts, shapes, colours, axes, widgets and boxes, and what paints them. `glsl`: the shaders.
* `watch`: time, keys and pointer. `out`: windows, films, files. `walls`: many pictures in one window.
* `page` and `cell`: the picture in a browser, of a recording and of a run that trains in a notebook.
"""

from ..contexts import collection_paused

with collection_paused():  # two hundred modules, all of which stay
    from .cubes.looks import Cube, cube
    from .drawing import Drawing
    from .ink.sketch import Sketch
    from .out.files import Film, save_png
    from .panels.drawer import Drawer
    from .panels.registry import register_panel
    from .render import Picture, film, picture, render
    from .show import Handle, show
    from .watch.playback import pace
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
