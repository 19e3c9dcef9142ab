"""Parts of a run: its graph, its numbers, the engine at work, one moment of it. Nothing here knows a Run.

* `graph` (a traced model with its weights, and forward passes by it), `gather` (its weights in one store, its stages)
* `setup` (training settings, also as JSON, and the samples), `training` (calls of the engine, and divergence),
  `interrupts` (Ctrl-C), `optimizer` (and the loss scale), `history`
* `frame` (one moment, as pictures need it)
"""
