"""A change is done whole or the run is as it was: an error is raised at every line that a change runs through."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import scalarviz
from kit.edits import CHANGES, EDITS
from kit.runs import bits, make_run
from scalarviz.run import transaction
from scalarviz.run.core import interrupts

ROOMS = tuple(str(Path(scalarviz.__file__).parent / room) for room in ("run", "optim"))
KEEPERS = transaction.__file__, interrupts.__file__
"""What puts the run back is not itself broken off."""
WRITES = ("view of a module", "view of the run")
"""Written past the run, and found later."""
SEVERAL = ("function", "function by edits", "hand", "schedule")
"""Changes and other work one after the other; what a function did before it failed may have been seen."""
DEEDS = {name: deed for name, deed in {**EDITS, **CHANGES}.items() if name not in (*WRITES, *SEVERAL)}


class Fault(BaseException):
    pass


class Traced:
    """Lines of the run's rooms as they are run; at one of them it raises."""

    def __init__(self, at=None):
        self.at, self.seen = at, {}

    def _call(self, frame, event, arg):
        name = frame.f_code.co_filename
        return self._line if name.startswith(ROOMS) and name not in KEEPERS else None

    def _line(self, frame, event, arg):
        place = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and place not in self.seen:
            self.seen[place] = frame.f_code.co_name
            if place == self.at:
                sys.settrace(None)
                raise Fault(place)
        return self._line

    def __enter__(self):
        self._former = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self._former)


def begun(name):
    run = make_run("mlp", dtype="float32")
    run.step(4)
    run.lr = 0.02
    run.step(4)
    if "left" in name:
        run.back(2)
    return run


def state(run):
    return bits(run), len(run.log), [(b.first, b.newest, b.current) for b in run.branches], len(run.history.lines)


def go_on(run):
    run.step(3)
    found = bits(run)
    run.back(4)
    return found, bits(run), state(run)


AT_ONCE = ("rate", "weights", "other samples")
CASES = [*DEEDS, *(f"{name}, future left" for name in ("weights", "rate"))]


@pytest.mark.parametrize("name", [n if n in AT_ONCE else pytest.param(n, marks=pytest.mark.ci) for n in CASES])
def test_an_error_at_any_line_of_a_change_leaves_the_run_as_it_was(name):
    deed = DEEDS[name.split(",")[0]]
    plain, run = begun(name), begun(name)
    with Traced() as lines:
        deed(plain, np.random.default_rng(1))
    before = state(run)
    for place, function in lines.seen.items():
        with pytest.raises(Fault), Traced(place):
            deed(run, np.random.default_rng(1))
        assert state(run) == before, (place, function)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, (place, function)
    deed(run, np.random.default_rng(1))
    assert state(run) == state(plain)
    assert go_on(run) == go_on(plain)
