"""A formula of your own learns a table; every weight is a cube, and the formula's graph stands above the cubes.

``scalarviz expression --expr "a*sin(f*x + p)" --csv tides.csv --start f=0.5`` fits a sine to a table. The last column
of the table (or that of ``--target``) is the target. The other columns are inputs, by their names. Every other name in
the formula is a weight. A formula may have numbers, names, ``+ - * / **``, comparisons, parentheses and the functions
of the operations table (``scalarviz doctor --ops`` lists them). ``where(a > b, x, y)`` makes a choice. scalarviz never
runs the text as Python.

The scene's own table is a bent curve. ``a*tanh(w*x + b) + c`` fits it to within its noise: for every seed from 0 to 19
the root mean squared error is below 0.035 after 2,000 steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, optim, rng
from scalarviz.errors import FileFormatError, InputError, listing, shown
from scalarviz.io import CsvTable, decoded, parse_csv
from scalarviz.io.atomic import check_source, unreadable
from scalarviz.run import Moment, Story
from scalarviz.run.panels import Axis, CurveFit, GraphPanel, LossCurve, Made, Panel, PlaneMap, Points
from scalarviz.run.questions.parser import Formula, formula

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, flag

Array = NDArray[np.float64]
SMALL = 10_000  # up to this many rows, the shown loss is that of all rows
DRAWN = 2000  # rows, evenly spread, that a map over two inputs draws
REPORTED = 64  # weights in the report
OWN_ROWS = 60  # rows of the scene's own table
MOST_WEIGHTS = 1000
LONGEST = 60  # characters of a formula that is written out


class Options(SceneOptions):
    """The flags of ``scalarviz expression``: each field is one."""

    rates = kit.rates(adam=0.02)
    rare = SceneOptions.rare | {"start"}
    steps: Steps = flag("training steps", 2000)
    expr: str = flag(
        "the formula, or @FILE with a file that contains it; column names are inputs, other names are weights",
        "a*tanh(w*x + b) + c",
        metavar="FORMULA|@FILE",
    )
    csv: Path | None = flag(
        "a table whose first line names the columns; - is standard input", None, metavar="FILE",
        shown="60 rows of a bent curve, x and y",
    )  # fmt: skip
    target: str | None = flag("the target column of the table", None, metavar="COLUMN", shown="the last one")
    start: list[str] = flag(
        "initial value of a weight, such as f=0.5; may be repeated; the other weights start between -1 and 1",
        [],
        metavar="NAME=NUMBER",
    )
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = None
    batch: Batch = flag("rows per step", 1024, shown="all rows, at most 1024")
    sampling: SamplingFlag = "epochs"


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, formula, loss, optimiser, and what to show."""
    if options.load is not None:
        options.refuse(["start"], "--load sets the weights")
    options = kit.resumed(options)
    task = task_of(options)
    start = starts_of(options, task)
    weights = [sv.Weight(number, name) for name, number in zip(task.formula.others, start.tolist(), strict=True)]

    def answer(sample: Any) -> Any:
        """The formula for one sample: the model of the run."""
        return task.result(sample, weights)

    rows, law = f"{len(task.samples):,} rows", f"{kit.short(task.target, 20)} = {kit.short(task.formula.text, 60)}"
    batch = kit.batch_of(options, len(task.samples), "row", task.notes)
    adam = optim.Adam(weights, lr=options.lr)
    run = kit.train(options, answer, nn.MSELoss(), (task.samples, task.targets), adam, batch_size=batch)
    return sv.Scene(
        name="expression",
        run=run,
        probe=task.samples[0],
        probe_target=task.targets[0],
        input_names=task.inputs,
        output_names=(task.target,),
        panels=(
            GraphPanel("the formula", partial(graph_at, task), place="above"),
            *_maps(task),
            LossCurve(rows),
        ),
        notes=task.notes,
        story=Story(f"They learn to fit {law} to {rows}.", claim=_claim),
        hide=("seed",),  # --start sets the first weights
        whole_loss=len(task.samples) <= SMALL,
        options=options,
    )


def rms_error(source: Moment | sv.Run) -> float:
    """The root mean squared error over all rows."""
    samples, targets = source.source.samples() if isinstance(source, Moment) else source.samples()
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(source.predict(samples) - targets))))


def _claim(moment: Moment) -> str:
    """The sentence that states the error at the end."""
    away = rms_error(moment)
    return f"The root mean squared error is now {away:.3g}." if np.isfinite(away) else ""


def report(scene: sv.Scene) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON: the error and the weights."""
    names = [tensor.name for tensor in scene.run.tensors if not tensor.buffer][:REPORTED]
    weights = {f"weight {name}": float(v) for name, v in zip(names, scene.run.values, strict=False)}
    return {"rms": rms_error(scene.run), **weights}


# ---- The task: a formula, its input columns and its target column


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A formula and its data."""

    formula: Formula
    inputs: tuple[str, ...]  # the columns of a sample: those that the formula names, or the first one
    target: str  # the target column
    samples: Array  # (N, n_inputs)
    targets: Array  # (N, 1)
    notes: list[str]

    def result(self, inputs: Any, weights: Any) -> Any:
        """The formula's result for these numbers, which are Values or arrays."""
        return self.formula(dict(zip((*self.inputs, *self.formula.others), (*inputs, *weights), strict=True)))


def task_of(options: Options) -> Task:
    """The task of the options: a formula, a table (default: the scene's own) and a target column (default: the last).

    InputError or FileFormatError: the formula or the table cannot be read, a used column has no numbers, or there is
    nothing to learn.
    """
    text = _formula_text(options.expr)
    table = _own_table() if options.csv is None else kit.read_table(options.csv)
    names, what, target = table.names, table.what, options.target or table.names[-1]
    if len(names) < 2:
        raise FileFormatError(f"{what} has one column; allowed: at least one input column and a target column")
    wanted = table.numbers(target, "; --target names the target column")
    inputs = [name for name in names if name != target]
    found = formula(text, names, "--expr")
    if target in found.known:
        raise InputError(
            f"--expr: {target!r} is the target (--target chooses another), but the formula uses "
            f"it; inputs are {listing(inputs)}"
        )
    if not found.others:
        raise InputError(f"--expr {shown(text, 72)} has no weight; every name except {listing(inputs)} is a weight")
    if len(found.others) > MOST_WEIGHTS:
        raise InputError(f"--expr has {len(found.others):,} weights; allowed: {MOST_WEIGHTS:,}")
    used = found.known or (inputs[0],)
    left = [name for name in inputs if name not in used]
    notes = [*table.notes, f"{len(wanted):,} rows of {what}: {target} = {kit.short(text, 60)}"]
    if found.constants:
        constants = " and ".join(f"{name} is {number:.6g}" for name, number in found.constants.items())
        notes.append(f"in the formula {constants}; a weight needs another name")
    if left:
        notes.append(f"not in the formula: {listing(left[:6])}{' ...' * (len(left) > 6)}")
    return Task(found, used, target, np.stack([table.numbers(name) for name in used], axis=1), wanted[:, None], notes)


def _formula_text(given: str) -> str:
    """The text of a formula; after ``@``, that of the named file."""
    if not given.startswith("@"):
        return given
    path = check_source(Path(given[1:]), "formula")
    try:
        with path.open("rb") as file:
            return decoded(file.read(100_000), path.name).strip()
    except OSError as error:
        raise unreadable(path, error) from None


def _own_table() -> CsvTable:
    """The scene's own table: a curve that bends twice, with a little noise."""
    x = np.linspace(-3.0, 3.0, OWN_ROWS)
    y = 1.5 * np.tanh(1.2 * x - 0.6) + 0.4 + 0.1 * (rng.uniform(0, rng.Stream.DATA, 0, OWN_ROWS) - 0.5)
    rows = (f"{across!r},{up!r}\n" for across, up in zip(x.tolist(), y.tolist(), strict=True))
    return parse_csv(f"x,y\n{''.join(rows)}", "the scene's own table")


def starts_of(options: Options, task: Task) -> Array:
    """The first weights, shape (P,): as ``--start w=0.5`` says, otherwise uniform between -1 and 1.

    InputError: a start names no weight, is not a number of the dtype, or is given twice; or the formula is not finite
    in some rows.
    """
    names, most = task.formula.others, float(np.finfo(options.dtype).max)
    found: Array = 2.0 * rng.uniform(options.seed, rng.Stream.WEIGHTS, 0, len(names)).astype(np.float64) - 1.0
    given = [(text, *(part.strip() for part in text.partition("="))) for text in options.start]
    for k, (text, name, _, number) in enumerate(given):
        if name not in names or not number:
            constant = task.formula.constants.get(name)
            why = "" if constant is None else f"{name} is the constant {constant:.6g}, not a weight; "
            allowed = f"{names[0]}=0.5; weights: {listing(names[:12])}"
            raise InputError(f"--start {text!r:.60}: {why}write, for example, {allowed}")
        if name in [one[1] for one in given[:k]]:
            raise InputError(f"--start {text!r:.60}: {name[:40]!r} already has a start")
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if not abs(value) <= most:
            raise InputError(f"--start {text!r:.60}: allowed: numbers of {options.dtype}, -{most:g} to {most:g}")
        found[names.index(name)] = value
    numbers = dict(zip((*task.inputs, *names), (*task.samples.T, *found), strict=True))
    answers = np.broadcast_to(task.formula.expression.evaluate(numbers), len(task.samples))
    bad = np.flatnonzero(~np.isfinite(answers))
    if len(bad):
        where = f"{len(bad):,} of {len(answers):,} rows, first in row {bad[0] + 1:,}"
        raise InputError(
            f"--expr {shown(kit.short(task.formula.text, 60), 72)} gives {answers[bad[0]]:g} at the start in "
            f"{where}; try another start, such as --start {names[0]}=1"
        )
    return found


# ---- The panels


def graph_at(task: Task, moment: Moment) -> Made:
    """The graph of the formula and its squared error at the probe sample, with copies of the moment's weights."""
    sample = np.asarray(moment.frame.activations.get("input", task.samples[0]), np.float64).ravel()
    inputs = [sv.Value(number, name) for name, number in zip(task.inputs, sample.tolist(), strict=True)]
    answer = task.result(inputs, [sv.Weight(float(moment.tensor(name)), name) for name in task.formula.others])
    away = np.abs(task.samples - sample).max(axis=1)
    row, target = int(away.argmin()), moment.frame.activations.get("target")
    whose, law = f"row {row + 1:,} of {len(task.samples):,}", law_of(task, moment)
    if away[row] > 1e-6 * max(1.0, float(np.abs(sample).max())):
        whose = "means of the batch"
        if target is None:
            answer.backward()
            return Made([answer], "at a place between the rows", law)
    if answer.op and not answer.label:
        answer.label = "output"
    wanted = task.targets[row] if target is None else target
    error = (answer - sv.Value(float(wanted[0]), task.target)) ** 2
    error.label = "error"
    error.backward()
    return Made([error], whose, law)


def law_of(task: Task, moment: Moment) -> str:
    """The formula, and the same with the numbers of its weights: ``y = a·x = 1.50·x``."""

    def number(name: re.Match[str]) -> str:
        if name[0] not in task.formula.others:
            return name[0]
        said = f"{float(moment.tensor(name[0])):.2f}".replace("-", "\N{MINUS SIGN}")
        return said if said[0].isdigit() or text[: name.start()].rstrip()[-1:] in ("", "(") else f"({said})"

    text = " ".join(task.formula.text.replace("**", "^").replace("*", "\N{MIDDLE DOT}").split())
    filled = re.sub(r"[A-Za-z_]\w*", number, text)
    return f"{task.target} = {text} = {filled}" if len(text) <= LONGEST else ""


def _maps(task: Task) -> tuple[Panel, ...]:
    """A panel of the rows and the formula over one input or two; none for more inputs."""
    inputs, target = [kit.short(name, 30) for name in task.inputs], kit.short(task.target, 30)
    if len(inputs) == 1:
        return (CurveFit("the rows and the formula", inputs[0], target),)
    if len(inputs) != 2:
        return ()
    across, up = (Axis(name, *_ends(column)) for name, column in zip(inputs, task.samples.T, strict=True))
    points = Points(kit.evenly(task.samples, DRAWN), kit.evenly(task.targets[:, 0], DRAWN))
    low, high = float(task.targets.min()), float(task.targets.max())
    span = _ends(np.array([low, high, -low, -high] if low < 0.0 < high else [low, high]))  # 0 has the middle colour
    says = [f"{number:.3g}".replace("-", "\N{MINUS SIGN}") for number in span]
    return (PlaneMap(target, across, up, span=span, says=(says[0], says[1]), points=lambda moment: points),)


def _ends(numbers: Array) -> tuple[float, float]:
    low, high = float(numbers.min()), float(numbers.max())
    return low, high if high > low else low + 1.0
