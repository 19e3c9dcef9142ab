"""`Edit`: a change of a run from outside, as data."""

from __future__ import annotations

import base64
import binascii
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...engine.outside import is_source
from ...errors import FileFormatError, InputError, ScalarvizError, listing, shown

RunAccess = Any
"""What an edit changes a run through, a :class:`scalarviz.run.editing.RunAccess`: this room imports none above it."""
Names = Callable[[int], str]
"""Maps the flat index of a weight to its name."""


def numbered(index: int) -> str:
    """Return a name for a weight without a known name."""
    return f"weight {index}"


class Edit:
    """Base of the edits. Two are equal if they have one kind and every number has the same bits."""

    __slots__ = ()

    kinds: ClassVar[dict[str, type[Edit]]] = {}
    """Every kind by its name, as in files."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__name__.startswith("_"):
            Edit.kinds[cls.__name__] = cls

    def resolved(self, access: RunAccess) -> Edit:
        """Return the same edit in absolute numbers, for the run as it is now."""
        return self

    def check(self, access: RunAccess) -> None:
        """Raise InputError unless the edit fits the run; nothing is changed."""

    def apply(self, access: RunAccess) -> None:
        """Apply the edit, between two steps."""
        raise TypeError(f"{type(self).__name__} must define apply(access)")

    def words(self, name: Names = numbered) -> str:
        """Return one line; `name` gives the name of the weight at a flat index."""
        raise TypeError(f"{type(self).__name__} must define words(name)")

    def sets(self) -> Any:
        """Return a key of what it sets: a later edit of the same kind and key replaces it. None: each one stays."""
        return None

    def continues(self, earlier: Edit) -> bool:
        """Return whether it replaces `earlier`, an edit of the same gesture after the same step."""
        return type(earlier) is type(self) and self.sets() is not None and earlier.sets() == self.sets()

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        parts = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        flat = (one for part in parts for one in (part if isinstance(part, tuple) else (part,)))
        return sum(one.nbytes for one in flat if isinstance(one, np.ndarray | Edit))

    def _bits(self) -> tuple[Any, ...]:
        return type(self), *map(bits, self.parts().values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edit) and self._bits() == other._bits()

    def __hash__(self) -> int:
        return hash(self._bits())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle through the constructor: checked, with arrays of its own."""
        return type(self), tuple(self.parts().values())

    def parts(self) -> dict[str, Any]:
        """Return its constructor arguments, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.words()


class Setting:
    """An edit of one setting: a later one of its kind replaces it."""

    __slots__ = ()

    def sets(self) -> Any:
        """Return the same key for all edits of its kind."""
        return ()


def bits(part: Any) -> Any:
    """Return a hashable object that differs if any bit does: 0.0 and -0.0, float32 and float64, two shapes."""
    if isinstance(part, np.ndarray):
        return part.dtype.str, part.shape, part.tobytes()
    if isinstance(part, Edit):
        return part._bits()
    if isinstance(part, tuple):
        return tuple(map(bits, part))
    return type(part).__name__, part.hex() if isinstance(part, float) else part


def full_name(part: Any) -> str:
    """Return module and name of a function, of a class, or of an object's class."""
    kind = type(part)
    return f"{getattr(part, '__module__', kind.__module__)}.{getattr(part, '__qualname__', kind.__qualname__)}"


def set_fields(edit: Edit, **parts: Any) -> None:
    """Set checked fields of a frozen dataclass; arrays become read-only copies."""
    for name, part in parts.items():
        own = part.copy() if isinstance(part, np.ndarray) else part
        if isinstance(own, np.ndarray):
            own.flags.writeable = False
        object.__setattr__(edit, name, own)


def within(access: RunAccess, start: int, count: int) -> None:
    """Raise InputError unless there are `count` weights from `start` on."""
    stop = start + count
    if stop > access.n_weights:
        raise InputError(
            f"weights {shown(start)} to {shown(stop - 1)} are out of range; allowed: 0 to {access.n_weights - 1}"
        )


def several(name: Names, start: int, count: int) -> str:
    """Return words such as ``0.weight[4][2] and 7 more``."""
    return name(start) + (f" and {count - 1:,} more" if count > 1 else "")


@dataclass(frozen=True, slots=True)
class Applied:
    """An edit that was applied after `step` steps, in absolute numbers; `what` is one line, with names of weights.

    Edits of one `gesture` after the same step count as one. `does` holds the resulting edits if the edit itself
    cannot be repeated: a user's function.
    """

    step: int
    edit: Edit
    what: str
    gesture: str = ""
    does: tuple[Edit, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return sum(edit.nbytes for edit in (self.edit, *(self.does or ())))


# ---- Edits as JSON: one object per line, arrays with dtype and shape, every bit kept
#
# ::
#
#     {"edit": "SetWeights", "start": 6, "numbers": {"dtype": "float32", "shape": [1], "base64": "AAAAPw=="}}


KIND = "edit"
_ARRAY = {"dtype", "shape", "base64"}


def write_edit(edit: Edit) -> str:
    """Return one line of JSON; a function is written as its name, which :func:`read_edit` refuses."""
    try:
        return json.dumps(_encoded(edit), allow_nan=False)
    except ValueError:
        raise InputError(f"{edit}: a number that is not finite cannot be written as JSON") from None


def read_edit(text: str) -> Edit:
    """Return the edit in `text`; it is not applied."""
    try:
        said = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"not an edit: {shown(text)} is not JSON ({type(error).__name__})") from None
    return _edit(said, text)


def _edit(said: Any, text: str) -> Edit:
    """Return the edit in decoded JSON; `text` is for messages."""
    if not isinstance(said, dict) or not isinstance(said.get(KIND), str) or said[KIND] not in Edit.kinds:
        raise FileFormatError(f"not an edit: {shown(text)}; allowed for {KIND!r}: {listing(Edit.kinds)}")
    kind = Edit.kinds[said.pop(KIND)]
    _check_parts(kind, said)
    parts = {name: _decoded(part, f"{kind.__name__}: {name!r}") for name, part in said.items()}
    try:
        return kind(**parts)
    except ScalarvizError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise FileFormatError(f"{kind.__name__} cannot be read: {error}") from None


def _check_parts(kind: type[Edit], said: dict[str, Any]) -> None:
    parameters = inspect.signature(kind).parameters
    unknown = [name for name in said if name not in parameters]
    missing = [name for name, p in parameters.items() if p.default is p.empty and name not in said]
    if unknown or missing:
        both = (("missing", missing), ("unknown", unknown))
        wrong = "; ".join(f"{what} {listing(map(shown, names))}" for what, names in both if names)
        raise FileFormatError(f"{kind.__name__} cannot be read: {wrong}; allowed: {listing(parameters)}")


def _encoded(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        little = np.ascontiguousarray(part).astype(part.dtype.newbyteorder("<"), copy=False)
        data = base64.b64encode(little.tobytes()).decode()
        return {"dtype": part.dtype.name, "shape": list(part.shape), "base64": data}
    if isinstance(part, Edit):
        return {KIND: type(part).__name__, **{name: _encoded(own) for name, own in part.parts().items()}}
    if isinstance(part, tuple):
        return [_encoded(one) for one in part]
    if is_source(part):
        raise InputError(f"{part.name} is not in memory, so an edit with it cannot be written; give arrays")
    if not isinstance(part, str | int | float | None):
        return {"function": full_name(part)}
    return part


def _decoded(part: Any, what: str) -> Any:
    if isinstance(part, list):
        return tuple(_decoded(one, what) for one in part)
    if not isinstance(part, dict):
        return part
    if KIND in part:
        return _edit(part, json.dumps(part))
    if set(part) == {"function"}:
        raise FileFormatError(
            f"{what} is {shown(str(part['function']))}, which a file cannot hold; make the edit in Python"
        )
    if set(part) != _ARRAY:
        raise FileFormatError(f"{what} must have the keys {listing(sorted(_ARRAY))}, got {shown(list(part))}")
    return _array(part, what)


def _array(part: dict[str, Any], what: str) -> NDArray[Any]:
    try:
        dtype = np.dtype(part["dtype"])
        shape = part["shape"]
        if dtype.kind not in "fiub" or not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError(f"dtype {part['dtype']}, shape {shape}")
        data = base64.b64decode(part["base64"], validate=True)
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(data)} bytes for the shape {shape} of {dtype.name}")
    except (TypeError, ValueError, binascii.Error, OverflowError) as error:
        raise FileFormatError(f"{what} cannot be read as an array: {error}") from None
    return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape).astype(dtype)
