"""What several scenes need: going on from a file, batches, tables, and the line that makes a moment again."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import CsvTable, decoded, load_tensors, parse_csv, read_csv
from scalarviz.io.decoded import LARGEST
from scalarviz.run import Moment
from scalarviz.run.checkpoint import Checkpoint, read_checkpoint
from scalarviz.run.controls import Reader
from scalarviz.run.edits import Edit, Several
from scalarviz.run.panels import Table

from .options import SceneOptions

# ---- What the commands that scenes copy have in common: how flags are written, and what no flag can say.


def command(words: list[str], flags: Mapping[str, Any], usual: Callable[[str], str], lost: list[str]) -> str:
    """A line that can be typed: flags that are not as usual, and behind a ``#`` what they leave out.

    Parameters
    ----------
    words : list of str
        What comes before the flags ("scalarviz", the scene, its arguments).
    flags : mapping of str to object
        By the names of options; None leaves one out, True stands alone, a list is written once for each of its texts.
    usual : callable
        ``usual(name)``: what an option is without being given, as it would be written.
    lost : list of str
        What the flags cannot say.
    """
    line = list(words)
    for name, value in flags.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            line += [word for text in value for word in (flag, str(text))]
        elif value is not None and str(value) != usual(name):
            line += [flag] + ([] if value is True else [str(value)])
    return shlex.join(line) + (f"  # without {' and '.join(lost)}" if lost else "")


def done_before(reader: Reader) -> tuple[tuple[int, Edit], ...]:
    """The edits on the way to a moment, each after its step."""
    past = reader.frame.past
    return () if past is None else tuple((a.step, a.edit) for a in past.edits if a.step <= reader.frame.step)


def lost_on_the_way(reader: Reader, says: Callable[[Edit], bool]) -> Iterator[str]:
    """What the flags of any run cannot say: edits, but those before the first step that flags say as well.

    Parameters
    ----------
    reader : Reader
    says : callable
        ``says(edit)``: whether flags say what a single edit does before the first step.
    """

    def said(edit: Edit) -> bool:
        return all(map(said, edit.edits)) if isinstance(edit, Several) else says(edit)

    first = first_of(reader)
    count = sum(not (step == first == 0 and said(edit)) for step, edit in done_before(reader))
    if count:
        yield f"{count} {'change' if count == 1 else 'changes'} on the way"


def first_of(reader: Reader) -> int:
    """The step with which the run began: not 0 where its weights are those of a file."""
    return 0 if reader.frame.past is None else reader.frame.past.first


def earlier_steps(reader: Reader) -> Iterator[str]:
    """Steps that were done before the run began."""
    if first := first_of(reader):
        yield f"{first:,} steps before"


def argument(path: Path) -> str:
    """A file's name as a word that is no flag: one that begins with a dash is said to lie in this folder."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def short(number: float) -> str:
    """As few digits as bring the very same number back: a float64 run takes another way with its neighbour."""
    few = f"{number:.6g}"
    return few if float(few) == number else repr(float(number))


def plain(value: Any) -> str:
    """An option's default as it would be written."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return short(value) if isinstance(value, float) else str(value)


# ---- How many samples a step takes of those that there are.


def batch_of(options: Any, there: int, thing: str, notes: list[str]) -> int:
    """The size of a batch; where ``--batch`` asks for more samples than there are, a note says so.

    Parameters
    ----------
    options : SceneOptions
        With `batch`, and `sampling` where the scene has it: what is drawn out of all may be more than all.
    there : int
        Samples to learn from.
    thing : str
        What one of them is ("colour").
    notes : list of str
        Lines for the console.
    """
    drawn = getattr(options, "sampling", "epochs") == "replacement"
    batch: int = options.batch if drawn else min(options.batch, there)
    if options.given("batch") and batch < options.batch:
        all_of = f"the one {thing} that there is" if batch == 1 else f"all {batch:,} {thing}s that there are"
        notes.append(f"a batch is {all_of}, not {options.batch:,}")
    return batch


# ---- Going on from a file: what it says about the run stands in for flags that were not given.


Resumed = TypeVar("Resumed", bound=SceneOptions)


def settings_in(path: Path, optimizers: Mapping[str, tuple[Any, float]]) -> dict[str, Any]:
    """Seed, dtype, optimiser and learning rate of the run that wrote `path`; empty for another program's file.

    An optimiser is a class, or a partial of one with numbers by which it is told from the others of that class.
    """
    saved = read_checkpoint(path)
    if not saved.optimizer:
        return {}
    found: dict[str, Any] = {"seed": saved.seed, "dtype": saved.dtype}
    for name, (kind, _) in optimizers.items():
        own = kind.keywords if isinstance(kind, partial) else {}
        known = (kind.func if isinstance(kind, partial) else kind).__name__ == saved.optimizer
        if known and all(saved.hyperparameters.get(what) == number for what, number in own.items()):
            found |= {"optimizer": name, "lr": _first_rate(saved)}
    return found


def resumed(options: Resumed, optimizers: Mapping[str, tuple[Any, float]]) -> Resumed:
    """With ``--load``: the file's seed, dtype and learning rate for flags that were not given."""
    if options.load is None:
        return options
    saved = settings_in(options.load, optimizers)
    fields = type(options).model_fields
    update = {name: value for name, value in saved.items() if name in fields and not options.given(name)}
    return options.model_copy(update=update)


def _first_rate(saved: Checkpoint) -> Any:
    """The rate that ``--lr`` said: where there is a schedule the one that it goes on from."""
    schedule = saved.schedule
    highest = schedule.get("arguments", {}).get("max_lr", schedule.get("base_lrs"))
    return highest[0] if highest else saved.hyperparameters.get("lr")


def hidden_behind_features(path: Path) -> tuple[int, ...]:
    """The units of the hidden layers of a playground in a file: rows of ``1.weight``, ``3.weight``, ... but the last.

    Raises
    ------
    FileFormatError
        The file holds no chain of such layers.
    """
    tensors, _ = load_tensors(path)  # and the optimiser's, which has names of its own
    found = {name: array.shape for name, array in tensors.items() if re.fullmatch(r"[0-9]{1,6}\.weight", name)}
    shapes = [found.get(f"{2 * k + 1}.weight", ()) for k in range(len(found))]
    if not shapes or not all(len(shape) == 2 for shape in shapes):
        got = ", ".join(f"{name} {shape}" for name, shape in sorted(found.items())) or "no weights"
        raise FileFormatError(f"{path} holds no network of this scene: wanted 1.weight, 3.weight, ..., got {got}")
    return tuple(shape[0] for shape in shapes[:-1])


def hidden_sizes_in(path: Path, inputs: int, outputs: int) -> tuple[int, ...]:
    """The units of the hidden layers of the network in a file, from the shapes of ``0.weight``, ``2.weight``, ...

    Raises
    ------
    FileFormatError
        If the file holds no chain of layers from `inputs` numbers to `outputs`.
    """
    tensors, _ = load_tensors(path)
    found = {int(m[1]): a.shape for n, a in tensors.items() if (m := re.fullmatch(r"([0-9]{1,6})\.weight", n))}
    shapes = [found[number] for number in sorted(found)]
    sizes = [inputs, *(shape[0] for shape in shapes if len(shape) == 2)]
    fits = shapes == list(zip(sizes[1:], sizes[:-1], strict=True)) and sizes[-1] == outputs
    if not shapes or not fits or sorted(found) != list(range(0, 2 * len(shapes), 2)):
        raise FileFormatError(
            f"{path} holds no network of this scene: wanted 0.weight, 2.weight, ... from {inputs} inputs to {outputs} "
            f"outputs, got {', '.join(f'{n}.weight {found[n]}' for n in sorted(found)) or 'none of them'}"
        )
    return tuple(sizes[1:-1])


def channels_in(path: Path, side: tuple[int, int], classes: int) -> tuple[int, ...]:
    """The kernels of the two convolutions of the digits' network in a file, from ``0.weight`` and ``3.weight``.

    Raises
    ------
    FileFormatError
        The file's tensors are not those of a network for pictures of `side` pixels and so many classes.
    """
    found = {name: array.shape for name, array in load_tensors(path)[0].items() if name.endswith(".weight")}
    first, second = ((*found.get(name, ()), 0)[0] for name in ("0.weight", "3.weight"))
    rest = (side[0] // 4) * (side[1] // 4)
    wanted = {"0.weight": (first, 1, 3, 3), "3.weight": (second, first, 3, 3), "7.weight": (classes, second * rest)}
    if not all(found.get(name) == shape for name, shape in wanted.items()) or 0 in (first, second):
        got = ", ".join(f"{n} {shape}" for n, shape in sorted(found.items())) or "no weights"
        raise FileFormatError(
            f"{path} holds no network of this scene for pictures of {side[1]} x {side[0]} pixels: wanted 0.weight "
            f"(N, 1, 3, 3), 3.weight (M, N, 3, 3) and 7.weight ({classes}, {rest} M), got {got}"
        )
    return int(first), int(second)


# ---- Four samples of two bits each: the table of what a network makes of them, and how many it has right.


LARGE = 1e5
"""From here on four decimals would fill a cell with digits that say nothing."""
COUNTS = ("None", "One", "Two", "Three")
Float = NDArray[np.floating]


@dataclass(frozen=True)
class TwoBits:
    """What two bits should become, and what a network has made of them.

    Parameters
    ----------
    bits : ndarray, shape (4, 2)
    wanted : ndarray, shape (4, 1)
    is_right : callable
        Of outputs (4, 1) and `wanted`: which are right, as bools.
    inputs : callable
        The bits as the network takes them.
    """

    bits: Float
    wanted: Float
    is_right: Callable[[Float, Float], NDArray[np.bool_]]
    inputs: Callable[[Float], Float] = lambda bits: bits

    def table(self, title: str, wanted: str, computed: str) -> Table:
        """A panel with a row a sample; the columns of targets and outputs have these names."""
        return Table(title, self.rows, ("x  y", wanted, computed, "error"), lines=len(self.bits))

    def rows(self, moment: Moment) -> list[tuple[str, ...]]:
        """What the table says of a moment."""
        found = self.found(moment)[:, 0].tolist()
        return [
            (f"{x:.0f}  {y:.0f}", f"{wanted:.0f}", _decimals(said), _decimals(said - wanted))
            for (x, y), wanted, said in zip(self.bits, self.wanted[:, 0], found, strict=True)
        ]

    def right(self, source: Moment | sv.Run) -> int:
        """How many outputs are, at a moment or as a run stands."""
        return int(self.is_right(self.found(source), self.wanted).sum())

    def found(self, source: Moment | sv.Run) -> Float:
        """The four outputs (4, 1)."""
        return source.predict(self.inputs(self.bits))

    def claim(self, moment: Moment) -> str:
        """How many of the four are right at a moment."""
        count = self.right(moment)
        if count == len(self.bits):
            return "All four answers are now right."
        return f"{COUNTS[count]} of the four answers {'is' if count == 1 else 'are'} right."

    def solved(self, moment: Moment) -> bool:
        """Whether all four are right: the loss falls by half as well where only some are."""
        return self.right(moment) == len(self.bits)


def _decimals(number: float) -> str:
    """Four of them, with a real minus; of what is large only the power of ten, and ``NaN`` as everywhere on screen."""
    if math.isnan(number):
        return "NaN"
    sign = "\N{MINUS SIGN}" if number < 0 else ""
    size = abs(number)
    if math.isinf(size):
        return f"{sign or '+'}\N{INFINITY}"
    if size < LARGE:
        text = f"{size:.4f}"
        return text if not float(text) else sign + text
    mantissa, power = f"{size:.2e}".split("e")
    return f"{sign}{mantissa}e{int(power)}"


# ---- Tables

STANDARD_INPUT = Path("-")


def read_table(path: Path) -> CsvTable:
    """The table of a file; ``-`` is the standard input.

    Raises
    ------
    InputError, FileFormatError
    """
    if path != STANDARD_INPUT:
        return read_csv(path)
    if sys.stdin is None:
        raise InputError("--csv -: there is no standard input here; name a file")
    return parse_csv(decoded(sys.stdin.buffer.read(LARGEST + 1), "the standard input"), "the standard input")
