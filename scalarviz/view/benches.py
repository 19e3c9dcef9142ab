"""`bench_of`: the workbench of anything that can be shown; two recordings beside each other have one of their own."""

from __future__ import annotations

from typing import Any

from ..run.sources.recorded_pair import RecordedPair
from .compare.subject import pair_subject
from .compare.triptych import Triptych
from .ink.theme import Theme
from .shown.subject import Subject, subject_of
from .watch.actions import Here, bottom_line
from .workbench import Workbench


def any_subject(x: object) -> Subject:
    """The subject of whatever has one, two recordings beside each other too; errors as of `subject_of`."""
    if isinstance(x, RecordedPair):
        return pair_subject(x)
    return x if isinstance(x, Subject) else subject_of(x)


def bench_of(
    x: object,
    size: tuple[int, int],
    theme: str | Theme = "dark",
    cmap: str | None = None,
    quantity: str = "weight",
    *,
    hands: bool = False,
    **options: Any,
) -> Workbench:
    """A workbench; with `hands` it has a line of keys, and a time bar where there is a past.

    Parameters
    ----------
    x : RecordedPair, Subject, or whatever has one
    size, theme, cmap, quantity, **options
        See :class:`~scalarviz.view.workbench.Workbench`.

    Raises
    ------
    TypeMismatchError, InputError
        It cannot be shown.
    """
    subject = any_subject(x)
    if hands:
        options |= {"keys": bottom_line(Here(subject, trains=False)), "text_hz": 10.0}
    if isinstance(subject.source, RecordedPair):
        return Triptych(subject.source, size, theme, cmap, quantity, **options)
    return Workbench(subject, size, theme, cmap, quantity, **options)
