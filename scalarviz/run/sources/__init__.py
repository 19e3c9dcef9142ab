"""Where frames come from: each is a :class:`scalarviz.run.source.Source`.

`run_source` is a live run, `played` a recording or a rehearsed run, `recorded_pair` two recordings and their
difference; ``recording/`` writes and reads the files, ``watched/`` follows networks of other libraries.
"""
