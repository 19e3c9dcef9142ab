"""The page of a live cell: real scenes behind it, and a model of anywidget's that this test carries to and fro."""

from __future__ import annotations

import base64
import json
import queue
import threading
import time

import numpy as np
import pytest

from kit.commands import make_scene
from scalarviz.run.controls import Slider
from scalarviz.view.cell.shown import Shown
from scalarviz.view.page.scripts import joined, read

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
window.place = () => {
  const el = document.body.appendChild(document.createElement("div"));
  el.end = renderCell({ model: window.model, el });
  return el;
};
"""


class Bridge:
    """Carries what a cell sends into the page, and what the page says to the cell."""

    def __init__(self, page, shown):
        self.page, self.shown, self.waiting = page, shown, queue.SimpleQueue()
        shown.post = lambda content, buffers: self.waiting.put(
            [json.loads(json.dumps(content, allow_nan=False)), [base64.b64encode(b).decode() for b in buffers]]
        )
        page.set_content(f"<!doctype html><title>cell</title><style>{read('cell.css')}</style><body>")
        page.add_script_tag(content=joined("cell.js") + MODEL)
        page.evaluate("about => { window.about = about; window.el = window.place(); }", shown.about)
        self.pump(lambda: self.eval("el.scalarviz.answered > 0"))

    def pump(self, until, seconds=15.0):
        """Carry messages until something holds."""
        deadline = time.monotonic() + seconds
        while True:
            come = []
            while not self.waiting.empty():
                come.append(self.waiting.get())
            for said in self.page.evaluate("messages => window.deliver(messages)", come):
                self.shown.hear(said)
            if until():
                return
            assert time.monotonic() < deadline, self.eval("el.innerText")
            time.sleep(0.01)

    def eval(self, text):
        return self.page.evaluate(text)

    @property
    def values(self):
        """The weights of the frame that was drawn last."""
        return np.array(self.eval("Array.from(el.scalarviz.player.frame.texels.weight)"), np.float32)

    @property
    def step(self):
        return self.eval("el.scalarviz.frame.step")

    def click(self, name):
        self.page.click(f".tools [data-name={name}]")

    def until(self, text):
        """Carry messages until an expression of the page holds."""
        self.pump(lambda: self.eval(text))

    def press(self, *keys):
        """Keys, on the cell."""
        self.page.locator(".scalarviz-cell").first.focus()
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def bridge(page):
    opened, before = [], set(threading.enumerate())

    def make(name="rgb", hide=(), controls=True, size=(560, 320)):
        opened.append(Shown(make_scene(name), size, hide, controls))
        return Bridge(page, opened[-1])

    yield make
    for shown in opened:
        shown.close()
    assert not [t for t in set(threading.enumerate()) - before if "scalarviz" in t.name]


def test_the_numbers_of_the_run_its_slider_and_its_cubes(bridge):
    live = bridge()
    run, page = live.shown.scene.run, live.page
    assert np.array_equal(live.values[:12], run.values.astype(np.float32))
    live.click("step")
    live.pump(lambda: live.step == 1)
    live.click("toggle_run")
    live.pump(lambda: live.step > 10)
    live.click("toggle_run")
    live.pump(lambda: live.eval("!el.scalarviz.known.running") and live.step == run.steps)
    assert np.array_equal(live.values[:12], run.values.astype(np.float32))
    assert page.inner_text(".pair b") == f"{run.steps:,}"
    slider = page.locator("input[type=range][data-name='learning rate']")
    slider.focus()
    page.keyboard.press("Home")
    live.pump(lambda: run.lr == 1e-4)
    page.keyboard.press("End")
    live.pump(lambda: run.lr == 10.0)
    number = page.locator("input[aria-label='learning rate, typed']")
    number.fill("0.25")
    number.press("Enter")
    live.pump(lambda: run.lr == 0.25)
    live.pump(lambda: number.input_value() == "0.25")
    page.evaluate("el.scalarviz.select(3)")
    live.pump(lambda: page.is_visible(".card") and page.inner_text(".card h2") == "0.weight[1][0]")
    live.pump(lambda: "will move it" in page.inner_text(".card"))
    value = page.locator(".card input")
    value.fill("-0.625")
    value.press("Enter")
    live.pump(lambda: live.values[3] == np.float32(-0.625))
    assert run.values[3] == -0.625
    live.pump(lambda: value.input_value() == "-0.6250")
    page.click("text=freeze")
    live.until("el.scalarviz.known.inspector.frozen")
    assert run.frame().frozen[3]
    before = live.step
    live.click("step")
    live.pump(lambda: live.step == before + 1)
    assert live.values[3] == np.float32(-0.625)
    page.click(".card [aria-label=close]")
    live.pump(lambda: not page.is_visible(".card"))


def test_a_micro_step_and_the_time_bar(bridge):
    live = bridge()
    page, run = live.page, live.shown.scene.run
    page.locator(".tools [data-name=step]").click(modifiers=["Shift"])
    live.pump(lambda: live.step == 10)
    live.click("micro_next")
    live.pump(lambda: page.is_visible(".micro") and "zero" in page.inner_text(".micro .now"))
    live.click("micro_next")
    live.pump(lambda: "product" in page.inner_text(".formula"))
    bar = page.locator(".time")
    assert bar.get_attribute("aria-valuenow") == "10"  # the step that was done: the open one is none yet
    live.click("step")
    live.pump(lambda: live.step == 11 and not page.is_visible(".micro"))
    box = bar.bounding_box()
    page.mouse.click(box["x"] + 58, box["y"] + 40)
    live.pump(lambda: live.step == 0 and bar.get_attribute("aria-valuenow") == "0")
    assert run.steps == 0
    live.press("End")
    live.pump(lambda: live.step == 11)
    page.mouse.click(box["x"] + 58, box["y"] + 40)
    page.keyboard.press("End")  # at once: the bar's last word has not been said yet, and must not come after it
    live.pump(lambda: live.step == 11)
    page.wait_for_timeout(400)
    live.pump(lambda: live.step == 11)
    assert run.steps == 11


def test_formulas_of_a_single_layer_stand_below_the_cubes_and_the_legend_says_whose_gradients(bridge):
    live = bridge()
    page, run = live.page, live.shown.scene.run
    live.click("step")
    live.pump(lambda: live.step == 1 and page.is_visible(".formulas"))

    def printed():
        return page.locator(".formulas p").all_inner_texts()

    def agree():  # words are written less often than cubes are painted
        row = live.eval("Array.from(el.scalarviz.frame.rows[el.scalarviz.document.words.single.last])")
        return [float(line.split(" = ")[-1]) for line in printed()] == pytest.approx(row, abs=0.005)

    live.pump(agree)
    lines, frame = printed(), run.frame()
    assert [line.split(" = ")[0] for line in lines] == ["r", "g", "b"]
    assert f"{frame.values[0]:.3f}".replace("-", "\N{MINUS SIGN}") in lines[0]
    live.press("g")
    live.pump(lambda: live.eval("el.scalarviz.player.frame.about[0]") == "mean of all 1,024 colours")
    live.click("micro_next")
    live.pump(
        lambda: (
            page.is_visible(".micro")
            and live.eval("getComputedStyle(el.querySelector('.formulas')).visibility") == "hidden"
        )
    )


def test_a_condition_is_typed_pauses_the_run_is_switched_off_and_taken_away(bridge):
    live = bridge()
    page, run = live.page, live.shown.scene.run
    live.press("F9")
    live.pump(lambda: live.eval("document.activeElement.className") == "condition")
    page.keyboard.type("loss <")
    page.keyboard.press("Enter")
    live.pump(lambda: "break_on" in page.inner_text(".news"))  # in the words of the run
    assert len(run.breakpoints) == 0
    field = page.locator("input.condition")
    field.fill("loss < 0.1")
    field.press("Enter")
    live.pump(lambda: page.locator(".conditions li").count() == 1 and field.input_value() == "")
    assert [point.text for point in run.breakpoints] == ["loss < 0.1"]
    live.click("toggle_run")
    live.pump(lambda: run.breakpoints[0].hits == 1 and not live.eval("el.scalarviz.known.running"))
    assert run.loss < 0.1
    live.pump(lambda: "1 hit" in page.inner_text(".conditions"))
    page.locator(".conditions input").uncheck()
    live.pump(lambda: not run.breakpoints[0].enabled)
    page.click(".conditions button")
    live.pump(lambda: page.locator(".conditions li").count() == 0)
    assert len(run.breakpoints) == 0
    for bad in (3, "", " ", "x" * 401, None):
        live.shown.hear({"kind": "break", "text": bad})
    live.pump(lambda: "a condition is a text" in page.inner_text(".news"))
    assert len(run.breakpoints) == 0


def test_rows_of_cubes_inside_a_step_are_there_when_they_are_computed_and_deltas_on_the_way_back(bridge):
    live = bridge("xor")
    plates = {p["name"]: p for p in live.eval("el.scalarviz.document.plates") if p["kind"] == "activation"}
    hidden, out = (name for name in plates if name != "input")
    before = row_of(live, plates[hidden])[0]
    live.shown.act("micro_next")
    live.pump(lambda: live.eval("el.scalarviz.known.micro?.at") == 1)
    counts = [count for _, _, _, count in live.eval("el.scalarviz.known.micro.phases")]

    def go_on(at):
        for _ in range(at - live.eval("el.scalarviz.known.micro.at")):
            live.shown.act("micro_next")
        drawn = "el.scalarviz.known.micro?.at === {} && el.scalarviz.frame.number <= el.scalarviz.answered"
        live.pump(lambda: live.eval(drawn.format(at)))

    go_on(counts[0] + 2)  # two products: the inputs are there, and nothing else
    assert row_of(live, plates["input"])[1].all()
    assert not row_of(live, plates[hidden])[1].any()
    assert live.eval("el.scalarviz.frame.rowMap") is None
    assert live.eval("el.scalarviz.frame.hides.size") == plates[hidden]["size"] + plates[out]["size"]
    go_on(sum(counts[:4]) + 1)  # the first gradient: all deltas have come
    (deltas, there), (last, arrived) = row_of(live, plates[hidden]), row_of(live, plates[out])
    assert there.all()
    assert arrived.all()
    assert not row_of(live, plates["input"])[1].any()
    weights = live.shown.scene.run.model.state_dict()["2.weight"][0]
    assert deltas == pytest.approx(np.asarray(weights) * last * (1 - before**2), rel=1e-4)  # the chain rule, by hand
    assert live.eval("el.scalarviz.frame.rowMap") == "gradient"
    high = max(np.abs(deltas).max(), np.abs(last).max())
    assert live.eval("el.scalarviz.player.shown.activation.high") == pytest.approx(high, rel=1e-4)


def row_of(live, plate):
    """Numbers of a row of cubes, and which of them are there."""
    span = slice(plate["texel"], plate["texel"] + plate["size"])
    flags = np.array(live.eval("Array.from(el.scalarviz.frame.flags)"))[span]
    return np.array(live.eval("Array.from(el.scalarviz.player.shown.numbers)"))[span], (flags & 32) == 0


def test_keys_do_what_they_do_in_the_window_and_what_the_browser_does_by_itself(bridge):
    live = bridge()
    page = live.page
    live.press("Shift+ArrowRight")
    live.pump(lambda: live.step == 10)
    page.keyboard.press("g")
    live.pump(lambda: live.eval("el.scalarviz.player.quantity") == "gradient")
    gradient = live.shown.call(lambda play: play.viewer.shown.gradient)
    drawn = np.array(live.eval("Array.from(el.scalarviz.player.frame.texels.gradient)"), np.float32)
    assert np.array_equal(drawn[:12], gradient.astype(np.float32))
    assert page.get_attribute(".tools .show_gradients", "aria-pressed") == "true"
    page.locator("input[aria-label='learning rate, typed']").press("r")
    page.keyboard.press("w")
    live.pump(lambda: live.eval("el.scalarviz.known.quantity") == "gradient")
    live.press("w")
    live.pump(lambda: live.eval("el.scalarviz.player.quantity") == "weight")
    live.press("o")
    assert live.eval("el.scalarviz.player.parallel")
    page.keyboard.press("?")
    assert page.get_by_text("one training step (Shift: ten)").is_visible()
    page.keyboard.press("?")
    assert not page.get_by_text("one training step (Shift: ten)").is_visible()
    live.eval("el.scalarviz.player.shown.growth.update([9], null)")
    page.keyboard.press("0")
    live.pump(lambda: live.eval("el.scalarviz.player.shown.range?.high") < 2)
    page.evaluate("el.scalarviz.select(3)")
    live.pump(lambda: page.is_visible(".card"))
    live.press("Enter")
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    live.pump(lambda: live.shown.scene.run.values[3] == 0.5)
    live.press("n", "Shift+N")
    live.pump(lambda: live.eval("el.scalarviz.known.time.flags.length") == 1)


@pytest.mark.gl
def test_maps_sizes_what_the_optimiser_keeps_and_a_hand_on_a_panel(bridge):
    live = bridge("digits")
    page = live.page
    live.click("step")
    live.pump(lambda: live.step == 1)
    live.press("m")
    live.until("el.scalarviz.player.quantity === 'exp_avg' && el.scalarviz.frame.known.update")
    state = live.shown.call(lambda play: play.viewer.shown.state["exp_avg"])
    assert state.any()
    numbers = state.astype(np.float32).tolist()
    live.pump(lambda: live.eval("Array.from(el.scalarviz.player.shown.numbers)")[: len(numbers)] == numbers)
    assert "m (exp_avg)" in page.inner_text(".shows")
    page.keyboard.press("j")
    page.keyboard.press(">")
    live.until("el.scalarviz.player.sizing.byValue && el.scalarviz.player.sizing.threshold === 0.01")
    page.keyboard.press("c")
    live.pump(lambda: live.eval("el.scalarviz.player.coloured").startswith("grey,"))
    page.keyboard.press("w")
    live.pump(lambda: live.eval("el.scalarviz.player.coloured").startswith("grey,") and live.eval(
        "el.scalarviz.player.quantity") == "weight")  # fmt: skip
    live.pump(lambda: page.locator(".panels canvas").count() == 2)
    pad = page.locator(".panels canvas").nth(1)
    live.pump(lambda: pad.get_attribute("aria-label"))
    before = live.shown.call(lambda play: play.viewer.bench.subject.probe.copy())
    pad.hover(position={"x": 30, "y": 60})
    page.mouse.down()
    box = pad.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 70)
    page.mouse.up()
    live.pump(lambda: live.shown.call(lambda play: (play.viewer.bench.subject.probe != before).any()))


def test_what_is_hidden_is_not_on_the_page_which_fits_a_narrow_column(bridge):
    live = bridge(hide=("learning rate", "timeline", "restart"))
    page = live.page
    assert not page.locator("input[data-name='learning rate']").count()
    assert page.locator("input[data-name=pace]").count()
    assert not page.is_visible(".time")
    assert not page.locator("[data-name=restart]").count()
    live.page.set_viewport_size({"width": 400, "height": 900})
    live.pump(lambda: live.eval("el.scalarviz.cubes.clientHeight") == 320)
    wide = live.eval("document.documentElement.scrollWidth")
    assert wide <= 400


def test_it_is_shown_twice_and_each_place_lets_go_alone(bridge):
    live = bridge()
    page = live.page
    page.evaluate("window.other = window.place()")
    live.until("other.scalarviz.answered > 0")
    assert page.locator("canvas").count() >= 4
    page.locator(".tools [data-name=step]").first.click()
    live.until("el.scalarviz.frame.step === 1 && other.scalarviz.frame.step === 1")
    page.evaluate("el.end()")
    live.pump(lambda: live.shown.channel.places == 1)
    page.evaluate("other.scalarviz.act('step')")
    live.until("other.scalarviz.frame.step === 2")
    page.evaluate("other.end()")
    live.pump(lambda: live.shown.channel.places == 0)
    assert not page.locator("canvas").count()
    assert page.evaluate("document.head.querySelectorAll('style').length") == 1  # the test's own


def test_a_place_whose_greeting_is_late_passes_over_frames_and_a_closed_cell_asks_for_nothing(bridge):
    live = bridge()
    page = live.page
    greeting = page.evaluate("window.other = window.place(); window.outbox.splice(0)")
    page.evaluate("clearInterval(other.scalarviz.beat)")  # nor does it greet again after a while
    live.click("step")
    live.pump(lambda: live.step == 1)
    assert page.evaluate("other.scalarviz.frame") is None
    for said in greeting:
        live.shown.hear(said)
    live.until("other.scalarviz.frame?.step === 1")
    live.shown.close()
    live.pump(lambda: "run the cell again" in page.inner_text(".news"))
    assert not page.is_visible(".controls")
    live.press("Space")
    assert page.evaluate("window.outbox.length") == 0


def test_sliders_stand_where_pythons_do(bridge):
    live = bridge()
    rng = np.random.default_rng(5)
    made = []
    for _ in range(200):
        log, whole = bool(rng.integers(2)), bool(rng.integers(2))
        least = float(10 ** rng.uniform(-4, 2)) if log else float(rng.uniform(-50, 50))
        most = least * 10 ** rng.uniform(0.5, 5) if log else least + 10 ** rng.uniform(-1, 4)
        made.append((Slider("x", "", "does", least=least, most=most, log=log, whole=whole, value=lambda r: 1.0,
                            change=lambda v, r: None), float(rng.uniform(-0.1, 1.1))))  # fmt: skip
    given = [[{"least": s.least, "most": s.most, "log": s.log, "whole": s.whole}, share] for s, share in made]
    found = live.page.evaluate(
        "given => given.map(([item, at]) => [trackValue(item, at), trackShare(item, trackValue(item, at))])", given
    )
    for (slider, share), (value, place) in zip(made, found, strict=True):
        assert value == pytest.approx(slider.at(share), rel=1e-12, abs=1e-12)
        assert place == pytest.approx(slider.share(slider.at(share)), abs=1e-9)
