"""Micro-steps in a recording: those of the step that follows each frame, and files that somebody has changed."""

import json
import sqlite3
import zlib
from contextlib import closing

import numpy as np
import pytest

import scalarviz as sv
from kit.files import same
from kit.runs import bits, make_run
from scalarviz.errors import FileFormatError
from scalarviz.run.frames import sample


def record(run, path, steps, **options):
    with sv.Recording(run, micro=True, path=path, **options):
        getattr(run, "run", run).step(steps)  # of a scene, its run


def parts_of(opened):
    """All that an opened step says."""
    names = ("step", "trial", "loss", "lr", "divisor", "gradient", "new_values", "joined", "means")
    steps = []
    for step in opened.micro_steps():
        told = [
            step.phase,
            step.kind,
            step.words,
            step.stage,
            step.formula,
            step.units,
            step.weights,
            step.other_calls,
            step.op,
        ]
        if not step.op:
            told.append(step.column)
        if step.op:
            told += [step.value, step.factors, step.numbers]
        if step.kind in ("delta", "gradient", "loss"):
            told += [step.value, step.factors]
        if step.kind == "stage" and step.phase in ("forward", "backward"):
            told.append(step.numbers)
        if step.kind in ("gradient", "update"):
            index = int(step.weights[0])
            told += [repr(opened.made(index)), [str(line) for line in opened.update(index).lines]]
        steps.append(told)
    return [getattr(opened, name) for name in names], [str(phase) for phase in opened.phases()], steps


RUNS = [{"optimizer": "sgd"}, {"optimizer": "adam"}, {"network": "relu", "optimizer": "sgd_momentum"},
        {"network": "formula", "optimizer": "adam"}, {"network": "gpt", "loss": "cross-entropy"}]  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("options", RUNS)
def test_every_step_has_the_numbers_that_the_run_has_when_it_is_opened(options, tmp_path):
    run, plain = make_run(**options, dtype="float32"), make_run(**options, dtype="float32")
    for one in (run, plain):
        one.step(2)
    record(run, tmp_path / "a.svz", 2)
    plain.step(2)
    assert bits(run) == bits(plain)
    with sv.load_recording(tmp_path / "a.svz") as found:
        assert {"micro", "activations"} <= found.has
        probe = found.probe, np.array(found.about.probe_target)
        for k, step in enumerate(found.steps.tolist()):
            run.to(step)
            alone, opened = found.opened(k), run.open(sample=probe)
            assert same(parts_of(alone), parts_of(opened))
            assert same([alone.inputs, alone.targets], [opened.inputs, opened.targets])
            assert same(parts_of(found.opened(k, alone=False)), parts_of(run.open()))


@pytest.mark.parametrize("engine", ["objects", "numba"])
def test_what_the_step_is_said_to_do_is_what_the_engine_then_does(engine, tmp_path):
    """Of the batch alone: the sample has no target here."""
    run = make_run(engine=engine, dtype="float32")
    scene = sv.Scene("t", run, probe=sample(run, 1)[0], probe_target=None)
    record(scene, tmp_path / "a.svz", 3, gradients=True)
    with sv.load_recording(tmp_path / "a.svz") as found:
        assert False in found.sides(0)
        for k in range(len(found) - 1):
            opened, after = found.opened(k, alone=False), found.frame(k + 1)
            np.testing.assert_allclose(opened.gradient, after.gradient, rtol=1e-5, atol=1e-8)
            np.testing.assert_allclose(opened.new_values, after.values, rtol=1e-5, atol=1e-8)
            assert opened.loss == pytest.approx(after.loss, rel=1e-5)


# ---- files that somebody has changed


def plan(change):
    """SQL that changes the plans of a file, read as JSON."""

    def changed(database):
        for number, said in database.execute("SELECT id, said FROM plan").fetchall():
            told = json.loads(said)
            change(told)
            database.execute("UPDATE plan SET said = ? WHERE id = ?", (json.dumps(told), number))

    return changed


def numbers(change):
    """The same of the numbers of every step."""

    def changed(database):
        for frame, alone, data in database.execute("SELECT frame, alone, numbers FROM micro").fetchall():
            flat = change(np.frombuffer(zlib.decompress(data), "<f8").copy(), alone)
            given = zlib.compress(np.asarray(flat, "<f8").tobytes()), frame, alone
            database.execute("UPDATE micro SET numbers = ? WHERE frame = ? AND alone = ?", given)

    return changed


def put(place, number):
    def change(flat, alone):
        flat[place + 4 * 3 * alone] = number  # of one sample four deltas have their slope and both products
        return flat

    return change


def step(column, value):
    return plan(lambda told: told["steps"][5].__setitem__(column, value))


AT = 2 * (4 + 4 + 3 + 3) + 2 * 31 + 3 * 7  # where what is told of single weights begins: rows, deltas, values, factors

HOSTILE = {
    "another step": "UPDATE micro SET step = step + 1",
    "a batch of more than all": f"UPDATE micro SET batch = {1 << 60}",
    "no divisor": "UPDATE micro SET divisor = 9e999",
    "no such plan": "UPDATE micro SET plan = 99",
    "not there": "DELETE FROM micro",
    "numbers that are not deflated": "UPDATE micro SET numbers = zeroblob(50)",
    "numbers that stand for gigabytes": lambda database: database.execute(
        "UPDATE micro SET numbers = ?", (zlib.compress(bytes(1 << 20))[:1200],)
    ),
    "numbers cut off": numbers(lambda flat, alone: flat[:-1]),
    "a rule that there is not": numbers(put(AT, 7.0)),
    "weights without end": numbers(put(AT + 1, np.inf)),
    "a weight that there is not": numbers(put(AT + 2, 31.0)),
    "a weight that is NaN": numbers(put(AT + 2, np.nan)),
    "a plan that nests": f"UPDATE plan SET said = '{'[' * 5000}'",
    "no micro-steps in it": plan(lambda told: told.update(steps=[])),
    "weights twice": plan(lambda told: told["steps"][0].__setitem__(8, [[0, 31], [0, 31]])),
    "a product of no weight": plan(lambda told: told["steps"][1].__setitem__(8, [])),
    "a rule that is none": plan(lambda told: told.update(rules=[7] * len(told["rules"]))),
    "a line of a rule that is none": plan(lambda told: told["rules"][0].update(lines=[["w'", 7]])),
    **{f"column {column} is {value}": step(column, value) for column, value in (
        (0, 5), (1, "update"), (2, 99), (3, 7), (5, -9), (6, "product"), (7, [[0, 99]]), (8, [[30, 32]]),
    )},
}  # fmt: skip
"""Columns of a step: 0 phase, 1 kind, 2 stage, 3 words, 5 column, 6 how it is joined, 7 units, 8 weights."""


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A recording of two steps; not to be changed."""
    path = tmp_path_factory.mktemp("micro") / "good.svz"
    record(make_run(), path, 2)
    return path


@pytest.mark.parametrize("what", HOSTILE)
def test_changed_micro_steps_are_refused_in_words_and_the_frame_is_shown(what, good, tmp_path):
    path = tmp_path / "bad.svz"
    path.write_bytes(good.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        (database.execute if isinstance(HOSTILE[what], str) else lambda change: change(database))(HOSTILE[what])
    with sv.load_recording(good) as theirs, sv.load_recording(path) as found:
        for alone in (True, False):
            with pytest.raises(FileFormatError, match=r"bad\.svz: .*step 2: .{10}"):
                found.opened(1, alone=alone)
        np.testing.assert_array_equal(found.frame(1).values, theirs.frame(1).values)
