"""A run goes back to any step with the same bits, on every engine, whatever was changed on the way."""

import gc
import hashlib

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.optim import lr_scheduler
from scalarviz.run.edits import Call, SetWeights


class Slow(optim.Optimizer):
    """A user's own rule, with a state of its own."""

    state = ("mean",)

    def update(self, w, g, state, lr, t):
        mean = 0.5 * state["mean"] + g / t
        return w - lr * mean, {"mean": mean}


KINDS = {
    "sgd": lambda p: optim.SGD(p, lr=0.3, momentum=0.5),
    "adam": lambda p: optim.Adam(p, lr=0.02),
    "own": lambda p: Slow(p, lr=0.1),
    "masks": lambda p: optim.Adam(p, lr=0.02),
    "groups": lambda p: scheduled(grouped(p), 2),
    "schedule": lambda p: scheduled(optim.SGD(p, lr=0.3), 0),
    "plateau": lambda p: scheduled(optim.Adam(p, lr=0.02), 1),
}


def grouped(parameters):
    """Every other parameter has numbers of its own."""
    first, *rest = parameters
    return optim.Adam([{"params": rest}, {"params": first, "lr": 0.05, "betas": (0.5, 0.9)}], lr=0.02)


def scheduled(optimizer, which):
    """The optimiser with one of some schedules, or without."""
    match which:
        case 0:
            lr_scheduler.CosineAnnealingLR(optimizer, T_max=7, eta_min=0.01)
        case 1:
            lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.05, factor=0.7, every=4)
        case 2:
            lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7, unit="epoch")
        case 3:
            lr_scheduler.LambdaLR(optimizer, lambda count: 0.9 ** (count // 2))
        case 4:
            optimizer.lr_schedule = None
    return optimizer


def make(engine="numba", kind="adam", dtype="float32"):
    random = np.random.default_rng(7)
    behind = nn.Dropout(0.5) if kind == "masks" else nn.Identity()
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid(), behind)
    net.initialize(seed=1)
    data = random.random((24, 3)), random.random((24, 3))
    optimizer = KINDS[kind](net.parameters())
    return sv.Run(net, nn.MSELoss(), optimizer, data=data, batch_size=8, seed=3, engine=engine, dtype=dtype)


def bits(run):
    """All that a picture of the moment and the steps to come are made of."""
    frame = run.frame()
    arrays = (
        frame.values, frame.gradient, frame.update, frame.frozen, frame.computed, frame.curve.step, frame.curve.loss,
        frame.curve.lr, *run.problem.state, run.problem.data[:], *frame.dead.values(), *frame.saturated.values(),
    )  # fmt: skip
    shown = np.float64([frame.loss, frame.lr, frame.next_lr]).tobytes()
    rest = (
        frame.step,
        frame.edited,
        run.batch_size,
        run.engine.name,
        run.optimizer.hyperparameters(),
        run.problem.t_start,
    )
    return hashlib.sha1(b"".join(a.tobytes() for a in arrays) + shown).hexdigest(), rest


def way(run):
    """Where the run stands, as the edits that led there."""
    *_, (root, _, _) = run.timeline.line.path()
    return run.steps, root.number, tuple((done.step, done.edit, done.does) for done in run.log)


def fresh_run_on_the_same_way(run, *how):
    """Another run that does the surviving history, never having gone anywhere."""
    other = make(*how)
    for done in run.log:
        other.step(done.step - other.steps)
        for edit in (done.edit,) if done.does is None else done.does:
            other.do(edit)
    other.step(run.steps - other.steps)
    return other


def random_edit(run, random, engines):
    net, n = run.model, len(run._dataset)
    match int(random.integers(0, 13)):
        case 12:
            scheduled(run.optimizer, int(random.integers(5)))
        case 0:
            run.lr = float(random.random() / 4)
        case 1:
            net[0].weight[int(random.integers(4))][0].data = float(random.normal())
        case 2:
            net[2].bias.frozen = not net[2].bias.frozen
        case 3:
            run.batch_size = int(random.integers(1, n))
        case 4:
            run.add_samples(random.random((3, 3)), random.random((3, 3)))
        case 5:
            run.set_targets(random.random((n, 3)))
        case 6:
            run.refill(random.random((30, 3)), random.random((30, 3)))
        case 7:
            net[2].weight.data[1, int(random.integers(4))] += 0.25  # nobody announces it
        case 8:
            run.values[int(random.integers(run.n_weights))] = random.normal()
        case 9:
            run.engine.name not in engines or run.adopt_engine(str(random.choice(engines)))
        case 10:
            run.do(Call(lambda run: run._store.value.__setitem__(0, 0.5), "a function"))
        case 11:
            for number in random.random(5):
                run.do(SetWeights(2, [number]), gesture="hand")


def random_move(run, random, states):
    first, newest = run.span
    match int(random.integers(0, 10)):
        case 0 | 1:
            run.to(int(random.integers(first, newest + 1)))
        case 2 | 3:
            run.back(int(random.integers(0, run.steps - first + 1)))
        case 4:
            run.switch(run.branches[int(random.integers(len(run.branches)))])
        case 5:
            branch = run.branches[int(random.integers(len(run.branches)))]
            run.to(int(random.integers(branch.first, branch.newest + 1)), branch)
        case 6:
            if run.timeline.undone:
                run.undo()
        case 7:
            if run.timeline.past().redo:
                run.redo()
        case 8:
            states.append(run.state())
            if random.random() < 0.3:
                run.take(states[int(random.integers(len(states)))])
        case 9:  # nobody asks for anything for a while, perhaps not long enough
            for _ in range(int(random.integers(1, 4))):
                run._training._seconds_a_step = 0.02  # as of a large network: every step is far from the next
                run.timeline.prepare()


def wander(run, seed, count, engines=("numpy", "numba"), check=bits):
    """Random steps, edits and moves: wherever the run comes a second time, all is as it was the first time."""
    random, seen, states, revisited = np.random.default_rng(seed), {}, [], 0
    for _ in range(count):
        kind = random.random()
        if kind < 0.4:
            run.step(int(random.integers(1, 6)))
        elif kind < 0.6:
            random_edit(run, random, list(engines))
        else:
            random_move(run, random, states)
        if random.random() < 0.7:  # else the next operation comes before anybody looked
            now = check(run)
            place = way(run)
            revisited += place in seen
            assert seen.setdefault(place, now) == now, place[0]
    return seen, revisited


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("engine", "dtype"), [("numpy", "float64"), ("numba", "float32"), ("objects", "float32")])
@pytest.mark.parametrize("seed", range(3))
def test_every_place_has_the_bits_of_the_first_time(engine, dtype, kind, seed):
    how = engine, kind, dtype
    run = make(*how)
    engines = sorted({"numpy", "numba", engine}) if engine != "objects" else ("objects",)
    _, revisited = wander(run, seed, 60 if engine == "objects" else 120, engines)
    assert revisited > 2  # else nothing was compared
    assert bits(fresh_run_on_the_same_way(run, *how)) == bits(run)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 114))  # every kind in either dtype
def test_long_wanderings(seed):
    kind, dtype = list(KINDS)[seed % len(KINDS)], ("float32", "float64")[seed % 2]
    run = make("numba", kind, dtype)
    wander(run, seed, 600)
    assert bits(fresh_run_on_the_same_way(run, "numba", kind, dtype)) == bits(run)


@pytest.mark.parametrize("seed", range(4))
def test_with_hardly_any_room_branches_are_let_go_of_and_the_rest_is_exact(seed):
    run = make("numba")
    run.timeline.budget = 20_000
    run.timeline.keyframes.spacing = 1e-4
    random, seen = np.random.default_rng(seed), {}
    for _ in range(100):
        run.step(int(random.integers(1, 20)))
        if random.random() < 0.4:
            random_edit(run, random, ["numpy", "numba"])
        run.to(int(random.integers(run.span[0], run.span[1] + 1)))
        now, place = bits(run), way(run)
        assert seen.setdefault(place, now) == now
    assert len(run.branches) < 40
    assert bits(fresh_run_on_the_same_way(run, "numba")) == bits(run)


def test_back_and_steps_in_the_past_follow_the_record_with_its_edits():
    run = make()
    run.step(5)
    run.lr = 0.5
    run.model[0].bias[0].data = 2.0
    run.step(5)
    end, log = bits(run), run.log
    run.back(8)
    assert (run.steps, run.lr, run.log) == (2, 0.02, [])
    assert run.frame().curve.step.tolist() == [1, 2]
    assert run.frame().past.curve.step.tolist() == list(range(1, 11))
    run.step(3)
    assert (run.lr, run.log) == (0.5, log)  # one stands after all edits of a step
    run.step(5)
    assert bits(run) == end
    assert len(run.branches) == 1


def test_an_edit_in_the_past_begins_a_branch_and_the_old_future_stays():
    run = make()
    run.step(10)
    end = bits(run)
    run.to(4)
    run.lr = 0.1
    run.step(3)
    old, new = run.branches
    assert (old.first, old.newest, old.current, new.first, new.newest, new.current, new.parent) == (
        0,
        10,
        False,
        4,
        7,
        True,
        0,
    )
    assert new.why == "lr = 0.1"
    assert new.curve.step.tolist() == [5, 6, 7]
    assert run.history.step.tolist() == list(range(1, 8))
    assert run.span == (0, 7)
    run.switch(old)
    assert bits(run) == end
    run.to(6, new)
    assert (run.steps, run.lr) == (6, 0.1)


def test_undo_goes_before_the_last_edit_and_redo_returns():
    run = make()
    run.step(5)
    before = bits(run)
    run.model[0].bias[0].data = 2.0
    edited = bits(run)
    assert run.timeline.past().undo == "0.bias[0] = 2"
    assert run.undo() == "0.bias[0] = 2"
    assert bits(run) == before
    assert run.redo() == "0.bias[0] = 2"
    assert bits(run) == edited
    run.step(20)
    later = bits(run)
    run.undo()
    assert bits(run) == before
    run.step(1)  # new steps, without the edit
    assert run.model[0].bias[0].data != 2.0
    run.redo()
    assert bits(run) == later
    run.undo()
    with pytest.raises(StateError, match="nothing was changed"):
        run.undo()
    run.lr = 0.3
    with pytest.raises(StateError, match="nothing was undone"):
        run.redo()


def test_undo_of_an_edit_in_the_past_has_the_future_that_it_left():
    run = make()
    run.step(20)
    end = bits(run)
    run.to(8)
    before = bits(run)
    run.model[0].bias[0].data = 2.0
    edited = bits(run)
    run.step(3)
    assert run.span == (0, 11)
    assert run.undo() == "0.bias[0] = 2"
    assert bits(run) == before
    assert run.span == (0, 20)
    assert len(run.branches) == 2
    run.redo()
    assert run.span == (0, 11)
    run.to(8)
    assert bits(run) == edited
    run.undo()
    run.step(12)  # the record is followed
    assert bits(run) == end
    assert len(run.branches) == 2


def test_several_edits_are_undone_one_by_one_and_done_again():
    run = make()
    for k in range(5):
        run.step(2)
        run.lr = 0.1 * (k + 1)
    run.step(1)
    moments = []
    for k in range(5, 0, -1):
        moments.append(bits(run))
        assert run.undo() == f"lr = {0.1 * k:.6g}"
    for k in range(1, 6):
        assert run.redo() == f"lr = {0.1 * k:.6g}"
        assert bits(run) == moments.pop()
    assert len(run.branches) == 1
    run.undo()
    run.undo()
    run.lr = 0.7  # there is nothing to return to any more
    assert len(run.timeline.lines) == 2


def test_a_state_taken_in_the_middle_of_a_gesture_keeps_what_the_gesture_had_done():
    run = make()
    run.step(3)
    run.do(SetWeights(2, [0.25]), gesture="hand")
    moment, then = run.state(), bits(run)
    run.do(SetWeights(2, [0.75]), gesture="hand")
    run.do(SetWeights(2, [0.5]), gesture="hand")
    later = bits(run)
    assert [done.edit.numbers[0] for done in run.log] == [0.25, 0.5]
    run.take(moment)
    assert bits(run) == then == bits(fresh_run_on_the_same_way(run))
    run.undo()
    assert bits(run) == later == bits(fresh_run_on_the_same_way(run))


@pytest.mark.parametrize("whose", ["the run's", "a module's"])
def test_a_write_through_a_view_before_anything_else_is_an_edit_of_the_first_moment(whose):
    untouched, run = bits(make()), make()
    if whose == "the run's":
        run.values[24] = 0.5
    else:
        run.model[2].weight.data[2, 1] = 0.5
    written = bits(run)
    run.step(3)
    run.to(0)
    assert bits(run) == written
    run.undo()
    assert bits(run) == untouched


def test_undo_of_a_loaded_file(tmp_path):
    run = make()
    run.step(7)
    run.save(tmp_path / "w.safetensors")
    run.step(4)
    before = bits(run)
    run.load(tmp_path / "w.safetensors")
    assert run.span == (7, 7)
    run.step(3)
    assert run.span == (7, 10)
    run.to(7)
    with pytest.raises(InputError, match="7 to 10"):
        run.to(3)
    assert run.undo() == "loaded step 7"
    assert bits(run) == before
    run.redo()
    assert run.span == (7, 10)


@pytest.mark.parametrize("engine", ["numpy", "numba", "objects"])
def test_restart_has_the_first_weights_and_the_rate_batch_data_and_freezes_of_now(engine):
    run = make(engine)
    first = run.frame().values
    run.step(5)
    run.change(lr=0.3, batch_size=4)
    run.refill(np.full((30, 3), 0.25), np.full((30, 3), 0.75))
    run.model[2].bias.frozen = True
    run.step(5)
    end = bits(run)
    run.restart()
    assert run.steps == 0
    assert run.values.tobytes() == first.tobytes()
    assert (run.lr, run.batch_size, len(run.samples()[0]), run.model[2].bias.frozen) == (0.3, 4, 30, True)
    assert not any(array.any() for array in run.problem.state)
    other = make(engine)
    other.change(lr=0.3)
    other.refill(np.full((30, 3), 0.25), np.full((30, 3), 0.75))
    other.batch_size = 4
    other.model[2].bias.frozen = True
    run.step(6)
    other.step(6)
    assert run.values.tobytes() == other.values.tobytes()
    assert run.history.loss.tobytes() == other.history.loss.tobytes()
    run.undo()
    assert bits(run) == end


def test_going_somewhere_that_is_given_up_or_interrupted_leaves_the_run_where_it_was():
    run = make("objects")
    run.step(30)
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    here, told = bits(run), []

    def stop(done):
        told.append(done)
        return len(told) < 3

    run.call_seconds = 1e-5
    assert run.to(20, progress=stop) is False
    assert bits(run) == here
    assert 0 < told[0] < told[1] < told[2] < 1

    def fail(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.to(20, progress=fail)
    assert bits(run) == here
    assert run.to(20) is True
    assert run.to(30)
    assert bits(run) == here


def test_a_diverged_run_goes_back_to_before_and_to_the_bad_step_again():
    run = make(kind="sgd")
    run.step(10)
    run.lr = 1e300
    with pytest.raises(sv.ScalarvizError, match="diverged"):
        run.step(50)
    bad, at = run.steps, bits(run)
    run.to(bad - 1)
    assert np.isfinite(run.values).all()
    run.to(bad)
    assert bits(run) == at
    run.undo()
    run.step(5)
    assert run.steps == 15
    assert np.isfinite(run.loss)


def test_names_of_moments_belong_to_the_line():
    run = make()
    run.step(10)
    run.name("early", 3)
    run.name("late", 9)
    run.to(5)
    run.lr = 0.1
    assert [(flag.step, flag.name) for flag in run.frame().past.flags] == [(3, "early")]
    run.name("", 3)
    assert run.frame().past.flags == ()
    run.switch(0)
    assert [flag.name for flag in run.frame().past.flags] == ["late"]


def test_bad_arguments():
    run = make()
    run.step(5)
    for call, error, words in (
        (lambda: run.back(6), InputError, "6 steps before step 5"),
        (lambda: run.back(-1), InputError, "n"),
        (lambda: run.back(1.5), InputError, "n"),
        (lambda: run.to(6), InputError, "0 to 5"),
        (lambda: run.to(-1), InputError, "step"),
        (lambda: run.to("3"), InputError, "step"),
        (lambda: run.to(3, 7), InputError, "no branch 7"),
        (lambda: run.to(3, "main"), TypeMismatchError, "branch"),
        (lambda: run.to(3, progress=True), TypeMismatchError, "progress"),
        (lambda: run.switch(3), InputError, "no branch 3"),
        (lambda: run.name(3), TypeMismatchError, "label"),
        (lambda: run.name("x", 9), InputError, "0 to 5"),
        (lambda: setattr(run.timeline, "budget", -1), InputError, "budget"),
        (lambda: setattr(run.timeline, "budget", "much"), InputError, "budget"),
        (run.undo, StateError, "undo"),
        (run.redo, StateError, "redo"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert run.steps == 5


def test_a_closed_or_taken_over_run_frees_its_past_and_refuses_to_go():
    for end in (lambda run: run.close(), lambda run: sv.Run(run.model, nn.MSELoss(), run.optimizer, run.samples())):
        run = make()
        run.step(20)
        run.lr = 0.1
        run.back(5)
        run.lr = 0.2
        kept = end(run)
        assert run.timeline.nbytes == 0
        assert run.frame().past is None
        assert [done.what for done in run.log] == ["lr = 0.2"]
        for call in (
            run.back,
            lambda run=run: run.to(3),
            run.undo,
            run.redo,
            run.restart,
            lambda run=run: run.switch(0),
        ):
            with pytest.raises(StateError):
                call()
        del kept


def test_a_branch_that_made_room_is_refused_in_words():
    run = make()
    run.timeline.budget = 1000
    for k in range(5):
        run.step(3)
        run.to(1)
        run.lr = 0.1 + 0.01 * k
    with pytest.raises(InputError, match=r"there is no branch 0; there are .*budget"):
        run.switch(0)
    assert "above the budget" in run.timeline.remark
    run.to(0)
    run.to(run.span[1])


def test_a_run_and_its_past_die_by_reference_counting():
    import weakref

    run = make()
    run.step(5)
    run.back(2)
    run.lr = 0.3
    ref = weakref.ref(run)
    gc.disable()
    try:
        run.close()
        del run
        assert ref() is None
    finally:
        gc.enable()


def held(run):
    gc.collect()
    objects = len(gc.get_objects())
    return objects, run.timeline.nbytes


@pytest.mark.slow
def test_going_back_and_forth_holds_no_more():
    run = make("numba")
    run.step(60)
    random = np.random.default_rng(0)

    def back_and_forth(times):
        for _ in range(times):
            run.to(int(random.integers(0, 61)))
            run.step(int(random.integers(0, 5)))

    back_and_forth(500)
    before, kept = held(run)
    back_and_forth(9500)
    after, now = held(run)
    assert after - before < 500
    assert now <= kept + 3 * len(run.timeline.line.keys) * 4096
    assert len(run.branches) == 1


def test_looking_and_preparing_change_nothing():
    run = make("numba")
    run.step(50)
    run.to(40)
    before = bits(run)
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    run._training._seconds_a_step = 0.002  # as of a large network
    while run.timeline.prepare():
        pass
    keys = [key for key in run.timeline.line.keys if key.fine]
    assert len(keys) >= 3
    assert bits(run) == before
    for key in keys:  # what was prepared beside the run is what the run itself comes to
        here = run.steps
        run.to(key.step)
        own = run.state().parts
        assert own["weights"].values.tobytes() == key.kept.parts["weights"].values.tobytes()
        assert [a.tobytes() for a in own["optimizer"]["arrays"].values()] == [
            a.tobytes() for a in key.kept.parts["optimizer"]["arrays"].values()
        ]
        run.to(here)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_undo_of_an_edit_after_restart_stays_in_the_run_that_began_anew(engine):
    run = make(engine)
    run.step(5)
    run.change(lr=0.3, batch_size=4)
    run.step(5)
    run.restart()
    begun = bits(run)
    run.model[0].bias[0].data = 2.0
    run.step(3)
    assert run.undo() == "0.bias[0] = 2"
    assert bits(run) == begun
    run.step(4)
    end = bits(run)
    run.to(0)
    assert bits(run) == begun
    run.to(4)
    assert bits(run) == end
    assert run.undo() == "restart"
    assert run.steps == 10


ACTS = {
    "step": lambda run, _: run.step(1),
    "edit": lambda run, _: run.set_weights(0, [5.0]),
    "rate": lambda run, _: setattr(run, "lr", 0.4),
    "to": lambda run, _: run.to(2),
    "undo": lambda run, _: run.undo(),
    "restart": lambda run, _: run.restart(),
    "state": lambda run, _: run.state(),
    "take": lambda run, state: run.take(state),
    "close": lambda run, _: run.close(),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("how", ["to", "find"])
def test_who_is_told_of_the_way_may_look_and_not_touch(how, act):
    run = make("numpy")
    run.step(40)
    run.lr = 0.1
    run.values[0] = 0.5  # from here on it is looked for changes that nobody announced
    run.step(60)
    state, here, refused = run.state(), bits(run), []
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    run.call_seconds = 1e-9

    def progress(done):
        run.frame()
        with pytest.raises(StateError, match="on its way"):
            ACTS[act](run, state)
        refused.append(done)

    if how == "to":
        assert run.to(77, progress=progress)
        run.to(100)
    else:
        run.find("grad > 1e6", progress=progress)
    assert refused
    assert bits(run) == here
    assert len(run.branches) == 1
    assert [done.what for done in run.log] == ["lr = 0.1", "0.weight[0][0] = 0.5"]
    run.close()


def test_a_thinned_curve_ends_at_the_step_of_its_frame(monkeypatch):
    run, other = make(), make()
    other.step(100)
    monkeypatch.setattr("scalarviz.run.history.LIMIT", 20)
    run.step(100)
    assert len(run.history) <= 20
    for step in (99, 50, 37, 2, 1):
        run.to(step)
        frame = run.frame()
        assert frame.curve.step[-1] == step
        assert frame.curve.loss[-1] == frame.loss == other.history.loss[step - 1]
        assert (np.diff(frame.curve.step) > 0).all()
    run.to(0)
    assert len(run.frame().curve.step) == 0


def test_left_branches_count_with_their_steps_and_edits_and_go_before_the_way_back_gets_long():
    run = make()
    run.step(5)
    run.timeline.budget = 400_000
    for k in range(30):
        run.refill(np.full((100, 3), 0.01 * k), np.full((100, 3), 0.5))  # 4,800 bytes, and a history
        run.step(40)
        run.undo()
        run.step(3)
    held = sum(line.held for line in run.timeline.lines if line is not run.timeline.line)
    assert run.timeline.nbytes >= held
    assert run.timeline.nbytes <= 400_000
    assert 1 < len(run.branches) < 30
    assert run.timeline.keyframes.spacing == 0.1
