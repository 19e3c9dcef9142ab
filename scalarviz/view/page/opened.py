"""Opened steps in a page: the window's picture at each micro-step, as display lists, and the numbers of its cubes.

A page cannot compute a step, so it stores those that are asked for. The lists are the window's own, for a lying and a
standing picture; equal records are stored once. The browser has the cubes: it colours them from their numbers, and it
turns them.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...errors import InputError, ScalarvizError, TypeMismatchError, listing, shown, typed
from ...run.core.tensors import Stage
from ...run.opened.opened import Opened
from ...run.sources.played import RecordedSource
from ..ink.listed import Listed, Record, short
from ..ink.sketch import NODES, OTHER
from ..ink.theme import DARK, Theme
from ..micro.light import whose_deltas
from ..micro.step_view import BACKWARD, GRADIENTS, MicroStepView, Sentence
from ..micro.walk import Walk, open_step, sides
from ..shown.subject import Subject
from ..workbench import Workbench
from .lists import PARTS, PictureLists, Pool, number_in, shapes_of
from .pack import array_text, packed_text
from .page import MOST_BESIDE, json_number
from .trials import MOST_WEIGHTS, deltas_of, nodes_of, reproduces

Floats = NDArray[np.float64]
MOST_BYTES = 400_000  # most bytes of the numbers of the steps that nobody asked for, uncompressed
COMING = "coming"
"""First part of a record that steps have which the page computes."""
SPOTS = {"phase", "switch"}  # places of the picture that a page can press


def checked_steps(asked: object) -> list[int] | None:
    """Return the steps to open as a list; None stays None."""
    if asked is None:
        return None
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise TypeMismatchError(f"open: got {typed(asked)}; allowed: a list of steps, such as [0, 100]")
    return [integer(f"open: {shown(step)}", step, 0) for step in asked]


def steps_to_open(asked: Sequence[int] | None, steps: Sequence[int], loss: NDArray[np.float64]) -> list[int]:
    """Return the indices of the frames after which steps are opened, the most telling first.

    Those are the frames at the steps `asked` for, or the nearest; by default those before the largest fall of the loss,
    the last and the first one. `steps` and `loss` are those of the page's frames.
    """
    if asked is None:
        falls = -np.diff(np.nan_to_num(loss, nan=np.inf, posinf=np.inf))
        falls = np.where(np.isfinite(falls), falls, -np.inf)
        return [*dict.fromkeys([*([int(falls.argmax())] if len(falls) else []), len(steps) - 1, 0])]
    nearest = [min(range(len(steps)), key=lambda place: abs(steps[place] - step)) for step in asked]
    if missing := [(step, steps[k]) for step, k in zip(asked, nearest, strict=True) if steps[k] != step]:
        said = listing(f"{there:,} in place of {step:,}" for step, there in missing)
        warnings.warn(f"the page opens step {said}: not every step was recorded", RuntimeWarning, stacklevel=6)
    return [*dict.fromkeys(nearest)]


def opened_of(
    subject: Subject, source: RecordedSource, frames: Sequence[int], asked: Sequence[int] | None, loss: Sequence[float],
    pool: Pool, look: Theme = DARK,
) -> tuple[dict[str, Any], str] | None:  # fmt: skip
    """Return the opened steps after some of the `frames` of a page, or None if there are none.

    The result is JSON data, and a packed array with a row for each walk: the numbers of the cubes (see `_numbers`). A
    walk is an opened step, of one sample or of the whole batch. The source keeps its position.
    """
    places = steps_to_open(asked, [int(source.steps[k]) for k in frames], np.asarray(loss, np.float64))
    book, count = _Book(subject, pool, look), sum(tensor.size for tensor in subject.tensors)
    if asked is None:
        width = 4 * count + 2 * sum(book.rows.values())
        places = places[: MOST_BYTES // (2 * 4 * width)]
    elif places and (why := source.lacks("micro")):
        raise InputError(f"open: {why}")
    if not places:
        return None
    walks, rows, here = list[dict[str, Any]](), list[Floats](), source.place
    models = dict[bool, int]()  # of each side, the last walk that can show another step
    try:
        for place in places:
            source.show_frame(frames[place])
            frame = source.frame()
            for alone in sorted(sides(subject), reverse=True):
                try:
                    opened = open_step(subject, alone=alone)
                    walk = Walk(opened, subject, frame)
                    book.rows[NODES] = nodes_of(opened._passes.network)
                except ScalarvizError:  # steps that cannot be read are left out
                    continue
                numbers = {"loss": json_number(opened.loss), "lr": json_number(opened.lr)}
                walks.append({"frame": place, "step": opened.step, "alone": opened.trial, **numbers,
                              **book.written(walk, opened)})  # fmt: skip
                rows.append(_numbers(walk, opened, [*book.rows], count))
                if reproduces(walk, count):
                    models[opened.trial] = len(walks) - 1
    finally:
        source.show_frame(here)
    if not rows:
        return None
    plans = [json.loads(plan) for plan in book.plans]
    told = {"plans": plans, "walks": walks, "rows": [*book.rows.items()], "models": [*models.values()]}
    if count <= MOST_WEIGHTS:  # texts have many digits
        return told, array_text(np.stack(rows))
    return told, packed_text(np.stack(rows).astype(np.float32), exact=True)


class _Book:
    """Writes the pictures of opened steps in both shapes; equal plans of steps are stored once."""

    def __init__(self, subject: Subject, pool: Pool, look: Theme) -> None:
        self._subject, self._pool = subject, pool
        self._benches = [Workbench(subject, size, look) for size in shapes_of(look)]
        self._lists = [PictureLists(bench, films=True, bound=True, marks=True) for bench in self._benches]
        self._listed = Listed(self._benches[0].theme, bound=True, marks=True)
        self.plans: dict[str, int] = {}

    def written(self, walk: Walk, opened: Opened) -> dict[str, Any]:
        """Return what is said of a walk: its plan and captions, for each shape how far cubes may rise, and its lists.

        The lists are changes, of both shapes at each micro-step: equal texts then stand near each other.
        """
        steps = [walk.micro_step_at(at) for at in range(1, len(walk) + 1)]
        before, lists, rises = [list[int]() for _ in self._benches], list[list[Any]](), list[list[Any]]()
        for bench in self._benches:
            bench.follow(walk.frame)
            bench.step_drawing.show(None)  # the layout depends on the first micro-step
        for step in steps:
            for shape, bench in enumerate(self._benches):
                bench.step_drawing.show(step, animated=False)
                bench.update(step.frame, step.headline.removeprefix("paused "))
                before[shape], change = self._pool.spliced(before[shape], self._now(shape))
                lists.append(change)
                if step is steps[-1]:
                    height, first, shares = bench.step_drawing.heights
                    rises.append([height, first, *np.round(shares, 4).tolist()])
        plan = _plan(steps, opened, self._subject.stages, self._cubes, self.rows)
        layouts = [self._pool.layout(bench) for bench in self._benches]
        said = [_said(one.sentence) for one in steps]
        return {"plan": number_in(self.plans, plan), "layouts": layouts, "said": said, "rise": rises, "lists": lists}

    @cached_property
    def rows(self) -> dict[str, int]:
        """Names and lengths of the rows in the page: all if they are short, else the last and those that cubes show."""
        subject, found = self._subject, self._cubes.union(*({s.name for s in b.layout.spots} for b in self._benches))
        lengths = {"input": subject.source.n_inputs, **{stage.name: stage.outputs for stage in subject.stages}}
        if subject.target is not None:
            lengths["target"] = np.size(subject.target)
        for known in (0.0, np.nan):  # cubes also show the deltas of other rows
            deltas = {stage.name: np.full(stage.outputs, known) for stage in subject.stages}
            found = found.union(whose_deltas(subject.stages, deltas, self._cubes).values())
        last = subject.stages[-1:]  # of which a sentence tells
        found = found.union(stage.name for stage in last if stage.outputs <= MOST_BESIDE)
        beside = {name for name in lengths if name not in found}
        found = found.union(beside if sum(lengths[name] for name in beside) <= MOST_BESIDE else ())
        return {name: length for name, length in lengths.items() if name in found}

    @cached_property
    def _cubes(self) -> set[str]:
        return {plate.name for bench in self._benches for plate in bench.layout.plates if plate.kind == "activation"}

    def _now(self, shape: int) -> Iterator[Record]:
        parts = self._lists[shape].parts()
        for name in PARTS:
            yield from parts[name]
        for needs, sketch in self._benches[shape].step_drawing.instead():
            for record in self._listed.records([sketch]):
                yield [f"{OTHER}{needs}" if needs else COMING, *record]
        for spot in self._benches[shape].spots:
            if spot.name in SPOTS:
                yield ["spot", *short(spot.box), spot.name, spot.value, spot.words]


def _said(sentence: Sentence) -> list[str]:
    """Return what a sentence says in every step with the same plan, and what it says in its own alone."""
    name, caption = f"{sentence.name}:", sentence.caption.text
    if sentence.chosen:
        return ["", f"{name} {caption}".strip()]
    return [name, caption] if sentence.passing else [f"{name} {caption}".strip(), ""]


def _numbers(walk: Walk, opened: Opened, rows: Sequence[str], count: int) -> Floats:
    """Return the numbers of a walk: gradients, factors forward and backward, changes, values, rows, deltas.

    A weight times its factor is what the cube shows on the way forward or backward. Many weights share a factor. In a
    large network the values are those of the page's frame.
    """
    passes, nodes = opened._passes, slice(nodes_of(opened._passes.network))
    found: dict[str, Any] = {**walk.frame.activations, NODES: passes.means[nodes]}
    sums: dict[str, Any] = {**opened.delta_sums, NODES: passes.adjoint_sums[nodes]}
    made = [np.asarray(found.get(name, walk.subject.target), np.float64) for name in rows]
    deltas = [sums.get(name, np.full(np.size(row), np.nan)) for name, row in zip(rows, made, strict=True)]
    values, micro_step = np.asarray(walk.frame.values, np.float64), walk.micro_step_at(len(walk))
    back = micro_step.backward_factors
    with np.errstate(all="ignore"):
        if any(len(stage.shape) == 3 for stage in walk.stages.values()):  # deltas on maps have terms of their own
            for at in range(walk.first_of(BACKWARD), walk.first_of(GRADIENTS)):
                own = walk.micro_step_at(at).frame.state.get("passed on", np.full(len(values), np.nan))
                back = np.where(np.isnan(own) | (values == 0), back, own / values)
        lit = [opened.gradient, micro_step.forward_factors, back, opened.new_values - values]
        lit += [values, deltas_of(walk, count)] if count <= MOST_WEIGHTS else []
        parts = [*(numbers[:count] for numbers in lit), *made, *deltas]
        return np.concatenate([np.ravel(part) for part in parts])


# ---- What a micro-step lights, which many opened steps share.


def _plan(
    steps: Sequence[MicroStepView], opened: Opened, stages: Sequence[Stage], cubes: set[str], rows: Mapping[str, int]
) -> dict[str, Any]:
    spans = opened.phases()
    return {"steps": [phase for phase, span in enumerate(spans) for _ in range(span.count)],
            "lights": [_light(step, stages, cubes, rows) for step in steps]}  # fmt: skip


def _runs(numbers: NDArray[np.int64]) -> list[list[int]]:
    """Return whole numbers as runs of consecutive ones: first, and one after the last."""
    if not len(numbers):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [[int(numbers[a]), int(numbers[b - 1]) + 1] for a, b in pairwise(cuts)]


def _light(step: MicroStepView, stages: Sequence[Stage], cubes: set[str], rows: Mapping[str, int]) -> list[Any]:
    """Return what a micro-step lights, as runs of indices.

    These are: lit weights, weights in the colour range, weights with a gradient, weights of the micro-step; known
    activations and known deltas over all `rows`; and the source of the deltas on each row of cubes.
    """
    numbers = step.frame.state.get(step.quantity)
    lit = step.frame.computed if numbers is None else ~np.isnan(numbers)
    none = {name: np.zeros(length, bool) for name, length in rows.items()}
    reached = [step.reached.get(name, none[name]) for name in rows]
    come = [~np.isnan(step.deltas[name]) if name in step.deltas else none[name] for name in rows]
    known = (np.concatenate([np.zeros(0, bool), *some]) for some in (reached, come))
    every = (lit, ~np.isnan(step.range_values), step.frame.computed, *known)
    runs = [_runs(np.flatnonzero(some)) for some in every]
    whose = list(whose_deltas(stages, step.deltas, cubes).items())
    return [*runs[:3], _runs(np.sort(step.weights)), *runs[3:], whose]
