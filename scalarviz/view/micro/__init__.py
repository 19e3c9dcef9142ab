"""A step, opened: what stands on the picture while somebody walks through one training step.

Open `told` first: it is all that a picture shows of one micro-step, as data. `walk` makes it of an opened step of a run
(`scalarviz.run.opened`); its words are made in `saying` and `writing`. What is drawn of it:

* on the cubes and their lines: `faces` (two lines on a cube), `chips` (deltas under the outputs), `pulses`
* below them: `sentence` (the formula with its numbers) and `ribbon` (the six phases)
* in the side column: `column` (whose numbers they are, where the deltas come from) and `figures` (the terms
  of a weight, deltas of many outputs, gradients by layer, the optimiser's lines)

`inside` puts it together for the workbench, of which `bench` is what it needs; `still` opens a step for one picture.
"""
