"""Data that is not ours: files mapped into memory and objects that are asked give the bits of memory."""

import gc
import os
import warnings
import weakref
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.refusals import refusals
from kit.runs import ENGINES, bits
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError

edits = sv.run.edits
SAMPLES, WIDTH, WIDE = 300, 19, 3000
random = np.random.default_rng(3)
X = random.integers(0, 200, (SAMPLES, WIDTH)).astype(np.uint8)
Y = random.random((SAMPLES, 3)).astype(np.float32)
CLASSES = (X.sum(1, dtype=int) % 3).astype(np.int64)
FILES = count()


class Store:
    """Samples behind a door; what was asked for is written down. After some calls it may answer otherwise."""

    def __init__(self, array, answer=lambda found: found, after=0):
        self.array, self.asked, self.answer, self.after = array, [], answer, after

    def __len__(self):
        return len(self.array)

    def __getitem__(self, wanted):
        self.asked.append(wanted)
        found = self.array[wanted]
        return self.answer(found) if len(self.asked) > self.after else found


def mapped(folder, array):
    path = folder / f"{next(FILES)}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def start(x, y, engine="numba", batch=16, *, dtype="float32", loss=None, width=WIDTH, **options):
    net = nn.Sequential(nn.Linear(width, 5), nn.Tanh(), nn.Linear(5, 3))
    net.initialize(seed=2)
    rule = optim.Adam(net.parameters(), lr=0.001)
    return sv.Run(net, loss or nn.MSELoss(), rule, (x, y), batch_size=batch, engine=engine, seed=4, dtype=dtype,
                  **{"threads": 1, **options})  # fmt: skip


def same_bits(runs):
    assert all(bits(run) == bits(runs[0]) for run in runs[1:])


def law(folder, engine, dtype, batch, sampling, classes, kind, width, threads, moves, other):
    """Steps, going back, edits, other batches: the same bits. Of wide samples few are read ahead."""
    x, y = (X % 2 if kind == "?" else X).astype(kind), CLASSES if classes else Y
    x = np.tile(x, -(-width // WIDTH))[:, :width]
    loss = nn.CrossEntropyLoss(weight=[0.5, 1.0, 2.0]) if classes else None
    options = {"engine": engine, "batch": batch, "dtype": dtype, "sampling": sampling, "loss": loss,
               "threads": threads, "width": width}  # fmt: skip
    runs = [start(x, y, **options), start(mapped(folder, x), mapped(folder, y), **options)]
    runs.append(start(Store(x), y, **options))
    for run in runs:
        for n in (1, 12, 18):
            run.step(n)
    same_bits(runs)
    assert len({run.engine.why for run in runs[:2]}) == 1
    for step in moves:
        for run in runs:
            run.to(step)
        same_bits(runs)
    for run, few in zip(runs, (x[:2], mapped(folder, x[:2]), x[:2]), strict=True):
        run.add_samples(few, y[:2])
        run.batch_size = other
        run.step(5)
    same_bits(runs)
    for run in runs:
        run.undo()
        run.undo()
        run.step(3)
        run.set_targets(y[::-1])
        run.step(3)
    same_bits(runs)
    for run in runs[1:]:
        np.testing.assert_array_equal(np.hstack(run.sample(299)), np.hstack(runs[0].sample(299)))
        np.testing.assert_array_equal(run.open().gradient, runs[0].open().gradient)
        np.testing.assert_array_equal(run.open(sample=7).gradient, runs[0].open(sample=7).gradient)


USUAL = {"engine": "numpy", "dtype": "float32", "batch": 16, "sampling": "epochs", "classes": False, "kind": "<u1",
         "width": WIDTH, "threads": 1, "moves": [7, 20], "other": 3}  # fmt: skip
OTHERS = [{}, {"engine": "objects", "batch": 7, "kind": ">f8"}, {"engine": "numba", "dtype": "float64"},
          {"sampling": "replacement", "kind": ">i4"}, {"width": WIDE, "batch": 200, "dtype": "float64"},
          {"width": WIDE, "batch": 200, "dtype": "float64", "sampling": "replacement", "engine": "numba"},
          {"classes": True, "kind": "<f2", "batch": 1},
          {"kind": "?", "batch": SAMPLES, "other": SAMPLES + 2}]  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("options", OTHERS)
def test_the_bits_are_those_from_memory(options, tmp_path):
    law(tmp_path, **USUAL | options)


@pytest.mark.hunt
@settings(max_examples=100, deadline=None)
@given(
    engine=st.sampled_from(ENGINES), dtype=st.sampled_from(["float32", "float64"]),
    batch=st.sampled_from([1, 7, 16, SAMPLES]), sampling=st.sampled_from(["epochs", "replacement"]),
    classes=st.booleans(), kind=st.sampled_from(["<u1", ">i4", "<f2", ">f8", "?"]),
    width=st.sampled_from([WIDTH, 100]), threads=st.integers(1, 2),
    moves=st.lists(st.integers(0, 30), min_size=1, max_size=3), other=st.sampled_from([3, SAMPLES + 2]),
)  # fmt: skip
def test_the_bits_are_those_from_memory_in_many_ways(tmp_path_factory, **options):
    law(tmp_path_factory.mktemp("data"), **options)


def test_samples_are_asked_for_seldom_and_in_order_and_nothing_else_is_read():
    class Array(Store):
        """What knows how to be an array is copied at once; what says how it lies on a disk is not."""

        def __array__(self, dtype=None, copy=None):
            return self.array

    class OnDisk(Store):
        chunks = None

        def __array__(self, dtype=None, copy=None):
            raise AssertionError

    stores = [Store(X), OnDisk(X), Array(X)]
    runs = [start(X, Y), *(start(store, Y) for store in stores)]
    for run in runs:
        run.step(40)
        run.change(activation="relu", optimizer="sgd", lr=0.01)
        run.step(3)
    same_bits(runs)
    for store in stores[:2]:
        asked = [wanted for wanted in store.asked if isinstance(wanted, np.ndarray)]
        assert asked
        assert all((np.diff(wanted) > 0).all() for wanted in asked)
        assert len(store.asked) < 40  # not every step, not every sample
    assert not stores[2].asked


def test_pictures_and_other_views_of_a_file(tmp_path):
    pictures = np.random.default_rng(1).random((30, 1, 6, 6)).astype(np.float32)
    ends = []
    for data in (pictures, mapped(tmp_path, pictures), Store(pictures)):
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
        net.initialize(seed=1)
        rule = optim.SGD(net.parameters(), lr=0.1)
        run = sv.Run(net, nn.CrossEntropyLoss(), rule, (data, CLASSES[:30]), batch_size=10, engine="numpy")
        run.step(7)
        ends.append((run.values.tobytes(), run.frame().dead["1"].tobytes()))
    assert ends[0] == ends[1] == ends[2]
    whole = mapped(tmp_path, np.tile(X, 2))
    runs = [start(X[::-1], Y[::-1]), start(whole[::-1, WIDTH:], Y[::-1])]
    for run in runs:
        run.step(9)
    same_bits(runs)


def test_other_samples_come_from_outside_too(tmp_path):
    runs, x = [start(X[:50], Y[:50]), start(X[:50], Y[:50])], mapped(tmp_path, X)
    for run, samples in zip(runs, (X, x), strict=True):
        run.step(2)
        run.refill(samples, Y)
        run.step(3)
    same_bits(runs)
    with pytest.raises(InputError, match="19"):
        runs[1].refill(x[:, :4], Y)
    runs[1].undo()
    runs[1].step(1)
    last = weakref.ref(x)
    runs[1].close()
    del runs, run, x, samples
    gc.collect()
    assert last() is None


# ---- what is no number, or not there any more


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_ends_it_at_the_last_good_step(tmp_path, bad):
    x = X.astype(np.float32)
    x[290, 4] = bad
    for samples in (mapped(tmp_path, x), Store(x)):
        run, good = start(samples, Y), start(X.astype(np.float32), Y)
        for _ in range(2):
            with pytest.raises(InputError, match=rf"sample 290, column 4.* {bad}"):
                run.step(40)
        good.step(run.steps)
        assert 0 < run.steps < SAMPLES // 16 + 1
        assert run.values.tobytes() == good.values.tobytes()
        run.refill(X, Y)
        run.step(2)
        assert run.steps == good.steps + 2
    y = CLASSES.copy()
    y[270] = 9
    run = start(X, mapped(tmp_path, y), loss=nn.CrossEntropyLoss())
    with pytest.raises(InputError, match="9"):
        run.step(100)
    assert 0 < run.steps < 30


def test_a_file_that_is_shortened_is_said_and_not_read(tmp_path):
    x = mapped(tmp_path, X)
    run, name = start(x, Y), os.path.basename(x.filename)
    run.step(3)
    os.truncate(x.filename, 1000)
    with warnings.catch_warnings(record=True) as told, pytest.raises(InputError, match="1,000 bytes"):
        warnings.simplefilter("always")
        run.step(5)
    assert name in str(told[0].message)
    assert run.steps == 3


@pytest.mark.parametrize("view", [lambda a: a, np.asarray, lambda a: a[::-2]])
def test_nobody_reads_behind_the_end_of_a_shortened_file(tmp_path, view):
    run = start(X, Y, "numpy")
    x, y = mapped(tmp_path, X), mapped(tmp_path, Y)
    for array in (x, y):
        os.truncate(array.filename, 100)
    for call in (
        lambda: run.predict(view(x)), lambda: run.evaluate(view(x), view(y)), lambda: run.set_targets(view(y)),
        lambda: run.set_weights(0, view(y)[0]), lambda: nn.Parameter(view(y)),
    ):  # fmt: skip
        with pytest.raises(InputError, match="100 bytes"):
            call()


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_file_that_is_replaced_or_deleted_is_said_and_read_on(tmp_path, change):
    x, reference = mapped(tmp_path, X), start(X, Y)
    run = start(x, Y)
    run.step(3)
    os.replace(mapped(tmp_path, X[::-1]).filename, x.filename) if change == "replaced" else os.unlink(x.filename)
    with pytest.warns(RuntimeWarning, match="no longer" if change == "deleted" else change):
        run.step(3)
    reference.step(6)
    same_bits([run, reference])
    assert "read on" in run.engine.why


@pytest.mark.ci
def test_a_changed_file_leaves_the_kept_moments(tmp_path):
    x = mapped(tmp_path, X)
    run, then = start(x, Y, "objects", 32), {}  # slow: moments are kept now and then
    for _ in range(30):
        run.step(1)
        then[run.steps] = run.values.tobytes()
    file = np.load(x.filename, mmap_mode="r+")
    file[:] = 255 - X
    file.flush()
    os.utime(x.filename, ns=(1, 1))
    reached, said = [], []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(1, 30):
            before = run.steps, run.values.tobytes()
            try:
                run.to(step)
            except StateError as error:  # its numbers would come from steps that are done again
                said.append(str(error).lower())
                assert (run.steps, run.values.tobytes()) == before  # where it stood
                continue
            frame = run.frame()
            reached.append(step)
            assert (run.steps, frame.step) == (step, step)
            assert frame.values.tobytes() == then[step]
            assert not any(part.any() for part in (frame.computed, frame.gradient, frame.update))
    assert "changed" in str(told[0].message)
    assert "changed" in run.engine.why
    assert all("kept moments" in line for line in said)
    assert reached
    assert said
    run.to(30)
    run.step(10)  # from here on all is as it is now
    after = run.values.tobytes()
    run.to(35)
    run.to(40)
    assert run.values.tobytes() == after


# ---- objects that are none


def raising(found):
    raise OSError("the disk is gone")


LATER = [(raising, InputError, "OSError: the disk is gone"), (lambda found: found[:-1], InputError, "shape"),
         (lambda found: found[:, :-1], InputError, "shape"), (lambda found: "text", TypeMismatchError, "real numbers"),
         (lambda found: found * 1j, TypeMismatchError, "real numbers")]  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "said"), LATER)
def test_an_object_that_fails_later(answer, kind, said):
    run, reference = start(Store(X, answer, 3), Y), start(X, Y)
    with pytest.raises(kind, match=said):
        for _ in range(300):
            run.step(30)
    reference.step(run.steps)
    assert run.values.tobytes() == reference.values.tobytes()


class Rows:
    def __init__(self, length, rows):
        self.length, self.rows = length, rows

    def __len__(self):
        if isinstance(self.length, Exception):
            raise self.length
        return self.length

    def __getitem__(self, wanted):
        return self.rows


ROWS = {
    "none": (lambda _: start(Rows(0, X), Y), InputError, "at least one"),
    "no length": (lambda _: start(Rows(RuntimeError("no"), X), Y), InputError, "length", "RuntimeError: no"),
    "numbers": (lambda _: start(Rows(SAMPLES, 3.0), Y), InputError, "shape"),
    "texts": (lambda _: start(Rows(SAMPLES, [["a"]]), Y), TypeMismatchError, "real numbers"),
    "None": (lambda _: start(Rows(SAMPLES, None), Y), TypeMismatchError, "real numbers"),
    "too few": (lambda _: start(Store(X[:-1]), Y), InputError, 299, 300),
    "narrow": (lambda _: start(Store(X[:, :5]), Y), InputError, "takes 19", "got 5"),
    "file of complex": (lambda f: start(mapped(f, np.zeros((3, WIDTH), complex)), Y), TypeMismatchError, "data[0]"),
    "written": (lambda f: edits.write_edit(edits.Refill(mapped(f, X), Y)), InputError, "cannot be written"),
    "file of one": (lambda f: start(mapped(f, np.array(1.0)), Y), InputError, "data[0]"),
}  # fmt: skip


@refusals(ROWS)
def test_refused(refusal, tmp_path):
    refusal.check(tmp_path)
