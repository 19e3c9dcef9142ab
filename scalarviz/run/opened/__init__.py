"""A step, opened: what comes from the loss to every weight, sample by sample, and what the optimiser makes of it.

Open `opened` first (what ``run.open()`` returns), then `run/frames.py` (``run.open``, ``run.why``, ``run.compare``).

* before the optimiser: `network` (the model with all its stages, and where each weight is read), `attention` (what it
  makes by no module), `passes` (forward and backward in blocks; the sum that a gradient is)
* `rule` (the optimiser's rule as lines with numbers, and what it does to a weight), `equations` (what a number is made
  of, true as printed), `micro` (the step in small steps)
* `why` (one weight's step as a table that adds up; two steps compared)

All of it is float64 and on arrays of its own: an observer changes nothing.
"""
