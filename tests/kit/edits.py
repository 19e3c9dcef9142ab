"""Whatever may be done to a run between two steps, by name: `EDITS` change how it goes on, `MOVES` where it stands.

Each is a function of a run and a NumPy generator, and fits any run of a module. One that cannot be done raises a
`ScalarvizError` and leaves the run as it was. A new kind of edit enters here, and every walk does it.
"""

from __future__ import annotations

import contextlib
import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import ScalarvizError
from scalarviz.run import Run
from scalarviz.run.travel import span as first_and_newest

from .learning import SCHEDULES, make_schedule
from .runs import bits

edits = sv.run.edits
Random = np.random.Generator
Done = Callable[[Run, Random], object]
STATES: WeakKeyDictionary[Run, list[Any]] = WeakKeyDictionary()
"""The states that each run gave."""


def one_of(things: Any, random: Random) -> Any:
    """Any of them."""
    return list(things)[int(random.integers(len(things)))]


def small(random: Random) -> float:
    """A learning rate."""
    return float(random.random() / 10)


def span(run: Run, random: Random) -> tuple[int, int]:
    """Where some weights begin, and how many they are."""
    start = int(random.integers(run.n_weights))
    return start, int(random.integers(1, min(run.n_weights - start, 5) + 1))


def parameter(run: Run, random: Random) -> Any:
    """One of the model's."""
    return one_of(list(run.model.parameters()), random)  # type: ignore[attr-defined]


def shape_of(weights: Any) -> tuple[int, ...]:
    """Of a Parameter, a part of one, or a Weight."""
    return tuple(getattr(weights, "shape", ()))


def rows(run: Run, random: Random, count: int) -> tuple[Any, Any]:
    """Samples drawn out of those there are: they fit every network and every loss."""
    inputs, targets = run.samples()
    chosen = random.integers(0, len(inputs), count)
    return inputs[chosen], targets[random.permutation(chosen)]


def _number(run: Run, random: Random) -> None:
    known = {
        "momentum": float(one_of((0.0, 0.5), random)), "betas": (0.5, float(0.9 + small(random))),
        "weight_decay": small(random), "eps": 1e-3 * small(random), "amsgrad": bool(random.integers(2)),
        "centered": bool(random.integers(2)), "maximize": False,
    }  # fmt: skip
    name = one_of(sorted(known.keys() & run.optimizer.hyperparameters().keys()) or ["lr"], random)
    run.change(**{name: known.get(name, small(random))})


def _numbers_of_weights(run: Run, random: Random) -> None:
    whole = parameter(run, random)
    some = whole[int(random.integers(len(whole)))] if shape_of(whole) and random.random() < 0.5 else whole
    decays = "weight_decay" in run.optimizer.hyperparameters() and random.random() < 0.5
    run.set_numbers(some, **{"weight_decay" if decays else "lr": small(random)})


def _group(run: Run, random: Random) -> None:
    one_of(run.optimizer.param_groups, random)["lr"] = small(random)


def _limits(run: Run, random: Random) -> None:
    run.change(
        l1=float(random.integers(2)) / 100, l2=float(random.integers(2)) / 50,
        clip_norm=one_of((None, 0.1, 1.0), random), clip_value=one_of((None, 0.01), random),
    )  # fmt: skip


def _of_a_module(run: Run, random: Random) -> None:
    weight = parameter(run, random)
    while shape := shape_of(weight):
        weight = weight[int(random.integers(shape[0]))]
    weight.data = float(random.normal())


def _whole_parameter(run: Run, random: Random) -> None:
    whole = parameter(run, random)
    whole.data = random.normal(size=shape_of(whole)) / 2


def _through_a_view(run: Run, random: Random) -> None:
    whole = parameter(run, random)
    if not (shape := shape_of(whole)):
        whole.data += 0.25
    else:
        whole.data[tuple(int(random.integers(size)) for size in shape)] += 0.25


def _schedule(run: Run, random: Random) -> None:
    name = one_of([*SCHEDULES, None], random)
    if name is None:
        run.optimizer.lr_schedule = None
    make_schedule(name, run.optimizer)


def _frozen(run: Run, random: Random) -> None:
    whole = parameter(run, random)
    whole.frozen = not whole.frozen


def _frozen_span(run: Run, random: Random) -> None:
    start = int(random.integers(len(run.values)))  # running statistics among them
    run.do(edits.SetFrozen(start, random.random(len(run.values[start : start + 5])) < 0.5))


def _together(run: Run, random: Random) -> None:
    start, count = span(run, random)
    run.do(edits.Together((edits.SetWeights(start, np.zeros(count)), edits.SetFrozen(start, np.ones(count, bool)))))


def _several(run: Run, random: Random) -> None:
    few = rows(run, random, int(random.integers(6, 12)))
    run.do(edits.Several((edits.Refill(*few), edits.SetBatchSize(3), edits.SetOptimizer({"lr": small(random)})), "all"))


def _function_by_edits(run: Run, random: Random) -> None:
    lr, (start, _) = small(random), span(run, random)

    def change(run: Run) -> None:
        run.lr = lr
        run.set_weights(start, [0.5])

    run.do(edits.Call(change, "two edits"))


def _function(run: Run, random: Random) -> None:
    start, _ = span(run, random)
    run.do(edits.Call(lambda run: run.values.__setitem__(start, 0.5), "a function"))


def _hand(run: Run, random: Random) -> None:
    start, _ = span(run, random)
    for number in random.random(5):
        run.do(edits.SetWeights(start, [number]), gesture="hand")


def _engine(run: Run, random: Random) -> None:
    run.change(engine={"numpy": "numba", "numba": "numpy"}.get(run.engine.name, run.engine.name))


def _model(run: Run, random: Random) -> None:
    """Copied layers; of a Sequential with one more in the middle, or without one."""
    model = copy.deepcopy(run.model)
    layers: list[Any] = list(model) if isinstance(model, nn.Sequential) else []
    linear = [k for k, layer in enumerate(layers[:-1]) if isinstance(layer, nn.Linear)]
    square = [k for k in linear if layers[k].weight.shape[0] == layers[k].weight.shape[1]]
    if square and random.random() < 0.5:
        del layers[one_of(square, random)]
    elif linear:
        at = one_of(linear, random)
        width = layers[at].weight.shape[0]
        layers[at + 1 : at + 1] = [nn.Tanh(), nn.Linear(width, width, seed=int(random.integers(99)))]
    run.change(model=nn.Sequential(*layers) if layers else model)


EDITS: dict[str, Done] = {
    "rate": lambda run, random: setattr(run, "lr", small(random)),
    "number of the optimiser": _number,
    "numbers of weights": _numbers_of_weights,
    "number of a group": _group,
    "schedule": _schedule,
    "limits": _limits,
    "weight of a module": _of_a_module,
    "whole parameter": _whole_parameter,
    "weights": lambda run, random: run.set_weights((at := span(run, random))[0], random.normal(size=at[1])),
    "added": lambda run, random: run.do(edits.AddToWeights((at := span(run, random))[0], random.normal(size=at[1]))),
    "scaled": lambda run, random: run.do(edits.ScaleWeights((span(run, random),), float(random.normal()))),
    "drawn anew": lambda run, random: run.do(edits.RedrawWeights((span(run, random),))),
    "view of a module": _through_a_view,
    "view of the run": lambda run, random: run.values.__setitem__(span(run, random)[0], random.normal()),
    "frozen": _frozen,
    "some frozen": _frozen_span,
    "together": _together,
    "several": _several,
    "batch size": lambda run, random: setattr(run, "batch_size", int(random.integers(2, len(run.samples()[0])))),
    "sampling": lambda run, random: run.change(sampling=one_of(("epochs", "replacement"), random), batch_size=5),
    "more samples": lambda run, random: run.add_samples(*rows(run, random, 3)),
    "targets": lambda run, random: run.set_targets(random.permutation(run.samples()[1])),
    "other samples": lambda run, random: run.refill(*rows(run, random, 30)),
    "function": _function,
    "function by edits": _function_by_edits,
    "hand": _hand,
    "engine": _engine,
}  # fmt: skip
"""Edits that keep what is computed, so that another run like it may do them again from the log."""

CHANGES: dict[str, Done] = {
    "activation": lambda run, random: run.change(activation=one_of(("tanh", "relu", "leaky_relu"), random)),
    "activation of its own": lambda run, random: run.change(activation=nn.LeakyReLU(float(random.random()))),
    "loss": lambda run, random: run.change(loss=one_of(("MSELoss", "L1Loss", "HuberLoss"), random)),
    "optimiser": lambda run, random: run.change(optimizer=one_of(("SGD", "Adam", "AdamW"), random), lr=small(random)),
    "model": _model,
}
"""Edits after which another function is computed or another rule is followed."""


def _branch(run: Run, random: Random) -> Any:
    return one_of(run.branches, random)


def _to_a_branch(run: Run, random: Random) -> None:
    branch = _branch(run, random)
    run.to(int(random.integers(branch.first, branch.newest + 1)), branch)


def _state(run: Run, random: Random) -> None:
    STATES.setdefault(run, []).append(run.state())


def _take(run: Run, random: Random) -> None:
    if run not in STATES:
        _state(run, random)
    run.take(one_of(STATES[run], random))


def _file(run: Run, random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "weights.safetensors")
        run.step(2)
        run.load(Path(folder) / "weights.safetensors")


MOVES: dict[str, Done] = {
    "step": lambda run, random: run.step(int(random.integers(1, 6))),
    "to": lambda run, random: run.to(int(random.integers(first_and_newest(run)[0], first_and_newest(run)[1] + 1))),
    "back": lambda run, random: run.back(int(random.integers(0, run.steps - first_and_newest(run)[0] + 1))),
    "to a branch": _to_a_branch,
    "switch": lambda run, random: run.switch(_branch(run, random)),
    "undo": lambda run, random: run.undo(),
    "redo": lambda run, random: run.redo(),
    "state": _state,
    "take": _take,
    "name": lambda run, random: run.name("here"),
    "prepare": lambda run, random: run.timeline.prepare(),
}
JUMPS: dict[str, Done] = {
    "restart": lambda run, random: run.restart(),
    "restart with a seed": lambda run, random: run.restart(seed=int(random.integers(9))),
    "file": _file,
}
"""Moves after which the run begins anew, at a place that is not told by steps and edits alone."""


def place(run: Run) -> tuple[Any, ...]:
    """Where a run stands, as the steps and edits that led there: two such places that are equal are one."""
    lines = {branch.number: branch for branch in run.branches}
    line = next(branch for branch in lines.values() if branch.current)
    begun = []
    while line.parent in lines:
        begun += [line.number] if line.why.startswith(("restart", "loaded")) else []
        line = lines[line.parent]
    return run.steps, line.number, line.parent, *begun, tuple((done.step, done.edit, done.does) for done in run.log)


def trains_by(run: Run) -> tuple[Any, ...]:
    """What the next steps follow beside the numbers that `bits` has: network, loss, rule, schedule, limits."""
    optimizer, frame = run.optimizer, run.frame()
    groups = [{name: number for name, number in group.items() if name != "params"} for group in optimizer.param_groups]
    schedule = optimizer.lr_schedule
    return (
        repr(run.model), [(t.name, t.shape) for t in run.tensors], [(s.name, s.kind) for s in run.stages],
        type(run.loss_function).__name__, type(optimizer).__name__, optimizer.steps, groups,
        optimizer.group_of.tolist(), repr(schedule), schedule and schedule.state_dict(),
        frame.settings and frame.settings.limits,
    )  # fmt: skip


def everything(run: Run) -> tuple[Any, ...]:
    """All that the moment, and the steps to come, are made of."""
    return bits(run), trains_by(run)


def done_again(run: Run, other: Run) -> Run:
    """`other`, which is as `run` was at first, after the steps and edits that led `run` to where it stands.

    Edits are written and read again in between, where they can be.
    """
    for done in run.log:
        other.step(done.step - other.steps)
        for edit in (done.edit,) if done.does is None else done.does:
            again = edit
            with contextlib.suppress(ScalarvizError):  # one that holds an object or a function of the user's
                again = edits.read_edit(edits.write_edit(edit))
            other.do(again)
    other.step(run.steps - other.steps)
    return other
