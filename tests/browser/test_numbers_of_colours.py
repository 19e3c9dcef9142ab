"""Ranges, their growth, sizes and colour maps: the browser's against the window's, on random cases."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from scalarviz.run.questions.ranges import Range, clipped_share, extent
from scalarviz.run.questions.ranges import RangeTracker as Tracker
from scalarviz.view.cubes.atlas import Sizing
from scalarviz.view.cubes.scale import OWN, grown
from scalarviz.view.cubes.slab import COLOURS
from scalarviz.view.ink.maps import DIVERGING, get_map
from scalarviz.view.ink.theme import THEMES

CASES = 1000
NASTY = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -3e-39, 3.4e38, -3.4e38, 1.0, -1.0]


def as_text(values):
    """Bits of float32 numbers, which JSON could not carry."""
    return base64.b64encode(np.asarray(values, np.float32).tobytes()).decode()


READ = "const numbers = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);"


def test_v_is_the_windows(ask):
    rng = np.random.default_rng(1)
    cases = [[], [0.0], [np.nan], [np.inf, -np.inf], [1e-45], [3.4e38, -3.4e38], [0.0, -0.0, np.nan], [2.0**-126]]
    while len(cases) < CASES:
        values = np.float32(rng.normal(0, 10.0 ** rng.uniform(-36, 36), rng.integers(1, 200)))
        values[rng.random(len(values)) < 0.1] *= 30
        where = rng.random(len(values)) < rng.choice([0.0, 0.0, 0.1, 1.0])
        values[where] = rng.choice(np.float32(NASTY), where.sum())
        cases.append(values)
    with np.errstate(all="ignore"):
        wanted = [
            (extent(np.float32(values)), clipped_share(np.float32(values), extent(np.float32(values))))
            for values in cases
        ]
    found = ask(
        "ranges.js",
        f"""cases => {{ {READ} return cases.map(numbers).map(values =>
            [extentOf(values), clippedShare(values, extentOf(values))]); }}""",
        [as_text(values) for values in cases],
    )
    np.testing.assert_allclose(np.float64([v for v, _ in found]), [v for v, _ in wanted], rtol=1e-6)
    np.testing.assert_allclose([share for _, share in found], [share for _, share in wanted], rtol=1e-12, atol=0)


def test_only_the_spans_that_count_make_v(ask):
    values = np.array([5.0, 1.0, -2.0, 100.0, 3.0], np.float32)
    found = ask(
        "ranges.js",
        f"text => {{ {READ} return [extentOf(numbers(text), [[1, 3], [4, 5]]), extentOf(numbers(text), [[2, 2]]),"
        " clippedShare(numbers(text), 1.5, [[1, 3], [4, 5]])]; }",
        as_text(values),
    )
    assert found == pytest.approx([extent([1, -2, 3]), 1.0, 2 / 3])


def test_places_on_a_scale_are_the_windows(ask):
    rng, given, wanted = np.random.default_rng(2), [], []
    for _ in range(CASES):
        v = float(10.0 ** rng.uniform(-30, 30))
        chosen = [Range.symmetric(v), Range.symmetric(v, "symlog"), Range.decades(v, int(rng.integers(1, 9))),
                  Range(-v, 3 * v)][rng.integers(4)]  # fmt: skip
        values = np.append(v * rng.normal(0, 1, 4) * 10.0 ** rng.uniform(-9, 1, 4), [0.0, v, -v])
        units = rng.uniform(-0.2, 1.2, 3)
        given.append(
            [{"low": chosen.low, "high": chosen.high, "scale": chosen.scale}, values.tolist(), units.tolist(), v]
        )
        wanted.append([*chosen.unit(values), *chosen.unit(chosen.value(units)), *(chosen.value(units) / v)])
    found = ask(
        "ranges.js",
        """cases => cases.map(([range, values, units, v]) => [...values.map(x => unitOf(range, x)),
            ...units.map(u => unitOf(range, valueAt(range, u))), ...units.map(u => valueAt(range, u) / v)])""",
        given,
    )
    np.testing.assert_allclose(np.float64(found), wanted, rtol=1e-9, atol=1e-12)


def test_ranges_of_quantities_are_the_windows(ask):
    rng = np.random.default_rng(3)
    ends = [*(10.0 ** rng.uniform(-44, 38, 200)), 2.0**-126, 1.0]
    found = ask(
        "ranges.js",
        """ends => ends.map(v => [rangeOf({ scale: "linear", decades: 0, range: null }, v), symmetricRange(v, "symlog"),
            rangeOf({ scale: "log", decades: 4, range: null }, v), decadesRange(v, 8),
            rangeOf({ scale: "log", decades: 6, range: [1e-6, 1] }, v)])""",
        ends,
    )
    for v, got in zip(ends, found, strict=True):
        wanted = [
            OWN["weight"].range(v),
            OWN["gradient"].range(v),
            OWN["|gradient|"].range(v),
            Range.decades(v, 8),
            OWN["update/value"].range(v),
        ]
        for want, answer in zip(wanted, got, strict=True):
            assert answer["scale"] == want.scale
            assert (answer["low"], answer["high"]) == pytest.approx((want.low, want.high), rel=1e-12)


def test_a_range_grows_as_in_the_window(ask):
    """Along random walks of V, with clocks that stand still, tick and are taken away."""
    rng, given, wanted = np.random.default_rng(4), [], []
    for _ in range(50):
        tracker, walk, expected = Tracker(), [], []
        v = float(10.0 ** rng.uniform(-3, 3))
        for _ in range(40):
            v *= float(np.exp(rng.normal(0, rng.choice([0.02, 0.5]))))
            other = v * float(rng.choice([0.5, 1.0, 3.0]))
            seconds = None if rng.random() < 0.05 else float(rng.choice([0.0, 0.016, 0.2, 5.0, -1.0]))
            if rng.random() < 0.03:
                tracker = Tracker()
                walk.append(["refit", None])
            now = grown(tracker, {"a": v, "b": other}, seconds)
            walk.append([[v, other], seconds])
            expected.append(([now["a"], now["b"]], v > now["a"] or other > now["b"]))
        given.append(walk)
        wanted.append(expected)
    found = ask(
        "ranges.js",
        """walks => walks.map(walk => {
            const range = new GrowingRange(), said = [];
            for (const [wanted, seconds] of walk) {
                if (wanted === "refit") range.refit();
                else said.push([[...range.update(wanted, seconds)], range.growing]);
            }
            return said;
        })""",
        given,
    )
    assert any(growing for walk in wanted for _, growing in walk)
    for got, want in zip(found, wanted, strict=True):
        assert [growing for _, growing in got] == [growing for _, growing in want]
        np.testing.assert_allclose([v for v, _ in got], [v for v, _ in want], rtol=1e-9)
    alone = "ends => { const range = new GrowingRange(); return ends.map(v => range.update([v], 0.5)); }"
    one = ask("ranges.js", alone, [1.0, 1.05, 0.2, 9.0])
    assert np.ravel(one) == pytest.approx([1.0, 1.05, 1.05, 1.05 + (1 - np.exp(-1)) * 7.95])


def test_sizes_are_the_windows(ask):
    rng, given, wanted = np.random.default_rng(5), [], []
    for _ in range(CASES):
        v = float(10.0 ** rng.uniform(-3, 3))
        chosen = [Range.symmetric(v), Range.symmetric(v, "symlog"), Range.decades(v, 4)][rng.integers(3)]
        sizing = Sizing(bool(rng.integers(2)), float(rng.choice([0.0, 0.05, 0.5])))
        value = float(v * rng.normal())
        given.append([{"byValue": sizing.by_value, "threshold": sizing.threshold},
                      {"low": chosen.low, "high": chosen.high, "scale": chosen.scale}, value])  # fmt: skip
        wanted.append(sizing.share(chosen, value))
    found = ask("ranges.js", "cases => cases.map(([sizing, range, value]) => shareOf(sizing, range, value, 0))", given)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    marks = ask("ranges.js", "marks => marks.map(mark => shareOf({ byValue: true, threshold: 0.5 }, "
                          "{ low: -1, high: 1, scale: 'linear' }, 0.1, mark))", [0, 1, 2, 4, 8, 16, 32, 9])  # fmt: skip
    assert marks == [0, 1, 1, 1, 0, 1, 1, 1]


def map_as_json(made):
    if made.stops:
        return {"stops": list(made.stops)}
    return {"table": base64.b64encode(made.table().tobytes()).decode()}


def test_every_colour_of_every_map_is_the_windows_to_the_byte(ask):
    """The tables of both looks, and the texels that the shaders read, made of nothing but what Python says."""
    names = [*DIVERGING, "activation", "grey", "viridis", "coolwarm", "RdBu"]
    made = [get_map(name, theme) for name in names for theme in THEMES]
    rng = np.random.default_rng(6)
    units = rng.uniform(-0.3, 1.3, CASES)
    found = ask(
        "maps.js",
        """([maps, count, units]) => maps.map(map => {
            const table = tableOf(map, count);
            return [[...entriesOf(map)], [...table], units.map(unit => colourAt(table, unit))];
        })""",
        [[map_as_json(colours) for colours in made], COLOURS, units.tolist()],
    )
    fractions = np.linspace(0.0, 1.0, COLOURS)
    nearest = np.floor(np.clip(units, 0, 1) * (COLOURS - 1) + 0.5).astype(int)
    for colours, (entries, table, picked) in zip(made, found, strict=True):
        np.testing.assert_array_equal(np.array(entries).reshape(-1, 3), colours.table(), colours.name)
        wanted = colours.bytes(2.0 * fractions - 1.0 if colours.diverging else fractions)
        np.testing.assert_array_equal(np.array(table).reshape(-1, 3), wanted, colours.name)
        np.testing.assert_array_equal(picked, wanted[nearest], colours.name)


def test_numbers_are_rounded_as_numpy_does(ask):
    numbers = [*np.arange(-4, 4.25, 0.25), 0.49999999999999994, 254.5, 255.5, -0.5]
    found = ask("maps.js", "numbers => numbers.map(x => roundHalfToEven(x))", numbers)
    np.testing.assert_array_equal(found, np.rint(numbers))
