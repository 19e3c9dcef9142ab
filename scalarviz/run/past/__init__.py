"""The past of a run: lines of steps that leave one another, keyframes on them, and the way to any place.

Open `timeline` first (what happens: steps, edits, going back, undo; which lines there are). `line` is one of them
with its edits and keyframes. A kept moment is a `scalarviz.run.state.State`;
`scalarviz.run.travel` puts a run there.
"""
