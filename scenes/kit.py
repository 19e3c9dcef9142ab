"""Parts that several scenes share: a run from options, resuming from a file, and tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.data import Data
from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import CsvTable, decoded, load_tensors, parse_csv, read_csv
from scalarviz.io.csv_table import LARGEST
from scalarviz.run import Moment
from scalarviz.run.panels import SampleRows, Table
from scalarviz.run.scene.own_controls import USUAL_MOMENTUM
from scalarviz.run.state import read_checkpoint
from scalarviz.run.validation import check_run

from .options import SceneOptions, flag, follow

Chosen = TypeVar("Chosen", bound=SceneOptions)
Of = TypeVar("Of")
OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "sgd": optim.SGD,
    "momentum": partial(optim.SGD, momentum=USUAL_MOMENTUM),
    "adam": optim.Adam,
    "adamw": optim.AdamW,
}
"""Optimisers by their names for ``--optimizer``."""


# ---- A run from options


def rates(**usual: float) -> Mapping[str, float]:
    """The optimisers of a scene, by their names in `OPTIMIZERS`, each with its default learning rate."""
    return MappingProxyType(usual)


def rate_flag(rates: Mapping[str, float]) -> Any:
    """The flag ``--lr`` of a scene with several optimisers; its default is that of the chosen optimiser."""
    shown = ", ".join(f"{rate:g} for {name}" for name, rate in rates.items())
    return flag("learning rate", None, shown=shown)


def rule(options: Any, model: nn.Module) -> optim.Optimizer:
    """The optimiser for a model: the one that the options name, or the only one of the scene."""
    name = getattr(options, "optimizer", None) or next(iter(options.rates))
    return OPTIMIZERS[name](model.parameters(), lr=options.lr or options.rates[name])


def chain(sizes: Iterable[int], bend: Callable[[], nn.Module], *last: nn.Module) -> list[nn.Module]:
    """Linear layers of these sizes with an activation between each two, then the modules `last`."""
    layers = [part for n_in, n_out in pairwise(sizes) for part in (nn.Linear(n_in, n_out), bend())]
    return [*layers[:-1], *last]


def mlp(options: Any, sizes: Iterable[int], bend: Callable[[], nn.Module], *last: nn.Module) -> nn.Sequential:
    """A network of such layers; InputError if they do not fit into memory."""
    check_memory(options, chain_weights(sizes))
    return nn.Sequential(*chain(sizes, bend, *last))


def chain_weights(sizes: Iterable[int]) -> int:
    """The number of weights and biases of such layers."""
    return sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))


def check_memory(options: Any, weights: int) -> None:
    """Raise InputError if this many weights and their optimiser state do not fit into memory."""
    name = getattr(options, "optimizer", None) or next(iter(options.rates))
    check_run(weights, options.dtype, {"sgd": 0, "momentum": 1}.get(name, len(optim.Adam.state)), options.engine)


def batch_of(options: Any, there: int, thing: str, notes: list[str]) -> int:
    """The batch size: ``--batch``, at most the `there` samples that exist; a note says if it is smaller.

    With replacement, a batch may be larger than the data.
    """
    drawn = getattr(options, "sampling", "epochs") == "replacement"
    batch: int = options.batch if drawn else min(options.batch, there)
    if options.given("batch") and batch < options.batch:
        all_of = f"the only {thing}" if batch == 1 else f"all {batch:,} {thing}s"
        notes.append(f"--batch: got {options.batch:,}; using {all_of}")
    return batch


def train(
    options: Any, model: Any, loss: Any, data: Any, optimizer: optim.Optimizer | None = None, **more: Any
) -> sv.Run:
    """A Run with these options; its learning rates follow ``--schedule``.

    `optimizer` replaces the one that the options name. `about` is stored with the data, see `carried`.
    """
    about = more.pop("about", None)
    optimizer = optimizer or rule(options, model)
    follow(getattr(options, "schedule", None), optimizer, options.steps)
    if hasattr(options, "sampling"):
        more["sampling"] = options.sampling
    run = sv.Run(model, loss, optimizer, data=data, **more, **options.of_run)
    if (first := run.frame().data) is not None:
        first.about = about
    return run


def carried(data: Data | None, first: Of) -> Of:
    """The object that the data of a moment carries (`Data.about`); `first` if it carries none of that type."""
    return data.about if data is not None and isinstance(data.about, type(first)) else first


def in_pieces(predict: Callable[[Any], Any], inputs: Any, most: int) -> Any:
    """The outputs of a network for all samples, computed `most` at a time to save memory."""
    return np.concatenate([predict(inputs[k : k + most]) for k in range(0, len(inputs), most)])


def short(text: str, most: int) -> str:
    """A text on one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def evenly(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most `most` of the rows, evenly spread, the first and the last among them."""
    some: NDArray[Any] = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))]
    return some


# ---- Resuming from a file: its settings replace flags that were not given


def resumed(options: Chosen, **held: Callable[[Path], tuple[int, ...]]) -> Chosen:
    """The options; with ``--load``, the file's settings and architecture replace flags that were not given.

    Each function of `held` reads the option of its name from the file.

    Raises
    ------
    InputError, FileFormatError
        A flag contradicts the file, or the file has another network.
    """
    if options.load is None:
        return options
    found = {name: find(options.load) for name, find in held.items()}
    for name, numbers in found.items():
        own = getattr(options, name)
        if options.given(name) and own != numbers:
            said, other = (",".join(map(str, some)) or "none" for some in (own, numbers))
            holds = f"whose hidden layers are: {other}" if name == "hidden" else f"which has {other}"
            raise InputError(f"--{name} {said} contradicts {options.load}, {holds}")
    saved, fields = settings_in(options.load, options.rates), type(options).model_fields
    chosen = getattr(options, "optimizer", None)
    if options.given("optimizer") and saved.get("optimizer", chosen) != chosen:
        raise InputError(f"--optimizer {chosen} contradicts {options.load}, which used {saved['optimizer']}")
    found |= {name: value for name, value in saved.items() if name in fields and not options.given(name)}
    return options.model_copy(update=found)


def with_layers(options: Chosen, units: tuple[int, ...]) -> Chosen:
    """The options of a page's scene with other hidden layers; its one step needs no compiled engine."""
    return options.model_copy(update={"hidden": units, "load": None, "engine": "numpy"})


def settings_in(path: Path, known: Iterable[str]) -> dict[str, Any]:
    """Seed, dtype, optimiser and learning rate of the run that wrote `path`; empty if another program wrote it."""
    saved = read_checkpoint(path)
    if not saved.optimizer:
        return {}
    found: dict[str, Any] = {"seed": saved.seed, "dtype": saved.dtype}
    name = "momentum" if saved.optimizer == "SGD" and saved.hyperparameters.get("momentum") else saved.optimizer.lower()
    if name in known:
        schedule = saved.schedule  # it starts from the rate that --lr gave
        highest = schedule.get("arguments", {}).get("max_lr", schedule.get("base_lrs"))
        found |= {"optimizer": name, "lr": highest[0] if highest else saved.hyperparameters.get("lr")}
    return found


def rows_in(path: Path, first: int = 0, step: int = 2, least: int = 1) -> tuple[int, ...]:
    """The number of units of each layer in a file: the rows of ``0.weight``, ``2.weight``, ... up to the first gap.

    FileFormatError if there are fewer than `least` such layers. ``run.load`` checks whether all of them fit.
    """
    shapes = {name: array.shape for name, array in load_tensors(path)[0].items() if array.ndim > 1}
    names = list(takewhile(shapes.__contains__, (f"{number}.weight" for number in count(first, step))))
    if len(names) < least:
        got = ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())[:8]) or "no weights"
        raise FileFormatError(
            f"{path} has no network of this scene: got {got}; allowed: {first}.weight, {first + step}.weight, ..."
        )
    return tuple(shapes[name][0] for name in names)


def hidden_in(path: Path, first: int = 0) -> tuple[int, ...]:
    """The units of the hidden layers in a file."""
    return rows_in(path, first)[:-1]


# ---- Four samples of two bits each: their table, and how many outputs are right

COUNTS = ("None", "One", "Two", "Three")
Float = NDArray[np.floating]


@dataclass(frozen=True)
class TwoBits:
    """Four samples of two bits (4, 2), their targets (4, 1), and a network's outputs for them.

    ``is_right(outputs, wanted)`` says which outputs are right. `inputs` turns the bits into the network's inputs.
    """

    bits: Float
    wanted: Float
    is_right: Callable[[Float, Float], NDArray[np.bool_]]
    inputs: Callable[[Float], Float] = lambda bits: bits

    def table(self, title: str, wanted: str, computed: str) -> Table:
        """A panel with one row per sample; `wanted` and `computed` name the columns of targets and outputs."""
        words = [(f"{x:.0f}  {y:.0f}", f"{target:.0f}") for x, y, target in np.hstack([self.bits, self.wanted])]
        heads = ("x  y", wanted, computed, "error", "loss")
        return Table(title, SampleRows(self.inputs(self.bits), self.wanted, words), heads)

    def count_right(self, source: Moment | sv.Run) -> int:
        """The number of right outputs, at a moment or now in a run."""
        return int(self.is_right(self.outputs_of(source), self.wanted).sum())

    def outputs_of(self, source: Moment | sv.Run) -> Float:
        """The four outputs (4, 1)."""
        return source.predict(self.inputs(self.bits))

    def claim(self, moment: Moment) -> str:
        """The sentence that says how many of the four are right."""
        count = self.count_right(moment)
        if count == len(self.bits):
            return "All four answers are now right."
        return f"{COUNTS[count]} of the four answers {'is' if count == 1 else 'are'} right."

    def solved(self, moment: Moment) -> bool:
        """Whether all four are right; the loss alone does not tell, it also halves when only some are."""
        return self.count_right(moment) == len(self.bits)


# ---- Tables

STANDARD_INPUT = Path("-")


def read_table(path: Path) -> CsvTable:
    """The table in a file; ``-`` reads standard input.

    Raises
    ------
    InputError, FileFormatError
    """
    if path != STANDARD_INPUT:
        return read_csv(path)
    if sys.stdin is None:
        raise InputError("--csv -: there is no standard input; name a file")
    return parse_csv(decoded(sys.stdin.buffer.read(LARGEST + 1), "standard input"), "standard input")
