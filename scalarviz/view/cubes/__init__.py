"""From a number to a pixel: the one visual that draws every cube, and the way back from a pixel to a number.

Open `slab` first: a box whose fragment shader (`shader`) walks its grid of cubes and reads their values from `atlas`.
`scale` decides range and marks of a colour, once for cubes and legend; `picking` is the shader's walk in Python;
`outline` and `region` are what is drawn around one cube and around several.
"""
