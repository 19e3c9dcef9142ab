"""`sweep`: train many runs at once and iterate over their results."""

from __future__ import annotations

import multiprocessing
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ..checks import integer
from ..engine.cost import processors
from ..errors import InputError, StateError, TypeMismatchError, shown
from ..io.atomic import StrPath
from .groups import StoredResults
from .job import Build, Job, compute, error_words, failure
from .plan import SweepPlan, check_sent, plan_of
from .pool import AHEAD, Pool
from .result import Result
from .results import About, Results, ResultsFile

_AHEAD_ELSEWHERE = 20_000
"""Largest number of jobs that a user's own executor holds at a time."""


class Sweep(Iterator[Result], StoredResults):
    """A running sweep: iterate over it to get the results. It is a context manager; leaving it ends the sweep.

    Results that its file already has come first.

    Attributes
    ----------
    about : About
        The combinations that the sweep tries.
    before : int
        Number of results that the file already had.
    futures : dict of int to Future
        One Future per run to compute, by the run's number. It is removed with its result, because kept Futures would
        keep all weights. ``future.cancel()`` leaves out a run that has not begun.
    """

    def __init__(self, plan: SweepPlan, executor: Executor, ahead: int, owned: bool, file: ResultsFile | None) -> None:
        total = plan.about.total
        missing = range(total) if file is None else file.missing
        self.about: About = plan.about if file is None else file.about
        self.before = total - len(missing)
        self._driver = Driver(map(plan.job, missing), executor, ahead, file)
        self.futures: dict[int, Future[Result]] = self._driver.futures
        self._stored = iter(()) if file is None or not self.before else _stored(file)
        self._file, self._build = None if file is None else file.path, plan.build
        self._waits = isinstance(executor, InlineExecutor)
        self._end = weakref.finalize(self, _end, self._driver, executor if owned else None, file)
        if not self._waits:
            self._driver.start()

    def __next__(self) -> Result:
        result = next(self._stored, None)
        if result is not None:
            return result
        try:
            if self._waits and self._driver.results.empty() and not self._driver.turn():
                self._driver.results.put(None)
            found = self._driver.results.get() if self._end.alive else None
        except BaseException:  # Ctrl-C: no process continues unseen
            self.close()
            raise
        if isinstance(found, Result):
            self.futures.pop(found.number, None)
            return found
        self.close()
        if found is not None:
            raise found
        raise StopIteration

    def shown(self) -> tuple[Path, Build]:
        """Return the results file, and the builder of the runs."""
        if self._file is None:
            raise InputError("showing a sweep needs its file: give sweep(..., results='runs.svs')")
        if self._waits and self._end.alive:
            raise InputError(
                "a sweep with workers=0 computes only while you read its results; read them all before you show it, "
                "or use workers"
            )
        return self._file, self._build

    def __repr__(self) -> str:
        """Return the swept options, the number of runs, and how many results are still to come."""
        yet = len(self.futures) if self._end.alive else 0
        return f"Sweep({self.about.name!r}, {self.about.total:,} runs, {yet:,} yet to come)"

    def close(self) -> None:
        """End the sweep; runs that are not done are not computed. The same call with its file continues it."""
        self._end()


def _end(driver: Driver, executor: Executor | None, file: ResultsFile | None) -> None:
    driver.stop()
    if executor is not None:
        executor.shutdown(wait=True, cancel_futures=True)
    driver.join()
    if file is not None:
        file.close()


def _stored(file: ResultsFile) -> Iterator[Result]:
    """Yield the results that a file already has, with weights."""
    missing = set(file.missing)
    with Results(file.path) as there:
        for result in there.results():
            if result.number not in missing:
                number = result.number
                state, rule = there.rule(number)
                yield replace(
                    result, weights=there.weights(number), keyframes=there.keyframes(number), optimizer=state, rule=rule
                )


def sweep(
    build: Callable[..., Any] | str,
    grid: Mapping[str, Sequence[Any] | str] | None = None,
    seeds: int | Sequence[int] | str = 1,
    *,
    steps: int | None = None,
    results: StrPath | None = None,
    workers: int | None = None,
    options: Mapping[str, Any] | None = None,
    keyframes: int = 0,
    executor: Executor | None = None,
) -> Sweep:
    """Train every combination of some options with every seed, in processes, and return an iterator over the results.

    Parameters
    ----------
    build : callable or str
        ``build(seed=0, **options)`` returns a Run or a Scene; or the name of a scene (``"xor"``) or of a scene's file.
    grid : mapping of str to sequence or str, optional
        Values of each swept option: ``{"lr": [0.1, 0.5], "hidden": "8 16,16"}``; :mod:`.plan` reads texts.
    seeds : int, sequence of int or str
        A number of seeds, counted from 0, or the seeds.
    steps : int, optional
        Steps of each run. A function needs it; a scene has its own default.
    results : path-like, optional
        A file (.svs) for the results. The same call again continues it; more seeds may be added.
    workers : int, optional
        Number of processes; default: one per processor. 0: this process computes each run when you ask for its result.
    options : mapping of str to object, optional
        Other options, the same for all runs.
    keyframes : int
        Number of moments of each run whose weights are kept.
    executor : concurrent.futures.Executor, optional
        Computes the runs instead of processes of this machine; the sweep does not shut it down.

    Raises
    ------
    InputError, TypeMismatchError
        An error that would stop every run, found before the first run; a file of another sweep, or one that another
        process writes.

    Notes
    -----
    The weights of a run have the same bits as those of the run alone on the same type of processor. A process that
    dies is replaced, and its run starts again, at most three times in all. In a script, call it under
    ``if __name__ == "__main__":``.

    Examples
    --------
    >>> import scalarviz as sv
    >>> for result in sv.sweep("xor", {"activation": ["tanh"]}, 2, steps=200, workers=0):
    ...     print(result.seed, result.state)
    0 done
    1 done
    """
    _check_not_imported()
    plan = plan_of(build, grid, seeds, steps, {} if options is None else options, keyframes)
    owner, ahead = _owner(plan, workers, executor)
    file = None if results is None else ResultsFile(results, plan.about)
    return Sweep(plan, owner, ahead, executor is None, file)


def _owner(plan: SweepPlan, workers: int | None, executor: Executor | None) -> tuple[Executor, int]:
    """Return the executor, and how many jobs it holds at a time; no process starts before the first job."""
    if executor is not None:
        if not isinstance(executor, Executor):
            raise TypeMismatchError(f"sweep: executor must be a concurrent.futures.Executor, got {shown(executor)}")
        if workers is not None:
            raise InputError("sweep: give workers= or executor=, not both: workers= is for this machine")
        check_sent(plan.build)
        return executor, _AHEAD_ELSEWHERE
    count = processors() if workers is None else integer("sweep: workers", workers, 0, 1024)
    if not count:
        return InlineExecutor(), 1
    check_sent(plan.build)
    return Pool(min(count, plan.about.total)), AHEAD * count


def _check_not_imported() -> None:
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(
            'sweep: in a script, call sweep under if __name__ == "__main__":, because its processes import the file'
        )


class InlineExecutor(Executor):
    """Calls functions in this process: for a debugger, or for functions defined in a notebook."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Call the function and return a finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **named))
        except Exception as error:
            future.set_exception(error)
        return future


# ---- `Driver`: gives jobs to an executor, retries those whose process died, and stores the results.

TRIES = 3
"""How often a run is tried if its process dies."""


class Driver:
    """One sweep at work: the executor holds `ahead` jobs at a time, and results go to the file first.

    `results` yields Results; an exception ends the sweep, and None says that all runs are done or cancelled.
    """

    def __init__(self, jobs: Iterable[Job], executor: Executor, ahead: int, file: ResultsFile | None) -> None:
        self._waiting = deque(jobs)
        self.futures: dict[int, Future[Result]] = {job.number: Future() for job in self._waiting}
        self.results: SimpleQueue[Result | Exception | None] = SimpleQueue()
        self._executor, self._ahead, self._file = executor, ahead, file
        self._done: SimpleQueue[tuple[Job, Future[Result]] | None] = SimpleQueue()
        self._out = 0
        self._thread: threading.Thread | None = None
        self._stopped = False

    def start(self) -> None:
        """Work in a new thread."""
        self._thread = threading.Thread(target=self._loop, name="scalarviz-sweep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give no more jobs to the executor; its owner ends the running ones."""
        self._stopped = True
        self._done.put(None)

    def join(self) -> None:
        """Wait until the work has ended; futures that are still open then raise StateError."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._cancel(StateError("the sweep was closed before this run was done"))

    def _cancel(self, error: Exception) -> None:
        for future in list(self.futures.values()):  # iterating removes some meanwhile
            if not future.cancel() and not future.done():
                future.set_exception(error)

    def turn(self) -> bool:
        """Give jobs to the executor and wait until one ends; False if none is left."""
        while self._waiting and self._out < self._ahead and not self._stopped:
            job = self._waiting.popleft()
            wanted = self.futures[job.number]
            if wanted.running() or wanted.set_running_or_notify_cancel():
                self._out += 1
                given = self._executor.submit(compute, job)
                given.add_done_callback(lambda given, job=job: self._done.put((job, given)))  # type: ignore[misc]
        if not self._out:
            return False
        ended = self._done.get()
        if ended is None or self._stopped:
            return False
        self._out -= 1
        self._take(*ended)
        return True

    def _loop(self) -> None:
        try:
            while self.turn():
                pass
        except Exception as error:  # such as a full disk, or a pool that cannot start
            if not self._stopped:
                self._cancel(error)
                self.results.put(error)
        self.results.put(None)

    def _take(self, job: Job, given: Future[Result]) -> None:
        try:
            result = given.result()
        except BaseException as error:  # `compute` itself raises only what ends a process
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # Ctrl-C during a run in this process
            if job.tries < TRIES:
                self._waiting.appendleft(replace(job, tries=job.tries + 1))
                return
            result = failure(job, f"tried {job.tries} times; {error_words(error)}")
        if self._file is not None:
            self._file.add(result)
        self.futures[job.number].set_result(result)
        self.results.put(result)
