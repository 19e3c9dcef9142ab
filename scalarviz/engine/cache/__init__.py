"""What the compiled engines share of keeping machine code on disk. `trust`: whose a file or folder is.

What is kept, and how it is read, is the business of ``cpu/cache`` and ``cuda/kept``.
"""
