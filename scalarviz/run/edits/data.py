"""Edits of what a run learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ...checks import real_array
from ...engine.outside import as_source
from ..samples import as_samples
from .base import Edit, Hands, Names, fix, numbered


def _samples(array: Any, what: str) -> Any:
    """Samples in the shape in which they were given; what is not copied as a source."""
    source = as_source(array, what)
    if source is not None:
        return source
    as_samples(array, what)
    return real_array(array, what)


@dataclass(frozen=True, slots=True, eq=False)
class SetTargets(Edit):
    """Other targets for the same inputs, shape (N, n_targets)."""

    targets: NDArray[Any]

    def __post_init__(self) -> None:
        what = "set_targets: the targets"
        as_samples(self.targets, what)
        fix(self, targets=real_array(self.targets, what))

    def check(self, hands: Hands) -> None:
        """Raise unless there is a target the loss can use for every sample."""
        hands.check_targets(self.targets)

    def apply(self, hands: Hands) -> None:
        """Set them."""
        hands.put_targets(self.targets)

    def words(self, name: Names = numbered) -> str:
        """``other targets for 1,024 samples``."""
        return f"other targets for {len(self.targets):,} samples"

    def continues(self, earlier: Edit) -> bool:
        """Whether it is of the same kind."""
        return isinstance(earlier, SetTargets)


@dataclass(frozen=True, slots=True, eq=False)
class AddSamples(Edit):
    """More samples: `inputs` (K, n_inputs) with `targets` (K, n_targets)."""

    inputs: Any
    targets: Any

    def __post_init__(self) -> None:
        inputs, targets = _samples(self.inputs, "add_samples: the inputs"), _samples(self.targets, "the targets")
        fix(self, inputs=inputs, targets=targets)

    def check(self, hands: Hands) -> None:
        """Raise unless they fit the run's."""
        hands.check_samples(self.inputs, self.targets, "add_samples")

    def apply(self, hands: Hands) -> None:
        """Put them behind the others."""
        hands.put_samples(self.inputs, self.targets, more=True)

    def words(self, name: Names = numbered) -> str:
        """``1 sample more``."""
        return f"{len(self.inputs):,} sample{'s' if len(self.inputs) > 1 else ''} more"


@dataclass(frozen=True, slots=True, eq=False)
class Refill(Edit):
    """Other data altogether: `inputs` (N, n_inputs) with `targets` (N, n_targets), any N."""

    inputs: Any
    targets: Any

    def __post_init__(self) -> None:
        inputs, targets = _samples(self.inputs, "refill: the inputs"), _samples(self.targets, "refill: the targets")
        fix(self, inputs=inputs, targets=targets)

    def check(self, hands: Hands) -> None:
        """Raise unless they fit the run's model and loss."""
        hands.check_samples(self.inputs, self.targets, "refill")

    def apply(self, hands: Hands) -> None:
        """Train on them instead."""
        hands.put_samples(self.inputs, self.targets, more=False)

    def words(self, name: Names = numbered) -> str:
        """``1,024 other samples``."""
        return f"{len(self.inputs):,} other samples"

    def continues(self, earlier: Edit) -> bool:
        """Whether it is of the same kind."""
        return isinstance(earlier, Refill)
