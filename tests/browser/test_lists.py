"""A page shows the window's lists: those of every frame, with the numbers of the moment filled in, and of panels."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import SIZE, bench_of, texts
from kit.benches import pixels_of as drawn
from kit.commands import SCENES
from scalarviz import nn, optim
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.ink.listed import changes, colours_of, records_of
from scalarviz.view.ink.sketch import rgba
from scalarviz.view.ink.theme import DARK, LIGHT, hexed, presenting
from scalarviz.view.page.document import advances_of
from scalarviz.view.page.lists import SHAPES, FrameLists, PictureLists, Pool, shapes_of, spliced
from scalarviz.view.page.page import shows_of
from scalarviz.view.page.pictures import panel_pictures
from scalarviz.view.page.recorded import colours_apart
from scalarviz.view.shown.subject import Subject, recorded_subject, subject_of
from scalarviz.view.workbench import Workbench

from .players import compare, flat, pixels_of, scene

RECORDED = ["weight", "gradient", "update"]
QUANTITIES = shows_of(RECORDED)


# ---- subjects, and frames of numbers that float32 holds


def script():
    """A network of somebody's script: hidden units that can be dead, and no names."""
    rng = np.random.default_rng(2)
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.ReLU(), nn.Linear(4, 2, seed=2))
    data = rng.random((32, 3)).astype(np.float32), rng.random((32, 2)).astype(np.float32)
    return sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), data, engine="numpy")


def loop():
    """Of a loop of one's own, with names that are no words."""
    return sv.watch({"__proto__": np.float32([[0.25, -1.5], [3.0, 0.0]]), "v": np.float32([2.0])})


def without_target():
    """The scene of colours with a colour of which nobody says what it should become."""
    subject = subject_of(scene("rgb"))
    subject.choose([0.25, 0.5, 1.0])
    return subject


THINGS = {name: lambda name=name: scene(name, 0)
          for name in ("rgb", "xor", "playground", "digits", "uinn", "expression", "microgpt")}  # fmt: skip
THINGS |= {"two hidden layers": lambda: scene("rgb", 0, hidden=(4, 4)), "a script": script, "a loop": loop,
           "a weight": lambda: subject_of(sv.Weight(0.7, name="w")), "no target": without_target}  # fmt: skip
WITH_PANELS = {"xor", "playground"}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """``shown(name)``: the subject of a page, and frames of it."""
    with ExitStack() as stack:
        known = {}

        def made(name):
            if name not in known:
                path = tmp_path_factory.mktemp("lists") / "run.svz"
                known[name] = subject_and_frames(name, THINGS[name](), path, stack)
            return known[name]

        yield made


def subject_and_frames(name, thing, path, stack):
    """Its recording where there is one, from before the first step on; then frames with what can go wrong."""
    if isinstance(thing, Subject):
        subject, frames = thing, [single(thing.frame())]
    else:
        run = thing if isinstance(thing, sv.Run) else getattr(thing, "run", None)
        rows = {"activations": run is not None, "panels": name in WITH_PANELS}
        with sv.Recording(thing, gradients=True, updates=True, path=path, **rows):
            for step in range(3):
                run.step(1) if run else thing.update(loss=1 / (1 + step))
        source = RecordedSource(stack.enter_context(sv.load_recording(path)))
        subject, frames = recorded_subject(source), []
        for k in (0, 3):
            source.show_frame(k)
            frames.append(single(source.frame()))
    return subject, [*frames, *wrong(frames[-1])]


def single(frame):
    """The same in the numbers that a page has."""
    numbers = {name: getattr(frame, name).astype(np.float32).astype(float) for name in ("values", "gradient", "update")}
    rows = {name: np.asarray(row, np.float32).astype(float) for name, row in frame.activations.items()}
    return replace(frame, **numbers, activations=rows)


def wrong(frame):
    """Frames with numbers that are none, infinite, far from others, frozen, dead or unknown, and one of zeros."""
    count, values = len(frame.values), frame.values.copy()
    places = np.arange(count)
    values[:4] = [np.nan, np.inf, -np.inf, 40.0][:count]
    marks = {"frozen": places % 5 == 4, "computed": places % 7 != 5,
             "dead": {name: np.arange(np.size(row)) % 3 == 1 for name, row in frame.activations.items()
                      if name in frame.dead}}  # fmt: skip
    rows = {name: np.where(np.arange(np.size(row)) == 1, np.nan, np.ravel(row)).reshape(np.shape(row))
            for name, row in frame.activations.items()}  # fmt: skip
    yield replace(frame, values=values, gradient=np.where(places % 9 == 8, np.inf, frame.gradient), **marks)
    yield replace(frame, values=values * 2.0**-40, gradient=frame.gradient * 2.0**20, update=values * 2.0**-12)
    yield replace(frame, values=np.where(places == 3, 2.0**90, frame.values), activations=rows)
    yield replace(frame, values=np.zeros(count), gradient=np.zeros(count), computed=np.zeros(count, bool))


def panel_steps(subject, frame):
    """The steps of recorded panels at a frame, by title."""
    found = {panel.title: panel for panel in subject.panels if hasattr(panel, "at_step")}
    places = {title: panel.at_step(frame.step) for title, panel in found.items()}
    return {title: found[title].pictures[k].step for title, k in places.items() if k is not None}


@pytest.mark.parametrize("shape", [0, 1], ids=["lying", "standing"])
@pytest.mark.parametrize("name", THINGS)
def test_a_pages_list_filled_in_is_the_windows_own(name, shape, pages, shown):
    """In one theme and the other by turns, though the page's list is made once, for the dark one."""
    subject, frames = shown(name)
    for turn, quantity in enumerate(QUANTITIES[shape::2]):
        pages.play(subject, SHAPES[shape], quantity=quantity)
        pages.page.evaluate("() => { player.drawCubes = () => 1; player.pace.ask = () => {}; }")  # no cubes, no clock
        benches = [Workbench(subject, SHAPES[shape], theme, quantity=quantity) for theme in (DARK, LIGHT)]
        windows = [(bench, PictureLists(bench, films=True)) for bench in benches]
        for number, frame in enumerate(frames):
            bench, lists = windows[(turn + number) % 2]
            pages.set(theme=bench.theme.name)
            pages.show(frame)
            for one in benches:  # a note on a problem stays where it was placed
                one.update(frame)
            where, steps = (quantity, bench.theme.name, number), panel_steps(subject, frame)
            filled = compare(pages.page, flat(pages.lists), flat(lists), bench.theme, steps, where)
            assert filled or quantity != "weight", where


# ---- lists as a page stores them


@pytest.mark.parametrize("look", [DARK, presenting(DARK)], ids=["", "presenter"])
def test_every_list_comes_back(look, ask, shown):
    subject, frames = shown("rgb")
    pool, expected = Pool(), []
    lists, shapes = FrameLists(subject, QUANTITIES, pool, look), shapes_of(look)
    own = [[Workbench(subject, size, look, quantity=name, timed=True) for name in QUANTITIES] for size in shapes]
    made = [[PictureLists(bench, films=True, bound=True) for bench in some] for some in own]
    for frame in frames:
        lists.add_frame(frame)
        for bench in (bench for some in own for bench in some):
            bench.update(frame, "recording")
        expected.append([[flat(one) for one in some] for some in made])
    stored = lists.as_json() | pool.as_json()
    found = ask("lists.js", """([stored, count, names]) => { const lists = new PageLists(stored);
        return Array.from({ length: count }, (_, frame) =>
            lists.shapes.map((_, shape) => names.map(name => lists.at(frame, name, shape)))); }""",
                [stored, len(frames), QUANTITIES])  # fmt: skip
    assert found == expected
    assert [one["size"] for one in pool.as_json()["layouts"]] == [list(some[0].camera.size) for some in own]
    records = pool.as_json()["records"]
    assert len(records) == len({str(record) for record in records})


def test_a_list_follows_from_the_one_before(ask):
    """Whatever changes: parts stay, go, move and come back, and new records are counted on."""
    rng, count, before, cases, wanted = np.random.default_rng(5), 0, [], [], []
    for _ in range(300):
        kept = [one for one in before if rng.random() < rng.choice([0.3, 0.9, 1.0])]
        now = [int(one) for one in (kept if rng.random() < 0.8 else rng.permutation(kept))]
        first = count
        for _ in range(int(rng.integers(0, 4))):
            now.insert(int(rng.integers(0, len(now) + 1)), count)
            count += 1
        fresh = sorted(range(first, count), key=now.index)  # a new record gets its number where it is first seen
        now = [first + fresh.index(one) if one >= first else one for one in now]
        if first and rng.random() < 0.3:
            now.append(int(rng.integers(0, first)))
        cases.append(spliced(before, now, first))
        wanted.append(now)
        before = now
    found = ask("lists.js", """cases => { const count = { next: 0 }; let before = [];
        return cases.map(steps => (before = splicedList(before, steps, count))); }""", cases)  # fmt: skip
    assert found == wanted


# ---- panels


def test_the_colours_of_a_panel_come_back_from_their_differences(ask):
    """Those of records in which nothing else changes; of others the whole record is stored."""
    rng = np.random.default_rng(8)

    def shades(count):
        return rng.integers(0, 256, 3 * count, np.uint8).tobytes().hex()

    lists = [[["box", 0, 0, 90, 60], ["cells", [1, 2, 3, 4], shades(1), 0, None], ["text", 1, 9, "a", 13, "text1", 0,
             "left"], ["points", [1, 2, 3, 4, 5, 6], 2.5, shades(3)], ["points", [k, 2], 2.5, shades(1)],
              ["points", [1, 2], 2.5, "808080"]] for k in range(4)]  # fmt: skip
    stored, colours = colours_apart(lists)
    assert [*colours] == [1, 3]
    assert [changes(one, two) for one, two in pairwise(stored)] == [{"4": one[4]} for one in lists[1:]]
    for some in (lists, lists[:1], [*lists, lists[0][:-1]]):
        stored, colours = colours_apart(some)
        assert ask("list.js", "([lists, colours]) => recoloured(lists, colours)", [stored, colours]) == some


def of_texts(items):
    return sorted([t.text, t.x, t.y, t.size, t.anchor, hexed(rgba(t.colour)), t.bold] for t in items)


def test_in_panels(scripts):
    """Every scene in both looks, by way of what has changed since a list that was made in the other one."""
    page = scripts("panels.js")
    for name in SCENES:
        one = scene(name)
        document = {"advances": advances_of(), "themes": {look.name: colours_of(look) for look in (DARK, LIGHT)}}
        frame = one.run.frame(one.probe)
        lists = {look.name: panel_pictures(one, [0], lambda _, frame=frame: frame, look) for look in (DARK, LIGHT)}
        for look, other in (("dark", "light"), ("light", "dark")):
            bench = bench_of(one, SIZE, look, asked=True)
            window = drawn(bench)
            for before, now in zip(lists[other], lists[look], strict=True):
                first, records = (
                    records_of(picture.image, (picture.width, picture.height)) for picture in (before, now)
                )
                url, told, here = page.evaluate(SHOWN, [first, changes(first, records), document, look])
                drawer = bench.side.drawers[now.panel]
                if (drawer.setting is not None and drawer.spread is not None) or drawer.panel.place == "above":
                    continue  # the window has it among the cubes: test_letters; in the place of a page: below
                there = of_texts(texts(bench.side.drawn(now.panel)))
                assert [line[0] for line in sorted(here)] == [line[0] for line in there], (name, look, now.panel)
                for mine, theirs in zip(sorted(here), there, strict=True):
                    assert mine[1:3] == pytest.approx(theirs[1:3], abs=0.051), (name, look, now.panel, mine)
                    assert mine[3:] == theirs[3:], (name, look, now.panel, mine)
                assert all(line[0] in told for line in there)
                assert apart(pixels_of(url, "RGBA"), window, records[0]) < 0.1, (name, look, now.panel)


@pytest.mark.parametrize("name", ["neuron", "expression"])
def test_a_panel_above_the_cubes_is_as_large_as_it_was_drawn_where_the_window_has_it(name, tmp_path):
    made = scene(name)
    with sv.Recording(made, activations=True, panels=True, path=tmp_path / "run.svz"):
        made.run.step(1)
    with sv.load_recording(tmp_path / "run.svz") as record:
        subject = recorded_subject(RecordedSource(record))
        picture = next(one for one in reversed(record.pictures) if one.panel in ("loss over weights", "graph"))
        benches = [Workbench(one, SHAPES[0], timed=True) for one in (subject, subject_of(made))]
        for bench in benches:
            bench.update(bench.subject.frame())
        films = {film[5]: film[3:5] for film in flat(PictureLists(benches[0], films=True)) if film[0] == "film"}
        assert films[picture.panel] == pytest.approx([picture.width, picture.height], abs=2)
        boxes = [next(d.box for d in bench.side.drawers.values() if d.panel.place == "above") for bench in benches]
        assert boxes[0] == pytest.approx(boxes[1], abs=1)


SHOWN = """async ([records, others, given, look]) => {
    const canvas = document.createElement("canvas"), listing = new Listing(canvas, given.advances);
    const list = changedList(records, others), encoded = list.flat().filter((one) => /^data:/.test(one)), written = [];
    listing.show(list, given.themes[look], "a panel");
    await Promise.all(encoded.map((src) => Object.assign(new Image(), { src }).decode()));
    await new Promise((done) => setTimeout(done, 20));
    const { ink } = listing;
    ink.text = (x, y, text, size, colour, { bold, end }) => {
        if (text) written.push([text, x, y, size, end, colour, bold]);
        Ink.prototype.text.call(ink, x, y, text, size, colour, { bold, end }); };
    listing.show(list, { ...given.themes[look] }, "a panel");
    return [canvas.toDataURL(), canvas.getAttribute("aria-label"), written];
}"""


def apart(picture, window, box):
    """Share of pixels of a panel that differ: letters are another font's, and edges are smoothed in another way."""
    (_, x, y, *_), ground, alpha = box, window[2, 2], picture[..., 3:] / 255
    mine = picture[..., :3] * alpha + ground * (1 - alpha)
    left, top = max(int(np.ceil(x)), 0), max(int(np.ceil(y)), 0)
    theirs = window[top : top + mine.shape[0], left : left + mine.shape[1]]
    assert (np.abs(theirs - ground).max(axis=2) > 20).any()
    return float((np.abs(mine[: theirs.shape[0], : theirs.shape[1]] - theirs).max(axis=2) > 40).mean())
