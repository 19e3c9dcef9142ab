"""The JavaScript engine, run by Node: the browser's engine without a page."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from scalarviz.engine.js.module import lacks, module, runtime, settings
from scalarviz.engine.problem import Problem

HARNESS = """
const { readFileSync } = require("fs");
const kinds = { f4: Float32Array, f8: Float64Array, b1: Uint8Array, u1: Uint8Array };
const arrayOf = ({ kind, bytes }) => new kinds[kind](new Uint8Array(Buffer.from(bytes, "base64")).buffer);
const textOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");
const lacking = { _pow, _erf, _erfc, _float16, _key, _mask };
for (const { made, settings, numbers, rates, added } of JSON.parse(readFileSync(0, "utf8"))) {
  for (const [name, one] of Object.entries(numbers)) {
    if (one?.kind) numbers[name] = arrayOf(one);
    else if (Array.isArray(one)) numbers[name] = one.map(arrayOf);
  }
  const functions = new Function(...Object.keys(lacking), made)(...Object.values(lacking));
  const engine = new Engine(functions, settings, numbers), started = performance.now();
  for (const sample of added) engine.takeSample(sample);
  const losses = rates.map((own) => engine.step(own)), took = performance.now() - started;
  const { theta, grad, state } = engine, last = { theta: textOf(theta), grad: textOf(grad), state: state.map(textOf) };
  console.log(JSON.stringify({ ...last, took, losses: textOf(Float64Array.from(losses)) }));
}
"""


def node() -> str:
    """The system's Node, or the one that Playwright brings."""
    if found := shutil.which("node"):
        return found
    driver = pytest.importorskip("playwright._impl._driver", reason="no Node: playwright is missing (extra test)")
    return str(driver.compute_driver_executable()[0])


def _array(numbers: Any) -> dict[str, str] | None:
    if numbers is None:
        return None
    array = np.ascontiguousarray(numbers)
    return {"kind": array.dtype.str[1:], "bytes": base64.b64encode(array.tobytes()).decode()}


@dataclass
class Browser:
    """Runs to go on in JavaScript: each is taken as it stands, and its next rates."""

    cases: list[dict[str, Any]] = field(default_factory=list)
    dtypes: list[Any] = field(default_factory=list)

    def add(self, run: Any, count: int, added: Any = (), **options: Any) -> None:
        """Take a run that has trained, for `count` more steps, with some `added` samples: inputs, then targets."""
        problem: Problem = run._problem
        assert not lacks(problem)
        value = problem.store.value
        data = np.asarray(problem.data[:], value.dtype).T.copy()
        data[:, data.shape[1] - problem.plan.n_features :] = np.nan  # JavaScript computes features itself
        numbers = {
            "theta": _array(value), "state": [_array(one) for one in problem.state], "data": _array(data),
            "frozen": _array(problem.store.frozen), "columns": [_array(one) for one in problem.columns],
            "trained": _array(problem.trained), "shares": _array(problem.shares()), "steps": run.steps,
        }  # fmt: skip
        rates = np.asarray(run.optimizer.lr_pace.table(count, problem.epoch), float)
        table = rates if rates.ndim == 2 else np.full((count, 1), rates)
        made = {"made": module(problem, **options), "settings": settings(problem), "numbers": numbers}
        self.cases.append({**made, "rates": table.tolist(), "added": np.asarray(added).tolist()})
        self.dtypes.append(value.dtype)

    def train(self) -> list[dict[str, Any]]:
        """The numbers after the steps of each run: theta, gradient, state, losses; and the milliseconds."""
        given = json.dumps(self.cases)
        done = subprocess.run(
            [node(), "-e", runtime() + HARNESS], input=given, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [
            _read(json.loads(line), dtype) for line, dtype in zip(done.stdout.splitlines(), self.dtypes, strict=True)
        ]


def _read(said: dict[str, Any], dtype: Any) -> dict[str, Any]:
    def array(text: str, kind: Any = dtype) -> np.ndarray:
        return np.frombuffer(base64.b64decode(text), kind)

    return {"theta": array(said["theta"]), "grad": array(said["grad"]), "state": [*map(array, said["state"])],
            "losses": array(said["losses"], np.float64), "took": said["took"]}  # fmt: skip


def answers(script: str) -> Any:
    """What a script prints, with the runtime of the engine before it."""
    done = subprocess.run(
        [node(), "-"], input=runtime() + script, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
