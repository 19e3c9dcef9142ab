"""The time bar: where a run has been, what was done to it there, and where it can go.

Open `bar` first: it puts together what the others make of a `Past`, says what a point of it stands for, and draws the
edits, flags and ticks below the rail. `curve` says where a step is, which branches are shown and where they leave, and
draws the losses, `buttons` what stands beside it.
"""
