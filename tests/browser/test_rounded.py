"""Numbers of which not every bit was kept: every digit that is written holds for the number that was recorded."""

from __future__ import annotations

import re

import numpy as np

from kit.unpacked import errors_of, unpacked
from scalarviz.view.ink.text import chip_text, figure
from scalarviz.view.page.pack import packed

MINUS = "\N{MINUS SIGN}"


def read(text):
    """The number that a text says, the unit of its last digit, and the error that it tells (None: none)."""
    said, _, error = text.replace(MINUS, "-").partition(" ± ")
    found = re.fullmatch(r"([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?", said)
    assert found, text
    unit = 10.0 ** (int(found[4] or 0) - len(found[3] or ""))
    return float(said), unit, float(error) if error else None


def test_no_digit_is_written_that_rounding_does_not_support(ask):
    rng = np.random.default_rng(1)
    cases = []
    for _ in range(4):  # columns of any size, frames that differ by decades
        sizes = 10.0 ** rng.uniform(-8, 8, 30) * 10.0 ** rng.uniform(-7, 0, (40, 1))
        table = np.float32(rng.normal(size=(40, 30)) * sizes)
        said = packed(table, exact=False)
        rounded, errors = unpacked(said), errors_of(said)
        kept = np.broadcast_to(errors, table.shape)
        assert (np.abs(table.astype(float) - rounded) <= kept * 1.0001).all()
        cases += zip(rounded.ravel().tolist(), kept.ravel().tolist(), table.ravel().tolist(), strict=True)
    found = ask("rounded.js", "cases => cases.map(([number, error]) => sureText(number, error))", cases)
    told = 0
    for text, (_, error, true) in zip(found, cases, strict=True):
        number, unit, said = read(text)
        if said is None:
            assert unit >= 2 * error * 0.999, (text, error)
            assert abs(number - true) <= unit / 2 + 1.001 * error, (text, error, true)
        else:
            told += 1
            assert abs(number - true) <= 1.06 * said + (unit / 2 if number else 0), (text, error, true)
    assert 0 < told < len(cases) / 2
    assert len(set(found)) > len(cases) / 4  # they are not all the same


def test_on_a_cube_no_digit_is_written_that_rounding_does_not_support(ask):
    """Also where a column has diverged and come back: its step is that of its largest number."""
    rng = np.random.default_rng(4)
    cases = []
    for largest in (32_766, 2_045):
        table = np.float32(rng.normal(size=(60, 40)) * 10.0 ** rng.uniform(-3, 6, (60, 40)))
        said = packed(table, exact=False, largest=largest)
        kept = np.broadcast_to(errors_of(said), table.shape)
        cases += zip(unpacked(said).ravel().tolist(), kept.ravel().tolist(), table.ravel().tolist(), strict=True)
    found = ask("rounded.js", "cases => cases.map(([number, error]) => sureChip(number, error, true))", cases)
    for text, (_, error, true) in zip(found, cases, strict=True):
        if text != "?":
            number, unit, _ = read(text)
            assert unit >= 2 * error * 0.999, (text, error)
            assert abs(number - true) <= unit / 2 + 1.001 * error, (text, error, true)
    assert 0.2 < np.mean([text == "?" for text in found]) < 0.8
    plain = ask("rounded.js", "cases => cases.map(([number]) => [sureChip(number), sureChip(number, 1e-12)])", cases)
    assert [one for one, _ in plain] == [chip_text(number) for number, *_ in cases]
    assert [one for one, _ in plain] == [sure for _, sure in plain]


def test_what_is_exact_is_written_as_ever(ask):
    rng = np.random.default_rng(2)
    numbers = (rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500)).tolist()
    assert ask("rounded.js", "numbers => numbers.map(x => sureText(x, 0))", numbers) == list(map(figure, numbers))


def test_a_ratio_is_as_sure_as_its_parts(ask):
    """Update beside value, both rounded: what is written holds for the ratio of what was recorded."""
    rng = np.random.default_rng(3)
    weight, update = (np.float32(rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-6, 0, (50, 1))) for _ in range(2))
    tables = {"weight": packed(weight, exact=False), "update": packed(update, exact=False)}
    errors = {name: errors_of(said).tolist() for name, said in tables.items()}
    rows = {name: unpacked(said).astype(float).tolist() for name, said in tables.items()}
    found = ask(
        "rounded.js",
        """({ errors, rows }) => rows.weight.flatMap((weight, k) => weight.map((_, index) => {
            const texels = { weight, update: rows.update[k] };
            const ratio = texels.update[index] === 0 ? 0 : Math.abs(texels.update[index] / weight[index]);
            return sureText(ratio, errorOf({ texels, errors }, "update/value", index));
        }))""",
        {"errors": errors, "rows": rows},
    )
    true = (np.abs(update.astype(float)) / np.abs(weight.astype(float))).ravel()
    unsure = {"?", "NaN", "+∞"}
    for text, ratio in zip(found, true, strict=True):
        if text not in unsure:
            number, unit, said = read(text)
            allowed = unit if said is None else 1.06 * said + (unit / 2 if number else 0)
            assert abs(number - ratio) <= allowed, (text, ratio)
    assert 0 < sum(text in unsure for text in found) < len(found) / 2
