"""`Parameter`: arrays and objects over the same numbers; loading and saving by name."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Weight, nn
from scalarviz.errors import TypeMismatchError


def test_arrays_and_objects_are_views_of_the_same_numbers():
    p = nn.Parameter([[1, 2, 3], [4, 5, 6]])
    w = p[1][2]
    assert isinstance(w, Weight)
    w.data = 60.0
    assert p.data[1, 2] == 60.0
    p.data[0, 0] = -1.0
    assert p[0][0].data == -1.0
    p[0].data = [7, 8, 9]
    assert p.data[0].tolist() == [7, 8, 9]
    p.grad = np.ones((2, 3))
    assert (w.grad, w.has_grad) == (1.0, True)
    p[1].grad = [0.5, 0.5, 0.5]
    assert w.grad == 0.5


def test_what_is_printed_names_the_parameter():
    net = nn.Sequential(nn.Linear(2, 1))
    net[0].weight.data, net[0].bias.data = [[0.5, -1.0]], [2.0]
    assert repr(net[0].weight) == "Parameter('0.weight', shape=(1, 2))\n[[ 0.5 -1. ]]"
    assert repr(net[0].bias) == "Parameter('0.bias', shape=(1,))\n[2.]"
    assert repr(net[0].weight[0]) == "ParameterView('0.weight[0]', shape=(2,))\n[ 0.5 -1. ]"
    assert repr(nn.Parameter([1.0])) == "Parameter(shape=(1,))\n[1.]"  # nobody has named it


def test_shapes_lengths_and_iteration():
    p = nn.Parameter(np.arange(24.0).reshape(2, 3, 4))
    assert (p.shape, p.ndim, p.numel(), len(p), len(p[0]), p[0].numel()) == ((2, 3, 4), 3, 24, 2, 3, 12)
    assert [w.data for w in p[1][2]] == [20.0, 21.0, 22.0, 23.0]
    assert [row.shape for row in p] == [(3, 4), (3, 4)]
    assert p[1, 2].data.tolist() == [20.0, 21.0, 22.0, 23.0]
    scalar = nn.Parameter(5.0)
    assert scalar.shape == ()
    assert scalar[()].data == 5.0
    with pytest.raises(TypeError, match="without dimensions"):
        len(scalar)


def test_a_parameter_copies_what_it_is_given():
    array = np.ones(3)
    p = nn.Parameter(array)
    array[:] = 5.0
    assert p.data.tolist() == [1.0, 1.0, 1.0]
    p.data = array
    array[:] = 9.0
    assert p.data.tolist() == [5.0, 5.0, 5.0]


def test_freezing_rows_and_all():
    p = nn.Parameter(np.ones((2, 2)))
    p[0].frozen = True
    assert p.frozen_flags.tolist() == [1, 1, 0, 0]
    assert not p.frozen
    p.frozen = True
    assert not p.requires_grad
    assert p[1][1].frozen
    p.requires_grad = True
    assert not p[0][0].frozen


def test_the_role_is_that_of_its_name():
    layer = nn.Linear(2, 2)
    assert (layer.weight.role, layer.bias.role) == ("weight", "bias")


BAD = [
    (lambda p: nn.Parameter("abc"), TypeError, "array of real numbers, got str"),
    (lambda p: nn.Parameter([[1], [1, 2]]), TypeError, "array of real numbers"),
    (lambda p: nn.Parameter(np.zeros((0, 3))), ValueError, "no elements"),
    (lambda p: nn.Parameter([1j]), TypeError, "complex"),
    (lambda p: nn.Parameter(None), TypeError, "NoneType"),
    (lambda p: p[2], IndexError, "there is no number 2, it has 2"),
    (lambda p: p[0][-4], IndexError, "no number -4, it has 3"),
    (lambda p: p[0, 0, 0], ValueError, "3 indices for the 2 dimensions"),
    (lambda p: p["a"], TypeError, "whole number"),
    (lambda p: p[[0, 2]], IndexError, "out of bounds"),
    (lambda p: p[[0.5]], TypeError, "only integers"),
    (lambda p: p["a":], TypeError, "indices"),
    (lambda p: p[:, :, 0], TypeError, "too many indices"),
    (lambda p: p.__isub__(1.0), RuntimeError, r"sv\.no_grad"),
    (lambda p: p @ [1.0], ValueError, r"@ of the shapes \(2, 3\) and \(1,\)"),
    (lambda p: p @ 2.0, ValueError, r"@ of the shapes"),
    (lambda p: p + np.ones((2, 2)), ValueError, "do not fit together"),
    (lambda p: p * "a", TypeError, "a number, a Value or an array"),
    (lambda p: p * None, TypeError, "a number, a Value or an array"),
    (lambda p: p * [[1.0], [1.0, 2.0]], ValueError, "ragged"),
    (lambda p: p.sum(2), ValueError, "one of the dimensions"),
    (lambda p: p.sum("a"), ValueError, "one of the dimensions"),
    (lambda p: p.item(), ValueError, "array of 6"),
    (lambda p: float(p[:, 0]), ValueError, "array of 2"),
    (lambda p: np.add.reduce(p[:, 0]), TypeError, r"\.sum\(\)"),
    (np.floor, TypeError, r"np\.floor"),
    (lambda p: np.sum(p[:, 0], initial=2.0), TypeError, "initial"),
    (lambda p: p[True], TypeError, "whole number"),
    (lambda p: p[1.0], TypeError, "whole number"),
    (lambda p: setattr(p, "data", np.ones(3)), ValueError, r"has shape \(2, 3\), got an array of shape \(3,\)"),
    (lambda p: setattr(p, "grad", 1.0), ValueError, r"shape \(\)"),
    (lambda p: setattr(p[0], "data", [1, 2]), ValueError, r"shape \(3,\)"),
]


@pytest.mark.parametrize(("attempt", "kind", "text"), BAD)
def test_bad_input_is_refused_and_changes_nothing(attempt, kind, text):
    p = nn.Parameter(np.ones((2, 3)))
    with pytest.raises(kind, match=text):
        attempt(p)
    assert p.data.tolist() == [[1.0] * 3] * 2


# ---- state dictionaries


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def test_a_state_dict_is_a_copy_and_loads_back():
    a, b = net(), net()
    state = a.state_dict()
    assert {name: array.shape for name, array in state.items()} == {
        "0.weight": (4, 3), "0.bias": (4,), "2.weight": (2, 4), "2.bias": (2,),
    }  # fmt: skip
    result = b.load_state_dict(state)
    assert result.missing_keys == result.unexpected_keys == []
    assert [y.data for y in a([1, 2, 3])] == [y.data for y in b([1, 2, 3])]
    state["0.weight"][:] = 0.0
    assert a[0].weight.data.any()


def test_everything_that_does_not_fit_is_listed_at_once_and_nothing_is_changed():
    model = net()
    before = model.state_dict()
    state = model.state_dict()
    del state["0.bias"], state["2.bias"]
    state |= {"3.weight": np.ones(2), "extra": np.ones(1), "2.weight": np.ones((3, 3))}
    state["0.weight"] = before["0.weight"] + 1
    with pytest.raises(sv.ScalarvizError) as caught:
        model.load_state_dict(state)
    text = str(caught.value)
    for part in ("missing: 0.bias, 2.bias", "unexpected: 3.weight, extra", "(2, 4)", "(3, 3)", "strict=False"):
        assert part in text
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_load_that_is_not_strict_reports_and_still_refuses_wrong_shapes():
    model = net()
    result = model.load_state_dict({"0.bias": [1, 2, 3, 4], "more": 1}, strict=False)
    assert result.missing_keys == ["0.weight", "2.weight", "2.bias"]
    assert result.unexpected_keys == ["more"]
    assert model[0].bias.data.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"0\.bias has shape"):
        model.load_state_dict({"0.bias": [1, 2]}, strict=False)
    with pytest.raises(TypeError, match="mapping"):
        model.load_state_dict([1, 2])
    with pytest.raises(ValueError, match="real numbers"):
        model.load_state_dict({"0.bias": "text"}, strict=False)


def test_lone_weights_load_as_numbers():
    class Line(nn.Module):
        def __init__(self):
            self.slope = Weight(2.0)

    line = Line()
    assert line.state_dict()["slope"].shape == ()
    line.load_state_dict({"slope": np.array(5.0)})
    assert line.slope.data == 5.0


def test_a_pytorch_state_dict_loads_by_name():
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    ours = net()
    ours.load_state_dict(theirs.state_dict())
    x = torch.tensor([0.1, 0.2, 0.3])
    np.testing.assert_allclose([y.data for y in ours(x.numpy())], theirs(x).detach().numpy(), rtol=1e-5)


def test_setting_a_number_asks_nobody_for_its_name(monkeypatch):
    """The walk through the network took four fifths of the time."""
    net = nn.Sequential(nn.Linear(2, 2, seed=1))
    weight = net[0].weight[0][0]
    monkeypatch.setattr(nn.Module, "path_of", lambda *args: pytest.fail("asked"))
    weight.data, weight.grad = 0.5, 1.0
    assert (weight.forward(2.0), weight.backward(3.0), weight.grad) == (1.0, 1.5, 7.0)
    assert net[0].weight.data[0, 0] == 0.5
    monkeypatch.undo()
    with pytest.raises(TypeMismatchError, match=r"0\.weight\[0\]\[0\].*: the value"):
        weight.data = "0.5"
