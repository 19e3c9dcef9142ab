"""A program is encoded once in a process, as long as its kernels stay where they are."""

import numpy as np
import pytest

pytest.importorskip("numba")

from scalarviz.engine.cpu import machine
from scalarviz.tape import Node, Tape, lower


def program_of(number):
    nodes = (Node("input"), Node("const", number=number), Node("param"), Node("mul", (0, 2)), Node("add", (3, 1)))
    return lower(Tape(nodes, 1, 0, 1, outputs=(4,))).body


@pytest.fixture
def encoded(monkeypatch):
    """Every time that something is encoded."""
    times = []
    monkeypatch.setattr(machine, "_ENCODED", machine.Kept())
    monkeypatch.setattr(machine, "encode", lambda *given, **named: times.append(given) or encode(*given, **named))
    return times


encode = machine.encode


def test_it_is_encoded_once_and_each_machine_has_its_own_tables(encoded):
    one, other = (machine.Loaded(program_of(4.5), np.float32, 8, (4,)) for _ in range(2))
    assert len(encoded) == 1
    for a, b in zip(one._lists, other._lists, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.size == 0 or a.ctypes.data != b.ctypes.data


@pytest.mark.parametrize("how", [(np.float64, 8, (4,)), (np.float32, 1, (4,)), (np.float32, 8, ())])
def test_what_is_asked_for_otherwise_is_encoded_again(encoded, how):
    machine.Loaded(program_of(4.5), np.float32, 8, (4,))
    machine.Loaded(program_of(4.5), *how)
    assert len(encoded) == 2


def test_kernels_that_are_elsewhere_are_written_down_anew(encoded, monkeypatch):
    first = machine.Loaded(program_of(4.5), np.float32, 8, (4,))
    moved, before = 4096, machine.row_addresses
    monkeypatch.setattr(
        machine, "row_addresses", lambda name, dtype: {k: a + moved for k, a in before(name, dtype).items()}
    )
    second = machine.Loaded(program_of(4.5), np.float32, 8, (4,))
    assert len(encoded) == 2
    assert not np.array_equal(first._lists[0], second._lists[0])


def test_another_graph_of_the_same_form_is_another_program(encoded):
    machine.Loaded(program_of(4.5), np.float32, 8, (4,))
    other = machine.Loaded(program_of(5.5), np.float32, 8, (4,))
    assert len(encoded) == 2
    assert 5.5 in np.concatenate([np.asarray(part, float) for part in other._lists])
