"""Rooms: pictures from which others are entered, in one window: the wall of all scenes, and the tour.

Open `rooms` first: it says which picture the window shows. A `door` is all that is known here of a scene: its name, a
still, what it lacks, and how it is built; the command line makes them. `wall` is what the wall does and the tile that
trains, `wall_drawing` how it looks, `grid` where things stand on it. `tour` is what the tour does and how its line
looks, `station` what a stop is made of. What a single scene's window does is no business of this folder but of
`watch`.
"""
