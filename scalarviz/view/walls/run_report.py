"""The report of a sweep: one HTML file with plots, pictures, tables, and players of the best, median and worst run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from html import escape
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from ...errors import DivergedError, InputError, ScalarvizError
from ...io import check_target, write_bytes
from ...io.atomic import StrPath, path_text, scratch
from ...run.scene.scene import Scene
from ...sweep.groups import Group, by_loss, groups, metrics_of, swept
from ...sweep.job import Build
from ...sweep.result import Result
from ...sweep.results import Results
from ..ink.axes import evenly
from ..ink.figure import svg_of
from ..ink.listed import encoded
from ..ink.text import short
from ..ink.theme import Theme, get_theme
from ..page.pack import text_of
from ..page.pictures import can_draw, chosen, panel_pictures
from ..page.recorded import html_of
from ..page.recording import Recorded, Recording
from ..page.scripts import colours_of
from .run_plots import figures, sentence
from .run_wall import Thumbs
from .runs import ENDINGS, Runs, ending_of, let_go, number_text, options_text, run_text, runs_of, value_text

# ---- Pictures of runs for a report, by ending.

PICTURED = 40
"""Most pictured runs of an ending, chosen evenly by loss."""
WIDE, QUALITY = 230, 82
"""Width of a picture in pixels, and its quality as WebP."""


def galleries(runs: Runs, theme: Theme, say: Callable[[str], object]) -> Iterator[str]:
    """Yield a section for each ending: pictures of its runs, lowest loss first, or words without a picture."""
    ordered, names, thumbs = by_loss(runs.results), swept(runs.results), Thumbs(theme)
    for ending, head in ENDINGS.items():
        some = [result for result in ordered if ending_of(result) == ending]
        if not some:
            continue
        shown = [some[k] for k in evenly(len(some), PICTURED)]
        said = f"{len(some):,}" if len(shown) == len(some) else f"{len(shown):,} of {len(some):,}, evenly chosen"
        say(f"report: {head.lower()}: {said}")
        figures = "\n".join(_figure(runs, result, names, thumbs) for result in shown)
        yield f'<section class="gallery"><h2>{head} ({said})</h2><div>{figures}</div></section>'


def _figure(runs: Runs, result: Result, names: Sequence[str], thumbs: Thumbs) -> str:
    words = f"run {result.number:,}"
    said = number_text(result.loss) if result.state == "done" else f"{result.state}: {result.error}"
    pictures = ""
    try:
        if result.state == "done":
            run = runs.standing(result)
            pictures = "".join(_image(one, words) for one in (thumbs.panel(run), thumbs.plates(run)) if one is not None)
            let_go(run)
    except ScalarvizError as error:
        said += f"; no picture: {error}"
    about = ", ".join(filter(None, (options_text(result.options, names), f"seed {result.seed:,}")))
    return f"<figure>{pictures}<figcaption><b>{escape(said)}</b> <span>{escape(about)}</span></figcaption></figure>"


def _image(picture: NDArray[np.uint8], words: str) -> str:
    from PIL import Image

    small = Image.fromarray(picture)
    small.thumbnail((WIDE, 2 * WIDE), Image.Resampling.LANCZOS)
    data = text_of(encoded(np.asarray(small), "WEBP", quality=QUALITY, method=4))
    size = f'width="{small.width}" height="{small.height}"'
    return f'<img alt="{escape(words)}" {size} loading="lazy" src="data:image/webp;base64,{data}">'


HERE = Path(__file__).parent
NO_PICTURES = '<p class="small">Pictures of the runs are missing, because this machine cannot draw.</p>'


def report_of(
    runs: Runs, *, theme: str = "dark", about: str = "", say: Callable[[str], object] = lambda line: None
) -> str:
    """Return the page as HTML."""
    look = get_theme(theme)
    players, scripts = _players(runs, look.name, say)
    both = zip(figures(runs.results, "light"), figures(runs.results, "dark"), strict=True)
    plots = [svg_of(light, dark=dark) for light, dark in both]
    policy = (
        f"default-src 'none'; script-src {' '.join(sorted(scripts)) or repr('none')}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    count, missing = len(runs.results), runs.total - len(runs.results)
    lines = [about, f"{missing:,} of {runs.total:,} runs are unfinished" if missing > 0 else ""]
    return Template((HERE / "report.html").read_text(encoding="utf-8")).substitute(
        theme=look.name, policy=policy, title=escape(runs.title), lead=escape(sentence(runs.results)),
        style=f"{colours_of()}\n{(HERE / 'report.css').read_text(encoding='utf-8')}",
        about=escape("  \N{MIDDLE DOT}  ".join(filter(None, lines))), plots="\n".join(plots),
        quartiles=quartile_tables(runs.results),
        galleries="\n".join(galleries(runs, look, say)) if can_draw() else NO_PICTURES, players=players,
        count=f"{count:,} runs" if count <= MOST else f"The first {MOST:,} of {count:,} runs",
        runs=run_table(runs.results),
    )  # fmt: skip


def picked(results: Sequence[Result]) -> list[tuple[str, Result]]:
    """Return the best, median and worst of the finished runs with their names; fewer if there are fewer."""
    done = [result for result in by_loss(results) if result.state == "done"]
    places = {"best": 0, "median": (len(done) - 1) // 2, "worst": len(done) - 1}
    found: dict[int, str] = {}
    for name, place in places.items():
        if 0 <= place < len(done):
            found.setdefault(place, name)
    return [(name, done[place]) for place, name in found.items()]


def _players(runs: Runs, theme: str, say: Callable[[str], object]) -> tuple[str, set[str]]:
    """Return the section of the players, and the hashes of their scripts."""
    parts, scripts = list[str](), set[str]()
    for name, result in picked(runs.results) if runs.build is not None else ():
        words = run_text(result, runs.results)
        say(f"report: training the {name} again, to play it: {words}")
        parts.append(f"<h3>The {name}: {escape(words)}</h3>")
        try:
            page, said = player_of(runs, result, theme, f"{runs.title}, {name}")
        except ScalarvizError as error:
            page, said = "", f"this run cannot be trained again: {error}"
        if page:
            scripts |= scripts_of(page)
            may = 'sandbox="allow-scripts" loading="lazy"'  # it can only play
            parts.append(f'<iframe {may} title="the {name}" srcdoc="{escape(page)}"></iframe>')
        parts += [f'<p class="small">{escape(said)}</p>'] if said else []
    head = f"<h2>{', '.join(name for name, _ in picked(runs.results)).capitalize()}: players</h2>"
    return ("\n".join([head, *parts]) if parts else ""), scripts


def write_report(
    runs: Runs, path: StrPath, *, theme: str = "dark", about: str = "",
    say: Callable[[str], object] = lambda line: None,
) -> Path:  # fmt: skip
    """Write the report, whole or not at all; arguments as for :func:`report_of`."""
    check_target(path)
    write_bytes(path, report_of(runs, theme=theme, about=about, say=say).encode("utf-8", "backslashreplace"))
    return Path(path)


def report_of_file(
    path: StrPath, target: StrPath, *, build: Build | None = None, theme: str = "dark",
    say: Callable[[str], object] = lambda line: None,
) -> Path:  # fmt: skip
    """Write the report of a results file: one HTML file.

    Raises
    ------
    InputError, FileFormatError
        The results file cannot be read, or the report cannot be written.
    """
    runs = runs_of(path, build)
    if not runs.results:
        raise InputError(f"{path_text(path)}: none of its runs is done; try again later")
    with Results.read(path) as read:
        made = read.about.made
    return write_report(runs, target, theme=theme, about=made, say=say)


# ---- Players of single runs for a report: each run is trained again, recorded, and put on its own page.

FRAMES, PICTURES, ROOM = 120, 6, 120_000
"""Frames of a player, pictures of each panel, and most bytes of these pictures."""
SIZE = 1120, 640
"""Width and height in pixels of its layout."""
_HASH = re.compile(r"'sha256-[A-Za-z0-9+/=]+'")


def player_of(runs: Runs, result: Result, theme: str, title: str) -> tuple[str, str]:
    """Train a run again from its first step; return its page, and a remark (usually '')."""
    assert runs.build is not None  # otherwise nothing is played
    scene, said = runs.build(result), ""
    with TemporaryDirectory(prefix=scratch()) as folder:
        path, every = Path(folder) / "run.svz", max(1, result.steps // FRAMES)
        with Recording(scene, every, gradients=True, updates=True, activations=True, path=path):
            try:
                scene.run.step(max(result.steps - scene.run.steps, 1))
            except DivergedError as diverged:
                said = str(diverged.fact)
        with closing(Recorded(path)) as record:  # closing the recording also stores its last step
            page = _page(scene, record, theme, title)
    if not said and result.state == "done":
        kept, now = runs.weights(result.number), scene.run.state_dict()
        if not all(name in now and np.array_equal(now[name], kept[name], equal_nan=True) for name in kept):
            said = f"trained again here: the bits differ from those in the file ({result.processor})"
    scene.run.close()
    return page, said


def _page(scene: Scene, record: Recorded, theme: str, title: str) -> str:
    shown = chosen(range(len(record)), PICTURES)
    pictures = panel_pictures(scene, shown, record.frame, theme, ROOM) if scene.panels else []
    return html_of(record, pictures, theme=theme, size=SIZE, title=title, frames=FRAMES + 1, scene=scene)


def scripts_of(page: str) -> set[str]:
    """Return the hashes in a page's script policy; a page around it has to allow them too."""
    return set(_HASH.findall(page.partition("Content-Security-Policy")[2].partition("style-src")[0]))


# ---- The tables of a report: quartiles by option, and all runs.

MOST = 2_000
"""Most runs in the table of all runs; a results file has the others."""


def quartile_tables(results: Sequence[Result]) -> str:
    """Return a table with a row for each value of each swept option, and a row for all runs."""
    names, metrics = swept(results), metrics_of(results)
    heads = ["runs", "learnt", "diverged", "loss: lower quartile", "median", "upper quartile"]
    rows = []
    for name in names:
        rows += [(f"{name} {value_text(group.value)}", group) for group in groups(results, name)]
    rows += [("all runs", Group(None, tuple(results)))]
    body = [[words, *_group(group), *(metric_text(group.of_metric(m)[1]) for m in metrics)] for words, group in rows]
    return _table(["", *heads, *(f"{metric}, median" for metric in metrics)], body)


def run_table(results: Sequence[Result]) -> str:
    """Return the table of all runs, lowest loss first."""
    names = list(dict.fromkeys(name for result in results for name in result.options))
    metrics = metrics_of(results)
    rows = [
        [
            f"{r.number:,}", *(value_text(r.options.get(name, "")) for name in names), f"{r.seed:,}", ending_of(r),
            f"{r.steps:,}", number_text(r.loss) if r.state == "done" else "",
            *(metric_text(r.metrics[m]) if m in r.metrics else "" for m in metrics),
            f"{r.seconds:.2f}", r.processor, f"{r.tries}", r.error,
        ]
        for r in by_loss(results)[:MOST]
    ]  # fmt: skip
    heads = ["run", *names, "seed", "ended", "steps", "loss", *metrics, "seconds", "computed by", "tries", "why"]
    return _table(heads, rows)


def metric_text(number: float) -> str:
    """Return a metric as text: ``4`` if it is whole, otherwise ``0.97``."""
    return f"{int(number):,}" if abs(number) < 1e6 and float(number).is_integer() else short(number)


def _group(group: Group) -> list[str]:
    learnt = "" if group.learnt is None else f"{group.learnt:,}"
    return [f"{len(group.results):,}", learnt, f"{group.count('diverged'):,}", *map(number_text, group.quartiles)]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table without columns that are empty in every row."""
    kept = [k for k in range(len(heads)) if any(row[k] for row in rows)]
    head = "".join(f"<th>{escape(heads[k])}</th>" for k in kept)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(row[k])}</td>' for k in kept)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
