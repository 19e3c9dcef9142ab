"""The GPU's device holds host arrays until they are copied (internal: `DriverDevice` has no front door)."""

from __future__ import annotations

import gc

import numpy as np
import pytest

pytestmark = pytest.mark.cuda


@pytest.fixture
def device(fake_driver):
    from scalarviz.engine.cuda.driver import DriverDevice

    found = DriverDevice(0)
    yield found
    found.close()


@pytest.mark.parametrize("copy", ["upload", "download", "read_aside"])
def test_a_queued_copy_holds_its_array(device, copy):
    buffer = device.empty(64, "f4")
    device.upload(buffer, np.ones(64, "f4"))
    device.wait()
    array = np.zeros(64, "f4")
    mark = device.read_aside([(buffer, array)]) if copy == "read_aside" else getattr(device, copy)(buffer, array)
    del array, mark
    others = [np.zeros(64, "f4") for _ in range(50)]  # they would lie where the array lay
    freed = device.empty(1, "f4")
    del freed
    gc.collect()  # freeing the memory lets every stream finish its copies
    assert not any(other.any() for other in others)


def test_arrays_are_let_go_once_they_are_copied(device):
    from weakref import ref

    buffer, array = device.empty(64, "f4"), np.zeros(64, "f4")
    seen = ref(array)
    device.read_aside([(buffer, array)])
    del array
    assert seen() is not None
    device.wait()
    assert seen() is None


def test_the_fake_refuses_memory_that_nobody_holds(device):
    """Without this check it would write over whatever lies at the address by then."""
    from ptx.memory import Fault

    buffer, array = device.empty(64, "f4"), np.zeros(64, "f4")
    device.read_aside([(buffer, array)])
    device._held.clear()  # the mistake that the check is for
    del array
    with pytest.raises(Fault, match="host memory that was freed"):
        device.wait()
    with pytest.raises(TypeError, match="bare address"), device.context as context:
        context.call("cuMemcpyDtoHAsync", 4096, buffer.memory.pointer, 4, device.stream)
