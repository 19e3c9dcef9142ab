"""The GPU engine: the same programs in kernels of numba-CUDA.

A step gets to the GPU through five files, in this order:

1. `trainer` takes a call for some steps of a problem, and reads losses and answers back.
2. `work` sets a problem up on a device, cuts it finer where memory is short, and has its steps recorded.
3. `steps` lists the launches of a step: samples, program, sums of gradients, update, running statistics.
4. `machine` holds a program in the device's memory, and makes its launches from calls and buffers.
5. `driver` records these launches and runs them on the GPU.

The others support them. `encode`, `tiled` and `calls` turn a program into calls; `block` does steps of small batches.
`kernels` and `source` hold what is launched, `catalog` names it; `jit`, which alone imports numba's CUDA, compiles it.
`images` gets machine code: carried here, from the disk (which `warm` fills), or compiled with `nvvm`.
`device` is what is asked of a GPU; `simulator` answers in place of `driver`. `there` says whether CUDA can be used and
which GPUs there are.
"""
