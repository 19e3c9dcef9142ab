"""The options of every scene, from which the command line makes its flags. A scene adds its own in a subclass.

A field has its default, its bounds and its help, see `flag`. Underscores in names become dashes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypedDict, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from scalarviz.engine.problem import SAMPLINGS, Sampling
from scalarviz.engine.table import NAMES as ENGINES
from scalarviz.errors import InputError, listing, shown
from scalarviz.optim import Optimizer, lr_scheduler
from scalarviz.run.controls import Control, Layers, Segments, Slider, Switch
from scalarviz.run.scene.scene import SIDES, extra_of, flag_of

# ---- The flag ``--schedule``: its values, and the schedule that each makes.


StepPlan = tuple[str, int | None]
"""A name in `SCHEDULES`, and the number of steps if one was given."""

TENTH = 0.1
SCHEDULES: dict[str, Callable[[Optimizer, int], Any]] = {
    "constant": lambda optimizer, steps: None,
    "linear": lambda optimizer, steps: lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps),
    "cosine": lambda optimizer, steps: lr_scheduler.SequentialLR(  # down to 0, then constant
        optimizer,
        [lr_scheduler.CosineAnnealingLR(optimizer, steps), lr_scheduler.MultiStepLR(optimizer, [0], 0.0)],
        [steps],
    ),
    "decay": lambda optimizer, steps: lr_scheduler.SequentialLR(  # constant, then down to a tenth, then constant
        optimizer,
        [
            lr_scheduler.LinearLR(optimizer, 1.0, 1.0, total_iters=1),
            lr_scheduler.LinearLR(optimizer, 1.0, TENTH, total_iters=max(1, steps - steps * 3 // 5)),
        ],
        [max(1, steps * 3 // 5)],
    ),
    "cycle": lambda optimizer, steps: lr_scheduler.OneCycleLR(optimizer, optimizer.lr, steps),
    "step": lambda optimizer, steps: lr_scheduler.StepLR(optimizer, steps, TENTH),
    "plateau": lambda optimizer, steps: lr_scheduler.ReduceLROnPlateau(optimizer, factor=TENTH, every=steps),
}
MOST = 10**12


def parse_schedule(value: str) -> Any:
    """``cosine:1000`` as ("cosine", 1000), ``cosine`` as ("cosine", None)."""
    match = re.fullmatch(r"([a-z]+)(?::([0-9]{1,13}))?", value.strip())
    if match is None or match[1] not in SCHEDULES or not 1 <= int(match[2] or 1) <= MOST:
        raise InputError(f"got {value[:80]!r}; allowed: {listing(SCHEDULES)}; examples: cosine, cosine:1000")
    if match[1] == "constant" and match[2]:
        raise InputError(f"got {value!r}; 'constant' takes no number of steps")
    if match[1] in ("step", "plateau") and not match[2]:
        raise InputError(f"{match[1]!r} needs a number of steps, such as {match[1]}:1000")
    return match[1], None if match[2] is None else int(match[2])


def follow(plan: StepPlan | None, optimizer: Optimizer, steps: int) -> None:
    """Make the learning rates of `optimizer` follow a plan, over `steps` if the plan has no number of its own."""
    if plan is not None:
        name, own = plan
        SCHEDULES[name](optimizer, own or steps)


WEIGHTS = ".safetensors"
RECORDING, PAGES = ".svz", (".html", ".htm")


class OfRun(TypedDict):
    """Arguments of :class:`scalarviz.Run` that every scene takes from its flags."""

    seed: int
    engine: str
    dtype: str
    threads: int | None


def parse_size(value: str) -> Any:
    """``1280x720`` as (1280, 720)."""
    match = re.fullmatch(r"(\d{1,5})[xX×](\d{1,5})", value.strip())
    least, most = SIDES
    if not match or not all(least <= int(side) <= most for side in match.groups()):
        allowed = f"width x height, each {least} to {most} pixels, such as 1280x720"
        raise InputError(f"got {shown(value)}; allowed: {allowed}")
    return int(match[1]), int(match[2])


def parse_names(value: str) -> tuple[str, ...]:
    """``x,y`` as ("x", "y"); an empty text as ()."""
    return tuple(part.strip() for part in value.split(",")) if value.strip() else ()


def parse_whole_numbers(value: str, least: int = 1, most: int = 99_999) -> Any:
    """``16,16`` as (16, 16); an empty text as ()."""
    parts = parse_names(value)
    if not all(re.fullmatch("[0-9]{1,9}", part) and least <= int(part) <= most for part in parts):
        allowed = f'whole numbers from {least} to {most}, separated by commas, such as 16,16, or "" for none'
        raise InputError(f"got {shown(value)}; allowed: {allowed}")
    return tuple(int(part) for part in parts)


def of_text(parse: Callable[[str], Any]) -> BeforeValidator:
    """A validator that parses texts, from the command line, and keeps other values, from Python."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


def some_of(names: Iterable[str]) -> AfterValidator:
    """A validator that allows each of `names` at most once; it returns them in the order of `names`."""
    allowed = tuple(names)

    def check(given: tuple[str, ...]) -> tuple[str, ...]:
        if not set(given) <= set(allowed) or len(set(given)) < len(given):
            said = shown(",".join(given))
            raise InputError(f"got {said}; allowed, each at most once and with commas between: {listing(allowed)}")
        return tuple(name for name in allowed if name in given)

    return AfterValidator(check)


def file_ending(*endings: str, what: str, usual: str) -> AfterValidator:
    """A validator for the name of a file to write: it must end in one of `endings`; the error suggests a name."""

    def check(value: Path) -> Path:
        if value.suffix.lower() not in endings:
            stem = value.stem.lstrip(".") if value.suffix else value.name.partition(".")[0]  # "" if only an ending
            raise InputError(f"got '{value}'; {what} written as {listing(endings)}; try {stem or usual}{endings[0]}")
        return value

    return AfterValidator(check)


def _end_of(path: Path) -> str:
    """The path behind links; `Path.resolve` would raise RuntimeError for a circle of links."""
    try:
        return os.path.realpath(path)
    except OSError:  # the working folder is gone; writing the file will report it
        return str(path)


def flag(
    description: str, default: Any = ..., *, name: str = "", choices: Iterable[Any] = (),
    metavar: str | Iterable[str] = "", shown: str = "", argument: bool = False, written: bool = False, **bounds: Any,
) -> Any:  # fmt: skip
    """An option: its help, its default, and bounds as for pydantic's `Field`.

    Parameters
    ----------
    description : str
    default : object
        Without a default, the option is required.
    name : str
        Another name on the command line, such as "--json".
    choices : iterable
        The allowed values.
    metavar : str or iterable of str
        The placeholder of the value in the help: a word, or all allowed words. Default: the choices, or FILE for a
        written file.
    shown : str
        The default as the help prints it.
    argument : bool
        Whether it is an argument, which is typed without a name.
    written : bool
        Whether it is a file that the run writes.
    """
    allowed = tuple(choices)
    metavar = metavar if isinstance(metavar, str) else "|".join(metavar)
    metavar = metavar or "|".join(f"{one:g}" if isinstance(one, float) else str(one) for one in allowed)
    metavar = metavar or ("FILE" if written else "")
    if isinstance(default, tuple) and "," in metavar:
        shown = shown or ",".join(map(str, default)) or "none"
    about = {
        "flag": name, "argument": argument, "metavar": metavar, "shown": shown, "written": written, "choices": allowed,
    }  # fmt: skip
    extra: dict[str, Any] = {what: value for what, value in about.items() if value}
    return Field(default, description=description, json_schema_extra=extra or None, **bounds)


Size = Annotated[tuple[int, int], of_text(parse_size)]
Names = Annotated[tuple[str, ...], of_text(parse_names)]
WholeNumbers = Annotated[tuple[int, ...], of_text(parse_whole_numbers)]
WholeNumbersFrom0 = Annotated[tuple[int, ...], of_text(partial(parse_whole_numbers, least=0, most=999_999_999))]
Steps = Annotated[int, Field(ge=1, le=10**12)]
Batch = Annotated[int, Field(ge=1, le=10**7)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
WeightsFile = Annotated[Path, file_ending(WEIGHTS, what="weights are", usual="weights")]
RecordingFile = Annotated[Path, file_ending(RECORDING, what="recordings are", usual="run")]
PageFile = Annotated[Path, file_ending(*PAGES, what="pages are", usual="run")]
SamplingFlag = Annotated[
    Sampling,
    flag(
        "how a step chooses its samples; epochs: each sample once per epoch, in a new order; replacement: each step "
        "draws from all samples",
        metavar=SAMPLINGS,
    ),
]
ScheduleFlag = Annotated[
    Annotated[StepPlan, of_text(parse_schedule)] | None,
    flag(
        "how the learning rate changes, starting from --lr. linear, cosine: down to 0; decay: constant for three "
        "fifths, then down to a tenth; cycle: from a 25th up to --lr, then down; step:N: multiply it by 0.1 every N "
        "steps; plateau:N: multiply it by 0.1 after ten times N steps without a lower loss. The first four take "
        "--steps, or N steps with linear:N. With --load, the default is the file's schedule",
        metavar="|".join(SCHEDULES) + "[:N]",
    ),
]


class Flags(BaseModel):
    """The flags of a command, with the checks that all of them share."""

    model_config = ConfigDict(extra="forbid")
    rare: ClassVar[frozenset[str]] = frozenset({
        "at", "break_on", "cmap", "dtype", "duration", "engine", "every", "fps", "headless", "html_data", "json_line",
        "open", "recording", "sampling", "schedule", "size", "story", "theme", "threads",
    })  # fmt: skip
    """Fields whose flags only ``--help-all`` shows."""
    aside: ClassVar[frozenset[str]] = frozenset({
        "at", "break_on", "duration", "every", "fps", "headless", "html_data", "json_line", "open", "paused", "size",
        "story",
    })  # fmt: skip
    """Fields that do not change the result: "copy as command" leaves them out, and all written files too."""

    @field_validator("*")
    @classmethod
    def _among_its_choices(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields[str(info.field_name)]
        choices = extra_of(field).get("choices", ())
        if choices and value not in choices:
            given = f"{value:g}" if isinstance(value, float) else shown(value)
            raise InputError(f"got {given}; allowed: {listing(map(str, choices))} ({field.description})")
        return value

    @model_validator(mode="after")
    def _one_name_a_file(self) -> Self:
        """Raise InputError if two flags name one file: the second would replace the first."""
        named: dict[str, str] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if not extra_of(field).get("written") or value is None:
                continue
            flag = "--" + name.replace("_", "-")
            for path in value if isinstance(value, list) else [value]:
                end = _end_of(path)
                if end in named:
                    first = named[end]
                    raise InputError(f"{first} and {flag} both write {path}; give two different files")
                named[end] = flag
        return self

    def given(self, name: str) -> bool:
        """Whether the caller set this option; False if it has its default."""
        return name in self.model_fields_set

    @classmethod
    def control(cls, name: str, label: str, does: str, **more: Any) -> Control:
        """The control of an option, with the flag, the default and the limits of its field.

        A bool becomes a switch, choices become segments, bounds a slider, a tuple of whole numbers layers.

        Parameters
        ----------
        name : str
            Name of the field.
        label, does : str
        **more
            ``value`` and ``change`` of :class:`~scalarviz.run.controls.Control`; others replace those of the field.

        Raises
        ------
        InputError
            There is no such option, or a slider has no bounds.
        """
        if name not in cls.model_fields:
            raise InputError(f"got the option {shown(name)}; allowed: {listing(cls.model_fields)}")
        field = cls.model_fields[name]
        usual, flag = field.default, flag_of(name, field)
        literal = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
        choices = literal or extra_of(field).get("choices", ())
        if isinstance(usual, bool):
            return Switch(label, flag, does, **more)
        if isinstance(usual, tuple):
            return Layers(label, flag, does, **more)
        if choices:
            return Segments(label, flag, does, **{"choices": choices, **more})
        ends = {"least": "ge", "most": "le"}
        known = {end: getattr(one, at) for one in field.metadata for end, at in ends.items() if hasattr(one, at)}
        given = {"usual": usual, "whole": isinstance(usual, int), **known, **more}
        if not ends.keys() <= given.keys():
            raise InputError(f"{flag} has no bounds for a slider; give least= and most=")
        return Slider(label, flag, does, **given)

    def together(self, *names: str) -> None:
        """Raise InputError if some of these are given and others are not."""
        missing = [name for name in names if not self.given(name)]
        if 0 < len(missing) < len(names):
            raise InputError(f"{self._flags(names)} belong together; {self._flags(missing)} is missing")

    def apart(self, *names: str) -> None:
        """Raise InputError if more than one of these is given."""
        given = [name for name in names if self.given(name)]
        if len(given) > 1:
            raise InputError(f"{self._flags(given)} cannot be combined; give one of them")

    def _flags(self, names: Iterable[str]) -> str:
        """The flags as a user types them: ``--source and --graded``."""
        return " and ".join(flag_of(name, type(self).model_fields[name]) for name in names)

    def refuse(self, names: Iterable[str], because: str) -> None:
        """Refuse flags that would have no effect.

        Raises
        ------
        InputError
            One of them was given.
        """
        for name in filter(self.given, names):
            raise InputError(f"{self._flags([name])} has no effect: {because}")


class SceneOptions(Flags):
    """The options that every scene has."""

    rates: ClassVar[Mapping[str, float]] = {}
    """The optimisers of the scene, by their names for ``--optimizer``, each with its default learning rate."""
    steps: Steps = flag("training steps", 3000)
    seed: int = flag("seed of all random numbers: weights, data, order of samples", 0, ge=0, lt=2**64)
    engine: str = flag(  # checked by the Run, which also knows "cuda:1"
        "engine that computes; auto: a GPU for long steps, otherwise numba, or numpy if numba is not installed",
        "auto",
        metavar=ENGINES,
    )
    dtype: Literal["float16", "float32", "float64"] = flag("number format of the weights", "float32")
    threads: int | None = flag(
        "the most threads that numba uses", None, ge=1, le=1024,
        shown="1; with --headless: one per processor",
    )  # fmt: skip
    headless: bool = flag("open no window and make no film; write only the files that you name", False)
    out: list[Path] = flag(
        "write this picture (.png, .svg) or film (.mp4, .gif) instead of opening a window; may be repeated", [],
        shown="a window; without a display, out/SCENE.mp4 and .png", written=True,
    )  # fmt: skip
    break_on: list[str] = flag(
        'stop when a condition becomes true, such as "grad > 10", "loss < 0.01", "nan" or '
        '"0.weight[2][1] crosses 0"; may be repeated. A window pauses; without a window, the command writes its '
        "files and exits with code 3", [], name="--break", metavar="CONDITION",
    )  # fmt: skip
    at: int | None = flag(
        "the step that a picture shows; with --story step, the film shows the step after it", None, ge=0,
        le=10**15, metavar="STEP",
        shown="the last one",
    )  # fmt: skip
    story: Literal["training", "step", "short"] = flag(
        "content of a film: the training; the micro-steps of the step after --at; or, in 20 seconds, the purpose, one "
        "weight in one step, the training and the result",
        "training",
    )
    duration: float = flag(
        "seconds for all steps in the window and in the film", 20, gt=0, le=3600, allow_inf_nan=False
    )
    fps: int = flag("frames per second of the film", 30, ge=1, le=240)
    paused: bool = flag("wait for the Space key; otherwise the run starts after 4 s without input", False)
    size: Size = flag("size of window, film and picture in pixels", (1280, 720))
    theme: Literal["dark", "light"] = flag("colours of the background and of texts", "dark")
    presenter: bool = flag("for a projector: large text, no details, readable layer names; shows pressed keys", False)
    cmap: str = flag("colour map of the cubes: weight, grey (brightness = value), or any map of vispy", "weight")
    save: WeightsFile | None = flag(
        f"write the weights ({WEIGHTS}) at the end, or when the window is closed", None, written=True
    )
    recording: RecordingFile | None = flag(
        f"record the run in a new file ({RECORDING}) for scalarviz replay", None, written=True
    )
    every: int | None = flag(
        "steps from one frame of the recording to the next", None, ge=1, le=10**12, metavar="STEPS",
        shown="chosen to make about 1,000 frames of --steps, or 300 for a page",
    )  # fmt: skip
    open: WholeNumbersFrom0 | None = flag(
        "steps after which the page opens the next one: the keys . and , go through its products, sums and gradients",
        None, metavar="N,N,...", shown="the first, the last, and the one before the largest fall of the loss",
    )  # fmt: skip
    html: PageFile | None = flag(
        "write the run as one page (.html); it plays in any browser, without Python and offline", None, written=True
    )
    html_data: float = flag(
        "the most megabytes of training data in the page; above it, the page plays but does not train on; 0: none",
        4, ge=0, le=1000, allow_inf_nan=False, metavar="MB",
    )  # fmt: skip
    load: Path | None = flag("continue from a file (.safetensors), with its weights and its step", None, metavar="FILE")
    json_line: bool = flag("print one line of JSON at the end", False, name="--json")

    @property
    def of_run(self) -> OfRun:
        """The arguments of the run that the flags set, for ``sv.Run(..., **options.of_run)``.

        Without ``--threads``, a run with a picture gets one thread, a headless run one per processor.
        """
        threads = self.threads if self.threads or self.headless else 1
        return OfRun(seed=self.seed, engine=self.engine, dtype=self.dtype, threads=threads)

    def kept(self, names: Iterable[str]) -> list[str]:
        """The names whose flags were given; these replace what a file has."""
        return [name for name in names if self.given(name)]
