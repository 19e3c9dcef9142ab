"""A page that trains: what it computes is what the run computes, its picture is the window's, and nothing leaves it."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import far
from scalarviz import nn, optim
from scalarviz.lessons.scenes import line, one_weight
from scalarviz.run.questions.ranges import clip_share, weight_extent
from scalarviz.run.source import Moment
from scalarviz.view.ink.text import chip_text, share_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.micro.captions import caption_at_rest
from scalarviz.view.page.lists import SHAPES, PictureLists
from scalarviz.view.panels.drawer import BEFORE
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

from .players import flat, opened, painted, said, scene

EVERY = ("rgb", "xor", "neuron", "playground", "digits", "uinn", "expression")
GROWN = "frames => !scalarviz.late && scalarviz.run.frames >= frames"
LAST = """() => {
  const { run, player } = scalarviz, frame = run.frames - 1, shown = run.shown(frame, player.document);
  const rows = {};
  for (const [name, row] of Object.entries(shown.rows)) rows[name] = [...row];
  for (const { kind, name, texel, size } of run.document.plates) {
    if (kind === "activation") rows[name] = [...shown.texels.weight.subarray(texel, texel + size)];
  }
  const texels = Object.fromEntries(Object.entries(shown.texels).map(([name, all]) => [name, [...all]]));
  return { ...texels, rows, loss: run.loss.at(-1), step: run.steps.at(-1), sample: shown.sample_loss };
}"""


def written(made, path, every=1, steps=4, steps_inside=()):
    """The page of a scene's recording, which ends where the scene is now."""
    with sv.Recording(
        made, every=every, gradients=True, updates=True, activations=True, path=path / "run.svz"
    ) as record:
        made.run.step(steps)
        record.save_html(path / "page.html", open=steps_inside)
    return path / "page.html"


def stepped(page, count=1):
    frames = page.evaluate("scalarviz.run.frames")
    page.evaluate("count => void scalarviz.actions.step(count)", count)
    page.wait_for_function(GROWN, arg=frames + 1)
    return page.evaluate(LAST)


def rated(page, lr):
    """Type a rate, and wait for the frame that has it."""
    frames = page.evaluate("scalarviz.run.frames")
    page.get_by_label("lr", exact=True).fill(str(lr))
    page.keyboard.press("Enter")
    page.wait_for_function(GROWN, arg=frames + 1)


@pytest.mark.parametrize(
    "name",
    [
        *EVERY,
        "a bare layer",
        pytest.param("microgpt", marks=pytest.mark.ci),
        pytest.param("texture", marks=pytest.mark.ci),
    ],
)
def test_a_page_computes_what_the_run_computes(name, browse, tmp_path):
    made = line() if name == "a bare layer" else scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    with sv.load_recording(tmp_path / "run.svz") as record:
        probe = record.probe
    for count in (1, 5):
        found = stepped(page, count)
        made.run.step(count)
        frame = made.run.frame(probe)
        weights = len(frame.values)
        assert found["step"] == frame.step
        shown = Moment(frame, subject_of(made).source).shown_loss(made.whole_loss)
        assert found["loss"] == pytest.approx(shown, rel=1e-3)
        for quantity, ours in (("weight", frame.values), ("gradient", frame.gradient), ("update", frame.update)):
            assert far(found[quantity][:weights], ours) < 2e-3, quantity
        for row, numbers in found["rows"].items():
            assert far(numbers, np.ravel(frame.activations[row])) < 2e-3, row


def test_the_picture_of_a_computed_step_has_its_numbers_and_no_others(browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    before = painted(page)
    assert "recording" in before
    stepped(page, 300)
    words = painted(page)
    assert "trained on in this page" in words
    assert "307" in words
    made.run.step(300)
    assert caption_at_rest(subject_of(made), made.run.frame(made.probe)).ways[0] in words
    assert said(page, "loss") in words
    rated(page, 0.125)
    assert "lr 0.125" in painted(page)  # at once
    stepped(page)
    assert "lr 0.125" in painted(page)


def test_the_sum_of_a_bare_layer_and_the_loss_over_its_weight_are_those_of_the_step(browse, tmp_path):
    made = one_weight()
    with sv.Recording(made, gradients=True, updates=True, activations=True, panels=True) as record:
        made.run.step(2)
        record.save_html(tmp_path / "page.html")
    page = opened(browse(reduced_motion="reduce"), tmp_path / "page.html", "#frame=99")
    stepped(page, 3)
    made.run.step(3)
    weight, words = float(made.run.values[0]), painted(page)
    assert chip_text(2 * weight, signed=True) in words
    assert "loss over weights at step 5" in words
    assert "recorded at step" not in words


def test_the_legend_says_the_share_of_clipped_weights_of_the_moment(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    stepped(page)
    shares = []
    for count, value in enumerate((None, -30), 1):
        if value is not None:
            page.evaluate("value => void scalarviz.training.change(4, value)", value)
            page.wait_for_function(GROWN, arg=5 + count)
        weights = np.array(page.evaluate(LAST)["weight"][:12])
        shares.append(share_text(clip_share(weights, weight_extent(weights))))
        assert f"{shares[-1]} clipped" in painted(page)
    assert shares == ["0 %", "8.3 %"]


def test_space_trains_at_the_end_and_pauses(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), "#frame=99")
    page.keyboard.press("Space")
    page.wait_for_function(GROWN, arg=12)
    page.keyboard.press("Space")
    page.wait_for_timeout(200)
    frames = page.evaluate("scalarviz.run.frames")
    page.wait_for_timeout(200)
    assert page.evaluate("scalarviz.run.frames") == frames
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("scalarviz.frame") == frames - 2
    page.get_by_role("button", name="recording", exact=True).click()
    assert page.evaluate("[scalarviz.run.frames, scalarviz.frame]") == [5, 4]


def test_forward_back_and_forward_again_has_the_same_bits(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("playground"), tmp_path), "#frame=99")
    first = [stepped(page, 7), stepped(page, 1)]
    page.get_by_role("button", name="recording", exact=True).click()
    assert [stepped(page, 7), stepped(page, 1)] == first
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # the last recorded frame, in the second line
    page.get_by_role("button", name="train here").click()
    page.wait_for_function("() => !scalarviz.training.waiting && scalarviz.training.lines.length === 3")
    assert page.evaluate("scalarviz.run.steps.at(-1)") > 7


def test_a_rate_that_is_too_high_stops_and_says_so(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("expression"), tmp_path), "#frame=99")
    page.locator("#speed input").fill("1e30")
    page.get_by_role("button", name="train on").click()
    page.wait_for_function("() => document.getElementById('about').textContent.includes('diverged')")
    assert page.get_by_role("button", name="train on").is_visible()
    page.get_by_role("button", name="recording", exact=True).click()
    rated(page, 0.01)
    assert np.isfinite(stepped(page)["loss"])


def test_a_weight_gets_another_value_and_training_goes_on_from_it(browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    page.evaluate("scalarviz.select(4)")
    page.get_by_label("set to").fill("-3")
    page.keyboard.press("Enter")
    page.wait_for_function(GROWN, arg=6)
    found = page.evaluate(LAST)
    for quantity in ("gradient", "update"):  # those of the last step
        assert far(found[quantity][:12], getattr(made.run.frame(), quantity)) < 1e-6
    assert "diverged" not in said(page, "about")
    made.run.values[4] = -3.0
    assert far(found["weight"][:12], made.run.values) < 1e-6
    assert found["loss"] == pytest.approx(
        Moment(made.run.frame(), subject_of(made).source).shown_loss(made.whole_loss), rel=1e-4
    )
    found = stepped(page, 5)
    made.run.step(5)
    assert far(found["weight"][:12], made.run.values) < 1e-5


@pytest.mark.parametrize("first", ["seed=7", "equal=0.5"])
def test_an_address_names_a_beginning_before_any_step_and_the_recorded_step_that_is_shown(first, browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb", steps=0), tmp_path), f"#train=0&{first}")
    page.wait_for_function("() => scalarviz.run.steps[scalarviz.frame] === 0 && scalarviz.run.line && !scalarviz.late")
    name, value = first.split("=")
    page.evaluate(f"scalarviz.training.restart({{ {name}: {value} }})")
    page.wait_for_function(f"() => location.hash === '#train=0&{first}'")
    page.evaluate("() => { scalarviz.training.home(); location.hash = '#step=2&az=30'; }")
    page.wait_for_function("() => scalarviz.run.steps[scalarviz.frame] === 2")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") == "#step=3&az=30"


def test_a_drag_over_the_number_in_the_card_changes_the_weight_when_it_ends(browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    page.evaluate("scalarviz.select(4)")
    box = page.locator("#card td").first.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.up()  # a press alone changes nothing
    page.mouse.down()
    page.mouse.move(box["x"] + 64, box["y"] + 4, steps=5)
    wanted = f"{made.run.values[4] + 60 / 300 * np.abs(made.run.values).max():.4g}"
    assert page.get_by_label("set to").get_attribute("placeholder") == wanted
    page.mouse.up()
    page.wait_for_function(GROWN, arg=6)
    assert page.evaluate(LAST)["weight"][4] == pytest.approx(float(wanted), rel=1e-6)
    assert page.evaluate("scalarviz.run.frames") == 6  # one change
    page.keyboard.press("Control+z")
    page.wait_for_function("() => scalarviz.frame === 4")


@pytest.mark.parametrize("name", ["rgb", "xor", "playground"])
def test_after_a_change_of_a_weight_the_page_says_what_the_window_says(name, browse, tmp_path):
    """Its gradient and its update are older: in the picture's remarks and in the card, until the next step."""
    made = scene(name)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    made.run.values[4] = -3.0
    page.evaluate("scalarviz.select(4)")
    for count in (1, 3):
        page.evaluate("scalarviz.training.change(4, -3)")
        page.wait_for_function(GROWN, arg=5 + count)
        for shape, size in enumerate(SHAPES):
            page.set_viewport_size({"width": size[0], "height": size[1] + 100})
            page.wait_for_function("shape => scalarviz.shape === shape", arg=shape)
            for quantity in ("gradient", "update", "weight"):
                bench = Workbench(subject_of(made), size, DARK, quantity=quantity)
                bench.update(made.run.frame(), "")
                said_there = [one[3] for one in flat(PictureLists(bench)) if one[0] == "text" and BEFORE in one[3]]
                page.evaluate("quantity => scalarviz.show(quantity)", quantity)
                words = painted(page)
                assert (BEFORE in words) == bool(said_there) == (quantity != "weight")
                assert all(one in words for one in said_there), said_there
                assert f"gradient and update: {BEFORE}" in said(page, "card")
        if count == 1:
            stepped(page, 5)
            made.run.step(5)
            assert BEFORE not in painted(page) + said(page, "card")
            made.run.values[4] = -3.0


def test_an_address_repeats_what_was_done_to_the_bit(browse, tmp_path):
    file = written(scene("playground"), tmp_path)
    page = opened(browse(reduced_motion="reduce"), file, "#frame=99")
    stepped(page, 7)
    rated(page, 0.125)
    stepped(page, 5)
    page.evaluate("scalarviz.select(4)")
    page.get_by_label("set to").fill("-0.7")
    page.keyboard.press("Enter")
    page.wait_for_function(GROWN, arg=9)
    wanted = stepped(page, 300)
    hash = page.evaluate("location.hash")
    assert hash == "#train=319&did=lr:0.125@14,4:-0.7@19"
    other = opened(browse(reduced_motion="reduce"), file, hash)
    other.wait_for_function("() => scalarviz.run.steps.at(-1) === 319")
    assert other.evaluate(LAST) == wanted


@pytest.mark.parametrize("did", ["1e400", "-5", "9&did=lr:NaN@5,99999:1@5,4:9@1e9,<b>:1@2,4:1e999@8"])
def test_a_damaged_address_does_no_harm(did, browse, tmp_path):
    hash = f"#train={did}"
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), hash)
    page.wait_for_function("() => !scalarviz.training.address.repeated")
    assert page.evaluate("scalarviz.run.steps.at(-1)") in (7, 9)
    assert np.isfinite(stepped(page)["loss"])


def test_many_computed_frames_are_thinned(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), "#frame=99")
    stepped(page)
    page.evaluate("scalarviz.pace(120)")
    page.get_by_role("button", name="train on").click()
    page.wait_for_function("frames => scalarviz.run.frames >= frames", arg=40)  # on a slow machine it is always late
    page.get_by_role("button", name="pause").first.click()
    steps = page.evaluate("scalarviz.run.steps")
    assert steps == sorted(steps)


@pytest.mark.parametrize("where", ["worker", "page"])
def test_it_trains_where_workers_are_forbidden_too(where, browse, tmp_path):
    page = browse(reduced_motion="reduce")
    if where == "page":
        page.add_init_script("window.Worker = class { constructor() { throw new Error('forbidden'); } };")
    made = scene("rgb")
    opened(page, written(made, tmp_path), "#frame=99")
    found = stepped(page, 3)
    made.run.step(3)
    assert far(found["weight"][: len(made.run.values)], made.run.values) < 1e-5


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ((nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1)), "Dropout"),
        ((nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)), "BatchNorm"),
    ],
)
def test_a_page_that_cannot_train_says_why(layers, why, tmp_path):
    net = nn.Sequential(*layers)
    random = np.random.default_rng(0)
    with sv.Run(
        net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (random.normal(size=(8, 2)), random.normal(size=(8, 1)))
    ) as run:
        path = tmp_path / "page.html"
        with sv.Recording(run, activations=True, path=tmp_path / "run.svz") as record:
            run.step(3)
            with pytest.warns(RuntimeWarning, match=f"does not train on: .*{why}"):
                record.save_html(path, open=[])
    text = path.read_text("utf-8")
    assert 'id="engine"' not in text
    assert "worker-src" not in text


def test_a_page_says_that_it_holds_the_samples(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    assert "holds the training data (1,024 samples, 26 kB): who gets this file gets the data" in said(page, "about")


def test_data_above_the_limit_stay_out_of_the_page_which_plays(browse, tmp_path):
    made = scene("rgb")
    with sv.Recording(made, activations=True, path=tmp_path / "run.svz") as record:
        made.run.step(4)
        with pytest.warns(RuntimeWarning, match="training data need 0.1 MB; try data_limit=100_000, or --html-data"):
            record.save_html(tmp_path / "page.html", data_limit=20_000, open=[])
        record.save_html(tmp_path / "none.html", data_limit=0, open=[])  # which is what was asked for: no warning
    for name, why in (("page", "its training data need 0.1 MB"), ("none", "it holds no data")):
        page = opened(browse(reduced_motion="reduce"), tmp_path / f"{name}.html", "#train=20")
        assert f"it does not train on: {why}" in said(page, "about")
        assert 'id="samples"' not in (tmp_path / f"{name}.html").read_text("utf-8")
        page.keyboard.press("Space")
        assert page.evaluate("scalarviz.run.steps.at(-1)") == 7


def test_a_model_that_was_watched_has_a_page_that_plays(browse, tmp_path):
    watched = sv.watch({"w": np.float32([[0.25, -1.5]])})
    with sv.Recording(watched, path=tmp_path / "run.svz") as record:
        watched.update(loss=0.5)
        record.save_html(tmp_path / "page.html", open=[])
    page = opened(browse(reduced_motion="reduce"), tmp_path / "page.html")
    assert "it does not train on: another library trained the network" in said(page, "about")


# ---- from any frame


def waited(page, step):
    page.wait_for_function(
        "step => !scalarviz.training.waiting && !scalarviz.late && scalarviz.run.steps.at(-1) === step", arg=step
    )
    return page.evaluate(LAST)


@pytest.mark.parametrize("name", ["rgb", "xor", "playground", "digits"])
def test_from_any_frame_it_computes_what_the_recording_holds(name, browse, tmp_path):
    """Also between two states of the optimiser: the way there is computed again."""
    made = scene(name, **({"optimizer": "adam"} if name in ("rgb", "playground") else {}))
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps=12), "#frame=5")
    page.wait_for_function("() => scalarviz.frame === 5")
    page.get_by_role("button", name="train here").click()
    page.wait_for_function("() => scalarviz.training.line?.run.computed > 0")
    page.get_by_role("button", name="pause").first.click()
    page.wait_for_function("() => !scalarviz.training.waiting")
    step = page.evaluate("scalarviz.run.steps.at(-1)")
    assert page.evaluate("scalarviz.run.steps.length") == 6 + page.evaluate("scalarviz.run.computed")
    end = made.run.steps + 40
    made.run.step(40)
    found = stepped(page, end - step)
    count = len(made.run.values)
    assert far(found["weight"][:count], made.run.values) < 1e-4
    assert far(found["gradient"][:count], made.run.frame().gradient) < 1e-3


def test_a_line_that_leaves_the_recording_is_no_part_of_it(browse, tmp_path):
    """Its frames are its own, its panels too; the recording and the line before it stay, and the bar leads to them."""
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps=12), "#frame=4")
    recorded = page.evaluate("scalarviz.run.steps")
    page.locator("#speed input").fill("3")
    page.keyboard.press("Enter")  # keys are the page's again
    page.evaluate("scalarviz.training.one(20)")  # after the frame with that rate
    assert waited(page, recorded[4] + 20)["step"] == recorded[4] + 20
    assert page.evaluate("scalarviz.run.steps") == [*recorded[:5], recorded[4], recorded[4] + 20]
    assert "pictures at step 27" in painted(page)
    assert "train=27" in page.evaluate("location.hash")
    page.keyboard.press("ArrowLeft")
    page.evaluate("scalarviz.training.one(1)")
    waited(page, recorded[4] + 1)
    assert page.evaluate("scalarviz.training.lines.map(line => line.run.steps.at(-1))") == [27, recorded[4] + 1]
    for end in (27, recorded[-1]):  # rings of the other line, and of the recording
        place = page.evaluate(
            "step => scalarviz.bar.endOf(scalarviz.bar.lines.find(run => run.steps.at(-1) === step))", end
        )
        box = page.locator("#bar").bounding_box()
        scale = page.evaluate("scalarviz.bar.root.clientWidth / scalarviz.bar.size[0]")
        page.mouse.click(box["x"] + scale * place[0], box["y"] + scale * place[1])
        page.wait_for_function("step => scalarviz.run.steps.at(-1) === step", arg=end)
    assert page.evaluate("scalarviz.run.steps") == recorded


def test_shift_and_the_wheel_change_the_weight_under_the_pointer(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    weights = page.evaluate("[...scalarviz.run.shown(4, scalarviz.player.document).texels.weight].slice(0, 12)")
    places = page.evaluate("""() => {
        const { player } = scalarviz, box = player.canvas.getBoundingClientRect(), found = [];
        for (let y = 0; y < box.height; y += 6) for (let x = 0; x < box.width; x += 6) {
            const hit = player.overlay.pick([x, y].map(side => side / player.view.type));
            const index = hit && player.document.plates[hit.plate].start + hit.element;
            if (index === 4) found.push([x + box.left, y + box.top]);
        }
        return found;
    }""")
    x, y = np.mean(places, axis=0).tolist()
    page.mouse.move(x, y)
    page.wait_for_function("() => scalarviz.player.hovered === 4")
    page.keyboard.down("Shift")
    for _ in range(3):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Shift")
    page.wait_for_function("() => scalarviz.run.computed === 1")
    found = page.evaluate(
        "[...scalarviz.run.shown(scalarviz.frame, scalarviz.player.document).texels.weight].slice(0, 12)"
    )
    wanted = weights[4] + 0.15 * max(map(abs, weights))
    assert found[4] == pytest.approx(wanted, rel=1e-3)
    assert found[:4] + found[5:] == weights[:4] + weights[5:]
    assert page.evaluate("location.hash") == f"#train=7&did=4:{float(f'{wanted:.4g}')!r}@7"
    page.keyboard.down("Shift")
    page.mouse.move(5, 5)
    page.mouse.wheel(0, -100)  # over no cube: the picture zooms, as ever
    page.wait_for_timeout(400)
    assert page.evaluate("scalarviz.run.computed") == 1


def two_layers(**how):
    net = nn.MLP(2, [3], 1)
    data = np.eye(4)[:, :2], np.eye(4)[:, :1]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data, **how)


@pytest.mark.parametrize(("frame", "alone"), [pytest.param(99, False, marks=pytest.mark.hunt), (3, False), (99, True)])
def test_a_schedule_goes_on(frame, alone, browse, tmp_path):
    """From the last frame and from an earlier one, of a run alone too: the coming rates are those of its schedule."""
    run = two_layers()
    optim.lr_scheduler.CosineAnnealingLR(run.optimizer, 40)
    with sv.Recording(
        run if alone else sv.Scene("two layers", run), gradients=True, updates=True, activations=True
    ) as record:
        run.step(8)
        record.save_html(tmp_path / "page.html")
    page = opened(browse(reduced_motion="reduce"), tmp_path / "page.html", f"#frame={frame}")
    page.evaluate("count => void scalarviz.training.one(count)", 30 if frame == 99 else 35)
    page.wait_for_function("() => scalarviz.run.computed")
    found = page.evaluate(LAST)
    run.step(30)
    assert found["step"] == run.steps == 38
    assert far(found["weight"][: len(run.values)], run.values) < 1e-5
    assert page.evaluate("scalarviz.run.lr.at(-1)") == pytest.approx(run.optimizer.lr)
    assert page.locator("#speed input").input_value() == str(page.evaluate("scalarviz.run.lr.at(-1)"))


@pytest.mark.parametrize("why", ["ReduceLROnPlateau follows the loss", "a recording does not hold"])
def test_a_rate_whose_schedule_the_page_does_not_know_stays_and_the_page_says_so(why, browse, tmp_path):
    run, path = two_layers(), tmp_path / "page.html"
    follows = "follows" in why
    if follows:
        optim.lr_scheduler.ReduceLROnPlateau(run.optimizer)
    else:
        optim.lr_scheduler.ExponentialLR(run.optimizer, 0.9)
    with sv.Recording(run, gradients=True, updates=True, activations=True, path=tmp_path / "run.svz") as record:
        run.step(3)
        if follows:
            with pytest.warns(RuntimeWarning, match=why):
                record.save_html(path)
    if not follows:
        sv.load_recording(tmp_path / "run.svz").save_html(path)
    page = opened(browse(reduced_motion="reduce"), path, "#frame=99")
    assert why in said(page, "about")
    before = page.evaluate("scalarviz.run.lr.at(-1)")
    page.evaluate("void scalarviz.training.one(20)")
    page.wait_for_function("() => scalarviz.run.computed")
    assert page.evaluate("scalarviz.run.lr.at(-1)") == pytest.approx(before * (1.0 if follows else 0.9))


@pytest.mark.parametrize("frame", [99, 3])
def test_float64_goes_on_from_the_runs_own_numbers(frame, browse, tmp_path):
    """The page's tables have float32; from an earlier frame, it repeats the steps from the state that it keeps."""
    run = two_layers(dtype="float64")
    page = opened(
        browse(reduced_motion="reduce"), written(sv.Scene("exact", run), tmp_path, steps=8), f"#frame={frame}"
    )
    page.evaluate("count => void scalarviz.training.one(count)", 100 if frame == 99 else 105)
    page.wait_for_function("() => scalarviz.run.computed")
    run.step(100)
    assert page.evaluate(LAST)["loss"] == pytest.approx(run.frame().display_loss, rel=1e-11)


def test_a_line_counts_its_own_frames_and_begins_anew_while_training_goes_on(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor", steps=0), tmp_path), "#frame=99")
    stepped(page, 3)
    rated(page, 0.2)
    shared = """() => { const { recording, line, page: { run, frame } } = scalarviz.training;
        return Line.from(recording, run, frame, line).did.some(one => line.did.includes(one)); }"""
    assert page.evaluate("scalarviz.training.line.did.length") == 1
    assert not page.evaluate(shared)
    for seed in (5, 6, 7):
        page.get_by_role("button", name="train on").click()
        page.wait_for_function("() => scalarviz.training.waiting")
        page.evaluate("seed => void scalarviz.training.restart({ seed })", seed)
        page.wait_for_function(
            "seed => scalarviz.training.line?.first?.seed === seed && !scalarviz.training.running", arg=seed
        )


@pytest.mark.parametrize("name", ["xor", "playground", "digits", "uinn"])
def test_another_seed_is_pythons(name, browse, tmp_path):
    made = scene(name, steps=0)
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps=6), "#frame=3")
    page.get_by_role("button", name="change").click()
    page.get_by_label("seed", exact=True).fill("7")
    page.get_by_role("button", name="begin with this seed").click()
    found = waited(page, 0)
    made.run.restart(seed=7)
    count = len(made.run.values)
    assert far(found["weight"][:count], made.run.values) < 1e-6
    found = stepped(page, 5)
    made.run.step(5)
    assert far(found["weight"][:count], made.run.values) < 1e-4
    assert page.evaluate("location.hash") == "#train=5&seed=7"


@pytest.mark.parametrize("kept", [False, True])
def test_freezing_the_batch_and_gradients_that_stay_are_pythons(kept, browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path), "#frame=99")
    page.evaluate("scalarviz.select(4)")
    page.get_by_label("frozen").check()
    waited(page, 7)
    page.get_by_role("button", name="change").click()
    page.get_by_label("batch").fill("32")
    page.keyboard.press("Enter")
    page.wait_for_function("() => !scalarviz.training.waiting && scalarviz.run.frames === 7")
    made.run.model.parameters()[0][1, 1].frozen = True
    made.run.change(batch_size=32)
    if kept:
        page.get_by_label("no zero_grad").check()
        page.wait_for_function("() => !scalarviz.training.waiting && scalarviz.run.frames === 8")
    found = stepped(page, 1)
    assert ("each step adds its gradient" in said(page, "about")) == bool(kept)
    before, gradient = made.run.values.copy(), made.run.frame().gradient.copy()
    made.run.step(1)
    if kept:
        moved = made.run.values - before - 0.5 * gradient
        moved[4] = 0.0
        assert far(found["update"][:12], moved) < 1e-4
    else:
        assert far(found["weight"][:12], made.run.values) < 1e-5
    assert found["update"][4] == 0.0
    page.get_by_role("button", name="undo").click()
    assert page.evaluate("scalarviz.frame") == (6 if kept else 5)
    assert page.evaluate("location.hash") == ("#train=7&did=f4:1@7,batch:32@7" if kept else "#train=7&did=f4:1@7")


def test_equal_weights_stay_equal(browse, tmp_path):
    """All units of a layer get the same gradient: the network learns as one with one unit."""
    page = opened(browse(reduced_motion="reduce"), written(scene("playground"), tmp_path), "#frame=2")
    page.get_by_role("button", name="change").click()
    page.get_by_role("button", name="begin with equal weights").click()
    page.wait_for_function("() => !scalarviz.training.waiting && scalarviz.run.computed === 1")
    found = stepped(page, 50)
    shapes = page.evaluate("scalarviz.run.document.tensors.map(({ start, shape }) => [start, shape])")
    (start, (high, wide)), *_ = shapes
    rows = np.array(found["weight"][start : start + high * wide]).reshape(high, wide)
    assert np.ptp(rows, axis=0).max() == 0.0
    assert np.ptp(rows) > 0.0
    assert "all weights began equal" in said(page, "about")
    assert "equal=0.5" in page.evaluate("location.hash")


def test_an_address_repeats_a_line_with_all_its_changes(browse, tmp_path):
    file = written(scene("rgb", optimizer="adam"), tmp_path, steps=9)
    page = opened(browse(reduced_motion="reduce"), file, "#frame=99")
    hash = "#train=60&from=6&did=lr:0.05@6,4:-0.7@19,f5:1@30,keep:1@40,raw:1@50,batch:2@55"
    found = []
    for one in (page, browse(reduced_motion="reduce")):
        opened(one, file, hash)
        found.append(waited(one, 60))
        assert one.evaluate("location.hash") == hash
    assert found[0] == found[1]
    page.evaluate("scalarviz.go(0)")
    page.evaluate("scalarviz.training.undo()")
    page.evaluate("scalarviz.training.home()")
    assert page.evaluate("location.hash") == ""


def test_an_address_may_only_say_that_it_trains(browse, tmp_path):
    file = written(scene("xor"), tmp_path)
    page = opened(browse(), file, "#train")
    page.wait_for_function("() => scalarviz.run.computed > 3")
    page.keyboard.press("Space")
    assert not page.evaluate("scalarviz.training.running")
    page = opened(browse(reduced_motion="reduce"), file, "#train")
    page.wait_for_timeout(300)
    assert page.evaluate("scalarviz.run.computed") == 0


def test_a_long_repetition_ends_when_somebody_presses_something(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("xor"), tmp_path), "#train=9000000")
    page.wait_for_function("() => document.getElementById('about').textContent.includes('step 9,000,000')")
    page.get_by_role("button", name="recording", exact=True).click()
    page.wait_for_function("() => !scalarviz.training.waiting")
    assert page.evaluate("scalarviz.run.computed") == 0
    steps = page.evaluate("scalarviz.training.lines.at(-1).run.steps.at(-1)")
    page.wait_for_timeout(500)
    assert page.evaluate("scalarviz.training.lines.at(-1).run.steps.at(-1)") == steps


def test_any_recorded_step_opens_as_the_engine_computes_it(browse, tmp_path):
    made = scene("rgb")
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps=8, steps_inside=[3]), "#frame=5")
    page.keyboard.press(".")
    page.wait_for_function("() => scalarviz.walk")
    with sv.load_recording(tmp_path / "run.svz") as record:
        wanted = record.open(9)
    assert page.evaluate("scalarviz.walk.told.step") == wanted.step
    assert far(page.evaluate("[...scalarviz.walk.written['weight before']]"), wanted.values) < 1e-6
    assert page.evaluate("[scalarviz.run.computed, scalarviz.training.lines.length]") == [0, 0]


def test_a_step_that_moves_no_weight_says_so(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path), "#frame=99")
    page.evaluate("(async () => { for (let k = 0; k < 9; k++) await scalarviz.training.change(k, -900); })()")
    page.wait_for_function(GROWN, arg=14)
    stepped(page)
    assert "moved no weight" in said(page, "about")
    page.locator("#speed input").fill("0")
    page.locator("#speed input").press("Enter")
    page.wait_for_function(GROWN, arg=16)
    assert said(page, "about") == "lr is 0: no weight moves"


@pytest.mark.parametrize("own", [False, True])
def test_each_loss_of_a_line_is_at_the_step_of_its_weights_and_leaves_no_hole(own, browse, tmp_path):
    """With `own`, those of the steps are of other samples than that at the end."""
    made = scene("xor") if own else one_weight()
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps=1), "#frame=99")
    first = made.run.steps
    for _ in range(3):
        stepped(page)
    made.run.step(3)
    steps, losses = zip(*page.evaluate("scalarviz.bar.curveOf(scalarviz.run)"), strict=True)
    assert list(steps) == list(range(first, first + 4 - own))
    np.testing.assert_allclose(losses[:3], made.run.history.loss[-3:], rtol=1e-4)
    if not own:
        np.testing.assert_allclose(losses[-1], (2 * made.run.values[0] - 4) ** 2, rtol=1e-4)


def test_the_bar_with_a_line_has_its_flag_and_labels_that_do_not_meet(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path, steps=30), "#frame=5")
    page.evaluate("scalarviz.training.change('lr', 20)")
    page.evaluate("scalarviz.training.one(200)")
    waited(page, 208)
    drawn = page.evaluate("""() => {
        const all = CanvasRenderingContext2D.prototype, own = all.fillText, found = [];
        all.fillText = function (text, x, y) {
            const { a, d, e, f } = this.getTransform(), { width } = this.measureText(text);
            const left = { left: x, start: x, center: x - width / 2, end: x - width, right: x - width }[this.textAlign];
            found.push([text, a * left + e, d * y + f, a * width]);
        };
        scalarviz.bar.draw();
        all.fillText = own;
        return found;
    }""")
    assert "208" in [text for text, *_ in drawn]
    for k, (text, x, y, wide) in enumerate(drawn):
        for other, there, down, across in drawn[:k]:
            assert abs(y - down) > 8 or x > there + across or there > x + wide, (text, other)
