"""The error tree. Every message says what, where, what was given, what is allowed and what to try.

Each class also derives from the builtin that fits, so ``except ValueError`` keeps working.
"""

from __future__ import annotations


class ScalarvizError(Exception):
    """Base of every error that the package raises on purpose."""


class InputError(ScalarvizError, ValueError):
    """A value, shape, name or file content that cannot be used."""


class TypeMismatchError(ScalarvizError, TypeError):
    """An argument of the wrong kind."""


class UnknownNameError(ScalarvizError, KeyError):
    """A name that is not in a table (an operation, an engine, a colour map, a scene)."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class UnknownAttributeError(ScalarvizError, AttributeError):
    """An attribute that cannot be set: the object does not have it, or another call changes it."""


class OutOfRangeError(InputError, IndexError):
    """An index out of range; an IndexError, because Python's own protocols look for one."""


class ExpressionError(InputError):
    """A text that is not a valid expression; the message ends with the text and a caret under the mistake.

    Attributes
    ----------
    text : str
    place : int
        The index in `text` of the mistake, counted from 0.
    """

    def __init__(self, message: str, text: str = "", place: int = 0) -> None:
        super().__init__(message)
        self.text, self.place = text, place

    def __reduce__(self) -> tuple[type[ExpressionError], tuple[str, str, int]]:
        return type(self), (str(self), self.text, self.place)


class TracingError(ScalarvizError, RuntimeError):
    """A symbolic value was asked for its number while a graph was being recorded."""


class StateError(ScalarvizError, RuntimeError):
    """A call that the object's present state does not allow (a closed Run, an empty stack)."""


class DivergedError(ScalarvizError, ArithmeticError):
    """Training produced a NaN or an infinity; names the step and the first weight.

    Who has no Python at hand puts words of their own behind :attr:`fact`.

    Parameters
    ----------
    fact : str
        What happened, without a full stop.
    good : int, optional
        The last step after which the loss was no larger than at first, where going back there is enough.
    spoilt : bool
        Whether more than weights is lost, so that an earlier moment is needed, whichever.
    """

    def __init__(self, fact: str, good: int | None = None, *, spoilt: bool = False) -> None:
        back = ""
        if good is not None:
            back = f"; go back with run.to({good}), the last good step, and {SLOWER}"
        elif spoilt:
            back = ": go back with run.to(an earlier step), run.undo() or run.load(a file)"
        super().__init__(fact + back)
        self.fact, self.good, self.spoilt = fact, good, spoilt


SLOWER = "try a tenth of the learning rate"
"""What is said of the learning rate after a divergence."""


class DeviceError(ScalarvizError, RuntimeError):
    """A GPU or its driver failed."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A GPU has too little memory; the message gives the size requested and a size that fits."""


class DeviceLostError(DeviceError):
    """A GPU that no longer answers: it stopped, or it is gone."""


class MissingDependencyError(ScalarvizError, ImportError):
    """An optional package, a system library or a display is missing; the message says what to do."""


class FileFormatError(ScalarvizError, ValueError):
    """A file exists but its content is not as expected."""


def listing(names: object) -> str:
    """``a, b, c`` for the "allowed" part of a message."""
    return ", ".join(str(n) for n in names)  # type: ignore[attr-defined]


def shown(x: object, most: int = 60) -> str:
    """`x` as the "got" part of a message shows it: one line of at most `most` characters, whatever `x` is."""
    try:
        text = " ".join(repr(x).split())
    except Exception:  # a whole number of 5,000 digits, lists in lists in lists, a class with a bad __repr__
        return f"<{type(x).__name__}>"
    if len(text) <= most:
        return text
    return f"{text[: most - 4]}{text[-1]}..." if isinstance(x, str) else f"{text[: most - 3]}..."


def typed(x: object) -> str:
    """`x` with its type, as the "got" part of a message shows it: ``int 3``, ``the class Linear``, ``None``."""
    if isinstance(x, type):
        return f"the class {x.__name__}"
    return "None" if x is None else f"{type(x).__name__} {shown(x)}"
