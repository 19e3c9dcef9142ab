"""The site: built anew, opened from the disk without a network; every link leads somewhere, and pages train."""

from __future__ import annotations

import ast
import io
import itertools
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urldefrag

import pytest
from PIL import Image

import scalarviz as sv
from kit.exercises import cells_of, defined, variants_of
from scalarviz.check.answers import ANSWERS
from scalarviz.lessons import lessons
from scalarviz.lessons.scenes import SCENES

pytestmark = pytest.mark.gl

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r'(?:href|src)="([^"]+)"')
SCRIPT = re.compile(r"<script>.*?</script>", re.DOTALL)
PREVIEW = re.compile(r'<meta (?:content="([^"]+)" property="og:image"|property="og:image" content="([^"]+)")')
ADDRESS = "https://school.example/scalarviz/"
ASKED = """texts => {
    const form = document.querySelector("form:has(#NAME)"), field = form[0], status = form.querySelector("p");
    const answer = text => { field.value = text; form.requestSubmit(); return status.textContent; };
    return texts.map(text => [answer(texts[0]), answer(text), answer(text)]);
}"""
"""What a question says of texts: each twice, after the right one, which is the first."""
MADE_BY_SPHINX = ("genindex.html", "search.html", "py-modindex.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="no Sphinx (extra site)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / ".ci" / "make_site.py"), str(folder), "--scenes", "rgb", "--steps", "1",
               "--repository", "someone/scalarviz", "--address", ADDRESS.rstrip("/")]  # fmt: skip
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
    left = "net::ERR_ABORTED"  # the visitor was gone before it came
    page.on("requestfailed", lambda asked: asked.failure != left and faults.append(f"missing: {asked.url}"))
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
        with Image.open(site / "".join(found).removeprefix(ADDRESS)) as picture:
            assert picture.width >= 480, path.name


def test_each_lesson_offers_its_notebook_and_where_it_opens(site):
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert (site / "lessons" / path.name).read_bytes() == path.read_bytes()
        text = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert f'href="../lessons/{path.name}"' in text
        assert f'href="../slides/{path.stem}.html"' in text
        assert f"https://mybinder.org/v2/gh/someone/scalarviz/HEAD?labpath=notebooks%2F{path.name}" in text
        assert f"https://colab.research.google.com/github/someone/scalarviz/blob/HEAD/notebooks/{path.name}" in text


SLIDES = ("01-one-weight", "02-rgb-by-hand", "07-why-did-it-move", "11-neuron-to-gpt", "14-three-ways-down")


def slides_in(page, path):
    """Open slides, and go through them with Space; yield whether more of a slide appeared, or another one."""
    page.goto(path.as_uri())
    page.wait_for_function("() => globalThis.Reveal?.isReady()")
    last = None
    while last is None or not page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next"):
        if last is not None:
            page.keyboard.press("Space")
        now = page.evaluate("Reveal.getIndices()")
        yield last is None or (now["h"], now["v"]) != (last["h"], last["v"])
        last = now


@pytest.mark.parametrize("name", SLIDES)
def test_slides_play_without_a_network_and_each_fits_the_screen(name, site, visitor):
    page, faults = visitor
    page.set_viewport_size({"width": 1280, "height": 720})
    last = count = 0
    for fresh in slides_in(page, site / "slides" / f"{name}.html"):
        if not fresh:
            continue
        count += 1
        high, zoom, headed, wide, words = page.evaluate("""() => {
            const slide = Reveal.getCurrentSlide(), inner = [...slide.querySelectorAll("pre")];
            return [slide.scrollHeight, slide.style.zoom, Boolean(slide.querySelector("h1, h2")),
                    inner.some(one => one.scrollWidth > one.clientWidth + 1), slide.textContent];
        }""")
        assert high * float(zoom) <= 674, words
        assert not wide, words
        assert headed or last + high > 550, f"there is room on the slide before: {words}"
        last = high
    assert count == page.evaluate("Reveal.getTotalSlides()") >= 12
    assert any(f"play/slide-{name[:2]}" in frame.url for frame in page.frames)
    assert faults == []


@pytest.mark.parametrize("name", SLIDES[:3])
def test_slides_use_the_screen(name, site, visitor):
    """Letters are large where there is room, pictures take what text leaves, and nothing lies on the slide's number."""
    page, _ = visitor
    page.set_viewport_size({"width": 1280, "height": 720})
    for _ in slides_in(page, site / "slides" / f"{name}.html"):
        text, code, longest, bottom, pictures, capitals, words = page.evaluate("""() => {
            const slide = Reveal.getCurrentSlide(), all = what => [...slide.querySelectorAll(what)];
            const { zoom } = slide.style;
            const sizeOf = one => zoom * (one.style.zoom || 1) * parseFloat(getComputedStyle(one).fontSize);
            const sizes = what => Math.min(99, ...all(what).map(sizeOf));
            const pictures = all("img, iframe").map(one => one.getBoundingClientRect().width);
            const lines = all("pre").flatMap(one => one.textContent.split("\\n"));
            const capitals = all("h1, h2, h3").some(one => getComputedStyle(one).textTransform !== "none");
            const longest = Math.max(0, ...lines.map(line => line.length));
            return [sizes("p:not(:has(+ iframe))"), sizes("pre"), longest,
                    slide.scrollHeight * zoom, pictures, capitals, slide.textContent];
        }""")
        assert text >= (30 if bottom < 600 else 20), words
        assert code >= (24 if bottom < 600 and longest < 80 else 15), words
        assert all(wide > 1180 or bottom > 640 for wide in pictures), words
        assert not capitals, words
        assert "nothing to check yet" not in words
    number, arrows = (page.locator(f".{part}").bounding_box() for part in ("slide-number", "controls"))
    assert number["x"] + number["width"] < arrows["x"]


def test_a_live_cell_gives_the_keys_back_to_the_slides(site, visitor):
    page, faults = visitor
    page.goto((site / "slides" / "02-rgb-by-hand.html").as_uri())
    page.wait_for_function("() => globalThis.Reveal?.isReady()")
    place = page.evaluate("""() => {
        const { h, v } = Reveal.getIndices(document.querySelector("iframe").closest("section"));
        Reveal.slide(h, v);
        return [h, v];
    }""")
    (frame,) = (frame for frame in page.frames if "play/slide-02" in frame.url)
    frame.wait_for_function("() => globalThis.scalarviz")
    stands = "([h, v]) => { const at = Reveal.getIndices(); return (at.h === h && at.v === v) === THERE; }"
    there, away = (stands.replace("THERE", text) for text in ("true", "false"))

    def click():  # the frame is another process: a focus that the slides took may come after a click so soon behind it
        while not frame.evaluate("document.hasFocus()"):
            page.frame_locator("iframe").locator("#scene").click(position={"x": 5, "y": 200})
            page.wait_for_timeout(300)
        page.wait_for_function("() => document.activeElement.tagName === 'IFRAME'")

    for keys, back in ((["PageDown"], "PageUp"), (["PageUp"], "PageDown"), (["Escape", "Space"], "PageUp")):
        click()
        before = frame.evaluate("scalarviz.frame")
        page.keyboard.press("ArrowRight")
        frame.wait_for_function("before => scalarviz.frame > before", arg=before)
        assert page.evaluate(there, place)
        for key in keys:
            page.keyboard.press(key)
            frame.wait_for_function("() => !document.hasFocus()")  # the frame is another process, which learns it late
            page.wait_for_function("() => document.activeElement === document.body")
        page.wait_for_function(away, arg=place)
        page.keyboard.press(back)
        page.wait_for_function(there, arg=place)
    click()
    frame.evaluate("scalarviz.select(0)")
    page.keyboard.press("Escape")
    frame.wait_for_function("() => document.getElementById('card').hidden")
    assert page.evaluate("document.activeElement.tagName") == "IFRAME"
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement === document.body")
    assert faults == []


@pytest.mark.parametrize(
    ("name", "question", "answers"),
    [
        ("01-one-weight", "will w rise or fall in this step?", ["w = -1.0, y = -2.0", "w rose from -3 to -1"]),
        ("01-one-weight", "Does the weight approach 2 six times", ["w = 9.000", "Each step jumps over 2"]),
        ("01b-a-neuron", "Which of w0, w1 and w2 will have the largest", ["w0: value +0.8000"]),
        ("02-rgb-by-hand", "will this weight rise or fall", ["from red to red: 0.086 -0.088"]),
        ("02-rgb-by-hand", "Will its weights agree", ["objects equal to 12"]),
    ],
)
def test_an_answer_comes_after_the_prediction(name, question, answers, site, visitor):
    page, _ = visitor
    shown = {}
    for place, _ in enumerate(slides_in(page, site / "slides" / f"{name}.html")):
        words = page.evaluate("""() => [...Reveal.getCurrentSlide().querySelectorAll("p, pre")].filter(
            one => !one.closest(".fragment:not(.visible)")).map(one => one.textContent).join("\\n")""")
        for text in (question, *answers):
            if text in " ".join(words.split()):
                shown.setdefault(text, place)
    places = [shown[text] for text in (question, *answers)]
    assert places == sorted(set(places)), places


def test_lines_that_a_cell_prints_have_no_gap_on_a_slide(site):
    text = (site / "slides" / "02-rgb-by-hand.html").read_text(encoding="utf-8")
    printed = re.findall(r"<pre>(objects  equal.*?)</pre>", text, re.DOTALL)
    assert len(printed) == 1
    assert "numba    equal" in printed[0]


def test_a_task_stands_with_the_code_that_it_asks_for(site):
    for code, task in {"01b.4": "A whole neuron", "02.1": "A unit of your own", "02.3": "The loop without"}.items():
        (path,) = (site / "slides").glob(f"{code.partition('.')[0]}-*.html")
        text = path.read_text(encoding="utf-8")
        assert "<section" not in text[text.index(f". {task}") : text.index(f'"{code}"')], task


def test_every_name_of_the_reference_is_described_with_its_members(site):
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "docs" / "reference").glob("*.html"))
    ids = set(re.findall(r'id="(scalarviz[\w.]+)"', text))
    assert {f"scalarviz.{name}" for name in sv.__all__ if not isinstance(getattr(sv, name), ModuleType)} <= ids
    assert {"scalarviz.Run.step", "scalarviz.Value.backward", "scalarviz.nn.Module.to_onnx"} <= ids


def test_every_link_within_the_site_leads_somewhere(site):
    lost = []
    for path in pages(site):
        for link in LINK.findall(SCRIPT.sub("", path.read_text(encoding="utf-8"))):
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


def lesson_pages(site):
    """The number of each lesson, and its page."""
    return [(one.number, site / "notebooks" / f"{one.notebook.stem}.html") for one in lessons()]


def questions_of(page):
    """The numbers of the exercises that have a field."""
    return [f"{lesson}.{k}" for lesson, k in re.findall(r'<input id="answer-(\w+)-(\d+)"', page.read_text("utf-8"))]


def solution_of(exercise):
    """The source of the right answer."""
    lesson = exercise.partition(".")[0]
    (name,) = (name for source, name in cells_of(lesson) if name and f'sv.check.exercise("{exercise}"' in source)
    return next(source for kind, _, source in variants_of(lesson)[name] if kind == "solution")


def test_each_lesson_shows_its_scene_as_a_page_in_the_place_of_the_live_cell(site, visitor):
    for number, path in lesson_pages(site):
        text = path.read_text(encoding="utf-8")
        frames = re.findall(r'<iframe src="../play/lesson-(\w+).html#step=0&amp;about=none" title="([^"]+)"', text)
        assert frames == [(number, f"The scene of lesson {number}, which trains")] * (number in SCENES)
        assert text.count(f'href="../play/lesson-{number}.html#step=0">Open this page alone') == len(frames)
        assert 'sv</span><span class="o">.</span><span class="n">lesson' not in text
    page, faults = visitor
    page.goto((site / "notebooks" / "06-chain-rule.html").as_uri())
    page.locator("iframe").scroll_into_view_if_needed()
    page.frame_locator("iframe").locator("#scene").click(position={"x": 5, "y": 200})
    (frame,) = (frame for frame in page.frames if "play/lesson-06" in frame.url)
    for step in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        frame.wait_for_function(f"() => scalarviz.run.steps[scalarviz.frame] === {step}", timeout=30_000)
    assert frame.evaluate("() => scalarviz.run.computed") == 2  # one is recorded
    assert faults == []


def test_the_words_for_a_live_cell_name_only_keys_of_its_page(site, visitor):
    page, _ = visitor
    for number, path in lesson_pages(site):
        if number not in SCENES:
            continue
        for folder in ("notebooks", "slides"):
            text = (site / folder / path.name).read_text(encoding="utf-8")
            words = text[text.index(">Live<") : text.index("<iframe ", text.index(">Live<"))]
            keys = {*re.findall(r"<strong>([A-Z]|[A-Z]\w+(?:\+[A-Z])?)</strong>", words)} - {"Enter", "Predict"}
            assert keys, path
            page.goto((site / "play" / f"lesson-{number}.html").as_uri())
            page.wait_for_function("() => globalThis.scalarviz")
            assert keys <= {*page.evaluate("[...scalarviz.byKey.keys()]")}, path


def test_pages_and_slides_say_nothing_of_what_only_a_notebook_has(site, visitor):
    page, _ = visitor
    for _, path in lesson_pages(site):
        for folder in ("notebooks", "slides"):
            text = SCRIPT.sub("", (site / folder / path.name).read_text(encoding="utf-8"))
            assert not re.search(r"Run\s+the\s+cell", text), path
        assert not re.search(r"small\s+triangle|>Slides</a>", text), path
    first = (site / "notebooks" / "01-one-weight.html").read_text(encoding="utf-8")
    assert "small\ntriangle" in first
    assert "and run the cell" not in first
    page.goto((site / "slides" / "02-rgb-by-hand.html").as_uri())
    page.wait_for_function("() => globalThis.Reveal?.isReady()")
    page.evaluate("""() => {
        const { h, v } = Reveal.getIndices(document.querySelector("iframe").closest("section"));
        Reveal.slide(h, v);
    }""")
    about = page.frame_locator("iframe").locator("#about")
    about.wait_for(state="attached")
    assert about.inner_text() == ""


def test_each_exercise_is_a_question_or_leads_to_the_notebook(site):
    for number, path in lesson_pages(site):
        exercises = [name for name in ANSWERS if name.partition(".")[0] == number]
        asked, text = questions_of(path), path.read_text(encoding="utf-8")
        assert set(asked) <= {name for name in exercises if ANSWERS[name].check is sv.check.answer}
        links = text.count(f'This exercise needs code: <a href="../lessons/{path.stem}.ipynb" download>')
        assert len(asked) + links == len(exercises) > 0, number


def test_a_question_needs_nothing_that_the_page_does_not_show(site):
    for number, path in lesson_pages(site):
        own = set().union(*(defined(one) for source, _ in cells_of(number) for one in ast.parse(source).body
                            if isinstance(one, ast.FunctionDef)))  # fmt: skip
        for exercise in questions_of(path):
            calls = [one.func for one in ast.walk(ast.parse(solution_of(exercise))) if isinstance(one, ast.Call)]
            assert not {ast.unparse(call) for call in calls} & own, exercise


def test_a_question_says_what_the_check_says(site, visitor):
    """Of the right answer, of each usual wrong one, and of numbers at the edges of what counts as one of them."""
    page, faults = visitor
    for _, path in lesson_pages(site):
        page.goto(path.as_uri())
        for exercise in questions_of(path):
            entry, draw = ANSWERS[exercise], random.Random(exercise)
            right = entry.right if entry.right != "" else ast.literal_eval(solution_of(exercise).partition("= ")[2])
            tried = [right, *entry.slips, *(["banana", "7"] if isinstance(right, str) else [])]
            if not isinstance(right, str):
                times = (-1, 0.5, 2, 4, 10, 0.37, 1.7, 30, 1 - 0.0009, 1 + 0.0011)
                tried += [number * k for number, k in itertools.product(tried[:4], times)]
                tried += [round(number, k) for number in tried[:4] for k in (1, 2, 3)]
                tried += [number + draw.uniform(-2e-3, 2e-3) for number in tried[:8]]
            texts = [str(one) or "?" for one in tried]
            heard = page.evaluate(ASKED.replace("NAME", f"answer-{exercise.replace('.', '-')}"), texts)
            for given, (first, *said) in zip(tried, heard, strict=True):
                sv.check.forget()
                reports = [sv.check.exercise(exercise, given or "?", right) if isinstance(right, str)
                           else sv.check.exercise(exercise, given, right) for _ in range(2)]  # fmt: skip
                expected = [[line.strip() for line in report.text.splitlines()[1:]] for report in reports]
                assert first == "\u2713 right."
                assert [one.startswith("\u2713") for one in said] == [bool(one) for one in reports], (exercise, given)
                assert [one.splitlines()[1:] for one in said] == expected, (exercise, given)
    assert faults == []


def test_a_question_is_answered_with_the_keyboard(site, visitor):
    page, faults = visitor
    page.goto((site / "notebooks" / "01-one-weight.html").as_uri())
    field = page.get_by_label("Answer 3")
    status = page.locator("form.question", has=field).get_by_role("status")
    for text, words in {
        "": "Type an answer first.", "0,125": "decimal point", "an eighth": "Expected a number", "1/8": "\u2713 right.",
    }.items():  # fmt: skip
        field.fill(text)
        field.press("Enter")
        assert words in status.inner_text()
    assert faults == []


def test_the_code_of_each_lesson_is_its_address(site, visitor):
    zxingcpp = pytest.importorskip("zxingcpp", reason="no zxing-cpp (extra ci)")
    page, _ = visitor
    for _, path in lesson_pages(site):
        page.goto(path.as_uri())
        code, address = page.get_by_role("img", name="QR code of the address"), f"{ADDRESS}notebooks/{path.name}"
        (found,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(code.screenshot())))
        assert found.text == page.locator("figure.address figcaption").inner_text() == address


def test_a_site_needs_no_address_and_one_that_is_none_is_refused():
    pytest.importorskip("sphinx", reason="no Sphinx (extra site)")
    command = [sys.executable, "-c", "import make_site; print(make_site.asked().address)"]
    for words, code, said in (([], 0, "None"), (["--address", "school.example"], 2, "write it like https://")):
        result = subprocess.run(
            [*command, *words], cwd=ROOT / ".ci", capture_output=True, text=True, check=False, timeout=120
        )
        assert result.returncode == code
        assert said in result.stdout + result.stderr
