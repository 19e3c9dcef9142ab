"""A torch.nn.Module is watched: PyTorch's own numbers, read where they lie, with its gradients and marks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.watched.leaves import numbers
from scalarviz.run.watched.modules import module_parts
from scalarviz.run.watched.pace import Pace

torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 3, bias=False)
    )


def step(net, optimizer, seed):
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(16, 4, generator=generator), torch.randn(16, 3, generator=generator)
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def flat(net, what):
    return np.concatenate([what(one).detach().numpy().ravel() for one in net.state_dict(keep_vars=True).values()])


def by_name(watched, numbers):
    return {tensor.name: tensor.of(numbers) for tensor in watched.tensors}


def test_names_values_gradients_and_updates_are_those_of_pytorch():
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    watched = sv.watch(net)
    roles = {tensor.name: tensor.role for tensor in watched.tensors}
    assert set(roles) == set(net.state_dict())
    assert (roles["0.bias"], roles["1.running_mean"], roles["1.num_batches_tracked"]) == ("bias", "buffer", "count")
    assert not watched.frame().computed.any()
    for seed in range(3):
        before = {name: one.clone() for name, one in net.state_dict().items()}
        loss = step(net, optimizer, seed)
        watched.update(loss=loss)
        frame = watched.frame()
        assert (frame.step, frame.loss) == (seed + 1, loss.item())
        values, gradient, update, computed = (
            by_name(watched, part) for part in (frame.values, frame.gradient, frame.update, frame.computed)
        )
        for name, one in net.state_dict().items():
            assert np.array_equal(values[name], one.numpy()), name
            assert np.allclose(update[name], (one - before[name]).numpy(), atol=1e-7), name
        for name, one in net.named_parameters():
            assert np.array_equal(gradient[name], one.grad.numpy())
            assert computed[name].all()
        assert not computed["1.running_mean"].any()


def test_weights_are_not_copied_on_the_way():
    net = network()
    for part in module_parts(net):
        assert np.shares_memory(numbers(part.name, part.leaf), part.leaf.detach().numpy()), part.name


def test_watching_changes_no_bit_of_training():
    results = []
    for watching in (False, True):
        net = network()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        watched = sv.watch(net)
        for seed in range(10):
            loss = step(net, optimizer, seed)
            if watching:
                watched.update(loss=loss)
                watched.look()
        results.append([one.numpy().tobytes() for one in net.state_dict().values()])
    assert results[0] == results[1]


def test_what_is_not_trained_is_marked_as_frozen():
    net = network()
    net[0].weight.requires_grad_(False)
    watched = sv.watch(net)
    frozen = by_name(watched, watched.frame().frozen)
    assert [name for name, flags in frozen.items() if flags.any()] == ["0.weight"]
    watched = sv.watch(dict(net.named_parameters()))
    assert [name for name, flags in by_name(watched, watched.frame().frozen).items() if flags.any()] == ["0.weight"]
    assert not sv.watch(net.state_dict()).frame().frozen.any()  # there nothing is trained anywhere


def test_a_layer_that_is_given_other_weights_is_seen_with_them():
    net = network()
    watched = sv.watch(net)
    net[3].weight = torch.nn.Parameter(torch.full((3, 8), 7.0))
    assert (by_name(watched, watched.frame().values)["3.weight"] == 7).all()
    net[3] = torch.nn.Linear(8, 2, bias=False)
    with pytest.raises(InputError, match=r"3\.weight: got the shape \(2, 8\), it was \(3, 8\)"):
        watched.frame()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_precisions_are_shown_with_their_values(dtype):
    net = torch.nn.Linear(3, 2).to(dtype)
    watched = sv.watch(net)
    wanted = torch.cat([net.weight.detach().double().ravel(), net.bias.detach().double()]).numpy()
    assert np.array_equal(watched.frame().values.astype(np.float64), wanted)


def test_a_sparse_gradient_is_shown_as_what_it_is():
    net = torch.nn.Embedding(5, 2, sparse=True)
    net(torch.tensor([1, 3])).sum().backward()
    gradient = sv.watch(net).frame().gradient.reshape(5, 2)
    assert gradient.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]]


def test_what_is_elsewhere_is_refused_with_the_line_to_use():
    net = torch.nn.Linear(2, 2, device="meta")
    with pytest.raises(InputError, match=r"weight is on meta.*p\.detach\(\)\.cpu\(\)"):
        sv.watch(net)
    with pytest.raises(InputError, match="has no shape yet"):
        sv.watch(torch.nn.LazyLinear(3))


def test_infinities_and_nans_are_seen():
    net = torch.nn.Linear(2, 1)
    watched = sv.watch(net)
    with torch.no_grad():
        net.weight[0, 0], net.weight[0, 1] = float("nan"), float("inf")
    watched.update(loss=float("nan"))
    frame = watched.frame()
    assert np.isnan(frame.values[0])
    assert np.isinf(frame.values[1])
    assert watched.frame() is frame  # NaN is as it was: no step


def test_neither_pytorch_nor_jax_is_imported():
    code = (
        "import sys, numpy as np, scalarviz as sv\n"
        "sv.watch({'a': [np.ones(3)]}).update(loss=1.0)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'torch', 'jax'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_complex_numbers_are_pairs_and_other_ways_of_keeping_numbers_are_read():
    net = torch.nn.Linear(2, 2)
    net.rope = torch.nn.Parameter(torch.tensor([1 + 2j, 3 - 4j]))
    net.register_buffer("turned", torch.tensor([1 + 2j]).conj())
    net.register_buffer("minus", torch._neg_view(torch.tensor([1.0, -2.0])))
    net.rope.grad = torch.tensor([5 + 6j, 7 + 8j])
    watched = sv.watch(net)
    frame = watched.frame()
    values, gradient = by_name(watched, frame.values), by_name(watched, frame.gradient)
    assert values["rope"].tolist() == torch.view_as_real(net.rope).tolist() == [[1, 2], [3, -4]]
    assert gradient["rope"].tolist() == [[5, 6], [7, 8]]
    assert (values["turned"].tolist(), values["minus"].tolist()) == ([[1, -2]], [-1, 2])


class OtherNames(torch.nn.Module):
    """Its files have other names than its layers, as those of wrappers have, or cannot be made at all."""

    def __init__(self, fails):
        super().__init__()
        self.norm, self.fails = torch.nn.BatchNorm1d(3), fails
        self.register_buffer("mask", torch.ones(3), persistent=False)

    def state_dict(self, *args, **kwargs):
        if self.fails:
            raise RuntimeError("sharded")
        return {f"wrapped.{name}": one for name, one in super().state_dict(*args, **kwargs).items()}


@pytest.mark.parametrize("fails", [False, True])
def test_buffers_are_those_of_the_layers_whatever_a_file_would_hold(fails):
    names = [tensor.name for tensor in sv.watch(OtherNames(fails)).tensors]
    assert names == [f"norm.{name}" for name in torch.nn.BatchNorm1d(3).state_dict()]


def test_several_modules_are_watched_as_one():
    torch.manual_seed(0)
    pair = {"G": torch.nn.Linear(2, 3), "D": [torch.nn.BatchNorm1d(3)], "scale": torch.ones(2, requires_grad=True)}
    pair["G"].bias.requires_grad_(False)
    watched = sv.watch(pair)
    optimizer = torch.optim.SGD([*pair["G"].parameters(), *pair["D"][0].parameters(), pair["scale"]], lr=0.1)
    before = pair["G"].weight.detach().clone()
    loss = (pair["D"][0](pair["G"](torch.randn(8, 2) * pair["scale"])) ** 3).sum()
    loss.backward()
    optimizer.step()
    watched.update(loss=loss)
    frame = watched.frame()
    roles = {tensor.name: tensor.role for tensor in watched.tensors}
    assert (list(roles)[:4], list(roles)[-1]) == (["G.weight", "G.bias", "D.0.weight", "D.0.bias"], "scale")
    assert (roles["D.0.running_var"], roles["D.0.num_batches_tracked"]) == ("buffer", "count")
    assert (frame.step, frame.loss) == (1, loss.item())
    update, gradient, frozen = (by_name(watched, part) for part in (frame.update, frame.gradient, frame.frozen))
    assert np.allclose(update["G.weight"], (pair["G"].weight.detach() - before).numpy(), atol=1e-7)
    assert np.array_equal(gradient["scale"], pair["scale"].grad.numpy())
    assert [name for name, flags in frozen.items() if flags.any()] == ["G.bias"]


def test_the_step_of_a_layer_with_new_weights_is_that_of_one_step():
    net = torch.nn.Linear(3, 2)
    watched = sv.watch(net)
    watched.pace = Pace(rate=1e9, share=1.0)  # it is always time
    looks = 0
    for step in range(6):
        net.weight = torch.nn.Parameter(net.weight.detach() + 1)  # as pruning does, and FSDP
        if watched.update(loss=step):
            assert np.allclose(watched.last.update[:6], 1, atol=1e-6)
            looks += 1
    assert looks >= 3


def test_biases_by_other_names_and_steps_of_tensors():
    watched = sv.watch(torch.nn.ModuleDict({"a": torch.nn.MultiheadAttention(4, 2), "l": torch.nn.LSTM(3, 4)}))
    biases = {tensor.name for tensor in watched.tensors if tensor.role == "bias"}
    assert biases == {"a.in_proj_bias", "a.out_proj.bias", "l.bias_ih_l0", "l.bias_hh_l0"}
    watched.update(step=torch.tensor(5))
    assert watched.frame().step == 5
    with pytest.raises(InputError, match=r"step must be a whole number >= 0, got tensor\(0\.5"):
        watched.update(step=torch.tensor(0.5))


@pytest.mark.parametrize(
    ("x", "tip"),
    [
        (lambda net: net.parameters(), r"dict\(net\.named_parameters\(\)\)"), (lambda net: net.weight, "{'x': x}"),
        (lambda net: torch.optim.SGD(net.parameters(), lr=0.1), "try the network"),
    ],
)  # fmt: skip
def test_what_is_tried_first_is_told_what_to_give(x, tip):
    with pytest.raises(TypeMismatchError, match=tip):
        sv.watch(x(torch.nn.Linear(2, 2)))
