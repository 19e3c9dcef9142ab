"""The player: the picture in a browser, beside what the window draws of the same numbers."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image
from scalarviz.scenes import rgb

from scalarviz.view.browser.document import document_of, flags_of, texels_of
from scalarviz.view.browser.laid import laid_out
from scalarviz.view.cubes.scale import ActivationScale, Coloring, paint
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.draw.painter import Painter
from scalarviz.view.draw.theme import get_theme
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.window.offscreen import offscreen

SIZE = (640, 400)


def coded(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def sent(frame, document):
    """A frame as a page gets it."""
    texels = {name: coded(texels_of(frame, document, name)) for name in ("weight", "gradient", "update")}
    rows = {name: np.ravel(row).astype(float).tolist() for name, row in frame.activations.items()}
    return {"texels": texels, "flags": coded(flags_of(frame, document)), "rows": rows, "step": frame.step}


class Pages:
    """Players in one page."""

    def __init__(self, scripts):
        self.page = scripts("player.js")
        self.page.evaluate("""() => {
            window.bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
            window.received = (frame) => ({ ...frame, flags: bytes(frame.flags), texels: Object.fromEntries(
                Object.entries(frame.texels).map(([name, text]) => [name, new Float32Array(bytes(text).buffer)])) });
            window.framed = (size) => { const root = document.createElement("div");
                root.style.cssText = `position: relative; width: ${size[0]}px; height: ${size[1]}px`;
                document.body.style.margin = 0; document.body.append(root); return root; };
        }""")

    def play(self, subject, size=SIZE, *, density=1, **options):
        self.document = document_of(subject, size)
        self.page.evaluate(
            "([given, size, options]) => { window.player = new Player(framed(size), given, options); }",
            [self.document, size, {"density": density, **options}],
        )
        return self.document

    def show(self, frame):
        self.page.evaluate("(frame) => player.show(received(frame))", sent(frame, self.document))

    def pixels(self):
        url = self.page.evaluate("() => { player.draw(); return player.canvas.toDataURL(); }")
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")).astype(int)


@pytest.fixture
def pages(scripts):
    return Pages(scripts)


def window(subject, frame, size=SIZE, theme="dark", quantity="weight"):
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

    def draw(viewport):
        painter.background(look.background, look.glow)
        slab.draw(viewport=viewport)

    return offscreen().render(draw, size).astype(int)


def same(page, window):
    """Share of pixels that differ by no more than 2 of 255 in any channel."""
    return float((np.abs(page - window).max(axis=-1) <= 2).mean())


@pytest.mark.parametrize("hidden", [(), (16, 16)], ids=["one layer", "16,16"])
def test_the_picture_is_the_windows(pages, hidden):
    scene = rgb.build(rgb.Options(engine="numpy", hidden=hidden))
    scene.run.step(20)
    subject = subject_of(scene)
    frame = subject.frame()
    pages.play(subject)
    pages.show(frame)
    assert same(pages.pixels(), window(subject, frame)) > 0.99


@pytest.fixture
def played(pages):
    """One layer of rgb after 20 steps, and the frame that is shown."""
    scene = rgb.build(rgb.Options(engine="numpy"))
    scene.run.step(20)
    subject = subject_of(scene)
    frame = subject.frame()
    pages.play(subject)
    pages.show(frame)
    pages.pixels()
    return pages, subject, frame


def middle(pages, index):
    """Where the middle of a cube's main face is, in CSS pixels."""
    return pages.page.evaluate(
        """(index) => { const { plates } = player.document;
        const plate = plates.find((one) => index >= one.start && index < one.start + one.size);
        const top = pointOf(plate, index - plate.start, [0, 0, plate.depth]);
        return project(player.view.camera, top).slice(0, 2); }""",
        index,
    )


def test_pointer_and_click_find_every_cube(played):
    pages, _, _ = played
    page = pages.page
    for index in range(12):
        at = middle(pages, index)
        page.mouse.move(*at)
        page.wait_for_function("(index) => player.hovered === index", arg=index)
    page.mouse.click(*at)
    assert page.evaluate("player.selected") == 11
    page.mouse.click(*at)
    assert page.evaluate("player.selected") is None


def test_a_drag_turns_the_wheel_zooms_and_fit_goes_back(played):
    pages, _, _ = played
    page = pages.page
    home = pages.pixels()
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(360, 220)
    page.mouse.up()
    pose = page.evaluate("player.pose")
    assert pose["az"] == pytest.approx(pages.document["pose"]["az"] - 24.0)
    assert pose["el"] == pytest.approx(pages.document["pose"]["el"] + 8.0)
    page.mouse.wheel(0, -100)
    page.wait_for_function("(scale) => player.pose.scale > scale", arg=pose["scale"])
    assert same(pages.pixels(), home) < 0.9
    page.evaluate("player.fit()")
    page.wait_for_function("JSON.stringify(player.pose) === JSON.stringify(player.document.pose)")
    assert same(pages.pixels(), home) == 1.0


def test_quantity_and_theme(played):
    pages, subject, frame = played
    for quantity in ("gradient", "|gradient|", "update", "update/value"):
        pages.page.evaluate("(name) => { player.quantity = name; }", quantity)
        assert same(pages.pixels(), window(subject, frame, quantity=quantity)) > 0.99, quantity
    pages.page.evaluate("player.theme = 'light'; player.quantity = 'weight'")
    assert same(pages.pixels(), window(subject, frame, theme="light")) > 0.99
