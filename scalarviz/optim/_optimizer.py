"""`Optimizer`: what all optimisers share; a new one is a subclass with `state` and `update`."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..checks import mapping, real_array
from ..errors import InputError, StateError, TracingError, TypeMismatchError, UnknownAttributeError, listing, shown
from ..scalar import Block, Value, Weight
from ..tape import Tape, record
from ._given import at_least_zero, steps_of
from ._grouping import Grouping, Limited
from ._groups import Grouped, picked
from ._moving import gathered, moving_of, scatter, zero_gradients
from ._names import closing, unknown
from ._pace import Schedule
from ._vector import run_tape

FloatArray = NDArray[np.float64]
Update = tuple[Any, Mapping[str, Any]]


class Optimizer(Grouping):
    """Base of the optimisers.

    A subclass names its state and says what happens to one weight. Its `update` is a function of Values: the
    package records it once and runs it on all weights together, in every engine. (A subclass that overrides
    `step` instead works in hand-written loops only.)

    Parameters
    ----------
    params : iterable of Parameter and Weight
        What to train, such as ``net.parameters()``; each weight once, however often it is listed. Or parameter groups,
        ``[{"params": ..., "lr": 0.1}, ...]``, which have numbers of their own; a weight is in one.
    lr : float
        Learning rate, finite and >= 0.

    A name that the class and its constructor do not know cannot be set: nothing would read it.

    Attributes
    ----------
    lr : float
        Learning rate of the next step. It and the other arguments of the constructor may be set at any time; while a
        Run trains with the optimiser that is an edit of the run (``run.log`` has it). Set while there is a schedule it
        scales that from here on, or ends it where the schedule's own rate is 0.
    lr_schedule : LRScheduler or None
        What the rates follow; see :mod:`scalarviz.optim.lr_scheduler`. None ends it.
    state : tuple of str
        Names of the numbers kept for each weight; they start at 0, or at what :meth:`state_start` says.
    squares : tuple of str
        Which of them are never negative, as means of squares: a picture shows them as magnitudes.

    While a Run trains with the optimiser, state and steps are the Run's: they are read from it, and a step by hand or
    loading others raises StateError.

    Raises
    ------
    UnknownAttributeError
        Setting an attribute that there is not.
    InputError
        No parameters, or a learning rate that cannot be used.
    TypeMismatchError
        Something in `params` is neither a Parameter nor a Weight; or the class overrides neither `update` nor
        `step`.

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
    _edit: weakref.WeakMethod[Callable[[dict[str, Any], int | None], None]] | None = None
    """Who is told of a number that is set, while a Run trains with the optimiser."""
    _give: weakref.WeakMethod[Callable[[], object]] | None = None
    """Who is asked for state and steps as they are now, likewise."""
    _arguments: ClassVar[tuple[str, ...]] = ("lr",)
    """Names of the constructor's arguments, the parameters apart."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Know the arguments of a subclass, and when its constructor is done: from then on a new name is a slip."""
        super().__init_subclass__(**options)
        own: Any = cls
        if "__init__" in vars(cls):
            own.__init__ = closing(own.__init__)
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
        edit = None if self._edit is None else self._edit()
        if edit is not None:
            edit(found, None)
        elif vars(self).get("_rules"):
            self.put(found)
        else:
            self.assign(found)

    @closing
    def __init__(self, params: Iterable[Block | Weight], lr: float) -> None:
        title = type(self).__name__
        if type(self).update is Optimizer.update and not overrides_step(self):
            raise TypeMismatchError(f"{title} says nothing about a step; give it update(self, w, g, state, lr, t)")
        given = Grouped(params, title)
        self._held = given.held
        self.lr = lr
        if given.numbers:
            self._given = given  # until the constructor is done: the numbers of a subclass come later
        self._steps = 0
        self._state: dict[str, FloatArray] = {}

    # ---- what to do

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """One weight's step, as a function of Values.

        Parameters
        ----------
        w, g : Value
            The weight and its gradient.
        state : mapping of str to Value
            One Value a name of `state`.
        lr, t : Value
            The learning rate, and the number of this step, from 1.

        Returns
        -------
        new_w, new_state : Value, dict of str to Value
        """
        raise TypeMismatchError(f"{type(self).__name__} has no update; a Run needs one, a step() alone is not enough")

    def state_start(self, name: str) -> float:
        """What the state of a name starts at: 0; a subclass may say otherwise."""
        return 0.0

    def step(self) -> None:
        """Move every weight that is not frozen and whose gradient has been computed.

        Raises
        ------
        StateError
            A Run trains with this optimiser.
        """
        self._check_free("step() by hand")
        self._steps += 1
        moving = moving_of(self._held)
        if not any(len(places) for places, _ in moving):
            return
        flat = np.concatenate([places for places, _ in moving])
        w, g = gathered(self._held, "flat_value", moving), gathered(self._held, "flat_grad", moving)
        arrays = self._arrays()  # a number may have changed which there are
        rows = np.stack([w, g, *(arrays[name][flat] for name in self.state)])
        new_w, *new_state = self.moved_rows(rows, flat)
        for name, row in zip(self.state, new_state, strict=True):
            self._state[name][flat] = row
        scatter(self._held, new_w, moving)

    def zero_grad(self) -> None:
        """Set the gradient of every held weight to 0, "not computed yet"."""
        zero_gradients(self._held)

    def tape(self, limited: Limited | None = None, more: int = 0) -> Tape:
        """`update` recorded: inputs ``w, g, *state``, parameters ``lr, t``, outputs ``w, *state``.

        With several parameter groups the last input is the group of the weight, and behind the others come the rates of
        all groups but the first; the last parameters are the momenta of all, where a schedule moves them.

        Parameters
        ----------
        limited : callable, optional
            ``limited(w, g, numbers) -> g``: what is made of the gradient before `update` sees it.
        more : int
            How many `numbers` that takes; they are parameters behind ``lr, t``.

        Raises
        ------
        TracingError
            `update` asks a Value for its number.
        InputError
            `update` returns something other than a weight and its state.
        """
        groups = len(self.rules)
        moved = 2 + more + groups - 1  # where the momenta stand that a schedule moves
        theta = Block(moved + len(self.lr_pace.momenta))
        rules = [rule.with_momentum(theta.weight(moved + j)) if self.lr_pace.momenta else rule
                 for j, rule in enumerate(self.rules)]  # fmt: skip

        def one(inputs: list[Value]) -> list[Value]:
            w, g, *state = inputs
            if limited is not None:
                g = limited(w, g, [theta.weight(2 + k) for k in range(more)])
            if groups == 1:
                return rules[0]._one([w, g, *state], theta.weight(0), theta.weight(1))
            rates = [theta.weight(0), *(theta.weight(2 + more + j) for j in range(groups - 1))]
            found = zip(rules, rates, strict=True)
            return picked(
                state[-1], [self.of_all(rule, [w, g, *state[:-1]], lr, theta.weight(1)) for rule, lr in found]
            )

        return record(one, 2 + len(self.state) + (groups > 1), blocks=[theta])

    # ---- its numbers

    def hyperparameters(self) -> dict[str, Any]:
        """The arguments of the constructor by name, as they are now."""
        return {name: getattr(self, name) for name in self._arguments if hasattr(self, name)}

    def checked(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """`numbers` as they would be kept; nothing is changed.

        Raises
        ------
        InputError
            There is no such number, or one is out of its range, or they do not go together.
        """
        there = self._arguments
        if unknown := [name for name in numbers if name not in there]:
            raise InputError(f"{type(self).__name__} has no {listing(unknown)}; there are {listing(there)}")
        found = {name: self.check_number(name, number) for name, number in numbers.items()}
        self.check_together({**self.hyperparameters(), **found})
        return found

    def check_number(self, name: str, number: Any) -> Any:
        """One number as it is kept; a subclass says here what it takes.

        Raises
        ------
        InputError
        """
        return at_least_zero(number, f"{type(self).__name__}: {name}") if name == "lr" else number

    def check_together(self, numbers: Mapping[str, Any]) -> None:
        """Raise InputError if all numbers together make no sense; a subclass says here when."""

    def assign(self, numbers: Mapping[str, Any]) -> None:
        """Set checked numbers, whoever trains with the optimiser."""
        for name, number in numbers.items():
            object.__setattr__(self, name, number)

    def attach(
        self,
        edit: Callable[[dict[str, Any], int | None], None] | None,
        give: Callable[[], object] | None = None,
        scheduled: Callable[[Schedule | None], None] | None = None,
    ) -> None:
        """Let a Run train with it, or (None) nobody. The bound methods are held weakly.

        `edit` is told of numbers that are set; `give` calls :meth:`receive` with state and steps as they are now;
        `scheduled` is told of another schedule.
        """
        self._edit = None if edit is None else weakref.WeakMethod(edit)
        self._give = None if give is None else weakref.WeakMethod(give)
        self._scheduled = None if scheduled is None else weakref.WeakMethod(scheduled)

    def receive(self, steps: int, state: Mapping[str, FloatArray]) -> None:
        """Take over what a Run computed: `state` by name, shape ``(numel(),)``, float64."""
        self._steps, self._state = steps, dict(state)

    def _refresh(self) -> None:
        give = None if self._give is None else self._give()
        if give is not None:
            give()

    def _check_free(self, what: str) -> None:
        if self._give is not None and self._give() is not None:
            raise StateError(
                f"{type(self).__name__}: {what}, but a Run trains with this optimiser and holds its state; take "
                "run.step() and run.load(path), or first run.close()"
            )

    def __getstate__(self) -> dict[str, Any]:
        self._refresh()
        return {name: part for name, part in self.__dict__.items() if name not in ("_edit", "_give", "_scheduled")}

    # ---- its state

    @property
    def steps(self) -> int:
        """How many steps have been done."""
        self._refresh()
        return self._steps

    @steps.setter
    def steps(self, steps: int) -> None:
        self._check_free("steps are set")
        self._steps = steps_of(f"{type(self).__name__}: steps", steps)

    def state_arrays(self) -> dict[str, FloatArray]:
        """The state of all held weights, in the order of `blocks`: live arrays by name, shape ``(numel(),)``.

        While a Run trains with the optimiser they are copies of the Run's.
        """
        self._refresh()
        return self._arrays()

    def _arrays(self) -> dict[str, FloatArray]:
        if self._state.keys() != set(self.state):
            begun = {name: np.full(self.numel(), self.state_start(name)) for name in self.state}
            self._state = {name: self._state.get(name, array) for name, array in begun.items()}
        return self._state

    def state_dict(self) -> dict[str, Any]:
        """A copy of everything that a later run needs to go on.

        Returns
        -------
        dict
            ``"steps"`` (int), ``"hyperparameters"`` (dict) and ``"state"`` (name -> array, shape ``(numel(),)``); with
            several groups ``"param_groups"``, the numbers of each.
        """
        arrays = {name: array.copy() for name, array in self.state_arrays().items()}
        groups = {"param_groups": self.all_group_numbers()} if self._rules else {}
        return {"steps": self.steps, "hyperparameters": self.hyperparameters(), "state": arrays, **groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave; on an error nothing is changed.

        Raises
        ------
        InputError
            Entries are missing, or a state array has another name or length.
        StateError
            A Run trains with this optimiser.
        """
        self._check_free("load_state_dict()")
        title = f"load_state_dict of {type(self).__name__}"
        given = mapping(state_dict, f"{title}: what is loaded")
        missing = [name for name in ("steps", "hyperparameters", "state") if name not in state_dict]
        if missing:
            raise InputError(f"{title}: missing {listing(missing)}")
        for name in ("hyperparameters", "state"):
            mapping(given[name], f"{title}: {name!r}")
        steps = steps_of(f"{title}: 'steps'", given["steps"])
        unknown = [n for n in state_dict["hyperparameters"] if n not in self.hyperparameters()]
        if unknown:
            raise InputError(f"{title}: unknown {listing(unknown)}; there are {listing(self.hyperparameters())}")
        arrays = {name: np.array(real_array(a, f"{title}: {name}"), np.float64) for name, a in given["state"].items()}
        if arrays.keys() != set(self.state):
            raise InputError(f"{title}: its state is ({listing(self.state)}), got ({listing(arrays)})")
        for name, array in arrays.items():
            if array.shape != (self.numel(),):
                raise InputError(f"{title}: {name} is for {self.numel()} weights, got shape {array.shape}")
        groups = self.checked_groups(state_dict["hyperparameters"], given.get("param_groups"), title)
        for j, numbers in enumerate(groups):
            self.put(numbers, j)
        self._steps, self._state = steps, arrays

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value!r}" for name, value in self.hyperparameters().items())
        return f"{type(self).__name__}({self.numel()} weights, {numbers})"

    # ---- inside a step

    def _next(self, rows: FloatArray, theta: FloatArray) -> FloatArray:
        """New weight and state rows, shape of `rows` less the gradient's."""
        try:
            # recorded anew each step: that takes microseconds, and changed hyper-parameters count at once
            return run_tape(self.tape(), rows, theta)
        except TracingError:  # an `if` on a number: fine here, where weights go one by one
            lr, t = Value(theta[0]), Value(theta[1])
            columns = [self._one([Value(x) for x in column], lr, t) for column in rows.T.tolist()]
            return np.array([[v.data for v in column] for column in columns]).T

    def _one(self, inputs: list[Value], lr: Value, t: Value) -> list[Value]:
        w, g, *numbers = inputs
        result: Any = self.update(w, g, dict(zip(self.state, numbers, strict=True)), lr, t)
        title = f"{type(self).__name__}.update"
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
            raise InputError(f"{title} must return (new_w, new_state), a Value and a dict, got {shown(result)}")
        new_w, new_state = result
        if set(new_state) != set(self.state):
            raise InputError(f"{title}: the state is ({listing(self.state)}), it returned ({listing(new_state)})")
        found = [new_w, *(new_state[name] for name in self.state)]
        return [v if isinstance(v, Value) else Value(v) for v in found]


def overrides_step(optimizer: Optimizer | type[Optimizer]) -> bool:
    """Whether a class replaces `step`, so that only hand-written loops can use it."""
    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    return kind.step is not Optimizer.step
