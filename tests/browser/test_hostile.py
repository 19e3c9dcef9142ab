"""Pages that train, of hostile names, damaged parts and hostile addresses: nothing runs, nothing leaves them."""

from __future__ import annotations

import json
import re
import socket
import threading
from itertools import cycle, pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim

from .players import HOSTILE, READY, opened, scene

PARTS = ("start", "samples", "training", "engine")
LETTERS = "!0Az~"


@pytest.fixture
def listener():
    """The port of a server, and how often somebody has come to it."""
    server, came = socket.create_server(("localhost", 0)), list[object]()

    def listen():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # the test is over
                return
            came.append(connection)
            connection.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    port = server.getsockname()[1]
    yield port, came
    with socket.create_connection(("localhost", port)):  # it hears, and is told to look whether it is over
        server.close()
    thread.join(10)


@pytest.fixture
def guarded(browse):
    """A page on a network, in which `boom` and dialogs leave a trace."""
    page = browse(reduced_motion="reduce", offline=False)
    page.add_init_script("window.booms = 0; window.boom = () => { window.booms += 1; };")
    page.dialogs = []
    page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
    return page


def nothing_ran(page):
    return page.dialogs == [] and page.evaluate("window.booms") == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The page of a small run."""
    folder, made = tmp_path_factory.mktemp("page"), scene("xor")
    with sv.Recording(made, activations=True, gradients=True, updates=True, path=folder / "run.svz") as recording:
        made.run.step(4)
        return recording.save_html(folder / "page.html", open=[]).read_text("utf-8")


def test_hostile_names_stay_words_while_a_page_trains(guarded, listener, tmp_path):
    port, came = listener
    names = [name.replace("PORT", str(port)) for name in HOSTILE]
    count, random = len(names), np.random.default_rng(0)
    sizes = [count, *[2] * (count - 1), count]
    net = nn.Sequential({name: nn.Linear(*size, seed=k) for k, (name, size) in
                         enumerate(zip(names, pairwise(sizes), strict=True))})  # fmt: skip
    data = random.normal(size=(8, count)), random.normal(size=(8, count))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.01), data, seed=0)
    evil = sv.Scene(" ".join(names), run, input_names=tuple(names), output_names=tuple(names))
    with sv.Recording(evil, activations=True, gradients=True, updates=True) as recording:
        run.step(3)
        file = recording.save_html(tmp_path / "page.html", open=[])
    page = opened(guarded, file, "#train=20")
    page.wait_for_function("() => scalarviz.run.steps.at(-1) === 20")
    page.mouse.move(400, 300)
    for key in ("Home", "End", "?", "Escape"):
        page.keyboard.press(key)
    page.get_by_role("button", name="numbers").click()
    plates = page.evaluate("scalarviz.run.document.plates.map(({ name }) => name)")
    assert {name for name in names if name.isascii() and name.isprintable()} <= {*plates}
    assert page.evaluate("document.querySelectorAll('a, iframe, object, form, link').length") == 0
    assert nothing_ran(page)
    assert came == []


DAMAGES = {
    "bits": lambda text: "".join(LETTERS[k % 5] if k % 97 == 13 else letter for k, letter in enumerate(text)),
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "null": lambda text: "null",
    "list": lambda text: "[]",
    "other type": lambda text: '{"kind": "__proto__", "bytes": -1, "data": {}}',
}


def pressed(page, html, path):
    """Open a page and press the button that trains, if it plays; return whether it does."""
    path.write_text(html, encoding="utf-8")
    page.goto(f"{path.as_uri()}#frame=2")
    page.wait_for_function(f"() => ({READY})() || sentence.textContent.includes('cannot play')")
    if not page.evaluate(READY):
        return False
    page.evaluate("scalarviz.go(scalarviz.run.frames - 1)")
    for button in page.locator("button.train").all():
        button.click()
    page.wait_for_timeout(300)
    return True


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_parts_run_nothing_send_nothing_and_end(name, damage, whole, guarded, complaints, tmp_path):
    found = re.search(rf'(?<=id="{name}">).*?(?=</script>)', whole, re.DOTALL)
    html = whole[: found.start()] + DAMAGES[damage](found[0]) + whole[found.end() :]
    plays = pressed(guarded, html, tmp_path / "page.html")
    errors = len(complaints)
    guarded.wait_for_timeout(300)
    assert len(complaints) - errors < 3  # a page that throws at each frame has more by now
    assert not any(one.startswith("request") for one in complaints), complaints
    assert nothing_ran(guarded)
    if plays:
        guarded.keyboard.press("Home")
        assert guarded.evaluate("scalarviz.frame") == 0
    complaints.clear()


@pytest.mark.parametrize("name", PARTS)
def test_a_page_whose_training_cannot_begin_plays_and_says_so(name, whole, guarded, complaints, tmp_path):
    found = re.search(rf'(?<=id="{name}">).*?(?=</script>)', whole, re.DOTALL)
    html = whole[: found.start()] + DAMAGES["cut"](found[0]) + whole[found.end() :]
    plays = pressed(guarded, html, tmp_path / "page.html")
    errors, complaints[:] = list(complaints), []
    assert plays
    assert errors == []
    assert "train" in guarded.locator("#about").inner_text().replace("training data", "")
    assert guarded.get_by_role("button", name="pause", exact=True).count() == 0


WRONG = (None, [], {}, "__proto__", -1)


def test_wrong_facts_about_the_training_run_nothing_and_send_nothing(whole, guarded, complaints, tmp_path):
    found = re.search(r'(?<=id="training">).*?(?=</script>)', whole, re.DOTALL)
    told = json.loads(found[0])
    for key, wrong in zip(told, cycle(WRONG), strict=False):
        html = whole[: found.start()] + json.dumps({**told, key: wrong}) + whole[found.end() :]
        if pressed(guarded, html, tmp_path / "page.html"):
            guarded.keyboard.press("Home")
            assert guarded.evaluate("scalarviz.frame") == 0, key
        assert nothing_ran(guarded), key
    assert not any(one.startswith("request") for one in complaints), complaints
    complaints.clear()


@pytest.mark.parametrize(
    ("hash", "until"),
    [
        ("train=1e999&did=lr:1e999@5", 7),
        ("train=__proto__&did=constructor:1@5", 7),
        ("train=12&did=__proto__:1@8,constructor:2@8,toString:3@8", 12),
        ("train=12&did=<img src=x onerror=boom()>", 12),
        ("train=javascript:boom()&did=javascript:boom()", 7),
        ("train=12&did=-1:3@8,00000000000000000000001:1@8,4:0x10@8,4:1e-400@9,99999999999999999999:1@9", 12),
        ("train=12&did=lr:-5@8,lr:e@9", 12),
        ("train=12&did=%E0%A4%A&train=%00", 12),
        (f"train={'9' * 100_000}", 7),
        (f"train=12&did={'lr:0.1@8,' * 11_000}", 12),
        (f"train=12&did={'x' * 100_000}", 12),
    ],
    ids=lambda one: str(one)[:40],
)
def test_hostile_addresses_run_nothing_and_the_page_trains_on(hash, until, whole, guarded, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(whole, encoding="utf-8")
    page = opened(guarded, path, f"#{hash}")
    page.wait_for_function("until => scalarviz.run.steps.at(-1) === until", arg=until)
    assert page.evaluate("scalarviz.run.loss.every(Number.isFinite)")
    frames = page.evaluate("scalarviz.run.frames")
    page.evaluate("void scalarviz.actions.step(1)")
    page.wait_for_function("frames => scalarviz.run.frames > frames", arg=frames)
    assert nothing_ran(page)
