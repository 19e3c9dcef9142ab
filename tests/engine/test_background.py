"""One process at a time fills the cache; it outlives its starter; a dead one's lock is taken over."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from scalarviz.engine.cpu.cache import background

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sessions and signals of POSIX")

# a fake warm-up: says that it works, and works until it may end (or 30 s)
FAKE = """
import os, sys, time
from pathlib import Path
from scalarviz.engine.cpu.cache import background
here = Path(sys.argv[1])
with background.holding() as mine:
    if mine:
        (here / f"worked-{os.getpid()}").write_text(str(os.getsid(0)))
    end = time.monotonic() + 30
    while mine and not (here / "enough").exists() and time.monotonic() < end:
        time.sleep(0.02)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(background.SWITCH)
    monkeypatch.delenv(background.TOKEN, raising=False)
    yield tmp_path
    (tmp_path / "enough").touch()
    for process in background._started:
        process.wait(30)
    background._started.clear()


def fake(folder):
    return [sys.executable, "-c", FAKE, str(folder)]


def workers(folder):
    return [int(path.name.partition("-")[2]) for path in folder.glob("worked-*")]


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_one_is_started_and_releases_the_lock(cache):
    assert background.start(fake(cache))
    assert background.running()
    assert not background.start(fake(cache))
    until(lambda: workers(cache))
    owner = json.loads(background.lock_path().read_text())
    assert owner["pid"] == workers(cache)[0]
    assert not background.start(fake(cache))
    (cache / "enough").touch()
    until(lambda: not background.lock_path().exists())
    assert len(workers(cache)) == 1
    assert not background.running()
    assert background.start(fake(cache))  # the next one may


def test_of_many_starters_at_once_one_process_works(cache):
    code = f"from scalarviz.engine.cpu.cache import background\nbackground.start({fake(cache)!r})"
    starters = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(6)]
    assert [process.wait(60) for process in starters] == [0] * 6
    until(lambda: workers(cache))
    time.sleep(1.0)
    assert len(workers(cache)) == 1
    (cache / "enough").touch()
    until(lambda: not background.lock_path().exists())


def test_it_outlives_its_starter_and_its_terminal_and_says_nothing(cache):
    start = f"from scalarviz.engine.cpu.cache import background\nbackground.start({fake(cache)!r})"
    code = f"import os\n{start}\nprint(os.getsid(0))"
    starter = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    until(lambda: workers(cache))
    (path,) = cache.glob("worked-*")
    until(path.read_text)
    assert path.read_text() != starter.stdout.strip()  # a session of its own: no Ctrl-C and no hang-up reaches it
    assert starter.stderr == ""
    os.kill(workers(cache)[0], 0)
    (cache / "enough").touch()
    until(lambda: not background.lock_path().exists())


def test_the_lock_of_a_killed_process_is_taken_over(cache):
    assert background.start(fake(cache))
    until(lambda: workers(cache))
    os.kill(workers(cache)[0], signal.SIGKILL)
    until(lambda: not background.running())  # also while its starter lives on
    assert background.lock_path().exists()
    assert background.start(fake(cache))
    until(lambda: len(workers(cache)) == 2)


@pytest.mark.parametrize("text", ["", "no json", '{"pid": 1}', "[]", '{"pid": "x", "host": "", "token": ""}'])
def test_a_damaged_lock_is_taken_over(cache, text):
    background.lock_path().parent.mkdir(parents=True)
    background.lock_path().write_text(text)
    assert background.start(fake(cache))


def test_an_old_lock_is_taken_over_and_one_of_another_machine_is_not(cache):
    background.lock_path().parent.mkdir(parents=True)
    owner = {"pid": 1, "host": "another-" + socket.gethostname(), "token": "x"}
    background.lock_path().write_text(json.dumps(owner))
    assert not background.start(fake(cache))
    past = time.time() - background.STALE_SECONDS - 1
    os.utime(background.lock_path(), (past, past))
    assert background.start(fake(cache))


def test_the_switch(cache, monkeypatch):
    monkeypatch.setenv(background.SWITCH, "0")
    assert not background.start(fake(cache))
    assert not background.lock_path().exists()


def test_a_cache_that_cannot_be_written_and_a_command_that_is_none(cache, monkeypatch):
    assert not background.start([str(cache / "no such program")])
    assert not background.lock_path().exists()
    (cache / "file").touch()
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(cache / "file"))
    assert not background.start(fake(cache))


def test_whoever_lost_its_lock_lets_it_be(cache, monkeypatch):
    with background.holding() as mine:
        assert mine
        monkeypatch.setenv(background.TOKEN, "of somebody whose lock was taken over")
        with background.holding() as second:
            assert not second
        assert background.lock_path().exists()
        monkeypatch.delenv(background.TOKEN)
        with background.holding() as third:
            assert not third
        assert background.lock_path().exists()
    assert not background.lock_path().exists()
