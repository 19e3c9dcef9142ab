"""The stations of ``scalarviz tour``: one minute in all, and each station trains while you watch."""

from __future__ import annotations

from scalarviz.view.walls.scene_wall import Station, TimedAction, repeated

STATIONS = (
    Station(
        "rgb",
        "Twelve weights",
        ((0.0, "Every weight is a cube. Blue is positive, orange negative, dark is near 0."),
         (3.0, "They learn to invert colours; every frame shows steps of training.")),
        8.0,
        (TimedAction(2.5, "toggle_run"),),
        duration=6.0,
    ),
    Station(
        "rgb",
        "One step, opened",
        ((0.0, "Forward: the colour passes through products, sums and sigmoids."),
         (4.6, "Backward: its error becomes one gradient per weight, then the optimiser updates the weights.")),
        10.0,
        (*repeated(0.6, 0.19, 44, "micro_next"), TimedAction(9.3, "step")),
        trained=150,
    ),
    Station(
        "rgb",
        "Back, and again",
        ((0.0, "Every step is kept: go back to the first one ..."),
         (4.0, "... and train again: the same steps give the same bits.")),
        7.0,
        (*repeated(0.8, 0.1, 30, "back", 40), TimedAction(4.2, "toggle_run")),
        trained=1200,
        duration=4.0,
    ),
    Station(
        "xor",
        "Exclusive or",
        ((0.0, "No straight line separates these four points."),
         (2.5, "The hidden layer bends the plane until one line separates the classes.")),
        8.0,
        (TimedAction(1.0, "toggle_run"),),
    ),
    Station(
        "digits",
        "Digits fall into place",
        ((0.0, "Each test digit stands in the column of its predicted class."),
         (4.5, "Almost all are right, and the network never trained on these.")),
        9.0,
        (TimedAction(1.0, "toggle_run"),),
        duration=7.0,
    ),
    Station(
        "texture",
        "A photograph, painted",
        ((0.0, "The network takes a position (x, y) and returns a colour."),
         (4.5, "Evaluated at every pixel, it paints the picture.")),
        9.0,
        (TimedAction(0.5, "toggle_run"),),
        duration=12.0,
    ),
    Station(
        "microgpt",
        "A GPT invents names",
        ((0.0, "It reads letters and predicts the next one."),
         (4.5, "So it invents names, letter by letter, as you see on the right.")),
        9.0,
        (TimedAction(0.8, "toggle_run"),),
        trained=500,
        duration=9.0,
    ),
)  # fmt: skip
