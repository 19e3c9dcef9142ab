"""Players in a page for the tests, and what the window draws of the same numbers."""

from __future__ import annotations

import base64
import importlib
import io

import numpy as np
import pytest
from PIL import Image

from scalarviz.view.cubes.atlas import ALL_ALIKE
from scalarviz.view.ink.theme import get_theme, luminance, resolved, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page.document import document_of, flags_of, layout_of, texels_of
from scalarviz.view.page.lists import PARTS, PictureLists
from scalarviz.view.panels.drawer import newest_beyond
from scalarviz.view.workbench import Workbench

SIZE = (640, 400)
READY = "() => window.scalarviz && document.getElementById('app').hidden === false"
"""Whether a page of a recording, or of two, plays."""
EVIL = "</script><script>boom()</script><!--\u2028\"'&<img src=x onerror=boom()>"
"""A name that would be more than words where somebody forgot to escape it."""
HOSTILE = (
    EVIL, "<img src=x onerror=boom()>", "<svg onload=boom()>", "</title><script>boom()</script>",
    '"><script src=http://localhost:PORT/a></script>', "<img src=http://localhost:PORT/b>",
    "<link rel=stylesheet href=http://localhost:PORT/c>", "url(http://localhost:PORT/d)", "' onmouseover='boom()",
    "`${boom()}`", "*/boom();/*", "x\nboom()\n//", "\u2028boom();\u2029", "\\\"); boom(); (\"", "]]>boom()<![CDATA[",
    "<!--<script>", "-->", "javascript:boom()", "__proto__", "constructor", "toString", "\x00\x1b[31m\u202eboom()",
    "\ud800", "$&$'${part}",
)  # fmt: skip
"""24 such names; PORT stands for that of a listener."""


def opened(page, file, hash="#frame=20"):
    """The page, on a file that plays; with a frame in its address it does not start by itself."""
    page.goto(f"{file.as_uri()}{hash}")
    page.wait_for_function(READY)
    return page


def said(page, name):
    """The words of an element."""
    return page.locator(f"#{name}").inner_text()


def painted(page):
    """The words that a page writes into its picture, one after the other."""
    return page.evaluate("""() => {
        const { player } = scalarviz, { ink } = player.overlay, found = [];
        ink.text = (x, y, text) => text && found.push(text);
        player.draw();
        delete ink.text;
        player.draw();
        return found.join(" ");
    }""")


def scene(name, steps=3, *, other_layers=False, **options):
    """A scene of the project some steps on, by the engine that starts at once; its page has no `other_layers`."""
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    made = module.build(module.Options(engine="numpy", **options))
    if not other_layers:  # to write them takes longer than all the rest
        made.other_layers = None
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
}"""


class Pages:
    """Players in one page, one after the other; each shows what a page shows, by the list of a workbench."""

    def __init__(self, scripts):
        self.page = scripts("player.js", "panels.js")
        self.page.evaluate(RECEIVED)

    def play(self, subject, size=SIZE, *, density=1, quantity="weight", **options):
        """A player in the place of the one before."""
        self.bench = Workbench(subject, size, quantity=quantity)
        self.subject, self.frame = self.bench.subject, None
        self.lists = PictureLists(self.bench, films=True, bound=True)
        self.document = document_of(self.subject, layout_of(self.bench))
        self.page.evaluate(
            """([given, size, options]) => { window.player?.dispose(); document.body.replaceChildren();
                window.player = new Player(framed(size), given, options); }""",
            [self.document, size, {"density": density, "quantity": quantity, **options}],
        )
        self.page.evaluate("""() => { player.overlay.ink.filmOf = () => [["box", 0, 0, 1, 1]]; }""")
        return self.document

    def show(self, frame, quantities=("weight", "gradient", "update"), **more):
        """Show a frame; `more` replaces what a page would get."""
        self.frame, self.quantities = frame, quantities
        self.bench.update(frame)
        told = sent(frame, self.document, quantities)
        told |= {"loss": self.subject.loss(frame), "lr": frame.lr, "sample_loss": self.subject.probe_loss(frame),
                 "past": newest_beyond(frame) > 0, "list": flat(self.lists)} | more  # fmt: skip
        self.page.evaluate("(frame) => player.show(received(frame))", told)

    def set(self, **attributes):
        """What somebody sets at the player; another quantity has another list."""
        self.page.evaluate("(given) => { Object.assign(player, given); }", attributes)
        if "quantity" in attributes:
            self.bench.set_look(quantity=attributes["quantity"])
            self.show(self.frame, self.quantities)

    def pixels(self):
        return pixels_of(self.page.evaluate("() => { player.draw(); return player.canvas.toDataURL(); }"))

    def texts(self):
        """What one drawing writes: words, place, size, end, colour, whether it is bold."""
        return sorted(self.page.evaluate(TEXTS))


TEXTS = """() => {
    const { ink } = player.overlay, found = [];
    ink.text = (x, y, text, size, colour, how = {}) =>
        text && found.push([text, x, y, size, how.end ?? "left", colour, Boolean(how.bold)]);
    player.draw();
    delete ink.text;
    return found;
}"""


def flat(lists):
    """The records of a picture as a page has them, lowest first; its time bar has a list of its own."""
    parts = lists.parts()
    return [record for name in PARTS if name != "time" for record in parts[name]]


def pose_as_json(pose):
    return {"az": pose.azimuth, "el": pose.elevation, "centre": pose.centre.tolist(), "place": pose.place.tolist(),
            "scale": pose.scale, "eye": None if pose.eye is None else pose.eye.tolist()}  # fmt: skip


def window(subject, frame, size=SIZE, theme="dark", quantity="weight", *, camera=None, sizing=ALL_ALIKE):
    """Ground, trays, lines and cubes of a workbench like that of the page; a `camera` stands in place of its own."""
    with offscreen():
        bench = Workbench(subject, size, theme, quantity=quantity, sizing=sizing)
        bench.update(frame)
    if camera is not None:
        bench.viewpoint.camera, bench.viewpoint.moved = camera, True
    return offscreen().render(bench.draw_below, size).astype(int)


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


# ---- what a browser fills in


FILLED = """([lists, steps]) => {
    if (steps) player.frame.stepOf = name => steps[name];
    player.draw();
    const { theme, moment, measure } = player.overlay.ink, ink = { theme, moment, measure };
    let calls;
    ink.pen = 0;
    ink.text = (x, y, text, size, colour, { bold, end }) => calls.push([text, x, y, size, colour, bold, end]);
    ink.box = (...said) => calls.push(said);
    ink.path = (ways, colour, width) => calls.push([...ways.flat(), colour, width]);
    return lists.map(list => list.map(record => {
        calls = [];
        if (/text$|number$|^(rect|swatch|lines|marks)$/.test(record[0])) paint(ink, record);
        return calls; }));
}"""
INKS = {"#0c0e11", "#ffffff"}
BOUND = {"number": "text", "swatch": "rect", "marks": "lines", "next text": "text", "next number": "text"}


def compare(page, bound, there, theme, steps, where):
    """The list of a page's `player` is the window's own, once its numbers are filled in; returns how many were.

    Only where both inks are as good on a cube each may have its own.
    """
    assert [BOUND.get(one[0], one[0]) for one in bound] == [one[0] for one in there], where
    filled = 0
    for mine, theirs, (one, other) in zip(*page.evaluate(FILLED, [[bound, there], steps]),
                                          zip(bound, there, strict=True), strict=True):  # fmt: skip
        if one[0] not in BOUND:
            assert one == other, where
            continue
        filled += 1
        if one[0] != "marks":
            if one[4] == "cube" and mine[0][4] != theirs[0][4]:  # inks by whole bytes of a colour, and by its step
                assert {mine[0][4], theirs[0][4]} == INKS, (where, one, other)
                face = resolved(other[5].removeprefix("on "), theme)[:3]
                assert float(luminance(face)) == pytest.approx(0.22, abs=0.01), (where, one, other)
                mine[0][4] = theirs[0][4]
            if one[0].startswith("next"):  # it stands behind other texts, which end where they are measured to
                assert mine[0][1] == pytest.approx(theirs[0][1], abs=0.3), (where, one, other, mine, theirs)
                mine[0][1] = theirs[0][1]
            assert mine == theirs, (where, one, other, mine, theirs)
            continue
        assert len(mine) == len(theirs) > 0, (where, mine, theirs)
        places = [np.array([call[:4] for call in calls]) for calls in (mine, theirs)]
        np.testing.assert_allclose(*places, atol=0.1, rtol=0, err_msg=str(where))
        assert [call[4:] for call in mine] == [call[4:] for call in theirs], where
    return filled
