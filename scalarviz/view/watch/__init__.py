"""Time, keys and pointer of a window: its ticks, and what each key does.

Read `viewer` first, then `live`, which drives a training worker. `actions` lists actions and their keys; the `handlers`
of `selected`, `travels`, `microsteps`, `scene_controls` and of the viewers map action names to functions. A key without
Ctrl goes first to what is open (`_typed` of the viewers): the controls (`screen.controls`), a condition being typed
(`live`), a number being typed (`selected`), or a panel (`key` of its drawer).

`looks` holds what keys change of the picture, `files` opened files and growing recordings. `live` also holds
breakpoints and the large lines before the first and after the last step. `playback` says which step is due in a window
or a film. `pointer` handles pointer and wheel. `selected` asks the run about the selected weight, `predictions` asks
the viewer about a weight of an opened step, and `scene_controls` holds the controls of a run. `host` connects windows
and pictures, and holds what all viewers and walls share.
"""
