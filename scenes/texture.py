"""A network learns a photograph, place by place, and paints it.

It is told where (x, y), as twelve waves that become finer and finer, and says which colour is there. Without them it
hardly gets beyond a blur: painting scikit-image's astronaut (512 x 512) after 1,000 steps it reaches 19.2 dB with
``--encoding sin`` and 14.3 dB with ``--encoding none`` (a higher peak signal-to-noise ratio is nearer to the picture);
after 5,000, as many as it does by itself, 21.3 dB.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.io import check_picture_name, save_picture
from scalarviz.run import Moment, Story
from scalarviz.run.checks import check_run
from scalarviz.run.panels import HeldBack, LossCurve, Painting, psnr

from ._batch import batch_of
from ._resume import hidden_sizes_in, settings_in
from ._schedule import Plan, follow
from ._texture_command import Start, command_of
from ._texture_epochs import counting, steps_in
from ._texture_live import Studio
from ._texture_net import ENCODINGS, Painter, encoded_count
from ._texture_task import TRANSFORMS, Motif, motif_of, pixel_places
from .options import SamplingFlag, SceneOptions, ScheduleFlag, WholeNumbers, one_of

ADAM = {"adam": (optim.Adam, 0.001)}
PHOTOS = ("cat", "astronaut")
USUAL: Plan = ("decay", None)
PIECE = 2**15  # pixels that are painted together
CURVE = 2000  # of the dashed curve
CLAIMED = 2**14  # pixels, evenly spread, of which the sentence at the end speaks
NEEDS = {"data": "skimage"}


class Options(SceneOptions):
    """The flags of ``scalarviz texture``: each field is one."""

    rare = SceneOptions.rare | {"epochs", "transform", "random_coordinates", "l2", "output"}
    picture: Path | None = Field(
        None, description="what to paint", json_schema_extra={"argument": True, "shown": "a photograph"}
    )
    photo: Annotated[str, one_of(PHOTOS)] = Field(
        "cat",
        description="which of scikit-image's photographs, where no picture is named",
        json_schema_extra={"metavar": "|".join(PHOTOS)},
    )
    steps: int = Field(5000, ge=1, le=10**12, description="training steps")
    epochs: float | None = Field(
        None,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="how often to go through all pixels of the picture, in place of --steps",
        json_schema_extra={"shown": "as many as --steps are"},
    )
    encoding: Annotated[str, one_of(ENCODINGS)] = Field(
        "sin",
        description="how a place is told: as waves (sin and cos, or with straight flanks), or as x and y alone",
        json_schema_extra={"metavar": "|".join(ENCODINGS)},
    )
    frequencies: int = Field(3, ge=1, le=12, description="waves a coordinate; each is twice as fine as the one before")
    hidden: WholeNumbers = Field(
        (64, 64, 64, 64), description="units of the hidden layers",
        json_schema_extra={"metavar": "N,N", "shown": "64,64,64,64"},
    )  # fmt: skip
    transform: Annotated[str, one_of(TRANSFORMS)] = Field(
        "identity",
        description="what is painted: the picture, with x and y exchanged, or its middle enlarged",
        json_schema_extra={"metavar": "|".join(TRANSFORMS)},
    )
    random_coordinates: bool = Field(
        False, description="learn places drawn anew at every step, between the pixels too, instead of the pixels"
    )
    lr: float = Field(ADAM["adam"][1], gt=0, allow_inf_nan=False, description="learning rate of Adam")
    schedule: ScheduleFlag = USUAL
    l2: float = Field(0.0, ge=0, allow_inf_nan=False, description="penalty: so many times the sum of all squares")
    batch: int = Field(1024, ge=1, le=10**7, description="pixels a step")
    sampling: SamplingFlag = "epochs"
    duration: float = Field(
        8, gt=0, le=3600, allow_inf_nan=False, description="seconds that the steps take in the window and in the film"
    )
    output: Path | None = Field(
        None,
        description="after training, write the picture as the network paints it",
        json_schema_extra={"metavar": "FILE", "written": True},
    )


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show.

    Raises
    ------
    InputError, FileFormatError
        For options that contradict each other and files that cannot be used; before anything is written.
    MissingDependencyError
        No picture was named, and the photograph is not installed.
    """
    if options.picture is not None:
        options.refuse(["photo"], f"{options.picture} is painted; leave one of the two out")
    if options.encoding == "none":
        options.refuse(["frequencies"], "--encoding none has no waves")
    if options.output:
        check_picture_name(options.output)
    if options.epochs is not None and options.given("steps"):
        raise InputError("--steps and --epochs both say how long it lasts; give one of them")
    options, notes = _resumed(options), list[str]()
    motif = motif_of(options, notes)
    high, wide = motif.rgb.shape[:2]
    sizes = (encoded_count(options.encoding, options.frequencies), *options.hidden, 3)
    weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
    check_run(weights, options.dtype, len(optim.Adam.state), options.engine)
    net = Painter(options.hidden, options.encoding, options.frequencies)
    net.initialize(nn.init.kaiming_uniform(), seed=options.seed)
    studio = Studio(motif, options.seed if options.random_coordinates else None)
    inputs, targets = studio.data(motif)
    batch = batch_of(options, len(inputs), "pixel", notes)
    if options.epochs is not None:
        options = options.model_copy(update={"steps": steps_in(options.epochs, motif.pixels, batch)})
    adam = optim.Adam(net.parameters(), lr=options.lr)
    follow(options.schedule, adam, options.steps)
    run = sv.Run(
        net,
        nn.MSELoss(),
        adam,
        data=(inputs, targets),
        batch_size=batch,
        sampling=options.sampling,
        l2=options.l2,
        **options.of_run,
    )
    middle = np.array([[0.5, 0.5]], np.float32)
    painting = Painting(studio, (high, wide), other=studio.other, epochs=counting(studio, batch))
    return sv.Scene(
        name="texture",
        run=run,
        probe=middle[0],
        probe_target=motif.at(middle)[0],
        input_names=("x", "y"),
        output_names=("r", "g", "b"),
        panels=(painting, LossCurve("batch", _all_over(studio))),
        notes=notes,
        controls=(studio.control,),
        command=partial(command_of, studio, Start.of(run), Options.model_construct()),
        options=options,
        story=Story("They should paint a photograph." if options.picture is None else "They should paint a picture.",
                    f"{weights:,} weights, {high * wide:,} pixels.", partial(_claim, studio=studio)),
    )  # fmt: skip


def _all_over(studio: Studio) -> HeldBack:
    """The loss of pixels that are evenly spread: that of a batch jumps."""

    def samples(moment: Moment) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        motif = studio.motif(moment.frame.data)
        some = np.unique(np.linspace(0, len(motif.places) - 1, CURVE).astype(int))
        return motif.places[some], motif.wanted.reshape(-1, 3)[some]

    return HeldBack(f"{CURVE:,} pixels", samples, headline=False)


def _claim(moment: Moment, *, studio: Studio) -> str:
    """How near they have come, at pixels that are evenly spread."""
    wanted = studio(moment)
    some = np.unique(np.linspace(0, wanted[..., 0].size - 1, CLAIMED).astype(int))
    places = pixel_places(*wanted.shape[:2])[some]
    near = psnr(moment.predict(places), wanted.reshape(-1, 3)[some])
    return f"They now paint it at {near:.1f} dB." if np.isfinite(near) else ""


def painted(run: sv.Run, motif: Motif) -> NDArray[np.float32]:
    """What the network makes of every pixel, shape (H, W, 3)."""
    places = motif.places
    rows = [run.predict(places[k : k + PIECE]) for k in range(0, len(places), PIECE)]
    return np.concatenate(rows).reshape(motif.rgb.shape).astype(np.float32)


def report(scene: sv.Scene) -> dict[str, float]:
    """What the last line and the JSON say beyond what they say of every scene: the ratio of all pixels, in dB."""
    motif = _studio(scene).motif(scene.run.frame().data)
    return {"psnr": psnr(painted(scene.run, motif), motif.wanted)}


def finish(scene: sv.Scene, options: Options) -> list[Path]:
    """Write what the options ask for beyond pictures of the network; returns the files."""
    if options.output is None:
        return []
    save_picture(options.output, painted(scene.run, _studio(scene).motif(scene.run.frame().data)))
    return [options.output]


def _studio(scene: sv.Scene) -> Studio:
    return next(p.wanted for p in scene.panels if isinstance(p, Painting) and isinstance(p.wanted, Studio))


def _resumed(options: Options) -> Options:
    """With ``--load``: the file's architecture, and its settings for flags that were not given."""
    if options.load is None:
        return options
    hidden = hidden_sizes_in(options.load, encoded_count(options.encoding, options.frequencies), 3)
    if options.given("hidden") and options.hidden != hidden:
        said, held = (",".join(map(str, sizes)) or "none" for sizes in (options.hidden, hidden))
        raise InputError(f"--hidden {said} contradicts {options.load}, whose hidden layers are: {held}")
    settings = {k: v for k, v in settings_in(options.load, ADAM).items() if k != "optimizer" and not options.given(k)}
    return options.model_copy(update={"hidden": hidden, **settings})
