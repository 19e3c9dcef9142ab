"""`Change`: another activation, model, loss or optimiser in the middle of a run, and edits of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from ... import nn, optim
from ...checks import integer, one_of, real_array, text
from ...engine.outside import as_source
from ...engine.problem import SAMPLINGS, Sampling
from ...errors import InputError, TypeMismatchError, listing, shown, typed
from ...optim._rules import RULES
from ..validation import as_samples
from .base import Edit, Names, RunAccess, Setting, numbered, set_fields
from .numbers import Call, SetOptimizer

ACTIVATIONS: dict[str, type[nn.Activation]] = {
    (kind.op or "identity"): kind
    for kind in (
        nn.Tanh, nn.ReLU, nn.Sigmoid, nn.LeakyReLU, nn.Softplus, nn.Identity, nn.GELU, nn.SiLU, nn.ELU, nn.LogSigmoid,
        nn.ReLU6,
    )
}  # fmt: skip
"""Activations by name."""
LOSSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        nn.MSELoss, nn.L1Loss, nn.HuberLoss, nn.BCELoss, nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.NLLLoss,
        nn.SmoothL1Loss, nn.HingeEmbeddingLoss, nn.MultiMarginLoss,
    )
}  # fmt: skip
OPTIMIZERS: dict[str, type[optim.Optimizer]] = {kind.__name__: kind for kind in RULES}


@dataclass(frozen=True, slots=True, eq=False)
class Change(Edit):
    """Change activation, model, loss, optimiser or batch from the next step on; weights, steps and history stay.

    Every part may be left out. Names are data. An edit with an object of yours is written with that object's name, and
    cannot be read back.
    """

    activation: Any = None  # of the hidden modules of a Sequential: those before a layer with weights
    model: Any = None  # layers that still fit keep their numbers
    loss: Any = None
    # it starts with state 0 at step 1. A name or a class takes the weights of the former optimiser
    optimizer: Any = None
    numbers: tuple[tuple[str, Any], ...] = ()  # of the optimiser
    batch_size: int | None = None
    sampling: Sampling | None = None
    # the prepared parts, once the edit has been applied: nothing is made twice
    made: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        set_fields(self, activation=_activation(self.activation), loss=_loss(self.loss))
        set_fields(self, optimizer=_optimizer(self.optimizer))
        if self.numbers:
            set_fields(self, numbers=SetOptimizer(self.numbers).numbers)
        if self.model is not None and (isinstance(self.model, type) or not callable(self.model)):
            raise TypeMismatchError(f"change: model must be a module or a function of Values, got {typed(self.model)}")
        if self.batch_size is not None:
            set_fields(self, batch_size=integer("batch_size", self.batch_size, 1))
        if self.sampling is not None:
            one_of(self.sampling, SAMPLINGS, "sampling")
        if not self._parts():
            raise InputError("change: got no argument; name what to change, such as change(activation='relu')")

    def resolved(self, access: RunAccess) -> Edit:
        if access.is_prepared_for_now(self.made):
            return self
        found = replace(self)
        set_fields(found, made=access.prepare_change(found))
        return found

    def check(self, access: RunAccess) -> None:
        if self.made is not None:
            access.check_prepared(self.made)

    def apply(self, access: RunAccess) -> None:
        access.put_prepared(self.made)

    def words(self, name: Names = numbered) -> str:
        """``activation = relu, optimizer = Adam, lr = 0.01``."""
        said = self._parts()
        if self.made is not None and self.made.words:
            said.append(self.made.words)
        return ", ".join(said)

    def _parts(self) -> list[str]:
        named = {n: getattr(self, n) for n in ("model", "activation", "loss", "optimizer")}
        said = [f"{name} = {_title(part)}" for name, part in named.items() if part is not None]
        said += [SetOptimizer(self.numbers).words()] if self.numbers else []
        said += [] if self.sampling is None else [f"sampling = {self.sampling}"]
        return said + ([] if self.batch_size is None else [f"batch size = {self.batch_size:,}"])


def _title(part: Any) -> str:
    if isinstance(part, str):
        return part
    return str(getattr(part, "__name__", type(part).__name__))


def _part(given: Any, what: str, table: Mapping[str, Any], fits: bool, wanted: str) -> Any:
    """Return a table's name for a text (in any case) or a class in it; otherwise `given`, if it `fits`."""
    if isinstance(given, str):
        for name in table:
            if name.lower() == given.strip().lower():
                return name
        raise InputError(f"change: {what} must be one of {listing(table)}, or an object; got {shown(given)}")
    if isinstance(given, type) and given in table.values():
        return given.__name__
    if given is not None and not fits:
        raise TypeMismatchError(f"change: {what} must be {wanted}, or one of {listing(table)}; got {typed(given)}")
    return given


def _activation(given: Any) -> Any:
    """Return the activation's name if it has one: for a text, a class, or a module with default constants."""
    if isinstance(given, type) and issubclass(given, nn.Activation):
        given = given()
    given = _part(given, "activation", ACTIVATIONS, isinstance(given, nn.Activation), "an nn.Activation")
    for name, kind in ACTIVATIONS.items():
        if type(given) is kind and _constants(given) == _constants(kind()):
            return name
    return given


def _constants(module: nn.Activation) -> dict[str, float]:
    return {name: part for name, part in vars(module).items() if isinstance(part, float)}


def _loss(given: Any) -> Any:
    fits = callable(given) and not isinstance(given, type)
    return _part(given, "loss", LOSSES, fits, "a function of outputs and targets")


def _optimizer(given: Any) -> Any:
    fits = issubclass(given if isinstance(given, type) else type(given), optim.Optimizer)
    return _part(given, "optimizer", OPTIMIZERS, fits, "an Optimizer (object or class)")


# ---- Edits of the data. A scene's own kind may have an `about`, which describes its samples (`Data.about`)


def _samples(array: Any, what: str) -> Any:
    """Return samples in their given shape; data that is not copied, as a source."""
    source = as_source(array, what)
    if source is not None:
        return source
    as_samples(array, what)
    return real_array(array, what)


@dataclass(frozen=True, slots=True, eq=False)
class SetTargets(Setting, Edit):
    """Replace the targets of the same inputs, shape (N, n_targets)."""

    targets: NDArray[Any]

    def __post_init__(self) -> None:
        what = "set_targets: the targets"
        as_samples(self.targets, what)
        set_fields(self, targets=real_array(self.targets, what))

    def check(self, access: RunAccess) -> None:
        access.check_targets(self.targets)

    def apply(self, access: RunAccess) -> None:
        access.put_targets(self.targets, getattr(self, "about", None))

    def words(self, name: Names = numbered) -> str:
        return f"new targets for {len(self.targets):,} samples"


@dataclass(frozen=True, slots=True, eq=False)
class AddSamples(Edit):
    """Add samples: `inputs` (K, n_inputs) with `targets` (K, n_targets)."""

    inputs: Any
    targets: Any

    def __post_init__(self) -> None:
        inputs, targets = _samples(self.inputs, "add_samples: the inputs"), _samples(self.targets, "the targets")
        set_fields(self, inputs=inputs, targets=targets)

    def check(self, access: RunAccess) -> None:
        access.check_samples(self.inputs, self.targets, "add_samples")

    def apply(self, access: RunAccess) -> None:
        access.put_samples(self.inputs, self.targets, more=True, about=getattr(self, "about", None))

    def words(self, name: Names = numbered) -> str:
        return f"add {len(self.inputs):,} sample{'s' if len(self.inputs) > 1 else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Refill(Setting, Edit):
    """Replace all data: `inputs` (N, n_inputs) with `targets` (N, n_targets), any N."""

    inputs: Any
    targets: Any

    def __post_init__(self) -> None:
        inputs, targets = _samples(self.inputs, "refill: the inputs"), _samples(self.targets, "refill: the targets")
        set_fields(self, inputs=inputs, targets=targets)

    def check(self, access: RunAccess) -> None:
        access.check_samples(self.inputs, self.targets, "refill")

    def apply(self, access: RunAccess) -> None:
        access.put_samples(self.inputs, self.targets, more=False, about=getattr(self, "about", None))

    def words(self, name: Names = numbered) -> str:
        return f"new data: {len(self.inputs):,} samples"


@dataclass(frozen=True, slots=True, eq=False)
class Several(Edit):
    """Edits that belong together, such as new data and a network for it. All are applied, or none.

    Each has to fit the run as the edits before it leave it.
    """

    edits: tuple[Edit, ...]  # at least one; at most one of them a :class:`Change`, and none a :class:`Call`
    said: str = ""  # in words ("300 points of a spiral"); default: those of its parts

    def __post_init__(self) -> None:
        given: Any = self.edits
        if not isinstance(given, tuple | list) or not all(isinstance(edit, Edit) for edit in given):
            raise TypeMismatchError(f"Several: expected a sequence of edits, got {shown(given)}")
        if any(isinstance(edit, Call | Several) for edit in given):
            raise InputError("Several: the edits must not include a Call or another Several")
        if not given or sum(isinstance(edit, Change) for edit in given) > 1:
            raise InputError("Several: give at least one edit, and at most one Change")
        set_fields(self, edits=tuple(given), said=text(self.said, "Several: the words"))

    def resolved(self, access: RunAccess) -> Edit:
        return Several(tuple(edit.resolved(access) for edit in self.edits), self.said)

    def check(self, access: RunAccess) -> None:
        """Raise unless the first edit fits; the others are checked when it is their turn."""
        self.edits[0].check(access)

    def apply(self, access: RunAccess) -> None:
        """Apply all edits; if one fails, the run does not change."""
        for edit in self.edits:
            edit.check(access)
            edit.apply(access)

    def words(self, name: Names = numbered) -> str:
        """``300 points of a spiral``."""
        return self.said or ", ".join(edit.words(name) for edit in self.edits)

    def continues(self, earlier: Edit) -> bool:
        if not isinstance(earlier, Several) or len(earlier.edits) != len(self.edits):
            return False
        return all(new.continues(old) for new, old in zip(self.edits, earlier.edits, strict=True))
