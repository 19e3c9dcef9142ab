"""A notebook's kernel draws in a process of its own: it never loads OpenGL, and its pictures are the same bytes."""

import sys

import pytest

nbformat, nbclient = (pytest.importorskip(name) for name in ("nbformat", "nbclient"))
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")

PICTURES = """
import hashlib, sys
import scalarviz as sv
from scalarviz.scenes import xor
scene = xor.build(xor.Options(seed=1))
recording = sv.Recording(scene)
scene.run.step(30)
def print_pictures():
    made = sv.view.picture(scene), sv.view.picture(scene, (300, 240), inside=3)
    print(*(hashlib.sha256(one.pixels).hexdigest() for one in made), hashlib.sha256(made[0].svg.encode()).hexdigest())
    for shown in (sv.live(scene)._shown.still.output, sv.player(recording)):
        print(hashlib.sha256(shown.image.encode()).hexdigest(), shown.words)
print_pictures()
"""
MAPPED = """
from pathlib import Path
print([name for name in ("gallium", "swrast", "libEGL_mesa") if name in Path("/proc/self/maps").read_text()])
"""
FAILURES = """
import os, threading, time
from scalarviz.view.out import apart
def hold():
    with apart.offscreen():
        held.set()
        time.sleep(1)
def draw():
    apart.offscreen().render(lambda viewport: None, (3, 2))
    return os.getpid()
here, held = os.getpid(), threading.Event()
threading.Thread(target=hold).start()
held.wait()
print("once,", end=" ")
print(apart.apart(draw) != here)
apart.PATIENCE = 0.5
print([apart.apart(lambda: os.getpid() == here or end()) for end in (lambda: os._exit(3), lambda: time.sleep(60))])
print(apart.apart(lambda: (lambda: 7))())  # cannot be pickled
try:
    apart.apart(lambda: 1 // 0)
except ZeroDivisionError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def said():
    """What the cells printed in a kernel, and what the first prints in a Python without one."""
    cells = [PICTURES, MAPPED, FAILURES, "scalarviz = sv.view.out.offscreen.offscreen().start()", "print_pictures()"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    return ["".join(out.get("text", "") for out in cell.outputs if out.get("name") == "stdout") for cell in book.cells]


def test_pictures_are_those_of_this_process(said):
    """Cubes, an opened step, a live cell's still, the last frame of a recording."""
    apart, _, _, _, here = said
    assert len(apart.split()) > 10
    assert apart == here


def test_the_kernel_has_no_opengl(said):
    assert said[1].strip() == "[]"


def test_what_fails_there_is_drawn_here(said):
    """An end without an answer, none in time, an answer that cannot be sent; an error is that of the drawing.

    First another thread has the turn to draw, which a child would wait for.
    """
    assert said[2].splitlines() == ["once, True", "[True, True]", "7", "integer division or modulo by zero"]
