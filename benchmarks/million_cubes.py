"""A million cubes with new values each frame: this package's slabs against vispy's InstancedMesh, in one run.

Four plates of 500 x 500 cubes, 1280 x 720, offscreen. Both show the same values from the same place in the same
context; they take turns, round by round, so that a noisy machine disturbs both. A frame is everything between a new
array of values and finished pixels: colours, upload, drawing, glFinish. InstancedMesh gets its colours by the same
table look-up in NumPy. PyOpenGL serves InstancedMesh alone (it needs vispy's "gl+"); ours draws by plain "gl2". Needs
the extra ``bench``.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("EGL_PLATFORM", "surfaceless")
os.environ.setdefault("PYOPENGL_PLATFORM", "egl")

import numpy as np
from _timing import Found, benchmark, main, timing_of
from numpy.typing import NDArray
from vispy import gloo, scene

from scalarviz.run.core.tensors import Tensor
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.ink.theme import get_map
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.space.layout import Layout, layout_for

SIZE = (1280, 720)
PLATES, SIDE, NEEDED = 4, 500, 50.0
Values = NDArray[np.float32]
Frame = Callable[[Values], None]

# A cube of half side 1: two triangles a face.
CORNERS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], np.float32)
FACES = np.array(
    [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6],
     [1, 3, 5], [3, 7, 5]], np.uint32
)  # fmt: skip


def framebuffer() -> Any:
    """Colour and depth of the picture's size."""
    shape = SIZE[::-1]
    return gloo.FrameBuffer(color=gloo.RenderBuffer(shape), depth=gloo.RenderBuffer(shape))


def ours(layout: Layout) -> tuple[Frame, Any]:
    """One frame of the slabs, and the framebuffer that it is drawn into."""
    gloo.gl.use_gl("gl2")
    canvas = offscreen().start()
    with offscreen():
        visual = SlabVisual(layout)
        target = framebuffer()
    visual.set_range(1.5)

    def frame(values: Values) -> None:
        gloo.gl.use_gl("gl2")
        canvas.set_current()
        visual.atlas.set_flat(values)
        with target:
            gloo.clear(color=(0.08, 0.09, 0.1, 1.0), depth=True)
            visual.draw(layout.camera, SIZE)
            canvas.context.flush_commands()
            gloo.gl.glFinish()

    return frame, target


def theirs(layout: Layout) -> tuple[Frame, Any]:
    """The same of an InstancedMesh with the same cubes."""
    gloo.gl.use_gl("gl+")
    canvas = scene.SceneCanvas(size=SIZE, show=False, app=offscreen().start().app)
    canvas.set_current()
    view = canvas.central_widget.add_view(border_width=0)
    places = np.concatenate([_centres(layout, k) for k in range(PLATES)])
    half = layout.plates[0].half
    mesh = scene.visuals.InstancedMesh(
        CORNERS * half,
        FACES,
        color=(1, 1, 1, 1),
        instance_positions=places,
        instance_colors=np.ones((len(places), 4), np.float32),
        instance_transforms=np.tile(np.eye(3, dtype=np.float32), (len(places), 1, 1)),
        shading=None,
        parent=view.scene,
    )
    view.camera = scene.cameras.BaseCamera()
    mesh.transform = scene.transforms.MatrixTransform(_to_pixels(layout))
    target = framebuffer()
    table = get_map("weight").entries.astype(np.float32) / 255.0
    colours = np.ones((len(places), 4), np.float32)

    def frame(values: Values) -> None:
        gloo.gl.use_gl("gl+")
        canvas.set_current()
        place = np.clip((values / 3.0 + 0.5) * (len(table) - 1), 0, len(table) - 1)
        colours[:, :3] = table[place.astype(np.intp)]
        mesh.instance_colors = colours
        canvas.push_fbo(target, (0, 0), SIZE)
        canvas._draw_scene(bgcolor=(0.08, 0.09, 0.1, 1.0))
        canvas.pop_fbo()
        canvas.context.flush_commands()
        gloo.gl.glFinish()

    return frame, target


def _centres(layout: Layout, index: int) -> NDArray[np.float32]:
    plate = layout.plates[index]
    rows, cols = plate.grid.cells
    steps = np.arange(cols)[None, :, None] * plate.axes[0] + np.arange(rows)[:, None, None] * plate.axes[1]
    return (plate.origin + steps).reshape(-1, 3).astype(np.float32)


def _to_pixels(layout: Layout) -> NDArray[np.float64]:
    """The layout's camera as vispy's matrix from the world to the canvas's pixels, with its depth."""
    flip = np.diag([SIZE[0] / 2, -SIZE[1] / 2, 1.0, 1.0])
    flip[:3, 3] = (SIZE[0] / 2, SIZE[1] / 2, 0.0)
    return np.asarray((flip @ layout.camera.matrix).T)


def timed(frame: Frame, values: Values) -> float:
    """Seconds of one frame."""
    start = time.perf_counter()
    frame(values)
    return time.perf_counter() - start


@benchmark("numpy vispy", "one frame")
def million_cubes(quick: bool) -> Found:
    count = SIDE**2
    layout = layout_for([Tensor(f"{k}", (SIDE, SIDE), k * count) for k in range(PLATES)], [], SIZE)
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(PLATES * count) / (97.0 * SIDE)).astype(np.float32)
    values = [(wave + rng.normal(0, 0.3, PLATES * count)).astype(np.float32) for _ in range(3)]
    (slab, slab_target), (mesh, mesh_target) = ours(layout), theirs(layout)
    mine, other = [], []
    for number in range(2 if quick else 6):  # in turns: the median of some of ours, then one of theirs
        turn = [timed(slab, values[k % len(values)]) for k in range(5)]
        slow = timed(mesh, values[number % len(values)])
        if number:  # the first round compiles shaders
            mine.append(statistics.median(turn))
            other.append(slow)
    ratio = statistics.median(b / a for a, b in zip(mine, other, strict=True))
    pictures = []
    for frame, target in ((slab, slab_target), (mesh, mesh_target)):
        frame(values[0])
        with target:
            pictures.append(np.array(target.read("color", alpha=False)))
    # both must show the same thing: pictures differ little after averaging blocks of 40 x 40
    blocks = [p.astype(np.float64).reshape(18, 40, 32, 40, 3).mean(axis=(1, 3)) for p in pictures]
    likeness = float(np.abs(blocks[0] - blocks[1]).mean())
    print(f"ratio {ratio:.0f} (at least {NEEDED:.0f} wanted); mean colours differ by {likeness:.1f}/255")
    renderer = gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)
    more = {"renderer": renderer, "ratio": round(ratio, 1), "cubes": PLATES * count, "size": list(SIZE)}
    return {"slab": timing_of(mine), "InstancedMesh": timing_of(other)}, more


if __name__ == "__main__":
    main()
