"""What a run is made of: its graph, its numbers, the engine at work, one moment of it. Nothing here knows a Run.

* `graph` (a recorded model with its weights), `gather` (weights in one store), `stages` and `forward` (its rows)
* `setup` (how it trains, also as JSON), `training` (calls of the engine), `divergence` (a NaN or infinity comes up),
  `interrupts` (Ctrl-C), `optimizer`, `data`, `loss_scale`, `history`
* `frame` (one moment, as a picture sees it) and `reading` (what it is made of), `requests` (frames for other threads)
"""
