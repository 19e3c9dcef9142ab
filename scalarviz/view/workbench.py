"""`Workbench`: the composition of the whole picture, drawn into any current GL context (window, offscreen, notebook).

One `update` a frame takes over the numbers, one `draw` paints them. What did not change is neither built nor uploaded
again; boxes and labels that depend on the layout alone are built once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..run.frame import Frame
from ..run.scene import Scene
from .coloring import ActivationScale, Coloring, rows_of
from .draw2d import Painter
from .flow_few import FewFlow, formulas
from .flow_labels import FlowLabels
from .flow_outcome import outcome, outcome_size
from .flow_values import CubeValues
from .grid import CHANNEL, GAP, LABEL, MARGIN, Box, Places, arrange, check_size
from .hud import HudState, hud, keys
from .layout import FEW, Layout, layout_for
from .panel_legend import bar_pixels, legend
from .side import SidePanels
from .sketch import Sketch
from .slab import SlabVisual
from .subject import Subject, subject_of
from .text import measure
from .theme import Theme, get_theme

_LEGEND, _ACTIVATION = 344.0, 220.0
_CHIPS_ABOVE, _CHIPS_BESIDE = 58.0, 238.0  # what the flow around a single layer takes


class Workbench:
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
    quantity : {"weight", "gradient", "update"}
        What the cubes show.
    keys : sequence of (str, str)
        Keys and what they do, for the line at the bottom; a film has none.
    text_hz : float, optional
        How often numbers in text are renewed at most; default: every frame.
    supersample : int
        Device pixels per output pixel, in each direction.
    """

    def __init__(self, scene: Scene | Subject, size: tuple[int, int] = (1280, 720), theme: str | Theme = "dark",
                 cmap: str | None = None, quantity: str = "weight", *, keys: Sequence[tuple[str, str]] = (),
                 text_hz: float | None = None, supersample: int = 1) -> None:
        self.subject = scene if isinstance(scene, Subject) else subject_of(scene)
        self.theme = get_theme(theme)
        self.colouring = Coloring(self.subject.tensors, self.theme, quantity, cmap)
        self.activations = ActivationScale(self.subject.stages, self.theme)
        self._keys = tuple(keys)
        self._text_pause = 0.0 if text_hz is None else 1.0 / text_hz
        self._bars: dict[tuple[str, int], NDArray[np.uint8]] = {}
        self._side = SidePanels(self.subject, self.theme)
        self._frame: Frame | None = None
        self._pace = ""
        self.resize(size, supersample)

    # layout

    def resize(self, size: tuple[int, int], supersample: int = 1) -> None:
        """Lay everything out for another size; the last frame stays on screen."""
        wide, high = check_size(size)
        self.size = (wide * supersample, high * supersample)
        self.places: Places = arrange((wide, high), self.subject.panels, hud=self.subject.run is not None,
                                      keys=bool(self._keys))
        logical = self.places.size
        # The camera counts in whole pixels; the difference to the logical size is a fraction of one.
        camera_size = (round(logical[0]), round(logical[1]))
        ratio = np.array(camera_size) / logical
        x, y, w, h = self._cubes_box()
        rect = (x * ratio[0], y * ratio[1], (x + w) * ratio[0], (y + h) * ratio[1])
        self.layout: Layout = layout_for(self.subject.tensors, self.subject.stages, camera_size, rect)
        self._ratio = ratio
        self.slab = SlabVisual(self.layout, self.theme, self.colouring.cmap, self.activations.cmap)
        self.painter = Painter(logical, self.places.scale * supersample)
        self._side.place(self.places.panels)
        self._build()
        if self._frame is not None:
            self.update(self._frame, self._pace)

    def _cubes_box(self) -> Box:
        """The scene, less what the chips around a single small layer need beyond the layout's own margins.

        Those shrink with the scene, the chips do not.
        """
        x, y, width, height = self.places.scene
        linear = [s for s in self.subject.stages if s.weight is not None]
        if len(linear) != 1 or sum(t.size for t in self.subject.tensors) > FEW:
            return x, y, width, height
        above = _CHIPS_ABOVE - 35.0 * min(1.0, height / 472.0) if height >= 250 else 0.0
        beside = _CHIPS_BESIDE - 228.0 * min(1.0, width / 936.0) if width >= 560 else 0.0
        return x, y + max(above, 0.0), width - max(beside, 0.0), height - max(above, 0.0)

    def project(self, xyz: ArrayLike) -> NDArray[np.float64]:
        """World points (N, 3) as logical pixels (N, 2)."""
        return np.asarray(self.layout.camera.project(xyz) / self._ratio)

    def _build(self) -> None:
        """Everything that depends on the layout alone."""
        subject, scene = self.subject, self.places.scene
        self._values = CubeValues(self.layout, self.theme, self.project)
        layers = sum(s.weight is not None for s in subject.stages)
        story = layers == 1 and self.layout.mode == "few"
        self._flow = FewFlow(self.layout, subject.stages, self.theme, subject.story, self.project, scene) \
            if story else None
        shapes = {t.name: t.shape for t in subject.tensors if layers == 0 or t.role != "bias"}
        self._labels = None if story else FlowLabels(self.layout, self.theme, shapes, self._row_names(), self.project,
                                                     scene)
        size = outcome_size(subject.story) if self._labels is not None and subject.stages else None
        self._outcome = self._labels.free_place(*size) if self._labels is not None and size else None
        self._has_rows = any(p.kind == "activation" for p in self.layout.plates)
        self._static = [self._flow.static] if self._flow else []
        self._static += [self._labels.static] if self._labels else []
        if self.places.keys is not None:
            x, _, width, _ = self.places.scene
            self._static.append(keys(x + MARGIN, self.places.keys, width - 2 * MARGIN, self.theme, self._keys))
        self._numbers: list[Sketch] = []
        self._moving: list[Sketch] = []
        self._since_text = float("inf")

    def _row_names(self) -> dict[str, str]:
        rows = rows_of(self.subject.stages)
        if rows and self.subject.stages:
            rows[self.subject.stages[-1].name] = "output"
        return rows

    # a frame

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
        self._frame, self._pace = frame, pace_text
        self.colouring.update(frame, seconds)
        self.activations.update(frame, seconds)
        self._update_cubes(frame)
        self._moving = self._side.update(frame)
        self._since_text += float("inf") if seconds is None else seconds
        if self._since_text >= self._text_pause:
            self._since_text = 0.0
            self._numbers = self._texts(frame, pace_text)

    def _update_cubes(self, frame: Frame) -> None:
        slab = self.slab
        slab.set_flat(self.colouring.flat)
        slab.set_range(self.colouring.range)
        known = frame.computed if self.colouring.quantity != "weight" else np.ones(len(frame.values), bool)
        slab.set_flags(frozen=frame.frozen, not_computed=~known, dead=frame.dead)
        if self._has_rows:
            slab.set_activations(frame.activations)
            slab.set_activation_range(self.activations.range.low, self.activations.range.high)

    def _texts(self, frame: Frame, pace_text: str) -> list[Sketch]:
        sketches = [self._values.sketch(self.colouring.values(), self.colouring.units(), self.colouring.cmap)]
        sketches += self._strip(frame)
        if self._flow is not None:
            sketches.append(self._flow.numbers(frame, self._probe_loss(frame)))
        if self._labels is not None:
            sketches.append(self._labels.ranges(self.colouring.extents()))
        if self._outcome is not None:
            story, last = self.subject.story, self.subject.stages[-1].name
            sketches.append(outcome(self._outcome, self.theme, story, frame, last, self._probe_loss(frame)))
        run = self.subject.run
        if run is not None and self.places.hud is not None:
            state = HudState(frame.step, frame.loss, frame.lr, type(run.optimizer).__name__, run.batch_size, pace_text,
                             self.colouring.quantity)
            sketches.append(hud(self.places.hud, self.theme, state))
        return sketches

    def _probe_loss(self, frame: Frame) -> float | None:
        subject = self.subject
        if subject.run is None or subject.probe is None or subject.story.target is None:
            return None
        return float(subject.run.evaluate(subject.probe[None], subject.story.target[None], frame.values))

    # the strip below the cubes

    def _strip(self, frame: Frame) -> list[Sketch]:
        """Legends, and the formulas where there is one layer; a lone legend of a narrow picture takes the width."""
        if self.places.strip is None:
            return []
        x, y, width, height = self.places.strip
        sketches = []
        own = min(_LEGEND, width)
        left = width - own - GAP
        if self._has_rows and width >= 2 * 160 + GAP:
            part = min(_ACTIVATION, (width - GAP) / 2)
            own = min(_LEGEND, width - part - GAP)
            sketches.append(legend((x, y, part, height), self.theme, self.activations.legend(),
                                   self._bar("activation", part)))
        elif self._flow is not None:
            sketches.append(self._formulas(frame, (x, y, left, height)))
        if width < 2 * _LEGEND + GAP and not any(s.texts for s in sketches):
            own = width
        bar = self._bar("value", own)
        return [*sketches, legend((x + width - own, y, own, height), self.theme, self.colouring.legend(), bar)]

    def _bar(self, which: str, width: float) -> NDArray[np.uint8]:
        """The same array for the same width every time, so it is uploaded once."""
        count = max(2, round(width * self.painter.scale))
        if (which, count) not in self._bars:
            cmap = self.colouring.cmap if which == "value" else self.activations.cmap
            self._bars[which, count] = bar_pixels(cmap, count)
        return self._bars[which, count]

    def _formulas(self, frame: Frame, box: Box) -> Sketch:
        """Each output as its formula, in the largest type that fits; nothing where none does."""
        sketch = Sketch()
        lines = formulas(frame, self.subject.stages, self.subject.story)
        for size, step in ((CHANNEL, 23.0), (LABEL, 20.0)):
            fits = len(lines) * step <= box[3] and all(measure(line, size) <= box[2] for line in lines)
            if lines and fits:
                for row, line in enumerate(lines):
                    sketch.text(box[0], box[1] + 16 + step * row, line, size, self.theme.text2)
                break
        return sketch

    # drawing

    @property
    def sketches(self) -> list[Sketch]:
        """Everything flat that is on the picture now: labels, panels, numbers."""
        return [*self._static, *self._moving, *self._numbers]

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the whole picture into the bound framebuffer of `viewport` device pixels (default: `size`)."""
        self.painter.background(self.theme.background, self.theme.glow)
        self.slab.draw(viewport=viewport or self.size)
        self.painter.draw(self.sketches)
