"""Micro-steps in a recording: the numbers of the step that follows each frame, and files that somebody has changed."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import FileFormatError, TypeMismatchError
from scalarviz.run.recording.schema import INDEXES, READ
from scalarviz.run.scene import Scene

RNG = np.random.default_rng(5)
X, Y = RNG.random((12, 3)), RNG.random((12, 2))


def network(hidden=4, activation=nn.Tanh, seed=1):
    return nn.Sequential(
        nn.Linear(3, hidden, seed=seed), activation(), nn.Linear(hidden, 2, seed=seed + 1), nn.Sigmoid()
    )


def a_run(optimizer=optim.SGD, engine="numpy", hidden=4, activation=nn.Tanh, **options):
    net = network(hidden, activation)
    return Run(net, nn.MSELoss(), optimizer(net.parameters(), lr=0.3), (X, Y), engine=engine, batch_size=4, **options)


@pytest.fixture
def recorded(tmp_path):
    """``recorded(run, steps, **kept)``: a recording of some steps of a run."""
    files = []

    def made(run, steps=3, **kept):
        path = tmp_path / f"{len(files)}.svz"
        with sv.Recording(Scene("t", run), micro=True, path=path, **kept):
            run.step(steps)
        files.append(sv.load_recording(path))
        return files[-1]

    yield made
    for file in files:
        file.close()


@pytest.mark.parametrize("options", [{}, {"optimizer": optim.Adam}, {"hidden": 12, "activation": nn.ReLU}])
def test_every_step_has_the_numbers_that_the_run_has_when_it_is_opened(options, recorded):
    run = a_run(**options)
    run.step(2)
    found = recorded(run)
    probe = found.probe, np.array(found.about.probe_target)
    for k, step in enumerate(found.steps.tolist()):
        run.to(step)
        for mine, theirs in ((found.opened(k), run.open(sample=probe)), (found.opened(k, alone=False), run.open())):
            for name in ("step", "trial", "loss", "lr", "divisor", "gradient", "new_values"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
            for name, row in theirs.joined.items():
                np.testing.assert_array_equal(mine.joined[name], row)
                np.testing.assert_array_equal(mine.means[name], theirs.means[name])
            assert mine.phases() == theirs.phases()
            for own, other in zip(mine.micro_steps(), theirs.micro_steps(), strict=True):
                told = [(s.phase, s.kind, s.words, s.stage, s.formula, s.column) for s in (own, other)]
                assert told[0] == told[1]
                np.testing.assert_array_equal(own.units, other.units)
                np.testing.assert_array_equal(own.weights, other.weights)
                if own.kind in ("delta", "gradient", "loss"):
                    assert (own.value, own.factors) == (other.value, other.factors)
                if own.kind == "stage" and own.phase in ("forward", "backward"):
                    assert own.numbers == other.numbers
                if own.kind in ("gradient", "update"):
                    index = int(own.weights[0])
                    np.testing.assert_equal(mine.made(index), theirs.made(index))
                    assert list(map(str, mine.update(index).lines)) == list(map(str, theirs.update(index).lines))


def test_what_the_step_is_said_to_do_is_what_the_objects_engine_then_does(recorded):
    found = recorded(a_run(engine="objects"), steps=4, gradients=True)
    for k in range(len(found) - 1):
        opened, after = found.opened(k, alone=False), found.frame(k + 1)
        np.testing.assert_allclose(opened.gradient, after.gradient, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(opened.new_values, after.values, rtol=1e-6)
        assert opened.loss == pytest.approx(after.loss, rel=1e-6)


def test_rows_deltas_and_gradient_of_the_sample_are_those_of_pytorch(recorded):
    torch = pytest.importorskip("torch")
    run = a_run(hidden=5, seed=3)
    run.step(7)
    found = recorded(run)
    values, opened = found.frame(1).values, found.opened(1)
    named = {t.name: torch.tensor(t.of(values).astype(np.float64), requires_grad=True) for t in found.tensors}
    x, y = torch.tensor(found.probe), torch.tensor(np.array(found.about.probe_target))
    one = named["0.weight"] @ x + named["0.bias"]
    two = torch.tanh(one)
    three = named["2.weight"] @ two + named["2.bias"]
    four = torch.sigmoid(three)
    rows = [one, two, three, four]
    for row in rows:
        row.retain_grad()
    torch.nn.functional.mse_loss(four, y).backward()
    for stage, row in zip(found.stages, rows, strict=True):
        np.testing.assert_allclose(opened.rows[stage.name][:, 0], row.detach().numpy(), rtol=1e-12)
        np.testing.assert_allclose(opened.deltas[stage.name][:, 0], row.grad.numpy(), rtol=1e-9)
    for tensor in found.tensors:
        theirs = named[tensor.name].grad.numpy()
        np.testing.assert_allclose(tensor.of(opened.gradient), theirs, rtol=1e-9, atol=1e-15)


def test_a_run_that_is_recorded_has_the_bits_of_one_that_is_not(recorded):
    plain, watched = a_run(optim.Adam), a_run(optim.Adam)
    plain.step(5)
    recorded(watched, steps=5)
    assert plain.values.tobytes() == watched.values.tobytes()
    assert plain.loss == watched.loss


def test_a_sample_without_a_target_leaves_the_step_of_the_batch(tmp_path):
    run = a_run()
    path = tmp_path / "a.svz"
    with sv.Recording(Scene("t", run, probe=X[1], probe_target=None), micro=True, path=path):
        run.step(1)
    with sv.load_recording(path) as found:
        sides = {found.sides(k) for k in range(len(found))}
        assert sides <= {frozenset({False}), frozenset({True, False})}
        assert found.opened(0, alone=False).step == 1
        assert "micro" in found.has


def test_what_is_let_go_of_for_the_budget_goes_with_its_micro_steps(recorded):
    found = recorded(a_run(), steps=60, budget=250_000)
    with closing(sqlite3.connect(found.path)) as database:
        frames = {row[0] for row in database.execute("SELECT id FROM frame")}
        micro = {row[0] for row in database.execute("SELECT frame FROM micro")}
    assert 3 < len(frames) < 61
    assert micro == frames
    assert found.opened(3).step == found.steps[3] + 1


def test_micro_is_on_or_off():
    with pytest.raises(TypeMismatchError, match="micro"):
        sv.Recording(a_run(), micro="yes")


# ---- files that are older, or that somebody has changed


def test_a_file_of_version_1_is_read_and_has_no_micro_steps(recorded):
    path = recorded(a_run()).path
    old = path.with_name("old.svz")
    with closing(sqlite3.connect(path)) as ours, closing(sqlite3.connect(old, isolation_level=None)) as made:
        made.execute(f"PRAGMA application_id = {ours.execute('PRAGMA application_id').fetchone()[0]}")
        made.execute("PRAGMA user_version = 1")
        for name, statement in READ[1].items():
            made.execute(statement)
            for row in ours.execute(f"SELECT * FROM {name}").fetchall() if name not in INDEXES else ():
                kept = row[:-1] if name == "frame" else row  # the last column is the checksum
                made.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(kept))})", kept)
    with sv.load_recording(old) as found, sv.load_recording(path) as newer:
        np.testing.assert_array_equal(found.values["0.weight"], newer.values["0.weight"])
        assert "micro" not in found.has
        with pytest.raises(FileFormatError, match="no micro-steps of step 1: they were not recorded"):
            found.opened(0)


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
            flat = change(np.frombuffer(zlib.decompress(data), "<f8").copy())
            given = zlib.compress(np.asarray(flat, "<f8").tobytes()), frame, alone
            database.execute("UPDATE micro SET numbers = ? WHERE frame = ? AND alone = ?", given)

    return changed


def put(place, number):
    def change(flat):
        flat[place] = number
        return flat

    return change


def step(column, value):
    return plan(lambda told: told["steps"][5].__setitem__(column, value))


AT = 2 * (4 + 4 + 2 + 2) + 2 * 26 + 3 * 6  # where what is told of single weights begins: rows, deltas, values, factors

HOSTILE = {
    "another step": "UPDATE micro SET step = step + 1",
    "a step that is no number": "UPDATE micro SET step = 'one'",
    "no batch": "UPDATE micro SET batch = 0",
    "a batch of more than all": f"UPDATE micro SET batch = {1 << 60}",
    "no divisor": "UPDATE micro SET divisor = 9e999",
    "no such plan": "UPDATE micro SET plan = 99",
    "no plan at all": "DELETE FROM plan",
    "not there": "DELETE FROM micro",
    "numbers that are text": "UPDATE micro SET numbers = 'abc'",
    "numbers that are not deflated": "UPDATE micro SET numbers = zeroblob(50)",
    "numbers longer than any step": "UPDATE micro SET numbers = zeroblob(1000000)",
    "numbers that stand for gigabytes": lambda database: database.execute(
        "UPDATE micro SET numbers = ?", (zlib.compress(bytes(1 << 20))[:1200],)
    ),
    "numbers cut off": numbers(lambda flat: flat[:-1]),
    "numbers of nothing": numbers(lambda flat: flat[:0]),
    "more numbers": numbers(lambda flat: np.tile(flat, 9)),
    "a rule that there is not": numbers(put(AT, 7.0)),
    "a rule that is NaN": numbers(put(AT, np.nan)),
    "weights without end": numbers(put(AT + 1, np.inf)),
    "a weight that there is not": numbers(put(AT + 2, 26.0)),
    "half a weight": numbers(put(AT + 2, 0.5)),
    "a weight that is NaN": numbers(put(AT + 2, np.nan)),
    "a plan of nothing": "UPDATE plan SET said = ''",
    "a plan that is a list": "UPDATE plan SET said = '[1]'",
    "a plan that nests": f"UPDATE plan SET said = '{'[' * 5000}'",
    "no steps": plan(lambda told: told.update(steps=[])),
    "a phase that there is not": step(0, 9),
    "a phase out of its order": step(0, 5),
    "a kind of another phase": step(1, "update"),
    "a kind that is a list": step(1, ["sum"]),
    "a stage that there is not": step(2, 99),
    "a stage below all": step(2, -7),
    "words that are none": step(3, 7),
    "a column that is none": step(5, -9),
    "joined by something": step(6, "product"),
    "units that there are not": step(7, [[0, 99]]),
    "units that run backwards": step(7, [[3, 1]]),
    "weights that there are not": step(8, [[25, 27]]),
    "weights twice": plan(lambda told: told["steps"][0].__setitem__(8, [[0, 26], [0, 26]])),
    "a product of no weight": plan(lambda told: told["steps"][1].__setitem__(8, [])),
    "a rule that is none": plan(lambda told: told.update(rules=[7] * len(told["rules"]))),
    "a line of a rule that is none": plan(lambda told: told["rules"][0].update(lines=[["w'", 7]])),
    "a number of a rule that is none": plan(lambda told: told["rules"][0].update(lines=[["w'", [["w", "x"]]]])),
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A recording of two steps; copied before it is changed."""
    path = tmp_path_factory.mktemp("micro") / "good.svz"
    run = a_run()
    with sv.Recording(Scene("t", run), micro=True, path=path):
        run.step(2)
    return path


@pytest.mark.parametrize("what", HOSTILE)
def test_changed_micro_steps_are_refused_in_words_and_the_frame_is_shown(what, good, tmp_path):
    path = tmp_path / "bad.svz"
    path.write_bytes(good.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        (database.execute if isinstance(HOSTILE[what], str) else lambda change: change(database))(HOSTILE[what])
    with sv.load_recording(good) as theirs, sv.load_recording(path) as found:
        for alone in (True, False):
            with pytest.raises(FileFormatError, match=r"bad\.svz: no micro-steps of step 2: .{10}"):
                found.opened(1, alone=alone)
        np.testing.assert_array_equal(found.frame(1).values, theirs.frame(1).values)


def test_who_would_record_a_loop_of_his_own_is_told_how():
    with pytest.raises(TypeMismatchError, match=r"a loop of your own becomes a Run by sv\.Run\("):
        sv.Recording(nn.Linear(2, 1))
