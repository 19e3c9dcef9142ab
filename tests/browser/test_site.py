"""The site: built anew, opened from the disk without a network; every link leads somewhere, and pages train."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urldefrag

import pytest
from PIL import Image

import scalarviz as sv

pytestmark = pytest.mark.gl

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r'(?:href|src)="([^"]+)"')
PREVIEW = re.compile(r'<meta (?:content="([^"]+)" property="og:image"|property="og:image" content="([^"]+)")')
MADE_BY_SPHINX = ("genindex.html", "search.html", "py-modindex.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="no Sphinx (extra site)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / ".ci" / "make_site.py"), str(folder), "--scenes", "rgb", "--steps", "1",
               "--repository", "someone/scalarviz"]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.fixture
def visitor(chromium):
    """A page that may read files, and the list of what it must not do."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("console", lambda said: said.type == "error" and faults.append(f"console: {said.text}"))
    page.on("request", lambda asked: asked.url.startswith(("file:", "data:", "blob:", "about:"))
            or faults.append(f"request: {asked.url}"))  # fmt: skip
    page.on("requestfailed", lambda asked: faults.append(f"missing: {asked.url}"))
    yield page, faults
    context.close()


def pages(site):
    return sorted(path for path in site.rglob("*.html") if path.name not in MADE_BY_SPHINX)


def test_docs_lessons_and_names_have_pages(site):
    names = {str(path.relative_to(site)) for path in pages(site)}
    lessons = {f"notebooks/{path.stem}.html" for path in (ROOT / "notebooks").glob("*.ipynb")}
    docs = {f"docs/{path.stem}.html" for path in (ROOT / "docs").glob("*.md")}
    names_of = {f"docs/reference/{path.stem}.html" for path in (ROOT / "docs" / "reference").glob("*.md")}
    others = {"index.html", "players.html", "play/rgb.html", "play/lesson-06.html"}
    assert lessons | docs | names_of | others <= names


def test_the_front_page_trains_and_has_three_ways_to_go_on(site, visitor):
    text = (site / "index.html").read_text(encoding="utf-8")
    page, faults = visitor
    page.goto((site / "index.html").as_uri())
    (frame,) = (frame for frame in page.frames if "play/front.html" in frame.url)
    frame.wait_for_function("() => globalThis.scalarviz?.run.computed > 5", timeout=30_000)
    assert faults == []
    assert all(f'href="docs/{page}.html"' in text for page in ("lessons", "start", "lesson-plans"))


def test_every_scene_trains_also_those_of_the_lessons(site):
    for path in (site / "play").glob("*.html"):
        assert 'id="engine"' in path.read_text(encoding="utf-8"), path.name


def test_links_to_the_site_have_a_picture(site):
    for path in [site / "index.html", *(site / "play").glob("*.html")]:
        (found,) = PREVIEW.findall(path.read_text(encoding="utf-8"))
        with Image.open(site / "".join(found).removeprefix("https://someone.github.io/scalarviz/")) as picture:
            assert picture.width >= 480, path.name


def test_each_lesson_offers_its_notebook_and_where_it_opens(site):
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert (site / "lessons" / path.name).read_bytes() == path.read_bytes()
        text = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert f'href="../lessons/{path.name}"' in text
        assert f"https://mybinder.org/v2/gh/someone/scalarviz/HEAD?labpath=notebooks%2F{path.name}" in text
        assert f"https://colab.research.google.com/github/someone/scalarviz/blob/HEAD/notebooks/{path.name}" in text


def test_every_name_of_the_reference_is_described_with_its_members(site):
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "docs" / "reference").glob("*.html"))
    ids = set(re.findall(r'id="(scalarviz[\w.]+)"', text))
    assert {f"scalarviz.{name}" for name in sv.__all__ if not isinstance(getattr(sv, name), ModuleType)} <= ids
    assert {"scalarviz.Run.step", "scalarviz.Value.backward", "scalarviz.nn.Module.to_onnx"} <= ids


def test_every_link_within_the_site_leads_somewhere(site):
    lost = []
    for path in pages(site):
        for link in LINK.findall(path.read_text(encoding="utf-8")):
            target = unquote(urldefrag(link)[0].partition("?")[0])
            if target and not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                lost.append(f"{path.relative_to(site)}: {link}")
    assert lost == []


def test_no_page_asks_a_network_or_complains(site, visitor):
    page, faults = visitor
    for path in pages(site):
        page.goto(path.as_uri())
    assert faults == []


def test_a_player_runs_within_its_page(site, visitor):
    page, faults = visitor
    page.goto((site / "players.html").as_uri())
    frame = page.frame_locator("iframe").first
    bar = frame.get_by_role("slider").first
    bar.wait_for(timeout=20_000)
    said = bar.get_attribute("aria-valuetext")
    assert re.search(r"step \d of 1", said), said
    assert faults == []
