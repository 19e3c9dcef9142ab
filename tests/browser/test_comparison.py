"""Two recordings as one page: the window's picture of what each was, how far they are apart, and in which range.

What holds for every page (a sandbox, hostile names, no WebGL) is in ``test_page.py``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, ScalarvizError, TypeMismatchError, UnknownNameError
from scalarviz.view.comparison import MAP
from scalarviz.view.ink.text import figure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page import pack
from scalarviz.view.page.lists import SHAPES as SIZES
from scalarviz.view.page.lists import PictureLists
from scalarviz.view.workbench import Workbench

from .players import opened, said, scene

X = np.random.default_rng(5).random((16, 2))


def colours(seed):
    """One layer."""
    return scene("rgb", 0, seed=seed)


def rows(seed):
    """Two layers; the sample is the same in both, and so are its names."""
    net = nn.Sequential(nn.Linear(2, 4, seed=seed), nn.Tanh(), nn.Linear(4, 1, seed=seed))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.3), (X, X[:, :1]), engine="numpy")
    return sv.Scene("two", run, input_names=("left", "right"), output_names=("sum",), probe=X[3])


def record(path, make, seed, every, counts, edit=None):
    made = make(seed)
    with sv.Recording(made, every=every, gradients=True, updates=True, activations=make is rows, path=path):
        for count in counts:
            made.run.step(count)
            if edit:
                edit, _ = None, edit(made.run)
    return sv.load_recording(path)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Every tenth step and the last, and every seventh; the learning rate of one is changed at step 20."""
    folder = tmp_path_factory.mktemp("comparison")
    with (record(folder / "one.svz", colours, 1, 10, (20, 15), lambda run: setattr(run, "lr", 1.0)) as a,
          record(folder / "other.svz", colours, 2, 7, (35,)) as b):  # fmt: skip
        yield a, b


@pytest.fixture(scope="module")
def pair(two):
    return two[0].compare(two[1])


@pytest.fixture(scope="module")
def file(pair, tmp_path_factory):
    return pair.save_html(tmp_path_factory.mktemp("page") / "both.html")


@pytest.fixture(scope="module")
def with_rows(tmp_path_factory):
    """A pair with rows of activations, and its page."""
    folder = tmp_path_factory.mktemp("rows")
    with record(folder / "one.svz", rows, 1, 1, (12,)) as a, record(folder / "other.svz", rows, 2, 5, (12,)) as b:
        pair = a.compare(b)
        yield pair, pair.save_html(folder / "rows.html")


SHAPES = {"lying": (1280, 720), "standing": (390, 844)}
FILLED = """given => {
    const { player, look } = scalarviz, { players: [a, b, last], around, ink: { measure } } = player;
    const marksOf = (x, y, wide, high, ink, width, places) => ["lines", places.flatMap((unit) =>
        [0, high].flatMap((down) => [x + unit * (wide - 1) + 0.5, y + down])), ink, width];
    const filled = (records, moment) => records.map(([kind, ...said]) => {
        if (kind === "marks") return marksOf(...said, moment.marks);
        if (kind !== "number") return [kind, ...said];
        const [x, y, size, own, bold, end, name, index, form, before, within, after, more] = said;
        const wide = (one) => measure(one, size, Boolean(bold));
        const text = moment.textOf(name, index, form, before, within, after, more, wide);
        return ["text", x, y, text, size, moment.inkOf(own, name, index), bold, end]; });
    const inked = (record) => (record[0] === "text" ? record.with(5, inkOf(look, record[5])) : record);
    player.draw();
    const lists = [a, b, last].map((one) => filled(one.frame.list, one.overlay.ink.moment));
    lists.push(...[a, last].map(({ shown, frame }, k) => filled(around[k], new Moment(shown, frame))));
    return [lists.map((list) => list.map(inked)), given.map((list) => list.map(inked))]; }"""
"""The lists of the page with the numbers that it shows, and given ones, with their colours."""


def like(one, other):
    """The same to a tenth of a pixel."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(like, one, other))
    return one == other or (isinstance(one, int | float) and one == pytest.approx(other, abs=0.11))


@pytest.mark.parametrize("shape", SHAPES)
def test_its_picture_is_that_of_the_window(browse, file, pair, with_rows, shape):
    """Every record of every column, of heads and legends, with the numbers of the page, in both themes."""
    page, seen = browse(viewport=dict(zip(("width", "height"), SHAPES[shape], strict=True))), 0
    for (both, html), look in (((pair, file), "dark"), (with_rows, "light")):
        opened(page, html, f"#frame=0&theme={look}")
        for frame in (0, 3, len(both.steps) - 1):
            for quantity in ("weight", "gradient", "update"):
                bench = Workbench(both, SIZES[shape == "standing"], look, quantity=quantity, timed=True)
                bench.update(both.frame_at(frame))
                wanted, lists = PictureLists(bench, films=True).whole, [[]]
                for record in wanted:
                    lists.append([]) if record == ["section"] else lists[-1].append(record)
                page.evaluate("([frame, name]) => { scalarviz.show(name); scalarviz.go(frame); }", [frame, quantity])
                for here, there in zip(*page.evaluate(FILLED, lists), strict=True):
                    wrong = [ends for ends in zip(here, there, strict=True) if not like(*ends)]
                    assert not wrong, (shape, frame, quantity, wrong[:3])
                    seen += len(here)
    assert seen > 1000


def test_each_says_its_own_step_and_loss(page, file, two, pair):
    opened(page, file, "#step=20")
    assert page.locator("#bar").get_attribute("aria-valuenow") == "20"
    words = page.locator("#heads").text_content()
    assert "one step 20 loss" in words
    assert "other step 14 loss" in words
    assert "its last before 20" in words
    for one, at in ((two[0], 20), (two[1], 14)):
        assert f"{one.frame(one.at(at)).display_loss:.4f}" in words
        assert f"{one.frame(one.at(at)).display_loss:.4f}" in page.locator("#loss").text_content()
    pair.to(20)
    frame = pair.frame()
    place = int(np.argmax(np.abs(frame.values)))
    assert f"largest {figure(float(frame.values[place]))}" in words
    told = page.locator("#bar").get_attribute("aria-valuetext")
    assert "a: loss" in told
    assert "at step 14" in told
    assert page.evaluate("scalarviz.run.edits.map(edit => edit[1])") == ["a: " + pair.pair[0].past.edits[0].what]


def test_it_names_both_in_full_and_what_is_left_out(page, two, tmp_path):
    pair = two[0].compare(two[1])
    pair.names, pair.left_out = ("the first " * 9, "the second"), ("this and that",)
    opened(page, pair.save_html(tmp_path / "named.html", title="both"))
    words = said(page, "about")
    assert all(word in words for word in (f"a: {pair.names[0].strip()}", "b: the second", "left out: this and that"))


def test_one_camera_one_pointer_one_card(page, file, pair):
    opened(page, file, "#step=20")
    page.evaluate("scalarviz.player.players[2].pose = { az: 30, el: 60 }")
    assert page.evaluate("scalarviz.player.players.map(one => [one.pose.az, one.pose.el])") == [[30, 60]] * 3
    page.evaluate("scalarviz.player.fit()")
    page.wait_for_function("() => scalarviz.player.players.every(one => one.pose.az !== 30 && !one.view.glide)")
    at = page.evaluate("""() => { const { view } = scalarviz.player.players[1], { document } = scalarviz.run;
        const box = document.plates[0].cells, found = [];
        const player = scalarviz.player.players[1], rect = player.canvas.getBoundingClientRect();
        for (let y = 5; y < view.height; y += 4) for (let x = 5; x < view.width; x += 4) {
          const hit = player.overlay.pick([x, y]);
          if (hit?.plate === 0 && hit.element === 4) found.push([rect.x + x * view.type, rect.y + y * view.type]);
        }
        return found[Math.floor(found.length / 2)]; }""")
    page.mouse.move(*at)
    page.wait_for_function("() => scalarviz.player.players.every(one => one.hit?.element === 4)")
    page.mouse.click(*at)
    page.wait_for_function("() => scalarviz.player.players.every(one => one.selected === 4)")
    pair.to(20)
    frame = pair.frame()
    rows = page.locator("#card table tr").all_inner_texts()
    for row, one in zip(rows[1:], (frame.a, frame.b, frame), strict=True):
        assert f"{abs(one.values[4]):.4f}" in row
    assert "b at 14" in rows[2]
    page.keyboard.press("Escape")
    assert page.locator("#card").is_hidden()
    page.mouse.move(5, 5)
    page.wait_for_function("() => scalarviz.player.players.every(one => !one.hit)")


def test_of_itself_there_is_no_difference(page, two, tmp_path):
    path = two[0].compare(two[0]).save_html(tmp_path / "same.html", theme="light")
    opened(page, path, "#step=30")
    heads = page.locator("#heads")
    assert "no difference: every number is the same" in heads.text_content()
    assert page.evaluate("scalarviz.player.frame.texels.weight.every(x => x === 0)") is True
    page.keyboard.press("g")
    assert "difference of gradients" in heads.text_content()
    page.keyboard.press("Home")
    assert "not computed yet" in heads.text_content()


def test_of_rounded_numbers_no_digit_is_shown_that_is_not_sure(page, pair, tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "EXACT", 0)
    opened(page, pair.save_html(tmp_path / "rounded.html"), "#step=20")
    assert "16 bits" in said(page, "about")
    steps = [
        unpacked["step"]
        for unpacked in page.evaluate("""() => scalarviz.run.halves.map(half =>
        ({ step: Array.from(half.tables.weight.errors.slice(0, 12)) }))""")
    ]
    errors = np.sum(steps, axis=0)
    got = page.evaluate("Array.from(scalarviz.player.frame.texels.weight.slice(0, 12))")
    pair.to(20)
    assert (np.abs(np.array(got) - pair.frame().values) <= errors * 1.001 + 1e-9).all()
    told = page.evaluate("Array.from(scalarviz.player.frame.errors.weight.slice(0, 12))")
    np.testing.assert_allclose(told, errors, rtol=1e-6)
    texts = page.evaluate("Array.from({ length: 12 }, (_, k) => scalarviz.run.texts(scalarviz.frame, 'weight', k)[2])")
    for text, value, error in zip(texts, pair.frame().values, errors, strict=True):
        number = text.replace("\N{MINUS SIGN}", "-").partition(" ")[0]
        assert abs(float(number) - value) <= 10.0 ** -len(number.partition(".")[2].partition("e")[0]) + error


@pytest.mark.parametrize("size", [(390, 844), (320, 568)])
def test_on_a_telephone_the_three_stand_below_each_other(browse, file, size):
    page = browse(viewport=dict(zip(("width", "height"), size, strict=True)), has_touch=True)
    opened(page, file, "#step=20")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    boxes = page.evaluate("""() => scalarviz.player.players.map(({ box, document: { scene }, view: { type } }) => {
        const { x, y } = box.getBoundingClientRect(), [left, top, wide, high] = scene;
        return [x + left * type, y + top * type, wide * type, high * type]; })""")
    assert len({(round(x), round(wide)) for x, _, wide, _ in boxes}) == 1
    for above, below in itertools.pairwise([*boxes, [*page.locator("#bar").bounding_box().values()]]):
        assert above[1] + above[3] <= below[1]
    assert below[1] + below[3] <= size[1]
    at = [(x + wide / 4, y + high / 2) for x, y, wide, high in boxes]
    for k, place in enumerate(at):  # each column hears its own pointer
        page.mouse.move(*place)
        page.wait_for_function("k => scalarviz.player.players.every((one, n) => !one.pointer === (n !== k))", arg=k)


@pytest.mark.parametrize("size", [(1280, 720), (1000, 640), (1920, 1080)])
def test_the_card_hides_at_most_the_foot_of_a_cube_and_stays_when_the_page_is_turned(browse, file, size):
    page = opened(browse(viewport=dict(zip(("width", "height"), size, strict=True))), file, "#step=20")
    page.evaluate("scalarviz.select(4)")
    card, bar = page.locator("#card").bounding_box(), page.locator("#bar").bounding_box()
    assert card["y"] + card["height"] <= bar["y"] + 1
    foot = page.evaluate("""() => { const { box, document, view } = scalarviz.player.players[1];
        const { y } = box.getBoundingClientRect(), corners = document.plates.flatMap(slabCorners);
        return y + view.type * Math.max(...corners.map((corner) => project(view.camera, corner)[1])); }""")
    assert card["y"] > foot - 0.04 * size[1]
    assert page.locator("#card canvas").bounding_box()["width"] > 90
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("() => scalarviz.shape === 1")
    assert page.evaluate("scalarviz.player.players.map((one) => one.selected)") == [4, 4, 4]
    assert page.locator("#card").is_visible()


def test_on_paper_every_column_has_its_head(page, file):
    opened(page, file, "#step=20")
    blank = page.evaluate("""() => { scalarviz.paper(true); return scalarviz.player.players.map(({ above }) => {
        const { width, height } = above, { data } = above.getContext("2d").getImageData(0, 0, width, height / 8);
        const bytes = Array.from(data), lit = bytes.filter((x, k) => k % 4 === 0 && x > 200).length;
        return [lit > 50, bytes.every((x, k) => k % 4 !== 3 || x === 255)]; }); }""")
    assert blank == [[True, True]] * 3


@pytest.mark.parametrize(
    ("how", "error"),
    [({"theme": "blue"}, UnknownNameError), ({"size": (5, 5)}, InputError), ({"frames": 1}, InputError),
     ({"title": 3}, TypeMismatchError), ({"frames": "many"}, ScalarvizError)],
)  # fmt: skip
def test_what_cannot_be_a_page_is_refused(pair, tmp_path, how, error):
    with pytest.raises(error):
        pair.save_html(tmp_path / "no.html", **how)
    assert not (tmp_path / "no.html").exists()


# ---- rows of activations


def test_numbers_and_rows_and_their_ranges_are_those_of_both_recordings_and_of_their_difference(page, with_rows):
    pair, file = with_rows
    opened(page, file, "#step=8")
    steps, got = page.evaluate("""() => { const { run } = scalarviz, { plates, parameters } = run.document;
        const rows = plates.filter((one) => one.kind === "activation");
        return [run.steps, run.steps.map((_, frame) => run.shown(frame).map(({ texels }) => ({
            ...Object.fromEntries(rows.map(({ name, texel, size }) =>
                [name, [...texels.weight.slice(texel, texel + size)]])),
            ...Object.fromEntries(["weight", "gradient", "update"].map((name) =>
                [name, [...texels[name].slice(0, parameters)]])) })))]; }""")
    assert steps == sorted({step for one in pair.pair for step in one.steps.tolist()})
    for place, three in enumerate(got):
        frame = pair.frame_at(place)
        for told, one in zip(three, (*frame.frames, frame), strict=True):
            own = {"weight": one.values, "gradient": one.gradient, "update": one.update, **one.activations}
            assert set(told) == {"weight", "gradient", "update", "input", "1", "2"}
            for name, numbers in told.items():
                np.testing.assert_array_equal(np.float32(numbers), np.float32(own[name]), f"{steps[place]}, {name}")
    for step in (0, 7, 12):
        got = page.evaluate("""step => { scalarviz.go(scalarviz.run.steps.indexOf(step));
            return scalarviz.player.players.map(one => { one.draw(); const { range, activation } = one.shown;
                return [range.low, range.high, activation.low, activation.high]; }); }""", step)  # fmt: skip
        pair.to(step)
        with offscreen():
            bench = Workbench(pair, (640, 360))
            bench.update(pair.frame())
        wanted = [(view.colouring.range, view.activations.range) for view in bench.views]
        np.testing.assert_allclose(got, [[a.low, a.high, b.low, b.high] for a, b in wanted], rtol=1e-6)
    assert page.evaluate("scalarviz.player.players.map(one => one.showing.map)") == ["weight", "weight", MAP]


def test_a_row_says_its_name_and_its_numbers(page, with_rows):
    pair, file = with_rows
    opened(page, file, "#step=8")
    pair.to(8)
    frame = pair.frame()
    assert (frame.a.step, frame.b.step) == (8, 5)
    wanted = [figure(float(one.activations["1"][2])) for one in (*frame.frames, frame)]
    tip = page.evaluate("""() => scalarviz.tip(scalarviz.run.document.plates.findIndex(one => one.name === "1"), 2)""")
    assert tip[0][0] == "h3"
    assert [text for _, text in tip[1:]] == wanted
    page.evaluate("scalarviz.select({ row: '1', unit: 2 })")
    rows = page.locator("#card table tr").all_inner_texts()
    assert rows[0].split() == ["value"]
    assert [row.split("\t")[-1] for row in rows[1:]] == wanted
    page.keyboard.press("g")  # there is no gradient of it, its value stands there still
    assert page.locator("#card table tr").all_inner_texts() == rows
    page.keyboard.press("w")
    page.locator("#tools button", has_text="numbers").click()
    table = {line.split("\t")[0]: line.split("\t")[1:] for line in said(page, "table").splitlines() if "\t" in line}
    assert table["h3"] == wanted
    assert table["input right"][0] == figure(float(X[3, 1]))
    assert page.evaluate("scalarviz.run.tip(0, 'weight', 1)[0][0]") == "from right to h1"
