"""Runs in float16: PyTorch's mixed precision, on every engine, with a loss scale that is part of the run."""

import numpy as np
import pytest

import scalarviz as sv
import scalarviz.nn.functional as F
from kit.networks import NETWORKS
from kit.runs import bits, far, make_run
from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError, InputError
from scalarviz.scalar import Value
from scalarviz.scalar.kernel import kernel
from scalarviz.scalar.value import apply
from scalarviz.tape import half as half_module

X = np.random.default_rng(0).random((32, 3))
HALF = 2e-3
"""Four roundings to 11 bits."""


def make(engine="numpy", targets=1.0, dtype="float16", **options):
    net = nn.Sequential(nn.Linear(3, 16, seed=1), nn.Tanh(), nn.Linear(16, 3, seed=2))
    adam = optim.Adam(net.parameters(), lr=0.01)
    return Run(net, nn.MSELoss(), adam, (X, targets * (1 - X)), engine=engine, dtype=dtype, **options)


def scale_of(run):
    """Loss scale, good steps since it changed, skipped steps."""
    return run.state_dict()["loss_scale"].tolist()


def half(numbers):
    with np.errstate(over="ignore"):
        return np.asarray(numbers).astype(np.float16).astype(float)


def edges():
    """All numbers of a float16, those in the middle of two, and their neighbours; beyond the largest."""
    numbers = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    between = (numbers[1:] + numbers[:-1]) / 2
    near = [np.nextafter(between, np.float32(side)) for side in (-np.inf, np.inf)]
    found = np.concatenate([numbers, between, *near, np.float32([65519.9, 65520, 1e6, np.inf])])
    return np.concatenate([found, -found]).astype(float)


def test_a_gradient_is_rounded_on_its_way_back():
    for number in (*edges()[::7].tolist(), 65519.9, 65520.0, -np.inf):
        x = Value(1.0)
        apply(kernel("float16"), x).backward(number)
        assert x.grad == half(number) == kernel("float16").value(number)


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_engines_round_alike(engine):
    table = nn.Embedding(len(edges()), 1)

    class Rounded(nn.Module):
        def __init__(self):
            self.table = table

        def forward(self, x):
            return apply(kernel("float16"), self.table(x[0])[0])

    ids = np.arange(len(edges()))[:, None]
    with Run(Rounded(), nn.MSELoss(), optim.SGD(table.parameters(), lr=0.1), (ids, ids), engine=engine) as run:
        run.values[:] = edges()
        np.testing.assert_array_equal(run.predict(ids)[:, 0], half(edges()))


QUICK = ("mlp", "tied")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.ci) for n in NETWORKS])
@pytest.mark.parametrize("engine", ["objects", "numba"])
def test_every_engine_trains_as_numpy_does(engine, name):
    given = {"dtype": "float16", "loss_scale": 256, "samples": 6, "batch_size": 3}
    runs = [make_run(name, engine=each, **given) for each in (engine, "numpy")]
    single = make_run(name, dtype="float32", samples=6, batch_size=3)
    for run in (*runs, single):
        run.step()
    found, wanted, exact = (run.frame() for run in (*runs, single))
    assert far(found.gradient, wanted.gradient) <= HALF
    assert far(wanted.gradient[: single.n_weights], exact.gradient[: single.n_weights]) <= 0.1
    weights = wanted.values[: runs[1].n_weights]
    np.testing.assert_array_equal(weights, half(wanted.master[: runs[1].n_weights]))


def test_the_network_gives_numbers_of_float16_and_the_optimiser_changes_more_exact_ones():
    run = make()
    run.step(50)
    frame, outputs = run.frame(), run.predict(X)
    np.testing.assert_array_equal(outputs, half(outputs))
    np.testing.assert_array_equal(outputs, run.predict(X, frame.values))
    assert (run.values != half(run.values))[: run.n_weights].any()
    np.testing.assert_array_equal(frame.master, run.values)
    before = half(frame.master - frame.update)[: run.n_weights]
    assert ((before == frame.values[: run.n_weights]) & (frame.update[: run.n_weights] != 0)).any()


@pytest.mark.parametrize("targets", [1.0, 3000.0])
def test_training_is_that_of_pytorch_with_autocast_and_gradscaler(torch, targets):
    run, net = make("numba", targets), make(targets=targets).model
    linear = torch.nn.Linear
    theirs = torch.nn.Sequential(linear(3, 16), torch.nn.Tanh(), linear(16, 3))
    theirs.load_state_dict({k: torch.tensor(np.asarray(v, np.float32)) for k, v in net.state_dict().items()})
    adam, scaler = torch.optim.Adam(theirs.parameters(), lr=0.01), torch.amp.GradScaler("cpu")
    x, y = torch.tensor(X, dtype=torch.float32), torch.tensor(targets * (1 - X), dtype=torch.float32)
    for _ in range(20):
        adam.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(theirs(x), y)
        scaler.scale(loss).backward()
        scaler.step(adam)
        scaler.update()
        run.step()
        assert run.loss == pytest.approx(loss.item(), rel=HALF)
        assert scale_of(run)[0] == scaler.get_scale()
    wanted = torch.cat([p.detach().ravel() for p in theirs.parameters()]).numpy()
    np.testing.assert_allclose(run.values[: run.n_weights], wanted, atol=2e-4)
    assert (scale_of(run)[2] > 0) is (targets > 1)


def test_the_scale_doubles_after_good_steps_and_a_fixed_one_stays():
    run, fixed = make("numba"), make("numba", loss_scale=64)
    run.step(2000)
    assert scale_of(run) == [131072, 0, 0]
    fixed.step(3)
    assert scale_of(fixed)[::2] == [64, 0]
    with pytest.raises(DivergedError, match=r"a fixed loss_scale=16,777,216 stays .*'dynamic'"):
        make(loss_scale=1 << 24).step()


def test_a_fixed_scale_stays_where_a_file_has_another_one(tmp_path):
    run, fixed = make(), make(loss_scale=1024)
    run.step(3)
    run.save(tmp_path / "run.safetensors")
    fixed.load(tmp_path / "run.safetensors")
    assert scale_of(fixed) == [1024, 3, 0]


@pytest.mark.parametrize("engine", [pytest.param("objects", marks=pytest.mark.ci), "numpy", "numba"])
def test_going_back_over_skipped_steps_and_a_file_bring_the_same_bits(engine, tmp_path):
    run = make(engine, targets=3000.0)
    places = {}
    for step in range(1, 16):
        run.step()
        places[step] = bits(run)
    assert scale_of(run)[2] >= 5
    for step in (3, 12, 7, 15):
        run.to(step)
        assert bits(run) == places[step]
    run.to(12)
    run.save(tmp_path / "run.safetensors")
    other = make(engine, targets=3000.0)
    other.load(tmp_path / "run.safetensors")
    for each in (run, other):
        each.step(3)
    np.testing.assert_array_equal(other.values, run.values)
    assert scale_of(other) == scale_of(run)


def test_a_file_goes_from_one_dtype_to_another(tmp_path):
    run, single, again = make(), make(dtype="float32"), make(loss_scale=8)
    run.step(3)
    run.save(tmp_path / "half.safetensors")
    single.load(tmp_path / "half.safetensors")
    np.testing.assert_array_equal(single.values, run.values[: run.n_weights])
    single.save(tmp_path / "single.safetensors")
    again.load(tmp_path / "single.safetensors")
    assert scale_of(again) == [8, 0, 0]


def test_without_a_loss_scale_small_gradients_are_rounded_to_0():
    lost = []
    for block in (sv.mistakes.no_loss_scale(), sv.mistakes.symmetric_init()):
        with block:
            run = make(targets=1e-5, loss_scale=None)
            run.values[:] *= 1e-3 ** (np.arange(len(run.values)) < run.n_weights)
            run.step()
        lost.append(int((run.frame().gradient[: run.n_weights] == 0).sum()))
    assert lost[0] > 20 > lost[1]


@pytest.mark.parametrize("given", [0, -1, 1.5, "large", True, float("nan"), 2**41])
def test_a_loss_scale_that_is_none_is_refused(given):
    with pytest.raises((InputError, TypeError), match="loss_scale"):
        make(loss_scale=given)


def test_a_loss_scale_needs_float16():
    with pytest.raises(InputError, match=r"loss_scale=8.*float16.*float32"):
        make(dtype="float32", loss_scale=8)


def linear(x, y, weight, **options):
    """A Run of one weight and no bias, which has done a step."""
    net = nn.Linear(1, 1, bias=False)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e-9), (x, y), dtype="float16", **options)
    run.set_weights(0, [weight])
    run.step()
    return run


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_the_gradient_of_a_batch_is_rounded_and_not_that_of_each_sample(engine):
    one, small = np.ones((64, 1)), np.full((256, 1), 0.005)
    assert scale_of(linear(one, -one, 1.0, engine=engine)) == [32768, 0, 1]  # each sample's 2 would fit, their sum not
    gradient = linear(small, 0 * small - 1e-3, 0.0, engine=engine, loss_scale=1).frame().gradient[0]
    assert gradient == half(2 * half(0.005) * 1e-3)


def test_constants_of_the_model_are_not_rounded(torch):
    def numbers(x):
        return [x[0] * 0.001 * 1e5, x[1] * 1e-9 * 1e9, x[2] * 1e5 * 1e-5]

    class Model(nn.Module):
        def __init__(self):
            self.w = sv.Weight(1.0)

        def forward(self, x):
            return numbers([self.w * x[0], *x[1:]])

    model, x = Model(), np.array([[0.64, 0.27, 0.041]])
    run = Run(model, nn.MSELoss(), optim.SGD([model.w], lr=0.1), (x, x), engine="numpy", dtype="float16")
    wanted = [float(y) for y in numbers(torch.tensor(x[0], dtype=torch.float16))]
    assert run.predict(x)[0].tolist() == wanted


ROWS = ([0.0, 0.0, 0.0], [1e-4, 2e-4, -1e-4], [300.0, 1.0, 2.0])


@pytest.mark.parametrize("x", ROWS)
@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm])
def test_a_norm_is_not_rounded_inside(torch, norm, x):
    net = nn.Sequential(norm(3), nn.Linear(3, 1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), ([x], [[1.0]]), engine="numpy", dtype="float16")
    eps = {"eps": 1e-5} if norm is nn.LayerNorm else {"eps": 2.2e-16}
    wanted = getattr(torch.nn, norm.__name__)(3, **eps)(torch.tensor(half(x), dtype=torch.float32)).tolist()
    assert run.activations(x)["0"] == pytest.approx(wanted, rel=HALF, abs=1e-6)
    run.step(3)


def skipping(**options):
    return make(targets=1e4, **options)


def test_a_skipped_step_moves_nothing_in_why_and_when_it_is_opened(capsys):
    run = skipping()
    run.step()
    assert scale_of(run)[2] == 1
    found, opened = run.why("0.weight[0][1]", step=1), run.open(step=1)
    assert "stayed in step 1" in str(found)
    assert "skipped" in str(found)
    assert opened.skipped
    assert np.array_equal(opened.new_values, run.values)
    assert np.array_equal(opened.new_values[:-3], opened.values[:-3])  # the loss scale behind them is halved
    assert (run.compare(0, 1).changed, np.array_equal(run.open(run.frame()).values, run.values)) == (0, True)
    assert opened.micro_steps()[-1] is not None


@pytest.mark.ci
def test_recorded_frames_are_of_float16_as_live_ones(tmp_path):
    run = skipping()
    with sv.Recording(run, path=tmp_path / "run.svz", activations=True) as recording:
        run.step(3)
        with pytest.warns(RuntimeWarning, match="it rounds to float16"):
            recording.save_html(tmp_path / "page.html")  # of skipped steps, too
    live = run.frame()
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        frame = recorded.frame(len(recorded.steps) - 1)
    assert frame.step == live.step
    assert np.array_equal(frame.values, live.values)
    assert np.array_equal(frame.exact, live.exact)


def test_inputs_that_float16_cannot_hold_are_refused_and_ids_are_not():
    net = nn.Linear(2, 1)
    with pytest.raises(InputError, match=r"sample 1, column 0 is 70000; float16 .* 65,504.*float32"):
        Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), ([[1, 2], [7e4, 1]], [[1], [2]]), dtype="float16")
    table = nn.Embedding(70_000, 1)
    run = Run(table, nn.MSELoss(), optim.SGD(table.parameters(), lr=0.1), ([[69_999]], [[1]]), dtype="float16")
    run.step()
    assert run.frame([69_999]).activations["input"] == [69_999]


def test_the_row_of_a_sample_is_what_the_network_reads():
    assert make().frame([0.1, 0.2, 0.3]).activations["input"].tolist() == half([0.1, 0.2, 0.3]).tolist()


def test_a_weight_beyond_float16_is_named():
    run = make()
    run.set_weights(64, [1e5])
    with pytest.raises(DivergedError, match=r"2\.weight\[0\]\[0\] was 100000 before that step, but float16"):
        run.step(60)


def test_a_number_that_is_a_half_already_is_not_rounded_again(monkeypatch):
    """The same bits as with every rounding; what has two readers keeps its own, since their gradients add up."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.first = nn.Conv2d(1, 3, 2, seed=1), nn.Linear(12, 4, seed=2)
            self.second = nn.Linear(4, 2, seed=3)

        def forward(self, x):
            pooled = F.max_pool2d(F.relu(self.conv(x)), 2, stride=1)
            made = self.first(pooled.flatten())
            return self.second(F.relu(made) + 0.3 * made)

    def trained():
        net, x = Net(), np.random.default_rng(0).normal(size=(9, 1, 4, 4))
        given = (x, x[:, 0, 0, :2] ** 2)
        adam = optim.Adam(net.parameters(), lr=0.05)
        with Run(net, nn.MSELoss(), adam, given, engine="numpy", dtype="float16") as run:
            run.step(20)
            rounded = [i.count for i in run._problem.plan.body.instructions if i.op == "float16"]
            return run.values.copy(), run.history.loss[:], sum(rounded)

    found = trained()
    monkeypatch.setattr(half_module, "CHOOSING", set())
    every = trained()
    assert np.array_equal(found[0], every[0])
    assert np.array_equal(found[1], every[1])
    assert every[2] - found[2] == 27, "relu behind the convolution"
