"""Bad values for the panels that describe pictures of a plane: each is refused by name, none by accident."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.panels import Axis, Features, NeuronMaps, PlaneMap, PointEdits, Points

X = np.zeros((4, 3))


def plane(**change):
    given = {"title": "a", "across": Axis("x", 0.0, 1.0), "up": Axis("y", 0.0, 1.0)}
    return PlaneMap(**{**given, **change})


def neurons(**change):
    return NeuronMaps(**{"across": Axis("x", 0.0, 1.0), "up": Axis("y", 0.0, 1.0), **change})


def features(**change):
    given = {"names": ("a", "b"), "across": Axis("x", 0.0, 1.0), "up": Axis("y", 0.0, 1.0), "values": len, "on": len}
    return Features(**{**given, **change})


def of(call, *values):
    return [(call, value) for value in values]


TABLE = {
    "NeuronMaps": [
        *of(lambda x: neurons(across=x), None, (0.0, 1.0), "x"),
        *of(lambda x: neurons(up=x), None, (0.0, 1.0), "y"),
        *of(lambda x: neurons(inputs=x), None, X, "itself"),
        *of(lambda x: neurons(place=x), None, "column", "overlay", 3),
        *of(lambda x: neurons(change=x), (4, 2), "change", 3),
    ],
    "Features": [
        *of(lambda x: features(names=x), None, "ab", (), ("a", "a"), (1, 2)),
        *of(lambda x: features(across=x), None, (0.0, 1.0), "x"),
        *of(lambda x: features(up=x), None, (0.0, 1.0), "y"),
        *of(lambda x: features(values=x), None, X, "values"),
        *of(lambda x: features(on=x), None, (True, False), "on"),
        *of(lambda x: features(rows=x), (0, 1), "rows", 3),
        *of(lambda x: features(change=x), "change", 3),
        *of(lambda x: features(place=x), None, "column", "left"),
    ],
    "PlaneMap": [
        *of(lambda x: plane(title=x), None, 3, b"a"),
        *of(lambda x: plane(across=x), None, (0.0, 1.0), "x"),
        *of(lambda x: plane(up=x), None, (0.0, 1.0), "y"),
        *of(lambda x: plane(inputs=x), None, X, "itself"),
        *of(lambda x: plane(output=x), None, -1, 0.5, "0", True),
        *of(lambda x: plane(span=x), None, 1.0, (1.0, 0.0), (0.0,), (0.0, math.nan), (0.0, math.inf), "01", (0, 1, 2)),
        *of(lambda x: plane(says=x), None, "ab", ("a",), ("a", 2), ("a", "b", "c")),
        *of(lambda x: plane(cells=x), 0, -1, 1.5, "8", 10_000, True),
        *of(lambda x: plane(points=x), X, "points", 3),
        *of(lambda x: plane(classes=x), None, "ab", ("a",), tuple("abcdefghi"), (1, 2)),
        *of(lambda x: plane(edits=x), print, "add", (print, print)),
        *of(lambda x: plane(place=x), None, "left", 3),
        *of(lambda x: Axis(x, 0.0, 1.0), None, 3),
        *of(lambda x: Axis("x", x, 1.0), None, "0", 1.0, 2.0, math.nan, -math.inf),
        *of(lambda x: Axis("x", 0.0, 1.0, x), 1.0, (1.0, 1.0), ("a", "b"), (0.0, math.inf)),
        *of(lambda x: Points(x, np.zeros(4)), None, "a", np.zeros(4), np.zeros((4, 3)), np.zeros((3, 2)), X * 1j),
        *of(lambda x: Points(np.zeros((4, 2)), x), None, "a", np.zeros(3), np.zeros((4, 1))),
        *of(lambda x: Points(np.zeros((4, 2)), np.zeros(4), x), np.zeros(4), [True], "a", np.zeros((4, 1), bool)),
        *of(lambda x: PointEdits(x, print), None, 3, "add"),
        *of(lambda x: PointEdits(print, x), None, 3, "remove"),
    ],
}


@pytest.mark.parametrize(("call", "value"), [case for cases in TABLE.values() for case in cases])
def test_a_bad_value_is_refused_in_words(call, value):
    with pytest.raises((InputError, TypeMismatchError)) as refused:
        call(value)
    assert len(str(refused.value)) > 20


def test_what_is_allowed_is_taken():
    assert plane(classes=("a", "b"), cells=8, span=(-1, 1), edits=PointEdits(print, print)).cells == 8
    assert Axis("x", -1.0, 1.0, (0.0, 50.0)).units(0.0) == 25.0
    assert Axis("x", -1.0, 3.0).units(2.0) == 2.0
    points = Points(np.zeros((0, 2)), np.zeros(0))
    assert not len(points.back)
