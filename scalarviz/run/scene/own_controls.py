"""The controls that every run has (learning rate, batch, optimiser, penalties, activation, layers), and its command.

"Copy as command" gives the command line that shows a moment of a scene again. It follows from the options of the
scene, from its controls and from the training settings. A scene whose data change live adds its own flags
(`OwnFlags`).
"""

from __future__ import annotations

import copy
import inspect
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ... import nn
from ...engine.problem import NO_LIMITS, Limits
from ...nn import Sequential
from ...nn._draws import Initializer
from ...nn.init import rule_of
from ..controls import MOST_LAYERS, MOST_UNITS, Button, Control, Layers, Reader, Segments, Slider
from ..core.setup import Setup
from ..core.tensors import Stage
from ..edits import Change, Edit, SetBatchSize, SetLimits, SetOptimizer, SetSampling, Several
from ..edits.change import ACTIVATIONS, OPTIMIZERS
from ..source import RunSource
from ..travel import seed_shown
from .scene import Scene, extra_of, flag_of

Parts = tuple[nn.Module, ...]


def _model(reader: Reader) -> Any:
    return getattr(getattr(reader.source, "run", None), "model", None)  # a source of arrays or weights has none


def _number(name: str, reader: Reader) -> float | None:
    """Return a number of the optimiser at a moment, or None."""
    found = reader.settings.numbers.get(name) if reader.settings else None
    return float(found) if isinstance(found, float | int) else None


# ---- Hidden layers


class Chain(NamedTuple):
    """Linear layers with the same activations after each hidden one.

    `sizes` are inputs of the first layer, units of each hidden one, outputs. `first`, `between` and `last` are
    the modules before the first layer, after each hidden one and after the last one; none has weights. `rule`
    drew the weights; None if unknown.
    """

    sizes: tuple[int, ...]
    first: Parts
    between: Parts
    last: Parts
    bias: bool
    rule: object


def chain_of(reader: Reader) -> Chain | None:
    """Return the network of a moment as such a chain; None for any other network."""
    model = _model(reader)
    if type(model) is not nn.Sequential:
        return None
    parts = tuple(model)
    at = [k for k, part in enumerate(parts) if type(part) is nn.Linear]
    layers = [part for part in parts if type(part) is nn.Linear]
    bends = [parts[a + 1 : b] for a, b in pairwise(at)]
    others = [part for part in parts if type(part) is not nn.Linear]
    shapes = [layer.weight.shape for layer in layers]
    if (
        not layers
        or any(True for part in others for _ in part.parameters())
        or any(not isinstance(part, nn.Activation) for bend in bends for part in bend)
        or len({tuple(type(part) for part in bend) for bend in bends}) > 1
        or len({layer.bias is not None for layer in layers}) > 1
        or shapes != [tensor.shape for tensor in reader.tensors if len(tensor.shape) == 2]  # the run has another by now
    ):
        return None
    sizes, between = (shapes[0][1], *(shape[0] for shape in shapes)), bends[0] if bends else (nn.Tanh(),)
    return Chain(sizes, parts[: at[0]], between, parts[at[-1] + 1 :], layers[0].bias is not None, rule_of(layers[0]))


def _hidden(reader: Reader) -> tuple[int, ...] | None:
    """Return the units of each hidden layer at a moment; None if layers cannot be changed by hand."""
    chain = chain_of(reader)
    return None if chain is None else chain.sizes[1:-1]


def hidden_edit(
    hidden: tuple[int, ...], reader: Reader, begin: Callable[[Sequence[int]], Initializer] | None = None
) -> Edit | None:
    """Return an edit to other hidden layers: equal shapes keep their numbers, others are drawn with the run's seed.

    `begin` returns the initialiser for some hidden layers; None: that of the current ones. The result is None if
    nothing changes, or layers cannot be changed.
    """
    kept = tuple(min(max(int(units), 1), MOST_UNITS) for units in hidden[:MOST_LAYERS])
    chain = chain_of(reader)
    if chain is None or kept == chain.sizes[1:-1]:
        return None
    parts: list[nn.Module] = [*chain.first]
    for n_in, n_out in pairwise((chain.sizes[0], *kept, chain.sizes[-1])):
        parts += [nn.Linear(n_in, n_out, bias=chain.bias), *(copy.deepcopy(part) for part in chain.between)]
    del parts[len(parts) - len(chain.between) :]
    model = nn.Sequential(*parts, *chain.last)
    seed = 0 if reader.settings is None else reader.settings.seed
    model.initialize(chain.rule if begin is None else begin(kept), seed=seed)  # type: ignore[arg-type] # None: as usual
    return Change(model=model)


LAYERS = Layers(
    "layers", "--hidden", "Units of each hidden layer. Two layers can separate what one layer cannot.",
    anew=True, value=_hidden, change=hidden_edit,
)  # fmt: skip
"""The control for a network of plain layers."""


# ---- The optimiser: the rule and its momentum
#
# A rule that is chosen again gets its former numbers, with its rate. A new rule begins with its usual rate, from the
# scene if that has one.


MOMENTUM = "momentum"
USUAL_MOMENTUM = 0.9
RULES = ("SGD", MOMENTUM, "Adam", "AdamW")
_PLAIN = ("SGD", MOMENTUM)
_UNIT = ("Adadelta",)  # its usual rate is 1
_PLAIN_RATE, _RATE = 0.1, 0.01  # after a rule of another family, if the scene has none

Had = Mapping[str, Mapping[str, Any]]
"""The last numbers of former rules, by name."""


def optimizer_rule(reader: Reader) -> str | None:
    """Return the rule of a moment; SGD with momentum is "momentum". None without training."""
    if reader.settings is None:
        return None
    return MOMENTUM if reader.settings.optimizer == "SGD" and _number(MOMENTUM, reader) else reader.settings.optimizer


def keep_rule(had: MutableMapping[str, Mapping[str, Any]], reader: Reader) -> None:
    """Keep the numbers of a moment's rule in `had`."""
    rule, settings = optimizer_rule(reader), reader.settings
    if rule is not None and settings is not None and settings.optimizer in OPTIMIZERS:
        had[rule] = settings.numbers


def _rule_edit(value: str, reader: Reader, had: Had) -> Edit | None:
    """Return the edit to a rule. Momentum keeps SGD's other numbers; a rule of the same family keeps the rate."""
    now, settings = optimizer_rule(reader), reader.settings
    if value == now or settings is None:
        return None
    before, rate = had.get(value, {}), settings.numbers.get("lr")
    momentum = before.get(MOMENTUM, USUAL_MOMENTUM) if value == MOMENTUM else 0.0
    if value in _PLAIN and now in _PLAIN:
        return _set_momentum(momentum, reader, before)
    kind = "SGD" if value in _PLAIN else value
    like = now is not None and family(value) == family(now)
    if not (like and now in OPTIMIZERS and rate is not None):
        rate = before.get("lr", usual_rate(value, reader.options))
    numbers = {"lr": rate, **unusual_numbers(kind, before), **({MOMENTUM: momentum} if value == MOMENTUM else {})}
    return Change(optimizer=kind, numbers=tuple(numbers.items()))


def family(rule: str) -> int:
    """Return a number that is the same for rules whose usual rates are about the same."""
    return 2 * (rule in _UNIT) + (rule in _PLAIN)


def usual_rate(rule: str, options: Any) -> float:
    """Return the rate with which a rule begins after one of another family."""
    own: Mapping[str, float] = getattr(options, "rates", {})
    return own.get(rule.lower(), _PLAIN_RATE if rule in _PLAIN else _RATE)


def unusual_numbers(kind: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers that differ from the constructor's defaults, except the rate."""
    usual = inspect.signature(OPTIMIZERS[kind]).parameters if kind in OPTIMIZERS else None  # None: a user's class
    return {
        name: number
        for name, number in numbers.items()
        if name != "lr" and (usual is None or (name in usual and number != usual[name].default))
    }


def _set_momentum(momentum: float, reader: Reader, before: Mapping[str, Any] = {}) -> Edit:
    """Return the edit of SGD's momentum; Nesterov ends without momentum, and returns if it was on before."""
    now = reader.settings.numbers if reader.settings else {}
    ahead = bool(momentum and before.get("nesterov") and not now.get("dampening"))
    changes = ahead or (not momentum and now.get("nesterov"))
    return SetOptimizer(((MOMENTUM, momentum), *((("nesterov", ahead),) if changes else ())))


# ---- Penalties

_NONE, _L1, _L2 = "none", "L1", "L2"
_FLAGS = {_L1: "--l1", _L2: "--l2"}
USUAL_PENALTY = 1e-3


def _limits(reader: Reader) -> Limits:
    return reader.settings.limits if reader.settings else NO_LIMITS


def _penalty_kind(reader: Reader) -> str:
    limits = _limits(reader)
    return " and ".join([_L1] * bool(limits.l1) + [_L2] * bool(limits.l2)) or _NONE


def _penalty_size(reader: Reader) -> float | None:
    return max(_limits(reader).l1, _limits(reader).l2) or None


def _penalised(kind: str, size: float, reader: Reader) -> SetLimits:
    limits = _limits(reader)
    return SetLimits(size if kind == _L1 else 0.0, size if kind == _L2 else 0.0, limits.clip_norm, limits.clip_value)


def _penalty_edit(kind: str, reader: Reader) -> Edit | None:
    return None if kind == _penalty_kind(reader) else _penalised(kind, _penalty_size(reader) or USUAL_PENALTY, reader)


# ---- Activations


def is_sequence(reader: Reader) -> bool:
    """Return whether the network is an nn.Sequential, whose parts can be exchanged."""
    return isinstance(_model(reader), Sequential)


def activation_of(reader: Reader) -> str | None:
    """Return the hidden activation if all are the same, or None."""
    stages = reader.stages
    last = max((k for k, stage in enumerate(stages) if stage.weight is not None), default=0)
    kinds = {stage.kind for stage in stages[:last] if stage.kind in ACTIVATIONS and stage.weight is None}
    return kinds.pop() if len(kinds) == 1 and is_sequence(reader) else None


# ---- All controls


RATES = (1e-4, 10.0)
"""Ends of the learning rate's track; a typed rate may lie outside."""
BENDS = ("tanh", "relu", "gelu", "sigmoid")
_BATCHES = (1, 16, 128, 1024)


def own_controls(reader: Reader, bends: Sequence[str] = (), had: Had | None = None) -> tuple[Control, ...]:
    """Return the controls of a moment's run, from top to bottom; the batch sizes follow from the number of samples.

    `bends` are more activations to offer; `had` holds numbers of former optimisers. Empty without training. The value
    of each control is None at moments at which it does not apply.
    """
    if reader.settings is None:
        return ()
    rates, remembered = reader.frame.curve.lr, had or {}
    first = float(rates[0]) if len(rates) else _number("lr", reader)
    usual = first if first is not None and RATES[0] <= first <= RATES[1] else None
    return (
        Slider(
            "learning rate", "--lr", "Size of a step along the gradient. Too small learns slowly; too large diverges.",
            least=RATES[0], most=RATES[1], log=True, usual=usual, value=lambda reader: _number("lr", reader),
            change=lambda value, reader: SetOptimizer((("lr", float(value)),)),
        ),
        _batch(reader.settings.samples),
        Segments(
            "optimiser", "--optimizer",
            "Rule that turns gradients into updates. Adam scales each weight's update by itself.",
            choices=(*RULES, *(rule for rule in remembered if rule not in RULES)), value=optimizer_rule,
            change=lambda value, reader: _rule_edit(value, reader, remembered),
        ),
        Slider(
            MOMENTUM, "",
            "How much of the last update is added to the next one. More crosses small dips, and may overshoot.",
            least=0.1, most=0.99, usual=USUAL_MOMENTUM, value=lambda reader: _number(MOMENTUM, reader) or None,
            change=lambda value, reader: _set_momentum(float(value), reader),
        ),
        Segments(
            "regularisation", ", ".join(_FLAGS.values()),
            "Penalty that pulls weights towards 0. L1 makes many nearly 0; L2 makes all of them smaller.",
            choices=(_NONE, _L1, _L2), value=_penalty_kind, change=_penalty_edit,
        ),
        Slider(
            "regularisation rate", _FLAGS.get(_penalty_kind(reader), ""),
            "Strength of the penalty on the weights, relative to the loss.",
            least=1e-5, most=1.0, log=True, usual=USUAL_PENALTY, value=_penalty_size,
            change=lambda value, reader: _penalised(_L1 if _limits(reader).l1 else _L2, float(value), reader),
        ),
        Segments(
            "activation", "--activation",
            "Non-linear function between the layers. Without one, many layers act like a single layer.",
            choices=tuple(dict.fromkeys((*BENDS, *bends))), value=activation_of,
            change=lambda value, reader: None if value == activation_of(reader) else Change(activation=value),
        ),
    )  # fmt: skip


def _batch(samples: int) -> Control:
    sizes = [size for size in _BATCHES if size < samples]
    if len(sizes) < 2:  # for few samples: one, half of them, all
        sizes = sorted({1, samples // 2} - {0, samples}) if samples > 5 else list(range(1, samples))
    does = "Samples that each step averages. Few are fast and noisy; many are slow and smooth."
    if samples < 2:  # nothing to choose
        return Button("batch", "", does, value=lambda reader: None, change=lambda value, reader: None)
    return Segments(
        "batch", "--batch", does, choices=(*sizes, samples),
        value=lambda reader: reader.settings and reader.settings.batch_size,
        change=lambda value, reader: SetBatchSize(value),
    )  # fmt: skip


def tick_values(slider: Slider, most: int = 6) -> tuple[float, ...]:
    """Return the values below a track: decades, or the ends and the middle."""
    if not slider.log:
        middle = (slider.least + slider.most) / 2
        return (slider.least, float(f"{middle:.2g}"), slider.most)
    first, last = math.ceil(math.log10(slider.least) - 1e-9), math.floor(math.log10(slider.most) + 1e-9)
    every = max(1, -(-(last - first + 1) // most))
    return tuple(10.0**power for power in range(first, last + 1, every))


# ---- the command line that shows a moment of a scene again


LASTING = ("linear", "cosine", "decay", "cycle")
"""Schedules that last as long as the run, unless they say how long."""


class Command:
    """``command(reader)`` returns the command line that shows a moment of a scene again; None without one."""

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
        for name in sorted(said, key=common.__contains__):  # flags of the scene first
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
        """Return whether an option changes the run; others name files to write, or change the view."""
        return not extra_of(self._fields[name]).get("written") and name not in self._scene.options.aside

    def _usual(self, name: str, said: Mapping[str, Any]) -> str:
        """Return the default of an option, as it would be typed."""
        usual = self._fields[name].get_default(call_default_factory=True)
        if name == "schedule":
            return _plan_text(usual)
        if usual is None and name.endswith("seed"):  # "that of --seed"
            usual = said["seed"]
        if usual is None and name == "lr":
            usual = getattr(self._scene.options, "rates", {}).get(said["optimizer"], self._first.numbers["lr"])
        return _plain(usual)

    # ---- options of any run

    def _trained(self, setup: Setup, reader: Reader) -> dict[str, Any]:
        """Return the options for training settings, as far as the scene has them."""
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
        if options.load is not None:  # the file's without a flag
            known |= {name: None for name in ("lr", "schedule", "weights_seed") if name not in options.model_fields_set}
        return {name: value for name, value in known.items() if name in self._fields}

    def _rate(self, reader: Reader, options: Any) -> float | None:
        """Return the value of ``--lr``: the rate of the first step, unless the schedule begins lower."""
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
        """Return the values of the scene's controls for options that only one control sets."""
        flags = [one.flag for one in self._scene.controls]
        alone = [one for one in self._scene.controls if flags.count(one.flag) == 1 and not isinstance(one, Button)]
        found = {one.flag: one.value(reader) for one in alone}
        named = {name: found.get(flag_of(name, field)) for name, field in self._fields.items()}
        return {name: value for name, value in named.items() if value is not None}

    # ---- parts that no flag covers

    def _lost(self, reader: Reader, setup: Setup, said: Mapping[str, Any]) -> Iterator[str]:
        own, first, fields, options = self._scene.own_flags, self._first, self._fields, reader.options
        if any(value == Path("-") for value in said.values()):
            yield "the standard input"
        if count := sum(1 for _ in self._unsaid(reader)):
            yield f"{count} {'edit' if count == 1 else 'edits'} during training"
        yield from () if own is None else own.lost(reader)
        grown = {name for name in said if said[name] != getattr(options, name)} & {"hidden", "activation", "features"}
        if not grown and _network(reader.stages) != self._network:
            yield "the current network"
        unusual = unusual_numbers(setup.optimizer, setup.numbers)
        if (setup.optimizer, unusual) != (first.optimizer, unusual_numbers(first.optimizer, first.numbers)):
            momentum = {MOMENTUM: USUAL_MOMENTUM} if said.get("optimizer") == MOMENTUM else {}
            if said.get("optimizer") is None or unusual != momentum:
                yield "the current optimiser"
        if "batch" not in fields and setup.batch_size != first.batch_size:
            yield f"batch size {setup.batch_size:,}"
        limits = replace(setup.limits, **{name: 0.0 for name in ("l1", "l2") if name in fields})
        if limits != NO_LIMITS:
            yield str(SetLimits(limits.l1, limits.l2, limits.clip_norm, limits.clip_value))
        seed = seed_shown(reader.frame)
        if seed != options.seed and "weights_seed" not in fields and options.load is None:
            yield f"the initial weights of seed {seed}"
        if reader.frame.frozen.any():
            yield "frozen weights"

    def _unsaid(self, reader: Reader) -> Iterator[Edit]:
        """Yield the edits up to the moment, except those before the first step that flags cover."""
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
    """Return the kind and size of each stage."""
    return [(stage.kind, stage.outputs) for stage in stages]


def _plan_text(plan: tuple[str, int | None] | None, steps: int = 0, asked: int = 0) -> str:
    """Return the schedule for the same rates, also if the run stops before `asked` steps."""
    if plan is None:
        return "constant"
    name, own = plan
    lasts = own or (asked if name in LASTING and steps != asked else None)
    return f"{name}:{lasts}" if lasts else name


def _plain(value: Any) -> str:
    """Return a value as typed; a float with as few digits as it needs."""
    if isinstance(value, tuple):
        return ",".join(map(_plain, value))
    if not isinstance(value, float):
        return str(value)
    few = f"{value:.6g}"
    return few if float(few) == value else repr(value)
