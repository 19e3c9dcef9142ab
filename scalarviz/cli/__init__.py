"""The command line: flags, progress, exit codes and files. A scene makes the run, a view draws it.

Open `main` first: it finds the command. `run` drives a scene with or without a window, `pictures` decides what is drawn
without one. `interrupt` answers Ctrl-C before and after. Defaults of flags stand in ``scenes/options.py``, not here.
"""
