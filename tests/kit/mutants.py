"""Mutants: the product with one small fault each, to see which faults the tests notice.

::

    python tests/kit/mutants.py sample                       # draw sample.jsonl and held_out.jsonl again
    python tests/kit/mutants.py cover -- tests/nn -n 2          # which tests call which function
    python tests/kit/mutants.py run                          # what is done already is not done again
    python tests/kit/mutants.py report [--before FILE]       # kills, and survivors with their reasons
    python tests/kit/mutants.py try --in scalarviz/optim --count 20 --tests tests/nn/test_optimisers.py

All runs happen in private copies of the checkout. `faults` says what a mutant is.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # this file is run as a script, too
from kit.called import merged
from kit.faults import ROOMS, Mutant, drawn, files, find

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).resolve().parent / "mutants"
SAMPLES = {
    "sample": (1, {"python": 240, "kernel": 30, "text": 30}),
    "held_out": (2, {"python": 120, "kernel": 15, "text": 15}),
}
"""Seed and how many of each kind. Kernels are what numba compiles (COMPILED); text is JavaScript and GLSL."""
LIMITS = {"python": 45, "kernel": 120, "text": 120}
"""Processor seconds of one mutant. A changed kernel is compiled again, and browsers start slowly."""
CHOSEN = 0.4
"""Share of the limit that the chosen tests need without a fault: a time-out says something."""
STOPPING = threading.Event()
OUTCOMES = ("killed", "survived", "unreached", "gone")


# Running tests in a private copy


class Copy:
    """A private copy of a checkout, with the tests of another one, that holds at most one mutant at a time."""

    def __init__(self, product: Path, suite: Path, folder: Path) -> None:
        self.folder, self.cache, self.written = folder, folder.parent / f"{folder.name}-cache", 0
        for root, of_suite in ((product, False), (suite, True)):
            listed = subprocess.run(
                ["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
            ).stdout
            for name in listed.split("\0"):
                source = root / name
                if name and name.startswith("tests/") == of_suite and source.is_file() and not source.is_symlink():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, folder / name)
        for name in ("scenes", "notebooks"):  # setup.cfg installs them inside the package
            (folder / "scalarviz" / name).symlink_to(f"../{name}")
        self.renew_cache()
        code = "import scalarviz, scalarviz.scenes as s; print(scalarviz.__file__, s.__file__)"
        environment = os.environ | {"PYTHONPATH": str(folder)}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
        if done.stdout.count(str(folder)) != 2:
            raise SystemExit(f"the tests would import {done.stdout}{done.stderr}, not the copy in {folder}")

    def renew_cache(self) -> None:
        """Take the user's compiled kernels again: a mutant of the engine may have spoilt those of the copy."""
        kernels = Path(os.environ.get("SCALARVIZ_CACHE_DIR") or Path.home() / ".cache" / "scalarviz")
        shutil.rmtree(self.cache, ignore_errors=True)
        if kernels.is_dir():
            shutil.copytree(kernels, self.cache)
        self.cache.mkdir(mode=0o700, exist_ok=True)

    def put(self, file: str, source: str) -> None:
        """Write a file with a time of its own: Python compares whole seconds with those of its bytecode."""
        self.written += 1
        path = self.folder / file
        path.write_text(source, encoding="utf-8")
        os.utime(path, (time.time(), 1_000_000_000 + self.written))

    def test_mutant(self, file: str, source: str, tests: list[str], limit: float) -> tuple[int | None, float, str]:
        """The same as :meth:`test` while a file has another text."""
        unchanged = (self.folder / file).read_text(encoding="utf-8")
        self.put(file, source)
        try:
            return self.test(tests, limit)
        finally:
            self.put(file, unchanged)
            if file.startswith("scalarviz/engine/"):
                self.renew_cache()

    def test(self, arguments: list[str], limit: float) -> tuple[int | None, float, str]:
        """Run pytest: its exit status (None: stopped after `limit` processor seconds), its seconds, what it wrote."""
        (self.folder / "chosen.txt").write_text("\n".join(arguments), encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CALLED"))}
        environment |= {
            "PYTHONPATH": str(self.folder), "SCALARVIZ_CACHE_DIR": str(self.cache), "PYTHONDONTWRITEBYTECODE": "",
            "SCALARVIZ_TEST_CUDA": os.environ.get("SCALARVIZ_TEST_CUDA", "1"), "NUMBA_NUM_THREADS": "2",
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "@chosen.txt"]
        command.append(f"--basetemp={self.folder}-tmp")
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            begun, used, stopped = time.monotonic(), 0.0, False
            try:
                while process.poll() is None and not stopped:
                    time.sleep(0.3)
                    used = max(used, processor_seconds(process.pid))
                    stopped = used > limit or time.monotonic() - begun > 4 * limit or STOPPING.is_set()
            finally:
                end_session(process.pid)
                process.wait()
            log.seek(0)
            return None if stopped else process.returncode, used, log.read()


def processes(session: int) -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            yield int(path.parent.name), fields


def processor_seconds(session: int) -> float:
    """Seconds of all processes of a session, and of their children that have ended."""
    return sum(int(ticks) for _, fields in processes(session) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def end_session(session: int) -> None:
    while found := [process for process, fields in processes(session) if fields[0] != "Z"]:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def culprit(log: str, tests: list[str]) -> str:
    """The test, or the file, that failed first; a test's name may hold anything."""
    found = re.search(r"^(?:FAILED|ERROR|ERROR: not found:) (?:\S*/)?(tests/.*)$", log, re.MULTILINE)
    named = [test for test in tests if found and f"{found[1]} - ".startswith(f"{test} - ")]
    return max(named, key=len) if named else re.match(r"\S+|", found[1] if found else "")[0]


def result(outcome: str, by: str = "", seconds: float = 0.0, tests: int = 0) -> dict:
    """What came of a mutant; unreached: no quick test calls the function; gone: the statement is no more."""
    return {"outcome": outcome, "by": by, "seconds": seconds, "tests": tests}


class Cover:
    """Which tests call which function: a file of the command ``cover``, or a folder that the plugin `called` filled."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise SystemExit(f"there is no {path}: `{Path(__file__).name} cover` makes it")
        known = merged(path) if path.is_dir() else json.loads(gzip.decompress(path.read_bytes()))
        self.tests = {test["test"]: test for test in known["tests"] if test["test"]}
        self.of_function: dict[str, set[str]] = {}
        for test in self.tests.values():
            for number in test["functions"] if test["passed"] else ():
                self.of_function.setdefault(known["functions"][number], set()).add(test["test"])

    def calling(self, mutant: Mutant, file: str) -> set[str]:
        """Tests that call the function; where none does, those of its file, or of the folders around it.

        A compiled kernel is never called in Python, so that the tests of its engine are taken.
        """
        if mutant.kind == "text":
            kind = "browser" if file.endswith(".js") else "gl"
            return {name for name, test in self.tests.items() if test["kind"] == kind}
        ends = [f"{file}::{mutant.function}", *([f"::{mutant.function}"] if mutant.kind == "python" else [])]
        tests = (found for end in ends for name, found in self.of_function.items() if name.endswith(end))
        found, place = set().union(*tests), file
        while not found and place:
            found = set().union(*(tests for name, tests in self.of_function.items() if name.startswith(place)))
            place = place.rpartition("/")[0]
        return found

    def chosen(self, mutant: Mutant, file: str, failing: set[str]) -> list[str]:
        """Some of them, for the time that there is: the quickest for half of it, and as many drawn by chance.

        Of kernels and texts those come first that have a word in common with the function.
        """
        words = set(re.findall("[a-z]{4,}", f"{file} {mutant.function}".lower())) - {"scalarviz", "engine", "view"}

        def order(name: str) -> tuple[int, float]:
            in_common = 0 if mutant.kind == "python" else sum(word in name.lower() for word in words)
            return -in_common, self.tests[name]["seconds"]

        quick, seconds = sorted(self.calling(mutant, file), key=order), CHOSEN * LIMITS[mutant.kind]
        by_chance = random.Random(mutant.key).sample(quick, len(quick))
        found, opened, spent = dict[str, None](), set[str](), 0.0
        for name, most in [*((name, seconds / 2) for name in quick), *((name, seconds) for name in by_chance)]:
            path = name.split("::")[0]
            cost = self.tests[name]["seconds"] + 0.3 * (path not in opened)
            if name not in found and not {name, path} & failing and (spent + cost <= most or not found):
                found[name] = None
                opened.add(path)
                spent += cost
        return list(found)


class Judge:
    """Runs the tests of mutants, and keeps what came of them in a file: what is there is not done again."""

    def __init__(self, cover: Cover, results: Path) -> None:
        self.cover, self.results, self.lock = cover, results, threading.Lock()
        results.parent.mkdir(parents=True, exist_ok=True)
        rows = read_rows(results) if results.exists() else []
        self.passes: dict[str, bool] = {row["test"]: row["passes"] for row in rows if "test" in row}
        self.done: dict[str, dict] = {mutant_of(row).key: row for row in rows if "test" not in row}

    def keep(self, row: dict) -> None:
        if not STOPPING.is_set():  # tests that were stopped say nothing
            with self.lock, self.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def judge(self, mutant: Mutant, here: Copy) -> dict:
        place, limit, total = find(mutant, here.folder), LIMITS[mutant.kind], 0.0
        if place is None:
            return result("gone")
        for _ in range(9):  # each time without the tests that fail anyway
            tests = self.cover.chosen(mutant, place[0], {test for test, passes in self.passes.items() if not passes})
            if not tests:
                break
            status, seconds, log = here.test_mutant(*place, tests, limit)
            total += seconds
            if status == 0:
                return result("survived", "", total, len(tests))
            by = "time" if status is None else culprit(log, tests)
            if status is None or (status < 0 and not by):
                return result("killed", by or f"signal {-status}", total, len(tests))
            if by not in self.passes:
                self.passes[by] = here.test([by] if by else tests, 3 * limit)[0] == 0
                self.keep({"test": by, "passes": self.passes[by], "log": "" if self.passes[by] else log[-600:]})
            if self.passes[by]:
                return result("killed", by, total, len(tests))
        return result("unreached", "", total)

    def judge_all(self, mutants: list[Mutant], options: argparse.Namespace) -> list[dict]:
        """Results of those that are judged within the minutes, in their order."""
        left = iter([mutant for mutant in mutants if mutant.key not in self.done])
        until = time.monotonic() + 60 * options.minutes
        with tempfile.TemporaryDirectory(prefix="mutants-") as place:

            def work(number: int) -> None:
                here = Copy(options.product, options.suite, Path(place) / f"copy{number}")
                while time.monotonic() < until and not STOPPING.is_set():
                    with self.lock:
                        mutant = next(left, None)
                    if mutant is None:
                        return
                    row = asdict(mutant) | self.judge(mutant, here)
                    if not STOPPING.is_set():
                        self.done[mutant.key] = row
                        self.keep(row)
                        line = f"{row['outcome']:9} {row['seconds']:4.0f} s {described(mutant)}  {row['by']}"
                        print(line, flush=True)

            with ThreadPoolExecutor(options.workers) as pool:
                try:
                    for done in [pool.submit(work, number) for number in range(options.workers)]:
                        done.result()
                except BaseException:  # Ctrl-C, SIGTERM, or one of the workers failed
                    STOPPING.set()
                    raise
        return [self.done[mutant.key] for mutant in mutants if mutant.key in self.done]


def read_rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def mutant_of(row: dict) -> Mutant:
    return Mutant(**{name: row[name] for name in Mutant.__annotations__})


def described(mutant: Mutant) -> str:
    short = [" ".join(text.split()) for text in (mutant.before, mutant.after)]
    return f"{mutant.file} {mutant.function}: {short[0]}  ->  {short[1]}"


# Commands


def draw_samples(options: argparse.Namespace) -> None:
    """Write the two samples anew."""
    for name, (seed, counts) in SAMPLES.items():
        mutants = drawn(options.product, files(options.product), counts, seed)
        rows = (json.dumps(asdict(mutant), ensure_ascii=False) for mutant in mutants)
        (KEPT / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def record_cover(options: argparse.Namespace) -> None:
    """Run tests with the plugin `called`, and write down what they call."""
    with tempfile.TemporaryDirectory(prefix="called-") as place:
        shutil.copy(ROOT / "tests/kit/called.py", place)
        paths = [place, str(options.suite), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"CALLED": f"{place}/lines", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "called"]
        subprocess.run([*command, *options.pytest], cwd=options.suite, env=environment, check=False)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_bytes(gzip.compress(json.dumps(merged(Path(place) / "lines")).encode()))


def changed_lines(product: Path, since: str) -> dict[str, set[int]]:
    """Lines of the product that changed since a commit, by file."""
    command = ["git", "diff", "-U0", since, "--", *ROOMS]
    lines: dict[str, set[int]] = {}
    for line in subprocess.run(command, cwd=product, capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("+++ "):
            here = lines.setdefault(line[6:], set())
        elif found := re.match(r"@@ .*\+(\d+)(?:,(\d+))? @@", line):
            here |= set(range(int(found[1]), int(found[1]) + int(found[2] or 1)))
    return lines


def run_mutants(options: argparse.Namespace) -> None:
    """Judge stored mutants, or those of changed lines."""
    if options.changed:
        lines = changed_lines(options.product, options.changed)
        paths = [file for file in files(options.product) if file in lines]
        mutants = drawn(options.product, paths, {"python": 60, "kernel": 6, "text": 6}, seed=len(paths), lines=lines)
        random.Random(0).shuffle(mutants)
    else:
        mutants = [mutant for name in options.samples for mutant in map(mutant_of, read_rows(KEPT / f"{name}.jsonl"))]
    if options.only:
        mutants = [mutant for mutant in mutants if re.search(options.only, f"{mutant.kind} {mutant.file}")]
    with tempfile.TemporaryDirectory() as place:
        results = Path(place) / "results.jsonl" if options.changed else options.results
        judge = Judge(Cover(options.cover), results)
        rows = judge.judge_all(mutants, options)
    print_report(rows, len(mutants))


def print_report(rows: list[dict], total: int) -> None:
    counts = {outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES}
    print(f"{len(rows)} of {total} mutants: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    written = (KEPT / "survivors.txt").read_text(encoding="utf-8").splitlines()
    known = dict(line.split("\t", 1) for line in written if "\t" in line)
    for row in rows:
        if row["outcome"] != "killed":
            text = described(mutant_of(row))
            print(f"{row['outcome']}: {text}\n    {known.get(text.partition(' ')[2], 'no reason is written down')}")


def report(options: argparse.Namespace) -> None:
    """Print kills and survivors; with `--before`, what other results killed and these do not."""
    rows = {mutant_of(row).key: row for row in read_rows(options.results) if "outcome" in row}
    print_report(list(rows.values()), len(rows))
    if options.before:
        killed = {mutant_of(row).key: row for row in read_rows(options.before) if row.get("outcome") == "killed"}
        judged = [(killed[key], now) for key, now in rows.items() if key in killed]
        lost = [(row, now) for row, now in judged if now["outcome"] != "killed"]
        print(f"of {len(judged)} that {options.before.name} kills, {len(judged) - len(lost)} are killed")
        for row, now in lost:
            print(f"lost ({now['outcome']}): {described(mutant_of(row))}; killed by {row['by']}")


def try_mutants(options: argparse.Namespace) -> None:
    """Draw mutants of given files, and run the same tests on each."""
    given = tuple(f"{path.strip('/')}/" for path in options.inside)
    paths = [file for file in files(ROOT) if f"{file}/".startswith(given)]
    if not paths:
        raise SystemExit(f"no file of the product in {', '.join(options.inside)}")
    counts = dict.fromkeys(LIMITS, options.count)
    mutants = random.Random(options.seed).sample(found := drawn(ROOT, paths, counts, options.seed), len(found))
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        here = Copy(ROOT, options.suite, Path(place) / "copy")
        status, seconds, log = here.test(options.tests, 600)
        if status != 0:
            raise SystemExit(f"the tests have to pass without a mutant (exit {status}):\n{log[-3000:]}")
        limit = max(20.0, 3 * seconds + 10)
        print(f"{seconds:.0f} s of processor time without a mutant; stopped after {limit:.0f} s with one", flush=True)
        killed = 0
        for number, mutant in enumerate(mutants[: options.count], 1):
            compiling = LIMITS["kernel"] if mutant.kind == "kernel" else 0
            status, seconds, log = here.test_mutant(*find(mutant, here.folder), options.tests, limit + compiling)
            killed += status != 0
            verdict = {0: "SURVIVED", None: "killed (slow)"}.get(status, "killed")
            print(f"{number:3} {verdict:13} {seconds:4.0f} s {described(mutant)}  {culprit(log, [])}", flush=True)
        print(f"{killed} of {number} killed")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, function, *arguments):
        made = commands.add_parser(name, help=function.__doc__)
        made.set_defaults(function=function)
        for names, settings in arguments:
            made.add_argument(*names.split(), **settings)

    suite = "--suite", {"type": Path, "default": ROOT, "help": "checkout whose tests are run"}
    results = "--results", {"type": Path, "default": ROOT / "build/mutants.jsonl", "help": "file that is continued"}
    cover = {"type": Path, "default": ROOT / "build/cover.json.gz"}
    product = "--product", {"type": Path, "default": ROOT, "help": "checkout that is mutated"}
    command("sample", draw_samples, product)
    pytest = "pytest", {"nargs": "*", "help": "after --: arguments of pytest"}
    command("cover", record_cover, suite, ("--out", cover), pytest)
    command(
        "run", run_mutants, suite, results, product, ("--cover", cover),
        ("--samples", {"nargs": "+", "default": ["sample"], "choices": list(SAMPLES)}),
        ("--only", {"help": "regular expression: kind and file"}),
        ("--changed", {"metavar": "COMMIT", "help": "mutants of lines changed since then instead of a sample"}),
        ("--minutes", {"type": float, "default": 1e6}), ("--workers", {"type": int, "default": 2}),
    )  # fmt: skip
    command("report", report, results, ("--before", {"type": Path, "help": "results of another suite"}))
    command(
        "try", try_mutants, suite,
        ("--in", {"dest": "inside", "nargs": "+", "required": True, "help": "files or folders of the product"}),
        ("--tests", {"nargs": "+", "required": True}), ("--count", {"type": int, "default": 20}),
        ("--seed", {"type": int, "default": 1}),
    )  # fmt: skip
    options = parser.parse_args(arguments)
    options.function(options)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that processes are ended and copies removed
    main()
