"""A network learns a photograph and paints it; each pixel is a sample.

The input is a place (x, y), encoded as twelve waves from coarse to fine. The output is the colour there. Without the
waves, the network paints a blur: on scikit-image's astronaut (512 x 512), 1,000 steps reach 19 dB with ``--encoding
sin`` and 14 dB with ``--encoding none`` (peak signal-to-noise ratio; more is better). The default of 5,000 steps
reaches 21 dB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, rng
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.io import Picture, check_picture_name, example_photo, load_picture, save_picture, shrink
from scalarviz.run import Moment, Story
from scalarviz.run.controls import Reader
from scalarviz.run.edits import Change, Edit, Refill
from scalarviz.run.edits.base import Names, numbered
from scalarviz.run.panels import HeldOut, LossCurve, Painting, psnr
from scalarviz.run.scene.scene import OwnFlags

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, WholeNumbers, flag

LEARNT = 2**20  # the most pixels to learn; a larger picture is shrunk
PHOTOS = ("cat", "astronaut")
PIECE = 2**15  # pixels per call of predict
CURVE = 2000  # pixels of the test curve
CLAIMED = 2**14  # pixels, evenly spread, that the sentence at the end measures
MOST_STEPS = 10**12
NEEDS = {"data": "skimage"}
Row = list[sv.Value]
Float = NDArray[np.float32]


# ---- The picture, perhaps transposed or enlarged. A place is (x, y) in 0..1 from the upper left corner.

DRAWN = 2**31
"""Random places before one repeats."""
TRANSFORMS: dict[str, Callable[[Float], Float]] = {
    "identity": lambda places: places,
    "transpose": lambda places: places[:, ::-1],
    "zoom": lambda places: places * np.float32(0.5) + np.float32(0.25),
}
"""The place in the picture where the colour of each place (N, 2) is looked up."""
_STREAM = np.uint64(rng.Stream.USER + 1)


@dataclass(frozen=True, eq=False)
class Motif:
    """A picture (H, W, 3), sRGB in 0..1, and its transform, a name in `TRANSFORMS`."""

    rgb: Float
    transform: str = "identity"

    def colours_at(self, places: Float) -> Float:
        """Return the target colours at places (N, 2), shape (N, 3), interpolated bilinearly."""
        return bilinear(self.rgb, TRANSFORMS[self.transform](places))

    @cached_property
    def target_colours(self) -> Float:
        """The target colour of every pixel, shape (H, W, 3)."""
        if self.transform == "identity":
            return self.rgb
        return self.colours_at(self.places).reshape(self.rgb.shape)

    @cached_property
    def places(self) -> Float:
        """The centres of all pixels, row by row, shape (H * W, 2)."""
        y, x = (((np.arange(n) + 0.5) / n).astype(np.float32) for n in self.rgb.shape[:2])
        return np.stack([np.tile(x, len(y)), np.repeat(y, len(x))], axis=1)

    def samples(self, seed: int | None = None) -> tuple[Float | Places, Float | Colours]:
        """Return the inputs and targets of a run: all pixels, or with a seed random places."""
        if seed is None:
            return self.places, self.target_colours.reshape(-1, 3)
        places = Places(seed)
        return places, Colours(places, self)

    def evenly(self, most: int) -> tuple[Float, Float]:
        """Return evenly spread pixel places (N, 2) and their target colours."""
        some = np.unique(np.linspace(0, len(self.places) - 1, most).astype(int))
        return self.places[some], self.target_colours.reshape(-1, 3)[some]


def bilinear(rgb: Float, places: Float) -> Float:
    """Return bilinear colours (N, 3) of a picture at places (N, 2); the border is repeated outside."""
    high, wide = rgb.shape[:2]
    at = places * np.array([wide, high], np.float32) - np.float32(0.5)
    at = np.clip(at, 0, np.array([wide - 1, high - 1], np.float32))
    first = np.minimum(at.astype(np.int64), np.maximum(np.array([wide - 2, high - 2]), 0))
    share = (at - first).astype(np.float32)
    (column, row), (across, down) = first.T, share.T[..., None]
    right, below = np.minimum(column + 1, wide - 1), np.minimum(row + 1, high - 1)
    upper = rgb[row, column] * (1 - across) + rgb[row, right] * across
    lower = rgb[below, column] * (1 - across) + rgb[below, right] * across
    return np.asarray(upper * (1 - down) + lower * down, np.float32)


class Places:
    """Random places: each is a function of its number and the seed, so that steps can be repeated."""

    def __init__(self, seed: int) -> None:
        self._key = rng.split(seed)

    def __len__(self) -> int:
        return DRAWN

    def __getitem__(self, numbers: slice | NDArray[np.int64]) -> Float:
        """Return places (N, 2) by their numbers."""
        if isinstance(numbers, slice):
            numbers = np.arange(numbers.start or 0, DRAWN if numbers.stop is None else numbers.stop)
        count = numbers.astype(np.uint64)
        words = rng.philox4x32(count & rng.WORD, _STREAM, count >> rng.HALF, np.uint64(0), *self._key)
        return np.stack([rng.unit(*words[:2]), rng.unit(*words[2:])], axis=1).astype(np.float32)


class Colours:
    """The target colours at these places."""

    def __init__(self, places: Places, motif: Motif) -> None:
        self._places, self._motif = places, motif

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, numbers: slice | NDArray[np.int64]) -> Float:
        """Return colours (N, 3) by the numbers of their places."""
        return self._motif.colours_at(self._places[numbers])


# ---- The network, and the encoding of a place as waves from coarse to fine


def sines(x: sv.Value, k: int) -> Row:
    """Sine and cosine of ``2**k * pi * x``."""
    angle = x * (math.pi * 2**k)
    return [sv.sin(angle), sv.cos(angle)]


def triangles(x: sv.Value, k: int) -> Row:
    """The same waves with straight flanks: 0 and 1 at x = 0, and within -1..1 for x in 0..1."""
    return [_triangle(x - 0.5 ** (k + 1), k), _triangle(x, k)]


def _triangle(x: sv.Value, k: int) -> sv.Value:
    """A triangle wave through the peaks of ``cos(2**k * pi * x)``; ``2 abs(wave) - 1`` doubles its frequency."""
    wave = 1.0 - 2.0 * abs(x)
    for _ in range(k):
        wave = 2.0 * abs(wave) - 1.0
    return wave


ENCODINGS: dict[str, Callable[[sv.Value, int], Row] | None] = {"sin": sines, "triangle": triangles, "none": None}


class Waves(nn.Module):
    """A place (x, y) as ``4 * frequencies`` numbers, those of x first."""

    stage = "waves"

    def __init__(self, wave: Callable[[sv.Value, int], Row], frequencies: int) -> None:
        self._wave, self._frequencies = wave, frequencies

    def forward(self, place: Iterable[sv.Value]) -> Row:
        return [number for c in place for k in range(self._frequencies) for number in self._wave(c, k)]


class Painter(nn.Sequential):
    """The network from a place (x, y) to its colour: waves, layers with leaky rectifiers, a sigmoid."""

    def __init__(self, sizes: tuple[int, ...], encoding: str, frequencies: int) -> None:
        wave = ENCODINGS[encoding]
        waves: dict[str, nn.Module] = {} if wave is None else {"waves": Waves(wave, frequencies)}
        layers = kit.chain(sizes, partial(nn.LeakyReLU, 0.01), nn.Sigmoid())
        super().__init__(waves | {str(k): layer for k, layer in enumerate(layers)})


class Options(SceneOptions):
    """The flags of ``scalarviz texture``: each field is one."""

    rates = kit.rates(adam=0.001)
    rare = SceneOptions.rare | {"epochs", "transform", "random_coordinates", "l2", "output"}
    aside = SceneOptions.aside | {"epochs"}
    picture: Path | None = flag("the picture to paint", None, argument=True, shown="a photograph")
    photo: str = flag("photograph of scikit-image, if no picture is given", "cat", choices=PHOTOS)
    steps: Steps = flag("training steps", 5000)
    epochs: float | None = flag(
        "epochs to train, instead of --steps; one epoch uses every pixel once", None, gt=0, le=1e9,
        allow_inf_nan=False, shown="as --steps says",
    )  # fmt: skip
    encoding: str = flag("waves that encode x and y: sines, triangles or none", "sin", choices=ENCODINGS)
    frequencies: int = flag("waves per coordinate; each has twice the frequency of the one before", 3, ge=1, le=12)
    hidden: WholeNumbers = flag("units of the hidden layers", (64, 64, 64, 64), metavar="N,N")
    transform: str = flag(
        "transform of the picture: identity, transpose (x and y swapped), zoom (the middle, enlarged)",
        "identity",
        choices=TRANSFORMS,
    )
    random_coordinates: bool = flag("also train on random positions between the pixels", False)
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = ("decay", None)
    l2: float = flag("penalty on the sum of weight\N{SUPERSCRIPT TWO}", 0.0, ge=0, allow_inf_nan=False)
    batch: Batch = flag("pixels per step", 1024)
    sampling: SamplingFlag = "epochs"
    duration: float = flag("seconds for all steps in the window and in the film", 8, gt=0, le=3600, allow_inf_nan=False)
    output: Path | None = flag("write the painted picture at the end", None, written=True)


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    if options.picture is not None:
        options.refuse(["photo"], f"the network paints {options.picture}; give one of the two")
    if options.encoding == "none":
        options.refuse(["frequencies"], "--encoding none has no waves")
    if options.output:
        check_picture_name(options.output)
    options.apart("steps", "epochs")
    told, notes = 2 if options.encoding == "none" else 4 * options.frequencies, list[str]()
    options = kit.resumed(options, hidden=kit.hidden_in)
    sizes = (told, *options.hidden, 3)
    kit.check_memory(options, kit.chain_weights(sizes))
    net = Painter(sizes, options.encoding, options.frequencies)
    net.initialize(nn.init.kaiming_uniform(), seed=options.seed)
    first = Motif(learnt(picture_of(options), notes), options.transform)
    places = options.seed if options.random_coordinates else None
    data = first.samples(places)
    batch = kit.batch_of(options, len(data[0]), "pixel", notes)
    if options.epochs is not None:
        options = options.model_copy(update={"steps": steps_in(options.epochs, len(first.places), batch)})
    run = kit.train(options, net, nn.MSELoss(), data, about=first, batch_size=batch, l2=options.l2)

    def motif(moment: Moment | Reader) -> Motif:
        return kit.carried(moment.frame.data, first)

    def another(picture: NDArray[Any]) -> Edit:
        return Paint.of(Motif(learnt(Picture(np.asarray(picture, np.float32)), [])), places, "another picture")

    def turned(transform: str, reader: Reader) -> Edit | None:
        now = motif(reader)
        same = transform == now.transform
        return None if same else Paint.of(Motif(now.rgb, transform), places, f"transform: {transform}")

    def layered(hidden: tuple[int, ...], reader: Reader) -> Edit | None:
        made = Painter((told, *hidden, 3), options.encoding, options.frequencies)
        made.initialize(nn.init.kaiming_uniform(), seed=options.seed)
        return Change(model=made)

    def lost(reader: Reader) -> Iterator[str]:
        if motif(reader).rgb is not first.rgb:
            yield "the picture that was opened"

    def claim(moment: Moment) -> str:
        some, wanted = motif(moment).evenly(CLAIMED)
        near = psnr(moment.predict(some), wanted)
        return f"They now paint it at a likeness of {near:.1f} dB (psnr)." if np.isfinite(near) else ""

    high, wide = first.rgb.shape[:2]
    middle = first.places[[high // 2 * wide + wide // 2]]
    spread = HeldOut(f"{CURVE:,} pixels", lambda moment: motif(moment).evenly(CURVE), headline=False)
    epochs = partial(epochs_behind, first, batch, places is None)
    return Gallery(
        name="texture",
        run=run,
        probe=middle[0],
        probe_target=first.colours_at(middle)[0],
        input_names=("x", "y"),
        output_names=("r", "g", "b"),
        panels=(
            Painting(lambda moment: motif(moment).target_colours, (high, wide), other=another, epochs=epochs),
            LossCurve("batch", spread),  # the loss of a batch jumps; that of these pixels is smooth
        ),
        notes=notes,
        controls=(
            Options.control(
                "transform", "transform", "Changes the picture. The weights stay and learn the new one.",
                value=lambda reader: motif(reader).transform, change=turned,
            ),
            Options.control(
                "hidden", "layers", "Units between position and colour. More units paint finer detail.", anew=True,
                value=lambda reader: tuple(s.weight.shape[0] for s in reader.stages if s.weight is not None)[:-1],
                change=layered,
            ),
        ),
        own_flags=OwnFlags(lambda reader: {}, lost, (Paint,)),
        options=options,
        story=Story(f"They learn to paint a {'photograph' if options.picture is None else 'picture'}.",
                    f"{len(run.values):,} weights, {high * wide:,} pixels.", claim),
        first=first,
    )  # fmt: skip


@dataclass(slots=True)
class Gallery(sv.Scene):
    """The scene, with its first picture."""

    first: Motif = field(kw_only=True)

    def painted(self) -> tuple[Float, Motif]:
        """The painted picture, shape (H, W, 3), and the target."""
        motif = kit.carried(self.run.frame().data, self.first)
        colours = kit.in_pieces(self.run.predict, motif.places, PIECE)
        return colours.reshape(motif.rgb.shape).astype(np.float32), motif


def report(scene: Gallery) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON: the PSNR over all pixels, in dB."""
    painted, motif = scene.painted()
    return {"psnr": psnr(painted, motif.target_colours)}


def finish(scene: Gallery, options: Options) -> list[Path]:
    """Write the painted picture; returns the files."""
    if options.output is None:
        return []
    save_picture(options.output, scene.painted()[0])
    return [options.output]


# ---- The picture


@dataclass(frozen=True, slots=True, eq=False)
class Paint(Refill):
    """The edit that gives a run another picture, or another transform of it."""

    about: Motif
    said: str

    @classmethod
    def of(cls, motif: Motif, places: int | None, said: str) -> Paint:
        """The edit that makes a run paint `motif`."""
        return cls(*motif.samples(places), motif, said)

    def words(self, name: Names = numbered) -> str:
        """``transform: zoom``."""
        return self.said


def picture_of(options: Options) -> Picture:
    """The picture that the options name, or the photograph."""
    try:
        return load_picture(options.picture) if options.picture else example_photo(options.photo)
    except MissingDependencyError as missing:
        raise MissingDependencyError(f"{missing}; or paint your own picture: scalarviz texture photo.png") from None


def learnt(picture: Picture, notes: list[str]) -> Float:
    """The colours to learn, shape (H, W, 3): the picture on white, shrunk to at most `LEARNT` pixels."""
    wide, high = picture.size
    if wide * high > LEARNT:
        picture = shrink(picture, max(1, int(max(wide, high) * (LEARNT / (wide * high)) ** 0.5)))
        notes.append("learning {} x {} of {} x {} pixels".format(*picture.size, wide, high))
    if picture.alpha is None or (picture.alpha == 1).all():
        return picture.rgb
    notes.append("transparent pixels become white")
    alpha = picture.alpha[..., None]
    return np.asarray(picture.rgb * alpha + (1 - alpha), np.float32)


# ---- Epochs: the pixels of the picture once, in whole batches


def steps_in(epochs: float, pixels: int, batch: int) -> int:
    """The number of steps in so many epochs, at least one."""
    steps = max(1, round(epochs * max(1, pixels // batch)))
    if steps > MOST_STEPS:
        raise InputError(f"--epochs {epochs:g} means {steps:,} steps; allowed: at most {MOST_STEPS:,}")
    return steps


def epochs_behind(first: Motif, batch: int, all_fit: bool, moment: Moment) -> float:
    """The number of epochs of the present picture up to a moment, for a run that began with this batch size.

    With `all_fit`, a batch never exceeds the picture, and a batch of the whole picture stays one.
    """
    seen, since, motif, past = 0.0, 0, first, moment.frame.past
    done = [each for each in past.edits if each.step < moment.frame.step] if past else []
    for step, edit in ((each.step, one) for each in done for one in getattr(each.edit, "edits", (each.edit,))):
        seen += (step - since) / max(1, len(motif.places) // batch)
        since = step
        if isinstance(edit, Paint):
            new = edit.about
            if new.rgb is not motif.rgb:  # no step has used it yet
                seen = 0.0
            if all_fit:
                batch = len(new.places) if batch == len(motif.places) else min(batch, len(new.places))
            motif = new
        batch = getattr(edit, "batch_size", None) or batch
    return seen + (moment.frame.step - since) / max(1, len(motif.places) // batch)
