"""What stands on the screen beside the cubes: HUD, legend, side column, controls, time bar and inspector.

`ink.boxes` gives all of them their boxes.

* `hud`: step, loss and settings above the cubes, and the line of keys. `strip`: the legend below, and captions.
* `side`: the panels of a scene in the boxes that they get, and the line that says how many have no room.
* `controls`: the panel of controls, which knows what is open, focused and held. Which there are, and what they do to a
  run, says `watch.desk`.
* `time_bar`: where a run has been, with its losses, what was changed there, and where it can go.
* `inspector`: a column of sections about the selected cubes; `account` is why a weight will move, as
  plain numbers, `selection` one weight or several by name. Which cubes are hovered and selected says `view.touch`.
"""
