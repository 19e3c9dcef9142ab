"""The mutation tool: it finds a stored mutant wherever its function is, and tells killed mutants from survivors."""

import json
import subprocess
import sys

import pytest

from kit import faults, mutants

SOURCE = '''
class Shop:
    def price(self, count):
        """What is paid for many."""
        if count > 10:
            return count - 7
        return count


def unused(count):
    return count + 1
'''
TESTS = """
import subprocess, sys
from scalarviz.shop import Shop

def test_few(): assert Shop().price(3) == 3
def test_many(): assert Shop().price(20) == 13
def test_called(): subprocess.run([sys.executable, "-c", "from scalarviz.shop import unused; unused(1)"], check=True)
"""


@pytest.fixture
def checkout(tmp_path):
    """A product of one file, and its tests."""
    files = {
        "scalarviz/__init__.py": "", "scalarviz/shop.py": SOURCE, "scenes/__init__.py": "", "notebooks/a.txt": "",
        "tests/test_shop.py": TESTS, "pytest.ini": "[pytest]\naddopts = -ra\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def all_mutants():
    """All mutants of the file."""
    return [found for found, *_ in faults.mutants_of(SOURCE, {"Shop.price", "unused"}, "scalarviz/shop.py")]


def test_each_line_of_code_may_be_drawn_and_each_operator_makes_its_change(checkout):
    drawn = faults.drawn(checkout, faults.files(checkout), {"python": 40}, seed=3)
    assert set(drawn) <= set(all_mutants())
    wanted = {"if count > 10:", "return count - 7", "return count", "return count + 1"}
    assert {mutant.before for mutant in drawn} == wanted
    changes = {"if count >= 10:", "if not count > 10:", "if count > 11:", "return count + 7", "return None"}
    assert changes <= {mutant.after for mutant in all_mutants()}


@pytest.mark.ci
def test_the_run_tells_killed_mutants_from_survivors_and_goes_on_where_it_stopped(checkout, monkeypatch, capsys):
    monkeypatch.setattr(mutants, "KEPT", checkout)
    chosen = [mutant for mutant in all_mutants() if mutant.after in ("return count + 7", "return count - 1")]
    (checkout / "sample.jsonl").write_text("\n".join(json.dumps(mutants.asdict(mutant)) for mutant in chosen))
    (checkout / "survivors.txt").write_text(
        "unused: return count + 1  ->  return count - 1\tnobody reads what it returns\n"
    )
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    cover, results = checkout / "build/cover.json.gz", checkout / "build/results.jsonl"
    tool = [sys.executable, mutants.__file__]
    subprocess.run([*tool, "cover", "--suite", checkout, "--out", cover], check=True)
    places = {"--product": checkout, "--suite": checkout, "--cover": cover, "--results": results}
    command = ["run", "--workers", "1", *(part for pair in places.items() for part in pair)]
    mutants.main(list(map(str, command)))
    said = capsys.readouterr().out
    before = results.read_text()
    rows = [row for row in mutants.read_rows(results) if "outcome" in row]
    assert {row["after"]: (row["outcome"], row["by"], row["tests"]) for row in rows} == {
        "return count + 7": ("killed", "tests/test_shop.py::test_many", 2),
        "return count - 1": ("survived", "", 1),  # called in another process
    }
    assert "nobody reads what it returns" in said
    mutants.main(list(map(str, command)))
    assert results.read_text() == before, "what is done is not done again"
