import numpy as np
import pytest

from scalarviz.errors import UnknownNameError
from scalarviz.view.ink.maps import DIVERGING, TABLE_SIZE, get_map, luminance, map_names, text_colour
from scalarviz.view.ink.theme import DARK, LIGHT, THEMES, get_theme, rgb

# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009),
# severity 1.0, on linear RGB.
DEFICIENCIES = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colour, deficiency):
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0, 1)
    t = TO_XYZ @ linear / (TO_XYZ @ np.ones(3))
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", DIVERGING)
def test_plus_and_minus_differ_for_every_kind_of_colour_vision_and_warm_means_negative(name, theme):
    colours, stops = get_map(name, theme), getattr(get_theme(theme), name)
    for deficiency in DEFICIENCIES:
        distance = np.linalg.norm(lab(colours(0.5), deficiency) - lab(colours(-0.5), deficiency))
        assert distance >= 43, f"{name} {theme} {deficiency}: {distance:.1f}"
    got = colours.bytes([-1, -0.5, 0, 0.5, 1])
    assert ["#{:02x}{:02x}{:02x}".format(*tuple(c)) for c in got.tolist()] == list(stops)
    for t in (0.3, 0.5, 0.8, 1.0):
        negative, positive = colours(-t), colours(t)
        assert negative[0] > negative[2], "negative must be redder than blue"
        assert positive[2] > positive[0], "positive must be bluer than red"


def test_the_ends_hold_beyond_the_range_and_nan_has_no_colour():
    weight = get_map("weight")
    np.testing.assert_array_equal(weight([-7.0, 9.0]), weight([-1.0, 1.0]))
    assert np.isnan(weight(np.nan)).all()
    assert weight(np.zeros((2, 5))).shape == (2, 5, 3)


def test_grey_is_brightness():
    grey = get_map("grey")
    assert not grey.diverging
    np.testing.assert_allclose(grey([0, 0.25, 1]), [[0] * 3, [0.25] * 3, [1] * 3], atol=0.5 / 255)
    assert get_map("gray").name == "grey"


def test_viridis_runs_from_violet_to_yellow():
    np.testing.assert_allclose(get_map("magnitude")([0, 1]), [[0.267, 0.005, 0.329], [0.993, 0.906, 0.144]], atol=0.02)


@pytest.mark.parametrize("name", map_names())
def test_every_map_that_is_named_has_a_table_of_what_its_function_interpolates(name):
    colours = get_map(name)
    table = colours.table()
    assert (table.shape, table.dtype) == ((TABLE_SIZE, 3), np.uint8)
    assert len(np.unique(table, axis=0)) > 10
    unit = np.linspace(0, 1, TABLE_SIZE)
    np.testing.assert_array_equal(colours.bytes(2 * unit - 1 if colours.diverging else unit), table)
    table[:] = 0  # a copy: the map is shared
    assert colours.table().any()


def test_hot_is_what_vispys_shader_makes_of_it():
    """Smooth steps from a third of the scale to the next, in each channel."""
    x = np.linspace(0.0, 1.0, TABLE_SIZE)[:, None]
    t = np.clip((x - [0.0, 0.33, 0.66]) / [0.33, 0.33, 0.34], 0.0, 1.0)
    np.testing.assert_allclose(get_map("hot").table(), 255.0 * t * t * (3.0 - 2.0 * t), atol=0.6)


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(UnknownNameError, match=r"'jet2'.*weight.*viridis"):
        get_map("jet2")
    with pytest.raises(UnknownNameError, match=r"sepia.*dark, light"):
        get_map("weight", "sepia")
    assert {"weight", "gradient", "update", "magnitude", "activation", "grey", "viridis"} <= set(map_names())


def test_luminance_of_the_primaries_and_text_on_cubes():
    np.testing.assert_allclose(luminance(np.eye(3)), [0.2126, 0.7152, 0.0722])
    assert text_colour(get_map("weight")(-1.0)) == "#0c0e11"
    assert text_colour(get_map("weight")(0.0)) == "#ffffff"


def test_themes_pass_through_and_colours_parse():
    assert get_theme(DARK) is DARK
    assert get_theme("light") is LIGHT
    assert rgb("#ff8000") == (1.0, 128 / 255, 0.0)
