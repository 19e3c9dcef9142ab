"""`Run`: train a model step by step; inspect it, edit it, go back and save it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import Context
from functools import partial
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import attributes, explained
from ..checks import flag, function, integer, real_array
from ..contexts import Closing
from ..engine.problem import Problem, Sampling
from ..engine.table import EngineChoice
from ..errors import StateError
from ..nn import Activation, _module
from ..optim import Optimizer, Schedule
from ..scalar.store import Store
from ..scalar.weight import Weight
from ..tape import Tape
from . import callbacks, editing, engines, frames, making, state, travel
from .callbacks import Recorder, StepCallback
from .core.frame import Branch, Frame
from .core.graph import Forward, Graph
from .core.history import History
from .core.optimizer import Given, LossScale, spans_in
from .core.setup import Dataset
from .core.tensors import Stage, Tensor
from .core.training import Training, hand_back, in_turn, on_training_thread
from .editing import UNCHANGED, RunAccess, Unchanged
from .edits import AddSamples, Refill, SetFrozen, SetNumbers, SetOptimizer, SetSchedule, SetTargets, SetWeights
from .edits.base import Applied, Edit
from .frames import FrameRequest, Sample
from .opened.network import Network
from .opened.opened import Opened
from .opened.why import MOST, Comparison, Why
from .past.timeline import Progress, Timeline
from .questions.breakpoints import Breakpoint, Breakpoints, Stop
from .questions.conditions import Named
from .state import Checkpoint, State
from .transaction import Transaction
from .travel import Traveller
from .validation import Shape

_STEPS = "run.step(n) does n steps; an epoch has N // batch_size of them"


_ABSENT = {
    "device": "use engine=", "epochs": _STEPS, "steps": _STEPS, "optim": "use optimizer=",
    **dict.fromkeys(("criterion", "loss_fn"), "use loss="), "shuffle": "every epoch has a new order already",
    **dict.fromkeys(("scheduler", "lr_scheduler"), "create StepLR(optimizer, 10) first; the Run steps it"),
    "lr": "give lr= to the optimiser", "max_norm": "use clip_norm=",
}  # fmt: skip
ABSENT = {
    **dict.fromkeys(("backward", "epochs", "fit", "run", "train", "zero_grad"),
                    "run.step(100) does 100 steps: forward, backward and update"),
    **dict.fromkeys(("net", "parameters", "weights"), "use run.model, run.model.parameters(), run.model.weights()"),
    "load_state_dict": "use run.load(path), or run.model.load_state_dict(arrays)",
    "eval": "run.predict(X) and run.evaluate(X, Y) always use evaluation mode",
    **dict.fromkeys(("accuracy", "score"), "use (run.predict(X).argmax(1) == classes).mean()"),
    "losses": "use run.history.loss", "epoch": "run.steps counts the steps",
    **dict.fromkeys(("plot", "show"), "use sv.show(run)"),
}  # fmt: skip
"""Names that people try, and what is said of each."""


class Run(Closing):
    """Model + loss + optimiser + data, trained by one engine.

    Parameters
    ----------
    model : nn.Module or callable
        A module, or any function of an array of Values. It returns one Value, an array, or lists, tuples and dicts.
    loss : callable
        ``loss(outputs, targets) -> Value`` for one sample. The targets are an array with the shape of one target. Its
        attribute ``batch_reduction`` (default "mean") joins the losses of a batch. :mod:`scalarviz.nn` describes
        ``batch_part`` and ``batch_shares``, which give a mean another divisor.
    optimizer : optim.Optimizer
        Holds the trained weights. Other weights of the model get gradients only.
    data : (X, Y), or PyTorch's Dataset or DataLoader
        Arrays (N, n_inputs) and (N, n_targets), or (N,) for one number per sample. Pictures N x C x H x W reach the
        model as arrays C x H x W; class targets are whole numbers (N,). The run copies data in its dtype (bytes
        and small whole numbers unchanged). It reads ``np.memmap`` batch by batch, and so objects with a length that
        take slices and arrays of numbers (or have ``chunks``, as in h5py). If such a file changes, the run reports it,
        and going back stops at kept moments. A Dataset is read once. A DataLoader gives its dataset and batch size; the
        Run draws the batches.
    batch_size : int, optional
        Samples per step; default: all, or the batch size of a DataLoader. With ``sampling="replacement"`` it may exceed
        the number of samples.
    sampling : {"epochs", "replacement"}
        ``"epochs"``: a batch of all N samples is the data in order; otherwise an epoch is ``N // batch_size`` batches
        in an order keyed by `seed`. ``"replacement"``: each step draws every sample from all N, also keyed by `seed`.
    seed : int
    engine : {"auto", "objects", "numpy", "numba", "cuda"}
        ``"cuda:1"`` names a GPU. ``"auto"`` takes a GPU if a step is long enough to repay it, else numba, else NumPy;
        ``run.engine.why`` gives the reason. The first step, or :meth:`prepare`, compiles missing kernels.
    dtype : {"float16", "float32", "float64"}
        Of the weights and of all arithmetic. ``"float16"`` is PyTorch's mixed precision: the network computes in
        float16 and adds up in float32, the optimiser changes float32 weights (:attr:`values`), frames have float16.
    l1, l2 : float
        Penalties: the loss of a step includes ``l1 * sum(abs(w)) + l2 * sum(w * w)`` over all weights of the model.
        :meth:`evaluate` and the gradient in frames leave them out.
    clip_norm, clip_value : float, optional
        The gradient of the trained weights, penalties included, is first scaled down to at most this length. Then
        each number is cut to ``-clip_value .. clip_value``: PyTorch's ``clip_grad_norm_``, ``_value_``.
    loss_scale : "dynamic" or int, optional
        For ``dtype="float16"``: multiplies the loss in the backward pass, so that small gradients do not become 0.
        ``"dynamic"`` (None) is PyTorch's ``GradScaler``: it begins at 65,536 and doubles after 2,000 good steps. A step
        with a gradient that is not finite halves it and changes no weight. A whole number stays.
    threads : int or None
        The most threads that the engine may use; None: all processors. ``run.engine`` says how many it uses. The number
        of threads changes no bit of a result.

    Raises
    ------
    InputError
        Shapes do not fit, data is not finite, the batch exceeds the data, or the optimiser overrides ``step()``.
    TracingError
        The model asks a Value for its number.

    Notes
    -----
    A Weight belongs to one live Run. A new Run takes it over; the old one then raises StateError when it is stepped or
    changed, as a closed Run does. A change that raises has changed nothing.

    Attributes
    ----------
    model, optimizer, loss_function
        As given, or as :meth:`change` set them; setting a number of the optimiser is an edit.
    seed : int
    dtype : str
    tensors : tuple of Tensor
        Name, shape and position of every tensor in the flat values.
    stages : tuple of Stage
        The rows of numbers that the network computes, in order.
    breakpoints : Breakpoints
        The breakpoints that :meth:`break_on` set; ``print(run.breakpoints)`` lists them.
    timeline : Timeline
        The past of the run. ``run.timeline.budget`` limits the bytes of its kept moments.

    Examples
    --------
    >>> net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    >>> X, Y = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]]
    >>> run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y))
    """

    model: _module.Part
    loss_function: Callable[..., Any]
    optimizer: Optimizer
    seed: int
    dtype: str
    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    breakpoints: Breakpoints
    timeline: Timeline

    # training
    _problem: Problem
    _training: Training
    _store: Store
    _graph: Graph
    _tape: Tape
    _forward: Forward
    _trained: Forward
    _dataset: Dataset
    _choice: EngineChoice
    _loss_scale: LossScale | None
    _shapes: tuple[Shape, Shape]
    _stored: str
    _threads: int
    _stands: Event
    _left: weakref.finalize[Any, Any]
    # past, callbacks and state
    _traveller: Traveller
    _callbacks: list[StepCallback]
    _recorders: tuple[Recorder, ...] = ()
    _taken_by: Run | None = None
    _closed = False
    _transaction: Transaction | None = None  # while it is changed
    _said = ""  # how the function that is being called was announced
    # caches
    _calling: StepCallback | None = None
    _stop: Stop | None = None
    _names: Named | None = None
    _losses: Mapping[str, Callable[[], float]] = MappingProxyType({})  # for conditions, in place of those of the steps
    _network: Network | None = None
    _told_modes: Tape | None = None  # the graph of which was said that its modules are in another mode now
    _full_speed: float | None = None

    @explained(_ABSENT, "Run")
    def __init__(
        self, model: Callable[..., Any], loss: Callable[..., Any], optimizer: Optimizer, data: Any, *,
        batch_size: int | None = None, sampling: Sampling = "epochs", seed: int = 0, engine: str = "auto",
        dtype: str = "float32", l1: float = 0.0, l2: float = 0.0, clip_norm: float | None = None,
        clip_value: float | None = None, loss_scale: Given = None, threads: int | None = 1,
    ) -> None:  # fmt: skip
        limits = l1, l2, clip_norm, clip_value
        batch = batch_size, sampling
        making.make(self, (model, loss, optimizer), data, batch, seed, engine, dtype, limits, loss_scale, threads)

    # ---- training

    @on_training_thread
    def step(self, n: float = 1, *, progress: Callable[[Run], bool | None] | None = None) -> None:
        """Do `n` training steps; a breakpoint (:meth:`break_on`) ends them earlier, see :attr:`stopped_by`.

        Parameters
        ----------
        n : int
            At least 0; ``1e3`` works too.
        progress : callable, optional
            Called with the run about every 0.1 s; training stops if it returns False. It changes no bit.

        Raises
        ------
        DivergedError
            A loss or weight is no longer finite. The run stands at the first such step, which its history holds.
        StateError
            A function of :meth:`on_step` has raised.

        Examples
        --------
        >>> run.step(200)
        """
        given: Any = n
        left = integer("n", int(n) if isinstance(given, float) and given.is_integer() else n, 0)
        if progress is not None:
            function(progress, "run.step: progress")
        if left > 0 and not self._training.trainer.ready:
            self._check_live()
            self.prepare()  # Ctrl-C ends it at once; inside a step it would wait
        while left > 0:
            self._check_live()
            left -= callbacks.advance_to_callback(self, left)
            if (gate := self._store.gate) is not None:
                gate.answer()
            if (progress is not None and progress(self) is False) or self._stop is not None:
                return

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Compile and load the engine's kernels now; otherwise the first step does it.

        `stopped` is called ten times a second. If it returns True, compiling ends with StateError.

        Examples
        --------
        >>> run.prepare()
        """
        self._training.trainer.prepare(stopped)

    @property
    def engine(self) -> EngineChoice:
        """The engine that trains, why it was chosen, and its current remarks.

        Examples
        --------
        >>> print(run.engine.name, run.engine.why)
        """
        return engines.chosen(self)

    def on_step(self, fn: Callable[[Run], object], every: int = 1) -> StepCallback:
        """Call ``fn(run)`` after every step whose number `every` divides, in the thread that trains.

        ``.remove()`` on the result ends the calls. Changes that `fn` makes (``run.lr = ...``, ``w.data = ...``) are
        recorded as edits at that step. Steps that are repeated (:meth:`to`, :meth:`back`) repeat the edits and do not
        call `fn`. `fn` must not call :meth:`step`.

        Parameters
        ----------
        fn : callable
        every : int
            At least 1. Each call of the engine ends at a multiple of it, which changes no bit; 1 makes every call one
            step.

        Raises
        ------
        StateError
            From :meth:`step`: `fn` has raised. The step and the changes of `fn` are done; the next :meth:`step`
            continues.

        Examples
        --------
        >>> said = run.on_step(lambda run: print(run.steps, run.loss), every=100)
        >>> said.remove()
        """
        return callbacks.on_step(self, fn, every)

    # ---- looking

    @property
    def steps(self) -> int:
        """Training steps done.

        Examples
        --------
        >>> run.steps
        """
        return self._training.steps

    @property
    def loss(self) -> float:
        """Loss of the last step, at the values before its update; NaN before the first.

        Examples
        --------
        >>> run.loss
        """
        return self._training.loss

    @property
    def history(self) -> History:
        """Step, loss and learning rate of every step of this branch, later steps included.

        Examples
        --------
        >>> run.history["loss"][-1]
        >>> run.history
        """
        return self._training.history

    @property
    def n_weights(self) -> int:
        """Number of scalar parameters. They come first in the flat values; buffers follow.

        Examples
        --------
        >>> run.n_weights
        """
        return self._problem.n_weights

    @property
    def values(self) -> NDArray[Any]:
        """The live flat values (P,) of `tensors`; beside a training thread, a copy. Change them by :meth:`set_weights`.

        Examples
        --------
        >>> run.values[:3]
        """
        return frames.live_values(self)

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return copies of the inputs (N, n_inputs) and targets (N, n_targets), in the run's dtype.

        Examples
        --------
        >>> inputs, targets = run.samples()
        """
        return frames.samples(self)

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """Return one consistent snapshot, with the activations of `probe`, one sample (n_inputs,).

        With `state` it holds the optimiser's arrays too. Beside a training thread this call waits;
        :meth:`request_frame` does not.

        Examples
        --------
        >>> run.frame([0, 1]).activations["2"]
        """
        return self.request_frame(probe, state=state).result()

    def request_frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> FrameRequest:
        """Ask for a frame and do not wait for it. InputError: `probe` is not a sample of finite numbers.

        Parameters
        ----------
        probe : array_like, shape (n_inputs,), optional
            One sample; the frame gets its activations.
        state : bool
            Include copies of the optimiser's arrays.

        Returns
        -------
        FrameRequest
            ``done`` says whether the frame is ready; ``result(timeout)`` and, under asyncio, ``await`` wait for it.
            Beside a training thread (a `Worker`, a window) the frame is taken at the next pause between two calls of
            the engine, after all edits asked for before, or when the thread ends. An engine with its own memory may
            give a frame from the middle of a call. Without such a thread it is the current frame; no other thread may
            change the run meanwhile.

        Examples
        --------
        >>> frame = run.request_frame().result(timeout=2.0)
        """
        return frames.request_frame(self, probe, state)

    def activations(self, probe: ArrayLike, values: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
        """Return ``"input"`` and every stage's row for one sample (n_inputs,), at flat `values` (default: current).

        Examples
        --------
        >>> run.activations([0, 1])["2"]
        """
        return self._forward.activations(probe, frames.values_or_now(self, values))

    def predict(self, inputs: ArrayLike, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the outputs (N, n_outputs) for `inputs` (N, n_inputs) at flat `values` (default: current).

        Nested outputs become one row, in the order of their lists, tuples and dicts.

        Examples
        --------
        >>> run.predict([[0, 1], [1, 1]])
        """
        return self._forward.predict(inputs, frames.values_or_now(self, values))

    def evaluate(self, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any] | None = None) -> float:
        """Return the loss on other data, all samples as one batch, at flat `values` (default: current).

        Examples
        --------
        >>> run.evaluate([[0, 1]], [[1]])
        """
        return frames.evaluated(self, self._forward, inputs, targets, frames.values_or_now(self, values))

    # ---- asking

    def open(self, frame: Frame | None = None, sample: Sample | None = None, *, step: int | None = None) -> Opened:
        """Open one step into micro-steps, computed beside the run: the next step or a past one.

        Parameters
        ----------
        frame : Frame, optional
            Open the step after this frame, with its weights and the batch of that step; default: the coming step. The
            optimiser's state is known only at the current step.
        sample : int or (x, y), optional
            A trial step with this sample alone: its number in the data, or inputs (n_inputs,) and targets
            (n_targets,). Means over the batch are those of the step's own batch.
        step : int, optional
            The step, from 1: one that was done on this branch, or the coming one. The run goes there and returns.

        Raises
        ------
        InputError, StateError
            A frame of another run; a sample that does not fit; no such step; frame and step together; a step no longer
            kept.

        Notes
        -----
        The run does not change, bit for bit. Passes are float64, in the calling thread.

        Examples
        --------
        >>> opened = run.open(step=3)
        """
        return Opened(frames.data_to_open(self, frame, sample, step), trial=sample is not None)

    def why(self, weight: Weight | str | int, step: int | None = None) -> Why:
        """Print why a weight moved and return the numbers: the terms of its gradient, their sum, the optimiser's rule.

        Parameters
        ----------
        weight : Weight, str or int
            ``net[0].weight[2][1]``, ``"0.weight[2][1]"``, or its flat index.
        step : int, optional
            A step of this branch, from 1; default: the last one, or the first. The run does not change.

        Raises
        ------
        InputError, StateError
            There is no such weight or step, or the step is no longer kept.

        Examples
        --------
        >>> found = run.why("0.weight[2][1]", step=3)
        """
        return frames.why(self, weight, step)

    def compare(self, step_a: int, step_b: int, most: int = MOST) -> Comparison:
        """Return the weights that moved most between two steps of this branch; the run does not change.

        InputError: there is no such step. StateError: a step is no longer kept.

        Parameters
        ----------
        step_a, step_b : int
            In either order.
        most : int
            Number of weights that get a row of their own.

        Examples
        --------
        >>> print(run.compare(10, 50))
        """
        return frames.compare(self, step_a, step_b, most)

    def break_on(self, condition: str, *, once: bool = False) -> Breakpoint:
        """Pause training after the step in which a condition becomes true.

        Parameters
        ----------
        condition : str
            Such as ``"loss < 0.01 and step > 100"``, ``"grad > 10"`` (the largest gradient, without its sign),
            ``"nan"`` (a number is not finite), ``"dead"`` (a rectifier's unit is 0 for all samples),
            ``"grad(0.weight[2][1]) > 1"``, ``"0.weight[2][1] crosses 0"``, ``"sign(0.weight[2][1]) changes"``, ``"loss
            > 2 * before(loss)"``, ``"max(abs(0.weight)) > 3"``. Names are ``loss``, ``lr``, ``step``, ``grad``,
            ``nan``, ``dead`` and every tensor; :mod:`scalarviz.run.questions.parser` has the grammar.
        once : bool
            Disable the breakpoint after its first hit.

        Returns
        -------
        Breakpoint
            Counts its hits, and can be disabled (``enabled``); ``run.breakpoints`` holds it.

        Raises
        ------
        ExpressionError, InputError, TypeMismatchError
            The condition cannot be read (the message says where, and what is allowed there), has over 10,000
            characters, or is not a text.

        Notes
        -----
        A condition that is already true stops the run when it becomes true *again*. Conditions that look back
        (``crosses``, ``changes``, ``before``) stop it at every step at which they hold. A condition on a whole tensor
        stops it whenever it becomes true for one more element. Edits and jumps (``to``, ``back``) stop nothing.

        Conditions on ``loss``, ``lr`` and ``step`` alone cost next to nothing; others are checked every step.

        Examples
        --------
        >>> point = run.break_on("0.weight[2][1] crosses 0")
        """
        return callbacks.break_on(self, condition, once)

    @property
    def stopped_by(self) -> Stop | None:
        """The breakpoint that stopped the run at this step, or None; its text gives condition and numbers.

        Examples
        --------
        >>> print(run.stopped_by)
        """
        stop = self._stop
        return stop if stop is not None and stop.step == self._training.steps else None

    def find(self, condition: str, before: int | None = None, *, progress: Progress | None = None) -> int | None:
        """Return the last step before `before` at which a condition became true, by the step or an edit there, or None.

        Parameters
        ----------
        condition : str
            As for :meth:`break_on`.
        before : int, optional
            Default: the current step. Give a step that was found to find the one before it.
        progress : callable, optional
            Called with the searched share (0 to 1); the search ends if it returns False.

        Raises
        ------
        ExpressionError, InputError
            The condition cannot be read, as for :meth:`break_on`; this branch has no step `before`.

        Notes
        -----
        Losses are looked up; for weights and gradients the steps are repeated. The run does not change, bit for bit.

        Examples
        --------
        >>> run.find("sign(0.weight[2][1]) changes")
        """
        return callbacks.find(self, condition, before, progress)

    # ---- changing: all of it is an edit, and stands in the log

    def do(self, edit: Edit, *, gesture: str = "") -> None:
        """Apply an edit between two steps and add it to ``run.log``. InputError: it does not fit this run.

        Parameters
        ----------
        edit : Edit
            One of :mod:`scalarviz.run.edits`.
        gesture : str, optional
            Name of one mouse movement. Edits of one gesture that replace each other count as one edit.

        Examples
        --------
        >>> run.do(sv.run.edits.SetFrozen(0, [True]))
        """
        editing.do(self, edit, gesture)

    def change(
        self, *, batch_size: int | None = None, sampling: Sampling | None = None, engine: str | None = None,
        activation: str | Activation | None = None, loss: str | Callable[..., Any] | None = None,
        optimizer: str | Optimizer | type[Optimizer] | None = None, model: Callable[..., Any] | None = None,
        l1: float | Unchanged = UNCHANGED, l2: float | Unchanged = UNCHANGED,
        clip_norm: float | Unchanged | None = UNCHANGED,
        clip_value: float | Unchanged | None = UNCHANGED, **numbers: Any,
    ) -> None:  # fmt: skip
        """Change how the run trains, from the next step on; weights, steps and history stay.

        Parameters
        ----------
        batch_size : int, optional
            Samples per step.
        sampling : {"epochs", "replacement"}, optional
            How samples are chosen, see :class:`Run`.
        engine : str, optional
            Another engine. It rounds differently, so later steps have other bits.
        activation : str or nn.Activation, optional
            Replaces the hidden activations of a Sequential: those before a layer with weights. The last one stays.
        loss : str or callable, optional
        optimizer : str, Optimizer or class, optional
            It begins without state. A name (``"Adam"``) or a class takes the weights of the optimiser before it.
        model : callable, optional
            Layers that still fit keep their numbers. Between two Sequentials these are a longest common row of layers
            with equal shapes, in order; between other modules, those with equal names and shapes. The log names the
            others. Without `optimizer`, the current one continues with the new weights. Weights no longer in the run
            stand alone.
        l1, l2, clip_norm, clip_value : float, optional
            See :class:`Run`; None ends a limit.
        **numbers
            Numbers of the optimiser: ``lr``, ``momentum``, ``betas``, ...

        Raises
        ------
        InputError, TypeMismatchError, TracingError
            A value does not fit.

        Examples
        --------
        >>> run.change(lr=0.01, momentum=0.9, batch_size=2)
        >>> run.change(activation="relu", optimizer="Adam")
        """
        limits = {"l1": l1, "l2": l2, "clip_norm": clip_norm, "clip_value": clip_value}
        editing.change(self, (activation, model, loss, optimizer), (batch_size, sampling), engine, limits, numbers)

    @property
    def lr(self) -> float:
        """Learning rate of the next step, as its schedule says; setting it is an edit.

        Setting it scales a schedule from here on, or ends the schedule if its own rate is 0.

        Examples
        --------
        >>> run.lr = 0.1
        """
        gate = self._store.gate_here()
        return float(self.optimizer.lr if gate is None else gate.number("lr"))

    @lr.setter
    def lr(self, lr: float) -> None:
        self.change(lr=lr)

    @property
    def batch_size(self) -> int:
        """Samples per step; setting it is an edit.

        Examples
        --------
        >>> run.batch_size = 2
        """
        return self._problem.batch

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        self.change(batch_size=batch_size)

    def set_weights(self, start: int, numbers: Sequence[float] | NDArray[Any]) -> None:
        """Set flat weights from index `start` on, between two steps. InputError: an index is not a weight of this run.

        Examples
        --------
        >>> run.set_weights(0, [0.5, -0.5])
        """
        self.do(SetWeights(start, real_array(numbers, "set_weights: the numbers")))

    def set_numbers(self, weights: Any, **numbers: Any) -> None:
        """Set the learning rate or other optimiser numbers of some weights, from the next step on.

        The weights become their own parameter groups; see :class:`~scalarviz.run.edits.SetNumbers`.

        Parameters
        ----------
        weights : Parameter, Weight, slice of a Parameter, or a list of them
        **numbers
            ``lr``, ``momentum``, ``weight_decay``, ...

        Raises
        ------
        InputError, TypeMismatchError
            They are not weights of this run, none is trained, or the optimiser has no such number.

        Examples
        --------
        >>> run.set_numbers(net[0].weight, lr=0.001)
        """
        self.do(SetNumbers(spans_in(weights, self._tape), numbers))  # type: ignore[arg-type]

    def set_targets(self, targets: ArrayLike) -> None:
        """Replace the targets (N, n_targets) from the next step on.

        InputError: the shape differs, a number is not finite, or the loss cannot use the targets.

        Examples
        --------
        >>> run.set_targets([[0], [0], [0], [1]])
        """
        self.do(SetTargets(real_array(targets, "set_targets: the targets")))

    def add_samples(self, inputs: ArrayLike, targets: ArrayLike) -> None:
        """Add samples to the training data, from the next step on.

        A batch of all samples grows with the data; a smaller batch stays. The larger set has an order of its own.

        Parameters
        ----------
        inputs, targets : array_like, shapes (K, n_inputs) and (K, n_targets)
            As for :class:`~scalarviz.Run`; pictures may come as rows.

        Raises
        ------
        InputError
            Shapes that do not fit, numbers that are not finite, targets that the loss cannot use.

        Examples
        --------
        >>> run.add_samples([[0.5, 0.5]], [[0]])
        """
        self.do(AddSamples(*editing.checked_pair(inputs, targets, "add_samples")))

    def refill(self, inputs: ArrayLike, targets: ArrayLike) -> None:
        """Replace the data by (N, n_inputs) and (N, n_targets), from the next step on; see :meth:`add_samples`.

        N may differ. A batch of all samples still has all of them; a batch larger than the new data is cut to N.

        Examples
        --------
        >>> run.refill(X, Y)
        """
        self.do(Refill(*editing.checked_pair(inputs, targets, "refill")))

    # ---- going back

    @property
    def log(self) -> list[Applied]:
        """The edits that led to the current step, oldest first.

        Examples
        --------
        >>> print(run.log[-1])
        """
        travel.enter(self)
        return self.timeline.log

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All kept branches, oldest first; :meth:`switch` goes to another one.

        Examples
        --------
        >>> run.branches[0].newest
        """
        travel.enter(self)
        return self.timeline.branches()

    @in_turn
    def to(self, step: int, branch: Branch | int | None = None, *, progress: Progress | None = None) -> bool:
        """Go to a step of this branch, after its edits, with its exact numbers; later steps repeat bit for bit.

        InputError: there is no such step or branch. StateError: an engine that computed the steps is lost.

        Parameters
        ----------
        step : int
            A step on the branch.
        branch : Branch or int, optional
            One of :attr:`branches`; default: the current one.
        progress : callable, optional
            Called with the finished share (0 to 1). If it returns False, the run stays and this method returns False.

        Examples
        --------
        >>> run.to(42)
        """
        self._enter()
        return self.timeline.to(step, branch, progress)

    @in_turn
    def back(self, n: int = 1) -> None:
        """Go `n` steps back, see :meth:`to`. InputError: there are fewer steps before this one.

        Examples
        --------
        >>> run.back(2)
        """
        self._enter()
        self.timeline.back(n)

    @in_turn
    def switch(self, branch: Branch | int) -> None:
        """Go to the newest step of another branch; the current one is kept. InputError: that branch is not kept.

        Examples
        --------
        >>> run.switch(run.branches[0])
        """
        self._enter()
        self.timeline.switch(branch)

    def restart(self, seed: int | None = None) -> None:
        """Restart on a new branch: the first weights with the current rate, batch, data and freezes.

        The old steps stay as a branch, and :meth:`undo` returns to them. Weights that :meth:`change` added are
        drawn with the run's seed.

        Parameters
        ----------
        seed : int, optional
            Draw other weights with this seed, by the last initialiser of each module. The order of the
            samples stays that of the run's own seed.

        Raises
        ------
        InputError, StateError
            Not a seed, or weights that were made by hand and cannot be drawn. Without a seed: :meth:`change` added
            such.

        Examples
        --------
        >>> run.restart(seed=1)
        """
        travel.restart(self, seed)

    @in_turn
    def undo(self) -> str:
        """Go to the moment before the last edit and return the edit's text; later steps are kept as a branch.

        Undoing an edit that was made in the past restores the steps that came after it. StateError: there is no edit.

        Examples
        --------
        >>> run.undo()
        """
        self._enter()
        return self.timeline.undo()

    @in_turn
    def redo(self) -> str:
        """Go back to where :meth:`undo` came from and return the edit's text.

        StateError: nothing was undone since the last edit.

        Examples
        --------
        >>> run.redo()
        """
        self._enter()
        return self.timeline.redo()

    @in_turn
    def name(self, label: str, step: int | None = None) -> None:
        """Name a step (default: the current one); the time bar shows the name, and an empty text removes it.

        InputError: this branch has no such step.

        Examples
        --------
        >>> run.name("before the jump")
        """
        self._enter()
        self.timeline.name(label, step)

    # ---- keeping

    def state(self) -> State:
        """Return the whole state of the run; :meth:`take` goes back to it.

        Examples
        --------
        >>> before = run.state()
        """
        return state.of_now(self)

    def take(self, moment: State) -> None:
        """Return to a state of this run on a new branch; the next steps repeat bit for bit.

        The steps since then stay in ``run.branches``. InputError: the state is of another run.

        Examples
        --------
        >>> run.take(before)
        """
        state.take(self, moment)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of every tensor and of the model's buffers, by name.

        Examples
        --------
        >>> run.state_dict()["0.weight"]
        """
        return state.state_dict(self)

    @in_turn
    def save(self, path: str | Path, notes: Mapping[str, str] | None = None) -> None:
        """Write the current weights, optimiser state and step to a safetensors file with PyTorch's names.

        See :func:`scalarviz.run.state.save_run`.

        Examples
        --------
        >>> run.save("run.safetensors")
        """
        state.save_run(self, path, notes)

    @in_turn
    def load(self, path: str | Path, *, optimizer: bool = True, keep: Collection[str] = ()) -> Checkpoint:
        """Continue from a file; see :func:`scalarviz.run.state.load_run`.

        Examples
        --------
        >>> run.load("run.safetensors", keep=["lr"])
        """
        return state.load_run(self, path, optimizer=flag(optimizer, "load: optimizer"), keep=keep)

    @in_turn
    def to_onnx(self, path: str | Path, *, training: bool = False) -> None:
        """Write the current network, or with `training` one whole training step, to an ONNX file.

        Parameters
        ----------
        path : path
            A file that exists is replaced atomically.
        training : bool
            Write the step: forward and backward pass and the optimiser's rule.

        Raises
        ------
        MissingDependencyError
            The package `onnx` is not installed.
        InputError
            The model is a plain function, or ONNX cannot write a part, which the message names.

        Notes
        -----
        A step takes the weights by their names, the optimiser's state (``exp_avg.0.weight``), ``step``, ``input``,
        ``target`` and ``lr``. It returns ``new.0.weight`` and so on in the same order, then ``loss``. All inputs but
        the samples default to the current numbers, so the first call needs only ``input`` and ``target``.

        Examples
        --------
        >>> run.to_onnx("step.onnx", training=True)
        """
        state.write_onnx(self, path, flag(training, "to_onnx: training"))

    def close(self) -> None:
        """Turn the weights into stand-alone float64 ones and release the history; frames of this step stay possible.

        StateError: a progress function calls it while the run goes to another step.

        Examples
        --------
        >>> run.close()
        """
        making.close(self)

    def __reduce__(self) -> NoReturn:
        raise StateError("a Run cannot be copied: copy its model, or save(path) and load(path) in another Run")

    def __repr__(self) -> str:
        if "_training" not in self.__dict__:
            return "Run(being made)"  # the run that it takes its weights from may name it
        return f"Run({self.n_weights} weights, step {self.steps}, loss {self.loss:.4g}, {self.engine})"

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:1] != "_" and not editing.can_be_set(self, name):
            raise editing.not_set(self, name)
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:
        __getattr__ = attributes(ABSENT)

    # ---- for the code that trains the run, owns its weights, or reaches into it

    @property
    def _access(self) -> RunAccess:
        return RunAccess(self)

    def _attach(self) -> None:
        """Attach the optimiser to this run; it gets its numbers back when the run ends."""
        self.optimizer.attach(self)
        # In a context of its own: it may run within a garbage collection, in the middle of NumPy's change of a context
        # variable, whose cached value it would leave dangling.
        left = partial(hand_back, self.optimizer, self._tape, self._problem, self._training)
        self._left = weakref.finalize(self, Context().run, left)
        self._left.atexit = False

    @in_turn
    def _in_turn(self, function: Callable[[], Any]) -> Any:
        return function()

    def _check_live(self) -> None:
        if self._closed:
            raise StateError("this Run is closed; make a new Run")
        if self._taken_by is not None:
            raise StateError(f"another Run now trains these weights ({self._taken_by!r}); use that Run")
        self._check_stands()

    def _enter(self) -> None:
        """Check that the run is live, and log what was written to it from outside."""
        self._check_live()
        self.timeline.enter()

    def _check_stands(self) -> None:
        if self.timeline.destination:
            away = f"the run is going {self.timeline.destination}; wait until it arrives."
            raise StateError(f"{away} To cancel, return False from the progress function")

    def _lend(self) -> None:
        """Note that a view of the live numbers is handed out; the next entry finds what was written through it."""
        self.timeline.begin()
        self._traveller.lend()

    def _write(self, start: int, numbers: NDArray[Any]) -> None:
        """Apply ``w.data = ...``. Beside a training thread it waits for its turn, but readers see it at once."""
        (self._store.gate_here() or self).do(SetWeights(start, numbers), gesture="data")

    def _freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        (self._store.gate_here() or self).do(SetFrozen(start, flags), gesture="frozen")

    def _optimizer_edited(self, numbers: dict[str, Any], group: int | None) -> None:
        self.do(SetOptimizer(tuple(numbers.items()), group))

    def _scheduled(self, schedule: Schedule | None) -> None:
        self.do(SetSchedule(schedule))

    @in_turn
    def _optimizer_asked(self) -> None:
        hand_back(self.optimizer, self._tape, self._problem, self._training)
