"""Units of the hidden layers of a chain: their names and their weights."""

from __future__ import annotations

from typing import NamedTuple

from ...run.core.frame import Tensor
from ..shown.subject import Subject
from ..space.chain import chain_of

LETTERS = "hkmnpqrstuvw"
"""The first letter of the units of each hidden layer."""


class Hidden(NamedTuple):
    """A hidden layer.

    Attributes
    ----------
    row : str
        The stage whose row it makes.
    kind : str
        Of that stage.
    weight : Tensor
    bias : Tensor or None
    units : int
    letter : str
    """

    row: str
    kind: str
    weight: Tensor
    bias: Tensor | None
    units: int
    letter: str

    def name(self, unit: int) -> str:
        """``h3``."""
        return f"{self.letter}{unit + 1}"


def hidden_of(subject: Subject) -> list[Hidden]:
    """The hidden layers of a chain; empty where the network is none."""
    kinds = {stage.name: stage.kind for stage in subject.stages}
    chain = chain_of([t for t in subject.tensors if t.size and t.role != "count"], subject.stages)
    return [
        Hidden(layer.row, kinds[layer.row], layer.weight, layer.bias, layer.outputs, LETTERS[k % len(LETTERS)])
        for k, layer in enumerate(chain[:-1])
    ]
