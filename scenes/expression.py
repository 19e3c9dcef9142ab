"""A formula of your own learns a table; every weight in it is a cube, and its graph stands beside them.

``scalarviz expression --expr "a*sin(f*x + p)" --csv tides.csv --start f=0.5`` fits a sine to a table whose last column
(or that of ``--target``) is what the formula should give; its other columns are inputs by their names, and every other
name in the formula is a weight. The formula has numbers, names, ``+ - * / **``, comparisons, parentheses and the
functions of the operations table (``scalarviz doctor --ops`` lists them), with ``where(a > b, x, y)`` to choose.
Nothing of it is run as Python.

The scene's own table is a bent curve, which ``a*tanh(w*x + b) + c`` follows to within its noise: from each of the seeds
0 to 19 the root of the mean square error is below 0.035 after 2,000 steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Moment, Story
from scalarviz.run.panels import Axis, CurveFit, GraphPanel, LossCurve, Made, Panel, PlaneMap, Points

from ._batch import batch_of
from ._formula_data import Task, check_start, read_formula, starts_of, task_of
from ._resume import resumed
from ._schedule import follow
from .options import SamplingFlag, SceneOptions, ScheduleFlag

LR = 0.02
BATCH = 1024
SMALL = 10_000  # rows of which the loss of all is told after every step
DRAWN = 2000  # of the rows over two inputs, evenly out of all
REPORTED = 64  # weights whose numbers the report has


class Options(SceneOptions):
    """The flags of ``scalarviz expression``: each field is one."""

    rare = SceneOptions.rare | {"start"}
    steps: int = Field(2000, ge=1, le=10**12, description="training steps")
    expr: str = Field(
        "a*tanh(w*x + b) + c",
        description="the formula: columns by their names, every other name is a weight; or @FILE with it",
        json_schema_extra={"metavar": "FORMULA|@FILE"},
    )
    csv: Path | None = Field(
        None,
        description="a table with a line of names; its last column is what the formula should give, unless --target "
        "names another; - is the standard input",
        json_schema_extra={"metavar": "FILE", "shown": "60 rows of a bent curve, x and y"},
    )
    target: str | None = Field(
        None,
        description="which column of the table the formula should give",
        json_schema_extra={"metavar": "COLUMN", "shown": "the last one"},
    )
    start: list[str] = Field(
        [],
        description="where a weight begins, as f=0.5; may be repeated. The others are uniform between -1 and 1",
        json_schema_extra={"metavar": "NAME=NUMBER"},
    )
    lr: float = Field(LR, gt=0, allow_inf_nan=False, description="learning rate of Adam")
    schedule: ScheduleFlag = None
    batch: int = Field(
        BATCH,
        ge=1,
        le=10**7,
        description="rows a step",
        json_schema_extra={"shown": "all rows, at most 1024"},
    )
    sampling: SamplingFlag = "epochs"


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, formula, loss, optimiser, and what to show.

    Raises
    ------
    InputError, FileFormatError
        For formulas and tables that cannot be used, and options that contradict each other.
    """
    if options.load is not None:
        options.refuse(["start"], "the weights are those of the file of --load")
    options = resumed(options, {"adam": (optim.Adam, LR)})
    task = task_of(read_formula(options.expr), options.csv, options.target)
    start = starts_of(options.start, task, options.seed, options.dtype)
    check_start(task, start)
    weights = [sv.Weight(number, name) for name, number in zip(task.formula.others, start.tolist(), strict=True)]
    batch = batch_of(options, len(task), "row", task.notes)
    adam = optim.Adam(weights, lr=options.lr)
    follow(options.schedule, adam, options.steps)
    run = sv.Run(
        partial(_answer, task, weights),
        nn.MSELoss(),
        adam,
        data=(task.samples, task.targets),
        batch_size=batch,
        sampling=options.sampling,
        **options.of_run,
    )
    return sv.Scene(
        name="expression",
        run=run,
        probe=task.samples[0],
        probe_target=task.targets[0],
        input_names=task.inputs,
        output_names=(task.target,),
        panels=(
            GraphPanel("the formula at one row", partial(graph_at, task), place="above"),
            *_maps(task),
            LossCurve(f"{len(task):,} rows"),
        ),
        notes=task.notes,
        story=Story(
            f"The formula should give {_short(task.target)} in {len(task):,} rows.", claim=partial(_claim, task)
        ),
        hide=("seed",),  # where a weight begins is asked for by name
        whole_loss=len(task) <= SMALL,
        options=options,
    )


def _answer(task: Task, weights: list[sv.Weight], sample: Any) -> list[sv.Value]:
    """The formula for one sample: what is trained."""
    inputs = [sample] if isinstance(sample, sv.Value) else sample
    return [task.formula({**_named(task.inputs, inputs), **{weight.name: weight for weight in weights}})]


def _named(names: tuple[str, ...], values: Any) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def graph_at(task: Task, moment: Moment) -> Made:
    """The formula, and its error, at the sample whose way is drawn, with the weights of the moment; copies of both."""
    sample = np.asarray(moment.frame.activations.get("input", task.samples[0]), np.float64).ravel()
    inputs = {name: sv.Value(float(number), name) for name, number in zip(task.inputs, sample, strict=True)}
    weights = {name: sv.Weight(float(moment.tensor(name)), name) for name in task.formula.others}
    answer = task.formula({**inputs, **weights})
    away = np.abs(task.samples - sample).max(axis=1)
    row = int(away.argmin())
    if away[row] > 1e-6 * max(1.0, float(np.abs(sample).max())):
        answer.backward()
        return Made([answer], "at a place between the rows")
    if answer.op and not answer.label:
        answer.label = f"{task.target} here"
    error = (answer - sv.Value(float(task.targets[row, 0]), task.target)) ** 2
    error.label = "error"
    error.backward()
    return Made([error], f"row {row + 1:,} of {len(task):,}")


def _maps(task: Task) -> tuple[Panel, ...]:
    """The rows and the formula over one input, or over two."""
    if len(task.inputs) == 1:
        return (CurveFit("the rows and the formula", _short(task.inputs[0]), _short(task.target)),)
    if len(task.inputs) != 2:
        return ()
    ends = [(low, high if high > low else low + 1.0) for low, high in map(_ends, task.samples.T)]
    across, up = (Axis(_short(name), *end) for name, end in zip(task.inputs, ends, strict=True))
    low, high = _ends(task.targets)
    some = np.linspace(0, len(task) - 1, min(len(task), DRAWN)).round().astype(int)
    points = Points(task.samples[some], task.targets[some, 0])
    if low < 0.0 < high:  # what is 0 has the middle of the map
        low, high = -max(-low, high), max(-low, high)
    span = (low, high) if high > low else (low, low + 1.0)
    says = _plain(span[0]), _plain(span[1])
    return (PlaneMap(_short(task.target), across, up, span=span, says=says, points=lambda moment: points),)


def _plain(number: float) -> str:
    return f"{number:.3g}".replace("-", "\N{MINUS SIGN}")


def _ends(numbers: Any) -> tuple[float, float]:
    return float(numbers.min()), float(numbers.max())


def _short(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:27]}..."


def off(task: Task, predict: Callable[[Any], Any]) -> float:
    """The root of the mean square error over all rows."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(predict(task.samples) - task.targets))))


def _claim(task: Task, moment: Moment) -> str:
    """How near the answers are."""
    away = off(task, moment.predict)
    return f"Its answers are now {away:.3g} off, on average." if np.isfinite(away) else ""


def report(scene: sv.Scene) -> dict[str, float]:
    """What the last line and the JSON say beyond what they say of every scene: the error, and the weights."""
    inputs, targets = scene.run.samples()
    with np.errstate(all="ignore"):
        error = float(np.sqrt(np.mean(np.square(scene.run.predict(inputs) - targets))))
    names = [tensor.name for tensor in scene.run.tensors if not tensor.buffer][:REPORTED]
    return {"rms": error, **{f"weight {name}": float(v) for name, v in zip(names, scene.run.values, strict=False)}}
