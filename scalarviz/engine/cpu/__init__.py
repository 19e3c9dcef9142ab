"""The compiled engine: numba kernels over rows of lanes. Importing this package loads no numba."""
