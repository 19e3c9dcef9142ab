"""Time, keys and pointer: what a window does between two frames, and what each key does.

Open `viewer` first, then `live`, which drives a training worker. Actions and their keys stand in `actions`; what one
does stands under its name in the `handlers` of `selected`, `travels`, `microsteps`, `desk` and of the viewers. A key
without Ctrl goes first to what is open (`_typed` of the viewers): to the controls (`screen.controls`), to a condition
(`live`) or a number (`selected`) that is typed, or to a panel (the `key` of its drawer).

`viewer` also has the look of the picture, files that are opened, and recordings that are still written; `live` also has
breakpoints, and the large lines before the first step and after the last. `playback` says which step is due in a
window or a film; `pointer` answers pointer and wheel, `selected` asks the run about the selected weight, `desk` has the
controls of a run. `host` stands between window and picture, and has what every viewer and wall shares.
"""
