"""What a page is made of: plain data, and little of it; scripts of one scope; a browser that sees what is forbidden."""

from __future__ import annotations

import json
import re
import zlib

import numpy as np
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz.view.cubes.atlas import NOT_COMPUTED
from scalarviz.view.page import scripts as files
from scalarviz.view.page.document import document_of, flags_of, texels_of
from scalarviz.view.shown.subject import subject_of


def test_it_is_plain_data_and_small():
    scene = rgb.build(rgb.Options(engine="numpy"))
    text = json.dumps(document_of(scene), separators=(",", ":"))
    assert json.loads(text) == document_of(scene)
    assert len(text) < 36_000
    assert len(zlib.compress(text.encode(), 9)) < 10_500


def test_a_million_weights_take_no_more():
    few, many = ({"a": np.zeros((side, side), np.float32)} for side in (10, 1000))
    sizes = [len(json.dumps(document_of(arrays))) for arrays in (few, many)]
    assert sizes[1] < sizes[0] + 100
    names = document_of({"a": np.zeros((1000, 1000), np.float32)})["tensors"]
    told = {"means": "row {0}, column {1} of a", "along": []}
    assert names == [{"name": "a", "shape": [1000, 1000], "start": 0, "role": "weight", **told}]


def test_what_nobody_computed_and_what_no_float32_holds():
    subject = subject_of([sv.Weight(1e300, name="w"), sv.Weight(np.inf, name="v")])
    frame, document = subject.frame(), document_of(subject)
    assert flags_of(frame, document).tolist() == [NOT_COMPUTED, NOT_COMPUTED]
    largest = float(np.finfo(np.float32).max)
    assert texels_of(frame, document).tolist() == [largest, np.inf]


def test_every_file_is_short_ends_no_script_and_imports_what_the_other_exports():
    for name in files.script_names():
        text = files.script(name)
        assert len(text.splitlines()) <= 400, name
        assert "</script" not in text.lower(), name  # it would end an inline script
        assert "<!--" not in text, name
        for source, wanted in files.imports_of(text).items():
            for word in wanted:
                exported = rf"^export (?:async )?(?:function|class|const|let) {word}\b"
                assert re.search(exported, files.script(source), re.MULTILINE), (name, word, source)


def test_all_of_them_together_are_one_module(page):
    """They share one scope: a browser refuses a module in which a name stands twice, or that is no JavaScript."""
    page.set_content("<!doctype html><title>x</title>")
    loaded = """text => import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })))
        .then(() => '', error => String(error))"""
    assert page.evaluate(loaded, files.joined(*files.script_names())) == ""
    assert "already been declared" in page.evaluate(loaded, "function a() {}\nfunction a() {}\n")


def test_errors_and_requests_are_seen_but_not_the_page_itself(page, complaints, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>one</title>", encoding="utf-8")
    page.goto(path.as_uri())
    assert complaints == []
    (tmp_path / "other.js").write_text("1", encoding="utf-8")
    path.write_text('''<!doctype html><script src="other.js"></script><img src="http://127.0.0.1:9/picture.png">
        <img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
        <script>console.error("loud"); console.warn("quiet");
        setTimeout(() => { throw new Error("thrown"); })</script>''', encoding="utf-8")  # fmt: skip
    with page.expect_event("pageerror"):
        page.goto(path.as_uri())
    page.wait_for_function("document.images[0].complete")
    said = "\n".join(complaints)
    for words in ("request: http://127.0.0.1:9/picture.png", "other.js", "console: loud", "error: thrown"):
        assert words in said
    assert "quiet" not in said
    assert "data:" not in said
    complaints.clear()
