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
from scalarviz.io.readable import check_source
from scalarviz.run import Moment, Story
from scalarviz.run.panels import Axis, CurveFit, GraphPanel, LossCurve, Made, Panel, PlaneMap, Points
from scalarviz.run.questions.formula import Formula, formula

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, flag

SMALL = 10_000  # rows of which the loss of all is told after every step
DRAWN = 2000  # of the rows over two inputs, evenly out of all
REPORTED = 64  # weights whose numbers the report has


class Options(SceneOptions):
    """The flags of ``scalarviz expression``: each field is one."""

    rates = kit.rates(adam=0.02)
    rare = SceneOptions.rare | {"start"}
    steps: Steps = flag("training steps", 2000)
    expr: str = flag(
        "the formula: columns by their names, every other name is a weight; or @FILE with it",
        "a*tanh(w*x + b) + c",
        metavar="FORMULA|@FILE",
    )
    csv: Path | None = flag(
        "a table with a line of names; its last column is what the formula should give, unless --target names another; "
        "- is the standard input", None, metavar="FILE", shown="60 rows of a bent curve, x and y",
    )  # fmt: skip
    target: str | None = flag(
        "which column of the table the formula should give", None, metavar="COLUMN", shown="the last one"
    )
    start: list[str] = flag(
        "where a weight begins, as f=0.5; may be repeated. The others are uniform between -1 and 1",
        [],
        metavar="NAME=NUMBER",
    )
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = None
    batch: Batch = flag("rows a step", 1024, shown="all rows, at most 1024")
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
    options = kit.resumed(options)
    task = task_of(read_formula(options.expr), options.csv, options.target)
    start = starts_of(options.start, task, options.seed, options.dtype)
    check_start(task, start)
    weights = [sv.Weight(number, name) for name, number in zip(task.formula.others, start.tolist(), strict=True)]
    batch = kit.batch_of(options, len(task), "row", task.notes)
    adam, answer = optim.Adam(weights, lr=options.lr), partial(_answer, task, weights)
    run = kit.train(options, answer, nn.MSELoss(), (task.samples, task.targets), adam, batch_size=batch)
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
    named = dict(zip(task.inputs, inputs, strict=True))
    return [task.formula({**named, **{weight.name: weight for weight in weights}})]


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
    points = Points(kit.evenly(task.samples, DRAWN), kit.evenly(task.targets[:, 0], DRAWN))
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


def off(samples: Any, targets: Any, predict: Callable[[Any], Any]) -> float:
    """The root of the mean square error over all rows."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(predict(samples) - targets))))


def _claim(task: Task, moment: Moment) -> str:
    """How near the answers are."""
    away = off(task.samples, task.targets, moment.predict)
    return f"Its answers are now {away:.3g} off, on average." if np.isfinite(away) else ""


def report(scene: sv.Scene) -> dict[str, float]:
    """What the last line and the JSON say beyond what they say of every scene: the error, and the weights."""
    error = off(*scene.run.samples(), scene.run.predict)
    names = [tensor.name for tensor in scene.run.tensors if not tensor.buffer][:REPORTED]
    return {"rms": error, **{f"weight {name}": float(v) for name, v in zip(names, scene.run.values, strict=False)}}


# ---- What the scene `expression` learns from: the columns that a formula names, and the one that it should give.


Array = NDArray[np.float64]

OWN_ROWS = 60
"""Rows of the table that comes with the scene."""
FLAG, TARGET = "--expr", "--target"
MOST_WEIGHTS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A formula and its data."""

    formula: Formula
    inputs: tuple[str, ...]  # the columns that a sample has: those that the formula names, or the first one
    target: str  # the column that is learnt
    samples: Array  # (N, n_inputs)
    targets: Array  # (N, 1)
    notes: list[str]

    def __len__(self) -> int:
        return len(self.samples)


def read_formula(text: str) -> str:
    """A formula, or that of the file behind an ``@``; InputError where that cannot be read."""
    if not text.startswith("@"):
        return text
    path = check_source(Path(text[1:]), "formula")
    try:
        with path.open("rb") as file:
            data = file.read(100_000)
    except OSError as error:
        raise InputError(f"{FLAG} {text}: {error.strerror or error}") from None
    return decoded(data, path.name).strip()


def task_of(text: str, path: Path | None, target: str | None = None) -> Task:
    """What is to be learnt: a formula, a table (or the scene's own), and the column it should give (or the last one).

    Raises
    ------
    InputError, FileFormatError
        The text is no formula, or the table no table; a column that is used is no numbers; there is nothing to learn.
    """
    table = _own() if path is None else kit.read_table(path)
    names, what = table.names, table.what
    if len(names) < 2:
        raise FileFormatError(f"{what} has one column; wanted inputs and, as the last column, what is to be learnt")
    said = "" if target is not None else f" (the last one of {what}; {TARGET} chooses another)"
    target = names[-1] if target is None else target
    wanted = table.numbers(target, f"; {TARGET} names the column that is to be learnt")
    inputs = [name for name in names if name != target]
    found = formula(text, names, FLAG)
    if target in found.known:
        raise InputError(
            f"{FLAG}: {target!r} is the column that is to be learnt{said}, and the formula uses it; inputs are "
            f"{listing(inputs)}"
        )
    if not found.others:
        raise InputError(f"{FLAG} {shown(text, 72)}: there is no weight in it; every name but {listing(inputs)} is one")
    if len(found.others) > MOST_WEIGHTS:
        raise InputError(f"{FLAG} has {len(found.others):,} weights; allowed: {MOST_WEIGHTS:,}")
    used = found.known or (inputs[0],)
    left = [name for name in inputs if name not in used]
    notes = [*table.notes, f"{len(wanted):,} rows of {what}: {target} = {_brief(text)}"]
    constants = [f"{name} is {number:.6g}" for name, number in found.constants.items()]
    if constants:
        notes.append(f"in the formula {' and '.join(constants)}; a weight needs another name")
    if left:
        notes.append(f"not in the formula: {listing(left[:6])}{' ...' * (len(left) > 6)}")
    samples = np.stack([table.numbers(name) for name in used], axis=1)
    return Task(found, used, target, samples, wanted[:, None], notes)


def _own() -> CsvTable:
    """A curve that bends twice, with a little noise."""
    x = np.linspace(-3.0, 3.0, OWN_ROWS)
    y = 1.5 * np.tanh(1.2 * x - 0.6) + 0.4 + 0.1 * (rng.uniform(0, rng.Stream.DATA, 0, OWN_ROWS) - 0.5)
    rows = (f"{across!r},{up!r}\n" for across, up in zip(x.tolist(), y.tolist(), strict=True))
    return parse_csv(f"x,y\n{''.join(rows)}", "the scene's own table")


def check_start(task: Task, start: Array) -> None:
    """Raise InputError where the formula has no finite number for a row with the weights it begins with."""
    numbers = dict(zip((*task.inputs, *task.formula.others), (*task.samples.T, *start), strict=True))
    found = np.broadcast_to(task.formula.expression.evaluate(numbers), len(task))
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        where = f"{len(bad):,} of {len(task):,} rows, first in row {bad[0] + 1:,}"
        raise InputError(
            f"{FLAG} {shown(_brief(task.formula.text), 72)}: begun like this it is {found[bad[0]]:g} in {where}; "
            f"--start {task.formula.others[0]}=1 says where a weight begins"
        )


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def starts_of(given: list[str], task: Task, seed: int, dtype: str) -> Array:
    """Where the weights begin, shape (P,): ``w=0.5`` says it, the others are uniform between -1 and 1.

    Raises
    ------
    InputError
        No weight of the formula, one that is there twice, or no number that `dtype` has.
    """
    names = task.formula.others
    found: Array = 2.0 * rng.uniform(seed, rng.Stream.WEIGHTS, 0, len(names)).astype(np.float64) - 1.0
    said = set[str]()
    for text in given:
        name, sign, number = (part.strip() for part in text.partition("="))
        if not sign or name not in names:
            constant = task.formula.constants.get(name)
            why = "" if constant is None else f"{name} is {constant:.6g}, no weight; "
            raise InputError(
                f"--start {text!r:.60}: {why}allowed: {names[0]}=0.5, for the weights {listing(names[:12])}"
            )
        if name in said:
            raise InputError(f"--start {text!r:.60}: {name[:40]!r} was given a start already")
        said.add(name)
        try:
            found[names.index(name)] = value = float(number)
        except ValueError:
            raise InputError(f"--start {text!r:.60}: {number!r:.40} is no number") from None
        if not np.isfinite(value):
            raise InputError(f"--start {text!r:.60}: a finite number is wanted")
        if abs(value) > float(np.finfo(dtype).max):
            raise InputError(f"--start {text!r:.60}: {dtype} has no number so large; --dtype float64 goes to 1.8e308")
    return found
