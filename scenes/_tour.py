"""The stations of ``scalarviz tour``: a minute, and every one trains for real."""

from __future__ import annotations

from scalarviz.view.rooms.station import Act, Station, again

STATIONS = (
    Station(
        "rgb",
        "Twelve weights",
        ((0.0, "Every weight is a cube. Blue is positive, orange negative, dark is near 0."),
         (3.0, "They learn to turn each colour into its opposite: every frame shows steps of training.")),
        8.0,
        (Act(2.5, "toggle_run"),),
        duration=6.0,
    ),
    Station(
        "rgb",
        "One step, opened",
        ((0.0, "A colour goes forward through products, sums and sigmoids."),
         (4.6, "Its error comes back and becomes one gradient for each weight, then a new value.")),
        10.0,
        (*again(0.6, 0.19, 44, "micro_next"), Act(9.3, "step")),
        trained=150,
    ),
    Station(
        "rgb",
        "Back, and again",
        ((0.0, "Every moment is kept: back to the first one ..."),
         (4.0, "... and the same steps once more, with the same bits.")),
        7.0,
        (*again(0.8, 0.1, 30, "back", 40), Act(4.2, "toggle_run")),
        trained=1200,
        duration=4.0,
    ),
    Station(
        "xor",
        "Exclusive or",
        ((0.0, "Four points that no straight line can part."), (2.5, "The network folds its plane until it can.")),
        8.0,
        (Act(1.0, "toggle_run"),),
        given={"cells": 40},
    ),
    Station(
        "digits",
        "Digits fall into place",
        ((0.0, "Each test digit stands in the column of what it is read as."),
         (4.5, "Hardly any is wrong now, and none of them was trained on.")),
        9.0,
        (Act(1.0, "toggle_run"),),
        duration=7.0,
    ),
    Station(
        "texture",
        "A photograph, painted",
        ((0.0, "From a place to its colour: that is all this network is asked."),
         (4.5, "Asked for every place, it paints the picture.")),
        9.0,
        (Act(0.5, "toggle_run"),),
        duration=12.0,
    ),
    Station(
        "microgpt",
        "A GPT invents names",
        ((0.0, "It reads letters and says which comes next."),
         (4.5, "So it makes up names, letter by letter; they stand under \"new words\".")),
        9.0,
        (Act(0.8, "toggle_run"),),
        trained=500,
        duration=9.0,
    ),
)  # fmt: skip
