"""Source text of kernels, written from the ops table: `ops`. Loads no numba."""
