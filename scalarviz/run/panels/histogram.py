"""`Histogram`: how often which numbers occur."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import text
from .base import Panel


@dataclass(frozen=True, slots=True)
class Histogram(Panel):
    """How often which numbers occur: of the tensor under the pointer or of the selected one, else of all.

    Attributes
    ----------
    label : str
        What all of them are called.
    """

    label: str = "all numbers"

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.label, "Histogram: the label")
