"""The GPU engine: the same programs in kernels of numba-CUDA.

A step gets to the GPU through four files, in this order:

1. `trainer` sets a problem up on a device, cuts it into smaller parts if memory is short, and has its steps recorded.
   It runs some of them, and returns losses and other requested numbers.
2. `steps` lists the launches of a step: samples, program, sums of gradients, update, running statistics.
3. `machine` turns a program into calls, holds it in the device's memory, and makes its launches.
4. `driver` records these launches and runs them on the GPU.

The other files support them. `tiled` and `calls` have its parts; `block` does steps of small batches. `kernels` and
`source` hold the kernels, written in the language of `jit`, and `catalog` names them. `kernel` compiles one; only it
and `jit` import numba's CUDA. `images` provides machine code: from the package, from the disk (which `warm` fills), or
compiled with `nvvm`. `device` is the interface of a GPU; its simulator can replace `driver`. `there` reports whether
CUDA can be used and which GPUs there are.
"""
