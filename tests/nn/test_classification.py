"""Softmax and cross-entropy: against PyTorch and finite differences, class targets of a Run, bad targets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, Value, nn, optim
from scalarviz.tape import lower, record


def test_softmax_agrees_with_pytorch(oracle, compare):
    compare(oracle("pictures"), "softmax", nn.Softmax(dim=1))


@pytest.mark.parametrize("kind", ["ordinary", "one_class"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("target", [int, np.int64, float, lambda t: Value(float(t)), lambda t: [t], np.atleast_1d])
def test_cross_entropy_agrees_with_pytorch(oracle, kind, reduction, target):
    arrays = oracle("classification")
    loss = nn.CrossEntropyLoss(reduction=reduction)
    outputs = [[Value(x) for x in row] for row in arrays[f"{kind}/outputs"].tolist()]
    targets = arrays[f"{kind}/targets"].tolist()
    total = sv.sum([loss(o, target(t)) for o, t in zip(outputs, targets, strict=True)])
    if nn.batch_reduction(loss) == "mean":
        total = total / len(outputs)
    total.backward()
    assert total.data == pytest.approx(float(arrays[f"{kind}/{reduction}/value"]), rel=1e-12, abs=1e-15)
    found = [[v.grad for v in row] for row in outputs]
    np.testing.assert_allclose(found, arrays[f"{kind}/{reduction}/grad"], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_recorded_loss_selects_the_same_logit(oracle, dtype):
    """A Run's targets are not known while the graph is recorded; infinite logits of other classes do no harm."""
    arrays = oracle("classification")
    logits, targets = arrays["ordinary/outputs"], arrays["ordinary/targets"]
    loss = nn.CrossEntropyLoss()
    for row, target in zip(logits, targets, strict=True):
        leaves = [Value(x) for x in np.where(np.isinf(row), 0, row).tolist()]
        masked = [Value(x) for x in np.where(np.isinf(row), row, 0).tolist()]
        bias = nn.Parameter(np.zeros(5))
        run = Run(
            lambda x, b=bias, m=masked: [v + b.weight(k) + m[k] for k, v in enumerate(x)], loss,
            optim.SGD([bias], lr=0.0), (np.array([[v.data for v in leaves]]), [target]), engine="numpy", dtype=dtype,
        )  # fmt: skip
        run.step()
        expected = loss([a + b for a, b in zip(leaves, masked, strict=True)], int(target))
        expected.backward()
        tolerance = 1e-12 if dtype == "float64" else 1e-5
        assert run.loss == pytest.approx(expected.data, rel=tolerance, abs=tolerance)
        np.testing.assert_allclose(bias.grad, [v.grad for v in leaves], rtol=tolerance, atol=tolerance)


def test_finite_differences():
    loss = nn.CrossEntropyLoss()
    assert sv.gradcheck(lambda *xs: loss(xs, 2), 0.3, -1.2, 0.8, 2.0)
    assert sv.gradcheck(lambda *xs: sv.dot([1.0, -2.0, 0.5], nn.Softmax()(xs)), 0.3, -1.2, 0.8)


def test_softmax_of_large_and_equal_numbers():
    assert [p.data for p in nn.Softmax()([1000.0, 1000.0])] == [0.5, 0.5]
    assert [p.data for p in nn.Softmax()([-1000.0, 1000.0])] == [0.0, 1.0]
    assert math.isnan(nn.Softmax()([math.nan, 0.0])[1].data)
    assert [p.data for p in nn.Softmax()([7.0])] == [1.0]


@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_the_mask_is_made_once_a_data_set(classes):
    model = nn.Linear(2, classes)
    plan = lower(record(model, 2, 1, loss=nn.CrossEntropyLoss()).only(loss=True))
    assert plan.n_features == classes + 1  # which of them it is, and whether it is left out
    body = [i.op for i in plan.body.instructions if i.kind == "op"]
    assert not {"ge", "le"} & set(body)
    assert body.count("held_max") == math.ceil(math.log2(classes))  # pairs, not one after another
    assert sorted(i.count for i in plan.body.instructions if i.op in ("exp", "where")) == [1, classes, classes]


# ---- in a Run


def made(targets, samples=6, loss=None, **options):
    model = nn.Sequential(nn.Linear(2, 3, seed=1))
    x = np.random.default_rng(0).random((samples, 2))
    return Run(model, loss or nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.1), (x, targets), **options)


@pytest.mark.parametrize("shape", [(6,), (6, 1)])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_a_column_of_class_numbers_is_the_target(shape, dtype):
    run = made(np.array([0, 1, 2, 2, 1, 0], dtype).reshape(shape), engine="numpy", dtype="float64")
    run.step(200)
    assert run.history.loss[-1] < run.history.loss[0]
    x, y = run.samples()
    logits = run.predict(x)
    wanted = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(6), y[:, 0].astype(int)]
    assert run.evaluate(x, y) == pytest.approx(wanted.mean(), rel=1e-12)
    run.set_targets(np.zeros(shape))
    run.step(50)
    assert (run.predict(x).argmax(1) == 0).all()


BAD_TARGETS = [
    ([0, 1, 2, 3, 1, 0], r"target of sample 3 is 3; .* whole number 0 .. 2 for 3 outputs \(1 of 6 are not\)"),
    ([0, 1, -1, 3, 1, 0], r"sample 2 is -1.*\(2 of 6"),
    ([0, 1, 1, 0.5, 1, 0], r"sample 3 is 0.5"),
    (np.eye(4)[[0, 1, 2, 0, 1, 2]], r"one target a sample, .*, got 4 numbers; of one-hot rows take argmax"),
    ([0, 1, np.nan, 0, 1, 0], "are not finite"),
]


@pytest.mark.parametrize(("targets", "text"), BAD_TARGETS)
def test_bad_targets_are_refused_when_the_run_is_made(targets, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        made(targets)


def test_bad_targets_are_refused_later_as_well():
    run = made([0, 1, 2, 0, 1, 2], engine="numpy")
    x, _ = run.samples()
    before = run.evaluate(x, np.ones(6))
    for attempt in (run.set_targets, lambda y: run.evaluate(x, y)):
        with pytest.raises(sv.ScalarvizError, match="sample 5 is 7"):
            attempt([0, 1, 2, 0, 1, 7])
    assert run.evaluate(x, np.ones(6)) == before


def test_a_users_loss_may_check_its_targets():
    class Positive:
        def __call__(self, outputs, targets):
            return outputs[0] * targets[0]

        def check_targets(self, targets, n_outputs):
            if (targets < 0).any():
                raise sv.ScalarvizError(f"negative, {n_outputs} outputs")

    with pytest.raises(sv.ScalarvizError, match="negative, 3 outputs"):
        made([-1.0] * 6, loss=Positive())


BAD = [
    (lambda: nn.CrossEntropyLoss(reduction="all"), "reduction must be one of mean, sum, none"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], 2), "a target is 2.*whole number 0 .. 1 for 2 outputs"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], -1), "a target is -1"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], 0.5), "a target is 0.5"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], math.nan), "a target is nan"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], Value(math.inf)), "a target is inf"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], True), "got True"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], "1"), "got '1'"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0], None), "got None"),
    (lambda: nn.CrossEntropyLoss()([1.0, 2.0, 3.0], [0.0, 1.0]), "one target a sample.*got 2"),
    (lambda: nn.CrossEntropyLoss()([], 0), r"got the shape \(0,\)"),
    (lambda: nn.CrossEntropyLoss()([[1.0, 2.0]], 0), r"one sample at a time.*\(1, 2\)"),
    (lambda: nn.CrossEntropyLoss()(np.ones((2, 2)), 0), r"\(2, 2\)"),
    (lambda: nn.CrossEntropyLoss()("ab", 0), "of str"),
    (lambda: nn.Softmax(dim=0), "dim must be 1 or -1"),
    (lambda: nn.Sequential(nn.Softmax())(np.ones((2, 2))), r"Softmax\(\) '0' takes a row of numbers, got .*\(2, 2\)"),
    (lambda: nn.Softmax()(1.0), r"got the shape \(\)"),
]


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_text():
    assert repr(nn.CrossEntropyLoss(reduction="sum")) == "CrossEntropyLoss(reduction='sum')"
    assert repr(nn.Softmax(dim=1)) == "Softmax(dim=1)"
