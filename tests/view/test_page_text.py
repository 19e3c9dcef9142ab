"""The text of a page: what its policy allows, what it weighs and refuses, and the tables that are packed into it."""

from __future__ import annotations

import base64
import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import scalarviz as sv
from kit.commands import make_scene
from kit.unpacked import errors_of, unpacked
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.view.page import pictures, recorded
from scalarviz.view.page.pack import EXACT, packed
from scalarviz.view.page.page import NEEDS, RECORDED, keys_of
from scalarviz.view.watch.actions import BY_NAME


@pytest.fixture(scope="module")
def record():
    """300 frames."""
    scene = make_scene("rgb")
    with sv.Recording(scene, every=10, gradients=True, updates=True, activations=True) as recording:
        scene.run.step(2990)
        with recording.read() as record:
            yield record


@pytest.fixture(scope="module")
def html(record):
    return recorded.html_of(record, title="a <b> & 'c'\u2028\x00\ud800")


def test_only_what_the_page_itself_says_may_run(html):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    (own,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    hashed = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in (style, own)]
    assert [rules["style-src"], rules["script-src"].split()[0]] == hashed
    assert len(rules["script-src"].split()) == 3  # the page's program, and that of its training
    assert rules["worker-src"] == "blob:"
    own = re.sub(r'(<script type="text/plain"[^>]*>).*?</script>', r"\1</script>", html, flags=re.DOTALL)
    assert not re.search(r"https?:|\bon\w+=|style=|href=|@import|url\(", own)


def test_titles_are_words_300_frames_weigh_less_than_150_kb_and_bad_arguments_are_refused(record, html):
    assert "<title>a &lt;b&gt; &amp; &#x27;c&#x27;</title>" in html
    parts = dict(re.findall(r'<script type="text/plain" id="(\w+)">(.*?)</script>', html, re.DOTALL))
    trains = {name: len(parts[name]) for name in ("engine", "start", "samples", "training")}
    player = len(recorded.html_of(record, data_limit=0).encode("utf-8"))
    assert player < 150_000
    assert len(html.encode("utf-8")) - player - trains["samples"] < 40_000
    assert sum(trains.values()) - trains["samples"] < 40_000
    for how, words in (({"theme": "pink"}, "allowed: dark"), ({"theme": 3}, "the theme"), ({"size": (3, 3)}, "160"),
                       ({"title": 3}, "the title"), ({"frames": 1}, "frames of a page")):  # fmt: skip
        with pytest.raises(ScalarvizError, match=words):
            recorded.html_of(record, **how)


def test_a_page_takes_the_place_of_no_folder_and_of_no_recording(tmp_path):
    path = tmp_path / "run.html"
    path.write_text("old")
    with pytest.raises(InputError, match="folder"):
        recorded.write_html(tmp_path, (), lambda: "new")
    with pytest.raises(InputError, match="recording"):
        recorded.write_html(path, (path,), lambda: "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_where_nothing_draws_there_is_no_still_and_keys_are_those_of_the_table(record, monkeypatch):
    monkeypatch.setattr(pictures, "available", lambda: "no GL here")
    bare = recorded.html_of(record, frames=2)
    assert ("<img" in bare, "A recorded training" in bare) == (False, True)
    assert set(NEEDS) <= set(RECORDED) <= set(BY_NAME)
    assert {key["name"] for key in keys_of({"weight"})} == set(RECORDED) - set(NEEDS)


@given(arrays(np.uint32, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(0, 2**32 - 1)))
def test_every_bit_pattern_comes_back_or_a_number_within_half_a_step(bits):
    """NaN of any payload, both zeros, the smallest and the largest numbers: bits are bits."""
    table = bits.view(np.float32)
    assert np.array_equal(unpacked(packed(table)).view(np.uint32), bits)
    said = packed(table, exact=False)
    found, finite = unpacked(said), np.isfinite(table)
    assert np.array_equal(found[~finite], table[~finite], equal_nan=True)
    table, found = (np.where(finite, numbers, 0).astype(np.float64) for numbers in (table, found))
    assert (np.abs(found - table) <= errors_of(said) * 1.001 + np.abs(table) * 2.0**-23).all()


def test_smooth_numbers_take_less_room_and_of_too_many_each_has_16_bits():
    table = (np.sin(np.linspace(0, 3, 300)[:, None] + np.arange(12)) * 2).astype(np.float32)
    said = packed(table)
    assert said["order"] > 1
    assert len(base64.b64decode(said["data"])) < 0.4 * table.nbytes
    assert [packed(np.zeros((2, EXACT // 2 + more), np.float32))["bits"] for more in (0, 1)] == [32, 16]


def test_other_arrays_are_refused():
    for table in (np.zeros(3, np.float32), np.zeros((2, 2)), np.zeros((1, 1, 1), np.float32)):
        with pytest.raises(InputError, match="float32"):
            packed(table)
