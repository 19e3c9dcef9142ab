"""Controls of a scene: buttons, sliders and switches, described as data. A view draws them; a browser uses its own.

There are four kinds: `Button`, `Slider`, `Segments`, `Switch`; `Layers` is a row of buttons. Each has a label, the
command-line flag that sets the same, a sentence on its effect, a function that reads its value from a moment, and
one that returns the edit to change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ..checks import flag, function, integer, text
from ..engine.data import Data
from ..errors import InputError, StateError, TypeMismatchError, shown
from ..scalar.number import checked_number
from .core.frame import Frame
from .core.setup import Setup
from .core.tensors import Stage, Tensor
from .edits import Edit
from .source import Facts, Source

LONGEST = 120
"""Most characters of the sentence, which stands beside the pointer."""
LABEL = 28
"""Most characters of a label."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one moment without waiting for the thread that trains.

    The network of `frame` may be a former one; `source` is the current state. `options` are those that the
    scene was built with (:attr:`Scene.options`).
    """

    frame: Frame
    source: Source
    options: Any = None

    @property
    def settings(self) -> Setup | None:
        """Settings of the training at that moment: optimiser, numbers, batch, penalties; None without training."""
        return self.frame.settings

    @property
    def facts(self) -> Facts | None:
        """The current settings, in the words that a picture prints."""
        return self.source.facts

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors with cubes at that moment."""
        return (self.frame.forward or self.source).tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from input to output at that moment; empty without a network."""
        return (self.frame.forward or self.source).stages

    @property
    def data(self) -> Data | None:
        """The training data at that moment, the same object until someone changes it; None without data."""
        return self.frame.data

    def samples(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return copies of inputs (N, n_inputs) and targets (N, n_targets) at that moment; StateError without data."""
        found = self.frame.samples()
        if found is None:
            raise StateError(f"{self.source.what} has no samples; try a Run or a Scene")
        return found


Value = Callable[[Reader], Any]
"""Returns the value at a moment; None hides the control."""
Do = Callable[[Any, Reader], Edit | None]
"""Returns the edit that sets a value; None if nothing changes."""


def _there(reader: Reader) -> bool:
    """Value of a button."""
    return True


@dataclass(frozen=True, slots=True)
class Control:
    """Base of the controls.

    Parameters
    ----------
    label : str
        Its name ("noise"), at most 28 characters.
    flag : str
        The command-line flag that sets the same ("--noise"); empty without one.
    does : str
        One sentence on what it does to learning, at most 120 characters.
    anew : bool
        Whether it re-initialises layers that no longer fit; such controls stand below the others and say so.
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
            raise InputError(f"{said}: value= is missing; give it, such as value=lambda reader: reader.options.noise")

    def taken(self, value: Any) -> Any:
        """Return `value` as the control takes it; an error says what is allowed."""
        return value


@dataclass(frozen=True, slots=True)
class Button(Control):
    """A button that calls ``change(None, reader)`` when it is pressed. Its value only shows or hides it."""


@dataclass(frozen=True, slots=True)
class Switch(Control):
    """A control with the values on and off."""

    def taken(self, value: Any) -> bool:
        """Return `value` as True or False."""
        return flag(value, self.label)


@dataclass(frozen=True, slots=True)
class Segments(Control):
    """One of a few values, side by side.

    Parameters
    ----------
    choices : sequence
        Two to twelve different values; texts and numbers are printed as such.
    """

    choices: Sequence[Any] = field(kw_only=True)

    def __post_init__(self) -> None:
        # the base by name: a dataclass with slots is not the class that super() would know
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
        """Return `value` if it is one of the choices."""
        if value not in self.choices:
            raise InputError(f"{self.label}: got {shown(value)}; allowed: {', '.join(map(str, self.choices))}")
        return value


@dataclass(frozen=True, slots=True)
class Slider(Control):
    """A number in a range.

    Parameters
    ----------
    least, most : float
        The ends of its track. A typed number may lie outside; then the edit checks it.
    log : bool
        Whether the track is logarithmic; both ends are above 0 then.
    usual : float or None
        A value at which the knob snaps; None: nowhere.
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
        """Return the value at a share of the track, 0 left and 1 right, rounded to three digits."""
        share = min(max(float(share), 0.0), 1.0)
        if share in (0.0, 1.0):  # the ends are exact
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
        """Return the position of a value on the track, within 0..1; NaN is at the left end."""
        if not value > self.least:
            return 0.0
        if value >= self.most:
            return 1.0
        if self.log:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    def taken(self, value: Any) -> float | int:
        """Return `value` as a finite number, whole if it has to be."""
        number = checked_number(value, self.label, math.isfinite, "be a finite number")
        if not self.whole:
            return number
        if not number.is_integer():
            raise InputError(f"{self.label} must be a whole number, got {shown(value)}")
        return int(number)


MOST_LAYERS, MOST_UNITS = 6, 512
"""The most layers and units in a panel."""


@dataclass(frozen=True, slots=True)
class Layers(Control):
    """The number of units of each hidden layer, as a row of buttons: - and + for each layer."""

    def taken(self, value: Any) -> tuple[int, ...]:
        """Return `value` as a tuple of whole numbers above 0, few enough for a panel."""
        if not isinstance(value, tuple | list) or len(value) > MOST_LAYERS:
            raise InputError(f"{self.label}: got {shown(value)}; allowed: up to {MOST_LAYERS} numbers of units")
        return tuple(integer(self.label, units, 1, MOST_UNITS) for units in value)


def more(units: int) -> int:
    """Return a layer's units after +: one more, or an eighth more of many."""
    return min(units + max(1, units // 8), MOST_UNITS)


def fewer(units: int) -> int:
    """Return a layer's units after -, the inverse of `more`; 0 removes the layer."""
    return next((k for k in range(units - 1, 0, -1) if more(k) <= units), 0)


def _rounded(value: float, log: bool, span: float) -> float:
    """Return three digits of the value, or of the track's span on a linear track."""
    size = abs(value) if log else span
    digits = 2 - math.floor(math.log10(size)) if size > 0 else 0
    return round(value, digits)


def _line(given: object, what: str, longest: int) -> None:
    said = text(given, what)
    if not said.strip() or len(said) > longest or len(said.splitlines()) > 1:
        raise InputError(f"{what} must be one line of 1 to {longest} characters, got {shown(said)}")
