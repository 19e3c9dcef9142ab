"""Forwards as people write them, from the files in ``texts/``, for `kit.same_text`.

``== title | shapes of a sample | ...`` begins a section. In ``words.txt`` and ``batch.txt`` each line is a text: behind
the line in the title, which makes `h` of the sample, and before ``return self.o(h)``. In the other files a section is
one network: its fields, the lines of ``__init__``, those of ``forward``. After ``->`` stands the text that means the
same; in brackets a part of it that a message has to contain, unless that is the first new dimension or the dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .layers import LAYERS, Layer
from .same_text import Text

TEXTS = Path(__file__).with_name("texts")
PARTS = {
    "a": "N.Linear(4, 4)", "b": "N.Linear(4, 4)", "c": "N.Conv2d(4, 4, 1)", "o": "N.Linear(4, 3)",
    "w": "N.Parameter(P(4, 4))", "v": "N.Parameter(P(4))", "row": "N.Parameter(P(1, 4))", "one": "N.Parameter(P(1))",
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A text that names the batch axis, and what a refusal has to recommend: `said` is a part of its message."""

    text: Text
    instead: Text
    said: str


def sections(name: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the title, the further fields and the lines of each section of a file."""
    for section in f"\n{(TEXTS / name).read_text(encoding='utf-8')}".split("\n== ")[1:]:
        head, *lines = section.strip().split("\n")
        title, *fields = head.split(" | ")
        yield title, fields, lines


def shapes_of(field: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, shape.split())) for shape in field.split(";"))


def word(line: str, shapes: str, before: str) -> Text:
    """Return a text of one line, with the parts that it uses."""
    forward = f"{before}\n{line}\nreturn self.o(h)"
    used = dict.fromkeys(re.findall(r"self\.(\w+)", forward))
    return Text("; ".join(f"self.{name} = {PARTS[name]}" for name in used), forward, shapes_of(shapes))


def words(name: str) -> Iterator[tuple[str, Text]]:
    for _, fields, lines in sections(name):
        yield from ((f"{line}, {fields[0]}", word(line, *fields)) for line in lines)


def network(fields: list[str], lines: list[str]) -> Text:
    """Return the text of a section."""
    made = [line for line in lines if line.startswith("self.")]
    given = dict(field.split("=", 1) for field in fields[1:])
    words, targets = (int(given.get(name, 0)) for name in ("words", "targets"))
    lines, loss = lines[len(made) :], given.get("loss", "mse")
    return Text("; ".join(made), "\n".join(lines), shapes_of(fields[0]), words, loss, targets, "training" in given)


def networks(name: str) -> Iterator[tuple[str, Text]]:
    for title, fields, lines in sections(name):
        yield title, network(fields, lines)


def pairs_of_words(name: str) -> Iterator[tuple[str, Pair]]:
    for _, fields, lines in sections(name):
        for line, better in zip(lines[::2], lines[1::2], strict=True):
            said, instead = re.fullmatch(r"-> (?:\[(.*?)\] )?(.*)", better).groups()
            said = said or ("..." if line.count("[...") < instead.count("[...") else new_dimension(line, instead))
            yield f"{line}, {fields[0]}", Pair(word(line, *fields), word(instead, *fields), said)


def new_dimension(line: str, instead: str) -> str:
    """Return the first dimension that only the better text counts from the end."""
    return next(n for n in re.findall(r"-\d", instead) if instead.count(n) > line.count(n))


def pairs_of_networks(name: str) -> Iterator[tuple[str, Pair]]:
    for title, fields, lines in sections(name):
        (cut,) = (k for k, line in enumerate(lines) if line.startswith("->"))
        said, loss = re.fullmatch(r"-> \[(.*?)\] ?(.*)", lines[cut]).groups()
        other = [field for field in fields if not loss or "loss=" not in field] + [loss] * bool(loss)
        yield title, Pair(network(fields, lines[:cut]), network(other, lines[cut + 1 :]), said)


def layer_text(row: Layer) -> str:
    given = ", ".join([*map(repr, row.args), *(f"{k}={v!r}" for k, v in row.settings.items())])
    return f"self.s = N.Parameter(P(1)); self.l = N.{row.kind}({given})".replace("inf", "float('inf')")


INSIDE = {
    f"{name}, inside": Text(layer_text(row), "return self.l(x * self.s) * 2 - 1", (row.shape,))
    for name, row in LAYERS.items()
}
"""Each layer of the registry in a forward of its own."""
FORWARDS = {**dict(words("words.txt")), **dict(networks("networks.txt")), **INSIDE}
PAIRS = {**dict(pairs_of_words("batch.txt")), **dict(pairs_of_networks("batch_networks.txt"))}
MIXED = dict(words("mixed.txt"))
"""What counts or mixes the samples of a batch in PyTorch, so that no text for one sample means the same."""
NUMBERS = dict(words("numbers.txt"))
"""What asks for the numbers of a sample, which a Run does not know while it records."""
((_, _, _lines),) = sections("by_hand.txt")
BY_HAND = {
    line if line in FORWARDS else f"{line}, 4; 4 4": hand.removeprefix("-> ")
    for line, hand in zip(_lines[::2], _lines[1::2], strict=True)
}
"""The numbers of some texts for a row, written one by one: as many nodes as anybody needs."""
