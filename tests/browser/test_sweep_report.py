"""The report of a sweep in a browser: it needs no network, says what the results say, and its players play."""

import re

import pytest

from kit.windows import wait_until
from scalarviz.sweep.groups import by_loss, quartiles
from scalarviz.sweep.result import Result
from scalarviz.view.ink.text import loss_text
from scalarviz.view.walls.run_report import picked, scripts_of, write_report
from scalarviz.view.walls.runs import Runs

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def runs(few_runs):
    found = few_runs.trained(3, rates=(0.05, 0.5), steps=30)
    evil = Result(6, {"lr": 0.5}, 9, "failed", error="<script>alert(1)</script>")
    return Runs("xor & <b>more</b>", (*found.results, evil), found.build, found.weights, 8)


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def report(runs, told, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scalarviz.view.walls.run_report.PICTURES", 1)  # of each panel
        return write_report(runs, path, about="made by hand", say=told.append)


def test_it_is_one_file_that_asks_nobody_and_says_what_the_results_say(page, report, runs):
    page.goto(report.as_uri())
    assert page.title() == page.locator("h1").inner_text() == "xor & <b>more</b>"
    learnt = sum(bool(r.reached) for r in runs.results)
    assert f"{learnt} of 7 learnt, 1 failed" in page.locator(".lead").inner_text()
    assert "1 of 8 runs are unfinished" in page.locator("p.small").first.inner_text()
    done = [r for r in runs.results if r.state == "done"]
    rows = [row.inner_text().split("\t") for row in page.locator("table").first.locator("tbody tr").all()]
    assert [row[0] for row in rows] == ["lr 0.05", "lr 0.5", "all runs"]
    for row, some in zip(rows, ([r for r in done if r.options["lr"] == lr] for lr in (0.05, 0.5)), strict=False):
        assert row[-3:] == [loss_text(part) for part in quartiles(r.loss for r in some)]
    assert page.locator(".plots svg").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("figure").count() == 7
    assert page.locator("figure img").count() == 12  # the panel and the cubes of six
    until(page, "[...document.images].every(i => { i.loading = 'eager'; return i.complete && i.naturalWidth })")
    page.locator("summary").click()
    numbers = [row.locator("td").first.inner_text() for row in page.locator("details tbody tr").all()]
    assert numbers == [str(result.number) for result in by_loss(runs.results)]


def until(page, expression, argument=None):
    """Wait for what a script says; the report forbids ``wait_for_function``, which asks again by `eval`."""
    wait_until(lambda: page.evaluate(expression, argument))


def test_the_best_the_median_and_the_worst_play_and_end_where_the_sweep_ended(page, report, runs):
    page.goto(report.as_uri())
    frames = page.locator("iframe")
    chosen = picked(runs.results)
    assert frames.count() == len(chosen) == 3
    for number, (name, result) in enumerate(chosen):
        frame = frames.nth(number)
        assert frame.get_attribute("title") == f"the {name}"
        frame.scroll_into_view_if_needed()
        inner = frame.content_frame
        inner.locator("#app").wait_for()
        inner.locator("#scene").focus()
        page.keyboard.press("End")
        inner.locator("#step", has_text=re.compile(f"^{result.steps}$")).wait_for()


def test_the_wheel_scrolls_the_report_until_a_player_is_clicked(page, report):
    page.goto(report.as_uri())
    frame = page.locator("iframe").first
    frame.scroll_into_view_if_needed()
    scene = frame.content_frame.locator("#scene")
    scene.wait_for()
    frame.content_frame.locator("#stage").hover()
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 60)
    until(page, "before => scrollY > before", before)
    frame.content_frame.locator("#stage").click()
    scene.evaluate("e => { e.addEventListener('wheel', event => { window.taken = event.defaultPrevented; }); }")
    page.mouse.wheel(0, 60)
    assert scene.evaluate("""() => new Promise(done => {
        const look = () => 'taken' in window ? done(window.taken) : requestAnimationFrame(look); look(); })""")


def test_it_says_what_it_does_and_that_runs_came_to_the_same_bits(report, told):
    assert [line.split()[3] for line in told[:3]] == ["best", "median", "worst"]
    assert told[3:] == ["report: runs that learnt: 1", "report: runs that are stuck: 5", "report: runs that failed: 1"]
    text = report.read_text(encoding="utf-8")
    assert "other bits" not in text
    assert "<script>alert" not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert len(scripts_of(text)) >= 2
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_a_report_of_runs_that_nobody_can_build_has_their_cubes_and_no_players(page, runs, tmp_path):
    path = write_report(Runs("weights", runs.results, None, runs.weights, 7), tmp_path / "cubes.html", theme="light")
    page.goto(path.as_uri())
    assert page.locator("iframe").count() == 0
    assert page.locator("figure img").count() == 6
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(250, 250, 248)"
