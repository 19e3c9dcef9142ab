"""A step, opened: what stands on the picture while somebody walks through one training step.

Open `step_view` first: `MicroStepView` is all that a picture shows of one micro-step, as data. `walk` makes it of an
opened step of a run (`scalarviz.run.opened`), and `sentences` its words. `light` says which cubes are lit,
in which numbers; `wires` draws what runs through the cubes, `on_cubes` what is written on them and beside
them, `beside_cubes` the line with the formula, the six phases, and the figures in the side column. `Inside`
beside the workbench puts all together.
"""
