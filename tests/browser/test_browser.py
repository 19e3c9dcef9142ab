"""The browser of these tests sees what a page must not do."""

from __future__ import annotations

import asyncio


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
