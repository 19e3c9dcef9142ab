"""A run that a thread trains: edits, statistics, what the optimiser keeps, networks that come and go.

It imports internals: the worker, which `sv.view` starts and nobody else.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import OwnRule
from kit.networks import NETWORKS
from kit.runs import make_run
from scalarviz import nn, optim
from scalarviz.errors import StateError
from scalarviz.run import Run
from scalarviz.run.requests import FrameRequest
from scalarviz.run.run_source import RunSource
from scalarviz.run.worker import Worker

edits = sv.run.edits
X = np.random.default_rng(0).random((24, 3))


def test_edits_are_done_between_two_calls_and_frames_know_of_them():
    run = make_run("classes", "cross-entropy", batch_size=3)
    with Worker(run) as worker:
        run.model[0].weight[1][1].data = 2.0
        assert worker.settle().edited
        worker.train_to(5)
        assert not worker.settle().edited
        worker.train_to(10**6)
        worker.edit(lambda r: r.add_samples(X[:5], [0, 1, 2, 0, 1]), "five more")
        while run.optimizer.steps < 10:
            run.step()
        with pytest.raises(StateError):
            run.optimizer.step()
        worker.pause()
        worker.settle()
        assert worker.error is None
        assert run.optimizer.steps == run.steps
    assert len(run.samples()[0]) == 29
    assert worker.log[1].what == "five more"


def test_running_statistics_are_read_and_written():
    run, same = make_run("batch norm"), make_run("batch norm")
    norm = run.model[1]
    with Worker(run) as worker:
        worker.train_to(30)
        worker.settle()
        assert int(norm.num_batches_tracked) == 30
        assert not norm.running_mean.flags.writeable
        norm.running_mean = [1.0, 2.0, 3.0, 4.0]
        np.testing.assert_array_equal(norm.running_mean, [1.0, 2.0, 3.0, 4.0])
    same.step(30)
    np.testing.assert_array_equal(norm.running_var, same.model[1].running_var)


def test_what_the_optimiser_keeps_is_in_frames_while_it_is_wanted():
    run = make_run("mlp")
    with Worker(run) as worker:
        assert worker.request().result(5).state == {}
        worker.train_to(6)
        worker.settle()
        assert set(worker.request(state=True).result(5).state) == {"exp_avg", "exp_avg_sq"}
        for wanted in (True, False):
            worker.state_wanted = wanted
            worker.do(edits.SetWeights(0, [float(wanted)]))
            worker.settle()
            assert bool(worker.latest.state) == wanted
            assert run.request_frame(state=True).result(5).state
    run = make_run("mlp")
    worker = Worker(run)
    plain, wants = FrameRequest(None, worker), FrameRequest(None, worker, state=True)
    worker._waiting += [plain, wants]  # in the middle of a call
    assert worker._readback() is not None
    assert worker._readback() is None
    assert (plain.told, wants.told) == (True, False)
    worker.close()
    assert set(wants.result(5).state) == {"exp_avg", "exp_avg_sq"}
    run = make_run("mlp", optimizer="own")
    assert isinstance(run.optimizer, OwnRule)
    assert RunSource(run).moments == {"mean": True}  # no square
    assert RunSource(make_run("mlp")).moments == {"exp_avg": True, "exp_avg_sq": False}


def test_weights_of_networks_of_two_sizes_that_come_and_go_are_read_whole():
    models = [NETWORKS["mlp"].ours(), NETWORKS["wide"].ours()]
    run = Run(models[0], nn.MSELoss(), optim.SGD(models[0].parameters(), lr=0.1), (X, X), engine="numpy")
    worker = Worker(run).start()
    try:
        for k in range(12):
            model = models[1 - k % 2]
            run.change(model=model)
            worker.train_to(run.steps + 20)
            for layer in (model[0], model[len(model) - 2]):
                assert layer.weight.data.shape == layer.weight.shape
                assert np.isfinite(layer.weight.data).all()
            model[0].weight[1][1].data = float(k)
            assert model[0].weight[1][1].data == k
        assert len(run.log) >= 12
        assert worker.error is None
    finally:
        worker.close(5.0)
    assert run.values[4] == run.model[0].weight.data[1, 1]


def test_what_waits_for_a_weight_is_done_to_that_weight():
    """Asked for before the network became another one, done after it: its flat index is another one there."""
    net = NETWORKS["mlp"].ours()
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy")
    first, last = net[0], net[2]
    longer = nn.Sequential(first, nn.Tanh(), nn.Linear(4, 4, seed=3), nn.Tanh(), last, nn.Sigmoid())
    worker, wait = Worker(run).start(), threading.Event()
    try:
        for model, goes_on in ((longer, True), (NETWORKS["rgb"].ours(), False)):
            wait.clear()
            busy = worker.ask(lambda run: wait.wait(20))
            worker.ask(lambda run, model=model: run.change(model=model))
            last.weight[1][2].data = 0.625
            last.bias.frozen = True
            assert last.weight[1][2].data == 0.625
            wait.set()
            assert busy.done.wait(20)
            worker.settle()
            assert worker.error is None
            if goes_on:
                assert (last.weight[1][2].data, last.bias.frozen) == (0.625, True)
                assert run.log[-1].what == "freeze 4.bias[0] and 2 more"
                last.bias.frozen = False
                last.weight[1][2].data = 0.0
                worker.settle()
        assert len(run.values) == 12
        assert (run.values != 0.625).all()
    finally:
        wait.set()
        worker.close(5.0)
