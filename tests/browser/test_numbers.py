"""Numbers in the browser are those of the window: texts, formulas, ranges, marks, sizes and colours of random cases."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from kit.unpacked import bytes_of, errors_of, unpacked
from scalarviz import nn, optim
from scalarviz.run.questions.ranges import Range, extent, weight_extent, weight_reach
from scalarviz.view.cubes.atlas import DEAD, FROZEN, NOT_COMPUTED, Atlas
from scalarviz.view.cubes.scale import QUANTITIES, ActivationScale, Coloring
from scalarviz.view.cubes.slab import COLOURS
from scalarviz.view.ink import text
from scalarviz.view.ink.sketch import Bound, Sketch
from scalarviz.view.ink.theme import DARK, DIVERGING, THEMES, get_map
from scalarviz.view.ink.widgets import BoundCaption, bound_caption
from scalarviz.view.micro.captions import ways_missed
from scalarviz.view.micro.equations import EQUATIONS, SLOPES
from scalarviz.view.page.document import advances_of, document_of, layout_of
from scalarviz.view.page.pack import deflated, dense_text, led_updates, packed, text_of
from scalarviz.view.page.page import json_number
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import layout_for
from scalarviz.view.workbench import Workbench

from .players import SIZE, coded, sent

CASES = 1000
MINUS = "\N{MINUS SIGN}"

# ---- texts


def numbers():
    """Of every size, of both signs; with halves at every decimal, which go to the even digit, and what is near one."""
    rng, count = np.random.default_rng(1), 4 * CASES
    sizes = rng.normal(size=count) * 10.0 ** rng.integers(-30, 30, count)
    usual = rng.normal(size=count) * 10.0 ** rng.integers(-5, 5, count)
    ties = rng.integers(-4000, 4000, count) / 2.0 ** rng.integers(0, 12, count)
    written = np.round(usual, 3) + 0.0005  # near a half, seldom one
    edges = [0.0, -0.0, 9.995, 9.99499999, 99.95, 999.5, 9999.5, 9999.499, 0.01, 0.0999, 0.1, 0.001, 1e4, 1e100, 5e-324,
             1.7e308, 0.5, 1.5, 2.5, 0.125, 0.375, 1e-4, 1e-3, 1000.0, 1e6, 999999.5, 4096.0, 123456.7]  # fmt: skip
    found = np.concatenate([sizes, usual, ties, written, edges, np.negative(edges)])
    return [float(x) for x in np.concatenate([found, np.float32(usual)])]


FUNCTIONS = {
    "numberText(x)": text.number,
    "numberText(x, 4, true)": lambda x: text.number(x, 4, signed=True),
    "numberText(x, 0, true)": lambda x: text.number(x, 0, signed=True),
    "shortText(x)": text.short,
    "shortText(x, true)": lambda x: text.short(x, signed=True),
    "exponentText(x)": text.exponent,
    "exponentText(x, 0, true)": lambda x: text.exponent(x, 0, signed=True),
    "figureText(x)": text.figure,
    "chipText(x)": text.chip_text,
    "chipText(x, true)": lambda x: text.chip_text(x, signed=True),
    "deltaText(x)": text.delta_text,
    "lossText(x)": text.loss_text,
}


def test_a_delta_is_plain_unless_it_is_very_small_or_large():
    plain = {-40.0: "−40.0", 12.345: "+12.3", -123.4: "−123", 99999.0: "+99999", 1.5: "+1.5000", 0.001: "+0.0010"}
    other = {1e5: "+1.0e5", -0.0004: "−4.0e−4", 0.0: "0.0000"}
    assert {value: text.delta_text(value) for value in plain | other} == plain | other


def test_texts_of_numbers(ask):
    """Fixed decimals are asked of numbers below 1e21 only: no text of the window has more digits before the point."""
    values = numbers()
    few = [x for x in values if abs(x) < 1e21]
    given = {"numberText": few, "deltaText": few}
    asked = {function: given.get(function.partition("(")[0], values) for function in FUNCTIONS}
    lists = ", ".join(f"lists[{k}].map(x => {function})" for k, function in enumerate(FUNCTIONS))
    special = [
        f for f in FUNCTIONS if f.partition("(")[0] in ("numberText", "shortText", "figureText", "chipText", "lossText")
    ]
    odd = ", ".join(f"[NaN, Infinity, -Infinity].map(x => {function})" for function in special)
    counts = [0, 7, 999, 1000, 12345, 999999, 1000000, 2**40]
    found, others, counted = ask("numbers.js", f"([lists, counts]) => [[{lists}], [{odd}], counts.map(countText)]",
                                 [[*asked.values()], counts])  # fmt: skip
    for got, (function, python) in zip(found, FUNCTIONS.items(), strict=True):
        wrong = [(x, one, python(x)) for x, one in zip(asked[function], got, strict=True) if one != python(x)]
        assert not wrong, (function, len(wrong), wrong[:5])
    assert others == [[FUNCTIONS[one](x) for x in (np.nan, np.inf, -np.inf)] for one in special]
    assert counted == [f"{count:,}" for count in counts]


MOMENT = """const textsOf = (form, cases, errors = []) => {
    const read = text => Number(text.replace("inf", "Infinity").replace("nan", "NaN"));
    const numbers = cases.map(read), extents = Object.fromEntries(numbers.map((number, k) => [k, number]));
    const shown = { document: { plates: [{ start: 0, size: numbers.length, texel: 0 }] }, numbers, extents,
        quantity: { name: "weight" } };
    const moment = new Moment(shown, { errors: { weight: errors } }, () => [0, 0, 0]);
    const name = form.startsWith("range") ? k => k : () => "weight";
    return numbers.map((_, k) => moment.textOf(name(k), k, form, "", 0, "", [], () => 0));
};"""
WHOLE = [0, 1, 7, 999, 1000, 12345, 999999, 1000000, 2**40, 2**53]


def test_every_form_of_a_number_of_the_moment(ask):
    """The same letters for numbers of every size and sign; a count is whole, ranges and rates have no sign."""
    every, sizes = [*numbers(), np.nan, np.inf, -np.inf], [abs(x) for x in numbers()]
    forms = {
        form: WHOLE if form == "count" else sizes if form.startswith(("range", "rate")) else every
        for form in text.WRITTEN
    } | {"share": [x for x in sizes if x <= 1]}
    found = ask("bound.js", f"forms => {{ {MOMENT} return forms.map(([form, cases]) => textsOf(form, cases)); }}",
                [[form, [*map(repr, map(float, cases))]] for form, cases in forms.items()])  # fmt: skip
    for (form, cases), said in zip(forms.items(), found, strict=True):
        wrong = [(x, mine, text.WRITTEN[form](x)) for x, mine in zip(cases, said, strict=True)
                 if mine != text.WRITTEN[form](x)]  # fmt: skip
        assert not wrong, (form, len(wrong), wrong[:5])


ON_CUBES = [f"{sign}{form}" for sign in ("", "signed ") for form in ("chip", "cube", "brief", "tenths", "decades")]


def test_no_digit_on_a_cube_is_unsure_and_none_needs_more_room_than_the_windows(ask):
    """At least an exponent has room, as 3e4 has in the window."""
    rng = np.random.default_rng(4)
    tables = [rng.normal(size=(60, 40)) * 10.0 ** rng.uniform(-5, 6, (60, 40)) for _ in range(2)]
    cases = [one for table in tables for one in rounded(table)]
    found = ask("bound.js", f"""([forms, cases, errors]) => {{ {MOMENT}
        return forms.map(form => textsOf(form, cases, errors)); }}""",
                [ON_CUBES, [repr(number) for number, *_ in cases], [error for _, error, _ in cases]])  # fmt: skip
    for form, said in zip(ON_CUBES, found, strict=True):
        for words, (number, error, true) in zip(said, cases, strict=True):
            exact = text.WRITTEN[form](number)
            assert len(words) <= max(len(exact), 3 + (exact[0] in f"+{MINUS}")), (form, words, number, error)
            if words == "?":
                continue
            told, unit, _ = read(words)
            assert abs(told - true) <= unit / 2 + 1.001 * error, (form, words, error, true)
            assert unit >= 2 * error * 0.999, (form, words, error)
        assert 0 < said.count("?") < len(said)


# ---- numbers of which not every bit was kept: every digit that is written holds for the number that was recorded


def read(words):
    """The number that a text says, the unit of its last digit, and the error that it tells (None: none)."""
    said, _, error = words.replace(MINUS, "-").partition(" ± ")
    found = re.fullmatch(r"([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?", said)
    assert found, words
    return float(said), 10.0 ** (int(found[4] or 0) - len(found[3] or "")), float(error) if error else None


def rounded(table):
    """What is left of each number, how far off it may be, and what it was."""
    said = packed(np.float32(table), exact=False)
    number, error = unpacked(said), np.broadcast_to(errors_of(said), table.shape)
    assert (np.abs(table - number) <= error * 1.0001 + 1e-300).all()
    return list(zip(number.ravel().tolist(), error.ravel().tolist(), np.float32(table).ravel().tolist(), strict=True))


def test_no_digit_is_written_that_rounding_does_not_support(ask):
    """In a line, and on a cube, where a column may have diverged and come back; what is exact is written as ever."""
    rng = np.random.default_rng(1)
    lines = [one for _ in range(4) for one in rounded(  # columns of any size, frames that differ by decades
        rng.normal(size=(40, 30)) * 10.0 ** rng.uniform(-8, 8, 30) * 10.0 ** rng.uniform(-7, 0, (40, 1)))]  # fmt: skip
    chips = rounded(rng.normal(size=(120, 40)) * 10.0 ** rng.uniform(-3, 6, (120, 40)))
    exact = (rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500)).tolist()
    said, shown, plain = ask(
        "numbers.js",
        """([lines, chips, exact]) => [lines.map(([number, error]) => sureText(number, error)),
            chips.map(([number, error]) => sureChip(number, error, true)),
            exact.map(x => [sureText(x, 0), sureChip(x), sureChip(x, 1e-12 * Math.abs(x))])]""",
        [lines, chips, exact],
    )
    told = 0
    for words, (_, error, true) in [*zip(said, lines, strict=True), *zip(shown, chips, strict=True)]:
        if words == "?":  # on a cube
            continue
        number, unit, off = read(words)
        if off is None:
            assert unit >= 2 * error * 0.999, (words, error)
            assert abs(number - true) <= unit / 2 + 1.001 * error, (words, error, true)
        else:
            told += 1
            assert abs(number - true) <= 1.06 * off + (unit / 2 if number else 0), (words, error, true)
    assert 0 < told < len(lines) / 2
    assert len(set(said)) > len(lines) / 4  # they are not all the same
    assert "?" not in said
    assert 0.2 < shown.count("?") / len(shown) < 0.8
    assert plain == [[text.figure(x), text.chip_text(x), text.chip_text(x)] for x in exact]


def test_a_ratio_is_as_sure_as_its_parts(ask):
    """Update beside value, both rounded: what is written holds for the ratio of what was recorded."""
    rng = np.random.default_rng(3)
    weight, update = (np.float32(rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-6, 0, (50, 1))) for _ in range(2))
    tables = {"weight": packed(weight, exact=False), "update": packed(update, exact=False)}
    found = ask(
        "numbers.js",
        """({ errors, rows }) => rows.weight.flatMap((weight, k) => weight.map((_, index) => {
            const texels = { weight, update: rows.update[k] };
            const ratio = texels.update[index] === 0 ? 0 : Math.abs(texels.update[index] / weight[index]);
            return sureText(ratio, errorOf({ texels, errors }, "update/value", index));
        }))""",
        {"errors": {name: errors_of(said).tolist() for name, said in tables.items()},
         "rows": {name: unpacked(said).astype(float).tolist() for name, said in tables.items()}},
    )  # fmt: skip
    true = (np.abs(update.astype(float)) / np.abs(weight.astype(float))).ravel()
    unsure = {"?", "NaN", "+∞"}
    for words, ratio in zip(found, true, strict=True):
        if words not in unsure:
            number, unit, said = read(words)
            allowed = unit if said is None else 1.06 * said + (unit / 2 if number else 0)
            assert abs(number - ratio) <= allowed, (words, ratio)
    assert 0 < sum(words in unsure for words in found) < len(found) / 2


# ---- ranges, marks and sizes


READ = "const numbers = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);"
NASTY = np.float32([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -3e-39, 3e30, 1.0, -1.0])


def test_v_and_the_share_beyond_it(ask):
    rng = np.random.default_rng(1)
    cases = [
        [],
        [0.0],
        [np.nan],
        [0.1, -3.4e38, 0.2, 0.3],
        rng.normal(0, 1, 200_001),
        [np.inf, -np.inf],
        [1e-45],
        [3.4e38, -3.4e38],
        [0.0, -0.0, np.nan],
        [2.0**-126],
    ]
    while len(cases) < CASES:
        values = np.float32(rng.normal(0, 10.0 ** rng.uniform(-36, 36), rng.integers(1, 200)))
        values[rng.random(len(values)) < 0.1] *= 30
        where = rng.random(len(values)) < rng.choice([0.0, 0.0, 0.1, 1.0])
        values[where] = rng.choice(NASTY, where.sum())
        cases.append(values)
    with np.errstate(all="ignore"):
        wanted = [(extent(one), weight_reach(one), weight_extent(one))
                  for one in map(np.float32, cases)]  # fmt: skip
    found = ask(
        "ranges.js",
        f"""cases => {{ {READ} return cases.map(numbers).map(values =>
            [extentOf(values), String(weightReach(values)),
             extentOf(values, undefined, weightReach(values))]); }}""",
        [coded(np.float32(values)) for values in cases],
    )
    np.testing.assert_allclose(np.float64(found), wanted, rtol=1e-6)


def test_places_on_a_scale(ask):
    rng, given, wanted = np.random.default_rng(2), [], []
    for _ in range(CASES):
        v = float(10.0 ** rng.uniform(-30, 30))
        chosen = [Range.symmetric(v), Range.symmetric(v, "symlog"), Range.decades(v, int(rng.integers(1, 9))),
                  Range(-v, 3 * v)][rng.integers(4)]  # fmt: skip
        values = np.append(v * rng.normal(0, 1, 4) * 10.0 ** rng.uniform(-9, 1, 4), [0.0, v, -v])
        scale = {"low": chosen.low, "high": chosen.high, "scale": chosen.scale}
        given.append([scale, values.tolist()])
        wanted.append([*chosen.unit(values)])
    found = ask(
        "ranges.js",
        "cases => cases.map(([range, values]) => values.map(x => unitOf(range, x)))",
        given,
    )
    np.testing.assert_allclose(np.float64(found), wanted, rtol=1e-9, atol=1e-12)


PLAY = """text => {
    const { document, frames } = JSON.parse(text), shown = new Shown(document);
    const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const floats = named => Object.fromEntries(
        Object.entries(named).map(([name, text]) => [name, new Float32Array(bytes(text).buffer)]));
    const coded = bytes => btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
    return JSON.stringify(frames.map(({ quantity, texels, flags, rows }) => {
        const frame = { flags: bytes(flags), texels: floats(texels), rows: floats(rows) };
        shown.update(frame, document.quantities.find(({ name }) => name === quantity));
        return { range: shown.range, activation: shown.activation,
            drawn: coded(new Uint8Array(shown.drawn.buffer)), flags: coded(shown.flags) };
    }));
}"""


def runs():
    rng = np.random.default_rng(0)
    inputs = rng.random((32, 3)).astype(np.float32)
    for layers in (
        [nn.Linear(3, 3), nn.Sigmoid()],
        [nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3), nn.Tanh()],
        [nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3)],
    ):
        net = nn.Sequential(*layers)
        yield sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (inputs, 1 - inputs), engine="numpy")


def frames(run, rng, count):
    """Frames of random numbers that jump by decades, now and then with NaN, infinities, zeros, and what is missing."""
    run.step(2)
    subject = subject_of(run)
    frame = subject.frame()
    size, scale = 1.0, len(frame.values)
    for step in range(count):
        size *= float(np.exp(rng.normal(0, rng.choice([0.02, 1.5]))))
        values, gradient, update = (np.float32(rng.normal(0, size * s, scale)) for s in (1.0, 0.01, 0.001))
        for block in (values, gradient, update):
            if rng.random() < 0.3:
                where = rng.random(scale) < rng.choice([0.1, 1.0])
                block[where] = rng.choice(NASTY, where.sum())
        computed = np.full(scale, rng.random() < 0.8) & (rng.random(scale) < rng.choice([0.7, 1.0]))
        rows = {name: np.float32(rng.normal(0, size, np.shape(row))) for name, row in frame.activations.items()}
        dead = {name: rng.random(len(np.ravel(rows[name]))) < 0.3 for name in frame.dead}
        yield replace(frame, step=step, values=values, gradient=gradient, update=update, computed=computed, dead=dead,
                      frozen=rng.random(scale) < 0.2, activations=rows)  # fmt: skip


def window(subject, plates, plan):
    """Ranges, numbers and marks of the same frames as the window has them."""
    colouring = Coloring(subject.tensors, DARK)
    activations = ActivationScale(subject.stages, DARK)
    for frame, quantity in plan:
        colouring.change(DARK, quantity, None)
        colouring.update(frame, None)
        activations.update(frame, None)
        atlas = Atlas(plates)  # marks anew for each frame: what a mark was before does not matter
        atlas.set_flat(colouring.drawn)
        count = slice(0, atlas.parameters)
        atlas.set_flags(count, FROZEN, frame.frozen[count])
        atlas.set_flags(count, NOT_COMPUTED, None if quantity == "weight" else colouring.missing(frame)[count])
        for plate in plates:
            if plate.kind == "activation":
                atlas.set_row(plate, frame.activations[plate.name])
                atlas.set_flags(atlas.span(plate), DEAD, frame.dead.get(plate.name))
        yield colouring, activations, atlas


@pytest.mark.parametrize("index", range(3), ids=["one layer", "batch norm", "relu"])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero):RuntimeWarning")
def test_numbers_marks_and_ranges_are_the_windows(scripts, index):
    rng, run = np.random.default_rng(index), list(runs())[index]
    subject = subject_of(run)
    document = document_of(subject, layout_of(Workbench(subject, SIZE)))
    plates = layout_for(subject.tensors, subject.stages, SIZE).plates
    quantity, plan, given = "weight", [], []
    for frame in frames(run, rng, 120):
        quantity = str(rng.choice(list(QUANTITIES))) if rng.random() < 0.2 else quantity
        plan.append((frame, quantity))
        given.append({"quantity": quantity, **sent(frame, document)})
    found = json.loads(scripts("quantity.js").evaluate(PLAY, json.dumps({"document": document, "frames": given})))
    for step, (got, (colouring, activations, atlas)) in enumerate(
        zip(found, window(subject, plates, plan), strict=True)
    ):
        where = f"frame {step}, {colouring.quantity}"
        wanted = colouring.range
        assert got["range"]["scale"] == wanted.scale, where
        assert (got["range"]["low"], got["range"]["high"]) == pytest.approx((wanted.low, wanted.high), rel=1e-6), where
        rows = (activations.range.low, activations.range.high)
        assert (got["activation"]["low"], got["activation"]["high"]) == pytest.approx(rows, rel=1e-6), where
        used = atlas.values.size
        flags = np.frombuffer(base64.b64decode(got["flags"]), np.uint8)[:used]
        np.testing.assert_array_equal(flags, atlas.flags.ravel(), where)
        drawn = np.frombuffer(base64.b64decode(got["drawn"]), np.float32)[:used]
        sound = (flags & 7) == 0
        np.testing.assert_allclose(drawn[sound], atlas.values.ravel()[sound], rtol=1e-5, atol=0, err_msg=where)


# ---- colours


def test_every_colour_of_every_map_is_the_windows_to_the_byte(ask):
    """The tables of both looks, and the texels that the shaders read, made of nothing but what Python says."""
    names = [*DIVERGING, "activation", "grey", "viridis", "coolwarm", "RdBu"]
    made = [get_map(name, theme) for name in names for theme in THEMES]
    rng = np.random.default_rng(6)
    units = rng.uniform(-0.3, 1.3, CASES)
    given = [{"stops": list(one.stops)} if one.stops else {"table": base64.b64encode(one.entries.tobytes()).decode()}
             for one in made]  # fmt: skip
    found = ask(
        "ranges.js",
        """([maps, count, units]) => maps.map(map => {
            const table = tableOf(map, count);
            return [[...entriesOf(map)], [...table], units.map(unit => colourAt(table, unit))];
        })""",
        [given, COLOURS, units.tolist()],
    )
    fractions = np.linspace(0.0, 1.0, COLOURS)
    nearest = np.floor(np.clip(units, 0, 1) * (COLOURS - 1) + 0.5).astype(int)
    for colours, (entries, table, picked) in zip(made, found, strict=True):
        np.testing.assert_array_equal(np.array(entries).reshape(-1, 3), colours.entries, colours.name)
        wanted = colours.bytes(2.0 * fractions - 1.0 if colours.diverging else fractions)
        np.testing.assert_array_equal(np.array(table).reshape(-1, 3), wanted, colours.name)
        np.testing.assert_array_equal(picked, wanted[nearest], colours.name)


def test_numbers_are_rounded_as_numpy_does(ask):
    numbers = [*np.arange(-4, 4.25, 0.25), 0.49999999999999994, 254.5, 255.5, -0.5]
    found = ask("ranges.js", "numbers => numbers.map(x => roundHalfToEven(x))", numbers)
    np.testing.assert_array_equal(found, np.rint(numbers))


# ---- Packed tables in the browser: the bits that Python packed


SEND = """async said => {
    const table = await unpackTable(JSON.parse(said));
    const bytes = new Uint8Array(table.numbers.buffer);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return [btoa(text), table.errors && [...table.errors]];
}"""


def tables():
    """Every kind of number: smooth ones, noise, all bit patterns, and those at the ends."""
    rng = np.random.default_rng(0)
    time = np.linspace(0, 3, 50)[:, None]
    yield (np.sin(time + np.arange(7)) * 2).astype(np.float32)
    yield rng.normal(size=(20, 30)).astype(np.float32)
    yield rng.integers(0, 2**32, (40, 5), np.uint32).view(np.float32)
    ends = [0.0, -0.0, np.nan, np.inf, -np.inf, 3.4028235e38, -3.4028235e38, 1e-45, -1e-45, 1.17549435e-38]
    yield np.array([rng.permutation(ends) for _ in range(12)], np.float32)
    yield np.zeros((0, 4), np.float32)
    yield np.zeros((1, 1), np.float32)


def test_every_bit_comes_back(scripts):
    page = scripts("unpack.js")
    for table in tables():
        for exact in (True, False):
            said = packed(table, exact=exact)
            data, errors = page.evaluate(SEND, json.dumps(said))
            found = np.frombuffer(base64.b64decode(data), "<f4").reshape(said["frames"], said["columns"])
            assert np.array_equal(np.isnan(found), np.isnan(table))
            assert (errors is None) == exact
            if exact:
                assert np.array_equal(found.view(np.uint32), table.view(np.uint32))
            else:
                assert np.array_equal(found, unpacked(said), equal_nan=True)


def test_dense_texts(scripts):
    """Any bytes come back; no letter has to be escaped in HTML, JSON, a template or a script."""
    rng = np.random.default_rng(1)
    page = scripts("unpack.js")
    parts = [rng.integers(0, 256, size, np.uint8).tobytes() for size in (0, 1, 2, 3, 4, 5, 999, 1000)]
    texts = [dense_text(part) for part in [*parts, bytes(8), b"\xff" * 9]]
    found = page.evaluate("texts => texts.map(text => [...bytesOf(text)])", texts)
    assert [bytes(part) for part in found] == [bytes_of(one) for one in texts] == [*parts, bytes(8), b"\xff" * 9]
    assert not set("".join(texts)) & set("&<>\"'`\\")
    assert len(texts[7]) == 1251


def descent(steps, rate):
    """Values, gradients and updates (N, 3) of float32 gradient descent, at some of its steps, and those."""
    rng, kept = np.random.default_rng(2), []
    w, matrix = rng.normal(size=3).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32)
    for step in range(max(steps) + 1):
        g = matrix.T @ (matrix @ w)
        after = w - np.float32(rate) * g
        if step in steps:
            kept.append((after, g, after - w))
        w = after
    return [np.array(part, np.float32) for part in zip(*kept, strict=True)]


def test_updates_follow_from_what_is_around_them(scripts):
    page = scripts("unpack.js")
    steps = [0, 10, 20, 21, 22, 23, 40]
    values, gradients, updates = descent(steps, 0.01)
    rates = [0.01] * 6 + [float("nan")]
    for given_gradients in (gradients, None):
        led = led_updates(values, given_gradients, steps, rates)
        assert np.array_equal(led[3:6], updates[3:6])
        assert given_gradients is None or np.abs(led[:3] - updates[:3]).max() <= 2e-7
        said, alone = packed(updates, led=led), packed(updates)
        assert given_gradients is None or (said["order"] == 0 and len(said["data"]) < 0.8 * len(alone["data"]))
        assert np.array_equal(unpacked(said, led), updates)
        parts = [values, given_gradients, updates]
        told = [None if part is None else part.ravel().tolist() for part in parts]
        found = page.evaluate("""async ([[values, gradients, updates], steps, rates, said]) => {
            const table = list => list && { frames: 7, columns: 3, numbers: Float32Array.from(list), errors: null };
            const led = ledUpdates(table(values), table(gradients), steps, rates.map(Number), 3);
            const found = await unpackTable(said, led);
            return [[...led].map(String), [...new Uint32Array(found.numbers.buffer)]]; }""",
            [told, steps, [str(rate) for rate in rates], said])  # fmt: skip
        assert np.array_equal(np.array(found[0], float).reshape(7, 3), led, equal_nan=True)
        assert found[1] == updates.view(np.uint32).ravel().tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"frames": 4}, "shorter"), ({"frames": 2}, "longer"), ({"bits": 7}, "scalarviz did not write"),
     ({"order": 9}, "scalarviz did not write"), ({"order": 0, "bits": 16}, "scalarviz did not write"),
     ({"frames": -1}, "scalarviz did not write"), ({"frames": 1e300}, "scalarviz did not write"),
     ({"data": text_of(deflated(bytes(10**7)))}, "longer"), ({"data": "%%%"}, "atob|encoded"),
     ({"data": "AAAA"}, "decompress|corrupt|junk|truncated|Compressed")],
)  # fmt: skip
def test_hostile_data_are_refused(scripts, wrong, words):
    said = packed(np.ones((3, 2), np.float32)) | wrong
    page = scripts("unpack.js")
    error = page.evaluate("said => unpackTable(JSON.parse(said)).then(() => '', String)", json.dumps(said))
    assert re.search(words, error), error


NAMES = ("r", "green", "the third of four", "y")
VALUES = [0.0, 1.0, -1.0, 0.5, 0.125, 0.015625, 9.995, -12.5, 100.0, 1e-4, 3.2e-7, 12345.678, 1 / 3, -2 / 3]


def numbers_of(count, random):
    """Some usual numbers, and some that are easily rounded the wrong way."""
    sizes = 10.0 ** random.integers(-4, 2, count)
    usual = (random.normal(size=count) * sizes).tolist()
    return [float(random.choice(VALUES)) if random.random() < 0.2 else x for x in usual]


def arguments_of(form, random):
    """Numbers that belong together, as in an opened step: the result, or what is rounded last, is computed."""
    a, b, c, d = numbers_of(4, random)
    y = 1 / (1 + float(np.exp(-a / 100)))
    pairs = numbers_of(2 * int(random.integers(1, 6)), random)
    slope = SLOPES[form.split()[-1]](y) if form.split()[-1] in SLOPES else 1.0
    summed = sum(w * x for w, x in zip(pairs[::2], pairs[1::2], strict=True))
    above, below = (2, 3) if a > 0 else (1, 1)
    made = {
        "product": (a, b, a * b), "sum": (summed + c, *pairs, c), "descent": (a, 0.05, b, a - 0.05 * b),
            "move": (a, a - 1e-4 * b), "moved": (a, a - 1e-4 * b),
        "add": (a + b, a, b), "sub": (a - b, a, b), "mul": (a * b, a, b), "div": (a / (b or 1.0), a, b or 1.0),
        "gap": ((a - b) * above / below, a, b, above, below), "product face": (a, b), "gradient face": (a * b, a, b),
        "squares": (float(np.mean(np.square([a - b, c - d]))), a, b, c, d),
        "column": ((y - b) * above / below * y * (1 - y), y, b, (y - b) * above / below, above, below),
        "sigmoid": (1 / (1 + float(np.exp(-a))), a), "tanh": (float(np.tanh(a)), a), "relu": (max(a, 0.0), a),
    }  # fmt: skip
    made |= {form: (a,)} if form.endswith("digits") else {}
    made |= {form: (a * slope, a, y)} if form.startswith("through") else {}
    made |= {form: (a * b * slope, a, b, y)} if form.startswith("times") else {}
    made |= {form: (summed * slope, y, *pairs)} if form.startswith("passed") else {}
    return made[form]


@pytest.mark.parametrize("form", EQUATIONS)
def test_an_equation_is_that_of_python(form, ask):
    random = np.random.default_rng(len(form))
    given = [arguments_of(form, random) for _ in range(150)]
    with np.errstate(all="ignore"):
        ours = [EQUATIONS[form](*numbers) for numbers in given]
    known = [(numbers, [*pieces]) for numbers, pieces in zip(given, ours, strict=True) if pieces]
    assert len(known) > 100
    script = """([form, all]) => all.map(([numbers, count]) =>
        Array.from({ length: count }, (_, k) => pieceOf(`${form}:${k}`, numbers)))"""
    theirs = ask("equations.js", script, [form, [[numbers, len(pieces)] for numbers, pieces in known]])
    wrong = [(numbers, mine, own) for (numbers, mine), own in zip(known, theirs, strict=True) if mine != own]
    assert not wrong, (len(wrong), wrong[:3])


def outputs_and_targets(random):
    """Of one sample: numbers, some equal, hardly apart or lost; or scores and the number of the right one."""
    count = int(random.integers(1, 5))
    outputs, targets = numbers_of(count, random), numbers_of(count, random)
    for k in range(count):
        way = random.random()
        targets[k] = outputs[k] if way < 0.1 else outputs[k] + 1e-8 * targets[k] if way < 0.15 else targets[k]
    if random.random() < 0.1:
        outputs[int(random.integers(count))] = float(random.choice([np.nan, np.inf, -np.inf]))
    return outputs, [float(random.integers(count))] if count > 1 and random.random() < 0.3 else targets


def test_the_sentence_about_a_samples_outputs_is_that_of_python(ask):
    """Its ways to say it, and each line of it as the window breaks it."""
    random, given, wanted = np.random.default_rng(4), [], []
    for _ in range(1500):
        outputs, targets = outputs_and_targets(random)
        subject = SimpleNamespace(sample=SimpleNamespace(outputs=NAMES[: len(outputs)]))
        with np.errstate(all="ignore"):
            ways = [way.text for way in ways_missed(subject, np.array(outputs), np.array(targets))]
        width, sketch = float(random.integers(120, 600)), Sketch()
        said = BoundCaption(tuple(ways), ways[0], Bound("y", before="|".join(NAMES)))
        bound_caption(sketch, (0.0, 0.0, width, 70.0), DARK, said)
        lines, size = [item.text.strip() for item in sketch.texts], sketch.texts[0].size
        names = [f"Output {name}" for name in subject.sample.outputs]
        given.append([names, [json_number(x) for x in (*outputs, *targets)], width, size, len(lines)])
        wanted.append([ways, lines])
    script = """([advances, all]) => all.map(([names, numbers, width, size, count]) => {
        const { measure } = new Ink(document.createElement("canvas"), advances);
        const ways = sentencesOf(names, numbers.map(Number)), wide = text => measure(text, size, false);
        return [ways, Array.from({ length: count }, (_, k) => lineOf(ways, k, count, width, wide))]; })"""
    made = ask("captions.js ink.js", script, [advances_of(), given])
    wrong = [both for both in zip(wanted, made, strict=True) if both[0] != both[1]]
    assert not wrong, (len(wrong), wrong[:3])
    assert {ways[0].split()[-1] for ways, _ in wanted} >= {"loss.", "outputs.", "diverged.", "%."}
