"""The kernels that are no operation.

`rows`: values and adjoints of the kinds of instructions. `tables`: gradients of tables, means over the batch. `steps`:
sums of gradients and losses, and all around a step.

Plain functions in the words of :mod:`scalarviz.engine.cuda.jit`. A thread stands for one row and one lane: the lane
is ``blockIdx.y * blockDim.x + threadIdx.x``, so that neighbours read neighbours, and the row
``blockIdx.x * blockDim.y + threadIdx.y``, since there may be more rows than the second dimension of a grid holds.

The plain form is the reference; no thread waits for another one, nothing is added atomically. `tiles` is the fast form
of layers and convolutions: there the threads of a block load what all of them need, and wait for each other.
"""
