"""The text of the kernel that trains a stack: sums of fragments, a layer's numbers behind them, and whole steps.

Blocks meet twice in a step. Each takes its tiles of samples through the layers and writes a part of the gradient and of
the loss; they meet; each adds up the parts of its own parameters in order and updates them; they meet again. A step
whose gradient overflows is undone, and ends the launch: the host lowers the scale then. The weights of the next step
are loaded as halves, which the update writes beside the float32 ones.

A warp computes rectangles of 16 rows by 16 or 32 columns. Lane `lane` of it has, of each 8 columns, the numbers of rows
``lane // 4`` and ``lane // 4 + 8`` in columns ``2 * (lane % 4)`` and the one behind.
"""

from __future__ import annotations

import re
from textwrap import indent

from ....scalar import ops
from ..block.text import order_source, update_function
from ..machine import PICKED, STREAMED
from ..source import activation_source, derivative_source
from .stack import PADDING, THREADS, WARPS, Dense, Stack

_NUMBER = re.compile(r"\bN(\d+)\b")
"""Sizes and places are global numbers: numba would compile a function again for each literal that it is given."""
_FOUR = "c{0}, c{1}, c{2}, c{3}"
_LANES = """\
    lane, warp = np.int64(cuda.threadIdx.x) & 31, np.int64(cuda.threadIdx.x) >> 5
    words = shared(np.uint32, 0)
    g, t = lane >> 2, 2 * (lane & 3)
    for item in range(warp, ROWS * columns, WARPS):
        row, column = item % ROWS * 16, item // ROWS * {wide}"""


def _forward(name: str, act: str, across: int, last: bool) -> str:
    """A layer of a tile: rows times weights, plus biases, `across` times eight outputs together; what is behind them.

    The last layer's is the gradient of the squared errors; it returns their sum.
    """
    fours = _fours(across)
    given = f"outputs, others, number, {'errors' if last else 'behind_at, behind_bytes'}"
    lines = [
        "@device",
        f"def {name}(rows_at, row_bytes, weights_at, biases_at, depth, sums_at, sum_bytes, columns, {given}):",
        "    squares, first, second = np.float64(0), others[number], others[number + 1]",
        _LANES.format(wide=8 * across),
        "        a_at = rows_at + (row + (lane & 15)) * row_bytes + (lane >> 4) * 16",
        "        b_at = weights_at + (column + (lane & 7) + ((lane >> 4) << 3)) * row_bytes + ((lane >> 3) & 1) * 16",
    ]
    for j, four in enumerate(fours):
        c = four.split(", ")
        lines.append(f"        both = words[((biases_at + 2 * (column + {8 * j} + t)) >> 2)]")
        lines.append(f"        {c[0]}, {c[1]}, {c[2]}, {c[3]} = low(both), high(both), low(both), high(both)")
    lines += ["        for k in range(depth):", "            a0, a1, a2, a3 = fragments(a_at + 32 * k)"]
    lines += _products(across, "fragments(b_at + {0} * row_bytes + 32 * k)", 16)
    for j, four in enumerate(fours):
        place = f"row + g, column + {8 * j} + t, sums_at, sum_bytes, outputs, first, second"
        if last:
            lines.append(f"        squares += errors_of_{act}({four}, {place}, *errors)")
        else:
            lines.append(f"        finish_{act}({four}, {place}, behind_at, behind_bytes)")
    return "\n".join([*lines, "    return squares", ""])


def _backward(name: str, act: str, across: int) -> str:
    """Gradients of a layer's outputs times its weights, `across` times eight inputs together, and what is before."""
    fours = _fours(across)
    lines = [
        "@device",
        f"def {name}(sums_at, sum_bytes, weights_at, row_bytes, depth, columns, before_at, before_bytes, inputs, "
        "others, number, rows_at):",
        "    first, second = others[number], others[number + 1]",
        _LANES.format(wide=8 * across),
        "        a_at = sums_at + (row + (lane & 15)) * sum_bytes + (lane >> 4) * 16",
        "        b_at = weights_at + (lane & 15) * row_bytes + (column + ((lane >> 4) << 3)) * 2",
        *(f"        {four} = real(0), real(0), real(0), real(0)" for four in fours),
        "        for k in range(depth):",
        "            a0, a1, a2, a3 = fragments(a_at + 32 * k)",
        *_products(across, "fragments_turned(b_at + 16 * k * row_bytes + {0})", 32),
        *(
            f"        slope_{act}({four}, row + g, column + {8 * j} + t, before_at, before_bytes, inputs, first, "
            "second, rows_at, row_bytes)"
            for j, four in enumerate(fours)
        ),
    ]  # fmt: skip
    return "\n".join([*lines, ""])


def _weights(across: int) -> str:
    """To the sums of 16 outputs by `across` times eight inputs, those of a tile; behind them those of biases."""
    fours = _fours(across + 1)
    lines = [
        "@device",
        f"def weights_{across}(sums, item, columns, sums_at, sum_bytes, rows_at, row_bytes):",
        "    lane, one = np.int64(cuda.threadIdx.x) & 31, np.uint32(0x3C003C00)",
        f"    top, column = item // columns * 16, item % columns * {8 * across}",
        "    a_at = sums_at + ((lane & 7) + ((lane >> 4) << 3)) * sum_bytes + (top + ((lane >> 3) & 1) * 8) * 2",
        "    b_at = rows_at + (lane & 15) * row_bytes + (column + ((lane >> 4) << 3)) * 2",
        f"    {', '.join(fours)} = sums",
        "    for k in range(ROWS):",
        "        a0, a1, a2, a3 = fragments_turned(a_at + 16 * k * sum_bytes)",
        *(line[4:] for line in _products(across, "fragments_turned(b_at + 16 * k * row_bytes + {0})", 32)),
        f"        {fours[-1]} = mma(a0, a1, a2, a3, one, one, {fours[-1]})",
        f"    return ({', '.join(fours)})",
        "",
    ]
    return "\n".join(lines)


def _keep(across: int) -> str:
    """The sums of a rectangle of weights, and of its biases, among a block's parts, in the places of the halves."""
    lines = [
        "@device",
        f"def keep_{across}(parts, base, sums, item, columns, width, weights_at, biases_at):",
        "    lane = np.int64(cuda.threadIdx.x) & 31",
        f"    top, column = item // columns * 16, item % columns * {8 * across}",
        "    row, start = top + (lane >> 2), column + 2 * (lane & 3)",
        f"    {', '.join(_fours(across + 1))} = sums",
        "    at = base + weights_at + row * width + start",
    ]
    for j in range(across):
        for k in range(4):
            lines.append(f"    add(parts, at + {k // 2 * 8} * width + {8 * j + k % 2}, c{4 * j + k})")
    lines.append("    if column == 0 and (lane & 3) == 0:")
    lines += [f"        add(parts, base + biases_at + row + {4 * k}, c{4 * across + k})" for k in (0, 2)]
    return "\n".join([*lines, ""])


def _fours(count: int) -> list[str]:
    return [_FOUR.format(*range(4 * j, 4 * j + 4)) for j in range(count)]


def _products(across: int, load: str, step: int) -> list[str]:
    found, fours = [], _fours(across)
    for j in range(0, across, 2):
        found.append(f"            b0, b1, b2, b3 = {load.format(step * (j // 2))}")
        found += [f"            {fours[j]} = mma(a0, a1, a2, a3, b0, b1, {fours[j]})"]
        found += [f"            {fours[j + 1]} = mma(a0, a1, a2, a3, b2, b3, {fours[j + 1]})"]
    return found


_SHARED_WORK = '''\
@device
def meet(counter):
    """All blocks."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        blocks = np.int64(cuda.gridDim.x)
        goal = (arrive(counter) // blocks + 1) * blocks
        while arrived(counter) < goal:
            pass
    cuda.syncthreads()


@device
def total_of(mine):
    """The sum over a block's threads, in a tree; its first thread gets it."""
    sums = shared(np.float64, SUMS_AT // 8)
    thread, half = cuda.threadIdx.x, THREADS // 2
    sums[thread] = mine
    while half > 0:
        cuda.syncthreads()
        if thread < half:
            sums[thread] += sums[thread + half]
        half //= 2
    return sums[0]


@device
def add(parts, place, number):
    if ADDS:
        number += parts[place]
    parts[place] = number


@device
def half_of(number):
    return np.uint16(pack(number, real(0)) & np.uint32(0xFFFF))
'''

_STEPS = '''\
def cores(
    state: Reals, size: Int, n: Int, trained: Flags, halves: Halves, places: Words, parts: Reals, former: Reals,
    losses: Doubles, flags: Words, clock: Longs, count: Longs, stopped: Longs, counter: Words, updates: Int,
    rates: Reals, width: Int, constants: Reals, columns: Longs, others: Reals, data: Reals, offsets: Longs,
    mode: Int, batch: Int, samples: Int, k0: Key, k1: Key, left: Key, right: Key, rounds: Int, scales: Reals,
) -> None:
    """Steps of a stack of layers in float16. Written by scalarviz."""
    thread, block = np.int64(cuda.threadIdx.x), np.int64(cuda.blockIdx.x)
    lane, warp, blocks, tiles = thread & 31, thread >> 5, np.int64(cuda.gridDim.x), (batch + SAMPLES - 1) // SAMPLES
    working = min(tiles, blocks)
    words, order = shared(np.uint32, 0), shared(np.int64, ORDER_AT // 8)
    reals, doubles = shared(real, SUMS_AT // 4), shared(np.float64, SUMS_AT // 8)
    done, begun, steps = clock[0], clock[2], count[0]
    watched = updates != 0 and stopped[1] != 0
    if stopped[0] != 0:
        steps = np.int64(0)
    if steps > 0:
        for p in range(block * THREADS + thread, n, blocks * THREADS):
            if places[p] >= 0:
                halves[places[p]] = half_of(state[p])
        meet(counter)
    loss_scale = state[SCALE]
    inverse = real(1) / loss_scale
    step, last = done, done + steps
    while step < last:
        for i in range(thread, SIXTEENS, THREADS):
            copy16(16 * i, halves, 8 * i)
        squares, upstream = np.float64(0), scales[step - begun] * loss_scale * real(FACTOR) * real(2)
{zeros}
{clear}
        for tile in range(block, tiles, blocks):
            lanes = min(SAMPLES, batch - tile * SAMPLES)
            if thread < SAMPLES:  # samples beyond the batch are its last one: computed, and never added
                place = tile * SAMPLES + min(thread, lanes - 1)
                if mode == {picked}:
                    place = sample(place, step, batch, samples, k0, k1, left, right, rounds)
                elif mode == {streamed}:
                    place += (step - begun) * batch
                order[thread] = place
            cuda.syncthreads()
            for i in range(thread, SAMPLES * PAIRS, THREADS):
                row, column = i % SAMPLES, i // SAMPLES * 2
                first, second = real(0), real(0)
                if column < INPUTS:
                    first = data[offsets[columns[column]] + order[row]]
                if column + 1 < INPUTS:
                    second = data[offsets[columns[column + 1]] + order[row]]
                words[(ROWS_AT + row * ROW_BYTES + 2 * column) >> 2] = pack(first, second)
            cuda.syncthreads()
{tile}
        if block < working:
{keep}
            squares = total_of(squares)
            if thread == 0:
                losses[(step - begun) * working + block] = np.float64(real(FACTOR)) * squares
        meet(counter)
        lost = np.float64(0)
        for base in range(block * TOGETHER, n, blocks * TOGETHER):
            p, group = base + (thread & (TOGETHER - 1)), thread // TOGETHER
            gradient, place = real(0), np.int64(-1)
            if p < n:
                place = np.int64(places[p])
            if place >= 0:
                begin = group
                while begin + 7 * GROUPS < working:
{loads}
{sums}
                    begin += 8 * GROUPS
                while begin < working:
                    gradient += parts[begin * WIDTH + place]
                    begin += GROUPS
            if GROUPS > 1:
                reals[thread] = gradient
                cuda.syncthreads()
            if group == 0 and p < n:
                for q in range(1, GROUPS):
                    gradient += reals[thread + q * TOGETHER]
                gradient = low(pack(gradient, real(0))) * inverse
                state[size + p] = gradient
                if updates != 0:
                    if trained[p] != 0 and not abs(gradient) < real(np.inf):
                        lost = np.float64(1)
                    for k in range(STATES):
                        former[k * n + p] = state[2 * size + k * n + p]
                    update(
                        p, n, (step - begun) * width, state, state, n, size, places, 1, trained, rates, width,
                        constants, clock,
                    )
                    if place >= 0:
                        halves[place] = half_of(state[p])
        step += 1
        if watched:
            cuda.syncthreads()
            lost = total_of(lost)
            if thread == 0:
                flags[block] = np.int32(lost > 0)
        meet(counter)
        if watched:
            lost = np.float64(0)
            if thread < blocks and flags[thread] != 0:
                lost = np.float64(1)
            total_of(lost)
            cuda.syncthreads()
            if doubles[0] > 0:  # as before the step
                for p in range(block * TOGETHER + thread, n, blocks * TOGETHER):
                    if thread < TOGETHER:
                        state[p] = state[2 * size + STATES * n + p]
                        for k in range(STATES):
                            state[2 * size + k * n + p] = former[k * n + p]
                last = step
                if block == 0 and thread == 0:
                    stopped[0] = 1
    if block == 0 and thread == 0 and updates != 0 and steps > 0:
        clock[0] = step
        clock[1] = step + 1
'''


def source_of(stack: Stack, update: str, states: int) -> str:
    """Return the text of a stack's kernel; `update` is the text of the optimiser's, which has so many states."""
    first, layers = stack.layers[0], stack.layers
    constants = {
        "THREADS": THREADS, "WARPS": WARPS, "SAMPLES": stack.samples, "ROWS": stack.samples // 16,
        "TOGETHER": stack.together, "GROUPS": THREADS // stack.together, "STATES": states, "SCALE": stack.scale,
        "FACTOR": stack.factor,
        "WIDTH": stack.halves, "SIXTEENS": stack.halves // 8, "INPUTS": first.inputs, "PAIRS": first.wide // 2,
        "ROWS_AT": first.rows_at, "ROW_BYTES": 2 * (first.wide + PADDING), "ORDER_AT": stack.order_at,
        "SUMS_AT": stack.sums_at, "ADDS": not stack.carried and stack.tiles > stack.working,
    }  # fmt: skip
    functions: dict[str, str] = {}
    forward, backward = _calls(stack, functions)
    keep = [line for layer in layers for line in _items(layer, "keep")]
    numbers = sorted({int(found) for found in _NUMBER.findall("\n".join([*forward, *backward, *keep]))})
    zeros = [f"{name} = ({', '.join(['real(0)'] * count)})" for name, count in _sums(stack)]
    tile, each = [*forward, *backward], stack.carried
    if not each:
        tile = [*forward, *zeros, *backward, *keep]
    text = _STEPS.format(
        picked=PICKED, streamed=STREAMED, zeros=indent("\n".join(zeros if each else []), " " * 8),
        tile=indent("\n".join(tile), " " * 12), keep=indent("\n".join(keep if each else []), " " * 12),
        loads=indent("\n".join(f"g{k} = parts[(begin + {k} * GROUPS) * WIDTH + place]" for k in range(8)), " " * 20),
        sums=indent("\n".join(f"gradient += g{k}" for k in range(8)), " " * 20),
        clear=_CLEAR if constants["ADDS"] else "",
    )  # fmt: skip
    return "\n".join([
        *(f"{name} = {value!r}" for name, value in constants.items()),
        *(f"N{number} = np.int64({number})" for number in numbers), order_source(), _SHARED_WORK,
        *functions.values(), update_function(update), text,
    ])  # fmt: skip


def _sums(stack: Stack) -> list[tuple[str, int]]:
    """Names of the rectangles of gradients that a warp has, and the numbers of each in a thread."""
    return [
        (f"g{layer.weights_at}_{i}", 4 * (layer.across_weights + 1))
        for layer in stack.layers for i in range(-(-layer.items // WARPS))
    ]  # fmt: skip


def _act(layer: Dense, functions: dict[str, str], last: bool) -> str:
    """Add the functions of an activation, of a layer that is the `last` or not; return the name of their kind."""
    names, by_result = ("low(p)", "high(p)", "low(q)", "high(q)"), layer.by_result and not last
    way = "last_" if last else "result_" if by_result else ""
    kind = way + (f"{layer.op}{layer.operand}" if layer.op else "none")
    values, slopes = list(names), ["low(u)", "high(u)", "low(v)", "high(v)"]
    if layer.op:
        links = ((ops.get(layer.op), layer.operand),)
        for name, made in (
            ("activation", activation_source(links)),
            ("derivative", derivative_source(links, by_result)),
        ):
            functions[f"{name}_{kind}"] = "@device\n" + made.replace(f"def {name}(", f"def {name}_{kind}(")
        values = [f"activation_{kind}({name}, first, second)" for name in names]
        results = names if by_result else values
        slopes = [
            f"derivative_{kind}({up}, {result}, {name}, first, second)"
            for up, result, name in zip(slopes, results, names, strict=True)
        ]
    head = "row, column, sums_at, sum_bytes, outputs, first, second"
    given = {
        "head": head,
        "kind": kind,
        "values": ", ".join(values),
        "slopes": ", ".join(slopes),
        "pairs": _pairs(values),
    }
    given |= {"from": "rows_at + row * row_bytes" if by_result else "sums_at + row * sum_bytes"}
    given |= {"bytes": "row_bytes" if by_result else "sum_bytes", "keep": "" if by_result else _KEEP_SUMS}
    functions[f"slope_{kind}"] = _SLOPE.format(**given)
    which = "errors_of" if last else "finish"
    functions[f"{which}_{kind}"] = (_ERRORS if last else _FINISH).format(**given)
    return kind


def _pairs(values: list[str]) -> str:
    return f"pack({values[0]}, {values[1]}), pack({values[2]}, {values[3]})"


_SLOPE = """\
@device
def slope_{kind}(u0, u1, u2, u3, {head}, rows_at, row_bytes):
    words, u, v = shared(np.uint32, 0), pack(u0, u1), pack(u2, u3)
    at = ({from} + 2 * column) >> 2
    p, q = words[at], words[at + 2 * {bytes}]
    y0, y1, y2, y3 = {slopes}
    if column >= outputs:
        y0, y2 = real(0), real(0)
    if column + 1 >= outputs:
        y1, y3 = real(0), real(0)
    at = (sums_at + row * sum_bytes + 2 * column) >> 2
    words[at], words[at + 2 * sum_bytes] = pack(y0, y1), pack(y2, y3)
"""
_KEEP_SUMS = """\
    at = (sums_at + row * sum_bytes + 2 * column) >> 2
    words[at], words[at + 2 * sum_bytes] = p, q
"""
_FINISH = """\
@device
def finish_{kind}(c0, c1, c2, c3, {head}, behind_at, behind_bytes):
    words, p, q = shared(np.uint32, 0), pack(c0, c1), pack(c2, c3)
{keep}    y0, y1, y2, y3 = {values}
    if column >= outputs:
        y0, y2 = real(0), real(0)
    if column + 1 >= outputs:
        y1, y3 = real(0), real(0)
    at = (behind_at + row * behind_bytes + 2 * column) >> 2
    words[at], words[at + 2 * behind_bytes] = pack(y0, y1), pack(y2, y3)
"""
_ERRORS = """\
@device
def error_of(y, row, column, outputs, lanes, data, offsets, columns):
    error = real(0)
    if row < lanes and column < outputs:
        error = y - data[offsets[columns[INPUTS + column]] + shared(np.int64, ORDER_AT // 8)[row]]
    return error


@device
def errors_of_{kind}(c0, c1, c2, c3, {head}, lanes, data, offsets, columns, upstream):
    words, p, q = shared(np.uint32, 0), pack(c0, c1), pack(c2, c3)
    at = (sums_at + row * sum_bytes + 2 * column) >> 2
    words[at], words[at + 2 * sum_bytes] = p, q
    u, v = {pairs}
    e0 = error_of(low(u), row, column, outputs, lanes, data, offsets, columns)
    e1 = error_of(high(u), row, column + 1, outputs, lanes, data, offsets, columns)
    e2 = error_of(low(v), row + 8, column, outputs, lanes, data, offsets, columns)
    e3 = error_of(high(v), row + 8, column + 1, outputs, lanes, data, offsets, columns)
    slope_{kind}(e0 * upstream, e1 * upstream, e2 * upstream, e3 * upstream, {head}, sums_at, sum_bytes)
    return np.float64(e0 * e0 + e1 * e1) + np.float64(e2 * e2 + e3 * e3)
"""
_CLEAR = """\
        if block < working:
            for i in range(thread, WIDTH, THREADS):
                parts[block * WIDTH + i] = real(0)
"""


def _calls(stack: Stack, functions: dict[str, str]) -> tuple[list[str], list[str]]:
    """A tile through the layers, forward with the loss and backward; adds the functions that are called."""
    layers, forward, backward = stack.layers, list[str](), list[str]()
    kinds = [_act(layer, functions, layer is layers[-1]) for layer in layers]
    for k, layer in enumerate(layers):
        last, across = layer is layers[-1], layer.across(layer.high)
        name = f"{'last' if last else 'forward'}_{kinds[k]}_{across}"
        functions[name] = _forward(name, kinds[k], across, last)
        row_bytes, sum_bytes = 2 * (layer.wide + PADDING), 2 * (layer.high + PADDING)
        given = [
            layer.rows_at, row_bytes, layer.weights_at, layer.biases_at, layer.wide // 16, layer.sums_at, sum_bytes,
            layer.high // (8 * across), layer.outputs, "others", 2 * k,
        ]  # fmt: skip
        behind = ["(lanes, data, offsets, columns, upstream)"] if last else [layers[k + 1].rows_at, sum_bytes]
        forward += [f"squares += {name}({', '.join(map(_number, [*given, *behind]))})", "cuda.syncthreads()"]
    for k, layer in reversed(list(enumerate(layers))):
        row_bytes, sum_bytes = 2 * (layer.wide + PADDING), 2 * (layer.high + PADDING)
        if k > 0:
            across, before = layer.across(layer.wide), layers[k - 1]
            name = f"back_{kinds[k - 1]}_{across}"
            functions[name] = _backward(name, kinds[k - 1], across)
            given = [
                layer.sums_at, sum_bytes, layer.weights_at, row_bytes, layer.high // 16, layer.wide // (8 * across),
                before.sums_at, 2 * (before.high + PADDING), before.outputs, "others", 2 * (k - 1), layer.rows_at,
            ]  # fmt: skip
            backward.append(f"{name}({', '.join(map(_number, given))})")
        backward += _items(layer, "weights")
        backward += ["cuda.syncthreads()"] if k > 0 else []
        for make in (_weights, _keep):
            functions[f"{make.__name__}_{layer.across_weights}"] = make(layer.across_weights)
    return forward, backward


def _number(given: object) -> str:
    return given if isinstance(given, str) else f"N{given}"


def _items(layer: Dense, which: str) -> list[str]:
    """The calls for a warp's rectangles of a layer's weights: "weights" adds a tile's to them, "keep" keeps them."""
    found, across = list[str](), layer.across_weights
    columns, width = layer.wide // (8 * across), layer.wide + PADDING
    for i in range(-(-layer.items // WARPS)):
        name, item = f"g{layer.weights_at}_{i}", f"warp + {WARPS * i}"
        if which == "weights":
            places = [columns, layer.sums_at, 2 * (layer.high + PADDING), layer.rows_at, 2 * width]
            line = f"{name} = weights_{across}({name}, {item}, {', '.join(map(_number, places))})"
        else:
            places = [columns, width, layer.weights_at // 2, layer.biases_at // 2]
            line = f"keep_{across}(parts, block * WIDTH, {name}, {item}, {', '.join(map(_number, places))})"
        partial = layer.items % WARPS and i == layer.items // WARPS
        found.append(f"if {item} < {layer.items}:\n    {line}" if partial else line)
    return found
