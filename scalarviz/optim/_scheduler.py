"""`LRScheduler`: what all schedules of the learning rate share; a new one is a subclass that says `at`."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, mapping, one_of, real_array
from ..errors import InputError, ScalarvizError, StateError, TypeMismatchError, listing
from ._checked import LAST_STEP, finite, steps_of
from ._optimizer import Optimizer
from ._pace import Floats, PaceMoment, momenta_now

UNITS = ("step", "epoch")
"""What a Run steps a schedule after: every training step, or as many as the data has batches."""


BY_ITSELF = (
    "the Run steps the schedule after each step (with unit='epoch', after each epoch); leave out scheduler.step()"
)


class Standing(NamedTuple):
    """Where a schedule stands: how often it was stepped, the training steps since, each group's factor by hand."""

    stepped: int
    within: int
    scales: tuple[float, ...]


class LRScheduler:
    """Base of the schedules; a subclass says in :meth:`at` what the rates are after so many steps of it.

    Making one attaches it to its optimiser. In a hand-written loop call :meth:`step` after ``optimizer.step()``; a Run
    steps it by itself. A schedule that was made before and has not been stepped makes way for the new one, which begins
    with the same rates. Where one stands a `Pace` holds beside it, as something that is never changed.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int
        -1: it begins. Else, as in PyTorch, it goes on after so many steps and one: the rates that it began with are
        then the ``"initial_lr"`` of the parameter groups. PyTorch goes on from the rates of now where a schedule is a
        recursion; here they follow from the first ones.
    unit : {"step", "epoch"}
        What a Run steps it after: a training step, or an epoch, which are ``N // batch_size`` of them.

    Attributes
    ----------
    base_lrs : tuple of float
        The rates that it began with, one a parameter group.
    remark : str
        What one should know of how it works here; or empty.
    moving : bool
        Whether it moves the momentum too.

    Raises
    ------
    TypeMismatchError
        `optimizer` is none.
    InputError
        Another `unit`, or `last_epoch` is below -1, or it is not known which rates it began with.
    """

    remark = ""
    moving = False
    _shown: tuple[str, ...] = ()
    """Names of what is said of it beside its class."""
    _of_groups: tuple[str, ...] = ("base_lrs",)
    """Names of tuples and lists that have an entry a parameter group."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, *, unit: str = "step") -> None:
        title = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise TypeMismatchError(f"{title} needs an optimiser, got {type(optimizer).__name__}")
        self._first = 1 + integer(f"{title}: last_epoch", last_epoch, -1, LAST_STEP)
        self.unit = one_of(unit, UNITS, f"{title}: unit")
        self._optimizer, self._mark = weakref.ref(optimizer), object()
        if type(self).at is LRScheduler.at and type(self).table is LRScheduler.table:
            raise TypeMismatchError(f"{title} defines neither at() nor table(); let at(self, counts) return the rates")
        self.base_lrs = self._base(optimizer.lr_pace.moment()) if self._first == 0 else self._resumed(optimizer)
        self.now(self.begin(), self.base_lrs)  # refuses rates that cannot be
        optimizer.lr_schedule = self

    def _base(self, moment: PaceMoment) -> tuple[float, ...]:
        """The rates that it begins with: those of now, or of a schedule that was never stepped."""
        before, standing = moment.schedule, moment.standing
        rates: tuple[float, ...] = moment.rates
        if before is None or standing != before.begun(standing) or not isinstance(standing, Standing):
            return rates
        return tuple(base * scale for base, scale in zip(before.base_lrs, standing.scales, strict=True))

    def _resumed(self, optimizer: Optimizer) -> tuple[float, ...]:
        first = optimizer.lr_pace.initial
        if len(first) != len(optimizer.lr_pace.rates):
            raise InputError(
                f"{type(self).__name__}: last_epoch={self._first - 1} resumes a schedule, but its initial rates are "
                "unknown; give them as 'initial_lr' of the parameter groups"
            )
        return first

    def bound(self, optimizer: Optimizer) -> LRScheduler:
        """The same schedule for another optimiser with as many groups; itself for its own."""
        if self._optimizer() is optimizer:
            return self
        if len(self.base_lrs) != len(optimizer.lr_pace.rates):
            raise InputError(
                f"{type(self).__name__} has {len(self.base_lrs)} parameter groups, but the optimiser has "
                f"{len(optimizer.lr_pace.rates)}"
            )
        return self.rebound(optimizer)

    def rebound(self, optimizer: Optimizer) -> LRScheduler:
        """A copy, also of one that was made by pickle or deepcopy, told whose it is."""
        twin = copy.copy(self)
        twin._optimizer = weakref.ref(optimizer)
        return twin

    def regrouped(self, sources: Sequence[int]) -> LRScheduler:
        """The same schedule for other parameter groups: each is told which one it was a part of."""
        twin = copy.copy(self)
        twin._optimizer = self._optimizer
        for name in self._of_groups:
            own = getattr(self, name)
            setattr(twin, name, type(own)(own[j] for j in sources))
        return twin

    def regrouped_standing(self, standing: Any, sources: Sequence[int]) -> Any:
        """Where it stands then."""
        name = "scales" if isinstance(standing, Standing) else "rates"
        return standing._replace(**{name: tuple(getattr(standing, name)[j] for j in sources)})

    # ---- what the rates are

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """The rates after the schedule was stepped so often.

        Parameters
        ----------
        counts : ndarray of int64, shape (n,)
            Each at least 0.

        Returns
        -------
        ndarray of float64, shape (n, groups)
            Finite and >= 0. What one count gives must not depend on the others.
        """
        raise NotImplementedError

    def _checked_at(self, counts: NDArray[np.int64]) -> Floats:
        """What `at` gives; one that a user wrote may do what it likes."""
        shape, asked = (len(counts), len(self.base_lrs)), f"at {int(counts[0]):,}"
        if len(counts) > 1:
            asked = f"between {int(counts.min()):,} and {int(counts.max()):,}"
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                rates = real_array(self.at(counts), f"{self!r}: what it gives {asked}")
        except ScalarvizError:
            raise
        except Exception as error:
            raise InputError(
                f"{self!r} gives no rate {asked}: {type(error).__name__}: {error!s:.200}; to go on without it set "
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

    # ---- as a run asks

    def begin(self) -> Any:
        """Where it stands at first."""
        return Standing(self._first, 0, (1.0,) * len(self.base_lrs))

    def begun(self, standing: Any) -> Any:
        """The same, with what was made of the rates by hand."""
        return Standing(self._first, 0, standing.scales)

    def now(self, standing: Any, rates: tuple[float, ...]) -> tuple[float, ...]:
        """The rates where it stands."""
        row = self._checked_at(np.array([standing.stepped]))[0] * np.array(standing.scales)
        return tuple(row.tolist())

    def most(self, standing: Any, epoch: int) -> int | None:
        """After how many steps it must be asked again at the latest; None: any number."""
        return None

    def momenta(self, standing: Any, count: int, epoch: int) -> Floats:
        """The momenta of the next `count` training steps, shape (count, groups); of one that moves them."""
        return self.momenta_at(self._counts(standing, count, epoch))

    def momenta_at(self, counts: NDArray[np.int64]) -> Floats:
        """The momenta after it was stepped so often, shape (n, groups)."""
        raise NotImplementedError

    def _counts(self, standing: Any, count: int, epoch: int) -> NDArray[np.int64]:
        """How often it was stepped, before each of the next training steps."""
        every = self._every(epoch)
        within = min(standing.within, every - 1)
        counts: NDArray[np.int64] = standing.stepped + (within + np.arange(count)) // every
        return counts

    def _every(self, epoch: int) -> int:
        return 1 if self.unit == "step" else epoch

    def table(self, standing: Any, rates: tuple[float, ...], count: int, epoch: int) -> Floats:
        """The rates of the next `count` training steps, shape (count, groups)."""
        found: Floats = self._checked_at(self._counts(standing, count, epoch)) * np.array(standing.scales)
        return found

    def after(self, standing: Any, rates: tuple[float, ...], losses: Floats, epoch: int) -> Any:
        """Where it stands after training steps."""
        every = self._every(epoch)
        more, within = divmod(min(standing.within, every - 1) + len(losses), every)
        return Standing(standing.stepped + more, within, standing.scales)

    def scaled(self, standing: Any, rates: tuple[float, ...], new: tuple[float, ...]) -> Any:
        """Where it stands when the rates are set by hand; None: it ends, a rate of 0 cannot be scaled."""
        own = self._checked_at(np.array([standing.stepped]))[0].tolist()
        changed = [before != after for before, after in zip(rates, new, strict=True)]
        if any(change and rate == 0 for change, rate in zip(changed, own, strict=True)):
            return None
        scales = [
            after / rate if change else scale
            for change, after, rate, scale in zip(changed, new, own, standing.scales, strict=True)
        ]
        return Standing(standing.stepped, standing.within, tuple(scales))

    # ---- as in PyTorch

    @property
    def optimizer(self) -> Optimizer:
        """Whose rates it sets; StateError where nobody holds that one any more."""
        optimizer = self._optimizer()
        if optimizer is None:
            raise StateError(f"{type(self).__name__}: its optimiser no longer exists")
        return optimizer

    def _standing(self, what: str) -> Any:
        """Where it stands; StateError where it sets no rates any more."""
        pace = self.optimizer.lr_pace
        if getattr(pace.schedule, "_mark", None) is not self._mark:  # it, or it for other parameter groups
            now = "the rates were set by hand where its own was 0" if pace.schedule is None else f"now {pace.schedule}"
            raise StateError(
                f"{type(self).__name__}.{what}: it is no longer the schedule of its optimiser ({now}); to chain "
                "schedules use SequentialLR"
            )
        return pace.standing

    @property
    def last_epoch(self) -> int:
        """How often it was stepped."""
        return int(self._standing("last_epoch").stepped)

    def get_last_lr(self) -> list[float]:
        """The rates of the next step, one a parameter group."""
        return list(self.optimizer.lr_pace.rates)

    def step(self) -> None:
        """Go on by one, in a hand-written loop.

        Raises
        ------
        StateError
            A Run trains with the optimiser and steps it by itself; or another schedule took its place.
        """
        standing, pace = self._standing("step()"), self.optimizer.lr_pace
        self.optimizer._check_free("its schedule is stepped by hand", BY_ITSELF)
        new, schedule = Standing(standing.stepped + 1, 0, standing.scales), pace.moment().schedule
        assert schedule is not None
        moved = momenta_now(schedule, new, pace.momenta)
        pace.restore(PaceMoment(schedule.now(new, pace.rates), schedule, new, moved, pace.initial))

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, as numbers by name; its arguments are not among them."""
        return {name: list(part) if isinstance(part, tuple) else part
                for name, part in self._standing("state_dict()")._asdict().items()}  # fmt: skip

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave; on an error nothing is changed.

        Raises
        ------
        InputError, TypeMismatchError
            Entries are missing or unknown, or cannot be used.
        StateError
            A Run trains with the optimiser.
        """
        self._standing("load_state_dict()")
        self.optimizer._check_free("its schedule is loaded")
        pace = self.optimizer.lr_pace
        assert pace.schedule is not None
        pace.restore(pace.schedule.loaded(state_dict))

    def loaded(self, state_dict: Any) -> PaceMoment:
        """The moment of a pace that a state says; nothing is changed."""
        title = f"{type(self).__name__}: the state"
        given, first = mapping(state_dict, title), self.begin()
        if set(given) != set(first._fields):
            raise InputError(f"{title} has {listing(first._fields)}, got {listing(sorted(given))}")
        standing = self._read(title, given)
        moved = momenta_now(self, standing, self.optimizer.lr_pace.momenta)
        return PaceMoment(self.now(standing, self.base_lrs), self, standing, moved, self.base_lrs)

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


def numbers(given: Any, what: str, count: int, least: float = 0.0) -> tuple[float, ...]:
    """One number for all groups, or a list with one for each; InputError if it is neither."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) != count:
            raise InputError(f"{what}: there are {count} parameter groups, got {len(given)} numbers")
        return tuple(finite(one, what, least) for one in given)
    return (finite(given, what, least),) * count


def groups_of(optimizer: object) -> int:
    """How many parameter groups it has; 1 where it is no optimiser, which is said later."""
    return len(optimizer.lr_pace.rates) if isinstance(optimizer, Optimizer) else 1
