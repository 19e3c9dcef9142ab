"""Pure geometry: where cubes stand in space, and from where they are seen. No colours, no OpenGL.

Open `layout` first: it picks an arrangement for a network's tensors (`few`, `chain`, `conv`, `gallery`) made of plates
(`plate`); `apart` takes one apart. `camera` projects, `viewpoint` moves it, `pose` turns it.
"""
