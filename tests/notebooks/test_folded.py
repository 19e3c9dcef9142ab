"""Folded parts of the lessons: the formula of an idea, and the same in PyTorch with the numbers that the lesson prints.

A folded part is a text cell of its own. It stands behind the cell whose numbers it has.
"""

import ast
import contextlib
import io
import json
import re

import pytest

from kit.exercises import NOTEBOOKS

LESSONS = {path.name.partition("-")[0]: path.with_suffix(".ipynb") for path in sorted(NOTEBOOKS.glob("*.py"))}
LONGEST = 13
"""Lines of a block: more do not fit on a slide."""
ELEMENT = re.compile(r"<details>\n<summary>[^<\n]+</summary>\n\n(.+)\n\n</details>", re.DOTALL)
BLOCK = re.compile(r"^```python\n(.+?)\n```$", re.DOTALL | re.MULTILINE)
SAYS = re.compile(r"^ *print\(.+\)  # (.+)$", re.MULTILINE)
NUMBER = re.compile(r"True|False|-?\d+(?:,\d{3})*(?:\.\d*)?(?:e[-+]\d+)?")
each_lesson = pytest.mark.parametrize("number", LESSONS)


def folded(number):
    """The text cells of a lesson with a folded part: the source, the type of slide, all that was printed above it."""
    above = ""
    for cell in json.loads(LESSONS[number].read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            above += "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")
        elif "<details" in source:
            yield source, cell["metadata"]["slideshow"]["slide_type"], above


def numbers(text):
    """The numbers in a text with the digits that it shows, and True and False."""
    return [found.rstrip(".") for found in NUMBER.findall(text.replace("−", "-"))]


@each_lesson
def test_a_lesson_has_folded_parts_and_each_has_a_summary_a_formula_and_a_short_block(number):
    parts = list(folded(number))
    assert parts
    for source, slide, _ in parts:
        element = ELEMENT.fullmatch(source)
        assert element, source
        assert source.count("<details") == 1
        assert slide == "skip"
        assert re.search(r"^\$\$.+?\$\$$", element[1], re.DOTALL | re.MULTILINE), source
        (block,) = BLOCK.findall(element[1])
        assert len(block.splitlines()) <= LONGEST


@each_lesson
def test_a_block_runs_alone_and_prints_what_its_comments_and_the_cells_above_say(number, torch):
    for source, _, above in folded(number):
        (block,) = BLOCK.findall(source)
        imports = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Import | ast.ImportFrom)]
        modules = {getattr(node, "module", None) or node.names[0].name for node in imports}
        assert {module.partition(".")[0] for module in modules} <= {"torch", "numpy"}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(block, f"<lesson {number}>", "exec"), {})
        assert said.getvalue().splitlines() == SAYS.findall(block), source
        assert numbers(said.getvalue())
        assert [each for each in numbers(said.getvalue()) if each not in numbers(above)] == [], source
