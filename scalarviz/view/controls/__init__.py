"""The panel of controls: what a hand may set, in one box over the side column, as it is drawn and asked.

Open `panel` first: it knows what is open, focused and held, and does nothing by itself. `rows` are controls at one
moment, below one another, and where the box stands, `contents` says which there are, `drawing` paints the four kinds.
`ring` is what keys and hands make of a value. Who is told (keys, edits, the host's own fields) is
`watch/desk`. What there is to set is described a floor below (`run/controls.py`, `run/scene/own_controls.py`).
"""
