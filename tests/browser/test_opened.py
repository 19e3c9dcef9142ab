"""Opened steps in a page: the window's own picture at every micro-step, its cubes to the pixel, and the keys."""

from __future__ import annotations

import base64
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageFilter

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.ink.listed import colours_of
from scalarviz.view.ink.text import font_path
from scalarviz.view.ink.theme import DARK, LIGHT, presenting, resolved
from scalarviz.view.micro.step_view import GRADIENTS, UPDATE
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.out.canvas import Canvas
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page.lists import SHAPES, PictureLists, shapes_of
from scalarviz.view.page.opened import steps_to_open
from scalarviz.view.page.recorded import html_of
from scalarviz.view.shown.subject import recorded_subject
from scalarviz.view.workbench import Workbench

from .players import compare, drawn_same, flat, opened, painted, pixels_of, same, scene

EVERY = ("rgb", "xor", "neuron", "playground", "digits", "uinn", "expression", "texture", "microgpt")
LIST = "([k, alone, at, shape]) => scalarviz.run.walks.at(k, alone).listAt(at, shape)"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """A recording of one layer, of two hidden layers, of a picture's convolutions, and of a panel's picture."""
    files = {}
    scenes = {"layer": scene("rgb"), "hidden": scene("rgb", hidden=(3, 2)), "maps": scene("digits"),
              "xor": scene("xor")}  # fmt: skip
    for name, made in scenes.items():
        path = tmp_path_factory.mktemp("opened") / f"{name}.svz"
        with sv.Recording(made, every=2, gradients=True, activations=True, panels=name == "xor", path=path):
            made.run.step(5)
        files[name] = sv.load_recording(path)
    yield files
    for file in files.values():
        file.close()


@pytest.fixture
def paged(browse, recordings, tmp_path):
    """``paged(name)``: the page of a recording at its second frame, with the step after it."""

    def made(name="layer", steps=None, hall=False, **options):
        path, record = tmp_path / f"{name}.html", recordings[name]
        steps = [int(record.steps[1])] if steps is None else steps
        html = html_of(record, record.pictures, open=steps, theme=presenting("dark", hall))
        path.write_text(html, encoding="utf-8")
        return opened(browse(reduced_motion="reduce", **options), path, "#frame=1")

    return made


def walks_of(record, place=1):
    """Each opened step after a frame: its subject, walk, and whether it is of one sample alone."""
    source = RecordedSource(record)
    source.show_frame(place)
    subject = recorded_subject(source, None, ())  # the time bar has the curve of the losses
    for alone in sorted(sides(subject), reverse=True):
        yield subject, Walk(open_step(subject, alone=alone), subject, source.frame()), alone


def shown(bench, step):
    """What a workbench draws at a micro-step, as the lists of a page."""
    bench.step_drawing.show(step, animated=False)
    bench.update(step.frame, step.headline.removeprefix("paused "))
    return bench


STANDS = """([k, alone, shape, theme]) => {
    const walk = scalarviz.run.walks.at(k, alone), Kind = scalarviz.player.constructor;
    const root = document.createElement("div"), own = scalarviz.documentOf(walk.layouts[shape]), [w, h] = own.size;
    root.style.cssText = `position: fixed; inset: 0 auto auto 0; width: ${w}px; height: ${h}px`;
    document.body.append(root);
    window.player?.dispose();
    Object.assign(window, { walk, player: new Kind(root, own, { density: 1 }) });
    player.theme = theme;
    player.drawCubes = () => 1;
    player.overlay.ink.filmOf = () => [["box", 0, 0, 1, 1]];
    player.pace.ask = () => {}; }"""
LIST = """([at, shape]) => { player.quantity = walk.quantityAt(at);
    player.show({ stepOf: scalarviz.shown().stepOf, ...walk.shownAt(at, player.document, shape) });
    return player.frame.list; }"""


@pytest.mark.parametrize("hall", [False, True], ids=["", "presenter"])
@pytest.mark.parametrize("name", ["layer", pytest.param("hidden", marks=pytest.mark.hunt), "maps", "xor"])
def test_a_pages_list_filled_in_is_the_windows_own_at_every_micro_step(name, hall, recordings, paged):
    """One half in the lying shape and dark colours, the other half in the standing one; of the batch crosswise."""
    made, looks = paged(name, hall=hall), [presenting(look, hall) for look in (DARK, LIGHT)]
    for subject, walk, alone in walks_of(recordings[name]):
        for shape, (size, theme) in enumerate(zip(shapes_of(looks[0]), looks, strict=True)):
            made.evaluate(STANDS, [1, alone, shape, theme.name])
            bench = Workbench(subject, size, theme)
            lists = PictureLists(bench, films=True)
            for at in range(1 + (shape + alone) % 2, len(walk) + 1, 2):
                shown(bench, walk.micro_step_at(at))
                ours = [one for one in made.evaluate(LIST, [at, shape]) if one[0] != "spot"]
                assert compare(made, ours, flat(lists), theme, None, (alone, shape, at))


@pytest.mark.gl
@pytest.mark.parametrize("name", ["hidden", "maps"])
def test_cubes_are_those_of_the_window_at_the_same_micro_step(name, recordings, paged):
    made = paged(name)
    made.keyboard.press(".")
    size = tuple(SHAPES[0])
    made.evaluate("""() => { const { player: inner } = scalarviz, root = document.createElement("div");
        const [w, h] = inner.document.size, Kind = inner.constructor;
        root.style.cssText = `position: fixed; inset: 0 auto auto 0; width: ${w}px; height: ${h}px`;
        document.body.append(root);
        window.other = new Kind(root, inner.document, { density: 1 });
        other.overlay.ink.filmOf = () => [["box", 0, 0, 1, 1]]; }""")  # fmt: skip
    for subject, walk, alone in walks_of(recordings[name]):
        bench = Workbench(subject, size)
        ends = [walk.first_of(phase) for phase in range(1, UPDATE + 1)] + [len(walk)]
        for at in sorted({1 + (a + b) // 2 for a, b in pairwise(ends)}):
            url = made.evaluate("""([alone, at]) => { const walk = scalarviz.run.walks.at(1, alone);
                other.quantity = walk.quantityAt(at); other.show(walk.shownAt(at, other.document, 0)); other.draw();
                return other.canvas.toDataURL(); }""", [alone, at])  # fmt: skip
            ours = pixels_of(url)
            with offscreen():
                shown(bench, walk.micro_step_at(at))
            theirs = offscreen().render(bench.draw_below, size).astype(int)
            assert same(ours, theirs) > 0.99, (alone, at)
            assert drawn_same(ours, theirs) > 0.98, (alone, at)


FONTS = """async (files) => { for (const [weight, data] of files) {
    const face = new FontFace("Open Sans", `url(data:font/ttf;base64,${data})`, { weight });
    document.fonts.add(await face.load()); } }"""


@pytest.mark.gl
@pytest.mark.parametrize(("name", "shape"), [("layer", 0), ("xor", 1)], ids=["lying", "standing"])
def test_a_page_is_the_windows_picture_words_and_lines_included(name, shape, recordings, paged):
    """In the window's font; after a blur of 2 pixels at most one pixel of a hundred differs by more than 48 of 255."""
    (wide, high), record = SHAPES[shape], recordings[name]
    made = paged(
        name, viewport={"width": wide, "height": high + 72 - 16 * shape}, bypass_csp=True, has_touch=bool(shape)
    )
    fonts = [
        [weight, base64.b64encode(font_path(bold).read_bytes()).decode()] for bold, weight in ((0, "400"), (1, "600"))
    ]
    made.evaluate(FONTS, fonts)
    ((subject, walk, _), *_) = walks_of(record)
    canvas = Canvas(subject, (wide, high), "dark")
    made.keyboard.press(".")
    ends = [walk.first_of(phase) for phase in range(UPDATE + 1)] + [len(walk)]
    for at in sorted({1, *((a + b) // 2 for a, b in pairwise(ends))}):  # the first decides the layout
        step = walk.micro_step_at(at)
        with offscreen():
            canvas.bench.step_drawing.show(step, animated=False)
        theirs = canvas.picture(step.headline.removeprefix("paused "), frame=step.frame)
        url = made.evaluate("""at => { scalarviz.reach(at); const { player: inner } = scalarviz;
            inner.draw(); inner.flatten(); return inner.above.toDataURL(); }""", at)  # fmt: skip
        ours = Image.fromarray(pixels_of(url).astype(np.uint8))
        soft = [np.asarray(one.filter(ImageFilter.GaussianBlur(2))).astype(int)
                for one in (ours, Image.fromarray(np.asarray(theirs)[..., :3]))]  # fmt: skip
        assert (np.abs(soft[0] - soft[1]).max(axis=-1) > 48).mean() <= 0.01, at


@pytest.mark.parametrize("name", EVERY)
def test_a_list_is_the_same_in_both_themes_because_it_names_colours(name, tmp_path):
    """Then a page can change the theme of lists that were made once."""
    made = scene(name, steps=1)
    with sv.Recording(made, activations=True, panels=True, path=tmp_path / "run.svz") as recording:
        made.run.step(2)
    with sv.load_recording(recording.path) as record:
        ((subject, walk, _), *_) = walks_of(record)
        benches = [Workbench(subject, SHAPES[0], theme) for theme in ("dark", "light")]
        lists = [PictureLists(bench, films=True) for bench in benches]
        for at in sorted({*(walk.first_of(phase) for phase in range(UPDATE + 1)), len(walk)}):
            for bench in benches:
                shown(bench, walk.micro_step_at(min(at, len(walk))))
            assert flat(lists[0]) == flat(lists[1]), at


def test_a_browser_reads_the_name_of_a_colour_as_python_does(ask):
    names = ["text1", "text3/80", "#12ab34", "gradient@192:panel:0.3", "weight@3", "on weight@200", "on gradient@256",
             "activation@200:tray:0.5", "on activation@200:tray:0.5", "text1:background:0.62", "update@256",
             "difference@17"]  # fmt: skip
    for theme in (DARK, LIGHT):
        assert {type(one) for one in colours_of(theme).values()} == {str, dict}  # marimo sends no kind of text but str
        said = ask("inks.js", "([theme, names]) => names.map(name => inkOf(theme, name))", [colours_of(theme), names])
        for name, colour in zip(names, said, strict=True):
            *parts, alpha = resolved(name, theme)
            digits = [int(colour[k : k + 2], 16) for k in range(1, len(colour), 2)]
            assert np.abs(np.array(digits) - 255 * np.array([*parts, alpha][: len(digits)])).max() <= 1, name
            assert len(digits) == 4 or alpha == 1


def test_which_steps_are_opened():
    steps, loss = [0, 2, 4, 6, 8], np.array([1.0, 0.9, 0.3, 0.2, np.nan])
    assert steps_to_open(None, steps, loss) == [1, 4, 0]  # the largest fall, the last, the first
    assert steps_to_open(None, [7], np.array([np.nan])) == [0]
    assert steps_to_open([4, 0, 4], steps, loss) == [2, 0]
    assert steps_to_open([], steps, loss) == []
    with pytest.warns(RuntimeWarning, match=r"opens step 4 in place of 5, 8 in place of 100"):
        assert steps_to_open([5, 100], steps, loss) == [2, 4]


def test_a_recording_of_weights_alone_opens_the_steps_of_the_batch(browse, tmp_path):
    made = scene("rgb")
    with sv.Recording(made, path=tmp_path / "weights.svz") as recording:
        made.run.step(2)
    with sv.load_recording(recording.path) as record:
        record.save_html(tmp_path / "weights.html", open=[4])
    page = opened(browse(reduced_motion="reduce"), tmp_path / "weights.html", "#step=4&micro=30")
    assert state(page) == [1, 5, 30, False]
    assert "1,024 samples" in " ".join(texts(page))


def test_steps_that_cannot_be_opened_are_refused_or_left_out(tmp_path):
    made = scene("rgb")
    with sv.Recording(made, data=False, path=tmp_path / "bare.svz") as recording:
        made.run.step(2)
    with sv.load_recording(recording.path) as record:
        assert b'id="opened"' not in record.save_html(tmp_path / "bare.html").read_bytes()
        with pytest.raises(InputError, match="open: its steps cannot be opened"):
            record.save_html(tmp_path / "asked.html", open=[3])
        for wrong in ("3", 3, [1.5], [-1]):
            with pytest.raises((InputError, TypeMismatchError), match="open"):
                record.save_html(tmp_path / "wrong.html", open=wrong)


def state(made):
    return made.evaluate(
        "() => [scalarviz.frame, scalarviz.walk?.told.step ?? null, scalarviz.at, scalarviz.walk?.told.alone ?? null]"
    )


def texts(made):
    """The words of the list that is shown."""
    return [
        one[3]
        for one in made.evaluate("() => scalarviz.walk.listAt(scalarviz.at, scalarviz.shape)")
        if one[0] == "text"
    ]


def test_keys_walk_through_the_step_after_the_frame(recordings, paged):
    steps = recordings["layer"].steps.tolist()
    made = paged(steps=[steps[1], steps[3]])
    press = made.keyboard.press
    press(".")
    press(".")
    assert state(made) == [1, steps[1] + 1, 2, True]
    assert "micro-step 2 of 44" in painted(made)
    assert made.is_hidden("#bar")
    assert "input r" in made.inner_text("#said").lower()
    press(",")
    assert state(made)[2] == 1
    press("b")
    assert state(made) == [1, steps[1] + 1, 1, False]
    made.click("#spots button[aria-label=gradients]")
    assert made.evaluate("() => scalarviz.walk.phaseAt(scalarviz.at)") == GRADIENTS
    assert made.evaluate("() => scalarviz.quantity") == "weight"  # that of whole steps stays
    made.evaluate("() => scalarviz.select(7)")  # a chosen cube: the micro-step about its weight
    assert made.evaluate("() => scalarviz.walk.plan.lights[scalarviz.at - 1][3]") == [[7, 8]]
    made.click("#spots button[aria-label=backward]")
    made.evaluate("() => scalarviz.select(7)")  # no micro-step of this phase is about it: that of its gradient
    assert made.evaluate("() => [scalarviz.walk.phaseAt(scalarviz.at), scalarviz.player.pointer]") == [GRADIENTS, None]
    made.click("#spots button[aria-label='this colour']")
    assert state(made)[3] is True
    made.keyboard.press("Space")
    made.wait_for_function(f"() => scalarviz.at > {state(made)[2]}")
    made.keyboard.press("Space")
    press("Escape")
    assert state(made) == [1, None, 0, None]
    assert made.is_visible("#bar")
    press("?")
    assert made.is_visible("#help")
    press("Escape")
    assert made.is_hidden("#inner")
    press(".")
    press("ArrowRight")
    assert state(made)[:2] == [2, None]
    press(",")
    assert state(made)[:3] == [1, steps[1] + 1, 44]
    press(".")
    assert state(made)[:2] == [2, None]
    press(".")  # no step is stored after this frame: the page computes it
    made.wait_for_function("() => scalarviz.walk")
    assert state(made)[:2] == [2, steps[2] + 1]
    press("Escape")
    made.evaluate("() => { scalarviz.training = null; }")  # as in a page that does not train: the nearest one
    press(".")
    assert state(made)[0] in (1, 3)
    assert f"the steps {steps[1] + 1}, {steps[3] + 1} are stored" in made.inner_text("#remark")
    made.evaluate("() => { scalarviz.go(0); scalarviz.previous(); }")
    assert "no opened step is stored before this one" in made.inner_text("#about")


def test_an_address_opens_at_a_micro_step(recordings, paged):
    steps = recordings["layer"].steps.tolist()
    made = paged(steps=steps[:3])
    for asked, expected in (
        ("frame=0&micro=32", [0, steps[0] + 1, 32, True]),
        ("step=4&micro=99&whole=1", [1, steps[1] + 1, 44, False]),
        ("frame=2&micro=x", [2, None, 0, None]),
        ("frame=2&micro=-3", [2, None, 0, None]),
    ):
        made.evaluate("hash => scalarviz.follow(hash)", f"#{asked}")
        assert state(made) == expected, asked


def test_a_telephone_shows_the_standing_picture_and_turned_the_lying_one(paged):
    made = paged(viewport={"width": 390, "height": 844}, has_touch=True)
    made.keyboard.press(".")
    assert made.evaluate("() => scalarviz.player.document.size") == list(SHAPES[1])
    box = made.locator("#stage").bounding_box()
    assert box["width"] == pytest.approx(390, abs=1)  # as large as it can be, and whole
    assert made.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert made.evaluate("Math.abs(stage.offsetHeight + row.offsetHeight - innerHeight) < 8")
    for button in made.locator("#inner button:visible").all():
        assert min(button.bounding_box()[side] for side in ("width", "height")) >= 44
    at = made.evaluate("() => scalarviz.at")
    made.set_viewport_size({"width": 844, "height": 390})
    made.wait_for_function("() => scalarviz.shape === 0")
    assert made.evaluate("() => scalarviz.at") == at
    box = made.locator("#stage").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 390


def test_words_follow_cubes_that_are_turned(paged):
    """A text on a cube stays on its cube; what is not among the cubes stays where it is."""
    made = paged()
    made.keyboard.press(".")
    off = made.evaluate("""() => { const { player: inner } = scalarviz, { view, document } = inner;
        inner.pose = { ...inner.pose, az: inner.pose.az + 25, el: inner.pose.el - 12 };
        const listed = cameraOf(document.pose, document.size, view.points);
        const follow = followers(document, view), found = [];
        for (const plate of document.plates) for (let k = 0; k < plate.size; k++) {
            const top = pointOf(plate, k, [0, 0, plate.depth]);
            const [here, there] = [listed, view.camera].map(camera => project(camera, top));
            const [x, y] = follow(["text", here[0], here[1]])(here);
            found.push(Math.hypot(x - there[0], y - there[1])); }
        return [Math.max(...found), follow(["text", 5, 5]), view.turned]; }""")  # fmt: skip
    assert off[0] < 0.5
    assert off[1:] == [None, True]


def test_a_panel_beside_the_cubes_is_the_pages_own_list_of_that_step(recordings, paged):
    made = paged("xor")
    made.keyboard.press(".")
    films = made.evaluate("() => scalarviz.walk.listAt(1, 0).filter(([kind]) => kind === 'film')")
    names = {one.panel for one in recordings["xor"].pictures}
    assert films
    assert {film[5] for film in films} <= names
    ours = made.evaluate("name => scalarviz.player.overlay.ink.filmOf(name)", films[0][5])
    theirs = made.evaluate("name => scalarviz.pictures.listOf(name, 1, 'dark')", films[0][5])
    assert ours == theirs
    assert len(ours) > 3


def test_another_branch_has_those_of_the_frames_that_both_share(browse, tmp_path):
    made = scene("rgb")
    with sv.Recording(made, path=tmp_path / "two.svz"):
        made.run.step(3)
        made.run.back(2)
        made.run.set_weights(0, [0.5])
        made.run.step(2)
    with sv.load_recording(tmp_path / "two.svz") as recorded:
        html = html_of(recorded, open=recorded.steps.tolist())
    (tmp_path / "two.html").write_text(html, encoding="utf-8")
    page = opened(browse(reduced_motion="reduce"), tmp_path / "two.html", "#frame=1")
    other = page.evaluate("() => scalarviz.run.head.branches.lines.map(line => line.number).find(n => n !== "
                          "Number(document.querySelector('.branch').value))")  # fmt: skip
    assert page.evaluate("() => scalarviz.held.length") == 4
    page.select_option(".branch", str(other))
    held, frames = page.evaluate("() => [scalarviz.held, scalarviz.run.frames]")
    assert 0 < len(held) < frames
    page.evaluate("() => scalarviz.follow(`#frame=${scalarviz.frame}&micro=1`)")
    assert page.evaluate("() => scalarviz.walk.told.step - 1 === scalarviz.run.steps[scalarviz.frame]")
