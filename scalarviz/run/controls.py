"""Controls: what a scene lets a hand set, described. Data only; a view draws them, a browser has elements of its own.

There are four kinds: `Button`, `Slider`, `Segments`, `Switch`; `Layers` is a row of buttons. Each says its name,
which flag of the command line sets the same, what it does to learning, how its value is read off a moment, and which
edit changes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..checks import flag, function, integer, text
from ..errors import InputError, StateError, TypeMismatchError, shown
from ..scalar.single import checked_number
from .edits import Edit

if TYPE_CHECKING:
    from ..engine.data import Data
    from .core.frame import Frame, Stage, Tensor
    from .core.setup import Setup
    from .source import Facts, Source

LONGEST = 120
"""Characters of what a control does: it stands beside the pointer."""
LABEL = 28
"""Characters of its name."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What is known of one moment without waiting for the thread that trains.

    The network of `frame` may be one that the run had; `source` is as it stands now. `options` is what the
    scene was built with (:attr:`Scene.options`).
    """

    frame: Frame
    source: Source
    options: Any = None

    @property
    def settings(self) -> Setup | None:
        """How the run trained at that moment: optimiser, numbers, batch, penalties; None where nothing is trained."""
        return self.frame.settings

    @property
    def facts(self) -> Facts | None:
        """The same in words that a picture prints, as it is now."""
        return self.source.facts

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What has cubes at that moment."""
        forward = self.frame.forward
        return self.source.tensors if forward is None else forward.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The way from input to output at that moment; empty where there is no network."""
        forward = self.frame.forward
        return self.source.stages if forward is None else forward.stages

    @property
    def data(self) -> Data | None:
        """The training data at that moment, the same object until someone changes it; None without data."""
        return self.frame.data

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of inputs (N, n_inputs) and targets (N, n_targets) at that moment; StateError if there are none."""
        found = self.frame.samples()
        if found is None:
            raise StateError(f"{self.source.what} has no samples; try a Run or a Scene")
        return found


Value = Callable[[Reader], Any]
"""Its value at a moment; None hides the control."""
Do = Callable[[Any, Reader], Edit | None]
"""The edit that sets it to a value; None if nothing is left to do."""


def _there(reader: Reader) -> bool:
    """That of a button, which has no value."""
    return True


@dataclass(frozen=True, slots=True)
class Control:
    """Base of the four kinds of controls.

    Parameters
    ----------
    label : str
        Its name ("noise"), at most 28 characters.
    flag : str
        The flag of the command line that sets the same ("--noise"); empty without one.
    does : str
        One sentence on what it does to learning, at most 120 characters.
    anew : bool
        Whether it re-initialises what no longer fits; such controls stand below the others and say so.
    value : callable
        ``value(reader)``: its current value; None hides the control.
    change : callable
        ``change(value, reader)``: the edit that sets it, or None.
    """

    label: str
    flag: str
    does: str
    anew: bool = field(default=False, kw_only=True)
    value: Value = field(default=_there, kw_only=True)
    change: Do = field(kw_only=True)

    def __post_init__(self) -> None:
        what = type(self).__name__
        if type(self) is Control:
            raise TypeMismatchError("Control is an abstract base; allowed: Button, Slider, Segments, Switch")
        _line(self.label, f"{what}: label", LABEL)
        said = f"{what} {self.label!r}"
        _line(self.does, f"{said}: does", LONGEST)
        if text(self.flag, f"{said}: flag") and not self.flag.startswith("--"):
            raise InputError(f"{said}: the flag is {shown(self.flag)}; allowed: --name, or an empty text for none")
        flag(self.anew, f"{said}: anew")
        function(self.value, f"{said}: value")
        function(self.change, f"{said}: change")
        if not isinstance(self, Button) and self.value is _there:
            raise InputError(f"{said}: value= is missing; such as value=lambda reader: reader.options.noise")

    def taken(self, value: Any) -> Any:
        """`value` as the control takes it; the error for any other says what is allowed."""
        return value


@dataclass(frozen=True, slots=True)
class Button(Control):
    """A button that calls ``change(None, reader)`` when it is pressed. Its value says only whether it is shown."""


@dataclass(frozen=True, slots=True)
class Switch(Control):
    """On or off."""

    def taken(self, value: Any) -> bool:
        """`value` as True or False."""
        return flag(value, self.label)


@dataclass(frozen=True, slots=True)
class Segments(Control):
    """One of a few, side by side.

    Parameters
    ----------
    choices : sequence
        Two to twelve values, each once; a text is printed as it is, a number as a number.
    """

    choices: Sequence[Any] = field(kw_only=True)

    def __post_init__(self) -> None:
        # the base by name: a dataclass with slots is another class than the one that super() would know
        Control.__post_init__(self)
        given: Any = self.choices
        if isinstance(given, str) or not isinstance(given, Sequence):
            kind = type(given).__name__
            raise TypeMismatchError(
                f"Segments {self.label!r}: choices must be a sequence of values, got {kind} {shown(given)}"
            )
        if not 2 <= len(given) <= 12 or any(one in given[:k] for k, one in enumerate(given)):
            raise InputError(f"Segments {self.label!r}: choices must be 2 to 12 different values, got {shown(given)}")
        object.__setattr__(self, "choices", tuple(given))

    def taken(self, value: Any) -> Any:
        """`value` if it is one of the choices."""
        if value not in self.choices:
            raise InputError(f"{self.label}: got {shown(value)}; allowed: {', '.join(map(str, self.choices))}")
        return value


@dataclass(frozen=True, slots=True)
class Slider(Control):
    """A number between two others.

    Parameters
    ----------
    least, most : float
        The ends of its track. A number that is typed may lie outside, and then the edit says whether it will do.
    log : bool
        Whether every decade is equally long; both ends are above 0 then.
    usual : float or None
        Where the knob is caught; None: nowhere.
    whole : bool
        Whether it takes whole numbers only.
    """

    least: float = field(kw_only=True)
    most: float = field(kw_only=True)
    log: bool = field(default=False, kw_only=True)
    usual: float | None = field(default=None, kw_only=True)
    whole: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        said = f"Slider {self.label!r}"
        for what in ("least", "most", "usual"):
            if what != "usual" or self.usual is not None:
                checked_number(getattr(self, what), f"{said}: {what}", math.isfinite, "be a finite number")
        flag(self.log, f"{said}: log")
        flag(self.whole, f"{said}: whole")
        if not self.least < self.most or (self.log and self.least <= 0):
            least = "0 < least < most" if self.log else "least < most"
            raise InputError(f"{said}: got {shown(self.least)} to {shown(self.most)}; allowed: {least}")
        if self.usual is not None and not self.least <= self.usual <= self.most:
            raise InputError(f"{said}: usual is {shown(self.usual)}; allowed: {self.least:g} to {self.most:g}")

    def at(self, share: float) -> float:
        """The value at a share of the track, 0 its left end and 1 its right one; to three digits, as a hand aims."""
        share = min(max(float(share), 0.0), 1.0)
        if share in (0.0, 1.0):  # the ends are exactly what they are
            value = float(self.most if share else self.least)
        elif self.log:
            value = self.least * (self.most / self.least) ** share
        else:
            value = self.least + share * (self.most - self.least)
        if self.whole:
            return float(round(value))
        if share in (0.0, 1.0):
            return value
        return min(max(_rounded(value, self.log, self.most - self.least), self.least), self.most)

    def share(self, value: float) -> float:
        """Where a value stands on the track, within 0..1; of one that is no number its left end."""
        if not value > self.least:
            return 0.0
        if value >= self.most:
            return 1.0
        if self.log:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    def taken(self, value: Any) -> float | int:
        """`value` as a finite number, whole where it has to be."""
        number = checked_number(value, self.label, math.isfinite, "be a finite number")
        if not self.whole:
            return number
        if not number.is_integer():
            raise InputError(f"{self.label} must be a whole number, got {shown(value)}")
        return int(number)


MOST_LAYERS, MOST_UNITS = 6, 512
"""What there is room for in a panel."""


@dataclass(frozen=True, slots=True)
class Layers(Control):
    """The number of units of each hidden layer, as a row of buttons: - and + for each layer."""

    def taken(self, value: Any) -> tuple[int, ...]:
        """`value` as a tuple of whole numbers above 0, few enough for a panel."""
        if not isinstance(value, tuple | list) or len(value) > MOST_LAYERS:
            raise InputError(f"{self.label}: got {shown(value)}; allowed: up to {MOST_LAYERS} numbers of units")
        return tuple(integer(self.label, units, 1, MOST_UNITS) for units in value)


def more(units: int) -> int:
    """What a touch of + makes of a layer: one more, of many an eighth."""
    return min(units + max(1, units // 8), MOST_UNITS)


def fewer(units: int) -> int:
    """What a touch of - makes of it: the way back; 0 takes the layer away."""
    return next((k for k in range(units - 1, 0, -1) if more(k) <= units), 0)


def _rounded(value: float, log: bool, span: float) -> float:
    """Three digits of the value, or of the track where decades are not equally long."""
    size = abs(value) if log else span
    digits = 2 - math.floor(math.log10(size)) if size > 0 else 0
    return round(value, digits)


def _line(given: object, what: str, longest: int) -> None:
    said = text(given, what)
    if not said.strip() or len(said) > longest or len(said.splitlines()) > 1:
        raise InputError(f"{what} must be one line of 1 to {longest} characters, got {shown(said)}")
