"""The time bar: where a run has been, what was done to it there, and where it can go.

Open `bar` first: it puts together what the others make of a `Past`, and says what a point of it stands for. `scale`
says where a step is, `rails` which branches are shown and where they leave, `curve` draws the losses, `marks` the
edits, flags and ticks below the rail, `buttons` what stands beside it, `target` what a touch asks for.
"""
