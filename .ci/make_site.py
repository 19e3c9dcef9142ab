"""Build the static site: the docs, the lessons, and pages of all scenes. It opens from a disk, without a network.

Usage: ``python .ci/make_site.py [FOLDER] [--scenes rgb,xor] [--steps N] [--repository OWNER/NAME]``; FOLDER
is where it is written (default: ``build/site``).
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
from PIL import Image
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
LESSON_STEPS, FRAMES = 600, 300
SCENES = (
    "Each scene is a recording that trains on in your browser: Space plays it, and *train on* goes on where it ends. "
    "Its data are in the page; nothing is sent."
)
SHORT = {"01": 15}
"""Steps of lessons that learn faster."""
OPENED_IN_SHORT = 0
"""The step that a page opens if the number of steps is given: drawing more takes longer than all the rest."""
FRONT_STEPS = 200
"""Recorded steps of the first page's scene; it trains on while the page is read."""
RECORDED = (
    "On this page, the scene is a recording that trains on in your browser: press <em>train on</em>, set its learning "
    "rate, and click a cube to see its numbers. To change the network and to use the exercises, copy the notebook: "
    "<code>scalarviz lessons course</code>."
)


def main() -> int:
    """Build it; the exit code."""
    arguments = asked()
    with tempfile.TemporaryDirectory() as made:
        source, players = Path(made) / "source", Path(made) / "players"
        gather(source)
        offer_lessons(source / "notebooks", players / "lessons", arguments.repository)
        record(players / "play", arguments.scenes, arguments.steps)
        play_lessons(source / "notebooks", players / "play", arguments.steps)
        address = "https://{}.github.io/{}/".format(*arguments.repository.split("/")) if arguments.repository else ""
        if address:
            preview(players / "play", address)
        write_pages(source, arguments.scenes, address)
        code = sphinx(["-q", "-b", "html", "-W", "--keep-going", "-c", str(ROOT / "docs" / "site"),
                       "-D", f"html_extra_path={players}", str(source), str(arguments.folder)])  # fmt: skip
    if not code:
        print(f"wrote {arguments.folder / 'index.html'}")
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
    return parser.parse_args()


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
        short = [] if steps is None else ["--open", str(OPENED_IN_SHORT)]
        subprocess.run([*command, *(() if count is None else ("--steps", str(count))), *short], check=True)


def offer_lessons(notebooks: Path, folder: Path, repository: str) -> None:
    """Below the title of every lesson, links: the notebook as a file, and where it opens without an installation."""
    folder.mkdir(parents=True)
    for path in sorted(notebooks.glob("*.ipynb")):
        shutil.copy(path, folder)
        addresses = {"Download the notebook": f"../lessons/{path.name}"}
        if repository:
            file = f"notebooks/{path.name}"
            addresses |= {
                "Open in Binder": f"https://mybinder.org/v2/gh/{repository}/HEAD?labpath={quote(file, '')}",
                "Open in Colab": f"https://colab.research.google.com/github/{repository}/blob/HEAD/{file}",
            }
        links = [f'<a href="{address}">{text}</a>' for text, address in addresses.items()]
        notebook = nbformat.read(path, as_version=4)
        title, line, text = notebook.cells[0].source.partition("\n")
        notebook.cells[0].source = f"{title}\n\n{' · '.join(links)}\n{line}{text}"
        nbformat.write(notebook, path)


def play_lessons(notebooks: Path, folder: Path, wanted: int | None) -> None:
    """Let the scene of every lesson learn, and put its page where the notebook has a picture of the live cell."""
    for path in sorted(notebooks.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            asked = LIVE.match(cell.source)
            if cell.cell_type == "code" and asked is not None:
                name = f"lesson-{asked[1]}"
                scene, steps = scene_of(asked[1]), wanted or SHORT.get(asked[1], LESSON_STEPS)
                with sv.Recording(scene, max(1, steps // FRAMES), gradients=True, updates=True, activations=True,
                                  panels=True) as recording:  # fmt: skip
                    scene.run.step(steps)
                    opened = None if wanted is None else [OPENED_IN_SHORT]
                    recording.save_html(folder / f"{name}.html", size=(960, 720), open=opened)
                player = player_of(f"../play/{name}.html", f"The scene of lesson {asked[1]}, which trains on")
                data = {"text/html": f"<p>{RECORDED}</p>{player}"}
                cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
        nbformat.write(notebook, path)


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
    return (
        f'<iframe src="{address}" sandbox="allow-scripts" loading="lazy" title="{title}" '
        'style="width:100%;height:640px;border:0"></iframe>'
    )


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
