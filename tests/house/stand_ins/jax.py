"""A stand-in where JAX is not installed: what the docs call of it, by finite differences, on constant arrays."""

from __future__ import annotations

import sys

import numpy

__path__: list[str] = []
sys.modules["jax.numpy"] = numpy


class tree:
    """Functions of nested dicts."""

    @staticmethod
    def map(function, first, *others):
        """`function` of the leaves of all trees, in a tree of the same kind; its arrays cannot be written to."""
        if isinstance(first, dict):
            return {key: tree.map(function, first[key], *(other[key] for other in others)) for key in first}
        made = numpy.array(function(first, *others))
        made.flags.writeable = False
        return made


def jit(function):
    """Nothing is compiled."""
    return function


def value_and_grad(function):
    """The value and, by central differences, the gradient of a function of one tree."""

    def both(params):
        work = tree.map(lambda one: one, params)

        def slope(one):
            one.flags.writeable = True
            found = numpy.zeros(one.shape)
            for index in numpy.ndindex(one.shape):
                kept = one[index]
                one[index] = kept + 1e-6
                up = function(work)
                one[index] = kept - 1e-6
                found[index] = (up - function(work)) / 2e-6
                one[index] = kept
            return found

        return function(params), tree.map(slope, work)

    return both
