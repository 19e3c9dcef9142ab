"""A hand-written loop over objects and a `Run` do the same; networks of pictures in runs and with PyTorch's weights."""

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import LOSSES, OPTIMISERS, make_optimizer
from kit.networks import NETWORKS
from kit.runs import ENGINES, far, make_data, make_run
from scalarviz import Run, nn, optim

STEPS, SAMPLES = 15, 8


def loop(net, loss, rule, data):
    for _ in range(STEPS):
        rule.zero_grad()
        total = sv.sum([loss(net(a), b) for a, b in zip(*data, strict=True)])
        if getattr(loss, "batch_reduction", "mean") == "mean":
            total = total / len(data[0])
        total.backward()
        rule.step()
    return total.data


@pytest.mark.parametrize("engine", ["numpy", "objects"])
@pytest.mark.parametrize(
    ("loss", "rule"), [*(("mse", rule) for rule in (*OPTIMISERS, "own")), *((name, "sgd_all") for name in LOSSES)]
)
def test_a_loop_and_a_run_end_at_the_same_weights(loss, rule, engine):
    network = "rgb" if LOSSES[loss].outputs == "probabilities" else "classes"
    net = NETWORKS[network].ours()
    last = loop(net, LOSSES[loss].ours(), make_optimizer(rule, net.parameters()), make_data(network, loss, SAMPLES))
    with make_run(network, loss, rule, engine=engine, samples=SAMPLES, batch_size=None) as run:
        run.step(STEPS)
        assert run.loss == pytest.approx(last, rel=1e-11)
        for name, wanted in net.state_dict().items():
            assert far(run.state_dict()[name], wanted) <= 1e-11, name


class Aside(nn.Module):
    """A layer that is computed for nothing, and one of which only the first row is used."""

    def __init__(self):
        self.aside, self.first, self.last = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(1, 3, seed=3)

    def forward(self, x):
        self.aside(x)
        return self.last(self.first(x)[:1])


@pytest.mark.parametrize("rule", ["sgd_all", "adamw_decay"])
@pytest.mark.parametrize("engine", ENGINES)
def test_weights_that_the_loss_does_not_read_do_not_decay(rule, engine):
    one, other, data = Aside(), Aside(), make_data("rgb", "mse", SAMPLES)
    before = other.state_dict()
    loop(one, nn.MSELoss(), make_optimizer(rule, one.parameters()), data)
    with sv.Run(
        other, nn.MSELoss(), make_optimizer(rule, other.parameters()), data=data, engine=engine, dtype="float64"
    ) as run:
        run.step(STEPS)
        found = run.state_dict()
    np.testing.assert_array_equal(found["aside.weight"], before["aside.weight"])
    np.testing.assert_array_equal(found["first.weight"][1], before["first.weight"][1])
    for name, array in one.state_dict().items():
        np.testing.assert_allclose(found[name], array, rtol=1e-10, err_msg=name)


# ---- networks of pictures


def test_a_run_predicts_as_the_objects_do():
    net, x, y = NETWORKS["picture"].ours(), NETWORKS["picture"].samples(9), make_data("picture", "cross-entropy", 9)[1]
    rule = optim.Adam(net.parameters(), lr=0.01)
    run = Run(net, nn.CrossEntropyLoss(), rule, (x, y), batch_size=4, engine="numpy", dtype="float64")
    run.step(5)
    found = run.predict(x)
    np.testing.assert_allclose(found, [[v.data for v in net(row)] for row in x], rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(run.predict(x.reshape(9, -1)), found)
    assert run.evaluate(x, y) == pytest.approx(run.evaluate(x.reshape(9, -1), y[:, None]), rel=1e-15)
    with pytest.raises(sv.ScalarvizError, match=r"36 numbers a sample or samples of shape \(1, 6, 6\), got the shape"):
        run.predict(x.transpose(0, 2, 3, 1))
    with pytest.raises(sv.ScalarvizError, match=r"got 35"):
        run.predict(np.ones((1, 35)))
    bad = x.copy()
    bad[4, 0, 5, 0] = np.nan
    with pytest.raises(sv.ScalarvizError, match=r"\[4, 0, 5, 0\] is nan; 1 of 9 samples"):
        run.predict(bad)


def test_pytorchs_weights_load_by_name_and_predict_the_same(tmp_path, torch):
    from safetensors.torch import save_file

    def network(lib, **options):
        return lib.Sequential(
            lib.Conv2d(1, 4, 3, padding=1), lib.BatchNorm2d(4), lib.ReLU(), lib.MaxPool2d(2),
            lib.Conv2d(4, 8, 3, stride=2), lib.ReLU(), lib.AvgPool2d(1), lib.Flatten(), lib.LayerNorm(8),
            lib.Linear(8, 10), **options,
        )  # fmt: skip

    torch.manual_seed(3)
    theirs = network(torch.nn)
    x = torch.randn(16, 1, 8, 8)
    theirs(x)  # in training mode: moves the running statistics
    save_file(theirs.state_dict(), tmp_path / "cnn.safetensors")
    wanted = theirs.eval()(x).detach().numpy()
    ours = network(nn).eval()
    ours.load_state_dict(sv.io.load_tensors(tmp_path / "cnn.safetensors")[0])
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert int(ours[1].num_batches_tracked) == 1
    found = [[v.data for v in ours(sample)] for sample in x.numpy()[:3]]
    np.testing.assert_allclose(found, wanted[:3], rtol=1e-4, atol=1e-5)  # theirs is float32
    run = Run(ours, nn.CrossEntropyLoss(), optim.SGD(ours.parameters(), lr=0.1), (x.numpy(), [1] * 16), engine="numpy")
    np.testing.assert_allclose(run.predict(x.numpy()), wanted, rtol=1e-4, atol=1e-5)
    run.save(tmp_path / "back.safetensors")
    back = network(torch.nn)
    saved = sv.io.load_tensors(tmp_path / "back.safetensors")[0]
    back.load_state_dict({k: torch.from_numpy(a) for k, a in saved.items()})
    np.testing.assert_array_equal(back.eval()(x).detach().numpy(), wanted)
