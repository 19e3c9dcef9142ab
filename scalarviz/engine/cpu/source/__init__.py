"""Source text of kernels, written from the ops table: `rows` for operations, `updates` for optimisers. No numba."""
