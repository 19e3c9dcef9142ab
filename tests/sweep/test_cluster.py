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
from scalarviz.sweep import visiting
from scalarviz.sweep.build import SceneBuild
from scalarviz.sweep.job import Job, compute
from scalarviz.sweep.scheduler import checked, connected, warning_of

dask = pytest.importorskip("distributed", reason="no dask.distributed (extra sweep)") and __import__("dask")

from scalarviz.sweep.cluster import Cluster  # noqa: E402

OPENSSL = shutil.which("openssl")
KILLS = int(os.environ.get("SCALARVIZ_TEST_KILLS", "1"))
"""How often each is killed; 20 before a change of these is trusted."""
SEEDS = 24

CLIENT = """
import sys
from scalarviz.sweep.cluster import Cluster
import scalarviz as sv
scene, file, folder, address = sys.argv[1:]
options = {"folder": folder, "engine": "numpy", "pause": 0.1, "door": folder + "/door"}
with Cluster(address) as cluster:
    for result in sv.sweep(scene, {"lr": [0.1, 0.5]}, 12, steps=20, results=file, options=options, executor=cluster):
        print(result.number, flush=True)
"""


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

    def __init__(self, folder: Path, tls: bool = False) -> None:
        self.folder, self.said = folder, folder / "scheduler.json"
        self.environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        for name, file in SETTINGS.items() if tls else ():
            self.environment[f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = str(folder / f"{file}.pem")
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self.said),
            "--no-dashboard", *(("--protocol", "tls") if tls else ()),
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
def encrypted(tmp_path_factory):
    """A site with certificates and two workers."""
    if OPENSSL is None:
        pytest.skip("no openssl, which makes the certificates")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    site = Site(folder, tls=True)
    for _ in range(2):
        site.add_worker()
    yield site
    site.close()


@pytest.fixture
def certificates(encrypted):
    """Dask's settings in this process name the certificates."""
    found = {
        f"distributed.comm.tls.{name.lower().replace('__', '.').replace('_', '-')}": str(encrypted.folder / f"{f}.pem")
        for name, f in SETTINGS.items()
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


def test_an_encrypted_cluster_computes_the_bits_of_here_from_the_scenes_text(encrypted, certificates, small, tmp_path):
    assert encrypted.address.startswith("tls://")
    with Cluster(encrypted.address) as cluster:
        waited(lambda: cluster.threads == 2)
        results = [future.result(60) for future in [cluster.submit(compute, small(number)) for number in range(8)]]
    assert [result.number for result in results] == list(range(8))
    assert [begun(tmp_path, number) for number in range(8)] == [1] * 8
    for number, result in enumerate(results):
        here = compute(small(number))
        assert (result.state, result.tries, result.error) == ("done", 1, "")
        assert result.loss == here.loss
        assert result.curve.tobytes() == here.curve.tobytes()
        assert {n: a.tobytes() for n, a in result.weights.items()} == {n: a.tobytes() for n, a in here.weights.items()}
    assert begun(tmp_path, 0) == 2  # now here too


def test_what_is_not_sent_yet_can_be_cancelled(encrypted, certificates, small, tmp_path):
    with Cluster(encrypted.address) as cluster:
        futures = [cluster.submit(compute, small(number, pause=0.05)) for number in range(40)]
        cancelled = {number for number in range(20, 40) if futures[number].cancel()}
        results = {number: future.result(60) for number, future in enumerate(futures) if number not in cancelled}
    assert len(cancelled) >= 10
    assert {result.state for result in results.values()} == {"done"}
    assert not any(begun(tmp_path, number) for number in cancelled)


def test_it_computes_jobs_alone(encrypted, certificates, small):
    cluster = Cluster(encrypted.address)
    with pytest.raises(TypeMismatchError, match="computes jobs"):
        cluster.submit(print, small(0))
    cluster.shutdown(cancel_futures=True)
    with pytest.raises(StateError, match="is closed"):
        cluster.submit(compute, small(0))


def test_another_version_there_is_refused_by_name(encrypted, certificates, monkeypatch):
    waited(lambda: "Register" in (encrypted.folder / "dask_scheduler.log").read_text())
    monkeypatch.setattr("scalarviz.sweep.scheduler.versions", lambda: {**visiting.versions(), "numpy": "1.0"})
    with pytest.raises(InputError, match=r"its worker tls://\S+ has other versions .*numpy \S+ there, 1\.0 here"):
        connected(encrypted.address)
    with pytest.raises(InputError, match=r"a worker on .* python 3\S* there, 2\.0 here"):
        visiting.work([], {**visiting.versions(), "python": "2.0"})


def test_without_certificates_nobody_comes_in(encrypted):
    with pytest.raises(InputError, match=r"ca-file, client\.cert, client\.key .*DASK_DISTRIBUTED__COMM__TLS__CA_FILE="):
        connected(encrypted.address)
    with pytest.raises(InputError, match="no scheduler answers at tcp://"):
        connected(encrypted.address.replace("tls:", "tcp:"), timeout=2)


def test_other_addresses_are_refused_and_what_is_open_to_everybody_is_said():
    for address in ("cluster:8786", "http://a:80", "tls://a", "tls://a:0", "tcp://a:70000", 7, "", None):
        with pytest.raises(InputError, match="tls://HOST:PORT"):
            checked(address)
    assert warning_of("tls://cluster:8786") == ""
    assert "whoever reaches that port runs code" in warning_of("tcp://cluster:8786")


@pytest.mark.ci  # five processes are started and die
def test_a_run_that_ends_its_workers_fails_alone(small, tmp_path, monkeypatch):
    monkeypatch.setattr("scalarviz.sweep.cluster.DEATHS", 2)
    (tmp_path / "site").mkdir()
    site, lines = Site(tmp_path / "site"), []
    for _ in range(4):
        site.add_worker()
    cluster = Cluster(site.address, lines.append)
    try:
        waited(lambda: cluster.threads >= 3)
        futures = [cluster.submit(compute, small(number, pause=0.05, kills=number == 17)) for number in range(40)]
        results = [future.result(120) for future in futures]
        assert [result.number for result in results] == list(range(40))
        assert [result.number for result in results if result.state != "done"] == [17]
        assert "2 workers died that computed it, the last one at tcp://127.0.0.1:" in results[17].error
        assert results[17].tries == 2
        assert sum("died" in line for line in lines) == 2
    finally:
        cluster.shutdown(cancel_futures=True)
        site.close()


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


@pytest.fixture
def wanted(scene, tmp_path):
    """What nobody kills."""
    (tmp_path / "door").touch()
    file = tmp_path / "whole.svs"
    list(going(scene, file, workers=0))
    return numbers(file)


def killed_worker(site: Site, scene: str, file: Path) -> None:
    lines: list[str] = []
    with Cluster(site.address, lines.append) as cluster:
        waited(lambda: cluster.threads == 2)
        results = going(scene, file, executor=cluster)
        next(results)
        site.workers[0].kill()
        assert {result.state for result in results} == {"done"}
    assert all(said in lines[0] for said in ("the worker tcp://127.0.0.1:", " died; "))


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


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as POSIX has it")
def test_whichever_is_killed_no_result_is_lost_or_doubled(scene, wanted, tmp_path):
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
