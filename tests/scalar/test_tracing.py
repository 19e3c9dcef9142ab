"""Recording: a symbolic Value has no number, and asking for it names the way out."""

import random
import warnings

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value
from scalarviz.errors import InputError, TracingError

W = sv.Weight(1.0)
ASKING = {
    "if": lambda x: 1 if x * 1 else 0, "float": lambda x: float(x * 1), "data": lambda x: (x * 1).data,
    "comparison": lambda x: 1 if x < 3 else 0, "sorting": lambda x: sorted([x * 1, x * 2]), "int": lambda x: int(x * 1),
    "round": lambda x: round(x * 1), "digits": lambda x: f"{x * 1:.2f}", "weight": lambda x: W.data,
    "index": lambda x: [1, 2][x * 1], "equality": lambda x: 1 if x * 1 == 3 else 0,
    "inequality": lambda x: 1 if x * 1 != 3 else 0, "key of a dict": lambda x: {3: 1}.get(x * 1, 0),
    "dot": lambda x: float(sv.dot([x], [1.0])), "data of a dot": lambda x: sv.dot([x], [1.0]).data,
}  # fmt: skip
OTHERS = {
    "item": (lambda x: (x * 1).item(), "item"), "local": (lambda x: sv.dot([x], [x]).local_gradients, "recorded"),
    "backward": (lambda x: (x * 1).backward(), "return the loss"), "smallest": (lambda x: min(x, x * 2), "sv.min"),
    "NumPy": (np.arctan, "sv.sin"), "another": (lambda x: sv.trace(lambda y: y, 1), "inside another"),
}  # fmt: skip


@pytest.mark.parametrize("how", [*ASKING, *OTHERS])
def test_what_a_recording_cannot_do_is_said_with_a_way_out_and_ends_it(how):
    ask, way_out = OTHERS.get(how) or (ASKING[how], "sv.where")
    symbols = []
    with pytest.raises(sv.ScalarvizError) as caught:
        sv.trace(lambda x: [symbols.append(x[0] * 2.0), ask(x[0])][1], 1)
    assert how == "NumPy" or isinstance(caught.value, TracingError)
    assert way_out in str(caught.value) or how in ("local", "another")
    assert (Value(1.0) + 1).data == 2.0  # the thread computes numbers again
    assert "Symbol" in repr(symbols[0])
    with pytest.raises(TracingError, match="outside its recording"):
        symbols[0].data  # noqa: B018


def test_an_error_of_the_model_ends_the_recording_and_a_symbol_of_another_is_refused():
    kept = []
    with pytest.raises(ZeroDivisionError):
        sv.trace(lambda x: [kept.append(x[0]), 1 / 0], 1)
    with pytest.raises(InputError, match="another traced function"):
        sv.trace(lambda x: x[0] + kept[0], 1)


@pytest.mark.parametrize(("draw", "name"), [(lambda: np.random.rand(2), "np.random"), (random.random, "random")])
def test_random_numbers_drawn_while_recording_are_said(draw, name):
    """A dropout by hand would have the same mask in every step."""
    with pytest.warns(RuntimeWarning, match=rf"random numbers \({name}\).*nn\.Dropout"):
        sv.trace(lambda x: [draw(), x[0] * 2.0][1], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = np.random.default_rng(0)
        sv.trace(lambda x: [own.random(), x[0] * 2.0][1], 1)
        np.random.rand(3)
        sv.trace(lambda x: x[0] * 2.0, 1)
