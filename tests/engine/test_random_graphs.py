"""Networks, expressions and branches drawn at random: every engine against the objects, and against PyTorch."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.drawn import STEPS, drawn, typed
from kit.runs import ENGINES, TOLERANCE, far, loss_and_gradient
from scalarviz import nn
from scalarviz.errors import InputError

others = pytest.mark.parametrize("engine", ["numpy", "numba"])


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(12, 60))])
def test_a_random_network_has_the_gradient_of_the_objects(seed):
    net, loss, data = drawn(seed)
    for dtype, tolerance in TOLERANCE.items():
        wanted = loss_and_gradient(net, loss, data, engine="objects", dtype=dtype)
        assert np.isfinite(wanted).all()
        for engine in ("numpy", "numba"):
            assert far(loss_and_gradient(net, loss, data, engine=engine, dtype=dtype), wanted) <= tolerance, engine


START = np.random.default_rng(5).normal(size=8).astype(np.float32)
WEIGHTS = nn.Parameter(START)
EXPRESSIONS = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2**32 - 1)), min_size=3, max_size=25)


def weighted(outputs, targets):
    return outputs[0] * targets[0] + outputs[1] * targets[1] - outputs[2] + targets[2]


@others
@settings(max_examples=20, deadline=None)
@given(
    steps=EXPRESSIONS, samples=st.sampled_from([1, 5, 40]), dtype=st.sampled_from([*TOLERANCE]), seed=st.integers(0, 99)
)
def test_a_random_expression_has_the_gradient_of_the_objects(engine, steps, samples, dtype, seed):
    # in float32 a comparison may go the other way: the numbers are exact there
    data = np.random.default_rng(seed).uniform(-1, 1, (2, samples, 3)).astype(np.float32).astype(float)
    model = lambda x: [*(o.tanh() for o in typed(steps, x, WEIGHTS)[:2]), WEIGHTS[0] * x[0]]  # noqa: E731
    given = {"weights": [WEIGHTS], "dtype": dtype, "data": tuple(data)}
    wanted, found = (loss_and_gradient(model, weighted, engine=each, **given) for each in ("objects", engine))
    assert far(found, wanted) <= TOLERANCE[dtype] * 10


# ---- branches, kinks and dangerous derivatives


def gradients(branching, seed, engine, samples=1, dtype="float64"):
    """Gradients of the weights of a random graph, or None where it has none of them."""
    steps, weights, inputs, upstream = branching.recipe(Random(seed))
    w, data = [sv.Weight(x) for x in weights], np.tile(inputs, (samples, 1))
    options = {"weights": w, "engine": engine, "batch_size": samples, "dtype": dtype}
    try:
        with np.errstate(all="ignore"):
            loss_and_gradient(lambda x: branching.graph(sv, steps, [*x, *w])[0], lambda o, t: upstream * o,
                              (data, data[:, :1]), **options)  # fmt: skip
    except InputError as error:
        if "nothing would be trained" not in str(error):
            raise
        return None
    return np.array([weight.grad for weight in w])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.ci
def test_branches_have_the_gradients_of_pytorch(oracle, make_oracle, engine):
    compared = 0
    for seed, expected in enumerate(oracle("graphs")["gradients"]):
        found = gradients(make_oracle.branching, seed, engine)
        if found is not None and not np.isnan(expected).all():
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13, err_msg=str(seed))
            compared += 1
    assert compared > 100
