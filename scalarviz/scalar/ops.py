"""The table of operations: each formula of the package is written here, once. `register` adds one.

An entry (`Op`) holds its value and its partial derivatives as single expressions over a fixed vocabulary
(see :mod:`scalarviz.scalar.emit`). Each engine translates these strings into its own code, so a derivative is changed
in one place. In a partial derivative ``y`` is the operation's own result.

Derivatives at kinks agree with PyTorch: relu and abs have 0 at 0, leaky relu its slope, clip 1 on the bound. Binary
minimum and maximum give half to each operand; the n-ary max gives all to the first maximum. pow has derivative 0 for
exponent 0, and 0 for the exponent at base 0. A NaN input gives a NaN value and gradient: some ``where`` have one more
branch for that.

If a derivative is written as the number 0, the operand gets 0 from any upstream gradient, even inf and NaN. This
agrees with PyTorch unless ``kink`` says otherwise: abs at 0, clip with equal bounds, pow by its exponent at base 0. A
derivative that is computed as 0 is multiplied, and so is an upstream gradient of 0.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass

from ..errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from . import emit


@dataclass(frozen=True, slots=True)
class Op:
    """One scalar operation.

    Attributes
    ----------
    name : str
        Its name as a function and, for the built-in ones, as a method of ``Value``.
    args : tuple of str
        Names of its operands, one to three.
    value : str
        The result as an expression of the operands.
    partials : tuple of (str or None)
        The derivative of the result with respect to each operand, an expression of the operands and ``y``.
        None: no gradient flows to that operand.
    latex : str
        The formula in LaTeX.
    kink : str
        The derivative used where none exists, and differences from PyTorch.
    """

    name: str
    args: tuple[str, ...]
    value: str
    partials: tuple[str | None, ...]
    latex: str = ""
    kink: str = ""

    def expressions(self) -> tuple[str, ...]:
        """Return all formulas of the entry, the value first. Cache keys must cover them."""
        return (self.value, *(p or "" for p in self.partials))


TABLE: dict[str, Op] = {}
"""Every registered operation by name, in order of registration."""


LONGEST = 60
"""The most characters in an operation's name."""


def register(
    name: str,
    args: tuple[str, ...] | str,
    value: str,
    partials: tuple[str | None, ...],
    *,
    latex: str = "",
    kink: str = "",
) -> Op:
    """Add an operation to the table; every engine and ``gradcheck`` can use it at once.

    Parameters
    ----------
    name : str
        A new name, a valid Python identifier. You may register the same operation again.
    args : tuple of str or str
        Operand names (``"a b"`` is the same as ``("a", "b")``), one to three.
    value, partials : str, tuple of (str or None)
        Expressions, see :class:`Op`.

    Raises
    ------
    InputError
        The name is taken or no identifier, the numbers of operands and derivatives differ, or an expression uses
        something outside the vocabulary.
    TypeMismatchError
        A name, an operand or an expression is no text.
    """
    _check_kinds(name, args, value, partials)
    names = tuple(args.split()) if isinstance(args, str) else tuple(args)
    known = TABLE.get(name)
    if known is not None and (known.args, known.value, known.partials) == (names, value, tuple(partials)):
        return known  # such as a notebook cell that runs again
    _check_entry(name, names, partials)
    op = Op(name, names, value, tuple(partials), latex or name, kink)
    emit.translate((value,), names, emit.PYTHON, where=f"the value of operation {shown(name)}")
    for arg, partial in zip(names, op.partials, strict=True):
        if partial is not None:
            where = f"the derivative of {shown(name)} with respect to {shown(arg)}"
            emit.translate((partial,), (*names, "y"), emit.PYTHON, where=where)
    TABLE[name] = op
    return op


def _check_kinds(name: object, args: object, value: object, partials: object) -> None:
    texts = [name, value, *(args if isinstance(args, list | tuple) else [args])]
    if not all(isinstance(text, str) for text in texts):
        raise TypeMismatchError(
            f"register {shown(name)}: the name, the operands and the value must be strings, got {shown(texts)}"
        )
    if not isinstance(partials, list | tuple) or not all(p is None or isinstance(p, str) for p in partials):
        raise TypeMismatchError(
            f"register {shown(name)}: the derivatives must be a tuple of strings or None, got {shown(partials)}"
        )


RESERVED = (
    "input", "const", "param", "buffer", "dot", "max", "squares", "mask", "layer", "gather", "total", "batch_mean",
)  # fmt: skip
"""Names of nodes of a graph or of a tape that are no entries."""


def _check_entry(name: str, args: tuple[str, ...], partials: tuple[str | None, ...]) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"register: the name must be a Python identifier, got {shown(name)}")
    if len(name) > LONGEST:  # files of compiled kernels use the name
        raise InputError(f"register: a name may have at most {LONGEST} characters, got {len(name):,}: {shown(name)}")
    if name in RESERVED:
        raise InputError(f"register: {name!r} already names a node that is not an operation; choose another name")
    if name in TABLE:
        raise InputError(f"register: the operation {shown(name)} already exists; choose another name")
    if "y" in args:
        raise InputError(
            f"register {shown(name)}: 'y' names the result in derivatives, so no operand may have this name; got "
            f"{shown(args)}, choose another letter"
        )
    names = all(a.isidentifier() and not keyword.iskeyword(a) and not a.startswith("_") for a in args)
    if not 1 <= len(args) <= 3 or len(set(args)) != len(args) or not names:
        raise InputError(
            f"register {shown(name)}: give one to three different operand names, Python identifiers that do not "
            f"begin with '_'; got {shown(args)}"
        )
    if len(partials) != len(args):
        raise InputError(
            f"register {shown(name)}: give one derivative per operand ({listing(args)}); got {len(partials)}"
        )


def get(name: str) -> Op:
    """Return the entry with that name; the message of UnknownNameError lists the known ones."""
    try:
        return TABLE[name]
    except KeyError:
        raise UnknownNameError(f"there is no operation {shown(name)}; known are {listing(TABLE)}") from None


def _sigmoid(a: str, turned: bool = False) -> str:
    """Return ``1 / (1 + exp(-a))`` without overflow.

    `turned`: the sigmoid of ``-a``, not computed as ``1 - sigmoid(a)``.
    """
    part = f"exp(-abs({a}))"
    return f"where({a} >= 0, {f'{part}, 1' if turned else f'1, {part}'}) / (1 + {part})"


_SIGMOID = _sigmoid("a")

register("add", "a b", "a + b", ("1", "1"), latex="a + b")
register("sub", "a b", "a - b", ("1", "-1"), latex="a - b")
register("mul", "a b", "a * b", ("b", "a"), latex=r"a \cdot b")
register("div", "a b", "a / b", ("1 / b", "-y / b"), latex=r"\frac{a}{b}")
register("neg", "a", "-a", ("-1",), latex="-a")
register(
    "pow", "a b", "a ** b", ("where(b == 0, 0, b * a ** (b - 1))", "where(a == 0, where(b == b, 0, b), y * log(a))"),
    latex="a^{b}",
    kink="the slope with respect to the base is 0 at exponent 0; the slope with respect to the exponent is 0 at base 0 "
    "(PyTorch: -inf for negative exponents)",
)  # fmt: skip
register("exp", "a", "exp(a)", ("y",), latex="e^{a}")
register("log", "a", "log(a)", ("1 / a",), latex=r"\ln a")
register("sqrt", "a", "sqrt(a)", ("0.5 / y",), latex=r"\sqrt{a}")
register("sin", "a", "sin(a)", ("cos(a)",), latex=r"\sin a")
register("cos", "a", "cos(a)", ("-sin(a)",), latex=r"\cos a")
register("tanh", "a", "tanh(a)", ("1 - y * y",), latex=r"\tanh a")
register("sigmoid", "a", _SIGMOID, ("y * (1 - y)",), latex=r"\sigma(a) = \frac{1}{1 + e^{-a}}")
register("softplus", "a", "where(a > 0, a, 0) + log1p(exp(-abs(a)))", (_SIGMOID,), latex=r"\ln(1 + e^{a})")
RELU = register(
    "relu", "a", "where(a <= 0, 0, a)", ("where(a > 0, 1, where(a <= 0, 0, a))",), latex=r"\max(0, a)", kink="0 at 0"
)
LEAKY_RELU = register(
    "leaky_relu", "a slope", "where(a > 0, a, slope * a)",
    ("where(a > 0, 1, where(a <= 0, slope, a))", "where(a > 0, 0, a)"),
    latex=r"\max(a, s a)", kink="the slope at 0",
)  # fmt: skip
register(
    "abs", "a", "abs(a)", ("where(a > 0, 1, where(a < 0, -1, where(a == 0, 0, a)))",),
    latex="|a|", kink="0 at 0, for any upstream gradient (PyTorch: NaN in sqrt(abs(0)))",
)  # fmt: skip
register("square", "a", "a * a", ("2 * a",), latex="a^2")
for _name, _nearer, _farther in (("minimum", "<", ">"), ("maximum", ">", "<")):
    register(
        _name, "a b", f"where(a {_nearer} b, a, where(b {_nearer}= a, b, a + b))",
        (
            f"where(a {_nearer} b, 1, where(a {_farther} b, 0, where(a == b, 0.5, a + b)))",
            f"where(a {_nearer} b, 0, where(a {_farther} b, 1, where(a == b, 0.5, a + b)))",
        ),
        latex=rf"\{_name[:3]}(a, b)", kink="half each where the operands are equal",
    )  # fmt: skip
register(
    "clip", "a low high",
    "where(a != a, a, where(low != low, low, where(high != high, high, "
    "where(high < low, high, where(a < low, low, where(a > high, high, a))))))",
    (
        "where(y != y, y, where(a < low, 0, where(a > high, 0, 1)))",
        "where(y != y, y, where(a < low, where(high < low, 0, 1), 0))",
        "where(y != y, y, where(a > high, 1, where(high < low, 1, 0)))",
    ),
    latex=r"\min(\max(a, l), h)",
    kink="1 on a bound; if both bounds are equal, 1 to the bound that is crossed (PyTorch: 0 to all)",
)  # fmt: skip
register(
    "where", "c a b", "where(c != c, c, where(c != 0, a, b))",
    (None, "where(c != c, c, where(c != 0, 1, 0))", "where(c != c, c, where(c != 0, 0, 1))"),
    latex=r"c\ ?\ a : b", kink="the condition gets no gradient, the branch that is not chosen gets 0",
)  # fmt: skip
register("lt", "a b", "where(a < b, 1, 0)", (None, None), latex="a < b", kink="no gradient")
register("le", "a b", "where(a <= b, 1, 0)", (None, None), latex=r"a \le b", kink="no gradient")
register("gt", "a b", "where(a > b, 1, 0)", (None, None), latex="a > b", kink="no gradient")
register("ge", "a b", "where(a >= b, 1, 0)", (None, None), latex=r"a \ge b", kink="no gradient")

# The max of two operands; the max of more is its own node (`functions.MAX`).
FIRST_MAX = register(
    "first_max", "a b", "where(a >= b, a, where(a < b, b, a + b))",
    ("where(a >= b, 1, where(a < b, 0, a + b))", "where(a >= b, 0, where(a < b, 1, a + b))"),
    latex=r"\max(a, b)", kink="the first operand gets all where both are equal",
)  # fmt: skip
# logsumexp folds this operation from the left, so every engine supports it.
_NEARNESS = "exp(-abs(a - b))"
register(
    "logaddexp", "a b",
    f"where(a == b, a + 0.6931471805599453, where(a > b, a, where(a < b, b, a + b)) + log1p({_NEARNESS}))",
    tuple(f"where(a == b, 0.5, where({x} > {y}, 1, {_NEARNESS}) / (1 + {_NEARNESS}))" for x, y in ("ab", "ba")),
    latex=r"\ln(e^a + e^b)",
    kink="half each where equal; an infinite larger operand gets all (PyTorch's logsumexp: NaN to an operand inf, and "
    "to all operands if each is -inf)",
)  # fmt: skip

METHODS = tuple(TABLE)
"""The operations behind Python's operators, the methods of ``Value`` and the package's functions."""

_LOG_O = "where(log(o) < -100, -100, log(o))"
_LOG_1_O = "where(log1p(-o) < -100, -100, log1p(-o))"
register(
    "held_max", "a b", FIRST_MAX.value, (None, None),
    latex=r"\max(a, b)", kink="no gradient: a shift that keeps exp in range and cancels from the result (softmax)",
)  # fmt: skip
register(
    "binary_cross_entropy", "o t", f"-(t * {_LOG_O} + (1 - t) * {_LOG_1_O})",
    ("(o - t) / where(o * (1 - o) < 1e-12, 1e-12, o * (1 - o))", f"{_LOG_1_O} - {_LOG_O}"),
    latex=r"-(t \ln o + (1 - t) \ln(1 - o))",
    kink="logarithms are at least -100, denominators of the derivative at least 1e-12 (PyTorch's rule); the slope with "
    "respect to the target uses these logarithms too (PyTorch: without a bound)",
)  # fmt: skip
register(
    "huber", "d delta", "where(abs(d) <= delta, 0.5 * d * d, delta * (abs(d) - 0.5 * delta))",
    ("where(d > delta, delta, where(d < -delta, -delta, d))", "where(abs(d) <= delta, 0, abs(d) - delta)"),
    latex=r"H_\delta(d)",
)  # fmt: skip
register(
    "smooth_l1", "d beta", "where(abs(d) < beta, 0.5 * d * (d / beta), abs(d) - 0.5 * beta)",
    (
        "where(d >= beta, 1, where(d <= -beta, -1, d / beta))",
        "where(abs(d) >= beta, -0.5, -0.5 * (d / beta) * (d / beta))",
    ),
    latex=r"S_\beta(d)",
)  # fmt: skip
_SOFTPLUS_X = "(where(x > 0, x, 0) + log1p(exp(-abs(x))))"
_SOFTPLUS_MINUS_X = "(where(x < 0, -x, 0) + log1p(exp(-abs(x))))"
register(
    "bce_with_logits", "x t p", "where(x < 0, -p * t, 1 - t) * x + (1 + (p - 1) * t) * log1p(exp(-abs(x)))",
    (
        f"(1 - t) * ({_sigmoid('x')}) - p * t * ({_sigmoid('x', turned=True)})",
        f"p * {_SOFTPLUS_MINUS_X} - {_SOFTPLUS_X}",
        f"t * {_SOFTPLUS_MINUS_X}",
    ),
    latex=r"-(p\,t \ln \sigma(x) + (1 - t) \ln(1 - \sigma(x)))",
)  # fmt: skip
register(
    "hinge_embedding", "x t margin",
    "where(t == 1, x, where(t == -1, where(margin - x < 0, 0, margin - x), "
    "where(x < margin, margin, where(x >= margin, x, x + margin))))",  # for other targets PyTorch adds both terms
    (
        "where(t == 1, 1, where(margin - x < 0, where(t == -1, 0, 1), "
        "where(margin - x >= 0, where(t == -1, -1, 0), margin - x)))",
        None,
        "where(t == 1, 0, where(margin - x < 0, 0, where(margin - x >= 0, 1, margin - x)))",
    ),
    latex=r"t = 1\ ?\ x : \max(0, m - x)", kink="-1 where the margin is reached exactly; the target gets no gradient",
)  # fmt: skip

# ---- activations, with PyTorch's formulas

register("erf", "a", "erf(a)", ("1.1283791670955126 * exp(-(a * a))",), latex=r"\operatorname{erf} a")
_CDF = "(0.5 * erfc(a * -0.7071067811865476))"  # the normal distribution; 1 + erf would be 0 for very negative a
register("gelu", "a", f"a * {_CDF}", (f"{_CDF} + a * (0.3989422804014327 * exp(-0.5 * a * a))",), latex=r"a\,\Phi(a)")
_NEAR = "where(a > 30, 30, where(a < -30, -30, a))"  # beyond, the curve is a or 0 in every dtype; a**3 would overflow
_BENT = f"(1.5957691216057308 * {_NEAR} * (1 + 0.044715 * {_NEAR} * {_NEAR}))"  # 0.5 * (1 + tanh(u)) is sigmoid(2 * u)
_BENT_MORE = f"(1.5957691216057308 * {_NEAR} * (1 + 0.134145 * {_NEAR} * {_NEAR}))"  # its derivative, times a
register(
    "gelu_tanh", "a", f"a * ({_sigmoid(_BENT)})",
    (f"({_sigmoid(_BENT)}) * (1 + {_BENT_MORE} * ({_sigmoid(_BENT, turned=True)}))",),
    latex=r"a\,\tilde\Phi(a)",
)  # fmt: skip
register(
    "silu", "a", f"a * ({_SIGMOID})", (f"({_SIGMOID}) * (1 + a * ({_sigmoid('a', turned=True)}))",),
    latex=r"a\,\sigma(a)",
)  # fmt: skip
_HALF = "tanh(where(a > 0, 0, a) * 0.5)"
_EXPM1 = f"(2 * {_HALF} / (1 - {_HALF}))"  # exp(a) - 1 without cancellation, for a below 0
register(
    "elu", "a alpha", f"where(a > 0, a, alpha * {_EXPM1})",
    ("where(a > 0, 1, alpha * exp(a))", f"where(a > 0, 0, {_EXPM1})"),
    latex=r"a > 0\ ?\ a : \alpha (e^a - 1)", kink="alpha at 0",
)  # fmt: skip
register(
    "log_sigmoid", "a", "where(a < 0, a, 0) - log1p(exp(-abs(a)))",
    ("where(a <= 0, 1, exp(-abs(a))) / (1 + exp(-abs(a)))",),
    latex=r"\ln \sigma(a)",
)  # fmt: skip
_BETA_A = "(a * beta)"
register(
    "softplus_up_to", "a beta threshold",
    f"where({_BETA_A} > threshold, a, (where({_BETA_A} > 0, {_BETA_A}, 0) + log1p(exp(-abs({_BETA_A})))) / beta)",
    (
        f"where({_BETA_A} > threshold, 1, where({_BETA_A} >= 0, 1, exp(-abs({_BETA_A}))) / (1 + exp(-abs({_BETA_A}))))",
        None, None,
    ),
    latex=r"\tfrac{1}{\beta} \ln(1 + e^{\beta a})", kink="beta and threshold get no gradient",
)  # fmt: skip
register(
    "relu6", "a", "where(a <= 0, 0, where(a >= 6, 6, a))", ("where(a <= 0, 0, where(a >= 6, 0, where(a == a, 1, a)))",),
    latex=r"\min(\max(0, a), 6)", kink="0 at 0 and at 6",
)  # fmt: skip
register(
    "float16", "a", "float16(a)", ("float16(1)",),
    latex=r"\mathrm{float16}(a)",
    kink="1 everywhere, though the value is a staircase; the gradient is rounded to float16 too",
)  # fmt: skip
register(
    "scale_gradient", "a scale", "a", ("scale", None),
    latex="a", kink="the scale, though the value stays the same: backward multiplies the gradient by the scale",
)  # fmt: skip
STAND_INS = ("float16", "scale_gradient")
"""Operations with a stand-in derivative, which makes float16 trainable; finite differences do not match it."""
