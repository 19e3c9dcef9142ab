"""Recording: a symbolic Value has no number, and asking for it names the way out."""

from __future__ import annotations

import random
import threading
import warnings

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight
from scalarviz.errors import TracingError
from scalarviz.scalar import tracing

ASKING = {
    "bool": lambda x: bool(x * 1), "if": lambda x: 1 if x * 1 else 0, "and": lambda x: (x * 1) and 2,
    "float": lambda x: float(x * 1), "data": lambda x: (x * 1).data, "comparison": lambda x: 1 if x < 3 else 0,
    "sorting": lambda x: sorted([x * 1, x * 2]), "max": lambda x: max(x * 1, x * 2),
    "int": lambda x: int(x * 1), "round": lambda x: round(x * 1), "digits": lambda x: f"{x * 1:.2f}",
    "range": lambda x: list(range(x * 1)),
    "index": lambda x: [1, 2][x * 1], "index of a dot": lambda x: [1, 2][sv.dot([x], [1.0])],
    "equality": lambda x: 1 if x * 1 == 3 else 0, "inequality": lambda x: 1 if x * 1 != 3 else 0,
    "key of a dict": lambda x: {3: 1}.get(x * 1, 0), "set": lambda x: x * 1 in {3}, "key": lambda x: {1: 2}[x * 1],
    "membership": lambda x: 3 in [x * 1, x * 2],
    "dot": lambda x: float(sv.dot([x], [1.0])), "data of a dot": lambda x: sv.dot([x], [1.0]).data,
}  # fmt: skip


@pytest.mark.parametrize("how", ASKING)
def test_asking_for_a_number_while_recording_raises_and_names_where(how):
    with tracing.recording(), pytest.raises(TracingError, match=r"sv\.where"):
        ASKING[how](Value(2.0))


def test_a_weight_has_no_number_either():
    w = Weight(1.0)
    with tracing.recording(), pytest.raises(TracingError, match=r"sv\.where"):
        w.data  # noqa: B018


def test_where_and_comparisons_record():
    with tracing.recording():
        x = Value(2.0) * 1
        y = sv.where(x < 3, x, -x)
    assert "Symbol" in repr(y)


def test_backward_while_recording_raises():
    with tracing.recording(), pytest.raises(TracingError, match="return the loss"):
        (Value(2.0) * 1).backward()


def test_a_symbol_that_escapes_says_so():
    with tracing.recording():
        x = Value(2.0) * 1
        y = sv.dot([x], [1.0])
    for symbol in (x, y):
        assert "Symbol" in repr(symbol)
        with pytest.raises(TracingError, match="left its recording"):
            symbol.data  # noqa: B018


def test_a_recording_inside_a_recording_raises():
    with tracing.recording(), pytest.raises(TracingError, match="inside another"), tracing.recording():
        pass
    assert tracing.active() is None


def test_other_threads_go_on_computing_numbers():
    found = []
    with tracing.recording():
        thread = threading.Thread(target=lambda: found.append((Value(2.0) * 3).data))
        thread.start()
        thread.join()
    assert found == [6.0]


def test_an_error_inside_ends_the_recording():
    with pytest.raises(ZeroDivisionError), tracing.recording():
        raise ZeroDivisionError
    assert (Value(1.0) + 1).data == 2.0


@pytest.mark.parametrize(("draw", "name"), [(lambda: np.random.rand(2), "np.random"), (random.random, "random")])
def test_random_numbers_drawn_while_recording_are_said(draw, name):
    """A dropout by hand would have the same mask in every step."""
    with pytest.warns(RuntimeWarning, match=rf"random numbers \({name}\).*nn\.Dropout"):
        sv.record(lambda x: [draw(), x[0] * 2.0][1], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = np.random.default_rng(0)
        sv.record(lambda x: [own.random(), x[0] * 2.0][1], 1)
        np.random.rand(3)
        sv.record(lambda x: x[0] * 2.0, 1)
