"""A browser for the tests of pages: headless Chromium whose WebGL is drawn by SwiftShader, in software."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from pathlib import Path

import pytest

from .players import Pages

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1280, "height": 720}
LOOP = pytest.StashKey[asyncio.AbstractEventLoop]()


def program(playwright):
    """Path of a Chromium: the system's, or the one that ``playwright install chromium`` brought."""
    own = playwright.chromium.executable_path
    found = next(filter(None, map(shutil.which, PROGRAMS)), own if Path(own).exists() else None)
    if found is None:
        pytest.skip("no Chromium (apt-get install chromium, or playwright install chromium)")
    return found


@contextlib.contextmanager
def running(config):
    """Playwright's event loop marked as running in this thread, as it leaves it between two calls.

    Elsewhere it must not be: ``asyncio.run`` of a test in another folder would refuse to start.
    """
    loop = config.stash.get(LOOP, None)
    asyncio._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio._set_running_loop(None)


@pytest.fixture(autouse=True)
def _loop(request):
    """The first to be made and the last to go: around everything that a test and its fixtures ask of the browser."""
    with running(request.config):
        yield


@pytest.fixture(scope="session")
def chromium(request):
    """The one browser of this session; `browse` gives each test contexts of its own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Chromium: playwright is missing (extra test)")
    with running(request.config):  # the first test that asks for it has no loop yet
        playwright = sync_api.sync_playwright().start()
    request.config.stash[LOOP] = playwright._loop
    asyncio._set_running_loop(playwright._loop)
    try:
        browser = playwright.chromium.launch(executable_path=program(playwright), args=FLAGS)
        yield browser
        with running(request.config):
            browser.close()
    finally:
        with running(request.config):
            playwright.stop()
        del request.config.stash[LOOP]


def watch(page, complaints):
    """Note errors of a page, and everything that it asks of a network or of another file."""

    def requested(asked):
        itself = asked.url.startswith("file:") and asked.resource_type == "document"
        if not itself and not asked.url.startswith(("data:", "blob:", "about:")):
            complaints.append(f"request: {asked.url}")

    heard = {"console": lambda said: said.type == "error" and complaints.append(f"console: {said.text}"),
             "pageerror": lambda error: complaints.append(f"error: {error}"), "request": requested}  # fmt: skip
    for event, function in heard.items():
        page.on(event, function)
    return heard


@pytest.fixture
def complaints():
    """What pages have to complain of; a test that provokes something looks at it and clears it."""
    return []


@pytest.fixture
def browse(chromium, complaints):
    """``browse(viewport=..., ...)``: a page in a context of its own, without a network.

    The test fails for an error in it and for every request.
    """
    contexts = []

    def opened(**options):
        contexts.append(chromium.new_context(**{"viewport": SIZE, "offline": True, **options}))
        page = contexts[-1].new_page()
        watch(page, complaints)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints, complaints


@pytest.fixture
def page(browse):
    """Such a page."""
    return browse()


@pytest.fixture(scope="module")
def _kept(request, chromium):
    with running(request.config):
        context = chromium.new_context(viewport=SIZE, offline=True)
        page = context.new_page()
    yield page
    with running(request.config):
        context.close()


@pytest.fixture
def bare(_kept, complaints):
    """As `page`, but the same for all tests of a file, each with a document of its own: nobody moves the pointer in it.

    To make a page takes twenty times as long as to empty one.
    """
    heard = watch(_kept, complaints)
    yield _kept
    _kept.goto("about:blank")
    for event, function in heard.items():
        _kept.remove_listener(event, function)
    assert not complaints, complaints


@pytest.fixture
def scripts(bare):
    """Loads files of ``view/page/js`` with all that they import: ``scripts("camera.js")``; returns the page.

    Their names can be used in ``page.evaluate``.
    """
    from scalarviz.view.page.scripts import joined

    def load(*names):
        bare.goto("about:blank")  # names of scripts that were loaded before are gone with their document
        bare.add_script_tag(content=joined(*names))
        return bare

    return load


@pytest.fixture
def pages(scripts):
    """Players of any subject, one after the other in one page."""
    return Pages(scripts)


@pytest.fixture
def ask(scripts):
    """``ask("camera.js ranges.js", function, cases)``: what it gives for all of them, carried as one text of JSON.

    Playwright's own way of carrying arguments takes seconds for a few megabytes; JSON knows neither NaN nor infinity.
    """

    def asked(names, function, cases):
        text = f"text => JSON.stringify(({function})(JSON.parse(text)))"
        return json.loads(scripts(*names.split()).evaluate(text, json.dumps(cases, allow_nan=False)))

    return asked
