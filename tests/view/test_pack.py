"""Packed tables: every bit comes back, or a number within half a step of its column."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kit.unpacked import errors_of, unpacked
from scalarviz.errors import InputError
from scalarviz.view.page.pack import EXACT, packed

TABLES = arrays(np.uint32, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(0, 2**32 - 1))


@given(TABLES)
def test_every_bit_pattern_comes_back(bits):
    """NaN of any payload, both zeros, the smallest and the largest numbers: bits are bits."""
    assert np.array_equal(unpacked(packed(bits.view(np.float32))).view(np.uint32), bits)


@given(arrays(np.float32, (6, 3), elements=st.floats(width=32)))
def test_numbers_of_16_bits_are_within_half_a_step(table):
    said = packed(table, exact=False)
    found, finite = unpacked(said), np.isfinite(table)
    assert np.array_equal(found[~finite], table[~finite], equal_nan=True)
    table, found = (np.where(finite, numbers, 0).astype(np.float64) for numbers in (table, found))
    assert (np.abs(found - table) <= errors_of(said) * 1.001 + np.abs(table) * 2.0**-23).all()


def test_smooth_numbers_take_less_room_and_of_too_many_each_has_16_bits():
    table = (np.sin(np.linspace(0, 3, 300)[:, None] + np.arange(12)) * 2).astype(np.float32)
    said = packed(table)
    assert said["order"] > 1
    assert len(base64.b64decode(said["data"])) < 0.4 * table.nbytes
    assert [packed(np.zeros((2, EXACT // 2 + more), np.float32))["bits"] for more in (0, 1)] == [32, 16]


def test_other_arrays_and_data_of_another_length_are_refused():
    for table in (np.zeros(3, np.float32), np.zeros((2, 2)), np.zeros((1, 1, 1), np.float32)):
        with pytest.raises(InputError, match="float32"):
            packed(table)
    with pytest.raises(InputError, match=r"24 bytes; 4 x 2"):
        unpacked(packed(np.zeros((3, 2), np.float32)) | {"frames": 4})
