"""The player: its picture beside the window's, and what hands, frames, time and bad weather do to it.

Of the pixels 99 % are within 2 of 255.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.cubes.atlas import Sizing
from scalarviz.view.cubes.picking import Picker
from scalarviz.view.page.scripts import joined
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.camera import camera_of, in_perspective, parallel, pose_of, shifted, turned, zoomed
from scalarviz.view.workbench import Workbench

from .players import SIZE, Pages, drawn_same, flat, pose_as_json, same, scene, window

RNG = np.random.default_rng(0)
WHAT = {
    "one layer": lambda: scene("rgb"),
    "two hidden layers": lambda: scene("rgb", hidden=(16, 16)),
    "xor": lambda: scene("xor"),
    "convolutions": lambda: scene("digits"),
    "few convolutions": lambda: {"kernels": RNG.normal(size=(2, 2, 3, 3)), "bias": RNG.normal(size=2)},
    "large layers": lambda: scene("texture"),
    "a plan": lambda: scene("microgpt"),
    "layers that turn": lambda: scene("playground"),
    "a number": lambda: sv.Weight(0.7, name="w"),
    "a list": lambda: [sv.Weight(x, name=f"w{k}") for k, x in enumerate((0.5, -1.0, 2.0))],
    "kernels, a folded row": lambda: {"kernels": RNG.normal(size=(8, 3, 3, 3)), "long": RNG.normal(size=(2000, 2))},
}


@pytest.fixture(scope="module")
def subjects():
    return {name: subject_of(make()) for name, make in WHAT.items()}


@pytest.fixture
def played(pages, subjects):
    """One layer."""
    subject = subjects["one layer"]
    frame = subject.frame()
    pages.play(subject)
    pages.show(frame)
    pages.pixels()
    yield pages, subject, frame
    pages.page.mouse.move(1275, 715)


# ---- its picture


def marked(subject):
    """A frame in which every mark is somewhere, and values are beyond the range."""
    frame = subject.frame()
    values, flags = frame.values.copy(), np.zeros(len(frame.values), bool)
    values[:4] = [np.nan, np.inf, -np.inf, 40.0]
    frozen, computed = flags.copy(), ~flags
    frozen[4:6] = True
    computed[5:8] = False
    plates = [one for one in Workbench(subject, SIZE).layout.plates if one.kind == "activation"]
    dead = {plate.name: np.arange(plate.size) % 3 == 0 for plate in plates if plate.name != "input"}
    gradient = np.where(np.arange(len(values)) == 9, np.nan, frame.gradient)
    return replace(frame, values=values, gradient=gradient, frozen=frozen, computed=computed, dead=dead)


def cameras(subject):
    """Turned by hand, with parallel lines and in perspective: poses, and what the window has of them."""
    layout = Workbench(subject, SIZE).layout
    points = np.concatenate([plate.corners for plate in layout.plates] + list(layout.trays))
    pose = turned(pose_of(layout.camera, layout.bounds.mean(axis=0)), 60.0, -30.0)
    far = 3.0 * float(np.ptp(points, axis=0).max())
    for view in (pose, in_perspective(pose, far) if pose.eye is None else parallel(pose)):
        yield view, camera_of(view, layout.size, points)


def test_it_is_the_windows(pages, subjects):
    """As it is laid out; then of some in every quantity, with marks, sizes, the other look, from elsewhere."""

    def alike(share=0.0, *, frame, **how):
        mine, theirs = pages.pixels(), window(subject, frame, **how)
        assert same(mine, theirs) > 0.99, (name, how)
        assert not share or drawn_same(mine, theirs) > share, (name, how)

    for name, subject in subjects.items():
        frame = subject.frame()
        pages.play(subject)
        pages.show(frame)
        alike(0.98, frame=frame)
        if name in ("one layer", "two hidden layers"):
            for quantity in ("gradient", "|gradient|", "update", "update/value"):
                pages.set(quantity=quantity)
                alike(frame=frame, quantity=quantity)
            pages.set(quantity="weight", theme="light")
            alike(frame=frame, theme="light")
            pages.set(theme="dark")
            for sizing in (Sizing(by_value=True), Sizing(threshold=0.2), Sizing(by_value=True, threshold=0.1)):
                told = {"byValue": sizing.by_value, "threshold": sizing.threshold}
                pages.page.evaluate("told => { player.cubes.sizing = told; }", told)  # as a cell does
                alike(frame=frame, sizing=sizing)
            pages.play(subject)
            pages.show(frame)
            for view, camera in cameras(subject):
                pages.set(pose=pose_as_json(view))
                alike(frame=frame, camera=camera)
        if name in ("one layer", "two hidden layers", "convolutions", "kernels, a folded row"):
            frame = marked(subject)
            pages.play(subject)
            pages.show(frame)
            for quantity in ("weight", "gradient"):
                pages.set(quantity=quantity)
                alike(frame=frame, quantity=quantity)


def boxes(picture, side=8):
    height, width = (n // side * side for n in picture.shape[:2])
    return picture[:height, :width].reshape(height // side, side, width // side, side, 3).mean(axis=(1, 3))


def test_cubes_below_a_pixel_are_averaged_alike(pages):
    """Of noise each pixel is a few samples, which rounding may put into the cell beside; over 8 x 8 that is nothing."""
    side = 600
    y, x = np.indices((side, side)) / side
    smooth = np.sin(9 * x + 5 * y * y)
    for values, size in ((smooth, SIZE), (RNG.normal(size=(side, side)), SIZE), (smooth, (320, 200))):
        subject = subject_of({"a": values.astype(np.float32)})
        frame = subject.frame()
        pages.play(subject, size)
        pages.show(frame, ("weight",))
        page, there = pages.pixels(), window(subject, frame, size)
        assert (np.abs(boxes(page) - boxes(there)).max(axis=-1) <= 2).mean() > 0.99
        assert values is not smooth or same(page, there) > 0.99


def test_looks_given_by_hand(pages):
    """A colour, a size, one that is not seen, labels: as the window draws them, picks them and counts them."""
    made = scene("rgb", hidden=(4,))
    subject = subject_of(made)
    plain = subject.frame()
    cubes = [sv.view.cube(made.run.model[0].weight[row][0]) for row in range(4)]
    try:
        cubes[0].colour, cubes[0].label = "#00ff00", "the first"
        cubes[1].size, cubes[1].colour = 0.4, (1.0, 0.5, 0.0)
        cubes[2].visible = False
        cubes[3].label = "another with a long name"
        pages.play(subject)
        pages.show(plain)
        worn, there = pages.pixels(), window(subject, plain)
        assert same(worn, there) > 0.99
        assert drawn_same(worn, there) > 0.98
        assert (np.abs(worn - [0, 255, 0]) <= 60).all(axis=-1).sum() > 100
        shares = pages.page.evaluate("""() => {
            const plate = player.document.plates.findIndex(({ start }) => start === 0);
            return [0, 1, 2, 3].map((row) => player.overlay.shareOf(plate, 3 * row)); }""")  # fmt: skip
        assert shares == [1, round(0.4 * 126) / 126, 0, 1]
        assert {"the first", "another with a long name"} <= {line[0] for line in pages.texts()}
    finally:
        for one in cubes:
            one.reset()
    assert "own" not in pages.play(subject)


def test_rows_that_were_not_recorded_are_marked_and_not_zero(pages):
    made = scene("rgb", hidden=(4,))
    with sv.Recording(made, every=2) as recording:
        made.run.step(4)
        with recording.read() as memory:
            subject = subject_of(RecordedSource(memory))
            frame = memory.frame(1)
            pages.play(subject)
            pages.show(frame, ("weight",))
            page, there = pages.pixels(), window(subject, frame)
    assert not frame.activations
    assert same(page, there) > 0.99
    assert drawn_same(page, there) > 0.98
    assert "not recorded" in [line[0] for line in pages.texts()]
    tip = pages.page.evaluate("""() => {
        const plate = player.document.plates.findIndex(({ kind }) => kind === "activation");
        return tipLines(player.shown, player.frame, { plate, element: 0 }); }""")  # fmt: skip
    assert [words for _, words in tip] == ["not recorded"]


# ---- numbers on cubes that were turned


DENSITY = 0.2
PAINTED = """pose => {
    const { number, text } = PAINTERS, found = [];
    PAINTERS.number = ({ measure, moment }, move, colour, x, y, size, own, bold, end, ...said) => found.push(
        [[x, y], ...move([x, y]), size, measure(moment.textOf(...said, () => 0), size, Boolean(bold))]);
    PAINTERS.text = ({ measure }, move, colour, x, y, words, size, own, bold) => found.push(
        [[x, y], ...move([x, y]), size, measure(words, size, Boolean(bold))]);
    player.pose = pose;
    player.draw();
    Object.assign(PAINTERS, { number, text });
    return found;
}"""


def painted(pages, pose):
    """Where each text of the list is painted under a camera, its size and its width, by its place in the list."""
    return {tuple(at): said for at, *said in pages.page.evaluate(PAINTED, pose_as_json(pose))}


def turns(layout, rng, count):
    """Cameras from all around, closer and farther, some with the other kind of lines."""
    points, pose = layout.outline, pose_of(layout.camera, layout.bounds.mean(axis=0))
    far = 3.0 * float(np.ptp(points, axis=0).max())
    for k in range(count):
        view = turned(pose, *rng.uniform(-400, 400, 2)) if k % 2 else turned(pose, *rng.uniform(-50, 50, 2))
        if k % 3 == 0:
            view = in_perspective(view, far) if view.eye is None else parallel(view)
        at = tuple(rng.uniform(0.3, 0.7, 2) * layout.size)
        yield shifted(zoomed(view, rng.uniform(0.6, 1.4), at), *rng.uniform(-40, 40, 2))


def cubes_of(pages):
    """Plate and element of each text on a cube, by its place in the list."""
    layout, names = pages.bench.layout, {}
    for k, plate in enumerate(layout.plates):
        row = plate.kind == "activation"
        names |= {(plate.name if row else pages.bench.colouring.quantity, element + (0 if row else plate.start)):
                  (k, element) for element in range(plate.size)}  # fmt: skip
    weights = {plate.start + element: (k, element) for k, plate in enumerate(layout.plates) if plate.start >= 0
               for element in range(plate.size)}  # fmt: skip
    found = {}
    for kind, x, y, *said in flat(pages.lists):
        if kind == "number" and said[1] == "cube":
            found[x, y] = names[said[4], said[5]]
        elif kind == "number" and said[4] == "weight":  # whose gradient is unknown
            found[x, y] = weights[said[5]]
    return found


@pytest.mark.parametrize(
    ("name", "quantity"),
    [(name, "weight") for name in ("one layer", "xor", "layers that turn", "few convolutions", "a number", "a list")]
    + [("one layer", "gradient"), ("few convolutions", "gradient")],
)
def test_a_number_stands_on_the_face_of_its_own_cube_or_is_not_written(name, quantity, pages, subjects):
    """It is written where all of it is on a face that looks here, and nothing is in front; else it is not."""
    pages.play(subjects[name], (1120, 580), density=DENSITY, quantity=quantity)
    pages.show(subjects[name].frame())
    layout = pages.bench.layout
    picker, cubes, (x, y, wide, high) = Picker(layout), cubes_of(pages), pages.document["scene"]
    found = hidden = 0
    for pose in turns(layout, np.random.default_rng(3), 12):
        camera, drawn = camera_of(pose, layout.size, layout.outline), painted(pages, pose)
        for text, (k, element) in cubes.items():
            plate, top = layout.plates[k], layout.plates[k].tops[element]
            ((across, down),) = camera.project(top[None])
            faces = float(camera.towards_eye(top) @ plate.axes[2]) > 0
            spots = [(across + dx, down + dy) for dx in range(-40, 41, 10) for dy in (-1, 1)]
            if text in drawn:
                left, baseline, size, width = drawn[text]
                assert (left, baseline - 0.357 * size) == pytest.approx((across, down), abs=0.2), text
                assert faces, text
                reach = max(width / 2 - 1, 0)
                hits = [picker.pick(camera, (across + dx, down), DENSITY) for dx in (-reach, 0, reach)]
                assert [hit[:2] for hit in hits] == [(k, element)] * 3, text
                found += 1
                continue
            hidden += 1
            if faces and all(x + 1 < a < x + wide - 1 and y + 1 < b < y + high - 1 for a, b in spots):
                hits = [picker.pick(camera, spot, DENSITY) for spot in spots]
                assert any(hit is None or hit[:2] != (k, element) for hit in hits), text
    assert found
    assert hidden


def test_the_patch_below_a_nan_is_there_where_the_nan_is(pages, subjects):
    subject, counts = subjects["one layer"], set()
    frame = subject.frame()
    pages.play(subject, (1120, 580), density=DENSITY)
    pages.show(replace(frame, values=np.full(len(frame.values), np.nan)))
    for pose in turns(pages.bench.layout, np.random.default_rng(3), 12):
        patches, numbers = pages.page.evaluate("""pose => {
            const { rect, number } = PAINTERS, found = [[], []];
            PAINTERS.rect = (ink, move, colour, x, y, wide, high, fill) =>
                fill === "ink" && move.cube && found[0].push(move([x + wide / 2, 0])[0]);
            PAINTERS.number = (ink, move, colour, x, y, size, own, bold, end, name) =>
                name === "weight" && found[1].push(move([x, y])[0]);
            player.pose = pose;
            player.draw();
            Object.assign(PAINTERS, { rect, number });
            return found; }""", pose_as_json(pose))  # fmt: skip
        assert patches == pytest.approx(numbers, abs=0.5)
        counts.add(len(numbers))
    assert max(counts) == len(frame.values) > min(counts)


@pytest.mark.parametrize("name", ["one layer", "xor", "layers that turn", "convolutions", "a plan", "a list"])
def test_labels_stay_at_their_cubes_when_the_picture_is_moved_and_zoomed(name, pages, subjects):
    """Then they move as all that is among the cubes; what is beside them stays where it is."""
    pages.play(subjects[name], (1120, 580), density=DENSITY)
    pages.show(subjects[name].frame())
    layout, rng, cubes = pages.bench.layout, np.random.default_rng(4), cubes_of(pages)
    home, (x, y, wide, high) = pose_of(layout.camera, layout.bounds.mean(axis=0)), pages.document["scene"]
    listed, inside = painted(pages, home), 0
    for _ in range(5):
        factor, at, way = rng.uniform(0.6, 1.5), rng.uniform(200, 500, 2), rng.uniform(-60, 60, 2)
        now = painted(pages, shifted(zoomed(home, factor, tuple(at)), *way))
        assert listed.keys() - cubes.keys() <= now.keys()
        for text, (left, baseline, size, _) in listed.items():
            middle = np.array([left, baseline - 0.357 * size])
            among = x <= middle[0] < x + wide and y <= middle[1] < y + high
            expected = at + factor * (middle - at) + way if among else middle
            if text in now:
                assert np.array(now[text][:2]) - (0, 0.357 * size) == pytest.approx(expected, abs=0.01), text
                inside += among
    assert inside


# ---- hands


def middle(page, index, plate=0):
    """Where the middle of a cube's main face is, in CSS pixels."""
    return page.evaluate(
        """([index, number]) => { const plate = player.document.plates[number];
        return project(player.view.camera, pointOf(plate, index, [0, 0, plate.depth])).slice(0, 2)
            .map((x) => x * player.view.type); }""",
        [index, plate],
    )


def test_pointer_and_click_find_every_cube_a_drag_turns_the_wheel_zooms_and_fit_goes_back(played):
    pages, _, _ = played
    page, home = pages.page, pages.pixels()
    plates = [(k, one) for k, one in enumerate(pages.document["plates"]) if one["start"] >= 0]
    for number, plate in plates:
        for element in range(plate["size"]):
            at, index = middle(page, element, number), plate["start"] + element
            page.mouse.move(*at)
            page.wait_for_function("(index) => player.hovered === index", arg=index)
    for wanted in (index, None):
        page.mouse.click(*at)
        assert page.evaluate("player.selected") == wanted
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


def test_it_follows_every_size(played):
    """The picture is whole and as large as it can be, and the pointer finds what is there."""
    pages, _, _ = played
    page, size = pages.page, pages.document["size"]
    for wide, high in ((1, 1), (40, 25), (120, 400), (900, 120), (960, 600)):
        page.evaluate(f"Object.assign(player.root.style, {{ width: '{wide}px', height: '{high}px' }})")
        scale = min(wide / size[0], high / size[1])
        across, down = (max(1, round(scale * side)) for side in size)
        page.wait_for_function(f"player.canvas.width === {across} && player.canvas.height === {down}")
        picture = pages.pixels()
        assert picture.shape == (down, across, 3)
        assert across < 40 or np.ptp(picture.reshape(-1, 3), axis=0).max() > 100  # cubes are there
        assert page.evaluate("player.view.type") == pytest.approx(max(scale, 1e-3))
    at = middle(page, 4)
    page.mouse.move(*at)
    page.wait_for_function("player.hovered === 4")
    page.mouse.wheel(0, -200)
    page.wait_for_function("player.view.turned")
    page.wait_for_function("player.hovered === 4")
    assert middle(page, 4) == pytest.approx(at, abs=1.0)  # it is enlarged around the pointer


def test_two_pixels_of_a_screen_for_one_of_the_page(browse, subjects):
    """The picture is as sharp as the screen, and pointers count in pixels of the page."""
    page = browse(viewport={"width": 700, "height": 500}, device_scale_factor=2)

    def load(*names):
        page.set_content("<!doctype html><title>two</title><body></body>")
        page.add_script_tag(content=joined(*names))
        return page

    pages, subject = Pages(load), subjects["one layer"]
    pages.play(subject, density=2)
    pages.show(subject.frame())
    assert pages.pixels().shape == (2 * SIZE[1], 2 * SIZE[0], 3)
    width, size = page.evaluate("[player.overlay.ink.canvas.width, player.view.width * player.view.type]")
    assert (width, size) == pytest.approx((2 * SIZE[0], SIZE[0]))
    page.mouse.move(*middle(page, 4))
    page.wait_for_function("player.hovered === 4")


def test_names_are_text_and_nothing_else(pages):
    """A file may call its weights what it likes: nothing of it becomes a part of the page."""
    nasty = '<img src=x onerror="window.taken = 1"></script><script>window.taken = 2</script>'
    subject = subject_of({nasty: np.ones((2, 2)), "__proto__": np.ones(3), "constructor": np.ones(2)})
    pages.play(subject)
    pages.show(subject.frame())
    before = pages.page.evaluate("document.querySelectorAll('*').length")
    pages.pixels()
    pages.page.mouse.move(*middle(pages.page, 0))
    pages.page.wait_for_function("player.hovered !== null")
    pages.page.wait_for_timeout(50)
    assert pages.page.evaluate("[window.taken, document.querySelectorAll('*').length]") == [None, before]
    assert nasty in " ".join(line[0] for line in pages.texts())  # beside the pointer
    pages.page.evaluate("player.pose = { ...player.pose, az: player.pose.az + 30 }")
    written = pages.texts()
    assert {"__proto__", "constructor"} <= {line[0] for line in written}
    assert all(np.isfinite(line[1:3]).all() for line in written)
    names = pages.page.evaluate("player.document.tensors.map((tensor) => parameterName(player.document, tensor.start))")
    assert names == [f"{nasty}[0][0]", "__proto__[0]", "constructor[0]"]


# ---- bad weather: afterwards the picture is the window's


def test_a_lost_context_comes_back_fifty_players_leave_nothing_and_two_know_nothing_of_each_other(played):
    """A browser keeps sixteen contexts, and takes the oldest one away for a seventeenth."""
    pages, subject, frame = played
    page, before, there = pages.page, pages.pixels(), window(subject, frame)
    page.evaluate("""() => {
        window.lose = player.graphics.gl.getExtension("WEBGL_lose_context"); lose.loseContext(); }""")
    page.wait_for_function("player.lost")
    page.evaluate("player.draw(); player.quantity = 'gradient'; player.quantity = 'weight'; lose.restoreContext()")
    page.wait_for_function("!player.lost")
    assert same(pages.pixels(), before) == 1.0
    pages.show(frame)
    assert same(pages.pixels(), there) > 0.99
    page.evaluate("""() => { window.lost = 0; const given = player.document;
        player.canvas.addEventListener("webglcontextlost", () => lost++);
        for (let k = 0; k < 50; k++) {
            const other = new Player(framed([200, 150]), given, { density: 0.2 });
            if (k % 10 === 0) { other.show(player.frame); other.draw(); }
            other.dispose(); other.dispose();
        } }""")
    assert page.evaluate("[lost, document.querySelectorAll('canvas').length]") == [0, 2]
    assert same(pages.pixels(), there) > 0.99
    page.evaluate("""() => { window.first = player;
        window.player = new Player(framed([320, 200]), first.document, { density: 1, theme: "light" });
        player.show(first.frame); player.quantity = "gradient"; player.pose = { az: 40 }; player.selected = 3; }""")
    pages.pixels()
    assert page.evaluate("[first.quantity, first.theme, first.selected]") == ["weight", "dark", None]
    page.evaluate("player.dispose(); window.player = first")
    assert same(pages.pixels(), there) > 0.99


def test_a_hidden_tab_draws_nothing_and_then_the_newest_none_is_queued(played):
    page = played[0].page
    page.evaluate("""() => { window.hide = (hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange")); };
        window.drawn = []; player.on("drawn", (frame) => drawn.push(frame.step));
        hide(true); for (let step = 1; step < 90; step++) player.show({ ...player.frame, step }); }""")
    page.wait_for_timeout(120)
    assert page.evaluate("drawn") == []
    page.evaluate("hide(false)")
    page.wait_for_function("drawn.length > 0")
    assert page.evaluate("drawn[0]") == 89
    page.evaluate("for (let step = 101; step <= 500; step++) player.show({ ...player.frame, step })")
    page.wait_for_function("drawn.includes(500)")
    assert page.evaluate("drawn.filter((step) => step > 89 && step < 500).length") == 0
