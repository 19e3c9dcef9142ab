"""`sv.live` before a browser is there: its words, what it refuses, and where it is heard."""

import importlib
import re
import sys
import types

import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import MissingDependencyError, UnknownNameError
from scalarviz.view.cell.live import heard_where_sent, live_class
from scalarviz.view.described import words_of
from scalarviz.view.page.pictures import output_of
from scalarviz.view.shown.subject import subject_of

pytestmark = pytest.mark.gl


def test_words_say_what_is_drawn_and_are_escaped_and_a_name_that_cannot_be_hidden_is_refused():
    with pytest.raises(UnknownNameError, match="hide has 'speed'; there are"):
        sv.live(nn.Linear(2, 2), hide=("speed",))
    said = output_of(None, 'x"><script>alert(1)</script>', "a").html
    assert said == '<p class="a">x&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>'
    assert words_of("linear", subject_of(nn.Linear(2, 3)).frame(), counted=False) == "linear: 9 numbers as cubes"


def test_without_the_package_it_says_what_to_install(monkeypatch):
    live_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    try:
        with pytest.raises(MissingDependencyError, match=re.escape("pip install 'scalarviz[notebook]'")):
            sv.live(nn.Linear(2, 2))
    finally:
        live_class.cache_clear()


def test_what_the_browser_says_is_heard_in_the_shell_that_it_is_said_to():
    """ipykernel answers a comm where it was last used from, which of a thread's frames is the shell that is busy."""
    comm = importlib.import_module("ipykernel.comm.comm").BaseComm(primary=False)
    comm._reply_subshell_id = None  # the main shell, which runs a cell
    heard_where_sent(types.SimpleNamespace(comm=comm))
    if hasattr(comm, "_reply_subshell_for"):  # from 7.4 on
        assert comm._reply_subshell_for({"content": {"kind": "drawn"}}, "the browser's") == "the browser's"
    heard_where_sent(types.SimpleNamespace(comm=None))  # nobody there: marimo's, or no kernel
