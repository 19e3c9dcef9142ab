"""A step, opened: what stands on the picture while somebody walks through one training step.

Open `walk` first: `Told` is all that a picture shows of one micro-step, as data. `Walk` makes it of an
opened step of a run (`scalarviz.run.opened`), with its words. `on_cubes` draws faces, deltas and pulses,
`inside` the line with the formula, the six phases below the cubes and the column beside them; it puts all
together for the workbench.
"""
