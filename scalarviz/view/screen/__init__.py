"""What stands on the screen beside the cubes: HUD, legend, side column, controls, time bar and inspector.

* `hud`: the corner with the scene's name, step and loss. `strip`: the legend below the cubes. `story`: its captions.
* `side` places the panels of a scene, in the column and over the cubes (`floating`).
* `controls`: the panel of controls, which knows what is open, focused and held. `control_rows` are controls at one
  moment, `control_contents` says which there are, `control_drawing` paints them, `ring` is what keys make of a value.
* `time_bar`: where a run has been, what was changed there, and where it can go; `time_curve` is its losses.
* `touch`: the hovered and the selected cubes, and where the inspector stands. `inspector` draws it, `account` is the
  coming step of one weight as plain numbers, `ledger` are terms that add up.
"""
