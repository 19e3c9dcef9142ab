"""Names that people bring along from PyTorch: what is not there says what to write instead."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim


@pytest.mark.parametrize(("ask", "text"), [
    (lambda: nn.LSTM, r"has no attribute 'LSTM': write the steps out"), (lambda: nn.functional, r"sv\.softmax"),
    (lambda: nn.ModuleList, "a plain list"), (lambda: nn.Sequentail, "did you mean 'Sequential'"),
    (lambda: nn.KLDivLoss, r"function \(outputs, targets\)"), (lambda: nn.init.zeros_, r"parameter\.data = array"),
    (lambda: nn.init.kaiming_uniform_, r"nn\.init\.kaiming_uniform\(\)"), (lambda: optim.LBFGS, "subclass"),
    (lambda: optim.lr_scheduler.CyclicLR, "LambdaLR"), (lambda: optim.lr_scheduler.StepLr, "did you mean 'StepLR'"),
    (lambda: optim.adam, "did you mean 'Adam'"), (lambda: sv.tensor, r"nn\.Parameter\(array\)"),
    (lambda: sv.cat, r"np\.concatenate"), (lambda: sv.cross_entropy, r"nn\.CrossEntropyLoss"),
    (lambda: sv.save, r"run\.save"), (lambda: sv.softmx, "did you mean 'softmax'"), (lambda: sv.manual_seed, "seed="),
    (lambda: nn.Linear(2, 1, seed=0).to("cpu"), r"sv\.Run\(\.\.\., engine=, dtype="),
    (lambda: nn.Linear(2, 1, seed=0).fit, r"sv\.Run"), (lambda: nn.Linear(2, 1, seed=0).nothing, "'nothing'$"),
])  # fmt: skip
def test_it_says_what_there_is(ask, text):
    with pytest.raises(AttributeError, match=text):
        ask()


def test_what_is_said_exists():
    """Each of the names in the texts is there, and none of the absent ones came to be."""
    from scalarviz.front import ABSENT
    from scalarviz.nn import _absent
    from scalarviz.optim import _absent as rules

    for folder, names in ((sv, ABSENT), (nn, _absent.NAMES), (optim, rules.RULES), (nn.Sequential(), _absent.METHODS)):
        assert [name for name in names if hasattr(folder, name)] == []
    for name in ("save", "load", "step", "predict", "frame", "open"):
        assert hasattr(sv.Run, name)


def test_modules_and_apply():
    net = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Sequential(nn.Tanh(), nn.Linear(3, 1, seed=1)))
    order = []
    assert net.apply(order.append) is net
    assert order == [net[0], net[1][0], net[1][1], net[1], net]  # as PyTorch: what is below first
    assert [name for name, _ in net.named_children()] == ["0", "1"]
    net.add_module("last", nn.ReLU())
    assert [type(part) for _, part in net.named_children()][2] is nn.ReLU
    del net.last
    assert list(net.modules()) == [net, net[0], net[1], net[1][0], net[1][1]]
    assert copy.deepcopy(net)[0].weight.data.tolist() == net[0].weight.data.tolist()
    assert pickle.loads(pickle.dumps(net))[1][1].bias.data.tolist() == net[1][1].bias.data.tolist()


def test_parameters_in_pytorchs_words():
    p = nn.Parameter(np.ones((2, 3)), requires_grad=False)
    assert p.frozen
    assert p.requires_grad_() is p
    assert not p.frozen
    with sv.no_grad():
        p[0] = 0.0
        p[:, 1] = np.array([5.0, 6.0])
        p[1, 2] = p[1, 1]
    assert p.data.tolist() == [[0.0, 5.0, 0.0], [1.0, 6.0, 6.0]]
    with pytest.raises(RuntimeError, match=r"sv\.no_grad"):
        p[0] = 1.0
    with sv.no_grad(), pytest.raises(ValueError, match="out of bounds"):
        p[7] = 1.0
    with pytest.raises(TypeError, match="requires_grad"):
        nn.Parameter([1.0], requires_grad="no")
    assert p.data.tolist() == [[0.0, 5.0, 0.0], [1.0, 6.0, 6.0]]


def test_a_list_of_layers_and_a_list_of_values():
    with pytest.raises(TypeError, match=r"Sequential\(\*layers\)"):
        nn.Sequential([nn.Linear(2, 1, seed=0)])
    with pytest.raises(TypeError, match=r"sv\.Weight\(number\)"):
        optim.SGD([sv.Value(1.0)], 0.1)


@pytest.mark.parametrize(("loss", "targets"), [(nn.CrossEntropyLoss(), [0, 1]), (nn.MSELoss(), np.ones((2, 3)))])
def test_a_batch_before_a_loss(loss, targets):
    batch = nn.Parameter(np.ones((2, 3))) * 1.0
    with pytest.raises(ValueError, match=r"Of a batch: sv\.mean\(\[loss\(o, t\) for o, t in"):
        loss(batch, targets)
    row = sv.mean([loss(o, t) for o, t in zip(batch, targets, strict=True)])
    assert np.isfinite(row.data)
