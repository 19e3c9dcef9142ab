"""What the panel holds: rows of the controls of a run and of its scene, with their values at one moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ...errors import InputError, ScalarvizError
from ...run.controls import MOST_LAYERS, MOST_UNITS, Button, Control, Layers, Reader, Slider, Switch, fewer, more
from ...run.edits import Edit
from ...run.scene.own_controls import LAYERS, activation_of, keep_rule, own_controls, tick_values
from ...run.travel import seed_shown
from ..ink.places import LABEL
from ..ink.sketch import Kept
from ..ink.text import measure
from ..panels.drawer import words_of
from .control_rows import Item, Row, printed, row_of

ANEW = "what no longer fits starts anew"
_TOOLS = (
    ("restart", "begin anew", "The same first weights once more; what was learnt stays as a branch of its past."),
    ("back", "one step back", "The weights as they were one step before, to the last bit."),
    ("toggle_run", "run or pause", "Lets gradient descent go on, or stand still to be looked at."),
    ("step", "one step", "One batch forward, its gradient back, and one small change of every weight."),
    ("micro_next", "into a step", "Walks through the coming step: forward, loss, backward, update."),
)
_HEAD = ("learning rate", "batch", "optimiser", "momentum")
_KEYS = {"learning rate": ("lower_rate", "raise_rate"), "pace": ("slower", "faster")}
_PACE = "How fast you see it: steps between two pictures. It changes nothing of what is learnt."
_FEWER = "One unit less, which may be one pattern less that the layer can tell."
_MORE = "One unit more: another weighted sum that the layers behind can build on."
_UNITS = "How many weighted sums the layer makes of what comes before it."
_OUT = "Takes the layer away: what one layer cannot tell apart, the others have to."
_ADD = "One more layer between input and output: sums of bent sums, for shapes that are less simple."
_SEED = "Begins anew with other first weights: whether it learns should not hang on their luck."
USUAL_UNITS = 8
_HALF = 76.0  # logical pixels of the name of a switch in half a narrow panel
_TYPED_SEED = "seed"
_COPY = "The line that starts this run with the settings of this moment."


class Does(Protocol):
    """Who does what is no edit."""

    @property
    def speed(self) -> float:
        """How many times the usual pace."""
        ...

    @property
    def speeds(self) -> tuple[float, ...]:
        """All that it can be, infinity for no limit."""
        ...

    def keys_of(self, action: str) -> str:
        """The key of an action."""
        ...

    def send(self, action: str) -> object:
        """Do it."""
        ...

    def hurry(self, speed: float) -> None:
        """Another pace."""
        ...

    def reseed(self, seed: int) -> None:
        """Begin anew with weights of another seed."""
        ...

    def copy(self, words: str) -> None:
        """To the clipboard."""
        ...


class Contents:
    """The rows of one scene.

    Parameters
    ----------
    does : Does
    controls : sequence of Control
        Those of the scene: one that is called as one of the run's takes its place.
    command : callable or None
        See :attr:`Scene.command <scalarviz.run.scene.scene.Scene.command>`.
    hide : collection of str
        Names of those that are left out.

    Attributes
    ----------
    troubles : list of str
        What functions of the scene raised, each once; to be told and taken out.
    arrived : set of str
        Controls that were set by hand, of which a frame shows what was set; to be taken out.
    """

    def __init__(
        self,
        does: Does,
        controls: Sequence[Control] = (),
        command: Callable[[Reader], str | None] | None = None,
        hide: Collection[str] = (),
    ) -> None:
        self.troubles: list[str] = []
        self.arrived: set[str] = set()
        self._hidden, self._told = frozenset(hide), set[str]()
        self._does, self._command = does, None if command is None else self._asking(command, "the command")
        self._scene = tuple(self._guarded(control) for control in controls)
        self._own = Kept[tuple[Control, ...]]()
        self._bends: dict[str, None] = {}
        self._had: dict[str, Mapping[str, Any]] = {}  # the numbers of optimisers that there were
        self._tools = tuple(self._tool(*tool) for tool in _TOOLS)

    # ---- what a scene's own functions may do

    def _guarded(self, control: Control) -> Control:
        """The same with functions that never end the window: what they raise is said."""
        value, change = control.value, control.change

        def changed(new: Any, reader: Reader) -> Edit | None:
            try:
                return change(new, reader)
            except ScalarvizError:
                raise
            except Exception as error:  # the scene's own
                raise InputError(f"{control.label}: {words_of(error)}") from error

        return replace(control, value=self._asking(value, control.label), change=changed)

    def _asking(self, function: Callable[[Reader], Any], what: str) -> Callable[[Reader], Any]:
        """The same function; where it raises there is nothing, and `troubles` get a line, once."""

        def asked(reader: Reader) -> Any:
            try:
                return function(reader)
            except Exception as error:  # the scene's own
                line = f"{what}: {words_of(error)}"
                if line not in self._told:
                    self._told.add(line)
                    self.troubles.append(line)
                return None

        return asked

    # ---- the rows

    def rows(self, reader: Reader, wanted: Mapping[str, Any]) -> list[Row]:
        """The rows of a moment; `wanted` are values that a hand has set and that no frame shows yet, by name."""
        found = [Row("tools", self._tools)]
        own = {one.label: one for one in (*self._owned(reader), LAYERS) if one.label not in self._hidden}
        mine = {control.label: control for control in self._scene if control.label not in self._hidden}
        merged = [mine.pop(label, control) for label, control in own.items()]
        now = [one for one in merged if not (one.anew or isinstance(one, Layers))]
        head = [one for one in now if one.label in _HEAD]
        rest = [one for one in now if one not in head]
        later = [one for one in mine.values() if not one.anew and not isinstance(one, Layers)]
        found += self._filled(head, reader, wanted)
        found += [row for row in (row_of(self._paced()),) if row.label not in self._hidden]
        found += self._filled([*rest, *later], reader, wanted)
        anew = [one for one in (*merged, *mine.values()) if one.anew or isinstance(one, Layers)]
        last = [row for one in anew if isinstance(one, Layers) for row in self._layers(one, reader, wanted)]
        last += self._filled([one for one in anew if not isinstance(one, Layers)], reader, wanted)
        copied = self._copied(reader)
        last += [row_of(item) for item in copied] if "seed" in self._hidden else [self._seed(reader, copied)]
        return [*found, *([Row("rule")] if last else []), *last]

    def _owned(self, reader: Reader) -> tuple[Control, ...]:
        """Those of every run, made anew only where which there are, or a usual value, has become another."""
        settings = reader.settings
        bend = activation_of(reader)
        self._bends |= {} if bend is None else {bend: None}  # what there was once can be had again
        self.notice(reader)
        set_now = () if settings is None else (settings.samples, bool(settings.limits.l1), bool(settings.limits.l2))
        known = (*set_now, len(self._bends), len(self._had), *reader.frame.curve.lr[:1].tolist())
        return self._own.of(known, lambda: own_controls(reader, tuple(self._bends), self._had))

    def notice(self, reader: Reader) -> None:
        """What is set at a moment and can be had again, asked at every one: an optimiser's numbers."""
        keep_rule(self._had, reader)

    # ---- rows of controls

    def _filled(self, controls: Sequence[Control], reader: Reader, wanted: Mapping[str, Any]) -> list[Row]:
        """Rows of those that can be had; switches that follow each other stand two in a row."""
        items = [item for item in (self._item(one, reader, wanted) for one in controls) if item is not None]
        rows: list[Row] = []
        for item in items:
            before = rows[-1] if rows else None
            pairs = before is not None and before.look == "switches" and len(before.items) == 1
            if before is not None and pairs and _short(item) and _short(before.items[0]):
                rows[-1] = replace(before, items=(*before.items, item))
                continue
            row = row_of(item)
            rows.append(replace(row, note=ANEW) if item.control.anew else row)
        return rows

    def _item(self, control: Control, reader: Reader, wanted: Mapping[str, Any]) -> Item | None:
        value = control.value(reader)
        if value is None:
            return None
        value = self._put(control, value, wanted)
        shown, ticks = "", tuple[tuple[float, str], ...]()
        if isinstance(control, Slider):
            shown, ticks = printed(value), tuple((tick, printed(tick)) for tick in tick_values(control))
        elif not isinstance(control, Switch | Button) and value not in control.choices:  # type: ignore[attr-defined]
            shown = printed(value)
        return Item(self._with_flag(control, reader), value, self._key(control.label), shown, ticks)

    def _put(self, control: Control, value: Any, wanted: Mapping[str, Any]) -> Any:
        """What a hand has set, as long as no frame shows it."""
        found = wanted.get(control.label, value)
        if control.label in wanted and found == value:
            self.arrived.add(control.label)
        return found

    def _with_flag(self, control: Control, reader: Reader) -> Control:
        """Without flags that the scene's command line has not."""
        if control in self._scene:
            return control
        flags = [one for one in control.flag.split(", ") if hasattr(reader.options, one[2:].replace("-", "_"))]
        known = ", ".join(flags)
        return control if known == control.flag else replace(control, flag=known)

    def _key(self, label: str) -> str:
        return ", ".join(self._does.keys_of(action) for action in _KEYS.get(label, ()))

    # ---- what is no edit

    def _tool(self, action: str, label: str, does: str) -> Item:
        button = Button(label, "", does, change=lambda value, reader: _done(self._does.send(action)))
        return Item(button, keys=self._does.keys_of(action), sign=action)

    def _paced(self) -> Item:
        """The pace as a slider that stands at the speeds there are; its right end is none at all."""
        speeds = self._does.speeds
        ends = [one for one in speeds if one != float("inf")]
        most = ends[-1] * ends[-1] / ends[-2]

        def place(speed: float) -> float:
            return most if speed == float("inf") else speed

        control = Slider(
            "pace", "", _PACE, least=ends[0], most=most, log=True, usual=1.0,
            value=lambda reader: place(self._does.speed),
            change=lambda value, reader: self._does.hurry(float("inf") if value >= most else value),
        )  # fmt: skip
        stops = tuple(place(one) for one in speeds)
        ticks = ((ends[0], f"1/{1 / ends[0]:g}x"), (1.0, "1x"), (most, "no limit"))
        now = place(self._does.speed)
        shown = "no limit" if now >= most else f"{now:g}x" if now >= 1 else f"1/{1 / now:g}x"
        return Item(control, now, self._key("pace"), shown, ticks, stops=stops)

    def _layers(self, control: Layers, reader: Reader, wanted: Mapping[str, Any]) -> list[Row]:
        """Buttons for the units of each hidden layer; none where they cannot be changed, or are too many."""
        now = control.value(reader)
        if not isinstance(now, tuple | list) or len(now) > MOST_LAYERS:
            return []
        known, hidden = self._with_flag(control, reader), tuple(self._put(control, tuple(now), wanted))
        items, middles = list[Item](), list[Item]()
        for k, units in enumerate(hidden):
            name, before, after = f"layer {k + 1}", hidden[:k], hidden[k + 1 :]
            out = _units(known, f"{name} taken out", _OUT, (*before, *after))
            less = (*before, *((fewer(units),) if fewer(units) else ()), *after)
            grown, shown = (*before, more(units), *after), printed(units)
            items.append(_units(known, f"{name}: fewer units", _FEWER, less, shown, out))
            items.append(_units(known, f"{name}: more units", _MORE, grown, shown, out))
            middles.append(_number(known, name, k, hidden, out))
        if len(hidden) < MOST_LAYERS:
            items.append(_units(known, "add a layer", _ADD, (*hidden, hidden[-1] if hidden else USUAL_UNITS)))
        weights = [stage.weight.shape for stage in reader.stages if stage.weight is not None]
        ends = (printed(weights[0][1]), printed(weights[-1][0])) if weights else ("", "")
        return [Row("layers", tuple(items), control.label, "that no longer fit start anew", ends=ends,
                    middles=tuple(middles))]  # fmt: skip

    def _seed(self, reader: Reader, copied: Sequence[Item]) -> Row:
        """Which first weights, and a way to others; beside it the button that copies the command."""
        seed = seed_shown(reader.frame)
        flag = "--weights-seed" if hasattr(reader.options, "weights_seed") else ""  # --seed is that of the samples too

        def other(value: object, reader: Reader) -> None:
            self._does.reseed(seed + 1)

        def typed(value: float, reader: Reader) -> None:
            self._does.reseed(int(value))

        button = Item(Button("reseed", flag, _SEED, change=other))
        number = Slider(_TYPED_SEED, flag, _SEED, least=0, most=2**32, whole=True,
                        value=lambda reader: seed, change=typed)  # fmt: skip
        return Row("buttons", (button, *copied), "seed", printed(seed), typed=Item(number, seed))

    def _copied(self, reader: Reader) -> list[Item]:
        """What copies the command line that shows the same, where the scene knows it."""
        command = self._command
        if "copy as command" in self._hidden or command is None or not command(reader):
            return []

        def copied(value: object, reader: Reader) -> None:
            self._does.copy(command(reader) or "")

        return [Item(Button("copy as command", "", _COPY, change=copied))]


def _short(item: Item) -> bool:
    """Whether it is a switch of which two have room side by side."""
    return isinstance(item.control, Switch) and measure(item.name, LABEL) <= _HALF


def _units(
    control: Control, label: str, does: str, sizes: tuple[int, ...], shown: str = "", out: Item | None = None
) -> Item:
    """A button that makes the hidden layers those of `sizes`."""

    def change(value: object, reader: Reader) -> Edit | None:
        return control.change(control.taken(sizes), reader)

    return Item(Button(label, control.flag, does, change=change), sizes, shown=shown, part_of=control.label, out=out)


def _number(control: Control, label: str, place: int, sizes: tuple[int, ...], out: Item) -> Item:
    """How many units the layer at a place has, to be typed, or dragged out."""

    def change(value: int, reader: Reader) -> Edit | None:
        return control.change(control.taken((*sizes[:place], int(value), *sizes[place + 1 :])), reader)

    units = sizes[place]
    number = Slider(label, control.flag, _UNITS, least=1, most=max(units, MOST_UNITS), log=True, whole=True,
                    value=lambda reader: units, change=change)  # fmt: skip
    return Item(number, units, shown=printed(units), out=out)


def _done(what: object) -> None:
    """It was no edit."""
