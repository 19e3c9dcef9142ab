"""Two recordings side by side, with their difference beside them.

Open `triptych` first: the workbench that draws all three with one camera. `columns` says where they stand, `heads` what
is written above each, `scales` in which colours: the two share a range, the difference has its own. What is compared,
number by number, is no business of this folder but of :mod:`scalarviz.run.sources.recorded_pair`.
"""
