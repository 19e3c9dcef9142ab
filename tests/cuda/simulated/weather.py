"""A device that fails at any moment, or has little memory; Ctrl-C in a call; numbers that are none."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from dataclasses import replace

import numpy as np
import pytest
import test_engine_change as change

from scalarviz import Run, nn, optim
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.room import need
from scalarviz.engine.cuda.simulator import SimulatedDevice
from scalarviz.engine.cuda.work import cut
from scalarviz.engine.data import Data
from scalarviz.errors import DeviceError, DeviceLostError, DeviceMemoryError, DivergedError

FORMS = ("joined",)
RNG = np.random.default_rng(4)
X, Y = RNG.uniform(-1, 1, (11, 3)), RNG.uniform(0, 1, (11, 2))


class Faulty(SimulatedDevice):
    """Calls `hook` before everything that is asked of it, and has `limit` bytes.

    Attributes
    ----------
    used : dict
        Bytes that are held, by allocation.
    """

    def __init__(self, number=0, limit=1 << 40):
        super().__init__(number)
        self.hook, self.limit, self.used = lambda what: None, limit, {}

    def memory(self):
        return self.limit - sum(self.used.values()), self.limit

    def empty(self, size, dtype):
        self.hook("empty")
        nbytes = size * np.dtype(dtype).itemsize
        if nbytes > self.memory()[0]:
            raise DeviceMemoryError(f"{nbytes:,} bytes were asked for")
        buffer = super().empty(size, dtype)
        key = id(buffer.memory)
        self.used[key] = nbytes
        weakref.finalize(buffer.memory, self.used.pop, key)
        return buffer

    def upload(self, to, array):
        self.hook("upload")
        super().upload(to, array)

    def download(self, source, array):
        self.hook("download")
        super().download(source, array)

    def wait(self):
        self.hook("wait")

    def record(self, launches):
        return Hooked(self, super().record(launches))


class Hooked:
    """Launches, one by one."""

    def __init__(self, device, loop):
        self.device, self.loop = device, loop

    def run(self, times=1):
        for _ in range(times):
            for launch in self.loop.launches:
                self.device.hook("launch")
                launch()


@pytest.fixture
def device(monkeypatch):
    """What every run of the test gets."""
    found = Faulty()
    monkeypatch.setattr(trainer, "open_device", lambda number: found)
    return found


def make(engine="cuda", data=(X, Y), lr=0.01, kind=optim.Adam, **options):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Tanh(), nn.Linear(3, 2, seed=2))
    chosen = {"batch_size": 4, "seed": 3, "dtype": "float64", **options}
    return Run(net, nn.MSELoss(), kind(net.parameters(), lr=lr), data, engine=engine, **chosen)


def in_one_call(run, steps):
    """Let the next call be of so many steps."""
    run._training._seconds_a_step, run._training._timed = 1e-9, steps


def bits(run):
    return tuple(np.array(array).tobytes() for array in change.state_of(run))


def counting(device):
    """The names of all that is asked of the device from now on."""
    asked = []
    device.hook = asked.append
    return asked


def failing(device, at, error):
    """The operation of that number raises, and so does every one after it if the device is lost."""
    asked = []

    def hook(what):
        asked.append(what)
        if len(asked) - 1 == at or (len(asked) > at and isinstance(error, DeviceLostError)):
            raise error

    device.hook = hook


# ---- it breaks off


def operations_of_a_call(device):
    run = make()
    run.step(2)
    asked = counting(device)
    in_one_call(run, 3)
    run.step(3)
    assert set(asked) == {"upload", "launch", "wait", "download"}
    return len(asked)


def test_a_device_that_is_lost_at_any_moment_of_a_call(device):
    """The numbers are those of the call before, and numba does this one."""
    count = operations_of_a_call(device)
    device.hook = lambda what: None
    reference = make()
    reference.step(2)
    reference.adopt_engine("numba")
    reference.step(3)
    for at in range(count):
        device.hook = lambda what: None
        run = make()
        run.step(2)
        in_one_call(run, 3)
        failing(device, at, DeviceLostError("the GPU broke off"))
        with pytest.warns(RuntimeWarning, match="numba goes on with the training: cuda computed 2 steps before"):
            run.step(3)
        assert bits(run) == bits(reference), at
        assert (run.engine.name, run.engine.since, run.steps) == ("numba", 2, 5)


def test_an_error_at_any_moment_of_a_call_leaves_the_numbers_and_the_next_call_is_whole(device):
    count = operations_of_a_call(device)
    device.hook = lambda what: None
    reference = make()
    reference.step(2)
    before = bits(reference)
    reference.step(3)
    for at in range(count):
        device.hook = lambda what: None
        run = make()
        run.step(2)
        in_one_call(run, 3)
        failing(device, at, DeviceError("something else"))
        with pytest.raises(DeviceError, match="something else"):
            run.step(3)
        assert bits(run) == before, at
        run.step(3)
        assert bits(run) == bits(reference), at
        assert run.engine.name == "cuda"


def test_a_gradient_that_fails_leaves_the_one_before(device):
    run = make()
    run.step(2)
    before = bits(run)
    asked = counting(device)
    run._training.trainer.gradient(2)
    count, found = len(asked), run.problem.store.grad.copy()
    run.problem.store.grad[:] = np.frombuffer(before[1])
    for at in range(count):
        failing(device, at, DeviceError("something else"))
        with pytest.raises(DeviceError):
            run._training.trainer.gradient(2)
        assert bits(run) == before, at
    run._training.trainer.gradient(2)
    np.testing.assert_array_equal(run.problem.store.grad, found)


# ---- memory


def needs(finer=1, resident=True, **options):
    return sum(need(make("numpy", **options).problem, cut(trainer.SHAPE, finer, resident)))


@pytest.mark.parametrize(
    ("finer", "resident", "says"),
    [
        (1, True, ""),
        (8, True, "work that is cut finer, which changes bits"),
        (1, False, "data that comes in call by call"),
    ],
)
def test_as_much_as_fits(device, monkeypatch, finer, resident, says):
    data = RNG.uniform(-1, 1, (900, 3)), RNG.uniform(0, 1, (900, 2))
    reference = make("objects", data)
    reference.step(4)
    device.limit = needs(finer, resident, data=data)
    run = make(data=data)
    run.step(4)
    change.assert_near(run, reference, 1e-11)
    assert run.engine.why.startswith("asked for; ")
    assert ("the GPU's memory is short" in run.engine.why) == bool(says)
    assert says in run.engine.why
    run.close()
    gc.collect()
    assert device.memory() == (device.limit, device.limit)


def test_what_does_not_fit_is_refused_with_a_batch_that_does(device, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, chunk_bytes=1 << 20, stream_bytes=1, steps=1))
    data = RNG.uniform(-1, 1, (900, 3)), RNG.uniform(0, 1, (900, 2))
    device.limit = needs(512, False, data=data, batch_size=112)
    run = make("numba", data, batch_size=900)
    with pytest.raises(DeviceMemoryError, match=r'A smaller batch fits: batch_size=112, or engine="numba"'):
        run.change(engine="cuda")
    assert (run.engine.name, device.used) == ("numba", {})
    run.change(batch_size=112)
    run.change(engine="cuda")
    run.step(1)
    device.limit = 100
    with pytest.raises(DeviceMemoryError, match="Not even a batch of one sample fits: the largest layer has 3 x 3 wei"):
        make()


def refusing(at):
    """From the allocation of that number on there is no memory."""
    asked = []

    def hook(what):
        asked.append(what)
        if what == "empty" and asked.count("empty") > at:
            raise DeviceMemoryError("no memory")

    return hook


def test_every_allocation_that_fails_leaves_nothing(device):
    asked = counting(device)
    make("cuda").close()
    count = asked.count("empty")
    for at in range(count):
        device.hook = refusing(at)
        with pytest.raises(DeviceMemoryError, match="does not fit"):
            make()
        assert device.used == {}, at
    device.hook = lambda what: None
    make().step(1)


def test_a_hundred_runs(device):
    gc.disable()
    try:
        for k in range(100):
            run = make(seed=k)
            if k % 25 == 0:
                run.step(1)
        assert device.used
        del run
        assert device.used == {}
    finally:
        gc.enable()


# ---- Ctrl-C


def interrupt_at(device, what, after=0):
    left = [after]

    def hook(asked):
        left[0] -= asked == what
        if asked == what and left[0] == -1:
            os.kill(os.getpid(), signal.SIGINT)

    device.hook = hook


@pytest.mark.parametrize("what", ["upload", "launch", "wait", "download"])
@pytest.mark.parametrize("after", [0, 1])
def test_ctrl_c_in_a_call_leaves_the_numbers_of_a_whole_step(device, what, after):
    run = make()
    run.step(2)
    in_one_call(run, 3)
    interrupt_at(device, what, after)
    with pytest.raises(KeyboardInterrupt):
        run.step(1000)
    device.hook = lambda asked: None
    assert run.steps == 2 + 8 * 3, "the call was ended, and no other one begun"
    reference = make()
    reference.step(run.steps)
    assert bits(run) == bits(reference)
    run.step(1)
    reference.step(1)
    assert bits(run) == bits(reference)


def test_calls_are_as_short_as_was_asked_for_however_many_steps_there_are(device):
    """So Ctrl-C is answered soon: thousands of steps are queued only where they take no longer."""
    run, calls = make(), []
    train = run._training.trainer.train
    run._training.trainer.train = lambda first, count, lr: calls.append(count) or train(first, count, lr)
    run.step(1)
    run.call_seconds = 0.05
    done = []
    run.step(100_000, progress=lambda run: done.append(run.steps) or len(done) < 4)
    assert max(calls) <= 8 * sum(calls[:-1])
    assert run.steps < 5000


# ---- numbers that are none


def ends(run, steps):
    with pytest.raises(DivergedError) as said:
        run.step(steps)
    return str(said.value), run.steps


@pytest.mark.parametrize("one_call", [False, True])
@pytest.mark.parametrize("lr", [1e3, 1e30, 1e300])
def test_a_run_diverges_at_the_step_and_with_the_words_of_numba(device, lr, one_call):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine, lr=lr, kind=optim.SGD)
        if one_call:
            in_one_call(run, 500)
        found[engine] = ends(run, 500)
        assert run.history.step[-1] == run.steps
        assert not (np.isfinite(run.history.loss[-1]) and np.isfinite(run.problem.store.value).all())
    assert found["cuda"] == found["numba"]


def test_a_weight_that_is_no_number(device):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine)
        run.step(2)
        run.set_weights(4, [np.nan])
        found[engine] = ends(run, 3)
        np.testing.assert_array_equal(np.isnan(run.problem.store.value), True)
    assert found["cuda"] == found["numba"]
    assert "was nan before it" in found["cuda"][0]


def test_a_number_of_the_data_that_is_none(device):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine)
        run.step(1)
        numbers = run.problem.data[:].copy()
        numbers[1, 7] = np.nan
        run.problem.data = Data(numbers.dtype, numbers)
        found[engine] = ends(run, 10)
    assert found["cuda"] == found["numba"]
