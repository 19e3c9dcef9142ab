"""Cubes, from a number to a pixel: the one visual that draws them all, and the way back from a pixel to a number.

1. `Viewer.tick` (`watch.viewer`) asks the run for a frame, which is a copy of its numbers (`run.frames`; in training,
   the newest frame of `run.worker`). `Workbench.update` gives it to a `CubeView` (`cube_view`, beside this folder),
   which gives it to the visual.
2. `scale` decides for cubes and legend which quantity is shown, with which range, marks and colours; `looks` holds the
   looks given by hand.
3. `slab` is the visual: a box for each plate. It puts the numbers into the texture of `atlas`, which also sets the size
   of each cube.
4. Its shader (``glsl/cubes_*``) walks a plate's grid to the cube on the pixel's ray, reads its number, and looks up its
   colour in a table of `ink.theme`. Cubes below a pixel are averaged; if many cubes share a pixel, `slab` averages
   blocks beforehand.

When a window paints, the calls are `Viewer.draw`, `Workbench.draw_below`, `CubeView.draw`, `SlabVisual.draw`.

Numbers on cubes: `Scenery.cubes` lets `CubeValues` write them into a list, `Bound.text` (`ink.sketch`) makes the
letters, and `ink.painter` draws each letter from the texture of `GlyphAtlas` (`ink.text`).

The way back: `picking` is the shader's walk in Python. It also outlines the cubes that it finds, and makes polygons of
cubes for SVG.
"""
