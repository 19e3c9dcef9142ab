"""All functions that numba turns into machine code, and nothing else: the cache's key hashes these files.

Open `steps` first: whole training steps; it calls the kernels of the other files by address.
"""
