"""A learning rate, or another number, for some weights alone: an edit of the run, on every engine, and back."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Weight, nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.optim import lr_scheduler
from scalarviz.run.edits import SetNumbers, read_edit, write_edit

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((8, 3))
Y = X[:, :2] ** 2
KINDS = {
    "sgd": ("SGD", {"lr": 0.3}, {"lr": 0.05}),
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}, {"lr": 0.3, "momentum": 0.5}),
    "decay": ("AdamW", {"lr": 0.02}, {"weight_decay": 0.5}),
    "adam": ("Adam", {"lr": 0.02}, {"lr": 0.1, "betas": (0.5, 0.9)}),
}
SPANS = ((1, 2), (4, 1), (7, 1))
"""Of the eight weights of a layer of 3 by 2."""


def make(kind="sgd", engine="numpy", dtype="float64", schedule=False, **more):
    name, numbers, _ = KINDS[kind]
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh())
    optimizer = getattr(optim, name)(net.parameters(), **numbers)
    if schedule:
        lr_scheduler.StepLR(optimizer, 4, 0.5)
    return sv.Run(net, nn.MSELoss(), optimizer, (X, Y), engine=engine, dtype=dtype, **more)


def chosen(run):
    mask = np.zeros(run.n_weights, bool)
    for start, count in SPANS:
        mask[start : start + count] = True
    return mask


def apart(torch, run, kind, steps, schedule):
    """The same in PyTorch, where a tensor is the sum of two, one for each group's weights; values after each step."""
    name, numbers, others = KINDS[kind]
    mask, values = torch.tensor(chosen(run)), torch.tensor(run.values.copy())
    one, two = (values.clone().requires_grad_() for _ in range(2))
    opt = getattr(torch.optim, name)([{"params": [one]}, {"params": [two]}], **numbers)
    x, y = torch.tensor(X), torch.tensor(Y)
    found = []
    for step in range(steps):
        if step == 5:
            opt.param_groups[1].update(others)
        for group, lr in zip(opt.param_groups, (numbers["lr"], others.get("lr", numbers["lr"])), strict=True):
            group["lr"] = numbers["lr"] * 0.5 ** (step // 4) if schedule else numbers["lr"]
            if step >= 5 and "lr" in others and group is opt.param_groups[1]:
                group["lr"] = lr * 0.5 ** (step // 4 - 1) if schedule else lr
        opt.zero_grad()
        w = torch.where(mask, two, one)
        torch.nn.functional.mse_loss(torch.tanh(x @ w[:6].reshape(2, 3).T + w[6:]), y).backward()
        opt.step()
        found.append(torch.where(mask, two, one).detach().numpy().copy())
    return found


@pytest.mark.parametrize("schedule", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_pytorchs(engine, kind, schedule):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    run = make(kind, engine, schedule=schedule)
    wanted = apart(torch, run, kind, 16, schedule)
    run.step(5)
    run.do(SetNumbers(SPANS, KINDS[kind][2]))
    for values in wanted[5:]:
        run.step(1)
        np.testing.assert_allclose(run.values, values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_way_back_has_the_same_bits_and_an_opened_step_says_what_is_done(engine, kind):
    def done():
        run = make(kind, engine, "float32", schedule=True)
        run.step(5)
        run.do(SetNumbers(SPANS, KINDS[kind][2], "some"))
        run.step(4)
        run.set_numbers([run.model[0].weight[:, 1:3], run.model[0].weight[0][1]], lr=0.01)
        run.step(4)
        return run

    run, fresh = done(), done()
    bits = run.values.tobytes()
    assert fresh.values.tobytes() == bits
    assert fresh.history.loss.tolist() == run.history.loss.tolist()
    groups = run.optimizer.all_group_numbers()
    assert len(groups) == 4
    run.to(3)
    assert len(run.optimizer.param_groups) == 1
    run.to(7)
    assert len(run.optimizer.param_groups) == 2
    run.to(13)
    assert run.values.tobytes() == bits
    assert run.optimizer.all_group_numbers() == groups
    run.undo(), run.redo()
    run.to(run.span[1])
    assert run.values.tobytes() == bits
    opened = run.open()
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-5, atol=1e-6)
    run.undo(), run.undo()
    assert len(run.optimizer.param_groups) == 1
    assert run.optimizer.group_of.size == 0
    plain = make(kind, engine, "float32", schedule=True)
    plain.step(12), run.step(12 - run.steps)
    assert run.values.tobytes() == plain.values.tobytes()


def test_numbers_set_again_for_the_same_weights_make_no_more_groups():
    run = make()
    for lr in (0.1, 0.2, 0.4):
        run.do(SetNumbers(SPANS, {"lr": lr}), gesture="slider")
        run.step(0)
    assert [group["lr"] for group in run.optimizer.param_groups] == [0.3, 0.4]
    assert [done.what for done in run.log] == ["0.weight[0][1] and 3 more: lr = 0.4"]
    run.lr = 0.6
    assert [group["lr"] for group in run.optimizer.param_groups] == [0.6, 0.8]
    run.do(SetNumbers(((0, 8),), {"lr": 0.5}, "all"))
    assert [group["lr"] for group in run.optimizer.param_groups] == [0.5, 0.5]
    assert run.log[-1].what == "all: lr = 0.5"
    assert read_edit(write_edit(SetNumbers(SPANS, {"lr": 0.1, "betas": (0.5, 0.9)}, "a"))) == SetNumbers(
        SPANS, {"lr": 0.1, "betas": (0.5, 0.9)}, "a"
    )


def test_a_rate_of_nothing_holds_weights_where_they_are():
    run = make("adam")
    run.do(SetNumbers(SPANS, {"lr": 0.0}))
    before, mask = run.values.copy(), chosen(run)
    run.step(10)
    np.testing.assert_array_equal(run.values[mask], before[mask])
    assert (run.values[~mask] != before[~mask]).all()


def test_a_schedule_that_the_user_holds_is_still_the_one():
    run = make()
    schedule = lr_scheduler.ReduceLROnPlateau(run.optimizer, patience=0, every=1, threshold=0.5)
    run.set_numbers(run.model[0].bias, lr=0.1)
    run.step(6)
    first, second = schedule.get_last_lr()
    assert first < 0.3
    assert second == pytest.approx(first / 3)
    assert schedule.last_epoch == 6


def test_a_file_has_which_weights_they_are(tmp_path):
    for kind in ("adam", "momentum"):
        run = make(kind, "numba", "float32", schedule=True)
        run.step(5)
        run.do(SetNumbers(SPANS, KINDS[kind][2]))
        run.step(3)
        run.save(tmp_path / "a.safetensors")
        other = make(kind, "numba", "float32", schedule=True)
        other.load(tmp_path / "a.safetensors")
        run.step(9), other.step(9)
        assert other.values.tobytes() == run.values.tobytes()
        assert other.optimizer.all_group_numbers() == run.optimizer.all_group_numbers()
        other.undo()
        assert len(other.optimizer.param_groups) == 1
        with pytest.raises(InputError, match="no rate can be kept"):
            other.load(tmp_path / "a.safetensors", keep=["lr"])


def test_a_loop_by_hand_goes_on_with_them():
    run = make("momentum")
    run.step(2)
    run.do(SetNumbers(SPANS, KINDS["momentum"][2]))
    run.step(2)
    optimizer, net = run.optimizer, run.model
    twin = make("momentum")
    twin.step(2)
    twin.do(SetNumbers(SPANS, KINDS["momentum"][2]))
    twin.step(4)
    run.close()
    for _ in range(2):
        optimizer.zero_grad()
        for x, y in zip(X, Y, strict=True):
            (nn.MSELoss()(net(x), list(y)) * (1 / len(X))).backward()
        optimizer.step()
    found = np.concatenate([np.ravel(net[0].weight.data), np.ravel(net[0].bias.data)])
    np.testing.assert_allclose(found, twin.values, rtol=1e-10, atol=1e-12)


def test_other_losses_go_on_with_them_and_other_optimisers_do_not():
    run = make("adam")
    run.do(SetNumbers(SPANS, {"lr": 0.1}))
    run.step(2)
    run.change(loss="L1Loss")
    run.step(2)
    assert [group["lr"] for group in run.optimizer.param_groups] == [0.02, 0.1]
    run.change(optimizer="SGD", lr=0.1)
    run.step(2)
    assert len(run.optimizer.param_groups) == 1
    bits = run.values.tobytes()
    run.to(1), run.to(6)
    assert run.values.tobytes() == bits


@pytest.mark.parametrize(
    ("edit", "error", "said"),
    [
        (lambda: SetNumbers((), {"lr": 1}), TypeMismatchError, "at least one"),
        (lambda: SetNumbers(((0, 1), (0, 1)), {"lr": 1}), InputError, "two of its parts"),
        (lambda: SetNumbers(((-1, 1),), {"lr": 1}), InputError, "start"),
        (lambda: SetNumbers(((0, 0),), {"lr": 1}), InputError, "count"),
        (lambda: SetNumbers(((0, 1),), {}), InputError, "no number is named"),
        (lambda: SetNumbers(((0, 1),), 3), TypeMismatchError, "names with numbers"),
        (lambda: SetNumbers(((0, 1),), {"lr": 1}, 3), TypeMismatchError, "said"),
        (lambda: SetNumbers(((0, 99),), {"lr": 1}), InputError, "are not all among the 8"),
        (lambda: SetNumbers(((0, 1),), {"lr": -1}), InputError, "lr"),
        (lambda: SetNumbers(((0, 1),), {"speed": 1}), InputError, "has no speed"),
        (lambda: SetNumbers(((0, 1),), {"nesterov": True}), InputError, "momentum > 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(edit, error, said):
    run = make()
    with pytest.raises(error, match=said):
        run.do(edit())
    assert len(run.optimizer.param_groups) == 1
    assert len(run.log) == 0


def test_weights_that_are_not_trained_are_refused():
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh())
    run = sv.Run(net, nn.MSELoss(), optim.SGD([net[0].bias], lr=0.1), (X, Y), engine="numpy")
    with pytest.raises(InputError, match="holds none of these"):
        run.set_numbers(net[0].weight, lr=0.1)
    for wrong in (Weight(1.0), [Weight(1.0)]):
        with pytest.raises(InputError, match="not among the weights"):
            run.set_numbers(wrong, lr=0.1)
    for wrong in ("0.weight", 3, [3], []):
        with pytest.raises(sv.ScalarvizError, match="the weights"):
            run.set_numbers(wrong, lr=0.1)
    run.set_numbers([net[0].bias, net[0].weight], lr=0.5)  # those that are held
    assert [group["lr"] for group in run.optimizer.param_groups] == [0.5]


def test_there_are_at_most_so_many_groups():
    net = nn.Linear(10, 10, seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(10), np.eye(10)), engine="numpy")
    for index in range(63):
        run.do(SetNumbers(((index, 1),), {"lr": 0.2}))
    with pytest.raises(InputError, match="at most 64 parameter groups"):
        run.do(SetNumbers(((99, 1),), {"lr": 0.2}))
    run.step(1)
