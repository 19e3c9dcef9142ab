"""``copy as command``: the line that is typed to see a moment of a scene again.

The line follows from the options of the scene, from its controls and from how the run trains, so every scene that was
loaded by name or by path has one. A scene whose data change live adds what only it knows (`OwnFlags`).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...engine.problem import NO_LIMITS
from ..controls import Button, Reader
from ..core.frame import Stage
from ..core.setup import Setup
from ..edits import Change, Edit, SetBatchSize, SetLimits, SetOptimizer, SetSampling, Several
from ..sources.run_source import RunSource
from ..travel import seed_shown
from .own_controls import LAYERS, MOMENTUM, USUAL_MOMENTUM, optimizer_rule, unusual_numbers
from .scene import Scene, extra_of, flag_of

LASTING = ("linear", "cosine", "decay", "cycle")
"""Schedules that last as long as the run, if they do not say how long."""


class Command:
    """The line of a scene that has just begun: ``command(reader)`` is that of a moment, None where there is none.

    Parameters
    ----------
    scene : Scene
        Built from its `options`.
    word : str
        What stands behind ``scalarviz``: the scene's name, or the path of its file.
    """

    def __init__(self, scene: Scene, word: str) -> None:
        self._scene, self._word = scene, word
        self._fields: dict[str, Any] = type(scene.options).model_fields
        setup, source = scene.run.frame().settings, RunSource(scene.run)
        assert setup is not None
        self._first, self._network = setup, _network(source.stages)

    def __call__(self, reader: Reader) -> str | None:
        own, setup, options = self._scene.own_flags, reader.settings, reader.options
        flags = {} if own is None else own.flags(reader)
        if setup is None or flags is None:
            return None
        said = {name: getattr(options, name) for name in self._fields if self._repeats(name)}
        said |= self._trained(setup, reader) | self._controlled(reader) | dict(flags)
        words, arguments = list[str](), list[str]()
        base: Any = type(options).__bases__[0]
        common = base.model_fields
        for name in sorted(said, key=common.__contains__):  # those of the scene first
            field, value = self._fields[name], said[name]
            if value is None or _plain(value) == self._usual(name, said):
                continue
            if extra_of(field).get("argument"):
                arguments.append(f"./{value}" if str(value).startswith("-") else str(value))
            elif isinstance(value, list):
                words += [word for text in value for word in (flag_of(name, field), str(text))]
            else:
                words += [flag_of(name, field)] + ([] if value is True else [_plain(value)])
        missing = " and ".join(self._lost(reader, setup, said))
        line = shlex.join(["scalarviz", self._word, *arguments, *words])
        return line + (f"  # without {missing}" if missing else "")

    def _repeats(self, name: str) -> bool:
        """Whether an option makes the same again; others say what is written, or how it is watched."""
        return not extra_of(self._fields[name]).get("written") and name not in self._scene.options.aside

    def _usual(self, name: str, said: Mapping[str, Any]) -> str:
        """What an option is without being given, as it would be typed."""
        usual = self._fields[name].get_default(call_default_factory=True)
        if name == "schedule":
            return _plan_text(usual)
        if usual is None and name.endswith("seed"):  # "that of --seed"
            usual = said["seed"]
        if usual is None and name == "lr":
            usual = getattr(self._scene.options, "rates", {}).get(said["optimizer"], self._first.numbers["lr"])
        return _plain(usual)

    # ---- what is known of any run

    def _trained(self, setup: Setup, reader: Reader) -> dict[str, Any]:
        """The options that say how a run trains, of those that the scene has."""
        options, limits, past = reader.options, setup.limits, reader.frame.past
        rule, steps = (optimizer_rule(reader) or "").lower(), reader.frame.step - (past.first if past else 0)
        rules = extra_of(self._fields["optimizer"]).get("metavar", "") if "optimizer" in self._fields else ""
        batch = setup.batch_size if setup.batch_size != self._first.batch_size else getattr(options, "batch", None)
        found: dict[str, Any] = {
            "batch": batch, "sampling": setup.sampling, "l1": limits.l1, "l2": limits.l2,
            "optimizer": rule if rule in rules.split("|") else None, "hidden": LAYERS.value(reader),
            "weights_seed": seed_shown(reader.frame), "steps": steps or options.steps,
        }  # fmt: skip
        if "lr" in self._fields:
            found["lr"] = self._rate(reader, options)
        if "schedule" in self._fields:
            found["schedule"] = _plan_text(options.schedule, steps or options.steps, options.steps)
        known = {name: value for name, value in found.items() if value is not None}
        if options.load is not None:  # the file's where no flag was given
            known |= {name: None for name in ("lr", "schedule", "weights_seed") if name not in options.model_fields_set}
        return {name: value for name, value in known.items() if name in self._fields}

    def _rate(self, reader: Reader, options: Any) -> float | None:
        """What ``--lr`` says: the rate of the first step, unless the schedule begins lower."""
        past, setup, began = reader.frame.past, reader.settings, float(self._first.numbers["lr"])
        rates = [] if past is None or reader.frame.step == past.first else past.curve.lr[:1].tolist()
        found = rates[0] if rates else None if setup is None else setup.numbers.get("lr")
        if not isinstance(found, float | int):
            return None
        asked = options.lr or began
        if asked == began:
            return float(found)
        said = asked if found == began else found * (asked / began)
        few = float(f"{said:.6g}")
        return few if math.isclose(few, said, rel_tol=1e-15) else said  # 0.03 and not 0.030000000000000002

    def _controlled(self, reader: Reader) -> dict[str, Any]:
        """What the controls of the scene are set to, of options that one control alone sets."""
        flags = [one.flag for one in self._scene.controls]
        alone = [one for one in self._scene.controls if flags.count(one.flag) == 1 and not isinstance(one, Button)]
        found = {one.flag: one.value(reader) for one in alone}
        named = {name: found.get(flag_of(name, field)) for name, field in self._fields.items()}
        return {name: value for name, value in named.items() if value is not None}

    # ---- what no flag says

    def _lost(self, reader: Reader, setup: Setup, said: Mapping[str, Any]) -> Iterator[str]:
        own, first, fields, options = self._scene.own_flags, self._first, self._fields, reader.options
        if any(value == Path("-") for value in said.values()):
            yield "what came on the standard input"
        if count := sum(1 for _ in self._unsaid(reader)):
            yield f"{count} {'change' if count == 1 else 'changes'} on the way"
        yield from () if own is None else own.lost(reader)
        grown = {name for name in said if said[name] != getattr(options, name)} & {"hidden", "activation", "features"}
        if not grown and _network(reader.stages) != self._network:
            yield "the network that it is now"
        unusual = unusual_numbers(setup.optimizer, setup.numbers)
        if (setup.optimizer, unusual) != (first.optimizer, unusual_numbers(first.optimizer, first.numbers)):
            momentum = {MOMENTUM: USUAL_MOMENTUM} if said.get("optimizer") == MOMENTUM else {}
            if said.get("optimizer") is None or unusual != momentum:
                yield "the optimiser that it has now"
        if "batch" not in fields and setup.batch_size != first.batch_size:
            yield f"a batch of {setup.batch_size:,}"
        limits = replace(setup.limits, **{name: 0.0 for name in ("l1", "l2") if name in fields})
        if limits != NO_LIMITS:
            yield str(SetLimits(limits.l1, limits.l2, limits.clip_norm, limits.clip_value))
        seed = seed_shown(reader.frame)
        if seed != options.seed and "weights_seed" not in fields and options.load is None:
            yield f"the first weights of seed {seed}"
        if reader.frame.frozen.any():
            yield "what is frozen"

    def _unsaid(self, reader: Reader) -> Iterator[Edit]:
        """The edits on the way but those before the first step that flags say as well."""
        past = reader.frame.past
        for done in () if past is None else past.edits:
            begun = past is not None and done.step == past.first == 0
            if done.step <= reader.frame.step and not (begun and self._says(done.edit)):
                yield done.edit

    def _says(self, edit: Edit) -> bool:
        if isinstance(edit, Several):
            return all(map(self._says, edit.edits))
        if isinstance(edit, Change):
            return edit.model is None and edit.loss is None
        if isinstance(edit, SetOptimizer):
            return edit.group is None
        own = self._scene.own_flags
        return isinstance(edit, (SetBatchSize, SetSampling, SetLimits, *(() if own is None else own.edits)))


def _network(stages: Sequence[Stage]) -> list[tuple[str, int]]:
    """Its stages, by kind and size."""
    return [(stage.kind, stage.outputs) for stage in stages]


def _plan_text(plan: tuple[str, int | None] | None, steps: int = 0, asked: int = 0) -> str:
    """The schedule so that the rates go as they went, also where it is stopped earlier than after `asked` steps."""
    if plan is None:
        return "constant"
    name, own = plan
    lasts = own or (asked if name in LASTING and steps != asked else None)
    return f"{name}:{lasts}" if lasts else name


def _plain(value: Any) -> str:
    """A value as it is typed; a number with as few digits as bring the very same one back."""
    if isinstance(value, tuple):
        return ",".join(map(_plain, value))
    if not isinstance(value, float):
        return str(value)
    few = f"{value:.6g}"
    return few if float(few) == value else repr(value)
