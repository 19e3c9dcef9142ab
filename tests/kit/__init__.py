"""What every test may use: registries that laws run over, and makers of runs.

A new layer, loss, optimiser, schedule, edit, scene or kind of file enters one registry here, and every law runs on it.

* ``networks``: NETWORKS, from one weight to a small GPT, each for this library and for PyTorch
* ``learning``: LOSSES, OPTIMISERS, SCHEDULES
* ``runs``: ENGINES and their tolerances, ``make_run``, ``bits``, the same training by PyTorch
* ``edits``: EDITS and MOVES, everything that changes a run or moves it in time
* ``files``: kinds of files, with how each is written and read
* ``commands``: the command line, in this process and in another
* ``windows``: a window that nobody sees, with keys and a pointer
* ``refusals``: rows of bad calls
* ``same_text``, ``forwards``, ``forwards_drawn``: forwards as texts, executed here and by PyTorch
* ``mutants``, ``faults``, ``called``: the tool behind ``make mutants``
"""
