"""Batch normalisation by hand against PyTorch, and its running statistics as arrays of the module."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.scalar.nested import flatten

NAMES = ["running_mean", "running_var", "num_batches_tracked"]
SHAPES = {
    "rows": (nn.BatchNorm1d, (5, 3)),
    "long rows": (nn.BatchNorm1d, (4, 3, 2)),
    "square": (nn.BatchNorm1d, (3, 3)),
    "pictures": (nn.BatchNorm2d, (2, 3, 2, 4)),
    "one picture": (nn.BatchNorm2d, (1, 3, 2, 2)),
}
ARGUMENTS = [
    {}, {"momentum": None}, {"momentum": 1.0, "eps": 0.3}, {"affine": False}, {"track_running_stats": False},
    {"bias": False},
]  # fmt: skip


@pytest.mark.parametrize("given", ARGUMENTS, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_training_by_hand_agrees_with_pytorch(name, given):
    """Values, gradients of input, weight and bias, and the running statistics after three batches; then eval()."""
    torch = pytest.importorskip("torch")
    kind, shape = SHAPES[name]
    r = np.random.default_rng(7)
    ours, theirs = kind(3, **given), getattr(torch.nn, kind.__name__)(3, **given).double()
    if ours.weight is not None:
        for part in ours.parameters():
            part.data = r.normal(size=3)
        theirs.load_state_dict({k: torch.tensor(a) for k, a in ours.state_dict().items()})
    for _ in range(3):
        x, upstream = r.normal(size=shape) * 2 + 1, r.normal(size=shape)
        given_x = torch.tensor(x, requires_grad=True)
        wanted = theirs(given_x)
        theirs.zero_grad()
        (wanted * torch.tensor(upstream)).sum().backward()
        ours.zero_grad()
        found = flatten(ours(x))
        np.testing.assert_allclose([v.data for v in found], wanted.detach().numpy().ravel(), rtol=0, atol=1e-12)
        slopes = ours.backward(upstream.ravel().tolist())
        np.testing.assert_allclose(slopes, given_x.grad.numpy().ravel(), rtol=0, atol=1e-11)
        for part, like in zip(ours.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_allclose(part.grad, like.grad.numpy(), rtol=0, atol=1e-11)
        _same_state(ours, theirs)
    if name == "square":  # PyTorch takes it as samples, here it is asked which is meant
        return
    ours.eval(), theirs.eval()
    with torch.no_grad():
        wanted = theirs(torch.tensor(x)).numpy()
    np.testing.assert_allclose([v.data for v in flatten(ours(x))], wanted.ravel(), rtol=0, atol=1e-12)
    _same_state(ours, theirs)


def _same_state(ours, theirs):
    found, wanted = ours.state_dict(), {k: a.numpy() for k, a in theirs.state_dict().items()}
    assert list(found) == list(wanted)
    for k, array in wanted.items():
        assert (found[k].shape, found[k].dtype) == (array.shape, array.dtype)
        np.testing.assert_allclose(found[k], array, rtol=0, atol=1e-13, err_msg=k)


def test_running_statistics_are_arrays_of_the_module():
    norm = nn.BatchNorm1d(2)
    assert [n for n, _ in norm.named_parameters()] == ["weight", "bias"]
    assert [n for n, _ in norm.named_buffers("net")] == [f"net.{name}" for name in NAMES]
    assert [(a.shape, a.dtype) for a in norm.buffers()] == [((2,), float), ((2,), float), ((), np.int64)]
    given = np.array([1.0, 2.0])
    norm.running_mean = given
    given[0] = 9.0
    assert norm.running_mean.tolist() == [1.0, 2.0]
    norm.running_mean[0] = 3.0
    norm.running_mean += 1
    assert norm.running_mean.tolist() == [4.0, 3.0]
    norm.num_batches_tracked += 1
    assert (int(norm.num_batches_tracked), norm.num_batches_tracked.dtype) == (1, np.int64)
    with pytest.raises(TypeError):
        norm.num_batches_tracked[...] = 5
    with pytest.raises(ValueError, match="read-only"):
        norm.buffers()[2][...] = 5
    norm.reset_running_stats()
    assert [a.tolist() for a in norm.buffers()] == [[0, 0], [1, 1], 0]
    plain = nn.BatchNorm1d(2, track_running_stats=False)
    assert (plain.running_mean, plain.running_var, plain.num_batches_tracked) == (None, None, None)
    assert list(plain.state_dict()) == ["weight", "bias"]
    assert plain.buffers() == []


def test_copies_and_pickles_have_their_own():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[1].running_var, net[1].num_batches_tracked = [2.0, 3.0], 4
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [a.tolist() for a in twin.buffers()] == [[0, 0], [2, 3], 4]
        twin[1].running_var[0] = 0.0
        assert net[1].running_var.tolist() == [2.0, 3.0]
        twin[1].reset_running_stats()
        assert [a.tolist() for a in twin.buffers()] == [[0, 0], [1, 1], 0]
    tied = nn.Sequential(net[1], net[1])
    assert [n for n, _ in tied.named_buffers()] == [f"0.{name}" for name in NAMES]
    assert len(list(tied.named_buffers(remove_duplicate=False))) == 6
    assert [n for n in tied.state_dict() if "running_var" in n] == ["0.running_var", "1.running_var"]


def test_a_state_that_does_not_fit_changes_nothing():
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict() | {"running_mean": np.array([5.0, 6.0])}
    for name, wrong in (("num_batches_tracked", 1.5), ("num_batches_tracked", -1), ("running_var", [1.0])):
        with pytest.raises(sv.ScalarvizError, match=name):
            norm.load_state_dict(state | {name: np.array(wrong)})
        assert norm.running_mean.tolist() == [0.0, 0.0]
    norm.load_state_dict(state | {"num_batches_tracked": np.array(7)})
    assert (norm.running_mean.tolist(), int(norm.num_batches_tracked)) == ([5.0, 6.0], 7)


def test_no_gradient_goes_to_running_statistics():
    norm = nn.BatchNorm1d(2).eval()
    sum(flatten(norm([1.0, 2.0]))).backward()
    assert not any(part.computed.any() for part in nn.buffer_blocks(norm).values())
    assert norm.weight.grad.any()


BAD = [
    (lambda: nn.BatchNorm1d(3)([1.0, 2.0, 3.0]), r"is in training: .* takes N samples at once, N x \(3,\)"),
    (lambda: nn.BatchNorm2d(3)(np.ones((3, 2, 2))), "is in training"),
    (lambda: nn.BatchNorm1d(3)(np.ones((1, 3))), "expected more than 1 value per channel when training"),
    (lambda: nn.BatchNorm2d(3)(np.ones((1, 3, 1, 1))), "expected more than 1 value per channel when training"),
    (lambda: nn.BatchNorm1d(3)(np.ones((2, 4))), r"takes a sample of shape \(3,\) or \(3, L\), or N of them"),
    (lambda: nn.BatchNorm1d(3)(np.ones((0, 3))), "takes a sample"),
    (lambda: nn.BatchNorm1d(3)(2.0), r"got \(\)"),
    (lambda: nn.BatchNorm1d(3).eval()(np.ones((3, 3))), r"write one as \(1, 3, 3\), several as \(3, 3, 1\)"),
    (lambda: nn.BatchNorm1d(3, momentum=1.5), "momentum must be a number in 0 .. 1, or None; got 1.5"),
    (lambda: nn.BatchNorm1d(3, momentum=math.nan), "momentum"),
    (lambda: nn.BatchNorm1d(3, momentum="x"), "momentum must be a number"),
    (lambda: nn.BatchNorm1d(3, affine="yes"), "affine"),
    (lambda: nn.BatchNorm1d(3, track_running_stats="no"), "track_running_stats"),
    (lambda: setattr(nn.BatchNorm1d(3), "running_mean", [1.0]), r"running_mean has shape \(3,\)"),
    (lambda: setattr(nn.BatchNorm1d(3), "num_batches_tracked", 0.5), "must be a whole number >= 0"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_says_what_is_wrong(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()
