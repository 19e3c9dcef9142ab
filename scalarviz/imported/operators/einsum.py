"""Einstein sums: products of arrays by names of their axes, as matrix products two by two."""

from __future__ import annotations

from math import prod

import numpy as np

from ...errors import shown
from ...scalar import functions
from .alike import Array, bare, dressed, objects, reduced, room
from .products import matrix_product
from .table import Call, operator

DOTS = "..."
MOST_PRODUCTS = 1 << 35
"""Of all places along all axes: few letters ask for more than any computer does in a year."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@operator("Einsum")
def einsum(call: Call) -> list[Array]:
    """``ij,jk->ik`` and its like; axes that are in no result are summed over."""
    equation = str(call.attribute("equation", "")).replace(" ", "")
    operands = [call.input(k) for k in range(max(len(call.inputs), 1))]
    names, result = _names(call, equation, operands)
    sides = {
        name: side for own, x in zip(names, operands, strict=True) for name, side in zip(own, x.shape, strict=True)
    }
    room([sides[name] for name in result], not call.known)
    if prod(sides.values()) > MOST_PRODUCTS:
        raise call.wrong(f"{prod(sides.values()):,} products; at most {MOST_PRODUCTS:,} are taken")
    if call.known:
        return [np.asarray(np.einsum(equation, *operands, optimize="greedy"))]
    parts = [_diagonal(objects(x), own) for x, own in zip(operands, names, strict=True)]
    found, own = parts[0]
    for k, (x, others) in enumerate(parts[1:], start=2):
        later = set(result).union(*(rest for _, rest in parts[k:]))
        found, own = _product(found, own, x, others, later)
    found, own = _summed(found, own, set(result))
    return [found.transpose([own.index(name) for name in result])]


def _names(call: Call, equation: str, operands: list[Array]) -> tuple[list[str], str]:
    """The axes of each operand and of the result, a letter each."""
    before, arrow, result = equation.partition("->")
    terms = before.split(",")
    spare = [letter for letter in LETTERS if letter not in equation]
    if len(terms) != len(operands):
        raise call.wrong(f"the equation {shown(equation)} is not for {len(operands)} operands")
    many = [
        x.ndim - len(term.replace(DOTS, "")) if DOTS in term else 0 for term, x in zip(terms, operands, strict=True)
    ]
    dots = "".join(spare[: max(many, default=0)])
    full = [term.replace(DOTS, dots[len(dots) - n :]) for term, n in zip(terms, many, strict=True)]
    if any(len(own) != x.ndim for own, x in zip(full, operands, strict=True)):
        raise call.wrong(f"the equation {shown(equation)} does not fit the shapes {[x.shape for x in operands]}")
    letters = "".join(full)
    sides = {
        (name, side) for own, x in zip(full, operands, strict=True) for name, side in zip(own, x.shape, strict=True)
    }
    if len(sides) != len(set(letters)):
        raise call.wrong(f"the equation {shown(equation)} gives an axis two lengths in {[x.shape for x in operands]}")
    if not arrow:
        result = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    wanted = result.replace(DOTS, dots)
    if len(set(wanted)) != len(wanted) or not set(wanted) <= set(letters):
        raise call.wrong(f"the equation {shown(equation)} has a result that is not made of its operands' axes")
    return full, wanted


def _diagonal(x: Array, own: str) -> tuple[Array, str]:
    """Axes of one name as one."""
    names = "".join(dict.fromkeys(own))
    if names == own:
        return x, own
    places = np.einsum(f"{own}->{names}", np.arange(x.size).reshape(x.shape))
    return dressed(bare(x).ravel()[places]), names


def _summed(x: Array, own: str, kept: set[str]) -> tuple[Array, str]:
    """Without the axes that nobody needs any more."""
    gone = tuple(k for k, name in enumerate(own) if name not in kept)
    return (reduced(x, gone, False, functions.sum) if gone else x), "".join(name for name in own if name in kept)


def _product(a: Array, left: str, b: Array, right: str, later: set[str]) -> tuple[Array, str]:
    """The product of two arrays, summed over what only they have."""
    a, left = _summed(a, left, later | set(right))
    b, right = _summed(b, right, later | set(left))
    both = [name for name in left if name in right and name in later]
    inner = [name for name in left if name in right and name not in later]
    rows, columns = ([name for name in own if name not in other] for own, other in ((left, right), (right, left)))
    sides = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}
    shape = [sides[name] for name in both]
    many, deep = prod(sides[name] for name in rows), prod(sides[name] for name in inner)
    wide = prod(sides[name] for name in columns)
    matrix = a.transpose([left.index(n) for n in (*both, *rows, *inner)]).reshape(*shape, many, deep)
    other = b.transpose([right.index(n) for n in (*both, *inner, *columns)]).reshape(*shape, deep, wide)
    found = matrix_product(matrix, other).reshape([sides[name] for name in (*both, *rows, *columns)])
    return found, "".join((*both, *rows, *columns))
