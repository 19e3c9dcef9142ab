"""What stays of a picture in a browser: plain data, and little of it."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.view.cubes.atlas import NOT_COMPUTED
from scalarviz.view.page.document import document_of, flags_of, texels_of
from scalarviz.view.shown.subject import subject_of


def test_it_is_plain_data_and_small():
    scene = rgb.build(rgb.Options(engine="numpy"))
    text = json.dumps(document_of(scene), separators=(",", ":"))
    assert json.loads(text) == document_of(scene)
    assert len(text) < 32_500
    assert len(zlib.compress(text.encode(), 9)) < 10_000


def test_a_million_weights_take_no_more():
    few, many = ({"a": np.zeros((side, side), np.float32)} for side in (10, 1000))
    sizes = [len(json.dumps(document_of(arrays))) for arrays in (few, many)]
    assert sizes[1] < sizes[0] + 100
    names = document_of({"a": np.zeros((1000, 1000), np.float32)})["tensors"]
    told = {"means": "row {0}, column {1}", "along": []}
    assert names == [{"name": "a", "shape": [1000, 1000], "start": 0, "role": "weight", **told}]


def test_what_nobody_computed_and_what_no_float32_holds():
    subject = subject_of([sv.Weight(1e300, name="w"), sv.Weight(np.inf, name="v")])
    frame, document = subject.frame(), document_of(subject)
    assert flags_of(frame, document).tolist() == [NOT_COMPUTED, NOT_COMPUTED]
    largest = float(np.finfo(np.float32).max)
    assert texels_of(frame, document).tolist() == [largest, np.inf]


def test_errors():
    subject = subject_of({"a": np.ones(3)})
    document, other = document_of(subject), subject_of({"a": np.ones(2)}).frame()
    with pytest.raises(InputError, match="2 weights, the document 3"):
        texels_of(other, document)
    with pytest.raises(InputError, match="quantity must be one of weight"):
        texels_of(subject.frame(), document, "momentum")
    with pytest.raises(InputError, match="size: got"):
        document_of(subject, (10, 10))
    with pytest.raises(UnknownNameError, match="theme"):
        document_of(subject, theme="sepia")
    with pytest.raises(TypeMismatchError, match="nothing to show"):
        document_of(3)
    with pytest.raises(TypeMismatchError, match=r"try its parameters\(\)"):
        document_of(type("OtherNet", (), {"parameters": lambda self: []})())
    with pytest.raises(InputError):
        document_of({})
