"""Opened steps: one training step, taken apart sample by sample, from the loss to every new weight.

Read `opened` first (``run.open()`` returns an `Opened`), then `run/frames.py` (``run.why``, ``run.compare``).

* before the optimiser: `network` (the model with all its stages, and where it reads each weight), `attention`
  (operations between modules), `passes` (forward and backward in blocks; the terms of a gradient)
* `rule` (the optimiser's rule as lines, and its effect on a weight), `equations` (equations, true as printed),
  `micro` (micro-steps)
* `why` (one weight's step as a table that adds up; two steps compared)

All numbers are float64 copies: opening a step changes nothing in the run.
"""
