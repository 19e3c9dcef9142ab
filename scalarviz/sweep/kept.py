"""`Kept`: what has a file of results, as a sweep that goes on and the file itself; whoever draws asks for no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..io.atomic import StrPath
    from .build import Build


ALL = "all runs"
"""What its runs are called together."""


class Kept(ABC):
    """Results in a file, and what built their runs where that is known."""

    @abstractmethod
    def shown(self) -> tuple[StrPath, Build | None]:
        """The file, and what builds its runs; None: the scene of the package that the file names, if it is one.

        Raises
        ------
        InputError
            There is no file, or nobody adds to it while it is shown.
        """
