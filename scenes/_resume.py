"""Going on from a file: what it says about the run stands in for flags that were not given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from scalarviz.errors import FileFormatError
from scalarviz.io import load_tensors
from scalarviz.run.checkpoint import Checkpoint, read_checkpoint

from .options import SceneOptions

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
