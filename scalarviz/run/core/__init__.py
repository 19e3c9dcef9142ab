"""What a run is made of: its graph, its numbers, the engine at work, one moment of it. Nothing here knows a Run.

* `graph` (a recorded model with its weights, and forward passes by it), `gather` (its weights in one store, its stages)
* `setup` (how it trains, also as JSON, and its samples), `training` (calls of the engine, and how a run diverges),
  `interrupts` (Ctrl-C), `optimizer` (and the loss scale), `history`
* `frame` (one moment, as a picture sees it)
"""
