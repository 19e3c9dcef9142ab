"""Time, keys and pointer: what a window does between two frames, and what each key does.

Open `viewer` first, then `live`, which drives a training worker. Actions and their keys stand in `actions`; what one
does stands under its name in the `handlers` of `looks`, `selected`, `travels`, `microsteps`, `breaks`, `desk` and of
the viewers. A key without Ctrl goes first to what is open (`_typed` of the viewers): to the controls
(`screen.controls`), to a condition (`breaks`) or a number (`selected`) that is typed, or to a panel (the `key` of its
drawer).

`playback` says which step is due, at the pace of `pace`; `pointer` answers pointer and wheel, `questions` asks the run
about the selected weight, `driving` are the controls of a run, `opening` loads files, `growing` reads recordings that
are still written, `telling` says what happens. `host` stands between window and picture, and has what every viewer and
wall shares.
"""
