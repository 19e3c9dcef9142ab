"""`module`: compare a pupil's class with a ready-made one, or its gradients with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import explained
from ..checks import integer
from ..errors import InputError, TypeMismatchError, shown
from ..nn import Module, Parameter
from ..scalar.functions import function
from ..scalar.nested import flatten
from ..scalar.value import Value
from ..scalar.weight import Weight
from .points import COUNT, Floats, checked_options, near
from .pupil_code import call_pupil, check_filled
from .report import SECONDS, CheckEnded, Report, run_check, wrong_report


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """A module and its parameters."""

    module: Any
    parts: list[Any]

    @property
    def size(self) -> int:
        """The number of single weights."""
        return sum(size_of(part) for part in self.parts)

    def set_weights(self, numbers: Sequence[float] | Floats) -> None:
        """Set all weights in order."""
        start = 0
        for part in self.parts:
            own = np.array(numbers[start : start + size_of(part)])
            start += len(own)
            part.data = own.reshape(part.shape) if isinstance(part, Parameter) else float(own[0])

    def grads(self) -> Floats:
        """Return the gradients of all weights."""
        found = [np.ravel(part.grad) for part in self.parts]
        return np.concatenate(found) if found else np.zeros(0)

    def clear(self) -> None:
        """Clear the gradients of all weights."""
        for part in self.parts:
            part.zero_grad()

    def weight_names(self) -> list[str]:
        """Return the names of the single weights."""
        found: list[str] = []
        for path, part in self.module.named_parameters():
            if isinstance(part, Weight):
                found.append(part.name or path)
            else:
                found += [f"{path}{''.join(f'[{i}]' for i in place)}" for place in np.ndindex(*part.shape)]
        return found


def size_of(part: Any) -> int:
    """Return the number of single weights of a parameter."""
    return 1 if isinstance(part, Weight) else int(part.size)


def outputs_of(made: CheckedModule, row: Sequence[float]) -> list[Value]:
    """Return the module's outputs for one input."""
    result = call_pupil(made.module, ([*row],) if len(row) > 1 else (row[0],), "at a random input")
    if result is None:
        raise CheckEnded("none", "forward returned nothing: is a `return` missing?")
    found = flatten(result)
    if not found:
        got = type(result).__name__
        raise CheckEnded("kind", f"Expected Values from forward; you returned {got}. Compute with the weights.")
    return found


STEP = 1e-4
MOST_WEIGHTS = 50


@explained(name="check.module")
def module(
    cls: Any,
    *arguments: Any,
    like: Any = None,
    inputs: int | None = None,
    tolerance: float = 1e-5,
    seed: int = 0,
    hint: str = "",
    seconds: float = SECONDS,
) -> Report:
    """Check a module that a pupil wrote: its weights, its outputs, and the gradient of every weight.

    Parameters
    ----------
    cls : type or Module
        A subclass of :class:`nn.Module`, or an instance of one.
    *arguments
        The arguments for the class.
    like : Module, optional
        A correct module: with the same numbers in its weights, in order, the pupil's must give the same outputs.
    inputs : int, optional
        Numbers of inputs; default: those of the first layer of `like`, if it has them.
    tolerance : float
        Largest accepted error, relative to ``max(1, |expected|)``.
    seed : int
        Seed of the 50 inputs and of the weights.
    hint : str
        The author's hint, shown from the second failing call in a row.
    seconds : float
        The most time for the pupil's code. Only a loop inside a C function, such as ``sum(count())``, is not stopped.

    Returns
    -------
    Report

    Raises
    ------
    TypeMismatchError
        `cls` or `like` is no Module.
    InputError
        The number of inputs is not known.
    """
    hint, width = checked_options("check.module", hint, tolerance, seed)
    title = getattr(cls, "__name__", type(cls).__name__) if cls is not ... else "your module"
    if like is not None and not isinstance(like, Module):
        raise TypeMismatchError(f"check.module: like= must be a Module, such as nn.Perceptron(3), got {shown(like)}")

    def find() -> Report:
        check_filled(cls if isinstance(cls, type) or cls is ... else type(cls))
        made = _make_module(cls, arguments)
        draw = np.random.default_rng(seed)
        rows = draw.uniform(-1.5, 1.5, (COUNT, _inputs(like, inputs)))
        if like is None:
            return _by_differences(title, made, rows, draw, width)
        oracle = CheckedModule(like, list(like.parameters()))
        kept = [np.array(part.data) for part in oracle.parts]
        try:
            return _compare_modules(title, made, oracle, rows, draw, width)
        finally:  # the module may be in use elsewhere
            for part, numbers in zip(oracle.parts, kept, strict=True):
                part.data = numbers if isinstance(part, Parameter) else float(numbers)

    return run_check("module", title, hint, find, seconds=seconds)


def _make_module(cls: Any, arguments: Sequence[Any]) -> CheckedModule:
    if isinstance(cls, type):
        if not issubclass(cls, Module):
            raise CheckEnded("kind", f"the class is not a module: write class {cls.__name__}(nn.Module)")
        cls = call_pupil(cls, arguments)
    if not isinstance(cls, Module):
        raise TypeMismatchError(f"check.module: cls must be an nn.Module or a class of modules, got {shown(cls)}")
    return CheckedModule(cls, list(cls.parameters()))


def _inputs(like: Any, inputs: int | None) -> int:
    if inputs is not None:
        return integer("check.module: inputs", inputs, 1)
    for part in () if like is None else like.modules() if hasattr(like, "modules") else (like,):
        for name in ("in_features", "n_inputs", "n_in"):
            if isinstance(getattr(part, name, None), int):
                return int(getattr(part, name))
    raise InputError("check.module: the number of inputs is unknown; give it, such as inputs=3")


def _compare_modules(
    title: str, made: CheckedModule, oracle: CheckedModule, rows: Floats, draw: Any, tolerance: float
) -> Report:
    if made.size != oracle.size:
        return _sizes(title, made, oracle)
    numbers = draw.uniform(-1.0, 1.0, made.size)
    made.set_weights(numbers)
    oracle.set_weights(numbers)
    wanted = np.array([[v.data for v in outputs_of(oracle, row)] for row in rows.tolist()])
    got = _collect_outputs(made, rows, wanted.shape[1])
    differ = ~near(got, wanted, tolerance)
    if differ.any():
        at, k = (int(i) for i in np.argwhere(differ)[0])
        cause, details = cause_of(oracle, rows, numbers, got, tolerance)
        if not cause and (unused := _unused(made, rows, numbers, got)):
            cause, details = "unused", {"name": unused}
        lines = (
            f"not yet: {COUNT - int(differ.any(axis=1).sum())} of {COUNT} inputs give the right outputs.",
            f"for the input {_row(rows[at])} you returned {got[at, k]:.5g}; expected {wanted[at, k]:.5g}.",
        )
        return wrong_report(title, lines, cause, details, f"output {k}", float(got[at, k]), float(wanted[at, k]))
    return _gradients(title, made, rows, lambda row: _backward(oracle, row), tolerance)


def _sizes(title: str, made: CheckedModule, oracle: CheckedModule) -> Report:
    """Report a wrong number of weights, with those that were found."""
    names = made.weight_names()
    found = f"Found: {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}." if names else "None was found."
    details = {"got": made.size, "expected": oracle.size, "found": found}
    lines = ("not yet: the number of weights is wrong.",)
    return wrong_report(title, lines, "parameters", details, "", made.size, oracle.size)


def _collect_outputs(made: CheckedModule, rows: Floats, outputs: int) -> Floats:
    found = []
    for row in rows.tolist():
        values = outputs_of(made, row)
        if len(values) != outputs:
            more = "; did you add up the products?" if outputs == 1 and len(values) == rows.shape[1] else ""
            raise CheckEnded("count", f"wrong number of outputs: {len(values)}; expected {outputs}{more}")
        found.append([value.data for value in values])
    again = [value.data for value in outputs_of(made, rows[0].tolist())]
    if again != found[0] and not np.isnan(found[0]).any():
        raise CheckEnded("random", "a second call with the same input returns other numbers")
    return np.array(found)


def _row(row: Floats) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in row)}]"


def _backward(made: CheckedModule, row: Sequence[float]) -> Floats:
    """Return the gradients of all weights with respect to the sum of the outputs, each output with another factor."""
    made.clear()
    for k, value in enumerate(outputs_of(made, row)):
        value.backward(1.0 + 0.5 * k)
    return made.grads()


def _gradients(
    title: str, made: CheckedModule, rows: Floats, expected_at: Callable[[Sequence[float]], Floats], tolerance: float
) -> Report:
    names = made.weight_names()
    for row in rows.tolist():
        got, expected = _backward(made, row), expected_at(row)
        differ = np.flatnonzero(~near(got, expected, tolerance))
        if len(differ):
            lost = [i for i in differ if got[i] == 0]
            cause = "detached" if lost else ""
            k = int(lost[0] if lost else differ[0])
            lines = (
                "not yet: the outputs are right, a gradient is not.",
                f"for the input {_row(np.array(row))}: {names[k]} has the gradient {got[k]:.5g}; expected "
                f"{expected[k]:.5g}.",
            )
            return wrong_report(title, lines, cause, {"name": names[k]}, names[k], float(got[k]), float(expected[k]))
    return Report(title, "right", (f"outputs and gradients are right at all {COUNT} inputs.",))


def _by_differences(title: str, made: CheckedModule, rows: Floats, draw: Any, tolerance: float) -> Report:
    """Compare the gradients with finite differences, without a ready-made module."""
    if not made.size:
        details = {"got": 0, "expected": "at least 1", "found": "None was found."}
        return wrong_report(title, ("not yet: the module has no weights.",), "parameters", details, "", 0.0)
    numbers = draw.uniform(-1.0, 1.0, made.size)
    made.set_weights(numbers)
    _collect_outputs(made, rows, len(outputs_of(made, rows[0].tolist())))

    def total(row: Sequence[float], weights: Floats) -> float:
        made.set_weights(weights)
        return float(sum(value.data * (1.0 + 0.5 * k) for k, value in enumerate(outputs_of(made, row))))

    def expected(row: Sequence[float]) -> Floats:
        found = np.empty(made.size)
        for k in range(made.size):
            nudge = STEP * np.eye(made.size)[k]
            found[k] = (total(row, numbers + nudge) - total(row, numbers - nudge)) / (2 * STEP)
        made.set_weights(numbers)
        return found

    return _gradients(title, made, rows[: COUNT if made.size <= 20 else 5], expected, max(tolerance, 1e-5))


def _unused(made: CheckedModule, rows: Floats, numbers: Floats, got: Floats) -> str:
    """Return the name of the first weight that changes no output; empty if all do."""
    for k, name in enumerate(made.weight_names()[:MOST_WEIGHTS]):
        made.set_weights(numbers + np.eye(len(numbers))[k])
        if np.array_equal(_collect_outputs(made, rows, got.shape[1]), got):
            return name
    return ""


def cause_of(
    oracle: CheckedModule, rows: Floats, numbers: Floats, got: Floats, tolerance: float
) -> tuple[str, dict[str, Any]]:
    """Return the change of the ready-made module that gives the pupil's outputs, with its details."""

    def same(other: Any) -> bool:
        array = np.array(other)
        return array.shape == got.shape and bool(near(array, got, tolerance).all())

    def asked(weights: Floats) -> list[list[float]]:
        oracle.set_weights(weights)
        return [[v.data for v in outputs_of(oracle, row)] for row in rows.tolist()]

    roots = [outputs_of(oracle, row) for row in rows.tolist()]
    wanted = np.array([[v.data for v in found] for found in roots])
    if same(-wanted):
        return "sign", {}
    last = roots[0][0]
    if len(last.parents) == 1 and same([[v.parents[0].data for v in found] for found in roots]):
        return "activation", {"op": last.op}
    if len(last.parents) == 1:
        for op in {"tanh", "sigmoid", "relu"} - {last.op}:
            if same([[function(op)(v.parents[0]).data for v in found] for found in roots]):
                return "bend", {"op": op}
    biases = np.array(["bias" in name for name in oracle.weight_names()])
    if biases.any() and same(asked(np.where(biases, 0.0, numbers))):
        return "bias", {}
    for times in range(2, 1 + rows.shape[1]) if biases.any() else ():
        if same(asked(np.where(biases, times * numbers, numbers))):
            return "biases", {"times": times}
    ratio = got / np.where(wanted == 0, np.nan, wanted)
    if np.allclose(ratio, ratio.flat[0], rtol=1e-5):
        return "factor", {"factor": f"{float(ratio.flat[0]):.4g}"}
    for order in _orders(oracle):
        if same(asked(numbers[order])):
            return "inputs", {}
    for k in range(len(numbers)):
        for cut in (np.arange(len(numbers)) <= k, np.arange(len(numbers)) == k):
            for keep in (cut, ~cut):
                if same(asked(np.where(keep | biases, numbers, 0.0))):
                    return "terms", {}
    return "", {}


def _orders(oracle: CheckedModule) -> list[NDArray[Any]]:
    """Return the weights of each matrix in other orders: reversed, and with rows and columns exchanged."""
    found, start = [], 0
    for part in oracle.parts:
        size, shape = size_of(part), getattr(part, "shape", ())
        place = np.arange(start, start + size)
        for changed in (place[::-1], place.reshape(shape).T.ravel() if len(shape) == 2 else place):
            order = np.arange(oracle.size)
            order[start : start + size] = changed
            if (order != np.arange(oracle.size)).any():
                found.append(order)
        start += size
    return found
