"""Sources of frames besides a live run: each is a :class:`scalarviz.run.source.Source`.

`played` is a recording or a rehearsed run, `recorded_pair` two recordings and their difference; ``recording/`` writes
and reads the files. `watched` (``sv.watch``) is a network of another library, which calls ``update()`` when its
numbers have changed; `watched_arrays` reads its arrays in place, without importing PyTorch or JAX.
"""
