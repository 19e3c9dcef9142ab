"""Players in a page for the tests, and what the window draws of the same numbers."""

from __future__ import annotations

import base64
import importlib
import io

import numpy as np
from PIL import Image

from scalarviz.view.cubes.atlas import ALL_ALIKE
from scalarviz.view.cubes.scale import ActivationScale, Coloring, paint
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.theme import get_theme, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page.document import document_of, flags_of, laid_out, texels_of

SIZE = (640, 400)
READY = "() => window.scalarviz && document.getElementById('app').hidden === false"
"""Whether a page of a recording, or of two, plays."""


def opened(page, file, hash=""):
    """The page, on a file that plays."""
    page.goto(f"{file.as_uri()}{hash}")
    page.wait_for_function(READY)
    return page


def said(page, name):
    """The words of an element."""
    return page.locator(f"#{name}").inner_text()


def scene(name, **options):
    """A scene of the project three steps on, by the engine that starts at once."""
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    made = module.build(module.Options(engine="numpy", **options))
    made.run.step(3)
    return made


def coded(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def sent(frame, document, quantities=("weight", "gradient", "update")):
    """A frame as a page gets it."""
    texels = {name: coded(texels_of(frame, document, name)) for name in quantities}
    rows = {name: np.ravel(row).astype(float).tolist() for name, row in frame.activations.items()}
    return {"texels": texels, "flags": coded(flags_of(frame, document)), "rows": rows, "step": frame.step}


class Pages:
    """Players in one page."""

    def __init__(self, scripts, *names):
        self.page = scripts(*(names or ("player.js",)))
        self.page.evaluate("""() => {
            window.bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
            window.received = (frame) => ({ ...frame, flags: bytes(frame.flags), texels: Object.fromEntries(
                Object.entries(frame.texels).map(([name, text]) => [name, new Float32Array(bytes(text).buffer)])) });
            window.framed = (size) => { const root = document.createElement("div");
                root.style.cssText = `position: relative; width: ${size[0]}px; height: ${size[1]}px`;
                document.body.style.margin = 0; document.body.append(root); return root; };
        }""")

    def again(self, subject, size=SIZE, **options):
        """Another player in the place of the one before."""
        self.page.evaluate("() => { player.dispose(); document.body.replaceChildren(); }")
        return self.play(subject, size, **options)

    def play(self, subject, size=SIZE, *, density=1, **options):
        self.document = document_of(subject, size)
        self.page.evaluate(
            "([given, size, options]) => { window.player = new Player(framed(size), given, options); }",
            [self.document, size, {"density": density, **options}],
        )
        return self.document

    def show(self, frame, quantities=("weight", "gradient", "update")):
        told = sent(frame, self.document, quantities)
        self.page.evaluate("(frame) => player.show(received(frame))", told)

    def pixels(self):
        url = self.page.evaluate("() => { player.draw(); return player.canvas.toDataURL(); }")
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")).astype(int)


def window(subject, frame, size=SIZE, theme="dark", quantity="weight", *, camera=None, sizing=ALL_ALIKE):
    """Ground, trays, lines and cubes of the same layout as the window draws them."""
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
        paint(slab, frame, colouring, activations, subject.source, rows=rows)
        slab.sizing = sizing

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
