"""What PyTorch, JAX and flax train is watched as they keep it: one law over a loop of each, and their ways."""

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz.errors import InputError, TypeMismatchError

pytestmark = pytest.mark.ci
X = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
ALWAYS: Any = SimpleNamespace(due=lambda now, rests=False: True, took=lambda start, end: None)


class Torch:
    """A network with a batch norm; its parameters are changed in place."""

    frozen = "0.weight"

    def __init__(self):
        import torch

        torch.manual_seed(0)
        self.torch, nn = torch, torch.nn
        self.x = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3, bias=False))
        self.x[0].weight.requires_grad_(False)
        self.x[1].register_buffer("made anew", torch.ones(2), persistent=False)  # no part of its files
        self.rule = torch.optim.Adam([one for one in self.x.parameters() if one.requires_grad], lr=0.05)

    def step(self):
        """What the loop tells: parameters, gradients, loss; and the gradients by their names."""
        self.rule.zero_grad()
        loss = (self.x(self.torch.tensor(X)) - 1).square().mean()
        loss.backward()
        self.rule.step()
        return None, None, loss, {name: one.grad for name, one in self.x.named_parameters() if one.grad is not None}

    def values(self):
        return self.x.state_dict()


class Jax:
    """New arrays each step, which are donated to the next one."""

    frozen = None

    def __init__(self):
        import jax
        import jax.numpy as jnp

        self.jax = jax
        self.x = {"w": jnp.ones(3), "b": jnp.zeros(2, jnp.bfloat16), "k": jnp.ones(2, jnp.int4),
                  "key": jax.random.key(0)}  # fmt: skip
        self.now = self.x
        self.shrink = jax.jit(lambda p, g: {**p, "w": p["w"] - 0.5 * g}, donate_argnums=0)

    def step(self):
        grads = {"w": 2 * np.array(self.now["w"]), "b": None, "k": None, "key": None}
        self.now = self.shrink(self.now, grads["w"])
        return self.now, grads, float(np.sum(self.now["w"])), {"w": grads["w"]}

    def values(self):
        return {name: self.now[name].astype("float32") for name in ("b", "k", "w")}


class Nnx(Jax):
    """Modules that change in place."""

    def __init__(self):
        import jax
        import jax.numpy as jnp
        from flax import nnx

        class Net(nnx.Module):
            def __init__(self, rngs):
                self.first, self.norm = nnx.Linear(3, 4, rngs=rngs), nnx.BatchNorm(4, rngs=rngs)
                self.drop, self.rest = nnx.Dropout(0.1, rngs=rngs), nnx.List([nnx.Linear(4, 1, rngs=rngs)])

            def __call__(self, x):
                return self.rest[0](self.drop(jnp.tanh(self.norm(self.first(x)))))

        self.jax, self.nnx, self.x = jax, nnx, Net(nnx.Rngs(0))
        self.slope = nnx.value_and_grad(lambda net: jnp.mean(net(X) ** 2))

    def step(self):
        loss, grads = self.slope(self.x)
        now = self.nnx.state(self.x, self.nnx.Param)
        self.nnx.update(self.x, self.jax.tree.map(lambda p, g: p - 0.1 * g, now, grads))
        return None, grads, loss, {"rest.0.kernel": grads["rest"][0]["kernel"]}

    def values(self):
        net = self.x
        return {"first.kernel": net.first.kernel, "norm.mean": net.norm.mean, "rest.0.bias": net.rest[0].bias}


ROLES: dict[Any, dict[str, str]] = {  # of each loop, and which names have them
    Torch: {"weight": "0.weight 1.weight 3.weight", "bias": "0.bias 1.bias", "buffer": "1.running_mean 1.running_var",
            "count": "1.num_batches_tracked"},
    Jax: {"weight": "b k w"},
    Nnx: {"weight": "first.kernel norm.scale rest.0.kernel", "bias": "first.bias norm.bias rest.0.bias",
          "buffer": "norm.mean norm.var"},
}  # fmt: skip
LOOPS = [loop for loop, package in ((Torch, "torch"), (Jax, "jax"), (Nnx, "flax")) if find_spec(package)]


def copied(named):
    """Arrays of NumPy."""
    return {name: np.array(x.numpy() if hasattr(x, "numpy") else x, np.float32) for name, x in named.items()}


def by_name(watched, flat):
    return {tensor.name: tensor.of(flat) for tensor in watched.tensors}


@pytest.mark.parametrize("loop", LOOPS)
def test_names_values_gradients_and_updates_are_those_of_the_library(loop, tmp_path):
    one, plain = loop(), loop()
    watched = sv.watch(one.x)
    roles = {name: role for role, names in ROLES[loop].items() for name in names.split()}
    assert {tensor.name: tensor.role for tensor in watched.tensors} == roles
    watched.pace, looks, frames = ALWAYS, 0, []
    with sv.Recording(watched, gradients=True, updates=True, path=tmp_path / "a.svz"):
        for step in range(1, 5):
            before = copied(one.values())
            params, grads, loss, slopes = one.step()
            looks += watched.update(params, grads, loss=loss)
            frame = watched.frame()
            frames.append(frame)
            assert (frame.step, frame.loss) == (step, getattr(loss, "item", loss.__float__)())
            values, gradient, update, computed, frozen = (
                by_name(watched, getattr(frame, name))
                for name in ("values", "gradient", "update", "computed", "frozen")
            )
            for name, array in copied(one.values()).items():
                assert np.array_equal(values[name], array), name
                assert np.allclose(update[name], array - before[name], atol=1e-6), name
            for name, array in copied(slopes).items():
                assert np.array_equal(gradient[name], array), name
                assert computed[name].all()
            assert not any(flags.any() for name, flags in computed.items() if roles[name] in ("buffer", "count"))
            assert [name for name, flags in frozen.items() if flags.any()] == ([one.frozen] if one.frozen else [])
            plain.step()
    assert looks == 4
    for name, array in copied(plain.values()).items():  # watching changes no bit
        assert array.tobytes() == copied(one.values())[name].tobytes()
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        for place, frame in enumerate(frames, 1):
            assert recorded.frame(place).values.tobytes() == frame.values.astype("f4").tobytes()


def test_other_numbers_are_shown_with_their_values(torch):
    """Of other precisions, complex ones as pairs, a view that conjugates, a sparse gradient."""
    kinds = torch.float64, torch.float16, torch.bfloat16
    tree = {str(kind): torch.tensor([1.5, -0.375], dtype=kind) for kind in kinds}
    assert sv.watch(tree).frame().values.tolist() == [1.5, -0.375] * 3
    net = torch.nn.Linear(2, 2)
    net.rope = torch.nn.Parameter(torch.tensor([1 + 2j, 3 - 4j]))
    net.rope.grad = torch.tensor([5 + 6j, 7 + 8j])
    net.register_buffer("turned", torch.tensor([1 + 2j]).conj())
    watched = sv.watch(net)
    frame = watched.frame()
    values, gradient = by_name(watched, frame.values), by_name(watched, frame.gradient)
    assert (values["rope"].tolist(), gradient["rope"].tolist()) == ([[1, 2], [3, -4]], [[5, 6], [7, 8]])
    assert values["turned"].tolist() == [[1, -2]]
    net = torch.nn.Embedding(5, 2, sparse=True)
    net(torch.tensor([1, 3])).sum().backward()
    assert sv.watch(net).frame().gradient.reshape(5, 2).tolist() == [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]]


def test_a_layer_that_is_given_other_weights_is_seen_with_them(torch):
    """As pruning does, and FSDP."""
    net = torch.nn.Linear(3, 2)
    watched = sv.watch(net)
    before = watched.frame().values[:6]
    net.weight = torch.nn.Parameter(net.weight.detach() + 1)
    watched.update(loss=1.0)
    assert np.allclose(watched.frame().values[:6] - before, 1, atol=1e-6)
    net.weight = torch.nn.Parameter(torch.full((3, 2), 7.0))
    with pytest.raises(InputError, match=r"weight.*\(2, 3\).*\(3, 2\)"):
        watched.frame()


TORCH = {
    "parameters": (lambda nn: sv.watch(nn.Linear(2, 2).parameters()), TypeMismatchError, "named_parameters()"),
    "a weight": (lambda nn: sv.watch(nn.Linear(2, 2).weight), TypeMismatchError, "{'x': x}"),
    "elsewhere": (lambda nn: sv.watch(nn.Linear(2, 2, device="meta")), InputError, "weight", "meta", ".cpu()"),
    "lazy": (lambda nn: sv.watch(nn.LazyLinear(3)), InputError, "shape"),
}


@refusals(TORCH)
def test_refused_of_pytorch(refusal, torch):
    refusal.check(torch.nn)


class Later:
    """A loss as JAX has it: whoever asks for its number waits until it is computed."""

    shape, dtype, copy_to_host_async = (), np.dtype("float32"), print

    def __init__(self, number, deleted=False):
        self.number, self.deleted, self.asked = number, deleted, 0

    def __float__(self):
        self.asked += 1
        if self.deleted:
            raise RuntimeError("Array has been deleted.")
        return self.number


def test_a_loss_that_is_still_computed_is_not_waited_for_until_somebody_looks():
    watched, told = sv.watch({"w": np.ones(2)}), [Later(float(k), deleted=k == 3) for k in range(6)]
    for one in told:
        watched.update(loss=one)
    assert [one.asked for one in told] == [0] * 6
    frame = watched.frame()
    assert (frame.loss, frame.curve.step.tolist()) == (5.0, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(frame.curve.loss, [0, 1, 2, np.nan, 4, 5])


if find_spec("jax"):

    def test_what_is_no_number_of_jax_is_refused_at_once():
        import jax

        watched = sv.watch({"w": np.ones(2)})
        for wrong in (jax.numpy.ones(2), jax.numpy.array(1j), jax.random.key(0)):
            with pytest.raises(TypeMismatchError, match=r"loss.*one number"):
                watched.update(loss=wrong)
        watched.update(loss=jax.numpy.array(0.5, "bfloat16"))
        assert watched.frame().loss == 0.5

    def test_an_update_inside_a_compiled_function_is_refused_in_a_line():
        import jax

        watched = sv.watch({"w": jax.numpy.ones(2)})
        with pytest.raises(InputError, match=r"w.*Tracer.*outside") as caught:
            jax.jit(lambda p: watched.update(p) or p)({"w": jax.numpy.ones(2)})
        assert "\n" not in str(caught.value)
        assert watched.frame().values.tolist() == [1, 1]
