"""README and docs are true: code and recipes run as pasted, links lead somewhere, keys and figures are up to date."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import scalarviz as sv
from kit.keys import of_the_window
from scalarviz import nn

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FILES += [path for folder in ("docs", "docs/reference") for path in sorted((ROOT / folder).glob("*.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
BLOCKS = [
    block for text in PAGES.values() for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
]
PROGRAMS = [block for block in BLOCKS if "def build(" not in block]  # scene files are run in tests/cli
RECIPES = re.findall(r"^```sh\n(.*?)^```", PAGES["docs/recipes.md"], re.DOTALL | re.MULTILINE)
TABLES = {"points.csv": "x,y,kind\n" + "".join(f"{k % 5},{k % 3},{'ab'[k % 2]}\n" for k in range(40)),
          "line.csv": "x,y\n" + "".join(f"{k},{2 * k + 1}\n" for k in range(20))}  # fmt: skip
"""Files that recipes read."""
NAMES = re.compile(r"<!-- names: ([\w.]+) -->")
KEYS = re.compile(r"<!-- keys: made by tests/kit/keys\.py -->\n(.*?)<!-- end of keys -->", re.DOTALL)


def test_there_is_code_of_both_kinds():
    assert len(PROGRAMS) >= 3
    assert len(BLOCKS) > len(PROGRAMS)


@pytest.mark.ci
@pytest.mark.gl
@pytest.mark.parametrize("block", PROGRAMS, ids=[str(number) for number in range(len(PROGRAMS))])
def test_code_runs_as_pasted_in_an_empty_folder(tmp_path, block, request):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error::RuntimeWarning"}
    if "import torch" in block:
        pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
        environment["OMP_NUM_THREADS"] = "1"  # its threads wait for each other where other tests run beside
    if "import jax" in block:
        pytest.importorskip("jax", reason="no JAX (extra trees)")
    if "sv.show(" in block:
        environment |= {"DISPLAY": request.getfixturevalue("display"), "QT_QPA_PLATFORM": "xcb"}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", block]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True) as program:
        if ".wait()" in block:
            _close_its_window(program, environment)
        _, said = program.communicate(timeout=120)
    assert program.returncode == 0, said
    assert "Traceback" not in said
    for name in re.findall(r'save_png\("([^"]+)"', block):
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.ci
@pytest.mark.gl
@pytest.mark.parametrize("recipe", RECIPES, ids=[str(number) for number in range(len(RECIPES))])
def test_recipes_run_as_pasted_and_write_what_they_name(tmp_path, recipe):
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    around = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    for line in recipe.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "scalarviz"
        command = [sys.executable, "-m", "scalarviz", *arguments]
        environment = {**around, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        stopped = 3 if "--break" in arguments else 0
        assert done.returncode == stopped, done.stderr
        for word in arguments:
            if re.fullmatch(r"\w+\.[a-z0-9]+", word) and not word[0].isdigit():
                assert (tmp_path / word).stat().st_size > 100, word


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if NAMES.search(text)])
def test_every_name_of_the_reference_stands_in_an_example_of_its_page(page):
    """The lists themselves come from the modules: see .ci/make_site.py."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE))
    for module in map(importlib.import_module, NAMES.findall(PAGES[page])):
        made = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
        names = [name for name in getattr(module, "__all__", made)
                 if name[0] != "_" and not isinstance(getattr(module, name), ModuleType)]  # fmt: skip
        assert names
        assert [name for name in names if not re.search(rf"\b{name}\b", code)] == [], module.__name__


WORDS = re.search(r"<!-- words: .*?-->\n(.*?)<!-- end of words -->", PAGES["docs/python.md"], re.DOTALL)[1]
ROWS = [row.strip("| ").split(" | ") for row in WORDS.splitlines()[2:]]


@pytest.mark.parametrize("row", ROWS, ids=[row[0].split("`")[1] for row in ROWS])
def test_words_inside_forward_do_what_their_table_says(row):
    """A word is tried on a row of 4 numbers and on 3 rows: a refused one is so on both, others work on one of them."""
    for cell, works in ((row[0], not row[1].startswith("refused")), ("".join(row[2:]), True)):
        for word in re.findall(r"`([^`]+)`", cell):
            assert any(works_inside(word, x) for x in SAMPLES) is works, word


SAMPLES = [0.1, 0.2, 0.3, 0.4], [[0.1, 0.2, 0.3, 0.4]] * 3


def works_inside(word, sample):
    class Tried(nn.Module):
        def forward(self, x):
            return eval(word, {"x": x, "h": x * 2, "a": x, "b": x + 1, "np": np, "nn": nn, "sv": sv})

    try:
        Tried()(sample)
    except sv.ScalarvizError:
        return False
    return True


def _close_its_window(program, environment):
    """Press Ctrl+Q in the program's window, which is still there after the program's loop."""
    until = time.monotonic() + 100
    while not _xdo(environment, "search", "--onlyvisible", "--name", "^scalarviz: "):
        assert time.monotonic() < until
        assert program.poll() is None, program.communicate()[1]
        time.sleep(0.2)
    time.sleep(3)
    while program.poll() is None and time.monotonic() < until:
        _xdo(environment, "key", "ctrl+q")
        time.sleep(0.5)


def _xdo(environment, *words):
    return subprocess.run(["xdotool", *words], env=environment, capture_output=True, text=True, check=False).stdout


def test_the_keys_are_those_of_the_program():
    (table,) = KEYS.findall(PAGES["docs/window.md"])
    assert table == of_the_window(), "docs/window.md: put keys.of_the_window() between the two comments"


def anchors(text):
    """The anchors of a page's headings, as they are commonly made: lower case, no punctuation, dashes for spaces."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", PAGES[page])
    for file, anchor in links:
        if file.startswith("https://"):  # another site: nothing is fetched by a test
            continue
        there = (ROOT / page).parent / file if file else ROOT / page
        assert there.exists(), f"{page}: {file}"
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{page}: {file}#{anchor}"


def test_every_page_is_reached_from_the_readme():
    seen, found = set(), ["README.md"]
    while found:
        page = found.pop()
        seen.add(page)
        links = re.findall(r"\]\(([^)#\s:]+)", PAGES[page])
        there = {((ROOT / page).parent / file).resolve().relative_to(ROOT).as_posix() for file in links}
        found += there & (PAGES.keys() - seen)
    assert seen == set(PAGES)


def test_the_files_of_how_it_works_are_there_and_each_is_named_once():
    named = re.findall(r"`(scalarviz/[\w/]+\.\w+)`", PAGES["docs/how-it-works.md"])
    assert len(named) > 30
    assert len(named) == len(set(named))
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_figures_are_those_of_the_result_files():
    spec = importlib.util.spec_from_file_location("readme_table", ROOT / "benchmarks" / "readme_table.py")
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    for name, made in table.FILES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        parts = [part.partition(table.END)[0].strip() for part in text.split(table.START)[1:]]
        assert parts == [one() for one in made], f"{name}: run python benchmarks/readme_table.py"
