"""`Numbers`: one quantity of a recording by name, as arrays over all frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UnknownNameError, listing, shown
from .networks import Shapes

if TYPE_CHECKING:
    from .recorded import Recorded


class Numbers(Mapping[str, NDArray[np.float32]]):
    """One quantity by the names of tensors or stages; read anew at every look, so a copy."""

    def __init__(self, recorded: Recorded, column: str) -> None:
        self._recorded, self._column = recorded, column

    def _spans(self, shapes: Shapes) -> dict[str, tuple[slice, tuple[int, ...]]]:
        if not self._column:
            return {}
        if self._column in ("activation", "delta"):
            return {name: (span, (span.stop - span.start,)) for name, span in shapes.rows.items()}
        return {tensor.name: (tensor.span, tensor.shape) for tensor in shapes.tensors}

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        recorded = self._recorded
        own = self._spans(recorded.shapes(-1))
        given: Any = name
        if not isinstance(given, str) or name not in own:
            raise UnknownNameError(f"there is no {shown(name)} in this recording; allowed: {listing(own) or 'none'}")
        span, shape = own[name]
        found = np.full((len(recorded), span.stop - span.start), np.nan, np.float32)
        for k in range(len(recorded)):
            there = self._spans(recorded.shapes(k)).get(name)
            if there is not None and there[1] == shape:
                start, count = 4 * there[0].start, 4 * (span.stop - span.start)
                (part,) = recorded.row(k, f"substr({self._column}, {start + 1}, {count})")
                found[k] = np.frombuffer(part, "<f4")
        return found.reshape(len(recorded), *shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans(self._recorded.shapes(-1)))

    def __len__(self) -> int:
        return len(self._spans(self._recorded.shapes(-1)))

    def __repr__(self) -> str:
        return f"<{len(self)} arrays: {listing(self)}>"
