"""A recorded run as a page: it shows what was recorded, does what keys and buttons say, and asks nobody.

Some laws are of every page: of a run, and of two that are compared.
"""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import panels
from scalarviz.run.edits.base import Applied
from scalarviz.run.panels.base import PanelPicture
from scalarviz.run.scene.scene import Scene
from scalarviz.run.source import RunSource
from scalarviz.view.ink.sketch import Rect
from scalarviz.view.ink.text import loss_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.page.page import headlines_of, no_headlines
from scalarviz.view.page.recorded import at_the_end, html_of
from scalarviz.view.screen.time_bar import TimeBar

from .players import EVIL, READY, opened, painted, said, scene

approx = partial(pytest.approx, abs=0.1)  # a page has tenths of a pixel


def recorded(frames=30, *, edit=None):
    """A recording of rgb, ten steps a frame."""
    made = scene("rgb", 0)
    with sv.Recording(made, every=10, gradients=True, updates=True, activations=True) as recording:
        for k in range(frames):
            if k == 10 and edit:
                edit(made.run)
            made.run.step(10)
    memory = sv.load_recording(recording.path)
    memory.file = recording  # a temporary one, which goes with this object
    return memory


@pytest.fixture(scope="module")
def memory():
    return recorded(edit=lambda run: setattr(run, "lr", 1.0))


@pytest.fixture(scope="module")
def file(memory, tmp_path_factory):
    return memory.save_html(tmp_path_factory.mktemp("page") / "run.html", title="rgb & co")


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Two recordings beside each other, and the page of them."""
    pair = recorded(3).compare(recorded(2))
    return pair, pair.save_html(tmp_path_factory.mktemp("page") / "both.html")


# ---- of every page


def test_it_works_in_a_sandbox(page, file, both):
    for one in (file, both[1]):
        html = one.read_text(encoding="utf-8").replace("&", "&amp;").replace('"', "&quot;")
        page.set_content(f'<iframe sandbox="allow-scripts" width=900 height=600 srcdoc="{html}"></iframe>')
        frame = page.wait_for_selector("iframe").content_frame()
        frame.wait_for_function(READY)
        assert frame.evaluate("scalarviz.run.steps.at(-1)") == (300 if one is file else 30)


def test_without_scripts_or_webgl_the_last_still_stands_there(browse, file, both):
    silent, flat = browse(java_script_enabled=False), browse()
    flat.add_init_script("""const real = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
            return kind === "webgl2" ? null : real.call(this, kind, ...more); };""")
    for one, words in ((file, "its last step, 300, loss 0.0"), (both[1], "a at step 30, loss")):
        for page in (silent, flat):
            page.goto(one.as_uri())
            if page is flat:
                page.wait_for_function("() => document.getElementById('sentence').textContent.includes('cannot play')")
            still = page.locator("#still img")
            assert still.is_visible()
            assert words in page.locator("#sentence").inner_text() + still.get_attribute("alt")
            assert not page.locator("#app").is_visible()


@pytest.mark.parametrize("names", [("__proto__", "constructor"), ("constructor", "__proto__", "toString")], ids=len)
def test_layers_may_be_called_as_javascripts_own_parts(page, tmp_path, names):
    net = nn.Sequential({name: nn.Linear(2, 2, seed=k) for k, name in enumerate(names)})
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.eye(2), np.eye(2)))
    with sv.Recording(run, activations=True) as recording:
        run.step(2)
        opened(page, recording.save_html(tmp_path / "a.html", open=[]))
    rows = page.evaluate("scalarviz.run.document.plates.filter(one => one.kind === 'activation').map(({ name }) => "
                         "[name, [...scalarviz.player.shown.rowOf(scalarviz.player.frame, name)]])")  # fmt: skip
    with recording.read() as record:
        assert {name for name, _ in rows} >= {*names}
        for name, row in rows:
            assert row == pytest.approx(record.activations[name][-1].tolist(), abs=1e-3)


def test_hostile_names_stay_words(page, tmp_path):
    other = recorded(3)
    other.past = replace(other.past, edits=(Applied(10, None, EVIL),))
    other.about = replace(other.about, sentence=EVIL)
    pair = other.compare(other)
    pair.names, pair.left_out = (EVIL, EVIL + "2"), (EVIL,)
    pair.past = replace(pair.past, edits=(Applied(10, None, EVIL),))
    for number, (one, how) in enumerate(((other, {"open": []}), (pair, {}))):
        opened(page, one.save_html(tmp_path / f"{number}.html", title=EVIL, **how))
        assert page.title().startswith("</script><script>")
        assert EVIL in page.evaluate("scalarviz.run.edits[0][1]")
        assert page.evaluate("document.images.length") == 1
        assert page.evaluate("document.querySelectorAll('a, iframe, object, form').length") == 0
        if one is other:
            described = page.locator("meta[name=description]").get_attribute("content")
            assert described.startswith(EVIL.replace("\u2028", ""))
        else:
            assert EVIL.partition("\u2028")[0] in page.locator("#about").text_content()


def test_paper_has_the_step_that_is_shown(page, file, both):
    for one in (file, both[1]):
        opened(page, one)
        page.emulate_media(media="print")
        assert page.evaluate("[...document.querySelectorAll('main')].map(e => e.checkVisibility())") == [False, True]
        solid = page.evaluate("""() => ["beforeprint", "afterprint"].map(name => {
            dispatchEvent(new Event(name));
            return [scalarviz.player.players ?? scalarviz.player].flat().map(({ above }) =>
                above.getContext("2d").getImageData(0, 0, above.width, 1).data.every((x, k) => k % 4 < 3 || x === 255));
        })""")
        assert [set(players) for players in solid] == [{True}, {False}]
        page.emulate_media(media="screen")


# ---- of a run


def test_it_holds_the_bits_that_were_recorded(page, file, memory):
    opened(page, file)
    got = page.evaluate("""() => Object.entries(scalarviz.run.tables).map(([name, table]) =>
        [name, table.columns, btoa(String.fromCharCode(...new Uint8Array(table.numbers.buffer)))])""")
    frames = [memory.frame(k) for k in range(len(memory.steps))]
    wanted = {"weight": [f.values for f in frames], "gradient": [f.gradient for f in frames],
              "update": [f.update for f in frames]}  # fmt: skip
    assert {name for name, *_ in got} == set(wanted)
    for name, columns, data in got:
        table = np.frombuffer(base64.b64decode(data), np.uint32).reshape(-1, columns)
        assert np.array_equal(table[:, :12], np.array(wanted[name], np.float32).view(np.uint32)), name
    losses = page.evaluate("scalarviz.run.loss.map(x => isNaN(x) ? null : x)")
    assert losses == [f.display_loss for f in frames]


def test_keys_buttons_and_addresses(page, file):
    opened(page, file, "#frame=20&az=30&el=40&quantity=gradient")
    assert said(page, "step") == "200"
    assert said(page, "shows") == "gradient"
    pose = page.evaluate("scalarviz.player.pose")
    assert (pose["az"], pose["el"]) == (30, 40)
    bar = page.locator("#bar")
    for key, step in [("ArrowRight", 210), ("Shift+ArrowLeft", 110), ("Home", 0), ("End", 300), ("ArrowLeft", 290)]:
        page.keyboard.press(key)
        assert bar.get_attribute("aria-valuenow") == str(step), key
    assert bar.get_attribute("aria-valuetext").startswith("step 290 of 300, loss 0.0")
    assert bar.get_attribute("role") == "slider"
    page.keyboard.press("w")
    assert said(page, "shows") == "weight"
    page.get_by_role("button", name="update", exact=True).click()
    assert said(page, "shows") == "update"
    page.keyboard.press("l")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    assert "play or pause" in said(page, "help")
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    box = bar.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
    middle = int(bar.get_attribute("aria-valuenow"))
    assert 100 <= middle <= 200
    page.evaluate("location.hash = 'step=52'")
    page.wait_for_function("() => document.getElementById('step').textContent === '50'")
    page.get_by_role("button", name="numbers").click()
    assert page.locator("#table tbody tr").count() == 12
    assert "from input r to output r" in said(page, "table")
    wrong = ("quantity=__proto__", "quantity=toString&az=1e308&el=NaN", "frame=1e999", "theme=toString&step=%E0")
    for hash in wrong:  # what there is not changes nothing
        page.evaluate("hash => scalarviz.follow(`#${hash}`)", hash)
        assert (said(page, "step"), said(page, "shows")) == ("50", "update"), hash
    pose = page.evaluate("scalarviz.player.pose")
    assert abs(pose["az"]) < 360
    assert all(np.isfinite(number) for number in pose.values() if isinstance(number, float | int))


def test_it_plays_and_stops(page, browse, file):
    for motion, moves in (("reduce", False), ("no-preference", True)):  # by itself only where that is wanted
        assert opened(browse(reduced_motion=motion), file, "").evaluate("scalarviz.playing") is moves
    opened(page, file)
    page.keyboard.press("Home")
    page.get_by_label("recorded steps a second").select_option("8")
    page.get_by_role("button", name="play", exact=True).click()
    assert page.get_by_role("button", name="pause", exact=True).count() == 1
    page.get_by_label("recorded steps a second").select_option("120")
    page.wait_for_function("() => scalarviz.frame === 30")
    page.wait_for_function("() => !scalarviz.playing")
    page.get_by_label("recorded steps a second").select_option("8")
    page.keyboard.press("Home")  # at the end it would train on
    page.get_by_role("button", name="play", exact=True).focus()
    page.keyboard.press(" ")  # the button has the focus: it is pressed once
    page.wait_for_function("() => scalarviz.frame > 2 && scalarviz.frame < 30")
    page.keyboard.press(" ")
    assert page.evaluate("scalarviz.playing") is False


def test_while_it_plays_the_words_wait_for_the_cubes(page, file):
    opened(page, file, "#frame=0")
    first, then, drawn = page.evaluate("""async () => {
        const page = window.scalarviz, said = () => document.getElementById("step").textContent;
        page.player.pace.ask = () => {};   // cubes that take their time
        page.play();
        while (page.frame < 3) await new Promise(requestAnimationFrame);
        const first = said();
        page.player.draw();
        return [first, said(), page.player.frame.step];
    }""")
    assert first == "0"
    assert then == str(drawn) != first


def test_a_telephone_has_all_of_it(browse, file):
    page = opened(browse(viewport={"width": 390, "height": 844}, has_touch=True), file)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("scalarviz.shape") == 1
    sizes = page.evaluate("""() => {
        const all = CanvasRenderingContext2D.prototype, own = all.fillText, found = [];
        all.fillText = function () {
            found.push(parseFloat(/[\\d.]+px/.exec(this.font)[0]) * this.getTransform().a / devicePixelRatio);
        };
        scalarviz.player.overlay.ink.films.clear();
        scalarviz.player.draw();
        all.fillText = own;
        return found;
    }""")  # also those of panels that are smaller than in the file
    assert len(sizes) > 20
    assert min(sizes) >= 12.99
    bar = page.locator("#bar").bounding_box()
    page.touchscreen.tap(bar["x"] + 28, bar["y"] + 30)
    assert int(page.locator("#bar").get_attribute("aria-valuenow")) < 30
    for name in ("play", "open step", "train here", "change", "gradient", "fit"):  # the bar goes to the first step
        box = page.get_by_role("button", name=name).first.bounding_box()
        assert box["height"] >= 44, name
        assert box["y"] + box["height"] <= 844 or name in ("gradient", "fit"), name
    page.evaluate("scalarviz.select(0)")
    for wide, high in ((390, 844), (680, 510), (844, 390)):  # the last on its side; time stays below the open card
        page.set_viewport_size({"width": wide, "height": high})
        page.wait_for_function(
            """high => innerHeight === high
                && Math.abs(stage.offsetTop + stage.offsetHeight / 2 - room.offsetHeight / 2) < 1""",
            arg=high,
        )
        card, time = page.locator("#card").bounding_box(), page.locator("#bar").bounding_box()
        assert card["y"] > 0, wide
        assert card["y"] + card["height"] <= time["y"] + 1, wide
        assert time["y"] + time["height"] <= high, wide
    page.wait_for_function("() => scalarviz.shape === 0")
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth") <= 844
    bar = page.locator("#bar").bounding_box()
    assert bar["y"] + bar["height"] <= 390
    assert page.locator("#stage").bounding_box()["height"] > 320


def test_without_a_pointer_a_number_is_looked_into_from_the_table(page, file, memory):
    """It has its history there; and somebody who has never seen one is told what it is."""
    opened(page, file)
    assert "12 weights learn to turn every colour into its opposite." in painted(page)
    page.get_by_role("button", name="numbers").press("Enter")
    button = page.get_by_role("button", name="from input b to output g")
    button.focus()
    page.evaluate("scalarviz.go(21)")  # while it goes on, the focus stays
    assert button.evaluate("e => e === document.activeElement")
    button.press("Enter")
    assert page.locator("#table").is_hidden()
    assert said(page, "card").startswith("from input b to output g")
    assert "0.weight[1][2]" in said(page, "card")
    assert page.evaluate("scalarviz.player.selected") == 5
    assert page.get_by_role("button", name="close").first.evaluate("e => e === document.activeElement")
    assert f"{abs(float(memory.frame(21).values[5])):.4f}" in said(page, "card")
    page.keyboard.press("Home")
    assert "not computed yet" in said(page, "card")
    page.keyboard.press("Escape")
    assert not page.locator("#card").is_visible()


def test_a_page_of_16_bits_says_so(page, monkeypatch, tmp_path):
    monkeypatch.setattr("scalarviz.view.page.pack.EXACT", 20)
    opened(page, recorded(5).save_html(tmp_path / "run.html", open=[]), "#frame=4")
    assert "numbers of 16 bits" in said(page, "about")
    errors = page.evaluate("Array.from(scalarviz.run.shown(4).errors.weight)")
    assert all(0 < error < 1e-4 for error in errors[:12])
    page.evaluate("scalarviz.select(0)")
    assert said(page, "card").count("\n") > 3


def test_where_the_loss_of_all_samples_is_told_it_is_the_one(page, tmp_path):
    made = scene("uinn", 0)
    with sv.Recording(made, every=1) as recording:
        made.run.step(20)
    opened(page, recording.save_html(tmp_path / "run.html", open=[]))
    assert said(page, "loss") == loss_text(RunSource(made.run).whole_loss())
    told = page.locator("#bar").get_attribute("aria-valuetext")
    assert told.endswith(f"loss {said(page, 'loss')}")


def test_a_branch_that_was_left_stands_in_the_time_bar_and_can_be_chosen_with_its_frames(page, tmp_path):
    made = scene("rgb", 0)
    run = made.run
    with sv.Recording(made, every=10, gradients=True, updates=True) as recording:
        run.step(100)
        for back, rate, on in ((60, 2.0, 30), (20, 0.1, 10)):
            run.back(back)
            run.lr = rate
            run.step(on)
    with sv.load_recording(recording.path) as record:
        record.save_html(tmp_path / "run.html", open=[])
        others = {branch.number: record.on(branch) for branch in record.branches}
        opened(page, tmp_path / "run.html", "#frame=0")
        assert page.evaluate("scalarviz.bar.bar.scale[1]") == 100
        choice = page.get_by_label("branch of the run")
        assert choice.locator("option").all_inner_texts() == [
            "branch 1 of 3", "branch 2 of 3: lr = 2", "branch 3 of 3: lr = 0.1"
        ]  # fmt: skip
        assert choice.input_value() == str(record.branch)
        for number, other in others.items():
            choice.select_option(str(number))
            assert page.evaluate("scalarviz.run.steps") == other.steps.tolist()
            assert page.evaluate("scalarviz.frame") == len(other) - 1
            assert page.evaluate("scalarviz.run.edits.length") == len(other.past.edits)
            for k in range(len(other)):
                frame = other.frame(k)
                found = page.evaluate(
                    f"(({{texels}}) => [...texels.weight, ...texels.update])(scalarviz.run.shown({k}))"
                )
                assert np.array_equal(
                    np.float32(found), np.concatenate([frame.values, frame.update]).astype(np.float32)
                )
        assert said(page, "step") == str(int(others[max(others)].steps[-1]))
        spots = page.evaluate("scalarviz.bar.bar.spots.map(([x, y, wide, high, branch, words]) => "
                              "[...scalarviz.bar.placeOf([x + wide / 2, y + high / 2]), branch, words])")  # fmt: skip
        ((x, y, _, words),) = (spot for spot in spots if spot[2] == 0)
        box = page.locator("#bar").bounding_box()
        scale = page.evaluate("typeScale(document.getElementById('bar'))")
        page.mouse.move(box["x"] + scale * x, box["y"] + scale * y)
        assert page.locator("#bar .label").inner_text() == words
        assert words.splitlines() == ["another branch", "steps 0 to 100", "2 branches: click for the next"]
        page.mouse.click(box["x"] + scale * x, box["y"] + scale * y)
        assert said(page, "step") == "100"
        assert choice.input_value() == "0"


DRAWN = """([step, wide]) => { const { bar, run } = scalarviz, texts = [], boxes = [];
    const place = `left: 0; top: 0; width: ${wide}px; height: 92px`;
    document.getElementById("bar").style.cssText = `--type: 1; z-index: 9; ${place}`;
    bar.ink.text = (x, y, text) => texts.push([text, x, y]);
    bar.ink.box = (x, y, ...size) => boxes.push([x, y, ...size.slice(0, 2)]);
    scalarviz.go(run.steps.indexOf(step));
    delete bar.ink.text; delete bar.ink.box;
    return [texts, boxes, bar.placeOfStep(step), run.edits.map(([at]) => bar.placeOfStep(at))]; }"""
"""The words and boxes that the time bar draws at a step and a width, the place of the step, and those of edits."""


def test_the_time_bar_is_the_windows_own_at_every_step_and_wider_where_there_is_room(page, file, memory):
    opened(page, file)
    _, subject, frame = at_the_end(memory)
    bar = TimeBar(DARK)
    bar.buttons = False
    bar.follow(subject, frame)
    bar.place((0.0, 0.0, 660.0, 92.0))
    bar.update(frame)
    for step in (0, 10, 90, 100, 110, 300):
        there = bar.update(replace(frame, step=step))
        wanted = sorted((item.text, item.x, item.y) for sketch in there for item in sketch.texts)
        texts, boxes, x, _ = page.evaluate(DRAWN, [step, 660])
        assert sorted(map(tuple, texts)) == [(text, approx(x), approx(y)) for text, x, y in wanted]
        rects = [(s.x, s.y, s.width, s.height) for sketch in there[1:] for s in sketch.shapes if isinstance(s, Rect)]
        assert boxes == [list(map(approx, rect)) for rect in rects]
        assert x == approx(bar.plan.scale.x_of(step))
        *around, x, edits = page.evaluate(DRAWN, [step, 800])
        words = {text: x for text, x, _ in around[0]}
        assert words["lr = 1"] == approx(edits[0])  # words stay below their mark
        (left, _, wide, _), disc = around[1][-1], around[1][-2]
        assert disc[0] + disc[2] / 2 == approx(x)
        assert left <= x <= left + wide  # the flag stays on its cursor
        box = page.locator("#bar").bounding_box()
        page.mouse.click(box["x"] + x, box["y"] + 60)
        assert page.locator("#bar").get_attribute("aria-valuenow") == str(step)


def test_a_recording_of_one_step_or_far_steps_has_a_page(page, tmp_path):
    data = (np.eye(2), np.eye(2))
    for steps in (0, 1, 40_000):  # the last on a logarithmic bar
        net = nn.Linear(2, 2, seed=0)
        run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), data, engine="numpy")
        with sv.Recording(run, every=max(steps // 4, 1), path=tmp_path / f"{steps}.svz") as recording:
            run.step(steps)
        with sv.load_recording(recording.path) as record:
            file, last = record.save_html(tmp_path / f"{steps}.html", open=[]), int(record.steps[-1])
            page.goto(f"{file.as_uri()}#frame=0")
            page.wait_for_function(READY)
            page.keyboard.press("End")
            assert page.locator("#bar").get_attribute("aria-valuenow") == str(last)
            page.locator("#bar").click()
            assert page.evaluate("scalarviz.bar.bars.length > 0") == (len(record) > 1)


def test_panels_have_the_look_of_the_page_and_pictures_of_older_files_stay(page, tmp_path, memory):
    def image(colour):
        file = io.BytesIO()
        Image.new("RGB", (8, 6), colour).save(file, "WEBP", lossless=True)
        return file.getvalue()

    dark = [PanelPicture("task", step, 8, 6, image("black")) for step in (0, 100, 300)]
    light = [PanelPicture("task", step, 8, 6, image("white")) for step in (0, 100)]
    path = tmp_path / "both.html"
    path.write_text(html_of(memory, dark, others=light), encoding="utf-8")
    opened(page, path, "#frame=20")
    assert "task at step 100" in painted(page)
    looks = [0, 255]
    if page.evaluate("document.documentElement.dataset.theme") == "light":
        looks.reverse()
    for wanted in looks:  # a picture is decoded first
        page.wait_for_function(
            """wanted => {
            const { canvas, context } = scalarviz.player.overlay.ink, { size } = scalarviz.player.document;
            const [, x, y, wide, high] = scalarviz.player.frame.list.find(([kind]) => kind === "film");
            const [across, down] = [x + wide / 2, y + high / 2].map(at => Math.round(at * canvas.width / size[0]));
            const pixel = [...context.getImageData(across, down, 1, 1).data];
            return pixel.every((byte, k) => byte === (k < 3 ? wanted : 255)); }""",
            arg=wanted,
        )
        page.keyboard.press("l")


def test_of_a_loop_of_ones_own_updates_are_seen_without_gradients_and_not_where_nobody_looked_before(page, tmp_path):
    w = np.zeros((2, 2))
    watched = sv.watch({"w": w})
    with sv.Recording(watched, every=4, gradients=True, updates=True) as recording:
        for step in range(1, 11):
            w += step
            watched.update(loss=1 / step)
    file = recording.save_html(tmp_path / "loop.html")
    opened(page, file, "#step=8&quantity=update")
    assert page.evaluate("[...scalarviz.player.shown.flags].map(flag => flag & (32 | 64))") == [0] * 4
    assert page.evaluate("[...scalarviz.player.shown.numbers]") == [8] * 4
    page.get_by_role("button", name="numbers").click()
    assert "not computed yet" in said(page, "table")  # the gradient
    history = page.evaluate("[...scalarviz.run.history('update', 0)].map(x => Number.isNaN(x) ? null : x)")
    assert history == [None, 4, 8, None]  # steps 0, 4, 8 and 10
    assert page.evaluate("[...scalarviz.run.history('gradient', 0)].every(Number.isNaN)")


# ---- What a page's head says of a test: the loss or the share read rightly at the numbers of each frame


DRAW = np.random.default_rng(3)
INPUTS, CLASSES = DRAW.uniform(-1, 1, (40, 2)), DRAW.integers(0, 3, 40)


def made(accuracy, headline=True):
    """A scene with a test; without a name of its own, so that it has no panels but the curve."""
    net = nn.Sequential(nn.Linear(2, 3))
    loss, targets = (nn.CrossEntropyLoss(), CLASSES) if accuracy else (nn.MSELoss(), np.eye(3)[CLASSES])
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.5), data=(INPUTS[:30], targets[:30]), engine="numpy")
    test = panels.TestCurve("ten others", INPUTS[30:], targets[30:], accuracy=accuracy, headline=headline)
    return Scene(name="tested", run=run, panels=(panels.LossCurve("thirty", test=test),), probe=INPUTS[0])


@pytest.mark.parametrize("accuracy", [True, False])
def test_the_head_has_the_test_of_the_frame_shown(page, tmp_path, accuracy):
    scene = made(accuracy)
    with sv.Recording(scene, every=2) as recording:
        scene.run.step(20)
    opened(page, recording.save_html(tmp_path / "run.html", open=[]), "#frame=0")  # which does not play
    with sv.load_recording(recording.path) as recorded:
        for k in (0, 3, len(recorded) - 1):
            values = recorded.frame(k).values
            sums = INPUTS[30:] @ values[:6].reshape(3, 2).T + values[6:]
            right = 100 * np.mean(sums.argmax(1) == CLASSES[30:])
            lost = np.mean((sums - np.eye(3)[CLASSES[30:]]) ** 2)
            wanted = f"test accuracy {right:.1f} %" if accuracy else f"test loss {loss_text(lost)}"
            page.evaluate("k => scalarviz.go(k)", k)
            page.wait_for_function("k => document.getElementById('step').innerText === k", arg=str(recorded.steps[k]))
            assert wanted in painted(page)


def test_where_there_is_none_nothing_is_said():
    """No test, one that is for the panel alone, no scene, a network that the run had before."""
    assert headlines_of(made(True, headline=False)) is no_headlines
    scene = made(True)
    assert headlines_of(scene.run) is no_headlines
    other = nn.Sequential(nn.Linear(2, 2))
    run = sv.Run(other, nn.MSELoss(), optim.SGD(other.parameters(), lr=0.1), data=(INPUTS, INPUTS), engine="numpy")
    assert headlines_of(scene)(run.frame()) == ()
    assert headlines_of(scene)(scene.run.frame())[0].startswith("test accuracy ")
