"""Data that is not ours: files mapped into memory and objects that are asked. The bits are those from memory."""

from __future__ import annotations

import gc
import os
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim, rng
from scalarviz.engine.outside import Outside, ahead
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.edits import Refill, write_edit

SAMPLES, WIDTH = 300, 19
random = np.random.default_rng(3)
X = random.integers(0, 200, (SAMPLES, WIDTH)).astype(np.uint8)
Y = random.random((SAMPLES, 3)).astype(np.float32)
CLASSES = (X.sum(1, dtype=int) % 3).astype(np.int64)


class Store:
    """Samples behind a door; what was asked for is written down."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __len__(self):
        return len(self.array)

    def __getitem__(self, wanted):
        self.asked.append(wanted)
        return self.array[wanted]


def mapped(folder, name, array):
    path = folder / f"{name}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def start(x, y, engine="numba", batch=16, *, dtype="float32", loss=None, sampling="epochs", threads=1, lr=0.001):
    net = nn.Sequential(nn.Linear(WIDTH, 5), nn.Tanh(), nn.Linear(5, 3))
    net.initialize(seed=2)
    return Run(
        net, loss or nn.MSELoss(), optim.Adam(net.parameters(), lr=lr), (x, y), batch_size=batch, engine=engine,
        seed=4, dtype=dtype, sampling=sampling, threads=threads,
    )  # fmt: skip


def bits(run):
    state = [array.tobytes() for array in run.problem.state]
    return run.values.tobytes(), run.problem.store.grad.tobytes(), run.loss, run.steps, state


def alike(runs):
    assert all(bits(run) == bits(runs[0]) for run in runs[1:])


LAW = given(
    engine=st.sampled_from(["numba", "numba", "numpy", "objects"]), dtype=st.sampled_from(["float32", "float64"]),
    batch=st.sampled_from([1, 7, 16, SAMPLES]), sampling=st.sampled_from(["epochs", "replacement"]),
    classes=st.booleans(), kind=st.sampled_from(["<u1", ">i4", "<f2", ">f8", "?"]),
    window=st.sampled_from([1, 4000, 1 << 25]), threads=st.integers(1, 2),
    moves=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    data=st.data(),
)  # fmt: skip


def law(
    tmp_path_factory, engine, dtype, batch, sampling, classes, kind, window, threads, moves, data
):  # fmt: skip
    """The bits are those from memory, whatever is done: steps, going back, edits, other batches."""
    folder, before = tmp_path_factory.mktemp("data"), ahead.AHEAD_BYTES
    x = (X % 2 if kind == "?" else X).astype(kind)
    y = CLASSES if classes else Y
    loss = nn.CrossEntropyLoss(weight=[0.5, 1.0, 2.0]) if classes else None
    options = {"engine": engine, "batch": batch, "dtype": dtype, "sampling": sampling, "loss": loss, "threads": threads}
    ahead.AHEAD_BYTES = window
    try:
        runs = [
            start(x, y, **options),
            start(mapped(folder, "x", x), mapped(folder, "y", y), **options),
            start(Store(x), y, **options),
        ]
        for run in runs:
            for n in (1, 12, 18):
                run.step(n)
        alike(runs)
        for step in moves:
            for run in runs:
                run.to(step)
            alike(runs)
        other = data.draw(st.sampled_from([3, SAMPLES + 2]))
        for run, more in zip(runs, (x[:2], mapped(folder, "more", x[:2]), x[:2]), strict=True):
            run.add_samples(more, y[:2])
            run.batch_size = other
            run.step(5)
        alike(runs)
        for run in runs:
            run.undo()
            run.undo()
            run.step(3)
            run.set_targets(y[::-1])
            run.step(3)
        alike(runs)
        for run in runs[1:]:
            for mine, theirs in zip(run.samples(), runs[0].samples(), strict=True):
                np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(np.hstack(run.sample(299)), np.hstack(runs[0].sample(299)))
            np.testing.assert_array_equal(run.open().gradient, runs[0].open().gradient)
            np.testing.assert_array_equal(run.open(sample=7).gradient, runs[0].open(sample=7).gradient)
    finally:
        ahead.AHEAD_BYTES = before


test_the_bits_are_those_from_memory = settings(max_examples=3, deadline=None)(LAW(law))
test_the_bits_are_those_from_memory_in_many_ways = pytest.mark.slow(settings(max_examples=12, deadline=None)(LAW(law)))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1), first=st.integers(0, 2**40), count=st.integers(1, 30),
    samples=st.integers(1, 40), batch=st.integers(1, 60),
)  # fmt: skip
def test_the_samples_of_many_steps_are_those_of_each(seed, first, count, samples, batch):
    found = ahead.drawn(seed, first, count, samples, batch).reshape(count, batch)
    for k in range(count):
        np.testing.assert_array_equal(found[k], rng.drawn_indices(seed, first + k, samples, batch))
    batch = min(batch, samples)
    found = ahead.in_order(seed, first, count, samples, batch).reshape(count, batch)
    for k in range(count):
        np.testing.assert_array_equal(found[k], rng.batch_indices(seed, first + k, samples, batch))


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("batch", [5, 16])
def test_every_engine_reads_a_file(tmp_path, engine, batch, monkeypatch):
    monkeypatch.setattr(ahead, "AHEAD_BYTES", 2000)  # calls end at what is loaded
    runs = []
    for x in (X[:16], mapped(tmp_path, "x", X[:16])):
        run = start(x, Y[:16], engine, batch, dtype="float64")
        run.step(1)
        run.step(3)
        run.to(2)
        run.step(3)
        runs.append(run)
    assert bits(runs[0]) == bits(runs[1])
    assert runs[0].engine.why == runs[1].engine.why


def test_nothing_is_copied_and_ids_come_sorted(tmp_path):
    store = Store(X)
    run = start(store, Y)
    run.step(40)
    assert isinstance(run.problem.data, Outside)
    asked = [wanted for wanted in store.asked if isinstance(wanted, np.ndarray)]
    assert asked
    assert all((np.diff(wanted) > 0).all() for wanted in asked)
    assert len(store.asked) < 20  # not every step, not every sample
    from_file = start(mapped(tmp_path, "x", X), Y)
    assert isinstance(from_file.problem.data, Outside)
    run.change(activation="relu", optimizer="sgd", lr=0.01)
    run.step(3)
    assert isinstance(run.problem.data, Outside)


def test_a_net_of_pictures_reads_them_from_a_file(tmp_path):
    pictures = np.random.default_rng(1).random((30, 1, 6, 6)).astype(np.float32)
    ends = []
    for given_pictures in (pictures, mapped(tmp_path, "pictures", pictures), Store(pictures)):
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
        net.initialize(seed=1)
        data = given_pictures, CLASSES[:30]
        run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data, batch_size=10)
        run.step(7)
        ends.append((run.values.tobytes(), run.frame().dead["1"].tobytes()))
    assert ends[0] == ends[1] == ends[2]


def test_other_views_of_a_file(tmp_path):
    whole = mapped(tmp_path, "x", np.tile(X, 2))
    reference = start(X[::-1], Y[::-1])
    run = start(whole[::-1, WIDTH:], Y[::-1])
    for one in (run, reference):
        one.step(9)
    assert bits(run) == bits(reference)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_ends_it_at_the_last_good_step(tmp_path, bad):
    x = X.astype(np.float32)
    x[290, 4] = bad
    for given_samples in (mapped(tmp_path, "x", x), Store(x)):
        run, good = start(given_samples, Y), start(X.astype(np.float32), Y)
        bad_step = next(k for k in range(40) if 290 in run.problem.indices(k))
        with pytest.raises(InputError, match=rf"sample 290, column 4 is {bad}"):
            run.step(40)
        assert run.steps == bad_step
        good.step(bad_step)
        assert run.values.tobytes() == good.values.tobytes()
        with pytest.raises(InputError, match="sample 290"):
            run.step(1)
        run.refill(X, Y)
        run.step(2)
        assert run.steps == bad_step + 2


def test_bad_targets_are_said_when_they_are_read(tmp_path):
    y = CLASSES.copy()
    y[270] = 9
    run = start(X, mapped(tmp_path, "y", y), loss=nn.CrossEntropyLoss())
    with pytest.raises(InputError, match="9"):
        run.step(100)
    assert 0 < run.steps < 30


def test_a_file_that_is_shortened_is_said_and_not_read(tmp_path):
    run = start(mapped(tmp_path, "x", X), Y)
    run.step(3)
    os.truncate(tmp_path / "x.npy", 1000)
    with warnings.catch_warnings(record=True) as told, pytest.raises(InputError, match="shortened to 1,000 bytes"):
        warnings.simplefilter("always")
        run.step(5)
    assert "x.npy" in str(told[0].message)
    assert run.steps == 3


@pytest.mark.parametrize("view", [lambda a: a, np.asarray, lambda a: a[::-2]])
def test_nobody_reads_behind_the_end_of_a_shortened_file(tmp_path, view):
    run = start(X, Y, "numpy")
    x, y = mapped(tmp_path, "x", X), mapped(tmp_path, "y", Y)
    for name in "xy":
        os.truncate(tmp_path / f"{name}.npy", 100)
    for call in (
        lambda: run.predict(view(x)),
        lambda: run.evaluate(view(x), view(y)),
        lambda: run.set_targets(view(y)),
        lambda: run.set_weights(0, view(y)[0]),
        lambda: nn.Parameter(view(y)),
    ):
        with pytest.raises(InputError, match="the file was shortened to 100 bytes"):
            call()


def test_a_file_that_is_replaced_or_deleted_is_said_and_read_on(tmp_path):
    reference = start(X, Y)
    reference.step(6)
    for change in ("deleted", "replaced"):
        run = start(mapped(tmp_path, change, X), Y)
        run.step(3)
        path = tmp_path / f"{change}.npy"
        if change == "replaced":
            np.save(tmp_path / "other.npy", X[::-1])
            os.replace(tmp_path / "other.npy", path)
        else:
            path.unlink()
        with pytest.warns(RuntimeWarning, match="no longer at its path" if change == "deleted" else "replaced by"):
            run.step(3)
        assert bits(run) == bits(reference)
        assert "read on" in run.engine.why


def test_a_changed_file_leaves_the_kept_moments(tmp_path):
    path = tmp_path / "x.npy"
    run = start(mapped(tmp_path, "x", X), Y)
    run.timeline.keyframes.spacing = 1e9
    for _ in range(6):
        run.step(5)
        run.timeline._keep()
    before = run.values.tobytes()
    then = {}
    for step in range(0, 31, 5):
        run.to(step)
        then[step] = run.values.tobytes()
    kept = sorted(key.step for key in run.timeline.line.keys)
    file = np.load(path, mmap_mode="r+")
    file[:] = 255 - X
    file.flush()
    os.utime(path, ns=(1, 1))
    between = next(step for step in range(30) if step not in kept)  # its numbers come from steps done again
    with pytest.warns(RuntimeWarning, match=r"x\.npy\) was changed"), pytest.raises(StateError, match="Kept moments"):
        run.to(between)
    assert (run.steps, run.values.tobytes()) == (30, before)  # where it stood
    assert "was changed" in run.engine.why
    for step in (kept[3], kept[1]):
        run.to(step)
        frame = run.frame()
        assert (run.steps, frame.step) == (step, step)
        assert frame.values.tobytes() == then[step]
        assert not frame.computed.any()  # the step before it cannot be done again
        assert not frame.gradient.any()
        assert not frame.update.any()
    assert run.timeline.near(between) in kept
    with pytest.raises(StateError, match="Kept moments"):
        run.step(1)  # before the end steps follow what was recorded
    run.to(30)
    run.step(10)  # from here on all is as it is now
    after = run.values.tobytes()
    run.to(35)
    run.to(40)
    assert run.values.tobytes() == after
    new = start(np.load(path), Y)
    assert new.problem.data[0, 0] == 255 - X[0, 0]


def test_the_file_is_let_go_of(tmp_path):
    import weakref

    x = mapped(tmp_path, "x", X)
    run = start(x, Y)
    run.step(2)
    watched = weakref.ref(x)
    run.close()
    del run, x
    gc.collect()
    assert watched() is None


class Broken(Store):
    """Raises, or gives what was not asked for, after some calls."""

    def __init__(self, array, answer, after):
        super().__init__(array)
        self.answer, self.after = answer, after

    def __getitem__(self, wanted):
        found = super().__getitem__(wanted)
        return self.answer(found) if len(self.asked) > self.after else found


def raising(found):
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("answer", "said", "kind"),
    [
        (raising, "could not be read.*OSError: the disk is gone", InputError),
        (lambda found: found[:-1], "it gave the shape", InputError),
        (lambda found: found[:, :-1], "it gave the shape", InputError),
        (lambda found: "text", "must be an array of real numbers", TypeMismatchError),
        (lambda found: found * 1j, "must be an array of real numbers", TypeMismatchError),
    ],
)
def test_an_object_that_fails_later(answer, said, kind):
    run = start(Broken(X, answer, 3), Y)
    with pytest.raises(kind, match=said):
        for _ in range(300):
            run.step(30)
    steps = run.steps
    reference = start(X, Y)
    reference.step(steps)
    assert bits(run) == bits(reference)


class Numbered:
    def __init__(self, length, rows):
        self.length, self.rows = length, rows

    def __len__(self):
        if isinstance(self.length, Exception):
            raise self.length
        return self.length

    def __getitem__(self, wanted):
        return self.rows


@pytest.mark.parametrize(
    ("x", "kind", "said"),
    [
        (Numbered(0, X), InputError, "at least one sample"),
        (Numbered(RuntimeError("no"), X), InputError, "its length cannot be had: RuntimeError: no"),
        (Numbered(SAMPLES, 3.0), InputError, "it gave the shape"),
        (Numbered(SAMPLES, []), InputError, "it gave the shape"),
        (Numbered(SAMPLES, [["a"]]), TypeMismatchError, "real numbers"),
        (Store(X[:-1]), InputError, "must pair up"),
        (Numbered(SAMPLES, None), TypeMismatchError, "real numbers"),
        (Store(X[:, :5]), InputError, "takes 19 inputs, got 5"),
    ],
)
def test_objects_that_give_no_samples(x, kind, said):
    with pytest.raises(kind, match=said):
        start(x, Y)


@pytest.mark.parametrize("array", [np.zeros((3, WIDTH), complex), np.array(1.0)])
def test_files_that_hold_no_samples(tmp_path, array):
    with pytest.raises((InputError, TypeMismatchError), match=r"data\[0\]"):
        start(mapped(tmp_path, "x", array), Y)


def test_refill_and_add_samples_take_them_and_an_edit_with_them_is_not_written(tmp_path):
    run, reference = start(X[:50], Y[:50]), start(X[:50], Y[:50])
    x = mapped(tmp_path, "x", X)
    for one, samples in ((run, x), (reference, X)):
        one.step(2)
        one.refill(samples, Y)
        one.step(3)
    assert bits(run) == bits(reference)
    assert isinstance(run.problem.data, Outside)
    with pytest.raises(InputError, match="must have 19 numbers"):
        run.refill(x[:, :4], Y)
    with pytest.raises(InputError, match="cannot be written"):
        write_edit(Refill(x, Y))
    run.undo()
    assert not isinstance(run.problem.data, Outside)
    run.step(1)


def test_arrays_of_others_are_copied_as_before():
    class Array:
        def __init__(self, array):
            self.array = array

        def __len__(self):
            return len(self.array)

        def __getitem__(self, wanted):
            raise AssertionError

        def __array__(self, dtype=None, copy=None):
            return self.array

    class OnDisk(Store):
        chunks = None

        def __array__(self, dtype=None, copy=None):
            raise AssertionError

    reference, run, store = start(X, Y), start(Array(X), Y), start(OnDisk(X), Y)
    for one in (reference, run, store):
        one.step(3)
    assert bits(run) == bits(reference) == bits(store)
    assert not isinstance(run.problem.data, Outside)
    assert isinstance(store.problem.data, Outside)
