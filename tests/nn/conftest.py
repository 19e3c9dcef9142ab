"""What the tests of layers share; tests of this folder may use what another file of it makes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scalar.nested import flatten, shape_of

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)


def values(array):
    """An array as nested lists of leaves."""
    return sv.Value(float(array)) if np.ndim(array) == 0 else [values(part) for part in array]


def numbers(x):
    """The numbers of nested lists, as an array of their shape."""
    return np.array([v.data for v in flatten(x)]).reshape(shape_of(x))


def gradients(x):
    """The gradients of nested lists, as an array of their shape."""
    return np.array([v.grad for v in flatten(x)]).reshape(shape_of(x))


def compare(arrays, name, net):
    """One sample forward and backward against the arrays of an oracle: values and all gradients."""
    prefix = f"{name}/param/"
    net.load_state_dict({k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)})
    net.eval()
    x = values(arrays[f"{name}/x"])
    y = net(x)
    np.testing.assert_allclose(numbers(y), arrays[f"{name}/y"], rtol=1e-12, atol=1e-14)
    sv.dot(arrays[f"{name}/upstream"].ravel().tolist(), flatten(y)).backward()
    np.testing.assert_allclose(gradients(x), arrays[f"{name}/x.grad"], rtol=1e-12, atol=1e-13)
    wanted = {k.removeprefix(f"{name}/grad/"): a for k, a in arrays.items() if k.startswith(f"{name}/grad/")}
    assert wanted.keys() == {n for n, _ in net.named_parameters()}
    for path, parameter in net.named_parameters():
        np.testing.assert_allclose(parameter.grad, wanted[path], rtol=1e-12, atol=1e-13, err_msg=path)


@pytest.fixture(scope="session", name="values")
def values_fixture():
    return values


@pytest.fixture(scope="session", name="numbers")
def numbers_fixture():
    return numbers


@pytest.fixture(scope="session", name="gradients")
def gradients_fixture():
    return gradients


@pytest.fixture(scope="session", name="compare")
def compare_fixture():
    return compare
