"""Links: a recording behind a ``#``, played by one static page; what is scalarviz did not write is refused in words."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.view.page import link as links
from scalarviz.view.page.link import link_of, write_player
from scalarviz.view.page.recorded import at_the_end, played
from scalarviz.view.page.scripts import script
from scalarviz.view.screen.time_bar import PARTS


def recorded(steps=300, **options):
    scene = rgb.build(rgb.Options(engine="numpy", **options))
    with sv.Recording(scene, every=10, activations=True) as recording:
        scene.run.step(steps)
    record = sv.load_recording(recording.path)
    record.file = recording  # a temporary one, which goes with this object
    return record


@pytest.fixture(scope="module")
def record():
    return recorded()


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    return write_player(tmp_path_factory.mktemp("player") / "player.html")


def visit(page, address):
    """Open a link in a page of its own: one that differs by its # alone would not load."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function("""() => window.scalarviz
        || document.getElementById("sentence").textContent.includes("cannot be played")""")
    return page.evaluate("window.scalarviz ? '' : document.getElementById('sentence').textContent")


def test_a_link_plays_what_was_recorded(page, player, record):
    address = record.save_link(player.as_uri(), title="<b>colours</b>")
    assert len(address) <= links.MOST
    assert visit(page, address) == ""
    assert page.evaluate("scalarviz.run.steps") == record.steps.tolist()
    assert page.evaluate("scalarviz.bar.bars.map(bar => bar.layers.map(([name]) => name))") == [[*PARTS]]
    for k in (0, 10, 30):
        found, errors = page.evaluate(
            f"[[...scalarviz.run.shown({k}).texels.weight], [...scalarviz.run.shown({k}).errors.weight]]"
        )
        off = np.abs(np.array(found[:12]) - record.frame(k).values)
        assert (off <= np.array(errors[:12]) * 1.0001).all()
        assert off.max() < 0.002
    source, subject, _ = at_the_end(record)
    losses = [subject.loss(frame) for frame in played(source, [(record.branch, k) for k in range(len(record))])]
    assert page.evaluate("scalarviz.run.loss") == pytest.approx(losses, rel=1e-4)
    assert "numbers of 12 bits" in page.locator("#about").inner_text()
    assert page.locator("#about b").count() == 0
    assert page.evaluate("scalarviz.run.rowsAt(0).input.length") == 3


def test_what_has_no_room_is_left_out_and_said(monkeypatch):
    large = recorded(hidden=(16, 16))
    with pytest.warns(RuntimeWarning, match=r"of 31 recorded steps: a link has 8,000 characters"):
        assert len(large.save_link()) <= 8000
    monkeypatch.setattr(links, "MOST", 3000)
    with pytest.raises(InputError, match=r"387 weights\); try save_html"):
        link_of(large)


READ = """async hash => {
    const text = new TextDecoder().decode(await inflated(bytesOf(document.getElementById("base").textContent)));
    return readLink(hash, JSON.parse(text)).then(() => "", String);
}"""
"""What a player's page says of a link, without opening it."""


def test_an_empty_address_says_what_the_page_is_for(page, player):
    page.goto(player.as_uri())
    assert "Nothing is sent to a server" in page.locator("#sentence").inner_text()


def packed(player, head):
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = press.compress(json.dumps(head).encode()) + press.flush()
    return f"{player.as_uri()}#1.{base64.urlsafe_b64encode(data).decode().rstrip('=')}"


def test_hostile_links_are_refused_in_words(page, player, record):
    address = record.save_link(player.as_uri())
    data = address.partition("#")[2]
    assert "scalarviz did not write" in visit(page, f"{player.as_uri()}#javascript:alert(1)")
    assert "too long" in page.evaluate(READ, f"{data}{'A' * 8000}")
    assert "newer scalarviz" in page.evaluate(READ, data.replace("1.", "2.", 1))
    for other in ("1.", "x", "1.%3Cscript%3E", "", "1.A A"):
        assert "scalarviz did not write" in page.evaluate(READ, other)
    for end in (20, len(data) // 2, len(data) - 3):
        assert "damaged" in page.evaluate(READ, data[:end])
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = base64.urlsafe_b64encode(bomb.compress(b" " * 4_000_000) + bomb.flush()).decode()
    assert "damaged" in page.evaluate(READ, f"1.{bomb.rstrip('=')}")
    assert page.evaluate(READ, data) == ""


def test_other_contents_are_refused_or_played_without_harm(page, player, record):
    data = record.save_link(player.as_uri()).partition("#1.")[2]
    head = json.loads(zlib.decompress(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)), -15))
    assert visit(page, player.as_uri() + "#x")
    assert page.evaluate(READ, packed(player, head).partition("#")[2]) == ""
    wrong = [
        {"document": None}, {"document": {"plates": []}}, {"document": {**head["document"], "texels": 10**9}},
        {"document": {**head["document"], "atlas": [4096, 4096]}}, {"steps": []}, {"steps": [1]}, {"loss": ["x"]},
        {"steps": [9, *[-1] * (len(head["steps"]) - 1)]}, {"steps": [1e15] * len(head["steps"])},
        {"edits": [[1, 2]]}, {"about": {}}, {"parts": {}},
        {"beside": [["input", 10**6]]}, {"flags": {"frames": 9, "columns": 1, "data": ""}},
        {"parts": {**head["parts"], "weight": {**head["parts"]["weight"], "frames": 10**9}}},
    ]  # fmt: skip
    own, lists = head["document"], head["lists"]
    number = ["number", 1, 1, 13, "text1", 0, "left", "input", 0, "chip", "", 0]
    for record_ in (
        None,
        [],
        ["image", "x"],
        ["film", 0, 0, 1, 1, "x"],
        ["spot", 0, 0, 1, 1, "x", 0, ""],
        ["toString"],
        number[:-1],
        [*number[:8], "0", *number[9:]],
        [*number[:7], 0, *number[8:]],
        ["text", 1, 1, {"x": 1}, 13, "text1", 0, "left"],
        ["path", [[1, 2]], "text1", 1],
        ["__proto__"],
    ):
        wrong.append({"lists": {**lists, "records": [*lists["records"], record_]}})  # fmt: skip
    assert page.evaluate(READ, packed(player, head | {"lists": {**lists, "records": [*lists["records"], number]}})
                         .partition("#")[2]) == ""  # fmt: skip
    for parts in ({"lists": lists["lists"][:-1]}, {"lists": [[["x", 1]]] * len(lists["lists"])}, {"choices": 9},
                  {"lists": [[-1]] * len(lists["lists"])}, {"shapes": [1]}, {"quantities": ["gradient"]},
                  {"lists": [[1e9]] * len(lists["lists"])},
                  {"lists": [[[0, 1, 2]]] * len(lists["lists"])}):  # fmt: skip
        wrong.append({"lists": {**lists, **parts}})
    wrong += [{"lists": None}, *({"document": {**own, name: box}} for name in ("scene", "rect", "time")
                                 for box in ("x", [1], [1, 2, 3, "4"]))]  # fmt: skip
    wrong += [{"document": {**own, "target": target}} for target in (7, [{}], ["x"])]
    wrong += [{"document": {**own, "pose": pose}} for pose in (None, "x", {**own["pose"], "az": "x"}, {"az": 0})]
    wrong += [{"document": {**own, "rows": None}}]
    bar, layer = head["bars"][0], ["around", [0], [[["text", 1, 1, "0", 13, "text1", 0, "left"]]]]
    assert page.evaluate(READ, packed(player, {**head, "bars": [{**bar, "layers": [layer]}]}).partition("#")[2]) == ""
    for parts in ({"layers": None}, {"layers": [layer] * 9}, {"layers": [[*layer, 0]]},
                  {"layers": [["around", [0], [{}]]]}, {"layers": [["around", [0, 1], layer[2]]]},
                  {"layers": [["around", [0], [[["image", "x"]]]]]}, {"scale": [0, 1, "x", 2, 0]}, {"plot": [1]},
                  {"spots": [[0] * 6]}):  # fmt: skip
        wrong.append({"bars": [{**bar, **parts}]})
    wrong += [{"bars": bars} for bars in (None, [None], [bar] * 2)]
    for parts in wrong:
        assert "RangeError" in page.evaluate(READ, packed(player, {**head, **parts}).partition("#")[2]), parts
    shader = {
        **head,
        "document": {**head["document"], "glsl": {"vertex": "no"}, "themes": {}},
        "keys": [],
        "pictures": [1],
    }
    assert visit(page, packed(player, shader)) == ""  # of these a link can say nothing
    assert page.evaluate("scalarviz.run.pictures") == []


def test_both_sides_name_the_same_parts():
    (listed,) = re.findall(r"^const OF_A_RUN = \[(.*?)\];", script("link.js"), re.DOTALL | re.MULTILINE)
    assert re.findall(r'"(\w+)"', listed) == list(links.OF_A_RUN)


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [({"player": "a#b"}, InputError, "without #"), ({"player": 3}, TypeMismatchError, "the player's address"),
     ({"player": ""}, InputError, "allowed: a file"), ({"theme": "pink"}, UnknownNameError, "allowed: dark"),
     ({"title": 1}, TypeMismatchError, "the title")],
)  # fmt: skip
def test_bad_arguments_are_refused(record, how, kind, words):
    with pytest.raises(kind, match=words):
        link_of(record, **how)
