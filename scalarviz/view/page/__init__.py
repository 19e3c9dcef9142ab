"""The cubes in a browser: what a page gets instead of a window.

Open `document` first: all that stays from frame to frame, with the places in it. `recorded` makes the page of a
recording, `comparison` that of two, `link` one behind a ``#``; `page` has what is the same in all of them. The page's
own code lies in ``js/`` (open ``player.js`` first); `scripts` joins it, and makes the window's shaders a browser's.
"""
