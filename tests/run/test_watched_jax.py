"""What JAX, flax and equinox train is watched as they keep it; without them, by what JAX promises of its trees."""

from __future__ import annotations

import sys
import warnings
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.run.watched.pace import Pace
from scalarviz.view.film import Film


def has(*packages):
    return all(find_spec(package) for package in packages)


class Boxed:
    """An object that JAX was told how to take apart."""

    def __init__(self, **parts):
        self.parts = parts


def flatten_one(x, is_leaf):
    """What `jax.tree_util.tree_flatten_with_path` gives where each part counts as a leaf."""
    if isinstance(x, Boxed) and not is_leaf(x):
        return [((SimpleNamespace(name=name),), part) for name, part in x.parts.items()], None
    return [((), x)], None


def test_what_jax_can_take_apart_is_taken_apart(monkeypatch):
    jax = SimpleNamespace(tree_util=SimpleNamespace(tree_flatten_with_path=flatten_one))
    tree = Boxed(layer=Boxed(kernel=np.ones((2, 3)), width=3, act=np.tanh), rows=[np.ones(2)])
    monkeypatch.setitem(sys.modules, "jax", jax)
    watched = sv.watch(tree)
    assert [tensor.name for tensor in watched.tensors] == ["layer.kernel", "rows.0"]
    tree.parts["layer"] = Boxed(kernel=np.full((2, 3), 2.0))
    watched.update(loss=1.0)
    assert watched.frame().values.tolist() == [2.0] * 6 + [1.0] * 2
    assert not watched.frame().update[6:].any()


def test_statistics_of_batches_are_not_trained_and_keys_are_no_numbers():
    class Key:
        dtype, shape = "key<fry>", ()

        def __array__(self, dtype=None, copy=None):
            raise TypeError("JAX array with PRNGKey dtype cannot be converted to a NumPy array")

    tree = {"params": {"scale": np.ones(2)}, "batch_stats": {"norm": {"mean": np.ones(2)}}, "dropout": Key()}
    roles = {tensor.name: tensor.role for tensor in sv.watch(tree).tensors}
    assert roles == {"params.scale": "weight", "batch_stats.norm.mean": "buffer"}


if has("jax"):
    import jax
    import jax.numpy as jnp

    X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)

    def test_arrays_that_are_donated_to_each_step_are_seen():
        params = {
            "w": jnp.ones(20),
            "b": jnp.zeros(2, jnp.bfloat16),
            "k": jnp.ones(2, jnp.int4),
            "key": jax.random.key(0),
        }
        watched = sv.watch(params)
        watched.pace = Pace(rate=1e9, share=1.0)
        shrink = jax.jit(lambda p: {**p, "w": p["w"] * 0.5}, donate_argnums=0)
        for step in range(1, 7):
            params = shrink(params)
            watched.update(params, loss=step)
            assert watched.last.values[0] == 0.5**watched.last.step
        shrink(params)
        assert watched.frame().step == 6

    def test_an_update_inside_a_compiled_function_is_refused_in_a_line():
        watched = sv.watch({"w": jnp.ones(2)})
        with pytest.raises(InputError, match=r"w.*Tracer.*outside of the compiled function") as caught:
            jax.jit(lambda p: watched.update(p) or p)({"w": jnp.ones(2)})
        assert "\n" not in str(caught.value)
        assert watched.frame().values.tolist() == [1, 1]


def by_name(watched, flat):
    return {tensor.name: tensor.of(flat) for tensor in watched.tensors}

    def test_a_film_in_a_program_of_jax_brings_no_warning(tmp_path):
        """JAX warns of every fork, as that is by which an encoder begins."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with Film(tmp_path / "a.mp4", (64, 64)) as film:
                film.add(np.zeros((64, 64, 3), np.uint8))
        assert (tmp_path / "a.mp4").stat().st_size > 100


if has("jax", "flax"):
    from flax import linen, nnx

    def test_modules_of_nnx_are_read_where_they_change():
        class Net(nnx.Module):
            def __init__(self, rngs):
                self.first, self.norm = nnx.Linear(3, 4, rngs=rngs), nnx.BatchNorm(4, rngs=rngs)
                self.drop, self.rest = nnx.Dropout(0.1, rngs=rngs), nnx.List([nnx.Linear(4, 1, rngs=rngs)])

            def __call__(self, x):
                return self.rest[0](self.drop(jnp.tanh(self.norm(self.first(x)))))

        net = Net(nnx.Rngs(0))
        watched = sv.watch(net)
        assert {tensor.name: tensor.role for tensor in watched.tensors} == {
            "first.bias": "bias", "first.kernel": "weight", "norm.bias": "bias", "norm.mean": "buffer",
            "norm.scale": "weight", "norm.var": "buffer", "rest.0.bias": "bias", "rest.0.kernel": "weight",
        }  # fmt: skip
        for step in range(1, 4):
            before = np.array(net.first.kernel)
            loss, grads = nnx.value_and_grad(lambda net: jnp.mean(net(X) ** 2))(net)
            nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(net, nnx.Param), grads))
            watched.update(grads=grads, loss=loss)
            frame = watched.frame()
            assert (frame.step, frame.loss) == (step, float(loss))
            values, gradient, update = (by_name(watched, p) for p in (frame.values, frame.gradient, frame.update))
            assert np.array_equal(values["first.kernel"], net.first.kernel)
            assert np.array_equal(values["norm.mean"], net.norm.mean)
            assert np.array_equal(gradient["rest.0.kernel"], grads["rest"][0]["kernel"])
            assert np.allclose(update["first.kernel"], np.array(net.first.kernel) - before, atol=1e-7)

    def test_what_linen_wraps_is_found():
        kernel = linen.with_partitioning(linen.initializers.ones, (None, "model"))
        variables = linen.Dense(2, kernel_init=kernel).init(jax.random.key(0), X)
        watched = sv.watch(variables)
        assert [(tensor.name, tensor.shape) for tensor in watched.tensors] == [
            ("params.kernel.value", (3, 2)), ("params.bias", (2,)),
        ]  # fmt: skip


if has("jax", "equinox"):
    import equinox

    def test_modules_of_equinox_with_their_gradients():
        net = equinox.nn.MLP(3, 1, 4, 1, key=jax.random.key(0))
        watched = sv.watch(net)
        value_and_grad = equinox.filter_value_and_grad(lambda net: jnp.mean(jax.vmap(net)(X) ** 2))
        for _ in range(3):
            loss, grads = value_and_grad(net)
            net = equinox.apply_updates(net, jax.tree.map(lambda g: -0.1 * g, grads))
            watched.update(net, grads, loss=loss)
        frame = watched.frame()
        assert (frame.step, frame.loss, frame.computed.all()) == (3, float(loss), True)
        gradient = by_name(watched, frame.gradient)
        assert np.array_equal(gradient["layers.1.weight"], grads.layers[1].weight)
