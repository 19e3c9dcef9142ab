"""The numbers by which the encoder and the compiled kernels understand each other.

An encoded program is a table of int64 with one line an instruction. Rows are numbered through one workspace: the
values of the program's rows, then their adjoints, then the padding. The first column is the kind:

``ROWS``: a row kernel. Address, rows a b c y g d, how many neighbouring rows, fresh.

``KERNEL``: another kernel. Address, then its own fields, described at its function in
``compiled/sums``. A *list* there is an offset into the program's pool of int64 (row numbers, indices
into theta, flags).

Both are called with the same C signature: six addresses and two numbers.
"""

from __future__ import annotations

from .source.updates import UPDATES

ROWS, KERNEL = range(2)
NARROW = 2
"""Added to either: the line is done on one lane, row by row (``encode/narrow``)."""

FIELDS = 11
"""Columns of the table."""

PADDING = 5
"""Rows behind the adjoints: zeros, ones, and three for what a tile of four computes too much."""

BASE, STRIDE, SPARE, TILE, HEIGHT, BLOCK, LOSS, FILLED, COMPACT, FUSED, STEP, PLACE, SEED = range(13)
OWN, BLOCKS, APART, BATCH, BATCH_SUMS, WIDTH = range(13, 19)
TAKER, VALUES_AT, FIRST_STATE_AT, SECOND_STATE_AT, NUMBERS_AT, HYPER_AT, ROOM = range(19, 26)
"""Entries of a machine's description: address of the workspace, bytes from row to row at present, the first padding
row, the address of room for 16 numbers, rows of the program, lanes of a block, row of the loss, 1 while the inputs lie
in their rows, 1 if rows are single numbers without a gap (``compiled/one``), and of an update the
address of the kernel that does the same (``source/updates``), or 0. For dropout masks the step, from 0, the place of
the block's first sample in the batch, and the address of the seed's two words. For means over the batch the block at
work, how many there are (0: the samples do not depend on each other), the bytes from the rows of one to those of the
next, the samples of the batch, the address of the blocks' sums, and how many of them a block has. For gradients of
weights that one instruction alone reads (``compiled/taken``): who takes them, and where it finds the weights, their
states, the numbers of the update and those of the step; and where there is room for those that are not whole yet."""

ADDED, STORED = range(2)
"""Who takes them: nobody, they are added to the gradient; the gradient, which need not be cleared; else the address
of the update's kernel."""

FORWARD, BACKWARD, POOL, NUMBERS, CONSTANT_ROWS, CONSTANTS, INPUT_ROWS, INPUT_INDEX, OUTPUTS = range(26, 44, 2)
FORWARD_CUTS, BACKWARD_CUTS, ALONE = range(44, 50, 2)
PIECES, PIECE = ALONE + 2, 5
"""Entries that are lists: the address stands in the entry, the length in the next one. Cuts are the lines before which
all blocks have to be done; ``ALONE`` says where the weights of each layer begin and end that has them alone.
Pieces, of an update, are lines of PIECE words: stretches of weights that have a program of their own, the first and how
many, the address of its machine, where its numbers begin among those of a step, and which of them is what the gradient
is multiplied by (-1: none)."""

FEED = 6
"""Columns of the feed, a line for each stretch of a sample's numbers (``compiled/load``)."""

KERNELS = (
    "load",
    "combine", "outer", "weighted", "weighted_back", "product", "product_back", "parameters", "parameters_back", "zero",
    "squares", "squares_back", "masks", "gather", "gather_back", "batch_sums", "batch_spread",
    "widen", "fold",
    "conv", "conv_outer", "maxima", "maxima_back",
    "combine_one", "outer_one", "conv_one", "conv_outer_one", "maxima_one", "maxima_back_one",
    "weighted_one", "weighted_back_one", "product_one", "product_back_one",
    "windows_one", "windows_back_one", "masks_one",
    "combine_few", "outer_few", "combine_several", "outer_several",
    *UPDATES,
)  # fmt: skip
"""Names of the kernels."""
ONE = tuple(name.removesuffix("_one") for name in KERNELS if name.endswith("_one"))
"""Those with a form for rows that are single numbers."""
CALLS = ("train", "evaluate")
"""Names of the functions that Python calls."""


LINE = 64
"""Rows begin at cache lines, which are also the widest vectors."""


FEW = 4
"""Most rows and columns of a tile of a layer whose batch fits one vector."""

ROOM_COLUMNS, ROOM_NUMBERS = 2048, 16384
"""Gradients that wait in `ROOM` until they are whole: most columns, and how many altogether (128 KiB in float64)."""

PASS, SEVERAL = 8, 16
"""Most samples whose sums, and whose weights' gradients, are computed along the weights; the first in one pass."""
