"""The command line of a moment of the scene `texture`: what is typed to see the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from scalarviz.engine.problem import NO_LIMITS
from scalarviz.run import Run, Stage
from scalarviz.run.controls import Reader
from scalarviz.run.edits import Edit, SetBatchSize, SetLimits, SetOptimizer, SetSampling
from scalarviz.run.run_traveller import seed_shown
from scalarviz.run.sources.run_source import RunSource

from ._command import argument, command, earlier_steps, lost_on_the_way, plain, short
from ._texture_live import Replaced, Studio, Turned

if TYPE_CHECKING:
    from .texture import Options

LASTING = ("linear", "cosine", "decay", "cycle")
"""Schedules that last as long as the run, if they do not say how long."""


@dataclass(frozen=True, slots=True)
class Start:
    """What the flags have made, by which it is known what was changed since.

    Attributes
    ----------
    rate : float
        Of the first step: below that of ``--lr`` where the schedule begins lower.
    rule : tuple
        The optimiser and its numbers but for the rate.
    network : tuple
        Its stages, by kind and size.
    """

    rate: float
    rule: tuple[str, dict[str, Any]]
    network: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, run: Run) -> Self:
        """That of a run that has been made."""
        rule = run.optimizer
        return cls(rule.lr, _rule(type(rule).__name__, rule.hyperparameters()), _network(RunSource(run).stages))


def _rule(name: str, numbers: Any) -> tuple[str, dict[str, Any]]:
    return name, {number: value for number, value in numbers.items() if number != "lr"}


def _network(stages: Sequence[Stage]) -> tuple[tuple[str, int], ...]:
    return tuple((stage.kind, stage.outputs) for stage in stages)


def command_of(studio: Studio, start: Start, usual: Options, reader: Reader) -> str | None:
    """The command that shows a moment again; what it cannot say stands behind a ``#``. None where nothing trains.

    Parameters
    ----------
    studio : Studio
    start : Start
    usual : Options
        What the scene is without flags.
    reader : Reader
    """
    settings = reader.settings
    if settings is None:
        return None
    options: Options = reader.options
    steps = reader.frame.step or options.steps
    flags = {
        "photo": None if options.picture else options.photo,
        "encoding": options.encoding,
        "frequencies": options.frequencies,
        "hidden": ",".join(map(str, options.hidden)),
        "transform": studio.motif(reader.data).transform,
        "random_coordinates": True if options.random_coordinates else None,
        "lr": short(_rate(reader, start.rate, options.lr)),
        "schedule": _schedule(options, steps),
        "l2": short(settings.limits.l2),
        "batch": settings.batch_size,
        "sampling": settings.sampling,
        "seed": options.seed,
        "engine": options.engine,
        "dtype": options.dtype,
        "theme": options.theme,
        "steps": steps,
    }
    words = ["scalarviz", "texture", *([argument(options.picture)] if options.picture else [])]
    lost = list(_lost(studio, start, options, reader))
    return command(words, flags, lambda name: _usual(name, usual), lost)


def _rate(reader: Reader, began: float, lr: float) -> float:
    """What ``--lr`` says: the rate of the first step, unless the schedule begins lower."""
    past, settings = reader.frame.past, reader.settings
    rates = [] if past is None or not reader.frame.step else past.curve.lr[:1].tolist()
    first = rates[0] if rates else float(settings.numbers["lr"]) if settings else lr
    if first == began or lr == began:
        return first if lr == began else lr
    said = first * (lr / began)
    few = float(f"{said:.6g}")
    return few if math.isclose(few, said, rel_tol=1e-15) else said  # 0.03 and not 0.030000000000000002


def _schedule(options: Options, steps: int) -> str:
    """The flag that lets the rates go as they went, also where it is stopped earlier."""
    if options.schedule is None:
        return "constant"
    name, own = options.schedule
    if own is None and (name not in LASTING or steps == options.steps):
        return name
    return f"{name}:{own or options.steps}"


def _usual(name: str, usual: Options) -> str:
    """What a flag is without being given, as it would be written."""
    if name == "schedule":
        return "" if usual.schedule is None else usual.schedule[0]
    value: Any = getattr(usual, name)
    return plain(value)


def _lost(studio: Studio, start: Start, options: Options, reader: Reader) -> Iterator[str]:
    """What the flags cannot say."""
    settings = reader.settings
    assert settings is not None
    if studio.opened(reader.data):
        yield "the picture that was opened"
    yield from lost_on_the_way(reader, _says)
    if _network(reader.stages) != start.network:
        yield "the network that it is now"
    if _rule(settings.optimizer, settings.numbers) != start.rule:
        yield "the optimiser that it has now"
    others = replace(settings.limits, l2=0.0)
    if others != replace(NO_LIMITS, l2=0.0):
        yield str(SetLimits(others.l1, 0.0, others.clip_norm, others.clip_value))
    seed = seed_shown(reader.frame)
    if seed != options.seed and options.load is None:
        yield f"the first weights of seed {seed}"
    if reader.frame.frozen.any():
        yield "what is frozen"
    yield from earlier_steps(reader)


def _says(edit: Edit) -> bool:
    """Whether flags say what an edit does before the first step, or it is said of what it has become."""
    if isinstance(edit, Replaced):
        return bool(edit.transform)
    if isinstance(edit, SetOptimizer):
        return edit.group is None and {name for name, _ in edit.numbers} == {"lr"}
    return isinstance(edit, Turned | SetBatchSize | SetSampling | SetLimits)
