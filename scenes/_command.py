"""What the commands that scenes copy have in common: how flags are written, and what no flag can say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scalarviz.run.controls import Reader
from scalarviz.run.edits import Edit, Several


def command(words: list[str], flags: Mapping[str, Any], usual: Callable[[str], str], lost: list[str]) -> str:
    """A line that can be typed: flags that are not as usual, and behind a ``#`` what they leave out.

    Parameters
    ----------
    words : list of str
        What comes before the flags ("scalarviz", the scene, its arguments).
    flags : mapping of str to object
        By the names of options; None leaves one out, True stands alone, a list is written once for each of its texts.
    usual : callable
        ``usual(name)``: what an option is without being given, as it would be written.
    lost : list of str
        What the flags cannot say.
    """
    line = list(words)
    for name, value in flags.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            line += [word for text in value for word in (flag, str(text))]
        elif value is not None and str(value) != usual(name):
            line += [flag] + ([] if value is True else [str(value)])
    return shlex.join(line) + (f"  # without {' and '.join(lost)}" if lost else "")


def done_before(reader: Reader) -> tuple[tuple[int, Edit], ...]:
    """The edits on the way to a moment, each after its step."""
    past = reader.frame.past
    return () if past is None else tuple((a.step, a.edit) for a in past.edits if a.step <= reader.frame.step)


def lost_on_the_way(reader: Reader, says: Callable[[Edit], bool]) -> Iterator[str]:
    """What the flags of any run cannot say: edits, but those before the first step that flags say as well.

    Parameters
    ----------
    reader : Reader
    says : callable
        ``says(edit)``: whether flags say what a single edit does before the first step.
    """

    def said(edit: Edit) -> bool:
        return all(map(said, edit.edits)) if isinstance(edit, Several) else says(edit)

    first = first_of(reader)
    count = sum(not (step == first == 0 and said(edit)) for step, edit in done_before(reader))
    if count:
        yield f"{count} {'change' if count == 1 else 'changes'} on the way"


def first_of(reader: Reader) -> int:
    """The step with which the run began: not 0 where its weights are those of a file."""
    return 0 if reader.frame.past is None else reader.frame.past.first


def earlier_steps(reader: Reader) -> Iterator[str]:
    """Steps that were done before the run began."""
    if first := first_of(reader):
        yield f"{first:,} steps before"


def argument(path: Path) -> str:
    """A file's name as a word that is no flag: one that begins with a dash is said to lie in this folder."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def short(number: float) -> str:
    """As few digits as bring the very same number back: a float64 run takes another way with its neighbour."""
    few = f"{number:.6g}"
    return few if float(few) == number else repr(float(number))


def plain(value: Any) -> str:
    """An option's default as it would be written."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return short(value) if isinstance(value, float) else str(value)
