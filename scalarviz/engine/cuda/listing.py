"""`ListingDevice` notes what it is asked to do and computes nothing: what a problem needs, found without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..problem import Array
from .device import Buffer, Launch, Now


class ListingDevice:
    """A :class:`~.device.Device` that notes the `launches` recorded, how many would be `done`, and bytes of memory."""

    name = "a list"
    remark = "computes nothing"
    shared_bytes = 227 << 10

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.done = 0
        self.nbytes = 0

    def empty(self, size: int, dtype: Any) -> Buffer:
        """No memory, for so many numbers."""
        dtype = np.dtype(dtype)
        self.nbytes += size * dtype.itemsize
        return Buffer(None, 0, size, dtype)

    def memory(self) -> tuple[int, int]:
        """As much as anybody wants."""
        return 1 << 62, 1 << 62

    def upload(self, to: Buffer, array: Array) -> None:
        """Nothing is kept."""

    def download(self, source: Buffer, array: Array) -> None:
        """Nothing was computed: zeros."""
        array.fill(0)

    def wait(self) -> None:
        """All is done at once."""

    def settle(self) -> None:
        """All is done at once."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Nothing is there."""

    def mark(self) -> Now:
        """Now."""
        return Now()

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Now:
        """Nothing was computed."""
        return Now()

    def pinned(self, size: int, dtype: Any) -> Array:
        """Zeros."""
        return np.zeros(size, dtype)

    def record(self, launches: Sequence[Launch]) -> _Noted:
        """Note them."""
        self.launches.extend(launches)
        return _Noted(self, len(launches))

    def close(self) -> None:
        """Nothing is held."""


class _Noted:
    """See :class:`scalarviz.engine.cuda.device.Recorded`."""

    def __init__(self, device: ListingDevice, count: int) -> None:
        self.device, self.count = device, count

    def run(self, times: int = 1) -> None:
        """Count them."""
        self.device.done += times * self.count
