"""What stands around the cubes: inputs, sums, activations, outputs, names and the lines between them.

Open `scenery` first: it decides which of these a layout gets, and says what they are called. All of it are
records of `placer`: `Notes` of words, numbers, chips, swatches and lines.

Where a label stands: whoever writes one offers places, the best first, and `placer` picks one that covers little.

* The name of a plate: `labels.FlowLabels`, `labels.TurnLabels`; in a scene's own plan `labels.PlanLabels`, which has
  its places from there (`space.planned`) and asks nobody.
* A name beside a row or a column of cubes: `placer.row_names` and `placer.column_names`; on which side of it, `labels`
  says, and of a single layer `layer`.
* A name that somebody gave to a cube by hand: `labels.own_labels`, which `touch` calls (beside this folder).
* The chips of a single layer, and the outcome of a deeper network: `layer`.
* What is wrong with a layer: `scenery.TroubleNotes`.
* Numbers on cubes, in the middle of their faces: `values`.
"""
