"""The one offscreen context serves every thread, one at a time."""

import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.view.out.offscreen import offscreen


def _pictures(count: int, into: list) -> None:
    weights = {"w": np.linspace(-1, 1, 12).reshape(3, 4)}
    for _ in range(count):
        into.append(sv.render(weights, (240, 200)))


def test_threads_that_draw_at_once_draw_what_one_draws() -> None:
    alone: list = []
    _pictures(1, alone)
    found: list[list] = [[] for _ in range(3)]
    threads = [threading.Thread(target=_pictures, args=(3, into)) for into in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [len(into) for into in found] == [3, 3, 3]
    assert all(np.array_equal(image, alone[0]) for into in found for image in into)
    assert np.array_equal(sv.render({"w": np.linspace(-1, 1, 12).reshape(3, 4)}, (240, 200)), alone[0])


def test_an_error_while_drawing_gives_the_turn_back() -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        offscreen().render(broken, (160, 160))
    done: list = []
    thread = threading.Thread(target=_pictures, args=(1, done))
    thread.start()
    thread.join(30)
    assert len(done) == 1
