"""Outputs of a picture: a desktop window, an offscreen canvas, or a file.

Open `desktop` first: the window; ``scalarviz/display.py`` finds out whether one can be opened, and has its frame.
`offscreen` draws without a display, and `apart` in a process of its own, for the kernel of a notebook. `canvas` makes a
picture of anything that has cubes, or a description in words.
`files` writes pictures and films, those of a window included.
"""
