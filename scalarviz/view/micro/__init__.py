"""Opened steps in a picture: all that it shows while a user walks through one training step.

Read `step_view` first: `MicroStepView` is all that a picture shows of one micro-step, as data. `walk` makes
it from an opened step of a run (`scalarviz.run.opened`), `sentences` its line, and `captions` the reason.
`equations` names their numbers, for a browser that has others. `light` finds the lit cubes and their
numbers. `wires` draws links through the cubes, `on_cubes` texts on and beside them, `beside_cubes` the line
with the formula, the six phases, and the figures in the side column.
`StepDrawing` beside the workbench puts all together.
"""
