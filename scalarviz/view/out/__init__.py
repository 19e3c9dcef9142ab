"""Outputs of a picture: a desktop window, an offscreen canvas, or a file.

Open `desktop` first: the window; ``scalarviz/display.py`` finds out whether one can be opened, and has its frame.
`offscreen` draws without a display. `canvas` makes a picture of anything that has cubes, or a description in words.
`files` writes pictures and films, those of a window included.
"""
