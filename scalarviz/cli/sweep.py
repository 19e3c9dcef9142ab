"""``scalarviz sweep SCENE``: train a scene many times; write the results, a table, a report."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel, Field, create_model, model_validator

from ..errors import InputError, ScalarvizError, shown
from ..io import check_target
from ..io.atomic import scratch
from ..run.scene.scene import extra_of
from ..run.scene.scene_file import LoadedScene
from ..sweep.groups import Left, summary, write_table
from ..sweep.job import SceneBuild
from ..sweep.plan import sweepable
from ..sweep.result import NO_CURVE, Result
from ..sweep.results import ENDING, About, check_results
from ..sweep.sweep import Sweep, sweep
from .console import Progress, fail, say, unwritable
from .interrupt import INTERRUPTED
from .stop import StopSignals

OWN: dict[str, Any] = {
    "scene": (str, Field(description="scene to train, by name or file", json_schema_extra={"argument": True})),
    "grid": (list[str], Field([], json_schema_extra={"metavar": "OPTION=VALUES"},
             description="values of an option to try: 'lr=0.1 0.5 1', 'lr=0.1..1:5' (five, evenly spaced), "
             "'lr=1e-3..1:log4' (four, with equal ratios), 'batch=1..8'. May be repeated; every combination is tried")),
    "seeds": (str, Field("10", json_schema_extra={"metavar": "N"},
              description="number of seeds per combination, or a list of seeds: 5..9, '0 7 42'")),
    "results": (Path | None, Field(None, json_schema_extra={"metavar": "FILE"},
                description="keep the results in a file (.svs); the same command resumes it, also with more seeds")),
    "table": (Path | None, Field(None, json_schema_extra={"metavar": "FILE", "written": True},
              description="write a table (.csv), one line per run: options, seed, loss, metrics of the scene")),
    "report": (Path | None, Field(None, json_schema_extra={"metavar": "FILE", "written": True},
               description="write a report (.html): plots, and a player for the best, the median and the worst run")),
    "workers": (int | None, Field(None, ge=1, le=1024, json_schema_extra={"shown": "one per processor"},
                description="number of worker processes")),
    "scheduler": (str | None, Field(None, json_schema_extra={"metavar": "ADDRESS"},
                  description="compute on a dask cluster, such as tls://cluster:8786")),
    "keyframes": (int, Field(0, ge=0, le=10_000, description="how many times per run to keep the weights")),
}  # fmt: skip
"""Flags of the command; those of the scene follow."""


def sweep_options(loaded: LoadedScene | None) -> tuple[type[BaseModel], dict[str, Any]]:
    """Return the model of the flags, and a dict that will hold the typed options of the scene."""
    fields, typed = dict(OWN), dict[str, Any]()
    known = loaded.options.model_fields if loaded is not None else {}
    own = [name for name in (sweepable(loaded.options) if loaded is not None else []) if name not in fields]
    fields |= {name: (known[name].annotation, known[name]) for name in own if not extra_of(known[name]).get("argument")}

    def keep(given: Any) -> Any:
        typed.update((name, value) for name, value in given.items() if name in own)
        return given

    base = importlib.import_module("scalarviz.scenes.options").Flags
    validators: dict[str, Any] = {"keep": model_validator(mode="before")(keep)}
    return create_model("SweepOptions", __base__=base, __validators__=validators, **fields), typed


def run_sweep(options: Any, typed: dict[str, Any]) -> int:
    """Compute the runs that the flags ask for and print a summary; return the exit code.

    Ctrl-C, SIGTERM and SIGHUP end it at once; the results so far are in the results file.
    """
    _check_files(options)
    began, about, results = time.monotonic(), None, list[Result]()
    with StopSignals() as stop, _file_of(options) as file:
        try:
            with stop.interrupt_at_once():
                about = _computed(options, typed, file, results)
                failures = _written(options, about, results, file)
        except (KeyboardInterrupt, ScalarvizError) as error:
            kept = f"; the same command resumes {options.results}" if options.results else ""
            if results and about is None and not kept:
                _print(results)
                kept = f"; runs done but not kept: {len(results):,}; --results FILE keeps them"
            if isinstance(error, ScalarvizError):
                raise
            say(f"scalarviz: {stop.word}{kept}")
            return stop.code or INTERRUPTED
    code = _report_runs(Path(about.name).stem, results, time.monotonic() - began)
    for line in failures:
        code = fail(line)
    return code


@contextmanager
def _file_of(options: Any) -> Iterator[Path | None]:
    """Yield the results file; a temporary one if only a report is asked for."""
    if options.results is not None or options.report is None:
        yield options.results
        return
    with TemporaryDirectory(prefix=scratch()) as folder:
        yield Path(folder) / f"runs{ENDING}"


def grid_of(given: Sequence[str]) -> dict[str, str]:
    """Return the options of ``--grid``, and the text of the values of each."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, values = text.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not (name and mark and values.strip()):
            raise InputError(f"--grid needs an option and its values, such as 'lr=0.1 0.5 1'; got {shown(text)}")
        if name in found:
            raise InputError(f"--grid: {name!r} is given twice; list all its values in one --grid")
        found[name] = values
    return found


def _check_files(options: Any) -> None:
    """Raise an error now for a file that could not be written later."""
    if options.results is not None:
        check_results(options.results)
    for flag, path, ending in (("--table", options.table, ".csv"), ("--report", options.report, ".html")):
        if path is not None:
            check_target(path)
            if path.suffix.lower() != ending:
                raise InputError(f"{flag}: the file must end in {ending}; try {path.stem or 'runs'}{ending}")


def _computed(options: Any, typed: dict[str, Any], file: Path | None, results: list[Result]) -> About:
    """Gather all results without weights, those already in the file included; return the description of the sweep."""
    grid = grid_of(options.grid)
    with _cluster(options) as cluster:
        going = sweep(
            options.scene, grid, options.seeds, results=file, workers=options.workers,
            options=typed, keyframes=options.keyframes, executor=cluster,
        )  # fmt: skip
        _watch(options, going, results)
        return going.about


def _watch(options: Any, going: Sweep, results: list[Result]) -> None:
    """Gather the results of a sweep and show the progress."""
    name, total = Path(going.about.name).stem, going.about.total
    if going.before:
        say(f"{name}: {going.before:,} of {total:,} runs are already in {options.results}")
    with closing(going), Progress(name, going.before, total) as bar:
        note = Note(total)
        for result in going:
            results.append(light(result))
            computed = len(results) > going.before
            note.add(result, computed)
            if computed or going.before == total:
                bar.update(len(results), note)


@contextmanager
def _cluster(options: Any) -> Iterator[Executor | None]:
    """Yield the cluster that computes the runs, or None for this machine."""
    if options.scheduler is None:
        yield None
        return
    if options.workers is not None:
        raise InputError("give --workers or --scheduler, not both: --workers is for this machine")
    from ..sweep.cluster import Cluster, warning_of

    if warning := warning_of(options.scheduler):
        say(warning)
    cluster = Cluster(options.scheduler, say)
    try:
        yield cluster
    finally:
        cluster.shutdown(wait=True, cancel_futures=True)


def light(result: Result) -> Result:
    """Return a result without weights and curve: a table needs neither, and there may be a million runs."""
    return replace(result, weights={}, keyframes={}, curve=NO_CURVE, optimizer={}, rule="")


class Note:
    """The text beside the count of runs: how they ended, and the time left."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._count = self._judged = self._learnt = 0
        self._bad = dict.fromkeys(("diverged", "failed"), 0)
        self._left: Left | None = None

    def add(self, result: Result, computed: bool) -> None:
        """Count an ended run; `computed`: it ended just now. Only counts are kept, for there may be a million runs."""
        self._count += 1
        if result.reached is not None:
            self._judged, self._learnt = self._judged + 1, self._learnt + result.reached
        if result.state in self._bad:
            self._bad[result.state] += 1
        if computed and self._left is None:  # the time before includes the start of the processes
            self._left = Left(self._total, self._count, self._clock())

    def __str__(self) -> str:
        said = [f"{self._learnt:,} learnt"] if self._judged else []
        said += [f"{count:,} {state}" for state, count in self._bad.items() if count]
        if self._left is not None and not sys.stderr.isatty():  # a bar has its own clock
            said.append(self._left.text(self._count, self._clock()))
        return ", ".join(filter(None, said)) or "begun"


def _written(options: Any, about: About, results: list[Result], file: Path | None) -> list[str]:
    """Print and write all results; return why files are missing. One that fails does not stop the others."""

    def report(path: Path) -> None:
        from ..view.walls.run_report import report_of_file

        assert file is not None
        report_of_file(file, path, build=SceneBuild(about.name, about.build_text), say=say)

    failures = _print(results)
    for path, write in (
        (options.table, lambda path: write_table(path, results)),
        (options.report, report),
        (options.results, lambda path: None),
    ):
        if path is not None:
            try:
                write(path)
                say(f"wrote {path}")
            except ScalarvizError as error:
                failures.append(str(error))
    return failures


def _report_runs(name: str, results: list[Result], seconds: float) -> int:
    """Print a summary of the runs; return the exit code."""
    failed = [result for result in results if result.state == "failed"]
    say(f"{name}: {sentence(results)}, {seconds:.1f} s in all")
    if failed:
        return fail(f"{len(failed):,} of {len(results):,} runs failed; seed {failed[0].seed}: {failed[0].error}")
    return 0


def sentence(results: Sequence[Result]) -> str:
    """Return how many runs learnt, and which did not if they fit into a line."""
    said = f"{len(results):,} run{'' if len(results) == 1 else 's'}"
    learnt = [result for result in results if result.reached is not None]
    if learnt:
        stuck = sorted(result.seed for result in learnt if not result.reached)
        said += f", {len(learnt) - len(stuck):,} learnt it"
        if stuck and len({repr(result.options) for result in results}) == 1 and len(stuck) <= 100:
            said += f", {len(stuck):,} did not (seed{'' if len(stuck) == 1 else 's'} {', '.join(map(str, stuck))})"
    diverged = sum(result.state == "diverged" for result in results)
    return said + (f", {diverged:,} diverged" if diverged else "")


def _print(results: Sequence[Result]) -> list[str]:
    """Print a table on stdout, 240 columns wide without a terminal; return why that failed, if it did."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    heads, lines = summary(results)
    table = Table(box=box.SIMPLE_HEAD)
    numbers = heads.index("runs")
    for k, head in enumerate(heads):
        table.add_column(head, justify="right" if k >= numbers else "left", overflow="fold")
    for line in lines:
        table.add_row(*line)
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 240, highlight=False, markup=False)
    try:
        console.print(table)
    except OSError as error:
        return [str(unwritable(error))]
    except SystemExit:  # rich's answer to a closed pipe
        return [str(unwritable(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))))]
    return []
