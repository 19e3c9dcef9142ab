"""`Cluster`: an Executor that computes runs on a dask cluster, several at a time."""

from __future__ import annotations

import logging
import math
import platform
import re
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures import wait as wait_for
from dataclasses import replace
from functools import cache
from importlib import import_module
from threading import RLock
from typing import Any, NamedTuple
from uuid import uuid4

from ..engine.cache import installed
from ..errors import InputError, MissingDependencyError, StateError, TypeMismatchError, listing, shown
from ..tape.trace import SAID
from .job import Job, compute, failure
from .result import Result

ADDRESS = re.compile(r"(tls|tcp)://([^\s/:@]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})/?")
TLS_SETTINGS = ("ca-file", "client.cert", "client.key")
"""Names of dask settings under ``distributed.comm.tls``."""
TIMEOUT = 15.0
"""Seconds to wait for the scheduler."""
LOGS = ("distributed.client", "distributed.core", "distributed.comm", "distributed.batched")
BESIDE = ("dask", "distributed", "cloudpickle")
"""Packages that need the same version on both sides, though they change no bit of a result."""


def checked(address: object) -> str:
    """Return `address` if it is valid; InputError otherwise."""
    match = ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if not match or not 0 < int(match[3]) < 1 << 16:
        raise InputError(
            "the scheduler's address must be tls://HOST:PORT, such as tls://cluster:8786 (or tcp://HOST:PORT in a "
            f"network that you trust), got {shown(address)}"
        )
    return str(address).rstrip("/")


def warning_of(address: str) -> str:
    """Return a one-line warning about an address without encryption; empty if there is none."""
    if not address.startswith("tcp:"):
        return ""
    return (
        f"{address} is neither encrypted nor authenticated: anyone who reaches that port can run code on the "
        "scheduler and its workers, and see the runs; use tls://"
    )


def connected(address: str, timeout: float = TIMEOUT) -> Any:
    """Return a ``distributed.Client`` of the scheduler at `address`, whose workers have the versions of this machine.

    MissingDependencyError without dask.distributed. InputError: the address is not valid, certificates are missing,
    no scheduler answers, or versions differ.
    """
    address = checked(address)
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise MissingDependencyError(
            f'a sweep on a cluster needs dask.distributed ({error}); install it: pip install "scalarviz[sweep]"'
        ) from None
    security = _security(distributed) if address.startswith("tls:") else None
    for log in LOGS:  # we report a lost connection in one line
        logging.getLogger(log).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(
            address, security=security, timeout=timeout, set_as_default=False, name="scalarviz-sweep"
        )
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"no scheduler answers at {address}: {_reason(error)}; start one with `dask scheduler`"
        ) from None
    try:
        _check(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _security(distributed: Any) -> Any:
    """Return the certificates that dask's own settings name."""
    import dask

    missing = [name for name in TLS_SETTINGS if not dask.config.get(f"distributed.comm.tls.{name}", None)]
    if missing:
        variable = f"DASK_DISTRIBUTED__COMM__TLS__{missing[0].upper().replace('.', '__').replace('-', '_')}"
        raise InputError(
            f"tls:// needs certificates: dask's settings do not name {listing(missing)} of distributed.comm.tls; "
            f"set them in ~/.config/dask/distributed.yaml, or as environment variables ({variable}=FILE)"
        )
    return distributed.Security(require_encryption=True)


def _reason(error: BaseException) -> str:
    """Return the innermost cause, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    said = " ".join(str(error).split())[:300] or type(error).__name__
    return "no answer" if said == "CancelledError" else said  # dask's own, of a closed connection


def _check(client: Any, address: str) -> None:
    """Check that all processes of the cluster have the same versions; later workers check themselves."""
    found = client.get_versions(packages=list(PACKAGES))
    here = {**versions(), **{name: _version(found["client"], name) for name in BESIDE}}
    of_tasks = {name: here[name] for name in ("python", *BESIDE)}
    sides = [("its scheduler", found["scheduler"], of_tasks)]
    sides += [(f"its worker {name}", worker, here) for name, worker in found["workers"].items()]
    for side, said, wanted in sides:
        if other := differences(wanted, {name: _version(said, name) for name in wanted}):
            raise InputError(
                f"{address}: {side} has other versions than this machine: {other}; install the same versions on both"
            )


def _version(said: Any, name: str) -> str:
    version = str((said or {}).get("packages", {}).get(name) or ABSENT)
    return ".".join(version.split(".")[:2]) if name == "python" else version


SECONDS = 1.0
"""Shortest time of a parcel of runs; if a worker dies, its parcels are computed again."""
PACE = 0.004
"""Shortest time of a parcel per thread of the workers: a scheduler hands out some hundred parcels a second."""
MOST = 1000
"""Most runs in a parcel."""
AHEAD = 2
"""Parcels at the scheduler per thread of its workers, so that no thread waits."""


DEATHS = 4
"""Deaths of workers that computed a run before the run counts as failed."""


class Asked(NamedTuple):
    """A job, its future, and the number of workers' deaths that it may have caused."""

    job: Job
    future: Future[Result]
    deaths: int = 0


Parcel = list[Asked]
"""Jobs that are sent together."""


class Cluster(Executor):
    """Computes the jobs of a sweep on the workers of a dask scheduler.

    `said` gets a line if a worker dies, from another thread. `threads` counts the threads of all current workers.
    """

    def __init__(self, address: str, said: Callable[[str], None] = lambda line: None) -> None:
        self.address, self._said = address, said
        self._client = connected(address)
        self.threads: int = sum(self._client.nthreads().values())
        self._waiting: deque[Asked] = deque()
        self._suspects: deque[Asked] = deque()
        self._sent: dict[str, Parcel] = {}
        self._deaths: dict[str, int] = {}
        self._seconds = math.inf  # of a run; the first parcels have one each
        self._lost = self._closed = False
        self._turn = RLock()
        self._client.subscribe_topic("all", self._heard)

    # ---- as an Executor

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Future[Any]:
        """Return the future result of a job: ``submit(compute, job)``. It can be cancelled until it is sent."""
        if function is not compute or len(args) != 1 or named or not isinstance(args[0], Job):
            raise TypeMismatchError(
                f"a cluster computes only jobs, such as submit(compute, job), got {shown((function, *args))}"
            )
        future: Future[Result] = Future()
        with self._turn:
            if self._lost or self._closed:
                raise self._gone() if self._lost else StateError(f"the sweep's connection to {self.address} is closed")
            self._waiting.append(Asked(args[0], future))
            self._send()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection; with `wait`, after all results have arrived. Unfinished jobs are cancelled."""
        with self._turn:
            self._closed = True
            left = [*self._waiting, *self._suspects, *(one for parcel in self._sent.values() for one in parcel)]
            if cancel_futures or not wait:
                self._waiting.clear()
                self._suspects.clear()
        if wait and not cancel_futures:
            wait_for([one.future for one in left])
        for one in left:
            one.future.cancel()
        self._client.close(timeout=2)

    # ---- sending

    def _send(self) -> None:
        """Send parcels while the workers need some; the caller holds the lock.

        Runs that were on a worker that died are computed one by one, with nothing beside them, to find the cause.
        """
        if self._suspects:
            if not self._sent:
                self._send_one([self._suspects.popleft()])
            return
        while self._waiting and len(self._sent) < AHEAD * max(1, self.threads):
            some = [self._waiting.popleft() for _ in range(self._size())]
            asked = [one for one in some if one.future.set_running_or_notify_cancel()]
            if asked:
                self._send_one(asked)

    def _size(self) -> int:
        """Return the number of jobs in the next parcel: large for the scheduler, shared by all threads at the end."""
        fair = math.ceil(len(self._waiting) / (AHEAD * max(1, self.threads)))
        return max(1, min(int(max(SECONDS, PACE * self.threads) / self._seconds), fair, MOST))

    def _send_one(self, parcel: Parcel) -> None:
        name = f"scalarviz-{uuid4().hex}"
        self._sent[name] = parcel
        sent = self._client.submit(work, [one.job for one in parcel], versions(), key=name, pure=False)
        self._client.loop.add_callback(self._bring, name, sent)

    # ---- in the client's thread

    async def _bring(self, name: str, sent: Any) -> None:
        """Wait for a parcel and hand out its results.

        Dask's own executor would not do: if the scheduler dies during the transfer of a result, its future stays open.
        """
        from distributed.comm.core import CommClosedError

        found: Computed | Exception
        try:
            found = await self._client.gather(sent, asynchronous=True)
        except Exception as error:  # whatever keeps a parcel from being computed
            found = error
        with self._turn:
            parcel, deaths = self._sent.pop(name), self._deaths.pop(name, 0)
        if isinstance(found, (CancelledError, CommClosedError)) or (  # we cancel none: the scheduler is lost
            isinstance(found, OSError) and self._client.status != "running"
        ):
            self._lose(parcel)
        elif isinstance(found, Exception):
            self._failed(parcel, found, deaths)
        else:
            self._seconds = max(found.seconds / len(parcel), SECONDS / MOST)
            for one, result in zip(parcel, found.results, strict=True):
                one.future.set_result(replace(result, tries=result.tries + deaths))
        with self._turn:
            if not self._lost:
                self._send()

    def _failed(self, parcel: Parcel, error: Any, deaths: int) -> None:
        """Handle a failed parcel. After a worker's death each run is computed alone: one may be the cause."""
        if type(error).__name__ != "KilledWorker":
            for one in parcel:
                one.future.set_exception(error)
            return
        for job, future, before in parcel:
            all_deaths = before + error.allowed_failures + 1
            if before and all_deaths >= DEATHS:  # it was computed alone
                last = getattr(error.last_worker, "address", error.last_worker)
                said = f"{all_deaths} workers died while computing this run, the last one at {last}"
                future.set_result(failure(replace(job, tries=job.tries + max(deaths - 1, 0)), said))
            else:
                with self._turn:
                    self._suspects.append(Asked(replace(job, tries=job.tries + deaths), future, all_deaths))

    def _lose(self, parcel: Parcel) -> None:
        with self._turn:
            self._lost = True
            left = [one for one in self._waiting if one.future.set_running_or_notify_cancel()]
            left += self._suspects
            self._waiting.clear()
            self._suspects.clear()
        for one in (*parcel, *left):
            one.future.set_exception(self._gone())

    def _gone(self) -> StateError:
        return StateError(
            f"the scheduler at {self.address} no longer answers; results are kept; the same command resumes the sweep"
        )

    async def _heard(self, event: tuple[float, Any]) -> None:
        """Count workers that join or leave. The scheduler repeats the jobs of a dead one."""
        said = event[1] if isinstance(event[1], dict) else {}
        if said.get("action") not in ("add-worker", "remove-worker"):
            return
        if said["action"] == "remove-worker":
            self._worker_left(said)
        self.threads = sum((await self._client.scheduler.ncores()).values())
        with self._turn:
            self._send()

    def _worker_left(self, said: dict[str, Any]) -> None:
        with self._turn:
            names = [name for name in said.get("processing-tasks", ()) if name in self._sent]
            for name in names:  # jobs that it had not begun count too; dask does not say which
                self._deaths[name] = self._deaths.get(name, 0) + 1
            runs = sum(len(self._sent[name]) for name in names)
        if runs:
            how = "left" if said.get("expected") else "died"
            self._said(f"the worker {said.get('worker')} {how}; other workers do its runs ({runs:,})")


# ---- Code that runs on the workers of a dask cluster, imported there by name.

PACKAGES = ("scalarviz", "numpy", "numba", "llvmlite")
"""Packages whose versions can change the bits of a result."""
ABSENT = "none"

_LOCK = threading.Lock()


class Computed(NamedTuple):
    """The results of some jobs, in their order, and the seconds that they took."""

    results: list[Result]
    seconds: float


@cache
def versions() -> dict[str, str]:
    """Return the versions, by name, that must be the same where runs are computed and where results are read."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return {"python": python, **{package: installed(package) for package in PACKAGES}}


def differences(here: dict[str, str], there: dict[str, str]) -> str:
    """Return the differing versions, such as ``numpy 2.4.1 there, 2.5.0 here``; empty if all are the same."""
    pairs = ((name, there.get(name, ABSENT), version) for name, version in here.items())
    return "; ".join(f"{name} {other} there, {version} here" for name, other, version in pairs if other != version)


def work(jobs: Sequence[Job], wanted: dict[str, str]) -> Computed:
    """Compute jobs one after another; InputError if this machine's versions differ from `wanted`."""
    if other := differences(wanted, versions()):
        raise InputError(f"a worker on {platform.node()} has other versions than the sweep: {other}")
    _others_draw()
    began = time.perf_counter()
    return Computed([compute(job) for job in jobs], time.perf_counter() - began)


@cache
def _others_draw() -> None:
    """Silence the warning about random numbers during a trace: other threads of the worker draw them, not the model."""
    warnings.filterwarnings("ignore", re.escape(SAID.partition("(")[0]), RuntimeWarning)
