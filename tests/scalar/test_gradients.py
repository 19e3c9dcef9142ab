"""Every operation against finite differences, and `gradcheck` itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Value
from scalarviz.scalar import function, ops

ANY = st.floats(-4, 4)
POSITIVE = st.floats(0.1, 4)
UNIT = st.floats(0.05, 0.95)
DOMAINS = {
    "div": (ANY, POSITIVE), "pow": (POSITIVE, st.floats(-3, 3)), "log": (POSITIVE,), "sqrt": (POSITIVE,),
    "binary_cross_entropy": (UNIT, UNIT), "huber": (ANY, POSITIVE), "clip": (ANY, st.floats(-2, -1), st.floats(1, 2)),
    "where": (st.sampled_from([-1.0, 0.0, 1.0]), ANY, ANY),
}  # fmt: skip
SMOOTH_AWAY_FROM = 0.01  # further from a kink than the steps of gradcheck


def kinks(name, point):
    """Distances of `point` from the operation's kinks."""
    x, *rest = point
    if name in ("relu", "abs", "leaky_relu"):
        return [x]
    if name in ("minimum", "maximum", "first_max"):
        return [x - rest[0]]
    if name == "clip":
        return [x - rest[0], x - rest[1]]
    return [abs(x) - rest[0]] if name == "huber" else []


@pytest.mark.parametrize("name", [*ops.METHODS, "binary_cross_entropy", "huber"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_operation_against_finite_differences(name, data):
    op = ops.get(name)
    if name in ("lt", "le", "gt", "ge"):
        a, b = data.draw(ANY), data.draw(ANY)
        assume(abs(a - b) > SMOOTH_AWAY_FROM)
    point = tuple(data.draw(s) for s in DOMAINS.get(name, (ANY,) * len(op.args)))
    if name in ("lt", "le", "gt", "ge"):
        point = (a, b)
    assume(all(abs(d) > SMOOTH_AWAY_FROM for d in kinks(name, point)))
    varied = [k for k, partial in enumerate(op.partials) if partial is not None]
    if not varied:
        assert sv.gradcheck(lambda *v: function(name)(*v) + 0 * v[0], *point)
        return

    def call(*numbers):
        operands = list(point)
        for k, number in zip(varied, numbers, strict=True):
            operands[k] = number
        return function(name)(*operands)

    assert sv.gradcheck(call, *(point[k] for k in varied))


@settings(max_examples=25, deadline=None)
@given(st.lists(ANY, min_size=2, max_size=6, unique=True))
def test_nary_operations_against_finite_differences(xs):
    assume(min(abs(a - b) for i, a in enumerate(xs) for b in xs[:i]) > SMOOTH_AWAY_FROM)
    for call in (sv.sum, sv.max, sv.logsumexp):
        assert sv.gradcheck(lambda *v, call=call: call(v), *xs)
    half = len(xs) // 2
    assert sv.gradcheck(lambda *v: sv.dot(v[:half], v[half : 2 * half], v[-1]), *xs)


def test_gradcheck_finds_a_wrong_derivative():
    wrong = sv.register("test_wrong_cube", "a", "a * a * a", ("2 * a * a",))
    try:
        result = sv.gradcheck(wrong, 1.5)
        assert not result
        assert result.numeric == pytest.approx((6.75,))
        assert result.analytic == (4.5,)
        assert result.error > 0.1
    finally:
        del ops.TABLE["test_wrong_cube"]


def test_gradcheck_fails_for_nan():
    assert not sv.gradcheck(lambda x: x * math.nan, 1.0)


def test_gradcheck_of_a_loss_with_weights():
    w = sv.Weight(0.3)
    assert sv.gradcheck(lambda x, y: (w * x - y).square() + sv.tanh(x * y), 0.5, -0.7)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sv.gradcheck(lambda: Value(1.0)), "at least one point"),
        (lambda: sv.gradcheck(lambda x: 1.0, 0.5), "must return a Value, got float"),
        (lambda: sv.gradcheck(lambda x: x, "a"), "a point must be a number"),
    ],
)
def test_gradcheck_refuses_what_it_cannot_check(call, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        call()
