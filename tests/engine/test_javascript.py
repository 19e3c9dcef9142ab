"""The JavaScript engine goes on with a run as Python would: the same steps, masks, orders and formulas."""

import itertools
import json

import numpy as np
import pytest

import scalarviz as sv
from kit.drawn import drawn
from kit.javascript import Browser, answers
from kit.learning import LOSSES, OPTIMISERS, SCHEDULES
from kit.networks import NETWORKS, SMALL
from kit.runs import far, make_run
from scalarviz import nn, optim, rng
from scalarviz.engine.js.module import _runs
from scalarviz.engine.js.printer import FLOAT64
from scalarviz.nn import init
from scalarviz.scalar import ops
from scalarviz.scalar.emit import UPSTREAM, adjoint, translate
from scalarviz.scalar.kernel import numpy_form

FITTING = [name for name, row in LOSSES.items() if row.outputs == "numbers" and row.targets != "signs"]
NEAR = {"float64": 1e-9, "float32": 1e-3}
"""How far a run may be from ours after some steps; engines of ours differ by as much."""


def compare(runs, steps=40, begun=2, **options):
    """Let every run begin here, and go on in both languages."""
    browser, named = Browser(), [*runs]
    for _, run in named:
        run.step(begun)
        browser.add(run, steps, **options)
    for (name, run), found in zip(named, browser.train(), strict=True):
        run.step(steps)
        near = NEAR[run.values.dtype.name]
        assert far(found["theta"], run.values) <= near, name
        assert far(found["losses"], run.history.loss[-steps:]) <= near, name
        assert far(found["grad"], run.frame().gradient) <= near * 100, name
        for ours, theirs in zip(run._problem.state, found["state"], strict=True):
            assert far(theirs, ours) <= near * 10, name
        run.close()


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("unrolled", [None, False])
@pytest.mark.parametrize("some", [SMALL, pytest.param(NETWORKS, marks=pytest.mark.ci)], ids=["small", "every"])
def test_a_network_goes_on(some, dtype, unrolled):
    networks = some if dtype == "float64" else [name for name in some if name != "batch norm"]
    runs = ((name, make_run(name, "mse", "adam", dtype=dtype, batch_size=5)) for name in networks)
    compare(runs, 40 if dtype == "float64" else 10, unrolled=unrolled)


@pytest.mark.ci
def test_every_rule_and_schedule_goes_on():
    rules = [*OPTIMISERS, "own", "groups"]
    compare(((rule, make_run("mlp", "mse", rule)) for rule in rules), 200)
    compare((name, make_run("mlp", "mse", "sgd_momentum", name)) for name in SCHEDULES if name != "plateau")


@pytest.mark.ci
def test_every_loss_goes_on():
    compare((name, make_run("classes", name, "adam", batch_size=7)) for name in FITTING)


@pytest.mark.ci
def test_limits_sampling_and_frozen_weights_go_on():
    asked = {
        "penalties": {"l1": 0.01, "l2": 0.02}, "length": {"clip_norm": 0.1}, "cut": {"clip_value": 0.01},
        "all": {"l1": 0.01, "clip_norm": 0.2, "clip_value": 0.05}, "all samples": {"batch_size": None},
        "drawn": {"sampling": "replacement", "batch_size": 30}, "uneven": {"batch_size": 7},
    }  # fmt: skip
    compare((name, make_run("mlp", "mse", "adam", **given)) for name, given in asked.items())
    run = make_run("batch norm", "mse", "adam")
    run.model.freeze("1.bias")
    compare([("frozen", run)])


@pytest.mark.parametrize("samples", [15, 16, 24, 256])  # the order of one more has other bits
def test_added_samples_are_those_of_the_run(samples):
    """Also all samples as a batch, draws with replacement, and features that a sample has once."""
    asked = [("mlp", {}), ("rgb", {}), ("formula", {}), ("mlp", {"batch_size": None}), ("mlp", {"batch_size": samples}),
             ("mlp", {"sampling": "replacement", "batch_size": samples})]  # fmt: skip
    browser, runs = Browser(), [make_run(name, samples=samples, **given) for name, given in asked]
    for run in runs:
        run.step(2)
        inputs, targets = (np.asarray(part)[:2] + 0.125 for part in run.samples())
        browser.add(run, 20, np.hstack([inputs, targets]))
        run.add_samples(inputs, targets)
    for run, found in zip(runs, browser.train(), strict=True):
        run.step(20)
        assert far(found["theta"], run.values) <= NEAR["float64"]
        assert far(found["losses"], run.history.loss[-20:]) <= NEAR["float64"]


def test_samples_without_a_share_of_the_mean_go_on():
    data = NETWORKS["classes"].samples(24, 0), np.arange(24) % 3
    for loss in (nn.CrossEntropyLoss(ignore_index=1), nn.CrossEntropyLoss(weight=[0.2, 1.0, 3.0])):
        net = NETWORKS["classes"].ours(1)
        run = sv.Run(
            net, loss, optim.SGD(net.parameters(), lr=0.1), data, batch_size=6, engine="numpy", dtype="float64"
        )
        compare([(type(loss).__name__, run)])


@pytest.mark.parametrize("seeds", [range(8), *(pytest.param(range(k, k + 46), marks=pytest.mark.ci) for k in (8, 54))])
def test_random_networks_go_on(seeds):
    def runs():
        for seed in seeds:
            net, loss, data = drawn(seed)
            rule = optim.SGD(net.parameters(), lr=1e-4)
            yield (
                f"{seed}",
                sv.Run(net, loss, rule, data, engine="numpy", dtype="float64", batch_size=min(5, len(data[0]))),
            )

    compare(runs(), 20)


def test_orders_draws_and_masks_have_the_bits_of_python():
    asked = [(24, 5), (300, 7), (100_000, 5), (7, 7), (1, 1)]
    shapes = json.dumps([[int(part) for part in rng.shape_of(samples)] for samples, _ in asked])
    found = answers(f"""
      const out = [], shapes = {shapes}, given = {json.dumps(asked)};
      given.forEach(([samples, batch], k) => {{
        for (const step of [0, 1, 5, 4294967297]) for (const sampling of ["epochs", "replacement"]) {{
          const order = new Int32Array(batch);
          samplesOf(order, step, {{ seed: [3, 7], samples, sampling, shape: shapes[k] }});
          out.push([...order]);
        }}
      }});
      const key = _key([3, 7], 2), masked = (unit, place) => _mask(key, unit, 4294967297, place, 0.3);
      for (let unit = 0; unit < 9; unit++) for (let place = 0; place < 5; place++) out.push(masked(unit, place));
      console.log(JSON.stringify(out));
    """)
    seed, step = 3 + 7 * 2**32, 4294967297
    for samples, batch in asked:
        for k in (0, 1, 5, step):
            assert found.pop(0) == rng.batch_indices(seed, k, samples, batch).tolist()
            assert found.pop(0) == rng.drawn_indices(seed, k, samples, batch).tolist()
    dropped = rng.dropped(seed, 2, step, np.arange(9), np.arange(5), 0.3)
    assert found == np.where(dropped, 0, 1 / 0.7).ravel().tolist()


def test_first_weights_of_a_seed_are_pythons():
    """Of every initialiser whose numbers are a line through its draws; the others have no law."""
    rules = [
        init.uniform(-1, 3), init.normal(0.5, 0.2), init.pytorch_default(), init.xavier_uniform(),
        init.kaiming_uniform(),
    ]  # fmt: skip
    seed, laws, wanted = 2**33 + 5, [], []
    for rule in rules:
        net = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.Embedding(4, 3, padding_idx=1))
        net.initialize(rule, seed=seed)
        for part, law in init.laws(net).items():
            ends = (end.ravel().tolist() for end in (law.low, law.span))
            laws.append((law.kind, law.place, len(wanted), law.low.size, *ends))
            wanted += part.data.ravel().tolist()
    found = answers(f"""
      const theta = new Float64Array({len(wanted)});
      drawWeights(theta, {json.dumps(laws)}, {seed});
      console.log(JSON.stringify([...theta]));
    """)
    assert far(found, wanted) < 1e-15
    net.initialize(lambda shape, fan_in, fan_out, draw: draw.uniform(shape) ** 2, seed=1)
    assert [part for part in net.parameters() if part in init.laws(net)] == [net[0].bias, net[1].weight, net[1].bias]


EDGES = [0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -3.0, 30.0, -30.0, 710.0, 1e-300, 1e300, -1e300, 5e-324,
         float("inf"), float("-inf"), float("nan")]  # fmt: skip


def test_every_formula_is_that_of_numpy_at_its_edges():
    """Values and gradients of all operations; the last bits may differ, as those of exp do."""
    script, wanted, asked = ["const out = [];"], [], []
    for op in ops.TABLE.values():
        value, pulls = numpy_form(op.name, np.dtype(np.float64))
        flowing = [(adjoint(part), pull) for part, pull in zip(op.partials, pulls, strict=True) if pull is not None]
        for expression, ours in ((op.value, value), *flowing):
            names = op.args if ours is value else (*op.args, "y", UPSTREAM)
            two = itertools.product(EDGES, EDGES[:: 1 + 2 * (len(names) > 2)])
            points = [(*pair, 0.3, 0.5, 0.7)[: len(names)] for pair in two]
            with np.errstate(all="ignore"):
                wanted += np.broadcast_to(ours(*np.array(points).T), len(points)).tolist()
            asked += [(op.name, expression, point) for point in points]
            lines, (result,) = translate((expression,), {name: f"x[{k}]" for k, name in enumerate(names)}, FLOAT64)
            body = "".join(f"const {line}; " for line in lines) + f"out.push({result});"
            given = ", ".join("[" + ", ".join(map(FLOAT64.literal, point)) + "]" for point in points)
            script.append(f"for (const x of [{given}]) {{ {body} }}")
    script.append(
        "console.log(JSON.stringify([...new BigUint64Array(Float64Array.from(out, Number).buffer)].map(String)));"
    )
    found = np.array([int(number) for number in answers("\n".join(script))], np.uint64).view(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= 4e-15 * np.abs(wanted) + 1e-307
    far_off = np.flatnonzero(~(near | (found == wanted) | (np.isnan(found) & np.isnan(wanted))))
    assert not len(far_off), [(*asked[k], found[k], wanted[k]) for k in far_off[:5]]


def test_rows_that_are_put_by_runs_are_the_rows():
    """Ascending, descending, repeated ones, and those that stand for 1 and for no number (here null)."""
    draw = np.random.default_rng(0)
    starts, steps = draw.integers(0, 30, (400, 5)) - 2, draw.choice([0, 1, 1, 2, -1], (400, 5))
    cases = [
        [max(-2, int(start + step * k)) for start, step in zip(*pair, strict=True) for k in range(draw.integers(1, 9))]
        for pair in zip(starts, steps, strict=True)
    ]
    puts = "".join(f"found.push([]); _put(found.at(-1), 0, from, {_runs(rows)});\n" for rows in cases)
    script = f"const from = Array.from({{ length: 50 }}, (_, k) => k + 100), found = [];\n{puts}"
    named = {-1: 1, -2: None}
    wanted = [[named.get(row, row + 100) for row in rows] for rows in cases]
    assert answers(f"{script}console.log(JSON.stringify(found));") == wanted
