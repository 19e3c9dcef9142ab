"""`backward`: check the rule of one operation, in three forms, or a whole walk back through any graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import explained
from ..errors import InputError, shown
from ..scalar import ops
from ..scalar.emit import PYTHON, PYTHON_NAMES, function_source
from ..scalar.kernel import define
from ..scalar.number import as_number
from ..scalar.value import Value
from .gradient import Attempt, Guess, answers, compared, differentiated, from_graph, points_of_operation, pulled
from .points import COUNT, Floats, SamplePoints, bounds_of, checked_options, near, sample_points
from .pupil_code import Inputs, call_pupil, check_filled, inputs_of, matching, registered, title_of
from .report import CAUSE_TEXTS, SECONDS, CheckEnded, Report, run_check, wrong_report
from .walks import check_class, check_walk


@explained(name="check.backward")
def backward(
    op: Any,
    of: Callable[..., Any] | str | None = None,
    *,
    between: tuple[float, float] | None = None,
    tolerance: float = 1e-5,
    seed: int = 0,
    hint: str = "",
    seconds: float = SECONDS,
) -> Report:
    """Check the backward rule of one operation, or a walk back through whole graphs.

    Parameters
    ----------
    op : callable or str
        One of

        * ``rule(a, b, upstream)``, with `of`: numbers to the gradient of each input;
        * ``pull(node)``, with `of`: adds to the ``grad`` of each of ``node.parents`` its share of ``node.grad``;
        * ``walk(root)``, without `of`: fills the ``grad`` of every leaf below a node, in any graph;
        * a class of numbers with ``+``, ``*``, ``data``, ``parents``, ``grad`` and ``backward()``;
        * the name of an operation, or the function that ``sv.register`` returned: its own derivatives.
    of : callable or str, optional
        The operation: a function of Values, or the name of one.
    between : (float, float), optional
        The range of each input; default (-2, 2), or a range where the operation is finite.
    tolerance : float
        Largest accepted error, relative to ``max(1, |expected|)``.
    seed : int
        Seed of the 50 points, or graphs.
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
        `op` or `of` is no function of Values.
    UnknownNameError
        There is no such operation.
    InputError
        `pull` comes with a function of several operations, or hardly a point in `between` has a finite value and a
        slope.

    Examples
    --------
    >>> report = backward(lambda a, b, upstream: (b, a), of="mul")
    >>> bool(report), report.cause
    (False, 'upstream')
    """
    hint, width = checked_options("check.backward", hint, tolerance, seed)
    name = op if isinstance(op, str) else registered(op)
    title = name or title_of(op)

    same = ops.TABLE[name].value if name in ops.TABLE else ""  # the same under any name
    drawn = between, width, seed
    return run_check("backward", title, hint, lambda: report_of(op, of, name, title, drawn), same, seconds)


def report_of(op: Any, of: Any, name: str, title: str, drawn: tuple[Any, float, int]) -> Report:
    """Return the report on any of the forms."""
    check_filled(op)
    if isinstance(op, type):
        return check_class(op, title, *drawn[1:])
    if name and of is None:
        return _operation(name, *drawn)
    own = inputs_of(op, "check.backward: op")
    if of is not None:
        return _rule(op, own, of, title, drawn)
    if len(own) != 1:
        raise InputError(
            f"check.backward: {title} takes {len(own)} arguments, so it is the rule of one operation; name the "
            'operation, such as of="mul". A walk through whole graphs takes one argument: walk(root)'
        )
    return check_walk(op, title, *drawn[1:])


def _operation(name: str, between: Any, tolerance: float, seed: int) -> Report:
    """Check an operation of the table: the derivatives of its entry."""
    entry = ops.get(name)
    there = _points_for(name, between, seed)
    got = np.array([pulled(name, row) for row in there.numbers.tolist()])
    carried = [k for k, partial in enumerate(entry.partials) if partial is not None]
    if not carried:
        raise InputError(f"check.backward: the operation {shown(name)} has no derivative; name another operation")
    names = tuple(entry.args[k] for k in carried)
    there = replace(there, numbers=there.numbers[:, carried], slopes=there.slopes[:, carried])
    return compared(name, Attempt(names, there, got[:, carried], None, tolerance))


def _points_for(of: Any, between: Any, seed: int) -> SamplePoints:
    whole, names = differentiated(of, "check.backward")
    name = of if isinstance(of, str) else registered(of)
    if between is None and name:
        found = points_of_operation(name, seed)
        if found is not None:
            return found
    ends = bounds_of((-2.0, 2.0) if between is None else between, "check.backward")
    return sample_points(whole, len(names), ends, seed, "check.backward")


def _rule(op: Any, own: Inputs, of: Any, title: str, drawn: tuple[Any, float, int]) -> Report:
    between, tolerance, seed = drawn
    whole, theirs = differentiated(of, "check.backward")
    there = _points_for(of, between, seed)
    draw = np.random.default_rng([seed, 1])
    up = draw.uniform(0.5, 2.0, COUNT) * draw.choice([-1.0, 1.0], COUNT)
    mine = (*own, *own.spare)
    if len(own) == 1 and len(mine) <= len(theirs):
        return _pull(op, of, there, up, title, tolerance)
    names = matching(own, theirs, 1)
    got = answers(op, np.column_stack([there.numbers, up]), names)
    above = mine[len(theirs)] if len(mine) > len(theirs) else "upstream"
    tried = Attempt(names, there, got, up, tolerance, above)
    return _rule_report(title, tried, of, whole)


def _rule_report(title: str, tried: Attempt, of: Any, whole: Callable[..., Any]) -> Report:
    """Return the report on a rule; operations of the table have more usual mistakes."""
    first, guesses = tried.first_wrong(), from_graph(whole, tried)
    name = of if isinstance(of, str) else registered(of)
    if name and first is not None:
        guesses += _result_taken_for_input(name, tried, first[0])
    return compared(title, tried, guesses)


def _result_taken_for_input(name: str, tried: Attempt, k: int) -> list[Guess]:
    """Guess the slope by operand `k` with the operand in place of the result: tanh with ``1 - a * a``."""
    entry = ops.get(name)
    partial = entry.partials[k]
    if partial is None or len(entry.args) != 1:
        return []
    namespace = dict(PYTHON_NAMES)
    define(f"slope of {name}", function_source("slope", (*entry.args, "y"), (partial,), PYTHON), namespace)
    places = ("output", tried.there.numbers[:, 0]), ("result", tried.there.values)
    found = [(cause, np.array([namespace["slope"](x, x) for x in numbers.tolist()])) for cause, numbers in places]
    return [Guess(cause, slopes * tried.upstream) for cause, slopes in found]


def _pull(op: Any, of: Any, there: SamplePoints, up: Floats, title: str, tolerance: float) -> Report:
    """Check micrograd's form: first with gradients that are not 0, then with one operand at two places."""
    whole, names = differentiated(of, "check.backward")
    first = whole(*map(Value, there.numbers[0]))
    if not all(node.op == "" for node in first.parents):
        raise InputError(
            f"check.backward: {title}(node) is the rule of one operation, but of= combines several "
            f"({shown(first)}); give a function of one operation"
        )
    added, after = pulled_by(op, whole, there.numbers, up)
    tried = Attempt(names, there, added, up, tolerance, "node.grad")
    if tried.first_wrong() is None:
        return same_operand(op, whole, there, up, title, tolerance)
    report = _rule_report(title, tried, of, whole)
    if replace(tried, got=after).first_wrong() is None:
        return replace(report, cause="overwrite", looks=CAUSE_TEXTS["overwrite"])
    return report


def _grad(node: Value) -> float:
    given: object = node.grad
    if isinstance(given, Value):
        raise CheckEnded(
            "kind", "Expected a number as the gradient of a parent; you gave a Value. Multiply by its .data."
        )
    try:
        return as_number(node.grad, "the gradient of a parent")
    except (TypeError, ValueError):
        raise CheckEnded("kind", f"Expected a number as the gradient of a parent; it is {node.grad!r}.") from None


def pulled_by(op: Callable[..., Any], whole: Callable[..., Any], rows: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Return what a pupil's rule added to the operands' gradients, and what it left there; `up` are the node's."""
    before = np.random.default_rng(2).uniform(1.0, 3.0, rows.shape)
    after = np.empty_like(rows)
    for p, row in enumerate(rows.tolist()):
        leaves = [Value(number) for number in row]
        node = whole(*leaves)
        node.grad = float(up[p])
        for leaf, grad in zip(leaves, before[p].tolist(), strict=True):
            leaf.grad = grad
        call_pupil(op, (node,))
        after[p] = [_grad(leaf) for leaf in leaves]
    return after - before, after


def same_operand(op: Any, whole: Any, there: SamplePoints, up: Floats, title: str, tolerance: float) -> Report:
    """Check one operand at every place, as in ``a * a``: the rule must add up all shares."""
    right = Report(title, "right", (f"right at all {COUNT} points.",))
    if there.numbers.shape[1] == 1:
        return right
    for p, row in enumerate(there.numbers.tolist()):
        one = Value(row[0])
        node = whole(*[one] * len(row))
        wanted = float(up[p]) * sum(node.local_gradients)
        node.grad, one.grad = float(up[p]), 0.0
        call_pupil(op, (node,))
        got = _grad(one)
        if np.isfinite(wanted) and not near(got, wanted, tolerance):
            lines = (
                "not yet: it is right with two different operands, but wrong with the same operand twice.",
                f"with a = b = {row[0]:.4g}, node.grad = {up[p]:.4g}: a.grad is {got:.4g}; expected {wanted:.4g}.",
            )
            return wrong_report(title, lines, "overwrite", None, "a", got, wanted)
    return right
