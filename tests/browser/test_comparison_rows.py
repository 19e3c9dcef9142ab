"""Rows of activations in the page of a comparison: the numbers of both recordings, their ranges, and their names."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz import Run, Scene, nn, optim
from scalarviz.view.ink.text import figure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.workbench import Workbench

from .players import opened, said

X = np.random.default_rng(5).random((16, 2))


def record(path, every, seed):
    """The sample is the same in both, and so are its names."""
    net = nn.Sequential(nn.Linear(2, 4, seed=seed), nn.Tanh(), nn.Linear(4, 1, seed=seed))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.3), (X, X[:, :1]), engine="numpy")
    scene = Scene("two", run, input_names=("left", "right"), output_names=("sum",), probe=X[3])
    with sv.Recording(scene, every=every, gradients=True, activations=True, path=path):
        run.step(12)
    return sv.load_recording(path)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    with record(folder / "one.svz", 1, 1) as a, record(folder / "other.svz", 5, 2) as b:
        yield a.compare(b)


@pytest.fixture(scope="module")
def file(pair, tmp_path_factory):
    return pair.save_html(tmp_path_factory.mktemp("page") / "rows.html")


def test_rows_are_those_of_both_recordings_and_so_is_their_difference(page, file, pair):
    opened(page, file, "#step=8")
    got = page.evaluate("""() => scalarviz.run.steps.map((_, frame) => {
        const { run } = scalarviz, shown = run.shown(frame);
        const rows = run.document.plates.filter(one => one.kind === "activation");
        return Object.fromEntries(rows.map(({ name, texel, size }) =>
            [name, shown.map(one => Array.from(one.texels.weight.subarray(texel, texel + size)))])); })""")
    for place, rows in enumerate(got):
        frame = pair.frame_at(place)
        assert set(rows) == {"input", "1", "2"}
        for name, three in rows.items():
            for told, one in zip(three, (*frame.both, frame), strict=True):
                np.testing.assert_array_equal(np.float32(told), np.float32(one.activations[name]))


def test_their_ranges_are_those_of_the_window(page, file, pair):
    opened(page, file, "#step=0")  # it does not play
    assert page.locator("#card canvas.rows").count() == 2
    for step in (0, 7, 12):
        got = page.evaluate("""step => { scalarviz.go(scalarviz.run.steps.indexOf(step));
            return scalarviz.player.players.map(one => { one.draw();
                return [one.shown.activation.low, one.shown.activation.high]; }); }""", step)  # fmt: skip
        pair.to(step)
        with offscreen():
            bench = Workbench(pair, (640, 360))
            bench.update(pair.frame())
            wanted = [view.activations.range for view in bench.views]
        np.testing.assert_allclose(got, [[one.low, one.high] for one in wanted], rtol=1e-12)


def test_a_row_says_its_name_and_its_numbers(page, file, pair):
    opened(page, file, "#step=8")
    pair.to(8)
    frame = pair.frame()
    assert (frame.a.step, frame.b.step) == (8, 5)
    wanted = [figure(float(one.activations["1"][2])) for one in (*frame.both, frame)]
    tip = page.evaluate("""() => scalarviz.tip(scalarviz.run.document.plates.findIndex(one => one.name === "1"), 2)""")
    assert tip[0][0] == "1 tanh[2]"
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
    assert table["1 tanh[2]"] == wanted
    assert table["input right"][0] == figure(float(X[3, 1]))
    assert page.evaluate("scalarviz.run.tip(0, 'weight', 1)[1][0]") == "from right to tanh 0"


def test_of_a_single_layer_columns_and_rows_have_their_names(page, tmp_path):
    files = []
    for seed in (1, 2):
        scene = rgb.build(rgb.Options(engine="numpy", seed=seed))
        with sv.Recording(scene, every=5, path=tmp_path / f"{seed}.svz"):
            scene.run.step(5)
        files.append(sv.load_recording(tmp_path / f"{seed}.svz"))
    pair = files[0].compare(files[1])
    assert pair.stages == ()
    opened(page, pair.save_html(tmp_path / "names.html"), "#step=5")
    got = page.evaluate("""() => scalarviz.player.players.map(({ overlay: { around } }) =>
        around.placed.flatMap(([{ texts }]) => texts.map(text => text[2])))""")
    assert [{"r", "g", "b", "to r", "to g", "to b"} <= set(words) for words in got] == [True] * 3
    with offscreen():
        bench = Workbench(pair, (1280, 720))
        bench.update(pair.frame())
        words = {text.text for sketch in bench.sketches for text in sketch.texts}
    assert {"r", "g", "b", "to r", "to g", "to b"} <= words
    for file in files:
        file.close()
