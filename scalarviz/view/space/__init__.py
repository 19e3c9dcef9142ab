"""Pure geometry: the places of cubes in space, and the cameras. No colours, no OpenGL.

Open `layout` first: it picks an arrangement for a network's tensors (a scene's own plan, `chain`, `plane`, or
`blocks` for a network from a file) made of plates (`arrangement`), or takes one apart. `camera` projects, and moves.
"""
