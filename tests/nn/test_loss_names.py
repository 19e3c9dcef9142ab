"""The losses by hand against PyTorch: values and gradients of one sample, all arguments, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, nn

torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
WEIGHTS = (0.5, 2.0, 0.0, 1.25)
LOGITS = (0.3, -1.2, 2.5, 0.8)
REDUCTIONS = ("mean", "sum", "none")


def theirs(loss, outputs, target):
    x = torch.tensor(outputs, dtype=torch.float64, requires_grad=True)
    value = loss(x, target)
    value.sum().backward()
    return value.detach().numpy(), x.grad.numpy()


def ours(loss, outputs, target):
    leaves = [Value(x) for x in outputs]
    found = loss(leaves, target)
    sv.sum(found if isinstance(found, list) else [found]).backward()
    numbers = np.array([v.data for v in found]) if isinstance(found, list) else np.array(found.data)
    return numbers, np.array([v.grad for v in leaves])


def same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def tensor(numbers):
    return None if numbers is None else torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, (0.5, 2.0, 0.25, 1.25)])
@pytest.mark.parametrize("smoothing", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("target", [0, 1, 2, 3, -100])
def test_cross_entropy_of_a_class(reduction, weight, smoothing, target):
    loss = nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)
    reference = torch.nn.CrossEntropyLoss(tensor(weight), reduction=reduction, label_smoothing=smoothing)
    same(ours(loss, LOGITS, target), theirs(reference, LOGITS, torch.tensor(target)))


def test_a_mean_of_nothing_is_nan():
    for loss in (nn.CrossEntropyLoss(WEIGHTS), nn.NLLLoss(WEIGHTS)):
        assert math.isnan(loss(LOGITS, 2).data)  # of weight 0
        assert math.isnan(loss(LOGITS, -100).data)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_cross_entropy_of_shares(reduction, weight, smoothing):
    shares = [0.1, 0.2, 0.3, 0.4]
    loss = nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)
    reference = torch.nn.CrossEntropyLoss(tensor(weight), reduction=reduction, label_smoothing=smoothing)
    same(ours(loss, LOGITS, shares), theirs(reference, LOGITS, tensor(shares)))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, (0.5, 2.0, 0.25, 1.25)])
@pytest.mark.parametrize("target", [0, 3, 1])
def test_the_other_losses_of_classes(reduction, weight, target):
    reference = torch.nn.NLLLoss(tensor(weight), ignore_index=1, reduction=reduction)
    loss = nn.NLLLoss(weight, ignore_index=1, reduction=reduction)
    same(ours(loss, LOGITS, target), theirs(reference, LOGITS, torch.tensor(target)))
    for p, margin in ((1, 1.0), (2, 0.3), (2, 3.7)):
        reference = torch.nn.MultiMarginLoss(p, margin, tensor(weight), reduction=reduction)
        loss = nn.MultiMarginLoss(p, margin, weight, reduction=reduction)
        same(ours(loss, LOGITS, target), theirs(reference, LOGITS, torch.tensor(target)))


PAIRED = {
    "bce": (nn.BCELoss, torch.nn.BCELoss, (0.2, 0.9, 1.0, 0.5), (0.0, 1.0, 1.0, 0.3)),
    "logits": (nn.BCEWithLogitsLoss, torch.nn.BCEWithLogitsLoss, (-3.0, 40.0, -800.0, 0.0), (0.0, 1.0, 0.6, 0.3)),
    "smooth": (nn.SmoothL1Loss, torch.nn.SmoothL1Loss, (0.5, -2.0, 3.0, 1.0), (1.0, 1.0, 1.0, 1.0)),
    "hinge": (nn.HingeEmbeddingLoss, torch.nn.HingeEmbeddingLoss, (0.5, -2.0, 3.0, 0.75), (1.0, -1.0, -1.0, -1.0)),
    "mse": (nn.MSELoss, torch.nn.MSELoss, LOGITS, WEIGHTS),
    "l1": (nn.L1Loss, torch.nn.L1Loss, LOGITS, WEIGHTS),
    "huber": (nn.HuberLoss, torch.nn.HuberLoss, LOGITS, WEIGHTS),
}
ARGUMENTS = {
    "bce": ({}, {"weight": WEIGHTS}),
    "logits": ({}, {"weight": WEIGHTS}, {"pos_weight": WEIGHTS}, {"weight": WEIGHTS, "pos_weight": (3.0,)}),
    "smooth": ({}, {"beta": 0.5}, {"beta": 2.5}, {"beta": 0.0}), "hinge": ({}, {"margin": 0.75}, {"margin": -1.0}),
    "mse": ({},), "l1": ({},), "huber": ({}, {"delta": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("name", "given"), [(n, a) for n, many in ARGUMENTS.items() for a in many])
def test_losses_of_pairs(reduction, name, given):
    made, reference, outputs, targets = PAIRED[name]
    tensors = {k: tensor(v) if isinstance(v, tuple) else v for k, v in given.items()}
    wanted = theirs(reference(reduction=reduction, **tensors), outputs, tensor(targets))
    same(ours(made(reduction=reduction, **given), outputs, list(targets)), wanted)


def test_derivatives_by_the_target_and_the_factors():
    assert sv.gradcheck(sv.scalar.function("bce_with_logits"), 0.7, 0.3, 2.5)
    assert sv.gradcheck(sv.scalar.function("bce_with_logits"), -1.7, 0.9, 0.5)
    assert sv.gradcheck(sv.scalar.function("smooth_l1"), 0.7, 1.5)
    assert sv.gradcheck(sv.scalar.function("smooth_l1"), -1.7, 1.5)
    assert sv.gradcheck(lambda x, m: sv.scalar.function("hinge_embedding")(x, -1.0, m), 0.7, 1.5)


@pytest.mark.parametrize("name", ["smooth_l1", "bce_with_logits", "hinge_embedding"])
def test_nan_comes_through(name):
    entry = sv.scalar.ops.get(name)
    leaves = [Value(math.nan), *(Value(-1.0) for _ in entry.args[1:])]
    found = sv.scalar.function(name)(*leaves)
    found.backward()
    assert math.isnan(found.data)
    assert math.isnan(leaves[0].grad)


BAD = [
    (lambda: nn.CrossEntropyLoss([]), r"weight must be a row of finite numbers.*got \[\]"),
    (lambda: nn.CrossEntropyLoss([1.0, math.nan]), "row of finite numbers"),
    (lambda: nn.CrossEntropyLoss("sum"), "weight must be a row of finite numbers"),
    (lambda: nn.CrossEntropyLoss([[1.0], [2.0]]), "row of finite numbers"),
    (lambda: nn.CrossEntropyLoss([True, False]), "row of finite numbers"),
    (lambda: nn.CrossEntropyLoss([1.0])([1.0, 2.0], 0), "weight has 1 numbers for 2 outputs"),
    (lambda: nn.CrossEntropyLoss(ignore_index=0.5), "ignore_index must be a whole number"),
    (lambda: nn.CrossEntropyLoss(label_smoothing=1.5), r"label_smoothing must be in 0\.\.1, got 1\.5"),
    (lambda: nn.CrossEntropyLoss(label_smoothing=math.nan), r"label_smoothing must be in 0\.\.1"),
    (lambda: nn.CrossEntropyLoss(ignore_index=1)([1.0, 2.0], [0.5, 0.5]), "a row of shares has none"),
    (lambda: nn.CrossEntropyLoss(ignore_index=9)([1.0, 2.0], -7), "or 9, which is left out"),
    (lambda: nn.NLLLoss(reduction="avg"), "NLLLoss: reduction must be one of mean, sum, none"),
    (lambda: nn.NLLLoss()([1.0, 2.0], [0.0, 1.0]), "NLLLoss takes one target a sample"),
    (lambda: nn.MultiMarginLoss(3), "p must be 1 or 2, got 3"),
    (lambda: nn.MultiMarginLoss(margin=math.inf), "margin must be finite"),
    (lambda: nn.MultiMarginLoss()([1.0, 2.0], 2), "MultiMarginLoss: a target is 2"),
    (lambda: nn.SmoothL1Loss(beta=-1.0), "beta must be a finite number >= 0"),
    (lambda: nn.HingeEmbeddingLoss(math.nan), "margin must be finite"),
    (lambda: nn.BCEWithLogitsLoss(pos_weight=[1.0, 2.0])([1.0] * 3, [1.0] * 3), "pos_weight has 2 numbers for 3"),
    (lambda: nn.BCELoss(weight=[1.0, 2.0])([0.5], [1.0]), "weight has 2 numbers for 1 outputs"),
    (lambda: nn.MSELoss(batch_reduction="none"), "batch_reduction must be one of mean, sum"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_text():
    assert repr(nn.CrossEntropyLoss([1, 2], label_smoothing=0.1)) == (
        "CrossEntropyLoss(reduction='mean', weight=[1.0, 2.0], label_smoothing=0.1)"
    )
    assert repr(nn.MSELoss("sum", batch_reduction="mean")) == (
        "MSELoss(reduction='sum', batch_reduction='mean', factor=1)"
    )
    assert repr(nn.SmoothL1Loss()) == "SmoothL1Loss(reduction='mean', beta=1)"
