"""Every engine does what the objects do: forward, loss, gradients, updates; and PyTorch does it too."""

import contextlib
import itertools

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import FAMILIES, LOSSES, OPTIMISERS
from kit.networks import NETWORKS, SMALL
from kit.runs import ENGINES, TOLERANCE, by_pytorch, far, loss_and_gradient, make_data, make_run
from scalarviz import nn, optim
from scalarviz.errors import DivergedError
from scalarviz.run.state import optimizer_state

ci = pytest.mark.ci
others = pytest.mark.parametrize("engine", ["numpy", "numba"])
every = pytest.mark.parametrize("engine", ENGINES)
RULES = [*FAMILIES, "own", "groups"]
FITTING = [name for name, row in LOSSES.items() if row.outputs == "numbers"]


COVERED = [(network, RULES[(k + 3 * j) % len(RULES)]) for k, network in enumerate(NETWORKS) for j in range(2)]
"""Pairs of networks and rules: each network with two, each rule with several."""


def numbers(run):
    """All that a run trained: weights, gradient, the last step of each weight, losses, state."""
    frame = run.frame()
    return [run.values.copy(), frame.gradient, frame.update, run.history.loss, *optimizer_state(run).values()]


# ---- one forward and backward


def agree(network, loss, engine, dtype, batch):
    data, found = make_data(network, loss, 20), []
    for each in ("objects", engine):
        options = {"engine": each, "dtype": dtype, "batch_size": batch, "seed": 7}
        found.append(loss_and_gradient(NETWORKS[network].ours(), LOSSES[loss].ours(), data, **options))
    assert np.linalg.norm(found[0]) > 1e-3 or loss == "multi margin"  # which may be content
    return far(found[1], found[0])


@others
@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_has_the_loss_and_the_gradient_of_the_objects(network, engine):
    for batch in (6, 20):
        assert agree(network, "mse", engine, "float64", batch) <= TOLERANCE["float64"]
    assert agree(network, "mse", engine, "float32", 6) <= TOLERANCE["float32"]


@others
@pytest.mark.parametrize(
    ("network", "loss"),
    [
        *(("mlp", loss) for loss in FITTING), ("rgb", "bce"), ("classes", "nll"),
        *(pytest.param(network, FITTING[(3 * k + j) % len(FITTING)], marks=ci)
          for k, network in enumerate(NETWORKS) if network != "mlp" for j in range(4)),
    ],
)  # fmt: skip
def test_a_loss_has_the_gradient_of_the_objects(network, loss, engine):
    outputs = int(np.prod(NETWORKS[network].outputs))
    if outputs == 1 and LOSSES[loss].targets in ("classes", "shares"):
        return  # there is one class
    for dtype, batch in itertools.product(TOLERANCE, (1, 6, 20)):
        if batch > 1 or network != "batch norm":
            assert agree(network, loss, engine, dtype, batch) <= TOLERANCE[dtype], (dtype, batch)


@others
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("network", SMALL)
def test_what_is_not_finite_comes_through(network, bad, engine):
    """No sum swallows it, and the padding of a tile does not make any."""
    found = []
    for each in ("objects", engine):
        run = make_run(network, "mse", "sgd", engine=each, samples=40, batch_size=None, dtype="float32")
        run.values[1] = bad
        with contextlib.suppress(DivergedError):
            run.step()
        found.append([run.loss, *run.frame().gradient])
        run.close()
    np.testing.assert_array_equal(np.isnan(found[1]), np.isnan(found[0]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)
    assert not np.isnan(bad) or np.isnan(found[0]).any()


# ---- training


def train(steps=(6,), **given):
    with make_run(**given) as run:
        for count in steps:
            run.step(count)
        return numbers(run)


@others
@pytest.mark.parametrize(
    ("network", "rule"),
    [
        *(("mlp", rule) for rule in (*RULES, *(name for name in OPTIMISERS if name not in RULES))),
        *(pytest.param(*pair, marks=ci) for pair in COVERED),
    ],
)
def test_training_is_that_of_the_objects(network, rule, engine):
    found, wanted = (train(network=network, optimizer=rule, engine=each, batch_size=5) for each in (engine, "objects"))
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.linalg.norm(ours - theirs) <= 1e-9 * max(1, np.linalg.norm(theirs))


@every
@pytest.mark.parametrize("network", [name for name, row in NETWORKS.items() if row.written and not row.draws])
def test_training_is_that_of_pytorch(network, engine, torch):
    rule = FAMILIES[list(NETWORKS).index(network) % len(FAMILIES)]
    with make_run(network, "mse", rule, engine=engine, batch_size=None) as run:
        for loss, _, state in itertools.islice(by_pytorch(network, "mse", rule), 4):
            run.step()
            assert run.loss == pytest.approx(loss, rel=1e-9)
            for name, array in run.state_dict().items():
                np.testing.assert_allclose(array, state[name], rtol=1e-7, atol=1e-9, err_msg=name)


def only_end(**given):
    """Steps cut into calls in three ways end in the same bits."""
    ends = {tuple(part.tobytes() for part in train(cut, **given)) for cut in ([13], [1] * 13, [5, 0, 7, 1])}
    assert len(ends) == 1


@every
@pytest.mark.parametrize("network", [*SMALL, "batch norm", "dropout", "picture", "words"])
def test_how_steps_are_cut_into_calls_changes_no_bit(network, engine):
    only_end(network=network, engine=engine, batch_size=5)


@every
@pytest.mark.parametrize("rule", FAMILIES)
def test_frozen_and_foreign_weights_stand_still_and_have_gradients(rule, engine):
    for dtype in TOLERANCE:
        model = NETWORKS["mlp"].ours()
        model.freeze("0.bias")
        model[2].weight[1][2].frozen = True
        before = {k: v.copy() for k, v in model.state_dict().items()}
        parameters = [p for n, p in model.named_parameters() if n != "2.bias"]
        kind, settings = OPTIMISERS[rule]
        data = make_data("mlp", "mse", 9)
        run = sv.Run(
            model, nn.MSELoss(), getattr(optim, kind)(parameters, **settings), data, engine=engine, dtype=dtype
        )
        run.step(3)
        after = run.state_dict()
        for name in ("0.bias", "2.bias"):
            np.testing.assert_array_equal(after[name], before[name].astype(dtype))
        moved = after["2.weight"] != before["2.weight"].astype(dtype)
        assert not moved[1, 2]
        assert moved.sum() == moved.size - 1
        assert min(abs(model[2].bias.grad).min(), abs(model[0].bias.grad).min(), abs(model[2].weight.grad[1, 2])) > 0
        frame = run.frame(state=True)
        assert all(len(set(array[frame.frozen])) == 1 for array in frame.state.values())
        assert frame.frozen.sum() == 5
        run.close()


@every
def test_a_batch_of_left_out_samples_alone_has_no_loss_as_in_pytorch(engine):
    net = nn.Linear(2, 3, seed=0)
    data, loss = (np.ones((4, 2)), np.zeros(4, int)), nn.CrossEntropyLoss(ignore_index=0)
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.1), data, batch_size=1, engine=engine)
    with pytest.raises(DivergedError, match="the loss is nan"):
        run.step(3)
