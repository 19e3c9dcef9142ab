"""The cubes in a browser: what a page gets instead of a window.

Open `document` first: everything of a picture that stays from frame to frame; `laid` finds the places in it, `looks`
its colours and quantities. The page's own code lies in ``js/``, one concept a file as here (open ``player.js`` first);
`scripts` joins it into one text that needs neither a server nor a build step. `es300` turns the window's shaders into a
browser's: the cubes are drawn by the same text.
"""
