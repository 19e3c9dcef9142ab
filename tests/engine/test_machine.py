"""How engines cut a step: blocks of lanes, threads, rows of adjoints, updates. Bits and numbers do not depend on it.

Imports internals: the cuts follow from sizes and processors, so they are changed here, and some are counted.
"""

import threading
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.learning import OPTIMISERS, make_optimizer
from kit.networks import NETWORKS, SMALL
from kit.runs import TOLERANCE, far, loss_and_gradient, make_run
from scalarviz import Run, nn, optim
from scalarviz.engine import problem
from scalarviz.engine.arrays import program as workspace
from scalarviz.engine.arrays.program import _openblas, one_blas_thread
from scalarviz.engine.cpu import source, trainer, wire
from scalarviz.engine.cpu.encode.writer import FEWEST, AdjointRows
from scalarviz.run.state import optimizer_state


@pytest.fixture
def two_processors(monkeypatch):
    monkeypatch.setattr(trainer, "processors", lambda: 2)


def blocks_of(lanes, monkeypatch):
    monkeypatch.setattr(problem, "default_block", lambda *given: lanes)


def numbers(run):
    """All that a run trained, in one array of bytes."""
    parts = [run.values, run.frame().gradient, run.history.loss, *optimizer_state(run).values()]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


# ---- blocks of lanes


@given(rows=st.integers(1, 10**6), weights=st.integers(0, 10**8), itemsize=st.sampled_from([4, 8]))
def test_blocks_are_powers_of_two_and_never_grow_with_the_rows(rows, weights, itemsize):
    def block(rows, weights, itemsize):
        return problem.default_block(SimpleNamespace(n_rows=rows, n_theta=weights), itemsize)

    found = block(rows, weights, itemsize)
    assert found in (1024, 512, 256, 128, 64, 32)
    assert block(rows + 1, 0, itemsize) <= block(rows, 0, itemsize)
    assert found <= 256 or 2 * rows * found * itemsize <= problem.CACHE_BYTES
    assert block(rows, weights, 8) <= block(rows, weights, 4)
    assert (block(64, 0, 4), block(64, 0, 8), block(2048, 0, 4), block(2049, 0, 4), block(32_769, 0, 4)) == (
        1024, 512, 256, 128, 32,
    )  # fmt: skip
    assert (block(5000, 64 * 5000, 4), block(5000, 64 * 5000 - 1, 4)) == (256, 128)  # wide layers keep their lanes


@pytest.mark.parametrize("block", [1, 7])
@pytest.mark.parametrize("network", [*SMALL, "batch norm", "dropout", "picture", "gpt"])
def test_the_block_of_lanes_changes_nothing_but_rounding(network, block, monkeypatch):
    given = {
        "loss": nn.MSELoss(),
        "data": (NETWORKS[network].samples(40), np.zeros((40, NETWORKS[network].outputs[0]))),
    }
    wanted = loss_and_gradient(NETWORKS[network].ours(), engine="numpy", dtype="float64", **given)
    blocks_of(block, monkeypatch)
    assert far(loss_and_gradient(NETWORKS[network].ours(), engine="numba", dtype="float64", **given), wanted) < 1e-12


# ---- the workspace of NumPy, and its BLAS


def test_samples_of_numpy_fill_its_workspace_and_no_more(monkeypatch):
    for lane_bytes, lanes in ((1, 4096), (1 << 14, 4096), (1 << 15, 2048), (200_000, 320), (10**7, 6), (1 << 40, 1)):
        assert workspace.lanes_in_workspace(lane_bytes) == lanes
        assert lanes == 1 or lanes * lane_bytes <= workspace.WORKSPACE_BYTES
    runs = [make_run("picture", samples=50, batch_size=None) for _ in range(2)]
    runs[0].step(3)
    monkeypatch.setattr(workspace, "WORKSPACE_BYTES", 20_000)
    runs[1].step(3)
    np.testing.assert_allclose(runs[1].values, runs[0].values, rtol=1e-12, atol=1e-14)


def blas_threads():
    """Threads that a product takes now; None where that is not known."""
    found = _openblas()
    return None if found is None else found[0]()


def test_blas_has_one_thread_while_numpy_computes_and_what_it_had_afterwards(monkeypatch):
    before, seen, run = blas_threads(), [], make_run()
    one = None if before is None else 1  # whether this NumPy's BLAS can be asked; that of its wheels can
    with pytest.raises(ValueError, match="stop"), one_blas_thread(), one_blas_thread():
        assert blas_threads() == one
        raise ValueError("stop")
    assert blas_threads() == before
    body = run._training.trainer.runner.body
    forward = body.forward
    monkeypatch.setattr(body, "forward", lambda *given: seen.append(blas_threads()) or forward(*given))
    run.step(2)
    assert (set(seen), blas_threads()) == ({one}, before)


def wide(threads, sizes=(12, 64, 64, 3), batch=1000, samples=1000, dtype="float32"):
    layers = [part for k, (n, m) in enumerate(pairwise(sizes)) for part in (nn.Linear(n, m, seed=k), nn.LeakyReLU())]
    net, draw = nn.Sequential(*layers), np.random.default_rng(0)
    data = draw.normal(size=(samples, sizes[0])), draw.normal(size=(samples, sizes[-1]))
    rule = optim.Adam(net.parameters(), lr=1e-3)
    return Run(net, nn.MSELoss(), rule, data, batch_size=batch, engine="numba", dtype=dtype, threads=threads)


@pytest.mark.parametrize(("batch", "samples", "dtype"), [
    (1000, 1000, "float32"), pytest.param(700, 1000, "float64", marks=pytest.mark.ci),
])  # fmt: skip
def test_two_threads_have_the_bits_of_one_and_the_gradient_of_numpy(batch, samples, dtype, two_processors):
    found = []
    for threads in (1, 2):
        with wide(threads, batch=batch, samples=samples, dtype=dtype) as run:
            for count in (1, 7, 3):
                run.step(count)
            assert (run.engine.threads, str(run.engine)) == (threads, f"numba, {threads} thread{'s' * (threads > 1)}")
            found.append(numbers(run))
    assert found[0] == found[1]
    run = wide(2, batch=batch, samples=samples, dtype="float64")
    run.step()
    gradient = run.frame().gradient
    run.close()
    run = wide(1, batch=batch, samples=samples, dtype="float64")
    run.change(engine="numpy")
    run.step()
    assert far(gradient, run.frame().gradient) < 1e-12


def test_one_thread_where_two_do_not_pay_and_as_many_as_there_are(two_processors, monkeypatch):
    for sizes, batch in (((12, 64, 64, 3), 100), ((3, 3), 1200)):  # one block; too little to do
        with wide(2, sizes=sizes, batch=batch, samples=batch) as run:
            assert run.engine.threads == 1
            run.step(2)
    monkeypatch.setattr("scalarviz.run.making.processors", lambda: 2)
    with wide(None) as run:
        assert run.engine.threads == 2
    monkeypatch.setattr(trainer, "processors", lambda: 1)
    with wide(2) as run:
        assert run.engine.threads == 1


@pytest.mark.parametrize("always", [1, 2])
def test_taking_turns_shows_in_no_bit_and_an_interrupt_leaves_no_thread(always, two_processors, monkeypatch):
    """Every call is a trial, whatever it finds out."""
    plain, run, used = wide(1, batch=700), wide(2, batch=700), []
    monkeypatch.setattr(trainer, "TRIAL_SECONDS", -1.0)
    took = lambda turns, workers, seconds: setattr(turns, "workers", min(always, turns.most))  # noqa: E731
    monkeypatch.setattr(trainer.ThreadChoice, "took", took)
    engine, before = run._training.trainer, threading.active_count()
    engine.prepare()
    compiled, spaces = engine._machines.train, [body.machine for body in engine._machines.bodies]
    places = [space.ctypes.data for space in spaces]

    def called(place, *args):
        used.append((places.index(place), int(spaces[0][wire.WORKERS])))
        compiled(place, *args)

    engine._machines.train = called
    for count in (1, 33, 20):
        plain.step(count)
        run.step(count)
    assert {(0, 1), (0, 2), (1, 2)} == set(used)
    assert numbers(plain) == numbers(run)

    def interrupted(*args):
        if args[0] == places[0]:
            raise KeyboardInterrupt
        compiled(*args)

    engine._machines.train = interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.gradient(0)
    assert threading.active_count() == before


# ---- what is encoded


def chain(depth, wide):
    layers = [part for k in range(depth) for part in (nn.Linear(wide, wide, seed=k), nn.Tanh())]
    return nn.Sequential(nn.Linear(2, wide, seed=9), *layers, nn.Linear(wide, 2, seed=8))


@pytest.mark.parametrize("depth", [1, 3])
def test_no_two_adjoints_in_use_share_a_row_and_few_rows_are_enough(depth):
    """Where layers are wide, adjoints lie where others lay before that nobody wants any more."""
    mse = nn.MSELoss()
    program = sv.tape.lower(sv.trace(chain(depth, FEWEST + 3), 2, 2, loss=mse).only(loss=True)).body
    places = AdjointRows(program, [program.loss])
    in_use, every = {program.loss: places(program.loss)}, set()
    for instruction in reversed(program.instructions):
        rows = range(instruction.dst, instruction.dst + instruction.count)
        for row in (*instruction.args.ravel().tolist(), *rows):
            if program.needs_gradient[row]:
                assert in_use.setdefault(row, places(row)) == places(row)
        assert len(set(in_use.values())) == len(in_use)
        assert min(in_use.values()) >= program.n_rows
        every |= set(in_use.values())
        places.free(instruction)
        for row in rows:
            in_use.pop(row, None)
    assert max(every) < 2 * program.n_rows
    moving = sum(i.count for i in program.instructions if i.count >= FEWEST)
    others = int(program.needs_gradient.sum()) - moving
    assert depth == 1 or len(every) <= others + 2 * (FEWEST + 3) < others + moving
    places = AdjointRows(program, range(program.n_rows))  # those of the roots stay
    assert [places(row) for row in range(program.n_rows)] == list(range(program.n_rows, 2 * program.n_rows))


FUSED = {"sgd": "update_sgd", "sgd_momentum": "update_momentum", "adam": "update_adam", "adam_betas": "update_adam",
         "adamw": "update_adamw", "adamw_decay": "update_adamw"}  # fmt: skip


@pytest.mark.parametrize("rule", [*OPTIMISERS, "own"])
def test_known_updates_are_one_kernel_with_the_bits_of_their_rows(rule):
    run = make_run("wide", optimizer=rule, engine="numba")
    known = source.name_of(run._problem.update.body)
    assert known == FUSED.get(rule, "")
    if known:
        by_rows = make_run("wide", optimizer=rule, engine="numba")
        by_rows.prepare()
        space = by_rows._training.trainer._machines.update.machine
        assert space[wire.FUSED] != 0
        space[wire.FUSED] = 0
        for each in (run, by_rows):
            each.step(9)
        assert numbers(run) == numbers(by_rows)


@pytest.mark.ci
@pytest.mark.parametrize(("rule", "batch"), [
    ("sgd", 1), ("sgd_momentum", 5), ("adam", 13),
    *(pytest.param(*row, marks=pytest.mark.ci) for row in (
        ("adamw_decay", 1), ("sgd_decay", 13), ("sgd_momentum", 20))),
])  # fmt: skip
def test_gradients_that_go_to_the_update_at_once_have_the_same_bits(rule, batch):
    """Of a wide layer of its own; others are used twice, come in no order, or have no part in the loss."""

    class Net(nn.Module):
        def __init__(self):
            self.own, self.twice = nn.Linear(wire.ROOM_COLUMNS // 8 + 37, 66, seed=1), nn.Linear(66, 66, seed=2)
            self.last, self.unused = nn.Linear(66, 63, bias=False, seed=3), nn.Linear(3, 2, seed=4)

        def forward(self, x):
            h = [v.tanh() for v in self.twice([v.tanh() for v in self.own(x)])]
            return self.last([v.tanh() for v in self.twice(h)][::-1])

    draw = np.random.default_rng(0)
    data = draw.normal(size=(batch, wire.ROOM_COLUMNS // 8 + 37)), draw.normal(size=(batch, 63))
    for options in ({"dtype": "float32"}, {"dtype": "float64"}, {"clip_norm": 0.1, "dtype": "float64"}):
        ends, values = set(), {}
        for engine, cuts in (("numba", [6]), ("numba", [1] * 6), ("numba", [2, 4]), ("numpy", [6])):
            net = Net()
            net.own.weight[3].frozen = batch == 13
            with Run(net, nn.MSELoss(), make_optimizer(rule, net.parameters()), data, engine=engine, **options) as run:
                for cut in cuts:
                    run.step(cut)
                if engine == "numba":
                    ends.add(numbers(run))
                values[engine] = run.values.astype(float)
        assert len(ends) == 1
        assert far(values["numba"], values["numpy"]) < {"float32": 2e-4, "float64": 1e-10}[options["dtype"]]


GROUPS = {
    "rates": (optim.Adam, {"lr": 0.05}), "states": (optim.SGD, {"momentum": 0.5}),
    "rules": (optim.AdamW, {"weight_decay": 0.5, "betas": (0.5, 0.8), "amsgrad": True}),
    "mean": (optim.RMSprop, {"centered": True, "lr": 0.03}),
}  # fmt: skip


def grouped(kind, dtype="float64", scattered=False, engine="numba", cycle=False, frozen=False, **more):
    x, net = (
        np.random.default_rng(0).random((8, 6)),
        nn.Sequential(nn.Linear(6, 8, seed=1), nn.Tanh(), nn.Linear(8, 6, seed=2)),
    )
    cls, second_has = GROUPS[kind]
    first, second = net[0].parameters(), net[2].parameters()
    if scattered:
        every = [w for row in net[0].weight for w in row]
        first, second = every[::2], [*every[1::2], net[0].bias, *second]
    rule = cls([{"params": first}, {"params": second, **second_has}], lr=0.02)
    if cycle:
        optim.lr_scheduler.OneCycleLR(rule, 0.1, 30)
    net[2].weight[1].frozen = frozen
    return Run(net, nn.MSELoss(), rule, (x, x), engine=engine, dtype=dtype, batch_size=4, **more)


def stretches(run):
    run.prepare()
    return run._training.trainer._machines.pieces.count


@pytest.mark.parametrize("more", [{}, {"clip_norm": 0.1, "l2": 0.05}, {"frozen": True}, {"clip_value": 0.01}])
@pytest.mark.parametrize("kind", GROUPS)
def test_groups_in_stretches_have_the_bits_of_all_rules_for_every_weight(kind, more, monkeypatch):
    few = trainer.FEW
    for dtype in TOLERANCE:
        monkeypatch.setattr(trainer, "FEW", few)
        runs = [grouped(kind, dtype, **more)]
        runs[0].prepare()
        monkeypatch.setattr(trainer, "FEW", 0)
        runs.append(grouped(kind, dtype, **more))
        assert [stretches(run) for run in runs] == [2, 0]
        for run in runs:
            run.step(7), run.step(1), run.step(20)
        assert numbers(runs[0]) == numbers(runs[1])
