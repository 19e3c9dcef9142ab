"""Dropout: masks that are drawn anew at every step, the same on every engine, and gone in evaluation."""

import itertools

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim, rng
from scalarviz.errors import InputError, ScalarvizError

ENGINES = ("objects", "numpy", "numba")


def net_of(p=0.4, hidden=8):
    net = nn.Sequential(
        nn.Dropout(p / 2), nn.Linear(3, hidden), nn.Tanh(), nn.Dropout(p), nn.Linear(hidden, 2), nn.Sigmoid()
    )
    net.initialize(seed=1)
    return net


def run_of(engine="numba", p=0.4, hidden=8, batch=8, samples=24, dtype="float64", net=None, **more):
    random = np.random.default_rng(0)
    net = net_of(p, hidden) if net is None else net
    data = random.random((samples, 3)), random.random((samples, 2))
    optimizer = optim.SGD(net.parameters(), lr=0.5, momentum=0.5)
    return sv.Run(net, nn.MSELoss(), optimizer, data=data, batch_size=batch, seed=5, engine=engine, dtype=dtype, **more)


def mask(call, step, units, batch, p, seed=5):
    """(batch, units), by the definition."""
    zero = rng.dropped(seed, call, step, np.arange(units), np.arange(batch), p)
    return np.where(zero, 0.0, 1.0 / (1.0 - p) if p < 1 else 0.0).T


def trained_with_pytorch(torch, run, steps, p, hidden, batch, dtype=None):
    """The same network and data in PyTorch, with these masks multiplied in by hand."""
    dtype = dtype or torch.float64
    x, y = (torch.tensor(a, dtype=dtype) for a in run.samples())
    w1, b1, w2, b2 = (torch.tensor(np.asarray(q.data).copy(), dtype=dtype, requires_grad=True)
                      for q in run.model.parameters())  # fmt: skip
    rule = torch.optim.SGD([w1, b1, w2, b2], lr=0.5, momentum=0.5)
    losses = []
    for step in range(steps):
        chosen = torch.tensor(run.problem.indices(step))
        first = torch.tensor(mask(0, step, 3, batch, p / 2), dtype=dtype)
        second = torch.tensor(mask(1, step, hidden, batch, p), dtype=dtype)
        hidden_rows = torch.tanh((x[chosen] * first) @ w1.T + b1) * second
        loss = torch.mean((torch.sigmoid(hidden_rows @ w2.T + b2) - y[chosen]) ** 2)
        rule.zero_grad()
        loss.backward()
        rule.step()
        losses.append(loss.item())
    return losses, [q.detach().numpy() for q in (w1, b1, w2, b2)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("batch", "hidden", "p"), [(8, 8, 0.4), (1, 7, 0.5), (3, 5, 1.0), (24, 9, 0.25)])
def test_a_run_is_that_of_pytorch_with_these_masks(engine, batch, hidden, p):
    torch = pytest.importorskip("torch")
    run = run_of(engine, p, hidden, batch)
    losses, weights = trained_with_pytorch(torch, run, 6, p, hidden, batch)
    run.step(6)
    np.testing.assert_allclose(run.history.loss, losses, rtol=1e-12)
    for ours, theirs in zip(run.model.parameters(), weights, strict=True):
        np.testing.assert_allclose(ours.data, theirs, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [1, 2, 5, 64, 600])
def test_engines_agree_at_every_batch_size(dtype, batch):
    runs = [run_of(engine, 0.3, 6, batch, 700, dtype) for engine in ("numpy", "numba")]
    for run in runs:
        run.step(4)
    np.testing.assert_allclose(runs[1].values, runs[0].values, rtol=1e-5 if dtype == "float32" else 1e-11, atol=1e-7)


def test_threads_and_calls_change_no_bit():
    found = []
    for threads, calls in ((1, (40,)), (2, (40,)), (2, (7, 1, 32))):
        run = run_of("numba", 0.3, 16, 3000, 3000, "float32", threads=threads)
        for count in calls:
            run.step(count)
        found.append(run.values.copy())
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_masks_are_drawn_with_the_probability_that_was_asked_for_and_independently():
    for p in (0.0, 0.1, 0.5, 0.9, 1.0):
        zero = rng.dropped(3, 1, 10, np.arange(400), np.arange(500), p)
        assert abs(zero.mean() - p) <= 5 * np.sqrt(p * (1 - p) / zero.size)
    base = rng.dropped(3, 1, 10, np.arange(400), np.arange(500), 0.5)
    others = {
        "seed": rng.dropped(4, 1, 10, np.arange(400), np.arange(500), 0.5),
        "call": rng.dropped(3, 2, 10, np.arange(400), np.arange(500), 0.5),
        "step": rng.dropped(3, 1, 11, np.arange(400), np.arange(500), 0.5),
        "next unit": rng.dropped(3, 1, 10, np.arange(1, 401), np.arange(500), 0.5),
        "next place": rng.dropped(3, 1, 10, np.arange(400), np.arange(1, 501), 0.5),
    }
    for what, other in others.items():
        agreeing = (base == other).mean()
        assert abs(agreeing - 0.5) <= 5 * 0.5 / np.sqrt(base.size), what
    # each unit and each place has its own share of zeros, no line of the table is special
    for axis in (0, 1):
        shares = base.mean(axis=axis)
        assert np.abs(shares - 0.5).max() <= 5 * 0.5 / np.sqrt(base.shape[axis])


def test_a_part_of_a_mask_is_that_part_of_the_whole():
    whole = rng.dropped(7, 0, 3, np.arange(13), np.arange(40), 0.3)
    np.testing.assert_array_equal(
        rng.dropped(7, 0, 3, np.array([2, 11, 5]), np.arange(9, 20), 0.3), whole[[2, 11, 5], 9:20]
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_evaluation_and_activations_have_no_masks(engine):
    run = run_of(engine)
    run.step(3)
    x, y = run.samples()
    w1, b1, w2, b2 = (np.asarray(q.data) for q in run.model.parameters())
    hidden = np.tanh(x @ w1.T + b1)
    output = 1 / (1 + np.exp(-(hidden @ w2.T + b2)))
    np.testing.assert_allclose(run.predict(x), output, rtol=1e-12)
    assert run.evaluate(x, y) == pytest.approx(np.mean((output - y) ** 2), rel=1e-12)
    shown = run.activations(x[0])
    np.testing.assert_allclose(list(shown.values())[-1], output[0], rtol=1e-12)
    assert run.model.training  # and nobody's flag was touched


@pytest.mark.parametrize("engine", ENGINES)
def test_a_network_in_evaluation_has_no_masks_at_all(engine):
    net, plain = net_of(), net_of(0.0)
    run, other = run_of(engine, net=net.eval()), run_of(engine, net=plain)
    assert not run.problem.plan.body.has_masks
    for each in (run, other):
        each.step(5)
    np.testing.assert_allclose(run.values, other.values, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_recorded_is_trained_whatever_mode_the_network_has_since_which_is_said_once(engine):
    net = net_of()
    run, other = run_of(engine, net=net, batch=24), run_of(engine, batch=24)
    net.eval()
    with pytest.warns(RuntimeWarning, match=r"eval\(\) was called since the run was made \(Dropout\)") as said:
        run.step(2), run.step(2)
    other.step(4)
    assert (len(said), run.values.tobytes()) == (1, other.values.tobytes())
    assert not net.training
    whole = run.evaluate(*run.samples())
    run.change(model=net)
    run.step(1)
    assert run.loss == pytest.approx(whole, rel=1e-12)


def test_a_module_of_ones_own_asks_whether_it_is_in_training():
    class Noisy(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(3, 2)
            self.linear.initialize(seed=0)

        def forward(self, x):
            rows = self.linear(x)
            return [row * 2 for row in rows] if self.training else rows

    net = Noisy()
    run = run_of("numba", net=net)
    x, y = run.samples()
    rows = x @ np.asarray(net.linear.weight.data).T + np.asarray(net.linear.bias.data)
    np.testing.assert_allclose(run.predict(x), rows, rtol=1e-12)
    chosen = run.problem.indices(0)
    run.step()
    assert run.loss == pytest.approx(np.mean((2 * rows[chosen] - y[chosen]) ** 2), rel=1e-12)


def test_a_function_as_the_model():
    drop, linear = nn.Dropout(0.5), nn.Linear(3, 2)
    linear.initialize(seed=3)
    random = np.random.default_rng(0)
    data = random.random((8, 3)), random.random((8, 2))
    optimizer = optim.SGD(linear.parameters(), lr=0.1)
    run = sv.Run(lambda x: linear(drop(x)), nn.MSELoss(), optimizer, data=data, seed=5, dtype="float64")
    weight, bias = np.asarray(linear.weight.data), np.asarray(linear.bias.data)
    np.testing.assert_allclose(run.predict(data[0]), data[0] @ weight.T + bias, rtol=1e-12)
    rows = (data[0] * mask(0, 0, 3, 8, 0.5)) @ weight.T + bias
    run.step()
    assert run.loss == pytest.approx(np.mean((rows - data[1]) ** 2), rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_opened_step_has_the_masks_of_its_step(engine):
    run = run_of(engine)
    run.step(4)
    opened = run.open()
    run.step()
    assert opened.loss == pytest.approx(run.loss, rel=1e-12)
    np.testing.assert_allclose(opened.gradient, run.frame().gradient, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(opened.rows["3"], opened.rows["2"] * mask(1, 4, 8, 8, 0.4).T, rtol=1e-12)


def test_a_step_is_done_again_with_its_masks():
    run = run_of("numba")
    run.step(30)
    end = run.values.copy(), run.loss
    run.back(17)
    run.step(17)
    assert (run.values.tobytes(), run.loss) == (end[0].tobytes(), end[1])


# ---- by hand


def test_by_hand_every_call_draws_anew_and_a_seed_begins_anew():
    drop = nn.Dropout(0.5)
    nn.init.manual_seed(3)
    first, second = ([v.data for v in drop([1.0] * 64)] for _ in range(2))
    assert first != second
    assert set(first) == {0.0, 2.0}
    nn.init.manual_seed(3)
    assert [v.data for v in drop([1.0] * 64)] == first


def test_gradients_by_hand_go_through_what_stays():
    x = [sv.Value(0.5 + k) for k in range(40)]
    y = nn.Dropout(0.25)(x)
    sv.sum(y).backward()
    for value, result in zip(x, y, strict=True):
        assert value.grad == pytest.approx(result.data / value.data, rel=1e-15)
        assert value.grad in (0.0, 1 / 0.75)


def test_shapes_are_kept_and_evaluation_gives_the_same_values_back():
    drop = nn.Dropout(0.5)
    picture = [[[1.0, 2.0], [3.0, 4.0]]]
    made = drop(picture)
    assert [[len(row) for row in channel] for channel in made] == [[2, 2]]
    for same in (drop.eval()(picture), nn.Dropout(0.0)(picture)):
        assert [[[v.data for v in row] for row in channel] for channel in same] == picture
    assert [v.data for v in nn.Dropout(1.0)([1.0, 2.0])] == [0.0, 0.0]
    assert nn.Dropout(1.0)(sv.Value(3.0)).data == 0.0


def test_gradcheck_holds_masks_still():
    drop = nn.Dropout(0.5)
    for seed in range(6):
        nn.init.manual_seed(seed)
        assert sv.gradcheck(lambda a, b, c: sv.sum([v * v for v in drop([a, b, c])]), 0.3, -0.7, 1.1)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), float("inf"), "half", None])
def test_a_probability_that_is_none_is_refused(p):
    with pytest.raises(ScalarvizError, match=r"Dropout: p"):
        nn.Dropout(p)


def test_arguments_of_pytorch_that_mean_nothing_here_are_refused_in_words():
    with pytest.raises((ScalarvizError, TypeError), match="inplace"):
        nn.Dropout(0.5, inplace=True)
    with pytest.raises(InputError):
        nn.Dropout(2)


def test_its_text_is_that_of_pytorch():
    torch = pytest.importorskip("torch")
    assert repr(nn.Dropout(0.3)) == repr(torch.nn.Dropout(0.3))


def test_units_that_nobody_reads_change_no_others():
    """A network that reads every other unit has the masks of the one that reads all."""

    class Some(nn.Module):
        def __init__(self, step):
            self.linear, self.drop, self.step = nn.Linear(3, 11), nn.Dropout(0.5), step
            self.linear.initialize(seed=0)

        def forward(self, x):
            rows = self.drop(self.linear(x))
            return [sv.sum(rows[:: self.step]), rows[4]]

    for step, batch in itertools.product((1, 2, 3), (1, 8)):
        runs = [run_of(engine, net=Some(step), batch=batch) for engine in ("objects", "numba")]
        for run in runs:
            run.step(3)
        np.testing.assert_allclose(runs[0].values, runs[1].values, rtol=1e-11)
