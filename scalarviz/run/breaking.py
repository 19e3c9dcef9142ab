"""`Breaking`: the part of a run that stops where a condition becomes true, and finds where one last did."""

from __future__ import annotations

from collections.abc import Callable

from ..checks import flag, function, integer, position
from ..errors import InputError
from ..optim import Optimizer
from ..scalar.store import Gate
from .core.forward import Forward
from .core.frame import Stage, Tensor
from .core.training import Training, in_turn
from .past.timeline import Timeline
from .questions.breakpoints import Breakpoint, Breakpoints, Here, Progress, Search, Stop, Watch, in_losses
from .questions.conditions import Condition, Named, Numbers
from .questions.expression import fault


class Breaking:
    """Breakpoints, and questions about when something was so.

    Attributes
    ----------
    breakpoints : Breakpoints
        Those that were set; ``print(run.breakpoints)`` lists them.
    """

    breakpoints: Breakpoints
    gate: Gate | None
    optimizer: Optimizer
    stages: tuple[Stage, ...]
    tensors: tuple[Tensor, ...]
    timeline: Timeline
    _check_live: Callable[[], None]
    _forward: Forward
    _training: Training
    _named_: Named | None = None
    _stop: Stop | None = None

    # ---- breakpoints

    def break_on(self, condition: str, *, once: bool = False) -> Breakpoint:
        """Let training stop after the step by which a condition becomes true.

        Parameters
        ----------
        condition : str
            As ``"grad > 10"`` (the largest gradient, without its sign), ``"loss < 0.01 and step > 100"``, ``"nan"`` (a
            number is not finite), ``"dead"`` (a rectifier's unit is 0 for all samples), ``"0.weight[2][1] < 0"``,
            ``"grad(0.weight[2][1]) > 1"``, ``"0.weight[2][1] crosses 0"``, ``"sign(0.weight[2][1]) changes"``,
            ``"loss > 2 * before(loss)"``, ``"max(abs(0.weight)) > 3"``. The names are ``loss``, ``lr``, ``step``,
            ``grad``, ``nan``, ``dead`` and every tensor; :mod:`scalarviz.run.questions.parser` has the grammar.
        once : bool
            Whether it is disabled when it has been hit.

        Returns
        -------
        Breakpoint
            Counts its hits, and can be disabled (``enabled``); ``run.breakpoints`` holds it.

        Raises
        ------
        ExpressionError
            It cannot be read; the message says where and what may stand there.
        InputError, TypeMismatchError
            More than 10,000 characters, or no text.

        Notes
        -----
        A condition that is true already when a step begins stops the run when it becomes true *again*; those that look
        back (``crosses``, ``changes``, ``before``) stop it at every step at which they hold. What an edit makes true
        stops nothing. One of a whole tensor stops it whenever it becomes true for one more element.

        The run stands after the step, and :attr:`stopped_by` says why. Conditions of ``loss``, ``lr`` and ``step``
        alone cost next to nothing; others let the engine do one step a call. Both stop a run that follows what was
        recorded, and not one that jumps (``to``, ``back``). Where training diverges `DivergedError` is raised all the
        same.
        """
        once = flag(once, "break_on: once")
        return self.breakpoints.set(Condition.read(condition, self._named, "break_on:"), once)

    @property
    def stopped_by(self) -> Stop | None:
        """Why the run stands where it stands, if a breakpoint stopped it here; its text says condition and numbers."""
        stop = self._stop
        return stop if stop is not None and stop.step == self._training.steps else None

    @property
    def _named(self) -> Named:
        """The names of now; those of breakpoints are read anew where the model has become another one."""
        named = self._named_
        if named is None or named.tensors is not self.tensors or named.stages is not self.stages:
            self._named_ = named = Named(self.tensors, self.stages)
            self.breakpoints.renamed(named)
        return named

    def _numbers(self) -> Numbers:
        return Numbers(self._named, self._training, self._forward, lambda: float(self.optimizer.lr))

    def _advance_to_break(self, most: int) -> int:
        """One call of the engine, at most to the first step that a breakpoint stops at; returns how many were done."""
        self._stop = None
        _ = self._named
        points = self.breakpoints.enabled
        if not points:
            return self.timeline.advance(most)
        watch = Watch(points, self._numbers)
        training, training.onlooker = self._training, watch
        try:
            return self.timeline.advance(1 if watch.single else most)
        finally:
            training.onlooker = None
            self._stop = watch.stop

    @in_turn
    def holds(self, condition: str) -> bool:
        """Whether a condition is true where the run stands; of a whole tensor, for one element at least.

        Raises
        ------
        ExpressionError
            It cannot be read, as for :meth:`break_on`, or it compares a step with the one before.
        """
        read = Condition.read(condition, self._named, "holds:")
        back = next((load for load in read.expression.loads if load.before), None)
        if back is not None:
            said = "it compares a step with the one before: break_on and find know when it becomes true"
            raise fault(condition, back.start, said, "holds:")
        return bool(read.holds(self._numbers()))

    def condition_name(self, index: int) -> str:
        """How the weight at flat `index` is written in a condition: :meth:`weight_name`, in quotes where needed."""
        return self._named.weight(position(index, len(self._training.problem.store.value), "the weights"))

    # ---- when was it so

    @in_turn
    def find(self, condition: str, before: int | None = None, *, progress: Progress | None = None) -> int | None:
        """The step before `before` at which a condition last became true, by the step itself or by an edit made there.

        Parameters
        ----------
        condition : str
            As for :meth:`break_on`.
        before : int, optional
            Default: where the run stands. Found again from where one was found, it is the one before that.
        progress : callable, optional
            Told now and then how much is searched (0 to 1); returning False gives it up.

        Returns
        -------
        int or None
            None if it never became true, or was given up. ``run.to(step)`` goes there.

        Raises
        ------
        ExpressionError
            It cannot be read, as for :meth:`break_on`.
        InputError
            `before` lies outside of ``run.span``.
        StateError
            The run is closed, or another Run took its weights.

        Notes
        -----
        Losses are looked up. For weights and gradients the record is done again, from keyframe to keyframe, the last
        one first; the run stands where it stood afterwards, to the bit.
        """
        self._check_live()
        if progress is not None:
            function(progress, "find: progress")
        found = Condition.read(condition, self._named, "find:")
        self.timeline.enter()
        first, newest = self.timeline.span
        end = self._training.steps if before is None else integer("find: before", before, 0)
        if not first <= end <= newest + 1:
            raise InputError(f"find: there is no step before {end:,} on this branch; it has {first:,} to {newest:,}")
        if found.of_losses:
            known, step = in_losses(found, self.timeline.line.history, first, end)
            if known:
                return step
        return Search(self.timeline, self._reader(found), progress).before(end)

    def _reader(self, condition: Condition) -> Callable[[], Here]:
        """The condition and its numbers where the run stands; there may be another model there."""
        read: dict[Named, Condition | None] = {self._named: condition}

        def here() -> Here:
            named = self._named
            if named not in read:
                try:
                    read[named] = Condition.read(condition.text, named, "find:")
                except InputError:
                    read[named] = None  # no such weight: it is not true there
            return read[named], self._numbers()

        return here
