"""Players in a page for the tests, and what the window draws of the same numbers."""

from __future__ import annotations

import base64
import importlib
import io

import numpy as np
from PIL import Image

from scalarviz.view.cube_view import hand_over
from scalarviz.view.cubes.atlas import ALL_ALIKE
from scalarviz.view.cubes.scale import ActivationScale, Coloring
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.theme import get_theme, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page.document import document_of, flags_of, laid_out, texels_of
from scalarviz.view.screen.strip import written
from scalarviz.view.shown.subject import Subject, subject_of

SIZE = (640, 400)
READY = "() => window.scalarviz && document.getElementById('app').hidden === false"
"""Whether a page of a recording, or of two, plays."""
EVIL = "</script><script>boom()</script><!--\u2028\"'&<img src=x onerror=boom()>"
"""A name that would be more than words where somebody forgot to escape it."""


def opened(page, file, hash="#frame=20"):
    """The page, on a file that plays; with a frame in its address it does not start by itself."""
    page.goto(f"{file.as_uri()}{hash}")
    page.wait_for_function(READY)
    return page


def said(page, name):
    """The words of an element."""
    return page.locator(f"#{name}").inner_text()


def scene(name, steps=3, **options):
    """A scene of the project some steps on, by the engine that starts at once."""
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    made = module.build(module.Options(engine="numpy", **options))
    made.run.step(steps)
    return made


def pixels_of(picture, mode="RGB"):
    """Pixels of an encoded picture, or of an address that holds one, as whole numbers that can be subtracted."""
    data = base64.b64decode(picture.partition(",")[2]) if isinstance(picture, str) else picture
    return np.asarray(Image.open(io.BytesIO(data)).convert(mode)).astype(int)


def coded(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def sent(frame, document, quantities=("weight", "gradient", "update")):
    """A frame as a page gets it."""
    texels = {name: coded(texels_of(frame, document, name)) for name in quantities}
    rows = {name: coded(np.ravel(row).astype(np.float32)) for name, row in frame.activations.items()}
    return {"texels": texels, "flags": coded(flags_of(frame, document)), "rows": rows, "step": frame.step}


RECEIVED = """() => {
    window.bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    window.floats = (named) => Object.fromEntries(
        Object.entries(named).map(([name, text]) => [name, new Float32Array(bytes(text).buffer)]));
    window.received = (frame) =>
        ({ ...frame, flags: bytes(frame.flags), texels: floats(frame.texels), rows: floats(frame.rows) });
    window.framed = (size) => { const root = document.createElement("div");
        root.style.cssText = `position: relative; width: ${size[0]}px; height: ${size[1]}px`;
        document.body.style.margin = 0; document.body.append(root); return root; };
    window.written = []; const write = Ink.prototype.text;
    Ink.prototype.text = function (x, y, text, size, colour, how = {}) {
        if (text) written.push([text, x, y, size, how.end ?? "left", colour, Boolean(how.bold)]);
        write.call(this, x, y, text, size, colour, how); };
}"""


class Pages:
    """Players in one page, one after the other."""

    def __init__(self, scripts):
        self.page = scripts("player.js", "panels.js")
        self.page.evaluate(RECEIVED)

    def play(self, subject, size=SIZE, *, density=1, **options):
        """A player in the place of the one before."""
        self.document = document_of(subject, size)
        self.subject = subject if isinstance(subject, Subject) else subject_of(subject)
        self.page.evaluate(
            """([given, size, options]) => { window.player?.dispose(); document.body.replaceChildren();
                window.player = new Player(framed(size), given, options); }""",
            [self.document, size, {"density": density, **options}],
        )
        return self.document

    def show(self, frame, quantities=("weight", "gradient", "update"), **more):
        told, single = sent(frame, self.document, quantities) | more, self.document["words"]["single"]
        if single and single["room"]:
            told["formulas"] = written(self.subject, frame, *single["room"])
        self.page.evaluate("(frame) => player.show(received(frame))", told)

    def set(self, **attributes):
        """What somebody sets at the player."""
        self.page.evaluate("(given) => { Object.assign(player, given); }", attributes)

    def pixels(self):
        return pixels_of(self.page.evaluate("() => { player.draw(); return player.canvas.toDataURL(); }"))

    def texts(self):
        """What one drawing writes, without its cubes: words, place, size, end, colour, whether it is bold."""
        return sorted(
            self.page.evaluate("""() => { const { cubes } = player, { draw } = cubes;
            written.length = 0; cubes.draw = () => {}; player.draw(); cubes.draw = draw; return written; }""")
        )


def pose_as_json(pose):
    return {"az": pose.azimuth, "el": pose.elevation, "centre": pose.centre.tolist(), "place": pose.place.tolist(),
            "scale": pose.scale, "eye": None if pose.eye is None else pose.eye.tolist()}  # fmt: skip


def window(subject, frame, size=SIZE, theme="dark", quantity="weight", *, camera=None, sizing=ALL_ALIKE, hand=None):
    """Ground, trays, lines and cubes of the same layout as the window draws them; `hand` does more to the cubes."""
    look = get_theme(theme)
    laid = laid_out(subject, size, look)
    colouring = Coloring(subject.tensors, look, quantity, moments=lambda: subject.source.moments)
    activations = ActivationScale(subject.stages, look, sheet=subject.sample.sheet)
    colouring.update(frame, None)
    activations.update(frame, None)
    with offscreen():
        slab = SlabVisual(laid.layout, look, colouring.cmap, activations.cmap)
        painter = Painter(laid.places.size)
        rows = any(plate.kind == "activation" for plate in laid.layout.plates)
        hand_over(slab, frame, colouring, activations, subject.source, rows=rows)
        slab.sizing = sizing
        if hand is not None:
            hand(look=look, layout=laid.layout, slab=slab, colouring=colouring, activations=activations)

    def draw(viewport):
        painter.background(look.background, look.glow)
        slab.draw(camera, viewport=viewport)

    return offscreen().render(draw, size).astype(int)


def drawn_same(page, window):
    """The same of those pixels that are no bare ground in one of the two."""
    theme = get_theme("dark")
    ground = np.stack([np.array(rgb(colour)) * 255 for colour in (theme.background, theme.glow)])
    low, high = ground.min(axis=0) - 2, ground.max(axis=0) + 2
    bare = [((picture >= low) & (picture <= high)).all(axis=-1) for picture in (page, window)]
    return float((np.abs(page - window).max(axis=-1) <= 2)[~(bare[0] & bare[1])].mean())


def same(page, window):
    """Share of pixels that differ by no more than 2 of 255 in any channel."""
    return float((np.abs(page - window).max(axis=-1) <= 2).mean())
