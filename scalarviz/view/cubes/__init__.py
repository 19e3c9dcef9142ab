"""From a number to a pixel: the one visual that draws every cube, and the way back from a pixel to a number.

Open `slab` first: a box whose fragment shader (`shader`) walks its grid of cubes and reads their values from `atlas`.
`quantity` says what cubes can show, `scale` decides range and marks of a colour, once for cubes and legend, `sizes`
how large a cube is, `own` what one was given by hand. Below a pixel the shader samples, and `slab` averages what it
would miss. `picking` is the shader's walk in Python; `outline` and `region` are drawn around one cube and around
several.
"""
