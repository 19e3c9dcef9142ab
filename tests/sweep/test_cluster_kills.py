"""Whichever dies of worker, scheduler and client: no result is lost or doubled, and the same call goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cluster_site import SCENE, Site, waited

from scalarviz.errors import StateError
from scalarviz.sweep.results import Results
from scalarviz.sweep.sweep import Sweep, sweep

pytest.importorskip("distributed", reason="no dask.distributed (extra sweep)")

from scalarviz.sweep.cluster import Cluster

KILLS = int(os.environ.get("SCALARVIZ_TEST_KILLS", "2"))
"""How often each is killed; 20 before a change of these is trusted."""
SEEDS = 24
CLIENT = """
import sys
from scalarviz.sweep.cluster import Cluster
from scalarviz.sweep.sweep import sweep
scene, file, folder, address = sys.argv[1:]
options = {"folder": folder, "engine": "numpy", "pause": 0.1, "door": folder + "/door"}
with Cluster(address) as cluster:
    for result in sweep(scene, {"lr": [0.1, 0.5]}, 12, steps=20, results=file, options=options, executor=cluster):
        print(result.number, flush=True)
"""

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as POSIX has it"),
]


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SCENE)
    return str(path)


def going(scene: str, file: Path, **more) -> Sweep:
    """The sweep; its last runs wait for a door that is open, so that no kill comes too late on a busy machine."""
    options = {"folder": str(file.parent), "engine": "numpy", "pause": 0.1, "door": str(file.parent / "door")}
    return sweep(scene, {"lr": [0.1, 0.5]}, 12, steps=20, results=file, options=options, **more)


def numbers(file: Path) -> dict[int, dict[str, bytes]]:
    """The weights of every result of a file, by number."""
    with Results(file) as there:
        found = [result.number for result in there.results()]
        assert len(found) == len(set(found))
        return {number: {name: a.tobytes() for name, a in there.weights(number).items()} for number in found}


@pytest.fixture
def wanted(scene, tmp_path):
    """What nobody kills."""
    (tmp_path / "door").touch()
    file = tmp_path / "whole.svs"
    list(going(scene, file, workers=0))
    return numbers(file)


def killed_worker(site: Site, scene: str, file: Path) -> None:
    with Cluster(site.address) as cluster:
        waited(lambda: cluster.threads == 2)
        results = going(scene, file, executor=cluster)
        next(results)
        site.workers[0].kill()
        assert {result.state for result in results} == {"done"}


def killed_client(site: Site, scene: str, file: Path) -> None:
    line = [sys.executable, "-c", CLIENT, scene, str(file), str(file.parent), site.address]
    door = file.parent / "door"
    door.unlink()
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    door.touch()
    with Cluster(site.address) as cluster:
        results = going(scene, file, executor=cluster)
        assert 0 < results.before < SEEDS
        assert len(list(results)) == SEEDS


def killed_scheduler(site: Site, scene: str, file: Path) -> None:
    door = file.parent / "door"
    door.unlink()
    with Cluster(site.address) as cluster:
        results = going(scene, file, executor=cluster)
        next(results)
        site.scheduler.kill()
        with pytest.raises(StateError, match=f"the scheduler at {site.address} is gone; what was computed is kept"):
            list(results)
    door.touch()
    assert len(list(going(scene, file, workers=0))) == SEEDS


def test_no_result_is_lost_or_doubled(scene, wanted, tmp_path):
    assert len(wanted) == SEEDS
    for k in range(KILLS):
        folder = tmp_path / str(k)
        folder.mkdir()
        site = Site(folder)
        try:
            for _ in range(2):
                site.add_worker()
            for kill in (killed_worker, killed_client, killed_scheduler):
                file = tmp_path / f"{kill.__name__}-{k}.svs"
                kill(site, scene, file)
                assert numbers(file) == wanted
        finally:
            site.close()
