"""Packed tables: every bit comes back, or a number within half a step of its column."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from scalarviz.errors import InputError
from scalarviz.view.page.pack import EXACT, errors_of, packed, unpacked

TABLES = arrays(np.uint32, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(0, 2**32 - 1))


@given(TABLES)
def test_every_bit_pattern_comes_back(bits):
    """NaN of any payload, both zeros, the smallest and the largest numbers: bits are bits."""
    found = unpacked(packed(bits.view(np.float32)))
    assert np.array_equal(found.view(np.uint32), bits)


@given(arrays(np.float32, (6, 3), elements=st.floats(width=32)))
def test_numbers_of_16_bits_are_within_half_a_step(table):
    said = packed(table, exact=False)
    found, errors = unpacked(said), errors_of(said)
    finite = np.isfinite(table)
    assert np.array_equal(np.isnan(found), np.isnan(table))
    assert np.array_equal(found[~finite & ~np.isnan(table)], table[~finite & ~np.isnan(table)])
    table, found = (np.where(finite, numbers, 0).astype(np.float64) for numbers in (table, found))
    assert (np.abs(found - table) <= errors * 1.001 + np.abs(table) * 2.0**-23).all()


def test_smooth_numbers_take_less_room_than_their_bits():
    time = np.linspace(0, 3, 300)[:, None]
    table = (np.sin(time + np.arange(12)) * 2).astype(np.float32)
    said = packed(table)
    assert said["bits"] == 32
    assert said["order"] > 1
    assert len(base64.b64decode(said["data"])) < 0.4 * table.nbytes


def test_what_is_too_much_to_be_exact_has_16_bits():
    assert packed(np.zeros((2, EXACT // 2), np.float32))["bits"] == 32
    assert packed(np.zeros((2, EXACT // 2 + 1), np.float32))["bits"] == 16


@pytest.mark.parametrize("table", [np.zeros(3, np.float32), np.zeros((2, 2)), np.zeros((1, 1, 1), np.float32)])
def test_other_arrays_are_refused(table):
    with pytest.raises(InputError, match="float32"):
        packed(table)


def test_data_of_another_length_are_refused():
    said = packed(np.zeros((3, 2), np.float32))
    with pytest.raises(InputError, match=r"24 bytes; 4 x 2"):
        unpacked(said | {"frames": 4})
