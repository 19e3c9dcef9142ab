"""Pages: a recording in a browser. The browser's code is in ``js/`` (`player.js` first).

Read `recorded` first: it decides what the page of a recording contains. `page` wraps it as one HTML file, with what
comes from the scene; `recording` has the methods of recordings that write them, and decides what the page of two
recordings contains.

Parts of a page: `document`, everything that all frames share; `bar`, the window's time bar for a browser; `pack`,
numbers over time as text; `pictures`, panels at some frames; `lists`, the window's display lists of all frames, also
for live cells; `opened`, those of opened steps; `trains`, with which a browser goes on, also with another optimiser or
activation; `layers`, hidden layers that it can take instead of the recorded ones; `trials`, with which it opens the
steps that it computes. `scripts` joins the scripts and translates the window's shaders. The HTML report of a sweep is
`walls.run_report`.
"""
