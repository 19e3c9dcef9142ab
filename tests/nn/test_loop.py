"""The loop that everybody types, over batches: by kernels, with PyTorch's numbers and those of a Run."""

import gc
import threading
import warnings
import weakref
from collections import deque
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
import scalarviz.nn.functional as F
from kit.learning import LOSSES, OPTIMISERS, make_optimizer, make_schedule
from kit.networks import NETWORKS
from kit.runs import far, make_data
from scalarviz import nn, optim
from scalarviz.engine.problem import indices
from scalarviz.errors import InputError, StateError, TypeMismatchError

BATCH = 6


@pytest.fixture(autouse=True)
def no_objects(request, monkeypatch):
    """Kernels compute each batch, except where a test's name says that objects do."""
    if "objects" in request.node.name:
        return
    monkeypatch.setattr(nn._batch, "_one_by_one", lambda *given: pytest.fail(given[-1]))


def batches(data, steps):
    """Slices of the samples, the last of an epoch smaller."""
    x, y = data
    starts = range(0, len(x), BATCH)
    return [(x[k : k + BATCH], y[k : k + BATCH]) for _ in range(steps) for k in starts][:steps]


def loop(net, loss, rule, pairs, schedule=None):
    losses = []
    for x, y in pairs:
        rule.zero_grad()
        total = loss(net(x), y)
        total.backward()
        rule.step()
        if schedule is not None:
            schedule.step()
        losses.append(total.item())
    return losses


def tensors(torch, pairs):
    return [tuple(torch.tensor(part) for part in pair) for pair in pairs]


SAME = [name for name, row in NETWORKS.items() if row.written and not row.draws]
"""The networks that PyTorch builds from the same text, with the same numbers."""
PAIRS = [
    *((name, "mse", "adam") for name in SAME if name not in ("classes", "words", "gpt", "picture")),
    *((name, "cross-entropy", "sgd_all") for name in ("classes", "words", "picture")),
    ("gpt", "cross-entropy", "adam"),  # with sgd_all, weights that differ by 2e-16 lead PyTorch itself 2e-9 apart
    *(("classes" if row.outputs != "probabilities" else "rgb", name, "adam") for name, row in LOSSES.items()),
    *(("mlp", "mse", rule) for rule in OPTIMISERS),
]


@pytest.mark.parametrize(("network", "loss", "rule"), PAIRS)
def test_two_hundred_steps_are_pytorchs(network, loss, rule, torch):
    row = NETWORKS[network]
    net = row.ours()
    theirs, pairs = row.theirs(net.state_dict()), batches(make_data(network, loss, 2 * BATCH + 3), 200)
    found = loop(net, LOSSES[loss].ours(), make_optimizer(rule, net.parameters()), pairs)
    other = make_optimizer(rule, list(theirs.parameters()), torch.optim)
    wanted = loop(theirs, LOSSES[loss].theirs(), other, tensors(torch, pairs))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    for name, tensor in theirs.state_dict().items():
        np.testing.assert_allclose(net.state_dict()[name], tensor.numpy(), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_loop_over_the_batches_of_a_run_ends_at_its_weights(network):
    one, other = NETWORKS[network].ours(), NETWORKS[network].ours()
    loss = "cross-entropy" if NETWORKS[network].reads == "words" else "mse"
    x, y = make_data(network, loss, 2 * BATCH)
    nn.init.manual_seed(5)
    with sv.Run(one, LOSSES[loss].ours(), optim.Adam(one.parameters(), lr=0.01), (x, y), batch_size=BATCH, seed=5,
                engine="numba", dtype="float64") as run:  # fmt: skip
        chosen = [indices(5, step, 2 * BATCH, BATCH, "epochs") for step in range(20)]
        run.step(20)
        wanted = run.state_dict()
    loop(other, LOSSES[loss].ours(), optim.Adam(other.parameters(), lr=0.01), [(x[at], y[at]) for at in chosen])
    for name, array in other.state_dict().items():
        assert far(array, wanted[name]) <= 1e-12, name


TEXTS = (Path(__file__).parents[1] / "kit" / "texts" / "losses.txt").read_text().splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_the_gradient_of_any_text_of_the_outputs_is_pytorchs(text, torch):
    def networks(space):
        made = space.Sequential(space.Linear(3, 4), space.Tanh(), space.Linear(4, 3))
        return made, space.Sequential(space.Linear(3, 5), space.ReLU(), space.Linear(5, 3)), space.Linear(3, 1)

    ours, theirs = networks(nn), networks(torch.nn)
    for one, two in zip(ours, theirs, strict=True):
        two.double().load_state_dict({name: torch.tensor(np.asarray(part)) for name, part in one.state_dict().items()})
    random = np.random.default_rng(0)
    x, y, k = random.normal(size=(6, 3)), random.normal(size=(6, 3)), np.arange(6) % 3
    names = ("net", "decoder", "other")
    weight = [1.0, 2.0, 0.5]
    for _ in range(3):  # NumPy computes the first pass, kernels the others
        for one in (*ours, *theirs):
            one.zero_grad()
        found = eval(text, {"torch": torch, "nn": nn, "F": F, "x": x, "y": y, "k": k, "W": weight,
                            **dict(zip(names, ours, strict=True))})  # fmt: skip
        found.backward()
        wanted = eval(text, {
            "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "x": torch.tensor(x), "y": torch.tensor(y),
            "k": torch.tensor(k), "W": torch.tensor(weight).double(), **dict(zip(names, theirs, strict=True)),
        })  # fmt: skip
        wanted.backward()
        assert found.item() == pytest.approx(wanted.item(), rel=1e-10, abs=1e-12)
        for one, two in zip(ours, theirs, strict=True):
            for (name, mine), its in zip(one.named_parameters(), two.parameters(), strict=True):
                given = np.zeros(its.shape) if its.grad is None else its.grad.numpy()
                np.testing.assert_allclose(mine.grad, given, rtol=1e-9, atol=1e-11, err_msg=name)


def test_what_a_loop_does_beside_the_steps(torch):
    row = NETWORKS["mlp"]
    net = row.ours()
    theirs, pairs = row.theirs(net.state_dict()), batches(make_data("mlp", "mse", 15), 30)
    x = row.samples(40, seed=9)

    def steps(net, space, pairs, loss, rule, schedule, clip, x):
        for epoch, (a, b) in enumerate(pairs):
            net.train()
            with np.errstate(all="raise"):
                loss(net(a), b).backward()
            if epoch % 3 == 2:  # gradients of three batches add up
                clip(net.parameters(), 0.05)
                rule.step()
                schedule.step()
                rule.zero_grad()
            net.eval()
            with space.no_grad():
                seen = net(x)
            assert not seen.requires_grad
        return seen

    ours = steps(net, sv, pairs, nn.MSELoss(), rule := optim.Adam(net.parameters(), lr=0.02),
                 make_schedule("cosine", rule), nn.utils.clip_grad_norm_, x)  # fmt: skip
    other = torch.optim.Adam(theirs.parameters(), lr=0.02)
    wanted = steps(theirs, torch, tensors(torch, pairs), torch.nn.MSELoss(), other,
                   make_schedule("cosine", other, torch.optim.lr_scheduler), torch.nn.utils.clip_grad_norm_,
                   torch.tensor(x))  # fmt: skip
    np.testing.assert_allclose(np.asarray(ours), wanted.numpy(), rtol=1e-9)


class Own(nn.Module):
    """A forward of a user's own, whose text depends on a number of the module."""

    def __init__(self):
        self.a, self.turn, self.seen = nn.Linear(3, 3, seed=0), 1.0, []

    def forward(self, x):
        return self.a(x).tanh() * self.turn + OUTSIDE[0]


OUTSIDE = [0.5]


def test_a_forward_is_recorded_once_and_again_when_what_it_reads_changes(monkeypatch):
    net, x = Own(), np.random.default_rng(0).normal(size=(5, 3))
    rows = np.tanh(np.asarray(net.a(x)))
    made = []
    trace = nn._batch.trace
    monkeypatch.setattr(nn._batch, "trace", lambda *given: made.append(0) or trace(*given))
    for _ in range(5):
        np.testing.assert_allclose(net(x), rows + 0.5)
    assert len(made) == 1
    net.turn = 2.0
    np.testing.assert_allclose(net(x), 2 * rows + 0.5)
    OUTSIDE[0] = 1.0
    try:
        np.testing.assert_allclose(net(x), 2 * rows + 1.0)
    finally:
        OUTSIDE[0] = 0.5
    np.testing.assert_allclose(net(x), 2 * rows + 0.5)
    net(x[:3]).sum().backward()
    assert len(made) == 3  # the first recording still holds at the end


class Reads(nn.Module):
    """Its forward reads a number in the way of a test."""

    scale = 1.0

    def __init__(self, held=None):
        self.layer, self.held, self.seen = nn.Linear(3, 2, seed=0), held, 0

    def forward(self, x):
        return self.layer(x) * self.number()

    def number(self):
        return self.held.scale


class ReadsItsClass(Reads):
    def number(self):
        return self.scale


class ReadsATensor(Reads):
    def number(self):
        return float(self.held[0])


class ReadsByAProperty(Reads):
    @property
    def _number(self):
        return self.seen + 1.0

    def number(self):
        return self._number


class ReadsByAFunction(Reads):
    def number(self):
        return _number_of(self)


def _number_of(net):
    return net.seen + 1.0


class Leaky(nn.LeakyReLU):
    """Its forward is that of the package, and its class a user's."""

    def named(self):
        return "leaky"


class Counts(Reads):
    def number(self):
        self.seen += 1
        return float(self.seen)


def test_a_forward_that_counts_its_calls_counts_each():
    net, x = Counts(), np.ones((2, 3))
    rows = np.asarray(net.layer(x))
    for number in (1, 2, 3):
        np.testing.assert_allclose(net(x), number * rows)


def test_a_users_subclass_of_a_layer_follows_its_numbers():
    net, x = Leaky(0.1), -np.ones((2, 3))
    for slope in (0.1, 0.5):
        net.negative_slope = slope
        np.testing.assert_allclose(net(x), slope * x)


class Draws(Reads):
    def number(self):
        return float(self.held.normal())


HOLDER = SimpleNamespace(scale=1.0)


class ReadsAGlobal(Reads):
    def number(self):
        return _scale_of_the_holder()


def _scale_of_the_holder():
    return HOLDER.scale


def _set(holder, number):
    holder.scale = number


class ReadsAnotherClass(Reads):
    def number(self):
        return Settings.scale


class Settings:
    scale = 1.0


settings = ModuleType("settings")


class ReadsAModule(Reads):
    def number(self):
        return settings.scale


class ReadsAMethod(Reads):
    def number(self):
        return self.held()


class Gives:
    scale = 1.0

    def number(self):
        return self.scale


def holding(net, k):
    net.held.__self__.scale = k


class ReadsAWeight(Reads):
    def number(self):
        return float(self.held.data[0])


class ReadsTheLast(Reads):
    def number(self):
        return float(self.held[-1])


class ReadsTheNext(Reads):
    def number(self):
        return float(next(self.held))


class ReadsAPart(Reads):
    def number(self):
        return self.held.keywords["numbers"][0]


def _appended(net, k):
    net.held.append(k)


KINDS = {
    "another class": (lambda torch: ReadsAnotherClass(), lambda net, k: _set(Settings, k)),
    "a module": (lambda torch: ReadsAModule(), lambda net, k: _set(settings, k)),
    "a method": (lambda torch: ReadsAMethod(Gives().number), holding),
    "a weight": (lambda torch: ReadsAWeight(nn.Parameter([1.0])), lambda net, k: net.held.data.fill_(k)),
    "a deque": (lambda torch: ReadsTheLast(deque([1.0])), _appended),
    "an iterator": (lambda torch: ReadsTheNext(iter([1.0, 2.0, 3.0])), lambda net, k: None),
    "a partial": (
        lambda torch: ReadsAPart(partial(print, numbers=[1.0])),
        lambda net, k: net.held.keywords["numbers"].__setitem__(0, k),
    ),
    "an object": (lambda torch: Reads(SimpleNamespace(scale=1.0)), lambda net, k: _set(net.held, k)),
    "its class": (lambda torch: ReadsItsClass(), lambda net, k: _set(ReadsItsClass, k)),
    "a tensor": (lambda torch: ReadsATensor(torch.ones(1)), lambda net, k: net.held.fill_(k)),
    "a property": (lambda torch: ReadsByAProperty(), lambda net, k: setattr(net, "seen", k - 1)),
    "a function": (lambda torch: ReadsByAFunction(), lambda net, k: setattr(net, "seen", k - 1)),
    "a global object": (lambda torch: ReadsAGlobal(), lambda net, k: _set(HOLDER, k)),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_a_forward_reads_may_change_between_calls(name, torch):
    make, change = KINDS[name]
    net, x = make(torch), np.ones((2, 3))
    rows = np.asarray(net.layer(x))
    for number in (1.0, 2.0, 3.0):
        change(net, number)
        np.testing.assert_allclose(net(x), number * rows)
    change(net, 1.0)


def test_drawn_numbers_are_new_in_each_call_and_attributes_that_are_not_read_record_nothing(monkeypatch):
    net, x = Draws(np.random.default_rng(0)), np.ones((2, 3))
    assert len({float(net(x)[0, 0]) for _ in range(4)}) == 4
    made, trace, other = [], nn._batch.trace, Reads(SimpleNamespace(scale=1.0))
    monkeypatch.setattr(nn._batch, "trace", lambda *given: made.append(0) or trace(*given))
    for epoch in range(4):
        other.seen = epoch
        other(x)
    assert len(made) == 1


class Two(nn.Module):
    def __init__(self):
        self.body, self.a, self.b = nn.Linear(3, 3, seed=0), nn.Linear(3, 1, seed=1), nn.Linear(3, 1, seed=2)

    def forward(self, x):
        h = self.body(x)
        return self.a(h), {"b": self.b(h)}


def test_only_what_the_loss_comes_from_gets_a_gradient():
    net, x = Two(), np.ones((4, 3))
    for _ in range(2):
        net.zero_grad()
        a, rest = net(x)
        a.square().mean().backward()
        assert (net.body.weight.has_grad, net.a.weight.has_grad, net.b.weight.has_grad) == (True, True, False)
    a, rest = net(x)
    (a.detach() + rest["b"]).sum().backward()
    assert net.b.weight.has_grad


class Focal(nn.Module):
    def __init__(self):
        self.mse = nn.MSELoss()

    def forward(self, outputs, targets):
        return self.mse(outputs, targets) + F.l1_loss(outputs, targets)


def test_words_of_tutorials(torch):
    net, x, y = nn.Linear(3, 3, seed=0), np.random.default_rng(0).normal(size=(4, 3)), np.ones((4, 3))
    gradients = []
    for loss in (lambda: F.mse_loss(y, net(x)), lambda: F.mse_loss(net(x), torch.tensor(y)),
                 ((net(x) - torch.tensor(y)) ** 2).mean, ((torch.tensor(y) - net(x)) ** 2).mean,
                 lambda: F.mse_loss(net(x), F.one_hot(np.zeros(4, int), 1) * y)):  # fmt: skip
        net.zero_grad()
        loss().backward()
        gradients.append(np.array(net.weight.grad))
    for found in gradients[1:]:
        np.testing.assert_allclose(found, gradients[0])
    assert Focal()(net(x), y).item() == pytest.approx(F.mse_loss(net(x), y).item() + F.l1_loss(net(x), y).item())
    assert net(x).argmax(1).eq(torch.zeros(4).long()).sum() == (np.argmax(np.asarray(net(x)), 1) == 0).sum()
    assert (torch.ones(1, 4).double() @ net(x)).shape == (1, 3)
    assert F.relu(1 - net(x).sum(-1)).mean().requires_grad
    assert torch.max(net(x), net(x) * 2).shape == (4, 3)
    assert torch.norm(net(x)).item() == pytest.approx(np.linalg.norm(np.asarray(net(x))))
    assert net(x).topk(2, 1).values.shape == net(x).topk(2, 1).indices.shape == (4, 2)
    (net(x) * 0).std().backward()
    assert np.isfinite(net.weight.grad).all()
    with torch.no_grad():
        assert not net(x).requires_grad


class Quiet(nn.Module):
    def __init__(self, torch):
        self.layer, self.torch = nn.Linear(3, 2), torch

    def forward(self, x):
        with self.torch.no_grad():
            return self.layer(x)


def test_pytorchs_no_grad_inside_forward_is_refused(torch):
    with pytest.raises(InputError, match=r"h\.detach\(\)"):
        Quiet(torch)(np.ones((2, 3)))


def test_the_memory_of_a_batch_may_be_used_again():
    net, batch = nn.Linear(3, 1, seed=0), np.ones((4, 3))
    for _ in range(2):
        net.zero_grad()
        batch[:] = 1.0
        outputs = net(batch) * batch
        batch[:] = 100.0
        outputs.sum().backward()
        np.testing.assert_allclose(net.weight.grad, [[12.0] * 3])


REFUSED = {
    "twice": (lambda net, x, y: _twice(nn.MSELoss()(net(x), y)), StateError, "second time"),
    "twice from one call": (lambda net, x, y: _both(net(x)), StateError, "second time"),
    "after a step": (lambda net, x, y: _changed(net, nn.MSELoss()(net(x), y)), StateError, "has changed.*before"),
    "no graph": (lambda net, x, y: nn.MSELoss()(net(x).detach(), y).backward(), StateError, "no graph"),
    "many numbers": (lambda net, x, y: net(x).backward(), StateError, r"\(4, 3\).*\.mean\(\)"),
    "a wrong gradient": (lambda net, x, y: net(x).backward(np.ones(3)), InputError, r"\(4, 3\), got \(3,\)"),
    "NumPy's own": (lambda net, x, y: np.interp(net(x), [0, 1], [0, 2]).sum().backward(), StateError, "known gradient"),
    "a NumPy method": (lambda net, x, y: net(x).take([0]).sum().backward(), StateError, "without a known gradient"),
    "in place": (lambda net, x, y: net(x).__setitem__(0, 1.0), sv.ScalarvizError, r"sv\.where"),
    "shapes": (lambda net, x, y: net(x) - np.ones(7), InputError, r"\(4, 3\) and \(7,\)"),
}  # fmt: skip


def _twice(loss):
    loss.backward()
    loss.backward()


def _both(outputs):
    outputs.sum().backward()
    outputs.mean().backward()


def _changed(net, loss):
    optim.SGD(net.parameters(), lr=0.1)
    with sv.no_grad():
        net[0].weight += 1.0
    loss.backward()


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_said(name):
    step, kind, text = REFUSED[name]
    net = nn.Sequential(nn.Linear(3, 3, seed=0))
    with pytest.raises(kind, match=text):
        step(net, np.ones((4, 3)), np.ones((4, 3)))


def test_a_graph_may_be_kept_for_a_second_time():
    net, x = nn.Linear(3, 2, seed=0), np.ones((4, 3))
    loss = net(x).square().mean()
    loss.backward(retain_graph=True)
    first = np.array(net.weight.grad)
    loss.backward()
    np.testing.assert_allclose(net.weight.grad, 2 * first)


def test_a_graph_is_freed_with_its_loss():
    net, x = nn.Linear(3, 2, seed=0), np.ones((4, 3))
    made = net(x)
    gone, loss = weakref.ref(made._made), made.square().mean()
    loss.backward()
    del made, loss
    gc.collect()
    assert gone() is None
    gone = weakref.ref(net)
    gc.disable()
    try:
        del net
        assert gone() is None  # without the collector: a network is in no circle
    finally:
        gc.enable()


class Asks(nn.Module):
    """Its forward needs the number of a Value, so it cannot be recorded."""

    def __init__(self):
        self.a = nn.Linear(3, 2, seed=0)

    def forward(self, x):
        h = self.a(x)
        return h * 2 if h[..., 0].item() > 0 else h


def test_what_cannot_be_recorded_is_computed_with_objects_and_said():
    net, x, y = Asks(), np.random.default_rng(0).normal(size=(6, 3)), np.ones((6, 2))
    for k in range(2):
        net.zero_grad()
        with (
            pytest.warns(RuntimeWarning, match=r"Asks.*\.item.*6 samples took") if k == 0 else warnings.catch_warnings()
        ):
            nn.MSELoss()(net(x), y).backward()
    found = np.array(net.a.weight.grad)
    net.zero_grad()
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        (nn.MSELoss()(net(a), b) / 6).backward()
    np.testing.assert_allclose(found, net.a.weight.grad, rtol=1e-12)


@pytest.mark.parametrize("between", ["{} * 2", "{}.tanh()", "torch.cat([{}, {}], 1)[:, :3]", "{}[:, [2, 0, 1]]", "{}"])
def test_a_network_behind_an_operation_passes_the_gradient_on(between, torch):
    def networks(space):
        return space.Linear(3, 3), space.Sequential(space.Linear(3, 4), space.BatchNorm1d(4), space.Tanh())

    ours, theirs = networks(nn), networks(torch.nn)
    for one, two in zip(ours, theirs, strict=True):
        two.double().load_state_dict({name: torch.tensor(np.asarray(part)) for name, part in one.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(5, 3))
    for _ in range(2):
        for nets, given in ((ours, x), (theirs, torch.tensor(x))):
            h = eval(between.replace("{}", "h"), {"h": nets[0](given), "torch": torch})
            (nets[1](h).square().mean() + nets[0](given).sum()).backward()
    for one, two in zip(ours, theirs, strict=True):
        for (name, mine), its in zip(one.named_parameters(), two.parameters(), strict=True):
            np.testing.assert_allclose(mine.grad, its.grad.numpy(), rtol=1e-8, atol=1e-12, err_msg=name)
        for name, tensor in two.state_dict().items():
            np.testing.assert_allclose(one.state_dict()[name], tensor.numpy(), rtol=1e-10, err_msg=name)


def test_objects_for_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(nn._batch, "MOST_NODES", 20)
    with pytest.raises(InputError, match="at most 20 are allowed"):
        Asks()(np.ones((50, 3))).sum().backward()


def test_threads_that_share_a_network_get_their_own_numbers():
    net = nn.Sequential(nn.Linear(3, 16, seed=0), nn.Tanh(), nn.Linear(16, 2, seed=1))
    inputs = [np.random.default_rng(k).normal(size=(BATCH, 3)) for k in range(2)]
    for x in inputs:
        net(x).sum().backward()
    net.zero_grad()
    wanted = [np.array(net(x)) for x in inputs]
    wrong = []

    def call(k):
        for _ in range(300):
            found = net(inputs[k])
            found.sum().backward()
            if not np.array_equal(found, wanted[k]):
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    together = net[0].weight.grad.copy()
    net.zero_grad()
    for x in inputs:
        net(x).sum().backward()
    np.testing.assert_allclose(together, 300 * net[0].weight.grad, rtol=1e-9)


def test_an_interrupted_backward_can_be_done_again():
    net, x, other = nn.Linear(3, 2, seed=0), np.ones((BATCH, 3)), np.full((BATCH, 3), 5.0)
    for _ in range(2):
        net(x).sum().backward()
    net.zero_grad()
    loss = (net(x) ** 2).sum()
    net(other)  # the rows are another batch's
    size = next(iter(net._books.recordings[(3,)][0].passes.values()))._sizes[BATCH, 0]
    run, size.run = size.run, lambda *given: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        loss.backward(retain_graph=True)
    size.run = run
    net.zero_grad()
    loss.backward()
    found = net.weight.grad.copy()
    net.zero_grad()
    (net(x) ** 2).sum().backward()
    np.testing.assert_array_equal(found, net.weight.grad)


def test_a_batch_of_no_samples_has_gradients_of_0():
    net = nn.Sequential(nn.Linear(3, 4, seed=0), nn.Tanh(), nn.Linear(4, 2, seed=1))
    found = net(np.zeros((0, 3)))
    assert found.shape == (0, 2)
    found.sum().backward()
    assert all(not p.grad.any() for p in net.parameters())


def test_numbers_that_a_gradient_needs_cannot_be_changed():
    """Copies can: of what has no graph, the numbers at the time of use count."""
    net, x = nn.Linear(3, 2, seed=0), np.ones((4, 3))
    y = net(x)
    for change in (lambda: y.fill(0), lambda: np.copyto(y, 0.0), lambda: y.flat.__setitem__(0, 1.0)):
        with pytest.raises(ValueError, match="read-only"):
            change()
    for copy in (y.detach(), y.data, y.numpy(), y.detach().numpy()):
        copy[...] = 0.0
    target = net(x).detach()
    wanted = np.array(target).sum(axis=0)
    loss = (y * target).sum()
    target[...] = 0.0
    loss.backward()
    np.testing.assert_allclose(net.bias.grad, wanted)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_greater(np.ones((4, 3)), 0.5)
    net = nn.Linear(3, 3, seed=0)
    with pytest.raises(TypeMismatchError, match="masked"):
        net(masked)
    with pytest.raises(TypeMismatchError, match="masked"):
        nn.MSELoss()(net(np.ones((4, 3))), masked)


def test_a_gradient_that_is_written_by_hand_moves_its_weights():
    net = nn.Linear(2, 1, seed=0)
    rule, before = optim.SGD(net.parameters(), lr=1.0), net.weight.data.copy()
    net.zero_grad()
    net.weight.grad.copy_(np.ones((1, 2)))
    rule.step()
    np.testing.assert_allclose(net.weight.data, before - 1.0)
    assert net.bias.grad[0] == 0


WRITES = {
    "divided by its norm": (lambda g: g.__itruediv__(g.norm()), lambda g: g / np.sqrt((g * g).sum())),
    "scaled": (lambda g: g.__imul__(0.5 / g.norm()), lambda g: 0.5 * g / np.sqrt((g * g).sum())),
    "np.add into it": (lambda g: np.add(g, g.flip(0), out=g), lambda g: g + g[::-1]),
    "minus a part": (lambda g: g.__isub__(0.1 * g.abs().sum()), lambda g: g - 0.1 * np.abs(g).sum()),
}


@pytest.mark.parametrize("name", WRITES)
def test_numbers_of_weights_change_in_place_by_what_their_words_give(name):
    """Such as clipping by hand: ``g *= 1 / g.norm()``."""
    change, numpy = WRITES[name]
    net = nn.Linear(3, 2, seed=0)
    (net(np.ones((4, 3))) ** 2).sum().backward()
    for numbers in (lambda: net.weight.grad, lambda: net.weight.data):
        wanted = numpy(np.array(numbers()))
        change(numbers())
        np.testing.assert_allclose(numbers(), wanted)


def test_a_large_network_says_that_its_first_call_takes_time(monkeypatch, capfd):
    monkeypatch.setattr(nn._batch, "MANY", 30)
    for width, said in ((1, False), (16, True)):
        net = nn.Sequential(nn.Linear(3, width, seed=0), nn.Tanh())
        for _ in range(2):
            net(np.ones((4, 3)))
        assert capfd.readouterr().err.count("operations of a sample") == said
