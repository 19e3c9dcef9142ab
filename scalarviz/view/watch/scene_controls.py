"""`ControlRows`: a viewer's controls as rows, and the edits that they make; `SceneControls`: their panel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ScalarvizError, listing, shown
from ...run.controls import MOST_LAYERS, MOST_UNITS, Button, Control, Layers, Reader, Segments, Slider, fewer, more
from ...run.edits import Edit
from ...run.scene.own_controls import LAYERS, activation_of, keep_rule, own_controls, tick_values
from ...run.travel import seed_shown
from ..ink.boxes import LABEL
from ..ink.sketch import Cached, Point
from ..ink.text import measure
from ..panels.drawer import words_of
from ..screen.controls import ControlRow, Item, Wish, printed, row_of
from .actions import action_of
from .playback import SPEEDS, speed_text

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.scene.scene import Scene
    from .live import LiveView


# ---- The rows of controls of a viewer, and the edits that they make.

WAITS = 0.6
"""Seconds for which a set value is shown before a frame has it."""
COMMAND = "copy as command"
USUAL_UNITS = 8
TOOLS = (
    ("restart", "restart", "Restores the first weights and restarts. The old run is kept as a branch."),
    ("back", "step back", "Restores the weights of the previous step, bit for bit."),
    ("toggle_run", "run or pause", "Runs or pauses gradient descent."),
    ("step", "train one step", "Runs one batch forward and backward, then updates every weight."),
    ("micro_next", "look inside a step", "Opens the next step: forward, loss, backward, update."),
)
_HEAD = ("learning rate", "batch", "optimiser", "momentum")
_KEYS = {"learning rate": ("lower_rate", "raise_rate"), "pace": ("slower", "faster")}
_PACE = "How many steps pass between two pictures. Training itself does not change."
_FEWER = "Removes one unit: the layer can tell fewer patterns apart."
_MORE = "Adds one unit: one more weighted sum for the next layers."
_UNITS = "How many weighted sums the layer computes from its input."
_OUT = "Removes this layer. The other layers must do its work."
_ADD = "Adds a layer between input and output, for more complex shapes."
_SEED = "Restarts with new random weights. Learning should not depend on lucky ones."
_SAVE = "Saves the current weights to a file in the current folder. Open it, or drop it here."
_LOAD = "Opens weights to train on, or a picture."
_COPY = "Copies the command that starts a run with the current settings."
_HALF = 76.0  # logical pixels: widest name of a switch in half a narrow panel
_gestures = count(1)


class ControlRows:
    """Rows of controls; a control of the scene replaces the run's control with the same name."""

    def __init__(self, viewer: LiveView, scene: Scene) -> None:
        self._viewer, self._scene = viewer, scene
        self._hidden = set(scene.hide)
        self.troubles = set[str]()  # errors raised by functions of the scene
        self._command = None if scene.command is None else self._asking(scene.command, "the command")
        self._controls = tuple(self._guarded(control) for control in scene.controls)
        self._tools = ControlRow("tools", tuple(self._tool(*tool) for tool in TOOLS if tool[0] not in self._hidden))
        self._own = Cached[tuple[Control, ...]]()
        self._bends: dict[str, None] = {}
        self._had: dict[str, Mapping[str, Any]] = {}  # numbers of earlier optimisers
        self._wanted: dict[str, tuple[Any, float]] = {}  # values set by hand that no frame shows yet, and until when
        self._gesture = ""

    # ---- functions of the scene

    def _guarded(self, control: Control) -> Control:
        """Return the control with functions whose errors are shown and never end the window."""
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
        """Return the function, changed to return None when it raises; each error is shown once."""

        def asked(reader: Reader) -> Any:
            try:
                return function(reader)
            except Exception as error:  # the scene's own
                line = f"{what}: {words_of(error)}"
                if line not in self.troubles:
                    self.troubles.add(line)
                    self._viewer.say(line)
                    self._viewer.tell(line)
                return None

        return asked

    # ---- rows

    def reader(self, frame: Frame | None = None) -> Reader:
        """Return the reader that controls get: of `frame`, or of the shown frame."""
        viewer = self._viewer
        return Reader(viewer.shown if frame is None else frame, viewer.bench.subject.source, self._scene.options)

    def shown(self, frame: Frame) -> list[ControlRow]:
        """Return the rows of a frame; values set by hand are shown until a frame has them."""
        now = self._viewer.clock
        self._wanted = {name: kept for name, kept in self._wanted.items() if kept[1] > now}
        return self.rows(self.reader(frame))

    def rows(self, reader: Reader) -> list[ControlRow]:
        """Return the rows: controls that act at once, a rule, then controls that re-initialise."""
        own = {one.label: one for one in (*self._owned(reader), LAYERS) if one.label not in self._hidden}
        mine = {control.label: control for control in self._controls if control.label not in self._hidden}
        every = [*(mine.pop(label, control) for label, control in own.items()), *mine.values()]
        last = [one for one in every if one.anew or isinstance(one, Layers)]
        now = [one for one in every if one not in last]
        first = next(iter(mine.values()), None)  # the scene's subject
        head = [one for one in every if one is first or (one in now and one.label in _HEAD and one.label in own)]
        head.sort(key=lambda one: one is not first)
        last = [one for one in last if one is not first]
        rows = [self._tools, *self._filled(head, reader)]
        rows += [] if "pace" in self._hidden else [row_of(self._paced())]
        rows += self._filled([one for one in now if one not in head], reader)
        anew = [row for one in last if isinstance(one, Layers) for row in self._layers(one, reader)]
        anew += self._filled([one for one in last if not isinstance(one, Layers)], reader)
        copied = self._copied(reader)
        anew += [row_of(item) for item in copied] if "seed" in self._hidden else [self._seed(reader, copied)]
        return [*rows, *([ControlRow("rule")] if anew else []), *anew, *self._files()]

    def _owned(self, reader: Reader) -> tuple[Control, ...]:
        """Return every run's controls; rebuild them only when the set of controls or a usual value changes."""
        settings = reader.settings
        bend = activation_of(reader)
        self._bends |= {} if bend is None else {bend: None}  # earlier activations stay available
        keep_rule(self._had, reader)
        set_now = () if settings is None else (settings.samples, bool(settings.limits.l1), bool(settings.limits.l2))
        known = (*set_now, len(self._bends), len(self._had), *reader.frame.curve.lr[:1].tolist())
        return self._own.get(known, lambda: own_controls(reader, tuple(self._bends), self._had))

    def _filled(self, controls: Sequence[Control], reader: Reader) -> list[ControlRow]:
        """Return rows of the available controls; two short switches share a row."""
        rows: list[ControlRow] = []
        for item in (item for item in (self._item(one, reader) for one in controls) if item is not None):
            before = rows[-1].items if rows else ()
            if len(before) == 1 and _short(before[0]) and _short(item):
                rows[-1] = replace(rows[-1], items=(*before, item))
            else:
                still = "no weight moves" if (item.name, item.value) == ("learning rate", 0) else ""
                note = "changed layers are re-initialised" if item.control.anew else still
                rows.append(replace(row_of(item), note=note))
        return rows

    def _item(self, control: Control, reader: Reader) -> Item | None:
        value = control.value(reader)
        if value is None:
            return None
        value = self._pending_value(control, value)
        shown, ticks = "", tuple[tuple[float, str], ...]()
        if isinstance(control, Slider):
            shown, ticks = printed(value), tuple((tick, printed(tick)) for tick in tick_values(control))
        elif isinstance(control, Segments) and value not in control.choices:
            shown = printed(value)
        return Item(self._with_flag(control, reader), value, self._key(control.label), shown, ticks)

    def _pending_value(self, control: Control, value: Any) -> Any:
        """Return the value set by hand until a frame shows it."""
        wanted, _ = self._wanted.get(control.label, (value, 0.0))
        if wanted == value:
            self._wanted.pop(control.label, None)
        return wanted

    def _with_flag(self, control: Control, reader: Reader) -> Control:
        """Return the control without flags that the scene's command line lacks."""
        if control in self._controls:
            return control
        flags = [one for one in control.flag.split(", ") if hasattr(reader.options, one[2:].replace("-", "_"))]
        known = ", ".join(flags)
        return control if known == control.flag else replace(control, flag=known)

    def _key(self, label: str) -> str:
        return ", ".join(action_of(action).keys[0] for action in _KEYS.get(label, ()))

    def _layers(self, control: Layers, reader: Reader) -> list[ControlRow]:
        """Return the buttons for the units of each hidden layer; [] if there are too many or they are fixed."""
        now = control.value(reader)
        if not isinstance(now, tuple | list) or len(now) > MOST_LAYERS:
            return []
        known, hidden = self._with_flag(control, reader), tuple(self._pending_value(control, tuple(now)))
        items, middles = list[Item](), list[Item]()
        for k, units in enumerate(hidden):
            name, before, after = f"layer {k + 1}", hidden[:k], hidden[k + 1 :]
            out = _units(known, f"remove {name}", _OUT, (*before, *after))
            less = (*before, *((fewer(units),) if fewer(units) else ()), *after)
            grown, shown = (*before, more(units), *after), printed(units)
            items.append(_units(known, f"{name}: fewer units", _FEWER, less, shown, out))
            items.append(_units(known, f"{name}: more units", _MORE, grown, shown, out))
            middles.append(_number(known, name, k, hidden, out))
        if len(hidden) < MOST_LAYERS:
            items.append(_units(known, "add layer", _ADD, (*hidden, hidden[-1] if hidden else USUAL_UNITS)))
        weights = [stage.weight.shape for stage in reader.stages if stage.weight is not None]
        ends = (printed(weights[0][1]), printed(weights[-1][0])) if weights else ("", "")
        changed = "changed layers are re-initialised"
        return [ControlRow("layers", tuple(items), control.label, changed, ends, None, tuple(middles))]

    # ---- controls that make no edit

    def _tool(self, action: str, label: str, does: str) -> Item:
        def send(value: object, reader: Reader) -> None:
            self._viewer.send(action)

        return Item(Button(label, "", does, change=send), keys=action_of(action).keys[0], sign=action)

    def _paced(self) -> Item:
        """Return the pace as a slider that stops at each of `SPEEDS`; its right end has no limit."""
        ends = [one for one in SPEEDS if one != float("inf")]
        most = ends[-1] * ends[-1] / ends[-2]
        stops = tuple(min(one, most) for one in SPEEDS)

        def hurry(value: float, reader: Reader) -> None:
            """Change the speed by the keys' actions, one after another."""
            by = stops.index(value) - SPEEDS.index(self._viewer.playback.speed)
            for _ in range(abs(by)):
                self._viewer.send("faster" if by > 0 else "slower")

        now = min(self._viewer.playback.speed, most)
        control = Slider("pace", "", _PACE, least=ends[0], most=most, log=True, usual=1.0, value=lambda reader: now,
                         change=hurry)  # fmt: skip
        ticks = ((ends[0], speed_text(ends[0])), (1.0, "1x"), (most, "no limit"))
        shown = "no limit" if now >= most else speed_text(now)
        return Item(control, now, self._key("pace"), shown, ticks, stops=stops)

    def _seed(self, reader: Reader, copied: Sequence[Item]) -> ControlRow:
        """Return the row with the seed of the first weights and a button for new ones; the copy button is beside it."""
        seed = seed_shown(reader.frame)
        flag = "--weights-seed" if hasattr(reader.options, "weights_seed") else ""  # --seed also draws the samples

        def begin(value: float | None, reader: Reader) -> None:
            """Restart with the next seed, or with the typed one."""
            self._viewer.travels.restart(seed + 1 if value is None else int(value))

        button = Item(Button("reseed", flag, _SEED, change=begin))
        number = Slider("seed", flag, _SEED, least=0, most=2**32, whole=True, value=lambda reader: seed, change=begin)
        return ControlRow("buttons", (button, *copied), "seed", printed(seed), typed=Item(number, seed))

    def _files(self) -> list[ControlRow]:
        """Return buttons that save and load weights, if the window can do both."""
        if action_of("open").missing(self._viewer.action_context()) or "weights" in self._hidden:
            return []

        def save(value: object, reader: Reader) -> None:
            path = Path(f"{self._scene.name}-step-{reader.frame.step}.safetensors")
            self._viewer.ask_run(lambda run: run.save(path), lambda _: self._viewer.say(f"saved {path.absolute()}"))

        def load(value: object, reader: Reader) -> None:
            self._viewer.send("open")

        buttons = (Button("save", "", _SAVE, change=save), Button("load", "", _LOAD, change=load))
        return [ControlRow("buttons", tuple(Item(button) for button in buttons), "weights")]

    def _copied(self, reader: Reader) -> list[Item]:
        """Return the button that copies the command line, if the scene has one."""
        command = self._command
        if COMMAND in self._hidden or command is None or not command(reader):
            return []

        def copied(value: object, reader: Reader) -> None:
            host, words = self._viewer.host, command(reader)
            if host is not None and words:
                host.copy(words)
                self._viewer.say(f"copied: {words}")

        return [Item(Button(COMMAND, "", _COPY, change=copied))]

    # ---- edits

    def set_value(self, item: Item, value: Any, *, held: bool = False) -> None:
        """Set a control; all changes until `let_go` form one edit.

        Raises
        ------
        ScalarvizError
            The control does not take the value, or the run does not take the edit.
        """
        if held and not self._gesture:
            self._gesture = f"controls {next(_gestures)}"
            self._viewer.playback.hold()
        control, name = item.control, item.name
        taken = control.taken(value)
        if item.stops and taken not in item.stops:
            raise InputError(f"{name}: got {taken!r:.60}; allowed: {listing(item.stops)}")
        now, _ = self._wanted.get(name, (item.value, 0.0))
        if taken is not None and taken == now:
            return  # no change, so no edit
        edit = control.change(taken, self.reader())
        if edit is not None:
            self._viewer.change(edit, self._gesture)
        until = self._viewer.clock + (float("inf") if self._gesture else WAITS)
        if taken is not None:
            self._wanted[name] = taken, until
        elif item.part_of:
            self._wanted[item.part_of] = item.value, until

    def let_go(self) -> None:
        """End the gesture, which makes it one edit; training resumes."""
        if self._gesture:
            self._gesture = ""
            until = self._viewer.clock + WAITS
            self._wanted = {name: (value, min(kept, until)) for name, (value, kept) in self._wanted.items()}
            self._viewer.playback.release()


def _short(item: Item) -> bool:
    """Return whether the item is a switch that fits beside another one."""
    return row_of(item).look == "switches" and measure(item.name, LABEL) <= _HALF


def _units(
    control: Control, label: str, does: str, sizes: tuple[int, ...], shown: str = "", out: Item | None = None
) -> Item:
    """Return a button that sets the hidden layers to `sizes`."""

    def change(value: object, reader: Reader) -> Edit | None:
        return control.change(control.taken(sizes), reader)

    return Item(Button(label, control.flag, does, change=change), sizes, shown=shown, part_of=control.label, out=out)


def _number(control: Control, label: str, place: int, sizes: tuple[int, ...], out: Item) -> Item:
    """Return the number of units of the layer at `place`, to type or to drag out."""

    def change(value: int, reader: Reader) -> Edit | None:
        return control.change(control.taken((*sizes[:place], int(value), *sizes[place + 1 :])), reader)

    units = sizes[place]
    number = Slider(label, control.flag, _UNITS, least=1, most=max(units, MOST_UNITS), log=True, whole=True,
                    value=lambda reader: units, change=change)  # fmt: skip
    return Item(number, units, shown=printed(units), out=out)


class SceneControls(ControlRows):
    """The open panel: its controls, and its keys and pointer events."""

    def __init__(self, viewer: LiveView, scene: Scene) -> None:
        super().__init__(viewer, scene)
        self.panel = viewer.bench.controls
        self.panel.closes = action_of("toggle_controls").keys[0]
        self.handlers: dict[str, Callable[..., None]] = {"toggle_controls": self.toggle}

    # ---- open and closed

    def toggle(self) -> None:
        """Open or close the panel."""
        self.let_go()
        self._wanted.clear()
        self.panel.toggle()
        self._viewer.bench.make_room()
        self._viewer.refresh()

    def close(self) -> None:
        """Close the panel if it is open."""
        if self.panel.open:
            self.toggle()

    @contextmanager
    def put_away(self) -> Iterator[bool]:
        """Hide the panel inside the block; yield whether it was open."""
        there = self.panel.open
        if there:
            self._appear(is_open=False)
        try:
            yield there
        finally:
            if there:
                self._appear(is_open=True)

    def _appear(self, *, is_open: bool) -> None:
        self.panel.open = is_open
        self._viewer.bench.make_room()
        self._viewer.bench.refresh()

    def pass_time(self, seconds: float, frame: Frame) -> bool:
        """Advance by `seconds` with `frame` shown; return whether the panel has changed."""
        panel, bench = self.panel, self._viewer.bench
        if not panel.open:
            keep_rule(self._had, self.reader(frame))  # current settings stay available later
            return False
        stood = panel.side
        panel.pass_time(seconds)
        changed = panel.show(self.shown(frame), running=self._viewer.playback.running)
        if moved := stood != panel.side:
            bench.place_side()
            bench.refresh()
        return changed or moved

    # ---- pointer, in logical pixels, and keys

    def hover(self, at: Point | None) -> bool:
        """Handle the pointer at a point (None: elsewhere); return whether the picture changes."""
        return self.panel.open and self.panel.hover(at if at is not None and self.panel.owns(at) else None)

    def press(self, at: Point, button: str) -> bool:
        """Handle a button press; return whether the panel takes the pointer until release."""
        if not self.panel.owns(at):
            return False
        item = self.panel.number_at(at)
        if button == "left" and item is not None and self._viewer.pointer.is_double_click(("typed", item.name)):
            self.type(item)
        elif button == "left":
            self._fulfil(self.panel.press(at))
        return True

    def drag(self, at: Point) -> None:
        """Handle a drag that began on the panel."""
        self._fulfil(self.panel.drag(at))
        if self.hover(at) or self.panel.carries:
            self._viewer.refresh()

    def release(self, at: Point) -> None:
        """Handle the release of the panel's button."""
        wish = self.panel.release(at)
        self.let_go()
        self._fulfil(wish)

    def scroll(self, at: Point, notches: float) -> bool:
        """Handle the wheel; return whether it was over the panel."""
        if not self.panel.covers(at):
            return False
        if notches:
            self.panel.scroll(notches)
        return True

    def key(self, pressed: str, *, shift: bool = False) -> bool:
        """Handle a key while the panel is open; return whether the panel used it."""
        if not self.panel.open:
            return False
        if pressed == "Escape":
            if not self.panel.let_go():  # a layer being dragged out goes back
                self.toggle()
            return True
        found = self.panel.key(pressed, shift=shift)
        if isinstance(found, Wish):
            self._fulfil(found)
        return found is not False

    # ---- wishes of the panel

    def _fulfil(self, wish: Wish | None) -> None:
        """Do what the panel asks; show an error and restore the control's value if that fails."""
        if wish is None:
            return
        if wish.what == "type":
            self.type(wish.item)
            return
        try:
            self.set_value(wish.item, wish.value, held=wish.held)
        except ScalarvizError as error:
            self._wanted.pop(wish.item.name, None)
            self._viewer.say(str(error))
        self._viewer.refresh()

    def type(self, item: Item) -> None:
        """Let a number be typed; training continues meanwhile."""
        control, allowed = item.control, list[str]()
        if isinstance(control, Slider):
            allowed = [f"{control.least:,g} to {control.most:,g} on the slider; type any other"]
        elif isinstance(control, Segments):
            allowed = [f"such as {', '.join(f'{one:,}' for one in control.choices)}"]
        now = f"{item.value:.10g}" if isinstance(item.value, float) else str(item.value)
        self._viewer.ask_text(item.name, partial(self.typed, item), now, lambda: allowed)

    def typed(self, item: Item, text: str) -> None:
        """Set a control to the number in `text`."""
        control = item.control
        slider = control if isinstance(control, Slider) else None
        number: object = number_of(text, item.name, whole=slider is None or slider.whole)
        edit = control.change(number if slider is None else slider.taken(number), self.reader())
        if edit is not None:
            self._viewer.change(edit)


_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
"""``1,024``, ``12,000.5``: commas between thousands. A single comma in a number that may be a fraction is decimal."""


def number_of(text: str, name: str, *, whole: bool) -> int | float:
    """Return a number as people type it: ``0.03``, ``0,03``, ``1e-3``, ``1_024``; ``1,024`` if it is `whole`.

    Raises
    ------
    InputError
        The text is not a number; `name` is the control in the message.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if _GROUPS.fullmatch(plain) and (whole or plain.count(",") > 1 or "." in plain):
        plain = plain.replace(",", "")
    elif plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    if re.fullmatch(r"[+-]?\d{1,18}", plain):
        return int(plain)
    try:
        return float(plain)
    except ValueError:
        said = shown(text) if plain else "nothing"
        raise InputError(
            f"{name}: got {said}; allowed: a number, such as {'16' if whole else '0.03 or 1e-3'}"
        ) from None
