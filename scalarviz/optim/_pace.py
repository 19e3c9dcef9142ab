"""`LRScheduler`, the base of all learning rate schedules, and `Pace`, the rates of an optimiser that follow one.

A schedule never changes: it is a function of the steps. A pace holds the rates and the position in their schedule.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes
from ..checks import integer, mapping, one_of, real_array
from ..errors import InputError, ScalarvizError, StateError, TypeMismatchError, listing, typed
from ._checked import LAST_STEP, finite, steps_of

Floats = NDArray[np.float64]
UNITS = ("step", "epoch")
"""The units after which a Run steps a schedule: every training step, or every epoch."""


BY_ITSELF = (
    "the Run steps the schedule after each step (with unit='epoch', after each epoch); leave out scheduler.step()"
)


class Standing(NamedTuple):
    """The position of a schedule: its steps, the training steps since the last one, a manual factor for each group."""

    stepped: int
    within: int
    scales: tuple[float, ...]


class LRScheduler:
    """Base of the schedules; a subclass returns in :meth:`at` the rates after a number of schedule steps.

    Making a schedule attaches it to its optimiser. In a hand-written loop call :meth:`step` after ``optimizer.step()``;
    a Run steps it itself. A new schedule replaces an earlier one; if the earlier one was never stepped, the new one
    begins with the same rates. A `Pace` stores the position of a schedule.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int
        -1: a new schedule. Else, as in PyTorch, continue after ``last_epoch + 1`` steps; the parameter groups then need
        ``"initial_lr"``, the rates at its start. PyTorch continues recursive schedules from the current rates; here
        rates always follow from the initial ones.
    unit : {"step", "epoch"}
        A Run steps the schedule after each training step, or after each epoch of ``N // batch_size`` steps.

    Attributes
    ----------
    base_lrs : tuple of float
        The initial rates, one for each parameter group.
    moving : bool
        Whether the schedule also moves the momentum.

    Raises
    ------
    TypeMismatchError
        `optimizer` is no optimiser.
    InputError
        `unit` is unknown, `last_epoch` is below -1, or the initial rates are not known.
    """

    if not TYPE_CHECKING:
        __getattr__ = attributes({"get_lr": "use get_last_lr(); a schedule of your own is a LambdaLR"})

    moving = False
    _shown: tuple[str, ...] = ()
    """Names of the arguments that `repr` shows."""
    _of_groups: tuple[str, ...] = ("base_lrs",)
    """Names of tuples and lists with an entry for each parameter group."""

    def __init__(self, optimizer: Any, last_epoch: int = -1, *, unit: str = "step") -> None:
        title = type(self).__name__
        if not hasattr(optimizer, "lr_pace"):
            raise TypeMismatchError(f"{title} needs an optimiser, got {typed(optimizer)}")
        self._first = 1 + integer(f"{title}: last_epoch", last_epoch, -1, LAST_STEP)
        self.unit = one_of(unit, UNITS, f"{title}: unit")
        self._optimizer, self._mark = weakref.ref(optimizer), object()
        if type(self).at is LRScheduler.at and type(self).table is LRScheduler.table:
            raise TypeMismatchError(f"{title} defines neither at() nor table(); let at(self, counts) return the rates")
        self.base_lrs = self._base(optimizer.lr_pace.moment()) if self._first == 0 else self._resumed(optimizer)
        self.now(self.begin())  # refuses invalid rates
        optimizer.lr_schedule = self

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        """Return the initial rates: the current ones, or those of a schedule that was never stepped."""
        before, standing = moment.schedule, moment.standing
        rates: tuple[float, ...] = moment.rates
        if before is None or standing != before.begun(standing) or not isinstance(standing, Standing):
            return rates
        return tuple(base * scale for base, scale in zip(before.base_lrs, standing.scales, strict=True))

    def _resumed(self, optimizer: Any) -> tuple[float, ...]:
        first: tuple[float, ...] = optimizer.lr_pace.initial
        if len(first) != len(optimizer.lr_pace.rates):
            raise InputError(
                f"{type(self).__name__}: last_epoch={self._first - 1} resumes a schedule, but its initial rates are "
                "unknown; give them as 'initial_lr' of the parameter groups"
            )
        return first

    def bound(self, optimizer: Any) -> Self:
        """Return the same schedule for another optimiser with as many groups; itself for its own optimiser."""
        if self._optimizer() is optimizer:
            return self
        if len(self.base_lrs) != len(optimizer.lr_pace.rates):
            raise InputError(
                f"{type(self).__name__} is for {len(self.base_lrs)} parameter groups, but the optimiser has "
                f"{len(optimizer.lr_pace.rates)}"
            )
        return self.rebound(optimizer)

    def rebound(self, optimizer: Any) -> Self:
        """Return a copy that belongs to `optimizer`; also for a schedule made by pickle or deepcopy."""
        twin = copy.copy(self)
        twin._optimizer = weakref.ref(optimizer)
        return twin

    def regrouped(self, sources: Sequence[int]) -> Self:
        """Return the schedule for other parameter groups; `sources` gives the old group of each new one."""
        twin = copy.copy(self)
        twin._optimizer = self._optimizer
        for name in self._of_groups:
            own = getattr(self, name)
            setattr(twin, name, type(own)(own[j] for j in sources))
        return twin

    def regrouped_standing(self, standing: Any, sources: Sequence[int]) -> Any:
        """Return the position for other parameter groups."""
        name = "scales" if isinstance(standing, Standing) else "rates"
        return standing._replace(**{name: tuple(getattr(standing, name)[j] for j in sources)})

    # ---- rates

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """Return the rates after the schedule was stepped `counts` times.

        Parameters
        ----------
        counts : ndarray of int64, shape (n,)
            Each at least 0.

        Returns
        -------
        ndarray of float64, shape (n, groups)
            Finite and >= 0. The result for one count must not depend on the other counts.
        """
        raise NotImplementedError

    def _checked_at(self, counts: NDArray[np.int64]) -> Floats:
        """Return the checked results of `at`, which may be a user's."""
        shape, asked = (len(counts), len(self.base_lrs)), f"at {int(counts[0]):,}"
        if len(counts) > 1:
            asked = f"between {int(counts.min()):,} and {int(counts.max()):,}"
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                rates = real_array(self.at(counts), f"{self!r}: its result {asked}")
        except ScalarvizError:
            raise
        except Exception as error:
            raise InputError(
                f"{self!r} gives no rate {asked}: {type(error).__name__}: {error!s:.200}; to train without it, set "
                "optimizer.lr_schedule = None"
            ) from error
        if rates.shape != shape:
            raise InputError(
                f"{self!r}: at() must return an array of the shape (counts, groups) {shape}, got {rates.shape}"
            )
        good = np.isfinite(rates) & (rates >= 0)
        if not good.all():
            row, group = np.argwhere(~good)[0]
            raise InputError(
                f"{self!r} gives the rate {rates[row, group]:g} after {int(counts[row]):,} steps; a rate must be a "
                "finite number >= 0"
            )
        return rates

    # ---- for a Run

    def begin(self) -> Any:
        """Return the first position."""
        return Standing(self._first, 0, (1.0,) * len(self.base_lrs))

    def begun(self, standing: Any) -> Any:
        """Return the first position, with the manual factors of `standing`."""
        return Standing(self._first, 0, standing.scales)

    def now(self, standing: Any) -> tuple[float, ...]:
        """Return the rates at a position."""
        row = self._checked_at(np.array([standing.stepped]))[0] * np.array(standing.scales)
        return tuple(row.tolist())

    def pace_at(self, standing: Any, momenta: tuple[float, ...]) -> PaceMoment:
        """Return the pace at a position; `momenta` stay if the schedule does not move them."""
        moved = tuple(self.momenta(standing, 1, 1)[0].tolist()) if self.moving else momenta
        return PaceMoment(self.now(standing), self, standing, moved, self.base_lrs)

    def most(self, standing: Any, epoch: int) -> int | None:
        """Return the number of steps after which a Run must ask again at the latest; None: no limit."""
        return None

    def momenta(self, standing: Any, count: int, epoch: int) -> Floats:
        """Return the momenta of the next `count` training steps, shape (count, groups), if the schedule moves them."""
        return self.momenta_at(self._counts(standing, count, epoch))

    def momenta_at(self, counts: NDArray[np.int64]) -> Floats:
        """Return the momenta after the schedule was stepped `counts` times, shape (n, groups)."""
        raise NotImplementedError

    def _counts(self, standing: Any, count: int, epoch: int) -> NDArray[np.int64]:
        """Return how often the schedule was stepped before each of the next training steps."""
        every = self._every(epoch)
        within = min(standing.within, every - 1)
        counts: NDArray[np.int64] = standing.stepped + (within + np.arange(count)) // every
        return counts

    def _every(self, epoch: int) -> int:
        return 1 if self.unit == "step" else epoch

    def table(self, standing: Any, rates: tuple[float, ...], count: int, epoch: int) -> Floats:
        """Return the rates of the next `count` training steps, shape (count, groups)."""
        found: Floats = self._checked_at(self._counts(standing, count, epoch)) * np.array(standing.scales)
        return found

    def after(self, standing: Any, rates: tuple[float, ...], losses: Floats, epoch: int) -> Any:
        """Return the position after training steps."""
        every = self._every(epoch)
        more, within = divmod(min(standing.within, every - 1) + len(losses), every)
        return Standing(standing.stepped + more, within, standing.scales)

    def scaled(self, standing: Any, rates: tuple[float, ...], new: tuple[float, ...]) -> Any:
        """Return the position after the rates were set by hand; None ends it, since a rate of 0 cannot be scaled."""
        own = self._checked_at(np.array([standing.stepped]))[0].tolist()
        changed = [before != after for before, after in zip(rates, new, strict=True)]
        if any(change and rate == 0 for change, rate in zip(changed, own, strict=True)):
            return None
        scales = [
            after / rate if change else scale
            for change, after, rate, scale in zip(changed, new, own, standing.scales, strict=True)
        ]
        return Standing(standing.stepped, standing.within, tuple(scales))

    # ---- for a hand-written loop, as in PyTorch

    @property
    def optimizer(self) -> Any:
        """The optimiser of the schedule; StateError if it no longer exists."""
        optimizer = self._optimizer()
        if optimizer is None:
            raise StateError(f"{type(self).__name__}: its optimiser no longer exists")
        return optimizer

    def _standing(self, what: str) -> Any:
        """Return the position; StateError if the schedule has been replaced or has ended."""
        pace = self.optimizer.lr_pace
        if getattr(pace.schedule, "_mark", None) is not self._mark:  # the same schedule, perhaps for other groups
            now = "as rates were set by hand when it was at 0" if pace.schedule is None else f"but {pace.schedule}"
            raise StateError(
                f"{type(self).__name__}.{what}: the optimiser no longer follows this schedule, {now}; to chain "
                "schedules use SequentialLR"
            )
        return pace.standing

    @property
    def last_epoch(self) -> int:
        """The number of schedule steps."""
        return int(self._standing("last_epoch").stepped)

    def get_last_lr(self) -> list[float]:
        """Return the rates of the next step, one for each parameter group."""
        return list(self.optimizer.lr_pace.rates)

    def step(self) -> None:
        """Advance by one step, in a hand-written loop.

        Raises
        ------
        StateError
            A Run trains with the optimiser and steps the schedule itself, or another schedule replaced this one.
        """
        standing, pace = self._standing("step()"), self.optimizer.lr_pace
        self.optimizer._check_free("step() of its schedule", BY_ITSELF)
        schedule: Any = pace.schedule
        new = Standing(standing.stepped + 1, 0, standing.scales)
        pace.restore(schedule.pace_at(new, pace.momenta)._replace(initial=pace.initial))

    def state_dict(self) -> dict[str, Any]:
        """Return the position as numbers by name, without the constructor's arguments."""
        return {name: list(part) if isinstance(part, tuple) else part
                for name, part in self._standing("state_dict()")._asdict().items()}  # fmt: skip

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from the result of :meth:`state_dict`. An error changes nothing.

        Raises
        ------
        InputError, TypeMismatchError
            Entries are missing, unknown or invalid.
        StateError
            A Run trains with the optimiser.
        """
        self._standing("load_state_dict()")
        self.optimizer._check_free("load_state_dict() of its schedule")
        schedule: Any = self.optimizer.lr_schedule
        self.optimizer.lr_pace.restore(schedule.loaded(state_dict))

    def loaded(self, state_dict: Any) -> PaceMoment:
        """Return the moment of a pace that a state describes; nothing is changed."""
        title = f"{type(self).__name__}: the state"
        given, first = mapping(state_dict, title), self.begin()
        if set(given) != set(first._fields):
            raise InputError(f"{title} must have {listing(first._fields)}, got {listing(sorted(given))}")
        return self.pace_at(self._read(title, given), self.optimizer.lr_pace.momenta)

    def _read(self, title: str, given: Mapping[str, Any]) -> Any:
        scales = numbers(given["scales"], f"{title}: scales", len(self.base_lrs))
        return Standing(
            steps_of(f"{title}: stepped", given["stepped"]), steps_of(f"{title}: within", given["within"]), scales
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_optimizer"}

    def __repr__(self) -> str:
        names = (*self._shown, *(() if self.unit == "step" else ("unit",)))
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class PaceMoment(NamedTuple):
    """An immutable copy of a pace at one moment."""

    rates: tuple[float, ...]
    schedule: LRScheduler | None
    standing: Any
    momenta: tuple[float, ...] = ()
    initial: tuple[float, ...] = ()


class Pace:
    """The rates, one for each parameter group, and the position of their schedule.

    `momenta`: one for each parameter group, once a schedule moves them. `initial`: the rates at the start of the last
    schedule.
    """

    def __init__(self, rates: Sequence[float] = ()) -> None:
        self.rates = tuple(rates)
        self.schedule: LRScheduler | None = None
        self.standing: Any = None
        self.momenta: tuple[float, ...] = ()
        self.initial: tuple[float, ...] = ()

    def moment(self) -> PaceMoment:
        """Return a copy of the current state."""
        return PaceMoment(self.rates, self.schedule, self.standing, self.momenta, self.initial)

    def restore(self, moment: PaceMoment) -> None:
        self.rates, self.schedule, self.standing, self.momenta, self.initial = moment

    def twin(self) -> Pace:
        """Return an independent copy."""
        return copy.copy(self)

    def follow(self, schedule: LRScheduler | None) -> None:
        """Follow a schedule from its start; None keeps the current rates."""
        if schedule is None:
            self.schedule = self.standing = None
        else:
            self.restore(schedule.pace_at(schedule.begin(), self.momenta))

    def restarted(self) -> PaceMoment:
        """Return the moment at which the schedule restarts; manual factors of the rates stay."""
        if self.schedule is None:
            return self.moment()
        return self.schedule.pace_at(self.schedule.begun(self.standing), self.momenta)

    def set(self, rates: Sequence[float]) -> None:
        """Set other rates for the next step. The schedule is scaled, or ends if its own rate is 0."""
        new = tuple(rates)
        if new == self.rates:
            return
        if self.schedule is not None:
            self.standing = self.schedule.scaled(self.standing, self.rates, new)
            self.schedule = None if self.standing is None else self.schedule
        self.rates = new

    def regroup(self, sources: Sequence[int]) -> None:
        """Replace the parameter groups; each new group has the rate of its old group in `sources`."""
        self.rates = tuple(self.rates[j] for j in sources)
        self.momenta, self.initial = (
            tuple(own[j] for j in sources) if own else () for own in (self.momenta, self.initial)
        )
        if self.schedule is not None:
            self.standing = self.schedule.regrouped_standing(self.standing, sources)
            self.schedule = self.schedule.regrouped(sources)

    # ---- for a Run

    def steps_until_change(self, epoch: int) -> int | None:
        """Return the number of steps after which a Run must ask again at the latest; an epoch has `epoch` steps."""
        return None if self.schedule is None else self.schedule.most(self.standing, epoch)

    def table(self, count: int, epoch: int) -> float | NDArray[np.float64]:
        """Return the rates of the next `count` steps: one number if all are equal, else shape (count, groups).

        If momenta are moved, they follow the rates.
        """
        schedule, standing = self.schedule, self.standing
        if schedule is None:
            own = (*self.rates, *self.momenta)
            return self.rates[0] if len(own) == 1 else np.tile(np.array(own), (count, 1))
        rates = schedule.table(standing, self.rates, count, epoch)
        if not self.momenta:
            return rates
        moved = schedule.momenta(standing, count, epoch) if schedule.moving else np.tile(self.momenta, (count, 1))
        moved[0] = self.momenta  # may have been set by hand
        return np.concatenate([rates, moved], axis=1)

    def advance(self, losses: NDArray[np.float64], epoch: int) -> None:
        """Advance by the steps of `losses`.

        If the schedule has no next rate, `rates` stay and :meth:`table` reports it.
        """
        if self.schedule is not None:
            self.standing = self.schedule.after(self.standing, self.rates, losses, epoch)
            with suppress(ScalarvizError):
                self.restore(self.schedule.pace_at(self.standing, self.momenta)._replace(initial=self.initial))


def numbers(given: Any, what: str, count: int) -> tuple[float, ...]:
    """Return a number for each group, from one number or a list; InputError if it is neither."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) != count:
            raise InputError(f"{what}: give one number per parameter group ({count}), got {len(given)}")
        return tuple(finite(one, what, 0.0) for one in given)
    return (finite(given, what, 0.0),) * count


def groups_of(optimizer: Any) -> int:
    """Return the number of parameter groups; 1 if it is no optimiser, which is reported later."""
    return len(optimizer.lr_pace.rates) if hasattr(optimizer, "lr_pace") else 1
