"""`--recording` and `--html`: record a run while it trains, and close the file however the run ends."""

from __future__ import annotations

import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ..contexts import Closing
from ..errors import ScalarvizError
from ..io import check_target
from ..run.sources.recording.file import check_new
from .console import fail, say
from .stop import StopSignals

if TYPE_CHECKING:
    from ..run.scene.scene import Scene
    from ..run.sources.recording import recorded
    from ..view.page.recording import Comparison, Recorded, Recording


PAGE_FRAMES, FEWEST = 300, 24
"""Frames of a page beside its first, without ``--every``; `FEWEST` for very many weights."""
NUMBERS = 20_000_000
"""Most values of weights in such a page, unless that leaves fewer than `FEWEST` frames."""
UNHEARD = ("paused", "fps", "duration", "cmap")
"""Flags of windows, films and pictures."""


def check_page(options: Any, *, alone: bool) -> None:
    """Refuse a page that cannot be written, or a flag that a page ignores, before the network is built.

    `alone`: nothing else is shown or drawn.
    """
    if not options.html:
        options.refuse(["open", "html_data"], "no page is written; add --html run.html")
    else:
        check_target(options.html)
        if alone:
            options.refuse(UNHEARD, "a page has its own pace and colour map, and no other picture is drawn")


def frames_of(weights: int) -> int:
    """Return the number of frames of a page beside its first, for a number of weights."""
    return max(FEWEST, min(PAGE_FRAMES, NUMBERS // max(weights, 1)))


def write_page(
    recording: Recording | Recorded | Comparison, options: Any, name: str, weights: int, count: int = 0
) -> bool:
    """Write the page of a recording of `count` frames, or of two, and print its name; return whether that succeeded."""
    most = frames_of(weights) + 1
    say(f"{name}: drawing {options.html}")  # which takes longer than most trainings
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            how = {"theme": options.theme, "presenter": options.presenter, "size": options.size, "title": name}
            how["open"] = getattr(options, "open", None)
            if hasattr(options, "html_data"):  # a watched network trains elsewhere
                how["data_limit"] = round(options.html_data * 1e6)
            path = recording.save_html(options.html, frames=most, **how)
        except ScalarvizError as error:
            fail(str(error))
            return False
    say(f"wrote {path}" + (f" with {most} of the {count:,} recorded frames" if count > most else ""))
    for warning in told:
        say(str(warning.message))
    return True


FRAMES = 1000
"""Frames of a recording without ``--every``."""
SMALL = 10_000
"""Most weights for which gradients and updates are recorded as well as values, and most numbers in the probe's rows."""


def check_recording(options: Any, *, alone: bool) -> None:
    """Refuse a recording that cannot be written, or --every without one, before the network is built.

    `alone`: nothing else is shown or drawn.
    """
    check_page(options, alone=alone)
    if options.recording:
        check_new(options.recording)
    elif not options.html:
        options.refuse(["every"], "nothing is recorded; add --recording run.svz")


def begin_recording(scene: Scene, options: Any) -> Recording | None:
    """Return the recording of a run, or None if none is asked for."""
    if not (options.recording or options.html):
        return None
    from ..view.page.recording import Recording

    wanted = FRAMES if options.recording else frames_of(scene.run.n_weights)
    every = options.every or max(1, -(-options.steps // wanted))
    more, rows = (count <= SMALL for count in (scene.run.n_weights, sum(stage.outputs for stage in scene.run.stages)))
    parts = {"gradients": more, "updates": more, "activations": rows}
    recording = Recording(scene, every, path=options.recording, **parts)
    recording.tell = lambda line: say(f"{scene.name}: {line}")
    steps = "every step" if every == 1 else f"every {every:,} steps"
    kept = "".join(["values", *[", gradients, updates"] * more, *[" and the probe's rows"] * rows])
    say(f"{scene.name}: {options.recording or options.html} records {steps}: {kept}")
    return recording


def held_data(record: recorded.Recorded) -> str:
    """Return words for the training data in a recording, or why there is none, for the end of a line."""
    samples, size = record.stored_data
    if samples:
        return f"; it holds the training data ({samples:,} sample{'s' * (samples > 1)}, {size / 1000:,.0f} kB)"
    return f"; its steps do not open: {record.why_closed}" if record.why_closed else ""


class RunRecording(Closing):
    """The recording of one run, if any; a context manager.

    No signal interrupts its closing. The second one leaves out a page, which takes longer; an old one stays.
    """

    def __init__(self, name: str, weights: int, recording: Recording | None, options: Any, stop: StopSignals) -> None:
        self._name, self._weights, self._recording = name, weights, recording
        self._failed, self._options, self._stop = False, options, stop

    def close(self) -> None:
        """Close the file and print its name; a second call does nothing."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        with self._stop.protect_writing():
            try:
                recording.close()
            except ScalarvizError as error:
                self._failed = True
                fail(str(error))
                return
            if recording.trouble:
                self._failed = True
                fail(f"{recording.path.name} is incomplete: it does not hold the whole run")  # why was printed then
            elif self._options.recording:
                thinned = f" (thinned to every {recording.every:,} steps)" if recording.thinned else ""
                with closing(recording.read()) as record:
                    say(f"wrote {self._options.recording}{thinned}{held_data(record)}")
        if not self._options.html:
            return
        try:
            with closing(recording.read()) as record:
                count = len(record)
            self._failed |= not write_page(recording, self._options, self._name, self._weights, count)
        except KeyboardInterrupt:
            fail(f"{self._options.html} was not written: {self._stop.word} again")

    def code(self, code: int) -> int:
        """Return the exit code of the run, or 2 if its recording is incomplete, or that of a signal since."""
        return 2 if self._failed else code or self._stop.code
