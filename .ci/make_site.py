"""Build the static site: the docs, the lessons, and pages of all scenes. It opens from a disk, without a network.

Usage: ``python .ci/make_site.py [FOLDER] [--scenes rgb,xor] [--steps N] [--repository OWNER/NAME] [--address URL]``;
FOLDER is where it is written (default: ``build/site``).
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import nbformat
import segno
from PIL import Image
from site_questions import exercise_of, needs_code, question_of
from site_slides import HIDDEN, slides_of
from sphinx.cmd.build import main as sphinx

import scalarviz as sv
from scalarviz.cli.scene_files import scene_names
from scalarviz.lessons import lessons
from scalarviz.lessons.shelf import scene_of

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("CHANGELOG.md", "LICENSE", "CITATION.cff", "CONTRIBUTING.md", "docs", "notebooks", "benchmarks",
          "scenes", "scalarviz", "setup.cfg")  # fmt: skip
"""What pages show or link to; a file that is no page can be downloaded from the site."""
BEGIN = ("docs/start", "docs/install", "docs/recipes", "players")
COURSE = ("docs/lessons", "docs/lesson-plans", "docs/lecturers")
GUIDES = ("docs/scenes", "docs/window", "docs/python", "docs/notebooks", "docs/sharing", "docs/sweeps", "docs/watching",
          "docs/onnx", "docs/files", "docs/gpu", "docs/clusters", "docs/help", "docs/glossary")  # fmt: skip
REFERENCE = ("scalars", "nn", "optim", "run", "panels", "view", "check", "io")
PROJECT = ("docs/figures", "benchmarks/README", "CHANGELOG", "CONTRIBUTING", "docs/how-it-works", "docs/style",
           "scalarviz/engine/cpu/README", "scalarviz/engine/cuda/README")  # fmt: skip
NAMES = re.compile(r"<!-- names: ([\w.]+) -->")
"""In a page of the reference: where the names of a module are described."""
STILL = re.compile(r'<img [^>]*src="data:image/webp;base64,([^"]+)"')
LIVE = re.compile(r'sv\.lesson\("(\w+)"')
LIVE_TEXT = re.compile(r"(?s)(?<=## Live\n\n).*")
"""How to use a live cell; ``docs/site/live.md`` has the words for a page, which has other keys."""
RUN_CELLS = (
    (re.compile(r"Run the\s+cells from top to bottom\.\s"), ""),
    (re.compile(r"Run the\s+cell(?:,|\s+and)\s+click"), "Click"),
    (re.compile(r"The\s+next\s+cell\s+shows"), "The picture shows"),
)
"""Words about the cells of a notebook, and the words in a page, which runs none."""
RECORDED = {"03": (12_000, 200), "04": (40, 1), "11": (300, 10), "14": (60, 1)}
"""Steps that pages of lessons record, and each how many a frame: of a network that needs many, or whose panels only the
library computes. Other pages record one step, as the time bar needs it, and compute all others."""
SCENES = (
    "Each scene is a recording that trains on in your browser: Space plays it, and *train on* goes on where it ends. "
    "Its data are in the page; nothing is sent."
)
OPENED = 0
"""The step that pages of lessons store in parts, and all pages if the number of steps is given: drawing more takes
longer than all the rest, and a page computes the parts of other steps."""
FRONT_STEPS = 200
"""Recorded steps of the first page's scene; it trains on while the page is read."""
TRAINS = (
    "Click the picture. <strong>Space</strong> trains and pauses, <strong>Right</strong> goes one step forward, and "
    "<strong>Home</strong> goes back to step 0. <em>lr</em> sets the learning rate; <strong>?</strong> lists all keys."
)
TRAINS_ON = " {steps} recorded: at the end, press <strong>Space</strong> again, and your browser trains on."
PLAYS = (
    "Click the picture. <strong>Space</strong> plays a recorded training and pauses. This page cannot train; the line "
    "below its picture says why."
)
LIVE_CELL = '<p>{said} <a href="{address}">Open this page alone</a>.</p>{player}'
NOW_YOU = "## Now you\n"
ANSWER_HERE = (
    "*On this page, type an answer into its field and press Enter. A text needs no quotation marks. Work on the "
    "exercises that need code in the notebook.*"
)
IN_A_CELL = re.compile(r"In each exercise, replace every[^#]*?the check says why\.\s*")
"""The words of a notebook in whose place the words for fields are."""
CODE_HERE = "*On this page, you can read the exercises. They need code: work on them in the notebook.*"
NEEDS_CODE = (
    '<p>This exercise needs code: <a href="../lessons/{name}" download>download the notebook</a> and '
    '<a href="../docs/install.html">install scalarviz</a>.</p>'
)


def main() -> int:
    """Build it; the exit code."""
    arguments = asked()
    with tempfile.TemporaryDirectory() as made:
        source, players = Path(made) / "source", Path(made) / "players"
        gather(source)
        record(players / "play", arguments.scenes, arguments.steps)
        make_lessons(source / "notebooks", players, arguments)
        pages = "https://{}.github.io/{}/".format(*arguments.repository.split("/")) if arguments.repository else ""
        address = arguments.address or pages
        if address:
            preview(players / "play", address)
        write_pages(source, arguments.scenes, address)
        code = sphinx(["-q", "-b", "html", "-W", "--keep-going", "-c", str(ROOT / "docs" / "site"),
                       "-D", f"html_extra_path={players}", str(source), str(arguments.folder)])  # fmt: skip
    if not code:
        print(
            f"wrote {arguments.folder / 'index.html'}, and the slides of the lessons in {arguments.folder / 'slides'}"
        )
    return code


def asked() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description="Build the static site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--scenes", type=lambda text: text.split(","), default=list(scene_names()))
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    parser.add_argument(
        "--repository", default=repository, metavar="OWNER/NAME", help="on GitHub, for Binder and Colab"
    )
    parser.add_argument("--steps", type=int, help="of each run; default: the scene's own")
    parser.add_argument(
        "--address", type=address_of, metavar="URL", help="of the site, for the QR codes of the lessons"
    )
    return parser.parse_args()


def address_of(text: str) -> str:
    """The address of the site, with a slash at its end."""
    if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", text):
        raise argparse.ArgumentTypeError(f"got {text!r}; write it like https://school.example/scalarviz/")
    return text.rstrip("/") + "/"


def gather(source: Path) -> None:
    """Copy what pages are made of, at the places where links expect it."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "results", "site")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            source.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    for path in source.glob("notebooks/*.py"):
        path.unlink()  # the notebook of the same name is the page


def record(folder: Path, scenes: Iterable[str], steps: int | None) -> None:
    """Let every scene learn, and write its page; also a short one of `rgb`, for the first page."""
    folder.mkdir(parents=True)
    wanted = [("front", "rgb", steps or FRONT_STEPS), *((name, name, steps) for name in scenes)]
    for page, name, count in wanted:
        command = [sys.executable, "-m", "scalarviz", name, "--headless", "--html", str(folder / f"{page}.html")]
        short = [] if steps is None else ["--open", str(OPENED)]
        subprocess.run([*command, *(() if count is None else ("--steps", str(count))), *short], check=True)


def make_lessons(notebooks: Path, players: Path, asked: argparse.Namespace) -> None:
    """Make a page of each lesson: its links, its scene in the place of the live cell, its exercises; and its slides."""
    for folder in ("lessons", "slides"):
        (players / folder).mkdir(parents=True)
    for path in sorted(notebooks.glob("*.ipynb")):
        shutil.copy(path, players / "lessons")
        notebook = nbformat.read(path, as_version=4)
        say(notebook)
        if asked.address:
            title, line, text = notebook.cells[0].source.partition("\n")
            code = code_of(f"{asked.address}notebooks/{path.stem}.html")
            notebook.cells[0].source = f"{title}\n\n{code}\n{line}{text}"
        play(notebook, players / "play", asked.steps)
        (players / "slides" / f"{path.stem}.html").write_text(slides_of(notebook), encoding="utf-8")
        offer(notebook, path.name, asked.repository)
        ask(notebook, path.name)
        nbformat.write(notebook, path)


def say(notebook: nbformat.NotebookNode) -> None:
    """Let the text say what holds in a page: its live cell has the keys of a page, and no cell runs."""
    texts = dict(re.findall(r"(?ms)^## (\w+)\n\n(.*?)\s*(?=^## |\Z)", (ROOT / "docs/site/live.md").read_text("utf-8")))
    found = [asked[1] for cell in notebook.cells if (asked := LIVE.match(cell.source))]
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        if found and found[0] in texts:
            cell.source = LIVE_TEXT.sub(lambda _: texts[found[0]], cell.source)
        for words, instead in RUN_CELLS:
            cell.source = words.sub(instead, cell.source)


def offer(notebook: nbformat.NotebookNode, name: str, repository: str) -> None:
    """Below the title, put links: the notebook as a file, and where it opens without an installation."""
    addresses = {"Download the notebook": f"../lessons/{name}", "Slides": f"../slides/{Path(name).stem}.html"}
    if repository:
        file = f"notebooks/{name}"
        addresses |= {
            "Open in Binder": f"https://mybinder.org/v2/gh/{repository}/HEAD?labpath={quote(file, '')}",
            "Open in Colab": f"https://colab.research.google.com/github/{repository}/blob/HEAD/{file}",
        }
    links = [f'<a href="{address}">{text}</a>' for text, address in addresses.items()]
    title, line, text = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{' · '.join(links)}\n{line}{text}"


def code_of(address: str) -> str:
    """A page's address as a QR code, with the address below."""
    code = segno.make_qr(address).svg_inline(light="white", omitsize=True, svgclass=None, lineclass=None)
    named = code.replace("<svg ", '<svg role="img" aria-label="QR code of the address of this page" ', 1)
    return f'<figure class="address">{named}<figcaption><a href="{address}">{address}</a></figcaption></figure>'


def play(notebook: nbformat.NotebookNode, folder: Path, wanted: int | None) -> None:
    """Let the scene of a lesson learn, and put its page in the place of the live cell."""
    for cell in notebook.cells:
        asked = LIVE.match(cell.source)
        if cell.cell_type == "code" and asked is not None:
            number = asked[1]
            page, address = folder / f"lesson-{number}.html", f"../play/lesson-{number}.html#step=0"
            scene, (steps, every) = scene_of(number), RECORDED.get(number, (1, 1))
            if wanted is not None:
                steps, every = min(steps, wanted), 1
            with sv.Recording(scene, every, gradients=True, updates=True, activations=True, panels=True) as recording:
                scene.run.step(steps)
                recording.save_html(page, size=(960, 720), open=[OPENED])
                recording.save_html(folder / f"slide-{number}.html", size=(960, 720), open=[OPENED], presenter=True)
            trains = 'id="engine"' in page.read_text(encoding="utf-8")
            title = f"The scene of lesson {number}, which {'trains' if trains else 'plays'}"
            first = f"The first {steps:,} steps are" if steps > 1 else "The first step is"
            forward = TRAINS if every == 1 else TRAINS.replace("one step forward", f"{every} steps forward")
            words = forward + TRAINS_ON.format(steps=first) if trains else PLAYS
            player = player_of(f"{address}&amp;about=none" if trains else address, title)
            show(cell, LIVE_CELL.format(said=words, address=address, player=player), hidden=True)


def ask(notebook: nbformat.NotebookNode, name: str) -> None:
    """Put a field in the place of each exercise that needs no code, and a link below each other one."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    calls = [(cell, call) for cell in notebook.cells if (call := exercise_of(cell)) is not None]
    for cell, call in calls:
        code = needs_code(cell, call)
        show(cell, NEEDS_CODE.format(name=name) if code else question_of(cell, call, sources), hidden=not code)
    note = CODE_HERE if all(needs_code(*one) for one in calls) else ANSWER_HERE
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and f"{cell.source}\n".startswith(NOW_YOU):
            cell.source = f"{NOW_YOU}\n{note}\n{IN_A_CELL.sub('', cell.source.removeprefix(NOW_YOU.strip()))}"


def show(cell: nbformat.NotebookNode, html: str, *, hidden: bool) -> None:
    """Give a cell this output; `hidden`: without its code."""
    cell.outputs = [nbformat.v4.new_output("display_data", data={"text/html": html})]
    if hidden:
        cell.metadata.tags = [*cell.metadata.get("tags", ()), HIDDEN]


def preview(folder: Path, address: str) -> None:
    """Put the picture of each page beside it, and name it in the page: messages show it beside a link."""
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        data = base64.b64decode(STILL.search(text)[1])  # type: ignore[index]  # every page has one
        Image.open(io.BytesIO(data)).convert("RGB").save(path.with_suffix(".jpg"), quality=85)
        named = f'<meta property="og:image" content="{address}play/{path.stem}.jpg">\n<title>'
        path.write_text(text.replace("<title>", named, 1), encoding="utf-8")


def player_of(address: str, title: str) -> str:
    """A frame that can do nothing but play and train on."""
    may = 'class="player" sandbox="allow-scripts" loading="lazy"'
    return f'<iframe src="{address}" title="{title}" {may}></iframe>'


def write_pages(source: Path, scenes: Iterable[str], address: str) -> None:
    """The pages that no file holds: the front page with what leads to all others, all scenes, the names of modules.

    `address` is that of the site, if it is known; then the front page names its picture.
    """
    players = "\n\n".join(
        f'## {name}\n\n{scene_names()[name]} <a href="play/{name}.html">Open this scene alone</a>.\n\n'
        + player_of(f"play/{name}.html", f"The scene {name}, which trains on")
        for name in scenes
    )
    (source / "players.md").write_text(f"# All scenes\n\n{SCENES}\n\n{players}\n", encoding="utf-8")
    for path in source.glob("docs/reference/*.md"):
        path.write_text(NAMES.sub(described, path.read_text(encoding="utf-8")), encoding="utf-8")
    course = [f"{one.number} {one.title} <notebooks/{one.notebook.stem}>" for one in lessons()]
    names = [f"docs/reference/{page}" for page in REFERENCE]
    groups = {"Begin": BEGIN, "Course": [*COURSE, *course], "Guides": GUIDES, "Reference": names, "Project": PROJECT}
    trees = (
        "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", f":caption: {caption}", "", *entries, "```"])
        for caption, entries in groups.items()
    )
    home = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    if address:
        meta = f'myst:\n  html_meta:\n    "property=og:image": {address}play/front.jpg\n'
        home = home.replace("---\n", f"---\n{meta}", 1)
    (source / "index.md").write_text("\n\n".join([home, *trees]) + "\n", encoding="utf-8")


def described(asked: re.Match[str]) -> str:
    """Every public name of a module, with its members."""
    module = import_module(asked[1])
    return "\n\n".join(described_name(module, name) for name in public(module))


def public(module: ModuleType) -> list[str]:
    """The names that a module offers: those of its ``__all__``, else what is defined in it."""
    made = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
    return sorted((name for name in getattr(module, "__all__", made) if name[0] != "_"), key=str.lower)


def described_name(module: ModuleType, name: str) -> str:
    """One name: what autodoc makes of it, or for a module where its own names are."""
    found = getattr(module, name)
    if isinstance(found, ModuleType):
        return f"### {name}\n\nA module: `{found.__name__}`."
    if module is not sv and getattr(sv, name, None) is found:
        return f"### {name}\n\nThis is {{py:obj}}`scalarviz.{name}`."
    kind = "class" if isinstance(found, type) else "function" if callable(found) else "data"
    members = "   :members:\n   :show-inheritance:\n" if kind == "class" else ""
    return f"### {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {module.__name__}.{name}\n{members}```"


if __name__ == "__main__":
    sys.exit(main())
