"""Small batches: a block of threads takes some lanes through a whole program, with their rows in shared memory.

`form` says which problems are computed so, `steps` makes the launches. `table` writes a program as numbers, which the
kernel walks along; its text (`text`) knows the kinds of instructions and the operations that occur, so that all
programs made of the same ones share one compiled kernel.
"""
