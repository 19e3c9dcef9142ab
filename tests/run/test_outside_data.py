"""Data that is not ours: files mapped into memory and objects that are asked give the bits of memory."""

import os
import warnings
from itertools import count

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from kit.runs import bits
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.frames import sample

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


CASES = [{"engine": "objects", "batch": 7, "kind": ">f8"}, {"sampling": "replacement", "kind": ">i4", "threads": 2},
         {"width": WIDE, "batch": 200, "dtype": "float64", "sampling": "replacement", "engine": "numba"},
         {"classes": True, "kind": "<f2", "batch": 1}, {"kind": "?", "batch": SAMPLES}]  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("options", CASES)
def test_the_bits_are_those_from_memory(options, tmp_path):
    """Steps, going back, edits, other batches: the same bits. Of wide samples few are read ahead."""
    options = {"engine": "numpy", "width": WIDTH, "kind": "<u1", "classes": False} | options
    kind, classes = options.pop("kind"), options.pop("classes")
    x, y = (X % 2 if kind == "?" else X).astype(kind), CLASSES if classes else Y
    x = np.tile(x, -(-options["width"] // WIDTH))[:, : options["width"]]
    options["loss"] = nn.CrossEntropyLoss(weight=[0.5, 1.0, 2.0]) if classes else None
    runs = [start(x, y, **options), start(mapped(tmp_path, x), mapped(tmp_path, y), **options)]
    runs.append(start(Store(x), y, **options))
    for run in runs:
        for n in (1, 12, 18):
            run.step(n)
    same_bits(runs)
    assert len({run.engine.why for run in runs[:2]}) == 1
    for step in (7, 20):
        for run in runs:
            run.to(step)
        same_bits(runs)
    for run, few in zip(runs, (x[:2], mapped(tmp_path, x[:2]), x[:2]), strict=True):
        run.add_samples(few, y[:2])
        run.batch_size = 3
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
        np.testing.assert_array_equal(np.hstack(sample(run, 299)), np.hstack(sample(runs[0], 299)))
        np.testing.assert_array_equal(run.open().gradient, runs[0].open().gradient)
        np.testing.assert_array_equal(run.open(sample=7).gradient, runs[0].open(sample=7).gradient)


def test_samples_are_asked_for_seldom_and_in_order_and_nothing_else_is_read():
    class OnDisk(Store):
        chunks = None

        def __array__(self, dtype=None, copy=None):
            raise AssertionError

    stores = [Store(X), OnDisk(X)]
    runs = [start(X, Y), *(start(store, Y) for store in stores)]
    for run in runs:
        run.step(40)
        run.change(activation="relu", optimizer="sgd", lr=0.01)
        run.step(3)
    same_bits(runs)
    for store in stores:
        asked = [wanted for wanted in store.asked if isinstance(wanted, np.ndarray)]
        assert asked
        assert all((np.diff(wanted) > 0).all() for wanted in asked)
        assert len(store.asked) < 40  # not every step, not every sample


def test_a_number_that_is_none_ends_it_at_the_last_good_step(tmp_path):
    x = X.astype(np.float32)
    x[290, 4] = np.nan
    for samples in (mapped(tmp_path, x), Store(x)):
        run, good = start(samples, Y), start(X.astype(np.float32), Y)
        for _ in range(2):
            with pytest.raises(InputError, match=r"sample 290, column 4.* nan"):
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


def test_nobody_reads_behind_the_end_of_a_shortened_file(tmp_path):
    run = start(X, Y, "numpy")
    x, y = mapped(tmp_path, X), mapped(tmp_path, Y)
    for array in (x, y):
        os.truncate(array.filename, 100)
    x, y = x[::-2], np.asarray(y)
    for call in (
        lambda: run.predict(x), lambda: run.evaluate(x, y[::-2]), lambda: run.set_targets(y),
        lambda: run.set_weights(0, y[0]), lambda: nn.Parameter(y),
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
    assert "keeps reading" in run.engine.why


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
            assert frame.values.tobytes() == then[step]
            assert not any(part.any() for part in (frame.computed, frame.gradient, frame.update))
    assert "changed" in str(told[0].message)
    assert "changed" in run.engine.why
    assert all("to the stored step" in line for line in said)
    assert reached
    assert said


def raising(found):
    raise OSError("the disk is gone")


LATER = [(raising, InputError, "OSError: the disk is gone"), (lambda found: found[:-1], InputError, "shape"),
         (lambda found: "text", TypeMismatchError, "real numbers")]  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "said"), LATER)
def test_an_object_that_fails_later(answer, kind, said):
    run, reference = start(Store(X, answer, 3), Y), start(X, Y)
    with pytest.raises(kind, match=said):
        for _ in range(300):
            run.step(30)
    reference.step(run.steps)
    assert run.values.tobytes() == reference.values.tobytes()


ROWS = {
    "none": (lambda _: start(Store(X[:0]), Y), InputError, "at least one"),
    "texts": (lambda _: start(Store(X, lambda found: [["a"]]), Y), TypeMismatchError, "real numbers"),
    "numbers": (lambda _: start(Store(X, lambda found: 3.0), Y), InputError, "shape"),
    "too few": (lambda _: start(Store(X[:-1]), Y), InputError, 299, 300),
    "narrow": (lambda _: start(Store(X[:, :5]), Y), InputError, 19, 5),
    "written": (lambda f: edits.write_edit(edits.Refill(mapped(f, X), Y)), InputError, "cannot be written"),
    "file of one": (lambda f: start(mapped(f, np.array(1.0)), Y), InputError, "data[0]"),
}  # fmt: skip


@refusals(ROWS)
def test_refused(refusal, tmp_path):
    refusal.check(tmp_path)


# ---- what PyTorch's loops train from


def torch_data(torch):
    """Samples, their classes, and a Dataset of them that knows no end."""
    x, y = torch.tensor(X[:40].astype(np.float32)), torch.tensor(CLASSES[:40])

    class Own(torch.utils.data.Dataset):
        def __len__(self):
            return len(x)

        def __getitem__(self, i):
            return x[i % 40].numpy(), int(y[i % 40])

    return x, y, Own()


def trained(data, **options):
    net = nn.MLP(WIDTH, [4, 3], seed=1)
    with sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), 1e-3), data, engine="numpy", **options) as run:
        run.step(5)
        return run.values.tobytes()


def test_pytorchs_data_sets_and_loaders_are_the_same_arrays(torch):
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Subset, TensorDataset

    x, y, own = torch_data(torch)
    for data in (
        TensorDataset(x.clone().requires_grad_(), y),
        own,
        DataLoader(own, batch_size=64),
        Subset(own, range(40)),
    ):
        assert trained(data) == trained((x.detach(), y))
    eight = trained((x.detach(), y), batch_size=8)
    assert trained(DataLoader(own, batch_size=8, shuffle=True)) == eight != trained(own)
    assert trained(DataLoader(own, batch_size=3), batch_size=8) == eight
    assert trained(DataLoader([own[k] for k in range(len(own))], batch_size=8)) == eight
    assert trained(DataLoader(own, batch_sampler=BatchSampler(RandomSampler(own), 8, drop_last=False))) == eight


def test_data_of_pytorch_that_is_no_pair_of_arrays_is_refused(torch):
    import torch.utils.data as kinds

    x, y, own = torch_data(torch)

    class Stream(kinds.IterableDataset):
        def __iter__(self):
            return iter(own)

    for data, said in (
        (kinds.TensorDataset(x), "TensorDataset.*pair"), (Stream(), "Stream.*no length"),
        (kinds.DataLoader(own, collate_fn=list), "collate_fn"), (kinds.DataLoader(own, batch_size=None), "sampler"),
        (kinds.DataLoader(own, sampler=kinds.WeightedRandomSampler([1.0] * 40, 40)), "loader.dataset"),
        (kinds.DataLoader(own, sampler=kinds.RandomSampler(own, replacement=True)), "sampler"),
        (kinds.DataLoader(own, sampler=kinds.RandomSampler(own, num_samples=5)), "sampler"),
        (kinds.DataLoader(Stream()), "Stream.*no length"),
        (kinds.Subset(kinds.StackDataset(a=x, b=y), [0]), "pair.*dict"),
        (kinds.StackDataset([x[0], x[1, :2]], [0, 1]), "one shape"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            trained(data)
