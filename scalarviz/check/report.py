"""`Report`: the result of a check as truth value, text and notebook box; and the count of failing calls."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from html import escape
from io import StringIO
from itertools import takewhile
from traceback import walk_stack
from typing import Any, Literal

from ..errors import InputError, shown
from ..scalar import tracing
from ..scalar.number import as_number

CAUSE_TEXTS = {
    # of a slope
    "sign": "the sign is wrong; the size is right.",
    "swapped": "the returned values are swapped: each input has the slope of another one.",
    "factor": "a factor: your value is {factor} times the expected one.",
    "other": "this is the slope with respect to {name}.",
    "inner": "the chain ends too early: the operation inside, `{op}`, has a slope too.",
    "taken": "one link of the chain, `{op}`: you used its value where its slope belongs.",
    "value": "this is the value of the function itself, not its slope.",
    "slope": "one link of the chain is missing: the slope of `{op}` (it was taken as 1).",
    "flipped": "one link of the chain, the slope of `{op}`, has the wrong sign.",
    "path": "`{name}` is used in {uses} places; you did not count all of them.",
    "zero": "your value is 0 everywhere: no gradient arrives here.",
    "one": "your value is 1 everywhere.",
    "region": "your value is right where {name} is {side}, and wrong elsewhere.",
    "input": "your value is {name} times the expected one: one factor too many.",
    "missing": "{name} is missing as a factor.",
    "operation": "the derivative of the operation `{op}` is wrong.",
    "nan": "your value is NaN (not a number), from a division by 0 or a number out of range.",
    # of a rule
    "upstream": "you returned the operation's own slope alone. Multiply it by the upstream gradient.",
    "twice": "you multiplied by the upstream gradient twice.",
    "added": "the upstream gradient is added to the slope; the chain rule multiplies.",
    "local": "the upstream gradient is passed on unchanged; the operation's own slope is missing.",
    "output": "you used the input of the operation where its result belongs.",
    "result": "you used the result of the operation where its input belongs.",
    "overwrite": "an earlier gradient is lost: write `+=` in place of `=`.",
    # of a walk
    "order": "the order: only the root passed a gradient on. Its parents came too early, with gradient 0, or never.",
    "found": "the order: a node passed its gradient on when it was found, before all of its users had added to it.",
    "visits": "a node passed its gradient on once for every path that leads to it, and counted the same part again.",
    "backwards": "every gradient is {factor} times the expected one: did the walk run more than once?",
    # of a class of one's own
    "forward": "the value of a sum or a product is wrong.",
    "parents": "a sum or a product does not remember its two operands.",
    "backward": "the numbers are right; a gradient is wrong.",
    "library": "this calls the library's own backward(). Write the walk yourself.",
    "root": "no node gets a gradient: the root has none at the start, or does not push.",
    "leaves": "{name} got no gradient: the walk ended before it.",
    # of a step
    "zero_grad": "the gradients of the previous step are still there: they add up.",
    "lr": "the learning rate is missing.",
    "constant": "the learning rate is always {rate}: your step does not use `lr`.",
    "replaced": "the step replaces each weight; it should change it: write `-=` in place of `=-` or `=`.",
    "early": "the weights move before backward, with the gradients of the previous step.",
    "again": "backward ran {factor} times in one step: the gradients add up.",
    "long": "the step is {factor} times as long as expected.",
    "each": "backward ran again for every weight, after other weights had moved: run it once, then move all weights.",
    "nothing": "no weight moves.",
    "some": "only some of the weights move: {name} stays where it is.",
    # of a module
    "parameters": "number of weights: {got}; expected {expected}. {found}",
    "bias": "the bias is not added.",
    "biases": "the bias is added {times} times: it belongs behind the loop.",
    "unused": "`{name}` changes no output: does forward use it?",
    "activation": "the activation `{op}` at the end is missing.",
    "bend": "the activation at the end is `{op}`; expected another one.",
    "inputs": "the weights are multiplied with the inputs in another order.",
    "detached": "no gradient reaches {name}: you used its number alone (.data, float()), which leaves the graph.",
    "terms": "terms of the sum are missing.",
    # one that the author of the exercise names: the words stand in the lines
    "slip": "",
    "edit": "{words}",
    "outer": "your function uses `{name}` of another cell, where it is {number}. Compute it from the arguments.",
    # of an answer
    "large": "the size is too large.",
    "small": "the size is too small.",
    "side": "the sign is wrong, and the size too.",
    "digits": "it is rounded too much: give more digits.",
}
"""The words for each cause, with names in braces."""

_CHAIN = "Multiply the slopes along a path through the graph. If several paths lead to an input, add them."
HINTS = {
    "gradient": f"Nudge one input by 0.001 by hand and see by how much the result changes. {_CHAIN}",
    "backward": "If one input grows a little, by how much does the result grow? Multiply by the upstream gradient.",
    "training": "The four parts of a step: clear the gradients, compute the loss, go backward, move every weight.",
    "module": "Compute one output by hand, with small numbers, and compare it part by part.",
    "answer": "Compute it step by step, and write every number down before the next step.",
    "sign": "If the input grows a little, does the result grow or fall? That is the sign.",
    "forward": "Compute a * b + a by hand, with a = 2 and b = -3, and compare it with your result.",
    "answer sign": "Say in words first whether the number is above or below zero, and why.",
    "swapped": "The slope with respect to x is the factor of x in the formula. Read the formula once for each input.",
    "factor": "Where does a constant come from? A square brings a 2 down; a mean divides by the number of terms.",
    "value": "The slope says how fast the result changes, not how large it is.",
    "flipped": "Look at each link alone: if its input grows a little, does its output grow or fall?",
    "slope": f"Read the formula from the outside inwards and write one factor for each operation. {_CHAIN}",
    "inner": f"Read the formula from the outside inwards and write one factor for each operation. {_CHAIN}",
    "other": "Read the formula once for each input.",
    "path": f"Find every place where that input is used. {_CHAIN}",
    "upstream": "Your function receives the upstream gradient. Where does it use that number?",
    "twice": "Multiply by the upstream gradient once.",
    "added": _CHAIN,
    "local": "What would your function return for an upstream gradient of 1? Multiply that by the upstream gradient.",
    "output": "The formula of this slope uses the result of the operation. Check which number you use.",
    "result": "The formula of this slope uses the input of the operation. Check which number you use.",
    "overwrite": "Try b = a + a by hand: a receives two gradients. What has to happen to the first one?",
    "order": "A node passes its gradient on when the gradient is complete. Whose gradient is complete first?",
    "found": "Draw a graph with a short and a long path to one node. When is the gradient of that node complete?",
    "visits": "Each node passes its gradient on once, when the gradient is complete.",
    "root": "What is the slope of the result with respect to itself?",
    "zero_grad": "Print the gradient of one weight after each step. Where does the old one go?",
    "early": "Which of your lines computes the gradient, and which one uses it?",
    "constant": "How large should a step be? Which argument says so?",
    "replaced": "Where was the weight before the step? It should be near there afterwards.",
    "lr": "How large should a step be? Which argument says so?",
    "bias": "A neuron has one number that belongs to no input.",
    "activation": "What happens to the sum at the very end?",
    "detached": "Compute with the weight itself, not with its number.",
    "parameters": "A module finds its weights by looking at its attributes: sv.Weight, nn.Parameter, or lists of them.",
    "region": "Try one number from each side by hand.",
}
"""Hints by cause, or else by check."""


State = Literal["right", "wrong", "empty", "failed"]
_SIGNS = {"right": "✓", "wrong": "✗", "empty": "…", "failed": "✗"}
_COLOURS = {"right": "#1a7f37", "wrong": "#b35900", "empty": "#57606a", "failed": "#b35900"}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check; true if the exercise is solved.

    Attributes
    ----------
    title : str
        The name of the pupil's function or class.
    state : {"right", "wrong", "empty", "failed"}
        "empty": it still contains ``...``. "failed": it raises, returns None, or returns different results each time.
    lines : tuple of str
        The result and the first difference.
    cause : str
        Short name of a mistake that gives the same numbers; empty if none was found.
    looks : str
        The cause in words.
    where : str
        The input or weight that differs.
    got, expected : float or None
        The numbers at the first point that differs.
    hint : str
        Advice, from the second failing call in a row.
    """

    title: str
    state: State
    lines: tuple[str, ...]
    cause: str = ""
    looks: str = ""
    where: str = ""
    got: float | None = None
    expected: float | None = None
    hint: str = ""
    given: Any = field(default=None, repr=False, compare=False)  # all compared numbers

    @property
    def passed(self) -> bool:
        """True if the exercise is solved."""
        return self.state == "right"

    @property
    def text(self) -> str:
        """The whole report, line by line."""
        first, *rest = self.lines
        lines = [*rest, *([f"Looks like: {self.looks}"] if self.looks else [])]
        lines += [f"Hint: {self.hint}"] if self.hint else []
        return "\n".join([f"{_SIGNS[self.state]} {self.title}: {first}", *(f"  {line}" for line in lines)])

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the report as a box for notebooks."""
        colour = _COLOURS[self.state]
        first, *rest = self.lines
        lines = [escape(line) for line in rest]
        lines += [f"Looks like: <b>{escape(self.looks)}</b>"] if self.looks else []
        lines += [f"Hint: {escape(self.hint)}"] if self.hint else []
        below = "".join(f'<div style="white-space:pre-wrap">{line}</div>' for line in lines)
        return (
            f'<div role="status" style="border-left:4px solid {colour};padding:6px 12px;margin:4px 0;max-width:46em">'
            f'<div><span style="color:{colour};font-weight:bold">{_SIGNS[self.state]} {escape(self.title)}</span>: '
            f"{escape(first)}</div>{below}</div>"
        )


class CheckEnded(Exception):
    """Ends a check early, with the state, cause and lines of the report."""

    def __init__(self, cause: str, *lines: str, state: State = "failed") -> None:
        super().__init__(*lines)
        self.state, self.cause, self.lines = state, cause, lines


MOST_LINES = 10
"""The most lines shown of a pupil's printed output during a check."""
_misses: dict[tuple[str, str], int] = {}
"""Failing calls in a row, by check and title of the exercise."""


def forget() -> None:
    """Reset the count of failing calls: the next one gives no hint."""
    _misses.clear()


@contextmanager
def unseen() -> Iterator[None]:
    """Checks that the pupil does not see: nothing is printed, and no failing call counts."""
    kept = dict(_misses)
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        forget()
        _misses.update(kept)


SECONDS = 10.0
"""The most seconds of a check while a pupil's code runs."""


class _TooLongError(BaseException):
    """Raised in a pupil's code, which may catch every Exception."""


@contextmanager
def _limited(title: str, seconds: float) -> Iterator[None]:
    """End a block with CheckEnded if a pupil's code still runs in it after some seconds; a call into C ends first."""
    this, over = threading.get_ident(), threading.Event()
    thread, throw = ctypes.c_ulong(this), ctypes.pythonapi.PyThreadState_SetAsyncExc

    def watch() -> None:
        wait = seconds
        while not over.wait(min(wait, threading.TIMEOUT_MAX)):
            wait, own = 0.1, walk_stack(sys._current_frames().get(this))  # again, because it may be caught
            if any(not str(frame.f_globals.get("__name__")).startswith("scalarviz")
                   for frame, _ in takewhile(lambda pair: pair[0].f_code is not run_check.__code__, own)):  # fmt: skip
                throw(thread, ctypes.py_object(_TooLongError))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except _TooLongError:
        raise CheckEnded("time", f"{title} ran for more than {seconds:g} s. Does a loop never end?") from None
    finally:
        _end(watcher, over)


def _end(watcher: threading.Thread, over: threading.Event) -> None:
    """Wait for the watcher. An error that it has thrown and that is on its way arrives meanwhile.

    Calling it back with NULL would not do: Python 3.11 would look for it at every call from then on, and a debugger's
    trace function would never return.
    """
    while True:
        try:
            over.set()
            watcher.join()
        except _TooLongError:
            continue
        return


def run_check(
    kind: str, title: str, hint: str, find: Callable[[], Report], same: str = "", seconds: float = SECONDS
) -> Report:
    """Return the report of `find`, or of a CheckEnded; from the second failing call in a row with a hint.

    `kind` is the check, `hint` the author's own hint. Calls with the same `title` (or the same `same`, if given) belong
    to one exercise. A pupil's code may run for `seconds`.
    """
    printed = StringIO()
    if not as_number(seconds, f"check.{kind}: seconds") > 0:
        raise InputError(f"check.{kind}: seconds must be > 0, got {shown(seconds)}; try {SECONDS:g}")
    mode = tracing.current_mode()
    try:
        with redirect_stdout(printed), _limited(title, seconds):
            found = find()
    except CheckEnded as ended:
        found = Report(title, ended.state, ended.lines, ended.cause)
    finally:
        tracing.set_mode(mode)  # the error of a time limit may arrive in the lines that end a recording
    said = printed.getvalue().splitlines()
    if said:  # a check calls a function hundreds of times
        print(*said[:MOST_LINES], *["..."] * (len(said) > MOST_LINES), sep="\n")
    key = kind, same or title
    if found.state == "empty":
        return found
    if found.passed:
        _misses.pop(key, None)
        return found
    _misses[key] = _misses.get(key, 0) + 1
    if _misses[key] < 2:
        return found
    general = HINTS[kind] if found.state == "wrong" else ""
    own = HINTS.get(f"{kind} {found.cause}", HINTS.get(found.cause, general))
    return replace(found, hint=" ".join(part for part in (own, hint) if part))


def wrong_report(
    title: str, lines: tuple[str, ...], cause: str = "", details: Mapping[str, Any] | None = None, where: str = "",
    got: float | None = None, expected: float | None = None,
) -> Report:  # fmt: skip
    """Return the report on a wrong answer, with the words for its cause if it is known."""
    looks = CAUSE_TEXTS[cause].format(**details or {}) if cause else ""
    return Report(title, "wrong", lines, cause, looks, where, got, expected)
