"""Why a weight moved, what if it were another, which moved most, and small steps: they add up as printed."""

import math
import re
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import SCENES, make_scene
from kit.networks import NETWORKS
from kit.refusals import refusals
from kit.runs import bits, make_data, make_run
from scalarviz import Run, Weight, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, TypeMismatchError, UnknownNameError
from scalarviz.run.core.gather import weight_name
from scalarviz.run.opened.equations import PASSED, USUAL, mixture, score_delta, score_of, share_of
from scalarviz.run.source import Moment
from scalarviz.scalar.kernel import kernel
from scalarviz.scalar.ops import TABLE
from scalarviz.view.shown.subject import subject_of

LEARNING = [name for name, row in NETWORKS.items() if not row.draws]


def number(text):
    return float(text.strip("()").replace("−", "-").replace(",", ""))


def exactly(text):
    return Decimal(text.replace("−", "-").replace(",", ""))


def check_printed(equation, digits=4):
    """Whoever computes with what stands left of ``=`` gets what is printed right of it."""
    left, sign, right = equation.rpartition(" = ") if " = " in equation else equation.rpartition(" ≈ ")
    left = left.rpartition(" = ")[2].replace("rest ", "")  # "mean of 16 = 1.2 + 0.4 + rest 0.1"
    if sign != " = " or re.search(r"terms|products|mean of|sum of", left) or "," in left:
        return
    python = re.sub(r"√(\(?)", lambda found: "sqrt(" if found[1] else "sqrt", left)
    if "sqrt" in python.replace("sqrt(", ""):
        return  # a root of a bare number
    python = python.translate(str.maketrans({"−": "-", "·": "*", "²": "**2", "^": "**", "σ": "sigmoid"}))
    python = re.sub(r"(\d*)π", lambda found: f"({found[1] or 1}*{math.pi})", python)
    named = {"e": math.e, **{name: usually(name) for name in TABLE}}
    found = float(eval(python, {"__builtins__": {}}, named))
    assert f"{found + 0.0:.{digits}g}" == f"{number(right) + 0.0:.{digits}g}", equation


def usually(op):
    """An operation; what is not printed of it is as usual: the slope of leaky ReLU."""
    value, usual = kernel(op).value, USUAL.get(op, ())
    return lambda *given: value(*given, *usual[len(given) - 1 :])


def check_forward(opened):
    """Every number of a row is reached once, none before what it is made of; equations are true as printed."""
    reached, sources = Counter(), {stage.name: stage.sources for stage in opened.stages}
    for step in (step for step in opened.micro_steps() if step.phase == "forward"):
        stages = (step.stage, *step.other_calls) if step.kind != "product" and len(step.units) else ()
        for at in stages:
            assert all(reached[source] for source in sources[at] if source in sources)
            reached.update([at])
            reached.update((at, unit) for unit in step.units.tolist())
    numbers = [(stage.name, unit) for stage in opened.stages for unit in range(stage.outputs)]
    assert all(reached[one] == 1 for one in numbers)
    for step in opened.micro_steps():
        if step.op and step.factors:
            check_printed(step.numbers)
        if step.kind == "stage" and step.op:
            check_told(opened, step)


def check_told(opened, step):
    """A stage of many numbers tells of the same one forward, back and in gradients; and of a sum what adds up to it.

    That is the wanted class, or what an attention takes most of; of others the largest.
    """
    forward = {one.stage: one for one in opened.micro_steps() if one.phase == "forward" and len(one.units)}
    many = {"forward": opened.means, "backward": opened.adjoint_sums}.get(step.phase)
    read = [name for name in (step.stage, *step.other_calls) if name and opened.adjoint_sums[name].any()]
    numbers = opened.gradient[step.weights] if many is None else many[(read or [step.stage])[-1]]
    if len(step.units) or many is None:
        assert step.value == pytest.approx(numbers[step.column], rel=1e-9, abs=1e-14)
        chosen = numbers
        if step.phase == "backward" and numbers[forward[step.stage].column]:
            assert step.column == forward[step.stage].column
            return
        if many is None:
            rows = [(stage.weight, forward[name].column) for stage in opened.stages if stage.weight is not None
                    for name in forward if stage.name in (name, *forward[name].other_calls)]  # fmt: skip
            told = {t.start + row * t.shape[1] + k for t, row in rows if len(t.shape) == 2 for k in range(t.shape[1])}
            mine = np.array([int(k) in told for k in step.weights]) & (numbers != 0)
            chosen = numbers[mine] if mine.any() else numbers
        elif step.stage.partition(" ")[0] == opened.stages[-1].name.partition(" ")[0] and len(opened.batch) == 1:
            wanted = [one for one in opened.micro_steps() if one.phase == "backward" and "(p −" in one.formula]
            assert not wanted or (wanted[0].column, wanted[0].factors[1]) == (step.column, 1.0)
            return
        if not any("e^(score" in one.formula for one in opened.micro_steps()):
            assert abs(step.value) == pytest.approx(np.abs(chosen).max(), rel=1e-9, abs=1e-14)
    if step.op == "terms" and step.factors:
        assert sum(step.factors) == pytest.approx(step.value, rel=1e-8, abs=1e-13)
        assert " ≈ " not in step.numbers


def after(run, steps):
    run.step(steps)
    return run


@pytest.mark.parametrize("name", LEARNING)
def test_the_table_of_a_weight_adds_up_as_printed(name):
    optimizer = "sgd" if len(name) % 2 else "adam"
    loss = "cross-entropy" if NETWORKS[name].reads == "words" else "mse"
    run = after(make_run(name, loss, optimizer, batch_size=16), 3)
    opened, before = run.open(step=3), bits(run)
    for index in range(0, run.n_weights, max(1, run.n_weights // 7)):
        why = run.why(index)
        assert (why.step, why.name, why.engine_gradient) == (
            3,
            weight_name(run.tensors, index),
            run.frame().gradient[index],
        )
        assert why.now == run.values[index]
        assert why.gradient == opened.gradient[index]
        assert why.update.after == pytest.approx(why.now, rel=1e-9, abs=1e-12)
        if not why.rows:
            continue
        assert math.fsum([*(row.product for row in why.rows), why.others]) == pytest.approx(why.total, abs=1e-12)
        assert len(why.rows) + why.more == opened.terms(index).count
        assert why.total / why.divisor == pytest.approx(why.gradient, rel=1e-9, abs=1e-14)
        lines = str(why).splitlines()
        assert lines[0].startswith(f"Why {why.name} moved in step 3: ")
        head = next(k for k, line in enumerate(lines) if line.startswith("sample"))
        end = next(k for k, line in enumerate(lines) if line.startswith("sum"))
        column = [line.split()[-1] for line in lines[head + 1 : end + 1]]
        assert sum(map(exactly, column[:-1])) == exactly(column[-1])
        assert len(column) == len(why.rows) + (why.more > 0) + 1
        for row, line in zip(why.rows, lines[head + 1 :], strict=False):
            delta, x, product = line.split()[-3:]
            places = 10.0 ** -len(product.partition(".")[2])
            assert abs(number(delta) * number(x) - number(product)) <= 0.5 * places * (1 + 1e-9)
            assert number(line.split()[0]) == row.sample
            assert row.product == pytest.approx(row.delta * row.x, rel=1e-12)
        assert any(line.startswith("w' = ") for line in lines)
        if why.divisor != 1:
            divided = next(number(line.split()[-1]) for line in lines if line.startswith(f"/ {why.divisor:g}"))
            whole, unit = number(column[-1]), float(Decimal(1).scaleb(exactly(column[-1]).as_tuple().exponent))
            quotients = {f"{whole / why.divisor:.{k}g}" for k in (3, 4, 5, 6)}
            assert f"{divided:g}" in quotients or abs(whole / why.divisor - divided) <= 0.51 * unit / why.divisor
            assert divided == pytest.approx(why.gradient, rel=5e-3)
    assert bits(run) == before


@pytest.mark.parametrize("engine", ["objects", pytest.param("numba", marks=pytest.mark.ci)])
def test_the_engines_own_gradient_stands_beside_it(engine):
    run = after(make_run("rgb", engine=engine, dtype="float32"), 5)
    why, coming = run.why("0.weight[1][1]"), run.why("0.weight[1][1]", step=6)
    assert (why.step, why.engine_gradient, why.now) == (5, run.frame().gradient[4], run.values[4])
    assert engine in why.engine
    assert why.gradient == pytest.approx(why.engine_gradient, rel=1e-3)
    assert (coming.step, coming.engine_gradient, coming.now) == (6, None, None)
    assert "will move" in str(coming)
    run.step(1)
    assert coming.update.after == pytest.approx(run.values[4], rel=1e-5)
    before = bits(run)
    run.to(2)
    assert [run.why(0, **step).step for step in ({}, {"step": 4}, {"step": 7})] == [2, 4, 7]
    run.to(6)
    assert bits(run) == before


def test_what_it_says_of_sums_of_other_values_and_of_weights_that_stay(capsys):
    run = make_run("no bias", "mse, sum", batch_size=None)
    why = run.why(run.model[0].weight[2][1])
    assert capsys.readouterr().out == f"{why}\n"
    assert (why.divisor, "/ 24" in str(why), "16 more" in str(why)) == (1, False, True)
    run = after(make_run("rgb"), 3)
    run.model[0].weight[0][0].data = 2.0
    why = run.why(0)
    assert (why.step, why.now) == (3, 2.0)
    assert "changed" in str(why)
    run.model[0].weight[0][1].frozen = True
    assert "frozen" in str(run.why(1, step=4))
    text = str(make_run("tied", batch_size=None).why(0))
    assert all(fact in text for fact in ("where", "layer (2)[0]", "40 more"))


def test_sums_with_numbers_in_them_add_up():
    """As in micrograd's example."""
    w, v = held = [Weight(-4.0, name="w"), Weight(2.0, name="v")]

    def model(x):
        d = w * v + v**3
        return (w + v + 1 + (w + v) - w - (d + (d * 2 + (v + w).relu()))) ** 2

    run = Run(model, lambda out, target: out, optim.SGD(held, lr=0.001), (np.ones((1, 1)), np.ones((1, 1))))
    assert [run.why(one, step=1).total for one in "wv"] == pytest.approx(run.open().gradient)


def test_the_weights_that_moved_most():
    run = make_run("rgb", dtype="float32")
    run.model[0].weight[0].frozen = True
    seen = {0: run.values.copy()}
    for step in (10, 25):
        run.step(step - run.steps)
        seen[step] = run.values.copy()
    before = bits(run)
    found = run.compare(10, 25, most=3)
    assert np.array_equal(found.before, seen[10])
    assert np.array_equal(found.by, seen[25] - seen[10])
    order = np.argsort(-np.abs(seen[25].astype(float) - seen[10]))[:3]
    assert [(row.index, row.name) for row in found.rows] == [(i, weight_name(run.tensors, i)) for i in order]
    lines = str(found).splitlines()
    assert all(fact in lines[0] for fact in ("9 of 12 weights", "10", "25"))
    assert "6 more" in lines[-1]
    for line in lines[3:6]:
        old, new, by = (exactly(word) for word in line.split()[-3:])
        assert old + by == new
    assert {row.index for row in run.compare(0, 25, most=20).rows} == set(range(3, 12))
    assert (run.compare(5, 5).changed, found.changed) == (0, 9)
    assert bits(run) == before


def test_the_loss_along_a_weight_is_that_of_the_batch():
    run = after(make_run("mlp"), 7)
    opened = run.open()
    along = opened.loss_along("0.weight[1][2]")
    x, y = (part[opened.batch] for part in run.samples())
    assert along.weights[16] == along.value == opened.values[5]
    assert along.weights[0] < along.after < along.weights[-1]
    assert along.after == opened.new_values[5]
    for weight, loss in zip(along.weights, along.losses, strict=True):
        values = run.values.copy()
        values[5] = weight
        assert loss == pytest.approx(run.evaluate(x, y, values), rel=1e-12)
    assert along.tangent[16] == pytest.approx(opened.loss, rel=1e-12)
    assert along.slope == opened.gradient[5]
    np.testing.assert_allclose(np.diff(along.tangent) / np.diff(along.weights), along.slope, rtol=1e-6)
    assert len(opened.loss_along(5, points=3).weights) == 3


@pytest.mark.parametrize("sample", [None, 3])
@pytest.mark.parametrize("name", ["mlp", "no bias", "tied"])
def test_outer_products_sum_up_to_the_gradient(name, sample):
    opened = after(make_run(name), 3).open(sample=sample)
    summed = {}
    for stage in (s for s in opened.stages if s.weight is not None and s.kind == "linear"):
        total, parts = np.zeros(stage.weight.shape), []
        for part in opened.outer_products(stage.name):
            total += np.outer(part.delta, part.x)
            np.testing.assert_allclose(part.total, total, atol=1e-13)
            assert part.sample == opened.batch[part.count - 1]
            parts.append(part.count)
        assert parts == list(range(1, len(opened.batch) + 1))
        few = list(opened.outer_products(stage.name, counts=[1, 4]))
        assert [p.count for p in few] == sorted({c for c in (1, 4) if c <= len(opened.batch)} | {len(opened.batch)})
        for tensor, found in ((stage.weight, total), (stage.bias, part.bias)):
            if tensor is not None:
                summed[tensor] = summed.get(tensor, 0) + found
    for tensor, found in summed.items():  # what all calls of a layer give is the gradient of its weights
        np.testing.assert_allclose(found, tensor.of(opened.gradient), atol=1e-13)


@pytest.mark.parametrize("sample", [None, 3])
@pytest.mark.parametrize("name", LEARNING)
def test_every_weight_has_a_gradient_and_an_update_among_the_small_steps(name, sample):
    loss = "cross-entropy" if NETWORKS[name].reads == "words" else "mse"
    opened = after(make_run(name, loss), 2).open(sample=sample)
    steps, phases = opened.micro_steps(), opened.phases()
    assert [phase.name for phase in phases] == ["zero", "forward", "loss", "backward", "gradients", "update"]
    assert [step.phase for step in steps] == [phase.name for phase in phases for _ in range(phase.count)]
    for phase in ("gradients", "update"):
        mine = [step for step in steps if step.phase == phase]
        learnt = [k for k in range(len(opened.values)) if phase == "update" or not opened.follows(k)]
        assert sorted(np.concatenate([step.weights for step in mine]).tolist()) == learnt
        for step in (step for step in mine if step.kind in ("gradient", "update")):
            wanted = opened.gradient if phase == "gradients" else opened.new_values
            assert step.value == pytest.approx(wanted[step.weights[0]], rel=1e-12)
    assert next(step.value for step in steps if step.phase == "loss") == opened.loss
    check_forward(opened)
    for step in steps:
        if step.op == "gap" and step.factors:
            a, target, factor = step.factors
            assert factor * (a - target) == pytest.approx(step.value, rel=1e-9, abs=1e-14)
        elif step.op in PASSED and step.factors:
            slopes, terms = np.split(np.array(step.factors), [PASSED[step.op]])
            assert np.prod(slopes) * sum(terms) == pytest.approx(step.value, rel=1e-9, abs=1e-14)
        elif step.kind in ("product", "delta", "gradient") and step.factors and step.op != "terms":
            assert np.prod(step.factors) == pytest.approx(step.value, rel=1e-9, abs=1e-14)
        elif (step.kind == "sum" or step.op == "terms") and step.factors:
            assert sum(step.factors) == pytest.approx(step.value, rel=1e-10, abs=1e-14)
        if step.kind in ("unit", "delta") and step.stage in opened.rows:
            rows = opened.rows if step.kind == "unit" else opened.deltas
            at = rows[step.stage][step.units]
            joined = at.mean() if step.kind == "unit" else at.sum()
            assert step.value == pytest.approx(float(joined), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("name", SCENES)
def test_a_step_of_every_scene_has_few_forward_steps_and_each_number_once(name):
    """At most 20 where there are more weights than are walked one by one; of a formula one for each operation."""
    small = {"microgpt": {"embd": 4, "heads": 2, "context": 5}}.get(name, {})
    scene = make_scene(name, **small)
    target = scene.probe_target
    opened = scene.run.open(sample=None if target is None else (scene.probe, target))
    check_forward(opened)
    kinds = Counter((step.phase, step.kind) for step in opened.micro_steps())
    if len(opened.values) > 64:
        made = [step for step in opened.micro_steps() if step.phase in ("forward", "backward") and len(step.units)]
        silent = {step.stage for step in made if not step.op}
        assert not silent
        assert sum(count for (phase, _), count in kinds.items() if phase == "forward") <= 20
    if name == "expression":
        assert (kinds["forward", "node"], kinds["backward", "node"]) == (6, 6)
    if name == "microgpt":  # one number of each kind of thing that no module makes
        from scalarviz.scenes.microgpt import read  # scenes need pydantic, which a GPU's machine may not have

        forward = [step for step in opened.micro_steps() if step.op and step.phase == "forward"]
        between = [step for step in forward if not len(step.units)]
        made = [step.words.partition(":")[0] for step in between]
        share = next(step for step in opened.micro_steps() if step.words.startswith("attention"))
        letters = scene.probe[: np.argmax(target[5:] == 0.0) or 5].astype(int).tolist()
        moment = Moment(scene.run.frame(), subject_of(scene).source)
        shares = read(moment, letters, 2, 1).attention[:, -1].ravel()
        assert (share.column, share.value) == (np.argmax(shares), pytest.approx(shares.max(), abs=1e-6))
        assert made == ["sum with position", "RMSNorm", "attention", "values", "residual sum", "residual sum"]


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_layer_of_a_gpt_has_eight_forward_steps_and_two_have_twenty_at_most(layers):
    """What stands before a layer alone comes with it, and q, k and v together: they wait for nothing but each other."""
    scene = make_scene("microgpt", embd=4, heads=2, context=5, layers=layers)
    steps = scene.run.open(sample=(scene.probe, scene.probe_target)).micro_steps()
    forward = [step for step in steps if step.phase == "forward"]
    assert len(forward) == 4 + 8 * layers
    for layer in range(layers):
        names = [f"layers.{layer}.{name}" for name in "qkv"]
        together = next(step for step in forward if step.stage == names[0] and len(step.units))
        assert {name.partition(" ")[0] for name in (together.stage, *together.other_calls)} == {*names}
        tensors = [tensor for tensor in scene.run.tensors if tensor.name.removesuffix(".weight") in names]
        assert together.weights.tolist() == [k for t in tensors for k in range(t.start, t.start + t.size)]


def soft(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.ci
def test_who_looks_at_whom_follows_from_the_recorded_q_k_and_v_and_gives_what_the_layer_reads():
    """Forward and back, at every letter of both layers, against the formulas; a batch has no word to tell of."""
    scene = make_scene("microgpt", embd=6, heads=2, layers=2)
    scene.run.step(3)
    opened, d = scene.run.open(sample=(scene.probe, scene.probe_target)), 3
    calls = [f" ({k})" if k > 1 else "" for k in range(1, 8)]
    for layer in range(2):
        made = {n: np.stack([opened.rows[f"layers.{layer}.{n}{call}"][:, 0] for call in calls]) for n in "qkvo"}
        q, k, v = (made[n].reshape(7, 2, d).swapaxes(0, 1) for n in "qkv")
        o = next(tensor for tensor in opened.tensors if tensor.name == f"layers.{layer}.o.weight")
        weight = o.of(opened.values)
        for place, call in enumerate(calls):
            seen, back = (opened.attention(f"layers.{layer}.o{call}", back=back) for back in (False, True))
            scores = np.einsum("hd,hnd->hn", q[:, place], k[:, : place + 1]) / d**0.5
            np.testing.assert_allclose(seen.scores, scores, rtol=1e-9)
            np.testing.assert_allclose(seen.shares, soft(scores), rtol=1e-9)
            np.testing.assert_array_equal(seen.queries, np.repeat(q[:, place, None], place + 1, axis=1))
            np.testing.assert_array_equal(seen.keys, k[:, : place + 1])
            np.testing.assert_allclose(seen.values, v[:, : place + 1], rtol=1e-12)
            np.testing.assert_allclose(seen.outputs, seen.parts.sum(axis=1), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(weight @ seen.outputs.ravel(), made["o"][place], rtol=1e-9, atol=1e-12)
            delta = (weight.T @ opened.deltas[f"layers.{layer}.o{call}"][:, 0]).reshape(2, d)
            np.testing.assert_allclose(back.outputs, delta, rtol=1e-9, atol=1e-15)
            np.testing.assert_array_equal(back.parts, seen.shares[..., None] * back.outputs[:, None])
            of_shares = np.einsum("hd,hnd->hn", delta, seen.values)
            slope = seen.shares * (of_shares - (seen.shares * of_shares).sum(axis=1, keepdims=True))
            np.testing.assert_allclose(back.scores, slope, rtol=1e-7, atol=1e-14)
            for head in range(2):
                check_printed(share_of(seen.scores[head], place, float(seen.scores[head].max())), 3)
                check_printed(share_of(seen.scores[head], place, 0.0), 3)
                check_printed(score_delta(back, head, place), 3)
                assert back.slopes[head] == pytest.approx(of_shares[head], rel=1e-9, abs=1e-14)
                letters, *both = score_of(seen, head, place, 3)
                assert letters == "q · k / √3"
                for said in both:
                    check_printed(said.replace("√3", "(3 ** 0.5)"), 3)
                for number in range(d):
                    check_printed(mixture(seen, head, number, 3).replace("rest ", ""), 3)
    assert opened.attention("letters (2)") is None
    assert scene.run.open().attention(f"layers.0.o{calls[-1]}") is None


def test_attention_of_a_module_comes_step_by_step_and_back():
    run = make_run("gpt", "cross-entropy")
    run.step(2)
    opened = run.open(sample=3)
    looking = [opened.looking(at) for at in range(1, 1 + len(opened.micro_steps()))]
    comes = [now.reached for now in looking]
    assert (comes, {*comes}) == (sorted(comes), {*range(7)})
    assert (looking[-1].places, looking[-1].reads) == (3, "heads.out_proj.weight")
    assert [looking[0].attention_at(place).shares.shape for place in range(3)] == [(2, 1), (2, 2), (2, 3)]
    back = looking[-1].attention_at(2)
    np.testing.assert_array_equal(back.outputs, opened.attention("heads.out_proj (3)", back=True).outputs)
    assert looking[0].attention_at(3) is None
    assert make_run("mlp").open(sample=3).looking(5) is None


@pytest.mark.parametrize("kind", ["LayerNorm", "BatchNorm1d", "GroupNorm"])
def test_a_norm_tells_mean_and_deviation(kind):
    """They are those that NumPy finds in what it reads."""
    norm = nn.GroupNorm(2, 8) if kind == "GroupNorm" else getattr(nn, kind)(8)
    net = nn.Sequential(nn.Linear(3, 8), norm, nn.Tanh(), nn.Linear(8, 8))
    net.initialize(seed=3)
    x, y = np.random.default_rng(1).normal(size=(2, 16, 8))
    run = Run(net, nn.MSELoss(), optim.SGD(list(net.parameters()), lr=0.1), (x[:, :3], y), dtype="float64", seed=2)
    run.step(3)
    opened, whole = run.open(sample=(x[0, :3], y[0])), run.open()
    step = next(step for step in opened.micro_steps() if step.stage == "1" and step.phase == "forward")
    (number, mean, deviation, weight, bias), k = step.factors, step.column
    mine, batch = opened.rows["0"][:, 0], whole.rows["0"][k]
    among = {"LayerNorm": mine, "BatchNorm1d": batch, "GroupNorm": mine[4 * (k // 4) :][:4]}[kind]
    wanted = mine[k], among.mean(), np.sqrt(among.var() + 1e-5), opened.values[32 + k], opened.values[40 + k]
    assert (number, mean, deviation, weight, bias) == pytest.approx(wanted, rel=1e-9)
    assert step.value == pytest.approx((number - mean) / deviation * weight + bias, rel=1e-9)


FORMULAS = {
    "a*tanh(w*x + b) + c": lambda x, a, w, b, c: a * (w * x + b).tanh() + c,
    "a*sin(w*x)/b - c": lambda x, a, w, b, c: a * sv.sin(w * x) / b - c,
    "h*h + h, h = a*x": lambda x, a, w, b, c: (a * x) * (a * x) + w * b + c * x**2,
    "where(x > a, w*x, b) + c": lambda x, a, w, b, c: sv.where(x > a, w * x, b) + sv.exp(c),
    "2*a - 3*w + b*c": lambda x, a, w, b, c: 2 * a - 3 * w * x + b * c,
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_walked_node_by_node_with_the_numbers_of_its_values(name, whole):
    """Each of them, and its delta, is what `Value` and its ``backward`` find, as a sum over the samples."""
    draw = np.random.default_rng(len(name))
    start, (xs, ys) = draw.uniform(0.3, 1.5, 4), draw.uniform(-1, 1, (2, 5, 1))
    weights = [Weight(float(w), name=k) for k, w in zip("awbc", start, strict=True)]
    formula = FORMULAS[name]
    run = Run(lambda x: [formula(x[0], *weights)], nn.MSELoss(), optim.SGD(weights, lr=0.1), (xs, ys),
              engine="numpy", dtype="float64", batch_size=5)  # fmt: skip
    opened = run.open() if whole else run.open(sample=(xs[0], ys[0]))
    ids = opened.batch if whole else [0]
    found = [nodes_of((formula(sv.Value(float(xs[k, 0])), *weights) - float(ys[k, 0])) ** 2) for k in ids]
    for phase, of in (("forward", 1), ("backward", 2)):
        mine = [step for step in opened.micro_steps() if (step.phase, step.kind) == (phase, "node")]
        known = [k for k, node in enumerate(found[0]) if node[of] is not None]
        wanted = [np.mean([nodes[k][of] for nodes in found]) for k in known]
        assert sorted(step.value for step in mine) == pytest.approx(sorted(wanted), abs=1e-12)
        if phase == "forward":
            same = {"lt": "gt"}  # Python asks a Weight first, whichever side it stands on
            assert Counter(step.op for step in mine) == Counter(same.get(op, op) for op, _, _ in found[0])
        for step in mine:
            assert bool(step.factors) == (not whole)
            if not whole and step.factors:
                check_printed(step.numbers)


@pytest.mark.parametrize("loss", ["mse", "mse, sum"])
@pytest.mark.parametrize("name", ["rgb", "mlp", "a*tanh(w*x + b) + c"])
def test_a_number_of_a_batch_is_made_of_those_that_each_sample_finds_alone(name, loss):
    """The largest of them stands first, and what is printed gives what is printed."""
    if name in FORMULAS:
        xs, ys = np.random.default_rng(1).uniform(-1, 1, (2, 16, 1))
        weights = [Weight(w, name=k) for k, w in zip("awbc", (0.5, 1.1, -0.3, 0.7), strict=True)]
        formula = FORMULAS[name]
        run = Run(lambda x: [formula(x[0], *weights)], nn.MSELoss("sum" if "sum" in loss else "mean"),
                  optim.SGD(weights, lr=0.01), (xs, ys), engine="numpy", dtype="float64", batch_size=9)  # fmt: skip
    else:
        run = make_run(name, loss, batch_size=9)
    opened = after(run, 2).open()
    alone = [run.open(sample=int(k)) for k in opened.batch]
    told = set()
    for k, step in enumerate(opened.micro_steps()):
        said = opened.of_samples(step, int(step.weights[0]) if step.phase == "gradients" else -1)
        if not said:
            continue
        told.add(step.phase)
        parts = np.array([one.micro_steps()[k].value for one in alone])
        whole = parts.mean() if step.phase == "forward" or "sum" not in loss else parts.sum()
        left, _, right = said.rpartition(" = ")
        digits = next(d for d in (4, 3, 2) if f"{number(right):.{d}g}" == f"{whole:.{d}g}")
        check_printed(said, digits)
        first = number(re.match(r"\(?(−?[\de.]+(?:e−\d+)?)", left)[1])
        assert first == pytest.approx(parts[np.argmax(np.abs(parts))], rel=10.0 ** (1 - digits))
    assert told == {"forward", "loss", "backward", "gradients"}
    assert not any(alone[0].of_samples(step, 0) for step in alone[0].micro_steps())


def nodes_of(loss):
    """Operation, number and gradient of every operation below a loss; None for what no weight stands behind."""
    loss.backward()
    order, learns = [], {}

    def visit(value):
        if id(value) not in learns:
            below = [visit(parent) for parent in value.parents]
            flowing = kernel(value.op).flowing if value.op else ()
            learns[id(value)] = isinstance(value, Weight) or any(below[k] for k in flowing)
            if value.op and value is not loss:
                order.append((value.op, value.data, value.grad if learns[id(value)] else None))
        return learns[id(value)]

    visit(loss)
    return order


def test_larger_networks_go_by_stages():
    steps = make_run("wide").open().micro_steps()
    assert [step.stage for step in steps if step.phase == "gradients"] == ["4", "2", "0"]


def test_an_output_that_the_loss_does_not_read_asks_for_nothing():
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Sigmoid())
    loss = lambda outputs, targets: (outputs[0] - targets[0]) ** 2  # noqa: E731
    run = Run(net, loss, optim.SGD(net.parameters(), lr=0.1), make_data("no bias", "mse", 16), engine="numpy")
    opened = run.open()
    assert all(s.value == 0 for s in opened.micro_steps() if s.kind in ("gradient", "delta") and 1 in s.units)
    assert not opened.gradient[[3, 4, 5, 7]].any()


def rgb():
    return after(make_run("rgb"), 5)


V, T = InputError, TypeMismatchError
ROWS = {
    "rgb().why('0.wieght[0][0]')": (UnknownNameError, "0.wieght[0][0]", "0.weight"),
    "rgb().why('0.weight[0]')": (V, "(3, 3)", 2), "rgb().why('0.weight[3][0]')": (V, "(3, 3)", 0),
    "rgb().why(rgb().model[0].weight[0][0])": (V, "this run"),
    "(r := rgb()).why(r.model[0].weight)": (T, "0.weight[2][2]"), "rgb().why(12)": (OutOfRangeError, 12),
    "rgb().why(1.5)": (T, "Weight", "name"), "rgb().why(0, step=7)": (V, 7, "1 to 6"),
    "rgb().compare(0, 6)": (V, 6, "0 to 5"), "rgb().compare(0, 2, most=-1)": (V, "most", "whole number"),
}  # fmt: skip


@refusals(ROWS, globals())
def test_refusals(refusal):
    refusal.check()
