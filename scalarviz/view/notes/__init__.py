"""What stands around the cubes: inputs, sums, activations, outputs, names and the lines between them.

Open `scenery` first: it decides which of these a layout gets, and says what they are called. All of it are `written`
records: `Notes` of words, numbers, chips, swatches and lines.

Where a label stands: whoever writes one offers places, the best first, and `placer` picks one that is free. `labels`
offers them for the names of plates and rows, `layer` for a single layer with its chips and for the outcome of a deeper
network, `notices` for what is wrong with a layer and what cubes were called by hand. `values` are the numbers on cubes,
in the middle of their faces. A scene's own plan brings its places along (`space.planned`).
"""
