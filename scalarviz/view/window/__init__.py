"""Where a picture appears: a window of the desktop, or a canvas that nobody sees.

Open `desktop` first. `offscreen` draws without a display, `files` writes what was drawn, `prompt` keeps a window alive
beside a Python prompt; `display` and `qt_trial` find out beforehand whether a window can be opened.
"""
