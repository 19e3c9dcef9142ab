"""state_dicts go to PyTorch and come from it, as files and in memory, without a name or a shape changed."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.io import load_tensors, save_tensors

torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
SAME = {
    "Linear": lambda t: t.Linear(3, 2),
    "Linear without bias": lambda t: t.Linear(3, 2, bias=False),
    "Conv1d": lambda t: t.Conv1d(4, 6, 3),
    "Conv2d": lambda t: t.Conv2d(4, 6, (3, 2), groups=2, dilation=2),
    "BatchNorm1d": lambda t: t.BatchNorm1d(3),
    "BatchNorm2d": lambda t: t.BatchNorm2d(3, affine=False),
    "BatchNorm without statistics": lambda t: t.BatchNorm1d(3, track_running_stats=False),
    "LayerNorm": lambda t: t.LayerNorm((2, 3)),
    "GroupNorm": lambda t: t.GroupNorm(2, 4),
    "RMSNorm": lambda t: t.RMSNorm(4),
    "PReLU": lambda t: t.PReLU(3),
    "Embedding": lambda t: t.Embedding(5, 3),
    "MultiheadAttention": lambda t: t.MultiheadAttention(4, 2),
    "MultiheadAttention without biases": lambda t: t.MultiheadAttention(4, 2, bias=False),
    "a network": lambda t: t.Sequential(
        t.Conv2d(1, 2, 3), t.BatchNorm2d(2), t.ReLU(), t.Flatten(), t.Dropout(0.1),
        t.Sequential(t.Linear(8, 4), t.LayerNorm(4), t.PReLU()), t.Linear(4, 2, bias=False),
    ),
}  # fmt: skip


def stirred(theirs):
    """All weights and statistics of a module of PyTorch random."""
    torch.manual_seed(3)
    with torch.no_grad():
        for part in (*theirs.parameters(), *theirs.buffers()):
            part.copy_(torch.rand(part.shape) + 0.5 if part.dtype.is_floating_point else torch.tensor(7))
    return theirs.eval()


@pytest.mark.parametrize("name", SAME)
def test_a_state_dict_of_pytorch_is_loaded_and_a_file_of_ours_read_back(tmp_path, name):
    from safetensors.torch import load_file, save_file

    theirs, ours, third = stirred(SAME[name](torch.nn)), SAME[name](nn), SAME[name](torch.nn)
    state = theirs.state_dict()
    assert ours.load_state_dict(state) == ([], [])
    found = ours.state_dict()
    assert list(found) == list(state)
    save_tensors(tmp_path / "ours.safetensors", found)
    third.load_state_dict(load_file(tmp_path / "ours.safetensors"))
    for part, tensor in third.state_dict().items():
        assert torch.equal(tensor, state[part])
    save_file(state, tmp_path / "theirs.safetensors")
    back, _ = load_tensors(tmp_path / "theirs.safetensors")
    again = SAME[name](nn)
    again.load_state_dict(back)
    for part, array in again.state_dict().items():
        np.testing.assert_array_equal(array, state[part].numpy())


def test_the_network_then_gives_pytorchs_numbers():
    theirs, ours = stirred(SAME["a network"](torch.nn)), SAME["a network"](nn).eval()
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(1).standard_normal((1, 4, 4))
    with torch.no_grad():
        wanted = theirs(torch.tensor(x[None], dtype=torch.float32))[0].numpy()
    np.testing.assert_allclose([v.data for v in ours(x.tolist())], wanted, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_types_of_numbers(dtype):
    theirs, ours = torch.nn.Linear(3, 2).to(dtype), nn.Linear(3, 2)
    ours.load_state_dict(theirs.state_dict())
    np.testing.assert_array_equal(ours.weight.data, theirs.weight.detach().numpy())


def test_modules_of_ones_own_have_the_names_that_pytorch_gives():
    def block(t):
        class Block(t.Module):
            def __init__(self):
                super().__init__()
                self.attention, self.norm = t.MultiheadAttention(4, 2), t.LayerNorm(4)
                layers = [t.Linear(4, 8), t.GELU(), t.Linear(8, 4)]
                self.layers = torch.nn.ModuleList(layers) if t is torch.nn else layers
                self.scale = t.Parameter(torch.ones(4) if t is torch.nn else np.ones(4))

        return Block()

    theirs, ours = stirred(block(torch.nn)), block(nn)
    ours.load_state_dict(theirs.state_dict())
    assert set(ours.state_dict()) == set(theirs.state_dict())


def test_a_run_of_float32_goes_to_pytorch_bit_for_bit(tmp_path):
    from safetensors.torch import load_file

    net = nn.Sequential(nn.Linear(2, 4, seed=0), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1, seed=1))
    x = np.random.default_rng(0).standard_normal((8, 2))
    with sv.Run(net, nn.MSELoss(), sv.optim.Adam(net.parameters()), data=(x, x[:, :1]), engine="numpy") as run:
        run.step(5)
        save_tensors(tmp_path / "net.safetensors", net.state_dict())
        wanted = run.predict(x)
    t = torch.nn
    theirs = t.Sequential(t.Linear(2, 4), t.BatchNorm1d(4), t.Tanh(), t.Linear(4, 1)).eval()
    theirs.load_state_dict(load_file(tmp_path / "net.safetensors"))
    assert theirs[1].num_batches_tracked == 5
    for part, array in net.state_dict().items():
        np.testing.assert_array_equal(theirs.state_dict()[part].numpy(), array)
    with torch.no_grad():
        found = theirs(torch.tensor(x, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
