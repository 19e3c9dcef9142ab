"""What the scene `expression` learns from: the columns that a formula names, and the one that it should give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scalarviz import rng
from scalarviz.errors import FileFormatError, InputError, listing, shown
from scalarviz.io import CsvTable, decoded
from scalarviz.io.readable import check_source
from scalarviz.run.questions.formula import Formula, formula

from ._own_points import read_table

Array = NDArray[np.float64]

OWN_ROWS = 60
"""Rows of the table that comes with the scene."""
FLAG, TARGET = "--expr", "--target"
MOST_WEIGHTS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A formula and its data.

    Attributes
    ----------
    formula : Formula
    what : str
        Where the data are from.
    inputs : tuple of str
        The columns that a sample has, in their order: those that the formula names, or the first one.
    target : str
        The column that is learnt.
    samples : ndarray, shape (N, n_inputs)
    targets : ndarray, shape (N, 1)
    notes : list of str
    """

    formula: Formula
    what: str
    inputs: tuple[str, ...]
    target: str
    samples: Array
    targets: Array
    notes: list[str]

    def __len__(self) -> int:
        return len(self.samples)


def read_formula(text: str) -> str:
    """A formula, or that of the file behind an ``@``.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read.
    """
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
    """What is to be learnt.

    Parameters
    ----------
    text : str
        The formula.
    path : Path or None
        A table; None: the one that comes with the scene.
    target : str or None
        The column that the formula should give; None: the last one.

    Raises
    ------
    InputError, FileFormatError
        The text is no formula, or the table no table; a column that is used is no numbers; there is nothing to learn.
    """
    table = _own() if path is None else read_table(path)
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
    return Task(found, what, used, target, samples, wanted[:, None], notes)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Columns that are numbers already."""

    names: tuple[str, ...]
    columns: tuple[Array, ...]
    what: str
    notes: tuple[str, ...] = ()

    def numbers(self, name: str, hint: str = "") -> Array:
        if name not in self.names:
            raise InputError(f"{self.what} has no column {shown(name)}; it has {listing(self.names)}")
        return self.columns[self.names.index(name)]


def _own() -> _Numbers | CsvTable:
    """A curve that bends twice, with a little noise."""
    x = np.linspace(-3.0, 3.0, OWN_ROWS)
    noise = rng.uniform(0, rng.Stream.DATA, 0, OWN_ROWS) - 0.5
    return _Numbers(("x", "y"), (x, 1.5 * np.tanh(1.2 * x - 0.6) + 0.4 + 0.1 * noise), "the scene's own table")


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
