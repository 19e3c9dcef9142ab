"""`render` of everything that has weights, and of what has none."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.view.ink.theme import DARK, rgb
from scalarviz.view.shown.subject import subject_of

pytestmark = pytest.mark.gl

rng = np.random.default_rng(0)


def run_of(model: nn.Module, inputs: int, outputs: int) -> sv.Run:
    data = (rng.random((16, inputs)), rng.random((16, outputs)))
    return sv.Run(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), data=data, engine="numpy")


def share_drawn(picture: np.ndarray) -> float:
    ground = np.array([round(255 * c) for c in rgb(DARK.background)])
    return float((np.abs(picture.astype(int) - ground).max(axis=2) > 14).mean())


THINGS = {
    "one weight": lambda: sv.Weight(-0.7),
    "weights": lambda: [sv.Weight(0.1 * k, name=f"w{k}") for k in range(5)],
    "the same name twice": lambda: [sv.Weight(0.1, name="w"), sv.Weight(0.2, name="w")],
    "a parameter": lambda: nn.Linear(3, 4).weight,
    "module": lambda: nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3)),
    "arrays": lambda: {"a.weight": rng.normal(size=(16, 32)), "a.bias": rng.normal(size=16)},
    "kernels": lambda: {"conv": rng.normal(size=(4, 3, 3, 3)), "scalar": 1.5},
    "integers and booleans": lambda: {"a": np.arange(12).reshape(3, 4), "b": np.array([True, False])},
    "not finite": lambda: {"a": np.array([[np.nan, np.inf], [-np.inf, 1.0]])},
    "only NaN": lambda: {"a": np.full((3, 3), np.nan)},
    "zeros": lambda: {"a": np.zeros((4, 4))},
    "huge and tiny": lambda: {"a": np.array([1e300, -1e300, 1e-300])},
    "float16": lambda: {"a": np.ones((3, 3), np.float16)},
    "one with an empty one": lambda: {"a": np.ones(3), "b": np.empty((0, 3))},
    "a single layer": lambda: run_of(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), 3, 3),
    "one input": lambda: run_of(nn.Sequential(nn.Linear(1, 1)), 1, 1),
    "wide": lambda: run_of(nn.Sequential(nn.Linear(9, 2), nn.Tanh()), 9, 2),
    "tall": lambda: run_of(nn.Sequential(nn.Linear(2, 9), nn.ReLU()), 2, 9),
    "xor": lambda: run_of(nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid()), 2, 1),
    "big": lambda: run_of(
        nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)), 12, 3
    ),
}


@pytest.mark.parametrize("name", THINGS)
def test_everything_with_weights_can_be_seen(name: str) -> None:
    picture = sv.render(THINGS[name](), (640, 360))
    assert picture.shape == (360, 640, 3)
    assert picture.dtype == np.uint8
    assert share_drawn(picture) > 0.02
    assert picture.max() > 150  # there is text


def test_a_trained_run_shows_its_curve() -> None:
    run = run_of(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), 3, 3)
    before = sv.render(run)
    run.step(20)
    after = sv.render(run)
    column = np.s_[:, 952:]
    assert (before[column] != after[column]).any(axis=2).mean() > 0.001


@pytest.mark.parametrize(
    "thing",
    [
        None,
        3,
        "weights",
        [],
        {},
        [1.0],
        object(),
        {"a": np.empty(0)},
        {"a": "text"},
        {"a": [[1], [1, 2]]},
        {"a": 1j},
        [sv.Weight(1.0), "b"],
    ],
)
def test_what_has_no_weights_is_refused_in_words(thing: object) -> None:
    with pytest.raises((InputError, TypeMismatchError), match="allowed"):
        sv.render(thing)


def test_the_message_for_a_wrong_kind_lists_what_is_allowed() -> None:
    with pytest.raises(TypeMismatchError, match=r'got ndarray; allowed: .*named arrays .*; try \{"x": x\}'):
        sv.render(np.zeros((2, 3)))
    with pytest.raises(TypeMismatchError, match="got int; allowed: a Scene, a Run, a Module"):
        sv.render(3)


@pytest.mark.parametrize("size", [(0, 0), (-5, 5), (1e9, 5), (640,), "640x360"])
def test_impossible_sizes_are_refused(size: object) -> None:
    with pytest.raises(InputError, match="allowed"):
        sv.render(sv.Weight(1.0), size)  # type: ignore[arg-type]


def test_a_picture_is_the_same_every_time() -> None:
    thing = {"a": rng.normal(size=(20, 30))}
    assert np.array_equal(sv.render(thing, (640, 360)), sv.render(thing, (640, 360)))


def test_arrays_keep_their_numbers_in_order() -> None:
    arrays = {"x": rng.normal(size=(2, 3)), "y.bias": rng.normal(size=4)}
    subject = subject_of(arrays)
    frame = subject.frame()
    for tensor in subject.tensors:
        assert np.array_equal(tensor.of(frame.values), arrays[tensor.name])
    assert [t.role for t in subject.tensors] == ["weight", "bias"]


def test_the_light_theme_is_light_and_supersampling_keeps_the_size() -> None:
    picture = sv.render({"a": np.ones((3, 3))}, (320, 240), theme="light", supersample=2)
    assert picture.shape == (240, 320, 3)
    assert picture[0, 0].min() > 240
