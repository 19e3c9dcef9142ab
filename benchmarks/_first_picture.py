"""A process that draws the first picture of a scene, as its window would, for `scenes_start`.

    python benchmarks/_first_picture.py SCENE

The line comes as soon as the cubes are drawn and read back: who starts this measures to that line.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from scalarviz.cli.scene import load_scene
from scalarviz.view.watch.live import LiveView
from scalarviz.view.window.unseen import Unseen


def main() -> None:
    loaded = load_scene(sys.argv[1])
    scene = loaded.build(loaded.options())
    host = Unseen(lambda size: LiveView(scene, size, wait=None), (1280, 720))
    host.pass_time(1 / 60)
    picture = host.picture()
    colours = len(np.unique(picture.reshape(-1, picture.shape[-1])[::97], axis=0))
    print(json.dumps({"weights": scene.run.n_weights, "colours": colours}), flush=True)
    host.view.close()


if __name__ == "__main__":
    main()
