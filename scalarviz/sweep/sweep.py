"""`sweep`: many runs at once, and their results as they come."""

from __future__ import annotations

import multiprocessing
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

from ..checks import integer
from ..engine.cost import processors
from ..errors import InputError, StateError, TypeMismatchError, shown
from ..io.atomic import StrPath
from .about import About
from .build import Build
from .groups import StoredResults
from .job import Job, compute, error_words, failure
from .plan import Plan, check_sent, plan_of
from .pool import AHEAD, Pool
from .result import Result
from .results import Results
from .writing import ResultsFile

_AHEAD_ELSEWHERE = 20_000
"""Jobs that an executor of somebody else has at a time."""


class Sweep(Iterator[Result], StoredResults):
    """A sweep that goes on: iterate over it for the results, as they come. A context manager, which ends it.

    Those that its file has already come first.

    Attributes
    ----------
    about : About
        What is tried.
    before : int
        Results that the file had already.
    futures : dict of int to Future
        Of each run that is to be computed, by its number, until its result was given out (who kept them all would keep
        all weights): ``future.cancel()`` leaves out one that has not begun.
    """

    def __init__(self, plan: Plan, executor: Executor, ahead: int, owned: bool, file: ResultsFile | None) -> None:
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
        except BaseException:  # Ctrl-C: nothing goes on unseen
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
        """Its file, and what builds its runs."""
        if self._file is None:
            raise InputError("showing a sweep needs its file: give sweep(..., results='runs.svs')")
        if self._waits and self._end.alive:
            raise InputError(
                "a sweep with workers=0 computes only while you read its results; read them all before you show it, "
                "or use workers"
            )
        return self._file, self._build

    def __repr__(self) -> str:
        """What is tried, how many runs that are, and how many of them are yet to be given out."""
        yet = len(self.futures) if self._end.alive else 0
        return f"Sweep({self.about.name!r}, {self.about.total:,} runs, {yet:,} yet to come)"

    def close(self) -> None:
        """End the sweep; what is not done is not computed. Its file can be gone on with."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(driver: Driver, executor: Executor | None, file: ResultsFile | None) -> None:
    driver.stop()
    if executor is not None:
        executor.shutdown(wait=True, cancel_futures=True)
    driver.join()
    if file is not None:
        file.close()


def _stored(file: ResultsFile) -> Iterator[Result]:
    """What a file has already, with the weights."""
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
    """Train every combination of some options with every seed, in processes; an iterator over results as they come.

    Parameters
    ----------
    build : callable or str
        ``build(seed=0, **options)`` returns a Run or a Scene; or the name of a scene (``"xor"``) or of a scene's file.
    grid : mapping of str to sequence or str, optional
        Values of each swept option: ``{"lr": [0.1, 0.5], "hidden": "8 16,16"}``; texts as :mod:`.plan` reads them.
    seeds : int, sequence of int or str
        So many, from 0 on, or these.
    steps : int, optional
        Of each run; needed for a function, of a scene the default is its own.
    results : path-like, optional
        A file (.svs) for the results. The same call again goes on with it; more seeds may be added.
    workers : int, optional
        How many processes; default: one a processor. 0: each run is computed in this one when it is asked for.
    options : mapping of str to object, optional
        Other options, the same for all runs.
    keyframes : int
        Of how many moments of each run the weights are kept.
    executor : concurrent.futures.Executor, optional
        Who computes, instead of processes of this machine; it is left open.

    Raises
    ------
    InputError, TypeMismatchError
        What would stop every run, before one is computed; a file of another sweep, or one that another process writes.

    Notes
    -----
    The weights of a run are those, bit by bit, that it has alone on the same type of processor. A process that dies is
    replaced, and its run begun again, at most three times. A script calls it under ``if __name__ == "__main__":``.

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


def _owner(plan: Plan, workers: int | None, executor: Executor | None) -> tuple[Executor, int]:
    """Who computes, and how many jobs it has at a time; no process begins before the first job comes."""
    if executor is not None:
        if not isinstance(executor, Executor):
            raise TypeMismatchError(f"sweep: executor must be a concurrent.futures.Executor, got {shown(executor)}")
        if workers is not None:
            raise InputError("sweep: workers= sets the processes of this machine; leave it out with executor=")
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
            'sweep: in a script, call it under if __name__ == "__main__":, because its processes import the file'
        )


class InlineExecutor(Executor):
    """Calls what it is given; for whoever wants no other process (a debugger, a notebook's own functions)."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """The future of a call that is done already."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **named))
        except Exception as error:
            future.set_exception(error)
        return future


# ---- `Driver`: gives the jobs of a sweep to an executor, again where a process died, and takes the results down.

TRIES = 3
"""How often a run is begun whose process dies."""


class Driver:
    """One sweep at work: its executor has `ahead` jobs at a time, results go to the file before anybody sees them.

    `results` are as they come; an exception is what ended the sweep, None that all are there or were cancelled.
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
        """Work in a thread of its own."""
        self._thread = threading.Thread(target=self._loop, name="scalarviz-sweep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give nothing more away; what is being computed is for the executor's owner to end."""
        self._stopped = True
        self._done.put(None)

    def join(self) -> None:
        """Wait until nothing is done any more; whoever waits for a run is told that there will be none."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._cancel(StateError("the sweep was closed before this run was done"))

    def _cancel(self, error: Exception) -> None:
        for future in list(self.futures.values()):  # who iterates takes some away meanwhile
            if not future.cancel() and not future.done():
                future.set_exception(error)

    def turn(self) -> bool:
        """Give jobs away, and wait for one of them to end; False where none is left."""
        self._give()
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
        except Exception as error:  # the disk is full, the pool cannot begin: the sweep ends with that
            if not self._stopped:
                self._cancel(error)
                self.results.put(error)
        self.results.put(None)

    def _give(self) -> None:
        while self._waiting and self._out < self._ahead and not self._stopped:
            job = self._waiting.popleft()
            wanted = self.futures[job.number]
            if wanted.running() or wanted.set_running_or_notify_cancel():
                self._out += 1
                given = self._executor.submit(compute, job)
                given.add_done_callback(partial(self._ended, job))

    def _ended(self, job: Job, given: Future[Result]) -> None:
        self._done.put((job, given))

    def _take(self, job: Job, given: Future[Result]) -> None:
        try:
            result = given.result()
        except BaseException as error:  # of whoever computes: compute itself raises nothing but what ends a process
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # Ctrl-C while it is computed here
            if job.tries < TRIES:
                self._waiting.appendleft(replace(job, tries=job.tries + 1))
                return
            result = failure(job, f"tried {job.tries} times; {error_words(error)}")
        if self._file is not None:
            self._file.add(result)
        self.futures[job.number].set_result(result)
        self.results.put(result)
