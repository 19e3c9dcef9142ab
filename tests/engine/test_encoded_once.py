"""A program is encoded once in a process, as long as its kernels stay where they are."""

import numpy as np
import pytest

pytest.importorskip("numba")

from scalarviz.engine.cpu import machine
from scalarviz.tape import Node, Tape, lower


def program_of(number):
    nodes = (
        Node("input"), Node("const", number=number), Node("param"), Node("mul", (0, 2)), Node("tanh", (3,)),
        Node("maximum", (4, 1)),
    )  # fmt: skip
    return lower(Tape(nodes, 1, 0, 1, outputs=(5,))).body


def loaded(number=4.5, dtype=np.float32, lanes=8, backward=True):
    program = program_of(number)
    return machine.Loaded(program, dtype, lanes, tuple(program.outputs.tolist()) if backward else ())


@pytest.fixture
def encoded(monkeypatch):
    """Every time that something is encoded."""
    times = []
    monkeypatch.setattr(machine, "_ENCODED", machine.Kept())
    monkeypatch.setattr(machine, "encode", lambda *given, **named: times.append(given) or encode(*given, **named))
    return times


encode = machine.encode


def test_it_is_encoded_once_and_each_machine_has_its_own_tables(encoded):
    one, other = (loaded() for _ in range(2))
    assert len(encoded) == 1
    for a, b in zip(one._lists, other._lists, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.size == 0 or a.ctypes.data != b.ctypes.data


@pytest.mark.parametrize("how", [(np.float64,), (np.float32, 1), (np.float32, 8, False)])
def test_what_is_asked_for_otherwise_is_encoded_again(encoded, how):
    loaded()
    loaded(4.5, *how)
    assert len(encoded) == 2


def test_kernels_that_are_elsewhere_are_written_down_anew(encoded, monkeypatch):
    first = loaded()
    moved, before = 4096, machine.row_addresses
    monkeypatch.setattr(
        machine, "row_addresses", lambda name, dtype: {k: a + moved for k, a in before(name, dtype).items()}
    )
    second = loaded()
    assert len(encoded) == 2
    assert not np.array_equal(first._lists[0], second._lists[0])


def test_another_graph_of_the_same_form_is_another_program(encoded):
    loaded()
    other = loaded(5.5)
    assert len(encoded) == 2
    assert any(5.5 in part for part in other._lists)
