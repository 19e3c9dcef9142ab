"""`Rows`: what becomes of an item that was taken of a run: statements, and forward passes of the probe."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import singledispatchmethod

import numpy as np
from numpy.typing import NDArray

from ..frame import Curve
from .checksums import SUMMED, checksum
from .encoding import bits, blob, edit_row, number, stage_rows, tensor_rows, units_blob, weights_of
from .probing import Probing
from .schema import LONGEST_NAME, clean
from .step_rows import MicroRows
from .taken import Done, Item, Look, Named, Network, Passed, Stands, Way
from .thinning import Thinning

_COLUMNS = (*SUMMED, "kept", "stopped", "checksum")
_FRAME = (
    f"INSERT INTO frame ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    "ON CONFLICT (branch, step, edits) DO UPDATE SET "
)
_KEEP = "kept = max(kept, excluded.kept), stopped = max(stopped, excluded.stopped)"
_INSTEAD = "kept = 1, " + ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS if name not in ("branch", "step", "edits", "kept")
)


class Rows:
    """Writes items into the tables, within a transaction.

    Parameters
    ----------
    database : sqlite3.Connection
    thinning : Thinning
        Frames of steps that it lets go of are not written.
    probing : Probing
        What is written of one sample.
    whole : callable or None
        Gives the loss of all samples at a moment, where that one is told.
    """

    def __init__(
        self, database: sqlite3.Connection, thinning: Thinning, probing: Probing,
        whole: Callable[[Look], float] | None = None,
    ) -> None:  # fmt: skip
        self._database, self._thinning = database, thinning
        self._probing, self._whole = probing, whole
        self._weights: dict[int, NDArray[np.bool_]] = {}
        self._passed: dict[int, list[Curve]] = {}
        self._micro = MicroRows(database)

    @singledispatchmethod
    def write(self, item: Item) -> None:
        """Write one item."""
        raise TypeError(f"no item: {item!r}")

    @write.register
    def _(self, item: Way) -> None:
        given = item.number, item.parent, item.first, item.before, clean(item.why), int(item.jumped)
        self._database.execute("INSERT OR REPLACE INTO branch VALUES (?, ?, ?, ?, ?, ?)", given)

    @write.register
    def _(self, item: Done) -> None:
        given = edit_row(item.branch, item.number, item.applied)
        self._database.execute("INSERT OR REPLACE INTO edit VALUES (?, ?, ?, ?, ?, ?)", given)

    @write.register
    def _(self, item: Named) -> None:
        self._database.execute("DELETE FROM flag WHERE branch = ?", (item.branch,))
        rows = [(item.branch, step, clean(name, LONGEST_NAME)) for step, name in item.flags.items()]
        self._database.executemany("INSERT INTO flag VALUES (?, ?, ?)", rows)

    @write.register
    def _(self, item: Passed) -> None:
        self._passed.setdefault(item.branch, []).append(item.curve)

    def end(self) -> None:
        """The end of a transaction: steps of one branch are one row."""
        for branch, pieces in self._passed.items():
            step, loss, lr = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
            given = branch, len(step), blob(step, "<i8"), blob(loss, "<f8"), blob(lr, "<f8")
            self._database.execute("INSERT INTO curve (branch, count, step, loss, lr) VALUES (?, ?, ?, ?, ?)", given)
        self._passed.clear()

    @write.register
    def _(self, item: Network) -> None:
        forward = item.forward
        self._weights[item.number] = weights_of(forward.tensors)
        tensors, stages = tensor_rows(item.number, forward.tensors), stage_rows(item.number, forward.stages)
        self._database.executemany("INSERT INTO tensor VALUES (?, ?, ?, ?, ?, ?)", tensors)
        self._database.executemany("INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", stages)

    @write.register
    def _(self, item: Stands) -> None:
        given = (("branch", str(item.branch)), ("step", "" if item.step is None else str(item.step)))
        self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", given)

    @write.register
    def _(self, item: Look) -> None:
        if not item.kept and item.step % self._thinning.every:
            return
        weights, moved = self._weights[item.network], item.moved
        if item.previous is not None:
            with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
                moved = item.value - item.previous
        whole = None if self._whole is None else number(self._whole(item))
        cells = (
            item.branch, item.step, item.edits, item.network, number(item.loss), number(item.lr), number(item.next_lr),
            whole, self._probing.loss(item), item.batch, clean(item.optimizer, LONGEST_NAME), int(item.edited),
            bits(item.computed, weights), bits(item.frozen, weights), blob(item.value),
            None if item.gradient is None else blob(item.gradient), None if moved is None else blob(moved),
            self._probing.rows(item), self._probing.delta_rows(item), units_blob(item.forward, item),
        )  # fmt: skip
        given = (*cells, int(item.kept), clean(item.stopped), checksum(cells))
        self._database.execute(_FRAME + (_INSTEAD if item.instead else _KEEP), given)
        if item.coming is not None:
            self._micro.write(item.coming, item.network, (item.branch, item.step, item.edits))
