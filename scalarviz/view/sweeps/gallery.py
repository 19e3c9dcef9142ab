"""Pictures of runs for a report: what those look like that learnt, and those that are stuck."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...sweep.groups import by_loss, swept
from ...sweep.result import Result
from ..draw.theme import Theme
from .runs import DIVERGED, ENDED, ENDINGS, FAILED, LEARNT, STUCK, Runs, ending_of, let_go, number_text, options_text
from .thumbs import Thumbs

MOST = 40
"""Runs of an ending that are shown, evenly chosen by their loss."""
WIDE, QUALITY = 230, 82
"""Pixels of a picture's width, and its quality as WebP."""
HEADS = {
    LEARNT: "Runs that learnt",
    STUCK: "Runs that are stuck",
    ENDED: "All runs",
    DIVERGED: "Runs that diverged",
    FAILED: "Runs that failed",
}


def galleries(runs: Runs, theme: Theme, say: Callable[[str], object]) -> Iterator[str]:
    """A section for each ending: pictures of its runs from the lowest loss on, or their words where they have none."""
    ordered, names, thumbs = by_loss(runs.results), swept(runs.results), Thumbs(theme)
    for ending in ENDINGS:
        some = [result for result in ordered if ending_of(result) == ending]
        if not some:
            continue
        shown = [some[k] for k in np.unique(np.linspace(0, len(some) - 1, min(MOST, len(some))).round().astype(int))]
        said = f"{len(some):,}" if len(shown) == len(some) else f"{len(shown):,} of {len(some):,}, evenly chosen"
        say(f"report: {HEADS[ending].lower()}: {said}")
        figures = "\n".join(_figure(runs, result, names, thumbs) for result in shown)
        yield f'<section class="gallery"><h2>{HEADS[ending]} ({said})</h2><div>{figures}</div></section>'


def _figure(runs: Runs, result: Result, names: Sequence[str], thumbs: Thumbs) -> str:
    words = f"run {result.number:,}"
    said = number_text(result.loss) if result.state == "done" else f"{result.state}: {result.error}"
    try:
        pictures = "".join(_image(picture, words) for picture in _pictures(runs, result, thumbs))
    except ScalarvizError as error:
        pictures, said = "", f"{said}; no picture: {error}"
    about = ", ".join(filter(None, (options_text(result.options, names), f"seed {result.seed:,}")))
    return f"<figure>{pictures}<figcaption><b>{escape(said)}</b> <span>{escape(about)}</span></figcaption></figure>"


def _pictures(runs: Runs, result: Result, thumbs: Thumbs) -> list[NDArray[np.uint8]]:
    """The panel and the cubes of a run that is done."""
    if result.state != "done":
        return []
    run = runs.standing(result)
    found = [thumbs.panel(run), thumbs.plates(run)]
    let_go(run)
    return [picture for picture in found if picture is not None]


def _image(picture: NDArray[np.uint8], words: str) -> str:
    from PIL import Image

    small = Image.fromarray(picture)
    small.thumbnail((WIDE, 2 * WIDE), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, "WEBP", quality=QUALITY, method=4)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    size = f'width="{small.width}" height="{small.height}"'
    return f'<img alt="{escape(words)}" {size} loading="lazy" src="data:image/webp;base64,{data}">'
