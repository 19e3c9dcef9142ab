"""The GPU engine: the same programs in kernels of numba-CUDA. Open `trainer` first.

`encode` and `machine` make launches of a program, `kernels` and `source` hold what is launched, `catalog` names it;
`device` is what is asked of a GPU, `simulator` and `driver` are two answers. `jit` alone imports numba's CUDA.
`there` says why CUDA cannot be used and which GPUs there are; `nvvm` finds the compiler.
"""
