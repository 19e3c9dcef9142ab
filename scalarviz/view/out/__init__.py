"""Where a picture appears: a window of the desktop, or a canvas that nobody sees.

Open `desktop` first. `film_file`, `still` and `vector` write what was painted. `taking` makes stills and films of it, `offscreen` draws without a display, `prompt` keeps a
window alive beside a Python prompt; `display` and `qt_trial` find out beforehand whether a window can be opened.
"""
