"""Mistakes on purpose: each does what it says and gradcheck or the loss tells; off, every bit is as before."""

import contextlib
import threading

import numpy as np
import pytest

import scalarviz as sv
from kit.nested import ordered
from scalarviz import Value, Weight, mistakes, nn, optim
from scalarviz.errors import ScalarvizError, StateError
from scalarviz.scalar import mistaken

BLOCKS = {
    "no_zero_grad": mistakes.no_zero_grad,
    "overwrite": mistakes.overwrite,
    "wrong_order": mistakes.wrong_order,
    "wrong_order (found)": lambda: mistakes.wrong_order("found"),
    "symmetric_init": mistakes.symmetric_init,
    "missing_factor": mistakes.missing_factor,
    "missing_factor (square)": lambda: mistakes.missing_factor("square"),
    "no_bias_correction": mistakes.no_bias_correction,
}
REFUSING = [name for name in BLOCKS if name != "symmetric_init"]
PLACES = [(Value, "backward"), (Weight, "backward"), (nn.Module, "zero_grad"), (optim.Optimizer, "step")]
OWN = {(owner, name): vars(owner)[name] for owner, name in PLACES}


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert mistaken.words() == ()
    assert all(vars(owner)[name] is own for (owner, name), own in OWN.items())


def net(hidden=8):
    return nn.Sequential(nn.Linear(3, hidden, seed=1), nn.Tanh(), nn.Linear(hidden, 2, seed=2))


def gradients(model, x=(0.5, -0.3, 0.8)):
    model.zero_grad()
    one, other = model(list(x))
    (one * other + one).backward()
    return np.concatenate([np.ravel(p.grad) for p in model.parameters()])


def trained(model, optimizer, steps=20):
    """A loop by hand; the losses and the last weights."""
    draw, losses = np.random.default_rng(0), []
    rows = draw.uniform(-1, 1, (4, 3)).tolist()
    for _ in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for row in rows:
            loss = nn.MSELoss()(model(row), [row[0] * row[1], row[2]])
            loss.backward(0.25)
            total += loss.data
        optimizer.step()
        losses.append(total)
    return losses, np.concatenate([np.ravel(p.data) for p in model.parameters()])


# ---- what each does


def test_overwrite_counts_one_way_alone_and_the_last_sample():
    a, w, layer = Value(2.0), Weight(3.0), nn.Linear(3, 9, seed=3)
    with mistakes.overwrite():
        (a * a * a).backward()
        assert a.grad == 2.0 * 2.0
        w.forward(2.0), w.forward(5.0)
        assert w.backward(1.0) == 3.0
        w.backward(1.0)
        assert w.grad == 2.0
        for x in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]):
            sv.sum(layer(x)).backward()
    assert (layer.weight.grad.tolist(), layer.bias.grad.tolist()) == ([[4.0, 5.0, 6.0]] * 9, [1.0] * 9)
    a.grad = 0.0
    (a + a).backward()
    assert a.grad == 2.0


def edges(root, keep):
    """A walk of an edge after the other, by what nodes say of themselves: the oracle of `overwrite`."""
    grads = {id(root): 1.0}
    for node in sorted(ordered(root), key=lambda n: n._order, reverse=True):
        for parent, slope in zip(node.parents, node.local_gradients, strict=True):
            grads[id(parent)] = slope * grads[id(node)] + (0.0 if keep else grads.get(id(parent), 0.0))
    return grads


def graphs():
    a, b = Value(0.7), Weight(-1.3)
    row = nn.Parameter(np.array([0.3, -0.2, 0.5]))
    layer = nn.Linear(3, 9, seed=3)  # large enough to be one node
    small = nn.Linear(3, 2, seed=3)
    yield (a * b + a).tanh() * a, [a, b]
    yield sv.dot([a, b, a], [b, a, b], a) * b, [a, b]
    yield sv.dot(row, [a, a, b]) * a, [a, b, *row]
    yield sv.max([a, b, a * b]) + sv.where(a > 0, b * b, a), [a, b]
    yield sv.sum(layer([a, b, a])) + a, [a, b]
    yield sv.sum(small([a, b, a])) + a, [a, b]


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("keep", [False, True])
def test_every_kind_of_node_overwrites_place_by_place(k, keep):
    root, leaves = list(graphs())[k]
    expected = edges(root, keep)
    with mistakes.overwrite() if keep else contextlib.nullcontext():
        root.backward()
    assert [leaf.grad for leaf in leaves] == pytest.approx([expected[id(leaf)] for leaf in leaves], rel=1e-12)


WAYS = {
    "square": (lambda x: x**2, lambda x: x * x, lambda x: x.square(), lambda x: x**2.0),
    "sqrt": (lambda x: x**0.5, sv.sqrt), "neg": (lambda x: -x, lambda x: x * -1),
    "relu": (lambda x: x.relu(), lambda x: sv.maximum(x, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("op", "way"), [(op, way) for op, ways in WAYS.items() for way in ways])
def test_a_missing_factor_is_missing_however_the_operation_is_written(op, way):
    x = Value(4.0)
    with mistakes.missing_factor(op) as block:
        (3 * way(x - 1)).backward()
    assert (x.grad, block.touched) == (3.0, 1)
    assert str(block) == f"missing_factor ({op}): touched 1 operation"


def test_a_block_counts_what_it_touched_and_one_that_met_nothing_says_so():
    model, x = net(), Value(3.0)
    with mistakes.no_zero_grad() as cleared, mistakes.overwrite() as lost:
        model.zero_grad()
        (x * x + x).backward()
    assert (cleared.touched, lost.touched) == (1, 2)
    with mistakes.symmetric_init() as block:
        nn.Linear(2, 3)
    assert block.touched == 2
    with pytest.warns(UserWarning, match="changed no operation; backward ran add, mul"), mistakes.missing_factor("exp"):
        (x * x + x).backward()


def test_the_wrong_orders():
    a = Value(3.0)
    b = a + a
    with mistakes.wrong_order():
        (b + b).backward()
    assert (a.grad, b.grad) == (0.0, 2.0)
    c = a * a
    a.grad = 0.0
    with mistakes.wrong_order("found"):
        (c * c.tanh()).backward()
    short_way_alone = c.data and np.tanh(9.0) * 6
    assert a.grad == pytest.approx(short_way_alone)
    model = net()
    with mistakes.wrong_order():
        found = gradients(model)
    last = model[2].weight.size + model[2].bias.size  # the order of a layer reaches nothing else
    assert (found[:-last] == 0).all()
    assert (gradients(model)[:-last] != 0).all()


def test_the_missing_factor():
    x = Value(0.5)
    with mistakes.missing_factor():
        (x.tanh() * 3.0).backward()
    assert x.grad == 3.0
    x.grad = 0.0
    with mistakes.missing_factor("square"):
        (x.square() * x.tanh()).backward()
    assert x.grad == pytest.approx(np.tanh(0.5) + 0.25 * (1 - np.tanh(0.5) ** 2))


def test_without_zero_grad_gradients_add_up():
    model, w = net(), Weight(2.0)
    first = gradients(model)
    sgd = optim.SGD(model.parameters(), lr=0.1)
    with mistakes.no_zero_grad():
        model.zero_grad()
        sgd.zero_grad()
        model[0].weight.zero_grad()
        assert gradients(model) == pytest.approx(2 * first)
        w.backward(3.0)
        w.zero_grad()
        assert w.grad == 3.0
    model.zero_grad()
    assert (np.concatenate([np.ravel(p.grad) for p in model.parameters()]) == 0).all()


def test_adam_without_its_correction():
    def step(wrong):
        w = Weight(1.0)
        adam = optim.Adam([w], lr=0.1)
        w.grad = 2.0
        with mistakes.no_bias_correction() if wrong else contextlib.nullcontext():
            adam.step()
        return w.data

    assert step(False) == pytest.approx(1 - 0.1, abs=1e-8)
    assert step(True) == pytest.approx(1 - 0.1 * 0.1 * 2 / (np.sqrt(0.001) * 2 + 1e-8), abs=1e-12)
    assert step(False) == pytest.approx(1 - 0.1, abs=1e-8)


# ---- gradcheck, or the loss, tells


def diamond(x, y):
    z = (x * y).tanh()
    return z.square() * x + z * z.tanh()


@pytest.mark.parametrize("name", ["overwrite", "wrong_order", "wrong_order (found)", "missing_factor"])
def test_gradcheck_tells(name):
    assert sv.gradcheck(diamond, 0.6, 0.9)
    with BLOCKS[name]():
        assert not sv.gradcheck(diamond, 0.6, 0.9)
        assert not sv.check.gradient(diamond, between=(0.3, 1.0))
    assert sv.gradcheck(diamond, 0.6, 0.9)
    sv.check.forget()


@pytest.mark.parametrize("name", ["no_zero_grad", "symmetric_init", "no_bias_correction"])
def test_the_loss_tells(name):
    """Right it falls lower: without zero_grad it runs away, symmetric it stays, uncorrected Adam leaps at first."""

    def last(block):
        with block:
            model = net()
            rate = {"no_zero_grad": 1.0, "no_bias_correction": 0.1}.get(name, 0.02)
            kind = optim.SGD if name == "no_zero_grad" else optim.Adam
            return trained(model, kind(model.parameters(), lr=rate), 60)[0]

    right, wrong = last(contextlib.nullcontext()), last(BLOCKS[name]())
    if name == "no_bias_correction":
        assert wrong[1] > 2 * right[1]
    else:
        assert wrong[-1] > 2 * right[-1]


def adam_on(model):
    return trained(model, optim.Adam(model.parameters(), lr=0.01))


# ---- off: every bit as before


@pytest.mark.parametrize("name", BLOCKS)
def test_afterwards_every_bit_is_as_before(name):
    model = net()
    grads, (losses, weights) = gradients(model), adam_on(net())
    start = net().state_dict()
    with contextlib.suppress(ZeroDivisionError), BLOCKS[name]():
        gradients(net())
        adam_on(net())
        raise ZeroDivisionError
    assert mistakes.on() == ()
    again = adam_on(net())
    assert (gradients(model) == grads).all()
    assert again[0] == losses
    assert (again[1] == weights).all()
    assert all((array == start[key]).all() for key, array in net().state_dict().items())


def test_they_nest_in_any_order():
    one, other, same = mistakes.overwrite(), mistakes.no_zero_grad(), mistakes.overwrite()
    for block in (one, other, same):
        block.__enter__()
    assert mistakes.on() == ("overwrite", "no_zero_grad")
    one.__exit__(None, None, None)  # not the last one that began
    assert mistakes.on() == ("no_zero_grad", "overwrite")
    a = Value(1.0)
    (a + a).backward()
    assert a.grad == 1.0
    same.__exit__(None, None, None)
    (a + a).backward()
    assert a.grad == 3.0
    other.__exit__(None, None, None)


def test_another_thread_makes_none():
    found = []

    def other():
        a = Value(2.0)
        (a + a).backward()
        run = run_of(nn.Linear(3, 2, seed=0), "numpy")
        run.step()
        run.close()
        found.extend([a.grad, mistakes.on(), mistaken.words(), run.steps])

    with mistakes.overwrite(), mistakes.symmetric_init():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(10)
    assert found == [2.0, (), ("overwrite", "symmetric_init"), 1]  # pictures of any thread name them


def test_as_a_decorator():
    @mistakes.overwrite()
    def slope(depth):
        a = Value(1.0)
        (a + a).backward()
        return slope(depth - 1) if depth else a.grad

    assert slope(0) == slope(2) == 1.0
    assert (slope.__name__, mistakes.on()) == ("slope", ())


# ---- a Run


def run_of(model, engine="objects"):
    X = np.random.default_rng(0).uniform(-1, 1, (6, 3))
    data = X, np.column_stack([X[:, 0] * X[:, 1], X[:, 2]])
    return sv.Run(model, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.05), data=data, engine=engine)


@pytest.mark.parametrize("name", REFUSING)
def test_a_run_is_refused_in_words(name):
    run = run_of(net())
    run.step(2)
    with BLOCKS[name]():
        for attempt in (lambda: run_of(net()), run.step):
            with pytest.raises(StateError, match=name.split()[0]):
                attempt()
    assert run.steps == 2
    run.step()
    run.close()


@pytest.mark.parametrize("name", REFUSING)
def test_a_run_that_goes_back_inside_computes_rightly(name):
    run, twin = run_of(net()), run_of(net())
    for one in (run, twin):
        one.step(5)
    with BLOCKS[name]():
        run.to(2)
        run.to(5)
        one, other = run.frame(), twin.frame()
    assert (run.values == twin.values).all()
    assert (one.gradient == other.gradient).all()
    run.close()
    twin.close()


def test_a_symmetric_run_is_trained_and_begins_anew_in_the_same_way():
    with mistakes.symmetric_init():
        run = run_of(net(), "numpy")
        run.step(3)
    run.step(3)
    weights = run.model[0].weight.data
    assert (weights == weights[0]).all()
    run.restart(seed=8)
    weights = run.model[0].weight.data
    assert np.ptp(weights) == 0
    run.close()


# ---- bad use


BAD = [
    "wrong_order('youngest')", "missing_factor('nonsense')", "missing_factor(3)", "overwrite(3)", "overwrite()(3)",
    "overwrite()(graphs)",
]  # fmt: skip


@pytest.mark.parametrize("call", BAD)
def test_bad_arguments_are_refused_in_words(call):
    with pytest.raises(ScalarvizError) as caught:
        eval(f"mistakes.{call}")
    assert len(str(caught.value)) > 20


def test_a_block_is_used_once_at_a_time():
    block = mistakes.overwrite()
    with block, pytest.raises(StateError, match="already active"):
        block.__enter__()
    with block:
        assert mistakes.on() == ("overwrite",)
    assert "off" in repr(block)
