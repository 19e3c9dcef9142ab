"""Networks of pictures in runs: N x C x H x W data, stages, files, and weights that go to PyTorch and back."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim

SHAPE = (2, 6, 5)


def cnn(first=()):
    net = nn.Sequential(
        *first, nn.Conv2d(2, 3, 3, stride=(1, 2), padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(3, 4, 2, bias=False), nn.Tanh(), nn.AvgPool2d((2, 1)), nn.Flatten(), nn.LayerNorm(8),
        nn.Linear(8, 3),
    )  # fmt: skip
    rng = np.random.default_rng(1)
    for name, array in [*((n, p.data) for n, p in net.named_parameters()), *net.named_buffers()]:
        if array.dtype == float:
            array[...] = rng.uniform(0.5, 1.5, array.shape) if "var" in name else rng.normal(0, 0.5, array.shape)
    return net.eval()


def data(n=9):
    rng = np.random.default_rng(2)
    return rng.normal(size=(n, *SHAPE)), rng.integers(0, 3, n)


def test_a_run_predicts_as_the_objects_do():
    net = cnn()
    x, y = data()
    rule = optim.Adam(net.parameters(), lr=0.01)
    run = Run(net, nn.CrossEntropyLoss(), rule, (x, y), batch_size=4, engine="numpy", dtype="float64")
    run.step(5)
    found = run.predict(x)
    np.testing.assert_allclose(found, [[v.data for v in net(row)] for row in x], rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(run.predict(x.reshape(9, -1)), found)
    assert run.evaluate(x, y) == pytest.approx(run.evaluate(x.reshape(9, -1), y[:, None]), rel=1e-15)
    with pytest.raises(sv.ScalarvizError, match=r"60 numbers a sample or samples of shape \(2, 6, 5\), got the shape"):
        run.predict(x.transpose(0, 2, 3, 1))
    with pytest.raises(sv.ScalarvizError, match=r"got 59"):
        run.predict(np.ones((1, 59)))
    bad = x.copy()
    bad[4, 1, 5, 0] = np.nan
    with pytest.raises(sv.ScalarvizError, match=r"\[4, 1, 5, 0\] is nan; 1 of 9 samples"):
        run.predict(bad)


@pytest.mark.parametrize("engine", ["objects", "numpy"])
def test_a_picture_may_be_the_target(engine):
    net = nn.Conv2d(1, 2, 3, padding=1, seed=1)
    x = np.random.default_rng(4).normal(size=(5, 1, 3, 4))
    y = np.concatenate([2 * x, -x], axis=1)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine=engine, dtype="float64")
    first = run.evaluate(x, y)
    run.step(20)
    assert run.loss < 0.5 * first
    assert run.evaluate(x, y) == pytest.approx(((run.predict(x) - y.reshape(5, -1)) ** 2).mean(), rel=1e-12)
    with pytest.raises(sv.ScalarvizError, match="evaluate: the targets"):
        run.evaluate(x, x)


def test_stages_name_every_layer_and_activations_are_its_pictures():
    net = cnn()
    x, y = data()
    run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numpy", dtype="float64")
    assert [(s.name, s.kind, s.outputs) for s in run.stages] == [
        ("0", "conv2d", 54), ("1", "batch_norm2d", 54), ("2", "relu", 54), ("3", "max_pool2d", 30),
        ("4", "conv2d", 16), ("5", "tanh", 16), ("6", "avg_pool2d", 8), ("8", "layer_norm", 8), ("9", "linear", 3),
    ]  # fmt: skip
    frame = run.frame(x[0])
    picture = net[:4](x[0])
    wanted = [v.data for plane in picture for row in plane for v in row]
    np.testing.assert_allclose(frame.activations["3"], wanted, rtol=1e-12, atol=1e-13)
    assert frame.dead["2"].shape == (54,)


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
