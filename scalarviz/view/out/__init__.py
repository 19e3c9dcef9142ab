"""Where a picture appears: a window of the desktop, a canvas that nobody sees, or a file.

Open `desktop` first: the window; ``scalarviz/display.py`` finds out whether one can be opened, and has its frame.
`offscreen` draws without a display. `easel` makes a picture of anything that has cubes, or words in its place. `files`
writes pictures and films, those too that are asked for in a window.
"""
