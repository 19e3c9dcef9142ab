"""Everything that `show` and `render` accept, brought into one form.

Open `subject` first: it turns a Scene, a Run, a module, weights or arrays into a `Subject`, which holds what stays the
same from frame to frame. A Source (`scalarviz.run.source`) supplies the numbers; the source for arrays and for the
weights of a hand-written loop is here. `names` has the display names of the parts,
and of selected weights.
"""
