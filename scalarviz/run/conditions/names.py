"""The names that a caller gives to the numbers of a formula."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import InputError, TypeMismatchError, shown


def distinct_names(names: Iterable[str], what: str) -> list[str]:
    """Check them; `what` is how messages call the formula.

    Raises
    ------
    InputError
        A name is given twice.
    TypeMismatchError
        They are no list of texts.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeMismatchError(f"{what}: the names must be a list of texts, got {shown(names)}")
    known = list(names)
    if not all(isinstance(name, str) for name in known):
        raise TypeMismatchError(f"{what}: the names must be texts, got {shown(known)}")
    if len(set(known)) < len(known):
        raise InputError(f"{what}: a name is given twice among {shown(known)}")
    return known
