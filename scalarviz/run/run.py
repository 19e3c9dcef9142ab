"""`Run`: training as something that can be stepped, looked at and saved."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from threading import Event
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import explained
from ..checks import function, integer, one_of, position
from ..engine.cost import processors
from ..engine.problem import DTYPES, HALF, SAMPLINGS, Limits, Problem, Sampling
from ..engine.table import choose, known
from ..errors import StateError, UnknownAttributeError, shown
from ..nn._losses import batch_reduction, batch_shares
from ..scalar.store import Gate, Store
from ..tape import Plan
from .breaking import Breaking
from .callbacks import CallingBack
from .checks import as_pair, batch_of, check_run, limits_of, of_values, positive, sample_shape, seed_of
from .core.data import Dataset, data_of
from .core.gather import release, weight_name
from .core.graph import Graph, recorded, weights_of
from .core.history import History
from .core.loss_scale import Given, loss_scale_of
from .core.optimizer import columns_of, flat_state, hand_back, record_rules, record_update
from .core.training import Training, handed_on, in_turn
from .editing import Editing
from .engines import Engines
from .keeping import Keeping
from .looking import Looking
from .opened.opening import Asking
from .past.timeline import Timeline
from .questions.breakpoints import Breakpoints
from .regraph import take_over
from .run_traveller import RunTraveller
from .travel import Travel

_STEPS = "run.step(n) does n steps; an epoch has N // batch_size of them"
_CALLS = {
    "loss_function": "run.change(loss=...)",
    "seed": "run.restart(seed=...) for other weights, or a new Run(..., seed=...) for another order of the samples",
    "dtype": "a new Run(..., dtype=...)",
    "threads": "a new Run(..., threads=...)",
    "device": "run.change(engine=...)",
    "learning_rate": "run.lr = ...",
    "values": "run.set_weights(start, numbers)",
    "weights": "run.set_weights(start, numbers)",
    "steps": "run.step(n) or run.to(step)",
    "stages": "run.change(model=...)",
    "tensors": "run.change(model=...)",
    "breakpoints": "run.break_on(condition)",
    "data": "run.refill(inputs, targets)",
    "inputs": "run.refill(inputs, targets)",
    "targets": "run.set_targets(targets)",
}
"""By attribute, what changes it where :meth:`Run.change` has no argument of that name."""


class Run(Engines, Editing, Keeping, Looking, Asking, Travel, Breaking, CallingBack):
    """Model + loss + optimiser + data, trained by one engine.

    Parameters
    ----------
    model : nn.Module or callable
        A module, or any function of a list of Values that returns one or several: lists, tuples, dicts of them, nested.
    loss : callable
        ``loss(outputs, targets) -> Value`` of one sample: what the model returned, as it is, and a list, which is
        nested where the data is.
        Its ``batch_reduction`` ("mean" without one) says how the losses of a batch are joined, its ``batch_part`` and
        ``batch_shares`` (see :mod:`scalarviz.nn`) by what else than their number a mean divides.
    optimizer : optim.Optimizer
        Holds the weights that are trained; others of the model get gradients only.
    data : (X, Y)
        Arrays (N, n_inputs) and (N, n_targets); one-dimensional means one number a sample. Copied, in the run's
        dtype; bytes and other whole numbers that are smaller stay as they are, and are converted when they are read.
        Not copied: ``np.memmap`` (``np.load(path, mmap_mode="r")``), and objects that have a length, take slices and
        arrays of numbers, and are no arrays (or say their ``chunks``, as those of h5py): the batches of a call are
        read and checked before it. Where a file changed since, that is said, and going back stops at kept moments.
        Pictures N x C x H x W reach the model as nested lists C x H x W; class targets are whole numbers (N,).
    batch_size : int, optional
        Samples a step; default all. With ``sampling="replacement"`` there may be more of them than data.
    sampling : {"epochs", "replacement"}
        ``"epochs"``: a batch of all N is the data in order; else an epoch is ``N // batch_size`` batches in an order
        keyed by `seed`. ``"replacement"``: every sample of every step is drawn out of all N, also keyed by `seed`, so
        that one may be in a batch twice, and a batch of N is not all of them.
    seed : int
    engine : {"auto", "objects", "numpy", "numba", "cuda"}
        ``"cuda:1"`` names a GPU. ``"auto"`` takes one where a step is long enough to repay it, else numba, and NumPy
        where there is none; ``run.engine.why`` says the reason. The first step compiles the kernels that the machine
        does not have yet, which takes some seconds; :meth:`prepare` does it before.
    dtype : {"float16", "float32", "float64"}
        Of the weights and of all arithmetic; weights are rounded to it when the run takes them over. ``"float16"`` is
        PyTorch's mixed precision: the network computes with float16 weights and rows and adds up in float32, the
        optimiser changes float32 weights (:attr:`values`), and frames show what the network computed with.
    l1, l2 : float
        Penalties: the loss of a step has ``l1 * sum(abs(w)) + l2 * sum(w * w)`` on top, over all weights of the model.
        :meth:`evaluate` leaves them out, and so does the gradient that frames show; the optimiser does not.
    clip_norm, clip_value : float, optional
        The gradient of the trained weights, that of the penalties included, is scaled down to this length where it is
        longer, then each number cut to ``-clip_value .. clip_value``: PyTorch's ``clip_grad_norm_``, ``_value_``.
    loss_scale : "dynamic" or int, optional
        With ``dtype="float16"`` alone: what the loss is multiplied by on the way back, so that small gradients are not
        rounded to 0. ``"dynamic"`` (None) begins at 65,536, doubles after 2,000 good steps, and is halved at a step
        whose gradient is not finite, which changes no weight: PyTorch's ``GradScaler``. A whole number stays; 1 shows
        what goes wrong without.
    threads : int or None
        How many the engine may use, None for as many as there are processors; ``run.engine`` says how many it does
        use. Two pay for large steps while nothing is drawn beside them, and change no bits.

    Raises
    ------
    InputError
        Shapes that do not fit, data that is not finite, a batch larger than the data, an optimiser that
        overrides ``step()``.
    TracingError
        The model asks a Value for its number.

    Notes
    -----
    A Weight belongs to one live Run: a new Run takes it over, objects that are held follow, and the old Run
    raises at its next step. :meth:`close` returns the weights to stand-alone float64.
    """

    seed: int

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:1] != "_" and not _can_be_set(self, name):
            raise _not_set(self, name)
        object.__setattr__(self, name, value)

    @explained({"device": "it is engine= here", "epochs": _STEPS, "optim": "it is called optimizer"}, "Run")
    def __init__(
        self,
        model: Callable[..., Any],
        loss: Callable[..., Any],
        optimizer: Any,
        data: tuple[ArrayLike, ArrayLike],
        *,
        batch_size: int | None = None,
        sampling: Sampling = "epochs",
        seed: int = 0,
        engine: str = "auto",
        dtype: str = "float32",
        l1: float = 0.0,
        l2: float = 0.0,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        loss_scale: Given = None,
        threads: int | None = 1,
    ) -> None:
        self._threads = processors() if threads is None else integer("threads", threads, 1)
        one_of(dtype, (HALF, *DTYPES), "dtype")
        of_values(model, "model")
        of_values(loss, "loss")
        inputs, targets = as_pair(data)
        self._shapes = sample_shape(inputs, data[0]), sample_shape(targets, data[1])
        vars(self).update(seed=seed_of(seed), dtype=dtype)
        self._loss_scale = loss_scale_of(loss_scale, dtype)
        self._stored = "float64" if dtype == "float64" else "float32"
        batch = batch_of(batch_size, len(inputs), one_of(sampling, SAMPLINGS, "sampling"))
        limits = limits_of(l1, l2, clip_norm, clip_value)
        update = record_update(optimizer, limits)
        check_run(sum(b.size for b in weights_of(model, optimizer)), self._stored, len(optimizer.state), known(engine))
        graph = recorded(self, model, loss, optimizer, self._shapes)
        graph.check("data", inputs, targets)
        self._choice = choose(engine, self._stored, graph.plan, update, batch)
        check_run(graph.tape.n_parameters, self._stored, len(optimizer.state), self._choice.name)  # auto has chosen
        whole = sampling == "epochs" and batch == len(inputs)
        data_set = Dataset(data_of(graph, self._stored, whole, inputs, targets))
        self._put_on(graph)
        before = [block.flat_value for block in graph.blocks]
        self._stands = Event()  # other threads find the run by its weights, and wait until it is made
        try:
            take_over(self, graph.blocks, partial(self._begin, update, data_set, (batch, sampling), limits, before))
        finally:
            self._stands.set()

    def _begin(
        self,
        update: Plan,
        data: Dataset,
        batch: tuple[int, Sampling],
        limits: Limits,
        before: Sequence[Any],
        store: Store,
    ) -> None:
        graph, self._store = self._graph, store
        self._taken_by: Run | None = None
        self._closed = False
        self._callbacks = []
        try:
            problem = self._problem(update, data, batch, limits)
            vars(self).update(breakpoints=Breakpoints(), problem=problem)
            self._training = Training(
                self.problem, self._first_trainer(self.problem), graph.held, graph.optimizer.lr_pace, graph.name_of,
                self._loss_scale,
            )  # fmt: skip
        except BaseException:  # the weights are not left to a run that there is not, nor rounded by it
            release(graph.blocks, store)
            for block, values in zip(graph.blocks, before, strict=True):
                block.flat_value[:] = values
            raise
        self._traveller = RunTraveller(self)
        vars(self).update(timeline=Timeline(self._traveller, self._training.history))
        self._attach()

    # ---- building

    def _put_on(self, graph: Graph) -> None:
        """What a graph says of a run is what the run says."""
        self._graph = graph
        vars(self).update(
            model=graph.model, loss_function=graph.loss, optimizer=graph.optimizer, tensors=graph.tensors,
            stages=graph.forward.stages,
        )  # fmt: skip
        self._tape, self._forward = graph.tape, graph.forward
        self._trained = graph.trained
        graph.put_activations()

    def _attach(self) -> None:
        """The optimiser asks this run, and gets its numbers at the end of it."""
        self.optimizer.attach(self._optimizer_edited, self._optimizer_asked, self._scheduled)
        self._left = weakref.finalize(self, hand_back, self.optimizer, self._tape, self.problem, self._training)
        self._left.atexit = False

    @in_turn
    def _in_turn(self, function: Callable[[], Any]) -> Any:
        return function()

    def _problem(self, update: Plan, data: Dataset, batch: tuple[int, Sampling], limits: Limits) -> Problem:
        self._dataset = data
        return Problem(
            plan=self._graph.plan,
            update=update,
            store=self._store,
            state=flat_state(self.optimizer, self._tape, self._stored),
            data=data.joined(),
            batch=batch[0],
            sampling=batch[1],
            seed=self.seed,
            reduction=batch_reduction(self.loss_function),
            share=batch_shares(self.loss_function),
            trained=np.zeros(self._tape.n_parameters, bool),
            previous=self._store.value.copy(),
            t_start=self.optimizer.steps,
            threads=self._threads,
            limits=limits,
            columns=columns_of(self.optimizer, self._tape, self._stored),
            rules=record_rules(self.optimizer, limits),
            n_weights=self._graph.n_weights,
            tape=self._tape if self._loss_scale is not None else None,
        )

    # ---- training

    @handed_on
    def step(self, n: int = 1, *, progress: Callable[[Run], bool | None] | None = None) -> None:
        """Do `n` training steps.

        Parameters
        ----------
        n : int
            At least 0.
        progress : callable, optional
            Called after every chunk of steps (at most about 0.1 s apart) with the run; returning False stops.

        Raises
        ------
        DivergedError
            A loss or weight is no longer finite. The run stands at the first such step and its history holds
            it; the message names the step and the first weight.
        StateError
            The run is closed, or another Run took its weights; or a function of :meth:`on_step` has raised.

        Notes
        -----
        How the steps are cut into chunks changes no bit. A breakpoint (:meth:`break_on`) ends them earlier; then
        :attr:`stopped_by` says which.
        """
        left = integer("n", n, 0)
        if progress is not None:
            function(progress, "step: progress")
        if left > 0 and not self.ready:
            self._check_live()
            self.prepare()  # Ctrl-C ends it at once; inside a step it would wait
        while left > 0:
            self._check_live()
            left -= self._advance_to_callback(left)
            if (gate := self._store.gate) is not None:
                gate.answer()
            if (progress is not None and progress(self) is False) or self._stop is not None:
                return

    def _check_live(self) -> None:
        if self._closed:
            raise StateError("this Run is closed; its weights are stand-alone again: make a new Run")
        if self._taken_by is not None:
            raise StateError(f"another Run took over the weights of this one ({self._taken_by!r}); step that one")
        self._check_stands()

    def _check_stands(self) -> None:
        if self.timeline.away:
            away = f"the run is on its way {self.timeline.away}: nothing can be done with it until it stands."
            raise StateError(f"{away} A progress function gives that up by returning False")

    @property
    def call_seconds(self) -> float:
        """Wall time that one engine call should take; `progress` and edits wait that long at most."""
        return self._training.call_seconds

    @call_seconds.setter
    def call_seconds(self, seconds: float) -> None:
        self._training.call_seconds = positive(seconds, "call_seconds")

    # ---- touching

    @property
    def values(self) -> NDArray[Any]:
        """The live flat values (P,) of `tensors`, beside a training thread a copy; :meth:`set_weights` changes them."""
        gate = self.gate
        if gate is not None and not gate.mine():
            return gate.values(slice(0, len(self._store.value)))
        self._lend()
        return self._store.value

    def _lend(self) -> None:
        """A view of the live numbers is handed out: what is written through it is found at the next entry."""
        self.timeline.begin()
        self._traveller.lend()

    @in_turn
    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of the inputs (N, n_inputs) and targets (N, n_targets), in the run's dtype."""
        n, m = self._tape.n_inputs, self._tape.n_targets
        return self.problem.data[:n].T.copy(), self.problem.data[n : n + m].T.copy()

    def sample(self, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Inputs (n_inputs,) and targets (n_targets,) of one sample, as they are trained on; OutOfRangeError: none."""
        n, data = self._tape.n_inputs, self.problem.data
        numbers = data[: n + self._tape.n_targets, position(index, data.shape[1], "the samples")].astype(np.float64)
        return numbers[:n], numbers[n:]

    @property
    def gate(self) -> Gate | None:
        """What stands before the weights while a thread trains them; see :class:`scalarviz.run.worker.Worker`."""
        return self._store.gate

    @gate.setter
    def gate(self, gate: Gate | None) -> None:
        self._store.gate = gate

    # ---- looking

    @property
    def steps(self) -> int:
        """Training steps done."""
        return self._training.steps

    @property
    def history(self) -> History:
        """Step, loss and learning rate of every step of this branch, those after the step of now included."""
        return self._training.history

    @property
    def loss(self) -> float:
        """Loss of the last step, at the values before its update; NaN before the first."""
        return self._training.loss

    @property
    def steps_per_second(self) -> float:
        """Speed of the engine so far, drawing left out; NaN before its first step."""
        return self._training.steps_per_second

    @property
    def n_inputs(self) -> int:
        """Numbers that the model takes from one sample."""
        return self._tape.n_inputs

    @property
    def n_weights(self) -> int:
        """Number of scalar parameters: the first so many of the flat numbers, buffers stand behind them."""
        return self.problem.n_weights

    def weight_name(self, index: int) -> str:
        """Name of the scalar at flat `index`, as ``0.weight[4][2]``."""
        return weight_name(self.tensors, position(index, len(self._store.value), "the weights"))

    # ---- the end

    @in_turn
    def close(self) -> None:
        """Return the weights, as they are where the run stands, to stand-alone float64; the past is let go of.

        Looking at the numbers of that step stays possible; stepping and going back do not.

        Raises
        ------
        StateError
            It is called by a function that is told of the way to another step.
        """
        self._check_stands()
        if not self._closed:
            self._closed = True
            self._hand_over()
            release(self._tape.blocks, self._store)

    def _hand_over(self, taker: Run | None = None) -> None:
        """Give the optimiser its state, so that `taker` or a hand-written loop can go on."""
        if self._taken_by is None:
            self.optimizer.attach(None)
            self._left()
            self._training.trainer.release()
            self._end_callbacks()
            self.timeline.close()
            self._taken_by = taker

    @in_turn
    def _optimizer_asked(self) -> None:
        """State and steps of the optimiser are read from outside."""
        hand_back(self.optimizer, self._tape, self.problem, self._training)

    def __reduce__(self) -> NoReturn:
        raise StateError("a Run cannot be copied: copy its model, or save(path) and load(path) in another Run")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if "_training" not in self.__dict__:
            return "Run(being made)"  # the run that it takes its weights from may name it
        return f"Run({self.n_weights} weights, step {self.steps}, loss {self.loss:.4g}, {self.engine})"


def _can_be_set(run: Run, name: str) -> bool:
    """Whether assigning to a public attribute does something: it is an edit, or what a subclass has in its body."""
    known: Any = inspect.getattr_static(type(run), name, None)
    if isinstance(known, property):
        return known.fset is not None
    return known is not None and not hasattr(type(known), "__get__")


def _not_set(run: Run, name: str) -> UnknownAttributeError:
    """The error for an assignment to an attribute of a run that changes nothing."""
    changed = dict.fromkeys(inspect.signature(run.change).parameters)
    changed |= dict.fromkeys(run.optimizer.hyperparameters())
    if name in _CALLS or name in changed:
        how = _CALLS.get(name) or f"run.change({name}=...)"
        return UnknownAttributeError(f"run.{name} cannot be set; use {how}")
    if name in dir(run):
        return UnknownAttributeError(f"run.{name} cannot be set; it is the Run's own")
    near = get_close_matches(name, [*(n for n in dir(run) if n[0] != "_"), *changed, *_CALLS], 1, 0.7)
    meant = f"did you mean {near[0]!r}?" if near else "a class of your own has its attributes in its body"
    return UnknownAttributeError(f"a Run has no attribute {shown(name)}, nothing would read it; {meant}")
