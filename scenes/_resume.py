"""Going on from a file: what it says about the run stands in for flags that were not given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalarviz.errors import FileFormatError
from scalarviz.io import load_tensors
from scalarviz.run.checkpoint import read_checkpoint


def settings_in(path: Path, optimizers: Mapping[str, tuple[type, float]]) -> dict[str, Any]:
    """Seed, dtype, optimiser and learning rate of the run that wrote `path`; empty for another program's file."""
    saved = read_checkpoint(path)
    if not saved.optimizer:
        return {}
    found: dict[str, Any] = {"seed": saved.seed, "dtype": saved.dtype}
    for name, (kind, _) in optimizers.items():
        if kind.__name__ == saved.optimizer:
            found |= {"optimizer": name, "lr": saved.hyperparameters.get("lr")}
    return found


def hidden_sizes_in(path: Path, inputs: int, outputs: int) -> tuple[int, ...]:
    """The units of the hidden layers of the network in a file, from the shapes of ``0.weight``, ``2.weight``, ...

    Raises
    ------
    FileFormatError
        If the file holds no chain of layers from `inputs` numbers to `outputs`.
    """
    tensors, _ = load_tensors(path)
    found = {int(m[1]): a.shape for n, a in tensors.items() if (m := re.fullmatch(r"(\d+)\.weight", n))}
    shapes = [found[number] for number in sorted(found)]
    sizes = [inputs, *(shape[0] for shape in shapes if len(shape) == 2)]
    fits = shapes == list(zip(sizes[1:], sizes[:-1], strict=True)) and sizes[-1] == outputs
    if not shapes or not fits or sorted(found) != list(range(0, 2 * len(shapes), 2)):
        raise FileFormatError(
            f"{path} holds no network of this scene: wanted 0.weight, 2.weight, ... from {inputs} inputs to {outputs} "
            f"outputs, got {', '.join(f'{n}.weight {found[n]}' for n in sorted(found)) or 'none of them'}"
        )
    return tuple(sizes[1:-1])
