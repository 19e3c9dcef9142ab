"""Where frames come from besides a live run: each is a :class:`scalarviz.run.source.Source`.

`played` is a recording or a rehearsed run, `recorded_pair` two recordings and their difference; ``recording/`` writes
and reads the files, ``watched/`` follows networks of other libraries.
"""
