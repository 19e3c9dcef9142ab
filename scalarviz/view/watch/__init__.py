"""Time, keys and pointer: what a window does between two frames, and what each key does.

Open `viewer` first, then `live`, which drives a training worker; `mirror` shows what somebody else trains, `replay` a
recording. Every key is bound in `actions`; what an action does stands under its name in the `handlers` of `looks`,
`selected`, `travels`, `microsteps`, `breaks` and of the viewers. `playback` says which step is due, `pointer` answers
pointer and wheel, `questions` asks the run about the selected weight, and `host` stands between window and picture.
"""
