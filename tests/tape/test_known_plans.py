"""A graph that was lowered before is not lowered again, and nothing of another graph or model comes with its plan."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.scalar import ops
from scalarviz.tape import Node, Tape, lower, record
from scalarviz.tape.known import MOST, SMALL, Kept


def tape_of(number: float, code: str = "mul") -> Tape:
    nodes = (Node("input"), Node("const", number=number), Node(code, (0, 1)), Node("param"), Node("mul", (2, 3)))
    return Tape(nodes, 1, 0, 1, outputs=(4,))


def arrays_of(program):
    yield from (program.input_rows, program.constants, program.outputs, program.needs_gradient)
    for instruction in program.instructions:
        yield from (instruction.args, instruction.weights, instruction.numbers)


def test_the_same_graph_has_the_same_plan_and_nobody_can_write_to_it():
    plan = lower(tape_of(3.25))
    assert lower(tape_of(3.25)).body is plan.body
    for array in arrays_of(plan.body):
        assert not array.flags.writeable


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1.5, 1.5000000000000002), (float("nan"), 2.0)])
def test_numbers_that_differ_by_a_bit_have_plans_of_their_own(one, other):
    first, second = lower(tape_of(one)), lower(tape_of(other))
    assert first.body is not second.body
    found = [[n for p in (plan.encode, plan.body) if p for n in p.constants] for plan in (first, second)]
    np.testing.assert_array_equal(np.signbit(found), np.signbit([[one], [other]]))
    np.testing.assert_array_equal(found, [[one], [other]])


def test_whether_input_only_nodes_stay_in_the_body_is_part_of_the_question():
    assert lower(tape_of(7.5)).encode is not None
    assert lower(tape_of(7.5), encode=False).encode is None


def test_a_formula_that_is_registered_anew_is_lowered_anew(monkeypatch):
    before = lower(tape_of(2.75, "sub"))
    monkeypatch.setitem(ops.TABLE, "sub", replace(ops.TABLE["sub"], value="a + b"))
    assert lower(tape_of(2.75, "sub")).body is not before.body


def test_modules_are_those_of_ones_own_model_and_are_not_kept_alive():
    def tapped(model):
        tape = record(lambda x: model(np.array(x, object)), 2)
        return lower(replace(tape, taps=((model, tape.outputs),))).body.taps

    one, other = nn.Sequential(nn.Linear(2, 1)), nn.Sequential(nn.Linear(2, 1))
    (first, rows), (second, same) = tapped(one)[0], tapped(other)[0]
    assert first is one
    assert second is other
    np.testing.assert_array_equal(rows, same)
    gone = weakref.ref(one)
    del one, first
    gc.collect()
    assert gone() is None


def test_large_graphs_are_not_kept():
    nodes = (Node("param"), *(Node("relu", (k,)) for k in range(SMALL)))
    tape = Tape(nodes, 0, 0, 1, outputs=(SMALL,))
    assert lower(tape).body is not lower(tape).body


def test_what_was_not_asked_for_longest_goes():
    kept = Kept()
    for k in range(MOST):
        kept.put(k, str(k))
    assert kept.get(0) == "0"
    kept.put("one more", "x")
    assert kept.get(0) == "0"
    assert kept.get(1) is None


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_runs_of_one_network_have_weights_and_workspaces_of_their_own(engine):
    """Steps taken in turns give the bits that each run has alone."""
    if engine == "numba":
        pytest.importorskip("numba")
    x = np.random.default_rng(5).normal(size=(7, 3))

    def made(seed):
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        net.initialize(nn.init.uniform(-1, 1), seed=seed)
        adam = optim.Adam(net.parameters(), lr=0.05)
        return sv.Run(net, nn.MSELoss(), adam, data=(x, x[:, :2] ** 2), batch_size=2, seed=seed, engine=engine)

    alone = []
    for seed in (1, 2):
        run = made(seed)
        run.step(40)
        alone.append(run.state_dict())
    both = [made(1), made(2)]
    for _ in range(4):
        for run in both:
            run.step(10)
    for run, wanted in zip(both, alone, strict=True):
        for name, array in run.state_dict().items():
            np.testing.assert_array_equal(array, wanted[name])
