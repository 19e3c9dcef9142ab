"""Samples in any layout and dtype: how they are kept, read and loaded, against NumPy; the bits of a run do not know."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import Run, Weight, nn, optim
from scalarviz.engine.cpu import wire
from scalarviz.engine.cpu.cache import loader
from scalarviz.engine.cpu.feed import Feeder
from scalarviz.engine.data import Data, joined
from scalarviz.errors import InputError
from scalarviz.tape import lower, record

GIVEN = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
NEEDLESS = -77.0


def numbers(dtype, shape, seed=0):
    """Numbers over the whole range of a dtype, its ends among them."""
    random, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "f":
        return random.normal(size=shape).astype(kind)
    if kind.kind == "b":
        return random.random(shape) < 0.5
    ends = np.iinfo(kind)
    found = random.integers(ends.min, ends.max, shape, kind, endpoint=True)
    found.flat[:2] = [ends.min, ends.max][: found.size]
    return found


def strided(array, layout):
    """The same numbers with the columns of a sample side by side, those of a row, or neither."""
    if layout == "neither":
        room = np.zeros((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
        room[::2, ::3] = array
        return room[::2, ::3]
    return np.array(array, order="F" if layout == "sample" else "C")


# ---- reading


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_it_reads_as_one_array(data):
    count = data.draw(st.integers(1, 9))
    kinds = data.draw(st.lists(st.tuples(st.sampled_from(GIVEN), st.integers(1, 4)), min_size=1, max_size=3))
    layout = st.sampled_from(["sample", "number", "neither"])
    parts = [strided(numbers(kind, (n, count), k), data.draw(layout)) for k, (kind, n) in enumerate(kinds)]
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    made, whole = Data(dtype, *parts), np.concatenate([part.astype(dtype) for part in parts])
    places = st.one_of(st.none(), st.integers(-len(whole), len(whole)))
    rows = data.draw(st.one_of(st.builds(slice, places, places), st.integers(0, len(whole) - 1)))
    ids = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=12)))
    for columns in (slice(None), slice(1, 3), ids, count - 1):
        found = made[rows, columns]
        assert (found.dtype, found.shape) == (np.dtype(dtype), whole[rows, columns].shape)
        assert found.tobytes() == whole[rows, columns].tobytes()
    assert (made.shape, made.size, made.nbytes, len(made)) == (whole.shape, whole.size, whole.nbytes, len(whole))
    head = data.draw(st.integers(1, len(whole)))
    assert made.head(head)[:].tobytes() == whole[:head].tobytes()
    made.lay(data.draw(st.booleans()))
    assert made[:].tobytes() == whole.tobytes()


def test_laying_it_out_moves_no_number_and_what_was_read_stays():
    made = Data("float32", numbers("uint8", (40, 9)))
    before, kept = made[:].copy(), made.parts
    for whole, place in ((False, "F_CONTIGUOUS"), (True, "C_CONTIGUOUS"), (True, "C_CONTIGUOUS")):
        made.lay(whole)
        assert made.parts[0].flags[place]
        assert made.parts[0].dtype == np.uint8
        assert made[:].tobytes() == before.tobytes()
    assert kept[0].flags["C_CONTIGUOUS"]


def test_samples_behind_one_another_keep_their_dtype_where_all_have_it():
    first, second = numbers("uint8", (5, 7)), numbers("uint8", (5, 3), 1)
    both = joined((Data("float32", first), Data("float32", second)))
    assert both.parts[0].dtype == np.uint8
    assert both[:].tobytes() == np.concatenate([first, second], 1).astype("float32").tobytes()
    more = joined((both, Data("float32", numbers("float32", (5, 2)))))
    assert [part.dtype for part in more.parts] == [np.float32]
    assert more[:, :10].tobytes() == both[:].tobytes()


# ---- loading


@pytest.mark.parametrize("plain", ["", "_plain"])
@pytest.mark.parametrize("real", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"])
def test_the_kernels_load_what_numpy_converts(kind, real, plain):
    """All lanes, rows of all counts around the width of a vector; nothing else of the workspace is written."""
    name = ("load" if kind == real else f"load_{kind}") + plain
    call = loader.callable_at(loader.kernel_address(name, real))
    width = 64 // np.dtype(real).itemsize
    for case in range(60):
        random = np.random.default_rng(case)
        count, lanes, samples = int(random.integers(1, 40)), int(random.integers(1, 50)), 60
        layout = ("sample", "number", "neither")[case % 3]
        source = strided(numbers(kind, (count, samples), case), layout)
        padded = -(-lanes // width) * width
        room = np.full((count + 4, padded), NEEDLESS, real)
        space = np.zeros(wire.ALONE + 2, np.int64)
        space[[wire.BASE, wire.STRIDE]] = room.ctypes.data, room.strides[0]
        ids = random.integers(0, samples, lanes + 3)
        start = int(random.integers(0, 3)) if case % 2 else int(random.integers(0, samples - lanes))
        line = np.array([0, 2, count, source.ctypes.data, *source.strides], np.int64)
        chosen = ids.ctypes.data if case % 2 else None
        pointers = line.ctypes.data, space.ctypes.data, chosen, room.ctypes.data, source.ctypes.data
        call(*pointers, room.ctypes.data, lanes, start)
        taken = ids[start:][:lanes] if case % 2 else np.arange(start, start + lanes)
        assert room[2 : 2 + count, :lanes].tobytes() == source[:, taken].astype(real).tobytes()
        np.testing.assert_array_equal(np.delete(room, range(2, 2 + count), 0), NEEDLESS)


def test_lines_cut_where_rows_or_parts_do():
    w = Weight(0.5)
    tape = record(lambda x: w * x[0] + (w * x[1]) * (w + x[3]) * (w - x[5]) * (w * x[2]), 6, 0)
    program = lower(tape.only(outputs=True)).body
    assert set(program.input_index.tolist()) == {0, 1, 2, 3, 5}
    parts = numbers("float32", (2, 4)), numbers("uint8", (4, 4))
    lines = Feeder(program).lines(Data("float32", *parts))
    for row, index in zip(program.input_rows, program.input_index, strict=True):
        part, first = (parts[0], 0) if index < 2 else (parts[1], 2)
        found = [line for line in lines if line[1] <= row < line[1] + line[2]]
        assert len(found) == 1
        place = found[0][3] + (row - found[0][1]) * found[0][4]
        assert place == part.ctypes.data + (index - first) * part.strides[0]


# ---- a run


def start(x, y, engine, dtype, batch, sampling="epochs", loss=None, **more):
    sizes = (int(np.prod(x.shape[1:])), 5, 3)
    net = nn.Sequential(nn.Linear(*sizes[:2]), nn.Tanh(), nn.Linear(*sizes[1:]))
    net.initialize(seed=2)
    return Run(
        net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.001, momentum=0.9), (x, y), batch_size=batch,
        sampling=sampling, engine=engine, dtype=dtype, seed=4, **more,
    )  # fmt: skip


def bits(run):
    return run.values.tobytes(), run.problem.store.grad.tobytes(), run.loss


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["bool", "uint8", "int8", "uint16", "int16", "int32", "uint64", "int64", "float16"]),
    engine=st.sampled_from(["numba", "numpy", "objects"]), dtype=st.sampled_from(["float32", "float64"]),
    batch=st.sampled_from([1, 5, 16, 40]), sampling=st.sampled_from(["epochs", "replacement"]),
    width=st.sampled_from([2, 19]), classes=st.booleans(),
)  # fmt: skip
def test_the_bits_do_not_know_in_which_dtype_numbers_came(kind, engine, dtype, batch, sampling, width, classes):
    x = np.random.default_rng(width).integers(0, 2 if kind == "bool" else 100, (40, width)).astype(kind)
    y = (np.arange(40) % 3).astype(np.uint8) if classes else x[:, :1].repeat(3, 1)
    loss = nn.CrossEntropyLoss() if classes else None
    runs = [start(a, b, engine, dtype, batch, sampling, loss) for a, b in ((x, y), (x.astype(dtype), y.astype(dtype)))]
    for run in runs:
        run.step(4)
    assert bits(runs[0]) == bits(runs[1])
    for run in runs:  # other samples a step: the numbers are laid out anew
        run.batch_size = 40 if batch < 40 else 7
        run.add_samples(x[:2], y[:2])
        run.set_targets(np.roll(np.concatenate([y, y[:2]]), 1, 0))
        run.step(3)
        run.undo()
        run.step(2)
    assert bits(runs[0]) == bits(runs[1])
    assert [a.tobytes() for a in runs[0].samples()] == [a.tobytes() for a in runs[1].samples()]
    assert [a.tobytes() for a in runs[0].sample(3)] == [a.tobytes() for a in runs[1].sample(3)]
    opened = [run.open() for run in runs]
    assert opened[0].gradient.tobytes() == opened[1].gradient.tobytes()


@pytest.mark.parametrize("batch", [None, 10])
def test_small_whole_numbers_stay_as_they_are(batch):
    x, y = numbers("uint8", (50, 30)), numbers("float32", (50, 3))
    run = start(x, y, "numba", "float32", batch)
    assert [part.dtype for part in run.problem.data.parts] == [np.uint8, np.float32]
    run.step(2)
    run.set_targets(y[::-1])
    assert run.problem.data.parts[0].base is not None or run.problem.data.parts[0].dtype == np.uint8
    before = x.copy()
    x[:] = 0  # it has a copy
    np.testing.assert_array_equal(run.samples()[0], before)


@pytest.mark.parametrize("batch", [None, 10])
@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "float64"])
def test_a_run_needs_little_more_than_its_data(kind, batch):
    """Above the caller's arrays: at most 1.1 times the data in the run's dtype, while it is made and trained."""
    x, y = numbers(kind, (20_000, 200)), np.zeros((20_000, 3), np.float32)
    start(x[:20], y[:20], "numba", "float32", batch).step(1)
    tracemalloc.start()
    try:
        run = start(x, y, "numba", "float32", batch)
        run.step(2)
        assert tracemalloc.get_traced_memory()[1] <= 1.1 * run.problem.data.nbytes + 4e6
    finally:
        tracemalloc.stop()


def test_too_large_a_number_is_said_wherever_it_stands():
    x = np.zeros((300_000, 2))
    x[299_999, 1] = 1e39
    with pytest.raises(InputError, match=r"1e\+39 is too large for float32"):
        start(x, np.zeros((300_000, 3)), "numba", "float32", 10)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_said_wherever_it_stands(bad):
    x = np.zeros((300_000, 2), np.float32)
    x[299_998, 1] = bad
    with pytest.raises(InputError, match=r"\[299998, 1\] is .*1 of 300000 samples"):
        start(x, np.zeros((300_000, 3)), "numba", "float32", 10)
