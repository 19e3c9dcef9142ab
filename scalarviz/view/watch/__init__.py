"""Time and hands: what a window does between two frames, and what keys and gestures do.

Open `viewer` first, then `live`, which drives a training worker; `mirror` shows what somebody else trains. `hands`
answers pointer and wheel, `acts` are the deeds on what is selected, `asking` asks the run about it,
`breaks` pauses where a condition becomes true, `looks` changes the look, `views` where it is seen from, `playback`
says which step is due, `travels` goes back and forth (and asks a `guide`), `actions` is the table of what can be
done, `reasons` why not, and `keys` says how its keys are called.
"""
