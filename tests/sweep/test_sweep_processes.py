"""A sweep in processes: no socket, none left behind, and whichever is killed no result is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sweep_made as made

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.io.atomic import is_running

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at processes as Linux shows them")

KILLS = int(os.environ.get("SCALARVIZ_TEST_KILLS", "2"))
"""How often each is killed; 20 before a change of these is trusted."""
SEEDS = 6 + 3 * KILLS
"""Enough for each to find work that is not done."""
HERE = str(Path(__file__).parent)
CLIENT = f"""
import sys
sys.path.append({HERE!r})
import sweep_made as made
import scalarviz as sv
if __name__ == "__main__":
    path, door = sys.argv[1:]
    more = {{"results": path, "workers": 2, "keyframes": 1, "options": {{"door": door}}}}
    going = sv.sweep(made.held, {{"lr": [0.1, 0.5]}}, {SEEDS}, steps=20, **more)
    print(going.before, flush=True)
    for result in going:
        print(result.number, flush=True)
"""


def whole():
    """What the client's sweep comes to where nobody kills anything."""
    return list(sv.sweep(made.small, {"lr": [0.1, 0.5]}, SEEDS, steps=20, workers=0, keyframes=1))


def children(pid: int) -> list[int]:
    """Processes that a process has started and that live, but for multiprocessing's tracker, which lives as long."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text(encoding="ascii").split()]
    return [child for child in found if is_running(child) and b"resource_tracker" not in command(child)]


def command(pid: int) -> bytes:
    """How a process was called; nothing where it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def sockets(pid: int) -> list[str]:
    """What a process has open that is a socket."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return [name for name in found if name.startswith("socket:")]


def bits(results):
    return {r.number: (r.seed, r.options, {n: a.tobytes() for n, a in r.weights.items()}) for r in results}


def test_processes_give_the_bits_of_this_one_and_are_gone_afterwards():
    before = set(children(os.getpid()))
    mine = sockets(os.getpid())
    with sv.sweep(made.small, {"lr": [0.1, 0.5]}, SEEDS, steps=20, workers=2, keyframes=1) as going:
        results = [next(going)]
        workers = [pid for pid in children(os.getpid()) if pid not in before]
        assert len(workers) >= 2
        assert all(sockets(pid) == [] for pid in workers)
        assert sockets(os.getpid()) == mine
        results += list(going)
    assert sorted(r.number for r in results) == list(range(2 * SEEDS))
    assert bits(results) == bits(whole())
    assert set(children(os.getpid())) <= before


def test_what_kills_its_process_is_tried_three_times_and_named(tmp_path):
    results = {
        r.seed: r for r in sv.sweep(made.killed_once, {}, 4, steps=5, workers=2, options={"folder": str(tmp_path)})
    }
    assert [results[seed].state for seed in range(4)] == ["done", "done", "failed", "done"]
    assert [results[seed].tries for seed in range(4)] == [1, 2, 3, 1]
    assert "tried 3 times; its process ended early" in results[2].error


def test_killed_workers_lose_and_double_nothing(tmp_path):
    choice, path, before = random.Random(5), tmp_path / "runs.svs", set(children(os.getpid()))
    with sv.sweep(made.paced, {"lr": [0.1, 0.5]}, SEEDS, steps=20, results=path, workers=2, keyframes=1) as going:
        killed, results = 0, []
        for result in going:
            results.append(result)
            pids = sorted(set(children(os.getpid())) - before)
            if killed < KILLS and len(results) % 4 == 1 and pids:
                os.kill(choice.choice(pids), signal.SIGKILL)
                killed += 1
    assert killed == KILLS
    assert all(r.tries <= 3 for r in results)
    assert bits(results) == bits(read(path)) == bits(whole())


def read(path):
    with sv.sweep.Results(path) as there:
        return [
            r.__class__(**{**{n: getattr(r, n) for n in r.__slots__}, "weights": there.weights(r.number)})
            for r in there.results()
        ]


def opened(door: Path, seeds: int) -> None:
    """Let the runs of these seeds go on; whole or not at all, as they read it meanwhile."""
    fresh = door.with_suffix(".new")
    fresh.write_text(str(seeds), encoding="ascii")
    fresh.replace(door)


def test_a_killed_client_leaves_whole_results_and_no_process(tmp_path):
    choice, path, door = random.Random(6), tmp_path / "runs.svs", tmp_path / "door"
    done: set[int] = set()
    again = {"steps": 20, "results": path, "workers": 0, "keyframes": 1, "options": {"door": str(door)}}
    for round_ in range(KILLS + 1):
        last = round_ == KILLS
        opened(door, SEEDS if last else 3 * (round_ + 1))  # so that it is not done before it is killed
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(path), str(door)], stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert client.stdout is not None
        with client.stdout:
            before = int(client.stdout.readline())
            assert before >= len(done)
            for _ in range(0 if last else choice.randint(1, 3)):
                client.stdout.readline()
            pids = children(client.pid)
            if not last:
                with pytest.raises(InputError, match=f"another sweep, process {client.pid}:"):
                    sv.sweep(made.held, {"lr": [0.1, 0.5]}, SEEDS, **again)
                client.send_signal(signal.SIGKILL)
            client.stdout.read()
            client.wait(60)
        made.gone(pids)
        with sv.sweep.Results(path) as there:
            now = {r.number for r in there.results()}
        assert done <= now
        done = now
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert done == set(range(2 * SEEDS))
    rest = list(sv.sweep(made.held, {"lr": [0.1, 0.5]}, SEEDS, **again))
    assert bits(rest) == bits(whole())


def test_what_cannot_be_sent_is_said_before():
    def inside(seed):
        return made.small(seed)

    with pytest.raises(InputError, match="inside cannot be sent to other processes"):
        sv.sweep(inside, {}, 2, steps=5, workers=2)
    assert len(list(sv.sweep(inside, {}, 2, steps=5, workers=0))) == 2
