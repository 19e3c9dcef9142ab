"""The numbers by which the encoder and the compiled kernels understand each other.

An encoded program is a table of int64 with one line an instruction. Rows are numbered through one workspace:
the values of the program's rows, then their adjoints, then the padding. The first column is the kind:

``ROWS``: a row kernel. Address, rows a b c y g d, how many neighbouring rows, fresh.

``KERNEL``: another kernel. Address, then its own fields, described at its function in
``compiled``. A *list* there is an offset into the program's pool of int64 (row numbers, indices
into theta, flags).

Both are called with the same C signature: six addresses and two numbers.
"""

from __future__ import annotations

from .source import UPDATES

ROWS, KERNEL = range(2)
NARROW = 2
"""Added to either: the line is done on one lane, row by row (``encode/program``)."""

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
address of the kernel that does the same (``cpu/source``), or 0. For dropout masks the step, from 0, the place of
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

CALL = PIECES + 2
"""The first entry of what the trainer says of a call."""
(
    PROLOGUE, UPDATER, COLUMNS_AT, STATES, PREVIOUS_AT, FEED_AT, FEED_LINES, SAMPLES, AHEAD, SHAPE, INDICES_AT,
    LOOKED_UP, SCALES_AT, TRAINED_AT, HYPERS_AT, HYPER_BYTES, FIRST, COUNT, LOSSES_AT, COMMIT, BUFFERS_AT, GROUPS,
    PARTS_AT, LIMITS_AT, PENALTIES_AT, TRACKS_AT, TRACKS, FACTORS_AT, TEAM_AT, WORKER, WORKERS, WHOLE, AT_ONCE,
    STREAMED, THROUGH, ORDERS, JOIN, DERIVE, DERIVE_BACK, PENALISE, UPDATE, FOLLOW,
) = range(CALL, CALL + 42)  # fmt: skip
"""Addresses of the machines of prologue and update; of the addresses of values, gradients and states of the parameters,
and how many states there are; of the values before the last step, which it receives. Feed: address and lines, see
below, of how many samples; 1 if it has the batches of the steps one behind the other, and nothing else. Address of
the network that orders an epoch (``Problem.order_shape``), of room for the samples of coming steps, and of how many.
By step: the factors of one sample's loss; 1 by parameter that is trained (null: all); the numbers of the update, and
how many bytes a step has of them. The first step, how many, the sums of their losses, 0 for gradients without an
update. Groups of blocks: room for the gradients of all but the first, how many, room for their losses. Limits (see
``compiled/steps``), and what they add to the losses of a whole batch. Numbers that follow: lines, how many, factors.
The words of a team, which of its workers this is, of how many. 1 if a step is one block and nothing is derived, so
that gradients are whole as soon as an instruction has computed them; 1 if nobody but the update looks at them then; 1
if what is kept of them beside the update would drive the weights out of the cache. Kernels, 0 where they are not
needed: through the batch (0: block by block), the order of the samples, joining groups, derived parameters and back,
limits, the update (0: the fused one), numbers that follow."""
IDS, ON, ARRIVALS, KEEPS, STRANGE = range(CALL + 42, CALL + 47)
"""Of the step at work: address of its samples' numbers (0: in order), the first sample, how often workers arrived; 1 if
gradients that the update takes at once are kept too, and the values before; 1 if a NaN or an infinity is left."""
ENTRIES = CALL + 47
"""Of a machine."""

ARRIVED, YIELD = range(2)
"""Entries of the words that a team shares: how often somebody has arrived, and the address of a C function that
gives the processor to another thread."""
EVERYBODY = 2**62
"""So many arrivals that nobody waits any more."""
KNOWN = 64
"""Samples of coming steps that are looked up at once, where a step has fewer."""

FEED, FEED_SOURCE = 6, 3
"""Columns of the feed, a line for each stretch of a sample's numbers (``compiled/body``)."""

KERNELS = (
    "train", "groups", "join", "coupled", "orders", "derive", "derive_back", "penalise", "update_rows",
    "update_pieces", "follow",
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

LINE = 64
"""Rows begin at cache lines, which are also the widest vectors."""


FEW = 4
"""Most rows and columns of a tile of a layer whose batch fits one vector."""

ROOM_COLUMNS, ROOM_NUMBERS = 2048, 16384
"""Gradients that wait in `ROOM` until they are whole: most columns, and how many altogether (128 KiB in float64)."""

PASS, SEVERAL = 8, 16
"""Most samples whose sums, and whose weights' gradients, are computed along the weights; the first in one pass."""
