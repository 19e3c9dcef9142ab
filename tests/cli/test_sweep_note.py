"""The words beside the count of a sweep's runs."""

import sys

import pytest

from scalarviz.cli.sweep import Note
from scalarviz.sweep.result import Result


@pytest.fixture
def seconds(monkeypatch):
    """A clock that is set by hand, where no terminal is."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    return [0.0]


def note_of(seconds, total=10):
    return Note(total, lambda: seconds[0])


def done(reached=None, state="done"):
    return Result(0, {}, 0, state, reached=reached)


def test_the_start_of_the_processes_is_not_taken_for_the_time_of_a_run(seconds):
    """Eight runs of half a second are left; the first one came after twenty."""
    note, seconds[0] = note_of(seconds), 20.0
    note.add(done(True), True)
    assert str(note) == "1 learnt"
    seconds[0] = 20.5
    note.add(done(False), True)
    assert str(note) == "1 learnt, 4 s left"


def test_what_the_file_had_is_counted_but_takes_no_time(seconds):
    note = note_of(seconds)
    for _ in range(6):
        note.add(done(), False)
    assert str(note) == "begun"
    for seconds[0] in (3.0, 13.0):
        note.add(done(), True)
    assert str(note) == "20 s left"


def test_runs_that_went_wrong_are_counted(seconds):
    note = note_of(seconds, 3)
    for result in (done(False, "diverged"), done(state="failed"), done(True)):
        note.add(result, False)
    assert str(note) == "1 learnt, 1 diverged, 1 failed"
