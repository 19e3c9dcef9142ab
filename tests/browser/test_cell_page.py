"""The page of a live cell: real scenes behind it, and a model of anywidget's that this test carries to and fro."""

from __future__ import annotations

import base64
import json
import queue
import threading
import time

import numpy as np
import pytest

from kit.benches import face_of
from kit.commands import make_scene
from scalarviz.view.cell.shown import Shown
from scalarviz.view.ink.listed import Listed
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page.scripts import joined, read

from .players import pixels_of

MODEL = """
window.outbox = [];
window.listeners = new Set();
window.model = {
  get: () => window.about,
  send: message => window.outbox.push(message),
  on: (name, listener) => window.listeners.add(listener),
  off: (name, listener) => window.listeners.delete(listener),
};
window.deliver = messages => {
  for (const [content, buffers] of messages) {
    const views = buffers.map(text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer));
    for (const listener of window.listeners) listener(content, views);
  }
  return window.outbox.splice(0);
};
window.place = (width = "auto") => {
  const el = document.body.appendChild(document.createElement("div"));
  el.style.width = width;
  el.end = renderCell({ model: window.model, el });
  return el;
};
window.painted = el => (el.scalarviz.picture ?? el.scalarviz).known;
"""
PAGE = "<!doctype html><title>cell</title><body data-jp-theme-light='{}' style='margin: 0'><style>{}</style>"


class Bridge:
    """Carries what a cell sends into the page, and what the page says to the cell."""

    def __init__(self, page, shown, light=True, first=""):
        self.page, self.shown, self.waiting, self.told = page, shown, queue.SimpleQueue(), []
        shown.post = lambda content, buffers: self.waiting.put(
            [json.loads(json.dumps(content, allow_nan=False)), [base64.b64encode(b).decode() for b in buffers]]
        )
        page.goto("about:blank")  # what another cell has brought goes with its document
        page.set_content(PAGE.format(str(light).lower(), read("cell.css")))
        page.add_script_tag(content=joined("cell.js") + MODEL + first)
        page.evaluate("about => { window.about = about; window.el = window.place(); }", shown.about)
        self.until("el.scalarviz.answered > 0")
        self.rest()

    def carry(self):
        """All that waits, once there and once back; `told` has what was no frame."""
        come = []
        while not self.waiting.empty():
            come.append(self.waiting.get())
        self.told += [content for content, _ in come if content["kind"] != "frame"]
        for said in self.page.evaluate("messages => window.deliver(messages)", come):
            self.shown.hear(said)

    def until(self, holds, seconds=30.0):
        """Carry messages until something holds: a function, or an expression of the page."""
        deadline = time.monotonic() + seconds
        while True:
            self.carry()
            if self.page.evaluate(holds) if isinstance(holds, str) else holds():
                return
            assert time.monotonic() < deadline, (holds, self.page.inner_text("body"), self.written)
            time.sleep(0.01)

    def rest(self):
        """Carry until all that was asked for is done and painted; returns the parts of the picture."""
        deadline = time.monotonic() + 60
        self.carry()
        self.ask(lambda play: play.viewer.worker.settle())  # once: each gives the picture another frame
        while True:
            assert time.monotonic() < deadline
            self.carry()
            sent = self.ask(lambda play: (play.handle_message({}), self.shown.channel.sent)[1])
            self.until(f"el.scalarviz.answered > {sent}")
            if not self.ask(lambda play: play.moves or play.viewer.bench.moving):
                return self.painted

    @property
    def painted(self):
        """The parts of the picture."""
        return self.page.evaluate("painted(el)")

    def ask(self, function):
        """What a function of `Play` returns, in the cell's thread."""
        return self.shown.call(function)

    @property
    def run(self):
        return self.shown.scene.run

    @property
    def numbers(self):
        """Those of the cubes that are painted, the weights first."""
        return np.array(self.page.evaluate("Array.from(el.scalarviz.picture.numbers)"), np.float32)

    @property
    def step(self):
        """Of the picture that stands there."""
        return self.page.evaluate("painted(el).frame.step")

    @property
    def written(self):
        """The texts of the painted list."""
        lists = self.page.evaluate("Object.entries(painted(el) ?? {}).filter(([name]) => name.startsWith('list '))")
        return [one[3] for _, records in lists for one in records if one[0] == "text"]

    def says(self, words):
        """Until the picture says something."""
        self.until(lambda: any(words in one for one in self.written))

    # ---- hands

    def press(self, *keys):
        """Keys, on the cell."""
        self.page.locator(".stage").first.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def at(self, x, y):
        """A place of the picture on the page."""
        box, (wide, high) = self.page.locator(".stage").first.bounding_box(), self.page.evaluate("painted(el).page[0]")
        return box["x"] + x * box["width"] / wide, box["y"] + y * box["height"] / high

    def drag(self, *places):
        """A hand that goes down at the first place and up at the last."""
        for k, place in enumerate(places):
            self.page.mouse.move(*self.at(*place))
            if k == 0:
                self.page.mouse.down()
        self.page.mouse.up()

    def spot(self, name, value=""):
        """The box of what is painted and answers to a pointer."""
        found = {(one[0], one[1]): one[4:] for one in self.page.evaluate("painted(el).spots")}
        return found[name, value]

    def click(self, name, value="", times=1):
        x, y, wide, high = self.spot(name, value)
        self.page.mouse.click(*self.at(x + wide / 2, y + high / 2), click_count=times)

    def cube(self, index):
        """Where the top of a weight's cube is painted."""
        return self.ask(lambda play: play.viewer.bench.to_logical(face_of(play.viewer.bench, index)))


@pytest.fixture
def cell(page):
    """``cell("rgb", ...)``: a live cell of a scene, and the page that shows it."""
    opened, before = [], set(threading.enumerate())

    def make(name="rgb", **more):
        opened.append(Shown(make_scene(name), (960, 640)))
        return Bridge(page, opened[-1], **more)

    yield make
    for shown in opened:
        shown.close()
    assert not [t for t in set(threading.enumerate()) - before if "scalarviz" in t.name]


def test_the_numbers_of_the_cubes_are_the_runs_after_each_step_and_each_edit(cell):
    live = cell()
    run = live.run
    for count, does in enumerate(("ArrowRight", "step", "Shift+ArrowRight"), 1):
        live.click(does) if does == "step" else live.press(does)
        live.until(lambda count=count: live.step == (count if count < 3 else 12))
        assert np.array_equal(live.numbers, run.values.astype(np.float32))
    live.click("toggle_run")
    live.until("el.scalarviz.frame.running")
    live.until(lambda: live.step > 20)
    live.press("Space")
    live.rest()
    assert live.step == run.steps
    assert np.array_equal(live.numbers, run.values.astype(np.float32))
    assert f"{run.steps:,}" in live.written
    live.page.mouse.click(*live.at(*live.cube(3)))
    live.says("0.weight[1][0]")
    live.press("Enter")
    live.page.keyboard.type("-0.625")
    live.press("Enter")
    live.until(lambda: live.numbers[3] == np.float32(-0.625) == run.values[3])
    live.click("freeze")
    live.until(lambda: run.frame().frozen[3])
    live.press("ArrowRight")
    live.until(lambda: live.step == run.steps and live.numbers[3] == np.float32(-0.625))
    assert live.page.evaluate("painted(el).marks !== null")
    live.press("g")
    gradient = live.rest() and live.ask(lambda play: play.viewer.shown.gradient)
    assert np.array_equal(live.numbers, gradient.astype(np.float32))


def test_a_hand_drags_a_slider_turns_the_cubes_and_the_wheel_is_the_notebooks_until_a_click(cell):
    live = cell()
    page, run = live.page, live.run
    before, numbers = live.page.evaluate("painted(el).pose"), live.numbers
    page.mouse.move(*live.at(*live.cube(4)))
    page.mouse.wheel(0, -300)
    live.rest()
    assert page.evaluate("painted(el).pose") == before
    live.drag((250, 420), (300, 400), (360, 380))
    turned = live.rest()["pose"]
    assert turned["az"] != before["az"]
    page.mouse.move(*live.at(*live.cube(4)))
    page.mouse.wheel(0, -300)
    live.until(lambda: page.evaluate("painted(el).pose") != turned)
    assert np.array_equal(live.rest() and live.numbers, numbers)
    page.keyboard.down("Shift")
    page.mouse.move(*live.at(*live.cube(4)))
    page.mouse.wheel(0, -100)
    page.keyboard.up("Shift")
    live.until(lambda: run.values[4] > numbers[4] and live.numbers[4] == np.float32(run.values[4]))
    live.press("f", "p")
    live.rest()
    x, y, wide, high = live.spot("learning rate")
    live.drag((x + wide / 2, y + high / 2), (x + wide / 3, y + high / 2), (x - 40, y + high / 2))
    live.until(lambda: run.lr == 1e-4)
    assert len(live.rest() and run.log) == 2  # one turn of the wheel, and one way of the slider


def test_a_step_is_opened_and_walked_and_time_goes_back_and_forth(cell):
    live = cell()
    run = live.run
    live.press("Shift+ArrowRight")
    live.until(lambda: live.step == 10)
    values = live.numbers
    for words in ("zero", "product"):
        live.press(".")
        live.says(words)
    assert live.run.steps == 10
    live.press("Escape")
    live.rest()
    assert np.array_equal(live.numbers, values)
    _, y, _, high = live.spot("go")
    left, right = live.ask(lambda play: [play.viewer.bench.bar._plan.scale.x_of(step) for step in (0, 10)])
    live.drag((right, y + high - 24), (left + 90, y + high - 24), (left, y + high - 24))
    live.until(lambda: live.step == 0 == run.steps)
    live.press("End")
    live.until(lambda: live.step == 10)
    assert np.array_equal(live.numbers, values)


def test_what_the_browser_does_help_files_the_clipboard_a_number_and_the_screen(cell):
    live = cell("playground")
    page, run = live.page, live.run

    def told(kind):
        live.until(lambda: any(one["kind"] == kind for one in live.told))
        return live.told[-1]

    live.press("?")
    live.says("train one step (Shift: ten)")
    live.press("Escape", "ArrowRight")
    live.until(lambda: live.step == 1)
    with page.expect_download() as saved:
        live.press("s")
        told("save")
    assert saved.value.suggested_filename == "scalarviz-step-1.png"
    assert pixels_of(saved.value.path().read_bytes()).shape == pixels_of(page.locator(".stage").screenshot()).shape
    page.evaluate("void (Element.prototype.requestFullscreen = () => Promise.reject(new TypeError('not here')))")
    live.press("F11")
    told("full")
    live.rest()
    assert not live.ask(lambda play: play.host.full_screen)
    live.press("p")
    live.rest()
    x, y, wide, high = live.spot("learning rate", "typed")
    for typed, end in (("0,5", "Enter"), ("0,125", "Enter"), ("0,25", "Enter"), ("0.75", "Escape")):
        page.mouse.dblclick(*live.at(x + wide - 8, y + high / 2))
        page.keyboard.type(typed)  # at once: no key gets lost
        page.keyboard.press(end)
        live.rest()
        assert run.lr == (0.25 if end == "Escape" else float(typed.replace(",", ".")))
    x, y, wide, high = live.spot("learning rate")
    page.mouse.move(*live.at(x + wide / 2, y + high / 2))
    for _ in range(8):  # to the end of the rows
        page.mouse.wheel(0, 300)
    live.rest()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    live.click("copy as command")
    assert told("copy")["text"].startswith("scalarviz playground --steps 1")
    live.until(lambda: page.inner_text(".news") == live.told[-1]["text"])  # this page has no clipboard to write to
    page.evaluate("void document.body.appendChild(document.createElement('textarea'))")
    page.locator("textarea").fill("a,b,y\n0,1,1\n1,0,-1")
    for keys in ("a", "c"):
        page.locator("textarea").press(f"Control+{keys}")
    live.press("Control+v")
    live.says("the pasted table: 2 rows")


def test_it_is_shown_twice_in_places_of_two_widths_and_each_lets_go_alone(cell):
    live = cell()
    page = live.page
    live.press("ArrowRight")
    page.evaluate("window.other = window.place('520px')")
    live.until("other.scalarviz.answered > 0")
    live.until("painted(el).page[1][0] === 518 && painted(other).page[1][0] === 518")
    assert page.evaluate("[el, other].map(one => one.querySelector('.stage').clientWidth)") == [958, 518]
    x, y = live.at(*live.cube(3))
    page.mouse.click(x, y)  # in the wider one, where Python's picture is enlarged
    live.until(lambda: live.ask(lambda play: play.viewer.bench.selected) == 3)
    page.evaluate("el.end()")
    live.until(lambda: live.shown.channel.places == 1)
    live.press("ArrowRight")
    live.until("painted(other).frame.step === 2")
    page.evaluate("other.end()")
    live.until(lambda: live.shown.channel.places == 0)
    assert not page.locator("canvas").count()
    assert not page.locator("head style").count()


def test_a_closed_cell_keeps_its_picture_and_asks_for_nothing(cell):
    live = cell()
    page = live.page
    live.shown.close()
    live.until(lambda: "run the cell again" in page.locator(".news").first.inner_text())
    before = pixels_of(page.locator(".stage").first.screenshot())
    assert before.std() > 20  # the last picture stays
    live.press("Space")
    assert page.evaluate("window.outbox.length") == 0


def test_a_cell_that_slept_goes_on_in_the_size_and_the_look_of_its_place(cell):
    live = cell()
    live.press("ArrowRight")
    live.until(lambda: live.step == 1)
    live.shown._ends = True  # as after a minute without a word
    live.until(lambda: not live.shown.alive)
    live.press("ArrowRight")
    live.until(lambda: live.step == 2)
    parts = live.rest()
    assert (parts["page"][1], parts["look"]["name"]) == ([958, 640], "light")


def test_a_lost_context_that_comes_back_shows_what_has_happened_meanwhile(cell):
    live = cell()
    page = live.page
    page.evaluate("""() => {
      window.lose = el.scalarviz.picture.graphics.gl.getExtension("WEBGL_lose_context");
      lose.loseContext();
    }""")
    live.until("el.scalarviz.picture.lost")
    live.press("ArrowRight")
    live.until(lambda: live.run.steps == 1)
    page.evaluate("lose.restoreContext()")
    live.until(lambda: live.step == 1)
    live.until(lambda: np.abs(pixels_of(page.locator(".stage").screenshot()) - window_picture(live)).mean() < NEAR)


def test_without_webgl_it_says_so_and_the_picture_of_the_saved_notebook_stays(cell):
    none = "HTMLCanvasElement.prototype.getContext = () => null;"
    live = cell(first=none)
    assert 'display="pictures"' in live.page.inner_text(".news")
    assert "none" not in live.page.evaluate("el.scalarviz.hidden.textContent")


def test_whoever_has_no_pointer_reaches_all_places_of_the_picture_by_tab_and_enter(cell):
    live = cell()
    page = live.page
    live.press("ArrowRight")
    live.until(lambda: live.step == 1)
    live.rest()
    boxes = page.locator(".spots button")
    names = boxes.evaluate_all("all => all.map(one => one.ariaLabel)")
    assert len(set(names)) == len(names) >= 8
    assert all(names)
    live.press("Tab")
    seen = []
    while (name := page.evaluate("document.activeElement.closest('.spots') && document.activeElement.ariaLabel")) and (
        len(seen) < len(names)
    ):
        seen.append(name)
        page.keyboard.press("Tab")
    assert seen == names
    for key, step in (("Enter", 2), ("Space", 3)):
        page.locator("[aria-label^='Right: train one step']").focus()
        page.keyboard.press(key)
        live.until(lambda step=step: live.step == step)
        live.rest()
        assert page.evaluate("document.activeElement.ariaLabel").startswith("Right:")
    page.keyboard.press("ArrowRight")  # other keys are the cell's there too
    live.until(lambda: live.step == 4)


@pytest.mark.parametrize("wide", [390, 520, 680])
def test_it_fits_a_narrow_column(cell, page, wide):
    page.set_viewport_size({"width": wide, "height": 800})
    live = cell("xor")
    live.press("ArrowRight")
    live.until(lambda: live.step == 1)
    parts = live.rest()
    assert parts["page"][1] == [wide - 2, 640]
    assert page.evaluate("document.documentElement.scrollWidth") == wide
    texts = [one for name, part in parts.items() if name.startswith("list ") for one in part if one[0] == "text"]
    assert all(0 <= one[1] <= wide - 2 for one in texts)


NEAR = 4.5  # of 255: letters, which two programs draw in two ways, and edges


def window_picture(live):
    """What the window paints of the bench of now."""

    def drawn(play):
        with offscreen() as canvas:
            return canvas.render(play.viewer.draw, play.viewer.bench.size)

    live.rest()
    return live.shown.call(drawn, 60.0)[..., :3].astype(int)


@pytest.mark.parametrize(("name", "light"), [("rgb", False), ("xor", True), ("playground", False)])
def test_the_picture_is_the_windows_its_list_and_its_pixels(cell, name, light):
    live = cell(name, light=light)
    live.press("Shift+ArrowRight")
    live.until(lambda: live.step == 10)
    for keys in ((), ("p",), ("p", "?")):
        live.press(*keys)
        live.rest()  # panels that the worker draws may still come
        live.until(lambda: [live.painted[f"list {part}"] for part in LISTS] == json.loads(json.dumps(live.ask(listed))))
    live.press("?", "?", "Escape")
    parts = live.rest()
    live.page.evaluate("""() => {
      const { ink } = el.scalarviz.picture, { text } = ink;
      ink.texts = [];
      ink.text = (...said) => { ink.texts.push(said); text.apply(ink, said); };
      el.scalarviz.picture.resized();
    }""")
    live.until("el.scalarviz.picture.ink.texts.length")
    written = [one[1:5] for part in LISTS for one in parts[f"list {part}"] if one[0] == "text"]
    assert [one[:4] for one in live.page.evaluate("el.scalarviz.picture.ink.texts")][: len(written)] == written
    own, window = pixels_of(live.page.locator(".stage").screenshot()), window_picture(live)
    assert np.abs(own - window).mean() < NEAR
    flat = [(x, y) for x, y in live.ask(corners) if np.ptp(window[y - 2 : y + 3, x - 2 : x + 3], (0, 1)).max() <= 6]
    assert len(flat) >= 8
    for x, y in flat:
        assert np.abs(own[y, x] - window[y, x]).max() <= 2, (x, y)


def test_an_opened_step_lights_what_it_lights_in_the_window(cell):
    live = cell("rgb", light=False)
    for count in (4, 18, 6, 16):  # products, what goes on, gradients, changes
        live.press(*count * ".")
        window = window_picture(live)
        flat = [(x, y) for x, y in live.ask(corners) if np.ptp(window[y - 2 : y + 3, x - 2 : x + 3], (0, 1)).max() <= 6]
        assert len(flat) >= 8, count
        places = tuple(np.array(flat).T[::-1])

        def agree(window=window[places], places=places):  # a while after it moved it is drawn as finely
            own = pixels_of(live.page.locator(".stage").screenshot())
            return np.abs(own[places] - window).max() <= 2

        live.until(agree)
    assert live.ask(lambda play: play.viewer.bench.slab.atlas.lift is not None)


LISTS = ("still", "beside", "time", "cubes", "numbers", "over")


def listed(play):
    """The records of the window's bench."""
    bench, listed = play.viewer.bench, Listed(play.viewer.bench.theme)
    over = [record for layer in bench.overlays for record in listed.records(layer)]
    return [listed.records([*bench.parts[name]]) for name in LISTS[:-1]] + [over]


def corners(play):
    """Pixels of the top of each cube, some of them beside the letters on it."""
    bench, found = play.viewer.bench, []
    for plate in bench.layout.plates:
        for element in range(plate.size):
            face = bench.project(plate.corners_of(element) + plate.depth * plate.axes[2])
            found += [tuple(np.rint(at).astype(int).tolist()) for corner in face for at in
                      (share * corner + (1 - share) * face.mean(axis=0) for share in (0.5, 0.6, 0.7))]  # fmt: skip
    return found


def test_while_it_trains_no_picture_of_a_panel_is_missing_in_any_frame(cell):
    live = cell()
    live.page.evaluate("""() => {
      const picture = el.scalarviz.picture, { drawn } = picture;
      window.drawings = window.missing = 0;
      picture.drawn = (known) => {
        drawings += 1;
        const shown = ["still", "beside", "numbers"].flatMap((name) => picturesOf(known[`list ${name}`]));
        missing += shown.filter((one) => !one.naturalWidth).length;
        drawn(known);
      };
    }""")
    live.press("Space")
    live.until("drawings > 25")
    live.press("Space")
    live.rest()
    assert live.page.evaluate("missing") == 0
