"""Where a picture appears: a window of the desktop, or a canvas that nobody sees.

Open `desktop` first. `display` finds out whether a window can be opened, and whether its display is still there.
`files` writes pictures and films, `taking` makes those of a window, `vector` is a picture as SVG; `offscreen` draws
without a display.
"""
