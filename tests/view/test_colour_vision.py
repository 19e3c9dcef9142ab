"""Negative, zero and positive stay different for people with a colour vision deficiency.

The deficiencies are simulated (Machado, Oliveira and Fernandes 2009, severity 1); distances are those of OKLab
(Ottosson 2020), in which 0.02 is just visible.
"""

import numpy as np
import pytest

from scalarviz.view.ink.theme import THEMES

SEEN = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
CONES = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
LAB = [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
       [0.0259040371, 0.7827717662, -0.808675766]]  # fmt: skip
LEAST = {"weight": 0.2, "gradient": 0.09, "update": 0.09, "difference": 0.09}
"""The distances that docs/lecturers.md states."""


def oklab(colour, deficiency):
    """The place in OKLab of what is seen of a colour, such as ``#ffc76e``."""
    given = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)
    return np.array(LAB) @ np.cbrt(np.array(CONES) @ np.clip(np.array(SEEN[deficiency]) @ linear, 0, 1))


@pytest.mark.parametrize("deficiency", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_the_ends_and_the_middle_of_each_map_stay_different(theme, deficiency):
    for name, least in LEAST.items():
        low, _, zero, _, high = (oklab(colour, deficiency) for colour in getattr(THEMES[theme], name))
        assert np.linalg.norm(low - high) >= least, name
        assert min(np.linalg.norm(low - zero), np.linalg.norm(high - zero)) >= 0.4, name
