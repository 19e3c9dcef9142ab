"""A name of PyTorch is here, or the error says what to write instead."""

import inspect
from operator import attrgetter

import pytest

from scalarviz import nn, optim

NET = nn.Linear(2, 2)
OPT = optim.SGD(NET.parameters(), lr=0.1)
OURS = {"nn.Module": NET, "optim.Optimizer": OPT, "optim": optim, "nn": nn}


def public(theirs):
    """The names of a class, or those of the classes in a module."""
    for name in dir(theirs):
        if not name.startswith("_") and (inspect.isclass(theirs) or inspect.isclass(getattr(theirs, name))):
            yield name


@pytest.mark.ci
@pytest.mark.parametrize("kind", OURS)
def test_a_name_is_here_or_the_error_says_what_to_write(kind, torch):
    theirs, ours = attrgetter(kind)(torch), OURS[kind]
    names = list(public(theirs))
    assert len(names) > 9
    silent = []
    for name in names:
        try:
            getattr(ours, name)
        except AttributeError as error:
            if "attribute" not in str(error) or len(str(error).partition(f"{name!r}: ")[2]) < 10:
                silent.append(name)
    assert silent == []
