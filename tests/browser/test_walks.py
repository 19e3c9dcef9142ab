"""Micro-steps in a page: the window's cubes to the pixel, with their light, its words, and the keys that walk."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.run.questions.ranges import Range
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.cube_view import hand_over
from scalarviz.view.ink.text import delta_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.micro.light import whose_deltas
from scalarviz.view.micro.on_cubes import row_chips, row_places
from scalarviz.view.micro.step_view import BACKWARD, FORWARD, UPDATE
from scalarviz.view.micro.walk import Walk, open_step
from scalarviz.view.page.document import document_of, laid_out
from scalarviz.view.page.recorded import MOST, html_of, walks_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.step_drawing import StepDrawing

from .players import drawn_same, opened, pixels_of, same, scene, window


def hue_of(word):
    """The class that a word of a formula has on a page: deltas and gradients below 0 have their own."""
    below = word.text.lstrip(" (").startswith("\N{MINUS SIGN}")
    return "negative" if word.tone == "violet" and below else word.tone


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """A recording of one layer, of two hidden layers, of a picture's convolutions, of large cubes, opened."""
    files = {}
    scenes = {
        "layer": scene("rgb"),
        "hidden": scene("rgb", hidden=(4, 4)),
        "maps": scene("digits"),
        "xor": scene("xor"),
    }
    for name, made in scenes.items():
        path = tmp_path_factory.mktemp("walks") / f"{name}.svz"
        with sv.Recording(made, every=2, micro=True, gradients=True, updates=True, path=path):
            made.run.step(5)
        files[name] = sv.load_recording(path)
    yield files
    for file in files.values():
        file.close()


@pytest.fixture
def paged(browse, recordings, tmp_path):
    """``paged(name)``: the page of a recording, at its second frame."""

    def made(name="layer"):
        path = tmp_path / f"{name}.html"
        path.write_text(html_of(recordings[name]), encoding="utf-8")
        return opened(browse(reduced_motion="reduce"), path, "#frame=1")

    return made


def source_of(recording, place=1):
    source = RecordedSource(recording)
    source.show_frame(place)
    return source, subject_of(source)


def hand_of(subject, told):
    """What a micro-step does to the cubes of a picture."""

    def hand(look, slab, colouring, activations, **bench):
        scenery = SimpleNamespace(flow=None, outcome=None, values=SimpleNamespace(lift=lambda rise, project: None))
        inside = StepDrawing(SimpleNamespace(subject=subject, theme=look, slab=slab, colouring=colouring, project=None,
                                        activations=activations, scenery=scenery, **bench))  # fmt: skip
        inside.micro_step, colouring.opened = told, True
        colouring.update(told.frame, None, inside.range_values)
        rows = any(plate.kind == "activation" for plate in slab.layout.plates)
        hand_over(slab, told.frame, colouring, activations, subject.source, rows=rows)
        inside.paint()

    return hand


@pytest.mark.gl
@pytest.mark.parametrize("name", ["layer", "hidden", "maps"])
def test_cubes_are_those_of_the_window_at_the_same_micro_step(name, recordings, paged):
    source, subject = source_of(recordings[name])
    made = paged(name)
    wanted = made.evaluate("() => scalarviz.run.document.size")
    made.evaluate("""([w, h]) => { const root = document.createElement("div"), Kind = scalarviz.player.constructor;
        scalarviz.player.dispose();
        root.style.cssText = `position: fixed; inset: 0 auto auto 0; width: ${w}px; height: ${h}px`;
        document.body.append(root);
        window.other = new Kind(root, scalarviz.run.document, { density: 1 }); }""", wanted)  # fmt: skip
    for alone in (True, False):
        walk = Walk(open_step(subject, alone=alone), subject, source.frame())
        ends = [walk.first_of(phase) for phase in range(FORWARD, UPDATE + 1)] + [len(walk)]
        for at in sorted({1 + (a + b) // 2 for a, b in pairwise(ends)}):
            url = made.evaluate("""([alone, at]) => { const walk = scalarviz.run.walks.at(1, alone);
                other.quantity = walk.quantityAt(at); other.show(walk.shownAt(at)); other.draw();
                return other.canvas.toDataURL(); }""", [alone, at])  # fmt: skip
            told = walk.micro_step_at(at)
            ours = pixels_of(url)
            theirs = window(subject, told.frame, tuple(wanted), quantity=told.quantity, hand=hand_of(subject, told))
            assert same(ours, theirs) > 0.99, (alone, at)
            assert drawn_same(ours, theirs) > 0.98, (alone, at)


def test_what_is_said_of_every_micro_step_is_what_the_window_says(recordings, paged):
    source, subject = source_of(recordings["layer"])
    made = paged()
    for alone in (True, False):
        walk = Walk(open_step(subject, alone=alone), subject, source.frame())
        said = made.evaluate("""alone => { const page = scalarviz, walk = page.run.walks.at(1, alone), found = [];
            for (let at = 1; at <= walk.count; at++) {
                Object.assign(page, { walk, at });
                const told = page.told(), deltas = walk.deltasAt(at), reached = walk.reachedAt(at);
                found.push({ ...told, faces: [...walk.facesAt(at)], quantity: walk.quantityAt(at),
                    lit: [...walk.lightAt(at, 0)], computed: [...walk.lightAt(at, 2)],
                    reached: Object.entries(reached).map(([name, row]) => [name, [...row]]),
                    deltas: [...deltas].map(([name, row]) => [name, [...row].map(Number.isNaN)]) });
            }
            return found; }""", alone)  # fmt: skip
        for at, ours in enumerate(said, start=1):
            told = walk.micro_step_at(at)
            assert (ours["phase"], ours["quantity"]) == (told.phase, told.quantity)
            assert [[p[0], *p[2:]] for p in ours["phases"]] == [[p.name, p.done, p.count] for p in told.phases]
            assert (ours["name"], ours["meaning"]) == (told.sentence.name, told.sentence.meaning)
            theirs = [
                [f.letters, [[w.text, hue_of(w), int(w.bold)] for w in f.numbers]] for f in told.sentence.formulas
            ]
            assert ours["formulas"] == theirs[:1]
            assert {k: tuple(face) for k, face in ours["faces"]} == dict(told.cube_texts)
            np.testing.assert_array_equal(np.array(ours["computed"], bool), told.frame.computed)
            numbers = told.frame.state.get(told.quantity)
            lit = told.frame.computed if numbers is None else ~np.isnan(numbers)
            np.testing.assert_array_equal(np.array(ours["lit"], bool), lit)
            assert dict(ours["reached"]) == {name: row.astype(int).tolist() for name, row in told.reached.items()}
            unknown = {name: np.isnan(row).tolist() for name, row in told.deltas.items()}
            assert dict(ours["deltas"]) == {"input": [True] * source.n_inputs, **unknown}


def test_sums_on_their_way_and_deltas_stand_beside_rows_as_in_the_window(recordings, paged):
    source, subject = source_of(recordings["xor"])
    made = paged("xor")
    size = tuple(made.evaluate("scalarviz.player.document.size"))
    made.evaluate("""([wide, high]) => Object.assign(document.getElementById('cubes').style,
        { inset: 'auto', width: `${wide}px`, height: `${high}px` })""", size)  # fmt: skip
    made.wait_for_function("([wide, high]) => scalarviz.player.view.width === wide", arg=size)
    made.keyboard.press(".")
    laid, walk = laid_out(subject, size, DARK), Walk(open_step(subject, alone=True), subject, source.frame())
    written = SimpleNamespace(writes=lambda plate: True)  # so few units have their numbers on their cubes
    places, kinds = row_places(laid.layout, laid.project, source.n_inputs, written), set()
    cubes = {plate.name for plate in laid.layout.plates}
    for at in range(1, len(walk) + 1):
        here = made.evaluate("""at => { scalarviz.stand(at);
            const { ink } = scalarviz.player.overlay, found = []; let chip = false;
            ink.box = (x, y, wide, high, { radius }) => { chip = radius === 5; };
            ink.text = (x, y, text) => { if (chip) found.push(text); chip = false; };
            scalarviz.player.draw(); delete ink.box; delete ink.text; return found; }""", at)  # fmt: skip
        told = walk.micro_step_at(at)
        whose = whose_deltas(subject.stages, told.deltas, cubes)
        deltas = {row: told.deltas[stage] for row, stage in whose.items()}
        rows = {name: np.where(there, told.frame.activations[name], np.nan) for name, there in told.reached.items()}
        there = row_chips(places, DARK, (0.0, 0.0, 1e4, 1e4), rows, told.sums, deltas, Range.symmetric(1.0))
        assert sorted(here) == sorted(text.text for text in there.texts), at
        kinds |= {(told.phase, "\N{HORIZONTAL ELLIPSIS}" in text) for text in here}
    assert kinds == {(FORWARD, True), (FORWARD, False), *((phase, False) for phase in range(BACKWARD, UPDATE + 1))}


@pytest.mark.parametrize("name", ["layer"])
def test_every_delta_of_a_single_layer_is_written_in_the_hue_of_its_sign(name, recordings, paged):
    source, subject = source_of(recordings[name])
    made = paged(name)
    made.keyboard.press(".")
    for alone in (True, False):
        walk = Walk(open_step(subject, alone=alone), subject, source.frame())
        at = max(k for k, phase in enumerate(walk.phases, start=1) if phase == BACKWARD)
        written = made.evaluate("""([at, alone]) => { scalarviz.walk = scalarviz.run.walks.at(1, alone);
            scalarviz.stand(at);
            const { ink } = scalarviz.player.overlay, found = []; let edge = "";
            ink.box = (x, y, wide, high, { stroke }) => { edge = stroke; };
            ink.text = (x, y, text) => { if (text.includes("\u03b4 ")) found.push([text, edge]); };
            scalarviz.player.draw(); delete ink.box; delete ink.text; return found; }""", [at, alone])  # fmt: skip
        deltas = walk.micro_step_at(at).deltas[next(s.name for s in subject.stages if s.weight is not None)]
        hues = [DARK.gradient[0 if delta < 0 else 4] for delta in deltas]
        assert sorted(written) == sorted(
            [f"{'' if alone else 'mean '}\N{GREEK SMALL LETTER DELTA} {delta_text(float(delta))}", hue]
            for delta, hue in zip(deltas, hues, strict=True)
        )


def state(made):
    return made.evaluate(
        "() => [scalarviz.frame, scalarviz.walk?.told.step ?? null, scalarviz.at, scalarviz.walk?.told.alone ?? null]"
    )


def test_keys_walk_through_the_step_after_the_frame(recordings, paged):
    made, steps = paged(), recordings["layer"].steps.tolist()
    press = made.keyboard.press
    press(".")
    press(".")
    assert state(made) == [1, steps[1] + 1, 2, True]
    assert "micro-step 2 of 44" in made.inner_text("#about")
    assert made.is_hidden("#bar")
    press(".")
    assert made.inner_text("#loss") == "\N{EN DASH}"  # what is not there yet is not written
    assert made.locator(".comes tr:last-child td").all_inner_texts()[1:] == ["", "", ""]
    press(",")
    press(",")
    assert state(made)[2] == 1
    press("b")
    assert state(made) == [1, steps[1] + 1, 1, False]
    made.click(".walk li:nth-child(5)")
    assert made.evaluate("() => scalarviz.walk.phaseAt(scalarviz.at)") == 4
    assert made.evaluate("() => scalarviz.player.quantity") == "gradient"
    made.click(".walk li:nth-child(6)")
    assert all(made.locator(".comes tr:last-child td").all_inner_texts())
    press("Escape")
    assert state(made) == [1, None, 0, None]
    assert made.evaluate("() => scalarviz.player.quantity") == "weight"
    assert made.is_visible("#bar")
    press(".")
    press("ArrowRight")
    assert state(made)[:2] == [2, None]
    press(",")
    assert state(made)[:3] == [1, steps[1] + 1, 44]
    press(".")
    assert state(made)[:2] == [2, None]
    made.evaluate("() => { scalarviz.walks.frames.splice(2, 1); }")  # of the third step none are held: on to the fourth
    press(".")
    assert state(made)[:3] == [3, steps[3] + 1, 1]
    assert "micro-steps are held of 3 steps: this is the next" in made.inner_text("#about")
    made.evaluate("() => scalarviz.stand(44)")
    press(".")  # the last
    assert state(made)[:3] == [3, steps[3] + 1, 44]
    assert "no micro-steps are stored after this step" in made.inner_text("#about")
    press("Space")
    assert state(made)[1] is None
    assert made.evaluate("() => scalarviz.playing || scalarviz.frame > 2")


def test_an_address_opens_at_a_micro_step(recordings, paged):
    made, steps = paged(), recordings["layer"].steps.tolist()
    for asked, expected in (
        ("frame=0&micro=32", [0, steps[0] + 1, 32, True]),
        ("step=4&micro=99&whole=1", [1, steps[1] + 1, 44, False]),
        ("frame=2&micro=x", [2, None, 0, None]),
        ("frame=2&micro=-3", [2, None, 0, None]),
    ):
        made.evaluate("hash => scalarviz.follow(hash)", f"#{asked}")
        assert state(made) == expected, asked


def test_another_branch_has_those_of_the_frames_that_both_share(browse, tmp_path):
    made = scene("rgb")
    with sv.Recording(made, micro=True, path=tmp_path / "two.svz"):
        made.run.step(3)
        made.run.back(2)
        made.run.set_weights(0, [0.5])
        made.run.step(2)
    with sv.load_recording(tmp_path / "two.svz") as recorded:
        (tmp_path / "two.html").write_text(html_of(recorded), encoding="utf-8")
    page = opened(browse(reduced_motion="reduce"), tmp_path / "two.html", "#frame=1")
    other = page.evaluate("() => scalarviz.run.head.branches.lines.map(line => line.number).find(n => n !== "
                          "Number(document.querySelector('.branch').value))")  # fmt: skip
    assert page.evaluate("() => scalarviz.held.length") == 4
    page.select_option(".branch", str(other))
    held, frames = page.evaluate("() => [scalarviz.held, scalarviz.run.frames]")
    assert 0 < len(held) < frames
    page.keyboard.press("Escape")
    page.evaluate("() => { document.activeElement.blur(); scalarviz.next(); }")
    assert "no micro-steps are stored after this step" in page.inner_text("#about")
    page.evaluate("() => scalarviz.follow(`#frame=${scalarviz.frame}&micro=1`)")
    assert page.evaluate("() => scalarviz.walk.told.step - 1 === scalarviz.run.steps[scalarviz.frame]")
    assert "this is the nearest" in page.inner_text("#about")


def test_of_many_steps_some_have_micro_steps(tmp_path):
    made = scene("rgb")
    with sv.Recording(made, micro=True, path=tmp_path / "a.svz"):
        made.run.step(8)
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        source, subject = source_of(recorded)
        document = document_of(subject, (900, 500))
        places = [k % len(recorded) for k in range(3 * MOST)]
        said, numbers = walks_of(subject, source, places, document)
    frames = sorted({walk["frame"] for walk in said["walks"]})
    assert len(frames) == MOST
    assert (frames[0], frames[-1]) == (0, 3 * MOST - 1)
    assert len(numbers) == 2 * MOST
    assert source.place == 1
