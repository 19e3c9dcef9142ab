"""A recorded run as a page: it shows what was recorded, does what keys and buttons say, and asks nobody."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scalarviz.scenes import rgb, uinn

import scalarviz as sv
from kit.commands import make_scene
from scalarviz.run.edits.base import Applied
from scalarviz.run.source import RunSource
from scalarviz.run.sources.recording.contents import Picture
from scalarviz.view.ink.listed import changes, records_of
from scalarviz.view.ink.text import loss_text
from scalarviz.view.page.document import document_of
from scalarviz.view.page.pictures import panel_pictures
from scalarviz.view.page.recorded import html_of

from . import players
from .players import READY, said

EVIL = "</script><script>boom()</script><!--\u2028\"'&<img src=x onerror=boom()>"


def recorded(frames=30, *, edit=None):
    """A recording of rgb, ten steps a frame."""
    scene = rgb.build(rgb.Options(engine="numpy"))
    with sv.Recording(scene, every=10, gradients=True, updates=True, activations=True) as recording:
        for k in range(frames):
            if k == 10 and edit:
                edit(scene.run)
            scene.run.step(10)
    memory = sv.load_recording(recording.path)
    memory.file = recording  # a temporary one, which goes with this object
    return memory


@pytest.fixture(scope="module")
def memory():
    return recorded(edit=lambda run: setattr(run, "lr", 1.0))


@pytest.fixture(scope="module")
def file(memory, tmp_path_factory):
    return memory.save_html(tmp_path_factory.mktemp("page") / "run.html", title="rgb & co")


def opened(page, file, hash="#frame=20"):
    return players.opened(page, file, hash)


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
    assert losses == [None if np.isnan(f.loss) else f.loss for f in frames]


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
    assert "0.weight[0][0]" in said(page, "table")


def test_an_address_that_asks_for_what_there_is_not_changes_nothing(page, file):
    opened(page, file, "#quantity=toString&frame=20")
    assert said(page, "shows") == "weight"
    for hash in (
        "quantity=__proto__",
        "quantity=constructor&az=1e308&el=NaN",
        "frame=1e999",
        "theme=toString&step=%E0",
    ):
        page.evaluate("hash => scalarviz.follow(`#${hash}`)", hash)
        assert (said(page, "step"), said(page, "shows")) == ("200", "weight"), hash
    pose = page.evaluate("scalarviz.player.pose")
    assert abs(pose["az"]) < 360
    assert all(np.isfinite(number) for number in pose.values() if isinstance(number, float | int))


def test_it_plays_and_stops(page, file):
    opened(page, file)
    page.keyboard.press("Home")
    page.get_by_label("recorded steps a second").select_option("8")
    page.get_by_role("button", name="play", exact=True).click()
    assert page.get_by_role("button", name="pause", exact=True).count() == 1
    page.get_by_label("recorded steps a second").select_option("120")
    page.wait_for_function("() => scalarviz.frame === 30")
    page.wait_for_function("() => !scalarviz.playing")
    page.get_by_label("recorded steps a second").select_option("8")
    page.get_by_role("button", name="play", exact=True).focus()
    page.keyboard.press(" ")  # the button has the focus: it is pressed once, and begins anew
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


def test_a_number_has_its_history(page, file, memory):
    opened(page, file)
    page.evaluate("scalarviz.select(4)")
    assert "0.weight[1][1]" in said(page, "card")
    value = float(memory.frame(20).values[4])
    assert f"{abs(value):.4f}" in said(page, "card")
    page.keyboard.press("Home")
    assert "not computed yet" in said(page, "card")
    page.keyboard.press("Escape")
    assert not page.locator("#card").is_visible()


def test_it_moves_by_itself_only_where_that_is_wanted(chromium, file):
    for motion, moves in (("reduce", False), ("no-preference", True)):
        context = chromium.new_context(reduced_motion=motion, offline=True)
        page = context.new_page()
        opened(page, file, "")
        assert page.evaluate("scalarviz.playing") is moves
        context.close()


def test_a_telephone_has_all_of_it(chromium, file):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, offline=True)
    page = context.new_page()
    opened(page, file)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("scalarviz.upright") is True
    bar = page.locator("#bar").bounding_box()
    page.touchscreen.tap(bar["x"] + 60, bar["y"] + 60)
    assert int(page.locator("#bar").get_attribute("aria-valuenow")) < 30
    for name in ("first recorded step", "play", "gradient", "fit"):
        box = page.get_by_role("button", name=name).first.bounding_box()
        assert box["height"] >= 44, name
        assert box["y"] + box["height"] <= 844, name
    page.set_viewport_size({"width": 844, "height": 390})  # on its side
    page.wait_for_function("() => scalarviz.upright === false")
    assert page.evaluate("document.documentElement.scrollWidth") <= 844
    bar = page.locator("#bar").bounding_box()
    assert bar["y"] + bar["height"] <= 390
    assert page.locator("#cubes").bounding_box()["height"] > 240
    context.close()


def test_hostile_names_stay_words(page, tmp_path, monkeypatch):
    other = recorded(3)
    monkeypatch.setattr(other, "past", replace(other.past, edits=(Applied(10, None, EVIL),)))
    other.about = replace(other.about, sentence=EVIL)
    opened(page, other.save_html(tmp_path / "evil.html", title=EVIL))
    assert page.locator("#story").inner_text().endswith(" ".join(EVIL.replace("\u2028", "").split()))
    assert page.locator("#story *").count() == 0
    assert page.title().startswith("</script><script>")
    assert page.evaluate("scalarviz.run.edits[0][1]") == EVIL
    assert page.evaluate("document.images.length") == 1
    assert page.evaluate("document.querySelectorAll('a, iframe, object, form').length") == 0


def test_it_works_in_a_sandbox(page, memory):
    html = html_of(memory).replace("&", "&amp;").replace('"', "&quot;")
    page.set_content(f'<iframe sandbox="allow-scripts" width=900 height=600 srcdoc="{html}"></iframe>')
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_function(READY)
    assert frame.evaluate("scalarviz.run.frames") == len(memory.steps)


def test_without_scripts_or_webgl_the_last_still_stands_there(chromium, file):
    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#still img").is_visible()
    assert "its last step, 300, loss 0.0" in page.locator("#sentence").inner_text()
    assert not page.locator("#app").is_visible()
    context.close()
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.add_init_script("""const real = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
            return kind === "webgl2" ? null : real.call(this, kind, ...more); };""")
    page.goto(file.as_uri())
    page.wait_for_function("() => document.getElementById('sentence').textContent.includes('cannot play')")
    assert page.locator("#still img").is_visible()
    assert not page.locator("#app").is_visible()
    context.close()


def test_somebody_who_has_never_seen_one_is_told_what_it_is(page, file):
    opened(page, file)
    told = page.locator("#story")
    assert told.inner_text() == "12 weights. Every cube is one. They should turn every colour into its opposite."
    assert told.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert told.evaluate("e => e.getBoundingClientRect().right <= innerWidth && e.scrollWidth <= e.clientWidth")
    assert told.is_visible()


def test_without_a_pointer_a_number_is_looked_into_from_the_table(page, file):
    opened(page, file)
    page.get_by_role("button", name="numbers").press("Enter")
    button = page.get_by_role("button", name="0.weight[1][2]")
    button.focus()
    page.evaluate("scalarviz.go(21)")  # while it goes on, the focus stays
    assert button.evaluate("e => e === document.activeElement")
    button.press("Enter")
    assert page.locator("#table").is_hidden()
    assert said(page, "card").startswith("0.weight[1][2]")
    assert "from b to g" in said(page, "card")
    assert page.evaluate("scalarviz.player.selected") == 5
    assert page.get_by_role("button", name="close").first.evaluate("e => e === document.activeElement")


def test_on_a_telephone_a_card_is_where_it_is_seen(page, file):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, file)
    page.evaluate("scalarviz.select(0)")
    box = page.locator("#card").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 845


def test_a_page_of_16_bits_says_so(page, monkeypatch, tmp_path):
    monkeypatch.setattr("scalarviz.view.page.pack.EXACT", 20)
    opened(page, recorded(5).save_html(tmp_path / "run.html"), "#frame=4")
    assert "numbers of 16 bits" in said(page, "about")
    errors = page.evaluate("Array.from(scalarviz.run.shown(4).errors.weight)")
    assert all(0 < error < 1e-4 for error in errors[:12])
    page.evaluate("scalarviz.select(0)")
    assert said(page, "card").count("\n") > 3


def test_where_the_loss_of_all_samples_is_told_it_is_the_one(page, tmp_path):
    scene = uinn.build(uinn.Options(engine="numpy"))
    with sv.Recording(scene, every=1) as recording:
        scene.run.step(20)
    with sv.load_recording(recording.path) as record:
        record.save_html(tmp_path / "run.html")
    opened(page, tmp_path / "run.html", "#frame=20")
    assert said(page, "loss") == loss_text(RunSource(scene.run).whole_loss())
    told = page.locator("#bar").get_attribute("aria-valuetext")
    assert told.endswith(f"loss {loss_text(scene.run.loss)} before it")


def test_a_branch_that_was_left_stands_in_the_time_bar(page, tmp_path):
    scene = rgb.build(rgb.Options(engine="numpy"))
    run = scene.run
    with sv.Recording(scene, every=10) as recording:
        run.step(100)
        run.back(60)
        run.lr = 2.0
        run.step(30)
    with sv.load_recording(recording.path) as record:
        record.save_html(tmp_path / "run.html")
    opened(page, tmp_path / "run.html", "#frame=0")
    ((steps, losses),) = page.evaluate("scalarviz.run.left.map(one => [one.steps, one.loss])")
    assert steps[-1] == 100
    assert len(steps) == len(losses)
    assert page.evaluate("scalarviz.bar.scale.last") == 100
    assert page.evaluate("scalarviz.run.steps.at(-1)") == 70
    assert page.evaluate("scalarviz.run.edits.map(edit => edit[0])") == [40]


def test_a_branch_can_be_chosen_with_its_frames(page, tmp_path):
    scene = rgb.build(rgb.Options(engine="numpy"))
    run = scene.run
    with sv.Recording(scene, every=10, gradients=True, updates=True) as recording:
        run.step(100)
        run.back(60)
        run.lr = 2.0
        run.step(30)
        run.back(20)
        run.lr = 0.1
        run.step(10)
    with sv.load_recording(recording.path) as record:
        record.save_html(tmp_path / "run.html")
        others = {branch.number: record.on(branch) for branch in record.branches}
        opened(page, tmp_path / "run.html", "#frame=0")
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
        page.evaluate("scalarviz.bar.onRing(0)")
        assert said(page, "step") == "100"
        assert choice.input_value() == "0"


def listed(picture):
    return records_of(picture.image, (picture.width, picture.height))


SHOWN = """([records, others, document]) => {
    const canvas = window.document.createElement("canvas"), listing = new Listing(canvas, document.words.advances);
    const list = changedList(records, others);
    listing.show(list, document.themes.light, "a panel");
    return new Promise(done => setTimeout(() => done([canvas.toDataURL(), canvas.getAttribute("aria-label")]), 300));
}"""


@pytest.mark.parametrize("name", ["rgb", "xor", "playground", "digits", "expression", "neuron", "uinn"])
def test_a_panel_is_painted_as_the_window_paints_it(scripts, name):
    """From its list, in the other look than the one that the list was made in."""
    scene = make_scene(name)
    scene.run.step(3)
    frame, page = scene.run.frame(scene.probe), scripts("list.js")
    dark, light = (panel_pictures(scene, [0], lambda k: frame, theme) for theme in ("dark", "light"))
    document = document_of(scene, theme="light")
    window = sv.render(scene, (1280, 720), theme="light").astype(int)
    assert [one.panel for one in dark] == [one.panel for one in light]
    for first, second in zip(dark, light, strict=True):
        records, wanted = listed(first), listed(second)
        url, said = page.evaluate(SHOWN, [records, changes(records, wanted), document])
        assert all(text[3] in said for text in wanted if text[0] == "text")
        picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))).astype(int)
        (_, x, y, *_), ground = wanted[0], window[2, 2]
        alpha = picture[..., 3:] / 255
        mine = picture[..., :3] * alpha + ground * (1 - alpha)
        left, top = max(math.ceil(x), 0), max(math.ceil(y), 0)
        theirs = window[top : top + mine.shape[0], left : left + mine.shape[1]]
        mine = mine[: theirs.shape[0], : theirs.shape[1]]
        apart = np.abs(mine - theirs).max(axis=2)
        # letters are another font's, and edges are smoothed in another way
        assert (apart > 40).mean() < 0.1, (first.panel, (apart > 40).mean())
        assert (np.abs(theirs - ground).max(axis=2) > 20).any()


def test_panels_have_the_look_of_the_page_and_pictures_of_older_files_stay(page, tmp_path, memory):
    def image(colour):
        file = io.BytesIO()
        Image.new("RGB", (8, 6), colour).save(file, "WEBP", lossless=True)
        return file.getvalue()

    dark = [Picture("task", step, 8, 6, image("black")) for step in (0, 100, 300)]
    light = [Picture("task", step, 8, 6, image("white")) for step in (0, 100)]
    path = tmp_path / "both.html"
    path.write_text(html_of(memory, dark, others=light), encoding="utf-8")
    opened(page, path, "#frame=20")
    caption = page.locator("#pictures figcaption")
    looks = [0, 255]
    if page.evaluate("document.documentElement.dataset.theme") == "light":
        looks.reverse()
    for wanted in looks:
        page.wait_for_timeout(200)
        got = page.locator("#pictures canvas").evaluate("e => [...e.getContext('2d').getImageData(3, 3, 1, 1).data]")
        assert (caption.inner_text(), got[:3]) == ("step 100", [wanted] * 3)
        page.keyboard.press("l")
