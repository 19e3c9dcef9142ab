"""The cubes in a browser: what a page gets instead of a window.

Open `document` first: everything of a picture that stays from frame to frame, with the places in it and the programs
that draw it: the window's shaders, turned into a browser's, so that the cubes are drawn by the same text. `looks` has
its colours and quantities, `page` joins all of it into one file, `recorded` is a recording as a page needs it. The
page's own code lies in ``js/``, one concept a file as here (open ``player.js`` first); `scripts` joins it into one text
that needs neither a server nor a build step.
"""
