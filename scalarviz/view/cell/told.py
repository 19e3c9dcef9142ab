"""What a cell says beside its cubes: words and numbers of one moment, ready for JSON.

Numbers are written here, by the functions that write them in the window, so that both say the same. Every part belongs
to the frame that goes with it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from ..browser.looks import map_of, quantity_spec
from ..cubes.quantity import quantity_of
from ..cubes.sizes import ALL_ALIKE
from ..draw.equation import descent
from ..draw.text import figure, loss_text
from ..panels.hud import state_of
from ..panels.mistake import mistake_words
from ..panels.wording import update_names
from ..touched.figures import state_pairs
from ..touched.ledger import factors, ledger_of
from ..touched.rule_lines import is_plain, written
from ..watch.actions import ACTIONS

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..touched.account import Account
    from ..watch.viewer import Viewer
    from ..workbench import Workbench

LISTED = 6
"""Terms of a gradient that stand in a line of their own."""
MOST_UNITS = 600
"""Numbers of activations that go with a frame one by one."""
POINTS = 240
"""Of the curve of losses."""
EDITS = 200
"""Edits that are marked on the time bar, the latest ones."""
Part = dict[str, object] | None


def finite(number: float) -> float | str:
    """A number as JSON has it: what is none is a text."""
    return float(number) if math.isfinite(number) else repr(float(number))


def head(viewer: Viewer, frame: Frame) -> dict[str, object]:
    """Step, loss and learning rate, and the lines below them."""
    bench = viewer.bench
    inside = bench.inside.told is not None
    ahead, whole = (None, None) if inside else (bench.side.ground.ahead, bench.subject.loss_of_all(frame))
    found = () if inside else bench.side.headlines
    state = state_of(bench.subject, frame, viewer.pace_text(frame), bench.colouring.shows, found, ahead, whole)
    counted = bench.subject.source.counted
    return {"step": f"{state.step:,}" if counted else "", "of": f"of {state.newest:,}" if state.newest else "",
            "loss": loss_text(state.loss) if counted else "", "old": state.before if state.loss == state.loss else "",
            "more": [[one.words, one.value] for one in state.more], "set": "  ·  ".join(state.parts),
            "pace": "  ·  ".join(filter(None, (mistake_words(bench.subject), state.pace))),
            "shows": state.quantity, "whose": bench.inside.about if inside else state.about,
            "about": "  ·  ".join(filter(None, (state.about, bench.sizing.words())))}  # fmt: skip


def refusals(viewer: Viewer, names: Collection[str]) -> dict[str, str]:
    """Why some of the actions do nothing now."""
    here = viewer.here()
    return {one.name: reason for one in ACTIONS if one.name in names and (reason := one.missing(here))}


def micro(viewer: Viewer) -> Part:
    """The micro-step that is shown: its words, its formula in letters and in numbers; None outside of a step."""
    told = viewer.bench.inside.told
    if told is None:
        return None
    sentence = told.sentence
    return {"step": told.step, "at": told.at, "count": told.count, "samples": told.samples, "trial": told.trial,
            "phases": [[one.name, one.words, one.done, one.count] for one in told.phases], "phase": told.phase,
            "name": sentence.name, "meaning": sentence.meaning, "index": sentence.index,
            "formulas": [[one.letters, [[word.text, word.tone, word.bold] for word in one.numbers]]
                         for one in sentence.formulas]}  # fmt: skip


def inspector(viewer: Viewer, frame: Frame) -> Part:
    """What is known of the selected weight: name, value, gradient, update, and why it will move."""
    found = viewer.bench.touch.inspector
    if found is None:
        return None
    if not found.single:
        return {"name": found.selection.words, "index": None, "count": found.selection.count}
    index, subject = found.index, viewer.bench.subject
    known, moved = (bool(frame.known(name)[index]) for name in ("gradient", "update"))
    trained = subject.source.facts is not None or bool(frame.computed.any())
    gradient = figure(float(frame.gradient[index])) if known else "not computed yet" if trained else ""
    update = "frozen" if frame.frozen[index] else figure(float(frame.update[index])) if moved else ""
    explained = [ways[0] for ways in found.explanation(frame)]
    return {"name": found.who.name, "meaning": found.who.meaning, "index": index, "count": 1,
            "value": figure(float(frame.values[index])), "exact": finite(frame.values[index]), "gradient": gradient,
            "update": update, "updates": update_names(frame)[0], "old": frame.edited and known,
            "frozen": bool(frame.frozen[index]),
            "edits": subject.source.can.edit, "said": explained,
            "why": None if found.account is None else _why(found.account)}  # fmt: skip


def _why(account: Account) -> Part:
    """The terms of the coming step's gradient, their sum, and the optimiser's rule with this weight's numbers."""
    ledger = ledger_of(account, LISTED)
    listed = zip(account.terms[:LISTED], ledger.terms, strict=False)
    terms = [[term.sample + 1, *factors(term, shown, ledger.power), shown.text] for term, shown in listed]
    if is_plain(account):
        rate = next(sign.value for sign in account.lines[0].signs if sign.name == "lr") or 0.0
        rule = [descent(account.value, rate, account.gradient, account.new, least=3)]
    else:
        rule = [row for rows in written(account, float("inf"), formulas=False) for _, row in rows]
    return {"step": account.step + 1, "terms": terms, "count": account.count, "unit": ledger.unit,
            "rest": None if ledger.rest is None else ledger.rest.text, "total": ledger.total.text,
            "divisor": f"{account.divisor:,g}", "gradient": ledger.gradient.text, "exact": ledger.exact,
            "optimizer": account.optimizer, "rule": rule, "state": [list(pair) for pair in state_pairs(account)],
            "stays": account.frozen or not account.lines, "new": figure(account.new)}  # fmt: skip


def showing(bench: Workbench) -> Part:
    """What the cubes show and by which map, as the page's player takes it; and how large they are."""
    told = bench.inside.told
    quantity = bench.colouring.shows if told is None else quantity_of(told.quantity, bench.subject.source.moments)
    name = bench.cmap_name or quantity.cmap
    size = ALL_ALIKE if told is not None else bench.sizing  # formulas stand on large faces
    return {"quantity": {**quantity_spec(quantity), "map": name}, "map": map_of(name) if bench.cmap_name else None,
            "sizing": {"byValue": size.by_value, "threshold": size.threshold}}  # fmt: skip


def story(viewer: Viewer) -> Part:
    """What is to happen, or has happened: the large lines of the window; None while nothing is told."""
    told = viewer.bench.story.told
    if told is None or not told.headline:
        return None
    return {"headline": told.headline, "sentence": told.sentence}


def rows(frame: Frame) -> dict[str, list[float | str]]:
    """The rows of activations of a small network, those too that are no cubes; of a large one none."""
    if sum(np.size(row) for row in frame.activations.values()) > MOST_UNITS:
        return {}
    return {name: [finite(float(x)) for x in np.ravel(row)] for name, row in frame.activations.items()}


def curve(frame: Frame) -> Part:
    """Losses of all steps of the branch, of many so many as a bar has pixels: what a bar is drawn from."""
    steps, loss, _ = frame.curve if frame.past is None else frame.past.curve
    if not len(steps):
        return None
    places = np.unique(np.linspace(0, len(steps) - 1, POINTS).round().astype(int))
    return {"steps": steps[places].tolist(), "loss": [finite(float(f"{x:.6g}")) for x in loss[places]]}


def timeline(frame: Frame, which: str) -> Part:
    """Where it stands and can go, and what happened where, of the run's own frame; None where no past is kept.

    `which` loss a step has, in words, where the head tells that of all samples.
    """
    past = frame.past
    if past is None:
        return None
    return {"at": frame.step, "first": past.first, "newest": past.newest, "undo": past.undo, "redo": past.redo,
            "stepLoss": which,
            "edits": [[edit.step, edit.what] for edit in past.edits[-EDITS:]],
            "flags": [[flag.step, flag.name] for flag in past.flags],
            "branches": [{"number": b.number, "first": b.first, "newest": b.newest, "current": b.current, "why": b.why}
                         for b in past.branches]}  # fmt: skip
