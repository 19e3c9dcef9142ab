"""The report of a sweep: one HTML file with its plots, pictures, tables, and players of the best, median and worst."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from string import Template

from ...errors import ScalarvizError
from ...io import check_target, write_bytes
from ...io.atomic import StrPath
from ..browser.page import colours_of
from ..draw.theme import get_theme
from ..graph.svg import svg_of
from ..recorded.pictures import can_draw
from .gallery import galleries
from .players import frame_of, player_of, scripts_of
from .plots import figures, sentence
from .runs import Runs, picked
from .tables import MOST, quartile_tables, run_table
from .words import run_text

HERE = Path(__file__).parent
NO_PICTURES = '<p class="small">Pictures of the runs are missing: nothing can draw here.</p>'


def report_of(
    runs: Runs, *, theme: str = "dark", about: str = "", say: Callable[[str], object] = lambda line: None
) -> str:
    """The page.

    Parameters
    ----------
    runs : Runs
    theme : {"dark", "light"}
    about : str
        When and how the sweep was made.
    say : callable
        Told what is being done, line by line: players are trained again.

    Raises
    ------
    UnknownNameError
        There is no such theme.
    """
    look = get_theme(theme)
    players, scripts = _players(runs, look.name, say)
    plots = [svg_of(light, dark=dark) for light, dark in zip(figures(runs.results, "light"),
                                                             figures(runs.results, "dark"), strict=True)]  # fmt: skip
    policy = (
        f"default-src 'none'; script-src {' '.join(sorted(scripts)) or repr('none')}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    count = len(runs.results)
    lines = (
        [about] if count >= runs.total else [about, f"{runs.total - count:,} of {runs.total:,} runs are not done yet"]
    )
    return Template((HERE / "report.html").read_text(encoding="utf-8")).substitute(
        theme=look.name, policy=policy, title=escape(runs.title), lead=escape(sentence(runs.results)),
        style=f"{colours_of()}\n{(HERE / 'report.css').read_text(encoding='utf-8')}",
        about=escape("  \N{MIDDLE DOT}  ".join(filter(None, lines))), plots="\n".join(plots),
        quartiles=quartile_tables(runs.results),
        galleries="\n".join(galleries(runs, look, say)) if can_draw() else NO_PICTURES, players=players,
        count=f"{count:,} runs" if count <= MOST else f"The first {MOST:,} of {count:,} runs",
        runs=run_table(runs.results),
    )  # fmt: skip


def _players(runs: Runs, theme: str, say: Callable[[str], object]) -> tuple[str, set[str]]:
    """The section of the players, and the hashes of their scripts."""
    parts, scripts = list[str](), set[str]()
    for name, result in picked(runs.results) if runs.build is not None else ():
        words = run_text(result, runs.results)
        say(f"report: the {name} is trained again, to be played: {words}")
        parts.append(f"<h3>The {name}: {escape(words)}</h3>")
        try:
            page, said = player_of(runs, result, theme, f"{runs.title}, {name}")
        except ScalarvizError as error:
            page, said = "", f"it cannot be computed again: {error}"
        if page:
            scripts |= scripts_of(page)
            parts.append(frame_of(page, f"the {name}"))
        parts += [f'<p class="small">{escape(said)}</p>'] if said else []
    head = f"<h2>{', '.join(name for name, _ in picked(runs.results)).capitalize()}, to be played</h2>"
    return ("\n".join([head, *parts]) if parts else ""), scripts


def write_report(
    runs: Runs, path: StrPath, *, theme: str = "dark", about: str = "",
    say: Callable[[str], object] = lambda line: None,
) -> Path:  # fmt: skip
    """Write it, whole or not at all; the arguments as of :func:`report_of`.

    Raises
    ------
    InputError
        It cannot be written there.
    """
    check_target(path)
    write_bytes(path, report_of(runs, theme=theme, about=about, say=say).encode("utf-8", "backslashreplace"))
    return Path(path)
