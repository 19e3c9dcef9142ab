"""Which nodes of a graph are a layer of ours, with weights that the file holds.

Open `table` first: what a recogniser sees and what it says. The other files are families of layers.
"""

from . import activations, convolutions, groups, linear, norms, products, roots, shapes

FAMILIES = (products, activations, convolutions, groups, linear, norms, roots, shapes)
"""The files that put recognisers into the table."""
