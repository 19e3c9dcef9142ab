"""Kernels of layers, and of convolutions (layers that share their weights), on register tiles.

Their arguments are those of the kernels in :mod:`scalarviz.engine.cpu.compiled.sums`.

A convolution needs more numbers than a line of the table holds, so its field is one list in the pool (see
``encode/pictures``). Nothing is known here of pictures: an output row is a sum over *entries*, and an entry is a first
row and a first weight, from which a run of rows and weights at fixed distances begins (the channels).

Where an instruction alone reads its weights, their gradients are handed over many rows at a time. They wait
in ``space[ROOM]`` as a stretch of rows of weights that lie one behind the other in memory, so that whoever
takes them (:mod:`scalarviz.engine.cpu.compiled.taken`) goes along theta and the states without a gap.
"""

from __future__ import annotations

from ..vector.conv import outer_places_tile, sums_tile
from ..vector.emitter import MIDDLE, TALL, TILE_COLUMNS, TILE_ROWS, WIDE, combine_tile, lanes_of
from ..vector.layers import outer_tile, turn
from ..wire import ADDED, PASS, ROOM, ROOM_COLUMNS, ROOM_NUMBERS, SEVERAL, TAKER
from .intrinsics import NoAlias, callee, row_at, size_of, stack_room, zero_of
from .taken import hand_over
from .tiles import Four, Row, Words, add_four, add_tile, at, fill, row_of, six_of

PANEL = 256
"""Operands whose numbers are put side by side; of 16 samples, 16 or 32 KiB."""

PANEL_ROOM = 8 * PANEL * SEVERAL
"""Bytes on the stack for them."""


@callee(forceinline=True)
def four_at(numbers: Row, first: int, step: int) -> Four:
    """Where the numbers `first`, ``first + step`` ... stand."""
    start = at(numbers, first)
    return start, at(start, step), at(start, 2 * step), at(start, 3 * step)


@callee()
def side_by_side(room: Row, space: Words, pool: Words, first: int, count: int, samples: int) -> None:
    """``room[s*PANEL + j] = row[pool[first + j]][s]``; samples up to the next four are 0."""
    vector = lanes_of(room)
    whole = count // vector * vector
    for s in range(0, samples, PASS):
        for j in range(0, whole, vector):
            turn(room, space, pool, first + j, s, min(samples - s, PASS), s * PANEL + j, PANEL)
    for j in range(whole, count):
        row = row_of(space, pool[first + j], room)
        for s in range(samples):
            room[s * PANEL + j] = row[s]
    for s in range(samples, (samples + 3) // 4 * 4):
        fill(at(room, s * PANEL + whole), zero_of(room), count - whole)


@callee()
def upstream_tile(tile: Row, space: Words, pool: Words, first: int, sample: int) -> None:
    """``tile[4*r + k] = row[pool[first + r]][sample + k]``."""
    for r in range(4):
        row = row_of(space, pool[first + r], tile)
        for k in range(4):
            tile[4 * r + k] = row[sample + k]


PANEL_BYTES = 16 * 1024
"""A third of a usual first-level cache."""


@callee()
def rows_together(columns: int) -> int:
    """How many rows of so many weights wait together: whole tiles."""
    return ROOM_NUMBERS // columns // TILE_ROWS * TILE_ROWS


@callee()
def hand_over_rows(space: Words, found: Row, grad: Row, first: int, step: int, rows: int, count: int) -> None:
    """`count` gradients of each of some rows, which lie `step` apart in theta and one behind the other in `found`."""
    if count == step:
        hand_over(space, found, grad, first, rows * count)
        return
    for r in range(rows):
        hand_over(space, at(found, r * count), grad, first + r * step, count)


@callee()
def outer_of_samples(
    space: Words, pool: Words, grad: Row, upstream: int, n_up: int, source: int, weight: int, columns: int, n: int
) -> None:  # fmt: skip
    """``grad[weight + i*columns + j] = sum over lanes of upstream[i] * from[j]`` for 2 to 16 lanes."""
    found, apart = row_at(space[ROOM], grad), (n + 3) // 4 * 4 * PANEL
    for start in range(0, columns, ROOM_COLUMNS):
        count = min(columns - start, ROOM_COLUMNS)
        x, together = at(found, ROOM_NUMBERS), rows_together(count)
        for first in range(0, count, PANEL):
            numbers = at(x, first // PANEL * apart)
            side_by_side(numbers, space, pool, source + start + first, min(count - first, PANEL), n)
        for i in range(0, n_up, together):
            rows = min(n_up - i, together)
            fill(found, zero_of(grad), rows * count)
            for first in range(0, count, PANEL):
                numbers, y = at(x, first // PANEL * apart), at(found, first)
                add_samples(y, count, rows, numbers, space, pool, upstream + i, min(count - first, PANEL), n)
            hand_over_rows(space, found, grad, weight + i * columns + start, columns, rows, count)


@callee()
def add_samples(
    y: Row, step: int, rows: int, x: Row, space: Words, pool: Words, upstream: int, width: int, n: int
) -> None:  # fmt: skip
    """``y[i*step + j] += sum over lanes of upstream[i] * x[j]``, for a panel that lies side by side."""
    tile, fours = stack_room(y, 128), rows // 4 * 4
    for i in range(0, fours, 4):
        for s in range(0, n, 4):
            upstream_tile(tile, space, pool, upstream + i, s)
            add_tile(four_at(y, i * step, step), four_at(x, s * PANEL, PANEL), tile, width)
    for i in range(fours, rows):
        row = row_of(space, pool[upstream + i], y)
        for s in range(0, n, 4):
            add_four(at(y, i * step), four_at(x, s * PANEL, PANEL), at(row, s), width)


DEPTH = 128
"""Operands of a panel: of the widest vectors, 32 KiB."""

PACKED = 16
"""Results whose weights are copied side by side: whole tiles of either height."""

PACKED_ROOM = 32 * 1024
"""Bytes on the stack for weights that are copied."""


@callee()
def width_of(lanes: int, vector: int) -> int:
    """Vectors of the widest tile that so many lanes fill; the last one may stick out, rows are padded to whole ones."""
    if lanes > (WIDE - 1) * vector:
        return WIDE
    return MIDDLE if lanes > (MIDDLE - 1) * vector else 1


@callee(pipeline_class=NoAlias)
def pack(room: Row, theta: Row, weight: int, from_step: int, columns: int, count: int) -> None:
    """``room[(i // 16 * count + k) * 16 + i % 16] = theta[weight + k*from_step + i]`` k < `count`, i < `columns`."""
    for k in range(count):
        to, source = k * PACKED, weight + k * from_step
        for _ in range(columns // PACKED):
            for i in range(PACKED):
                room[to + i] = theta[source + i]
            to, source = to + count * PACKED, source + PACKED
        for i in range(columns % PACKED):
            room[to + i] = theta[source + i]


def combine(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to[i] (+)= bias[i] + sum_j theta[weight + i*to_step + j*from_step] * from[j]``.

    Lanes go through in panels of `DEPTH` operands, which stay in the first-level cache. Weights of one result
    that lie apart (backward) are copied together first: they would share few sets of the cache.
    """
    # Fields: list `to`, its length, list `from`, its length, weight, to_step, from_step, bias (or -1), 1 to
    # add.
    to, n_to, source, n_from, weight = code[2], code[3], code[4], code[5], code[6]
    to_step, from_step, bias, adding = code[7], code[8], code[9], code[10]
    vector, room = lanes_of(theta), stack_room(theta, PACKED_ROOM)
    packed = to_step == 1 and n_from >= DEPTH
    group = PACKED_ROOM // (DEPTH * size_of(theta)) if n_from >= DEPTH else n_to  # whose weights stay in the cache
    for first in range(0, n_from, DEPTH):
        depth, more = min(n_from - first, DEPTH), adding if first == 0 else 1
        for start in range(0, n_to, group):
            end = min(start + group, n_to)
            if packed:
                pack(room, theta, weight + first * from_step + start, from_step, end - start, depth)
            lane = 0
            while lane < n:
                width = width_of(n - lane, vector)
                tall = TILE_ROWS if width == WIDE else TALL
                for i in range(start, end, tall):
                    rows, y = min(end - i, tall), to + i
                    b = bias + i if bias >= 0 else -1
                    matrix, w, step = theta, weight + i * to_step + first * from_step, from_step
                    if packed:
                        matrix, step = room, PACKED
                        w = (i - start) // PACKED * PACKED * depth + (i - start) % PACKED
                    x = source + first
                    combine_tile(space, pool, matrix, width, y, rows, x, depth, w, to_step, step, b, more, lane)
                lane += width * vector


def outer(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``grad[weight + i*columns + j] += sum over lanes of upstream[i] * from[j]``.

    Columns go through in panels that stay in the first-level cache. The first tile of a row does its bias too. Where
    the gradients are whole then, they are computed in `ROOM`, some rows at a time, and handed over.
    """
    # Fields: list `upstream`, its length, list `from`, its length, weight, columns, bias (or -1), 1 if the
    # instruction alone reads its weights.
    upstream, n_up, source = code[2], code[3], code[4]
    weight, columns, bias = code[6], code[7], code[8]
    whole = code[9] != 0 and space[TAKER] != ADDED
    panel = max(PANEL_BYTES // (n * size_of(theta)) // TILE_COLUMNS, 1) * TILE_COLUMNS
    into, to, to_bias, most = grad, weight, bias, columns
    if whole:
        into, to, to_bias, most = row_at(space[ROOM], grad), 0, ROOM_NUMBERS, ROOM_COLUMNS
    for start in range(0, columns, most):
        count = min(columns - start, most)
        together = rows_together(count) if whole else n_up
        for i in range(0, n_up, together):
            rows, biased = min(n_up - i, together), bias >= 0 and start == 0
            if whole:
                fill(into, zero_of(grad), rows * count)
                fill(at(into, ROOM_NUMBERS), zero_of(grad), rows)
            for first in range(0, count, panel):
                end = min(first + panel, count)
                for r in range(0, rows, TILE_ROWS):
                    height, up = min(rows - r, TILE_ROWS), upstream + i + r
                    for j in range(first, end, TILE_COLUMNS):
                        b = to_bias + r if biased and j == 0 else -1
                        width, x = min(end - j, TILE_COLUMNS), source + start + j
                        outer_tile(space, pool, into, to + r * count + j, count, b, up, height, x, width, n)
            if whole:
                hand_over_rows(space, into, grad, weight + i * columns + start, columns, rows, count)
                if biased:
                    for r in range(rows):
                        grad[bias + i + r] += into[ROOM_NUMBERS + r]


def conv(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``row[to[p] + i*to_step] (+)= bias[i] + sum over the entries of p and k of theta[...] * row[...]``."""
    outputs, to_step, weight_step, weight, bias, adding = six_of(pool, code[2])
    run, row_step, run_step, places, to, starts = six_of(pool, code[2] + 6)
    entries = pool[code[2] + 12]
    vector = lanes_of(theta)
    lane = 0
    while lane < n:
        width = width_of(n - lane, vector)
        tall = TILE_ROWS if width == WIDE else TALL
        for p in range(places):
            first = entries + 2 * pool[starts + p]
            count = pool[starts + p + 1] - pool[starts + p]
            for i in range(0, outputs, tall):
                rows, row, w = min(outputs - i, tall), pool[to + p] + i * to_step, weight + i * weight_step
                b = bias + i if bias >= 0 else -1
                sums_tile(
                    space, pool, theta, width, row, to_step, rows, w, weight_step, b, adding, first, count, run,
                    row_step, run_step, lane,
                )  # fmt: skip
        lane += width * vector


def conv_outer(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``grad[weight + i*columns + j] += sum over places p and lanes of row[up + i*places + p] * row[table[p, j]]``.

    Sums stay in registers over all places. The biases are a column of their own, over the row of ones.
    """
    # Fields: up, outputs, places, list `table`, columns, weight, bias (or -1), a list with the row of ones.
    up, outputs, places, table, columns, weight, bias = code[2], code[3], code[4], code[5], code[6], code[7], code[8]
    ones = code[9]
    for i in range(0, outputs, TILE_ROWS):
        rows, g, to = min(outputs - i, TILE_ROWS), up + i * places, weight + i * columns
        for j in range(0, columns, TILE_COLUMNS):
            width = min(columns - j, TILE_COLUMNS)
            outer_places_tile(
                space, pool, grad, to + j, columns, g, places, rows, table + j, columns, width, places, n
            )  # fmt: skip
        if bias >= 0:
            outer_places_tile(space, pool, grad, bias + i, 1, g, places, rows, ones, 0, 1, places, n)
