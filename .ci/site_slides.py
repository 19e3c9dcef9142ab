"""Slides of a lesson, as one page that plays without a network; the site has them. Folded cells are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import nbformat
from make_notebooks import slide_type
from nbconvert import SlidesExporter
from traitlets.config import Config

REVEAL = resources.files("sphinx_revealjs") / "_static/revealjs/dist"
"""The files of reveal.js, from a package that installs them."""
TEMPLATE = """
{%- extends 'index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_css -%}
<style>
.reveal { --jp-content-font-size1: 30px; --jp-code-font-size: 24px; --jp-code-line-height: 1.35; }
.reveal .slides section { text-align: left; padding: 0; }
.reveal .slides section section { padding: 12px 30px 0; box-sizing: border-box; }
.reveal .jp-Cell :is(.jp-InputArea, .jp-InputArea-editor, .jp-OutputArea-child) { display: block; }
.reveal .jp-Cell * { box-sizing: border-box; }
.reveal .jp-Cell :is(.jp-InputArea, .jp-OutputArea) { flex: 1; min-width: 0; }
.reveal .jp-Cell :is(.jp-MarkdownOutput, .jp-OutputArea-output) { display: block; padding-right: 0; }
.reveal :is(h1, h2, h3) { text-transform: none !important; }
.reveal .slides pre { width: auto; margin: 0; white-space: pre !important; }
.reveal .slide-number { left: 8px; right: auto; }  /* the arrows are on the right */
.reveal .controls { font-size: 5px; }
.reveal figure.address { float: right; width: 210px; margin: 0 0 20px 20px; }
.reveal figure.address figcaption { font-size: 16px; overflow-wrap: anywhere; }
.reveal .slides :is(img, iframe) { max-width: 100%; max-height: none; margin: 0; border: 0; }
.reveal img { width: auto; object-fit: contain; object-position: left; }
.reveal iframe { width: 100%; }
.reveal p:has(+ iframe) { font-size: 15px; margin: 0 0 4px; }  /* for who gives the lesson: the room is the picture's */
.reveal .jp-InputPrompt, .reveal .jp-OutputPrompt { display: none; }
</style>
{%- endblock -%}
{%- block output_group -%}
<div {%- if "PREDICTED" in cell.metadata.tags %} class="fragment" {%- endif -%} >{{ super() }}</div>
{%- endblock -%}
{%- block footer_js -%}
<script>REVEAL_JS</script>
<script>
const width = 1280, height = Math.max(720, width * window.innerHeight / window.innerWidth);  // of all of the screen
const room = height - 48, least = 340;  // below the room are the slide's number and the arrows
Reveal.initialize({ hash: true, slideNumber: "c/t", transition: "none", width, height, margin: 0, center: false });
Reveal.on("slidechanged", fit);
Reveal.on("ready", fit);
window.addEventListener("load", fit);  // then pictures have their sizes
const moves = { PageUp: () => Reveal.prev(), PageDown: () => Reveal.next(), Escape: () => {} };
window.addEventListener("message", ({ data }) => {  // a live cell has no use for a key: the slides have the keys again
  const move = moves[data?.scalarviz];
  if (!move) return;
  document.activeElement.blur();
  window.focus();
  move();
});
function fit() {  // what is larger than the screen becomes smaller; a picture takes the room that is left
  const slide = Reveal.getCurrentSlide(), pictures = [...slide.querySelectorAll("img, iframe")];
  const fits = zoom => {
    slide.style.zoom = zoom;
    for (const one of slide.querySelectorAll("pre")) {
      one.style.zoom = 1;
      one.style.zoom = Math.min(1, one.clientWidth / one.scrollWidth);  // only the code with a long line
    }
    return slide.scrollHeight * zoom <= room;
  };
  for (const one of pictures) one.style.height = `${least}px`;
  let zoom = 1;
  while (!fits(zoom) && zoom > 0.3) zoom -= 0.01;
  const more = (room / zoom - slide.scrollHeight) / pictures.length;
  for (const one of pictures) {
    const most = one.naturalWidth ? one.parentElement.clientWidth / one.naturalWidth * one.naturalHeight : Infinity;
    one.style.height = `${Math.min(least + more, most)}px`;
    const scale = Math.max(1, Reveal.getScale());
    if (one.naturalWidth === undefined) {  // a frame draws as many pixels as the screen has, not as the slide has
      const marginBottom = `${Math.min(least + more, most) * (1 / scale - 1)}px`, width = `${100 * scale}%`;
      Object.assign(one.style, { zoom: scale, width, maxWidth: "none", marginBottom });
      Object.assign(one.style, { transform: `scale(${1 / scale})`, transformOrigin: "0 0" });
    }
  }
}
</script>
{%- endblock -%}
"""
PREDICTED = "predicted"
"""Tag of a cell of which the output comes with the next Space."""
HIDDEN = "remove-input"
"""Tag of a cell of which only the output is shown."""
LINES, EASY, FEW = 28, 20, 7
"""Lines on a slide: at three quarters of their usual size; at this size; and on a slide that is nearly empty."""
LETTERS = 80
"""Letters in a line of text."""
PICTURE = 15 * "\n"
FOLDED = re.compile(r"\s+A\s+small\s+triangle\s+hides.*?You\s+can\s+also\s+do\s+without\.", re.DOTALL)
"""Words about the folded cells, which are on no slide."""
LINK = re.compile(r'<link href="reveal/dist/([\w./-]+)"[^>]*>')
FONT = re.compile(r"@import url\([^)]*\);")
"""A theme's fonts, which are files of their own; without them the browser's own are used."""


def file(name: str) -> str:
    """The text of a file of reveal.js."""
    return REVEAL.joinpath(name).read_text(encoding="utf-8")


def lines_of(cell: nbformat.NotebookNode) -> float:
    """About how many lines of code are as high as a cell on a slide, with its outputs."""
    if cell.cell_type == "markdown":
        texts = re.sub(r"(?s)<figure.*?</figure>|<[^>]+>", "", cell.source).split("\n\n")
        return sum(2.5 if text.startswith("#") else 0.8 + 1.25 * -(-len(text) // LETTERS) for text in texts)
    code = 0 if HIDDEN in cell.metadata.get("tags", ()) else 2 + cell.source.count("\n")
    return code + sum(1 + 0.88 * shown(output).count("\n") for output in cell.outputs)


def shown(output: nbformat.NotebookNode) -> str:
    """The text of an output, or as many lines as its picture takes at least."""
    data = output.get("data", {})
    framed = "<img " in data.get("text/html", "") or any(kind.startswith("image/") for kind in data)
    return PICTURE if framed else output.get("text") or data.get("text/plain", "")


def divide(cells: list[nbformat.NotebookNode]) -> Iterator[nbformat.NotebookNode]:
    """Yield the cells with their places: a headline begins a slide, and so does what the last one has no room for.

    Text with a headline inside becomes two cells. Text is on one slide with the code behind it, if that has room for
    both. A live cell has a slide of its own. After a question to predict, outputs and answer come with the next Space.
    """
    parts = [part for cell in cells for part in parts_of(cell) if slide_type(part) != "skip"]
    full, asks = 0.0, False
    for block in blocks_of(parts):
        lines, kind = sum(map(lines_of, block)), slide_type(block[0])
        if kind != "slide":
            joins = full + lines <= (LINES if min(full, lines) <= FEW else EASY)
            kind = "subslide" if not joins else "fragment" if asks else "-"
        asks = any("**Predict" in part.source for part in block)
        for place, part in enumerate(block):
            alone = HIDDEN in part.metadata.get("tags", ())  # a live cell, or a picture behind its code
            if place:
                kind = "subslide" if alone or full + lines_of(part) > LINES else "-"
            full = lines_of(part) + (0.0 if "slide" in kind else full)
            if live(part):
                full = LINES
            elif asks and not alone:
                part.metadata.tags = [*part.metadata.get("tags", ()), PREDICTED]
            part.metadata["slideshow"] = {"slide_type": kind}
            yield part


def blocks_of(parts: list[nbformat.NotebookNode]) -> Iterator[list[nbformat.NotebookNode]]:
    """Yield text with the code behind it; a headline without text stands above the next one."""
    block = list[nbformat.NotebookNode]()
    for part in parts:
        if part.cell_type == "markdown" and not all(re.fullmatch("#+ .*", one.source) for one in block):
            yield block
            block = []
        block.append(part)
    yield block


def live(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is the page of a scene, which takes all of a slide."""
    return any("<iframe " in output.get("data", {}).get("text/html", "") for output in cell.get("outputs", ()))


def pictured(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell shows a picture."""
    return any(shown(output) == PICTURE for output in cell.get("outputs", ()))


def parts_of(cell: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    """Yield a cell; as two, text with a headline inside, and code and its picture. Exercises have no output."""
    sources = re.split(r"\n(?=## )", cell.source) if cell.cell_type == "markdown" else [cell.source]
    parts = [{**cell, "source": FOLDED.sub("", source)} for source in sources]
    tags = cell.metadata.get("tags", [])
    if any(tag.startswith("exercise") for tag in tags):
        parts[0]["outputs"] = []
    elif pictured(cell) and cell.source.count("\n") > 1:
        parts = [{**cell, "outputs": []}, {**cell, "metadata": {**cell.metadata, "tags": [*tags, HIDDEN]}}]
    for number, part in enumerate(parts):
        yield nbformat.from_dict({**part, "id": f"{cell.id}-{number}"})


def slides_of(notebook: nbformat.NotebookNode) -> str:
    """The slides of a notebook as one page."""
    title = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
    slides = nbformat.v4.new_notebook(cells=[*divide(notebook.cells)], metadata=notebook.metadata)
    asked = {"TagRemovePreprocessor": {"remove_input_tags": {HIDDEN}}}
    exporter = SlidesExporter(
        Config(asked),
        raw_template=TEMPLATE.replace("PREDICTED", PREDICTED),
        reveal_url_prefix="reveal",
        reveal_theme="white",
    )
    page, _ = exporter.from_notebook_node(slides, {"metadata": {"name": title}})
    page = page.replace("#step=0", "#step=0&amp;theme=light")  # as bright as the slides
    page = page.replace("play/lesson-", "play/slide-")  # with the letters of a presenter
    page = LINK.sub(lambda found: f"<style>{FONT.sub('', file(found[1]))}</style>", page)
    return page.replace("REVEAL_JS", file("reveal.js"))
