"""Every step of a recording opens: between its frames, too, and where the model's code cannot be imported."""

import json
import random
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing, suppress

import numpy as np
import pytest

import scalarviz as sv
from kit.files import same
from kit.hunt import seeds
from kit.learning import FAMILIES, LOSSES, SCHEDULES
from kit.networks import NETWORKS
from kit.runs import bits, make_run
from scalarviz.errors import FileFormatError, InputError

STEPS, EVERY = 13, 4


def record(run, path, steps=STEPS, **options):
    with sv.Recording(run, path=path, **{"every": EVERY, **options}):
        getattr(run, "run", run).step(steps)  # of a scene, its run


def parts_of(opened):
    """All that an opened step says."""
    names = ("step", "trial", "loss", "lr", "divisor", "values", "gradient", "new_values", "delta_sums", "means",
             "rows", "deltas", "inputs", "targets", "batch", "penalty")  # fmt: skip
    steps = [(s.phase, s.kind, s.words, s.stage, s.formula, s.numbers, s.value, s.factors, s.units, s.weights)
             for s in opened.micro_steps()]  # fmt: skip
    told = [str(opened.update(k)) for k in range(0, len(opened.values), 5)]
    return [getattr(opened, name) for name in names], steps, told, opened.loss_along(0, 5).losses


def check(run, path, sample=2):
    """Each step of a run's recording is that of the run."""
    with sv.load_recording(path) as found:
        first, last = int(found.steps[0]), int(found.steps[-1])
        assert len(found) < last - first
        for step in random.Random(1).sample(range(first + 1, last + 2), 3):
            assert same(parts_of(found.open(step)), parts_of(run.open(step=step))), step
            assert same(parts_of(found.open(step, sample)), parts_of(run.open(step=step, sample=sample)))


def losses_of(network):
    return "cross-entropy" if NETWORKS[network].reads == "words" or network == "classes" else "mse"


RUNS = (
    [{"network": name, "loss": losses_of(name)} for name in NETWORKS]
    + [{"loss": name, "network": "classes"} for name in LOSSES if LOSSES[name].targets in ("classes", "shares")]
    + [{"optimizer": name} for name in (*FAMILIES, "own", "groups")]
    + [{"optimizer": "sgd", "schedule": name} for name in SCHEDULES if name != "one cycle"]
    + [{"dtype": dtype, "engine": engine} for dtype in ("float32", "float16") for engine in ("numpy", "numba")]
    + [{"batch_size": None}, {"sampling": "replacement"}, {"l1": 0.01, "l2": 0.1, "clip_norm": 0.2}]
)


@pytest.mark.ci
@pytest.mark.parametrize("options", RUNS, ids=str)
def test_every_step_of_a_recording_is_the_step_of_the_run(options, tmp_path):
    run, plain = make_run(**options), make_run(**options)
    for one in (run, plain):
        one.step(2)
    record(run, tmp_path / "a.svz")
    plain.step(STEPS)
    assert bits(run) == bits(plain)
    check(run, tmp_path / "a.svz")


@pytest.mark.ci
def test_edits_and_branches_are_on_the_way(tmp_path):
    run = make_run(dtype="float32")
    with sv.Recording(run, every=EVERY, path=tmp_path / "a.svz"):
        run.step(5)
        run.model.weights()[0].data = 0.5
        run.step(4)
        run.optimizer.lr = 0.1
        run.step(3)
        run.to(6)
        run.step(9)
        run.add_samples(*(np.ones((3, size)) for size in (3, 3)))
        run.step(2)
    check(run, tmp_path / "a.svz")


class OwnLoss:
    """A mean that real numbers weigh."""

    def __call__(self, outputs, targets):
        return (outputs[0] - targets[0]) ** 2

    def batch_part(self, outputs, targets):
        return (1 + targets[1]) * self(outputs, targets)

    def batch_shares(self, targets):
        return 1 + targets[:, 1]


def test_a_loss_that_weighs_its_samples_and_data_that_changes_are_stored_once(tmp_path):
    random, net = np.random.default_rng(0), sv.nn.Sequential(sv.nn.Linear(3, 2, seed=1))
    samples = lambda count: (random.random((count, 3)), random.random((count, 2)))  # noqa: E731
    adam = sv.optim.Adam(net.parameters(), lr=0.05)
    run = sv.Run(net, OwnLoss(), adam, samples(20), batch_size=6, engine="numpy", dtype="float32")
    with sv.Recording(run, every=EVERY, path=tmp_path / "a.svz"):
        run.step(3)
        run.add_samples(*samples(4))
        run.step(4)
        for _ in range(3):  # each time the edit is done again
            run.to(2)
            run.step(4)
        run.step(5)
    check(run, tmp_path / "a.svz")
    with closing(sqlite3.connect(tmp_path / "a.svz")) as database:
        assert database.execute("SELECT count(DISTINCT number) FROM data").fetchone() == (2,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_recorded_step_moved_its_weights_and_the_next_one_will_move_them(tmp_path, dtype):
    run = make_run(optimizer="adam", dtype=dtype)
    record(run, tmp_path / "a.svz", 6)
    with sv.load_recording(tmp_path / "a.svz") as found:
        for step, done in ((3, True), (6, True), (7, False)):
            texts = str(found.why(0, step)), str(run.why(0, step))
            assert [" moved in step" in text for text in texts] == [done, done]
            assert [" will move in step" in text for text in texts] == [not done] * 2


def test_each_frame_opens_of_a_schedule_that_moves_the_momentum(tmp_path):
    run = make_run(optimizer="adam", schedule="one cycle", dtype="float32")
    record(run, tmp_path / "a.svz")
    with sv.load_recording(tmp_path / "a.svz") as found:
        for step in (5, 9):
            assert same(parts_of(found.open(step)), parts_of(run.open(step=step)))
        with pytest.raises(FileFormatError, match=r"step 7 .*several rates.*every=1"):
            found.open(7)


def _edited(run):
    run.lr = 0.5


def _jumped(run):
    state = run.state()
    run.step(3)
    run.take(state)  # the run goes on at this step, as another branch


@pytest.mark.parametrize("change", [_edited, _jumped])
def test_a_step_is_refused_if_an_edit_or_jump_before_it_has_no_frame(change, tmp_path):
    run = make_run(optimizer="sgd", dtype="float32")
    run.step(5)
    change(run)
    run.step(5)
    newest = next(branch for branch in run.branches if branch.current)
    with sv.Recording(run, every=2, path=tmp_path / "a.svz"):
        run.to(2, branch=0)
        run.switch(newest)
    with sv.load_recording(tmp_path / "a.svz") as found:
        assert found.steps.tolist() == [2, 10]
        for step in (3, 4, 5, 11):
            there = run.open(step=step) if change is _edited or step > 5 else None
            assert there is None or same(parts_of(found.open(step)), parts_of(there))
        for step in (6, 7, 10):
            with pytest.raises(FileFormatError, match=rf"step {step} .*lack an edit or a jump"):
                found.open(step)


def test_the_objects_engine_differs_by_rounding_alone(tmp_path):
    run = make_run(engine="objects", dtype="float32")
    record(run, tmp_path / "a.svz")
    with sv.load_recording(tmp_path / "a.svz") as found:
        for step in (3, 7):
            one, other = found.open(step), run.open(step=step)
            np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-4, atol=1e-7)
            np.testing.assert_allclose(one.new_values, other.new_values, rtol=1e-4, atol=1e-7)
            assert str(found.why("0.weight[1][1]", step).name) == "0.weight[1][1]"


WITHOUT = """
import sys
import numpy as np
import scalarviz as sv
with sv.load_recording(sys.argv[1]) as found:
    for step in (3, 6, 14):
        opened = found.open(step)
        sys.stdout.buffer.write(opened.gradient.tobytes() + opened.new_values.tobytes())
        assert found.open(step, sample=1).trial
assert "kit.learning" not in sys.modules
"""


@pytest.mark.ci
def test_it_opens_where_the_users_modules_are_missing(tmp_path):
    run = make_run(network="residual", optimizer="own", dtype="float32")
    record(run, tmp_path / "a.svz")
    told = subprocess.run([sys.executable, "-c", WITHOUT, tmp_path / "a.svz"], cwd="/", capture_output=True, check=True)
    opened = [run.open(step=step) for step in (3, 6, 14)]
    assert told.stdout == b"".join(one.gradient.tobytes() + one.new_values.tobytes() for one in opened)
    stored = (tmp_path / "a.svz").read_bytes()
    assert b"pickle" not in stored
    assert b"def update" not in stored


# ---- what is not there, and files that somebody has changed


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A recording of some steps; not to be changed."""
    path = tmp_path_factory.mktemp("steps") / "good.svz"
    record(make_run(network="classes", loss="cross-entropy", dtype="float32", clip_norm=0.5), path, every=2)
    return path


LEFT_OUT = {
    "data=False": ({"data": False}, "data=False"),
    "data_limit": ({"data_limit": 100}, "data_limit"),
}


@pytest.mark.parametrize("how", LEFT_OUT)
def test_without_its_data_a_recording_plays_and_says_why_no_step_opens(how, tmp_path):
    options, said = LEFT_OUT[how]
    record(make_run(samples=200), tmp_path / "a.svz", **options)
    with sv.load_recording(tmp_path / "a.svz") as found:
        assert said in found.why_closed
        assert found.stored_data == (0, 0)
        assert len(found.frame(1).values)
        with pytest.raises(FileFormatError, match=rf"step 3 .*{said}"):
            found.open(3)


def test_data_that_an_edit_made_too_large_closes_only_the_steps_after_it(tmp_path):
    run = make_run(samples=200, dtype="float32")
    with sv.Recording(run, every=EVERY, path=tmp_path / "a.svz", data_limit=6_000):
        run.step(6)
        run.add_samples(*(part[:3] / 2 for part in run.samples()))
        run.step(6)
    with sv.load_recording(tmp_path / "a.svz") as found:
        assert found.stored_data[0] == 200
        assert found.why_closed == ""
        assert same(parts_of(found.open(6)), parts_of(run.open(step=6)))
        with pytest.raises(FileFormatError, match=r"step 8 .*before it was changed.*data_limit"):
            found.open(8)


@pytest.mark.parametrize("step", [0, -1, 15, 10**9])
def test_a_step_that_there_is_not_is_refused_with_those_that_there_are(step, good):
    with sv.load_recording(good) as found, pytest.raises(InputError, match=r"no step .*1 to 14|>= 0"):
        found.open(step)


SAMPLES = [(24, "sample"), (([1.0], [0]), "inputs"), (([1.0] * 3, [0, 1]), "targets"), ("x", "sample")]


@pytest.mark.parametrize(("sample", "said"), SAMPLES)
def test_a_sample_that_does_not_fit_is_refused(sample, said, good):
    with sv.load_recording(good) as found, pytest.raises(sv.errors.ScalarvizError, match=said):
        found.open(3, sample)


def changed(path, table, column, change):
    """Change the JSON of a table's rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for number, packed in database.execute(f"SELECT id, {column} FROM {table}").fetchall():
            said = json.loads(zlib.decompress(packed))
            change(said)
            given = zlib.compress(json.dumps(said).encode()), number
            database.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", given)


def tape(change):
    """Change the tape of a program."""

    def inside(said):
        told = json.loads(said["tape"])
        change(told)
        said["tape"] = json.dumps(told)

    return "program", inside


def at(*place, value):
    """Put a value at a place of nested lists and dictionaries."""

    def put(said):
        *way, last = place
        for part in way:
            said = said[part]
        said[last] = value

    return put


HOSTILE = {
    "an unknown operation": tape(at("codes", 0, value="import os")),
    "a node that reads itself": tape(lambda told: told["args"].__setitem__(-1, [len(told["args"]) - 1] * 2)),
    "an input that there is not": tape(at("index", 0, value=1 << 40)),
    "a total of billions": tape(lambda told: (told["codes"].append("total square"), told["code"].append(
        len(told["codes"]) - 1), told["args"].append([]), told["index"].append(0), told["number"].append(1e12))),
    "no loss": tape(at("loss", value=None)),
    "outputs that there are not": tape(at("outputs", value=[1 << 30])),
    "other weights": tape(at("n_parameters", value=5)),
    "no nodes": tape(at("code", value=[])),
    "a stage of another size": ("program", at("taps", value=[0, 0, 0])),
    "stages that are none": ("program", at("stages", value=[[1]])),
    "samples of another shape": ("program", at("shapes", value=[[9], [1]])),
    "a program that there is not": ("rule", at("program", value=7)),
    "data that there is not": ("rule", at("data", value=7)),
    "another batch": ("rule", at("batch", value=25)),
    "no batch": ("rule", at("batch", value=0)),
    "another state": ("rule", at("state", value=[])),
    "weights held twice": ("rule", at("held", value=[31, 1, 31, 1])),
    "an unknown dtype": ("rule", at("dtype", value="float8")),
    "shares of other targets": ("rule", at("shares", value=[[[0.0, 1.0], 1.0]])),
    "a seed below 0": ("rule", at("seed", value=-1)),
    "samples cut off": "UPDATE data SET numbers = substr(numbers, 1, 20)",
    "samples that stand for gigabytes": "UPDATE data SET samples = 1 << 40",
    "a type that is none": "UPDATE data SET kind = 'O8'",
    "a rule that is no JSON": "UPDATE rule SET said = zeroblob(9)",
    "no rule": "DELETE FROM rule",
    "a moment that is changed": "UPDATE moment SET rates = zeroblob(16)",
    "no moments": "DELETE FROM moment",
    "no state": "UPDATE moment SET state = NULL",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_changed_program_is_refused_in_words_and_the_frame_is_shown(what, good, tmp_path):
    path = tmp_path / "bad.svz"
    path.write_bytes(good.read_bytes())
    if isinstance(HOSTILE[what], str):
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(HOSTILE[what])
    else:
        table, change = HOSTILE[what]
        changed(path, table, "said", change)
    with sv.load_recording(good) as theirs, sv.load_recording(path) as found:
        with pytest.raises(FileFormatError, match=r"bad\.svz: step 4 cannot be opened: .{10}"):
            found.open(4)
        np.testing.assert_array_equal(found.frame(1).values, theirs.frame(1).values)


# ---- thousands of damaged programs


VALUES = [0, -1, 1, 3, 1 << 31, 1 << 53, 1 << 70, 0.5, 1e300, float("nan"), float("inf"), "", "add", "dot", "mask",
          "gather", "batch_mean", "total abs", "const", "param", None, True, [], [0],
          {}, [0, 1], "float64"]  # fmt: skip


def places_in(said, way=()):
    """The ways to all parts of nested lists and dictionaries."""
    if isinstance(said, dict | list):
        for key, part in said.items() if isinstance(said, dict) else enumerate(said):
            yield from places_in(part, (*way, key))
    yield way


def damaged(said, choice):
    """Change some parts of a program or a rule, which are still JSON."""
    ways = list(places_in(said))
    for _ in range(choice.choice((1, 1, 2, 4))):
        *way, last = choice.choice(ways) or (0, 0)
        inner = said
        try:
            for key in way:
                inner = inner[key]
            old = inner[last]
            if choice.random() < 0.5:
                inner[last] = choice.choice(VALUES)
            elif isinstance(old, int | float) and choice.random() < 0.6:
                inner[last] = old + choice.choice((-2, -1, 1, 2, 1000))
            elif isinstance(inner, list):
                other = choice.randrange(len(inner))
                inner[last], inner[other] = inner[other], old
        except (LookupError, TypeError):  # an earlier change took the place away
            continue


HUNTED = [{"optimizer": "groups"}, {"dtype": "float16"}, {"network": "batch norm"}, {"network": "picture"},
          {"network": "gpt", "loss": "cross-entropy"}]  # fmt: skip


@pytest.mark.hunt
@pytest.mark.parametrize("options", HUNTED, ids=str)
def test_a_damaged_program_opens_or_is_refused_in_words(options, tmp_path):
    record(make_run(**options), tmp_path / "good.svz", 9)
    path, good = tmp_path / "bad.svz", (tmp_path / "good.svz").read_bytes()
    for seed in seeds():
        for number in range(50):
            choice = random.Random(f"{seed} {number}")
            path.write_bytes(good)

            def change(said, choice=choice):
                texts = [key for key in ("tape", "update") if key in said]
                if not texts or choice.random() < 0.2:
                    return damaged(said, choice)
                told = json.loads(said[texts[0]])
                damaged(told, choice)
                said[texts[0]] = json.dumps(told)
                return None

            changed(path, choice.choice(("program", "rule")), "said", change)
            with sv.load_recording(path) as found, suppress(sv.errors.ScalarvizError):
                found.open(7)
