"""A million cubes with new values each frame: this package's slabs against vispy's InstancedMesh, in one run.

    python benchmarks/million_cubes.py [--side 500] [--rounds 5]          (needs the extra `bench`)

Four plates of side x side cubes, 1280x720, offscreen. Both show the same values from the same place in the same
context; they take turns, round by round, so that a noisy machine disturbs both. A frame is everything between a new
array of values and finished pixels: colours, upload, drawing, glFinish. InstancedMesh gets its colours by the same
table look-up in NumPy. PyOpenGL serves InstancedMesh alone (it needs vispy's "gl+"); ours draws by plain "gl2".
Writes ``benchmarks/results/million_cubes.json``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("EGL_PLATFORM", "surfaceless")
os.environ.setdefault("PYOPENGL_PLATFORM", "egl")

import numpy as np
from _timing import arguments, timing_of, write_report
from numpy.typing import NDArray
from vispy import gloo, scene

from scalarviz.run.frame import Tensor
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.draw.maps import get_map
from scalarviz.view.space.layout import Layout, layout_for
from scalarviz.view.window.offscreen import offscreen

SIZE = (1280, 720)
PLATES = 4
NEEDED = 50.0
OURS_A_ROUND = 5
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


def ours(layout: Layout) -> tuple[Frame, Callable[[], NDArray[np.uint8]]]:
    """One frame of the slabs, and their picture."""
    gloo.gl.use_gl("gl2")
    with offscreen() as context:
        visual = SlabVisual(layout)
        target = framebuffer()
    visual.set_range(1.5)
    canvas = context._canvas

    def frame(values: Values) -> None:
        gloo.gl.use_gl("gl2")
        canvas.set_current()
        visual.set_flat(values)
        with target:
            gloo.clear(color=(0.08, 0.09, 0.1, 1.0), depth=True)
            visual.draw(layout.camera, SIZE)
            canvas.context.flush_commands()
            gloo.gl.glFinish()

    def picture() -> NDArray[np.uint8]:
        with target:
            return np.array(target.read("color", alpha=False))

    return frame, picture


def theirs(layout: Layout) -> tuple[Frame, Callable[[], NDArray[np.uint8]]]:
    """One frame of an InstancedMesh with the same cubes, and its picture."""
    gloo.gl.use_gl("gl+")
    canvas = scene.SceneCanvas(size=SIZE, show=False, app=offscreen()._canvas.app)
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
    table = get_map("weight").table().astype(np.float32) / 255.0
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

    def picture() -> NDArray[np.uint8]:
        with target:
            return np.array(target.read("color", alpha=False))

    return frame, picture


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


def measure(ours: Frame, theirs: Frame, values: list[Values], rounds: int) -> tuple[list[float], list[float]]:
    """Seconds a frame of each per round, interleaved: the median of some of ours, then one of theirs.

    The first round compiles shaders and does not count.
    """
    mine, other = [], []
    for number in range(rounds + 1):
        turn = [timed(ours, values[k % len(values)]) for k in range(OURS_A_ROUND)]
        slow = timed(theirs, values[number % len(values)])
        if number:
            mine.append(statistics.median(turn))
            other.append(slow)
    return mine, other


def timed(frame: Frame, values: Values) -> float:
    """Seconds of one frame."""
    start = time.perf_counter()
    frame(values)
    return time.perf_counter() - start


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--side", type=int, default=500, help="cubes along each side of a plate")
    parser.add_argument("--rounds", type=int, default=5, help="frames of each that count")
    parser.add_argument("--pictures", type=Path, help="folder for the two pictures (to see that both drew the same)")
    return parser.parse_args()


def main() -> int:
    options = parse()
    count = options.side**2
    tensors = [Tensor(f"{k}", (options.side, options.side), k * count) for k in range(PLATES)]
    layout = layout_for(tensors, [], SIZE)
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(PLATES * count) / (97.0 * options.side)).astype(np.float32)
    values = [(wave + rng.normal(0, 0.3, PLATES * count)).astype(np.float32) for _ in range(3)]
    slab, slab_picture = ours(layout)
    mesh, mesh_picture = theirs(layout)
    mine, other = measure(slab, mesh, values, 1 if options.quick else options.rounds)
    timings = {"slab": timing_of(mine), "InstancedMesh": timing_of(other)}
    ratio = statistics.median(b / a for a, b in zip(mine, other, strict=True))
    pictures = {}
    for name, frame, picture in (("slab", slab, slab_picture), ("InstancedMesh", mesh, mesh_picture)):
        frame(values[0])
        pictures[name] = picture()
    likeness = compare(pictures["slab"], pictures["InstancedMesh"])
    for name, timing in timings.items():
        print(f"{name:>14}: {timing} a frame of {PLATES * count:,} cubes")
    print(f"ratio {ratio:.0f} (at least {NEEDED:.0f} wanted); mean colours differ by {likeness:.1f}/255")
    if options.pictures:
        save(pictures, options.pictures)
    if not options.quick:
        more = {"ratio": round(ratio, 1), "cubes": PLATES * count, "size": list(SIZE)}
        renderer = gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)
        write_report("million_cubes", timings, ("numpy", "vispy"), unit="one frame", renderer=renderer, **more)
    return 0 if ratio >= NEEDED or options.side != 500 else 1


def compare(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Mean difference of the pictures after averaging blocks of 40x40: they must show the same thing."""
    blocks = [p.astype(np.float64).reshape(18, 40, 32, 40, 3).mean(axis=(1, 3)) for p in (a, b)]
    return float(np.abs(blocks[0] - blocks[1]).mean())


def save(pictures: dict[str, NDArray[np.uint8]], folder: Path) -> None:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        Image.fromarray(picture).save(folder / f"million_{name}.png")


if __name__ == "__main__":
    sys.exit(main())
