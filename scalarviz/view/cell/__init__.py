"""A notebook's cell: the scene trains in the kernel, the browser draws its numbers and asks for things.

Open `live` first (`sv.live` and its widgets), then `shown`: one thread that owns a viewer, gives it time and does what
the browser asks for. `channel` says when a frame may be sent, `play` what goes with its numbers, `asked` what may be
asked for and `controls` what the sliders set. `pictures` is the same viewer sent as pictures, `saved` what stays in a
saved notebook.
"""
