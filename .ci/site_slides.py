"""Slides of a lesson, as one page that plays without a network; the site has them. Folded cells are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import nbformat
from make_notebooks import slide_type
from nbconvert import SlidesExporter

REVEAL = resources.files("sphinx_revealjs") / "_static/revealjs/dist"
"""The files of reveal.js, from a package that installs them."""
TEMPLATE = """
{%- extends 'index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_css -%}
<style>
.reveal .slides section { text-align: left; padding: 0 0 40px; }
.reveal { --jp-code-font-size: 15px; --jp-code-line-height: 1.4; }
.reveal h1, .reveal h2 { text-transform: none !important; }
.reveal figure.address { float: right; width: 180px; margin: 0 0 20px 20px; }
.reveal figure.address figcaption { font-size: 12px; overflow-wrap: anywhere; }
.reveal iframe { width: 960px; height: 600px; border: 0; }
.reveal .jp-InputPrompt, .reveal .jp-OutputPrompt { display: none; }
</style>
{%- endblock -%}
{%- block footer_js -%}
<script>REVEAL_JS</script>
<script>
const height = 700;
const look = { slideNumber: "c/t", transition: "none", width: 1120, height, margin: 0.02, center: false };
Reveal.initialize({ hash: true, ...look });
Reveal.on("slidechanged", fit);
Reveal.on("ready", fit);
function fit({ currentSlide: slide }) {  // what is higher than the screen becomes smaller
  slide.style.zoom = 1;
  slide.style.zoom = Math.min(1, height / slide.scrollHeight);
}
</script>
{%- endblock -%}
"""
LINES, PICTURE = 28, 16 * "\n"
"""Lines on a slide, and what a picture takes of them."""
LINK = re.compile(r'<link href="reveal/dist/([\w./-]+)"[^>]*>')
FONT = re.compile(r"@import url\([^)]*\);")
"""A theme's fonts, which are files of their own; without them the browser's own are used."""


def file(name: str) -> str:
    """The text of a file of reveal.js."""
    return REVEAL.joinpath(name).read_text(encoding="utf-8")


def lines_of(cell: nbformat.NotebookNode) -> int:
    """About how many lines a cell takes on a slide, with its outputs."""
    if cell.cell_type == "markdown":
        return sum(3 if line.startswith("#") else 1 for line in cell.source.splitlines())
    return 2 + sum(text.count("\n") + 1 for text in (cell.source, *map(shown, cell.outputs)))


def shown(output: nbformat.NotebookNode) -> str:
    """The text of an output, or as many lines as its picture or its page takes."""
    data = output.get("data", {})
    framed = re.search("<(img|iframe) ", data.get("text/html", ""))
    return PICTURE if framed else output.get("text") or data.get("text/plain", "")


def divide(cells: list[nbformat.NotebookNode]) -> Iterator[nbformat.NotebookNode]:
    """Yield the cells with their places: a headline begins a slide, and so does what the last one has no room for.

    Text with a headline inside becomes two cells. Text is on one slide with the code behind it, if both have room.
    """
    parts = [part for cell in cells for part in parts_of(cell) if slide_type(part) != "skip"]
    room = 0
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        kind, lines = slide_type(part), lines_of(part)
        needs = lines
        if part.cell_type == "markdown" and after is not None and slide_type(after) == "-":
            both = lines + lines_of(after)
            needs = both if both <= LINES else lines
        if kind != "slide":
            kind = "-" if needs <= room else "subslide"
        room = (room if kind == "-" else LINES) - lines
        part.metadata["slideshow"] = {"slide_type": kind}
        yield part


def parts_of(cell: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    """Yield a cell, or text with a headline inside as two."""
    sources = re.split(r"\n(?=## )", cell.source) if cell.cell_type == "markdown" else [cell.source]
    for number, source in enumerate(sources):
        yield nbformat.from_dict({**cell, "source": source, "id": f"{cell.id}-{number}"})


def slides_of(notebook: nbformat.NotebookNode) -> str:
    """The slides of a notebook as one page."""
    title = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
    slides = nbformat.v4.new_notebook(cells=[*divide(notebook.cells)], metadata=notebook.metadata)
    exporter = SlidesExporter(raw_template=TEMPLATE, reveal_url_prefix="reveal", reveal_theme="white")
    page, _ = exporter.from_notebook_node(slides, {"metadata": {"name": title}})
    page = LINK.sub(lambda found: f"<style>{FONT.sub('', file(found[1]))}</style>", page)
    return page.replace("REVEAL_JS", file("reveal.js"))
