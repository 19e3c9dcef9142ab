"""A hand-written loop over objects and a `Run` do the same; networks of pictures in runs and with PyTorch's weights."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import LOSSES, OPTIMISERS, make_optimizer
from kit.networks import NETWORKS, WORDS
from kit.runs import ENGINES, far, make_data, make_run
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, StateError

STEPS, SAMPLES = 15, 8


def loop(net, loss, rule, data):
    for _ in range(STEPS):
        rule.zero_grad()
        total = sv.sum([loss(net(a), b) for a, b in zip(*data, strict=True)])
        if getattr(loss, "batch_reduction", "mean") == "mean":
            total = total / len(data[0])
        total.backward()
        rule.step()
    return total.data


@pytest.mark.parametrize("engine", ["numpy", "objects"])
@pytest.mark.parametrize(
    ("loss", "rule"), [*(("mse", rule) for rule in (*OPTIMISERS, "own")), *((name, "sgd_all") for name in LOSSES)]
)
def test_a_loop_and_a_run_end_at_the_same_weights(loss, rule, engine):
    network = "rgb" if LOSSES[loss].outputs == "probabilities" else "classes"
    net = NETWORKS[network].ours()
    last = loop(net, LOSSES[loss].ours(), make_optimizer(rule, net.parameters()), make_data(network, loss, SAMPLES))
    with make_run(network, loss, rule, engine=engine, samples=SAMPLES, batch_size=None) as run:
        run.step(STEPS)
        assert run.loss == pytest.approx(last, rel=1e-11)
        for name, wanted in net.state_dict().items():
            assert far(run.state_dict()[name], wanted) <= 1e-11, name


class Aside(nn.Module):
    """A layer that is computed for nothing, and one of which only the first row is used."""

    def __init__(self):
        self.aside, self.first, self.last = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(1, 3, seed=3)

    def forward(self, x):
        self.aside(x)
        return self.last(self.first(x)[:1])


@pytest.mark.parametrize("rule", ["sgd_all", "adamw_decay"])
@pytest.mark.parametrize("engine", ENGINES)
def test_weights_that_the_loss_does_not_read_do_not_decay(rule, engine):
    one, other, data = Aside(), Aside(), make_data("rgb", "mse", SAMPLES)
    before = other.state_dict()
    loop(one, nn.MSELoss(), make_optimizer(rule, one.parameters()), data)
    with sv.Run(
        other, nn.MSELoss(), make_optimizer(rule, other.parameters()), data=data, engine=engine, dtype="float64"
    ) as run:
        run.step(STEPS)
        found = run.state_dict()
    np.testing.assert_array_equal(found["aside.weight"], before["aside.weight"])
    np.testing.assert_array_equal(found["first.weight"][1], before["first.weight"][1])
    for name, array in one.state_dict().items():
        np.testing.assert_allclose(found[name], array, rtol=1e-10, err_msg=name)


# ---- networks of pictures


def test_a_run_predicts_as_the_objects_do():
    net, x, y = NETWORKS["picture"].ours(), NETWORKS["picture"].samples(9), make_data("picture", "cross-entropy", 9)[1]
    rule = optim.Adam(net.parameters(), lr=0.01)
    run = Run(net, nn.CrossEntropyLoss(), rule, (x, y), batch_size=4, engine="numpy", dtype="float64")
    run.step(5)
    found = run.predict(x)
    np.testing.assert_allclose(found, [[v.data for v in net(row)] for row in x], rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(run.predict(x.reshape(9, -1)), found)
    assert run.evaluate(x, y) == pytest.approx(run.evaluate(x.reshape(9, -1), y[:, None]), rel=1e-15)
    with pytest.raises(sv.ScalarvizError, match=r"the shape \(36,\) or \(1, 6, 6\), got \(6, 6, 1\)"):
        run.predict(x.transpose(0, 2, 3, 1))
    with pytest.raises(sv.ScalarvizError, match=r"got \(35,\)"):
        run.predict(np.ones((1, 35)))
    bad = x.copy()
    bad[4, 0, 5, 0] = np.nan
    with pytest.raises(sv.ScalarvizError, match=r"\[4, 0, 5, 0\] is nan; 1 of 9 samples are not finite"):
        run.predict(bad)


def test_pytorchs_weights_load_by_name_and_predict_the_same(tmp_path, torch):
    from safetensors.torch import save_file

    def network(lib, **options):
        return lib.Sequential(
            lib.Conv2d(1, 4, 3, padding=1), lib.BatchNorm2d(4), lib.ReLU(), lib.MaxPool2d(2),
            lib.Conv2d(4, 8, 3, stride=2), lib.ReLU(), lib.AvgPool2d(1), lib.Flatten(), lib.LayerNorm(8),
            lib.Linear(8, 10), **options,
        )  # fmt: skip

    torch.manual_seed(3)
    theirs = network(torch.nn)
    x = torch.randn(16, 1, 8, 8)
    theirs(x)  # in training mode: moves the running statistics
    save_file(theirs.state_dict(), tmp_path / "cnn.safetensors")
    wanted = theirs.eval()(x).detach().numpy()
    ours = network(nn).eval()
    ours.load_state_dict(sv.io.load_tensors(tmp_path / "cnn.safetensors")[0])
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert int(ours[1].num_batches_tracked) == 1
    found = [[v.data for v in ours(sample)] for sample in x.numpy()[:3]]
    np.testing.assert_allclose(found, wanted[:3], rtol=1e-4, atol=1e-5)  # theirs is float32
    run = Run(ours, nn.CrossEntropyLoss(), optim.SGD(ours.parameters(), lr=0.1), (x.numpy(), [1] * 16), engine="numpy")
    np.testing.assert_allclose(run.predict(x.numpy()), wanted, rtol=1e-4, atol=1e-5)
    run.save(tmp_path / "back.safetensors")
    back = network(torch.nn)
    saved = sv.io.load_tensors(tmp_path / "back.safetensors")[0]
    back.load_state_dict({k: torch.from_numpy(a) for k, a in saved.items()})
    np.testing.assert_array_equal(back.eval()(x).detach().numpy(), wanted)


# ---- what people who come from PyTorch write


@pytest.mark.parametrize("name", NETWORKS)
def test_an_array_of_samples_gives_an_array_of_what_each_sample_gives(name):
    net, x = NETWORKS[name].ours().eval(), NETWORKS[name].samples(7)
    found = net(x)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, [[v.data for v in net(row)] for row in x], rtol=1e-11, atol=1e-12)
    ((found - 1) ** 2).sum().backward()
    gradients = {name: part.grad for name, part in net.named_parameters()}
    gradients = {name: np.array(one) for name, one in gradients.items()}
    net.zero_grad()
    for row in x:
        ((sv.stack(net(row).tolist()) - 1) ** 2).sum().backward()
    for name, part in net.named_parameters():
        assert far(gradients[name], part.grad) <= 1e-11, name


CHANGES = {
    "nothing": lambda net: None,
    "weights": lambda net: setattr(net[2].weight[0][0], "data", 3.0),
    "another layer": lambda net: setattr(net, "1", nn.Sigmoid()),
    "a layer more": lambda net: net.append(nn.ReLU()),
    "a number of a layer": lambda net: setattr(net[3], "negative_slope", 0.5),
    "a tied weight": lambda net: setattr(net[4], "weight", net[2].weight),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_recording_of_a_batch_is_kept_as_long_as_the_structure_stands(change, monkeypatch):
    net, x = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 4, seed=2), nn.LeakyReLU(0.1),
                           nn.Linear(4, 4, seed=3)), NETWORKS["rgb"].samples(5)  # fmt: skip
    net(x)
    CHANGES[change](net)
    if change in ("nothing", "weights"):
        monkeypatch.setattr(nn._batch, "trace", None)
    np.testing.assert_allclose(net(x), [[v.data for v in net(row)] for row in x], rtol=1e-12)


def test_an_array_is_a_batch_also_after_a_change():
    net, x = nn.Sequential(nn.ReLU()), NETWORKS["rgb"].samples(5)
    np.testing.assert_array_equal(net(x), np.maximum(x, 0))
    net.append(nn.Linear(3, 2))
    assert (net(x).shape, net(x[:1]).shape) == ((5, 2), (1, 2))


def test_an_empty_batch_gives_an_empty_array(torch):
    for name in ("rgb", "picture", "words"):
        net, x = NETWORKS[name].ours().eval(), NETWORKS[name].samples(2)
        assert net(x[:0]).shape == (0, *net(x).shape[1:])
    none = NETWORKS["classes"].ours()(np.ones((0, 3)))
    assert np.isnan(nn.MSELoss()(none, np.ones((0, 3))))
    assert np.isnan(nn.CrossEntropyLoss()(none, np.ones(0, int)))
    assert nn.MSELoss(reduction="sum")(none, np.ones((0, 3))) == 0


def test_a_sample_may_be_a_tensor(torch):
    net = NETWORKS["rgb"].ours()
    x = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64, requires_grad=True)
    assert [v.data for v in net(x)] == [v.data for v in net([0.1, 0.2, 0.3])]


class Scale(nn.Module):
    """It takes a sample of any shape."""

    def __init__(self):
        self.by = sv.Weight(2.0)

    def forward(self, x):
        return x * self.by


def test_what_is_one_sample_stays_one(torch):
    picture, net = NETWORKS["picture"].samples(1), NETWORKS["picture"].ours()
    assert isinstance(net(picture[0])[0], sv.Value)
    assert isinstance(nn.MLP(3, [2, 1])(np.ones(3))[0], sv.Value)
    assert Scale()(np.ones((4, 3))).tolist() == np.full((4, 3), 2.0).tolist()  # a batch: nothing fixes the sample
    assert isinstance(Scale()(np.ones((4, 3)).tolist())[0, 0], sv.Value)
    assert isinstance(nn.LayerNorm((2, 2))(np.ones((2, 2)))[0][0], sv.Value)
    with pytest.raises(InputError, match=r"36|one sample|\(1, H, W\)"):
        net(np.ones((2, 3, 6, 6)))
    small = nn.Sequential(nn.Linear(3, 2, seed=0), nn.Dropout(0.5))
    x = torch.randn(4, 3, requires_grad=True)
    assert (np.asarray(small(x)) == 0).any()
    np.testing.assert_allclose(small.eval()(x), small[0](x.detach().numpy()))
    with pytest.raises(OutOfRangeError, match="0 to 4"):
        NETWORKS["words"].ours()(np.array([[0, 1, 2], [0, 5, 0]]))
    run = Run(small, nn.MSELoss(), optim.SGD(small.parameters(), lr=0.1), (np.ones((4, 3)), np.ones((4, 2))), seed=1)
    run.step(3)  # its weights are the run's
    np.testing.assert_array_equal(small(x), run.predict(x.detach().numpy()))
    run.close()


class Written(nn.Module):
    """Its forward is what a test gives."""

    def __init__(self, forward):
        self.inner, self.own = nn.Linear(3, 4, seed=0), forward

    def forward(self, x):
        return self.own(self.inner(x))


LAST = nn.Linear(5, 1)
WRONG = {
    "another layer": (LAST, InputError, r"Linear\(5, 1\).* length 5, got an input of shape \(4,\)"),
    "no such name": (lambda h: h + undefined, NameError, "undefined"),  # noqa: F821
    "its own error": (lambda h: h[4], IndexError, "out of bounds"),
    "PyTorch's batch": (lambda h: "bhwc"[4 : h.size(0)], InputError, "batch"),
    "PyTorch's sides": (lambda h: dict(zip("nc", _two(*h.shape), strict=True)), TypeError, "_two"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("inside", [False, True])
def test_a_batch_shows_the_error_of_the_forward_and_its_line(name, inside):
    own, kind, text = WRONG[name]
    net = nn.Sequential(nn.Linear(3, 3, seed=1), Written(own)) if inside else Written(own)
    with pytest.raises(kind, match=text) as caught:
        net(np.ones((6, 3)))
    assert own is LAST or "<lambda>" in [frame.name for frame in caught.traceback]
    assert "batch of 6" not in str(getattr(caught.value, "__notes__", ""))  # the error is not about the sample's shape


def _two(n, c):
    return n, c


def unpacking(h):
    _n, c = h.shape
    return h * c


def test_sides_with_a_batch_say_that_a_sample_has_none():
    with pytest.raises(ValueError, match="unpack") as caught:
        Written(unpacking)([1.0, 2.0, 3.0])
    assert "T, C = x.shape[-2:]" in caught.value.__notes__[0]


def test_a_forward_that_asks_for_numbers_is_computed_sample_by_sample():
    net, x = Written(lambda h: h[0] if h[1] > 0 else h[2]), NETWORKS["rgb"].samples(8)
    rows = nn.Linear(3, 4, seed=0)(x)
    np.testing.assert_allclose(net(x), np.where(rows[:, 1] > 0, rows[:, 0], rows[:, 2]), rtol=1e-12)


def test_rows_of_another_width_are_a_batch_of_a_layer_that_takes_rows():
    with pytest.raises(
        InputError, match=r"Linear\(2, 4\) '0': a row must have length 2, got an input of shape \(3,\)\n.*batch of 6"
    ):
        nn.Sequential(nn.Linear(2, 4))(np.ones((6, 3)))


def test_outputs_of_a_batch_take_pytorchs_words(torch):
    ours = nn.Linear(3, 4, seed=0)(NETWORKS["rgb"].samples(5))
    theirs = torch.tensor(np.asarray(ours))
    for name in ("argmax", "argmin", "mean", "sum"):
        for asked in ({"dim": 1}, {"dim": -1, "keepdim": True}, {"dim": 0}):
            np.testing.assert_allclose(getattr(ours, name)(**asked), getattr(theirs, name)(**asked), rtol=1e-12)
    for name in ("max", "min"):
        for found, wanted in zip(getattr(ours, name)(1), getattr(theirs, name)(1), strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(getattr(np, name)(ours, axis=1), getattr(ours, name)(dim=1).values)
    assert type(ours.detach().cpu().numpy()) is np.ndarray


@pytest.mark.parametrize("loss", ["MSELoss()", "MSELoss(reduction='none')", "L1Loss(reduction='sum')",
                                  "CrossEntropyLoss(weight=W)", "CrossEntropyLoss(ignore_index=1)"])  # fmt: skip
def test_the_loss_of_a_batch_is_pytorchs(loss, torch):
    net, x = nn.MLP(3, [4, 3], seed=0), np.random.default_rng(0).normal(size=(6, 3))
    y = np.arange(6) % 3 if "Cross" in loss else np.cos(np.arange(18.0)).reshape(6, 3)
    ours = eval(f"nn.{loss}", {"nn": nn, "W": [1.0, 2.0, 0.5]})
    theirs = eval(f"nn.{loss}", {"nn": torch.nn, "W": torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)})
    found, wanted = ours(net(x), y), theirs(torch.tensor(np.asarray(net(x))), torch.tensor(y))
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-12)
    with pytest.raises(InputError, match="one target for each"):
        ours(net(x), y[:-1])


def test_a_state_dict_goes_to_pytorch_and_back(torch):
    def network(space):
        return space.Sequential(
            OrderedDict(conv=space.Conv2d(1, 2, 3), norm=space.BatchNorm2d(2), act=space.ReLU(), flat=space.Flatten(),
                        out=space.Linear(32, 2)))  # fmt: skip

    ours, theirs, x = network(nn).eval(), network(torch.nn).double().eval(), NETWORKS["picture"].samples(5)
    assert list(theirs.state_dict()) == list(ours.state_dict())
    theirs.load_state_dict(ours.state_dict())
    np.testing.assert_allclose(ours(x), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-10, atol=1e-12)
    theirs.train()(torch.tensor(x))
    ours.load_state_dict(theirs.state_dict())
    np.testing.assert_allclose(ours(x), theirs.eval()(torch.tensor(x)).detach().numpy(), rtol=1e-10, atol=1e-12)
    with pytest.raises(RuntimeError, match=r"out\.bias"):
        theirs.load_state_dict({k: v for k, v in ours.state_dict().items() if k != "out.bias"})
    assert type(pickle.loads(pickle.dumps(ours.state_dict()))["out.bias"]) is np.ndarray


def test_a_hand_written_loop_with_a_schedule_is_pytorchs(torch):
    x, y = np.random.default_rng(0).normal(size=(6, 3)), np.arange(6.0)[:, None] / 6
    ours = nn.MLP(3, [4, 1], seed=0)
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    theirs.load_state_dict(ours.state_dict())
    rule, other = optim.SGD(ours.parameters(), lr=0.2), torch.optim.SGD(theirs.parameters(), lr=0.2)
    schedule = optim.lr_scheduler.StepLR(rule, 3, gamma=0.5)
    their_schedule = torch.optim.lr_scheduler.StepLR(other, 3, gamma=0.5)
    for _ in range(8):
        mean = sv.mean([nn.MSELoss()(ours(a), b) for a, b in zip(x, y, strict=True)])
        its = torch.nn.MSELoss()(theirs(torch.tensor(x)), torch.tensor(y))
        for loss, opt, sched in ((mean, rule, schedule), (its, other, their_schedule)):
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
    for name, array in ours.state_dict().items():
        np.testing.assert_allclose(array, theirs.state_dict()[name].numpy(), rtol=1e-10)
    assert schedule.get_last_lr() == pytest.approx(their_schedule.get_last_lr())
    with Run(ours, nn.MSELoss(), rule, (x, y)), pytest.raises(StateError, match=r"leave out scheduler\.step\(\)"):
        schedule.step()


def test_the_row_of_padding_stays_as_in_pytorch(torch):
    ours = nn.Sequential(nn.Embedding(WORDS, 2, padding_idx=-1, seed=0), nn.Flatten(), nn.Linear(6, 1, seed=1))
    theirs = torch.nn.Sequential(
        torch.nn.Embedding(WORDS, 2, padding_idx=-1), torch.nn.Flatten(), torch.nn.Linear(6, 1)
    ).double()
    assert theirs[0].weight[-1].tolist() == ours[0].weight.data[-1].tolist() == [0.0, 0.0]
    assert "padding_idx=4" in repr(ours)
    theirs.load_state_dict(ours.state_dict())
    x, y = np.random.default_rng(0).integers(0, WORDS, (9, 3)), np.arange(9.0)[:, None]
    other = torch.optim.SGD(theirs.parameters(), lr=0.05)
    rule = optim.SGD(ours.parameters(), lr=0.05)
    with Run(ours, nn.MSELoss(), rule, (x, y), dtype="float64") as run:
        run.step(5)
    for _ in range(5):
        other.zero_grad()
        torch.nn.MSELoss()(theirs(torch.tensor(x)), torch.tensor(y)).backward()
        other.step()
    for name, array in ours.state_dict().items():
        np.testing.assert_allclose(array, theirs.state_dict()[name].numpy(), rtol=1e-9, atol=1e-12)
    ours.initialize(seed=3)
    assert ours[0].weight.data[-1].tolist() == [0.0, 0.0] != ours[0].weight.data[0].tolist()


def test_names_of_a_sequential_are_pytorchs(torch):
    def network(space):
        return space.Sequential(
            OrderedDict([("fc1", space.Linear(3, 4)), ("act", space.Tanh()), ("fc2", space.Linear(4, 2))])
        )

    ours, theirs = network(nn), network(torch.nn)
    ours.append(nn.Sigmoid())
    theirs.append(torch.nn.Sigmoid())
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]
    assert (ours.fc2.weight.name, len(ours), ours[2] is ours.fc2, ours.fc1.full_name()) == (
        "fc2.weight", 4, True, "fc1")  # fmt: skip
    assert list(ours[1:3].state_dict()) == list(theirs[1:3].state_dict())
    twin = copy.deepcopy(ours)
    np.testing.assert_array_equal(twin(np.ones((2, 3))), ours(np.ones((2, 3))))
    with Run(ours, nn.MSELoss(), optim.SGD(ours.parameters(), lr=0.1), (np.ones((2, 3)), np.ones((2, 2)))) as run:
        run.change(activation="relu")
        assert isinstance(ours.act, nn.ReLU)


def test_words_that_a_newcomer_typed(torch):
    net, x = Written(lambda h: h), np.random.default_rng(0).normal(size=(6, 3))
    theirs = torch.tensor(np.asarray(net(x)))
    for dim in (None, 0, -1):  # outputs of a batch: PyTorch's count less one; np.std divides by the count
        np.testing.assert_allclose(net(x).std(dim), theirs.std(dim), rtol=1e-12)
    np.testing.assert_allclose(np.std(net(x), axis=0), theirs.numpy().std(0), rtol=1e-12)

    def in_place(h):
        nn.functional.relu(h, inplace=True)
        return h

    np.testing.assert_array_equal(Written(in_place)(x), np.maximum(net(x), 0))
    for same in (lambda h: h.view(h.shape), lambda h: h.reshape(h.size()), lambda h: np.flip(np.flip(h, -1), -1)):
        np.testing.assert_array_equal(Written(same)(x), net(x))
    np.testing.assert_allclose(Written(lambda h: np.average(h, -1))(x), np.asarray(net(x)).mean(-1), rtol=1e-12)
    np.testing.assert_allclose(Written(lambda h: sv.mean(h, dim=-1))(x), np.asarray(net(x)).mean(-1), rtol=1e-12)
    pictures = np.random.default_rng(1).normal(size=(2, 5, 3))
    mask = np.tri(5, 4)[None, None] == 0  # with PyTorch's batch axis, and one more
    wanted = np.where(mask[0], -1.0, net(pictures))
    np.testing.assert_array_equal(Written(lambda h: h.masked_fill(mask, -1.0))(pictures), wanted)
    for asked in (nn.functional.softmax, nn.functional.normalize, lambda h: sv.cat([h, h])):
        with pytest.raises(InputError, match="give dim, such as dim=-1"):
            Written(asked)(pictures)
    with pytest.raises(sv.ScalarvizError, match=r"sv\.where\(condition, a, b\)"):
        Written(lambda h: h[h < 0])(x)
