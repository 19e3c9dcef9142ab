"""A Run steps its schedule by itself: rates, history, edits, state, files; and every bit of the past with it."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from scalarviz.run.edits import SetSchedule, read_edit, write_edit

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((24, 3))


def make(schedule=None, engine="numpy", dtype="float64", batch_size=8, lr=0.4, kind=optim.SGD):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    optimizer = kind(net.parameters(), lr=lr)
    if schedule is not None:
        schedule(optimizer)
    data = X, 1 - X
    return sv.Run(net, nn.MSELoss(), optimizer, data=data, batch_size=batch_size, seed=3, engine=engine, dtype=dtype)


def half_every_two(optimizer):
    return StepLR(optimizer, step_size=2, gamma=0.5)


def warm(optimizer):
    row = [LinearLR(optimizer, 0.1, total_iters=4), CosineAnnealingLR(optimizer, T_max=16)]
    return SequentialLR(optimizer, row, [4])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_twenty_steps_and_more_are_pytorchs(engine, kind):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    run = make(warm, engine, batch_size=24, lr=0.05, kind=kind)
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3), torch.nn.Sigmoid())
    theirs = theirs.double()
    theirs.load_state_dict({name: torch.tensor(array) for name, array in run.state_dict().items()})
    opt = getattr(torch.optim, kind.__name__)(theirs.parameters(), lr=0.05)
    s = torch.optim.lr_scheduler
    row = [s.LinearLR(opt, 0.1, total_iters=4), s.CosineAnnealingLR(opt, T_max=16)]
    schedule, rates, x = s.SequentialLR(opt, row, [4]), [], torch.tensor(X)
    for _ in range(25):
        rates.append(opt.param_groups[0]["lr"])
        opt.zero_grad()
        torch.nn.functional.mse_loss(theirs(x), 1 - x).backward()
        opt.step()
        schedule.step()
    run.step(3), run.step(22)
    np.testing.assert_allclose(run.history.lr, rates, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run.lr, opt.param_groups[0]["lr"], rtol=1e-10, atol=1e-10)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, theirs.state_dict()[name].numpy(), rtol=1e-10, atol=1e-10)


def test_a_hand_written_loop_has_the_rates_of_the_run():
    run, net = make(warm), nn.Linear(3, 3)
    optimizer = optim.SGD(net.parameters(), lr=0.4)
    schedule, found = warm(optimizer), []
    for _ in range(30):
        found.append(optimizer.lr)
        optimizer.step()
        schedule.step()
    run.step(30)
    assert run.history.lr.tolist() == found
    assert run.lr == optimizer.lr == run.optimizer.lr_schedule.get_last_lr()[0]


def test_a_frame_has_the_rate_of_its_step_and_of_the_next():
    run = make(half_every_two)
    assert run.frame().next_lr == 0.4
    run.step(2)
    frame = run.frame()
    assert (frame.lr, frame.next_lr, run.lr) == (0.4, 0.2, 0.2)
    run.step(1)
    assert run.frame().lr == 0.2
    assert run.open().lr == 0.2
    run.step(1)
    assert run.open().lr == 0.1
    assert run.open(step=2).lr == 0.4
    assert run.open(run.frame()).lr == 0.1


@pytest.mark.parametrize("engine", ENGINES)
def test_how_steps_are_cut_into_calls_changes_no_bit(engine):
    whole, cut = make(warm, engine, "float32"), make(warm, engine, "float32")
    whole.step(40)
    for count in (1, 2, 5, 1, 1, 11, 3, 16):
        cut.step(count)
    assert cut.values.tobytes() == whole.values.tobytes()
    assert cut.history.lr.tolist() == whole.history.lr.tolist()
    assert cut.lr == whole.lr


def test_by_epochs_it_is_stepped_once_in_as_many_steps_as_an_epoch_has():
    run = make(lambda o: ExponentialLR(o, 0.5, unit="epoch"))
    run.step(2)
    run.step(5)
    assert run.history.lr.tolist() == [0.4] * 3 + [0.2] * 3 + [0.1]
    run.batch_size = 24  # an epoch is one step now; one was done of this
    run.step(3)
    assert run.history.lr.tolist()[7:] == [0.1, 0.05, 0.025]


def test_the_rate_that_is_set_scales_the_schedule_or_ends_it():
    run = make(half_every_two)
    run.step(3)
    run.lr = 1.0
    run.step(4)
    assert run.history.lr.tolist() == [0.4, 0.4, 0.2, 1.0, 0.5, 0.5, 0.25]
    assert run.log[-1].what == "lr = 1"
    run.undo()
    assert run.lr == 0.2
    run.step(2)
    assert run.history.lr.tolist() == [0.4, 0.4, 0.2, 0.2, 0.1]
    ended = make(lambda o: LinearLR(o, 1.0, 0.0, total_iters=3))
    ended.step(5)
    assert ended.lr == 0.0
    ended.lr = 0.5
    assert ended.optimizer.lr_schedule is None
    ended.step(2)
    assert ended.history.lr[-2:].tolist() == [0.5, 0.5]
    ended.back(3)
    assert ended.optimizer.lr_schedule is not None
    assert ended.lr == 0.0


def test_one_that_is_made_while_the_run_trains_is_an_edit():
    run = make()
    run.step(2)
    schedule = half_every_two(run.optimizer)
    assert run.optimizer.lr_schedule is schedule
    assert [done.what for done in run.log] == ["schedule = StepLR(step_size=2, gamma=0.5)"]
    run.step(3)
    assert schedule.last_epoch == 3
    with pytest.raises(StateError, match="a Run trains"):
        schedule.step()
    with pytest.raises(StateError, match="a Run trains"):
        schedule.load_state_dict(schedule.state_dict())
    run.to(1)
    assert run.optimizer.lr_schedule is None
    assert run.lr == 0.4
    run.step(4)
    assert run.lr == pytest.approx(0.2)
    run.undo()
    assert run.steps == 2
    assert run.optimizer.lr_schedule is None
    run.redo()
    run.optimizer.lr_schedule = None
    run.step(1)
    assert run.log[-1].what == "schedule = None"
    assert run.lr == 0.2


def test_a_plateau_looks_at_the_mean_loss_of_an_epoch_or_of_so_many_steps():
    for every, steps in ((None, 3), (5, 5)):
        run = make(lambda o, every=every: ReduceLROnPlateau(o, patience=0, threshold=0.2, factor=0.5, every=every))
        run.step(60)
        means = run.history.loss[: 60 // steps * steps].reshape(-1, steps).mean(axis=1)
        rate, best, wanted = 0.4, np.inf, []
        for mean in means:
            wanted += [rate] * steps
            if mean < best * 0.8:
                best = mean
            else:
                rate /= 2
        assert run.history.lr.tolist() == wanted
        assert len(set(wanted)) > 2  # else it saw nothing


def test_losses_of_a_whole_call_do_not_pass_a_plateau():
    run = make(lambda o: ReduceLROnPlateau(o, every=7), "numba")
    train, counts = run._training.trainer.train, []

    def counted(first, count, lr):
        counts.append((first, count))
        return train(first, count, lr)

    run._training.trainer.train = counted
    run.step(40)
    assert all(first // 7 == (first + count - 1) // 7 for first, count in counts)


def test_a_restart_begins_its_schedule_anew_and_keeps_what_was_set_by_hand():
    run = make(half_every_two)
    run.step(5)
    run.lr = 0.3  # three times its own 0.1
    run.step(2)
    run.restart()
    assert run.lr == pytest.approx(1.2)
    run.step(4)
    np.testing.assert_allclose(run.history.lr, [1.2, 1.2, 0.6, 0.6])


@pytest.mark.parametrize("schedule", [half_every_two, warm, lambda o: ReduceLROnPlateau(o, patience=0, every=3)])
def test_a_file_has_where_it_stands(tmp_path, schedule):
    run = make(schedule)
    run.step(7)
    run.lr = 0.07
    run.step(3)
    run.save(tmp_path / "a.safetensors")
    other = make(schedule)
    other.load(tmp_path / "a.safetensors")
    assert other.lr == run.lr
    run.step(9), other.step(9)
    assert other.values.tobytes() == run.values.tobytes()
    assert other.history.lr.tolist() == run.history.lr.tolist()[10:]
    other.undo()
    assert other.lr == make(schedule).lr
    none = make()
    none.load(tmp_path / "a.safetensors")  # the schedule is the file's
    none.step(9)
    assert none.values.tobytes() == run.values.tobytes()
    bare = make()
    bare.load(tmp_path / "a.safetensors", optimizer=False)
    assert bare.optimizer.lr_schedule is None


def test_a_damaged_schedule_in_a_file_is_refused(tmp_path):
    from scalarviz.io.weights import load_tensors, save_tensors

    run = make(half_every_two)
    run.step(3)
    run.save(tmp_path / "a.safetensors")
    tensors, metadata = load_tensors(tmp_path / "a.safetensors")
    (key,) = (name for name in metadata if '"schedule"' in metadata[name])
    for old, new in (
        ('"stepped": 3', '"stepped": -3'), ('"stepped": 3', '"stepped": "3"'), ('"stepped": 3, ', ""),
        ('"kind": "StepLR"', '"kind": 3'), ('"scales": [1.0]', '"scales": [1.0, 1.0]'),
    ):  # fmt: skip
        assert old in metadata[key]
        save_tensors(tmp_path / "b.safetensors", tensors, {**metadata, key: metadata[key].replace(old, new)})
        other = make(half_every_two)
        with pytest.raises((InputError, sv.ScalarvizError)):
            other.load(tmp_path / "b.safetensors")
        assert (other.steps, other.lr) == (0, 0.4)


def test_another_model_or_loss_goes_on_with_it_and_another_optimiser_does_not():
    run = make(half_every_two)
    run.step(3)
    run.change(loss="L1Loss")
    run.step(1)
    net = nn.Sequential(nn.Linear(3, 6, seed=5), nn.Tanh(), nn.Linear(6, 3, seed=6))
    run.change(model=net)
    run.step(2)
    assert run.history.lr.tolist() == [0.4, 0.4, 0.2, 0.2, 0.1, 0.1]
    run.change(optimizer="Adam", lr=0.01)
    run.step(2)
    assert run.optimizer.lr_schedule is None
    assert run.history.lr.tolist()[6:] == [0.01, 0.01]
    run.to(2)
    run.step(6)
    assert run.lr == 0.01
    run.to(4)
    assert run.lr == 0.1


def test_what_cannot_be_recorded_is_said():
    run = make(lambda o: LambdaLR(o, lambda count: 0.5 ** (count // 2)))
    assert "lr_lambda cannot be recorded" in run.engine.why
    run.step(5)
    assert run.history.lr.tolist() == [0.4, 0.4, 0.2, 0.2, 0.1]


def test_a_rate_that_cannot_be_used_stops_the_run_before_its_step():
    run = make(lambda o: LambdaLR(o, lambda count: 1.0 - 0.3 * count))
    run.call_seconds = 1e-9
    with pytest.raises(InputError, match="after 4 steps"):
        run.step(10)
    assert run.steps <= 4
    assert np.isfinite(run.values).all()


def test_a_rehearsal_follows_the_schedule():
    from scalarviz.run.rehearsal import rehearse

    run, other = make(warm), make(warm)
    rehearsed = rehearse(run, 30)
    other.step(30)
    assert rehearsed.loss.tolist() == other.history.loss.tolist()
    assert run.lr == pytest.approx(0.04)


def test_conditions_know_the_rate_of_each_step():
    run = make(half_every_two, "numba")
    run.break_on("lr < 0.15")
    run.step(30)
    assert run.steps == 5
    assert run.find("lr < 0.3") == 3


def test_the_edit_as_text_and_bad_ones():
    run = make()
    schedule = half_every_two(optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0))
    run.do(SetSchedule(schedule))  # of another optimiser: the run's gets its own
    run.step(2)
    assert run.optimizer.lr_schedule.optimizer is run.optimizer
    assert run.lr == pytest.approx(0.5)
    assert "StepLR" in write_edit(SetSchedule(schedule))
    assert read_edit(write_edit(SetSchedule(None))) == SetSchedule(None)
    for wrong in (3, "StepLR", StepLR):
        with pytest.raises(TypeMismatchError, match="LRScheduler"):
            SetSchedule(wrong)


def ends(kind):
    def factor(count):
        if int(count) < 20:
            return 1.0 - int(count) / 40
        if kind == "raises":
            raise LookupError("the table ends")
        return {"nan": float("nan"), "negative": -1.0, "none": None}[kind]

    return factor


@pytest.mark.parametrize("kind", ["raises", "nan", "negative", "none"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_schedule_that_ends_leaves_a_whole_run(engine, kind):
    run = make(lambda o: LambdaLR(o, ends(kind)), engine)
    other = make(lambda o: LambdaLR(o, lambda k: 1 - int(k) / 40), engine)
    other.step(20)
    run.step(7)
    with pytest.raises((InputError, TypeMismatchError), match="LambdaLR"):
        run.step(30)
    for _ in range(2):
        assert (run.steps, len(run.history), run.span) == (20, 20, (0, 20))
        assert run.values.tobytes() == other.values.tobytes()
        with pytest.raises((InputError, TypeMismatchError), match="LambdaLR"):
            run.step(1)
    run.back(5), run.step(5)
    assert run.values.tobytes() == other.values.tobytes()
    run.optimizer.lr_schedule = None
    run.step(3)
    assert (run.steps, len(run.history)) == (23, 23)


def test_a_state_of_steps_without_end_is_refused():
    for schedule in (
        half_every_two,
        warm,
        lambda o: ReduceLROnPlateau(o, every=3),
        lambda o: LambdaLR(o, lambda k: 1.0),
    ):
        run = make(schedule)
        state = run.optimizer.lr_schedule.state_dict()
        for name in {"stepped", "within"} & set(state):
            for number in (2**53 + 1, 2**63, 10**30):
                optimizer = optim.SGD([sv.Weight(1.0)], lr=0.4)
                schedule(optimizer)
                with pytest.raises(InputError, match=name):
                    optimizer.lr_schedule.load_state_dict({**state, name: number})
