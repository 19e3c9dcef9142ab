"""`Closing`: the base of what is closed at the end of a ``with`` block."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager that is itself, and calls :meth:`close` however its block ends."""

    def close(self) -> object:
        """End it; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
