"""The outputs of a single layer written out with their numbers: ``r = σ(−1.991·0.92 + 0.692) = σ(−1.14) = 0.24``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...run.core.frame import Frame, Stage
from ...scalar.kernel import kernel
from ...scalar.ops import TABLE
from ..ink.equation import Term, neuron, one_line
from ..shown.subject import Sample
from .layer import SYMBOLS


def formulas(frame: Frame, stages: Sequence[Stage], sample: Sample) -> list[list[str]]:
    """For each output the ways to write its formula, the best first; empty without a sample.

    The numbers of a line are those of the frame, with so many digits that they give the result that stands there. An
    activation that looks at several sums (softmax) is left out.
    """
    linear = next(s for s in stages if s.weight is not None)
    if "input" not in frame.activations or linear.weight is None:
        return []
    symbol, function, last = _activation(stages, linear)
    lines = []
    for i, terms in enumerate(_terms(frame, linear)):
        output = None if last is None else float(frame.activations[last.name][i])
        total = float(frame.activations[linear.name][i])
        name = _name(sample, i) if last is not None or stages[-1] is linear else f"sum {_name(sample, i)}"
        ways = neuron(name, terms, total, symbol=symbol, output=output, function=function)
        lines.append(list(ways))
    return lines


def template(frame: Frame, stages: Sequence[Stage], sample: Sample) -> str:
    """A line as long as those of this layer usually are, whatever the weights."""
    linear = next(s for s in stages if s.weight is not None)
    if "input" not in frame.activations or linear.weight is None or not sample.outputs:
        return ""
    symbol, _, last = _activation(stages, linear)
    terms = [(-0.125, given) for _, given in _terms(frame, linear)[0]]
    widest = max(sample.outputs, key=len)
    return one_line(widest, terms, -0.25, (symbol, None if last is None else 0.25, None), (3, 2))


def _terms(frame: Frame, linear: Stage) -> list[list[Term]]:
    assert linear.weight is not None  # only layers are written out
    inputs = frame.activations["input"]
    rows: list[list[Term]] = [
        [(float(w), float(x)) for w, x in zip(row, inputs, strict=True)] for row in linear.weight.of(frame.values)
    ]
    if linear.bias is not None:
        for terms, bias in zip(rows, linear.bias.of(frame.values), strict=True):
            terms.append((float(bias), None))
    return rows


def _activation(stages: Sequence[Stage], linear: Stage) -> tuple[str, Callable[[float], float] | None, Stage | None]:
    """Symbol, function and stage of what follows the sums; all nothing where each output is a sum."""
    last = stages[-1]
    if last is linear or len(stages) != 2 or last.kind not in TABLE:
        return "", None, None
    one = kernel(last.kind)
    return SYMBOLS.get(last.kind, last.kind), one.value if one.arity == 1 else None, last


def _name(sample: Sample, output: int) -> str:
    return sample.outputs[output] if output < len(sample.outputs) else str(output)
