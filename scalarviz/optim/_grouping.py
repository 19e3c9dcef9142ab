"""`Grouping`: the part of an optimiser that has parameter groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..checks import mapping, position
from ..errors import InputError, shown
from ..scalar import Block, Value
from ..tape import Tape, record
from ._given import Indices, as_block, at_least_zero
from ._groups import INITIAL, MOST, ParamGroup
from ._paced import Paced

if TYPE_CHECKING:
    from ._optimizer import Optimizer

Floats = NDArray[np.float64]
Limited = Callable[[Value, Value, Sequence[Value]], Value]
NOBODY = ("_edit", "_give", "_scheduled", "_rules", "_of", "_pace")
"""What the rule of one group does not take over."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupNumbers:
    """All that the parameter groups are but their rates; nothing of it is ever changed.

    Attributes
    ----------
    numbers : tuple of dict
        Of each group, by name.
    of : ndarray of int
        The group of each held weight; empty where there is one alone.
    """

    numbers: tuple[dict[str, Any], ...]
    of: Indices

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupNumbers) and self.numbers == other.numbers and np.array_equal(self.of, other.of)

    __hash__ = None  # type: ignore[assignment]


class Grouping(Paced):
    """Groups: each has a rule of its own, an optimiser without weights; what all share stands in this one."""

    _held: list[tuple[Block, Indices]]

    _rules: tuple[Optimizer, ...] = ()
    _of: Indices = np.zeros(0, np.intp)

    @property
    def group_of(self) -> Indices:
        """The parameter group of each held weight, in the order of `blocks`; empty where there is one alone."""
        return self._of

    @property
    def rules(self) -> tuple[Optimizer, ...]:
        """The rule of each group."""
        return self._rules or (cast("Optimizer", self),)

    @property
    def param_groups(self) -> list[ParamGroup]:
        """The groups, as mappings of names to numbers that can be set: ``optimizer.param_groups[0]["lr"] = 0.01``."""
        return [ParamGroup(cast("Optimizer", self), j) for j in range(len(self.rules))]

    def begin_groups(self, given: Sequence[Mapping[str, Any]], of: Indices) -> None:
        """Make the rules of groups that say these numbers; what they do not say is that of the optimiser."""
        own = cast("Optimizer", self)
        initial = [at_least_zero(numbers[INITIAL], INITIAL) for numbers in given if INITIAL in numbers]
        given = [{name: part for name, part in numbers.items() if name != INITIAL} for numbers in given]
        checked = [own.checked(numbers) for numbers in given]
        rates = tuple(float(numbers.get("lr", own.lr)) for numbers in checked)
        made = [self._rule_like(own, numbers) for numbers in checked]
        self._rules, self._of = (tuple(made), of) if len(made) > 1 else ((), np.zeros(0, np.intp))
        own.assign({name: part for name, part in checked[0].items() if name != "lr"})
        self.lr_pace.rates = rates
        self.lr_pace.initial = tuple(initial) if len(initial) == len(given) else ()
        self._join()

    def _rule_like(self, source: Optimizer, numbers: Mapping[str, Any]) -> Optimizer:
        """The rule of one group: like another one but for these checked numbers."""
        rule = object.__new__(type(source))
        rule.__dict__.update({name: part for name, part in vars(source).items() if name not in NOBODY})
        rule.lr_pace.rates = (cast("Optimizer", self).lr,)
        rule.assign({name: part for name, part in numbers.items() if name != "lr"})
        return rule

    def parted(self, chosen: NDArray[np.bool_], title: str) -> tuple[GroupNumbers, tuple[int, ...], tuple[int, ...]]:
        """Groups of which each has either chosen weights alone or none; nothing is changed.

        Parameters
        ----------
        chosen : ndarray of bool, shape (numel(),)
            In the order of `blocks`.
        title : str
            What the weights are chosen for, for errors.

        Returns
        -------
        moment : GroupNumbers
        sources : tuple of int
            Which group of now each was a part of.
        places : tuple of int
            The groups of the chosen weights.

        Raises
        ------
        InputError
            There would be more groups than there can be.
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
            raise InputError(f"{title}: at most {MOST} parameter groups, there would be {len(sources)}")
        numbers = self.moment().numbers
        found = GroupNumbers(tuple(numbers[j] for j in sources), of if len(sources) > 1 else np.zeros(0, np.intp))
        return found, tuple(sources), tuple(places)

    def _join(self) -> None:
        """The state is that of all rules together."""
        if self._rules:
            names = dict.fromkeys(name for rule in self._rules for name in rule.state)
            object.__setattr__(self, "state", tuple(names))

    def group_numbers(self, index: int) -> dict[str, Any]:
        """The numbers of one group by name."""
        place = position(index, len(self.rules), "param_groups")
        return {**self.rules_now()[place].hyperparameters(), "lr": self.lr_pace.rates[place]}

    def rules_now(self) -> tuple[Optimizer, ...]:
        """The rule of each group, with the momentum to which a schedule moved it."""
        momenta = self.lr_pace.momenta
        if not momenta:
            return self.rules
        return tuple(rule.with_momentum(one) for rule, one in zip(self.rules, momenta, strict=True))

    def all_group_numbers(self) -> list[dict[str, Any]]:
        """Those of each."""
        return [self.group_numbers(j) for j in range(len(self.rules))]

    def checked_groups(self, numbers: Mapping[str, Any], groups: Any, title: str) -> list[dict[str, Any]]:
        """The numbers of each group, of a file: those of all where it has no groups.

        Raises
        ------
        InputError
            It has another number of groups, or one of the numbers cannot be used.
        """
        count = len(self.rules)
        listed = [numbers] * count if groups is None else groups
        if not isinstance(listed, list | tuple) or len(listed) != count:
            raise InputError(f"{title}: there are {count} parameter groups, got {shown(groups)}")
        return [r.checked(mapping(one, f"{title}: a group")) for r, one in zip(self.rules, listed, strict=True)]

    def put(self, numbers: Mapping[str, Any], group: int | None = None) -> None:
        """Set checked numbers, of one group or of all, whoever trains with the optimiser.

        A rate for all is the first group's: the others are scaled as it is.
        """
        own, others = cast("Optimizer", self), {name: part for name, part in numbers.items() if name != "lr"}
        for j, rule in enumerate(self._rules):
            if group is None or group == j:
                rule.assign(others)
        if group is None or group == 0:
            own.assign(others)
        self._join()
        self._put_momentum(others, group)
        if "lr" in numbers:
            self._put_rate(float(numbers["lr"]), group)

    def _put_momentum(self, numbers: Mapping[str, Any], group: int | None) -> None:
        """A momentum that is set by hand: where a schedule moves it until it does so again."""
        pace, name = self.lr_pace, cast("Optimizer", self).momentum_name
        if pace.momenta and name is not None and name in numbers:
            own = float(numbers[name][0] if name == "betas" else numbers[name])
            pace.momenta = tuple(own if group in (None, j) else one for j, one in enumerate(pace.momenta))

    @property
    def momentum_name(self) -> str | None:
        """What a schedule moves that moves the momentum: ``"momentum"``, or ``"betas"`` of which it is the first."""
        return next((name for name in ("momentum", "betas") if name in cast("Optimizer", self)._arguments), None)

    def with_momentum(self, momentum: Any) -> Optimizer:
        """The same rule with another momentum, a number or a Value, which is not checked."""
        own = cast("Optimizer", self)
        name = str(self.momentum_name)
        twin = object.__new__(type(own))
        twin.__dict__.update({part: found for part, found in vars(own).items() if part not in NOBODY})
        twin.lr_pace.rates = (self.lr,)
        twin._steps = own._steps
        twin.__dict__[name] = (momentum, own.betas[1]) if name == "betas" else momentum  # type: ignore[attr-defined]
        return twin

    def put_schedule(self, schedule: Any) -> None:
        """Let the rates follow a schedule, whoever trains with the optimiser."""
        before = self.lr_pace.moment()
        super().put_schedule(schedule)
        name, moving = self.momentum_name, schedule is not None and schedule.moving
        if moving and name is not None:  # its state is there even where the momentum was 0
            for rule, one in zip(self.rules, self.lr_pace.momenta, strict=False):
                number = (one, rule.betas[1]) if name == "betas" else one  # type: ignore[attr-defined]
                try:
                    rule.assign(rule.checked({name: number}))
                except InputError:
                    self.lr_pace.put(before)
                    raise
            if self._rules:
                cast("Optimizer", self).assign({name: getattr(self._rules[0], name)})
                self._join()

    def _put_rate(self, rate: float, group: int | None) -> None:
        rates = self.lr_pace.rates
        if group is not None:
            self.lr_pace.set([rate if j == group else one for j, one in enumerate(rates)])
        elif len(rates) > 1 and rates[0] > 0:
            self.lr_pace.set([rate, *(one * (rate / rates[0]) for one in rates[1:])])
        else:
            self.lr_pace.set([rate] * max(1, len(rates)))

    def moment(self) -> GroupNumbers:
        """The groups with all their numbers but the rates."""
        numbers = ({n: part for n, part in r.hyperparameters().items() if n != "lr"} for r in self.rules)
        return GroupNumbers(tuple(numbers), self._of)

    def put_moment(self, moment: GroupNumbers) -> None:
        """The same again; how many rates there are is for whoever puts the pace."""
        rules, own = self.rules, cast("Optimizer", self)
        if len(moment.numbers) != len(rules):
            made = [self._rule_like(rules[0], numbers) for numbers in moment.numbers]
            object.__setattr__(self, "state", made[0].state)
            self._rules = tuple(made) if len(made) > 1 else ()
        for rule, numbers in zip(self.rules, moment.numbers, strict=True):
            rule.assign(numbers)
        self._of = moment.of
        if self._rules:
            own.assign(moment.numbers[0])
        self._join()

    def set_group(self, numbers: Mapping[str, Any], group: int) -> None:
        """Set numbers of one parameter group: those that a Run trains with by an edit of the run."""
        found = self.rules[group].checked(numbers)
        own = cast("Optimizer", self)
        edit = None if own._edit is None else own._edit()
        if edit is None:
            self.put(found, group)
        else:
            edit(found, group)

    # ---- in a step

    def moved_rows(self, rows: Floats, flat: Indices) -> Floats:
        """New weight and state rows of some of the weights that are held, each by the rule of its group."""
        own_rule, of = cast("Optimizer", self), self._of[flat] if self._rules else None
        rules = self.rules_now()
        if of is None:
            return rules[0]._next(rows, np.array([self.lr, own_rule._steps], np.float64))
        found = np.delete(rows, 1, axis=0)
        for j, rule in enumerate(rules):
            here = np.flatnonzero(of == j)
            own = [0, *(1 + own_rule.state.index(name) for name in rule.state)]
            if len(here):
                given = rows[[own[0], 1, *(1 + place for place in own[1:])]][:, here]
                found[np.ix_(np.array(own), here)] = rule._next(
                    given, np.array([self.lr_pace.rates[j], own_rule._steps])
                )
        return found

    def of_all(self, rule: Optimizer, inputs: list[Value], lr: Value, t: Value) -> list[Value]:
        """What the rule of a group makes of a weight; states that it does not know stay."""
        w, g, *numbers = inputs
        state = dict(zip(cast("Optimizer", self).state, numbers, strict=True))
        new_w, *new = rule._one([w, g, *(state[name] for name in rule.state)], lr, t)
        state.update(zip(rule.state, new, strict=True))
        return [new_w, *state.values()]

    def rule_tape(self, group: int, limited: Limited | None = None, more: int = 0) -> Tape:
        """The rule of one parameter group, recorded: inputs ``w, g`` and all states, parameters ``lr, t``.

        `limited` and `more` are those of ``Optimizer.tape``; where a schedule moves momenta the last parameter is it.
        """
        theta = Block(2 + more + (1 if self.lr_pace.momenta else 0))
        rule = self.rules[group]
        if self.lr_pace.momenta:
            rule = rule.with_momentum(theta.weight(2 + more))

        def one(inputs: list[Value]) -> list[Value]:
            w, g, *state = inputs
            if limited is not None:
                g = limited(w, g, [theta.weight(2 + k) for k in range(more)])
            return self.of_all(rule, [w, g, *state], theta.weight(0), theta.weight(1))

        return record(one, 2 + len(cast("Optimizer", self).state), blocks=[theta])

    # ---- what it holds

    def blocks(self) -> list[tuple[Block, Indices]]:
        """Each block once, with the flat indices of its held weights, ascending."""
        return [(block, held.copy()) for block, held in self._held]

    def owns(self, block: Block, index: int) -> bool:
        """Whether the weight at flat `index` of `block` is held."""
        place = position(index, as_block(block, "owns").size, "owns: the block")
        return any(b is block and bool((held == place).any()) for b, held in self._held)

    def held_mask(self, block: Block) -> NDArray[np.bool_]:
        """Which weights of `block` are held, shape ``(block.size,)``."""
        mask = np.zeros(as_block(block, "held_mask").size, np.bool_)
        for other, held in self._held:
            if other is block:
                mask[held] = True
        return mask

    def numel(self) -> int:
        """How many weights are held."""
        return sum(len(held) for _, held in self._held)
