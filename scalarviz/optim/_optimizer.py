"""`Optimizer`: the base of all optimisers. A new one is a subclass with `state` and `update`."""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes, did_you_mean
from ..checks import check_set_to_none, mapping, position, real_array
from ..errors import InputError, StateError, TracingError, TypeMismatchError, UnknownAttributeError, listing, shown
from ..scalar import Block, Value, Weight
from ..scalar.number import at_least_zero
from ..scalar.weight import Indices
from ..tape import Tape, trace
from ._checked import steps_of
from ._groups import INITIAL, MOST, GroupNumbers, ParamGroup, grouped, picked
from ._pace import LRScheduler, Pace
from ._vector import FloatArray, Places, Rows, gathered, moving_of, places_in, prepared, scatter


def after_construction(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that the optimiser knows when its outermost constructor has finished."""

    @wraps(init)
    def constructor(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        outermost = vars(self).get("_done") is not False
        self._done = False
        init(self, *args, **kwargs)
        self._done = outermost
        if outermost and (given := vars(self).pop("_given", None)) is not None:
            self.begin_groups(*given)

    return constructor


def unknown(optimizer: Optimizer, name: str) -> str:
    """Return the error message for an attribute that an optimiser does not have."""
    title, numbers = type(optimizer).__name__, list(optimizer.hyperparameters())
    meant = did_you_mean(name, numbers) or "."
    return (
        f"{title} has no attribute {shown(name)}{meant} {title} has {listing(numbers)}; your own subclass can set "
        "more attributes in its __init__"
    )


Limited = Callable[[Value, Value, Sequence[Value]], Value]
RULES = f"{__package__}._rules"
NOBODY = ("_trainer", "_rules", "_of", "_pace", "_prepared")
"""Attributes that the rule of one group does not copy."""
Update = tuple[Any, Mapping[str, Any]]
Checks = Mapping[str, Callable[[Any, str], Any]]


ABSENT = {
    "add_param_group": "give all groups at once, optim.SGD([{'params': a}, {'params': b, 'lr': 0.01}])",
    "defaults": "use hyperparameters(), or param_groups", "get_lr": "use optimizer.lr",
    **dict.fromkeys(("register_step_post_hook", "register_step_pre_hook", "OptimizerPostHook", "OptimizerPreHook",
                     "profile_hook_step"), "use run.on_step(function) of a Run"),
    **dict.fromkeys(("register_load_state_dict_post_hook", "register_load_state_dict_pre_hook",
                     "register_state_dict_post_hook", "register_state_dict_pre_hook"), "change the dict itself"),
}  # fmt: skip
"""Names of PyTorch's optimisers that these have not, and what is said of each."""


class Optimizer:
    """Base of the optimisers; a subclass names its state and updates one weight in `update`.

    `update` is a function of Values: it is recorded once and runs on all weights together, in every engine. (A subclass
    that overrides `step` instead works only in hand-written loops.) An attribute that the class and its constructor do
    not define cannot be set, because nothing would read it.

    It is one concept: a rule, the numbers of each parameter group, and the state of each weight; a rule reads both, and
    a Run replaces all three together.

    Parameters
    ----------
    params : iterable of Parameter and Weight
        The weights to train; each counts once, however often it is listed. Or parameter groups with their own numbers:
        ``[{"params": ..., "lr": 0.1}, ...]``; a weight belongs to one group.
    lr : float
        Learning rate, finite and >= 0.

    Attributes
    ----------
    lr : float
        Learning rate of the next step. You can set it and the other arguments at any time; while a Run trains with the
        optimiser, that is an edit of the run. With a schedule, setting `lr` scales the schedule from here on, or ends
        it if the schedule's own rate is 0.
    lr_schedule : LRScheduler or None
        The schedule of the rates; see :mod:`scalarviz.optim.lr_scheduler`. None ends it.
    state : tuple of str
        Names of the numbers kept for each weight; they start at 0 or at :meth:`state_start`.
    squares : tuple of str
        The states that are never negative, such as means of squares; a picture shows them as magnitudes.

    Raises
    ------
    UnknownAttributeError
        An attribute is set that does not exist.
    InputError
        There are no parameters, or the learning rate is invalid.
    TypeMismatchError
        Something in `params` is neither a Parameter nor a Weight, or the class has neither `update` nor `step`.

    Examples
    --------
    >>> class Momentum(Optimizer):
    ...     state = ("speed",)
    ...     def update(self, w, g, state, lr, t):
    ...         speed = 0.9 * state["speed"] + g
    ...         return w - lr * speed, {"speed": speed}
    >>> w = Weight(1.0)
    >>> opt = Momentum([w], lr=0.1)
    >>> (w * w).backward(); opt.step(); w.data
    0.8
    """

    state: tuple[str, ...] = ()
    squares: tuple[str, ...] = ()
    _trainer: weakref.ref[Any] | None = None
    """The Run that trains with this optimiser."""
    _held: list[tuple[Block, Indices]]
    _rules: tuple[Optimizer, ...] = ()
    """The rule of each group, an optimiser without weights; empty if there is one group."""
    _of: Indices = np.zeros(0, np.intp)
    _prepared: tuple[list[Any], Callable[[Rows, Rows], list[FloatArray]]] | None = None
    """The numbers of the rule, and its update of arrays with them."""
    _arguments: ClassVar[tuple[str, ...]] = ("lr",)
    """Names of the constructor's arguments, without the parameters."""
    _checks: ClassVar[Checks] = {}
    """A check for each argument except `lr`: it takes the number and its name for messages, and returns the number."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own: Any = cls
        if "__init__" in vars(cls):
            own.__init__ = after_construction(own.__init__)
        names = inspect.signature(own.__init__).parameters
        own._arguments = tuple(dict.fromkeys(name for name in ("lr", *names) if name not in ("self", "params")))

    def __setattr__(self, name: str, value: Any) -> None:
        known = name.startswith("_") or hasattr(type(self), name) or name in vars(self)
        if not known and vars(self).get("_done", False):
            raise UnknownAttributeError(unknown(self, name))
        if name not in self._arguments:
            object.__setattr__(self, name, value)
            return
        found = self.checked({name: value})
        if (run := self._run()) is not None:
            run._optimizer_edited(found, None)
        elif vars(self).get("_rules"):
            self.put(found)
        else:
            self.assign(found)

    @after_construction
    def __init__(self, params: Iterable[Block | Weight], lr: float) -> None:
        title = type(self).__name__
        if type(self).update is Optimizer.update and not overrides_step(self):
            raise TypeMismatchError(f"{title} has no rule for a step; define update(self, w, g, state, lr, t)")
        self._held, numbers, of = grouped(params, title)
        given: Any = lr
        if isinstance(given, dict):
            raise TypeMismatchError(
                f"{title}: Optimizer.__init__ takes the rate, not a dict of defaults: super().__init__(params, lr). "
                "Then define update(self, w, g, state, lr, t); it returns the new weight and a dict of its state"
            )
        self.lr = lr
        if numbers:
            self._given = numbers, of  # until the constructor has finished: a subclass sets its numbers later
        self._steps = 0
        self._state: dict[str, FloatArray] = {}

    # ---- the rule

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """Return one weight's next value and state, as a function of Values.

        Parameters
        ----------
        w, g, lr, t : Value
            The weight, its gradient, the learning rate, and the number of this step, from 1.
        state : mapping of str to Value
            The state of the weight, by the names of `state`.

        Returns
        -------
        new_w, new_state : Value, dict of str to Value
        """
        raise TypeMismatchError(f"{type(self).__name__} has no update(); a Run needs it besides step()")

    def state_start(self, name: str) -> float:
        """Return the initial value of a state: 0. A subclass may return another."""
        return 0.0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every weight that is not frozen and has a computed gradient.

        Parameters
        ----------
        closure : callable, optional
            Called first, as in PyTorch: it computes the loss and its gradients. What it returns is returned.

        Raises
        ------
        StateError
            A Run trains with this optimiser.
        """
        self._check_free("step()")
        loss = None if closure is None else closure()
        self._steps += 1
        moving = moving_of(self._held)
        w, g = gathered(self._held, "flat_value", moving), gathered(self._held, "flat_grad", moving)
        if not len(w):
            return loss
        flat = places_in(moving, self.numel())
        arrays = self._arrays()  # a changed hyper-parameter may change which states exist
        new_w, *new_state = self.moved_rows([w, g, *(arrays[name][flat] for name in self.state)], flat)
        for name, row in zip(self.state, new_state, strict=True):
            self._state[name][flat] = row
        scatter(self._held, new_w, moving)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradient of every weight to 0, "not computed yet": what PyTorch's None means."""
        check_set_to_none(set_to_none)
        for block, places in self._held:
            if len(places) == block.size:
                block.zero_grad()
            else:
                for i in places.tolist():
                    block.weight(i).zero_grad()

    def tape(self, limited: Limited | None = None, more: int = 0, group: int | None = None) -> Tape:
        """Record `update` as a tape: inputs ``w, g, *state``, parameters ``lr, t``, outputs ``w, *state``.

        With several groups the last input is the group of the weight. The rates of the other groups are further
        parameters, and the momenta are the last ones if a schedule moves them. ``limited(w, g, numbers) -> g`` is
        applied to the gradient first; its `more` numbers are parameters after ``lr, t``. With `group`, only the rule of
        that group is recorded, with all states.
        """
        rules: Sequence[Optimizer] = self.rules if group is None else self.rules[group : group + 1]
        moved = 1 + more + len(rules)  # index of the momenta that a schedule moves
        theta = Block(moved + (len(rules) if self.lr_pace.momenta else 0))
        if self.lr_pace.momenta:
            rules = [rule.with_momentum(theta.weight(moved + j)) for j, rule in enumerate(rules)]

        def one(inputs: list[Value]) -> list[Value]:
            w, g, *state = inputs[: 2 + len(self.state)]
            if limited is not None:
                g = limited(w, g, [theta.weight(2 + k) for k in range(more)])
            rates = [theta.weight(0), *(theta.weight(2 + more + j) for j in range(len(rules) - 1))]
            found = zip(rules, rates, strict=True)
            return picked(inputs[-1], [self.of_all(rule, [w, g, *state], lr, theta.weight(1)) for rule, lr in found])

        return trace(one, 2 + len(self.state) + (len(rules) > 1), blocks=[theta])

    # ---- hyper-parameters

    def hyperparameters(self) -> dict[str, Any]:
        """Return the current arguments of the constructor by name."""
        return {name: getattr(self, name) for name in self._arguments if hasattr(self, name)}

    def checked(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Return `numbers` as they would be stored; InputError if one is invalid or they contradict each other."""
        there = self._arguments
        if unknown := [shown(name) for name in numbers if name not in there]:
            raise InputError(f"{type(self).__name__} has no {listing(unknown)}; allowed: {listing(there)}")
        found = {name: self.check_number(name, number) for name, number in numbers.items()}
        self.check_together({**self.hyperparameters(), **found})
        return found

    def check_number(self, name: str, number: Any) -> Any:
        """Return one number as it is stored, or raise InputError. A subclass can extend the check."""
        check = at_least_zero if name == "lr" else self._checks.get(name)
        return number if check is None else check(number, f"{type(self).__name__}: {name}")

    def check_together(self, numbers: Mapping[str, Any]) -> None:
        """Raise InputError if the numbers contradict each other. A subclass can override it."""

    def assign(self, numbers: Mapping[str, Any]) -> None:
        """Set numbers that have been checked."""
        for name, number in numbers.items():
            object.__setattr__(self, name, number)

    def attach(self, run: Any) -> None:
        """Let a Run train with this optimiser, or None. The reference to the Run is weak.

        The Run is told of new numbers and of another schedule. It calls :meth:`receive` when the state is needed.
        """
        self._trainer = None if run is None else weakref.ref(run)

    def _run(self) -> Any:
        return None if self._trainer is None else self._trainer()

    def receive(self, steps: int, state: Mapping[str, FloatArray]) -> None:
        """Take over the results of a Run: `state` by name, shape ``(numel(),)``, float64."""
        self._steps, self._state = steps, dict(state)

    def _refresh(self) -> None:
        if (run := self._run()) is not None:
            run._optimizer_asked()

    def _check_free(
        self, what: str, instead: str = "use run.step() and run.load(path), or call run.close() first"
    ) -> None:
        if self._run() is not None:
            raise StateError(
                f"{type(self).__name__}: {what} is not possible while a Run trains with this optimiser; {instead}"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pace = self.lr_pace.twin()
        if self._pace.schedule is not None:
            self._pace.schedule = self._pace.schedule.rebound(self)

    def __getstate__(self) -> dict[str, Any]:
        self._refresh()
        return {name: part for name, part in self.__dict__.items() if name not in ("_trainer", "_prepared")}

    # ---- learning rates

    @property
    def lr_pace(self) -> Pace:
        """The current rates and the position in their schedule, for a Run."""
        pace: Pace = vars(self).setdefault("_pace", Pace())
        return pace

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        rates = self.lr_pace.rates
        if not rates:
            raise AttributeError("lr")  # not set yet
        return rates[0]

    @lr.setter
    def lr(self, lr: float) -> None:
        self._put_rate(lr, None)

    @property
    def lr_schedule(self) -> LRScheduler | None:
        """The schedule of the rates, or None."""
        return self.lr_pace.schedule

    @lr_schedule.setter
    def lr_schedule(self, schedule: LRScheduler | None) -> None:
        if (run := self._run()) is None:
            self.put_schedule(schedule)
        else:
            run._scheduled(schedule)

    # ---- parameter groups

    @property
    def group_of(self) -> Indices:
        """The group index of each weight, in the order of `blocks`; empty if there is one group."""
        return self._of

    @property
    def rules(self) -> tuple[Optimizer, ...]:
        """The rule of each group."""
        return self._rules or (self,)

    @property
    def param_groups(self) -> list[ParamGroup]:
        """The groups as mappings of names to numbers that you can set: ``optimizer.param_groups[0]["lr"] = 0.01``."""
        return [ParamGroup(self, j) for j in range(len(self.rules))]

    def begin_groups(self, given: Sequence[Mapping[str, Any]], of: Indices) -> None:
        """Make the rules of groups from these numbers; the optimiser's own numbers are the defaults."""
        initial = [at_least_zero(numbers[INITIAL], INITIAL) for numbers in given if INITIAL in numbers]
        given = [{name: part for name, part in numbers.items() if name != INITIAL} for numbers in given]
        checked = [self.checked(numbers) for numbers in given]
        rates = tuple(float(numbers.get("lr", self.lr)) for numbers in checked)
        made = [self._copy_rule(numbers) for numbers in checked]
        self._rules, self._of = (tuple(made), of) if len(made) > 1 else ((), np.zeros(0, np.intp))
        self.assign({name: part for name, part in checked[0].items() if name != "lr"})
        self.lr_pace.rates = rates
        self.lr_pace.initial = tuple(initial) if len(initial) == len(given) else ()
        self._join_states()

    def _copy_rule(self, numbers: Mapping[str, Any]) -> Optimizer:
        """Return a copy of the rule with other numbers, without groups, schedule and Run."""
        twin = object.__new__(type(self))
        twin.__dict__.update({name: part for name, part in vars(self).items() if name not in NOBODY})
        twin.lr_pace.rates = (self.lr,)
        twin.assign({name: part for name, part in numbers.items() if name != "lr"})
        return twin

    def parted(self, chosen: NDArray[np.bool_], title: str) -> tuple[GroupNumbers, tuple[int, ...], tuple[int, ...]]:
        """Split the groups so that each holds only chosen weights or none; nothing is changed.

        `chosen` has a flag for each weight. Also return, for each new group, the current group that it was part of, and
        the indices of the groups with chosen weights.
        """
        count = len(self.rules)
        of = self._of.copy() if count > 1 else np.zeros(len(chosen), np.intp)
        sources, places = list(range(count)), list[int]()
        for j in range(count):
            own = of == j
            both = own & chosen
            if not both.any():
                continue
            if both.sum() < own.sum():
                of[both] = len(sources)
                places.append(len(sources))
                sources.append(j)
            else:
                places.append(j)
        if len(sources) > MOST:
            raise InputError(f"{title}: at most {MOST} parameter groups, got {len(sources)}")
        numbers = self.moment().numbers
        found = GroupNumbers(tuple(numbers[j] for j in sources), of if len(sources) > 1 else np.zeros(0, np.intp))
        return found, tuple(sources), tuple(places)

    def _join_states(self) -> None:
        """Set the state to that of all rules together."""
        if self._rules:
            names = dict.fromkeys(name for rule in self._rules for name in rule.state)
            object.__setattr__(self, "state", tuple(names))

    def group_numbers(self, index: int) -> dict[str, Any]:
        """Return the numbers of one group by name."""
        place = position(index, len(self.rules), "param_groups")
        return {**self.rules_now()[place].hyperparameters(), "lr": self.lr_pace.rates[place]}

    def rules_now(self) -> tuple[Optimizer, ...]:
        """Return the rule of each group, with the momentum to which a schedule moved it."""
        momenta = self.lr_pace.momenta
        if not momenta:
            return self.rules
        return tuple(rule.with_momentum(one) for rule, one in zip(self.rules, momenta, strict=True))

    def checked_groups(self, numbers: Mapping[str, Any], groups: Any, title: str) -> list[dict[str, Any]]:
        """Return the numbers of each group from a file; a file without groups has one set for all."""
        count = len(self.rules)
        listed = [numbers] * count if groups is None else groups
        if not isinstance(listed, list | tuple) or len(listed) != count:
            raise InputError(f"{title}: groups must be a list of length {count}, got {shown(groups)}")
        return [r.checked(mapping(one, f"{title}: a group")) for r, one in zip(self.rules, listed, strict=True)]

    def put(self, numbers: Mapping[str, Any], group: int | None = None) -> None:
        """Set checked numbers of one group, or of all, also while a Run trains with the optimiser.

        A rate for all groups is the first group's; the other rates are scaled by the same factor.
        """
        others = {name: part for name, part in numbers.items() if name != "lr"}
        for j, rule in enumerate(self._rules):
            if group is None or group == j:
                rule.assign(others)
        if group is None or group == 0:
            self.assign(others)
        self._join_states()
        self._put_momentum(others, group)
        if "lr" in numbers:
            self._put_rate(float(numbers["lr"]), group)

    def _put_momentum(self, numbers: Mapping[str, Any], group: int | None) -> None:
        """Set the momentum by hand; a schedule that moves the momenta replaces it later."""
        pace, name = self.lr_pace, self.momentum_name
        if pace.momenta and name is not None and name in numbers:
            own = float(numbers[name][0] if name == "betas" else numbers[name])
            pace.momenta = tuple(own if group in (None, j) else one for j, one in enumerate(pace.momenta))

    @property
    def momentum_name(self) -> str | None:
        """The argument that holds the momentum: ``"momentum"``, ``"betas"`` (its first number), or None."""
        return next((name for name in ("momentum", "betas") if name in self._arguments), None)

    def with_momentum(self, momentum: Any) -> Optimizer:
        """Return a copy of the rule with another momentum, a number or a Value, unchecked."""
        twin = self._copy_rule({})
        twin.__dict__.update(self._momentum_argument(momentum))
        return twin

    def _momentum_argument(self, momentum: Any) -> dict[str, Any]:
        """Return the argument that holds the momentum, with this momentum."""
        name = str(self.momentum_name)
        return {name: (momentum, self.betas[1]) if name == "betas" else momentum}  # type: ignore[attr-defined]

    def put_schedule(self, schedule: Any) -> None:
        """Set the schedule of the rates, also while a Run trains with the optimiser."""
        before = self.lr_pace.moment()
        if schedule is not None and (isinstance(schedule, type) or not hasattr(schedule, "rebound")):
            title = type(self).__name__
            raise TypeMismatchError(
                f"{title}: a schedule must be an LRScheduler or None, got {type(schedule).__name__}"
            )
        self.lr_pace.follow(None if schedule is None else schedule.bound(self))
        name, moving = self.momentum_name, schedule is not None and schedule.moving
        if moving and name is not None:  # the state of the momentum exists even if the momentum was 0
            for rule, one in zip(self.rules, self.lr_pace.momenta, strict=False):
                try:
                    rule.assign(rule.checked(rule._momentum_argument(one)))
                except InputError:
                    self.lr_pace.restore(before)
                    raise
            if self._rules:
                self.assign({name: getattr(self._rules[0], name)})
                self._join_states()

    def _put_rate(self, rate: float, group: int | None) -> None:
        rates = self.lr_pace.rates
        if group is not None:
            self.lr_pace.set([rate if j == group else one for j, one in enumerate(rates)])
        elif len(rates) > 1 and rates[0] > 0:
            self.lr_pace.set([rate, *(one * (rate / rates[0]) for one in rates[1:])])
        else:
            self.lr_pace.set([rate] * max(1, len(rates)))

    def moment(self) -> GroupNumbers:
        """Return the groups with all their numbers except the rates."""
        numbers = ({n: part for n, part in r.hyperparameters().items() if n != "lr"} for r in self.rules)
        return GroupNumbers(tuple(numbers), self._of)

    def put_moment(self, moment: GroupNumbers) -> None:
        """Restore the groups of a moment. The caller restores the rates, one for each group."""
        rules = self.rules
        if len(moment.numbers) != len(rules):
            made = [rules[0]._copy_rule(numbers) for numbers in moment.numbers]
            object.__setattr__(self, "state", made[0].state)
            self._rules = tuple(made) if len(made) > 1 else ()
        for rule, numbers in zip(self.rules, moment.numbers, strict=True):
            rule.assign(numbers)
        self._of = moment.of
        if self._rules:
            self.assign(moment.numbers[0])
        self._join_states()

    def set_group(self, numbers: Mapping[str, Any], group: int) -> None:
        """Set numbers of one parameter group; with a Run that is an edit of the run."""
        found = self.rules[group].checked(numbers)
        if (run := self._run()) is None:
            self.put(found, group)
        else:
            run._optimizer_edited(found, group)

    if not TYPE_CHECKING:
        __getattr__ = attributes(ABSENT)

    # ---- weights

    def blocks(self) -> list[tuple[Block, Indices]]:
        """Return each block once, with the flat indices of its weights, ascending."""
        return [(block, held.copy()) for block, held in self._held]

    def numel(self) -> int:
        """Return the number of weights."""
        return sum(len(held) for _, held in self._held)

    # ---- state

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        self._refresh()
        return self._steps

    @steps.setter
    def steps(self, steps: int) -> None:
        self._check_free("setting steps")
        self._steps = steps_of(f"{type(self).__name__}: steps", steps)

    def state_arrays(self) -> dict[str, FloatArray]:
        """Return the state of all weights by name: live arrays, shape ``(numel(),)``, in the order of `blocks`.

        While a Run trains with the optimiser they are copies of the Run's arrays.
        """
        self._refresh()
        return self._arrays()

    def _arrays(self) -> dict[str, FloatArray]:
        if self._state.keys() != set(self.state):
            begun = {name: np.full(self.numel(), self.state_start(name)) for name in self.state}
            self._state = {name: self._state.get(name, array) for name, array in begun.items()}
        return self._state

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of everything that a later run needs to continue.

        Returns
        -------
        dict
            ``"steps"``, ``"hyperparameters"`` and ``"state"`` (name -> array, shape ``(numel(),)``); with several
            groups ``"param_groups"``, the numbers of each.
        """
        arrays = {name: array.copy() for name, array in self.state_arrays().items()}
        groups = {"param_groups": list(map(self.group_numbers, range(len(self._rules))))} if self._rules else {}
        return {"steps": self.steps, "hyperparameters": self.hyperparameters(), "state": arrays, **groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`. An error changes nothing.

        Raises
        ------
        InputError
            Entries are missing, or a state array has another name or length.
        StateError
            A Run trains with this optimiser.
        """
        self._check_free("load_state_dict()")
        title = f"load_state_dict of {type(self).__name__}"
        given = mapping(state_dict, f"{title}: the state")
        missing = [name for name in ("steps", "hyperparameters", "state") if name not in state_dict]
        if missing:
            raise InputError(f"{title}: the state lacks {listing(map(shown, missing))}")
        for name in ("hyperparameters", "state"):
            mapping(given[name], f"{title}: {name!r}")
        steps = steps_of(f"{title}: 'steps'", given["steps"])
        unknown = [repr(n) for n in state_dict["hyperparameters"] if n not in self.hyperparameters()]
        if unknown:
            raise InputError(f"{title}: unknown {listing(unknown)}; allowed: {listing(self.hyperparameters())}")
        arrays = {name: np.array(real_array(a, f"{title}: {name}"), np.float64) for name, a in given["state"].items()}
        if arrays.keys() != set(self.state):
            raise InputError(f"{title}: the state must have ({listing(self.state)}), got ({listing(arrays)})")
        for name, array in arrays.items():
            if array.shape != (self.numel(),):
                raise InputError(f"{title}: {name} must have shape ({self.numel()},), got {array.shape}")
        groups = self.checked_groups(state_dict["hyperparameters"], given.get("param_groups"), title)
        for j, numbers in enumerate(groups):
            self.put(numbers, j)
        self._steps, self._state = steps, arrays

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value!r}" for name, value in self.hyperparameters().items())
        return f"{type(self).__name__}({self.numel()} weights, {numbers})"

    # ---- inside a step

    def moved_rows(self, given: Rows, flat: Places) -> Rows:
        """Return the new weight and state rows of some weights, each by the rule of its group."""
        rules = self.rules_now()
        if not self._rules:
            return rules[0]._update_rows(given, np.array([self.lr, self._steps], np.float64))
        rows = np.stack([*given])
        found, of = np.delete(rows, 1, axis=0), self._of[flat]  # a result has no gradient, which is row 1
        for j, (rule, rate) in enumerate(zip(rules, self.lr_pace.rates, strict=True)):
            here = np.flatnonzero(of == j)
            if len(here):
                own = np.array([0, *(1 + self.state.index(name) for name in rule.state)])
                its = rows[np.ix_(np.insert(own + 1, 0, 0), here)]
                found[np.ix_(own, here)] = rule._update_rows(its, np.array([rate, self._steps]))
        return found

    def of_all(self, rule: Optimizer, inputs: list[Value], lr: Value, t: Value) -> list[Value]:
        """Return the new weight and state by the rule of its group; states of other rules stay."""
        w, g, *numbers = inputs
        state = dict(zip(self.state, numbers, strict=True))
        new_w, *new = rule._update_weight([w, g, *(state[name] for name in rule.state)], lr, t)
        state.update(zip(rule.state, new, strict=True))
        return [new_w, *state.values()]

    def _update_rows(self, rows: Rows, theta: FloatArray) -> Rows:
        """Return the new weight and state rows: those of `rows` without the gradient's."""
        kept, own = self._prepared, vars(self)
        # a rule of a user's own may depend on anything, so it is recorded at each step
        numbers = [own.get(name) for name in self._arguments] if type(self).update.__module__ == RULES else None
        if kept is not None and kept[0] == numbers:
            return kept[1](rows, theta)
        try:
            run = prepared(self.tape())
        except TracingError:  # an `if` on a number works here, where weights are updated one by one
            lr, t = Value(theta[0]), Value(theta[1])
            columns = [
                self._update_weight([Value(x) for x in column], lr, t) for column in np.stack([*rows]).T.tolist()
            ]
            return np.array([[v.data for v in column] for column in columns]).T
        self._prepared = None if numbers is None else (numbers, run)
        return run(rows, theta)

    def _update_weight(self, inputs: list[Value], lr: Value, t: Value) -> list[Value]:
        w, g, *numbers = inputs
        result: Any = self.update(w, g, dict(zip(self.state, numbers, strict=True)), lr, t)
        title = f"{type(self).__name__}.update"
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
            raise InputError(f"{title} must return (new_w, new_state), a Value and a dict, got {shown(result)}")
        new_w, new_state = result
        if set(new_state) != set(self.state):
            raise InputError(
                f"{title} must return the state ({listing(self.state)}), got ({listing(new_state)}); its names stand "
                f"in the class: state = {tuple(map(str, new_state))}"
            )
        found = [new_w, *(new_state[name] for name in self.state)]
        return [v if isinstance(v, Value) else Value(v) for v in found]


def overrides_step(optimizer: Optimizer | type[Optimizer]) -> bool:
    """Return whether a class overrides `step`, so that only hand-written loops can use it."""
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    return kind.step is not Optimizer.step


def holding(optimizer: Optimizer, held: Iterable[tuple[Block, Indices]]) -> Optimizer:
    """Return a copy with the same rule, numbers and steps for these weights; its state starts at 0."""
    twin = copy.copy(optimizer)
    twin._held, twin._state = list(held), {}
    return twin
