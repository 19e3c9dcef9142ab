"""Which problems are computed in blocks of lanes: by their sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda.block import form, tiles
from scalarviz.engine.cuda.encode import encode
from scalarviz.engine.cuda.machine import Shape


def mlp(*sizes):
    layers = [(nn.Linear(n, m, seed=1), nn.Tanh()) for n, m in pairwise(sizes)]
    return nn.Sequential(*(part for pair in layers for part in pair))


def plan_of(net, inputs, parameters=None):
    outputs = len(net([0.1] * inputs))
    weights = net.parameters() if parameters is None else parameters
    data = np.zeros((2, inputs)), np.zeros((2, outputs))
    with Run(net, nn.MSELoss(), optim.SGD(weights, lr=0.1), data, engine="numpy") as run:
        return run.problem.plan


def form_of(net, inputs, batch, itemsize=4, **options):
    return form.form_of(plan_of(net, inputs), batch, itemsize, Shape(**options))


def test_a_batch_of_many_blocks_has_its_weights_in_shared_memory():
    found = form_of(mlp(12, 64, 64, 64, 64, 3), 12, 1024)
    assert (found.lanes, found.blocks, found.tiles, found.alone) == (8, 128, True, False)
    assert 85_000 < found.shared <= 96 << 10


@pytest.mark.parametrize(
    ("sizes", "batch", "itemsize", "why"),
    [
        ((12, 64, 64, 64, 64, 3), 1024, 8, "weights in float64 do not fit"),
        ((12, 64, 64, 64, 64, 3), 65536, 4, "too many blocks would write gradients"),
        ((12, 64, 64, 64, 64, 3), 2049, 4, "one too many"),
        ((784, 128, 10), 64, 4, "weights do not fit"),
        ((4000, 1), 4, 4, "rows do not fit"),
    ],
)
def test_what_does_not_fit_is_computed_otherwise(sizes, batch, itemsize, why):
    assert form_of(mlp(*sizes), sizes[0], batch, itemsize) is None, why


@pytest.mark.parametrize(("batch", "lanes"), [(1, 4), (4, 4), (5, 8), (16, 16), (32, 32)])
def test_a_small_net_does_whole_steps_in_one_block(batch, lanes):
    found = form_of(mlp(3, 16, 16, 3), 3, batch)
    assert (found.lanes, found.blocks, found.alone) == (lanes, 1, True)
    assert found.threads % lanes == 0


def test_many_parameters_or_lanes_are_no_work_for_one_block():
    assert form_of(mlp(3, 16, 16, 3), 3, 33).alone is False
    assert form_of(mlp(12, 64, 64, 64, 64, 3), 12, 4).alone is False
    assert form_of(mlp(3, 36, 36, 3), 3, 32).alone is True
    assert form_of(mlp(3, 42, 42, 3), 3, 32).alone is False


def test_without_lanes_there_are_no_blocks():
    assert form_of(mlp(3, 16, 3), 3, 4, lanes=0) is None


def test_a_weight_in_hundreds_of_places_is_one_threads_work():
    w = sv.Weight(0.5)

    def net(x, count):
        total = x[0]
        for _ in range(count):
            total = (w * total).tanh()
        return [total]

    few = plan_of(lambda x: net(x, 1000), 1, [w])
    many = plan_of(lambda x: net(x, 1030), 1, [w])
    assert form.form_of(few, 4, 4, Shape()) is not None
    assert form.form_of(many, 4, 4, Shape()) is None


@pytest.mark.parametrize("itemsize", [4, 8])
def test_what_is_in_shared_memory_begins_at_fours(itemsize):
    for batch in (1, 2, 3, 7, 20, 100):
        found = form_of(mlp(3, 5, 2), 3, batch, itemsize)
        assert all(place % (4 * itemsize) == 0 for place in (found.rows_at, found.prologue_at, found.weights_at))


def test_rows_of_weights_lie_in_different_banks():
    """Threads that read four numbers of eight neighbouring rows at once read all 32 banks."""
    for n in range(1, 70):
        width = tiles.row_width(n)
        assert width >= n
        banks = {(row * width + k) % 32 for row in range(8) for k in range(4)}
        assert len(banks) == 32


def test_every_weight_of_a_layer_comes_to_its_place():
    program = plan_of(mlp(5, 8, 8, 3), 5).body
    found = tiles.layers(encode(program, (program.loss,), False, None), 100)
    assert len(found) == 3
    fours, ones = tiles.copies(found, program.n_theta)
    to = {4 * i + k: place + k for i, place in enumerate(fours) if place >= 0 for k in range(4)}
    assert not to.keys() & set(ones[:, 0].tolist())
    to |= dict(ones.tolist())
    wanted = {
        layer.weight + j * layer.n + k: layer.place + j * layer.width + k
        for layer in found for j in range(layer.outputs) for k in range(layer.n)
    }  # fmt: skip
    assert to == wanted
    assert len(set(to.values())) == len(to)
    assert found[1].n % 4 == 0
    assert (fours >= 0).any()


def test_the_form_is_part_of_the_configuration():
    plan = plan_of(mlp(3, 16, 16, 3), 3)
    shape = Shape()
    assert form.form_of(plan, 64, 4, shape) == form.form_of(plan, 64, 4, shape)
    assert form.form_of(plan, 64, 4, replace(shape, shared_bytes=1000)) is None


def chain(x, weights, count):
    """One node after the other, each with a weight of its own."""
    total = x[0]
    for k in range(count):
        total = (weights[k % len(weights)] * total).tanh() * x[1]
    return [total]


@pytest.mark.parametrize(
    ("count", "lanes", "in_memory"), [(100, 8, False), (400, 8, False), (600, 4, False), (4000, 8, True)]
)
def test_a_long_program_takes_fewer_lanes_or_rows_in_memory(count, lanes, in_memory):
    weights = [sv.Weight(0.5) for _ in range(100)]
    plan = plan_of(lambda x: chain(x, weights, count), 2, weights)
    found = form.form_of(plan, 64, 4, Shape())
    assert (found.lanes, found.in_memory, found.tiles) == (lanes, in_memory, not in_memory)
    assert found.shared <= 96 << 10
    assert form.form_of(plan, 64, 4, Shape(chunk_bytes=1000)) == (None if in_memory else found)


def test_wide_instructions_that_do_not_fit_are_no_long_program():
    assert form_of(mlp(400, *[64] * 40), 400, 64) is None
