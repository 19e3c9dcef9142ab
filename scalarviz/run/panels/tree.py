"""The tree of a model beside the tree of its gradients."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import text
from .base import Panel


@dataclass(frozen=True, slots=True, eq=False)
class GradientTree(Panel):
    """A line for each stage of a chain, and under each layer its weight and bias, with numbers and gradients.

    Inside an opened step the gradients come in two passes: first by each stage's output, from the loss back along the
    chain; then each layer's leaves, where a weight's is the outer product of its output's and its input.

    Attributes
    ----------
    title : str
    """

    title: str = "model"

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "GradientTree: the title")
