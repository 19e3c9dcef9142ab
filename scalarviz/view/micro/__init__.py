"""A step, opened: what stands on the picture while somebody walks through one training step.

Open `told` first: it is all that a picture shows of one micro-step, as data. `walk` makes it of an opened step of a run
(`scalarviz.run.opened`), its words are made in `saying`. `on_cubes` draws faces, deltas and pulses, `line_and_column`
the line with the formula and the six phases below the cubes, and the column beside them; `inside` puts it together for
the workbench.
"""
