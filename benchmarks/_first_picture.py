"""A process that draws the first picture of a scene, or of the wall of all, as its window would, for `scenes_start`.

    python benchmarks/_first_picture.py SCENE|wall

The line comes as soon as the picture is drawn and read back: who starts this measures to that line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

WALL = "wall"
SIZE = (1280, 720)


def main() -> None:
    make, close = _wall() if sys.argv[1] == WALL else _scene(sys.argv[1])
    from scalarviz.view.window.unseen import Unseen

    host = Unseen(make, SIZE)
    host.pass_time(1 / 60)
    picture = host.picture()
    colours = len(np.unique(picture.reshape(-1, picture.shape[-1])[::97], axis=0))
    spent = os.times()
    print(json.dumps({"colours": colours, "processor": spent.user + spent.system}), flush=True)
    host.view.close()
    close()


def _scene(name: str) -> tuple[Callable[..., Any], Callable[[], object]]:
    from scalarviz.run.scene_file import load_scene
    from scalarviz.view.watch.live import LiveView

    loaded = load_scene(name)
    scene = loaded.build(loaded.options())
    return (lambda size: LiveView(scene, size, wait=None)), lambda: None


def _wall() -> tuple[Callable[..., Any], Callable[[], object]]:
    from scalarviz.cli.rooms import rooms

    found = rooms()
    return found.wall, found.close


if __name__ == "__main__":
    main()
