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
