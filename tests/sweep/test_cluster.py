"""Runs on a dask cluster: those of this machine, by certificates; what dies is done again, and nothing comes twice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cluster_site import SCENE, SETTINGS, Site, waited

from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.sweep import visiting
from scalarviz.sweep.build import SceneBuild
from scalarviz.sweep.job import Job, compute
from scalarviz.sweep.scheduler import checked, connected, warning_of

distributed = pytest.importorskip("distributed", reason="no dask.distributed (extra sweep)")

from scalarviz.sweep.cluster import Cluster  # noqa: E402

OPENSSL = shutil.which("openssl")


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
    import dask

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
        results = [future.result(60) for future in [cluster.submit(compute, small(number)) for number in range(12)]]
    assert [result.number for result in results] == list(range(12))
    assert [begun(tmp_path, number) for number in range(12)] == [1] * 12
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


@pytest.mark.parametrize(
    "address", ["cluster:8786", "http://a:80", "tls://a", "tls://a:0", "tcp://a:70000", 7, "", None]
)
def test_other_addresses_are_refused(address):
    with pytest.raises(InputError, match="tls://HOST:PORT"):
        checked(address)


def test_what_is_open_to_everybody_is_said():
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


def test_a_worker_and_the_scheduler_that_die_lose_and_double_nothing(encrypted, certificates, small, tmp_path):
    """The last test: it ends the site."""
    lines: list[str] = []
    cluster = Cluster(encrypted.address, lines.append)
    try:
        waited(lambda: cluster.threads == 2)
        futures = [cluster.submit(compute, small(number, pause=0.05)) for number in range(40)]
        first = encrypted.workers[0]
        waited(lambda: len(list(tmp_path.glob(f"*.{first.pid}"))) > 1)
        first.kill()
        results = [future.result(60) for future in futures]
        assert [result.number for result in results] == list(range(40))
        assert {result.state for result in results} == {"done"}
        assert max(result.tries for result in results) == 2
        (said,) = lines
        assert said.startswith("the worker tls://127.0.0.1:")
        assert " died; " in said
        futures = [cluster.submit(compute, small(100 + number, pause=0.05)) for number in range(40)]
        assert futures[0].result(60).state == "done"
        encrypted.scheduler.kill()
        ends = [future.exception(60) for future in futures]
        assert isinstance(ends[-1], StateError)
        assert f"the scheduler at {encrypted.address} is gone" in str(ends[-1])
        with pytest.raises(StateError, match="is gone"):
            cluster.submit(compute, small(0))
    finally:
        cluster.shutdown(cancel_futures=True)
