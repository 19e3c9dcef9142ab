"""Time and hands: what a window does between two frames, and what keys and gestures do.

Open `viewer` first, then `live`, which drives a training worker; `mirror` shows what somebody else trains. `playback`
says which step is due, `controls` is the table of keys.
"""
