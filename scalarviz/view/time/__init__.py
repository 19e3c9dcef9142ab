"""The time bar: where a run has been, what was done to it there, and where it can go.

Open `bar` first: it lays out a `Past`, says what a point of it stands for, and draws edits, flags and ticks below the
rail and the buttons beside it. `curve` says where a step is, which branches are shown and where they leave, and
draws the losses.
"""
