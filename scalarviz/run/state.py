"""`State`: a whole run at one moment between two steps; `Checkpoint`: the part of it in a file.

Random numbers follow from the step, so nothing else is needed to continue with the same bits. Arrays that the run
writes to are copied; data, functions and the traced graph, which are never written to, are referred to.

A checkpoint is one safetensors file with PyTorch's names: weights, optimiser state, step and training settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..checks import mapping, text
from ..engine.problem import DTYPES, HALF, TINY
from ..engine.table import EngineChoice, lost
from ..errors import FileFormatError, InputError, MissingDependencyError, StateError, TypeMismatchError, listing, shown
from ..io.atomic import StrPath, as_path, check_target, path_text, write_bytes
from ..io.pictures import FORMATS
from ..io.weights import OPTIMIZER, OURS, entries_under, load_tensors, parse_json, save_tensors
from ..nn import Module
from ..onnx.graph import MISSING
from .core.gather import asked, constants_of, without_constants
from .core.graph import Graph
from .core.optimizer import SCALE_NAME, by_name
from .core.optimizer import restore as put_by_name
from .core.setup import CHECKS, Dataset, Setup, checked_keep, plain, read, setup_of, storable, written
from .core.training import Training, in_turn
from .transaction import Transaction
from .validation import seed_of, steps_of

if TYPE_CHECKING:
    from .run import Run


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A moment of a run: ``run.state()`` returns one, ``run.take(state)`` goes back to it.

    Attributes
    ----------
    step : int
        Steps done.
    loss : float
        Loss of the last step.
    values : ndarray
        The weights, (P,).
    setup : Setup
        Training settings of the run.
    place : Place or None
        Its place on the run's timeline.
    """

    step: int
    loss: float
    lr: float | None  # the rate of the last step, None before the first
    values: NDArray[Any]  # (P,), as all arrays below
    computed: NDArray[np.uint8]
    frozen: NDArray[np.uint8]
    gathered: Mapping[str, NDArray[Any]]  # optimiser state, by name
    edited: bool
    setup: Setup
    graph: Graph
    engine: EngineChoice
    data: Dataset
    data_version: int  # how often external data was found changed
    # left by the last step; None in a keyframe: one more step brings it
    gradient: NDArray[Any] | None = None
    previous: NDArray[Any] | None = None
    update: NDArray[Any] | None = None  # if weights were set from outside since
    # of the model's modules, by name; None in a timeline's keyframe: they stay
    buffers: Mapping[str, NDArray[Any]] | None = None
    modes: Mapping[str, bool] | None = None
    place: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it alone holds, without data."""
        own = (self.values, self.computed, self.frozen, self.gradient, self.previous, self.update)
        arrays = (*own, *self.gathered.values(), *(self.buffers or {}).values())
        return sum(array.nbytes for array in arrays if array is not None)

    def check(self, run: Run) -> None:
        """Raise InputError if `run` cannot go back to it; nothing is changed."""
        if self.graph.of() is not run:
            raise InputError("the state belongs to another Run; use a state from run.state() of this Run")
        if self.setup.seed != run._problem.seed:
            raise InputError(f"the state has seed {self.setup.seed}, this run has seed {run._problem.seed}")
        if not lost(self.engine.name):
            run._access.check_engine(self.engine.name)
        if self.buffers is not None:
            _check_buffers(constants_of(self.graph.model), self.buffers)
        modules = dict(asked(self.graph.model, "named_modules"))
        if self.modes is not None and self.modes.keys() != modules.keys():
            raise InputError(f"the state's model has other modules: {listing(sorted(self.modes))}")

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self  # it never changes

    def __reduce__(self) -> NoReturn:
        raise StateError("a State cannot be pickled; run.save(path) writes weights and optimiser state")


def _check_buffers(own: Mapping[str, NDArray[Any]], kept: Mapping[str, NDArray[Any]]) -> None:
    other = [name for name in kept if name not in own or not np.array_equal(own[name], kept[name], equal_nan=True)]
    if other or len(own) != len(kept):
        raise InputError(
            f"the model's buffers {listing(other or sorted(set(own) ^ set(kept)))} differ from the state's, but are "
            "constants of its recorded graph; restore the buffers first"
        )


def keyframe(run: Run) -> State:
    """Return the part of the state that the next step needs."""
    setup, data = setup_of(run._problem, run.optimizer), run._dataset
    return keyframe_of(run._training, run.optimizer.state, setup, run._graph, run._choice, data, data.version)


def keyframe_of(
    training: Training, names: Iterable[str], setup: Setup, graph: Graph, engine: EngineChoice, data: Dataset,
    files: int,
) -> State:  # fmt: skip
    """Return the keyframe of a training; `names` are those of its optimiser's arrays."""
    store = training.problem.store
    gathered = {name: array.copy() for name, array in zip(names, training.problem.state, strict=True)}
    return State(
        training.steps, training.loss, training.lr, store.value.copy(), store.computed.copy(), store.frozen.copy(),
        gathered, training.edited, setup, graph, engine, data, files,
    )  # fmt: skip


def whole_state(run: Run) -> State:
    """Return a keyframe with the last step's gradient and update."""
    gradient, previous = run._store.grad.copy(), run._problem.previous.copy()
    return replace(keyframe(run), gradient=gradient, previous=previous, update=run._training._update)


@in_turn
def of_now(run: Run) -> State:
    """Return the whole state of the run, and its place on the timeline."""
    run._check_stands()
    run.timeline.enter()
    modes = {name: module.training for name, module in asked(run.model, "named_modules")}
    place = run.timeline.place()
    place.line.settle(place.edits)  # someone may come back here
    return replace(whole_state(run), buffers=constants_of(run.model), modes=modes, place=place)


@in_turn
def take(run: Run, state: State) -> None:
    """Go back to a state of this run, on a new branch."""
    run._enter()
    if not isinstance(state, State):
        raise TypeMismatchError(f"run.take: expected a State from run.state(), got {shown(state)}")
    with Transaction(run, lines=True), run.timeline.jump("return to a saved state", state.place):
        put_state(run, state)


def put_state(run: Run, state: State) -> None:
    """Set the run to a state; parts that the state lacks stay."""
    state.check(run)
    with Transaction(run) as change:
        run._access.put_graph(state.graph)
        _put_engine(run, state.engine)
        if state.data is not run._dataset:
            run._access.put_data(state.data)
        run._access.put_batch(state.setup.batch_size, state.setup.sampling)
        put_setup(run, state.setup)
        if state.modes is not None:
            for name, module in asked(state.graph.model, "named_modules"):
                change.refer(module)
                module.training = state.modes[name]
        put_numbers(run._training, state, change.keep)


def put_setup(run: Run, setup: Setup) -> None:
    """Set the training settings of `run` from its next step on; the data stays."""
    run._access.put_limits(setup.limits)
    run._access.put_moment(setup.groups, setup.pace)
    run._problem.t_start = setup.before


def _put_engine(run: Run, engine: EngineChoice) -> None:
    if engine.name != run._choice.name:
        if lost(engine.name):  # the replacing engine stays
            return
        run._access.put_engine(engine.name, engine.why)
    run._choice = engine


def put_numbers(training: Training, state: State, keep: Callable[[NDArray[Any]], None] | None = None) -> None:
    """Set a training with the same graph to a state; `keep` is called with each array before it is overwritten."""
    problem, store = training.problem, training.problem.store
    arrays = (store.value, store.grad, problem.previous, store.computed, store.frozen)
    given = (state.values, state.gradient, state.previous, state.computed, state.frozen)
    for array, kept in zip(arrays, given, strict=True):
        if kept is not None:
            if keep is not None:
                keep(array)
            np.copyto(array, kept)
    problem.state = [array.copy() for array in state.gathered.values()]
    store.revision += 1
    training._revision, training.data_changed, training.flags_changed = store.revision, state.edited, True
    training._update = state.update  # never written to
    training.set_position(state.step, state.loss, state.lr)


Rule = tuple[Setup, NDArray[np.bool_] | None]
KEY = OURS + "run"
RULE = ("groups", "members", "momenta", "initial", "limits", "before", "frozen", "schedule")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The content of a file of weights.

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
        Numbers of the optimiser.
    schedule : dict
        Learning-rate schedule: its class ``"kind"``, its current ``"state"`` and, if they are numbers, its
        ``"arguments"``; empty without one.
    rule : dict
        Training settings, the schedule included: ``"groups"`` (numbers of each parameter group), ``"members"``,
        ``"momenta"``, ``"initial"``, ``"limits"``, ``"before"``, ``"frozen"``; empty for a file of another program.
    notes : dict of str to str
        Notes of the writer.
    """

    tensors: dict[str, NDArray[Any]]
    optimizer_state: dict[str, NDArray[Any]]
    steps: int = 0
    seed: int = 0
    dtype: str = ""
    optimizer: str = ""
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    schedule: dict[str, Any] = field(default_factory=dict)
    rule: dict[str, Any] = field(default_factory=dict)


_ENTRIES = [one.name for one in fields(Checkpoint) if one.name not in ("tensors", "optimizer_state", "rule")]


PICTURE = "sv.view.save_png(sv.render(run), path) writes a picture"
OTHER_FILES = {
    **dict.fromkeys((*FORMATS, ".svg"), PICTURE),
    ".html": "sv.Recording(run) records a run, and its save_html(path) writes a page",
    **dict.fromkeys((".mp4", ".gif"), "sv.film(run, path) writes a film"),
    **dict.fromkeys((".pt", ".pth"), "torch.save(net.state_dict(), path) writes a file of PyTorch's"),
    **dict.fromkeys((".npz", ".npy"), "np.savez(path, **net.state_dict()) writes NumPy's arrays"),
    **dict.fromkeys((".pkl", ".pickle"), "pickle.dump(net.state_dict(), file) writes a pickle"),
    ".onnx": "run.to_onnx(path) writes the network",
    ".svz": "sv.Recording(run, path=path) records a run",
}
"""Endings of files that `save` does not write, and how to write these."""


def save_run(run: Run, path: str | Path, notes: Mapping[str, str] | None = None) -> None:
    """Write weights, optimiser state and step of `run` atomically.

    Parameters
    ----------
    run : Run
    path : path
    notes : mapping of str to str, optional
        Text that comes back in :attr:`Checkpoint.notes`.

    Raises
    ------
    InputError
        The file cannot be written, or its name ends like another kind of file.
    """
    suffix = as_path(path).suffix.lower()
    if (other := OTHER_FILES.get(suffix)) is not None:
        raise InputError(
            f"save writes a run's weights and state, but {path_text(path)} ends like another kind of file; use a name "
            f"such as 'run.safetensors'; {other}"
        )
    for name, note in mapping({} if notes is None else notes, "save: the notes").items():
        text(note, f"save: the note {shown(name)}")
    state = {OPTIMIZER + name: array for name, array in optimizer_state(run).items()}
    save_tensors(path, {**run.state_dict(), **state}, {KEY: training_entries(run, notes)})


def training_entries(run: Run, notes: Mapping[str, str] | None = None) -> str:
    """Return everything about `run` except weights and optimiser arrays, as JSON."""
    about = {
        "steps": run.steps,
        "seed": run.seed,
        "dtype": run.dtype,
        "optimizer": type(run.optimizer).__name__,
        "hyperparameters": {name: plain(number) for name, number in run.optimizer.hyperparameters().items()},
        **written(run._problem, run._graph),
        "notes": {str(key): str(text) for key, text in (notes or {}).items()},
    }
    return json.dumps(about)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a file that `save_run` or another program wrote."""
    tensors, metadata = load_tensors(path)
    weights = {name: array for name, array in tensors.items() if not name.startswith(OPTIMIZER)}
    try:
        return checkpoint_of(weights, entries_under(OPTIMIZER, tensors), metadata.get(KEY, "{}"))
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def checkpoint_of(weights: dict[str, NDArray[Any]], state: dict[str, NDArray[Any]], said: str) -> Checkpoint:
    """Return a checkpoint from weights, optimiser arrays, and the JSON of :func:`training_entries`."""
    try:
        about = _check(parse_json(said))
    except RecursionError:
        raise FileFormatError("the description of the run is nested too deeply") from None
    except ValueError as error:
        raise FileFormatError(f"the description of the run is invalid: {error}") from None
    entries = {name: about[name] for name in _ENTRIES if name in about}
    return Checkpoint(weights, state, **entries, rule={name: about[name] for name in RULE if name in about})


def _check(about: Any) -> dict[str, Any]:
    """Check decoded JSON about a run and return it; InputError for the first entry with a wrong type or range."""
    checks: dict[str, Callable[[Any], object]] = {
        "steps": lambda steps: steps_of(steps) >= 0,
        "seed": lambda seed: seed_of(seed) >= 0,
        "dtype": lambda dtype: dtype in ("", HALF, *DTYPES),
        "optimizer": lambda name: isinstance(name, str),
        "hyperparameters": lambda numbers: isinstance(numbers, dict) and all(map(storable, numbers.values())),
        "notes": lambda notes: isinstance(notes, dict) and all(isinstance(text, str) for text in notes.values()),
        **CHECKS,
    }
    if not isinstance(about, dict):
        raise InputError(f"expected names and values, got {shown(about)}")
    for name, fits in checks.items():
        if name in about and not fits(about[name]):
            raise InputError(f"{name} cannot be {shown(about[name])}")
    lr = about.get("hyperparameters", {}).get("lr", 0.0)
    if isinstance(lr, bool) or not isinstance(lr, int | float) or lr < 0:
        raise InputError(f"lr must be a number of at least 0, got {shown(lr)}")
    return about


# ---- numbers by name


@in_turn
def state_dict(run: Run) -> dict[str, NDArray[Any]]:
    """Return copies of every tensor and of the model's buffers, by name."""
    return {t.name: t.stored(run._store.value) for t in run._graph.kept} | constants_of(run.model)


@in_turn
def optimizer_state(run: Run) -> dict[str, NDArray[Any]]:
    """Return copies of the optimiser's state by ``"<state>.<tensor>"``."""
    return by_name(run.optimizer, run._problem.state, run._graph.kept)


@in_turn
def restore(
    run: Run, tensors: dict[str, NDArray[Any]], optimizer_state: dict[str, NDArray[Any]], steps: int,
    rule: Rule | None = None,
) -> None:  # fmt: skip
    """Set saved values (all, by name), the optimiser's state and the step count, on a new branch.

    `rule` holds the training settings, and which weights are frozen.
    """
    run._enter()
    steps = steps_of(steps)
    mapping(tensors, "restore: the tensors")
    mapping(optimizer_state, "restore: the optimiser's state")
    with Transaction(run, lines=True) as change, run.timeline.jump(f"loaded step {steps:,}"):
        if rule is not None:
            setup, frozen = rule
            put_setup(run, setup)
            if frozen is not None:
                run._access.put_frozen(0, frozen)
        targets = {"": run._store.value}
        if optimizer_state:
            targets |= {f"{n}.": a for n, a in zip(run.optimizer.state, run._problem.state, strict=True)}
        for array in (*targets.values(), run._problem.previous):
            change.keep(array)
        tensors = _with_own_scale(run, without_constants(run.model, tensors))
        put_by_name(run._graph.kept, targets, {**tensors, **optimizer_state})
        run._problem.previous[:], run._training._update = run._store.value, None
        run._store.revision += 1
        run._training.set_position(steps)


def _with_own_scale(run: Run, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return saved values with a loss scale that fits the run: the current one if it is fixed or none is saved."""
    own = [tensor.stored(run._store.value) for tensor in run._graph.kept if tensor.name == SCALE_NAME]
    if run._loss_scale is None:
        return tensors if own else {name: array for name, array in tensors.items() if name != SCALE_NAME}
    (now,) = own
    saved = tensors.get(SCALE_NAME, now)
    fixed = run._loss_scale.fixed and np.shape(saved) == now.shape
    return {**tensors, SCALE_NAME: np.array([now[0], *saved[1:]]) if fixed else saved}


def load_run(run: Run, path: str | Path, *, optimizer: bool = True, keep: Collection[str] = ()) -> Checkpoint:
    """Continue `run` from a file: weights, step count and, with `optimizer`, training settings.

    Those are the optimiser's state, the numbers of its parameter groups, penalties and clipping, the schedule with its
    position, and the frozen weights. A run with the same model, data, batch, seed and engine continues bit for
    bit. A file of another program has only weights.

    Parameters
    ----------
    run : Run
    path : path
    optimizer : bool
        False: only weights and step count.
    keep : collection of str
        Settings of the run that stay: names of the optimiser's numbers (``"lr"``), of limits (``"clip_norm"``), or
        ``"schedule"``.

    Raises
    ------
    InputError
        Tensors are missing, unexpected or misshapen (all are listed), the optimiser differs, or a number is
        not finite or too large for the run's dtype. Nothing is changed then.
    """
    keep, saved = checked_keep(keep, run.optimizer), read_checkpoint(path)
    own = type(run.optimizer).__name__
    if optimizer and saved.optimizer and saved.optimizer != own:
        raise InputError(
            f"{path} was trained with {saved.optimizer:.60}, this run uses {own}; use {saved.optimizer:.60}, or load "
            "with optimizer=False to take weights and step only"
        )
    try:
        if optimizer:
            put_checkpoint(run, saved, keep)
        else:
            restore(run, saved.tensors, {}, saved.steps)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return saved


def put_checkpoint(run: Run, saved: Checkpoint, keep: Collection[str] = ()) -> None:
    """Continue `run`, which has the same optimiser, from a checkpoint; see :func:`load_run`."""
    try:
        rule = read(run._problem, run._graph, saved.rule, keep) if "groups" in saved.rule else None
    except TypeMismatchError as error:  # an error in a file is not a caller's mistake
        raise InputError(str(error)) from None
    restore(run, saved.tensors, saved.optimizer_state, saved.steps, rule)


def write_onnx(run: Run, path: StrPath, training: bool) -> None:
    """Write a run's network, or its next step, see :meth:`Run.to_onnx`."""
    problem = replace(run._problem, trained=run._graph.held & (run._store.frozen == 0))
    if not training:
        if not isinstance(run.model, Module):
            raise InputError("to_onnx: the model is a function; make it the forward of an nn.Module")
        return run.model.to_onnx(path, run._shapes[0], dtype=run._stored)
    if run.dtype == HALF:
        raise InputError(
            "to_onnx: training=True writes float32 and float64, not float16; make the Run with dtype='float32'"
        )
    check_target(path)
    if find_spec("onnx") is None:
        raise MissingDependencyError(MISSING)
    from ..onnx.export.training import TrainingStep

    ids, tensors = run._forward.ids, zip(run._tape.blocks, run._graph.kept, strict=True)
    whole = ids.inputs, {*ids.targets, *(target for target, _, _ in run._tape.classes)}
    samples = []
    for name, found, shape in zip(("input", "target"), whole, run._shapes, strict=True):
        chosen = len(found) == prod(shape)
        sides = () if chosen and name == "target" and shape == (1,) else shape  # classes (N,), as in PyTorch
        samples.append((name, "int64" if chosen else run._stored, ("N", *sides)))
    rates: Any = run.optimizer.lr_pace.table(1, problem.epoch)
    lr = rates[0] if np.size(rates) > 1 else np.ravel(rates)[0]
    known = {block: (tensor.name, tensor.of(run._store.value)) for block, tensor in tensors}
    done = problem.t_start + run._training.steps
    write_bytes(path, TrainingStep(problem, known, TINY).encoded(samples, run.optimizer.state, lr, done))
