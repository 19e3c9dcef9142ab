"""From a number to a pixel: the one visual that draws every cube, and the way back from a pixel to a number.

On the way there: `workbench.update` hands a frame to `cube_view`, whose `paint` gives the numbers to the `slab`.
Open that first: a box whose fragment shader (`shader`) walks its grid of cubes and reads their values from
`atlas`, which also says how large a cube is. `scale` decides what cubes show, range and marks of a colour,
once for cubes and legend; `own` are looks given by hand. Below a pixel the shader samples, and `slab`
averages what it would miss. `picking` is the shader's walk in Python, `outline` is drawn around cubes,
`outlined` are cubes as polygons.
"""
