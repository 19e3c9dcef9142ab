"""The text of a page: what its policy allows, what it weighs, and what it refuses to be made of."""

from __future__ import annotations

import base64
import hashlib
import re
import warnings

import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.view.page import recorded as pages
from scalarviz.view.page.keys import NEEDS, RECORDED, keys_of
from scalarviz.view.page.page import bare
from scalarviz.view.page.scripts import joined, script, script_names
from scalarviz.view.watch.actions import BY_NAME


def recorded(frames=3, every=10, **options):
    scene = rgb.build(rgb.Options(engine="numpy", **options))
    recording = sv.Recording(scene, every=every, gradients=True, updates=True, activations=True)
    scene.run.step((frames - 1) * every)
    recording.close()
    record = sv.load_recording(recording.path)
    record.file = recording  # a temporary one, which goes with this object
    return record


@pytest.fixture(scope="module")
def html():
    return pages.html_of(recorded(), title="a <b> & 'c'")


def test_only_what_the_page_itself_says_may_run(html):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    (own,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)

    def hashed(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["style-src"] == hashed(style)
    assert rules["script-src"].split()[0] == hashed(own)
    assert len(rules["script-src"].split()) == 2
    assert not re.search(r"https?:|\bon\w+=|style=|href=|@import|url\(", html)
    assert "unsafe" not in policy


def test_titles_are_words(html):
    assert "<title>a &lt;b&gt; &amp; &#x27;c&#x27;</title>" in html
    said = pages.html_of(recorded(1), title="x\u2028y\x00\ud800z")
    assert "<title>xyz</title>" in said
    said.encode("utf-8")


def test_300_frames_of_rgb_weigh_less_than_150_kb():
    assert len(pages.html_of(recorded(300)).encode()) < 150_000


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [({"theme": "pink"}, UnknownNameError, "allowed: dark"), ({"size": (3, 3)}, InputError, "160"),
     ({"title": 3}, TypeMismatchError, "the title"), ({"frames": 1}, InputError, "frames of a page"),
     ({"theme": 3}, TypeMismatchError, "the theme")],
)  # fmt: skip
def test_bad_arguments_are_refused(how, kind, words):
    with pytest.raises(kind, match=words):
        pages.html_of(recorded(1), **how)


def test_a_page_replaces_another_whole(tmp_path, monkeypatch):
    path = tmp_path / "run.html"
    path.write_text("old")
    monkeypatch.setattr(pages, "html_of", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pages.write_html(recorded(1), path)
    assert path.read_text() == "old"
    with pytest.raises(InputError, match="folder"):
        monkeypatch.setattr(pages, "html_of", lambda *_, **__: "new")
        pages.write_html(recorded(1), tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_large_page_says_how_it_becomes_smaller(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "html_of", lambda *_, **__: "x" * 10_000_001)
    with pytest.warns(RuntimeWarning, match=r"10 MB.*larger every= \(now every=5\)"):
        pages.write_html(recorded(1), tmp_path / "a.html", 5)
    monkeypatch.setattr(pages, "html_of", lambda *_, **__: "x" * 10_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pages.write_html(recorded(1), tmp_path / "a.html", 5)


def test_where_nothing_draws_there_is_no_still(monkeypatch):
    monkeypatch.setattr(pages, "available", lambda: "no GL here")
    html = pages.html_of(recorded(2))
    assert "<img" not in html
    assert "A recorded training" in html


def test_keys_are_those_of_the_table():
    assert set(RECORDED) <= set(BY_NAME)
    assert set(NEEDS) <= set(RECORDED)
    names = {key["name"] for key in keys_of({"weight"})}
    assert "toggle_run" in names
    assert not names & set(NEEDS)


def test_scripts_may_lose_their_comments():
    """What `bare` leaves out must not stand within a text: no line has an odd number of backticks."""
    for name in script_names():
        for line in script(name).splitlines():
            assert line.count("`") % 2 == 0, f"{name}: {line}"
    short = bare(joined("page.js"))
    assert not re.search(r"^\s*(//|/\*|\*)", short, re.MULTILINE)
    assert len(short) < 0.85 * len(joined("page.js"))
    assert _code(short) == _code(joined("page.js"))


def _code(text):
    """Lines that are neither empty nor comments, by another rule: of the whole file, character after character."""
    found, inside = [], False
    for line in map(str.strip, text.splitlines()):
        starts = line.startswith("/*")
        if not (inside or starts or line.startswith("//") or not line):
            found.append(line)
        inside = (inside or starts) and "*/" not in line
    return found
