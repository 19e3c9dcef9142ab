"""Whether a display is still there is asked of its connection, also while nobody reads or writes there."""

from __future__ import annotations

import select
import socket

import pytest

from scalarviz.view.out.display import hung_up

pytestmark = pytest.mark.skipif(not hasattr(select, "poll"), reason="no X server is known on this system")


@pytest.mark.parametrize("unread", [b"", b"an event"])
def test_a_connection_whose_other_end_is_gone_is_known_without_reading(unread):
    here, there = socket.socketpair()
    with here, there:
        there.sendall(unread)
        assert not hung_up(here.fileno())
        there.close()
        assert hung_up(here.fileno())
        assert here.recv(64) == unread  # nothing was taken away by looking


def test_a_connection_that_is_closed_here_is_lost():
    here, there = socket.socketpair()
    number = here.fileno()
    with there:
        here.close()
        assert hung_up(number)
