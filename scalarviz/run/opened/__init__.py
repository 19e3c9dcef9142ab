"""A step, opened: what comes from the loss to every weight, sample by sample, and what the optimiser makes of it.

Open `opened` first (what ``run.open()`` returns), then `opening` (that method, and `taken`: what is copied of the run)
and `asking` (``run.why``, ``run.compare``).

* before the optimiser: `network` (the model lowered with all its stages), `passes` (forward and backward, in blocks),
  `uses` (where a weight is read, and what it meets there), `terms` (the sum that its gradient is)
* the optimiser: `update` (what it does to one weight, and to all), `rule` (its recorded rule as lines), `writing`
  (formulas with their numbers)
* small steps: `micro` (what one is), `walk` (which there are), `order` (of a layer's weights), `symbols` (small
  equations), `places` (of which stage a row is)
* questions: `why` (one weight's step as a table), `adding` (a column that adds up), `whatif` (the loss along one
  weight), `outer` (a layer's gradient sample by sample), `compare` (two steps)

All of it is float64 and on arrays of its own: an observer changes nothing.
"""
