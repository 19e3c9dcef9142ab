"""What stands around the cubes: inputs, sums, activations, outputs, names and the lines between them.

Open `scenery` first: it decides which of these a layout gets, and says what they are called. `placer` decides
where each text stands. `labels` are the names of plates and rows of activations, `layer` a single layer with
its chips and formulas, `values` the numbers on cubes, `notices` what is wrong with a layer and what cubes
were called by hand.
"""
