"""What stands around the cubes: inputs, sums, activations, outputs, names and the lines between them.

Open `scenery` first: it decides which of these a layout gets. `layer` draws a single layer with its chips, `formulas`
writes its rows out. `labels` places the names of plates and of rows of activations, `rows` those of single cubes ("to
r"), `taken` knows which places are free. `values` prints numbers on cubes, `own_labels` what they were called by
hand, `trouble` says what is wrong beside the layer where it is.
"""
