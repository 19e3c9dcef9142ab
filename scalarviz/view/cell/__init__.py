"""A notebook's cell: the scene trains in the kernel, the browser draws its numbers and asks for things.

Open `live` first (`sv.live` and its widgets), then `shown`: one thread owns a viewer, gives it time and does what is
asked for. `channel` says when a frame may be sent, `play` what goes with its numbers, `asked` what a browser may ask
for, and what its sliders set. `pictures` sends the same viewer as pictures, `saved` has what stays in a saved notebook.
"""
