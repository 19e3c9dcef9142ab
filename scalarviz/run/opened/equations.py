"""Small equations, each true as printed: a product, a sum, an activation; derivatives in symbols.

`RowOperation` tells how one number of a step is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from math import fsum, nan, pi, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scalar.kernel import kernel
from ...scalar.ops import TABLE
from ...tape import Node, Tape
from ..core.tensors import Stage, Tensor
from .attention import LAYERS, Attention
from .digits import MINUS, digits_of, digits_that_give, rounded
from .network import Places, Rows
from .passes import Passes
from .rule import Quantity, RuleFormula, Token, Writer, text_of

Floats = NDArray[np.float64]
DIGITS = 4
"""Significant digits of a result."""
SYMBOLS = {"sigmoid": "σ", "softplus_up_to": "softplus"}
"""Short symbols of activations; the others keep their names."""


CLOSE = 1e-4
"""Relative tolerance with which the formula of a loss is recognised."""
DIFFERENCE = f"(y {MINUS} t)"
"""Output minus target, in the delta of a squared error."""


def slope(op: str, operand: int = 0, names: Sequence[str] = (), made: str = "y") -> str:
    """Return an operation's derivative with respect to one operand, in symbols; a long one as ``tanh'``.

    `names` are the operands' names, `made` is the result's.
    """
    partial = "" if op == MAX else TABLE[op].partials[operand] or ""
    if "(" in partial.replace("(1 - y)", "") or not partial:
        return f"{SYMBOLS.get(op, op)}'"
    text = partial.replace("y * y", "y²").replace("*", "·").replace("-", MINUS)
    text = f"({text})" if f" {MINUS} " in text.partition("(")[0] or "+" in text else text
    written = {"y": made, **dict(zip(TABLE[op].args, names, strict=False))}
    return re.sub(r"(?<![a-z])[a-z](?![a-z])", lambda found: written.get(found[0], found[0]), text)


def equation(tokens: Sequence[Token], result: float, again: Callable[[int], float], digits: int = DIGITS) -> str:
    """Return an equation that is true as printed, or with ``≈``; `again` computes it with rounded numbers."""
    return RuleFormula("", tuple(tokens), result, evaluate_rounded=again).equation(digits)


USUAL = {"elu": (1.0,), "leaky_relu": (0.01,), "softplus_up_to": (1.0, 20.0)}
"""The default values of an activation's other operands, which are not printed."""


def applied(op: str, others: Sequence[float], given: float, result: float) -> str:
    """Return the equation of an activation of `given` and `others`; it is unchecked if operands are missing."""
    function = kernel(op)
    known = function.arity == 1 + len(others)
    shown = others if known and tuple(others) != USUAL.get(op) else ()
    again = lambda k: function.value(*(rounded(x, k) for x in (given, *others))) if known else result  # noqa: E731
    listed = [token for x in shown for token in (", ", Quantity("", x))]
    return equation((f"{SYMBOLS.get(op, op)}(", Quantity("", given), *listed, ")"), result, again)


def times(factors: Sequence[float], result: float) -> str:
    """Return the equation of a product."""
    tokens = [token for x in factors for token in (" · ", Quantity("", x))][1:]
    return equation(tokens, result, lambda k: prod(rounded(x, k) for x in factors))


MOST, LARGEST = 8, 3
"""A sum of more than `MOST` terms shows the `LARGEST` largest, and the rest as one number."""


def added(parts: Sequence[float], result: float, digits: int = DIGITS) -> str:
    """Return the equation of a sum."""
    tokens, shown = summed(parts)
    return equation(tokens, result, lambda k: sum(rounded(part, k) for part in shown), digits)


def summed(parts: Sequence[float], most: int = MOST, largest: int = LARGEST) -> tuple[list[Token], Sequence[float]]:
    """Return a sum's tokens, and the numbers shown: of more than `most` terms, the `largest` and the rest."""
    shown = condensed(parts, largest) if len(parts) > most else parts
    tokens: list[Token] = []
    for number, part in enumerate(shown):
        rest = len(parts) > most and number == largest
        minus = part < 0 and number > 0 and not rest
        sign = " + rest " if rest else f" {MINUS} " if minus else " + "
        tokens += [sign * (number > 0), Quantity("", -part if minus else part)]
    return tokens, shown


def of_samples(parts: Floats, divisor: float, result: float) -> str:
    """Return the equation of a sum over samples: the largest parts and the rest, over `divisor`.

    A result near 0 has fewer digits, so that the terms do not need too many. Empty if no digits are enough.
    """
    if not np.isfinite(parts).all():
        return ""
    tokens, shown = summed(parts.tolist(), LARGEST, LARGEST - 1)
    tokens = tokens if divisor == 1 else ["(", *tokens, f") / {divisor:,.10g}"]
    again = lambda k: sum(rounded(part, k) for part in shown) / divisor  # noqa: E731
    enough = {digits: digits_that_give(again, result, digits) for digits in (DIGITS, 3, 2)}
    chosen = next((digits for digits, needed in enough.items() if needed and needed <= MOST), 2)
    return equation(tokens, result, again, chosen) if enough[chosen] else ""


def condensed(parts: Sequence[float], count: int) -> tuple[float, ...]:
    """Return the `count` largest terms of a sum, largest first, and the sum of the others.

    A sum of up to `count` + 1 terms is returned as it is. Longer sums leave out zeros.
    """
    if len(parts) <= count + 1:
        return tuple(parts)
    found = sorted(filter(None, parts), key=abs, reverse=True)
    return (*found[:count], exact_sum(found[count:])) if len(found) > count + 1 else tuple(found) or (0.0,)


def mixture(attention: Attention, head: int, number: int, digits: int = DIGITS) -> str:
    """Return the equation of one number of a head's output: the two largest share · v, and the rest."""
    shares, v = attention.shares[head], attention.values[head, :, number]
    return _products(shares, v, float(attention.outputs[head, number]), digits)


def score_of(attention: Attention, head: int, place: int, digits: int = DIGITS) -> tuple[str, str, str]:
    """Return a score in symbols, its equation with its two largest products, and one with the largest alone."""
    q, k, divisor = attention.queries[head][place], attention.keys[head][place], attention.divisor
    said, short = (_products(q, k, float(attention.scores[head, place]), digits, divisor, most) for most in (2, 1))
    return f"q · k / √{divisor**2:.4g}", said, short


def query_delta(back: Attention, head: int, number: int) -> tuple[str, str, str]:
    """Return how a number of q gets its delta from its head's scores; three texts as in :func:`score_of`."""
    slopes, k = back.scores[head], back.keys[head][:, number]
    made = float(slopes @ k) / back.divisor
    said, short = (_products(slopes, k, made, 3, back.divisor, most) for most in (2, 1))
    return f"Σ δ score · k / √{back.divisor**2:.4g}", said, short


def _products(a: Floats, b: Floats, result: float, digits: int, divisor: float = 1.0, most: int = 2) -> str:
    """Return the equation of a sum of products: the `most` largest and the rest, over `divisor`."""
    order = np.argsort(-np.abs(a * b), kind="stable")
    pairs, rest = [(float(a[k]), float(b[k])) for k in order[:most]], [float(a[order[most:]] @ b[order[most:]])]
    rest = rest if len(order) > most else []
    tokens = [token for x, y in pairs for token in (" + ", Quantity("", x), " · ", Quantity("", y))][1:]
    tokens += [token for x in rest for token in (" + rest ", Quantity("", x))]
    under = f"{divisor:.4g}" if np.isclose(divisor, float(f"{divisor:.4g}"), rtol=1e-9) else f"√{divisor**2:.4g}"
    tokens = tokens if divisor == 1 else ["(", *tokens, f") / {under}"]

    def again(k: int) -> float:
        return (sum(rounded(x, k) * rounded(y, k) for x, y in pairs) + sum(rounded(x, k) for x in rest)) / divisor

    return equation(tokens, result, again, digits)


def share_of(scores: Floats, place: int, largest: float) -> str:
    """Return the equation of a softmax share of scores (n,), from which `largest` is subtracted unless it is 0."""
    score, powers = float(scores[place]), np.exp(scores - largest)
    terms, parts = summed(powers.tolist(), LARGEST, LARGEST - 1)
    less: list[Token] = [f" {MINUS} ", Quantity("", largest), ")"] if largest else []
    tokens: list[Token] = ["e^(" if largest else "e^", Quantity("", score), *less, " / (", *terms, ")"]
    again = lambda k: np.exp(rounded(score, k) - rounded(largest, k)) / sum(rounded(x, k) for x in parts)  # noqa: E731
    return equation(tokens, float(powers[place] / powers.sum()), again, 3)


def score_delta(back: Attention, head: int, place: int) -> str:
    """Return how a score gets its delta from the deltas of its head's shares, through the softmax."""
    share, own = float(back.shares[head, place]), float(back.slopes[head, place])
    mean = float(back.shares[head] @ back.slopes[head])
    tokens = Quantity("", share), " · (", Quantity("", own), f" {MINUS} ", Quantity("", mean), ")"
    again = lambda k: rounded(share, k) * (rounded(own, k) - rounded(mean, k))  # noqa: E731
    return equation(tokens, float(back.scores[head, place]), again, 3)


TERMS, MAX, NORM, MOST_TERMS = "terms", "max", "norm", 256
"""Operations that `TABLE` does not have: a sum, a maximum, a norm; `MOST_TERMS` factors are kept at most."""
GAP = "gap"
"""A number minus its target, times a factor."""
RMS, RMS_SUM = "rms", "sum and rms"
"""A derivative through RMSNorm; the same plus the delta of a residual sum."""
OWN = {NORM: 5, GAP: 3, RMS: 4, RMS_SUM: 5}
"""Number of factors of each; for a norm: the number, the mean, the deviation, a weight and a bias."""
PASSED = {"passed": 1, "passed twice": 2}
"""A sum times slopes, such as δ through activations, and the number of slopes, which stand before the terms."""


def exact_sum(numbers: Iterable[float]) -> float:
    """Return the sum of numbers, rounded once; NaN if it has none, in a run that diverged."""
    try:
        return fsum(numbers)
    except (ValueError, OverflowError):
        return nan


def scaled(factor: float, inner: Sequence[Token]) -> list[Token]:
    """Return a difference times a factor as tokens: as it is, over a whole number, or after a fraction."""
    found = Fraction(factor).limit_denominator(1000)
    if found == 1:
        return [*inner]
    return ["(", *inner, f") / {found.denominator}"] if found.numerator == 1 else [f"{found} · (", *inner, ")"]


def operated(op: str, factors: Sequence[float], result: float, joined: str) -> str:
    """Return the equation of an operation, after `joined`, such as "mean of 9", if that is not empty."""
    first = f"{joined} = " if joined else ""
    if not factors:
        return f"{first}{digits_of(result, DIGITS)}"
    if op == TERMS:
        return f"{first}{added(factors, result)}"
    if op == "mul":
        return first + times(factors, result)
    if op == NORM:
        numbers = [Quantity("", x) for x in factors]
        signs = ("(", f" {MINUS} ", ") / ", " · ", " + ")
        tokens = [token for pair in zip(signs, numbers, strict=True) for token in pair]
        return equation(tokens, result, lambda k: _normed(*(rounded(x, k) for x in factors)))
    if op in (RMS, RMS_SUM):
        *residual, delta, y, mean, root = [Quantity("", x) for x in factors]
        tokens = [*(token for x in residual for token in (x, " + ")), "(", delta, f" {MINUS} ", y, " · ", mean]
        again = lambda k: through_rms(*(rounded(x, k) for x in factors))  # noqa: E731
        return equation([*tokens, ") / ", root], result, again)
    if op in PASSED:
        slopes, parts = factors[: PASSED[op]], factors[PASSED[op] :]
        tokens, shown = summed(parts, LARGEST, LARGEST - 1)
        tokens = ["(", *tokens, ")", *(token for x in slopes for token in (" · ", Quantity("", x)))]
        again = lambda k: sum(rounded(x, k) for x in shown) * prod(rounded(x, k) for x in slopes)  # noqa: E731
        return equation(tokens, result, again)
    if op == GAP:
        a, t, factor = factors
        tokens = scaled(factor, (Quantity("", a), f" {MINUS} ", Quantity("", t)))
        return first + equation(tokens, result, lambda k: (rounded(a, k) - rounded(t, k)) * factor)
    if op == MAX:
        tokens = [token for x in factors for token in (", ", Quantity("", x))][1:]
        return equation(["max(", *tokens, ")"], result, lambda k: max(rounded(x, k) for x in factors))
    if op in ("sin", "cos") and len(factors) == 2:  # of a product
        angle, x = _turns(factors[0]), factors[1]
        known, value = isinstance(angle, str), kernel(op).value
        again = lambda k: value((factors[0] if known else rounded(factors[0], k)) * rounded(x, k))  # noqa: E731
        return first + equation((f"{op}(", angle, " · ", Quantity("", x), ")"), result, again)
    if tuple(factors[1:]) == USUAL.get(op):
        return first + applied(op, factors[1:], factors[0], result)
    count, writer = len(factors), _writer_of(op, [""] * len(factors), [*factors, result])
    return first + equation(writer.line(count), result, partial(writer.evaluate_rounded, count))


def in_letters(op: str, names: Sequence[str]) -> str:
    """Return an operation on names."""
    return text_of(_writer_of(op, names, [nan] * (len(names) + 1)).line(len(names)))


def _writer_of(op: str, names: Sequence[str], values: list[float]) -> Writer:
    nodes = *(Node("input", index=k) for k in range(len(names))), Node(op, tuple(range(len(names))))
    return Writer(Tape(nodes, len(names), 0, 0), dict(enumerate(names)), values, ())


def through_rms(*numbers: float) -> float:
    """Return the derivative through RMSNorm.

    The last four numbers are the output's delta, the output, the mean of their products, and the root mean square.
    Deltas through a residual sum may stand before them.
    """
    *residual, delta, y, mean, root = numbers
    return sum(residual) + ((delta - y * mean) / root if root else nan)


def _normed(x: float, mean: float, deviation: float, weight: float, bias: float) -> float:
    return (x - mean) / deviation * weight + bias if deviation else nan


FEW = 3
"""Up to this many outputs, the equation of a squared loss shows all."""


def loss_of(outputs: Floats, targets: Floats, loss: float) -> tuple[str, str] | None:
    """Return the loss of one sample in symbols and with numbers: squared differences, or cross-entropy.

    `outputs` has one row per call of the last stage. None if neither formula gives `loss`.
    """
    if outputs.size == len(targets) <= FEW:
        pairs = [*zip(outputs.ravel().tolist(), targets.tolist(), strict=True)]
        whole = sum((y - t) ** 2 for y, t in pairs)
        parts = round(whole / loss) if loss > 0 and np.isfinite(whole / loss) else 0
        if parts in {1, 2, len(pairs)} and abs(whole / parts - loss) <= CLOSE * loss:
            tokens: list[Token] = []
            for y, t in pairs:
                sign = "+" if t < 0 else MINUS
                tokens += [" + ", "(", Quantity("", y), f" {sign} ", Quantity("", abs(t)), ")²"]
            first, last = ("(", f") / {parts}") if len(pairs) > 1 and parts > 1 else ("", f" / {parts}" * (parts > 1))
            again = lambda k: sum((rounded(y, k) - rounded(t, k)) ** 2 for y, t in pairs) / parts  # noqa: E731
            letters = f"{'Σ ' * (len(pairs) > 1)}{DIFFERENCE}²{f' / {parts}' * (parts > 1)}"
            return letters, equation([first, *tokens[1:], last], loss, again)
    places = len(outputs)  # behind the classes may stand how much each of them counts
    shares, wanted = shares_of(outputs.T, targets[:places])
    counted = targets[places:] != 0 if len(targets) == 2 * places else np.ones(len(targets), bool)
    if len(counted) != places or not counted.any():
        return None
    with np.errstate(divide="ignore"):
        terms = -np.log((shares * wanted).sum(axis=0)[counted])
    if not abs(terms.mean() - loss) <= CLOSE * max(loss, CLOSE):
        return None
    count = len(terms)
    chosen = range(count) if count <= LARGEST else (count - 1, int(np.argmax(terms[:-1])))
    shown, rest = np.exp(-terms[[*chosen]]).tolist(), float(np.delete(terms, [*chosen]).sum())
    signs: list[Token] = [token for share in shown for token in (f" {MINUS} ln ", Quantity("", share))]
    signs = [f"{MINUS}ln ", *signs[1:]]
    signs += [" + rest ", Quantity("", rest)] if len(shown) < count else []
    signs = signs if count == 1 else ["(", *signs, f") / {count}"]
    again = lambda k: (rounded(rest, k) - exact_sum(np.log(rounded(share, k)) for share in shown)) / count  # noqa: E731
    letters = "−ln(e^(y wanted) / Σ e^y)" if count == 1 else f"Σ {MINUS}ln share / {count}"
    return letters, equation(signs, loss, again)


def shares_of(outputs: Floats, classes: Floats) -> tuple[Floats, Floats]:
    """Return the softmax of each column, and 1 at its class: two arrays (outputs, columns)."""
    with np.errstate(all="ignore"):  # a run that diverged
        powers = np.exp(outputs - outputs.max(axis=0))
        return powers / powers.sum(axis=0), (np.arange(len(outputs))[:, None] == classes).astype(np.float64)


# ---- How a number is made


class RowOperation(NamedTuple):
    """An operation that makes a number, its factors, and its formula if they are few."""

    op: str
    factors: tuple[float, ...]
    formula: str = ""
    linear: bool = False


def operation_of(passes: Passes, row: int) -> RowOperation | None:
    """Return how a row of the program is made; None for random numbers and inputs."""
    made = passes.network.places.instruction_of(row)
    while made is not None and made[0].op == "float16":  # the rounding of half precision
        row = int(made[2][0])
        made = passes.network.places.instruction_of(row)
    if made is None:
        return _given_feature(passes, row)
    i, part, operands = made
    taken, output = passes.means[operands], 0
    if i.kind == "gather":
        return RowOperation(TERMS, (), f"row {taken[0] + 1:.0f}" if passes.size == 1 else "")
    if i.kind in ("op", MAX):
        return RowOperation(i.op or MAX, tuple(taken.tolist()), linear=i.op in ("add", "sub"))
    if i.kind == "product":
        taken = taken.reshape(2, -1).prod(axis=0)
    elif i.kind == "weighted":
        taken = i.numbers * taken
    elif i.kind in LAYERS:
        output = 0 if i.kind == "dot" else (row - i.dst) // len(i.args)
        dotted = i.weights.ravel()[part * i.terms :][: i.terms]
        weights = passes.theta[dotted if i.kind == "dot" else i.weights[output] + np.arange(len(operands))]
        if len(operands) == 1 and i.bias < 0 and not i.offset:
            return RowOperation("mul", (float(weights[0]), float(taken[0])), "w · x")
        taken = weights * taken
    else:
        return None
    more = [float(passes.theta[i.bias + output])] if i.bias >= 0 else []
    more += [i.offset] if i.offset else []
    formula = "Σ w · x + b" if i.bias >= 0 else "Σ w · x"
    return RowOperation(TERMS, condensed([*taken.tolist(), *more], MOST), formula, i.kind != "product")


def _given_feature(passes: Passes, row: int) -> RowOperation | None:
    """Return how a number made from inputs alone is made, such as ``sin(4π · x)``; None for an input."""
    encoder, tape, program = passes.network.runner.encoder, passes.network.tape, passes.network.body.program
    at = program.input_index[program.input_rows == row] - tape.n_inputs - tape.n_targets
    if encoder is None or not len(at) or at[0] < 0:
        return None
    places, rows = Places(encoder.program, {}), encoder.forward(np.empty(0), passes.first)[:, 0]
    made, given = places.instruction_of(int(encoder.program.outputs[at[0]])), encoder.program.input_rows.tolist()
    if made is None or made[0].kind != "op":
        return None
    op, inner = made[0].op, places.instruction_of(int(made[2][0]))
    if op in ("sin", "cos") and inner is not None and inner[0].op == "mul":
        x, factor = sorted(inner[2].tolist(), key=lambda k: k not in given)
        if x in given and factor in encoder.program.constant_rows:
            letters = f"{op}({text_of((_turns(rows[factor]),))} · input {encoder.program.input_index[given.index(x)]})"
            return RowOperation(op, (float(rows[factor]), float(rows[x])), letters)
    return RowOperation(op, tuple(rows[made[2]].tolist()))


def _turns(angle: float) -> Token:
    """Return the factor of an angle, as a multiple of π if it is one."""
    count = round(angle / pi)
    good = count and abs(angle - count * pi) <= CLOSE**2 * abs(angle)
    return f"{count if count != 1 else ''}π" if good else Quantity(digits_of(angle, DIGITS), angle)


def norm_operation(passes: Passes, stage: Stage, unit: int, tensors: Iterable[Tensor]) -> RowOperation | None:
    """Return how an output of a norm is made; None for any other stage, and for a norm without a mean."""
    places, parts = passes.network.places, dict[str, tuple[int, Rows]]()
    inside, below = {*places.inside(stage.name)}, [int(passes.network.rows_of[stage.name][unit])]
    for row in below if "norm" in stage.kind else ():
        made = places.instruction_of(row)
        if made is not None:
            parts.setdefault(made[0].op, (row, made[2]))
            below += [k for k in made[2].tolist() if k in inside and k not in below]
        if {"sub", "sqrt"} <= parts.keys():
            break
    else:
        return None
    scale = {"weight": 1.0, "bias": 0.0}
    for tensor in tensors:
        path, _, part = tensor.name.rpartition(".")
        if part in scale and tensor.size and stage.name.partition(" (")[0] == path:
            scale[part] = float(passes.theta[tensor.start + unit * tensor.size // stage.outputs])
    factors = *passes.means[parts["sub"][1]].tolist(), float(passes.means[parts["sqrt"][0]]), *scale.values()
    return RowOperation(NORM, factors, f"(x {MINUS} mean) / deviation · γ + β")
