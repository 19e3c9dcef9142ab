"""Build the static site: the docs, the lessons, and a player of every scene. It opens from a disk, without a network.

Usage: ``python .ci/make_site.py [FOLDER] [--scenes rgb,xor] [--steps N]``; FOLDER is where it is written (default:
``build/site``).
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nbformat
from sphinx.cmd.build import main as sphinx

import scalarviz as sv
from scalarviz.cli.here import scene_names
from scalarviz.lessons import lessons
from scalarviz.lessons.opening import scene_of

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "CONTRIBUTING.md", "docs", "notebooks", "benchmarks",
          "scenes", "scalarviz", "setup.cfg")  # fmt: skip
"""What pages show or link to; a file that is no page can be downloaded from the site."""
PAGES = ("docs/scenes", "docs/window", "docs/sharing", "docs/python", "docs/notebooks", "docs/lessons",
         "docs/lesson-plans", "docs/files", "docs/onnx", "docs/watching", "docs/sweeps", "docs/clusters", "docs/gpu",
         "docs/figures", "docs/help", "benchmarks/README", "CHANGELOG",
         "CONTRIBUTING", "scalarviz/engine/cpu/README", "scalarviz/engine/cuda/README")  # fmt: skip
LIVE = re.compile(r'sv\.lesson\("(\d+)"')
LESSON_STEPS, FRAMES = 600, 300
RECORDED = (
    "On this page the scene is a recording: it plays, and a click on a cube looks into it. To train it, to set its "
    "learning rate and to go into a step, take the notebook: <code>scalarviz lessons course</code>."
)


def main() -> int:
    """Build it; the exit code."""
    arguments = asked()
    with tempfile.TemporaryDirectory() as made:
        source, players = Path(made) / "source", Path(made) / "players"
        gather(source)
        record(players / "play", arguments.scenes, arguments.steps)
        play_lessons(source / "notebooks", players / "play", arguments.steps or LESSON_STEPS)
        write_pages(source, arguments.scenes)
        code = sphinx(["-q", "-b", "html", "-W", "--keep-going", "-c", str(ROOT / "docs" / "site"),
                       "-D", f"html_extra_path={players}", str(source), str(arguments.folder)])  # fmt: skip
    if not code:
        shutil.copy(arguments.folder / "README.html", arguments.folder / "index.html")
        print(f"wrote {arguments.folder / 'index.html'}")
    return code


def asked() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description="Build the static site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--scenes", type=lambda text: text.split(","), default=list(scene_names()))
    parser.add_argument("--steps", type=int, help="of each scene's run; default: the scene's own")
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
    """Let every scene learn, and write its player."""
    folder.mkdir(parents=True)
    for name in scenes:
        command = [sys.executable, "-m", "scalarviz", name, "--headless", "--html", str(folder / f"{name}.html")]
        subprocess.run([*command, *(() if steps is None else ("--steps", str(steps)))], check=True)


def play_lessons(notebooks: Path, folder: Path, steps: int) -> None:
    """Let the scene of every lesson learn, and put its player where the notebook has a picture of the live cell."""
    for path in sorted(notebooks.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            asked = LIVE.match(cell.source)
            if cell.cell_type == "code" and asked is not None:
                name = f"lesson-{asked[1]}"
                scene = scene_of(asked[1])
                with sv.Recording(scene, max(1, steps // FRAMES), gradients=True, updates=True, activations=True,
                                  panels=True) as recording:  # fmt: skip
                    scene.run.step(steps)
                    recording.save_html(folder / f"{name}.html", size=(960, 720))
                player = player_of(f"../play/{name}.html", f"The scene of lesson {asked[1]}, recorded")
                data = {"text/html": f"<p>{RECORDED}</p>{player}"}
                cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
        nbformat.write(notebook, path)


def player_of(address: str, title: str) -> str:
    """A frame that can do nothing but play."""
    return (
        f'<iframe src="{address}" sandbox="allow-scripts" loading="lazy" title="{title}" '
        'style="width:100%;height:640px;border:0"></iframe>'
    )


def write_pages(source: Path, scenes: Iterable[str]) -> None:
    """The pages that no file holds: players, names, and what leads to all pages."""
    players = "\n\n".join(
        f'## {name}\n\n{scene_names()[name]} <a href="play/{name}.html">Alone on a page</a>\n\n'
        + player_of(f"play/{name}.html", f"The scene {name}, recorded")
        for name in scenes
    )
    (source / "players.md").write_text(f"# All scenes, recorded\n\n{players}\n", encoding="utf-8")
    entries = "\n\n".join(f"```{{eval-rst}}\n.. auto{kind_of(name)}:: scalarviz.{name}\n```" for name in sv.__all__)
    (source / "names.md").write_text(f"# The names of scalarviz\n\n{entries}\n", encoding="utf-8")
    course = [f"{one.number} {one.title} <notebooks/{one.notebook.stem}>" for one in lessons()]
    others = [page for page in PAGES if (source / f"{page}.md").is_file()]
    groups = {"See": ["players"], "Lessons": course, "Read": [*others, "names"]}
    home = source / "README.md"
    text = home.read_text(encoding="utf-8")
    trees = (
        "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", f":caption: {caption}", "", *entries, "```"])
        for caption, entries in groups.items()
    )
    home.write_text("\n\n".join([text, *trees]) + "\n", encoding="utf-8")


def kind_of(name: str) -> str:
    """What autodoc calls it."""
    found = getattr(sv, name)
    return "class" if isinstance(found, type) else "module" if type(found).__name__ == "module" else "function"


if __name__ == "__main__":
    sys.exit(main())
