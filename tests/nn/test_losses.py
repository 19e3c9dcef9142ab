"""Losses: PyTorch's numbers by hand and in runs, the divisor of each batch, class targets."""

import math
import warnings

import numpy as np
import pytest

from kit.refusals import refusals
from kit.runs import ENGINES
from scalarviz import Run, Value, nn, optim
from scalarviz.errors import DivergedError, InputError, TracingError

WEIGHTS = (0.5, 2.0, 0.25, 1.25)
LOGITS = (0.3, -1.2, 2.5, 0.8)
CLASSES = {"weight": (None, WEIGHTS), "label_smoothing": (0.0, 0.25, 1.0), "ignore_index": (-100, 1)}


def every(kind, outputs, targets, **settings):
    """All combinations of some settings of one loss."""
    rows = [{}]
    for name, values in settings.items():
        rows = [{**row, **({name: value} if value is not None else {})} for row in rows for value in values]
    return [(kind, row, outputs, target) for row in rows for target in targets]


BY_HAND = [
    *every("CrossEntropyLoss", LOGITS, (0, 3, 1), **CLASSES),
    *every("CrossEntropyLoss", LOGITS, (-100,), label_smoothing=(0.0, 0.25), weight=(None, WEIGHTS)),
    *every("CrossEntropyLoss", LOGITS, ([0.1, 0.2, 0.3, 0.4],), weight=(None, WEIGHTS), label_smoothing=(0.0, 0.25)),
    *every("CrossEntropyLoss", (300.0, -1200.0, 900.0, 900.0), (0, 1, 2)), *every("CrossEntropyLoss", (0.5,), (0,)),
    *every("NLLLoss", LOGITS, (0, 3, 1), weight=(None, WEIGHTS), ignore_index=(-100, 1)),
    *every("MultiMarginLoss", LOGITS, (0, 3), p=(1, 2), margin=(1.0, 0.3, 3.7), weight=(None, WEIGHTS)),
    *every("BCELoss", (0.2, 0.9, 1.0, 0.5), ([0.0, 1.0, 1.0, 0.3],), weight=(None, WEIGHTS)),
    *every("BCEWithLogitsLoss", (-3.0, 40.0, -800.0, 0.0), ([0.0, 1.0, 0.6, 0.3],), weight=(None, WEIGHTS),
           pos_weight=(None, WEIGHTS, (3.0,))),
    *every("SmoothL1Loss", (0.5, -2.0, 3.0, 1.0), ([1.0] * 4,), beta=(0.5, 1.0, 2.5, 0.0)),
    *every("HingeEmbeddingLoss", (0.5, -2.0, 3.0, 0.75), ([1.0, -1.0, -1.0, -1.0],), margin=(1.0, 0.75, -1.0)),
    *every("MSELoss", LOGITS, (list(WEIGHTS),)), *every("L1Loss", LOGITS, (list(WEIGHTS),)),
    *every("HuberLoss", LOGITS, (list(WEIGHTS),), delta=(1.0, 0.5)),
]  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("kind", "settings", "outputs", "target"), BY_HAND)
def test_one_sample_is_pytorchs(kind, settings, outputs, target, reduction, torch):
    given = {k: torch.tensor(v, dtype=torch.float64) if isinstance(v, tuple) else v for k, v in settings.items()}
    x = torch.tensor(outputs, dtype=torch.float64, requires_grad=True)
    y = torch.tensor(target, dtype=None if isinstance(target, int) else torch.float64)
    wanted = getattr(torch.nn, kind)(reduction=reduction, **given)(x, y)
    wanted.sum().backward()
    leaves = [Value(number) for number in outputs]
    found = getattr(nn, kind)(reduction=reduction, **settings)(leaves, target)
    found.sum().backward()
    np.testing.assert_allclose(found.data, wanted.detach().numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose([v.grad for v in leaves], x.grad.numpy(), rtol=1e-12, atol=1e-14)


# ---- targets that count differently: weights of classes, samples that are left out

N = 14
X = np.random.default_rng(1).normal(size=(N, 3))
Y = np.array([0, 3, -100, 1, 2, 2, -100, 0, 1, 3, -100, 2, 1, 0])
ROWS = np.abs(X @ np.random.default_rng(2).normal(size=(3, 4)))
UNEVEN = {
    "weights": ("CrossEntropyLoss", {"weight": WEIGHTS}, Y),
    "left out": ("CrossEntropyLoss", {}, Y),
    "smoothed": ("CrossEntropyLoss", {"weight": WEIGHTS, "label_smoothing": 0.2}, Y),
    "a class left out": ("CrossEntropyLoss", {"ignore_index": 2, "label_smoothing": 0.2}, np.maximum(Y, 0)),
    "shares": ("CrossEntropyLoss", {"weight": WEIGHTS, "label_smoothing": 0.2}, ROWS / ROWS.sum(1, keepdims=True)),
    "nll": ("NLLLoss", {"weight": WEIGHTS}, Y),
    "margin": ("MultiMarginLoss", {"p": 2, "margin": 0.7, "weight": WEIGHTS}, np.maximum(Y, 0)),
    "logits": ("BCEWithLogitsLoss", {"weight": WEIGHTS, "pos_weight": (3.0,)}, (ROWS > 1) * 1.0),
}
WAYS = {
    "shuffled": {"batch_size": 5}, "all": {"batch_size": None}, "drawn": {"batch_size": 5, "sampling": "replacement"},
}  # fmt: skip


def model():
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh())


def uneven(name, engine="numpy", reduction="mean", **options):
    kind, given, targets = UNEVEN[name]
    net = model()
    options = {"batch_size": 5, "seed": 7, "dtype": "float64"} | options
    loss = getattr(nn, kind)(reduction=reduction, **given)
    return Run(net, loss, optim.SGD(net.parameters(), lr=0.5), (X, targets), engine=engine, **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("engine", "reduction"), [("objects", "sum"), *((engine, "mean") for engine in ENGINES)])
@pytest.mark.parametrize("name", UNEVEN)
def test_each_batch_has_its_own_divisor_as_in_pytorch(name, engine, reduction, way, torch):
    kind, given, targets = UNEVEN[name]
    tensors = {k: torch.tensor(v, dtype=torch.float64) if isinstance(v, tuple) else v for k, v in given.items()}
    loss, x, y = getattr(torch.nn, kind)(reduction=reduction, **tensors), torch.tensor(X), torch.tensor(targets)
    run = uneven(name, engine, reduction, **WAYS[way])
    net = torch.nn.Sequential(torch.nn.Linear(3, 4, dtype=torch.float64), torch.nn.Tanh())
    net.load_state_dict({k: torch.tensor(v) for k, v in run.model.state_dict().items()})
    rule = torch.optim.SGD(net.parameters(), lr=0.5)
    wanted = []
    for step in range(5):
        chosen = run._problem.indices(step)
        rule.zero_grad()
        value = loss(net(x[chosen]), y[chosen])
        value.backward()
        rule.step()
        wanted.append(value.item())
    run.step(5)
    np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-12, atol=1e-14)
    for path, tensor in net.state_dict().items():
        np.testing.assert_allclose(run.state_dict()[path], tensor.numpy(), rtol=1e-11, atol=1e-13)


def mean_loss(run, x, y):
    """PyTorch's definition of the weighted mean, written out."""
    logits = run.predict(x)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    kept = y >= 0
    weights = np.array(WEIGHTS)[y[kept]]
    return -(weights * logs[kept, y[kept]]).sum() / weights.sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_other_targets_have_other_divisors(engine):
    run = uneven("weights", engine, batch_size=None)
    run.step()
    changed = np.roll(Y, 3) % 4  # nothing is left out now
    run.set_targets(changed)
    wanted = mean_loss(run, X, changed)
    assert run.evaluate(X, changed) == pytest.approx(wanted, rel=1e-12)
    run.step()
    assert run.loss == pytest.approx(wanted, rel=1e-12)
    more = np.array([0, -100, -100, 3])
    run.add_samples(X[:4] + 1, more)
    wanted = mean_loss(run, np.concatenate([X, X[:4] + 1]), np.concatenate([changed, more]))
    run.step()
    assert run.loss == pytest.approx(wanted, rel=1e-12)
    run.change(loss=nn.CrossEntropyLoss())
    assert math.isnan(run.evaluate(X[:2], [-100, -100]))


def test_a_batch_of_nothing_stops_the_run_and_changes_nothing():
    run = uneven("left out", batch_size=None)
    run.set_targets([-100] * N)
    before = run.values.copy()
    with pytest.raises(DivergedError):
        run.step()
    assert (run.values == before).all()
    for loss in (nn.CrossEntropyLoss((1.0, 1.0, 0.0, 1.0)), nn.NLLLoss((1.0, 1.0, 0.0, 1.0))):
        assert math.isnan(loss(LOGITS, 2).data)  # of weight 0
        assert math.isnan(loss(LOGITS, -100).data)


def test_the_factor_of_the_squared_error():
    o, t = [0.5, 2.0], [0.0, 0.0]
    assert nn.MSELoss()(o, t).data == pytest.approx(4.25 / 2)
    assert nn.MSELoss("sum", factor=0.5)(o, t).data == 2.125
    assert nn.MSELoss(factor=0.5)(o, t).data == pytest.approx(4.25 / 4)
    net, loss = model(), nn.MSELoss("sum", factor=0.5, batch_reduction="mean")  # Nielsen's cost
    run = Run(net, loss, optim.SGD(net.parameters(), 0.5), (X, ROWS), engine="numpy", dtype="float64")
    a = run.predict(X)
    run.step()
    assert run.loss == pytest.approx(0.5 * ((a - ROWS) ** 2).sum() / N, rel=1e-12)


def test_ends_and_kinks():
    loss = nn.BCELoss()
    assert [loss([o], [t]).data for o, t in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))] == [0.0, 100.0, 100.0]
    assert math.isnan(loss([1.5], [0.5]).data)
    for made, x, grad in ((nn.L1Loss("sum"), 1.0, 0.0), (nn.HuberLoss("sum", delta=0.5), 1.5, 0.5)):
        value = Value(x)
        made([value], [1.0]).backward()
        assert value.grad == grad


def classes(targets, loss=None):
    net = nn.Linear(3, 4, seed=1)
    return Run(net, loss or nn.CrossEntropyLoss(), optim.SGD(net.parameters(), 0.1), (X[:6], targets), engine="numpy")


@refusals({
    "classes([0, 1, 2, 4, 1, 0])": (InputError, "sample 3", 4, "0 .. 3", "1 of 6"),
    "classes([0, 1, -1, 4, 1, 0])": (InputError, "sample 2", -1, "2 of 6"),
    "classes([0, 1, 1, 0.5, 1, 0])": (InputError, "sample 3", 0.5),
    "classes(np.eye(5)[[0, 1, 2, 0, 1, 2]])": (InputError, "argmax", 5),
    "classes([0, 1, np.nan, 0, 1, 0])": (InputError, "finite"),
    "classes(X[:6], nn.MSELoss('none'))": (InputError, "MSELoss(reduction='none')"),
    "classes(X[:6, :1] * 0, lambda o, t: nn.CrossEntropyLoss(WEIGHTS)(o, t) * 2)": (TracingError, "reduction='sum'"),
    "classes(np.zeros((6, 4)), nn.HingeEmbeddingLoss())": (InputError, "1 or -1"),
    "classes([0] * 6).set_targets([0, 1, 2, 0, 1, 7])": (InputError, "sample 5", 7),
    "classes([0] * 6).evaluate(X[:6], [0, 1, 2, 0, 1, 7])": (InputError, "sample 5", 7),
}, globals())  # fmt: skip
def test_targets_that_do_not_fit(refusal):
    refusal.check()


@pytest.mark.ci
def test_outputs_outside_0_to_1_are_refused_by_the_binary_loss_as_by_pytorchs(torch):
    for outputs in ([[0.5], [1.5]], [[-0.1], [0.5]]):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            torch.nn.BCELoss()(torch.tensor(outputs), torch.ones(2, 1))
        net = nn.Linear(1, 1, bias=False)
        net.weight.data = [[1.0]]
        with pytest.raises(InputError, match=r"between 0 and 1.*BCEWithLogitsLoss"):
            nn.BCELoss()(net(np.array(outputs)), np.ones((2, 1)))


SHAPES = [((5, 1), (5,)), ((5,), (5, 1)), ((5, 1), (5, 1)), ((5,), (5,)), ((1, 1), (1,))]


@pytest.mark.ci
@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "HuberLoss", "SmoothL1Loss"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_a_loss_warns_where_pytorchs_would_be_another(name, shapes, torch):
    numbers, targets = (np.random.default_rng(0).normal(size=shape) for shape in shapes)
    net = nn.Linear(1, 1, seed=0)
    outputs = net(numbers.reshape(-1, 1)).reshape(shapes[0])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = getattr(nn, name)()(outputs, targets).item()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(torch.nn, name)()(torch.tensor(outputs.detach().numpy()), torch.tensor(targets)).item()
    assert bool(said) == (abs(found - theirs) > 1e-9)
    assert all("PyTorch would broadcast both to (5, 5)" in str(one.message) for one in said)
    same = getattr(torch.nn, name)()(torch.tensor(outputs.numpy().ravel()), torch.tensor(targets.ravel())).item()
    assert found == pytest.approx(same, rel=1e-12)
