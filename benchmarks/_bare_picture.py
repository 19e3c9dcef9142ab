"""The least that a picture beside compiled training can take, for `scenes_start`: the libraries and nothing else.

    python benchmarks/_bare_picture.py

NumPy, numba with one function out of its cache (``NUMBA_CACHE_DIR``), vispy with a context, one shader and a picture
that is read back. No line of ours.
"""

from __future__ import annotations

import json
import os

os.environ.setdefault("EGL_PLATFORM", "surfaceless")

import numba
import numpy as np
from vispy import app, gloo

SIZE = (1280, 720)


@numba.njit(cache=True)
def trained(weights: np.ndarray, steps: int) -> float:
    """Some arithmetic."""
    total = 0.0
    for _ in range(steps):
        for k in range(len(weights)):
            weights[k] -= 0.1 * weights[k]
            total += weights[k]
    return total


def main() -> None:
    trained(np.ones(12, np.float32), 3)
    canvas = app.Canvas(app=app.Application("egl"), size=(16, 16), show=False, autoswap=False)
    canvas.set_current()
    gloo.gl.use_gl("gl2")
    program = gloo.Program(
        "attribute vec2 at; varying vec2 v; void main() { v = at; gl_Position = vec4(at, 0.0, 1.0); }",
        "varying vec2 v; void main() { gl_FragColor = vec4(v, 0.5, 1.0); }",
    )
    program["at"] = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
    with gloo.FrameBuffer(gloo.Texture2D((*SIZE[::-1], 4)), gloo.RenderBuffer(SIZE[::-1])):
        gloo.set_viewport(0, 0, *SIZE)
        program.draw("triangle_strip")
        picture = gloo.read_pixels(alpha=False)
    colours = len(np.unique(picture.reshape(-1, 3)[::97], axis=0))
    spent = os.times()
    print(json.dumps({"colours": colours, "processor": spent.user + spent.system}), flush=True)


if __name__ == "__main__":
    main()
