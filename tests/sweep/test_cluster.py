"""Runs on a dask cluster: those of this machine, by certificates; what dies is done again, and nothing comes twice.

Internals: `Cluster` is imported as docs/clusters.md has it; jobs and the handshake stand below it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.sweep import cluster
from scalarviz.sweep.cluster import checked, connected, warning_of
from scalarviz.sweep.job import Job, SceneBuild, compute

dask = pytest.importorskip("distributed", reason="no dask.distributed (extra sweep)") and __import__("dask")

from scalarviz.sweep.cluster import Cluster  # noqa: E402

OPENSSL = shutil.which("openssl")
SEEDS = 24


SCENE = """
import os
import time
from pathlib import Path

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.scenes import SceneOptions


class Options(SceneOptions):
    folder: str
    pause: float = 0.0
    door: str = ""
    kills: bool = False
    lr: float = 0.1


def build(options):
    (Path(options.folder) / f"{options.seed}.{os.getpid()}").touch()
    time.sleep(options.pause)
    while options.door and options.seed == 11 and not Path(options.door).exists():
        time.sleep(0.02)
    if options.kills:
        os._exit(1)
    net = nn.Sequential(nn.Linear(2, 1))
    net.initialize(seed=options.seed)
    data, sgd = (np.eye(2), np.eye(2)[:, :1]), optim.SGD(net.parameters(), lr=options.lr)
    return sv.Scene("small", sv.Run(net, nn.MSELoss(), sgd, data, **options.of_run))
"""
SETTINGS = {"CA_FILE": "cert", "SCHEDULER__CERT": "cert", "SCHEDULER__KEY": "key", "WORKER__CERT": "cert",
            "WORKER__KEY": "key", "CLIENT__CERT": "cert", "CLIENT__KEY": "key"}  # fmt: skip


class Site:
    """A scheduler and its workers, as somebody else would have started them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, folder / "scheduler.json"
        self.environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        for name, file in SETTINGS.items():
            self.environment[f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = str(folder / f"{file}.pem")
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self.said),
            "--no-dashboard", "--protocol", "tls",
        )  # fmt: skip
        self.workers: list[subprocess.Popen[bytes]] = []

    def add_worker(self, *more: str) -> subprocess.Popen[bytes]:
        worker = self._start(
            "dask_worker", "--scheduler-file", str(self.said), "--nthreads", "1", "--no-nanny", "--no-dashboard",
            "--local-directory", str(self.folder), *more,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def _start(self, command: str, *more: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", f"distributed.cli.{command}", *more]
        with (self.folder / f"{command}.log").open("ab") as log:
            return subprocess.Popen(line, env=self.environment, stdout=log, stderr=log, cwd=self.folder)

    @property
    def address(self) -> str:
        return str(waited(lambda: self.said.is_file() and json.loads(self.said.read_text() or "{}").get("address")))

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def waited(asked, seconds: float = 120):
    """What `asked` says as soon as it says something."""
    until = time.monotonic() + seconds
    while not (found := asked()):
        assert time.monotonic() < until, "nothing came of it"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with certificates and two workers; the last test kills what is left of it."""
    if OPENSSL is None:
        pytest.skip("no openssl, which makes the certificates")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    found = Site(folder)
    for _ in range(2):
        found.add_worker()
    yield found
    found.close()


@pytest.fixture
def certificates(site):
    """Dask's settings in this process name the certificates."""
    found = {
        f"distributed.comm.tls.{name.lower().replace('__', '.').replace('_', '-')}": str(site.folder / f"{file}.pem")
        for name, file in SETTINGS.items()
    }
    with dask.config.set(found):
        yield


@pytest.fixture
def small(tmp_path):
    """What makes jobs of a scene file that nobody but this process has."""
    build = SceneBuild("small.py", SCENE)

    def job(number: int, steps: int = 20, **more) -> Job:
        return Job(number, build, {"folder": str(tmp_path), "engine": "numpy", **more}, number, steps)

    return job


def begun(folder: Path, seed: int) -> int:
    """How many processes have begun a run."""
    return len(list(folder.glob(f"{seed}.*")))


def test_an_encrypted_cluster_computes_the_bits_of_here_from_the_scenes_text(site, certificates, small, tmp_path):
    assert site.address.startswith("tls://")
    with Cluster(site.address) as cluster:
        waited(lambda: cluster.threads == 2)
        futures = [cluster.submit(compute, small(number, pause=0.02)) for number in range(40)]
        cancelled = {number for number in range(20, 40) if futures[number].cancel()}
        results = {number: future.result(60) for number, future in enumerate(futures) if number not in cancelled}
        with pytest.raises(TypeMismatchError, match="computes only jobs"):
            cluster.submit(print, small(0))
    with pytest.raises(StateError, match="is closed"):
        cluster.submit(compute, small(0))
    assert len(cancelled) >= 10
    assert not any(begun(tmp_path, number) for number in cancelled)
    for number in range(8):
        result, here = results[number], compute(small(number))
        assert (result.number, result.state, result.tries, result.error) == (number, "done", 1, "")
        assert begun(tmp_path, number) == 2  # there and here
        assert (result.loss, result.curve.tobytes()) == (here.loss, here.curve.tobytes())
        assert {n: a.tobytes() for n, a in result.weights.items()} == {n: a.tobytes() for n, a in here.weights.items()}


def test_another_version_there_is_refused_by_name(site, certificates, monkeypatch):
    waited(lambda: "Register" in (site.folder / "dask_scheduler.log").read_text())
    here = {**cluster.versions(), "numpy": "1.0"}
    monkeypatch.setattr("scalarviz.sweep.cluster.versions", lambda: here)
    with pytest.raises(InputError, match=r"its worker tls://\S+ has other versions .*numpy \S+ there, 1\.0 here"):
        connected(site.address)


def test_without_certificates_nobody_comes_in(site):
    with pytest.raises(InputError, match=r"ca-file, client\.cert, client\.key .*DASK_DISTRIBUTED__COMM__TLS__CA_FILE="):
        connected(site.address)
    with pytest.raises(InputError, match="no scheduler answers at tcp://"):
        connected(site.address.replace("tls:", "tcp:"), timeout=2)


def test_other_addresses_are_refused_and_what_is_open_to_everybody_is_said():
    for address in ("cluster:8786", "http://a:80", "tls://a", "tls://a:0", 7, ""):
        with pytest.raises(InputError, match="tls://HOST:PORT"):
            checked(address)
    assert warning_of("tls://cluster:8786") == ""
    assert "anyone who reaches that port can run code" in warning_of("tcp://cluster:8786")


# ---- whichever is killed


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SCENE)
    return str(path)


def going(scene: str, file: Path, **more):
    """The sweep; its last runs wait for a door that is open, so that no kill comes too late on a busy machine."""
    options = {"folder": str(file.parent), "engine": "numpy", "pause": 0.1, "door": str(file.parent / "door")}
    return sv.sweep(scene, {"lr": [0.1, 0.5]}, 12, steps=20, results=file, options=options, **more)


def numbers(file: Path) -> dict[int, dict[str, bytes]]:
    """The weights of every result of a file, by number."""
    with sv.sweep.Results(file) as there:
        found = [result.number for result in there.results()]
        assert len(found) == len(set(found))
        return {number: {name: a.tobytes() for name, a in there.weights(number).items()} for number in found}


def killed_worker(site: Site, scene: str, file: Path) -> None:
    lines: list[str] = []
    with Cluster(site.address, lines.append) as cluster:
        waited(lambda: cluster.threads == 2)
        results = going(scene, file, executor=cluster)
        next(results)
        site.workers[0].kill()
        assert {result.state for result in results} == {"done"}
    assert all(said in lines[0] for said in ("the worker tls://127.0.0.1:", " died; "))


def killed_scheduler(site: Site, scene: str, file: Path) -> None:
    door = file.parent / "door"
    door.unlink()
    with Cluster(site.address) as cluster:
        results = going(scene, file, executor=cluster)
        next(results)
        site.scheduler.kill()
        with pytest.raises(StateError, match=f"the scheduler at {site.address} no longer answers; results are kept"):
            list(results)
    door.touch()
    assert len(list(going(scene, file, workers=0))) == SEEDS


def killed_by_a_run(site: Site, small, monkeypatch) -> None:
    """A run that ends its workers fails alone."""
    monkeypatch.setattr("scalarviz.sweep.cluster.DEATHS", 2)
    for _ in range(3):
        site.add_worker()
    lines: list[str] = []
    with Cluster(site.address, lines.append) as cluster:
        waited(lambda: cluster.threads >= 3)
        futures = [cluster.submit(compute, small(number, kills=number == 7)) for number in range(16)]
        results = [future.result(120) for future in futures]
    assert [result.number for result in results if result.state != "done"] == [7]
    assert "2 workers died while computing this run, the last one at tls://127.0.0.1:" in results[7].error
    assert results[7].tries == 2
    assert sum("died" in line for line in lines) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as POSIX has it")
# where the scheduler dies while distributed connects to it, distributed leaves the socket to the collector
@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_whichever_is_killed_no_result_is_lost_or_doubled(site, certificates, scene, small, tmp_path, monkeypatch):
    """One after the other: a worker, workers by a run of theirs, the scheduler."""
    (tmp_path / "door").touch()
    list(going(scene, tmp_path / "whole.svs", workers=0))
    wanted = numbers(tmp_path / "whole.svs")
    assert len(wanted) == SEEDS
    killed_worker(site, scene, tmp_path / "worker.svs")
    killed_by_a_run(site, small, monkeypatch)
    killed_scheduler(site, scene, tmp_path / "scheduler.svs")
    assert numbers(tmp_path / "worker.svs") == numbers(tmp_path / "scheduler.svs") == wanted
