"""`sv.no_grad`: numbers without a graph. PyTorch is the oracle where it has the same words."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import StateError, TracingError, TypeMismatchError


def test_the_numbers_are_the_same_and_there_is_no_graph():
    w, x = Weight(3.0), Value(2.0)
    made = [w * x, (w * x + 1).tanh(), -w, sv.dot([w], [x], 1.0), sv.max([w, x, 1.0]), sv.where(w > x, w, x), abs(-w)]
    with sv.no_grad():
        plain = [
            w * x,
            (w * x + 1).tanh(),
            -w,
            sv.dot([w], [x], 1.0),
            sv.max([w, x, 1.0]),
            sv.where(w > x, w, x),
            abs(-w),
        ]
    assert [v.data for v in plain] == [v.data for v in made]
    for node in plain:
        assert (node.parents, node.op, node.local_gradients) == ((), "", ())


@pytest.mark.parametrize("width", [2, 16])  # below and above the width where a layer is one product
def test_a_network(width):
    net = nn.Sequential(nn.Linear(3, width, seed=0), nn.Tanh(), nn.Linear(width, 2, seed=1))
    wanted = [v.data for v in net([1.0, 2.0, 3.0])]
    with sv.no_grad():
        found = net([1.0, 2.0, 3.0])
        loss = nn.MSELoss()(found, [0.0, 0.0])
    assert [v.data for v in found] == wanted
    assert loss.parents == ()
    with pytest.raises(StateError, match="no_grad"):
        loss.backward()
    with pytest.raises(StateError, match="no_grad"):
        net.backward()
    assert not any(w.has_grad for w in net.weights())


def test_an_operand_of_it_is_a_leaf_of_later_graphs():
    w = Weight(3.0)
    with sv.no_grad():
        fixed = w * 2.0
    (fixed * w).backward()
    assert (w.grad, fixed.grad) == (6.0, 3.0)


def test_nothing_is_kept_alive():
    gc.disable()
    try:
        x = Value(1.0)
        with sv.no_grad():
            y = x * 2.0 + 1.0
        ref = weakref.ref(x)
        del x
        assert ref() is None
        assert y.data == 3.0
    finally:
        gc.enable()


def test_it_ends_with_its_block_and_with_an_error_and_may_be_nested():
    w, block = Weight(3.0), sv.no_grad()
    with block, block, sv.no_grad():
        assert (w * w).parents == ()
    assert (w * w).parents == (w, w)
    with pytest.raises(ZeroDivisionError), block:
        raise ZeroDivisionError
    assert (w * w).parents == (w, w)


@pytest.mark.parametrize("decorate", [sv.no_grad, sv.no_grad()])
def test_as_a_decorator(decorate):
    w = Weight(3.0)

    @decorate
    def square(times: float, *, plus: float = 0.0) -> Value:
        """The doc."""
        return w * w * times + plus

    assert (square.__name__, square.__doc__) == ("square", "The doc.")
    assert (square(2.0, plus=1.0).data, square(1.0).parents) == (19.0, ())
    assert (w * w).parents == (w, w)


def test_it_is_of_one_thread():
    w, found = Weight(3.0), []
    with sv.no_grad():
        thread = threading.Thread(target=lambda: found.append((w * w).parents))
        thread.start()
        thread.join()
    assert found == [(w, w)]


def test_inside_a_recording_it_is_refused():
    def model(inputs):
        with sv.no_grad():
            return inputs[0] * 2.0

    with pytest.raises(TracingError, match=r"no_grad.*predict"):
        sv.record(model, 1)
    assert (Value(2.0) * 1.0).parents  # all is as before


def test_a_run_that_is_made_inside_trains():
    net, data = nn.Linear(1, 1, seed=0), ([[1.0], [2.0]], [[2.0], [4.0]])
    with sv.no_grad():
        run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")
        run.step(300)
        assert (net.weight[0][0] * 2.0).parents == ()
    assert net.weight.data[0, 0] == pytest.approx(2.0, abs=0.01)
    run.close()


# ---- PyTorch's loop without an optimiser


def torch_steps(steps: int):
    torch = pytest.importorskip("torch")
    w = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    p = torch.tensor([[1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        ((w * p).tanh().sum() + w).backward()
        with torch.no_grad():
            for part in (w, p):
                part -= 0.1 * part.grad  # noqa: PLW2901
                part *= 0.99  # noqa: PLW2901
                part += 0.01  # noqa: PLW2901
                part /= 1.01  # noqa: PLW2901
        w.grad = p.grad = None
    return w.item(), p.tolist()


def test_weights_change_in_place():
    w, rows = Weight(3.0), [Weight(1.0), Weight(-2.0)]
    parts = [w, *rows]
    for _ in range(5):
        (sv.sum([(w * v).tanh() for v in rows]) + w).backward()
        with sv.no_grad():
            for part in parts:
                held = part
                part -= 0.1 * part.grad  # noqa: PLW2901
                part *= 0.99  # noqa: PLW2901
                part += 0.01  # noqa: PLW2901
                part /= 1.01  # noqa: PLW2901
                assert part is held
        for part in parts:
            part.grad = None
    wanted_w, wanted_p = torch_steps(5)
    assert w.data == pytest.approx(wanted_w, rel=1e-12)
    assert [v.data for v in rows] == pytest.approx(wanted_p[0], rel=1e-12)


def test_elsewhere_the_name_means_a_new_node():
    w = Weight(3.0)
    made = w
    made -= 1.0
    assert (made.data, made.parents[0], w.data) == (2.0, w, 3.0)


def test_a_function_that_yields_is_refused():
    with pytest.raises(TypeMismatchError, match=r"with sv\.no_grad"):

        @sv.no_grad()
        def numbers():
            yield 1.0
