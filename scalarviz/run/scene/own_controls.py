"""The controls that every run has: learning rate, batch, optimiser, penalties, activation, hidden layers: edits."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from ... import nn
from ...engine.problem import Limits
from ...nn import Sequential
from ...nn.init import Initializer, rule_of
from ..controls import MOST_LAYERS, MOST_UNITS, Button, Control, Layers, Reader, Segments, Slider
from ..edits import Change, Edit, SetBatchSize, SetLimits, SetOptimizer
from ..edits.change import ACTIVATIONS, OPTIMIZERS

Parts = tuple[nn.Module, ...]


class Chain(NamedTuple):
    """Linear layers with the same activations behind each hidden one.

    `sizes` are inputs of the first layer, units of each hidden one, outputs. `first`, `between` and `last`
    stand before the first layer, behind each hidden one and behind the last one; none has weights. `rule`
    drew the weights, None where that is not known.
    """

    sizes: tuple[int, ...]
    first: Parts
    between: Parts
    last: Parts
    bias: bool
    rule: object


def chain_of(reader: Reader) -> Chain | None:
    """The network of a moment as such a chain; None for any other.

    A class of one's own that derives from nn.Sequential is none: who wrote it knows what it is made of, and
    lists a control of its own.
    """
    model = _model(reader)
    if type(model) is not nn.Sequential:
        return None
    parts = tuple(model)
    at = [k for k, part in enumerate(parts) if type(part) is nn.Linear]
    layers = [part for part in parts if type(part) is nn.Linear]
    others = [part for part in parts if type(part) is not nn.Linear]
    if not layers or any(True for part in others for _ in part.parameters()):
        return None
    bends = [parts[a + 1 : b] for a, b in pairwise(at)]
    alike = len({tuple(type(part) for part in bend) for bend in bends}) <= 1
    if not alike or any(not isinstance(part, nn.Activation) for bend in bends for part in bend):
        return None
    shapes = [layer.weight.shape for layer in layers]
    drawn = [tensor.shape for tensor in reader.tensors if len(tensor.shape) == 2]
    biases = {layer.bias is not None for layer in layers}
    if shapes != drawn or len(biases) > 1:  # drawn: of the moment that is shown, where the run may have another one
        return None
    sizes = (shapes[0][1], *(shape[0] for shape in shapes))
    between = bends[0] if bends else (nn.Tanh(),)
    return Chain(sizes, parts[: at[0]], between, parts[at[-1] + 1 :], biases.pop(), rule_of(layers[0]))


def _model(reader: Reader) -> Any:
    return getattr(getattr(reader.source, "run", None), "model", None)  # a source of arrays or weights has none


def hidden_of(reader: Reader) -> tuple[int, ...] | None:
    """Units of each hidden layer at a moment; None where layers cannot be changed by hand."""
    chain = chain_of(reader)
    return None if chain is None else chain.sizes[1:-1]


def hidden_edit(
    hidden: tuple[int, ...], reader: Reader, begin: Callable[[Sequence[int]], Initializer] | None = None
) -> Edit | None:
    """Other hidden layers: those of equal shapes go on, the others begin as those of a new network of the run's seed.

    `begin` says of hidden layers what draws the weights; None: what drew those that there are. None is returned where
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
    "layers", "--hidden", "Units between input and output: what one layer cannot tell apart, two may.",
    anew=True, value=hidden_of, change=hidden_edit,
)  # fmt: skip
"""Those of a network of plain layers."""


def layers_begun(begin: Callable[[Sequence[int]], Initializer]) -> Layers:
    """The same where what draws the first weights hangs on the hidden layers: ``begin(hidden)``."""
    return replace(LAYERS, change=lambda value, reader: hidden_edit(value, reader, begin))


# ---- The optimiser for a hand: which rule makes steps of gradients, and its momentum
#
# A rule that comes back has the numbers that it had, its rate among them; one that was not there yet begins with the
# rate that is usual for it, in the scene if that knows one.


MOMENTUM = "momentum"
USUAL_MOMENTUM = 0.9
MOMENTA = (0.1, 0.99)
"""Ends of the track of the momentum; 0 is the rule without it, and more may be typed."""
RULES = ("SGD", MOMENTUM, "Adam", "AdamW")
_PLAIN = ("SGD", MOMENTUM)
_RATE = {"SGD": 0.1, MOMENTUM: 0.1}  # where the rule before was of another family, and the scene knows none
_USUAL_RATE = 0.01

Had = Mapping[str, Mapping[str, Any]]
"""By the names of rules that there were the numbers that they had last."""


def optimizer_rule(reader: Reader) -> str | None:
    """The rule of a moment; of plain descent with momentum that. None where nothing is trained."""
    settings = reader.settings
    if settings is None:
        return None
    return MOMENTUM if settings.optimizer == "SGD" and settings.numbers.get("momentum") else settings.optimizer


def keep_rule(had: MutableMapping[str, Mapping[str, Any]], reader: Reader) -> None:
    """Note the numbers of the rule of a moment in `had`."""
    rule, settings = optimizer_rule(reader), reader.settings
    if rule is not None and settings is not None and settings.optimizer in OPTIMIZERS:
        had[rule] = settings.numbers


def rule_control(had: Had) -> Segments:
    """The choice of a rule; those that there were and that a name brings back are offered beside the usual ones."""

    def change(value: str, reader: Reader) -> Edit | None:
        return _edit(value, reader, had)

    more = [rule for rule in had if rule not in RULES]
    return Segments(
        "optimiser", "--optimizer", "What a step makes of the gradient: Adam gives every weight a stride of its own.",
        choices=(*RULES, *more), value=optimizer_rule, change=change,
    )  # fmt: skip


def _edit(value: str, reader: Reader, had: Had) -> Edit | None:
    """Momentum is a number of SGD's and keeps what it has; a rule of the same family keeps the rate."""
    now, settings = optimizer_rule(reader), reader.settings
    if value == now or settings is None:
        return None
    before, rate = had.get(value, {}), settings.numbers.get("lr")
    momentum = before.get(MOMENTUM, USUAL_MOMENTUM) if value == MOMENTUM else 0.0
    if value in _PLAIN and now in _PLAIN:
        return _set_momentum(momentum, settings.numbers, before)
    kind = "SGD" if value in _PLAIN else value
    if not ((value in _PLAIN) == (now in _PLAIN) and now in OPTIMIZERS and rate is not None):
        rate = before.get("lr", usual_rate(value, reader))
    numbers = {"lr": rate, **unusual_numbers(kind, before), **({MOMENTUM: momentum} if value == MOMENTUM else {})}
    return Change(optimizer=kind, numbers=tuple(numbers.items()))


def usual_rate(rule: str, reader: Reader) -> float:
    """The rate with which a rule begins: the scene's own (``options.rates``), or a common one."""
    own: Mapping[str, float] = getattr(reader.options, "rates", {})
    return own.get(rule.lower(), _RATE.get(rule, _USUAL_RATE))


def unusual_numbers(kind: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that are not what the constructor takes by itself, but for the rate."""
    usual = inspect.signature(OPTIMIZERS[kind]).parameters if kind in OPTIMIZERS else None  # None: somebody's own
    return {
        name: number
        for name, number in numbers.items()
        if name != "lr" and (usual is None or (name in usual and number != usual[name].default))
    }


def _momentum_of(reader: Reader) -> float | None:
    """None where the rule has none: without it, it is the rule itself that is chosen."""
    settings = reader.settings
    found = None if settings is None else settings.numbers.get(MOMENTUM)
    return float(found) if isinstance(found, float | int) and found else None


def _momentum_edit(value: float, reader: Reader) -> Edit:
    return _set_momentum(float(value), {} if reader.settings is None else reader.settings.numbers, {})


def _set_momentum(momentum: float, now: Mapping[str, Any], before: Mapping[str, Any]) -> Edit:
    """Without momentum SGD cannot look ahead, and with it again it does so where it did before."""
    ahead = bool(momentum and before.get("nesterov") and not now.get("dampening"))
    changes = ahead or (not momentum and now.get("nesterov"))
    return SetOptimizer(((MOMENTUM, momentum), *((("nesterov", ahead),) if changes else ())))


MOMENTUM_CONTROL = Slider(
    MOMENTUM, "", "How much of the last step the next one keeps: more rolls on through dips, and past the goal.",
    least=MOMENTA[0], most=MOMENTA[1], usual=USUAL_MOMENTUM, value=_momentum_of, change=_momentum_edit,
)  # fmt: skip


# ---- The controls that every run has: learning rate, batch, optimiser, penalties, activation. All of them are edits


RATES = (1e-4, 10.0)
"""Ends of the learning rate's track; a rate that is typed may lie outside."""
PENALTIES = (1e-5, 1.0)
USUAL_PENALTY = 1e-3
_CLOSE = ("tanh", "relu", "gelu", "sigmoid")
_BATCHES = (1, 16, 128, 1024)
_NONE, _L1, _L2 = "none", "L1", "L2"
_FLAGS = {_L1: "--l1", _L2: "--l2"}


def own_controls(reader: Reader, bends: Sequence[str] = (), had: Had | None = None) -> tuple[Control, ...]:
    """Those of the run of a moment, from top to bottom: which there are follows from how many samples there are.

    `bends` are activations that are offered beside the usual ones, `had` what optimisers had that come back. None where
    nothing is trained. Each says itself whether it can be had at a moment: its value is None where not.
    """
    settings = reader.settings
    if settings is None:
        return ()
    rates = reader.frame.curve.lr
    first = float(rates[0]) if len(rates) else settings.numbers.get("lr")
    rule = rule_control({} if had is None else had)
    return (_rate(first), _batch(settings.samples), rule, MOMENTUM_CONTROL, *_penalty(reader), _activation(bends))


# ---- the learning rate


def rate_edit(value: float, reader: Reader) -> Edit:
    """Another learning rate, as the keys Up and Down give it too."""
    return SetOptimizer((("lr", float(value)),))


def _rate_of(reader: Reader) -> float | None:
    settings = reader.settings
    rate = None if settings is None else settings.numbers.get("lr")
    return rate if isinstance(rate, float | int) else None


def _rate(usual: Any) -> Slider:
    least, most = RATES
    fits = isinstance(usual, float | int) and least <= usual <= most
    return Slider(
        "learning rate", "--lr", "How far each step follows the gradient: too little crawls, too much flies apart.",
        least=least, most=most, log=True, usual=float(usual) if fits else None, value=_rate_of, change=rate_edit,
    )  # fmt: skip


# ---- the batch


def _batch_of(reader: Reader) -> int | None:
    return None if reader.settings is None else reader.settings.batch_size


def _batch_edit(value: int, reader: Reader) -> Edit:
    return SetBatchSize(value)


def _batch(samples: int) -> Control:
    sizes = [size for size in _BATCHES if size < samples]
    if len(sizes) < 2:  # of few samples: one, half of them, all
        sizes = sorted({1, samples // 2} - {0, samples}) if samples > 5 else list(range(1, samples))
    does = "Samples whose gradients a step averages: few are quick and noisy, many are slow and smooth."
    if samples < 2:  # nothing to choose
        return Button("batch", "", does, value=lambda reader: None, change=_batch_edit)
    return Segments("batch", "--batch", does, choices=(*sizes, samples), value=_batch_of, change=_batch_edit)


# ---- penalties


def _limits(reader: Reader) -> Limits | None:
    return None if reader.settings is None else reader.settings.limits


def _kind_of(reader: Reader) -> str | None:
    limits = _limits(reader)
    if limits is None:
        return None
    if limits.l1 and limits.l2:
        return f"{_L1} and {_L2}"
    return _L1 if limits.l1 else _L2 if limits.l2 else _NONE


def _penalty_of(reader: Reader) -> float | None:
    limits = _limits(reader)
    return None if limits is None or not (limits.l1 or limits.l2) else max(limits.l1, limits.l2)


def _penalised(limits: Limits, kind: str, size: float) -> SetLimits:
    return SetLimits(size if kind == _L1 else 0.0, size if kind == _L2 else 0.0, limits.clip_norm, limits.clip_value)


def _kind_edit(value: str, reader: Reader) -> Edit | None:
    limits = _limits(reader)
    if limits is None or value == _kind_of(reader):
        return None
    return _penalised(limits, value, _penalty_of(reader) or USUAL_PENALTY)


def _penalty_edit(value: float, reader: Reader) -> Edit | None:
    limits = _limits(reader)
    return None if limits is None else _penalised(limits, _L1 if limits.l1 else _L2, float(value))


def _penalty(reader: Reader) -> tuple[Control, ...]:
    """Which penalty, and its size, whose flag is that of the penalty there is."""
    limits = _limits(reader)
    flag = _FLAGS.get("" if limits is None else _kind_of(reader) or "", "")
    return (
        Segments(
            "regularisation", ", ".join(_FLAGS.values()),
            "Pulls weights towards 0: L1 brings many of them close to it, L2 makes all of them smaller.",
            choices=(_NONE, _L1, _L2), value=_kind_of, change=_kind_edit,
        ),
        Slider(
            "regularisation rate", flag, "How hard the weights are pulled, beside what the data asks for.",
            least=PENALTIES[0], most=PENALTIES[1], log=True, usual=USUAL_PENALTY, value=_penalty_of,
            change=_penalty_edit,
        ),
    )  # fmt: skip


# ---- between the layers


def is_sequence(reader: Reader) -> bool:
    """Whether the network is an nn.Sequential, whose parts can be exchanged."""
    run = getattr(reader.source, "run", None)  # a source of arrays or weights has none
    return isinstance(getattr(run, "model", None), Sequential)


def activation_of(reader: Reader) -> str | None:
    """That of all hidden activations, where they are one."""
    stages = reader.stages
    last = max((k for k, stage in enumerate(stages) if stage.weight is not None), default=0)
    kinds = {stage.kind for stage in stages[:last] if stage.kind in ACTIVATIONS and stage.weight is None}
    return kinds.pop() if len(kinds) == 1 and is_sequence(reader) else None


def _activation_edit(value: str, reader: Reader) -> Edit | None:
    return None if value == activation_of(reader) else Change(activation=value)


def _activation(bends: Sequence[str]) -> Segments:
    more = [bend for bend in dict.fromkeys(bends) if bend not in _CLOSE]
    return Segments(
        "activation", "--activation", "What bends between the layers: without a bend many layers are no more than one.",
        choices=(*_CLOSE, *more), value=activation_of, change=_activation_edit,
    )  # fmt: skip


def tick_values(slider: Slider, most: int = 6) -> tuple[float, ...]:
    """Values that are printed below a track: decades, or the ends and what lies between them."""
    if not slider.log:
        middle = (slider.least + slider.most) / 2
        return (slider.least, float(f"{middle:.2g}"), slider.most)
    first, last = math.ceil(math.log10(slider.least) - 1e-9), math.floor(math.log10(slider.most) + 1e-9)
    every = max(1, -(-(last - first + 1) // most))
    return tuple(10.0**power for power in range(first, last + 1, every))
