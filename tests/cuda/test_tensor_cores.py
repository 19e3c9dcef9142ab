"""Stacks of layers in float16, whose kernel the machine of the tests executes: they train as the NumPy engine does.

Its products of fragments are those of the PTX ISA. Internals: how many blocks there are and what a thread carries from
tile to tile is set, so that a small batch has what a large one has.
"""

import re
from dataclasses import replace
from itertools import pairwise

import fake_driver as fake_driver_module
import numpy as np
import pytest
from ptx.machine import Module
from ptx.memory import Fault, Race

from kit.runs import far
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.calls import TILING
from scalarviz.engine.cuda.cores import stack as cores
from scalarviz.engine.cuda.cores.text import source_of
from scalarviz.engine.cuda.machine import Shape
from scalarviz.engine.cuda.source import update_source

pytestmark = pytest.mark.cuda
ADAM = lambda net: optim.Adam(net.parameters(), lr=1e-3)  # noqa: E731


def uv():
    widths, layers = (12, 64, 64, 64, 64), []
    for k, (inputs, outputs) in enumerate(pairwise(widths)):
        layers += [nn.Linear(inputs, outputs, seed=k), nn.LeakyReLU(0.01)]
    return nn.Sequential(*layers, nn.Linear(64, 3, seed=9), nn.Sigmoid())


def odd():
    """No multiples of 16, a layer without biases, one without an activation, a sum that the next layer reads."""
    first, second = nn.Linear(7, 33, seed=1), nn.Linear(33, 19, bias=False, seed=2)
    return nn.Sequential(first, nn.Tanh(), second, nn.Linear(19, 40, seed=3), nn.Softplus(), nn.Linear(40, 5, seed=4))


def run_of(make, engine, samples=40, inputs=12, outputs=3, optimizer=ADAM, scale=1.0, **options):
    random, net = np.random.default_rng(0), make()
    data = random.normal(size=(samples, inputs)), scale * random.random((samples, outputs))
    return Run(net, nn.MSELoss(), optimizer(net), data, engine=engine, dtype="float16", seed=3, **options)


def steps_of(run):
    return type(run._training.trainer._work.steps).__name__


def pair(make, steps, way="CoreSteps", call_seconds=0.05, **options):
    runs = [run_of(make, engine, **options) for engine in ("numpy", "cuda")]
    assert steps_of(runs[1]) == way
    for run in runs:
        run._training.call_seconds = call_seconds
        run.step(steps)
    return runs


def scale_of(run):
    """Scale, good steps in a row, skipped steps."""
    return run._loss_scale.numbers(run._problem).tolist()


def agree(runs, bound):
    ours, theirs = runs[1], runs[0]
    np.testing.assert_allclose(ours.history.loss, theirs.history.loss, rtol=bound)
    assert far(ours.values, theirs.values) <= bound
    assert scale_of(ours) == scale_of(theirs)


def test_twenty_steps_of_uv_are_those_of_numpy(fake_driver):
    runs = pair(uv, 20, call_seconds=100.0, samples=128, batch_size=None)
    agree(runs, 2e-3)
    assert far(runs[1].frame().update, runs[0].frame().update) <= 0.05
    assert fake_driver.calls["cuLaunchCooperativeKernel"] < 20, "a launch does several steps"


BLOCKS = {"blocks": (128, 96), "carried": (2, 96), "added": (2, 0)}
"""The most blocks, and the most numbers of gradients that a thread carries from tile to tile."""


@pytest.mark.parametrize("cut", BLOCKS)
def test_odd_sizes_and_picked_samples_are_those_of_numpy(cut, fake_driver, monkeypatch):
    most, carried = BLOCKS[cut]
    for name, number in (("MOST_BLOCKS", most), ("CARRIED", carried), ("SAMPLES", (32,))):
        monkeypatch.setattr(cores, name, number)
    rule = lambda net: optim.SGD(net.parameters(), lr=0.05, momentum=0.9)  # noqa: E731
    runs = pair(odd, 3, samples=211, inputs=7, outputs=5, optimizer=rule, batch_size=133)
    stack = cores.stack_of(runs[1]._problem)
    assert (stack.tiles, stack.working, stack.carried) == (5, min(5, most), cut == "carried")
    agree(runs, 1e-3)
    assert far(runs[1].frame().gradient, runs[0].frame().gradient) <= 2e-3
    for run in runs:
        run._training.trainer.gradient(7)
    assert far(runs[1]._problem.store.grad, runs[0]._problem.store.grad) <= 2e-3


def test_another_batch_needs_no_other_kernel():
    texts = set()
    for batch in (1000, 1024):
        with run_of(uv, "numpy", samples=1024, batch_size=batch) as run:
            problem = run._problem
            texts.add(source_of(cores.stack_of(problem), update_source(problem.update.body), len(problem.state)))
    assert len(texts) == 1


def small():
    return nn.Sequential(nn.Linear(3, 9, seed=1), nn.ReLU(), nn.Linear(9, 2, seed=2))


WAYS = {"CoreSteps": {}, "BlockSteps": {"cores": False}, "Steps": {"cores": False, "lanes": 0}}


@pytest.mark.parametrize("way", WAYS)
def test_a_step_that_overflows_is_skipped_as_by_numpy(way, fake_driver, monkeypatch):
    """The launch ends there; the steps that were queued behind it are done with the lower scale."""
    monkeypatch.setattr(trainer, "SHAPE", Shape(**WAYS[way]))
    options = {"inputs": 3, "outputs": 2, "scale": 3000.0, "batch_size": 25}
    runs = pair(small, 12, way, call_seconds=100.0, **options)
    agree(runs, 1e-3)
    _, _, skipped = scale_of(runs[0])
    assert skipped >= 2
    assert runs[1]._problem.t_start == runs[0]._problem.t_start == -skipped
    for ours, theirs in zip(runs[1]._problem.state, runs[0]._problem.state, strict=True):
        assert far(ours, theirs) <= 1e-3
    numbers = runs[1].frame().gradient
    assert np.isfinite(numbers).all()


def test_the_scale_grows_after_as_many_good_steps(fake_driver, monkeypatch):
    from scalarviz.run.core import optimizer

    monkeypatch.setattr(optimizer, "GOOD_STEPS", 4)
    runs = pair(small, 10, inputs=3, outputs=2, batch_size=None)
    agree(runs, 1e-3)
    assert scale_of(runs[1]) == [optimizer.FIRST_SCALE, 0, 2], "skipped twice, then doubled twice"


def test_with_a_fixed_scale_calls_stay_long(fake_driver, monkeypatch):
    from scalarviz.run.core import optimizer

    monkeypatch.setattr(optimizer, "GOOD_STEPS", 4)
    pair(small, 40, call_seconds=100.0, inputs=3, outputs=2, batch_size=None, loss_scale=256)
    assert fake_driver.calls["cuLaunchCooperativeKernel"] <= 6


def test_frozen_weights_stay_and_a_call_changes_no_bit(fake_driver):
    found = []
    for calls in ((6,), (1, 2, 3)):
        run = run_of(small, "cuda", inputs=3, outputs=2, batch_size=25)
        run.model[0].weight.frozen = True
        before = run.values.copy()
        for count in calls:
            run.step(count)
        found.append((run.values.tobytes(), run.history.loss.tobytes()))
        assert (run.values[:27] == before[:27]).all()
        assert (run.values[27:47] != before[27:47]).any()
    assert found[0] == found[1]


def test_a_gpu_with_few_multiprocessors_takes_another_way(install_fake_driver, monkeypatch):
    install_fake_driver()
    monkeypatch.setattr(fake_driver_module, "MULTIPROCESSORS", 1)
    run = run_of(small, "cuda", inputs=3, outputs=2)
    assert steps_of(run) != "CoreSteps"


def slopes():
    """Two slopes; the derivative of the first is not told by the result."""
    first, second = nn.Linear(3, 9, seed=1), nn.Linear(9, 12, seed=2)
    return nn.Sequential(first, nn.LeakyReLU(-0.5), second, nn.LeakyReLU(0.01), nn.Linear(12, 2, seed=3))


def test_each_layer_has_the_derivative_of_its_own_slope(fake_driver):
    runs = pair(slopes, 1, inputs=3, outputs=2, batch_size=None)
    assert scale_of(runs[0])[2] == 0
    assert far(runs[1].frame().gradient, runs[0].frame().gradient) <= 2e-3


def shared():
    first, second = nn.Linear(3, 5, seed=1), nn.Linear(5, 5, seed=2)
    second.bias = first.bias
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), nn.Linear(5, 2, seed=3))


def test_layers_that_share_parameters_take_another_way(fake_driver):
    agree(pair(shared, 2, "BlockSteps", inputs=3, outputs=2, batch_size=25), 1e-3)


class Long(optim.Optimizer):
    """An update of more rows than stay in registers."""

    def update(self, w, g, state, lr, t):
        for k in range(200):
            g = (g * (1.0 + 0.001 * k)).tanh()
        return w - lr * g, {}


def test_an_update_that_no_kernel_takes_as_a_whole_takes_another_way(fake_driver):
    rule = lambda net: Long(net.parameters(), lr=0.01)  # noqa: E731
    agree(pair(small, 2, "BlockSteps", inputs=3, outputs=2, optimizer=rule, batch_size=25), 1e-3)


# ---- wider layers, and convolutions: tensor cores multiply in the tiles


def wide():
    first, second = nn.Linear(20, 160, seed=1), nn.Linear(160, 72, seed=2)
    return nn.Sequential(first, nn.Tanh(), second, nn.LeakyReLU(0.01), nn.Linear(72, 5, seed=3))


def pictures():
    first, second = nn.Conv2d(1, 6, 3, padding=1, seed=1), nn.Conv2d(6, 20, 3, padding=1, seed=2)
    behind = nn.MaxPool2d(2), second, nn.ReLU(), nn.Flatten(), nn.Linear(320, 5, seed=3)
    return nn.Sequential(nn.Unflatten((1, 8, 8)), first, nn.ReLU(), *behind)


BOTH = {"tile_layer", "tile_back"}


@pytest.mark.parametrize(
    ("make", "inputs", "blocks", "kernels"),
    [(wide, 20, 1, BOTH), (wide, 20, 128, set()), (pictures, 64, 1, {"tile_back"})],
)
def test_tiles_of_halves_train_as_numpy(make, inputs, blocks, kernels, fake_driver, monkeypatch):
    """However large the tiles: few `blocks` make them large."""
    tiles = replace(TILING, blocks=blocks)
    monkeypatch.setattr(trainer, "SHAPE", Shape(lanes=0, tiles=tiles))
    rule = lambda net: optim.SGD(net.parameters(), lr=0.05)  # noqa: E731
    options = {"samples": 150, "inputs": inputs, "outputs": 5, "optimizer": rule, "batch_size": 131}
    runs = pair(make, 2, "Steps", **options)
    encoded = runs[1]._training.trainer._work.steps.body.encoded
    of_halves = {
        call.kernel.partition(":")[0]
        for call in (*encoded.forward, *encoded.backward)
        if call.tile and call.tile.halves
    }
    assert any(sums.tile.halves for sums in encoded.sums)
    assert of_halves == kernels
    agree(runs, 1e-3)
    for numbers in (lambda run: run.frame().gradient, lambda run: run.frame().update):
        assert far(numbers(runs[1]), numbers(runs[0])) <= 2e-3


# ---- threads and blocks meet where they must: without any one of the barriers the machine finds a race


class Changed:
    """Changes places of the PTX of the kernel, which is compiled once: those of the lines that a pattern finds."""

    def __init__(self, monkeypatch):
        self.monkeypatch, self.count = monkeypatch, 0
        for name, number in (("MOST_BLOCKS", 2), ("SAMPLES", (32,))):
            monkeypatch.setattr(cores, name, number)

    def run(self, pattern, place, instead=""):
        """Three steps of two blocks, one of which has two tiles."""

        def changed(text):
            if "mma.sync" not in text:
                return Module(text)
            found = list(re.finditer(pattern, text))
            self.count, places = len(found), place if isinstance(place, slice) else slice(place, place + 1)
            for one in found[places][::-1]:
                text = text[: one.start()] + one.expand(instead) + text[one.end() :]
            return Module(text)

        self.monkeypatch.setattr(fake_driver_module, "module_of", changed)
        run_of(small, "cuda", samples=70, inputs=3, outputs=2, batch_size=None).step(3)


@pytest.fixture
def changed(fake_driver, monkeypatch):
    return Changed(monkeypatch)


BARRIERS, OF_BLOCK, OF_GRID = (
    38,
    r"bar\.sync\s+0;|barrier\.sync\s+0;",
    r"ld\.acquire\.gpu\.global\.u32 (%r\d+), \[%rd\d+\];",
)


SPARE = {15, 27}
"""Since the barrier before these only one thread has written, and it is the one that goes to the grid's barrier."""


@pytest.mark.parametrize("place", sorted({*range(BARRIERS)} - SPARE))
def test_without_a_barrier_of_a_block_there_is_a_race(place, changed):
    with pytest.raises(Race):
        changed.run(OF_BLOCK, place)
    assert changed.count == BARRIERS


@pytest.mark.parametrize("place", range(3))
def test_without_waiting_for_the_other_blocks_there_is_a_race(place, changed):
    """Each barrier of the grid has two places that look who has come."""
    with pytest.raises(Race):
        changed.run(OF_GRID, slice(2 * place, 2 * place + 2), r"mov.u32 \1, -1;")
    assert changed.count == 6


def test_blocks_that_wait_for_one_that_never_comes_are_told(changed):
    with pytest.raises(Fault, match="never come"):
        changed.run(r"atom\.acq_rel\.gpu\.global\.add\.u32 (%r\d+), \[%rd\d+\], 1;", 0, r"mov.u32 \1, 0;")
