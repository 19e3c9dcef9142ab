"""A page with other layers than the recorded ones: it is the page of that network, and trains on like its run."""

from __future__ import annotations

from functools import partial

import pytest

from kit.runs import far
from scalarviz.view.page import layers
from scalarviz.view.page.layers import difference

from .players import READY, opened, painted, said
from .players import scene as players_scene
from .test_train import LAST, stepped, written

scene = partial(players_scene, other_layers=True)
CHOSEN = {"rgb": (8,), "playground": (4, 2)}
FACTS = """() => {
    const { run, training: { told } } = scalarviz, { about, keys, pictures, ...head } = run.head;
    const lists = run.lists.quantities.map(name => [0, 1].map(shape => run.listAt(0, name, shape)));
    const { every, layers, network, ...rest } = told;
    return [head, lists, rest];
}"""


def page_of(name, hidden, folder, browse, steps=1, hash="#frame=99"):
    folder.mkdir()
    made = scene(name, 0, hidden=hidden)
    return made, opened(browse(reduced_motion="reduce"), written(made, folder, steps=steps), hash)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return written(scene("rgb", hidden=CHOSEN["rgb"]), tmp_path_factory.mktemp("layers"))


@pytest.mark.parametrize(
    ("name", "hidden"), [("rgb", (4,)), *(pytest.param(n, (), marks=pytest.mark.ci) for n in CHOSEN)]
)
def test_a_page_with_other_layers_is_the_page_of_that_network(name, hidden, browse, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "CHOICES", (hidden,))
    _, page = page_of(name, CHOSEN[name], tmp_path / "one", browse, steps=3)
    words = ",".join(map(str, hidden)) or "none"
    page.get_by_role("button", name="change").click()
    page.locator("#changes label", has_text="layers").locator("select").select_option(words)
    page.wait_for_function("name => window.scalarviz?.training && location.hash === `#layers=${name}`", arg=words)
    page.wait_for_function(READY)
    made, own = page_of(name, hidden, tmp_path / "other", browse)
    assert page.evaluate(FACTS) == own.evaluate(FACTS)
    page.evaluate("scalarviz.go(1)")
    for count in (1, 20):
        found, wanted = stepped(page, count), stepped(own, count)
        assert found == wanted
        made.run.step(count)
        assert far(found["weight"][: len(made.run.values)], made.run.values) < 1e-4
    assert painted(page) == painted(own)
    hash = page.evaluate("location.hash")
    assert hash == f"#layers={words}&train=22"
    page.goto("about:blank")
    again = opened(page, tmp_path / "one" / "page.html", hash)
    again.wait_for_function("() => scalarviz.run.steps[scalarviz.frame] === 22 && !scalarviz.training.address.repeated")
    assert again.evaluate(LAST) == found


@pytest.mark.parametrize("hash", ["#layers=9", "#layers=__proto__&train=5", "#layers=", "#layers=8"])
def test_an_address_with_layers_that_the_page_lacks_shows_its_own(hash, file, browse):
    page = opened(browse(reduced_motion="reduce"), file, hash)
    assert page.evaluate("scalarviz.run.document.parameters") == 59
    assert page.evaluate("scalarviz.training.changes.layers.value") == "0"


def test_steps_of_other_layers_do_not_open(browse, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "CHOICES", ((4,),))
    made = scene("rgb", hidden=(2,))
    page = opened(browse(reduced_motion="reduce"), written(made, tmp_path, steps_inside=[4]), "#layers=4")
    page.keyboard.press(".")
    assert said(page, "about") == "only steps of the recorded layers open"


def test_a_scene_without_hidden_layers_offers_none(browse, tmp_path):
    page = opened(browse(reduced_motion="reduce"), written(scene("rgb"), tmp_path))
    page.get_by_role("button", name="change").click()
    assert page.locator("#changes label", has_text="layers").is_hidden()


def test_a_run_with_other_data_than_the_scene_offers_no_layers(tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "CHOICES", ((2,),))
    for added in (0, 1):
        made, folder = scene("playground"), tmp_path / str(added)
        folder.mkdir()
        if added:
            made.run.add_samples([[0.5, 0.5]], [[1.0]])
        assert ('id="layers"' in written(made, folder).read_text("utf-8")) is not bool(added)


def test_the_difference_holds_what_is_other_and_names_what_is_missing():
    base = {"a": 1, "b": {"c": [1, 2]}, "e": 5, "same": {"f": (1,)}, "kept": 0}
    own = {"a": 2, "b": {"c": [1, 2], "d": 4}, "same": {"f": [1]}, "new": 6, "kept": 1}
    assert difference(base, own, "kept") == {"a": 2, "b": {"c": [1, 2], "d": 4}, "e": None, "new": 6}
