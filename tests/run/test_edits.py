"""Edits: data through one door, printed, written and read, and the shorthand for them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scalarviz import Run, nn, optim
from scalarviz.errors import FileFormatError, InputError, ScalarvizError, StateError, TypeMismatchError
from scalarviz.run import edits as ed
from scalarviz.run.edits import Edit, read_edit, write_edit

X = np.random.default_rng(0).random((64, 3))


def make(engine="numpy", optimizer=None, **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    opt = optimizer(net.parameters()) if optimizer else optim.SGD(net.parameters(), lr=0.5)
    return net, Run(net, nn.MSELoss(), opt, (X, 1 - X), engine=engine, **{"batch_size": 16, **kwargs})


EXAMPLES = [
    (ed.SetWeights(6, np.array([0.5])), "0.weight[2][0] = 0.5"),
    (ed.SetWeights(0, np.array([np.nan, -0.0], np.float32)), "0.weight[0][0] and 1 more = nan"),
    (ed.AddToWeights(6, np.array([-0.25])), "0.weight[2][0] -0.25"),
    (ed.SetFrozen(6, np.array([True])), "freeze 0.weight[2][0]"),
    (ed.SetFrozen(6, np.array([False, False])), "free 0.weight[2][0] and 1 more"),
    (ed.SetFrozen(6, np.array([True, False])), "freeze some of 0.weight[2][0] and 1 more"),
    (ed.SetOptimizer({"lr": 0.1, "momentum": 0.9}), "lr = 0.1, momentum = 0.9"),
    (ed.SetBatchSize(1000), "batch size = 1,000"),
    (ed.SetSchedule(None), "schedule = None"),
    (ed.SetNumbers(((0, 2), (4, 1)), {"lr": 0.5}), "0.weight[0][0] and 2 more: lr = 0.5"),
    (ed.SetLimits(l2=0.5, clip_norm=1.0), "l2 = 0.5, clip_norm = 1"),
    (ed.SetSampling("replacement", 70), "sampling = replacement, batch size = 70"),
    (ed.SetEngine("numba", "faster"), "engine = numba"),
    (ed.Change(activation="relu", numbers={"lr": 0.1}), "activation = relu, lr = 0.1"),
    (ed.SetTargets(1 - X), "other targets for 64 samples"),
    (ed.AddSamples(X[:1], X[:1]), "1 sample more"),
    (ed.Refill(X[:5], X[:5]), "5 other samples"),
    (ed.Together((ed.SetWeights(6, [0.0]), ed.SetFrozen(6, np.array([True])))), "0.weight[2][0] = 0, and 1 more"),
    (ed.Together((ed.SetWeights(6, np.zeros(3)),), "zero row 2 of 0.weight"), "zero row 2 of 0.weight"),
    (ed.Several((ed.SetBatchSize(5), ed.SetWeights(6, [0.0]))), "batch size = 5, 0.weight[2][0] = 0"),
    (ed.Several((ed.Refill(X[:5], X[:5]), ed.Change(activation="relu")), "five of them"), "five of them"),
    (ed.ScaleWeights(((6, 3), (14, 1)), 0.5), "0.weight[2][0] and 3 more × 0.5"),
    (ed.ScaleWeights(((6, 3),), 2, "row 2 of 0.weight"), "row 2 of 0.weight × 2"),
    (ed.RedrawWeights(((0, 16),), "layer 0"), "layer 0 begins anew"),
]


@pytest.mark.parametrize(("edit", "line"), EXAMPLES, ids=[type(e).__name__ for e, _ in EXAMPLES])
def test_an_edit_prints_as_one_line_and_is_read_back_as_it_was_written(edit, line):
    _, run = make()
    assert edit.words(run.weight_name) == line
    assert "\n" not in str(edit)
    text = write_edit(edit)
    assert "\n" not in text
    assert read_edit(text) == edit
    assert hash(read_edit(text)) == hash(edit)
    assert write_edit(read_edit(text)) == text


floats = hnp.arrays(
    st.sampled_from([np.float32, np.float64]), st.integers(1, 9), elements={"allow_nan": True, "allow_infinity": True}
)


@given(floats, st.integers(0, 10**9))
@settings(max_examples=60)
def test_every_bit_of_an_array_comes_back(numbers, start):
    back = read_edit(write_edit(ed.SetWeights(start, numbers)))
    assert isinstance(back, ed.SetWeights)
    assert (back.numbers.dtype, back.numbers.tobytes(), back.start) == (numbers.dtype, numbers.tobytes(), start)


def test_equality_is_that_of_bits():
    assert ed.SetWeights(0, np.array([0.0])) != ed.SetWeights(0, np.array([-0.0]))
    assert ed.SetWeights(0, np.array([0.5])) != ed.SetWeights(0, np.array([0.5], np.float32))
    assert ed.SetWeights(0, np.array([np.nan])) == ed.SetWeights(0, np.array([np.nan]))
    assert ed.SetOptimizer({"lr": 1.0}) != ed.SetOptimizer({"lr": 1})
    assert ed.SetBatchSize(3) != ed.SetOptimizer({"lr": 3.0})


def test_an_edit_is_not_changed_by_its_maker():
    numbers = np.array([1.0, 2.0])
    edit = ed.SetWeights(0, numbers)
    numbers[0] = 9.0
    assert edit.numbers[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        edit.numbers[0] = 3.0
    with pytest.raises(AttributeError):
        edit.start = 3


def test_a_function_is_written_by_name_and_cannot_be_read_back():
    edit = ed.Call(test_equality_is_that_of_bits, "look")
    assert str(edit) == "look"
    text = write_edit(edit)
    assert "test_equality_is_that_of_bits" in text
    with pytest.raises(FileFormatError, match=r"test_equality_is_that_of_bits'.*cannot be read back"):
        read_edit(text)


BAD_TEXTS = [
    "", "{", "[]", "3", "null", '{"edit": 3}', '{"edit": "Edit"}', '{"edit": "Nothing"}', '{"edit": "SetBatchSize"}',
    '{"edit": "SetBatchSize", "batch_size": "3"}', '{"edit": "SetBatchSize", "batch_size": 3, "more": 1}',
    '{"edit": "SetBatchSize", "batch_size": 0}', '{"edit": "SetBatchSize", "batch_size": true}',
    '{"edit": "SetWeights", "start": 0, "numbers": [1.0, [2.0]]}',
    '{"edit": "SetWeights", "start": 0, "numbers": {"dtype": "object", "shape": [1], "base64": ""}}',
    '{"edit": "SetWeights", "start": 0, "numbers": {"dtype": "float32", "shape": [2], "base64": "AAAAPw=="}}',
    '{"edit": "SetWeights", "start": 0, "numbers": {"dtype": "float32", "shape": [-1], "base64": "AAAAPw=="}}',
    '{"edit": "SetWeights", "start": 0, "numbers": {"dtype": "float32", "shape": [1], "base64": "!!!"}}',
    '{"edit": "SetWeights", "start": -1, "numbers": {"dtype": "float32", "shape": [1], "base64": "AAAAPw=="}}',
    '{"edit": "SetWeights", "start": 1e400, "numbers": {"dtype": "float32", "shape": [1], "base64": "AAAAPw=="}}',
    '{"edit": "SetEngine", "engine": "gpu"}', '{"edit": "SetEngine", "engine": "numba", "why": 3}',
    '{"edit": "SetOptimizer", "numbers": 3}', '{"edit": "SetOptimizer", "numbers": []}',
    '{"edit": "Together", "edits": []}', '{"edit": "Together", "edits": [3]}',
    '{"edit": "Together", "edits": {"edit": 3}}',
    '{"edit": "Together", "edits": [{"edit": "SetBatchSize", "batch_size": 3}]}',
    '{"edit": "Together", "edits": [{"edit": "Nothing"}]}', '{"edit": "ScaleWeights", "spans": [[0]], "factor": 2}',
    '{"edit": "ScaleWeights", "spans": [[0, 1]], "factor": "2"}', '{"edit": "ScaleWeights", "spans": 3, "factor": 2}',
    '{"edit": "RedrawWeights", "spans": []}', '{"edit": "RedrawWeights", "spans": [[0, 0]]}',
    '{"edit": "RedrawWeights", "spans": [[-1, 2]]}',
    '{"edit": "Call", "function": {"function": "os.system"}}', "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_text_that_is_no_edit_is_refused(text):
    with pytest.raises(ScalarvizError):
        read_edit(text)


def unchanged(run):
    return (
        run.values.tobytes(), run._store.frozen.tobytes(), run.lr, run.batch_size, run.engine, len(run.log), run.steps,
        run.optimizer.hyperparameters(), [a.tobytes() for a in run.problem.state], run.problem.data[:].tobytes(),
    )  # fmt: skip


UNFIT = [
    ed.SetWeights(31, [1.0, 2.0]), ed.AddToWeights(40, [1.0]), ed.SetFrozen(30, np.ones(2, bool)),
    ed.SetOptimizer({"lr": -1.0}), ed.SetOptimizer({"lr": np.nan}), ed.SetOptimizer({"betas": (0.1, 0.2)}),
    ed.SetOptimizer({"nesterov": True}), ed.SetOptimizer({"lr": 0.1, "momentum": -3}), ed.SetBatchSize(65),
    ed.Together((ed.SetWeights(0, [9.0]), ed.SetFrozen(30, np.ones(2, bool)))),
    ed.ScaleWeights(((0, 3), (30, 2)), 0.5), ed.RedrawWeights(((30, 2),)),
    ed.SetEngine("cuda:99"), ed.SetEngine("auto"), ed.SetTargets(X[:5]), ed.SetTargets(np.ones((64, 2))),
    ed.AddSamples(np.ones((2, 4)), np.ones((2, 3))), ed.AddSamples(np.ones((2, 3)), np.ones((3, 3))),
    ed.Refill(np.ones((2, 3)), np.ones((2, 4))), ed.Refill(np.full((2, 3), 1e300), np.ones((2, 3))),
]  # fmt: skip


@pytest.mark.parametrize("edit", UNFIT, ids=[f"{k}-{type(e).__name__}" for k, e in enumerate(UNFIT)])
def test_an_edit_that_does_not_fit_changes_nothing(edit):
    _, run = make()
    run.step(2)
    before = unchanged(run)
    with pytest.raises(ScalarvizError):
        run.do(edit)
    assert unchanged(run) == before
    run.step()


@pytest.mark.parametrize(("kind", "part"), [(ed.SetWeights, [1.0]), (ed.AddToWeights, [1.0]), (ed.SetFrozen, [True])])
@pytest.mark.parametrize("start", [-1, -32, 0.0, True, "0"])
def test_weights_are_counted_from_the_first_one_only(kind, part, start):
    with pytest.raises(InputError, match=f"{kind.__name__}: start must be a whole number >= 0"):
        kind(start, np.array(part))
    assert kind(0, np.array(part)).start == 0


def test_what_is_no_edit_is_refused():
    _, run = make()
    with pytest.raises(TypeMismatchError, match="an Edit is wanted"):
        run.do("lr = 3")
    with pytest.raises(TypeMismatchError):
        ed.Call(3)


def test_everything_from_outside_stands_in_the_log():
    net, run = make()
    run.step(3)
    run.lr = 0.25
    net[0].weight[1][2].data = 0.5
    net[0].weight[1][2].frozen = True
    net[2].bias.data = [1, 2, 3]
    run.optimizer.momentum = 0.9
    run.step(2)
    run.batch_size = 32
    run.optimizer.lr = 0.125
    run.set_targets(X)
    run.add_samples(X[:2], X[:2])
    run.refill(X[:40], X[:40])
    run.change(lr=0.1, weight_decay=0.01, batch_size=8, engine="objects")
    run.adopt_engine("numpy", "because")
    assert [(a.step, a.what) for a in run.log] == [
        (3, "lr = 0.25"), (3, "0.weight[1][2] = 0.5"), (3, "freeze 0.weight[1][2]"), (3, "2.bias[0] and 2 more = 1"),
        (3, "momentum = 0.9"), (5, "batch size = 32"), (5, "lr = 0.125"), (5, "other targets for 64 samples"),
        (5, "2 samples more"), (5, "40 other samples"), (5, "lr = 0.1, weight_decay = 0.01"), (5, "batch size = 8"),
        (5, "engine = objects"), (5, "engine = numpy"),
    ]  # fmt: skip
    assert (run.engine.name, run.engine.why, run.batch_size) == ("numpy", "because", 8)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam], ids=["SGD", "Adam"])
def test_the_written_log_makes_the_same_run_again(engine, kind):
    """Done again from JSON after the same steps: the same bits of weights, moments and losses."""
    random = np.random.default_rng(3)
    net, run = make(engine, kind)
    for k in range(12):
        run.step(int(random.integers(0, 5)))
        match k % 6:
            case 0:
                run.lr *= 0.5
            case 1:
                net[0].weight[k % 4][0].data = random.normal()
            case 2:
                net[2].weight.frozen = not net[2].weight.frozen
            case 3:
                run.change(batch_size=int(random.integers(1, 60)), weight_decay=float(random.random() / 100))
            case 4:
                run.add_samples(random.random((3, 3)), random.random((3, 3)))
            case 5:
                run.do(ed.AddToWeights(int(random.integers(0, 30)), random.normal(size=1)))
    run.step(4)
    _, again = make(engine, kind)
    for applied in [read_edit(write_edit(a.edit)) for a in run.log]:
        step = run.log[len(again.log)].step
        again.step(step - again.steps)
        again.do(applied)
    again.step(run.steps - again.steps)
    assert again.values.tobytes() == run.values.tobytes()
    assert [a.tobytes() for a in again.problem.state] == [a.tobytes() for a in run.problem.state]
    assert again.history.loss.tobytes() == run.history.loss.tobytes()


def by_hand(kind, changes, steps):
    """The same in a loop written by hand, in float64, on the whole data."""
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Sigmoid())
    opt = kind(net.parameters(), lr=0.3)
    for step in range(steps):
        for name, number in changes.get(step, {}).items():
            setattr(opt, name, number)
        opt.zero_grad()
        for x in X[:4]:
            (nn.MSELoss()(net(x.tolist()), (1 - x[:2]).tolist()) * 0.25).backward()
        opt.step()
    return np.concatenate([p.data.ravel() for p in net.parameters()])


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (optim.SGD, {3: {"momentum": 0.9}, 6: {"momentum": 0.0}, 8: {"momentum": 0.5, "nesterov": True}}),
        (optim.SGD, {2: {"weight_decay": 0.1}, 5: {"lr": 0.01}}),
        (optim.Adam, {2: {"betas": (0.5, 0.9)}, 4: {"eps": 1e-3, "weight_decay": 0.1}}),
    ],
)
@pytest.mark.parametrize("engine", ["numpy", "numba", "objects"])
def test_numbers_of_the_optimiser_change_as_in_a_loop_by_hand(kind, changes, engine):
    """Momentum 0 has no buffer and 0.9 has one; it begins at 0, and goes away again."""
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Sigmoid())
    opt = kind(net.parameters(), lr=0.3)
    run = Run(net, nn.MSELoss(), opt, (X[:4], 1 - X[:4, :2]), dtype="float64", engine=engine)
    for step in range(10):
        for name, number in changes.get(step, {}).items():
            setattr(opt, name, number)
        run.step()
    assert len(run.log) == sum(map(len, changes.values()))
    np.testing.assert_allclose(run.values, by_hand(kind, changes, 10), rtol=1e-10)


def test_a_gesture_is_one_edit():
    net, run = make()
    for number in (0.1, 0.2, 0.3):
        run.do(ed.SetWeights(4, [number]), gesture="drag")
    assert [a.what for a in run.log] == ["0.weight[1][1] = 0.3"]
    run.do(ed.SetWeights(5, [1.0]), gesture="drag")  # another weight
    run.step()
    run.do(ed.SetWeights(5, [2.0]), gesture="drag")  # another step
    assert [a.step for a in run.log] == [0, 0, 1]
    for number in np.linspace(0, 1, 240):
        net[0].weight[0][0].data = number
    assert len(run.log) == 4


def test_a_closed_run_is_edited_no_more_and_its_optimiser_is_free():
    net, run = make()
    run.close()
    with pytest.raises(StateError):
        run.do(ed.SetWeights(0, [1.0]))
    run.optimizer.momentum = 0.9
    net[0].weight[0][0].data = 3.0
    assert net[0].weight[0][0].data == 3.0
    assert run.log == []


def test_data_is_replaced_and_not_overwritten():
    _, run = make()
    kept = [run.problem.data]
    before = run.problem.data[:].copy()
    run.set_targets(X)
    kept.append(run.problem.data)
    run.add_samples(X[:2], X[:2])
    assert kept[0][:].tobytes() == before.tobytes()
    assert kept[0] is not kept[1]
    assert run._dataset.parts[0] is kept[1]  # a base and what was added, not a copy
    assert len(run._dataset) == 66


def test_refill_keeps_a_whole_batch_whole_and_shrinks_one_that_no_longer_fits():
    _, run = make(batch_size=None)
    run.refill(X[:10], X[:10])
    assert run.batch_size == 10
    _, run = make(batch_size=32)
    run.refill(X[:10], X[:10])
    assert run.batch_size == 10
    _, run = make(batch_size=8)
    run.refill(np.tile(X, (3, 1)), np.tile(X, (3, 1)))
    assert run.batch_size == 8
    inputs, targets = run.samples()
    assert inputs.shape == targets.shape == (192, 3)


def test_json_says_numbers_that_json_can_say():
    with pytest.raises(InputError, match="not finite"):
        write_edit(ed.SetOptimizer({"lr": float("inf")}))
    assert json.loads(write_edit(ed.SetOptimizer({"betas": (0.5, 0.9)})))["numbers"] == [["betas", [0.5, 0.9]]]


def test_every_kind_has_an_example():
    own = {kind for kind in Edit.kinds.values() if kind.__module__.startswith("scalarviz.run.")}  # scenes add some
    assert {type(e) for e, _ in EXAMPLES} | {ed.Call} == own
