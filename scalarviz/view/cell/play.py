"""`Play`: what one cell shows and lets be done, without threads and without a notebook.

It wraps a viewer: a `LiveView`, which trains, or one that follows what the user's own cells change. What it offers to a
`Channel` is one moment: the numbers of a frame and all that is said beside them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..cubes.atlas import ALL_ALIKE, DEAD, NOT_COMPUTED
from ..cubes.own import LOOKS, OwnLook
from ..cubes.scale import quantity_of
from ..ink.axes import evenly
from ..ink.text import figure, loss_text
from ..notes.layer import formulas
from ..notes.scenery import is_single
from ..page.document import document_of, flags_of, map_of, quantity_spec, texels_of
from ..page.page import json_number
from ..panels.wording import newest_beyond, update_names
from ..screen.account import factors, ledger_of, written
from ..screen.hud import mistake_words, state_of
from ..watch.actions import ACTIONS
from ..watch.live import LiveView
from ..watch.viewer import Viewer
from .asked import ALLOWED, Asked, CellControls, covered
from .channel import RATE, Channel, pace_of
from .panels import CellPanels

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.edits import Edit
    from ..micro.inside import Inside
    from ..screen.account import Account
    from ..workbench import Workbench

KEPT = 30.0  # seconds between two pictures for the saved notebook, while something moves
BENCH = (1280, 720)  # size for which a viewer of numbers is laid out: one that has a column for the inspector
RESTED = 1.0
"""Seconds without another number after which that picture is of now: a loop by hand is done, or an edit."""
CURVE = 0.5  # seconds between two curves of all losses, while it trains


class Snapshot(Viewer):
    """A viewer whose numbers stay until :meth:`look`.

    Whoever trains by hand does so in another thread; read in the middle of a step, half of the numbers would be of the
    step before.
    """

    _seen: Frame | None = None

    def look(self) -> None:
        """Take over the numbers of now."""
        self._seen = super().now()

    def now(self) -> Frame:
        """Those that were looked at last."""
        if self._seen is None:
            self._seen = super().now()
        return self._seen

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Do an edit, which is seen at once."""
        super().change(edit, gesture)
        self.look()


class Play:
    """One cell's viewer, its controls and its table of requests; cubes are laid out for `size` pixels."""

    drawing: AbstractContextManager[object] = nullcontext()  # around all that its session has it do

    def __init__(
        self, viewer: Viewer, hide: Collection[str], controls: bool, size: tuple[int, int], title: str = ""
    ) -> None:
        self.viewer, self._hide, self._left_out = viewer, frozenset(hide), covered(hide)
        live = viewer if isinstance(viewer, LiveView) else None
        self._live = live
        self._controls = None if live is None or not controls else CellControls(live, live.scene, hide)
        self._panels = None if "panels" in self._hide else CellPanels(viewer.bench)
        self.asked = Asked(viewer, self._controls, hide)
        self._size, self._title = size, title
        self._document: tuple[object, dict[int, OwnLook], dict[str, object]] | None = None
        self._worn = LOOKS.version
        self._curve: Part = None
        self._curve_at = 0.0
        self._changed = True
        self._sent: tuple[Frame, dict[str, object]] | None = None
        self._kept: tuple[object, float] | None = None  # the saved picture's moment, and when it was
        self._stood: tuple[object, float] | None = None  # the newest moment, and since when
        self._was_moving = False

    # ---- time

    @property
    def moves(self) -> bool:
        """Whether anything trains or travels."""
        live = self._live
        return live is not None and (live.playback.running or live.worker.busy or live.worker.journey is not None)

    def take(self, asked: object) -> None:
        """Do what a message asks for."""
        self.asked.take(asked)
        self._changed = True

    def do(self, asked: object) -> None:
        """The same; raises where it is not done."""
        self._changed = True
        self.asked.do(asked)
        self.viewer.refresh()

    def look(self) -> None:
        """Take over what the user's own cells have changed."""
        if isinstance(self.viewer, Snapshot):
            self.viewer.look()
        self.pass_time(0.0)

    def pass_time(self, seconds: float, *, seen: bool = True) -> None:
        """`seconds` have passed; where nobody has `seen` them nothing is worked out but what trains."""
        if seen:
            self._changed |= self.viewer.tick(seconds)
            if self._panels is not None:
                self._panels.look(curve=self._no_bar)
        else:
            self.viewer.advance(seconds)

    def keeps(self, now: float) -> bool:
        """Whether the picture of the saved notebook is to be renewed: at rest at once, else now and then."""
        rested = self._was_moving and not self.moves
        self._was_moving = self.moves
        frame = self.viewer.shown
        moment = (frame.step, frame.values.tobytes() if len(frame.values) <= 4096 else float(frame.values.sum()))
        if self._kept is None:
            self._kept = moment, now
        if self._stood is None or self._stood[0] != moment:
            self._stood = moment, now
        rested |= not self.moves and now - self._stood[1] >= RESTED
        if moment == self._kept[0] or not (rested or now - self._kept[1] >= KEPT):
            return False
        self._kept = moment, now
        return True

    @property
    def whole(self) -> Frame:
        """The frame of now; inside of an opened step that of the run, for a picture that has no room for the step."""
        told = self.viewer.bench.inside.told
        return self.viewer.shown if told is None else told.before

    def close(self) -> None:
        """Let go of what is shown."""
        self.viewer.close()

    # ---- what is shown

    def offer(self, channel: Channel) -> bool:
        """Send the moment of now, if it is another one; returns whether it was sent."""
        if self._panels is not None:
            self._changed |= self._panels.renew(self.viewer.clock, channel)
        self._changed |= self._worn != LOOKS.version  # a cell of the user has given a cube another look
        if not (self._changed or channel.new):
            return False
        self._worn = LOOKS.version
        self._changed, frame = False, self.viewer.shown
        parts, before = self.parts(frame), self._sent
        if not channel.new and before is not None and before[0] is frame and before[1] == parts:
            return False
        self._sent, buffers = (frame, parts), self.buffers(frame)
        pace = pace_of(sum(map(len, buffers.values())))  # frames may be so large that fewer of them are sent
        thinned = "" if pace >= RATE else f"{len(frame.values):,} numbers: {pace:.2g} frames a second"
        if self._live is not None:
            self._live.mark_frame()
        content: dict[str, object] = {
            "step": frame.step, "loss": json_number(frame.loss), "buffers": list(buffers), "rows": rows(frame),
            "known": self._known(frame), "past": newest_beyond(frame) > 0,
            "inside": rows_told(self.viewer.bench.inside, self.document()), "formulas": self._formulas(frame),
        }  # fmt: skip
        channel.offer(content, {**parts, "thinned": thinned}, list(buffers.values()))
        return True

    def _formulas(self, frame: Frame) -> list[list[str]]:
        """Of a single layer for each output the ways to write it, the best first."""
        bench = self.viewer.bench
        single = is_single(bench.subject, bench.layout)
        return formulas(frame, bench.subject.stages, bench.subject.sample) if single else []

    def _known(self, frame: Frame) -> dict[str, bool]:
        """Whether there are gradients and updates of the frame, and what the optimiser keeps where that is shown."""
        shows = self.viewer.bench.colouring.shows
        none = shows.state and shows.numbers(frame) is None
        return {name: bool(frame.known(name).any()) and not none for name in ("gradient", "update")}

    def parts(self, frame: Frame) -> dict[str, object]:
        """All that is said beside the numbers of a frame."""
        viewer, live = self.viewer, self._live
        bench, here = viewer.bench, viewer.here()
        inside, story = bench.inside.told, bench.story.told
        why_not = {one.name: one.missing(here) for one in ACTIONS if one.name in ALLOWED}
        return {
            "head": head(viewer, frame), "running": live is not None and live.playback.running,
            "notice": viewer.message() or viewer.notice(), "micro": micro(viewer),
            "story": None if story is None or not story.headline
            else {"headline": story.headline, "sentence": story.sentence},
            "quantity": bench.colouring.quantity if inside is None else inside.quantity, "showing": showing(bench),
            "why_not": {name: why for name, why in why_not.items() if why and name not in self._left_out},
            "controls": [] if self._controls is None else self._controls.written,
            "breaks": None if live is None or self._controls is None or "pause when" in self._left_out
            else live.breaks.listed,
            "tools": [] if self._controls is None else list(self._controls.tools),
            "inspector": None if "inspector" in self._hide else inspector(viewer, frame),
            "time": None if "timeline" in self._hide else timeline(self.whole, bench.subject.step_loss),
            "curve": self._losses(self.whole),
            "document": self.document(), **({} if self._panels is None else self._panels.parts),
        }  # fmt: skip

    @property
    def _no_bar(self) -> bool:
        """Whether there is no time bar, which has the curve of the loss."""
        return "timeline" in self._hide or self.whole.past is None

    def document(self) -> dict[str, object]:
        """What the cubes are drawn from; the same object as long as it is the same network, and its cubes look so."""
        subject = self.viewer.bench.subject
        looks = LOOKS.of(subject.source)
        if self._document is None or self._document[0] is not subject or self._document[1] != looks:
            self._document = subject, looks, document_of(subject, self._size, title=self._title, looks=looks)
        return self._document[2]

    def _losses(self, frame: Frame) -> Part:
        """The curve, made anew now and then: the page adds what comes in between."""
        now = self.viewer.clock
        if now >= self._curve_at or not self.moves:
            self._curve_at, self._curve = now + CURVE, None if "timeline" in self._hide else curve(frame)
        return self._curve

    def buffers(self, frame: Frame) -> dict[str, bytes]:
        """The numbers of a frame as the player's textures want them: values, what is shown besides, and marks."""
        document, shows = self.document(), self.viewer.bench.colouring.shows
        told = self.viewer.bench.inside.told
        shown = shows.name if told is None else told.quantity
        wanted = ("weight", *(name for name in ("gradient", "update") if name in shown))
        numbers = {name: texels_of(frame, document, name) for name in wanted}
        if shows.state and told is None:
            numbers[shows.name] = texels_of(frame, document, shows)
        flags = flags_of(frame, document)
        put_rows(self.viewer.bench.inside, document, numbers["weight"], flags)
        found = {name: texels.tobytes() for name, texels in numbers.items()}
        return {**found, "flags": flags.tobytes()} if flags.any() else found


# ---- Rows of activations that are cubes, inside of an opened step: what is not there yet, and deltas on the way back.


def put_rows(
    inside: Inside, document: Mapping[str, Any], texels: NDArray[np.float32], flags: NDArray[np.uint8]
) -> None:
    """Write rows into the numbers and marks of a frame, both (texels,); nothing where no step is open."""
    if inside.told is None:
        return
    deltas = inside.row_deltas() if inside.backward else {}
    for plate in document["plates"]:
        if plate["kind"] != "activation":
            continue
        name, span = plate["name"], slice(plate["texel"], plate["texel"] + plate["size"])
        row = np.ravel(deltas[name]) if name in deltas else None
        if inside.backward:
            there = np.zeros(plate["size"], bool) if row is None else ~np.isnan(row)
            flags[span] &= 255 - DEAD
        else:
            there = np.ravel(inside.told.reached[name])
        if row is not None:
            texels[span] = np.where(there, row, 0.0)
        flags[span] |= np.where(there, 0, NOT_COMPUTED).astype(np.uint8)


def rows_told(inside: Inside, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """What goes with such a frame: the range of the deltas, and which numbers beside the cubes are there; else None."""
    if inside.told is None:
        return None
    scale, single = inside.delta_range, document["words"]["single"]
    names = (single["sums"], single["last"], "input") if single else ()
    reached = {name: np.ravel(inside.told.reached[name]).tolist() for name in names if name in inside.told.reached}
    return {
        "range": None if scale is None else {"low": scale.low, "high": scale.high, "scale": scale.scale},
        "reached": reached,
        "cubes": [plate["name"] for plate in document["plates"] if plate["kind"] == "activation"],
    }


# ---- What a cell says beside its cubes: words and numbers of one moment, ready for JSON.

LISTED = 6  # terms of a gradient that stand in a line of their own
MOST_UNITS = 600  # numbers of activations that go with a frame one by one
POINTS = 240  # of the curve of losses
EDITS = 200  # edits that are marked on the time bar, the latest ones
Part = dict[str, object] | None


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
            "value": figure(float(frame.values[index])), "exact": json_number(frame.values[index]),
            "gradient": gradient, "update": update, "updates": update_names(frame)[0], "old": frame.edited and known,
            "frozen": bool(frame.frozen[index]),
            "edits": subject.source.can.edit, "said": explained,
            "why": None if found.account is None else _why(found.account)}  # fmt: skip


def _why(account: Account) -> Part:
    """The terms of the coming step's gradient, their sum, and the optimiser's rule with this weight's numbers."""
    ledger = ledger_of(account, LISTED)
    listed = zip(account.terms[:LISTED], ledger.terms, strict=False)
    terms = [[term.sample + 1, *factors(term, shown, ledger.power), shown.text] for term, shown in listed]
    rule = [account.descent]
    if not rule[0]:
        rule = [row for rows in written(account, float("inf"), formulas=False) for _, row in rows]
    return {"step": account.step + 1, "terms": terms, "count": account.count, "unit": ledger.unit,
            "rest": None if ledger.rest is None else ledger.rest.text, "total": ledger.total.text,
            "divisor": f"{account.divisor:,g}", "gradient": ledger.gradient.text, "exact": ledger.exact,
            "optimizer": account.optimizer, "rule": rule, "state": [list(pair) for pair in account.pairs],
            "stays": account.frozen or not account.update.lines, "new": figure(account.update.after)}  # fmt: skip


def showing(bench: Workbench) -> Part:
    """What the cubes show and by which map, as the page's player takes it; and how large they are."""
    told = bench.inside.told
    quantity = bench.colouring.shows if told is None else quantity_of(told.quantity, bench.subject.source.moments)
    name = bench.cmap_name or quantity.cmap
    size = ALL_ALIKE if told is not None else bench.sizing  # formulas stand on large faces
    return {"quantity": {**quantity_spec(quantity), "map": name}, "map": map_of(name) if bench.cmap_name else None,
            "sizing": {"byValue": size.by_value, "threshold": size.threshold}}  # fmt: skip


def rows(frame: Frame) -> dict[str, list[float | str]]:
    """The rows of activations of a small network, those too that are no cubes; of a large one none."""
    if sum(np.size(row) for row in frame.activations.values()) > MOST_UNITS:
        return {}
    return {name: [json_number(float(x)) for x in np.ravel(row)] for name, row in frame.activations.items()}


def curve(frame: Frame) -> Part:
    """Losses of all steps of the branch, of many so many as a bar has pixels: what a bar is drawn from."""
    steps, loss, _ = frame.curve if frame.past is None else frame.past.curve
    if not len(steps):
        return None
    places = evenly(len(steps), POINTS)
    return {"steps": steps[places].tolist(), "loss": [json_number(float(f"{x:.6g}")) for x in loss[places]]}


def timeline(frame: Frame, which: str) -> Part:
    """Where it stands and can go, and what happened where; `which`: the loss that a step has, in words."""
    past = frame.past
    if past is None:
        return None
    return {"at": frame.step, "first": past.first, "newest": past.newest, "undo": past.undo, "redo": past.redo,
            "stepLoss": which,
            "edits": [[edit.step, edit.what] for edit in past.edits[-EDITS:]],
            "flags": [[flag.step, flag.name] for flag in past.flags],
            "branches": [{"number": b.number, "first": b.first, "newest": b.newest, "current": b.current, "why": b.why}
                         for b in past.branches]}  # fmt: skip
