"""The browser of these tests: it draws with WebGL 2, and what a page must not do is seen."""

from __future__ import annotations

import asyncio
import time


def test_it_draws_with_webgl2(page):
    pixel = page.evaluate("""() => {
        const gl = document.createElement("canvas").getContext("webgl2");
        gl.clearColor(0, 1, 0, 1); gl.clear(gl.COLOR_BUFFER_BIT);
        const bytes = new Uint8Array(4);
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
        return [...bytes];
    }""")
    assert pixel == [0, 255, 0, 255]


def test_errors_and_requests_are_seen(page, complaints):
    page.set_content("""<img src="http://127.0.0.1:9/picture.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
        <script>console.error("loud"); console.warn("quiet");
        setTimeout(() => { throw new Error("thrown"); })</script>""")
    page.wait_for_function("document.images[0].complete")
    deadline = time.monotonic() + 30
    while "thrown" not in "".join(complaints) and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    said = "\n".join(complaints)
    assert "request: http://127.0.0.1:9/picture.png" in said
    assert "console: loud" in said
    assert "error: thrown" in said
    assert "quiet" not in said
    assert "data:" not in said
    complaints.clear()


def test_a_page_in_a_file_is_no_request_but_what_it_loads_is(page, complaints, tmp_path):
    (tmp_path / "other.js").write_text("1", encoding="utf-8")
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>one</title>", encoding="utf-8")
    page.goto(path.as_uri())
    assert complaints == []
    path.write_text('<!doctype html><title>two</title><script src="other.js"></script>', encoding="utf-8")
    page.goto(path.as_uri())
    assert [line.partition("file:")[0] for line in complaints] == ["request: "]
    complaints.clear()


def test_another_folder_may_run_a_loop_of_its_own(page, request):
    """Between its calls Playwright leaves its event loop marked as running in this thread."""
    assert page.evaluate("1 + 1") == 2
    loop = asyncio._get_running_loop()
    assert loop is not None
    request.getfixturevalue("_loop")
    asyncio._set_running_loop(None)  # as the fixture does after a test
    assert asyncio.run(asyncio.sleep(0, "ran")) == "ran"
    asyncio._set_running_loop(loop)  # and before the next
    assert page.evaluate("2 + 2") == 4
