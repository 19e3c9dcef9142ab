"""Pure geometry: where cubes stand in space, and from where they are seen. No colours, no OpenGL.

Open `layout` first: it picks an arrangement for a network's tensors (`chain`, `lying`, `plane`, `planned`,
`blocks` of a file's network) made of plates (`plate`, `arrangement`), or takes one apart. `camera` projects,
`viewpoint` moves it.
"""
