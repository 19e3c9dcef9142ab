"""A network learns a photograph, place by place, and paints it.

It is told where (x, y), as twelve waves that become finer and finer, and says which colour is there. Without them it
hardly gets beyond a blur: painting scikit-image's astronaut (512 x 512) after 1,000 steps it reaches 19.2 dB with
``--encoding sin`` and 14.3 dB with ``--encoding none`` (a higher peak signal-to-noise ratio is nearer to the picture);
after 5,000, as many as it does by itself, 21.3 dB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn
from scalarviz.data.places import TRANSFORMS, Colours, Motif, Places
from scalarviz.engine.data import Data
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.io import Picture, check_picture_name, example_photo, load_picture, save_picture, shrink
from scalarviz.run import Moment, Story
from scalarviz.run.controls import Reader
from scalarviz.run.edits import Edit, Refill, SetTargets
from scalarviz.run.edits.base import Names, numbered
from scalarviz.run.panels import HeldBack, LossCurve, Painting, psnr
from scalarviz.run.scene.scene import OwnFlags

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, WholeNumbers, flag, one_of

# ---- The network and how it is told a place: as waves that become finer and finer.


Row = list[sv.Value]
Wave = Callable[[sv.Value, int], Row]

SLOPE = 0.01
"""Of the leaky rectifiers below 0."""


def sines(x: sv.Value, k: int) -> Row:
    """Sine and cosine of ``2**k * pi * x``."""
    angle = x * (math.pi * 2**k)
    return [sv.sin(angle), sv.cos(angle)]


def triangles(x: sv.Value, k: int) -> Row:
    """The same waves with straight flanks: 0 and 1 at x = 0, never above 1 or below -1 for x in 0..1."""
    return [_triangle(x - 0.5 ** (k + 1), k), _triangle(x, k)]


def _triangle(x: sv.Value, k: int) -> sv.Value:
    """A wave of straight lines through the peaks of ``cos(2**k * pi * x)``, x in -1..1.

    As ``cos(2 a) = 2 cos(a)**2 - 1`` doubles a frequency, ``2 abs(wave) - 1`` does.
    """
    wave = 1.0 - 2.0 * abs(x)
    for _ in range(k):
        wave = 2.0 * abs(wave) - 1.0
    return wave


ENCODINGS: dict[str, Wave | None] = {"sin": sines, "triangle": triangles, "none": None}
"""By name, the two waves of a coordinate of ``2**k`` half periods."""


def encoded_count(encoding: str, frequencies: int) -> int:
    """How many numbers the first layer gets."""
    return 2 if ENCODINGS[encoding] is None else 4 * frequencies


class Waves(nn.Module):
    """The coordinates of a place as waves, all of x first."""

    stage = "waves"

    def __init__(self, wave: Wave, frequencies: int) -> None:
        self._wave, self._frequencies = wave, frequencies

    def forward(self, x: Row) -> Row:
        """``4 * frequencies`` numbers of two."""
        return [number for c in x for k in range(self._frequencies) for number in self._wave(c, k)]


class Painter(nn.Sequential):
    """From a place (x, y) to its colour: waves of both coordinates, layers with leaky rectifiers, a sigmoid.

    `frequencies` says how often the waves become twice as fine, the first included.
    """

    def __init__(self, hidden: tuple[int, ...], encoding: str, frequencies: int) -> None:
        sizes = (encoded_count(encoding, frequencies), *hidden, 3)
        super().__init__(*kit.chain(sizes, partial(nn.LeakyReLU, SLOPE), nn.Sigmoid()))
        wave = ENCODINGS[encoding]
        self.waves = None if wave is None else Waves(wave, frequencies)

    def forward(self, x: Row) -> Row:
        """The colour of a place."""
        return list(super().forward(x if self.waves is None else self.waves(x)))


Float = NDArray[np.float32]
LEARNT = 2**20
"""Pixels of a picture that is learnt; a larger one is made smaller."""
PHOTOS = ("cat", "astronaut")
PIECE = 2**15  # pixels that are painted together
CURVE = 2000  # of the dashed curve
CLAIMED = 2**14  # pixels, evenly spread, of which the sentence at the end speaks
NEEDS = {"data": "skimage"}
TURNS = "What is painted; the weights stay, so that something new is learnt from something old."


class Options(SceneOptions):
    """The flags of ``scalarviz texture``: each field is one."""

    rates = kit.rates(adam=0.001)
    rare = SceneOptions.rare | {"epochs", "transform", "random_coordinates", "l2", "output"}
    aside = SceneOptions.aside | {"epochs"}
    picture: Path | None = flag("what to paint", None, argument=True, shown="a photograph")
    photo: Annotated[str, one_of(PHOTOS)] = flag(
        "which of scikit-image's photographs, where no picture is named", "cat", metavar=PHOTOS
    )
    steps: Steps = flag("training steps", 5000)
    epochs: float | None = flag(
        "how often to go through all pixels of the picture, in place of --steps", None, gt=0, le=1e9,
        allow_inf_nan=False, shown="as many as --steps are",
    )  # fmt: skip
    encoding: Annotated[str, one_of(ENCODINGS)] = flag(
        "how a place is told: as waves (sin and cos, or with straight flanks), or as x and y alone",
        "sin",
        metavar=ENCODINGS,
    )
    frequencies: int = flag("waves a coordinate; each is twice as fine as the one before", 3, ge=1, le=12)
    hidden: WholeNumbers = flag("units of the hidden layers", (64, 64, 64, 64), metavar="N,N", shown="64,64,64,64")
    transform: Annotated[str, one_of(TRANSFORMS)] = flag(
        "what is painted: the picture, with x and y exchanged, or its middle enlarged", "identity", metavar=TRANSFORMS
    )
    random_coordinates: bool = flag(
        "learn places drawn anew at every step, between the pixels too, instead of the pixels", False
    )
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = ("decay", None)
    l2: float = flag("penalty: so many times the sum of all squares", 0.0, ge=0, allow_inf_nan=False)
    batch: Batch = flag("pixels a step", 1024)
    sampling: SamplingFlag = "epochs"
    duration: float = flag(
        "seconds that the steps take in the window and in the film", 8, gt=0, le=3600, allow_inf_nan=False
    )
    output: Path | None = flag(
        "after training, write the picture as the network paints it", None, metavar="FILE", written=True
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
    options.apart("steps", "epochs")
    encoded, notes = encoded_count(options.encoding, options.frequencies), list[str]()
    options = kit.resumed(options, hidden=partial(kit.hidden_sizes_in, inputs=encoded, outputs=3))
    motif = motif_of(options, notes)
    high, wide = motif.rgb.shape[:2]
    kit.check_memory(options, kit.chain_weights((encoded, *options.hidden, 3)))
    net = Painter(options.hidden, options.encoding, options.frequencies)
    net.initialize(nn.init.kaiming_uniform(), seed=options.seed)
    studio = Studio(motif, options.seed if options.random_coordinates else None)
    inputs, targets = studio.data(motif)
    batch = kit.batch_of(options, len(inputs), "pixel", notes)
    if options.epochs is not None:
        options = options.model_copy(update={"steps": steps_in(options.epochs, motif.pixels, batch)})
    run = kit.train(options, net, nn.MSELoss(), (inputs, targets), batch_size=batch, l2=options.l2)
    middle = np.array([[0.5, 0.5]], np.float32)
    painting = Painting(studio, (high, wide), other=studio.other, epochs=partial(epochs_behind, studio, batch))
    spread = HeldBack(  # the loss of a batch jumps
        f"{CURVE:,} pixels", lambda moment: studio.motif(moment.frame.data).evenly(CURVE), headline=False
    )
    return sv.Scene(
        name="texture",
        run=run,
        probe=middle[0],
        probe_target=motif.at(middle)[0],
        input_names=("x", "y"),
        output_names=("r", "g", "b"),
        panels=(painting, LossCurve("batch", spread)),
        notes=notes,
        controls=(Options.control("transform", "transform", TURNS, value=studio.transform, change=studio.turned),),
        own_flags=OwnFlags(lambda reader: {}, studio.lost, (Turned, Replaced)),
        options=options,
        story=Story("They should paint a photograph." if options.picture is None else "They should paint a picture.",
                    f"{len(run.values):,} weights, {high * wide:,} pixels.", partial(_claim, studio=studio)),
    )  # fmt: skip


def _claim(moment: Moment, *, studio: Studio) -> str:
    """How near they have come, at pixels that are evenly spread."""
    places, wanted = studio.motif(moment.frame.data).evenly(CLAIMED)
    near = psnr(moment.predict(places), wanted)
    return f"They now paint it at {near:.1f} dB." if np.isfinite(near) else ""


def painted(run: sv.Run, motif: Motif) -> NDArray[np.float32]:
    """What the network makes of every pixel, shape (H, W, 3)."""
    colours: Float = kit.in_pieces(run.predict, motif.places, PIECE).reshape(motif.rgb.shape).astype(np.float32)
    return colours


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


def motif_of(options: Options, notes: list[str]) -> Motif:
    """The picture that the options name, or the photograph; `notes` gets what should be said of it."""
    try:
        picture = load_picture(options.picture) if options.picture else example_photo(options.photo)
    except MissingDependencyError as missing:
        raise MissingDependencyError(f"{missing}; or paint a picture of yours: scalarviz texture photo.png") from None
    return Motif(learnt(picture, notes), options.transform)


def learnt(picture: Picture, notes: list[str]) -> Float:
    """The colours of a picture that are learnt, shape (H, W, 3): no more than `LEARNT`, and over white."""
    wide, high = picture.size
    if wide * high > LEARNT:
        picture = shrink(picture, max(1, int(max(wide, high) * (LEARNT / (wide * high)) ** 0.5)))
        notes.append("learning {} x {} of {} x {} pixels".format(*picture.size, wide, high))
    if picture.alpha is None or (picture.alpha == 1).all():
        return picture.rgb
    notes.append("what is transparent is painted white")
    alpha = picture.alpha[..., None]
    return np.asarray(picture.rgb * alpha + (1 - alpha), np.float32)


# ---- Which picture the scene `texture` paints at a moment, and the edits that make it another one.


Numbers = NDArray[np.floating]

COMPARED = 64
"""Samples by which it is known what is painted."""


@dataclass(frozen=True, slots=True, eq=False)
class Turned(SetTargets):
    """The same pixels learn another transform."""

    transform: str = "identity"

    def words(self, name: Names = numbered) -> str:
        """``transform: zoom``."""
        return f"transform: {self.transform}"


@dataclass(frozen=True, slots=True, eq=False)
class Replaced(Refill):
    """Another picture; with a `transform`, other colours for places at random."""

    transform: str = ""

    def words(self, name: Names = numbered) -> str:
        """``another picture``."""
        return f"transform: {self.transform}" if self.transform else "another picture"


class Studio:
    """All that was painted in one scene; what is painted at a moment is read off the data of that moment.

    `motif` is the first one, `seed` that of places at random; without it the middles of the pixels are learnt.
    """

    def __init__(self, motif: Motif, seed: int | None = None) -> None:
        self._motifs = [motif]
        self._places = None if seed is None else Places(seed)
        self._seen: tuple[Data | None, Motif] = None, motif  # the data that was looked at last, and what it is of

        self.first, self.random = motif, seed is not None

    def data(self, motif: Motif) -> tuple[Any, Any]:
        """What a run learns from: inputs and targets."""
        if self._places is not None:
            return self._places, Colours(self._places, motif)
        return motif.places, motif.wanted.reshape(-1, 3)

    def __call__(self, moment: Moment) -> Numbers:
        """What is to be painted at a moment, shape (H, W, 3)."""
        return self.motif(moment.frame.data).wanted

    def motif(self, data: Data | None) -> Motif:
        """What is painted by a run that learns from `data`; None: the first one."""
        seen, motif = self._seen
        if data is not seen:
            motif = self._motifs[0] if data is None else self._found(data)
            self._seen = data, motif
        return motif

    def _found(self, data: Data) -> Motif:
        """The last motif that was made and has the colours of this data."""
        for motif in reversed(self._motifs):
            _, colours = self.data(motif)
            if len(colours) == data.shape[1]:
                some = np.arange(COMPARED) if self.random else _spread(len(colours))
                if np.array_equal(data[2:5, some].T, colours[some]):
                    return motif
        return self._motifs[0]

    def turn(self, motif: Motif, transform: str) -> Edit:
        """Paint the picture of `motif` with another transform."""
        inputs, targets = self.data(self._known(motif.rgb, transform))
        return Replaced(inputs, targets, transform) if self.random else Turned(targets, transform)

    def other(self, picture: Numbers) -> Edit:
        """Paint another picture (H, W, 3), as it is."""
        return Replaced(*self.data(self._known(learnt(Picture(np.asarray(picture, np.float32)), []), "identity")))

    def _known(self, rgb: NDArray[np.float32], transform: str) -> Motif:
        """A motif, which is made once: all edits that lead to it share its arrays."""
        for motif in self._motifs:
            if motif.rgb is rgb and motif.transform == transform:
                return motif
        self._motifs.append(Motif(rgb, transform))
        return self._motifs[-1]

    def lost(self, reader: Reader) -> Iterator[str]:
        """What no flag says: a picture that came later."""
        if self.motif(reader.data).rgb is not self.first.rgb:
            yield "the picture that was opened"

    def transform(self, reader: Reader) -> str:
        """The name of the transform of a moment."""
        return self.motif(reader.data).transform

    def turned(self, transform: str, reader: Reader) -> Edit | None:
        """The edit that paints the picture of a moment with another transform."""
        motif = self.motif(reader.data)
        return None if transform == motif.transform else self.turn(motif, transform)


def _spread(count: int) -> NDArray[np.int64]:
    """Some of `count` samples, evenly spread but not in step with the rows of a picture."""
    return np.unique((np.arange(COMPARED) * 0.618034 % 1 * count).astype(np.int64))


# ---- How often the network has been through its picture, and for how many steps ``--epochs`` asks.
#
# An epoch is the pixels of the picture once: as many whole batches as they fill, the rest sits out. Places at
# random are counted likewise, as many of them as there are pixels.


MOST_STEPS = 10**12


def steps_of(pixels: int, batch: int) -> int:
    """Steps of an epoch."""
    return max(1, pixels // batch)


def steps_in(epochs: float, pixels: int, batch: int) -> int:
    """Steps that so many epochs take, at least one."""
    steps = max(1, round(epochs * steps_of(pixels, batch)))
    if steps > MOST_STEPS:
        raise InputError(f"--epochs {epochs:g} are {steps:,} steps; allowed: at most {MOST_STEPS:,}")
    return steps


def epochs_behind(studio: Studio, batch: int, moment: Moment) -> float:
    """How many epochs of its picture are behind a moment, of a run that began with such a batch."""
    seen, since, pixels, past = 0.0, 0, studio.first.pixels, moment.frame.past
    done = [each for each in past.edits if each.step < moment.frame.step] if past else []
    for step, edit in ((each.step, one) for each in done for one in getattr(each.edit, "edits", (each.edit,))):
        seen += (step - since) / steps_of(pixels, batch)
        since = step
        if isinstance(edit, Replaced) and not edit.transform:  # another picture: nobody has seen anything of it
            there, pixels, seen = pixels, edit.targets.motif.pixels if studio.random else len(edit.targets), 0.0
            batch = pixels if not studio.random and (batch == there or batch > pixels) else batch
        batch = getattr(edit, "batch_size", None) or batch
    return seen + (moment.frame.step - since) / steps_of(pixels, batch)
