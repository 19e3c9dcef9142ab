"""A run on disk: weights, optimiser state and step, in one safetensors file with PyTorch's names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..errors import FileFormatError, InputError
from ..io.weights import OPTIMIZER, load_tensors, save_tensors, under

if TYPE_CHECKING:
    from .run import Run

KEY = "scalarviz.run"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a file of weights holds.

    Attributes
    ----------
    tensors : dict of str to ndarray
        By the names of ``named_parameters``.
    optimizer_state : dict of str to ndarray
        By ``"<state>.<tensor>"``; empty for a file of another program.
    steps, seed : int
    dtype : str
        Empty for a file of another program.
    optimizer : str
        Class name; empty for a file of another program.
    hyperparameters : dict
        Of the optimiser.
    notes : dict of str to str
        What the writer added.
    """

    tensors: dict[str, NDArray[Any]]
    optimizer_state: dict[str, NDArray[Any]]
    steps: int
    seed: int
    dtype: str
    optimizer: str
    hyperparameters: dict[str, Any]
    notes: dict[str, str]


def save_run(run: Run, path: str | Path, notes: Mapping[str, str] | None = None) -> None:
    """Write weights, optimiser state and step of `run`, whole or not at all.

    Parameters
    ----------
    run : Run
    path : path
    notes : mapping of str to str, optional
        Text that comes back in :attr:`Checkpoint.notes`.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    about = {
        "steps": run.steps,
        "seed": run.seed,
        "dtype": run.dtype,
        "optimizer": type(run.optimizer).__name__,
        "hyperparameters": run.optimizer.hyperparameters(),
        "notes": dict(notes or {}),
    }
    state = {OPTIMIZER + name: array for name, array in run.optimizer_state().items()}
    save_tensors(path, {**run.state_dict(), **state}, {KEY: json.dumps(about)})


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read what `save_run` or another program wrote.

    Raises
    ------
    InputError, FileFormatError
        No such file, or not one of weights, or damaged.
    """
    tensors, metadata = load_tensors(path)
    state = under(OPTIMIZER, tensors)
    weights = {name: array for name, array in tensors.items() if not name.startswith(OPTIMIZER)}
    try:
        about = json.loads(metadata.get(KEY, "{}"))
        return Checkpoint(
            tensors=weights,
            optimizer_state=state,
            steps=int(about.get("steps", 0)),
            seed=int(about.get("seed", 0)),
            dtype=str(about.get("dtype", "")),
            optimizer=str(about.get("optimizer", "")),
            hyperparameters=dict(about.get("hyperparameters", {})),
            notes={str(k): str(v) for k, v in about.get("notes", {}).items()},
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{path}: its description of the run cannot be read ({error})") from None


def load_run(run: Run, path: str | Path, *, optimizer: bool = True) -> Checkpoint:
    """Let `run` go on from a file: weights, step count and, with `optimizer`, the optimiser's state.

    Raises
    ------
    InputError
        Tensors are missing, unexpected or misshapen (all are listed), or the optimiser is another one.
    """
    saved = read_checkpoint(path)
    own = type(run.optimizer).__name__
    if optimizer and saved.optimizer and saved.optimizer != own:
        raise InputError(
            f"{path} was trained with {saved.optimizer}, this run uses {own}; use {saved.optimizer}, or load with "
            "optimizer=False to keep the weights and the step alone"
        )
    run.restore(saved.tensors, saved.optimizer_state if optimizer else {}, saved.steps)
    return saved
