"""Make every ``notebooks/*.ipynb`` from the ``.py`` of the same name: text and code from there, outputs by running it.

Usage: ``python .ci/make_notebooks.py [FOLDER [NAME ...]]``; FOLDER is where the notebooks are written (default: beside
the ``.py``), a NAME is how those begin that are made (``04``; default: all).
"""

from __future__ import annotations

import base64
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from pack_png import packed
from PIL import Image

WIDGET = "application/vnd.jupyter.widget-view+json"
STILL = re.compile(r"scalarviz-still-[0-9a-f]+")
"""A number by chance that the cell's widget finds its picture by; there is no widget in a stored notebook."""
HELD = re.compile(r"data:image/webp;base64,([A-Za-z0-9+/=]+)")
BESIDE = 13
"""Quality of the images for viewers that show no HTML: every number is legible, and a notebook has 300 kB."""
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
"""What other tools go by: without it ``nbconvert --to script`` writes a .txt. No version: that of the Python that
happened to run a notebook belongs in no diff."""
NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def parse(source: Path) -> NotebookNode:
    """The notebook of a percent script, without outputs; the same cell ids every time, so that diffs stay small."""
    notebook: NotebookNode = jupytext.read(source)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
        cell.metadata["slideshow"] = {"slide_type": slide_type(cell)}
    return notebook


def slide_type(cell: NotebookNode) -> str:
    """How a cell goes on in a slide show: a headline begins a slide, other text one below it, code stands with it.

    A folded part is on no slide.
    """
    if cell.cell_type != "markdown":
        return "-"
    if cell.source.startswith("<details>"):
        return "skip"
    return "slide" if cell.source.startswith(("# ", "## ")) else "subslide"


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Run all cells in a fresh kernel with this Python.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell failed.
    """
    client = NotebookClient(
        notebook,
        timeout=600,  # seconds of a cell that never ends; one that compiles on a busy machine does
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # else the outputs would be cut where the kernel was slow
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--IPKernelApp.log_level=40"],
    )
    client.execute()
    notebook.metadata["language_info"] = dict(LANGUAGE)
    # Of what was live its picture stays. The widget would be a dead number, and its state holds the whole script.
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if WIDGET not in output.get("data", ())]
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                _compress(data)
            elif "image/jpeg" in data:
                _compress_both(data)
            if "text/html" in data:
                data["text/html"] = STILL.sub("scalarviz-still", data["text/html"])


def _compress(data: NotebookNode) -> None:
    """Leave one picture of an output, the PNG, in fewer bytes: Pillow also sends a JPEG, and both in a hurry."""
    data.pop("image/jpeg", None)
    data["image/png"] = base64.b64encode(packed(base64.b64decode(data["image/png"]))).decode()


def _compress_both(data: NotebookNode) -> None:
    """The same of a picture of ours: the HTML keeps its pixels or looks as it did; the image beside it is small."""
    before = HELD.search(data["text/html"])
    if before is None:
        return
    file = base64.b64decode(before[1])
    exact = file[12:16] == b"VP8L"  # a WebP without loss
    image = Image.open(io.BytesIO(packed(file) if exact else file)).convert("RGB")
    if exact:
        written = _encoded(image, "WEBP", lossless=True, quality=100, method=6)
        data["text/html"] = data["text/html"].replace(before[1], written)
    data["image/jpeg"] = _encoded(image, "JPEG", quality=BESIDE, optimize=True, progressive=True)


def _encoded(image: Image.Image, kind: str, **how: object) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return base64.b64encode(buffer.getvalue()).decode()


def made(source: Path, folder: Path) -> NotebookNode:
    """The notebook of a ``.py`` with what its cells give when they are run in `folder`, an empty one."""
    notebook = parse(source)
    # A user's own start-up files and warnings must not change what the notebooks show.
    os.environ.update(IPYTHONDIR=str(folder), JUPYTER_PLATFORM_DIRS="1", PYDEVD_DISABLE_FILE_VALIDATION="1")
    execute(notebook, folder)
    return notebook


def main(target: Path, wanted: tuple[str, ...]) -> None:
    """Write the notebooks whose names begin like one of `wanted` into `target`."""
    with tempfile.TemporaryDirectory() as empty:
        for source in sorted(NOTEBOOKS.glob("*.py")):
            if source.name.startswith(wanted):
                nbformat.write(made(source, Path(empty)), target / f"{source.stem}.ipynb")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOKS, tuple(sys.argv[2:]) or ("",))
