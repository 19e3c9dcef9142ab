"""An opened step: rows, deltas, terms, gradient, new weights are the engine's and PyTorch's; the run stays."""

import contextlib
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.commands import make_scene
from kit.edits import CHANGES, EDITS, MOVES
from kit.learning import LOSSES
from kit.networks import NETWORKS
from kit.refusals import refusals
from kit.runs import bits, make_data, make_run
from scalarviz import Run, nn, optim
from scalarviz.errors import (
    InputError,
    OutOfRangeError,
    ScalarvizError,
    StateError,
    TypeMismatchError,
    UnknownNameError,
)
from scalarviz.run.opened.digits import MINUS
from scalarviz.run.opened.equations import loss_of
from scalarviz.run.opened.why import why
from scalarviz.run.travel import span

SUITED = {"rgb": "bce", "relu": "huber", "no bias": "mse, sum", "classes": "cross-entropy", "picture": "cross-entropy",
          "words": "cross-entropy", "gpt": "cross-entropy", "many activations": "smooth l1"}  # fmt: skip


class Centred(nn.Module):
    """Samples that depend on each other, and a statistic that follows the batch."""

    def __init__(self):
        self.layer, self.norm = nn.Linear(3, 3, seed=3), nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(self.layer(x)).tanh()


EVERY = [*NETWORKS, "centred"]


def make(name, engine="numpy", dtype="float64", optimizer="sgd_momentum", **more):
    more = {"batch_size": 6, **more}
    if name in NETWORKS:
        return make_run(name, SUITED.get(name, "mse"), optimizer, engine=engine, dtype=dtype, samples=16, **more)
    net = Centred()
    rule = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    return Run(net, nn.MSELoss(), rule, make_data("mlp", "mse", 16), seed=3, engine=engine, dtype=dtype, **more)


def sums(opened):
    """Sum of the terms of every weight, and the norm of their sizes: what rounding is measured by."""
    found = [opened.terms(i, 1) for i in range(len(opened.values))]
    return np.array([t.sum for t in found]), np.linalg.norm([t.absolute for t in found])


def agrees(opened, run, bound=1e-11):
    """Whether a run that has just done the step computed the same."""
    _, size = sums(opened)
    assert (run.steps, run.frame().lr) == (opened.step, opened.lr)
    assert np.linalg.norm(run.frame().gradient - opened.gradient) <= bound * size
    assert run.loss == pytest.approx(opened.loss + opened.penalty, rel=bound, abs=bound)
    rounding = np.finfo(run.values.dtype).eps * np.linalg.norm(opened.values)
    assert np.linalg.norm(run.values - opened.new_values) <= 2 * rounding + bound * size


def check_inside(opened):
    """The parts of an opened step make its gradient and its new weights."""
    total, size = sums(opened)
    learnt = [k for k in range(len(opened.values)) if not opened.follows(k)]  # statistics follow the batch
    assert np.linalg.norm((total - opened.gradient)[learnt]) <= 1e-12 * size
    for index in range(0, len(opened.values), 3):
        terms, update = opened.terms(index, 10**6), opened.update(index)
        assert len(terms) == terms.count
        assert terms.products.sum() == pytest.approx(terms.sum, rel=1e-9, abs=1e-15)
        assert np.abs(terms.products).sum() == pytest.approx(terms.absolute, rel=1e-12)
        assert set(terms["sample"]) <= set(opened.batch.tolist())
        few = opened.terms(index, 3)
        largest = np.sort(np.abs(terms.products))[::-1][:3]
        np.testing.assert_allclose(np.sort(np.abs(few.products))[::-1], largest, rtol=1e-12)
        assert (few.sum, few.count_words) == (
            terms.sum,
            f"3 of {terms.count:,}" if terms.count > 3 else str(terms.count),
        )
        assert update.after == pytest.approx(opened.new_values[index], rel=1e-12, abs=1e-15)
        assert (update.before, update.gradient) == (opened.values[index], opened.gradient[index])


@pytest.mark.parametrize("name", EVERY)
def test_the_parts_make_the_step_and_the_engine_agrees(name):
    run, alone = make(name), make(name)
    for one in (run, alone):
        one.step(2)
    opened = run.open()
    check_inside(opened)
    opened.micro_steps(), opened.loss_along(0, 5)
    run.step(1), alone.step(1)
    agrees(opened, run)
    assert bits(run) == bits(alone)
    again = run.open(step=3)
    assert np.array_equal(again.gradient, opened.gradient)
    assert np.array_equal(again.new_values, opened.new_values)
    assert np.array_equal(again.own.gradient, run.frame().gradient)
    assert np.array_equal(again.own.values, run.values)
    assert (again.own.loss, again.own.engine) == (run.loss, "numpy")
    assert bits(run) == bits(alone)


@pytest.mark.ci
@pytest.mark.parametrize(("engine", "dtype"), [("objects", "float64"), ("numba", "float32")])
@pytest.mark.parametrize("name", EVERY)
def test_every_engine_agrees(name, engine, dtype):
    run = make(name, engine, dtype)
    opened = run.open()
    run.step(1)
    agrees(opened, run, 1e-5 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("name", [name for name, row in NETWORKS.items() if row.written and not row.draws])
def test_pytorch_finds_the_same_rows_deltas_and_gradient(name, torch):
    run, made = make(name), {}
    opened, net = run.open(), NETWORKS[name].theirs(run.model.state_dict())

    def note(at, module, given, out):
        out = out[0] if isinstance(out, tuple) else out
        if out.requires_grad:
            out.retain_grad()
        number = sum(key.partition(" (")[0] == at for key in made) + 1
        made[at if number == 1 else f"{at} ({number})"] = out

    for at, module in net.named_modules():
        module.register_forward_hook(lambda *given, at=at: note(at, *given))
    row = SUITED.get(name, "mse")
    x, y = (torch.tensor(part[opened.batch]) for part in make_data(name, row, 16))
    loss = LOSSES[row].theirs()(net(x), y)
    loss.backward()
    assert opened.loss == pytest.approx(loss.item(), rel=1e-10)
    compared = [stage.name for stage in opened.stages if stage.name in made]
    assert compared
    for at in compared:
        rows = made[at].detach().numpy().reshape(len(opened.batch), -1).T
        if len(rows) != len(opened.rows[at]):
            continue  # one call of ours for each token
        np.testing.assert_allclose(opened.rows[at], rows, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(opened.means[at], rows.mean(axis=1), rtol=1e-9, atol=1e-12)
        if made[at].grad is not None:
            deltas = made[at].grad.numpy().reshape(len(opened.batch), -1).T
            np.testing.assert_allclose(opened.deltas[at], deltas, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(opened.delta_sums[at], deltas.sum(axis=1), rtol=1e-9, atol=1e-12)
    theirs = {at: p.grad.numpy() for at, p in net.named_parameters()}
    for tensor in opened.tensors:
        wanted = np.zeros(tensor.shape) if tensor.buffer else theirs[tensor.name]
        np.testing.assert_allclose(tensor.of(opened.gradient), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", ["classes", "picture", "words"])
def test_the_delta_of_a_class_is_pytorchs_share_less_its_target(name, alone, torch):
    run = make(name)
    opened = run.open(sample=5) if alone else run.open()
    (stage,) = {step.stage for step in opened.micro_steps() if step.op == "gap"}
    logits = torch.tensor(opened.rows[stage].T)
    shares, classes = torch.softmax(logits, 1).numpy(), opened.targets[0].astype(int)
    wanted = np.eye(shares.shape[1])[classes]
    for step in (step for step in opened.micro_steps() if step.op == "gap"):
        unit = step.column
        assert (step.formula, step.factors[2]) == (f"p {MINUS} t", 1)
        assert step.factors[:2] == pytest.approx((shares[:, unit].mean(), wanted[:, unit].mean()), rel=1e-9)
        assert step.value == pytest.approx(opened.delta_sums[stage][unit], rel=1e-9)
    short = torch.nn.functional.cross_entropy(logits, torch.tensor(classes)).item()
    assert opened.loss == pytest.approx(short, rel=1e-9)
    if alone:
        assert loss_of(opened.rows[stage].T, opened.targets[:, 0], short) is not None
        assert loss_of(opened.rows[stage].T, opened.targets[:, 0], 1.01 * short) is None  # it is checked, not believed


@pytest.mark.parametrize("count", [1, 3, 9])
def test_the_loss_of_a_word_is_the_mean_over_its_letters_by_pytorch(count, torch):
    draw = np.random.default_rng(count)
    outputs, classes = draw.normal(size=(9, 5)), draw.integers(0, 5, 9).astype(float)
    weights = np.where(np.arange(9) < count, 1 / count, 0.0)
    each = torch.nn.functional.cross_entropy(
        torch.tensor(outputs), torch.tensor(classes, dtype=torch.int64), reduction="none"
    ).numpy()
    loss = float(each @ weights)
    letters, numbers = loss_of(outputs, np.concatenate([classes, weights]), loss)
    assert float(numbers.rpartition(" = ")[2]) == pytest.approx(loss, rel=1e-3)
    assert (f"/ {count}" in letters) == (count > 1)
    assert ("rest" in numbers) == (count == 9)
    printed = re.sub(r"ln ([\d.e−]+)", r"np.log(\1)", numbers.partition(" = ")[0]).replace("rest", "").replace("−", "-")
    assert eval(printed) == pytest.approx(float(numbers.rpartition(" = ")[2]), rel=6e-4)  # true as printed
    last = [float(share) for share in re.findall(r"ln ([\d.]+)", numbers)]
    assert min(abs(np.log(last) + each[count - 1])) < 1e-3
    weights[0] *= 2  # a mean that is none
    assert count == 1 or loss_of(outputs, np.concatenate([classes, weights]), float(each @ weights)) is None


def test_the_delta_of_a_letter_is_divided_by_the_letters_of_its_word(torch):
    scene = make_scene("microgpt")
    scene.run.step(3)
    opened = scene.run.open(sample=0)
    (step,) = (step for step in opened.micro_steps() if step.op == "gap")
    count = int((opened.targets[16:, 0] > 0).sum())
    shares = torch.softmax(torch.tensor(opened.rows[f"letters ({count})"][:, 0]), 0)
    wanted = float(step.column == opened.targets[count - 1, 0])
    assert step.factors == pytest.approx((float(shares[step.column]), wanted, 1 / count), rel=1e-9)
    assert step.formula == f"(p {MINUS} t) / {count}"
    assert step.value == pytest.approx(opened.delta_sums[f"letters ({count})"][step.column], rel=1e-9)


def test_terms_of_a_convolution_stand_at_its_positions(torch):
    """The gradient of each sample alone is the sum of its positions; what a weight meets is the shifted picture."""
    run = make("picture")
    opened, net = run.open(), NETWORKS["picture"].theirs(run.model.state_dict())
    pictures, classes = make_data("picture", "cross-entropy", 16)
    terms = opened.terms("0.weight[1][0][2][0]", 10**6)
    assert terms.count == 6 * 36
    for place, sample in enumerate(opened.batch.tolist()):
        net.zero_grad()
        out = net(torch.tensor(pictures[sample : sample + 1]))
        (torch.nn.functional.cross_entropy(out, torch.tensor(classes[sample : sample + 1])) / 6).backward()
        mine = terms.array[terms["sample"] == sample]
        assert mine["position"].tolist() == list(range(36))
        assert (mine["delta"] * mine["x"]).sum() == pytest.approx(net[0].weight.grad[1, 0, 2, 0].item(), abs=1e-14)
        padded = np.pad(pictures[sample, 0], 1)
        np.testing.assert_array_equal(mine["x"].reshape(6, 6), padded[2:8, 0:6])
        np.testing.assert_array_equal(mine["delta"], opened.deltas["0"][36:72, place])
    (at,), (met,) = terms.delta_places, terms.factor_places
    assert (at.stage, at.units) == ("0", tuple(range(36, 72)))
    numbered = np.pad(np.arange(36).reshape(6, 6), 1, constant_values=-1)
    assert (met.stage, met.units) == ("input", tuple(numbered[2:8, 0:6].ravel().tolist()))


OPERATIONS = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 1.5), lambda a, b: -a,
    lambda a, b: (a * a + 0.5) ** b, lambda a, b: a**2, lambda a, b: sv.tanh(a), lambda a, b: sv.sigmoid(a),
    lambda a, b: sv.softplus(a), lambda a, b: sv.sin(a), lambda a, b: sv.cos(a), lambda a, b: sv.exp(sv.tanh(a)),
    lambda a, b: sv.log(a * a + 1.0), lambda a, b: sv.sqrt(a * a + 1.0), lambda a, b: sv.relu(a),
    lambda a, b: sv.leaky_relu(a, 0.1), lambda a, b: sv.abs(a), sv.minimum, sv.maximum,
    lambda a, b: sv.clip(a, -0.7, b), lambda a, b: sv.where(a > b, a * b, b), lambda a, b: sv.max([a, b, 0.1]),
    lambda a, b: sv.dot([a, b], [b, 0.3], a), lambda a, b: sv.dot([0.5, -0.25], [a, b]),
    lambda a, b: sv.logsumexp([a, b, a * b]),
]  # fmt: skip
PROGRAMS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=14
)


@settings(max_examples=15)
@given(PROGRAMS, st.integers(0, 10**6))
def test_any_formula_is_the_sum_of_its_terms(program, seed):
    draw = np.random.default_rng(seed)
    weights = [sv.Weight(w, name=f"w{k}") for k, w in enumerate(draw.uniform(-1, 1, 3))]

    def model(inputs):
        pool = [*weights, *inputs]
        for operation, a, b in program:
            pool.append(operation(pool[a % len(pool)], pool[b % len(pool)]))
        return [sv.tanh(pool[-1]) + sv.tanh(pool[len(pool) // 2]) * weights[0]]

    data = draw.uniform(-1, 1, (5, 2)), draw.uniform(-1, 1, (5, 1))
    run = Run(model, nn.MSELoss(), optim.SGD(weights, lr=0.1), data, batch_size=3, engine="objects", dtype="float64")
    opened = run.open()
    total, size = sums(opened)
    assert np.linalg.norm(total - opened.gradient) <= 1e-12 * size
    run.step(1)  # the objects' own backward, which knows no programs
    agrees(opened, run, 1e-10)


@pytest.mark.parametrize("name", [name for name in EVERY if name not in ("batch norm", "centred", "dropout")])
def test_one_sample_is_a_batch_of_its_own(name):
    run = make(name)
    x, y = run.samples()
    opened, beside = run.open(sample=5), run.open(sample=(x[5], y[5]))
    assert (opened.trial, opened.divisor, opened.batch.tolist(), beside.batch.tolist()) == (True, 1, [5], [-1])
    np.testing.assert_array_equal(beside.gradient, opened.gradient)
    assert opened.loss == pytest.approx(run.evaluate(x[5:6], y[5:6]), rel=1e-12, abs=1e-15)
    total, size = sums(opened)
    assert np.linalg.norm(total - opened.gradient) <= 1e-14 * size
    alone = make(name, batch_size=1)
    alone.refill(x[[5, 5]], y[[5, 5]])
    alone.step(1)
    agrees(opened, alone)
    assert run.steps == 0


def test_one_sample_takes_the_means_of_the_step_that_comes():
    """They stand still, so the gradient is that of finite differences of the sample alone."""
    run = make("centred", optimizer="sgd")
    run.step(2)
    ids, (xs, _) = run.open().batch, run.samples()
    x, y = np.array([0.5, -1.0, 0.2]), np.array([0.2, 0.0, 1.0])
    held = run.model.layer.weight.data @ xs[ids].T + run.model.layer.bias.data[:, None]
    mean, deviation = held.mean(axis=1), np.sqrt(held.var(axis=1) + 1e-5)

    def loss(values):
        w, b, scale, shift = np.split(values[:18], [9, 12, 15])
        return np.mean((np.tanh((w.reshape(3, 3) @ x + b - mean) / deviation * scale + shift) - y) ** 2)

    opened = run.open(sample=(x, y))
    assert opened.loss == pytest.approx(loss(opened.values), abs=1e-12)
    for index in range(18):
        step = 1e-6 * np.eye(len(opened.values))[index]
        slope = (loss(opened.values + step) - loss(opened.values - step)) / 2e-6
        assert opened.gradient[index] == pytest.approx(slope, abs=1e-8)
        assert opened.terms(index).sum == pytest.approx(opened.gradient[index], abs=1e-14)


@pytest.mark.parametrize("name", [*EDITS, *CHANGES, *MOVES])
def test_after_every_edit_and_move_it_is_the_step_that_comes(name):
    optimizer = "groups" if "number" in name or "rate" in name else "adam"
    run, random = make_run("mlp", "mse", optimizer), np.random.default_rng(2)
    run.step(5)
    kept = run.open()
    was = kept.gradient.copy()
    for _ in range(2):
        with contextlib.suppress(ScalarvizError):  # nothing to undo, or not with this optimiser
            {**EDITS, **CHANGES, **MOVES}[name](run, random)
        if run.steps < span(run)[1]:
            run.to(span(run)[1])  # steps that follow the record may be followed by edits
        before, opened = bits(run), run.open()
        assert bits(run) == before
        run.step(1)
        agrees(opened, run, 1e-6)
    assert np.array_equal(kept.gradient, was)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_frame_of_the_past_is_opened_at_its_weights(optimizer):
    run = make_run("mlp", "mse", optimizer)
    run.step(4)
    frame, opened = run.frame(), run.open()
    run.step(3)
    later = run.open(frame)
    assert (later.step, later.batch.tolist()) == (5, opened.batch.tolist())
    assert np.array_equal(later.gradient, opened.gradient)
    if optimizer == "sgd":  # it keeps nothing of a weight
        assert np.array_equal(later.new_values, opened.new_values)
        return
    for question in (lambda: later.update(0), lambda: later.new_values, later.micro_steps):
        with pytest.raises(StateError, match=r"Adam.*step 5.*run\.open\(step=5\)"):
            question()
    assert np.isnan(later.loss_along(0).after)


@pytest.mark.parametrize(("activation", "exact"), [
    (nn.ELU(), np.expm1), (nn.ELU(0.7), lambda x, alpha: alpha * np.expm1(x)),
    (nn.LeakyReLU(), lambda x: 0.01 * x), (nn.LeakyReLU(1 / 3), lambda x, slope: slope * x),
    (nn.Softplus(), lambda x: np.logaddexp(0, x)),
    (nn.Softplus(1.7, 9), lambda x, beta, threshold: np.logaddexp(0, beta * x) / beta),
], ids=lambda x: repr(x) if isinstance(x, nn.Module) else "exact")  # fmt: skip
def test_an_activation_with_a_number_of_its_own_is_true_as_printed(activation, exact):
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data = [[1.0]]
    x = -np.linspace(0.1, 2, 40)[:, None]
    with Run(nn.Sequential(layer, activation), nn.MSELoss(), optim.SGD(layer.parameters(), lr=0.1), (x, x),
             batch_size=1, engine="numpy", dtype="float64") as run:  # fmt: skip
        for _ in x:
            steps = run.open().micro_steps()
            (said,) = (step.numbers for step in steps if re.search(r"(elu|softplus)\(", step.numbers))
            assert " = " in said
            given, result = re.split(r"elu\(|softplus\(", said.replace("\N{MINUS SIGN}", "-"))[1].split(") = ")
            assert float(f"{exact(*map(float, given.split(', '))):.4g}") == float(result), said
            run.step()


def test_half_precision_is_opened_with_numbers():
    run = make("rgb", dtype="float16", batch_size=1)
    assert [step.numbers for step in run.open().micro_steps() if "nan" in step.numbers] == []


@pytest.mark.parametrize("scaled", [{"dtype": "float16"}, {"dtype": "float64"}])
def test_a_delta_of_classes_that_a_large_number_scales_is_no_difference_to_the_target(scaled):
    """A loss scale or class weights above 10,000 stand before it."""
    net = nn.Sequential(nn.Linear(3, 3, seed=1))
    loss = nn.CrossEntropyLoss() if scaled["dtype"] == "float16" else nn.CrossEntropyLoss([1e6] * 3, reduction="sum")
    data = np.random.default_rng(0).random((6, 3)), np.arange(6) % 3
    with Run(net, loss, optim.SGD(net.parameters(), lr=1e-9), data, batch_size=2, engine="numpy", **scaled) as run:
        words = [step.formula for step in run.open().micro_steps()]
    assert "dL/dy" in words
    assert not any("p \N{MINUS SIGN} t" in formula for formula in words)


@pytest.mark.parametrize(("name", "sample"), [("picture", 1), ("batch norm", 0)])
def test_a_step_whose_deltas_overflow_to_both_sides_opens(name, sample):
    """In float16 with its loss scale; such a step is skipped."""
    run = make_run(name, "mse", "sgd", dtype="float16", seed=7)
    run.set_weights(0, 3 * run.values[: run.n_weights])
    opened = run.open(sample=sample)
    assert opened.micro_steps()
    assert not np.isfinite(opened.gradient).all()
    assert opened.update(0).after == run.values[0]


def test_the_loss_scale_of_a_former_network_is_told():
    run = make_run("mlp", "mse", "sgd", dtype="float16")
    run.step(2)
    wanted = run.open(step=2).new_values
    run.change(model=NETWORKS["rgb"].ours())
    assert run.open(step=2).new_values.tolist() == wanted.tolist()


def test_the_products_of_a_gradient_near_the_smallest_numbers_are_told():
    net = nn.Sequential(nn.Linear(1, 1, seed=1))
    run = Run(net, nn.L1Loss(), optim.SGD(net.parameters(), lr=0.1), ([[1e-310]], [[1.0]]), engine="numpy",
              dtype="float64")  # fmt: skip
    assert "1e\N{MINUS SIGN}310" in str(why(run.open(), 0))


@pytest.mark.ci
@pytest.mark.parametrize("steps", [0, 1999])
def test_the_numbers_of_the_loss_scale_are_told_as_the_engine_counts_them(steps):
    """They stand behind the weights; after 2,000 good steps the scale doubles."""
    run = make("rgb", dtype="float16", optimizer="sgd")
    run.step(steps)
    scale, opened = run.tensors[-1], run.open()
    assert len(opened.new_values) == len(run.values) == len(opened.values) == 12 + scale.size
    run.step(1)
    assert scale.of(opened.new_values).tolist() == scale.of(run.values).tolist() != scale.of(opened.values).tolist()
    assert [opened.update(k).after for k in range(scale.start, scale.start + 3)] == scale.of(run.values).tolist()


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_what_a_relu_that_is_off_sends_back_is_0_and_no_product_with_a_number_that_is_lost(lost, torch):
    net = nn.Sequential(nn.Linear(3, 8, seed=1), nn.ReLU(), nn.Linear(8, 2, seed=2))
    net[2].weight.data = np.full((2, 8), lost).tolist()
    x, y = make_data("mlp", "mse", 8)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y[:, :2]), engine="numpy", dtype="float64")
    with np.errstate(all="ignore"):
        opened = run.open(sample=0)
        said = [step.numbers for step in opened.micro_steps() if "nan" in step.numbers and "≈" in step.numbers]
    assert said == []
    made = torch.nn.Linear(3, 8).double()
    made.load_state_dict({key: torch.tensor(np.array(getattr(net[0], key).data)) for key in ("weight", "bias")})
    sums = made(torch.tensor(x[:1]))
    sums.retain_grad()
    torch.relu(sums).backward(torch.full((1, 8), float("nan")))
    np.testing.assert_array_equal(opened.deltas["0"][:, 0], sums.grad.numpy()[0])


def test_numbers_inside_a_function_belong_to_the_stage_that_is_made_of_them():
    weights, layer = [sv.Weight(0.3 + k, name=f"w{k}") for k in range(4)], nn.Linear(3, 3, seed=1)
    model = lambda x: layer([sv.sin(sv.tanh(w * v)) for w, v in zip(weights, x, strict=False)])  # noqa: E731
    rule = optim.SGD([*weights, *layer.parameters()], lr=0.1)
    opened = Run(model, nn.MSELoss(), rule, make_data("mlp", "mse", 8), engine="numpy", dtype="float64").open()
    (stage,) = opened.stages
    for k in range(3):
        (use,), (met,) = opened.terms(f"w{k}").delta_places, opened.terms(f"w{k}").factor_places
        assert (use.stage, use.units, met.stage, met.units) == (stage.name, (-1,), "input", (k,))
    terms, update = opened.terms("w3"), opened.update("w3")  # nothing reads it
    assert (len(terms), terms.count, terms.sum, terms.uses, terms.count_words, terms.delta_places) == (
        0,
        0,
        0.0,
        (),
        "0",
        (),
    )
    assert (np.asarray(terms).shape, update.after, update.lines, update.why in str(update)) == ((0,), 3.3, (), True)


@pytest.mark.ci
def test_a_batch_that_is_too_large_to_keep_is_the_sum_of_its_blocks():
    """Of 360,000 samples the rows of the first ones are shown, and the sums are NumPy's over all."""
    count, draw = 360_000, np.random.default_rng(0)
    x, y = draw.normal(size=(count, 3)), draw.random((count, 3))
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    rule = optim.SGD(net.parameters(), lr=0.5)
    run = Run(net, nn.MSELoss(), rule, (x, y), engine="numpy", dtype="float64")
    opened = run.open()
    w, b = opened.values[:9].reshape(3, 3), opened.values[9:]
    made = 1 / (1 + np.exp(-(x @ w.T + b)))
    deltas = 2 / 3 * (made - y) * made * (1 - made) / count
    np.testing.assert_allclose(opened.gradient, [*(deltas.T @ x).ravel(), *deltas.sum(axis=0)], rtol=1e-9)
    assert opened.loss == pytest.approx(((made - y) ** 2).mean(), rel=1e-12)
    assert 1 < opened.shown < count
    for stage, rows in (("0", x @ w.T + b), ("1", made)):
        np.testing.assert_allclose(opened.rows[stage], rows[: opened.shown].T, rtol=1e-9)
        np.testing.assert_allclose(opened.means[stage], rows.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(opened.deltas["0"], deltas[: opened.shown].T, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(opened.delta_sums["0"], deltas.sum(axis=0), rtol=1e-9)
    terms, products = opened.terms(5, 7), deltas[:, 1] * x[:, 2]
    largest = np.sort(np.argsort(-np.abs(products))[:7])
    assert (terms.count, terms["sample"].tolist(), terms.count_words) == (count, largest.tolist(), "7 of 360,000")
    assert terms.sum == pytest.approx(products.sum(), rel=1e-9)
    for part in opened.outer_products("0", [3, 20_000, 350_000]):
        np.testing.assert_allclose(part.total, deltas[: part.count].T @ x[: part.count], rtol=1e-8, atol=1e-16)
        np.testing.assert_allclose(part.delta, deltas[part.count - 1], rtol=1e-9, atol=1e-18)
    assert part.count == count


def rgb():
    run = make_run("rgb", "bce", "sgd")
    run.step(5)
    return run


def changed():
    run = rgb()
    run.change(model=NETWORKS["mlp"].ours())
    run.step(1)
    return run


X3 = [0.1, 0.2, 0.3]
V, T = InputError, TypeMismatchError
ROWS = {
    "rgb().open(step=7)": (V, 7, "1 to 6"), "rgb().open(rgb().frame(), step=3)": (V, "frame", "step"),
    "rgb().open(str())": (T, "frame", "Frame"),
    "rgb().open(make_run('mlp').frame())": (V, 31, 12),
    "rgb().open(sample=24)": (OutOfRangeError, "sample", 24), "rgb().open(sample=1.5)": (T, "open"),
    "rgb().open(sample=([1, 2], X3))": (V, "inputs", 3), "rgb().open(sample=(X3, [1, 2]))": (V, "targets", 3),
    "make('gpt').open(sample=([1, 9, 3], 2))": (V, "open", 9, "column 1"),
    "rgb().open().terms(0, 0)": (V, "most"), "rgb().open().loss_along(0, 2)": (V, "points"),
    "rgb().open().outer_products('7')": (UnknownNameError, "'7'", "0, 1"),
    "rgb().open().outer_products('1')": (V, "sigmoid", "'0'"),
    "rgb().open().outer_products('0', counts=[0])": (V, "count"),
    "changed().why(0, step=1)": (StateError, "step 1", "model"),
    "changed().compare(1, 6)": (StateError, "step 1", "model"),
}  # fmt: skip


@refusals(ROWS, globals())
def test_refusals(refusal):
    refusal.check()


def test_what_was_opened_stays_when_the_run_is_closed():
    run = rgb()
    opened = run.open()
    run.close()
    check_inside(opened)
    with pytest.raises(StateError, match="closed"):
        run.open()


@pytest.mark.ci
def test_what_weights_meet_is_that_of_the_last_call_that_the_loss_reads():
    """Of a layer that is called for one letter after another."""
    run = make_scene("microgpt").run
    run.step(5)
    opened = run.open()
    calls = {}
    for stage in (stage for stage in opened.stages if stage.weight is not None):
        calls.setdefault(stage.weight.start, []).append(stage)
    x, delta = opened.met()
    for stages in calls.values():
        stage = [stage for stage in stages if opened.delta_sums[stage.name].any()][-1]
        if np.isnan(stage.weight.of(x)).any():
            assert stage.kind == "embedding"
            continue
        products = stage.weight.of(x) * stage.weight.of(opened.values)
        assert products.sum(axis=1) == pytest.approx(opened.means[stage.name], rel=1e-9, abs=1e-12)
        expected = np.repeat(opened.delta_sums[stage.name], stage.weight.shape[1])
        assert stage.weight.of(delta).ravel() == pytest.approx(expected, rel=1e-9, abs=1e-15)
