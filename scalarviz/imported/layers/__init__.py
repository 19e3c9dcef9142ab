"""Which nodes of a graph are a layer of ours, with weights that the file holds.

Open `table` first: what a recogniser sees and what it says. The other files are families of layers.
"""

from . import activations, linear, norms

FAMILIES = (activations, linear, norms)
"""The files that put recognisers into the table."""
