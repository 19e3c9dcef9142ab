"""The labels around the cubes: inputs, sums, activations, outputs, names and the lines between them.

Open `scenery` first: it decides which labels a layout gets, and their names. All are records of `placer`: `Notes` with
words, numbers, chips, swatches and lines.

The author of a label offers places, the best first, and `placer` picks one that covers little.

* The name of a plate: `labels.FlowLabels`, `labels.TurnLabels`; in a scene's own plan `labels.PlanLabels`, which takes
  its places from there (`space.layout`).
* A name beside a row or a column of cubes: `placer.row_names` and `placer.column_names`; `labels` chooses the side, and
  `layer` that of a single layer.
* A label given to a cube by hand: `labels.own_labels`, called by `interaction` (beside this folder).
* The chips of a single layer, and the outcome of a deeper network: `layer`.
* A problem of a layer: `scenery.TroubleNotes`.
* Numbers on the faces of cubes: `scenery.CubeValues`.
"""
