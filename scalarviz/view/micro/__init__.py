"""A step, opened: what stands on the picture while somebody walks through one training step.

Open `told` first: it is all that a picture shows of one micro-step, as data. `walk` makes it of an opened step of a run
(`scalarviz.run.opened`). What is drawn of it stands in `ribbon` (the six phases), `sentence` (the formula with its
numbers), `faces` (two lines on a cube), `chips` (deltas under the outputs), `pulses` (what runs along the lines) and
`column` (beside the cubes: whose numbers they are, and where the deltas come from). `inside` puts them together for the
workbench.
"""
