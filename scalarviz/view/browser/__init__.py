"""The cubes in a browser: what a page gets instead of a window.

Open `scripts` first: the page's own code lies in ``js/``, one concept a file as here, and is joined into one text that
needs neither a server nor a build step. `es300` turns the window's shaders into a browser's.
"""
