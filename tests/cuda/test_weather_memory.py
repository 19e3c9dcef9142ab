"""A GPU whose memory is short: cut finer, data by call, then an error with numbers; and all of it comes back."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from weather_runs import X, Y, left, make, near, numbers, same

from scalarviz import Run, nn, optim
from scalarviz.errors import DeviceMemoryError
from scalarviz.run.rehearsal import rehearse
from scalarviz.run.worker import Worker

pytestmark = pytest.mark.cuda

RNG = np.random.default_rng(1)
WIDE = RNG.normal(size=(3000, 20)), RNG.random((3000, 2))
HIDDEN = 16
FOLDER = Path(__file__).parent


def wide(engine="cuda", data=WIDE, **options):
    """A run with data of half a megabyte and a few hundred weights."""
    net = nn.Sequential(nn.Linear(20, HIDDEN, seed=1), nn.Tanh(), nn.Linear(HIDDEN, 2, seed=2))
    chosen = {"batch_size": 64, "seed": 5, "dtype": "float64", **options}
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data, engine=engine, **chosen)


def needs(resident=True, finer=1, **options):
    """Bytes of :func:`wide`, by category."""
    from scalarviz.engine.cuda.room import need
    from scalarviz.engine.cuda.trainer import SHAPE
    from scalarviz.engine.cuda.work import cut

    return need(wide("numpy", **options).problem, cut(SHAPE, finer, resident))


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """Calls of three steps: what a thousand of them take would hide the rest. Blocks of lanes need hardly anything."""
    from scalarviz.engine.cuda import trainer

    shape = replace(trainer.SHAPE, lanes=0, steps=3, loss_slices=32, stream_bytes=3 * 22 * 64 * 8)
    monkeypatch.setattr(trainer, "SHAPE", shape)


@pytest.fixture
def device_of(install_fake_driver):
    """A device with so much memory."""

    def made(nbytes):
        return install_fake_driver(memory=nbytes)

    return made


# ---- short


def test_what_is_counted_is_what_is_asked_for(device_of):
    fake = device_of(1 << 28)
    run = wide()
    asked = sum(region.size for region in fake.devices[0].memory.regions.values())
    needed, problem = needs(), run.problem
    assert asked == sum(needed)
    assert needed.state == 2 * problem.store.value.nbytes
    assert needed.data > problem.data.nbytes
    assert needed.weights >= 3 * problem.store.value.nbytes


def test_first_it_is_cut_finer(device_of):
    reference = wide("numba")
    reference.step(3)
    fake = device_of(sum(needs(finer=8)) + 4096)
    run = wide()
    run.step(3)
    assert near(numbers(run), numbers(reference), 1e-9)
    assert run.engine.why == ("asked for; the GPU's memory is short: work that is cut finer, which changes bits")
    assert fake.live["streams"] == 2


def test_then_the_data_comes_in_call_by_call(device_of):
    reference = wide("numba")
    reference.step(7)
    device_of(sum(needs(resident=False)) + 4096)
    run = wide()
    run.step(7)
    assert near(numbers(run), numbers(reference), 1e-9)
    assert run.engine.why == "asked for; the GPU's memory is short: data that comes in call by call"
    assert run._training.trainer._work.steps.samples.steps == 3


def test_more_data_than_the_device_has_is_not_tried(device_of):
    fake = device_of(WIDE[0].nbytes)
    run = wide()
    assert run.engine.why.endswith("data that comes in call by call")
    asked = fake.calls["cuMemAlloc"]
    assert asked == fake.live["allocations"]  # none of them was refused


def test_then_the_sizes_are_said_and_a_batch_that_fits(device_of):
    small = sum(needs(resident=False, finer=512, batch_size=250))
    large = sum(needs(resident=False, finer=512, batch_size=500))
    fake = device_of((small + large) // 2)
    with pytest.raises(DeviceMemoryError) as said:
        wide(batch_size=2000)
    text = str(said.value)
    assert text.startswith("the run does not fit into the GPU's memory: it needs at least ")
    for words in ("weights and gradients ", "the optimiser's state ", "rows of the samples", "data of a call", " free"):
        assert words in text
    assert 'A smaller batch fits: batch_size=250, or engine="numba"' in text
    assert "bytes were asked for" in text
    assert fake.live["allocations"] == 0
    run = wide(batch_size=250)  # what is said is so
    run.step(1)


def test_a_model_that_does_not_fit_with_one_sample_names_its_largest_layer(device_of):
    device_of(20_000)
    with pytest.raises(DeviceMemoryError, match=r"Not even a batch of one sample fits: the largest layer has 16 x 20"):
        wide()


def test_sizes_are_readable():
    from scalarviz.engine.cuda.room import size

    assert [size(n) for n in (0, 999, 1000, 1_234_567, 80_000_000_000)] == [
        "0 bytes", "999 bytes", "1 kB", "1.23 MB", "80 GB",
    ]  # fmt: skip


def test_nothing_stays_behind_and_numba_or_a_smaller_run_works(device_of):
    fake = device_of(40_000)
    with pytest.raises(DeviceMemoryError):
        wide(batch_size=2000)
    assert left(fake) == {}
    make().step(1)
    reference = wide("numba")
    reference.step(1)
    run = wide("numba")
    run.step(1)
    assert same(numbers(run), numbers(reference))


def test_a_run_that_was_to_change_keeps_its_engine(device_of):
    fake = device_of(40_000)
    run, reference = wide("numba", batch_size=2000), wide("numba", batch_size=2000)
    for each in (run, reference):
        each.step(2)
    with pytest.raises(DeviceMemoryError, match="does not fit"):
        run.change(engine="cuda")
    assert (run.engine.name, run.engine.why, run.log) == ("numba", "asked for", [])
    assert left(fake) == {}
    run.step(2)
    reference.step(2)
    assert same(numbers(run), numbers(reference))


def test_an_edit_that_does_not_fit_leaves_a_run_that_goes_on(device_of):
    whole = sum(needs(resident=False, finer=512, batch_size=500))
    device_of(whole + 4096)
    run, reference = wide(), wide("numba")
    run.step(1)
    reference.step(1)
    with pytest.raises(DeviceMemoryError, match="A smaller batch fits"):
        run.change(batch_size=3000)
    assert (run.batch_size, run.engine.name) == (64, "cuda")
    run.step(2)
    reference.step(2)
    assert near(numbers(run), numbers(reference), 1e-9)


def test_a_new_trainer_has_the_memory_of_the_old_one(device_of):
    """A batch of another size, and the data does not become data by call because the old trainer still held it."""
    device_of(int(1.5 * sum(needs())))
    run = wide()
    run.step(1)
    run.change(batch_size=32)
    run.step(1)
    assert run.engine.why == "asked for"


def test_no_room_to_read_numbers_in_the_middle_of_a_call(device_of):
    fake = device_of(1 << 24)
    reference, run = wide(), wide()
    reference.step(4)
    run.step(1)
    run._training.watch(object)  # somebody asks, again and again
    fake.fail("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY")
    run.step(3)
    assert same(numbers(run), numbers(reference))


def test_no_memory_for_a_rehearsal(device_of):
    device_of(int(1.5 * sum(needs(resident=False, finer=512))))
    run = wide()
    run.step(1)
    assert rehearse(run, 3) is None
    run.step(1)


def test_measuring_where_two_do_not_fit(device_of):
    device_of(sum(needs(resident=False, finer=512)) + 2000)
    reference, run = wide("numba"), wide()
    for each in (run, reference):
        each.step(1)
    assert run.full_speed > 0
    for each in (run, reference):
        each.step(2)
    assert near(numbers(run), numbers(reference), 1e-9)


# ---- given back


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


def test_closing_a_run_frees_all_that_it_had(fake):
    run = make()
    run.step(3)
    assert left(fake)["allocations"] > 10
    run.close()
    assert left(fake) == {}
    assert run.frame().step == 3  # the past can still be looked at
    assert (fake.live["contexts"], run.engine.name) == (1, "cuda")


def test_collecting_a_run_frees_it_without_the_collector(fake):
    gc.collect()
    gc.disable()
    try:
        run = make()
        run.step(3)
        run.frame()
        del run
        assert not any(fake.live[kind] for kind in ("allocations", "streams", "graphs", "events", "registrations"))
    finally:
        gc.enable()


def test_a_run_that_takes_over_the_weights_frees_the_first(fake):
    first = make()
    first.step(2)
    held = left(fake)
    second = Run(first.model, nn.MSELoss(), first.optimizer, (X, Y), engine="cuda", batch_size=16, dtype="float64")
    second.step(2)
    assert left(fake) == held
    second.close()
    assert left(fake) == {}


def test_another_engine_frees_it(fake):
    run = make()
    run.step(2)
    run.change(engine="numpy")
    assert left(fake) == {}
    run.change(engine="cuda:1")
    run.step(1)
    assert [device.memory.used > 0 for device in fake.devices] == [False, True]


def test_a_hundred_runs_in_a_loop(fake):
    for k in range(100):
        run = make(seed=k)
        if k % 10 == 0:
            run.step(2)
        if k % 3 == 0:
            run.close()
    del run
    assert left(fake) == {}


def test_registered_memory_has_its_pages_for_itself(fake):
    from mmap import PAGESIZE

    from scalarviz.engine.cuda.driver import DriverDevice

    device = DriverDevice(0)
    arrays = [device.pinned(size, dtype) for size, dtype in ((3, np.float32), (5000, np.float64), (1, np.float64))]
    assert [(a.size, a.dtype, a.any()) for a in arrays] == [
        (3, np.float32, False), (5000, np.float64, False), (1, np.float64, False),
    ]  # fmt: skip
    for address, nbytes in fake._registered.items():
        assert address % PAGESIZE == nbytes % PAGESIZE == 0
    assert {a.ctypes.data for a in arrays} == set(fake._registered)
    assert device.pinned(0, np.float64).size == 0
    part = arrays[1][10:20]
    del arrays
    assert left(fake)["registrations"] == 1  # somebody still looks at a part of it
    del part
    assert "registrations" not in left(fake)


def test_where_nothing_may_be_registered_copies_are_slower_and_right(fake):
    reference = make()
    reference.step(3)
    fake.fail("cuMemHostRegister", "CUDA_ERROR_OUT_OF_MEMORY", 0, 1000)
    run = make()
    run.step(3)
    assert same(numbers(run), numbers(reference))


def test_a_worker_that_is_closed_leaves_what_the_run_had(fake):
    run = make()
    run.step(1)
    with Worker(run) as worker:
        worker.train_to(9)
        worker.request().result(20)
        worker.settle()
    run.close()
    del worker
    assert left(fake) == {}


def test_a_run_that_dies_in_another_thread(fake):
    run = [make()]
    run[0].step(2)
    thread = threading.Thread(target=run.clear)
    thread.start()
    thread.join()
    assert left(fake) == {}


AT_EXIT = """
import sys
sys.path.insert(0, {folder!r})
import cuda.bindings
from fake_driver import FakeDriver
from scalarviz.engine.cuda import context
from scalarviz.engine.cuda.kept import files
from scalarviz.engine.cache.place import Place
from conftest import key_of_tests
files.PLACE = Place(key_of_tests, "cuda-tests-")
context.api = cuda.bindings.driver = fake = FakeDriver()
from weather_runs import make
runs = [make(), make()]
for run in runs:
    run.step(2)
runs.append(runs)  # garbage that is only found at the very end
"""


def test_the_program_ends_with_runs_alive_and_prints_nothing():
    code = AT_EXIT.format(folder=str(FOLDER))
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
