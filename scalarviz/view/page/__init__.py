"""The picture in a browser: what a page of a recording holds. Its own code lies in ``js/`` (`player.js` first).

Open `recorded` first: it decides what the page of a recording contains; `comparison` does so for two, `link` for one
behind a ``#``. `page` wraps any of them as one HTML file, `recording` has the methods of a recording that write one.

Parts of a page: `document`, the cubes, what stands around them and all else that stays from frame to frame; `pack`,
numbers over time as text; `pictures`, panels at some frames; `scene_parts`, what a file does not hold. `scripts` joins
the scripts, and makes the window's shaders a browser's. The HTML report of a sweep is `walls.run_report`.
"""
