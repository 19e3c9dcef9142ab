"""The device of a number."""

from __future__ import annotations

from .device import Device


def open_device(number: int) -> Device:
    """The device of a number: numba's simulator where it is switched on, else a GPU."""
    from .jit import SIMULATED

    if SIMULATED:
        from .simulator import SimulatedDevice

        return SimulatedDevice(number)
    from .driver import DriverDevice

    return DriverDevice(number)
