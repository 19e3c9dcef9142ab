"""The screen around the cubes: HUD, legend, side column, controls, time bar and inspector.

`ink.boxes` computes their boxes.

* `hud`: step, loss and settings above the cubes, and the line of keys. `strip`: the legend below, and captions.
* `side`: the panels of a scene in their boxes, and the line that counts panels without room.
* `controls`: the panel of controls, with what is open, focused and held. `watch.scene_controls` defines the controls
  and their edits.
* `time_bar`: the steps of a run with losses, edits and branches, and the way to other steps.
* `inspector`: a column of sections about the selected cubes; `account` says why a weight will move, as plain numbers.
  `view.interaction` tracks which cubes are hovered and selected.
"""
