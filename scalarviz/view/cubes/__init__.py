"""From a number to a pixel: the one visual that draws every cube, and the way back from a pixel to a number.

1. `Viewer.tick` (`watch.viewer`) asks the run for a frame, which is a copy of its numbers
   (`run.looking`; while it trains, the newest of `run.worker`). `Workbench.update` gives it to a `CubeView`
   (`comparison`, beside this folder), which gives it to the visual.
2. `scale` decides: what cubes show, its range, its marks and its colours, once for cubes and legend; `looks` are looks
   given by hand.
3. `slab` is the visual: a box for each plate. It puts the numbers into the texture of `atlas`, which also says how
   large a cube is.
4. Its shader (``glsl/cubes_*``) walks a plate's grid to the cube on the pixel's ray, reads its number, and
   looks its colour up in a table of `ink.maps`. Below a pixel it averages; of many cubes on a pixel `slab`
   takes the mean of blocks beforehand.

When a window paints: `Viewer.draw`, `Workbench.draw_below`, `CubeView.draw`, `SlabVisual.draw`.

The number that is written on a cube: `Scenery.cubes` has `notes.values` write it into a list, `Bound.text`
(`ink.sketch`) makes its letters, and `ink.painter` draws each of them out of a texture, `GlyphAtlas` (`ink.text`).

The way back: `picking` is the shader's walk in Python. What it finds has marks around it; for SVG cubes are
polygons.
"""
