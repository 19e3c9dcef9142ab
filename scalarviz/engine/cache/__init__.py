"""What the compiled engines share of keeping machine code on disk. Open `place` first. Nothing here loads numba.

`place` is the folder of a version, whether it may be used, and when it goes; `trust` says whose a file is, `version`
hashes what code is made of. What is kept, and how it is read, is the business of ``cpu/cache`` and ``cuda/kept``.
"""
