"""`Workbench`: the composition of the whole picture, drawn into any current GL context (window, offscreen, notebook).

One `update` a frame takes over the numbers, one `draw` paints them. What did not change is neither built nor uploaded
again. What is touched (a cube, a colour, the list of keys) is drawn in layers of its own above everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..run.core.frame import Frame
from ..run.questions.ranges import extent
from ..run.scene.scene import Scene
from .cubes.own import LOOKS
from .cubes.quantity import check_kept
from .cubes.scale import paint
from .cubes.sizes import ALL_ALIKE, Sizing
from .cubes.slab import SlabVisual
from .ink.gl import Viewport
from .ink.painter import Painter, clipped
from .ink.places import MARGIN, check_size
from .ink.sketch import Sketch
from .ink.theme import Theme, get_theme, presenting
from .micro.inside import Inside
from .notes.scenery import Scenery
from .notes.values import Small
from .panels.pace import TextPace
from .panels.table import LayerTable
from .panels.wording import changed_by_hand, newest_beyond, went
from .screen.controls import ControlsPanel
from .screen.hud import hud, keys, mistake_line, mistake_words, state_of
from .screen.side import InputSwatch, SidePanels
from .screen.story import StoryLines
from .screen.strip import Strip, marks_on
from .screen.time_bar import TimeBar
from .screen.touch import View
from .shown.subject import Subject, subject_of
from .touching import Touching


class Workbench(Touching):
    """Cubes, flow, panels and HUD of one subject at one size. Make it, and use it, with a GL context current.

    Parameters
    ----------
    scene : Scene or Subject
        What to show.
    size : (int, int)
        Output pixels.
    theme : str or Theme
        ``"dark"`` or ``"light"``.
    cmap : str, optional
        A colour map by name; default: the quantity's own.
    quantity : str
        What the cubes show: ``"weight"``, ``"gradient"``, ``"|gradient|"``, ``"update"``, ``"update/value"``, or what
        the optimiser keeps for each weight, by its name (``"exp_avg"``).
    sizing : Sizing
        How large the cubes are.
    keys : sequence of (str, str)
        Keys and what they do, for the line at the bottom; a film has none.
    text_hz : float, optional
        How often numbers in text are renewed at most; default: every frame.
    supersample : int
        Device pixels per output pixel, in each direction.
    """

    def __init__(
        self,
        scene: Scene | Subject,
        size: tuple[int, int] = (1280, 720),
        theme: str | Theme = "dark",
        cmap: str | None = None,
        quantity: str = "weight",
        *,
        sizing: Sizing = ALL_ALIKE,
        keys: Sequence[tuple[str, str]] = (),
        text_hz: float | None = None,
        supersample: int = 1,
    ) -> None:
        self.subject = scene if isinstance(scene, Subject) else subject_of(scene)
        self.theme, self.cmap_name = get_theme(theme), cmap or ""
        self._keys, self.sizing = tuple(keys), sizing
        self.bar = TimeBar(self.theme)
        self.controls = ControlsPanel(self.theme)
        self.text_pace = TextPace(text_hz)
        self.story = StoryLines(self.text_pace)
        self.side = SidePanels(self.subject, self.theme, hints=bool(keys))
        self.swatch, self.layers = InputSwatch(self.side.ground), LayerTable()
        self._make(quantity)
        self.inside: Inside = Inside(self)
        self._pace = ""
        self.panels_shown = True
        self._output, self._supersample = check_size(size), supersample
        self._set_up()

    # layout

    def resize(self, size: tuple[int, int], supersample: int = 1) -> None:
        """Lay everything out for another size; the last frame stays on screen, a camera moved by hand its part."""
        self._output, self._supersample = check_size(size), supersample
        self.lay_out()

    def show_panels(self, shown: bool) -> None:
        """Show everything, or the cubes alone on the whole canvas."""
        if shown != self.panels_shown:
            self.panels_shown = shown
            self.lay_out()

    def lay_out(self) -> None:
        """Everything into its place anew, as for another size."""
        self._arrange()
        self._view.relaid(self.layout)
        self.touch.hover(None)
        self._stand()
        self._outdated = True

    def _stand(self) -> None:
        """What depends on the layout: made once for it, and only dressed anew for another look."""
        self.slab = SlabVisual(self.layout, self.theme, self.colouring.cmap, self.activations.cmap)
        self._has_rows = any(p.kind == "activation" for p in self.layout.plates)
        self._place_scenery(None)
        self.strip = Strip(self.subject, self.theme, self.colouring, self.activations, rows=self._has_rows,
                            single=self.scenery.flow is not None, density=self.scale)  # fmt: skip
        self.strip.sizing = self.sizing
        self._numbers, self._moving, self._touched = list[Sketch](), list[Sketch](), list[list[Sketch]]()
        self._time, self._on_cubes = list[Sketch](), list[Sketch]()

    def show_keys(self, table: Sequence[tuple[str, str]]) -> None:
        """Another line of keys, in an opened step too; an empty one says nothing."""
        self._keys = self.inside.keys = tuple(table)
        self._write_static()

    def lead_keys(self, key: str, words: str) -> None:
        """Begin the line of keys with one more, outside of an opened step."""
        self._keys = ((key, words), *self._keys)
        self._write_static()

    def _write_static(self) -> None:
        """The words that stay from frame to frame."""
        y, wide = self.places.keys, self.places.scene[0] + self.places.scene[2] - 2 * MARGIN
        wide = wide if self.places.limit is None else min(wide, self.places.limit - MARGIN)
        table = self._keys if self.inside.told is None else self.inside.keys or self._keys
        self._key_line = [] if y is None else [keys(MARGIN, y, wide, self.theme, table)]
        self._static = [*self.scenery.static, *self._key_line]
        self.text_pace.hurry()
        self._outdated = True

    def _place_scenery(self, before: Scenery | None) -> None:
        """What depends on the camera too; `before` keeps names on their side."""
        view = self._view
        view.stale = False
        moved, quantity = view.camera if view.moved else None, self.colouring.quantity
        scene, shown = self.places.scene, self.panels_shown
        self.scenery: Scenery = Scenery(self.subject, self.layout, self.theme, self.project, scene, moved=moved,
                                        panels=shown, quantity=quantity, before=before)  # fmt: skip
        self.scenery.show_outcome(self.inside.told is None)
        self.swatch.box = self.scenery.swatch
        self.side.stand(self._setting(), self._among())
        self.side.float_over(self.layout, self.project, scene if shown else None, self.scenery.reserved)
        self._write_static()

    @property
    def moving(self) -> bool:
        """Whether the picture goes on changing by itself: camera, range of the colours, text that lags behind."""
        growing = self.colouring.growing or self.activations.growing or self.slab.own_version != LOOKS.version
        growing |= self.inside.told is None and self.side.counts
        return growing or self._view.gliding or self.text_pace.late or self.side.moving or self.inside.moving

    def set_look(
        self,
        *,
        quantity: str | None = None,
        cmap: str | None = None,
        theme: str | Theme | None = None,
        sizing: Sizing | None = None,
    ) -> None:
        """Change what the cubes show, by which map (``""``: the quantity's own), on which ground, and how large.

        Raises
        ------
        UnknownNameError, InputError
            For unknown names, and for a quantity that was not recorded; nothing is changed then.
        """
        check_kept(self.subject.source, quantity)
        look = self.theme if theme is None else presenting(theme, self.theme.presenter)
        name = self.cmap_name if cmap is None else cmap
        self.colouring.change(look, quantity or self.colouring.quantity, name or None)
        self.activations.change(look)
        self.cmap_name = name
        self.sizing = self.strip.sizing = sizing or self.sizing
        if look is not self.theme:
            self.theme = self.bar.theme = self.controls.theme = look
            self.side.change(look)
            self.slab.set_theme(look)
        self.slab.set_colours(self.colouring.cmap, self.activations.cmap)
        self.scenery.change(look, self.colouring.quantity)
        self.strip.change(look)
        self._write_static()

    def refresh(self) -> None:
        """Words, numbers and cubes are to be written anew at the next drawing."""
        self.text_pace.hurry()
        self._outdated = True

    def refit_range(self) -> None:
        """Fit the ranges of the colours to the next frame shown."""
        self.colouring.refit()
        self.activations.refit()
        self.text_pace.hurry()

    def extent_of(self, index: int) -> float:
        """V of the colours of the weight at a flat index, when values are shown."""
        if self.colouring.quantity == "weight" or self._frame is None:
            return self.colouring.range.high
        return extent(self._frame.values)

    def update(self, frame: Frame, pace_text: str = "", seconds: float | None = None) -> None:
        """Take over one frame.

        Parameters
        ----------
        frame : Frame
            Its numbers stand on screen as they are.
        pace_text : str
            The second line of the HUD: pace, true speed, engine.
        seconds : float, optional
            Since the last update, on the viewer's clock: colour ranges grow slowly. None fits them to this frame.
        """
        frame = self.taken(frame)
        gone = went(self._frame, frame)  # then the range of the colours is that of the step, whatever was before
        by_hand = changed_by_hand(self._frame, frame) or (gone and not self.bar.running)
        waits = None if by_hand else seconds  # what a hand does is written at once
        self._frame, self._pace, self.bar.step_loss = frame, pace_text, self.subject.step_loss
        self._view.tick(seconds)
        if self._view.stale:
            self._place_scenery(self.scenery)
        self.colouring.update(frame, None if gone else seconds, self.inside.whole)
        self.side.ground.extent = self.extent_of(0)
        self.activations.update(frame, None if gone else seconds)
        self.slab.sizing = self.sizing if self.inside.told is None else ALL_ALIKE  # formulas stand on large faces
        if paint(self.slab, frame, self.colouring, self.activations, self.subject.source, rows=self._has_rows):
            self.text_pace.hurry()
        self.inside.paint()
        writes = self.text_pace.ready(waits)
        beside, outer = self.inside.beside(frame), self.inside.outer(frame)
        self._moving = self.side.update(outer, seconds, writes=writes) if beside is None else beside
        if not self.page:
            self.bar.ahead = self.side.ground.ahead
            self._time = self.bar.update(frame, writes=writes)
        explained = self.inside.told is None  # what the inspector says is of whole steps
        if explained:
            self.touch.follow(frame)
        room = explained and not self.touch.below(self.places) and not self.side.takes_strip
        self.story.update(self.places, self.theme, bar=bool(self._time), free=room)
        self.side.strip_shown = self.story.beside is None
        small = None if self.slab.shares is None else Small(self.slab.shares, self._hit, self.slab.own)
        if not self.page:  # at every frame, as the colours below them
            self._on_cubes = self.inside.on_cubes(frame, small)
        if self.text_pace.due(frame, (pace_text, *self.side.headlines), waits):
            if explained:
                self.touch.explain(frame)
            if not self.page:
                self._numbers = self._texts(frame, pace_text)
                self.layers.write(self.subject, frame, self.theme, self.places)
        self._outdated = False
        self._lay_over(frame, explained, seconds)

    def _lay_over(self, frame: Frame, explained: bool, seconds: float | None) -> None:
        """What lies above the picture because of pointer and keys."""
        seen = View(self.layout, self.camera, self.project, self.places, self.theme, self.colouring.shows,
                    self.panels_shown and explained, self._hit, self.slab.shares, self.slab.own,
                    self.sketches if self.slab.own else ())  # fmt: skip
        above = self.touch.layers(frame, seen, self.side)
        above[0] += self.inside.overlay(seconds) + (self.layers.sketches if explained else [])
        above[1] += self.controls.label(self.places.size)
        above[1] += [*self.swatch.label(self.theme, self.places.size), *self.bar.label(self.places.size)]
        panel = self.controls.sketch()
        if panel is not None:
            above.insert(1, [panel, *(self._moving if self.controls.stands else ())])
            self._moving = [] if self.controls.stands else self._moving
        self._touched = [part for part in [self.side.floating()] if part] + above

    def _texts(self, frame: Frame, pace_text: str) -> list[Sketch]:
        inside, sketches = self.inside, self.inside.texts()
        marks = marks_on(self.slab, self.colouring, self.camera, self.size[0] / self.camera.size[0])
        if self.places.legend is not None and self.spread:
            sketches += self.strip.foot(self.places.legend, frame, marks)
        elif self.places.strip is not None and inside.told is None:
            selected, beside = self.selected if self.touch.below(self.places) else None, self.story.beside
            sketches += self.strip.sketches(self.places.strip, frame, selected=selected, marks=marks, beside=beside,
                                            other=self.side.scale)  # fmt: skip
        sketches += self.scenery.around(frame, self.colouring, inside.loss(frame), inside.reached)
        sketches.append(self.scenery.trouble(frame, [*self._static, *self._on_cubes, *sketches]))
        wrong = mistake_words(self.subject)
        if wrong and self.places.hud is None:
            sketches.append(mistake_line(self.places, self.theme, wrong))
        if self.places.hud is not None:
            second = "  ·  ".join([*filter(None, (wrong,)), *self.scenery.homeless, pace_text])  # no room at the layer
            outside = inside.told is None
            ahead, whole = (self.side.ground.ahead, self.subject.loss_of_all(frame)) if outside else (None, None)
            found = self.side.headlines if outside else ()  # of whole steps
            state = state_of(self.subject, frame, second, self.colouring.shows, found, ahead, whole)
            about = "  ·  ".join(filter(None, (state.about, self.sizing.words() if outside else "")))
            sketches.append(hud(self.places.hud, self.theme, inside.head(replace(state, about=about))))
        return sketches

    # drawing

    @property
    def sketches(self) -> list[Sketch]:
        """Everything flat that is on the picture now: labels, panels, numbers."""
        still = [*self.scenery.static, *self.story.sketches] if self.story.sketches else self._static
        return [*still, *self.side.spread_out(), *self._moving, *self._time, *self._on_cubes, *self._numbers]

    @property
    def overlays(self) -> list[list[Sketch]]:
        """What lies above that because of pointer and keys, lowest layer first."""
        return self._touched

    def draw(self, viewport: Viewport | None = None) -> None:
        """Paint the whole picture into the `viewport` of the bound framebuffer (default: `size` device pixels)."""
        if (self._outdated or self._view.stale) and self._frame is not None:
            self.update(self._frame, self._pace, 0.0)
        self.draw_below(viewport or self.size)
        self.painter.draw(self.sketches)
        for index, layer in enumerate(self._touched):
            if layer:
                while len(self._above) <= index:
                    self._above.append(Painter(self.places.size, self.scale))
                self._above[index].draw(layer)

    @property
    def ground(self) -> tuple[str, str]:
        """Colours of what lies behind everything: at the rim, and of the glow."""
        past = self._frame is not None and newest_beyond(self._frame) > 0
        return self.theme.background, self.theme.past if past else self.theme.glow

    def draw_below(self, viewport: Viewport) -> None:
        """Paint what lies below texts and panels: the ground and the cubes."""
        self.painter.background(*self.ground)
        with clipped(self.window, self.places.size, viewport):
            self.slab.draw(self._view.camera, viewport=viewport)
        self._draw_beside(viewport)

    def _draw_beside(self, viewport: Viewport) -> None:
        """What else is drawn below texts and panels; a picture of one thing has nothing."""
