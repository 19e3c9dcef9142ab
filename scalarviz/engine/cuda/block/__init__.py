"""Small batches: a block of threads takes some lanes through a whole program, with their rows in shared memory.

`program` says which problems are computed so and writes a program as numbers that a kernel walks along; `steps` makes
kernels and launches. A kernel's text (`text`, `layers`) knows the kinds of instructions and the operations that occur,
so all programs made of the same ones share one compiled kernel.
"""
