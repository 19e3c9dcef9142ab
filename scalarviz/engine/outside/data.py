"""`Outside`: samples that are not ours as a table of numbers, read when somebody asks for some of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...tape import Plan
from ..data import Data, pieces
from .sources import Source, joined_source

Make = Callable[[NDArray[Any], NDArray[Any]], Data]
Check = Callable[[NDArray[Any], NDArray[Any]], None]
"""Told inputs and targets, a row each; raises InputError where the model or its loss cannot use them."""
FIRST = 256
"""The first samples are kept: pictures ask for them at every frame."""


class Outside(Data):
    """Samples whose numbers stand elsewhere.

    Parameters
    ----------
    plan : Plan
        Makes the features.
    dtype : dtype-like
    inputs, targets : Source
    make : callable
        Makes the table of inputs and targets that are read, with their features.
    check : callable
        Of what is read, beside that it is finite.

    Raises
    ------
    InputError
        The first samples cannot be used.
    """

    __slots__ = ("_first", "_make", "_plan", "_stamps", "check", "inputs", "remark", "targets", "version")

    def __init__(self, plan: Plan, dtype: Any, inputs: Source, targets: Source, make: Make, check: Check) -> None:
        self.dtype, self.parts = np.dtype(dtype), ()
        self.inputs, self.targets, self._make, self.check, self._plan = inputs, targets, make, check, plan
        features = 0 if plan.encode is None else len(plan.encode.outputs)
        self.shape = plan.n_inputs + plan.n_targets + features, len(inputs)
        self.version, self.remark = 0, ""
        self._stamps = inputs.stamp(), targets.stamp()
        self._first = self.read(np.arange(min(FIRST, len(inputs))))

    def read(self, ids: NDArray[np.int64]) -> Data:
        """Samples in memory, checked, with their features.

        Raises
        ------
        InputError
            They cannot be read, or a number of them cannot be used; it says which.
        """
        given = [self._finite(source, ids) for source in (self.inputs, self.targets)]
        self.check(*given)
        return self._make(*given)

    def _finite(self, source: Source, ids: NDArray[np.int64]) -> NDArray[Any]:
        rows = source.take(ids)
        if rows.dtype.kind == "f":
            for part in pieces(len(rows), rows.shape[1]):
                fine = np.isfinite(rows[part])
                if not fine.all():
                    row, column = (int(place) for place in np.argwhere(~fine)[0])
                    raise InputError(
                        f"{source.name}: sample {ids[part][row]}, column {column} is {rows[part][row, column]}: clean "
                        "the data, or go on with other samples: run.refill(...)"
                    )
        return rows

    def look(self) -> int:
        """How often the data was found changed; looks again. What became of it stands in :attr:`remark`."""
        now = self.inputs.stamp(), self.targets.stamp()
        if now != self._stamps:
            pairs = zip((self.inputs, self.targets), self._stamps, strict=True)
            said = "; ".join(dict.fromkeys(filter(None, (source.told(then) for source, then in pairs))))
            self._stamps, self.remark = now, said or self.remark
            self.version += 1
            warnings.warn_explicit(f"the data of a run: {said}", RuntimeWarning, "scalarviz", 0)
        return self.version

    def __getitem__(self, key: Any) -> NDArray[Any]:
        rows, samples = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(samples, slice) and (samples.stop is not None) and samples.indices(self.shape[1])[1] <= FIRST:
            found: NDArray[Any] = self._first[:][: self.shape[0]][rows, samples]
            return found
        if isinstance(samples, slice):
            samples = np.arange(self.shape[1])[samples]
        places = np.atleast_1d(np.asarray(samples))
        found = np.empty((self.shape[0], len(places)), self.dtype)
        for part in pieces(len(places), self.shape[0]):
            found[:, part] = self.read(places[part])[: self.shape[0]]
        return found[rows] if np.ndim(samples) else found[rows, 0]

    @property
    def numbers(self) -> tuple[int, int]:
        """Inputs and targets of a sample."""
        return self._plan.n_inputs, self._plan.n_targets

    def of(self, pairs: Sequence[tuple[Source, Source]]) -> Outside:
        """The same of other samples, behind one another."""
        inputs, targets = (joined_source(self.dtype, sources) for sources in zip(*pairs, strict=True))
        return Outside(self._plan, self.dtype, inputs, targets, self._make, self.check)

    def head(self, rows: int) -> Data:
        """The first rows alone."""
        found = object.__new__(Outside)
        for name in (*Data.__slots__, *self.__slots__):
            setattr(found, name, getattr(self, name))
        found.shape = rows, self.shape[1]
        return found

    def given(self, start: int, stop: int) -> Any:
        """The inputs or the targets, as a `Source`."""
        if (start, stop) == (0, self._plan.n_inputs):
            return self.inputs
        return self.targets

    def lay(self, whole: bool) -> None:
        """They lie where they lie."""
