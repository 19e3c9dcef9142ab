"""Colour maps and themes: told apart by every kind of colour vision, tables as interpolated, names that there are."""

import numpy as np
import pytest

from scalarviz.errors import UnknownNameError
from scalarviz.view.ink.maps import DIVERGING, TABLE_SIZE, get_map, luminance, text_colour
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
    negative, positive = colours([-0.3, -0.5, -0.8, -1.0]), colours([0.3, 0.5, 0.8, 1.0])
    assert (negative[:, 0] > negative[:, 2]).all(), "negative must be redder than blue"
    assert (positive[:, 2] > positive[:, 0]).all(), "positive must be bluer than red"


def test_known_maps_and_colours():
    grey = get_map("gray")
    assert (grey.name, grey.diverging) == ("grey", False)
    grey.table()[:] = 0  # a copy: the map is shared
    np.testing.assert_array_equal(grey([-7.0, 9.0, np.nan]), grey([0.0, 1.0, np.nan]))
    np.testing.assert_allclose(grey([0, 0.25, 1]), [[0] * 3, [0.25] * 3, [1] * 3], atol=0.5 / 255)
    np.testing.assert_allclose(get_map("magnitude")([0, 1]), [[0.267, 0.005, 0.329], [0.993, 0.906, 0.144]], atol=0.02)
    x = np.linspace(0.0, 1.0, TABLE_SIZE)[:, None]  # smooth steps from a third to the next: vispy's shader of it
    t = np.clip((x - [0.0, 0.33, 0.66]) / [0.33, 0.33, 0.34], 0.0, 1.0)
    np.testing.assert_allclose(get_map("hot").table(), 255.0 * t * t * (3.0 - 2.0 * t), atol=0.6)
    np.testing.assert_allclose(luminance(np.eye(3)), [0.2126, 0.7152, 0.0722])
    assert [text_colour(get_map("weight")(t)) for t in (-1.0, 0.0)] == ["#0c0e11", "#ffffff"]
    assert (get_theme(DARK), get_theme("light"), rgb("#ff8000")) == (DARK, LIGHT, (1.0, 128 / 255, 0.0))


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(UnknownNameError, match=r"'jet2'.*weight.*viridis"):
        get_map("jet2")
    with pytest.raises(UnknownNameError, match=r"sepia.*dark, light"):
        get_map("weight", "sepia")
