"""Two files of one network: every tensor finds its counterpart, whatever an exporter did to names and sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz.io.matching import Match, matched

SHAPES = [(8, 3), (8,), (8, 8), (8,), (5, 8), (5,), (4, 1, 3, 3), (4,), (64, 12)]
NAMES = [f"net.{k // 2}.{'weight' if len(shape) > 1 else 'bias'}" for k, shape in enumerate(SHAPES)]


def pairs(found):
    return {name: match[:2] for name, match in found.items()}


def network(seed):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in zip(NAMES, SHAPES, strict=True)}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.permutations(range(len(NAMES))), st.sets(st.sampled_from(NAMES)),
    st.sampled_from(["", "model.", "module.net.deep."]), st.sets(st.sampled_from(NAMES)), st.booleans(),
)  # fmt: skip
def test_what_an_exporter_does_to_a_network_is_undone(seed, order, nameless, before, turned, other_way):
    """Another order, lost names, more in front of names, matrices turned round, in either direction."""
    a = network(seed)
    turned = {name for name in turned if a[name].ndim == 2}
    new = {name: f"onnx::X_{k}" if name in nameless else before + name for k, name in enumerate(NAMES)}
    kept = [NAMES[k] for k in order]
    b = {new[name]: np.ascontiguousarray(a[name].T) if name in turned else a[name] for name in kept}
    if other_way:
        assert pairs(matched(b, a)) == {new[name]: (name, name in turned) for name in NAMES}
    else:
        found = matched(a, b)
        assert pairs(found) == {name: (new[name], name in turned) for name in NAMES}
        assert all(np.array_equal(match.aligned(b[match.name]), a[name]) for name, match in found.items())


@pytest.mark.parametrize("seed", range(5))
def test_training_further_hides_no_counterpart_and_strangers_have_none(seed):
    """Numbers that moved by a third of their size are still the same tensor; by shape alone only what has no rival,
    unless the two files have all their shapes in one order."""
    a, rng = network(seed), np.random.default_rng(100 + seed)
    further = {f"v{k}": array + rng.normal(0, 0.3, array.shape) for k, array in enumerate(a.values())}
    large = [name for name in NAMES if a[name].size >= 16]
    found = matched(a, further)
    assert all(found[name].name == f"v{NAMES.index(name)}" for name in large)
    others = {f"v{k}": rng.normal(size=array.shape) for k, array in enumerate(a.values())}
    assert pairs(matched(a, others)) == {name: (f"v{k}", False) for k, name in enumerate(NAMES)}
    assert matched(a, {name: others[name] for name in [*list(others)[1:], "v0"]}).keys() < a.keys()
    stranger = matched(a, dict(reversed(others.items())))
    rivals = [name for name in NAMES if SHAPES.count(a[name].shape) > 1]
    assert set(stranger) == set(NAMES) - set(rivals)


@pytest.mark.parametrize("seed", range(5))
def test_rivals_of_one_shape_are_told_apart_by_where_their_numbers_point(seed):
    rng = np.random.default_rng(seed)
    a = {f"w{k}": rng.normal(size=(6, 5)) for k in range(7)}
    moved = [a[f"w{k}"] + rng.normal(0, 0.3, (6, 5)) for k in range(7)]
    b = {f"v{k}": moved[k].T if k % 2 else moved[k] for k in rng.permutation(7).tolist()}
    assert pairs(matched(a, b)) == {f"w{k}": (f"v{k}", bool(k % 2)) for k in range(7)}


def test_equal_tensors_numbers_without_a_direction_and_nothing_at_all():
    zeros, odd = np.zeros(4), np.array([np.nan, np.inf, 0.0, 1.0])
    assert pairs(matched({"a": zeros, "b": zeros}, {"x": zeros, "y": zeros})) == {"a": ("x", False), "b": ("y", False)}
    assert pairs(matched({"a": odd}, {"x": odd.astype(np.float32)})) == {"a": ("x", False)}
    assert matched({"a": np.full((20, 2), np.nan)}, {"x": np.ones((2, 20)), "y": np.ones((2, 20))}) == {}
    assert matched({"a": np.zeros((2, 3))}, {"a": np.zeros((4, 3))}) == {}
    assert matched({}, {"a": zeros}) == matched({"a": zeros}, {}) == {}
    one, other = np.ones(1), np.array(0.5)
    assert pairs(matched({"a": one}, {"b": other})) == {"a": ("b", False)}
    assert pairs(matched({"a": one, "c": other}, {"b": other, "d": one})) == {"a": ("b", False), "c": ("d", False)}
    square = np.random.default_rng(0).normal(size=(6, 6))
    assert matched({"a": square}, {"a": square.T}) == {"a": Match("a", True, (6, 6))}
    norm = np.arange(4.0).reshape(4, 1, 1)
    assert matched({"a": norm}, {"b": norm.ravel()}) == {"a": Match("b", False, (4, 1, 1))}
