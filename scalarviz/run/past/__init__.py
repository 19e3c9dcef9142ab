"""The past of a run: lines of steps that branch from each other, keyframes on them, and the way to any place.

Open `timeline` first (steps, edits, going back, undo, and the list of lines). `line` is one of them
with its edits and keyframes. A kept moment is a `scalarviz.run.state.State`;
`scalarviz.run.travel` sets a run to it.
"""
