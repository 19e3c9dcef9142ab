"""What stands around the cubes: inputs, sums, activations, outputs, names and the lines between them.

Open `scenery` first: it decides which of these a layout gets. `layer` writes a small network's rows as formulas.
"""
