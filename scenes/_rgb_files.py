"""What the scene `rgb` writes after training: a picture that went through the network, a LUT of all colours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import InputError
from scalarviz.io import check_lut_name, check_picture_name, load_picture, sample, save_picture, write_cube

if TYPE_CHECKING:
    from scalarviz.run.run import Run

    from .rgb import Options

Colours = NDArray[np.floating]
PIECE = 2**18  # colours that are predicted together


def check_files(options: Options) -> None:
    """Refuse, before anything is trained, what could not be written afterwards.

    Raises
    ------
    InputError, FileFormatError
        Options without each other, names of the wrong kind, a picture that cannot be read.
    """
    if (options.apply is None) != (options.output is None):
        raise InputError("--apply in.png and --output out.png belong together; one is missing")
    if options.apply and options.output:
        check_picture_name(options.output)
        if load_picture(options.apply).alpha is not None and options.output.suffix.lower() in (".jpg", ".jpeg"):
            raise InputError(f"{options.apply} has transparency and JPEG has none; name --output as .png")
    if options.export_lut:
        check_lut_name(options.export_lut)


def write_files(run: Run, options: Options) -> list[Path]:
    """Write what the options ask for; returns the files."""
    written = []
    if options.apply and options.output:
        picture = load_picture(options.apply)
        graded = picture.with_colours(predict_colours(run, picture.pixels))
        save_picture(options.output, graded.rgb, graded.alpha)
        written.append(options.output)
    if options.export_lut:
        title = f"scalarviz rgb, {run.steps} steps"
        write_cube(options.export_lut, sample(lambda colours: predict_colours(run, colours), title=title))
        written.append(options.export_lut)
    return written


def predict_colours(run: Run, colours: Colours) -> Colours:
    """What the network makes of colours, shape (N, 3); in pieces, so that a large picture fits into memory."""
    pieces = [run.predict(colours[i : i + PIECE]) for i in range(0, len(colours), PIECE)]
    return np.concatenate(pieces) if pieces else np.empty((0, 3))
